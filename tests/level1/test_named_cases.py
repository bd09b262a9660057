"""Calls that went wrong in other libraries."""

import numpy as np
import pytest

import gpublas
from gpublas.precision import PRECISIONS

NAN, INF = np.nan, np.inf


def test_b1_iamax_counts_elements_not_memory(device):
    x = np.arange(10, 37)[::2] / 10
    assert len(x) == 14  # 1, 1.2, ... 3.6: every second of 1, 1.1, ...
    memory = np.repeat(np.arange(1, 3.6, 0.2), 2)
    strided = memory[::2]
    assert len(strided) == 13 and gpublas.idamax(strided) == 12
    assert gpublas.idamax(x) == 13 and gpublas.idamax(x[::-1]) == 0


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_b2_iamax_of_zeros_and_of_nothing(device, precision):
    for n in (1, 2, 7, 300):
        assert gpublas.iamax(np.zeros(n, precision.dtype)) == 0
        assert gpublas.iamin(np.zeros(n, precision.dtype)) == 0
    assert gpublas.iamax(np.empty(0, precision.dtype)) == -1
    assert gpublas.iamin(np.empty(0, precision.dtype)) == -1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_b6_rotmg_scaled_twice(device, kind):
    *_, x1, param = gpublas.rotmg(kind(5.9e-8), kind(5.960464e-8), kind(1), kind(150))
    flag, _, h21, h12, h22 = param
    assert flag == -1 and h12 == kind(1) / 4096
    eps = np.finfo(kind).eps
    assert abs(h21 * 1 + h22 * 150) <= 2 * eps * (abs(h21) + abs(h22 * 150))
    x, y = np.array([1], kind), np.array([150], kind)
    gpublas.rotm(x, y, param)
    assert abs(y[0]) <= 2 * eps * (abs(h21) + abs(h22 * 150))
    assert abs(x[0] - x1) <= 4 * eps * abs(x1)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_b7_rotmg_ends_where_the_sum_rounds_to_zero(device, kind):
    one = kind(1)
    for d1, d2, x1, y1 in ((1, -1, 1, 1), (1, -1, 1 + np.finfo(kind).eps, 1), (1, np.nextafter(-one, one), 1, 1),
                           (2, -8, 2, 1), (1e-30, -1e-30, 1, 1), (0, 0, 1, 1), (0, 1, 1, 1), (0, -1, 1, 1),
                           (np.finfo(kind).smallest_subnormal, 1, 1, 1), (1, np.finfo(kind).smallest_subnormal, 1, 1)):
        found = gpublas.rotmg(kind(d1), kind(d2), kind(x1), kind(y1))
        assert np.isfinite(found[3]).all() and found[3][0] in (-2, -1, 0, 1)


@pytest.mark.parametrize("kind, numbers", [
    (np.float32, (1, -0.9849933385848999, 1.0311535596847534, 1.0389788150787354)),  # u == 0
    (np.float32, (1, -0.8399959802627563, 1.002477765083313, 1.0937955379486084)),  # u < 0, by rounding
    (np.float64, (1, -0.4585544953497931, 1.1059212367073243, 1.6331599460365578)),  # u == 0
])
def test_b7_nothing_is_left_of_the_sum(device, kind, numbers):
    """|d1 x1**2| > |d2 y1**2|, but 1 + d2 y1**2 / (d1 x1**2) rounds to zero or below: H and all numbers are zero."""
    d1, d2, x1, y1 = map(kind, numbers)
    assert abs(d1 * x1 * x1) > abs(d2 * y1 * y1)
    *zeros, param = gpublas.rotmg(d1, d2, x1, y1)
    assert zeros == [0, 0, 0] and param.tolist() == [-1, 0, 0, 0, 0]


def test_b8_rot_of_vectors_that_share_memory_with_themselves(device):
    """Zero strides, 4 elements: a clear error, and nothing is rotated."""
    slots = np.ones(2)
    x, y = (np.lib.stride_tricks.as_strided(slots[i:], (4,), (0,)) for i in (0, 1))
    with pytest.raises(gpublas.ArgumentError, match="drot: argument 1, x: found an output whose elements share"):
        gpublas.drot(x, y, .25, .5)
    np.testing.assert_array_equal(slots, 1)


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_b9_norm_of_infinity(device, precision):
    assert gpublas.nrm2(np.array([1, -INF, 2], precision.dtype)) == INF


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_b10_scal_by_zero(device, precision):
    x = gpublas.scal(0, np.array([1, NAN, INF], precision.dtype))
    np.testing.assert_array_equal(x.real, [0, NAN, NAN])


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_b11_first_nan_is_the_largest(device, precision):
    assert gpublas.iamax(np.array([5, INF, NAN, 8, 9], precision.dtype)) == 2
    assert gpublas.iamax(np.array([5, NAN, INF, 8, 9], precision.dtype)) == 1


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_b12_first_of_ties(device, precision):
    assert gpublas.iamax(np.array([8, -7, 9, 5, 9, 8, 7, 7], precision.dtype)) == 2


def test_b17_broadcast_vector(device):
    x = np.broadcast_to(np.float64(3), (50,))
    y = np.arange(50.0)
    assert gpublas.ddot(x, y) == gpublas.ddot(x.copy(), y) == 3 * 49 * 25
    np.testing.assert_array_equal(gpublas.daxpy(2, x, y.copy()), y + 6)
    assert gpublas.dasum(x) == 150 and gpublas.idamax(x) == 0
    assert gpublas.dnrm2(np.broadcast_to(np.float64(3), (16,))) == 12


def test_b23_asum_of_a_complex_number(device):
    assert gpublas.scasum(np.array([3 + 4j], np.complex64)) == 7
    assert gpublas.dzasum(np.array([3 + 4j])) == 7


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_b24_swap_with_every_second_element(device, precision):
    memory, y = np.arange(7).astype(precision.dtype), np.zeros(4, precision.dtype)
    gpublas.swap(memory[::2], y)
    np.testing.assert_array_equal(memory, [0, 1, 0, 3, 0, 5, 0])
    np.testing.assert_array_equal(y, [0, 2, 4, 6])
