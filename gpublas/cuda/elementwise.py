"""Matrices element by element on the GPU: problems become plans over the kernel of matrix.py."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..checks import ONE, ZERO, Scalar
from ..context import Call
from ..operands import Stored
from ..precision import Precision
from . import scalars
from .compile import build
from .plan import Launch, Plan

_PLANS = 4096  # remembered; a plan is a few hundred bytes


class _Layout(NamedTuple):
    """Strides of an operand, and whether its imaginary parts change sign."""

    row_stride: int
    column_stride: int
    column_bend: int
    conjugate: bool

    @classmethod
    def of(cls, matrix: Stored) -> _Layout:
        if matrix.row_bend:
            raise AssertionError("packed operands are given column by column")
        return cls(matrix.row_stride, matrix.column_stride, matrix.column_bend, matrix.conjugate)

    @property
    def rows_first(self) -> bool:
        return abs(self.row_stride) <= abs(self.column_stride)


class _Problem(NamedTuple):
    """C = alpha A + beta B or C = A * B on the elements of C that are there."""

    precision: Precision
    rows: int
    columns: int
    below: int
    above: int
    product: bool
    a: _Layout
    b: _Layout
    c: _Layout


def combine(call: Call, alpha: Scalar, A: Stored, beta: Scalar, B: Stored, C: Stored) -> None:
    """C = alpha A + beta B."""
    _run(call, False, alpha, A, beta, B, C)


def assign(call: Call, A: Stored, C: Stored) -> None:
    """C = A on the elements that are there in both."""
    both = C._replace(below=min(A.below, C.below), above=min(A.above, C.above))
    _run(call, False, ONE, A, ZERO, A._replace(column_bend=0), both)


def multiply(call: Call, A: Stored, B: Stored, C: Stored) -> None:
    """C = A * B, element by element."""
    _run(call, True, ONE, A, ZERO, B, C)


def _run(call, product, alpha, A, beta, B, C):
    problem = _Problem(C.precision, C.rows, C.columns, C.below, C.above, product, _Layout.of(A), _Layout.of(B),
                       _Layout.of(C))
    plan_elementwise(call.device.capability, problem).run(call, {
        "A": A.pointer, "B": B.pointer, "C": C.pointer, **scalars.values(alpha, beta)})


@functools.lru_cache(_PLANS)
def plan_elementwise(capability: tuple, problem: _Problem) -> Plan:
    """One launch, a block for each tile."""
    from .matrix import TILE, matrix_kernel

    a, b, c = problem.a, problem.b, problem.c
    kernel = build(matrix_kernel, problem.precision.prefix, capability=capability)
    tiles = -(-problem.rows // TILE) * -(-problem.columns // TILE)
    strides: tuple[Any, ...] = (*a[:2], *b[:2], *c[:2])
    return Plan((Launch.of(
        kernel, tiles, "A", "B", "C", problem.rows, problem.columns, *strides, a.column_bend, c.column_bend,
        problem.below, problem.above, problem.product, a.rows_first, b.rows_first, c.rows_first, *scalars.NAMES,
        -1 if a.conjugate else 1, -1 if b.conjugate else 1),))
