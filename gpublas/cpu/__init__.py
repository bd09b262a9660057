"""The host backend: reference BLAS through SciPy's cython_blas pointers, without copies and without the GIL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from ctypes import byref

import numpy as np

from ..arrays import HOST, Array
from ..checks import Scalar
from ..context import Call
from ..operands import Matrix
from . import reference
from .reference import INT_MAX, character, integer


def view(matrix: Matrix) -> np.ndarray:
    """The matrix's memory as a NumPy array; its conjugate flag is the caller's business."""
    itemsize = matrix.precision.dtype.itemsize
    return Array(matrix.pointer, (matrix.rows, matrix.columns),
                 (matrix.row_stride * itemsize, matrix.column_stride * itemsize), matrix.precision.dtype, True, HOST,
                 None).ndarray


def gemm(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix) -> None:
    """C = alpha A B + beta C."""
    if A.columns == 0 or alpha.is_zero:  # A and B are not read, whatever they hold
        scale(C, beta)
    elif not (C.is_column_major and C.leading_dimension <= INT_MAX):
        with _column_major_copy(call, C, read=not beta.is_zero) as (copy, compact):
            gemm(call, alpha, A, B, beta, copy)
            view(C)[...] = compact
    elif max(C.rows, C.columns, A.columns) > INT_MAX:
        _gemm_in_halves(call, alpha, A, B, beta, C)
    else:
        with _blas_operand(call, A) as (op_a, a), _blas_operand(call, B) as (op_b, b):
            dtype = C.precision.dtype
            alpha_value, beta_value = np.array(alpha.value, dtype), np.array(beta.value, dtype)
            reference.routine(C.precision.prefix + "gemm")(
                byref(character(op_a)), byref(character(op_b)), byref(integer(C.rows)), byref(integer(C.columns)),
                byref(integer(A.columns)), alpha_value.ctypes.data, a.pointer, byref(integer(a.leading_dimension)),
                b.pointer, byref(integer(b.leading_dimension)), beta_value.ctypes.data, C.pointer,
                byref(integer(C.leading_dimension)))


def scale(C: Matrix, beta: Scalar) -> None:
    """C = beta C; beta == 0 writes zeros and reads nothing."""
    values = view(C)
    if beta.is_zero:
        values[...] = 0
    elif beta.value != 1:
        values *= C.precision.dtype.type(beta.value)


def _gemm_in_halves(call, alpha, A, B, beta, C):
    """Dimensions beyond 32-bit integers: split the longest."""
    m, n, k = C.rows, C.columns, A.columns
    one = Scalar(1.0)
    if m == max(m, n, k):
        for rows in _halves(m):
            gemm(call, alpha, _block(A, rows, range(k)), B, beta, _block(C, rows, range(n)))
    elif n == max(m, n, k):
        for columns in _halves(n):
            gemm(call, alpha, A, _block(B, range(k), columns), beta, _block(C, range(m), columns))
    else:
        for number, depth in enumerate(_halves(k)):
            gemm(call, alpha, _block(A, range(m), depth), _block(B, depth, range(n)), one if number else beta, C)


def _halves(extent: int) -> tuple[range, range]:
    return range(extent // 2), range(extent // 2, extent)


def _block(matrix: Matrix, rows: range, columns: range) -> Matrix:
    offset = rows.start * matrix.row_stride + columns.start * matrix.column_stride
    return matrix._replace(pointer=matrix.pointer + offset * matrix.precision.dtype.itemsize, rows=len(rows),
                           columns=len(columns))


@contextlib.contextmanager
def _blas_operand(call: Call, matrix: Matrix) -> Iterator[tuple[str, Matrix]]:
    """The op character and column-major matrix that BLAS reads as `matrix`; a compact copy where there is none."""
    stored = matrix._replace(conjugate=False)
    if not matrix.conjugate and stored.is_column_major and stored.leading_dimension <= INT_MAX:
        yield "N", stored
    elif stored.transposed.is_column_major and stored.transposed.leading_dimension <= INT_MAX:
        yield "C" if matrix.conjugate else "T", stored.transposed
    else:
        with _column_major_copy(call, matrix, read=True) as (copy, _):
            yield "N", copy


@contextlib.contextmanager
def _column_major_copy(call: Call, matrix: Matrix, read: bool) -> Iterator[tuple[Matrix, np.ndarray]]:
    """A compact column-major copy in workspace, conjugated if the matrix says so, and its NumPy array."""
    with call.host_workspace((matrix.columns, matrix.rows), matrix.precision.dtype) as transposed:
        compact = transposed.T
        if read and matrix.conjugate:
            np.conjugate(view(matrix), out=compact)
        elif read:
            compact[...] = view(matrix)
        yield Matrix(compact.ctypes.data, matrix.rows, matrix.columns, 1, max(1, matrix.rows),
                     matrix.precision), compact
