"""The demo's picture: loss curve, misclassified digits, learned filters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_SHOWN = 10  # misclassified digits


def draw(path: Path, losses: list[float], accuracies: list[float], images: np.ndarray, labels: np.ndarray,
         predictions: np.ndarray, filters: np.ndarray) -> None:
    """Write a PNG. losses: of each step. accuracies: on the test set after each epoch. images: (N, 1, 8, 8), the test
    set, with labels and predictions. filters: (K, 1, 3, 3)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 2), width_ratios=(5, 4))
    _curve(figure.add_subfigure(grid[0, :]), losses, accuracies)
    _digits(figure.add_subfigure(grid[1, 0]), images, labels, predictions)
    _filters(figure.add_subfigure(grid[1, 1]), filters)
    figure.savefig(path, dpi=110)


def _curve(figure: Any, losses: list[float], accuracies: list[float]) -> None:
    axes = figure.subplots()
    axes.semilogy(np.arange(1, len(losses) + 1), losses, color="tab:blue", alpha=0.3, linewidth=0.8)
    window = max(len(losses) // 40, 1)
    smooth = np.convolve(losses, np.ones(window) / window, "valid")
    axes.semilogy(np.arange(window, len(losses) + 1), smooth, color="tab:blue")
    axes.set(xlabel="step", ylabel="training loss (cross-entropy)", title="Handwritten digits, 8x8 pixels")
    if accuracies:
        right = axes.twinx()
        steps = np.linspace(0, len(losses), len(accuracies) + 1)[1:]
        right.plot(steps, 100 * np.asarray(accuracies), "o-", color="tab:orange", markersize=3)
        right.set_ylabel("test accuracy, %", color="tab:orange")


def _digits(figure: Any, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> None:
    wrong = np.flatnonzero(labels != predictions)
    figure.suptitle(f"{len(wrong)} of {len(labels)} test digits misclassified" +
                    (f", the first {_SHOWN}" if len(wrong) > _SHOWN else ""))
    for number, axes in enumerate(figure.subplots(2, _SHOWN // 2).ravel()):
        axes.axis("off")
        if number < len(wrong):
            index = wrong[number]
            axes.imshow(images[index, 0], cmap="gray_r")
            axes.set_title(f"{predictions[index]}, is {labels[index]}", fontsize=9)


def _filters(figure: Any, filters: np.ndarray) -> None:
    figure.suptitle("Learned filters of the first convolution")
    columns = 8
    limit = np.abs(filters).max()
    for number, axes in enumerate(figure.subplots(-(-len(filters) // columns), columns).ravel()):
        axes.axis("off")
        if number < len(filters):
            axes.imshow(filters[number, 0], cmap="RdBu", vmin=-limit, vmax=limit)
