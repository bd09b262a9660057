"""Batched factorisations on the host: LAPACK through SciPy, one matrix after the other."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..arrays import HOST, Array
from ..context import Call
from ..flags import Op
from ..operands import Stack
from ..precision import Precision


def _matrices(stack: Stack) -> np.ndarray:
    """The matrices as a 3-D NumPy array."""
    matrix, itemsize = stack.matrix, stack.matrix.precision.dtype.itemsize
    return Array(matrix.pointer, (stack.products, matrix.rows, matrix.columns),
                 (stack.step * itemsize, matrix.row_stride * itemsize, matrix.column_stride * itemsize),
                 matrix.precision.dtype, True, HOST, None).ndarray


def _integers(pointer: int, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return np.ctypeslib.as_array((ctypes.c_int32 * count).from_address(pointer)).reshape(shape)


def _lapack(precision: Precision, name: str) -> Any:
    from scipy.linalg import lapack

    return getattr(lapack, precision.prefix + name)


def getrf(call: Call, A: Stack, pivots: int, info: int, source: Stack | None = None) -> None:
    """P A = L U in place; A is first filled from source where one is given."""
    if A.matrix.rows == 0:
        _integers(info, A.products)[:] = 0
        return
    factor = _lapack(A.matrix.precision, "getrf")
    rows, statuses = _integers(pivots, A.products, A.matrix.rows), _integers(info, A.products)
    inputs = _matrices(source or A)
    for number, matrix in enumerate(_matrices(A)):
        matrix[...], rows[number], statuses[number] = factor(inputs[number])


def getrs(call: Call, op: Op, A: Stack, pivots: int, B: Stack) -> None:
    """B = inv(op(A)) B from the factors of A."""
    if 0 in B.matrix[1:3]:
        return
    solve = _lapack(A.matrix.precision, "getrs")
    rows = _integers(pivots, A.products, A.matrix.rows)
    for matrix, row, right in zip(_matrices(A), rows, _matrices(B), strict=True):
        right[...] = solve(matrix, row, right, trans="NTC".index(op.value))[0]


def getri(call: Call, A: Stack, pivots: int, C: Stack) -> None:
    """C = inv(A) from the factors of A, as the solution for the identity: a singular A gives Inf and NaN."""
    out = _matrices(C)
    out[...] = np.eye(A.matrix.rows, dtype=out.dtype)
    getrs(call, Op.N, A, pivots, C)


def matinv(call: Call, A: Stack, C: Stack, info: int) -> None:
    """C = inv(A); A is only read."""
    n, kind = A.matrix.rows, A.matrix.precision
    with (call.host_workspace((A.products, n, n), kind.dtype) as factors,
          call.host_workspace((A.products, n), np.int32) as pivots):
        lu = Stack.of(_described(factors))
        getrf(call, lu, pivots.ctypes.data, info, source=A)
        getri(call, lu, pivots.ctypes.data, C)


def _described(values: np.ndarray) -> Array:
    return Array(values.ctypes.data, values.shape, values.strides, values.dtype, True, HOST, values)


def geqrf(call: Call, A: Stack, tau: int) -> None:
    """A = Q R in place."""
    factor = _lapack(A.matrix.precision, "geqrf")
    count = min(A.matrix.rows, A.matrix.columns)
    kind = A.matrix.precision.dtype
    factors = Array(tau, (A.products, count), (count * kind.itemsize, kind.itemsize), kind, True, HOST, None).ndarray
    for number, matrix in enumerate(_matrices(A)):
        matrix[...], factors[number] = factor(matrix)[:2]
