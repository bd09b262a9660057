"""Batched factorisations on the GPU: kernels of factor.py, and the triangular solutions of Level 3."""

from __future__ import annotations

from ..checks import ONE
from ..context import Call
from ..flags import Op
from ..operands import Batch, Matrix, Stack, Triangular
from .compile import build
from .level3 import trsm


def getrf(call: Call, A: Stack, pivots: int, info: int, source: Stack | None = None) -> None:
    """P A = L U in place; A is first filled from source where one is given."""
    from .factor import lu_kernel

    kernel = build(lu_kernel, A.matrix.precision.prefix, capability=call.device.capability)
    other = source or A
    call.launch(kernel, A.products, A.matrix.pointer, A.matrix.rows, A.step, A.matrix.row_stride,
                A.matrix.column_stride, source is not None, other.matrix.pointer, other.step, other.matrix.row_stride,
                other.matrix.column_stride, pivots, info)


def getrs(call: Call, op: Op, A: Stack, pivots: int, B: Stack, identity: bool = False) -> None:
    """B = inv(op(A)) B, or inv(A) where identity: B is then only written."""
    if 0 in B.matrix[1:3]:
        return
    if op is Op.N:
        _exchange(call, pivots, B, backwards=False, identity=identity)
    lower, upper = Triangular(A.matrix, True, True), Triangular(A.matrix, False, False)
    batch = Batch(A.products, A.step, B.step)
    for triangle in (lower, upper) if op is Op.N else (upper, lower):
        trsm(call, ONE, triangle.under(op), B.matrix, batch)
    if op is not Op.N:
        _exchange(call, pivots, B, backwards=True, identity=False)


def getri(call: Call, A: Stack, pivots: int, C: Stack) -> None:
    """C = inv(A) from the factors of A."""
    getrs(call, Op.N, A, pivots, C, identity=True)


def matinv(call: Call, A: Stack, C: Stack, info: int) -> None:
    """C = inv(A); A is only read."""
    n, kind = A.matrix.rows, A.matrix.precision
    with (call.workspace(A.products * n * n * kind.dtype.itemsize) as factors,
          call.workspace(A.products * n * 4) as pivots):
        lu = Stack(Matrix(factors, n, n, 1, n, kind), A.products, n * n)
        getrf(call, lu, pivots, info, source=A)
        getri(call, lu, pivots, C)


def _exchange(call, pivots, B, backwards, identity):
    from .factor import exchange_kernel

    kernel = build(exchange_kernel, B.matrix.precision.prefix, capability=call.device.capability)
    call.launch(kernel, B.products, B.matrix.pointer, B.matrix.rows, B.matrix.columns, B.step, B.matrix.row_stride,
                B.matrix.column_stride, pivots, backwards, identity)


def geqrf(call: Call, A: Stack, tau: int) -> None:
    """A = Q R in place."""
    from .factor import qr_kernel

    kernel = build(qr_kernel, A.matrix.precision.prefix, capability=call.device.capability)
    call.launch(kernel, A.products, A.matrix.pointer, A.matrix.rows, A.matrix.columns, A.step, A.matrix.row_stride,
                A.matrix.column_stride, tau)
