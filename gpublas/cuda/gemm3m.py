"""Complex products by three real ones on the GPU: planes of A and B in workspace, one launch for the three products."""

from __future__ import annotations

import functools
from typing import NamedTuple

from .. import tuning
from ..checks import Scalar
from ..context import Call
from ..operands import Batch, GemmProblem, Matrix
from ..precision import BY_DTYPE, Precision
from . import scalars
from .compile import build
from .level3 import _UNSCALED, _gemm_launch, choose
from .plan import At, Launch, Plan

_PLANS = 4096
_VECTOR = 4  # reals: rows and columns of planes are whole vectors of 16 bytes


class Planes(NamedTuple):
    """Where the three real matrices of an operand or of the products lie: rows x columns, row by row or column by
    column; pitch: reals from one to the next."""

    rows: int
    columns: int
    by_rows: bool

    @property
    def pitch(self) -> int:
        return _whole(self.columns if self.by_rows else self.rows)

    @property
    def plane(self) -> int:
        """Reals of one matrix."""
        return self.pitch * (_whole(self.rows) if self.by_rows else _whole(self.columns))

    @property
    def strides(self) -> tuple[int, int]:
        return (self.pitch, 1) if self.by_rows else (1, self.pitch)


def _whole(extent: int) -> int:
    return -(-extent // _VECTOR) * _VECTOR


def gemm3m(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix) -> None:
    """C = alpha A B + beta C of complex matrices; k is not 0."""
    plan = plan_gemm3m(tuning.target(call.device, call.context.gemm_config), GemmProblem.of(A, B, C)._replace(
        aligned=(False, False), whole=call.context.batch_invariant))
    plan.serve(call, {"A": A.pointer, "B": B.pointer, "C": C.pointer}, alpha, beta)


@functools.lru_cache(_PLANS)
def plan_gemm3m(target: tuning.Target, problem: GemmProblem) -> Plan:
    """Four launches: planes of A, planes of B, the three real products, C from them.

    Rows and columns of the planes beyond the matrices' are multiplied, whatever they hold, so that all is read in whole
    vectors; nothing of these products is used.
    """
    from .gemm.planes import THREADS, combine_kernel

    real = BY_DTYPE[problem.precision.real]
    size, prefix = real.dtype.itemsize, problem.precision.prefix
    a_row, a_column, b_row, b_column, c_row, c_column = problem.strides
    a = Planes(problem.m, problem.k, abs(a_column) < abs(a_row))
    b = Planes(problem.k, problem.n, abs(b_column) < abs(b_row))
    c = Planes(problem.m, problem.n, abs(c_column) < abs(c_row))
    b_at, c_at = 3 * a.plane * size, 3 * (a.plane + b.plane) * size
    product = GemmProblem(real, _whole(problem.m), _whole(problem.n), problem.k, (*a.strides, *b.strides, *c.strides),
                          False, False, Batch(3, a.plane, b.plane, c.plane), aligned=(True, True), whole=problem.whole)
    combine = build(combine_kernel, prefix, capability=target.capability)
    launches = (
        _planes_launch(target, problem.precision, "A", 0, a, a_row, a_column, problem.conjugate_a),
        _planes_launch(target, problem.precision, "B", b_at, b, b_row, b_column, problem.conjugate_b),
        _gemm_launch(target.capability, choose(target, product), product, At("workspace", 0), At("workspace", b_at),
                     At("workspace", c_at), _UNSCALED),
        Launch.of(combine, -(-problem.m * problem.n // THREADS), At("workspace", c_at), c.pitch, c.plane, "C",
                  problem.m, problem.n, c_row, c_column, c.by_rows, *scalars.NAMES))
    return Plan(launches, c_at + 3 * c.plane * size)


def _planes_launch(target, precision: Precision, name, at, planes: Planes, row_stride, column_stride, conjugate):
    from .gemm.planes import THREADS, planes_kernel

    kernel = build(planes_kernel, precision.prefix, capability=target.capability)
    return Launch.of(kernel, -(-planes.rows * planes.columns // THREADS), name, At("workspace", at), planes.rows,
                     planes.columns, row_stride, column_stride, planes.pitch, planes.plane, planes.by_rows, "alpha_at",
                     "scalars", -1 if conjugate else 1)
