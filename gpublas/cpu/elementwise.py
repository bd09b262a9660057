"""Matrices element by element on the host, with NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import HOST, Array
from ..checks import Scalar
from ..context import Call
from ..operands import Stored

quietly = np.errstate(all="ignore")  # IEEE results without NumPy's warnings, as on the other devices


@quietly
def combine(call: Call, alpha: Scalar, A: Stored, beta: Scalar, B: Stored, C: Stored) -> None:
    """C = alpha A + beta B; what a zero multiplies is not read."""
    out = _whole(C)
    if alpha.is_zero:
        out[...] = 0 if beta.is_zero else _scaled(beta, _whole(B))
    else:
        out[...] = _scaled(alpha, _whole(A))
        if not beta.is_zero:
            out += _scaled(beta, _whole(B))


def assign(call: Call, A: Stored, C: Stored) -> None:
    """C = A on the elements that are there in both."""
    both = C._replace(below=min(A.below, C.below), above=min(A.above, C.above))
    for (target, rows, j) in _columns(both):
        target[...] = _column(A, rows, j)


@quietly
def multiply(call: Call, A: Stored, B: Stored, C: Stored) -> None:
    """C = A * B, element by element."""
    np.multiply(_whole(A), _whole(B), out=_whole(C))


def _scaled(factor: Scalar, values: np.ndarray) -> np.ndarray:
    return values if factor.value == 1 else values.dtype.type(factor.value) * values


def _whole(matrix: Stored) -> np.ndarray:
    """A full matrix as a view, or as a conjugate copy."""
    itemsize = matrix.precision.dtype.itemsize
    found = Array(matrix.pointer, (matrix.rows, matrix.columns),
                  (matrix.row_stride * itemsize, matrix.column_stride * itemsize), matrix.precision.dtype, True, HOST,
                  None).ndarray
    return np.conjugate(found) if matrix.conjugate else found


def _column(matrix: Stored, rows: range, j: int) -> np.ndarray:
    """Some rows of one column, as a view."""
    step = matrix.row_stride * matrix.precision.dtype.itemsize
    return Array(matrix.pointer + matrix.offset(rows.start, j), (len(rows),), (step,), matrix.precision.dtype, True,
                 HOST, None).ndarray


def _columns(matrix: Stored) -> Iterator[tuple[np.ndarray, range, int]]:
    """The elements that are there, column by column: a view, its rows, the column's number."""
    for j in range(matrix.columns):
        rows = range(max(0, j - matrix.above), min(matrix.rows, j + matrix.below + 1))
        yield _column(matrix, rows, j), rows, j
