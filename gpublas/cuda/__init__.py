"""The GPU backend: problems become plans, plans become launches, on the CUDA driver or the PTX executor."""

from __future__ import annotations

import dataclasses
import functools

from ..checks import Scalar
from ..context import Call
from ..operands import GemmProblem, Matrix
from .compile import build
from .gemm.config import choose
from .plan import Launch, Plan

_PLANS = 4096  # remembered; a plan is a few hundred bytes


def gemm(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix) -> None:
    """C = alpha A B + beta C."""
    plan = plan_gemm(call.device.capability, GemmProblem.of(A, B, C))
    a, b = alpha.value, beta.value
    plan.run(call, {
        "A": A.pointer, "B": B.pointer, "C": C.pointer, "alpha_at": alpha.pointer, "beta_at": beta.pointer,
        "scalars": bool(alpha.argument) + 2 * bool(beta.argument),
        "alpha_real": a.real, "alpha_imag": a.imag, "beta_real": b.real, "beta_imag": b.imag})


@functools.lru_cache(_PLANS)
def plan_gemm(capability: tuple, problem: GemmProblem) -> Plan:
    """One launch: a block for each tile of C, numbered along one axis so that no grid limit is met."""
    from .gemm.simt import gemm_kernel

    config = choose(problem.precision, problem.m, problem.n, problem.k)
    kernel = build(gemm_kernel, *dataclasses.astuple(config), capability=capability)
    tiles = -(-problem.m // config.block_rows) * -(-problem.n // config.block_columns)
    return Plan((Launch.of(
        kernel, tiles, "A", "B", "C", problem.m, problem.n, problem.k, *problem.strides, "alpha_at", "beta_at",
        "scalars", "alpha_real", "alpha_imag", "beta_real", "beta_imag",
        -1 if problem.conjugate_a else 1, -1 if problem.conjugate_b else 1),))
