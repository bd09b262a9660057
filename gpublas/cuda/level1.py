"""Level 1 on the GPU: problems become plans over the kernels of vector.py."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import ONE, ZERO, Scalar
from ..context import Call
from ..operands import Vector, VectorProblem
from .compile import build
from .plan import At, Launch, Plan

_PLANS = 4096  # remembered; a plan is a few hundred bytes
_THREADS = 256
_MOST_BLOCKS = 1024  # of an element-wise launch, about what runs at once; a grid-stride loop does the rest
_MOST_PARTIALS = 1024  # blocks of a reduction, whose sums the second launch adds up
_TURNS = 4  # accesses of a thread in a reduction before a second block is worth its while
_VECTOR_BYTES = 16
_SWAP, _PLANE, _MODIFIED = 0, 1, 2  # modes of the kernel "rotate"


def axpy(call: Call, alpha: Scalar, x: Vector, y: Vector) -> None:
    """y = alpha x + y."""
    axpby(call, alpha, x, ONE, y)


def axpby(call: Call, alpha: Scalar, x: Vector, beta: Scalar, y: Vector) -> None:
    """y = alpha x + beta y; what a zero multiplies is not read."""
    _combine(call, alpha, x, beta, y)


def scal(call: Call, alpha: Scalar, x: Vector, real: bool) -> None:
    """x = alpha x, also when alpha is zero; real: alpha is a real number."""
    _combine(call, ZERO, x, alpha, x, multiplies=True, halves=real)


def copy(call: Call, x: Vector, y: Vector) -> None:
    """y = x."""
    _combine(call, ONE, x, ZERO, y, halves=True)


def _combine(call, alpha, x, beta, y, multiplies=False, halves=False):
    x, y = _forwards(x, y)
    plan = plan_elementwise(call.device.capability, VectorProblem.of(x, y, halves), "axpby", int(multiplies))
    plan.serve(call, {"x": x.pointer, "y": y.pointer}, alpha, beta)


def swap(call: Call, x: Vector, y: Vector) -> None:
    """x and y are exchanged."""
    _rotate(call, _SWAP, x, y, True, 0, (0.0,) * 5)


def rot(call: Call, x: Vector, y: Vector, c: Scalar, s: Scalar, real: bool) -> None:
    """(x, y) = (c x + s y, c y - conj(s) x); c is real, and s too where `real` says so."""
    _rotate(call, _PLANE, x, y, real, bool(c.argument) + 2 * bool(s.argument),
            (c.value.real, s.value.real, s.value.imag, 0.0, 0.0), c.pointer, s.pointer)


def rotm(call: Call, x: Vector, y: Vector, param: np.ndarray | Array) -> None:
    """(x, y) = H (x, y); param: five real numbers, on the host (NumPy) or where the kernel can read them."""
    if isinstance(param, Array):
        _rotate(call, _MODIFIED, x, y, True, 1, (0.0,) * 5, param.pointer)
    else:
        _rotate(call, _MODIFIED, x, y, True, 0, tuple(param))


def _rotate(call, mode, x, y, halves, there, numbers, c_at=0, s_at=0):
    x, y = _forwards(x, y)
    plan = plan_elementwise(call.device.capability, VectorProblem.of(x, y, halves), "rotate", mode)
    plan.run(call, {"x": x.pointer, "y": y.pointer, "c_at": c_at, "s_at": s_at, "scalars": there,
                    **dict(zip(_NUMBERS, numbers, strict=True))})


_NUMBERS = ("p0", "p1", "p2", "p3", "p4")
_ARGUMENTS = {"axpby": ("alpha_at", "beta_at", "scalars", "alpha_real", "alpha_imag", "beta_real", "beta_imag"),
              "rotate": ("c_at", "s_at", "scalars", *_NUMBERS)}


def _forwards(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """The same pairs of elements with positive strides where both are negative: any order will do."""
    return (x.reversed, y.reversed) if x.stride < 0 and y.stride < 0 else (x, y)


@functools.lru_cache(_PLANS)
def plan_elementwise(capability: tuple, problem: VectorProblem, operation: str, mode: int) -> Plan:
    """One launch with a thread for each access, up to a limit."""
    from .vector import elementwise_kernel

    kernel = build(elementwise_kernel, operation, problem.precision.prefix, capability=capability)
    vectors, turns = _turns(problem)
    return Plan((Launch.of(kernel, min(_blocks(turns, 1), _MOST_BLOCKS), "x", "y", problem.size, vectors,
                           *_steps(problem), mode, *_ARGUMENTS[operation]),))


def dot(call: Call, x: Vector, y: Vector, conjugate: bool, start: float, result: np.dtype, out: Array | None) -> Any:
    """start + the sum of the products, in `result`'s type; conjugate: of conj(x) and y."""
    x, y = _forwards(x, y)
    plan = plan_sum(call.device.capability, VectorProblem.of(x, y), "dot", -1 if conjugate else 1,
                    result == np.float64)
    return _reduce(call, plan, {"x": x.pointer, "y": y.pointer, "start": start}, result, out)


def nrm2(call: Call, x: Vector, out: Array | None) -> Any:
    """The root of the sum of squares."""
    return _sum_of_one(call, "nrm2", x, out)


def asum(call: Call, x: Vector, out: Array | None) -> Any:
    """The sum of magnitudes."""
    return _sum_of_one(call, "asum", x, out)


def _sum_of_one(call, kind, x, out):
    x, _ = _forwards(x, x)
    plan = plan_sum(call.device.capability, VectorProblem.of(x, halves=True), kind, 1, False)
    return _reduce(call, plan, {"x": x.pointer, "y": 0, "start": 0.0}, x.precision.real, out)


@functools.lru_cache(_PLANS)
def plan_sum(capability: tuple, problem: VectorProblem, kind: str, sign: int, wide: bool) -> Plan:
    """One launch of one block, or many blocks and then one that adds up their sums."""
    from .vector import sum_kernel

    kernel = build(sum_kernel, kind, problem.precision.prefix, capability=capability)
    vectors, turns = _turns(problem)
    blocks = min(_blocks(turns, _TURNS), _MOST_PARTIALS)
    elements = ("x", "y", problem.size, vectors, *_steps(problem), sign)
    nothing = ("x", "y", 0, 0, 0, 0, 0, sign)
    finish = ("start", wide, "out", "out")
    if blocks == 1:
        return Plan((Launch.of(kernel, 1, *elements, 0, 0, *finish),))
    return Plan((Launch.of(kernel, blocks, *elements, 0, "workspace", *finish),
                 Launch.of(kernel, 1, *nothing, blocks, "workspace", *finish)), 8 * _MOST_SUMS * blocks)


_MOST_SUMS = 3  # that a block leaves behind


def iamax(call: Call, x: Vector, sign: int, out: Array | None) -> Any:
    """The first place of the largest (sign 1) or smallest (-1) magnitude."""
    plan = plan_extreme(call.device.capability, VectorProblem.of(x), sign)
    return _reduce(call, plan, {"x": x.pointer}, np.dtype(np.int64), out)


@functools.lru_cache(_PLANS)
def plan_extreme(capability: tuple, problem: VectorProblem, sign: int) -> Plan:
    """One launch of one block, or many blocks and then one that compares what they found."""
    from .vector import extreme_kernel

    kernel = build(extreme_kernel, problem.precision.prefix, capability=capability)
    vectors, turns = _turns(problem)
    blocks = min(_blocks(turns, _TURNS), _MOST_PARTIALS)
    elements = ("x", problem.size, vectors, problem.x_step, sign)
    if blocks == 1:
        return Plan((Launch.of(kernel, 1, *elements, 0, 0, 0, "out"),))
    found = (At("workspace", 8 * blocks), "workspace", "out")  # values after places
    return Plan((Launch.of(kernel, blocks, *elements, 0, *found),
                 Launch.of(kernel, 1, "x", 0, 0, 0, sign, blocks, *found)), 2 * 8 * blocks)


def _reduce(call: Call, plan: Plan, values: dict[str, Any], result: np.dtype, out: Array | None) -> Any:
    """The result: in `out`, with nothing waited for, or as a NumPy scalar."""
    if out is not None:
        plan.run(call, {**values, "out": out.pointer})
        return None
    with call.workspace(result.itemsize) as address:
        plan.run(call, {**values, "out": address})
        value = np.empty((), result)
        call.device.download(address, value, call.stream)
    return value[()]


def _turns(problem: VectorProblem) -> tuple[int, int]:
    """Whole vectors of 16 bytes, and accesses to each operand."""
    each = max(_VECTOR_BYTES // problem.precision.dtype.itemsize, 1)
    vectors = problem.size // each if problem.wide else 0
    return vectors, max(vectors, problem.size - vectors * each)


def _blocks(turns: int, each: int) -> int:
    return max(-(-turns // (_THREADS * each)), 1)


def _steps(problem: VectorProblem) -> tuple[int, int, int]:
    return problem.x_step, problem.y_step, problem.shift
