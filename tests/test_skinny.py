"""Products with few rows or columns: the kernel that reads the wide operand once."""

import itertools

import numpy as np
import pytest
import reference
from conftest import device_context, random_values

import gpublas
from bench import static, toolchain
from bench.shipped import kernels
from gpublas import tuning
from gpublas.cuda import level3, mixed
from gpublas.cuda.executor import ExecutorDevice
from gpublas.cuda.gemm import select
from gpublas.cuda.gemm.config import ACROSS, ALONG_K, ANY, SKINNY, GemmConfig, SkinnyConfig
from gpublas.cuda.gemm.select import Work
from gpublas.operands import ALONE, Batch, GemmProblem, Triangle
from gpublas.precision import BY_DTYPE
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.testing.buffers import Guarded

VECTORS = "A along m, B along k"


@pytest.fixture(autouse=True)
def fresh_plans():
    level3.plan_gemm.cache_clear()
    mixed.plan_mixed.cache_clear()


def tiles(prefix, columns, along):
    return next(found for found in SKINNY[prefix] if (found.thread_columns, found.along) == (columns, along))


def use(prefix, columns, along, parts=1, device=None):
    """A context whose products with few columns get these tiles."""
    device = device or device_context("executor").device
    named = GemmConfig(tiles(prefix, columns, along), parts)
    return gpublas.use(gpublas.Context(device, gemm_config=named))


def scalars(dtype):
    return (0.75 - 0.5j, -1.25 + 0.25j) if np.dtype(dtype).kind == "c" else (0.75, -1.25)


def wide_operand(rng, m, k, dtype, lies, by_rows):
    """Values that lie in a way; by_rows: neighbours of ANY are those along k."""
    if lies == ALONG_K:
        return random_values(rng, (m, k + -k % 4), dtype)[:, :k]
    if lies == ACROSS:
        return np.asfortranarray(random_values(rng, (m, k), dtype))
    return random_values(rng, (m, 2 * k), dtype)[:, ::2] if by_rows else random_values(rng, (k, 2 * m), dtype).T[::2]


@pytest.mark.parametrize("dtype, columns, along, lies", [
    *(("f4", 16, 2, way) for way in (ALONG_K, ACROSS, ANY)), ("f4", 4, 8, ALONG_K), ("f8", 4, 8, ACROSS),
    ("f8", 4, 8, ANY), *(("c8", 4, 2, way) for way in (ALONG_K, ACROSS, ANY)), ("c16", 8, 8, ALONG_K),
    ("c16", 8, 8, ANY)])
def test_few_columns_and_few_rows(dtype, columns, along, lies, rng):
    """One block of rows, several and a part; slabs, turns and every rest of k; both orders of B and C; conjugates."""
    found = tiles(BY_DTYPE[np.dtype(dtype)].prefix, columns, along)
    slab = 32 * found.vector
    orders = itertools.cycle(itertools.product(("F", "C", "F reversed"), ("F", "C padded")))
    alpha, beta = scalars(dtype)
    rests = [(8, 1, rest) for rest in range(1, 2 * found.block_depth + 1, 3)]
    for m, n, k in ((found.block_rows, columns, slab), (2 * found.block_rows + 12, columns - 1, slab + 40), *rests,
                    (20, 3, 0), (24, columns - 2, 4 * slab + found.block_depth - 1)):
        order_b, order_c = next(orders)
        wide = wide_operand(rng, m, k, dtype, lies, order_b == "F")
        narrow = Guarded(random_values(rng, (k, n), dtype), order_b).array
        out = Guarded(random_values(rng, (m, n), dtype), order_c)
        before = out.array.copy()
        problem = GemmProblem.of(*(level3.Matrix.of(gpublas.arrays.describe(x)) for x in (wide, narrow, out.array)))
        assert k < 2 or select.skinny_way(problem) == lies
        exact = reference.gemm("N", "N", alpha, wide, narrow, beta, before)
        bound = product_bound(alpha, wide, narrow, beta, before, k, dtype)
        with use(BY_DTYPE[np.dtype(dtype)].prefix, columns, along):
            gpublas.gemm("N", "N", alpha, wide, narrow, beta, out.array)
            assert_within(out.array, exact, bound, f"{m} {n} {k}")
            out.assert_intact()
            out.array[...] = np.nan
            gpublas.gemm("C", "T", alpha, narrow.conj().copy(), wide, 0, out.array.T)  # the same, of few rows
            exact = reference.gemm("N", "N", alpha, wide, narrow, 0, None)
            assert_within(out.array, exact, bound, f"turned {m} {n} {k}")
            adjoint = gpublas.gemm("C", "C", alpha, narrow, wide)
        exact = reference.gemm("C", "C", alpha, narrow, wide, 0, None)
        assert_within(adjoint, exact, bound.T, f"adjoint {m} {n} {k}")


def test_zero_alpha_and_nan(executor):
    """alpha == 0 reads neither A nor B; a NaN past the rest of k, or in a row, spreads no further."""
    A = np.full((256, 133), np.nan, np.float32)
    with use("s", 4, 8):
        C = gpublas.sgemm("N", "N", 0, A, A[:133, :3], 2.0, np.ones((256, 3), np.float32))
        assert (C == 2).all()
        whole = np.full((300, 140), np.nan, np.float32)
        whole[:256, :133] = 1
        whole[7, 5] = np.inf
        C = gpublas.sgemm("N", "N", 1, whole[:256, :133], np.ones((133, 4), np.float32))
    assert np.isinf(C[7]).all() and (np.delete(C, 7, 0) == 133).all()


def test_parts_of_k(rng):
    """Partial sums in workspace, added up by a second launch, whatever the order in which threads run."""
    A, B = random_values(rng, (100, 1061), "f4"), random_values(rng, (1061, 3), "f4")
    results = []
    for device in (ExecutorDevice(counters=True), ExecutorDevice(order="random", seed=3)):
        with use("s", 4, 8, 3, device):
            results += [gpublas.sgemm("N", "N", 0.75, A, B), gpublas.sgemm("T", "T", 0.75, B, A).T]
        level3.plan_gemm.cache_clear()
        if device.counters:
            names = [name.partition("_")[0] for name, _ in device.counts]
            assert names == ["skinny", "skinny", "fold"] * 2
    assert all(np.array_equal(result, results[0]) for result in results)
    exact = reference.gemm("N", "N", 0.75, A, B, 0, None)
    assert_within(results[0], exact, product_bound(0.75, A, B, 0, None, 1061, "f4"))


def test_batches(rng):
    """At equal distances and in tables."""
    A, B = random_values(rng, (3, 40, 70), "f4"), random_values(rng, (1, 70, 4), "f4")
    device = ExecutorDevice(counters=True)
    with use("s", 4, 8, device=device):
        C = gpublas.sgemm_strided_batched("N", "N", 0.75, A, B)
        listed = gpublas.sgemm_batched("T", "T", 0.75, [B[0]] * 3, list(A))
    assert [name.partition("_")[0] for name, _ in device.counts] == ["skinny"] * 2
    for product, turned, a in zip(C, listed, A, strict=True):
        exact = reference.gemm("N", "N", 0.75, a, B[0], 0, None)
        bound = product_bound(0.75, a, B[0], 0, None, 70, "f4")
        assert_within(product, exact, bound)
        assert_within(turned.T, exact, bound)


@pytest.mark.parametrize("parts", [1, 2])
def test_epilogues(parts, rng):
    """A bias for rows or columns and what goes into the activation, with C as it stands and seen the other way; k cut
    or not."""
    A, B = random_values(rng, (3, 1100), "f4"), random_values(rng, (1100, 64), "f4")
    for bias, order in itertools.product((random_values(rng, (3, 1), "f4"), random_values(rng, (64,), "f4")), "CF"):
        C, aux = np.empty((3, 64), np.float32, order), np.empty((3, 64), np.float32)
        with use("s", 4, 8, parts):
            gpublas.gemm("N", "N", 0.125, A, B, 0, C, epilogue="relu", bias=bias, aux=aux)
        exact = reference.gemm("N", "N", 0.125, A, B, 0, None) + bias
        bound = product_bound(0.125, A, B, 1, np.broadcast_to(bias, C.shape), 1100, "f4")
        assert_within(aux, exact, bound)
        assert_within(C, np.maximum(exact, 0), bound)


@pytest.mark.parametrize("lies", [ALONG_K, ACROSS])
def test_sectors_and_bank_conflicts(lies, rng):
    """At most 2 % over the least there can be: A once, B once for each block, C once."""
    m, n, k = 512, 16, 1024
    space = np.empty(m * k + 8, np.float32)
    first = -(space.ctypes.data // 4) % 8  # where a sector begins
    A = space[first:first + m * k].reshape((m, k), order="C" if lies == ALONG_K else "F")
    A[...] = random_values(rng, (m, k), "f4")
    B, C = np.asfortranarray(random_values(rng, (k, n), "f4")), np.empty((m, n), np.float32, "F")
    device = ExecutorDevice(counters=True)
    with use("s", 16, 2, device=device):
        gpublas.sgemm("N", "N", 1.0, A, B, 0, C)
    ((_, counts),) = device.counts
    blocks = m // tiles("s", 16, 2).block_rows
    least = (m * k + blocks * k * n + m * n) * 4 / 32
    assert 0.99 * least <= counts.global_sectors <= 1.02 * least
    vectors = [access for access in counts.shared() if "ld.shared.v4" in access.opcode]
    assert vectors and not sum(access.bank_conflicts for access in vectors)


# The choice.


def chosen(work, multiprocessors=108):
    return select.heuristic(work, select.candidates(work), multiprocessors)


@pytest.mark.parametrize("multiprocessors", (40, 108, 132, 148))
def test_products_that_get_it(multiprocessors):
    for kind, few in itertools.product("sdcz", (1, 4, 5, 16)):
        for m, n in ((8192, few), (few, 8192)):
            found = chosen(Work(kind, VECTORS, m, n, 4096, 1, False), multiprocessors).tiles
            assert isinstance(found, SkinnyConfig)
            assert found.thread_columns == (4 if few <= 4 else 8 if few <= 8 else 16)
            for other in (Work(kind, VECTORS, m, n, 4096, 1, True), Work(kind, VECTORS, 8192, 17, 4096, 1, False),
                          Work(kind, VECTORS + ", triangle of C", m, n, 4096, 1, False),
                          Work(kind, VECTORS, few, few, 4, 1, False)):
                assert not isinstance(chosen(other, multiprocessors).tiles, SkinnyConfig), other


def test_many_rows_share_what_they_read_of_the_narrow_operand():
    many, few = (chosen(Work("s", VECTORS, m, 16, 2048, 1, False)) for m in (1_000_000, 2048))
    assert (many.tiles.along, many.splits) == (2, 1)
    assert few.tiles.along == 8 or few.splits > 1


def test_cycles_by_hand():
    """Three blocks on two multiprocessors, in one wave."""
    found = tiles("s", 16, 2)
    assert (found.block_rows, found.min_blocks) == (256, 2)
    block = 256 * 16 * 80 / 64 + 256 * 80 * 4 / 13 + (16 * 80 * 4 + 256 * 16 * 4) / 32
    for m, n in ((600, 9), (9, 600)):
        work = Work("s", VECTORS, m, n, 80, 1, False)
        assert select.cycles(work, GemmConfig(found, 1), 2) == pytest.approx(2 * block + 2000)


def test_what_a_context_names_serves_only_few_columns():
    named = GemmConfig(tiles("s", 4, 2), 1)
    target = tuning.Target((8, 0), 108, (named,))
    for m, n, whole, taken in ((100, 3, False, True), (4, 100, False, True), (100, 5, False, False),
                               (100, 100, False, False), (100, 3, True, False)):
        assert (tuning.choose(target, Work("s", VECTORS, m, n, 50, 1, whole)) == named) == taken


def test_kinds_of_problem():
    """Only where sums along k may be taken apart, and all of A and C are there."""
    plain = GemmProblem(BY_DTYPE[np.dtype("f4")], 8192, 4, 4096, (1, 8192, 1, 4096, 1, 8192), False, False)
    for change, taken in (({}, True), ({"whole": True}, False), ({"stored": 1}, False),
                          ({"triangle": Triangle(True)}, False), ({"batch": Batch(5, 8, 8, 8)}, True)):
        problem = plain._replace(aligned=(True, True), **change)
        work = select.work_of(problem, select.ways(problem))
        assert isinstance(chosen(work).tiles, SkinnyConfig) == taken
        assert work.cuttable == (taken and problem.batch == ALONE)


def test_unfit_tiles_are_told():
    for change, message in ((("q", 4, 4, 2, 3), "'q'"), (("s", 4, 5, 2, 3), "thread_columns"),
                            (("s", 4, 4, 3, 3), "along"), (("s", 2, 4, 2, 3), "vector"),
                            (("z", 4, 16, 2, 1), "registers"), (("s", 0, 4, 2, 3), "positive"),
                            (("s", 64, 4, 2, 3), "registers")):
        assert message in SkinnyConfig(*change).fits()
    assert all(found.fits() is None for configs in SKINNY.values() for found in configs)


@pytest.mark.skipif(bool(toolchain.missing()), reason=str(toolchain.missing()))
@pytest.mark.parametrize("name", ["sgemm 256x16 mn", "dgemm 128x16 k"])
def test_machine_code(name):
    shipped = next(found for found in kernels() if found.family == "skinny" and found.name == name)
    figures = static.examine(shipped, (9, 0))
    assert figures["spills"] == figures["stack"] == 0
    assert {"LDG.128", "LDS.128"} <= set(figures["memory"])
