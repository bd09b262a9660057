"""Matrices as the host's BLAS takes them: column-major with an op character, or a compact copy that is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ..arrays import HOST, Array
from ..context import Call
from ..operands import Matrix
from .reference import INT_MAX


def view(matrix: Matrix) -> np.ndarray:
    """The matrix's memory as a NumPy array; its conjugate flag is the caller's business."""
    itemsize = matrix.precision.dtype.itemsize
    return Array(matrix.pointer, (matrix.rows, matrix.columns),
                 (matrix.row_stride * itemsize, matrix.column_stride * itemsize), matrix.precision.dtype, True, HOST,
                 None).ndarray


def values(matrix: Matrix) -> np.ndarray:
    """The matrix as it is meant: a view, or a conjugate copy."""
    return np.conjugate(view(matrix)) if matrix.conjugate else view(matrix)


def is_blas(matrix: Matrix) -> bool:
    """Whether BLAS can address the memory as it is: column-major, with a leading dimension of 32 bits."""
    return matrix.is_column_major and matrix.leading_dimension <= INT_MAX


def block(matrix: Matrix, rows: range, columns: range) -> Matrix:
    """A contiguous block of rows and columns."""
    offset = rows.start * matrix.row_stride + columns.start * matrix.column_stride
    return matrix._replace(pointer=matrix.pointer + offset * matrix.precision.dtype.itemsize, rows=len(rows),
                           columns=len(columns))


def as_op(matrix: Matrix, ops: str = "NTC") -> tuple[str, Matrix] | None:
    """An op character among `ops` and the column-major matrix, in the operand's own memory, that BLAS then reads as
    `matrix`; None where there is none."""
    stored = matrix._replace(conjugate=False) if matrix.conjugate else matrix
    if not matrix.conjugate and is_blas(stored):
        return "N", stored
    transposing = "C" if matrix.conjugate else "T"
    turned = stored.transposed
    return (transposing, turned) if transposing in ops and is_blas(turned) else None


@contextlib.contextmanager
def with_op(call: Call, matrix: Matrix, ops: str = "NTC") -> Iterator[tuple[str, Matrix]]:
    """As as_op, with a compact copy where the operand's own memory will not do."""
    found = as_op(matrix, ops)
    if found:
        yield found
    else:
        with column_major_copy(call, matrix) as (copy, _):
            yield "N", copy


@contextlib.contextmanager
def column_major_copy(call: Call, matrix: Matrix, read: bool = True) -> Iterator[tuple[Matrix, np.ndarray]]:
    """A compact column-major copy in workspace, conjugated if the matrix says so, and its NumPy array."""
    with call.host_workspace((matrix.columns, matrix.rows), matrix.precision.dtype) as transposed:
        compact = transposed.T
        if read and matrix.conjugate:
            np.conjugate(view(matrix), out=compact)
        elif read:
            compact[...] = view(matrix)
        yield Matrix(compact.ctypes.data, matrix.rows, matrix.columns, 1, max(1, matrix.rows),
                     matrix.precision), compact


@contextlib.contextmanager
def column_major_output(call: Call, matrix: Matrix, read: bool = True) -> Iterator[Matrix]:
    """The matrix itself if BLAS can write to it, else a compact copy that is stored back at the end."""
    if is_blas(matrix):
        yield matrix
    else:
        with column_major_copy(call, matrix, read) as (copy, compact):
            yield copy
            view(matrix)[...] = compact
