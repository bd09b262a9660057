"""Sums and transposes, diagonal scaling, packing, batches: against oracles, on every device."""

import itertools

import numpy as np
import pytest
import reference
from conftest import random_values

import gpublas
from gpublas.precision import PRECISIONS
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.testing.buffers import LAYOUTS, DeviceArray, Guarded

SIZES = ((0, 3), (3, 0), (1, 1), (2, 5), (31, 33), (32, 32), (33, 64), (70, 5), (1, 100))
every_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)


def routine(precision, name):
    return getattr(gpublas, precision.prefix + name)


def guarded(rng, shape, precision, layouts):
    return Guarded(random_values(rng, shape, precision.dtype), next(layouts))


def poisoned(shape, precision, layouts):
    return Guarded(np.full(shape, np.nan, precision.dtype), next(layouts))


def general(precision):
    return (0.75 - 0.5j, -1.25 + 0.25j) if precision.is_complex else (0.75, -1.25)


@every_precision
@pytest.mark.parametrize("op_a, op_b", list(itertools.product("NTC", repeat=2)))
def test_geam(device, precision, op_a, op_b, rng):
    layouts = itertools.cycle(LAYOUTS)
    for (m, n), (alpha, beta) in itertools.product(SIZES, ((1, 0), (0, 1), (0, 0), general(precision))):
        A = guarded(rng, (m, n) if op_a == "N" else (n, m), precision, layouts)
        B = guarded(rng, (m, n) if op_b == "N" else (n, m), precision, layouts)
        C = poisoned((m, n), precision, layouts)
        if alpha == 0:
            A.array[...] = np.nan
        if beta == 0:
            B.array[...] = np.nan
        assert routine(precision, "geam")(op_a, op_b, alpha, A.array, beta, B.array, C.array) is C.array
        a = alpha * reference.op(op_a, reference.wide(A.array)) if alpha else np.zeros((m, n))
        b = beta * reference.op(op_b, reference.wide(B.array)) if beta else np.zeros((m, n))
        assert_within(C.array, a + b, 4 * precision.eps * (abs(a) + abs(b)), f"{m}x{n} {alpha} {beta}")
        for operand in (A, B, C):
            operand.assert_intact()


def test_geam_copies_exactly(device):
    """A factor of 1 keeps Inf and NaN where they are, and the signs of zeros."""
    values = np.array([[complex(np.inf, 1), complex(-0.0, np.nan)], [complex(1, -np.inf), complex(0.0, -0.0)]])
    for op in "NT":
        copy = gpublas.zgeam(op, "N", 1, values, 0, values)
        assert copy.tobytes(order="C") == (values if op == "N" else values.T).tobytes(order="C")


@every_precision
@pytest.mark.parametrize("side", "LR")
def test_dgmm(device, precision, side, rng):
    layouts = itertools.cycle(LAYOUTS)
    for m, n in SIZES:
        A, C = guarded(rng, (m, n), precision, layouts), poisoned((m, n), precision, layouts)
        for step in (1, 2, -1):
            x = random_values(rng, 2 * (m if side == "L" else n), precision.dtype)[::step]
            x = x[:m if side == "L" else n]
            assert routine(precision, "dgmm")(side, A.array, x, C.array) is C.array
            exact = reference.wide(A.array) * (reference.wide(x)[:, None] if side == "L" else reference.wide(x))
            assert_within(C.array, exact, 4 * precision.eps * abs(exact))
            C.assert_intact()


def test_dgmm_multiplies(device):
    """0 * NaN is NaN; a broadcast vector is as good as its copy (stride 0)."""
    A = np.array([[np.nan, 1.0], [2.0, np.inf]])
    C = gpublas.ddgmm("L", A, np.zeros(2))
    np.testing.assert_array_equal(C, [[np.nan, 0], [0, np.nan]])
    np.testing.assert_array_equal(gpublas.ddgmm("R", A, np.broadcast_to(np.float64(2), 2)), 2 * A)


@every_precision
@pytest.mark.parametrize("uplo", "UL")
def test_packing(device, precision, uplo, rng):
    layouts = itertools.cycle(LAYOUTS)
    for n in (0, 1, 2, 5, 31, 32, 33, 70):
        mask = reference.triangle_mask(n, uplo)
        A = guarded(rng, (n, n), precision, layouts)
        A.array[~mask] = np.nan
        wanted = A.array.T[mask.T]  # column by column
        for step in (1, 2, -1):
            whole = np.full(2 * wanted.size, 7, precision.dtype)
            packed = whole[::step][:wanted.size]
            assert routine(precision, "trttp")(uplo, A.array, packed) is packed
            np.testing.assert_array_equal(packed, wanted)
            assert (whole[1::2] == 7).all() or step != 2
            B = guarded(rng, (n, n), precision, layouts)
            before = B.array.copy()
            assert routine(precision, "tpttr")(uplo, packed, B.array) is B.array
            np.testing.assert_array_equal(B.array, np.where(mask, A.array, before))
            B.assert_intact()
        np.testing.assert_array_equal(routine(precision, "trttp")(uplo, A.array), wanted)
        np.testing.assert_array_equal(routine(precision, "tpttr")(uplo, wanted), np.where(mask, A.array, 0))


@every_precision
@pytest.mark.parametrize("op_a, op_b", list(itertools.product("NTC", repeat=2)))
def test_gemm_strided_batched(device, precision, op_a, op_b, rng):
    for (products, m, n, k), (alpha, beta), order in itertools.product(
            ((0, 2, 2, 2), (1, 3, 4, 5), (3, 33, 20, 17), (4, 1, 7, 0), (2, 65, 66, 9)), ((1, 0), general(precision)),
            "CF"):
        a = random_values(rng, (products, m, k) if op_a == "N" else (products, k, m), precision.dtype)
        b = random_values(rng, (products, k, n) if op_b == "N" else (products, n, k), precision.dtype)
        a, b = np.asarray(a, order=order), np.asarray(b, order=order)
        before = random_values(rng, (products, m, n), precision.dtype)
        c = Guarded(before if beta else np.full_like(before, np.nan), order)
        result = routine(precision, "gemm_strided_batched")(op_a, op_b, alpha, a, b, beta, c.array)
        assert result is c.array
        c.assert_intact()
        for i in range(products):
            left, right = reference.op(op_a, a[i]), reference.op(op_b, b[i])
            assert_within(result[i], reference.gemm(op_a, op_b, alpha, a[i], b[i], beta, before[i]),
                          product_bound(alpha, left, right, beta, before[i], k, precision.dtype))


def test_one_matrix_for_all_products(device, rng):
    a, b = random_values(rng, (1, 5, 6), "f4"), random_values(rng, (4, 6, 7), "f4")
    want = gpublas.sgemm_strided_batched("N", "N", 1, np.repeat(a, 4, 0), b)
    np.testing.assert_array_equal(gpublas.sgemm_strided_batched("N", "N", 1, a, b), want)
    np.testing.assert_array_equal(gpublas.sgemm_strided_batched("N", "N", 1, np.broadcast_to(a, (4, 5, 6)), b), want)
    with pytest.raises(gpublas.ArgumentError, match="argument 7, C: found an output whose elements share memory"):
        one = np.lib.stride_tricks.as_strided(np.zeros((5, 7), "f4"), (4, 5, 7), (0, 28, 4))
        gpublas.sgemm_strided_batched("N", "N", 1, a, b, 0, one)


def test_case_b16_empty_inner_dimension_of_a_batch(device):
    c = np.full((3, 4, 5), np.nan, "f4")
    gpublas.sgemm_strided_batched("N", "N", 1, np.zeros((3, 4, 0), "f4"), np.zeros((3, 0, 5), "f4"), 0, c)
    assert not c.any()


def test_batches_beyond_grid_limits(device, rng):
    """70000 products of 2 x 2 in one launch: no grid axis is limited to 65535."""
    a, b = random_values(rng, (70_000, 2, 2), "f4"), random_values(rng, (1, 2, 2), "f4")
    np.testing.assert_allclose(gpublas.sgemm_strided_batched("N", "N", 1, a, b), np.einsum("nij,jk->nik", a, b[0]),
                               rtol=1e-5, atol=1e-6)


@every_precision
def test_gemm_batched_and_grouped(device, precision, rng):
    """Lists of matrices of any layout; groups of different shapes and scalars."""
    layouts = itertools.cycle(LAYOUTS)
    alpha, beta = general(precision)
    groups = []
    for (m, n, k), count in (((5, 4, 3), 8), ((33, 70, 9), 3), ((1, 2, 0), 2)):
        groups.append([[guarded(rng, shape, precision, layouts) for _ in range(count)]
                       for shape in ((k, m), (k, n), (m, n))])
    arrays = [[[g.array for g in group[which]] for group in groups] for which in range(3)]
    before = [[c.copy() for c in group] for group in arrays[2]]
    exact = [[reference.gemm("T", "N", s * alpha, a, b, beta, c) for a, b, c in zip(*(arrays[w][g] for w in range(3)),
              strict=True)] for g, s in enumerate((1, 2, 1))]
    result = routine(precision, "gemm_grouped_batched")("T", "N", [alpha, 2 * alpha, alpha], arrays[0], arrays[1], beta,
                                                        arrays[2])
    assert result is arrays[2]
    for g, (group, s) in enumerate(zip(groups, (1, 2, 1), strict=True)):
        for i, operand in enumerate(group[2]):
            a, b = arrays[0][g][i], arrays[1][g][i]
            assert_within(operand.array, exact[g][i],
                          product_bound(s * alpha, a.T, b, beta, before[g][i], len(a), precision.dtype))
            operand.assert_intact()
    single = routine(precision, "gemm_batched")("T", "N", alpha, arrays[0][0], arrays[1][0])
    want = [routine(precision, "gemm")("T", "N", alpha, a, b) for a, b in zip(arrays[0][0], arrays[1][0], strict=True)]
    for got, wanted in zip(single, want, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_alike_products_share_one_launch(rng):
    from gpublas.cuda.executor import ExecutorDevice

    device = ExecutorDevice(counters=True)
    a = [np.asfortranarray(random_values(rng, (4, 4), "f4")) for _ in range(50)]
    with gpublas.use(gpublas.Context(device)):
        gpublas.sgemm_batched("N", "N", 1, a, a)
        assert len(device.counts) == 1
        gpublas.sgemm_batched("N", "N", 1, [*a, np.ascontiguousarray(a[0])], [*a, a[0]])
        assert len(device.counts) == 3


@every_precision
@pytest.mark.parametrize("op", "NTC")
def test_gemv_batched(device, precision, op, rng):
    layouts = itertools.cycle(LAYOUTS)
    alpha, beta = general(precision)
    for m, n in ((1, 1), (5, 3), (70, 33), (4, 0), (0, 4)):
        As = [guarded(rng, (m, n), precision, layouts).array for _ in range(6)]
        inner, outer = (n, m) if op == "N" else (m, n)
        xs = [random_values(rng, 2 * inner, precision.dtype)[::2] for _ in As]
        ys = [random_values(rng, outer, precision.dtype)[::-1] for _ in As]
        before = [y.copy() for y in ys]
        assert routine(precision, "gemv_batched")(op, alpha, As, xs, beta, ys) is ys
        for a, x, y, old in zip(As, xs, ys, before, strict=True):
            left = reference.op(op, a)
            assert_within(y[:, None], reference.gemm(op, "N", alpha, a, x[:, None], beta, old[:, None]),
                          product_bound(alpha, left, x[:, None], beta, old[:, None], inner, precision.dtype))


@every_precision
@pytest.mark.parametrize("side, uplo, op, diag", list(itertools.product("LR", "UL", "NTC", "NU")))
def test_trsm_batched(device, precision, side, uplo, op, diag, rng):
    """The same bits as trsm one by one, for orders around the diagonal block."""
    layouts = itertools.cycle(LAYOUTS)
    for order, other in ((1, 1), (5, 3), (33, 4), (70, 2), (0, 3)):
        As = [guarded(rng, (order, order), precision, layouts).array for _ in range(3)]
        for a in As:
            a /= 2 * max(order, 1)
            a[np.diag_indices(order)] += 1
        Bs = [guarded(rng, (order, other) if side == "L" else (other, order), precision, layouts) for _ in As]
        alpha = general(precision)[0]
        want = [routine(precision, "trsm")(side, uplo, op, diag, alpha, a, b.array.copy(order="K"))
                for a, b in zip(As, Bs, strict=True)]
        found = [b.array for b in Bs]
        assert routine(precision, "trsm_batched")(side, uplo, op, diag, alpha, As, found) is found
        for b, wanted in zip(Bs, want, strict=True):
            np.testing.assert_allclose(b.array, wanted, rtol=200 * precision.eps, atol=200 * precision.eps)
            b.assert_intact()


def test_lists_of_device_arrays(executor, rng):
    a = [random_values(rng, (3, 3), "f8") for _ in range(4)]
    on_device = [DeviceArray(x) for x in a]
    result = gpublas.dgemm_batched("N", "T", 1, on_device, on_device)
    for got, x in zip(result, a, strict=True):
        np.testing.assert_array_equal(got.get(), gpublas.dgemm("N", "T", 1, x, x))


def test_empty_lists(device):
    assert gpublas.gemm_batched("N", "N", 1, [], []) == []
    assert gpublas.gemv_batched("N", 1, [], []) == []
    assert gpublas.trsm_batched("L", "L", "N", "N", 1, [], []) == []


ONES = np.ones((2, 2))
BAD = {
    "no list": (lambda: gpublas.dgemm_batched("N", "N", 1, ONES, [ONES]), "argument 4, As: found ndarray, wanted a li"),
    "lengths": (lambda: gpublas.dgemm_batched("N", "N", 1, [ONES], [ONES, ONES]), "argument 5, Bs: found 2 arrays"),
    "shapes in a list": (lambda: gpublas.dgemm_batched("N", "N", 1, [ONES, np.ones((3, 2))], [ONES, ONES]),
                         r"argument 4, As\[1\]: found shape \(3, 2\)"),
    "types": (lambda: gpublas.dgemm_batched("N", "N", 1, [ONES], [ONES.astype("f4")]), r"5, Bs\[0\]: found float32"),
    "outputs overlap": (lambda: gpublas.dgemm_batched("N", "N", 1, [ONES] * 2, [ONES] * 2, 0, [ONES.copy()] * 2),
                        r"argument 7, Cs\[\d\]: found an output that overlaps Cs\[\d\]"),
    "groups": (lambda: gpublas.dgemm_grouped_batched("N", "N", [1, 2, 3], [[ONES]], [[ONES]]),
               "argument 3, alpha: found 3 values, wanted one, or 1"),
    "geam shapes": (lambda: gpublas.dgeam("N", "N", 1, ONES, 1, np.ones((3, 2))), r"6, B: found shape \(3, 2\)"),
    "geam overlap": (lambda: gpublas.dgeam("N", "N", 1, ONES, 1, ONES, ONES), "argument 7, C: found an output that"),
    "dgmm vector": (lambda: gpublas.ddgmm("L", ONES, np.ones(3)), r"argument 3, x: found shape \(3,\)"),
    "packed length": (lambda: gpublas.dtpttr("U", np.ones(4)), "argument 2, AP: found 4 elements"),
    "batch extents": (lambda: gpublas.dgemm_strided_batched("N", "N", 1, np.ones((2, 2, 2)), np.ones((3, 2, 2))),
                      "argument 5, B: found 3 matrices, wanted 2"),
    "trsm shapes": (lambda: gpublas.dtrsm_batched("L", "L", "N", "N", 1, [np.ones((3, 3))], [ONES]),
                    r"argument 6, As\[0\]: found shape \(3, 3\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(device, name):
    call, message = BAD[name]
    with pytest.raises(gpublas.ArgumentError, match=message):
        call()
    assert (ONES == 1).all()
