"""Losses and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpublas import arrays
from gpublas.arrays import HOST
from gpublas.checks import Argument
from gpublas.context import call
from gpublas.errors import ArgumentError

from . import backend, checks, rows
from .views import View, compact, plain

_TARGETS = (np.dtype(np.int64), np.dtype(np.int32))
_REDUCTIONS = ("mean", "sum", "none")
_CLASSES = 1  # the axis of logits that runs over classes, where there is more than one axis


def cross_entropy(logits: Any, target: Any, *, reduction: str = "mean") -> Any:
    """-log(softmax(logits)[target]), the loss of a classification; softmax runs over the classes.

    logits: (N, C) or (N, C, d1, ...), or (C,) for a single sample; float32 or float64, any strides; read.
    target: the logits' shape without the class axis, int64 or int32: the right classes, 0 .. C-1; read.
    reduction: "mean" over all samples, "sum", or "none".

    Returns an array without axes, or for "none" one of target's shape; of the logits' type and library. The mean of no
    samples is NaN. An infinite or NaN row gives NaN unless the loss is finite or +inf by the formula.
    Raises ArgumentError for shapes that do not fit, and for classes outside 0 .. C-1 where target is in host memory (a
    device is not waited for: there such a sample's loss is NaN); DTypeError for other element types.
    Source: as `softmax`; log(sum(exp(x - max))) is taken whole, no probability is rounded to 0 first.

    >>> import numpy as np, gpudnn
    >>> float(gpudnn.cross_entropy(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([0, 1])).round(4))
    500.3466
    """
    routine = "cross_entropy"
    scores, labels, along = _operands(routine, logits, target)
    checks.choice(routine, None, "reduction", reduction, _REDUCTIONS)
    dtype, samples = scores.array.dtype, labels.array.size
    out = arrays.empty(logits, labels.array.shape if reduction == "none" else (), dtype)
    scale = 1.0 if reduction == "sum" else 1.0 / samples if samples else math.nan
    if reduction == "none" and samples == 0:
        return out
    with call(routine, {"logits": scores, "target": labels}, {"out": out}) as run:
        serve = backend.of(run)
        if reduction == "none":
            _losses(run, serve, scores, along, run["out"])
            return out
        with backend.workspace(run, samples * dtype.itemsize) as memory:
            losses = arrays.Array(memory, labels.array.shape, _strides(labels.array.shape, dtype), dtype, True,
                                  run["out"].place, None)
            if samples:
                _losses(run, serve, scores, along, losses)
            total = plain(run["out"])._replace(extents=(1,), strides=(1,))
            if samples:
                serve.row_sums(run, dtype.name, _single_channel(memory, samples, dtype), total, scale, 0.0)
            else:
                _fill(run, serve, dtype, total, scale if reduction == "mean" else 0.0)
    return out


def cross_entropy_backward(logits: Any, target: Any, dloss: Any = 1.0, *, reduction: str = "mean") -> Any:
    """The gradient of cross_entropy by the logits: dloss * (softmax(logits) - one_hot(target)), / N for "mean".

    logits, target, reduction: as in the forward call; read. dloss: the gradient by the loss: a number, or for "none" an
    array of target's shape and the logits' type (read). Returns a new array of the logits' shape.
    Raises as `cross_entropy`.

    >>> import numpy as np, gpudnn
    >>> gpudnn.cross_entropy_backward(np.zeros((1, 2)), np.array([0])).tolist()
    [[-0.5, 0.5]]
    """
    routine = "cross_entropy_backward"
    scores, labels, along = _operands(routine, logits, target)
    checks.choice(routine, None, "reduction", reduction, _REDUCTIONS)
    dtype, samples = scores.array.dtype, labels.array.size
    reads: dict[str, Any] = {"logits": scores, "target": labels}
    scale = 1.0
    if arrays.describe(dloss) is None or np.ndim(dloss) == 0:
        scale = checks.number(routine, "dloss", dloss, dtype)
    else:
        weights = checks.array(routine, 3, "dloss", dloss, dtype=dtype)
        if reduction != "none":
            raise ArgumentError(routine, 3, "dloss", f"an array of shape {weights.array.shape}",
                                f"a number, for reduction={reduction!r}")
        checks.shaped(routine, weights, labels.array.shape, "that of target")
        reads["dloss"] = weights
    if reduction == "mean" and samples:
        scale /= samples
    dx = arrays.empty(logits, scores.array.shape, dtype)
    if scores.array.size == 0:
        return dx
    with call(routine, reads, {"dx": dx}) as run:
        operands = [run["dx"], run["logits"], run["target"], *([run["dloss"]] if "dloss" in reads else [])]
        for extents, (to, source, classes, *rest) in rows.split(operands, along):
            backend.of(run).cross_entropy_backward(
                run, dtype.name, labels.array.dtype.name, scores.array.shape[along], extents, source, classes,
                rest[0] if rest else None, to, scale)
    return dx


def _operands(routine: str, logits: Any, target: Any) -> tuple[Argument, Argument, int]:
    scores = checks.array(routine, 1, "logits", logits)
    if scores.array.ndim == 0:
        raise ArgumentError(routine, 1, "logits", "no axes", "(N, C), (N, C, ...) or (C,)")
    along = _CLASSES if scores.array.ndim > 1 else 0
    labels = checks.array(routine, 2, "target", target, kinds=_TARGETS)
    shape, classes = scores.array.shape, scores.array.shape[along]
    checks.shaped(routine, labels, (*shape[:along], *shape[along + 1:]), "that of logits without the class axis")
    if labels.array.place == HOST and labels.array.size:
        values = labels.array.ndarray
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= classes:
            raise ArgumentError(routine, 2, "target", f"classes from {low} to {high}", f"0 to {classes - 1}")
    return scores, labels, along


def _losses(run, serve, scores, along, losses):
    for extents, (to, source, classes) in rows.split([losses, run["logits"], run["target"]], along):
        serve.cross_entropy(run, scores.array.dtype.name, run["target"].dtype.name, scores.array.shape[along], extents,
                            source, classes, to)


def _strides(shape, dtype):
    return tuple(step * dtype.itemsize for step in compact(0, shape, dtype.itemsize).strides)


def _single_channel(pointer: int, count: int, dtype: np.dtype) -> View:
    return compact(pointer, (1, 1, 1, 1, count), dtype.itemsize)


def _fill(run, serve, dtype, out, value):
    """A constant, which the loss of no samples is: zero times one, or NaN, that is infinity times zero."""
    serve.elementwise(run, "axpby", dtype.name, out, out, alpha=0.0)
    if value != value:
        serve.elementwise(run, "axpby", dtype.name, out, out, alpha=0.0, beta=math.inf)
