"""`python -m gpublas tune`: measures the configurations of gemm on the device at hand and writes the user's table.

For each problem every configuration that fits is run (tiles, and parts of k where that may help): first on small
integers, of which every kind and order of arithmetic makes the same sums, so that each result must be that of the
heuristic's choice, bit for bit; then on random numbers, for its time, a median of several rounds.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import arrays, context, tuning
from .arrays import Array
from .checks import Scalar
from .cuda import level3, mixed, scalars, trust
from .cuda.gemm import select
from .cuda.gemm.config import ELEMENT_BYTES, GemmConfig
from .cuda.gemm.select import Work
from .cuda.plan import Plan
from .errors import ArgumentError, DeviceError, OutOfMemoryError, UnsupportedError
from .mixed import MixedProblem, Operands
from .operands import GemmProblem, Matrix
from .shapes import Shape, parse, shapes
from .tuning import Entry, Target

KINDS = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128", "f16": "float16", "bf16": "bfloat16",
         "s8": "int8", "tf32": "float32", "tf32x3": "float32", "bf16x9": "float32",
         "dmma": "float64", "e4m3_e4m3": "float8_e4m3fn"}  # element types of A and B
DEFAULT_KINDS, QUICK_KINDS = ("s", "d", "f16", "bf16"), ("s", "d", "f16")
_ROUNDS, _QUICK_ROUNDS = 9, 3
_QUICK = 2.0 * 2048**3  # floating-point operations of the largest problem of a quick run, which takes squares only
_SPLITS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
_SHORTEST, _BUSY = 128, 8  # steps of a part of k; k is cut only for fewer than so many blocks a multiprocessor
_MOST_WORKSPACE = 2**30
_ROUND_SECONDS, _MOST_CALLS = 1e-3, 100  # of a round, so that its events are far apart
_CLEARLY = 0.98  # of the time of the heuristic's choice, so that noise does not replace it
_HOPELESS = 2  # times the best time so far: not measured to the end


class Measured(NamedTuple):
    """An entry for the table, what the heuristic would choose, and what was found wrong ("" if nothing)."""

    entry: Entry
    heuristic: GemmConfig
    wrong: str


class Product:
    """One problem on a device: operands, and how to run it with a configuration."""

    def __init__(self, run: Any, kind: str, shape: Shape):
        self.run, self.kind, self.shape = run, kind, shape
        self.dtype = arrays.named_type(KINDS[kind])
        self._buffers: list[Any] = []
        a = self._array((shape.m, shape.k), shape.op_a, self.dtype)
        b = self._array((shape.k, shape.n), shape.op_b, self.dtype)
        out = {"s8": np.dtype(np.int32), "e4m3_e4m3": np.dtype(np.float32)}.get(kind, self.dtype)
        c = self._array((shape.m, shape.n), "N", out)
        self._operands = a, b, c
        if kind in ELEMENT_BYTES:
            self._mixed(Operands(a, b, c, None, None))
        else:
            problem = GemmProblem.of(Matrix.of(a), Matrix.of(b), Matrix.of(c))
            self.work = select.work_of(problem, select.ways(problem))
            self.plan: Callable[[Target], Plan] = lambda target: level3.plan_gemm(target, problem)
            self.values = {"A": a.pointer, "B": b.pointer, "C": c.pointer,
                           **scalars.values(Scalar(1.0), Scalar(0.0))}

    def _mixed(self, operands):
        """As gpublas.gemm does for a column-major C."""
        if abs(operands.C.strides[0]) < abs(operands.C.strides[1]):
            operands = operands.transposed
        out = {"s8": "s32", "f16": "f16", "bf16": "bf16", "dmma": "f64"}.get(self.kind, "f32")
        problem = MixedProblem.of(self.kind, out, operands, True, "", "", "")
        capability = self.run.device.capability
        self.work = mixed.work_of(problem)
        self.plan = lambda target: mixed.plan_mixed(capability, problem, False, target)
        self.values = {"A": operands.A.pointer, "B": operands.B.pointer, "C": operands.C.pointer, "bias": 0, "aux": 0,
                       "alpha": 1.0, "beta": 0.0}

    def _array(self, extents, op, dtype):
        """An array on the device: op of a column-major one has these extents."""
        device, size = self.run.device, dtype.itemsize
        nbytes = extents[0] * extents[1] * size
        buffer = device.allocate(nbytes, self.run.stream)
        self._buffers.append(buffer)
        self.run.memory.append((buffer.pointer, nbytes))
        strides = (size, extents[0] * size) if op == "N" else (extents[1] * size, size)
        return Array(buffer.pointer, extents, strides, dtype, True, device.place, buffer)

    def load(self, exact: bool) -> None:
        """Give A and B values: random numbers, or integers so small that no sum of their products is rounded."""
        rng = np.random.default_rng(0)
        largest = 4 if 32 * self.shape.k < 2**24 else 1
        for array in self._operands[:2]:
            if exact or self.dtype == np.int8:
                values = rng.integers(-largest, largest + 1, array.size, np.int8).astype(self.dtype)
            else:
                values = rng.standard_normal(array.size, np.float32).astype(self.dtype)
            if self.dtype.kind == "c":
                values += 1j * np.roll(values.real, 1)
            self.run.device.upload(values, array.pointer, self.run.stream)

    def launcher(self, config: GemmConfig) -> Callable[[], None]:
        """A function that queues the product, computed with a configuration."""
        device = self.run.device
        plan = self.plan(Target(device.capability, device.multiprocessors, (config,)))
        return lambda: plan.run(self.run, self.values)

    def compute(self, launch: Callable[[], None]) -> np.ndarray:
        """The elements of the product as a launcher computes it, in memory that held no number before."""
        device, stream, c = self.run.device, self.run.stream, self._operands[2]
        found = np.empty(c.size, c.dtype)
        found.view(np.uint8)[:] = 0xFF
        device.upload(found, c.pointer, stream)
        launch()
        device.download(c.pointer, found, stream)
        return found


def configurations(work: Work, capability: tuple, multiprocessors: int) -> Iterator[GemmConfig]:
    """All that are measured for a problem."""
    size = select.KINDS[work.kind].sum_size
    for tiles in select.candidates(work):
        if GemmConfig(tiles).fits(capability):
            continue
        yield GemmConfig(tiles, 1)
        blocks = select.tiles(tiles, work.m, work.n) * work.products
        for parts in () if not work.cuttable or blocks >= _BUSY * multiprocessors else _SPLITS:
            if work.k // parts >= _SHORTEST and parts * work.m * work.n * size <= _MOST_WORKSPACE \
                    and select.cut(work.k, parts, tiles.block_depth)[0] == parts:
                yield GemmConfig(tiles, parts)


def measure(run: Any, kind: str, shape: Shape, rounds: int) -> Measured:
    """The best configuration for a problem on the device of a call."""
    device = run.device
    product = Product(run, kind, shape)
    try:
        usual = tuning.choose(Target(device.capability, device.multiprocessors), product.work)
        right, wrong = {usual: product.launcher(usual)}, []
        product.load(exact=True)
        expected = product.compute(right[usual])
        for config in configurations(product.work, device.capability, device.multiprocessors):
            if config != usual:
                launch = product.launcher(config)
                differing = int(np.count_nonzero(product.compute(launch) != expected))
                if differing:
                    wrong.append(f"{kind} {shape} with {describe(config)}: {differing} of {expected.size} elements "
                                 "differ")
                else:
                    right[config] = launch
        product.load(exact=False)
        best, seconds = usual, median(run, right.pop(usual), rounds)
        usual_seconds, limit = seconds, _CLEARLY * seconds
        for config, launch in right.items():
            found = median(run, launch, rounds, hopeless=_HOPELESS * seconds)
            if found < limit:
                best, seconds, limit = config, found, found
        return Measured(Entry(product.work, best, seconds, usual_seconds), usual, "; ".join(wrong))
    finally:
        del run.memory[-3:]


def median(run: Any, launch: Callable[[], None], rounds: int, hopeless: float = float("inf")) -> float:
    """Seconds of a product: the median of some rounds, of as many products as make a round long enough to measure.

    One that takes longer than `hopeless` is not measured again.
    """
    once = run.device.seconds(launch, run.stream)  # the product has run before, so all is loaded
    if once > hopeless:
        return once
    calls = int(min(max(_ROUND_SECONDS / max(once, 1e-9), 1), _MOST_CALLS))

    def several():
        for _ in range(calls):
            launch()

    return statistics.median(run.device.seconds(several, run.stream) / calls for _ in range(rounds))


def describe(config: GemmConfig) -> str:
    """A configuration in a few characters: its tile, and parts of k."""
    tiles, parts = config
    return f"{tiles.block_rows}x{tiles.block_columns}" + (f" k/{parts}" if parts and parts > 1 else "")


def problems(quick: bool, kinds: Sequence[str], wanted: Sequence[Shape]) -> list[tuple[str, Shape]]:
    """What is measured: the shapes wanted, or all of the list; for a quick run, squares."""
    chosen: Iterable[Shape] = wanted or (shape for shape in shapes(_QUICK if quick else float("inf"))
                                         if shape.group == "square" or not quick)
    chosen = list(chosen)
    return [(kind, shape) for kind in kinds or (QUICK_KINDS if quick else DEFAULT_KINDS) for shape in chosen]


def report(measured: Sequence[tuple[str, Shape, Measured]]) -> None:
    """The table of what was found."""
    print(f"{'problem':<32}{'heuristic':>16}{'best':>16}{'ms':>12}{'gain':>8}")
    for kind, shape, (entry, heuristic, _) in measured:
        print(f"{f'{kind} {shape}':<32}{describe(heuristic):>16}{describe(entry.config):>16}"
              f"{entry.seconds * 1e3:>12.4f}{entry.heuristic_seconds / entry.seconds - 1:>8.1%}")


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A function that says what is measured next: a bar, or lines where rich is not installed."""
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield lambda text: print(text, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("tuning", total=total)
        done = -1

        def step(text: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=text)

        yield step
        progress.update(task, completed=done + 1)


def run(device_name: str, quick: bool, output: str | None, kinds: Sequence[str], texts: Sequence[str]) -> int:
    """The command; returns the exit status: 1 where nothing could be measured or a result was wrong, 130 if it was
    interrupted."""
    try:
        chosen = context.Context(device_name)
        wanted = [parse(text) for text in texts]
    except (ArgumentError, DeviceError, ValueError) as error:
        print(f"tune: {error}")
        return 1
    device = chosen.device
    if device.kind == "cpu":
        print("tune: device 'cpu' has no kernels to configure; a GPU is needed, or --device executor to try it")
        return 1
    if device.kind == "executor":
        print("The executor's times say nothing about a GPU: they are good for trying this command only.")
        if output is None:
            print("tune: --output FILE is needed, since no table of the executor belongs among the user's.")
            return 1
    path = Path(output) if output else tuning.user_file(device)
    kept, reason = tuning.read(path, device)
    if reason:
        print(f"{path}: {reason}")
    entries = {entry.work: entry for entry in kept}
    measured: list[tuple[str, Shape, Measured]] = []
    status = 0
    try:
        with context.use(chosen), context.Call("tune", {}, {}) as call:
            _measure_all(call, problems(quick, kinds, wanted), _QUICK_ROUNDS if quick else _ROUNDS, entries, measured,
                         path)
    except KeyboardInterrupt:
        print("interrupted; what was measured is kept")
        status = 130
    except OSError as error:
        print(f"tune: the table cannot be written: {error}")
        return 1
    if measured:
        report(measured)
    for _, _, found in measured:
        if found.wrong:
            print(f"WRONG, left out: {found.wrong}")
            status = status or 1
    if measured:
        print(f"{len(measured)} problems, kept in {path}")
    return status if measured else status or 1


def _measure_all(call, wanted, rounds, entries, measured, path):
    """Measure problem after problem; the table on disk has all that were measured so far."""
    refused = {kind: trust.verdict(call.device, kind) for kind in dict.fromkeys(kind for kind, _ in wanted)
               if kind in ELEMENT_BYTES and call.device.kind == "cuda"}
    with _progress(len(wanted)) as step:
        for kind, shape in wanted:
            step(f"{kind} {shape}")
            if refused.get(kind):
                print(f"{kind} {shape}: left out, since the device failed the check of its tensor cores")
                continue
            try:
                found = measure(call, kind, shape, rounds)
            except (UnsupportedError, OutOfMemoryError) as error:
                print(f"{kind} {shape}: left out: {error}")
                continue
            measured.append((kind, shape, found))
            entries[found.entry.work] = found.entry
            tuning.write(path, call.device, entries.values())
