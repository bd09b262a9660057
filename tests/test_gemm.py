"""gemm against the oracle: every op pair, order, leading dimension, tile edge and corner of the specification."""

import itertools

import numpy as np
import pytest
import reference
from conftest import random_values

import gpublas
from gpublas import arrays
from gpublas.cuda.gemm import config, select
from gpublas.operands import GemmProblem, Matrix
from gpublas.precision import PRECISIONS
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.testing.buffers import LAYOUTS, DeviceArray, Guarded

OPS = "NTC"
EDGES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130)
TYPED = {precision: getattr(gpublas, precision.prefix + "gemm") for precision in PRECISIONS}


def scalars(dtype):
    """A general alpha and beta of a type."""
    return (0.75 - 0.5j, -1.25 + 0.25j) if dtype.kind == "c" else (0.75, -1.25)


def check(precision, op_a, op_b, m, n, k, layouts, alpha, beta, rng):
    """One call on the chosen device against the oracle, with canaries around all operands."""
    dtype = precision.dtype
    A = Guarded(random_values(rng, (m, k) if op_a == "N" else (k, m), dtype), layouts[0])
    B = Guarded(random_values(rng, (k, n) if op_b == "N" else (n, k), dtype), layouts[1])
    before = random_values(rng, (m, n), dtype) if beta != 0 else np.full((m, n), np.nan, dtype)
    C = Guarded(before, layouts[2])
    a, b = A.array.copy(), B.array.copy()

    returned = TYPED[precision](op_a, op_b, alpha, A.array, B.array, beta, C.array)

    assert returned is C.array
    left, right = reference.op(op_a, a), reference.op(op_b, b)
    exact = reference.gemm(op_a, op_b, alpha, a, b, beta, before)
    context = f"{precision.prefix}gemm {op_a}{op_b} m={m} n={n} k={k} layouts={layouts} beta={beta}"
    assert_within(C.array, exact, product_bound(alpha, left, right, beta, before, k, dtype), context)
    for operand, kept in ((A, a), (B, b)):
        operand.assert_intact()
        np.testing.assert_array_equal(operand.array, kept, err_msg=context)
    C.assert_intact()


def layout_cycle():
    """Endless triples of layouts in which every pair of layouts meets."""
    return itertools.cycle(zip(LAYOUTS * 3, LAYOUTS[2:] * 3 + LAYOUTS[:2], LAYOUTS[4:] * 5, strict=False))


@pytest.mark.parametrize("op_b", OPS)
@pytest.mark.parametrize("op_a", OPS)
@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)
def test_every_tile_edge(device, precision, op_a, op_b, rng):
    layouts = layout_cycle()
    alpha, beta = scalars(precision.dtype)
    betas = itertools.cycle((beta, 0, 1))
    for edge in EDGES:
        for m, n, k in ((edge, edge, edge), (edge, 33, 9), (17, edge, 8), (5, 66, edge)):
            check(precision, op_a, op_b, m, n, k, next(layouts), alpha, next(betas), rng)


@pytest.fixture
def largest_tiles(executor, monkeypatch):
    """Small problems choose the largest tiles, which they would not by themselves."""
    from gpublas.cuda.level3 import plan_gemm

    monkeypatch.setitem(select.WIDE, "s", config.WIDE["s"][:1])
    monkeypatch.setitem(select.STRIDED, "s", config.STRIDED["s"][:1])
    plan_gemm.cache_clear()
    yield
    plan_gemm.cache_clear()


@pytest.mark.parametrize("op_b", OPS)
@pytest.mark.parametrize("op_a", OPS)
def test_large_tiles(largest_tiles, op_a, op_b, rng):
    """The 128 x 128 tile of sgemm for any strides, the 128 x 256 tile where operands allow it."""
    layouts = layout_cycle()
    precision = PRECISIONS[0]
    for m, n, k in ((1, 1, 1), (127, 129, 7), (128, 128, 8), (129, 127, 9), (130, 257, 17), (3, 300, 65)):
        check(precision, op_a, op_b, m, n, k, next(layouts), 0.75, -1.25, rng)


@pytest.mark.parametrize("down, across", [(1, 1), (1, 9), (9, 1), (8, 8), (17, 5), (64, 64)])
def test_every_tile_has_one_block(down, across):
    """And blocks that run together form a compact region: 108 of them in a row of a large matrix read at most half of
    what they would if tiles were numbered down whole columns."""
    from gpublas.cuda.gemm import tiles

    places = [tiles.tile_at.py_func(tile, down, across) for tile in range(down * across)]
    assert sorted(places) == list(itertools.product(range(down), range(across)))
    if (down, across) == (64, 64):
        rows, columns = (len(set(axis)) for axis in zip(*places[300:408], strict=True))
        assert rows + columns <= (64 + 2) / 2


WIDE = [(precision, tiles) for precision in PRECISIONS for tiles in config.WIDE[precision.prefix]]


@pytest.mark.parametrize("order_a, order_b", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("precision, tiles", WIDE, ids=lambda value: getattr(value, "prefix", None) or str(
    getattr(value, "block_columns", value)))
def test_whole_vectors(executor, precision, tiles, order_a, order_b, rng, monkeypatch):
    """The kernel that reads 16 bytes at a time, with all its tiles: one tile, several and a part, every rest of k."""
    from gpublas.cuda.level3 import plan_gemm

    monkeypatch.setitem(select.WIDE, precision.prefix, (tiles,))
    plan_gemm.cache_clear()
    dtype = precision.dtype
    alpha, beta = scalars(dtype)
    for m, n, k in ((tiles.block_rows, tiles.block_columns, 16), (tiles.block_rows + 12, tiles.block_columns + 4, 24),
                    (4, 8, 1), (8, 4, 7), (20, 36, 12), (12, 16, 31), (4, 4, 0)):
        A = np.array(random_values(rng, (m, -(-k // 4) * 4), dtype), order=order_a)[:, :k]
        B = np.array(random_values(rng, (-(-k // 4) * 4, n), dtype), order=order_b)[:k]
        C = np.array(random_values(rng, (m, n), dtype), order="F")
        before = C.copy()
        problem = GemmProblem.of(*(Matrix.of(arrays.describe(array)) for array in (A, B, C)))
        assert config.ANY not in select.ways(problem)
        TYPED[precision]("N", "N", alpha, A, B, beta, C)
        exact = reference.gemm("N", "N", alpha, A, B, beta, before)
        assert_within(C, exact, product_bound(alpha, A, B, beta, before, k, dtype), f"{m} {n} {k}")
    plan_gemm.cache_clear()


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)
def test_single_elements(executor, precision, rng, monkeypatch):
    """The largest tile for operands of any strides, and of one stored triangle: steps over elements, backwards, both
    ways to share a slab among threads; one tile, several and a part."""
    from gpublas.cuda.level3 import plan_gemm

    prefix, dtype = precision.prefix, precision.dtype
    for table in (select.STRIDED, select.TRIANGLES):
        monkeypatch.setitem(table, prefix, table[prefix][:1])
    plan_gemm.cache_clear()
    alpha, beta = scalars(dtype)
    for m, n, k in ((130, 70, 17), (5, 129, 8), (1, 1, 3), (64, 64, 32)):
        A, B = random_values(rng, (2 * m, 3 * k), dtype)[::-2, ::3], random_values(rng, (n, 2 * k), dtype).T[1::2]
        before = random_values(rng, (m, n), dtype)
        C = before.copy()
        gpublas.gemm("N", "N", alpha, A, B, beta, C)
        exact = reference.gemm("N", "N", alpha, A, B, beta, before)
        assert_within(C, exact, product_bound(alpha, A, B, beta, before, k, dtype), f"{m} {n} {k}")
        square = random_values(rng, (2 * m, m), dtype)[::2]
        lower = np.tril(square)
        whole = lower + np.tril(square, -1).conj().T
        np.fill_diagonal(whole, square.diagonal().real)
        C = before.copy()
        gpublas.hemm("L", "L", alpha, np.where(lower != 0, square, np.nan), before, 0, C)
        exact = reference.gemm("N", "N", alpha, whole, before, 0, None)
        assert_within(C, exact, product_bound(alpha, whole, before, 0, None, m, dtype), f"hemm {m} {n}")
    plan_gemm.cache_clear()


def test_whole_vectors_of_conjugates(executor, rng):
    """Conjugate transposes are contiguous along the other axis, and change the sign of imaginary parts on the way."""
    A, B = (np.array(random_values(rng, (24, 20), "c8"), order="C") for _ in range(2))
    for op_a, op_b in itertools.product("NC", repeat=2):
        a, b = A if op_a == "N" else A.T.copy(), B.T.copy() if op_b == "N" else B
        C = gpublas.cgemm(op_a, op_b, 1, a, b)
        assert_within(C, reference.gemm(op_a, op_b, 1, a, b, 0, None), product_bound(1, A, B.T, 0, None, 20, "c8"))


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)
def test_bits_do_not_depend_on_layout_or_tiles(executor, precision, rng, monkeypatch):
    """Every kernel and tile adds up in one order: a row of C has the same bits whatever the others are."""
    from gpublas.cuda.level3 import plan_gemm

    m, n, k = 24, 20, 37
    A, B = random_values(rng, (m, k), precision.dtype), random_values(rng, (k, n), precision.dtype)
    results = []
    prefix = precision.prefix
    wide, strided = config.WIDE[prefix], config.STRIDED[prefix]
    for which in (slice(-1, None), slice(1)):
        monkeypatch.setitem(select.WIDE, prefix, wide[which])
        monkeypatch.setitem(select.STRIDED, prefix, strided[which])
        plan_gemm.cache_clear()
        with gpublas.use(gpublas.Context(executor, batch_invariant=True)):  # few rows would get a kernel of their own
            for a, b in ((A, B), (np.asfortranarray(A), np.asfortranarray(B)),
                         (A[::-1][::-1], np.repeat(B, 2, 1)[:, ::2])):
                results.append(TYPED[precision]("N", "N", 1.0, a, b))
            results.append(np.vstack([TYPED[precision]("N", "N", 1.0, part, B) for part in (A[:5], A[5:])]))
    plan_gemm.cache_clear()
    for result in results[1:]:
        assert np.array_equal(result, results[0])


@pytest.mark.parametrize("aligned, place, depth, places, k, wanted", [
    (True, 8, 1, 5, 9, "k"), (True, 7, 1, 5, 9, "any"), (True, 7, 1, 1, 9, "k"), (True, 1, 8, 8, 9, "mn"),
    (True, 1, 8, 7, 9, "any"), (True, 1, 9, 8, 9, "any"), (True, 1, 9, 8, 1, "mn"), (False, 8, 1, 5, 9, "any"),
    (True, 2, 3, 8, 8, "any"), (True, -8, 1, 8, 8, "k")])
def test_when_operands_are_read_in_whole_vectors(aligned, place, depth, places, k, wanted):
    assert select.way(4, aligned, place, depth, places, k) == wanted


@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, repeat=3)), ids="-".join)
def test_every_layout(device, layouts, rng):
    check(PRECISIONS[2], "C", "N", 19, 23, 11, layouts, *scalars(np.dtype("c8")), rng)


@pytest.mark.parametrize("op_b", OPS)
@pytest.mark.parametrize("op_a", OPS)
@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)
def test_case_b4_every_size_to_33(device, precision, op_a, op_b, rng):
    """Others failed at sizes 7, 11, 15 with opA != opB."""
    for n in range(1, 34):
        check(precision, op_a, op_b, n, n, n, ("F", "C", "F"), 1, 0, rng)


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)
class TestScalars:
    def test_beta_zero_does_not_read_c(self, device, precision, rng):
        """Case b5."""
        a, b = (random_values(rng, (40, 40), precision.dtype) for _ in range(2))
        for order in "CF":
            c = np.full((40, 40), np.nan, precision.dtype, order=order)
            assert np.isfinite(TYPED[precision]("N", "T", 1, a, b, 0, c)).all()

    def test_alpha_zero_does_not_read_a_and_b(self, device, precision, rng):
        bad = np.full((20, 20), np.nan, precision.dtype)
        c = random_values(rng, (20, 20), precision.dtype)
        np.testing.assert_allclose(TYPED[precision]("N", "N", 0, bad, bad, 2, c.copy()), 2 * c,
                                   rtol=2 * precision.eps)
        assert not TYPED[precision]("N", "N", 0, bad, bad, 0, np.full_like(c, np.nan)).any()

    def test_empty_inner_dimension_scales_c(self, device, precision, rng):
        c = random_values(rng, (5, 4), precision.dtype)
        a, b = np.empty((5, 0), precision.dtype), np.empty((0, 4), precision.dtype)
        np.testing.assert_allclose(TYPED[precision]("N", "N", 1, a, b, -3, c.copy()), -3 * c, rtol=2 * precision.eps)
        assert not TYPED[precision]("N", "N", 1, a, b, 0, np.full_like(c, np.nan)).any()

    def test_nan_and_inf_spread_as_multiplication_says(self, device, precision):
        a = np.ones((3, 3), precision.dtype)
        b = np.eye(3, dtype=precision.dtype)
        a[1, 2] = np.nan
        result = TYPED[precision]("N", "N", 1, a, b, 0, np.zeros((3, 3), precision.dtype))
        assert np.isnan(result[1]).all() and np.isfinite(result[[0, 2]]).all()

    def test_scalars_of_numpy(self, device, precision, rng):
        a, b = (random_values(rng, (6, 6), precision.dtype) for _ in range(2))
        plain = TYPED[precision]("N", "N", 2, a, b)
        for two in (precision.dtype.type(2), np.int8(2), np.array(2, precision.dtype)):
            np.testing.assert_array_equal(TYPED[precision]("N", "N", two, a, b), plain)


def test_results_are_new_column_major_arrays(device, rng):
    a, b = random_values(rng, (4, 3), "f4"), random_values(rng, (3, 5), "f4")
    c = gpublas.sgemm("n", "n", 1, a, b)
    assert type(c) is np.ndarray and c.shape == (4, 5) and c.flags.f_contiguous and c.dtype == np.float32


def test_generic_gemm_picks_by_dtype(device, rng):
    for precision in PRECISIONS:
        a, b = random_values(rng, (4, 3), precision.dtype), random_values(rng, (3, 5), precision.dtype)
        np.testing.assert_array_equal(gpublas.gemm("N", "N", 1, a, b), TYPED[precision]("N", "N", 1, a, b))


def test_case_b17_broadcast_operand(device, rng):
    row = random_values(rng, (1, 30), "f8")
    b = random_values(rng, (30, 20), "f8")
    wide = np.broadcast_to(row, (25, 30))
    np.testing.assert_array_equal(gpublas.dgemm("N", "N", 1, wide, b), gpublas.dgemm("N", "N", 1, wide.copy(), b))


def test_case_b19_slice_of_a_fortran_ordered_3d_array(device, rng):
    T = np.asfortranarray(random_values(rng, (3, 24, 18), "f4"))
    b = random_values(rng, (18, 20), "f4")
    for a in (T[0], T[1].T):
        op_a = "N" if a.shape[1] == 18 else "T"
        np.testing.assert_array_equal(gpublas.sgemm(op_a, "N", 1, a, b), gpublas.sgemm(op_a, "N", 1, a.copy(), b))


def test_same_bits_from_run_to_run(device, rng):
    a, b = random_values(rng, (150, 170), "f4"), random_values(rng, (170, 140), "f4")
    first = gpublas.sgemm("N", "N", 1, a, b)
    for _ in range(5):
        np.testing.assert_array_equal(gpublas.sgemm("N", "N", 1, a, b), first)


def test_offsets_beyond_32_bits(device):
    """Element offsets pass 2**31: rows that far apart, in an allocation of which only two pages are ever touched."""
    far = 2**31 + 64  # elements from row to row
    whole = np.empty(far + 64, np.float32)
    a = np.lib.stride_tricks.as_strided(whole, (2, 3), (far * 4, 4))
    a[:] = [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(gpublas.sgemm("N", "T", 1, a, a), [[14, 32], [32, 77]])
    np.testing.assert_array_equal(gpublas.sgemm("T", "N", 1, a, a), [[17, 22, 27], [22, 29, 36], [27, 36, 45]])


class TestDeviceArrays:
    """Arrays that only show __cuda_array_interface__."""

    @pytest.mark.parametrize("version", [2, 3])
    def test_result_is_of_the_same_library(self, executor, version, rng):
        a, b = random_values(rng, (33, 20), "c8"), np.asfortranarray(random_values(rng, (20, 40), "c8"))
        on_device = [DeviceArray(values, version=version) for values in (a, b)]
        result = gpublas.cgemm("N", "N", 1, *on_device)
        assert isinstance(result, DeviceArray)
        np.testing.assert_array_equal(result.get(), gpublas.cgemm("N", "N", 1, a, b))

    def test_served_where_they_live(self, rng):
        a = random_values(rng, (8, 8), "f8")
        with gpublas.use("cpu"):
            result = gpublas.dgemm("N", "N", 1, DeviceArray(a), DeviceArray(a))
        assert isinstance(result, DeviceArray)

    def test_case_b22_strides_none_and_null_pointer(self, executor):
        empty = DeviceArray(np.empty((0, 5), np.float32))
        assert empty.__cuda_array_interface__["data"][0] == 0
        result = gpublas.sgemm("T", "N", 1, empty, DeviceArray(np.empty((0, 3), np.float32)))
        assert result.shape == (5, 3) and not result.get().any()

    def test_scalars_on_the_device(self, executor, rng):
        for dtype in ("f4", "c16"):
            a, b, c = (random_values(rng, (20, 20), dtype) for _ in range(3))
            alpha, beta = scalars(np.dtype(dtype))
            want = gpublas.gemm("N", "N", alpha, a, b, beta, c.copy())
            on_device = [DeviceArray(np.array(value, dtype)) for value in (alpha, beta)]
            got = gpublas.gemm("N", "N", on_device[0], DeviceArray(a), DeviceArray(b), on_device[1],
                               DeviceArray(c.copy()))
            np.testing.assert_array_equal(got.get(), want)

    def test_zero_alpha_on_the_device_reads_nothing(self, executor):
        bad = DeviceArray(np.full((9, 9), np.nan, np.float32))
        zero = DeviceArray(np.array(0, np.float32))
        c = gpublas.sgemm("N", "N", zero, bad, bad, zero, DeviceArray(np.full((9, 9), np.nan, np.float32)))
        assert not c.get().any()


def test_staged_arrays_go_through_memory_of_the_device(rng):
    """What a GPU needs for NumPy arrays, on the executor: copies in, and only the output's own elements back."""
    from gpublas.cuda.executor import ExecutorDevice

    with gpublas.use(gpublas.Context(ExecutorDevice(staged=True))):
        for layouts in itertools.product(LAYOUTS[2:], repeat=2):
            for beta in (0, -1.25):
                check(PRECISIONS[1], "N", "T", 10, 12, 9, (*layouts, layouts[0]), 0.75, beta, rng)


def test_packed_records_are_served_through_copies(device, rng):
    """Fields of a packed record: no stride is a multiple of the element size."""
    record = np.zeros((7, 5), np.dtype([("tag", "u1"), ("value", "f8")]))
    record["value"] = random_values(rng, (7, 5), "f8")
    a = record["value"]
    np.testing.assert_array_equal(gpublas.dgemm("N", "T", 1, a, a), gpublas.dgemm("N", "T", 1, a.copy(), a.copy()))
    out = np.zeros((7, 7), record.dtype)
    out["tag"] = 7
    gpublas.dgemm("N", "T", 1, a, a, 0, out["value"])
    np.testing.assert_array_equal(out["value"], gpublas.dgemm("N", "T", 1, a, a))
    assert (out["tag"] == 7).all()
