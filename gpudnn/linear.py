"""The fully connected layer: a matrix product with a bias."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gpublas import arrays
from gpublas.arrays import Array
from gpublas.checks import Argument
from gpublas.context import call
from gpublas.errors import ArgumentError
from gpublas.level3 import gemm_bound
from gpublas.operands import Matrix
from gpublas.precision import BY_DTYPE

from . import backend, checks
from .views import View, plain, vector


def linear(x: Any, w: Any, bias: Any = None) -> Any:
    """y = x w^T + bias, the convention of PyTorch.

    x: (..., I), float32 or float64, any strides; read. w: (O, I) of x's type; read. bias: (O,) or None; read.
    Returns y of shape (..., O), a new array of x's library. Rounding: |y - exact| <= (I + 4) eps (|x| |w|^T + |bias|).
    Raises ArgumentError for shapes that do not fit, DTypeError for other or mixed element types.

    >>> import numpy as np, gpudnn
    >>> gpudnn.linear(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]), np.array([10.0, 20.0])).tolist()
    [[21.0, 37.0]]
    """
    source, weights = _operands("linear", x, w, 1)
    dtype = source.array.dtype
    outputs, _ = weights.array.shape
    shift = None
    if bias is not None:
        shift = checks.array("linear", 3, "bias", bias, 1, dtype)
        checks.shaped("linear", shift, (outputs,), "one for each row of w")
    shape = (*source.array.shape[:-1], outputs)
    y = arrays.empty(x, shape, dtype)
    reads: dict[str, Any] = {"x": source, "w": weights, "bias": shift}
    if math.prod(shape) == 0:
        return y
    with call("linear", reads, {"y": y}) as run:
        target = _flat(run["y"])
        filters = Matrix.of(run["w"]).transposed
        for rows, part in _blocks(run["x"]):
            gemm_bound(run, 1.0, _matrix(part, dtype), filters, 0.0, _matrix(target.box(0, *rows), dtype))
        if shift is not None:
            backend.of(run).elementwise(run, "axpby", dtype.name, _wide(target), _along(run["bias"]), beta=1.0)
    return y


def linear_backward(dy: Any, x: Any, w: Any) -> tuple[Any, Any, Any]:
    """(dx, dw, db), the gradients of `linear`: dx = dy w, dw = dy^T x, db = sum of dy over all but the last axis.

    dy: gradient by y, (..., O); x: (..., I) and w: (O, I), the forward call's; all read, one element type.
    Returns new arrays of the shapes of x, w and the bias; zero dw and db where the leading axes are empty.
    Deterministic. Raises as `linear`.

    >>> import numpy as np, gpudnn
    >>> dx, dw, db = gpudnn.linear_backward(np.ones((2, 1)), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]]))
    >>> dx.tolist(), dw.tolist(), db.tolist()
    ([[5.0, 6.0], [5.0, 6.0]], [[4.0, 6.0]], [2.0])
    """
    routine = "linear_backward"
    source, weights = _operands(routine, x, w, 2)
    dtype = source.array.dtype
    outputs, inputs = weights.array.shape
    gradient = checks.array(routine, 1, "dy", dy, dtype=dtype)
    checks.shaped(routine, gradient, (*source.array.shape[:-1], outputs), "the forward result's")
    dx = arrays.empty(x, source.array.shape, dtype)
    dw, db = arrays.empty(x, weights.array.shape, dtype), arrays.empty(x, (outputs,), dtype)
    rows = math.prod(source.array.shape[:-1])
    # What is empty takes no part; what has elements but sums nothing is zero.
    sizes = {"dx": (dx, rows * inputs), "dw": (dw, outputs * inputs), "db": (db, outputs)}
    results = {name: array for name, (array, size) in sizes.items() if size}
    if not results:
        return dx, dw, db
    with call(routine, {"dy": gradient, "x": source, "w": weights}, results) as run:
        if outputs == 0 or rows == 0:
            for name in results:
                zeros = plain(run[name])
                backend.of(run).elementwise(run, "axpby", dtype.name, zeros, zeros, alpha=0.0)
            return dx, dw, db
        if inputs:
            filters, target = Matrix.of(run["w"]), _flat(run["dx"])
            for part_rows, part in _blocks(run["dy"]):
                gemm_bound(run, 1.0, _matrix(part, dtype), filters, 0.0, _matrix(target.box(0, *part_rows), dtype))
            _sum_products(run, dtype, _blocks(run["dy"]), _blocks(run["x"]), Matrix.of(run["dw"]))
        _sum_rows(run, dtype, run["dy"], plain(run["db"]))
    return dx, dw, db


def _operands(routine: str, x: Any, w: Any, position: int) -> tuple[Argument, Argument]:
    source = checks.array(routine, position, "x", x)
    weights = checks.array(routine, position + 1, "w", w, 2, source.array.dtype)
    if source.array.ndim == 0:
        raise ArgumentError(routine, position, "x", "no axes", "at least one axis, the last one the features")
    if weights.array.shape[1] != source.array.shape[-1]:
        raise ArgumentError(routine, position + 1, "w", f"shape {weights.array.shape}",
                            f"{source.array.shape[-1]} columns, as many as x (shape {source.array.shape}) has features")
    return source, weights


def _matrix(view: View, dtype: np.dtype) -> Matrix:
    (rows, columns), (row_stride, column_stride) = view.extents, view.strides
    return Matrix(view.pointer, rows, columns, row_stride, column_stride, BY_DTYPE[dtype])


def _blocks(array: Array) -> list[tuple[tuple[int, int], View]]:
    """The rows of (..., I) as matrices: one where the leading axes step evenly, else one for each leading index.

    Each block: the rows (first, last) that it stands for, and its view.
    """
    view = plain(array)
    *leading, last = range(len(view.extents))
    merged = view.merged(leading)
    if merged is not None:
        count, stride = merged
        return [((0, count), View(view.pointer, (count, view.extents[last]), (stride, view.strides[last]),
                                  view.itemsize))]
    found: list[tuple[tuple[int, int], View]] = []
    for index in range(view.extents[0]):
        pointer = view.pointer + index * view.strides[0] * view.itemsize
        part = Array(pointer, array.shape[1:], array.strides[1:], array.dtype, array.writeable, array.place,
                     array.owner)
        offset = found[-1][0][1] if found else 0
        found += [((offset + first, offset + stop), block) for (first, stop), block in _blocks(part)]
    return found


def _flat(array: Array) -> View:
    """A C-order array (..., I) as rows x I."""
    rows = array.size // array.shape[-1] if array.shape[-1] else 0
    return View(array.pointer, (rows, array.shape[-1]), (array.shape[-1], 1), array.dtype.itemsize)


def _wide(view: View) -> View:
    """Rows x features as an image of one pixel."""
    (rows, features), (row_stride, stride) = view.extents, view.strides
    return View(view.pointer, (rows, features, 1, 1, 1), (row_stride, stride, 0, 0, 0), view.itemsize)


def _along(bias: Array) -> View:
    return vector(bias.pointer, bias.shape[0], bias.steps[0], bias.dtype.itemsize, 1)


def _sum_products(run, dtype, left, right, out):
    """out = sum of left^T right over blocks of rows, cut where either is cut."""
    cuts = sorted({row for blocks in (left, right) for (first, stop), _ in blocks for row in (first, stop)})
    for number, (first, stop) in enumerate(itertools.pairwise(cuts)):
        a, b = (_matrix(_cut(blocks, first, stop), dtype) for blocks in (left, right))
        gemm_bound(run, 1.0, a.transposed, b, 1.0 if number else 0.0, out)


def _cut(blocks, first, stop):
    (start, _), view = next(block for block in blocks if block[0][0] <= first and stop <= block[0][1])
    return view.box(0, first - start, stop - start)


def _sum_rows(run, dtype, array, out):
    for number, (_, block) in enumerate(_blocks(array)):
        backend.of(run).row_sums(run, dtype.name, _wide(block), out, 1.0, 1.0 if number else 0.0)
