"""Complex products by three real ones."""

import itertools

import numpy as np
import pytest
import reference
from conftest import random_values

import gpublas
from gpublas.cuda.executor import ExecutorDevice
from gpublas.errors import DTypeError
from gpublas.testing.bounds import assert_within, three_product_bound
from gpublas.testing.buffers import LAYOUTS, DeviceArray, Guarded

ALPHA, BETA = 0.75 - 0.5j, -1.25 + 0.25j


@pytest.mark.parametrize("name, dtype", [("cgemm3m", "c8"), ("zgemm3m", "c16")])
def test_flags_layouts_and_sizes(device, name, dtype, rng):
    layouts = itertools.cycle(itertools.product(LAYOUTS, LAYOUTS[::-1]))
    for number, (op_a, op_b) in enumerate(itertools.product("NTC", repeat=2)):
        for m, n, k in ((1, 1, 1), (19, 33, 21), (66, 5, 130)):
            layout_a, layout_b = next(layouts)
            A = Guarded(random_values(rng, (m, k) if op_a == "N" else (k, m), dtype), layout_a)
            B = Guarded(random_values(rng, (k, n) if op_b == "N" else (n, k), dtype), layout_b)
            beta = (BETA, 0, 1)[number % 3]
            before = random_values(rng, (m, n), dtype) if beta else np.full((m, n), np.nan, dtype)
            C = Guarded(before, layout_a)
            assert getattr(gpublas, name)(op_a, op_b, ALPHA, A.array, B.array, beta, C.array) is C.array
            exact = reference.gemm(op_a, op_b, ALPHA, A.array, B.array, beta, before)
            bound = three_product_bound(ALPHA, reference.op(op_a, A.array), reference.op(op_b, B.array), beta, before,
                                        k, dtype)
            assert_within(C.array, exact, bound, f"{name} {op_a}{op_b} {m} {n} {k}")
            for operand in (A, B, C):
                operand.assert_intact()


def test_corners(device, rng):
    bad, C = np.full((9, 9), np.nan, "c8"), random_values(rng, (9, 9), "c8")
    np.testing.assert_array_equal(gpublas.gemm3m("N", "N", 0, bad, bad, 2, C.copy()), 2 * C)
    assert not gpublas.gemm3m("N", "N", 0, bad, bad, 0, bad.copy()).any()
    empty = np.empty((9, 0), "c8")
    np.testing.assert_array_equal(gpublas.gemm3m("N", "T", 1, empty, empty, 2, C.copy()), 2 * C)
    assert gpublas.gemm3m("N", "C", 1, empty[:0], empty).shape == (0, 9)


def test_zero_alpha_on_the_device_reads_nothing(executor, rng):
    bad, zero = DeviceArray(np.full((9, 9), np.nan, "c8")), DeviceArray(np.array(0, "c8"))
    C = random_values(rng, (9, 9), "c8")
    two = DeviceArray(np.array(2, "c8"))
    assert not gpublas.gemm3m("N", "N", zero, bad, bad, zero, DeviceArray(np.full((9, 9), np.nan, "c8"))).get().any()
    found = gpublas.gemm3m("N", "N", zero, bad, bad, two, DeviceArray(C.copy())).get()
    np.testing.assert_array_equal(found, 2 * C)
    imaginary = DeviceArray(np.array(1j, "c8"))  # not zero, though its real part is
    A = random_values(rng, (9, 9), "c8")
    found = gpublas.gemm3m("N", "N", imaginary, DeviceArray(A), DeviceArray(A)).get()
    assert_within(found, reference.gemm("N", "N", 1j, A, A, 0, None), three_product_bound(1, A, A, 0, None, 9, "c8"))


def test_three_real_products_in_one_launch(rng):
    """Of real numbers: fewer multiplications than four products of real matrices would take."""
    A, B = (random_values(rng, (64, 64), "c8") for _ in range(2))
    device, usual = ExecutorDevice(counters=True), ExecutorDevice(counters=True)
    for chosen, product in ((device, gpublas.cgemm3m), (usual, gpublas.cgemm)):
        with gpublas.use(gpublas.Context(chosen)):
            product("N", "N", 1, A, B)
    assert [name.split("_")[0] for name, _ in device.counts] == ["planes", "planes", "gemm", "combine"]
    fused = [sum(counts.instructions["fma.rn.f32"] for _, counts in chosen.counts) for chosen in (device, usual)]
    assert fused[0] <= 0.76 * fused[1]


def test_real_matrices_are_refused():
    with pytest.raises(DTypeError, match="gemm3m: argument 4, A"):
        gpublas.gemm3m("N", "N", 1, np.ones((2, 2)), np.ones((2, 2)))
