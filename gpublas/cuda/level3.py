"""Level 3 on the GPU: everything is the gemm kernel, and for triangles a small kernel for diagonal blocks."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import tuning
from ..checks import ONE, Scalar
from ..context import Call
from ..operands import ALONE, Batch, GemmProblem, Matrix, Symmetric, Triangle, Triangular, TriangularProblem
from ..precision import Precision
from . import scalars
from .compile import Kernel, build
from .gemm.config import ANY, SimtConfig, SkinnyConfig
from .gemm.select import Choice, cut, skinny_way, turned, ways, work_of
from .plan import At, Launch, Plan

_NO_EPILOGUE = (0, 0, 0, 0, 0)  # bias, its step, aux, its steps
_PLANS = 4096  # remembered of each kind; a plan is a few hundred bytes


def gemm(call: Call, alpha: Scalar, A: Matrix | Symmetric, B: Matrix, beta: Scalar, C: Matrix,
         batch: Batch = ALONE, triangle: Triangle | None = None, conjugate_alpha: bool = False) -> None:
    """C = alpha A B + beta C, for one product or a batch of them, on all of C or on one triangle."""
    problem = GemmProblem.of(A, B, C, batch, triangle)
    if call.context.batch_invariant:
        problem = problem._replace(whole=True)
    plan = plan_gemm(tuning.target(call.device, call.context.gemm_config), problem)
    pointers = {"A": (A.matrix if isinstance(A, Symmetric) else A).pointer, "B": B.pointer, "C": C.pointer}
    plan.serve(call, pointers, alpha, beta, conjugate_alpha)


symm = gemm


def gemmtr(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix, triangle: Triangle) -> None:
    """C = alpha A B + beta C on one triangle of C."""
    gemm(call, alpha, A, B, beta, C, triangle=triangle)


def syrk(call: Call, alpha: Scalar, A: Matrix, beta: Scalar, C: Matrix, triangle: Triangle, hermitian: bool) -> None:
    """C = alpha A A^T + beta C (A A^H if hermitian) on one triangle of C."""
    gemm(call, alpha, A, A.adjoint if hermitian else A.transposed, beta, C, triangle=triangle)


def syr2k(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix, triangle: Triangle,
          hermitian: bool) -> None:
    """C = alpha A B^T + alpha B A^T + beta C (adjoints, and the second alpha conjugate, if hermitian)."""
    left, right = (B.adjoint, A.adjoint) if hermitian else (B.transposed, A.transposed)
    gemm(call, alpha, A, left, beta, C, triangle=triangle)
    gemm(call, alpha, B, right, ONE, C, triangle=triangle, conjugate_alpha=hermitian)


def trmm(call: Call, alpha: Scalar, A: Triangular, B: Matrix, batch: Batch = ALONE) -> None:
    """B = alpha A B, for one product or a batch of them."""
    _triangular(call, False, alpha, A, B, batch)


def trsm(call: Call, alpha: Scalar, A: Triangular, B: Matrix, batch: Batch = ALONE) -> None:
    """B = alpha inv(A) B, for one solution or a batch of them."""
    _triangular(call, True, alpha, A, B, batch)


def gemm_many(call: Call, alpha: Scalar, products: list[tuple[Matrix, Matrix, Matrix]], beta: Scalar) -> None:
    """C = alpha A B + beta C for each (A, B, C): one launch for all that are laid out alike."""
    for layout, batch in _batches(call, products):
        with batch as (tables, found):
            a, b, c = (matrix._replace(pointer=table) for matrix, table in zip(layout, tables, strict=True))
            gemm(call, alpha, a, b, beta, c, found)


def trsm_many(call: Call, alpha: Scalar, solutions: list[tuple[Triangular, Matrix]]) -> None:
    """B = alpha inv(A) B for each (A, B): one set of launches for all that are laid out alike."""
    shape = solutions[0][0]
    for layout, batch in _batches(call, [(A.matrix, B) for A, B in solutions]):
        with batch as (tables, found):
            a, b = (matrix._replace(pointer=table) for matrix, table in zip(layout, tables, strict=True))
            trsm(call, alpha, shape._replace(matrix=a), b, found)


def _batches(call: Call, items: Sequence[tuple[Matrix, ...]]) -> Iterator[tuple[tuple[Matrix, ...], Any]]:
    """Items that differ in nothing but addresses, as one of them and a context that gives (tables, Batch)."""
    alike: dict[tuple, list[tuple[Matrix, ...]]] = {}
    for item in items:
        alike.setdefault(tuple(matrix._replace(pointer=0) for matrix in item), []).append(item)
    for group in alike.values():
        yield group[0], _tables(call, group)


@contextlib.contextmanager
def _tables(call: Call, group: Sequence[tuple[Any, ...]]) -> Iterator[tuple[list[int], Batch]]:
    """Addresses of tables on the device, one for each operand of the group's items."""
    addresses = np.array([[matrix.pointer for matrix in item] for item in group], np.int64).T.copy()
    with call.workspace(addresses.nbytes) as start:
        call.device.upload(addresses, start, call.stream)
        yield [start + row * addresses.strides[0] for row in range(len(addresses))], Batch(len(group), tables=True)


def _triangular(call, solve, alpha, A, B, batch):
    kind = "zero" if alpha.is_zero else "device" if alpha.argument else "value"
    plan = plan_triangular(tuning.target(call.device, call.context.gemm_config),
                           TriangularProblem.of(solve, kind, A, B, batch))
    plan.serve(call, {"A": A.matrix.pointer, "B": B.pointer}, alpha)


@functools.lru_cache(_PLANS)
def plan_gemm(target: tuning.Target, problem: GemmProblem) -> Plan:
    """The plan of a product without an epilogue."""
    return plan_product(target, problem, (), scalars.NAMES, _NO_EPILOGUE)


def plan_product(target: tuning.Target, problem: GemmProblem, epilogue: tuple, given: tuple, fused: tuple) -> Plan:
    """One launch: a block for each tile of each C, numbered along one axis so that no grid limit is met.

    Where there are few tiles and k is long, k is cut: the parts' products go to workspace, and another launch adds them
    up in order. epilogue: the fields of an Epilogue, or (). given: the scalars, fused: bias and aux, as the kernels
    take them.
    """
    choice, capability = choose(target, problem), target.capability
    parts, length = cut(problem.k, choice.splits, choice.config.block_depth)
    if parts == 1:
        return Plan((_gemm_launch(capability, choice, problem, "A", "B", "C", given, epilogue, fused),))
    launches = [_gemm_launch(capability, choice, part, At("A", a), At("B", b), At("workspace", c), _UNSCALED)
                for part, a, b, c in split_problem(problem, parts, length, *(problem.precision.dtype.itemsize,) * 2)]
    launches.append(fold_launch(capability, problem.precision, problem, parts, epilogue, given, fused))
    return Plan(tuple(launches), parts * problem.m * problem.n * problem.precision.dtype.itemsize)


_UNSCALED = (0, 0, 0, 1, 0, 0, 0)  # alpha = 1, beta = 0


def split_problem(problem: Any, parts: int, length: int, size: int, sum_size: int) -> list[tuple[Any, int, int, int]]:
    """The products of the parts of k, as batches, and where they begin: bytes in A, B and the workspace.

    Each part's product is compact, in C's order. All parts but the last are of one length. problem: a GemmProblem or a
    MixedProblem; size, sum_size: bytes of an element of A and B, and of a sum.
    """
    a_row, a_column, b_row, b_column, c_row, c_column = problem.strides
    elements = problem.m * problem.n
    compact = (problem.n, 1) if abs(c_column) < abs(c_row) else (1, problem.m)
    part = problem._replace(strides=(a_row, a_column, b_row, b_column, *compact))
    last = problem.k - (parts - 1) * length
    alike = parts if last == length else parts - 1
    found = [(part._replace(k=length, batch=Batch(alike, length * a_column, length * b_row, elements)), 0, 0, 0)]
    if alike < parts:
        found.append((part._replace(k=last), alike * length * a_column * size, alike * length * b_row * size,
                      alike * elements * sum_size))
    return found


def fold_launch(capability: tuple, sums: Precision, problem: Any, parts: int, epilogue: tuple, given: tuple,
                fused: tuple) -> Launch:
    """The launch that adds up the parts' products. sums: their type. problem: has m, n and strides. given: the scalars,
    fused: bias and aux, as the kernels of gemm take them."""
    from .gemm.fold import THREADS, fold_kernel

    c_row, c_column = problem.strides[4:]
    kernel = build(fold_kernel, sums.prefix, epilogue, capability=capability)
    return Launch.of(kernel, -(-problem.m * problem.n // THREADS), At("workspace", 0), "C", problem.m, problem.n, parts,
                     c_row, c_column, abs(c_column) < abs(c_row), False, *given, *fused)


def choose(target: tuning.Target, problem: GemmProblem) -> Choice:
    """The kernel of ordinary arithmetic units for a problem, and into how many parts its k is cut."""
    lies = ways(problem)
    found = tuning.choose(target, work_of(problem, lies))
    assert isinstance(found.tiles, (SimtConfig, SkinnyConfig))
    if isinstance(found.tiles, SkinnyConfig):
        return Choice(found.tiles, (skinny_way(problem),), found.splits or 1)
    return Choice(found.tiles, lies if ANY in lies or found.tiles.moves_vectors() else (ANY, ANY), found.splits or 1)


def _gemm_launch(capability, choice: Choice, problem: GemmProblem, a: Any, b: Any, c: Any, given: tuple,
                 epilogue: tuple = (), fused: tuple = _NO_EPILOGUE) -> Launch:
    if isinstance(choice.config, SkinnyConfig):
        return _skinny_launch(capability, choice, problem, a, b, c, given, epilogue, fused)
    kernel = build_gemm(choice, capability, epilogue)
    batch, triangle = problem.batch, problem.triangle
    return Launch.of(
        kernel, choice.tiles(problem.m, problem.n) * batch.products, a, b, c, problem.m, problem.n, problem.k,
        *problem.strides, batch.a, batch.b, batch.c, batch.tables, problem.stored, problem.hermitian,
        0 if triangle is None else 1 if triangle.lower else -1, triangle is not None and triangle.real_diagonal,
        *given, -1 if problem.conjugate_a else 1, -1 if problem.conjugate_b else 1, *fused)


def _skinny_launch(capability, choice, problem, a, b, c, given, epilogue, fused):
    """The kernel for few columns; few rows are few columns of C^T = B^T A^T."""
    m, n, batch, sides = problem.m, problem.n, problem.batch, (problem.conjugate_a, problem.conjugate_b)
    a_row, a_column, b_row, b_column, c_row, c_column = problem.strides
    if turned(problem):
        m, n, a, b, sides, batch = n, m, b, a, sides[::-1], batch._replace(a=batch.b, b=batch.a)
        a_row, a_column, b_row, b_column, c_row, c_column = b_column, b_row, a_column, a_row, c_column, c_row
        bias, bias_step, aux, aux_row, aux_column = fused
        fused = bias, bias_step, aux, aux_column, aux_row
        if epilogue:
            out, activation, axis, use, *rest = epilogue
            epilogue = out, activation, {"row": "column", "column": "row", "": ""}[axis], use, *rest
    kernel = build_gemm(choice, capability, epilogue)
    return Launch.of(kernel, choice.tiles(m, n) * batch.products, a, b, c, m, n, problem.k, a_row, a_column, b_row,
                     b_column, c_row, c_column, batch.a, batch.b, batch.c, batch.tables, *given,
                     *(-1 if conjugate else 1 for conjugate in sides), *fused)


def build_gemm(choice: Choice, capability: tuple, epilogue: tuple = ()) -> Kernel:
    """The kernel that a choice names; epilogue: the fields of an Epilogue."""
    from .gemm.simt import gemm_kernel
    from .gemm.skinny import skinny_kernel

    factory = skinny_kernel if isinstance(choice.config, SkinnyConfig) else gemm_kernel
    return build(factory, *choice.lies, epilogue, *dataclasses.astuple(choice.config), capability=capability)


@functools.lru_cache(_PLANS)
def plan_triangular(target: tuning.Target, problem: TriangularProblem) -> Plan:
    """Halve the triangle until a block of it fits the substitution kernel; what lies beside the blocks is gemm.

    With A lower: the solution takes B1 = inv(A11) B1, B2 -= A21 B1, B2 = inv(A22) B2; the product takes B2 = A22 B2,
    B2 += A21 B1, B1 = A11 B1, in which every B1 is read before it is overwritten. alpha goes where B is first read,
    except that one on the device scales B first, and shuts all other launches if it is zero: A is not read then.
    """
    launches: list[Launch] = []
    if problem.alpha != "value":
        launches.append(_scale_launch(target, problem))
    if problem.alpha != "zero":
        _divide_triangle(launches, target, problem, 0, problem.m, problem.alpha == "value")
    return Plan(tuple(launches))


def _scale_launch(target, problem):
    """B = alpha B, as a product of nothing; alpha == 0 reads nothing."""
    strides = problem.strides[2:]
    batch = problem.batch._replace(a=problem.batch.b, c=problem.batch.b)
    product = GemmProblem(problem.precision, problem.m, problem.n, 0, (1, 1, 1, 1, *strides), False, False, batch,
                          whole=True)
    there = scalars.BETA_THERE if problem.alpha == "device" else 0
    return _gemm_launch(target.capability, choose(target, product), product, "A", "B", "B",
                        (0, "alpha_at", there, 0, 0, "alpha_real", "alpha_imag"))


def _divide_triangle(launches, target, problem, start, stop, scaled):
    """Launches for rows start to stop of the triangle, counted in the order of substitution.

    scaled: whether alpha still has to be applied to these rows of B.
    """
    from .solve import ROWS

    if stop - start <= ROWS:
        launches.append(_block_launch(target.capability, problem, start, stop, scaled))
        return
    middle = start + max(ROWS, (stop - start) // 2 // ROWS * ROWS)
    if problem.solve:
        _divide_triangle(launches, target, problem, start, middle, scaled)
        launches.append(_beside_launch(target, problem, start, middle, stop, scaled))
        _divide_triangle(launches, target, problem, middle, stop, False)
    else:
        _divide_triangle(launches, target, problem, middle, stop, scaled)
        launches.append(_beside_launch(target, problem, start, middle, stop, scaled))
        _divide_triangle(launches, target, problem, start, middle, scaled)


def _rows(problem, start, stop):
    """The rows of the matrix that rows start to stop in the order of substitution are: an upper triangle runs back."""
    return (start, stop) if problem.lower else (problem.m - stop, problem.m - start)


def _at(problem, name, row, column):
    """Where a block of an operand begins: an address, and elements from one product's to the next one's. With tables,
    the table's address, and elements from each address in it."""
    row_stride, column_stride = problem.strides[:2] if name == "A" else problem.strides[2:]
    elements = row * row_stride + column * column_stride
    if problem.batch.tables:
        return name, elements
    step = problem.batch.a if name == "A" else problem.batch.b
    return At(name, elements * problem.precision.dtype.itemsize), step


def _block_launch(capability, problem, start, stop, scaled):
    from .solve import COLUMNS, triangular_block

    first, last = _rows(problem, start, stop)
    a_row, a_column, b_row, b_column = problem.strides
    kernel = build(triangular_block, problem.precision.prefix, capability=capability)
    alpha = ("alpha_real", "alpha_imag") if scaled else (1, 0)
    (a, a_step), (b, b_step) = _at(problem, "A", first, first), _at(problem, "B", first, 0)
    across = -(-problem.n // COLUMNS[problem.precision.prefix])
    return Launch.of(
        kernel, across * problem.batch.products, a, b, a_step, b_step, across, problem.n, last - first,
        problem.batch.tables, *problem.strides, problem.solve, problem.lower, problem.unit,
        abs(b_row) <= abs(b_column), abs(a_row) <= abs(a_column), "alpha_at", _gate(problem), *alpha,
        -1 if problem.conjugate else 1)


def _beside_launch(target, problem, start, middle, stop, scaled):
    """The gemm with the rectangle beside two halves of the triangle: into the rows of the second."""
    (first, last), (begin, end) = _rows(problem, start, middle), _rows(problem, middle, stop)
    a_row, a_column, b_row, b_column = problem.strides
    (a, a_step), (b, b_step) = _at(problem, "A", begin, first), _at(problem, "B", first, 0)
    c, c_step = _at(problem, "B", begin, 0)
    product = GemmProblem(problem.precision, end - begin, problem.n, last - first,
                          (a_row, a_column, b_row, b_column, b_row, b_column), problem.conjugate, False,
                          Batch(problem.batch.products, a_step, b_step, c_step, problem.batch.tables), whole=True)
    alpha = ("alpha_real", "alpha_imag") if scaled else (1, 0)
    # Solving, B2 = alpha B2 - A21 B1, where B1 already holds its share of alpha; else B2 += alpha A21 B1.
    given = (-1, 0, *alpha) if problem.solve else (*alpha, 1, 0)
    return _gemm_launch(target.capability, choose(target, product), product, a, b, c,
                        ("alpha_at", 0, _gate(problem), *given))


def _gate(problem):
    return scalars.GATE if problem.alpha == "device" else 0
