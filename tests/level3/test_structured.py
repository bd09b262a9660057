"""Level 3 with structure on the grid of the netlib test program (xblat3) and around tile edges: all flags, scalars 0,
1 and general, poison in what must not be read, canaries around everything, the untouched triangle compared bit by bit.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import reference
from conftest import random_values

import gpublas
from gpublas.precision import PRECISIONS, C, Z
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.testing.buffers import LAYOUTS, Guarded

GRID = (0, 1, 2, 3, 5, 9)
EDGES = ((31, 33), (33, 64), (65, 32), (64, 63), (130, 5), (7, 129), (129, 130))
SMALL = tuple(itertools.product(GRID, GRID))
SCALARS = ((0, 0), (1, 0), (0, 1), (1, 1), (0.75, -1.25))


def dtype_scalars(dtype):
    """The grid's alpha and beta; the last pair is general, and complex for complex types."""
    general = ((0.75 - 0.5j, -1.25 + 0.25j),) if dtype.kind == "c" else ()
    return (*SCALARS, *general)


def calls(dtype, small=SMALL):
    """Sizes and scalars: all scalars on the grid, the general pair around tile edges."""
    scalars = dtype_scalars(dtype)
    return (*itertools.product(small, scalars), *((size, scalars[-1]) for size in EDGES))


@dataclass
class Case:
    """One call: its operands behind canaries, and what it may and may not change."""

    rng: np.random.Generator
    dtype: np.dtype
    layouts: itertools.cycle

    def operand(self, shape, unread=None):
        """Random values; NaN where `unread`."""
        values = random_values(self.rng, shape, self.dtype)
        if unread is not None:
            values[unread] = np.nan
        return Guarded(values, next(self.layouts))


@pytest.fixture(params=PRECISIONS, ids=lambda precision: precision.prefix)
def case(request, rng):
    return Case(rng, request.param.dtype, itertools.cycle(LAYOUTS))


def routine(case, name):
    prefix = next(precision.prefix for precision in PRECISIONS if precision.dtype == case.dtype)
    return getattr(gpublas, prefix + name)


def same_bits(a, b):
    return a.tobytes() == b.tobytes()


def check_product(case, name, flags, alpha, beta, operands, exact, bound, written=None):
    """Call name(*flags, alpha, *operands, beta, C); written: mask of C that may change, all of it when None."""
    shape = exact.shape
    before = random_values(case.rng, shape, case.dtype)
    if beta == 0:
        before[written if written is not None else ...] = np.nan
    C = Guarded(before, next(case.layouts))
    kept = [operand.array.copy() for operand in operands]
    context = f"{name} {flags} alpha={alpha} beta={beta} {[o.array.shape for o in operands]}"
    result = routine(case, name)(*flags, alpha, *(operand.array for operand in operands), beta, C.array)
    assert result is C.array
    total = exact + (beta * reference.wide(before) if beta != 0 else 0)
    size = bound + (abs(beta) * np.abs(before) * np.finfo(case.dtype).eps * 8 if beta != 0 else 0)
    mask = np.ones(shape, bool) if written is None else written
    assert_within(C.array[mask], total[mask], size[mask], context)
    assert same_bits(C.array[~mask], before[~mask]), context
    for operand, values in zip(operands, kept, strict=True):
        operand.assert_intact()
        assert same_bits(operand.array.copy(), values), context
    C.assert_intact()


@pytest.mark.parametrize("side, uplo", list(itertools.product("LR", "UL")))
@pytest.mark.parametrize("hermitian", [False, True], ids=["symm", "hemm"])
def test_symm_and_hemm(device, case, hermitian, side, uplo):
    if hermitian and case.dtype.kind != "c":
        pytest.skip("BLAS has no real hemm")
    for (m, n), (alpha, beta) in calls(case.dtype):
        order = m if side == "L" else n
        A = case.operand((order, order), unread=~reference.triangle_mask(order, uplo))
        if hermitian:
            A.array.imag[np.diag_indices(order)] = np.nan  # not read either
        B = case.operand((m, n))
        if alpha == 0:
            A.array[...] = B.array[...] = np.nan
            exact, bound = np.zeros((m, n), reference.wide(B.array).dtype), np.zeros((m, n))
        else:
            whole = reference.symmetric(uplo, A.array, hermitian)
            left, right = (whole, reference.wide(B.array)) if side == "L" else (reference.wide(B.array), whole)
            exact = alpha * (left @ right)
            bound = product_bound(alpha, left, right, 0, None, order, case.dtype)
        check_product(case, "hemm" if hermitian else "symm", (side, uplo), alpha, beta, (A, B), exact, bound)


UPDATES = {
    "syrk": lambda alpha, a, b: alpha * (a @ a.T),
    "syr2k": lambda alpha, a, b: alpha * (a @ b.T) + alpha * (b @ a.T),
    "syrkx": lambda alpha, a, b: alpha * (a @ b.T),
    "herk": lambda alpha, a, b: alpha * (a @ a.conj().T),
    "her2k": lambda alpha, a, b: alpha * (a @ b.conj().T) + np.conj(alpha) * (b @ a.conj().T),
    "herkx": lambda alpha, a, b: alpha * (a @ b.conj().T),
}


@pytest.mark.parametrize("uplo, op", list(itertools.product("UL", "NTC")))
@pytest.mark.parametrize("name", UPDATES)
def test_rank_k_updates(device, case, name, uplo, op):
    hermitian = name.startswith("he")
    if (case.dtype.kind != "c" and hermitian) or (case.dtype.kind == "c" and op == ("T" if hermitian else "C")):
        pytest.skip("not a BLAS routine, or a flag that BLAS rejects: test_flags_of_updates")
    for (n, k), (alpha, beta) in calls(case.dtype):
        if hermitian:
            beta = beta.real
            alpha = alpha.real if name == "herk" else alpha
        A = case.operand((n, k) if op == "N" else (k, n))
        operands = (A,) if name in ("syrk", "herk") else (A, case.operand(A.array.shape))
        written = reference.triangle_mask(n, uplo)
        if alpha == 0:
            for operand in operands:
                operand.array[...] = np.nan
            exact, bound = np.zeros((n, n), reference.wide(A.array).dtype), np.zeros((n, n))
        else:
            a, b = (reference.op(op, reference.wide(operand.array)) for operand in (A, operands[-1]))
            exact = UPDATES[name](alpha, a, b)
            bound = 2 * product_bound(alpha, a, b.T, 0, None, 2 * k, case.dtype)
            if len(operands) == 2:
                bound = bound + 2 * product_bound(alpha, b, a.T, 0, None, 2 * k, case.dtype)
        if hermitian:
            check_hermitian(case, name, (uplo, op), alpha, beta, operands, exact, bound, written)
        else:
            check_product(case, name, (uplo, op), alpha, beta, operands, exact, bound, written)


def check_hermitian(case, name, flags, alpha, beta, operands, exact, bound, written):
    """Like check_product for results whose diagonal is made real, whatever noise it carried."""
    before = random_values(case.rng, exact.shape, case.dtype)
    if beta == 0:
        before[written] = np.nan
    C = Guarded(before, next(case.layouts))
    routine(case, name)(*flags, alpha, *(operand.array for operand in operands), beta, C.array)
    total = exact + (beta * reference.wide(before) if beta != 0 else 0)
    np.einsum("ii->i", total).imag[...] = 0
    size = bound + (abs(beta) * np.abs(before) * np.finfo(case.dtype).eps * 8 if beta != 0 else 0)
    context = f"{name} {flags} alpha={alpha} beta={beta} {operands[0].array.shape}"
    assert_within(C.array[written], total[written], size[written], context)
    assert not np.einsum("ii->i", C.array).imag.any(), context
    assert same_bits(C.array[~written], before[~written]), context
    for guarded in (*operands, C):
        guarded.assert_intact()


@pytest.mark.parametrize("uplo, op_a, op_b", list(itertools.product("UL", "NTC", "NTC")))
def test_gemmtr(device, case, uplo, op_a, op_b):
    for (n, k), (alpha, beta) in calls(case.dtype, (*((n, 3) for n in GRID), (5, 0))):
        A = case.operand((n, k) if op_a == "N" else (k, n))
        B = case.operand((k, n) if op_b == "N" else (n, k))
        a, b = reference.op(op_a, reference.wide(A.array)), reference.op(op_b, reference.wide(B.array))
        check_product(case, "gemmtr", (uplo, op_a, op_b), alpha, beta, (A, B), alpha * (a @ b),
                      product_bound(alpha, a, b, 0, None, k, case.dtype), reference.triangle_mask(n, uplo))


def well_conditioned(case, n, uplo, diag):
    """A triangle whose inverse is tame, NaN in what must not be read."""
    A = case.operand((n, n))
    A.array[...] /= 2 * max(n, 1)
    A.array[np.diag_indices(n)] += 1
    A.array[~reference.triangle_mask(n, uplo)] = np.nan
    if diag == "U":
        A.array[np.diag_indices(n)] = np.nan
    return A


@pytest.mark.parametrize("side, uplo, op, diag", list(itertools.product("LR", "UL", "NTC", "NU")))
@pytest.mark.parametrize("name", ["trmm", "trsm"])
def test_trmm_and_trsm(device, case, name, side, uplo, op, diag):
    eps = np.finfo(case.dtype).eps * (4 if case.dtype.kind == "c" else 1)
    alphas = (0, 1, dtype_scalars(case.dtype)[-1][0])
    for (m, n), alpha in (*itertools.product(SMALL, alphas), *((size, alphas[-1]) for size in EDGES)):
        order = m if side == "L" else n
        A = well_conditioned(case, order, uplo, diag)
        B = case.operand((m, n))
        before, kept = B.array.copy(), A.array.copy()
        if alpha == 0:
            A.array[...] = B.array[...] = np.nan
            kept = A.array.copy()
        context = f"{name} {side}{uplo}{op}{diag} alpha={alpha} {m}x{n}"
        assert routine(case, name)(side, uplo, op, diag, alpha, A.array, B.array) is B.array
        A.assert_intact()
        B.assert_intact()
        assert same_bits(A.array.copy(), kept), context
        if alpha == 0:
            assert not B.array.any(), context
            continue
        matrix = reference.op(op, reference.triangular(uplo, diag, kept))
        old, new = reference.wide(before), reference.wide(B.array.copy())
        if side == "R":
            matrix, old, new = matrix.T, old.T, new.T
        if name == "trmm":
            size = abs(alpha) * (np.abs(matrix) @ np.abs(old))
            assert_within(new, alpha * (matrix @ old), (order + 3) * eps * size, context)
        else:  # backward error: |A X - alpha B| is small against |A| |X| + |alpha B|
            size = np.abs(matrix) @ np.abs(new) + abs(alpha) * np.abs(old)
            assert_within(matrix @ new, alpha * old, (order + 3) * eps * size, context)


FLAGS = [(side, uplo, op) for side in "LR" for uplo in "UL" for op in "NTC"]


@pytest.mark.parametrize("side, uplo, op", FLAGS)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_case_b13_trsm_divides(device, dtype, side, uplo, op):
    """A = B = 5e-324 I gives I: no rounded reciprocal."""
    tiny = 5e-324 * np.eye(70)
    A, B = tiny.astype(dtype), tiny.astype(dtype)
    gpublas.trsm(side, uplo, op, "N", 1, A, B)
    np.testing.assert_array_equal(B, np.eye(70))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_singular_diagonal_gives_inf_or_nan_in_the_same_places(device, dtype):
    """A zero on the diagonal: finite results before it, none from it on, for every side, triangle and op."""
    n, zero = 70, 40
    for (side, uplo, op) in FLAGS:
        A = np.eye(n, dtype=dtype)
        A[zero, zero] = 0
        A[reference.triangle_mask(n, uplo) & ~np.eye(n, dtype=bool)] = 0.5
        B = np.ones((n, 3) if side == "L" else (3, n), dtype)
        gpublas.trsm(side, uplo, op, "N", 1, A, B)
        rows = B if side == "L" else B.T
        forward = ((uplo == "L") == (op == "N")) == (side == "L")
        order = rows if forward else rows[::-1]
        place = zero if forward else n - 1 - zero
        assert np.isfinite(order[:place]).all(), (side, uplo, op)
        assert not np.isfinite(order[place:]).any(), (side, uplo, op)


def test_zero_right_hand_sides_are_not_skipped(device):
    A = np.eye(3)
    A[1, 1] = 0
    B = np.zeros((3, 2))
    assert np.isnan(gpublas.dtrsm("L", "L", "N", "N", 1, A, B)[1]).all()


@pytest.mark.parametrize("side, uplo, op", FLAGS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_trmm_carries_nan_and_inf_only_where_they_are_used(device, side, uplo, op, bad, rng):
    n, place = 70, 33
    A = random_values(rng, (n, n), "f4")
    B = random_values(rng, (n, 5) if side == "L" else (5, n), "f4")
    (B if side == "L" else B.T)[place, 2] = bad
    matrix = reference.op(op, reference.triangular(uplo, "N", A))
    matrix, rows = (matrix, B) if side == "L" else (matrix.T, B.T)
    exact = reference.triangular_product(matrix, reference.wide(rows))
    gpublas.strmm(side, uplo, op, "N", 1, A, B)
    np.testing.assert_array_equal(np.isfinite(B if side == "L" else B.T), np.isfinite(exact))


@pytest.mark.parametrize("order", "CF")
def test_case_b14_gemmtr(device, order):
    A = np.array([[2.0, 3], [0, 4]], order=order)
    C = np.full((2, 2), -7.0)
    gpublas.dgemmtr("U", "T", "N", 1, A, A, 0, C)
    np.testing.assert_array_equal(C, [[4, 6], [-7, 25]])


@pytest.mark.parametrize("precision", [C, Z], ids=lambda p: p.prefix)
@pytest.mark.parametrize("alpha, beta, k", [(1, 1, 3), (0, 1, 3), (1, 1, 0), (0, 0.5, 0), (1, 0, 3)])
def test_case_b15_herk_clears_the_imaginary_diagonal(device, precision, alpha, beta, k, rng):
    A = random_values(rng, (4, k), precision.dtype)
    noise = random_values(rng, (4, 4), precision.dtype)
    for uplo in "UL":
        for name, operands in (("herk", (A,)), ("her2k", (A, A)), ("herkx", (A, A))):
            result = getattr(gpublas, precision.prefix + name)(uplo, "N", alpha, *operands, beta, noise.copy())
            assert not np.diag(result).imag.any(), (name, uplo)


class TestNewOutputs:
    def test_products(self, device, rng):
        a = random_values(rng, (3, 3), "f4")
        assert gpublas.ssymm("L", "U", 1, a, a).flags.f_contiguous

    @pytest.mark.parametrize("name", ["ssyrk", "ssyrkx", "ssyr2k", "sgemmtr"])
    def test_updates_are_zero_in_the_other_triangle(self, device, name, rng):
        a = random_values(rng, (70, 3), "f4")
        operands = (a,) if name == "ssyrk" else (a, a)
        flags = ("L", "N", "T") if name == "sgemmtr" else ("L", "N")
        c = getattr(gpublas, name)(*flags, 1, *operands)
        assert not np.triu(c, 1).any() and c[np.tril_indices(70)].all()


BAD = {
    "symm side": (lambda a: gpublas.dsymm("X", "U", 1, a, a), "dsymm: argument 1, side: found 'X', wanted 'L' or 'R'"),
    "symm uplo": (lambda a: gpublas.dsymm("L", "X", 1, a, a), "dsymm: argument 2, uplo: found 'X'"),
    "symm not square": (lambda a: gpublas.dsymm("L", "U", 1, a[:, :2], a[:, :2]),
                        r"dsymm: argument 4, A: found shape \(3, 2\), wanted a square matrix of 3 rows"),
    "symm order": (lambda a: gpublas.dsymm("R", "U", 1, a, a[:, :2]), "a square matrix of 2 rows"),
    "syrk op": (lambda a: gpublas.dsyrk("U", "X", 1, a), "dsyrk: argument 2, op: found 'X'"),
    "syr2k shapes": (lambda a: gpublas.dsyr2k("U", "N", 1, a, a[:2]), r"dsyr2k: argument 5, B: found shape \(2, 3\)"),
    "syrk C": (lambda a: gpublas.dsyrk("U", "N", 1, a, 1, np.ones((2, 2))), r"argument 6, C: found shape \(2, 2\)"),
    "herk complex alpha": (lambda a: gpublas.zherk("U", "N", 1j, a + 0j), "argument 3, alpha: found the complex"),
    "her2k complex beta": (lambda a: gpublas.zher2k("U", "N", 1, a + 0j, a + 0j, 1j, a + 0j),
                           "zher2k: argument 6, beta: found the complex"),
    "gemmtr not square": (lambda a: gpublas.dgemmtr("U", "N", "N", 1, a, a[:, :2]),
                          "dgemmtr: argument 6, B: found op.B. with 2 columns, wanted 3"),
    "trsm diag": (lambda a: gpublas.dtrsm("L", "U", "N", "X", 1, a, a.copy()), "dtrsm: argument 4, diag: found 'X'"),
    "trmm dtype": (lambda a: gpublas.dtrmm("L", "U", "N", "N", 1, a, a.astype("f4")),
                   "dtrmm: argument 7, B: found float32"),
    "trmm overlap": (lambda a: gpublas.dtrmm("L", "U", "N", "N", 1, a, a), "argument 7, B: found an output that over"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(device, name, rng):
    call, message = BAD[name]
    a = random_values(rng, (3, 3), "f8")
    before = a.copy()
    with pytest.raises(gpublas.ArgumentError, match=message):
        call(a)
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("name, bad", [("csyrk", "C"), ("zsyrk", "c"), ("csyr2k", "C"), ("zsyrkx", "C"), ("cherk", "T"),
                                       ("zher2k", "t"), ("cherkx", "T")])
def test_flags_of_updates(device, name, bad):
    a = np.ones((2, 2), "c8" if name[0] == "c" else "c16")
    operands = (a,) if name in ("csyrk", "zsyrk", "cherk") else (a, a)
    with pytest.raises(gpublas.ArgumentError, match=f"{name}: argument 2, op: found '{bad.upper()}'"):
        getattr(gpublas, name)("U", bad, 1, *operands)


@pytest.mark.parametrize("name", ["ssyrk", "ssyr2k", "dsyrk", "dsyrkx"])
def test_real_updates_take_c_as_t(device, name, rng):
    a = random_values(rng, (4, 3), "f4" if name[0] == "s" else "f8")
    operands = (a,) if name.endswith("syrk") else (a, a)
    np.testing.assert_array_equal(getattr(gpublas, name)("U", "C", 1, *operands),
                                  getattr(gpublas, name)("U", "T", 1, *operands))


class TestDeviceScalars:
    """alpha and beta that the kernels read where they are."""

    def test_real_scalars_of_hermitian_updates(self, executor, rng):
        from gpublas.testing.buffers import DeviceArray

        a, c = random_values(rng, (20, 9), "c8"), random_values(rng, (20, 20), "c8")
        alpha, beta = (DeviceArray(np.array(value, "f4")) for value in (0.75, -1.25))
        got = gpublas.cherk("L", "N", alpha, DeviceArray(a), beta, DeviceArray(c.copy()))
        np.testing.assert_array_equal(got.get(), gpublas.cherk("L", "N", 0.75, a, -1.25, c.copy()))
        two = DeviceArray(np.array(0.75 - 0.5j, "c8"))
        got = gpublas.cher2k("L", "N", two, DeviceArray(a), DeviceArray(a.copy()), beta, DeviceArray(c.copy()))
        np.testing.assert_array_equal(got.get(), gpublas.cher2k("L", "N", 0.75 - 0.5j, a, a.copy(), -1.25, c.copy()))

    @pytest.mark.parametrize("name", ["trmm", "trsm"])
    def test_triangles(self, executor, name, rng):
        from gpublas.testing.buffers import DeviceArray

        a, b = np.eye(100) + random_values(rng, (100, 100), "f8") / 200, random_values(rng, (100, 7), "f8")
        flags = ("L", "L", "N", "N")
        half = DeviceArray(np.array(0.5))  # a power of two: scaling before or after rounds alike
        got = getattr(gpublas, name)(*flags, half, DeviceArray(a), DeviceArray(b.copy()))
        np.testing.assert_array_equal(got.get(), getattr(gpublas, name)(*flags, 0.5, a, b.copy()))

    @pytest.mark.parametrize("name", ["trmm", "trsm"])
    @pytest.mark.parametrize("dtype", ["f4", "c8"])
    def test_zero_reads_nothing(self, executor, name, dtype):
        from gpublas.testing.buffers import DeviceArray

        bad = np.full((70, 70), np.nan, dtype)
        zero = DeviceArray(np.array(0, dtype))
        got = getattr(gpublas, name)("L", "L", "N", "N", zero, DeviceArray(bad), DeviceArray(bad.copy()))
        assert not got.get().any()
