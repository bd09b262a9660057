"""Products whose k is split: right, the same bits from run to run, and whole where that is asked for."""

import numpy as np
import pytest
import reference
from conftest import device_context, random_values

import gpublas
from gpublas.cuda import level3, mixed
from gpublas.cuda.executor import ExecutorDevice
from gpublas.cuda.gemm import select
from gpublas.cuda.gemm.config import MMA_CONFIGS, GemmConfig
from gpublas.errors import UnsupportedError
from gpublas.precision import PRECISIONS
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.testing.buffers import DeviceArray

K = 2 * 512 + 37  # two parts, the second one shorter and no whole number of slabs


@pytest.fixture(autouse=True)
def fresh_plans():
    level3.plan_gemm.cache_clear()
    mixed.plan_mixed.cache_clear()


def launches(device, call):
    """Names of the kernels that a call launches on a counting device."""
    with gpublas.use(gpublas.Context(device)):
        call()
    return [name for name, _ in device.counts]


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)
@pytest.mark.parametrize("order", ["C", "F"])
def test_split_products(executor, precision, order, rng):
    """Few tiles and a long k, with alpha, beta and both orders of C; conjugates; strides that nothing is aligned to."""
    dtype = precision.dtype
    alpha, beta = (0.75 - 0.5j, -1.25 + 0.25j) if dtype.kind == "c" else (0.75, -1.25)
    for m, n, op_a, step in ((17, 19, "N", 1), (33, 20, "C", 1), (18, 17, "T", 3)):
        A = random_values(rng, (m, K * step) if op_a == "N" else (K, m * step), dtype)
        A = A[:, ::step]
        B = random_values(rng, (K, n), dtype)
        before = random_values(rng, (m, n), dtype)
        C = np.array(before, order=order)
        getattr(gpublas, precision.prefix + "gemm")(op_a, "N", alpha, A, B, beta, C)
        exact = reference.gemm(op_a, "N", alpha, A, B, beta, before)
        assert_within(C, exact, product_bound(alpha, reference.op(op_a, A), B, beta, before, K, dtype))


def test_launches_and_whole_products(rng):
    A, B = np.asfortranarray(random_values(rng, (20, K), "f4")), random_values(rng, (K, 20), "f4")
    names = launches(ExecutorDevice(counters=True), lambda: gpublas.sgemm("N", "N", 1.0, A, B))
    assert [name.split("_")[0] for name in names] == ["gemm", "gemm", "fold"]
    device = ExecutorDevice(counters=True)
    with gpublas.use(gpublas.Context(device, batch_invariant=True)):
        whole = gpublas.sgemm("N", "N", 1.0, A, B)
        row = gpublas.sgemm("N", "N", 1.0, A[3:4], B)
        tall = gpublas.sgemm("N", "N", 1.0, np.tile(A, (40, 1)), B)
    assert len(device.counts) == 3 and not any("fold" in name for name, _ in device.counts)
    assert np.array_equal(whole[3:4], row) and np.array_equal(tall[3 + 20 * 39], row[0])


@pytest.mark.parametrize("dtype, compute", [("c8", None), ("c16", None), ("f4", None), ("f4", "tf32x3"), ("f2", None)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_and_columns_do_not_depend_on_the_others(rng, dtype, compute, order):
    """A C of one row or column may count as either order; the bits stay."""
    A, B = random_values(rng, (40, 70), dtype), random_values(rng, (70, 24), dtype)
    keywords = {} if compute is None else {"compute": compute}

    def product(A, B):
        C = np.empty((len(A), B.shape[1]), dtype, order=order)
        return gpublas.gemm("N", "N", 1.0, A, B, 0.0, C, **keywords)

    with gpublas.use(gpublas.Context(ExecutorDevice(), batch_invariant=True)):
        whole = product(A, B)
        for some in (slice(3, 4), slice(8, 17)):
            assert np.array_equal(product(A[some], B), whole[some])
            assert np.array_equal(product(A, B[:, some]), whole[:, some])


def test_halves_with_an_epilogue(executor, rng):
    """The epilogue follows the sum over the parts, not each of them; sums stay float32 until then."""
    A, B = (random_values(rng, (9, K), "f2"), random_values(rng, (K, 20), "f2"))
    bias, aux = random_values(rng, (9, 1), "f2"), np.empty((9, 20), np.float16)
    in_two = GemmConfig(MMA_CONFIGS["f16"][-1], 2)
    with gpublas.use(gpublas.Context(device_context("executor").device, gemm_config=in_two)):
        C = gpublas.gemm("N", "N", 0.125, A, B, epilogue="relu", bias=bias, aux=aux)
    exact = 0.125 * (A.astype("f8") @ B.astype("f8")) + bias
    size = 0.125 * (np.abs(A.astype("f8")) @ np.abs(B.astype("f8")))
    bound = 2**-10 * np.abs(exact) + (K + 2) * 2**-23 * size
    assert np.all(np.abs(aux - exact) <= bound) and np.all(np.abs(C - np.maximum(exact, 0)) <= bound)
    with gpublas.use(gpublas.Context(device_context("executor").device, batch_invariant=True)):
        whole = gpublas.gemm("N", "N", 0.125, A, B, epilogue="relu", bias=bias)
    assert np.all(np.abs(whole - np.maximum(exact, 0)) <= bound)


def test_zero_alpha_reads_nothing(executor, rng):
    """On the host and on the device; what the parts would have been has no effect."""
    A, C = np.full((4, K), np.nan, np.float32), rng.random((4, 4), np.float32)
    before = C.copy()
    gpublas.sgemm("N", "T", 0.0, A, A, 2.0, C)
    assert np.array_equal(C, 2 * before)
    there = DeviceArray(np.asfortranarray(before))
    gpublas.sgemm("N", "T", DeviceArray(np.array(0, np.float32)), DeviceArray(A), DeviceArray(A),
                  DeviceArray(np.array(3, np.float32)), there)
    assert np.array_equal(there.get(), 3 * before)


def test_same_bits_from_run_to_run(rng):
    A, B = random_values(rng, (4, K), "f4"), random_values(rng, (K, 4), "f4")
    results = []
    for seed in range(5):
        with gpublas.use(gpublas.Context(ExecutorDevice(order="random", seed=seed))):
            results.append(gpublas.sgemm("N", "N", 1.0, A, B))
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("k, parts, depth, wanted", [
    (1023, 1, 8, (1, 1023)), (1024, 2, 8, (2, 512)), (10**6, 2, 64, (2, 500032)), (10**6, 32, 64, (32, 31296)),
    (1061, 2, 8, (2, 536)), (0, 4, 8, (1, 0)), (100, 9, 64, (2, 64)), (60, 3, 64, (1, 60)), (64, 5, 64, (1, 64))])
def test_how_k_is_cut(k, parts, depth, wanted):
    """By hand: lengths are whole slabs, so that there may be fewer parts than wanted."""
    found, length = select.cut(k, parts, depth)
    assert (found, length) == wanted
    assert found == 1 or ((found - 1) * length < k <= found * length and length % depth == 0)


def test_the_cpu_does_not_promise_it():
    with pytest.raises(UnsupportedError, match="batch_invariant"):
        gpublas.Context("cpu", batch_invariant=True)
