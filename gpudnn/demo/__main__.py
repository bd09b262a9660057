"""Train a small convolutional network on real handwritten digits (scikit-learn's load_digits).

Prints the test accuracy, the time of an epoch and which algorithm served each convolution, checks one batch's outputs
and gradients against an independent float64 reference, and saves a picture. Exit status: 0, 1 when the check fails,
2 when a package is missing or an argument is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import gpublas
import gpudnn

from . import check, picture
from .network import SIDE, Momentum, Network

_RATE, _BATCH, _TEST_SHARE = 0.05, 32, 0.2
_EPOCHS = 15
_EXECUTOR_BATCHES = 10  # kernels run thread by thread there
_EXECUTOR_TEST = 64


def _arguments(values: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gpudnn.demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default=None, help="cpu, cuda, executor; default: CUDA where a GPU is, else cpu")
    parser.add_argument("--epochs", type=int, default=None, help=f"default {_EPOCHS}; on the executor 1")
    parser.add_argument("--batches", type=int, default=None,
                        help=f"steps of an epoch at most; default: all; on the executor {_EXECUTOR_BATCHES}")
    parser.add_argument("--seed", type=int, default=0, help="of the weights, the order and the split")
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="the picture; default demo.png")
    arguments = parser.parse_args(values)
    if any(count is not None and count < 1 for count in (arguments.epochs, arguments.batches)):
        parser.error("--epochs and --batches: at least 1")
    return arguments


def _missing() -> list[str]:
    """Packages of the extra `demo` that are not installed."""
    from importlib.util import find_spec

    return [package for package, module in
            (("scikit-learn", "sklearn"), ("matplotlib", "matplotlib"), ("rich", "rich")) if find_spec(module) is None]


def _digits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(training images, training labels, test images, test labels); images (N, 1, 8, 8) in 0..1."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images / 16).astype(np.float32).reshape(-1, 1, SIDE, SIDE)
    labels = digits.target.astype(np.int64)
    order = rng.permutation(len(labels))
    held = int(len(labels) * _TEST_SHARE)
    test, training = order[:held], order[held:]
    return images[training], labels[training], images[test], labels[test]


def _train(network: Network, console: Any, rng: np.random.Generator, data: tuple, epochs: int,
           batches: int | None) -> tuple[list[float], list[float], list[float]]:
    """(loss of each step, test accuracy after each epoch, seconds of each epoch)."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    images, labels, test_images, test_labels = data
    optimiser = Momentum(network.parameters, _RATE)
    steps = min(len(labels) // _BATCH, batches or len(labels))
    losses: list[float] = []
    accuracies: list[float] = []
    seconds: list[float] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=epochs * steps)
        for epoch in range(epochs):
            started = time.perf_counter()
            order = rng.permutation(len(labels))
            optimiser.rate = _RATE * (1 - epoch / epochs)
            for first in range(0, steps * _BATCH, _BATCH):
                chosen = order[first:first + _BATCH]
                activations = network.forward(images[chosen])
                losses.append(float(gpudnn.cross_entropy(activations.logits, labels[chosen])))
                optimiser.step(network.backward(activations, labels[chosen]))
                progress.update(task, advance=1, description=f"epoch {epoch + 1}, loss {losses[-1]:.4f}")
            seconds.append(time.perf_counter() - started)
            accuracies.append(float(np.mean(network.predict(test_images) == test_labels)))
    return losses, accuracies, seconds


def _check(network: Network, console: Any, images: np.ndarray, labels: np.ndarray) -> bool:
    """One batch against the float64 reference; prints a table."""
    from rich.table import Table

    activations = network.forward(images)
    loss = float(gpudnn.cross_entropy(activations.logits, labels))
    gradients = network.backward(activations, labels, everything=True)
    try:
        layers, whole = (check.check(network, activations, gradients, loss, labels, alone=alone)
                         for alone in (True, False))
    except check.WrongChoice as error:
        console.print(f"[red]check against float64 FAILED:[/] {error}")
        return False
    table = Table("", "error", "bound", "share", "error", "bound",
                  title=f"{len(labels)} test digits against float64: each layer alone | the whole network",
                  caption="Errors stand where they come nearest to their bounds.")
    for layer, total in zip(layers, whole, strict=True):
        table.add_row(layer.name, f"{layer.error:.1e}", f"{layer.bound:.1e}", f"{layer.share:.1%}",
                      f"{total.error:.1e}", f"{total.bound:.1e}",
                      style=None if layer.passed and total.passed else "red")
    console.print(table)
    passed = all(finding.passed for finding in (*layers, *whole))
    console.print("check against float64: " + ("passed" if passed else "[red]FAILED[/]"))
    return passed


def main(values: list[str] | None = None) -> int:
    """Run the demo; the exit status."""
    arguments = _arguments(values)
    missing = _missing()
    if missing:
        print(f"the demo needs {', '.join(missing)}: pip install {' '.join(missing)}", file=sys.stderr)
        return 2
    from rich.console import Console

    # Products of this size take microseconds: BLAS threads would wait for each other longer. SciPy's BLAS, which is
    # loaded when first used, looks here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    console = Console()
    try:
        context = gpublas.Context(arguments.device)
    except (gpublas.DeviceError, gpublas.ArgumentError) as error:
        print(error, file=sys.stderr)
        return 2
    with gpublas.use(context):
        return _run(arguments, console, context)


def _run(arguments: argparse.Namespace, console: Any, context: gpublas.Context) -> int:
    on_executor = context.device.kind == "executor"
    epochs = arguments.epochs or (1 if on_executor else _EPOCHS)
    batches = arguments.batches or (_EXECUTOR_BATCHES if on_executor else None)
    started = time.perf_counter()
    rng = np.random.default_rng(arguments.seed)
    images, labels, test_images, test_labels = _digits(rng)
    if on_executor:
        test_images, test_labels = test_images[:_EXECUTOR_TEST], test_labels[:_EXECUTOR_TEST]
    network = Network.random(rng)
    console.print(f"device {context.device.name}; {len(labels)} training digits, {len(test_labels)} test digits; "
                  f"{sum(value.size for value in network.parameters.values())} parameters")
    with console.status("compiling what this machine has not compiled before"):
        network.backward(network.forward(images[:_BATCH]), labels[:_BATCH], everything=True)
    console.print(f"first step, with compiling: {time.perf_counter() - started:.1f} s")

    losses, accuracies, seconds = _train(network, console, rng, (images, labels, test_images, test_labels), epochs,
                                         batches)
    passed = _check(network, console, test_images[:64], test_labels[:64])
    for layer, algorithm in sorted(network.algorithms.items()):
        console.print(f"{layer}: {algorithm}")
    console.print(f"time per epoch ({len(losses) // epochs} steps of {_BATCH}): {np.mean(seconds):.2f} s")
    console.print(f"test accuracy: {100 * accuracies[-1]:.2f} % of {len(test_labels)} digits after {epochs} "
                  f"epoch{'s' if epochs > 1 else ''}")
    predictions = network.predict(test_images)
    picture.draw(arguments.out, losses, accuracies, test_images, test_labels, predictions,
                 network.parameters["conv1.w"])
    console.print(f"picture: {arguments.out}; {time.perf_counter() - started:.1f} s in all")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
