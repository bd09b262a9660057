"""Gradients of a bias in gemm's epilogue: sums of what C holds, over its rows or columns."""

import ml_dtypes
import numpy as np
import pytest

import gpublas
from gpublas.cuda.gemm.config import MMA_CONFIGS, GemmConfig
from gpublas.errors import ArgumentError, DTypeError
from gpublas.testing.bounds import assert_within

SHAPES = [(1, 1, 8), (5, 40, 16), (150, 9, 24), (70, 65, 40)]


def matrix(rng, rows, columns, dtype, order="C"):
    return np.array(rng.standard_normal((rows, columns)).astype(dtype), order=order)


def check(sums, C):
    """The sums are C's own, within sums in float32 (float64) of that many numbers and their rounding to C's type."""
    wide = C.astype(np.longdouble)
    axis = 1 if sums.shape == (C.shape[0], 1) and sums.shape != (1, C.shape[1]) else 0
    exact, size = wide.sum(axis).reshape(sums.shape), np.abs(wide).sum(axis).reshape(sums.shape)
    unit = float(np.finfo(np.float64 if C.dtype == np.float64 else np.float32).eps)
    assert_within(sums.astype(np.longdouble), exact,
                  C.shape[axis] * unit * size + float(ml_dtypes.finfo(C.dtype).eps) * np.abs(exact))


@pytest.mark.parametrize("dtype, compute", [("f2", None), ("f4", None), ("f8", "dmma")], ids=str)
def test_sums_of_c(device, rng, dtype, compute):
    """Of a gradient over rows, and columns, into C of either order and any strides; C is what it is without them."""
    for m, n, k in SHAPES:
        A, B, aux = matrix(rng, m, k, dtype), matrix(rng, k, n, dtype, "F"), matrix(rng, m, n, dtype)
        given = {"epilogue": "drelu", "aux": aux, "compute": compute}
        alone = gpublas.gemm("N", "N", 0.5, A, B, **given)
        nothing = np.full((m + 1, 3 * n), np.nan, dtype)
        for place in (nothing[0, :n], nothing[:1, ::3], nothing[1:, 1:2]):
            C = matrix(rng, m, n, dtype, "F" if place.ndim == 1 else "C")
            gpublas.gemm("N", "N", 0.5, A, B, 0.0, C, bias_grad=place, **given)
            assert np.array_equal(C, alone)
            check(place, C)
            again = np.empty_like(place)
            gpublas.gemm("N", "N", 0.5, A, B, 0.0, C, bias_grad=again, **given)
            assert np.array_equal(again, place)


def test_with_an_activation_and_beta(device, rng):
    """What counts is C as it is in the end."""
    A, B, C = matrix(rng, 20, 24, "f2"), matrix(rng, 24, 12, "f2", "F"), matrix(rng, 20, 12, "f2", "F")
    sums = np.empty(12, "f2")
    gpublas.gemm("N", "N", 1.0, A, B, -1.0, C, epilogue="relu", bias_grad=sums)
    assert (C >= 0).all()
    check(sums, C)


def test_the_kernel_keeps_sums_of_its_tiles(executor, rng, monkeypatch):
    """A launch more, of numbers that do not come from C."""
    launched = []
    launch = type(executor).launch
    monkeypatch.setattr(type(executor), "launch", lambda self, kernel, grid, given, *rest: (
        launched.append((kernel.name, given)), launch(self, kernel, grid, given, *rest))[1])
    A, B, C = matrix(rng, 20, 24, "f2"), matrix(rng, 24, 12, "f2", "F"), np.empty((20, 12), "f2", "F")
    gpublas.gemm("N", "N", 1.0, A, B, 0.0, C, bias_grad=np.empty(12, "f2"))
    (product, _), (sums, given) = launched
    assert product.startswith("mma_kernel") and sums.startswith("sums_kernel") and given[0] != C.ctypes.data


def test_cut_along_k(executor, rng):
    A, B = matrix(rng, 100, 300, "f2"), matrix(rng, 300, 12, "f2", "F")
    with gpublas.use(gpublas.Context(executor, gemm_config=GemmConfig(MMA_CONFIGS["f16"][-1], 2))):
        sums = np.empty(12, "f2")
        check(sums, gpublas.gemm("N", "N", 1.0, A, B, bias_grad=sums))


def test_of_nothing_the_sum_is_zero(device):
    sums = np.full(3, np.nan, "f2")
    C = gpublas.gemm("N", "N", 1.0, np.ones((0, 4), "f2"), np.ones((4, 3), "f2"), bias_grad=sums)
    assert C.shape == (0, 3) and (sums == 0).all()
    gpublas.gemm("N", "N", 1.0, np.ones((3, 4), "f2"), np.ones((4, 0), "f2"), bias_grad=sums[:, None])
    assert (sums == 0).all()


def test_nan_shows_in_its_column_only(device, rng):
    A, B = matrix(rng, 70, 16, "f2"), matrix(rng, 16, 9, "f2", "F")
    B[3, 4] = np.nan
    sums = np.empty(9, "f2")
    gpublas.gemm("N", "N", 1.0, A, B, bias_grad=sums)
    assert np.array_equal(np.isnan(sums), np.arange(9) == 4)


@pytest.mark.parametrize("sums, error, message", [
    (np.ones(4, "f2"), ArgumentError, "bias_grad"), (np.ones(5, "f4"), DTypeError, "bias_grad"),
    (np.broadcast_to(np.ones(1, "f2"), 5), ArgumentError, "bias_grad"), (1.0, DTypeError, "bias_grad")])
def test_bad_arguments(device, sums, error, message):
    C = np.zeros((4, 5), "f2")
    with pytest.raises(error, match=message):
        gpublas.gemm("N", "N", 1.0, np.ones((4, 3), "f2"), np.ones((3, 5), "f2"), 0.0, C, bias_grad=sums)
    assert (C == 0).all()
    with pytest.raises(ArgumentError, match="overlap"):
        gpublas.gemm("N", "N", 1.0, np.ones((4, 3), "f2"), np.ones((3, 5), "f2"), 0.0, C, bias_grad=C[0])
    with pytest.raises(ArgumentError, match="int32"):
        gpublas.gemm("N", "N", 1, np.ones((4, 3), "i1"), np.ones((3, 5), "i1"), bias_grad=np.ones(5, "i4"))
