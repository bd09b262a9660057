"""Level 2 on the GPU: problems become plans over the kernels of matvec.py, rank.py and substitution.py."""

from __future__ import annotations

import functools

from ..checks import ONE, ZERO, Scalar
from ..context import Call
from ..operands import Stored, Vector
from . import scalars
from .compile import build
from .plan import At, Launch, Plan

_PLANS = 4096  # remembered of each kind; a plan is a few hundred bytes
_BLOCKS = 528  # thread blocks that fill a large GPU: chunks of a matrix grow until there are no more
_COLUMNS = 128  # least width of a chunk: its sums and its part of x are then a small share of what it reads
_DIAGONALS = 32  # least number in a chunk of a band
_SPLIT_FROM = 8  # sums of an element from which on several threads share them
_SPLITS = 8
_WINDOW = 256  # rows that one launch of the substitution kernel solves, or any number with no more diagonals
_SUBTRACT = (0, 0, 0, -1, 0, 1, 0)  # alpha = -1, beta = 1


def gemv(call: Call, alpha: Scalar, A: Stored, x: Vector, beta: Scalar, y: Vector) -> None:
    """y = alpha A x + beta y."""
    _multiply(call, alpha, A, "", x, beta, y)


def symv(call: Call, alpha: Scalar, A: Stored, hermitian: bool, x: Vector, beta: Scalar,
                     y: Vector) -> None:
    """y = alpha A x + beta y, for a symmetric or Hermitian A of which one triangle is there."""
    _multiply(call, alpha, A, "hermitian" if hermitian else "symmetric", x, beta, y)


def trmv(call: Call, A: Stored, lower: bool, unit: bool, x: Vector) -> None:
    """x = A x, for a triangular A."""
    A = A.without_diagonal(lower) if unit else A
    _multiply(call, ONE, A, "unit" if unit else "", x, ZERO, x)


def _multiply(call, alpha, A, kind, x, beta, y):
    known = "zero" if alpha.is_zero else "device" if alpha.argument else "value"
    plan = plan_matvec(call.device.capability, A._replace(pointer=0), kind, x.stride, y.stride, known)
    plan.serve(call, {"A": A.pointer, "x": x.pointer, "y": y.pointer}, alpha, beta)


@functools.lru_cache(_PLANS)
def plan_matvec(capability: tuple, A: Stored, kind: str, x_step: int, y_step: int, alpha: str) -> Plan:
    """Two launches: sums to workspace, and what they come to; the second only where there are no sums.

    A: the matrix, but for its address. kind: "", "symmetric", "hermitian", or "unit" for a triangle that has ones on
    its diagonal besides. alpha: "zero", "value" (on the host, not zero) or "device" (unknown to the host).
    """
    if alpha == "zero" or A.columns == 0:
        return Plan((_finish_launch(capability, A, "A", "x", "y", 0, x_step, y_step, kind == "unit", scalars.NAMES),))
    gate = ("alpha_at", scalars.GATE) if alpha == "device" else (0, 0)
    return Plan(*_product(capability, A, kind, "A", "x", "y", x_step, y_step, gate, scalars.NAMES))


def _product(capability, A, kind, a, x, y, x_step, y_step, gate, given):
    """The launches of a product, and the bytes of workspace that they need; a, x, y: addresses, as plans name them."""
    if A.storage == "band":
        launches, count = _diagonal_launches(capability, A, kind, a, x, x_step, gate)
    else:
        launches, count = _tile_launches(capability, A, kind, a, x, x_step, gate)
    finish = _finish_launch(capability, A, "workspace" if count else a, x, y, count, x_step, y_step, kind == "unit",
                            given)
    return (*launches, finish), count * A.rows * A.precision.dtype.itemsize


def _finish_launch(capability, A, sums, x, y, count, x_step, y_step, unit, given):
    from .matvec import THREADS, finish_sums

    kernel = build(finish_sums, A.precision.prefix, capability=capability)
    splits = _SPLITS if count >= _SPLIT_FROM else 1
    return Launch.of(kernel, _ceil(A.rows, THREADS // splits), sums, x, y, A.rows, count, x_step, y_step, splits, unit,
                     *given)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _tile_launches(capability, A, kind, a, x, x_step, gate):
    """One launch, and how many sums it leaves for each element."""
    from .matvec import HERMITIAN, SYMMETRIC, WANTS_COLUMNS, WANTS_ROWS, tile_rows, tile_sums

    both, hermitian = kind in ("symmetric", "hermitian"), kind == "hermitian"
    sign = -1 if A.conjugate else 1
    turned = not A.rows_fast
    seen = A.transposed if turned else A
    mode = WANTS_COLUMNS if turned else WANTS_ROWS
    signs = (sign, sign)
    if both:
        mode = WANTS_ROWS | WANTS_COLUMNS | SYMMETRIC | (HERMITIAN if hermitian else 0)
        if hermitian:  # the triangle that is not there, along the other axis, is the conjugate
            signs = (-sign, sign) if turned else (sign, -sign)
    tile = tile_rows(A.precision.prefix)
    chunk_rows, chunk_columns = _chunks(seen.rows, seen.columns, tile, bool(mode & WANTS_COLUMNS))
    down, across = _ceil(seen.rows, chunk_rows), _ceil(seen.columns, chunk_columns)
    kernel = build(tile_sums, A.precision.prefix, capability=capability)
    launch = Launch.of(
        kernel, down * across, a, x, "workspace", seen.rows, seen.columns, seen.row_stride, seen.column_stride,
        seen.column_bend, x_step, seen.below, seen.above, chunk_rows, chunk_columns, mode, *gate, *signs)
    return (launch,), (across if mode & WANTS_ROWS else 0) + (down if mode & WANTS_COLUMNS else 0)


def _chunks(rows: int, columns: int, tile: int, wants_columns: bool) -> tuple[int, int]:
    """Rows and columns of the part of a matrix that a thread block takes."""
    if wants_columns:  # many tiles of rows above each other
        across = _ceil(columns, _COLUMNS)
        return max(_ceil(_ceil(rows * across, _BLOCKS), tile), 1) * tile, _COLUMNS
    across = max(_BLOCKS // _ceil(rows, tile), 1)
    return tile, max(_ceil(_ceil(columns, across), _COLUMNS), 1) * _COLUMNS


def _diagonal_launches(capability, A, kind, a, x, x_step, gate):
    """One launch for all diagonals, and how many sums it leaves for each element."""
    from .matvec import COLUMNS_FAST, DIAGONAL_THREADS, DIAGONALS_FAST, HERMITIAN, ROWS_FAST, diagonal_sums

    low, high, mirror = -min(A.below, A.rows - 1), min(A.above, A.columns - 1), 0
    if kind in ("symmetric", "hermitian"):
        mirror = -1 if A.lower else 1
        low, high = (low, -low) if A.lower else (-high, high)
    if low > high:
        return (), 0
    down = _ceil(A.rows, DIAGONAL_THREADS)
    depth = max(_DIAGONALS, _ceil((high - low + 1) * down, _BLOCKS))
    count = _ceil(high - low + 1, depth)
    distances = {ROWS_FAST: A.row_stride, COLUMNS_FAST: A.column_stride,
                 DIAGONALS_FAST: A.row_stride + A.column_stride}
    fast = min(distances, key=lambda axis: abs(distances[axis]))
    kernel = build(diagonal_sums, A.precision.prefix, capability=capability)
    launch = Launch.of(
        kernel, down * count, a, x, "workspace", A.rows, A.columns, A.row_stride, A.column_stride, x_step, low, high,
        depth, fast, mirror, HERMITIAN if kind == "hermitian" else 0, *gate, -1 if A.conjugate else 1)
    return (launch,), count


def trsv(call: Call, A: Stored, lower: bool, unit: bool, x: Vector) -> None:
    """x = inv(A) x, for a triangular A."""
    plan = plan_solve(call.device.capability, A._replace(pointer=0), lower, unit, x.stride)
    plan.serve(call, {"A": A.pointer, "x": x.pointer})


@functools.lru_cache(_PLANS)
def plan_solve(capability: tuple, A: Stored, lower: bool, unit: bool, x_step: int) -> Plan:
    """Halve the triangle until the substitution kernel takes it; between, subtract the product of what is beside the
    halves with the part of x that is solved."""
    launches: list[Launch] = []
    reach = max(min(A.below if lower else A.above, A.rows - 1), 0)
    workspace = _solve_rows(launches, capability, (A, lower, unit, x_step, reach), 0, A.rows)
    return Plan(tuple(launches), workspace)


def _solve_rows(launches, capability, problem, start, stop):
    """Append the launches for rows start to stop, in the order of substitution; return the workspace they need."""
    A, lower, _, x_step, reach = problem
    if stop - start <= _WINDOW or reach <= _WINDOW:
        launches.append(_substitution_launch(capability, problem, start, stop))
        return 0
    middle = start + max(_WINDOW, (stop - start) // 2 // _WINDOW * _WINDOW)
    first = _solve_rows(launches, capability, problem, start, middle)
    rows, columns = range(middle, min(stop, middle + reach)), range(max(start, middle - reach), middle)
    if not lower:  # an upper triangle is solved from its end
        rows, columns = (range(A.rows - part.stop, A.rows - part.start) for part in (rows, columns))
    beside, x_bytes = A.block(rows, columns), x_step * A.precision.dtype.itemsize
    more, between = _product(
        capability, beside._replace(pointer=0), "", At("A", beside.pointer), At("x", columns.start * x_bytes),
        At("x", rows.start * x_bytes), x_step, x_step, (0, 0), _SUBTRACT)
    launches += more
    return max(first, between, _solve_rows(launches, capability, problem, middle, stop))


def _substitution_launch(capability, problem, start, stop):
    from .substitution import substitution

    A, lower, unit, x_step, reach = problem
    kernel = build(substitution, A.precision.prefix, capability=capability)
    return Launch.of(kernel, 1, "A", "x", A.rows, start, stop, A.row_stride, A.column_stride, A.row_bend, A.column_bend,
                     x_step, reach, lower, unit, A.rows_fast, -1 if A.conjugate else 1)


def ger(call: Call, alpha: Scalar, x: Vector, y: Vector, conjugate: bool, A: Stored) -> None:
    """A = A + alpha x y^T, or y^H if conjugate."""
    sign = -1 if conjugate else 1
    if A.rows_fast:
        _update(call, alpha, x, y, (1, sign), A, False, False, False)
    else:
        _update(call, alpha, y, x, (sign, 1), A.transposed, False, False, False)


def syr(call: Call, alpha: Scalar, x: Vector, y: Vector | None, hermitian: bool, A: Stored) -> None:
    """A = A + alpha x x^T, or A + alpha x y^T + alpha y x^T, on the triangle that is there; adjoints, and the second
    alpha conjugate, if hermitian, and then the diagonal is made real."""
    turned = not A.rows_fast
    signs = ((-1, 1) if turned else (1, -1)) if hermitian else (1, 1)
    _update(call, alpha, x, x if y is None else y, signs, A.transposed if turned else A, y is not None, hermitian,
            turned and hermitian)


def _update(call, alpha, x, y, signs, A, both, hermitian, conjugate_alpha):
    plan = plan_update(call.device.capability, A._replace(pointer=0), x.stride, y.stride, both, hermitian, signs)
    plan.serve(call, {"A": A.pointer, "x": x.pointer, "y": y.pointer}, alpha, ZERO, conjugate_alpha)


@functools.lru_cache(_PLANS)
def plan_update(capability: tuple, A: Stored, x_step: int, y_step: int, both: bool, hermitian: bool,
                signs: tuple[int, int]) -> Plan:
    """One launch with a block for each tile of A."""
    from .matvec import tile_rows
    from .rank import COLUMNS, rank_update

    kernel = build(rank_update, A.precision.prefix, capability=capability)
    tiles = _ceil(A.rows, tile_rows(A.precision.prefix)) * _ceil(A.columns, COLUMNS)
    return Plan((Launch.of(
        kernel, tiles, "A", "x", "y", A.rows, A.columns, A.row_stride, A.column_stride, A.column_bend, x_step, y_step,
        A.below, A.above, both, hermitian, "alpha_at", "scalars", "alpha_real", "alpha_imag", *signs),))
