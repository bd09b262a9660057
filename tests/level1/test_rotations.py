"""rotg and rotmg: what they make, over the whole exponent range; numbers in, numbers out."""

import itertools

import numpy as np
import pytest

import gpublas
from gpublas.precision import PRECISIONS
from gpublas.testing.buffers import DeviceArray

REAL = [precision for precision in PRECISIONS if not precision.is_complex]
COMPLEX = [precision for precision in PRECISIONS if precision.is_complex]


def magnitudes(precision):
    """Numbers from all over the range of the type, its ends among them."""
    info = np.finfo(precision.real)
    big = precision.real.type(info.max)
    return [0, 1, 3, 4, 1e-3, 7e5, big, big / 2, np.sqrt(big), info.tiny, info.tiny * 2**10, np.sqrt(info.tiny),
            info.smallest_subnormal, info.smallest_subnormal * 5, info.eps]


def hypotenuse(a, b):
    """sqrt(|a|**2 + |b|**2) in extended precision, whose exponents have room for the squares."""
    parts = [np.longdouble(part) for value in (a, b) for part in (value.real, value.imag)]
    return np.sqrt(sum(part * part for part in parts))


def near(found, exact, eps, least, context, steps=8):
    """Within a few roundings, which may carry past the largest number."""
    if np.isinf(found):
        assert abs(exact) * (1 + steps * eps) >= np.longdouble(np.finfo(found.dtype).max), context
        assert found.real * exact.real > 0, context
    else:
        assert abs(found - exact) <= steps * (eps * abs(exact) + least), f"{context}: {found}, wanted {exact}"


@pytest.mark.parametrize("precision", REAL, ids=lambda precision: precision.prefix)
def test_real_rotations(device, precision):
    kind, info = precision.dtype.type, np.finfo(precision.dtype)
    for a, b in itertools.product([s * m for m in magnitudes(precision) for s in (1, -1)], repeat=2):
        a, b = kind(a), kind(b)
        r, z, c, s = gpublas.rotg(a, b)
        assert all(type(value) is kind for value in (r, z, c, s))
        context = f"rotg({a}, {b})"
        if b == 0:
            assert (r, z, c, s) == (a, 0, 1, 0), context
            continue
        if a == 0:
            assert (r, z, c, s) == (b, 1, 0, 1), context
            continue
        h = hypotenuse(a, b)
        sigma = np.sign(a if abs(a) > abs(b) else b)
        near(r, sigma * h, info.eps, info.smallest_subnormal, context + ": r")
        if np.isfinite(r) and abs(r) >= info.tiny / info.eps:  # else r itself has lost digits, as in reference BLAS
            near(c, sigma * np.longdouble(a) / h, info.eps, info.smallest_subnormal, context + ": c")
            near(s, sigma * np.longdouble(b) / h, info.eps, info.smallest_subnormal, context + ": s")
        with np.errstate(over="ignore"):
            assert z == (s if abs(a) > abs(b) else 1 / c if c != 0 else 1), context


def complex_numbers(precision):
    sizes = magnitudes(precision)
    parts = [(size, 0) for size in sizes] + [(0, -size) for size in sizes] + list(itertools.pairwise(sizes))
    parts += [(-size, size / 3) for size in sizes]
    return [precision.dtype.type(complex(re, im)) for re, im in parts]


@pytest.mark.parametrize("precision", COMPLEX, ids=lambda precision: precision.prefix)
def test_complex_rotations(device, precision):
    info = np.finfo(precision.real)
    eps, least = info.eps, info.smallest_subnormal
    for a, b in itertools.product(complex_numbers(precision), repeat=2):
        r, z, c, s = gpublas.rotg(a, b)
        assert type(r) is type(s) is type(z) is precision.dtype.type and type(c) is precision.real.type
        context = f"rotg({a}, {b})"
        assert z == b, context
        wide_a, wide_b = np.clongdouble(a), np.clongdouble(b)
        if b == 0:
            assert (r, c, s) == (a, 1, 0), context
            continue
        h = hypotenuse(a, b)
        size = hypotenuse(a, np.zeros(1)[0])
        phase = wide_a / size if a != 0 else 1
        near(c, size / h, eps, least, context + ": c")
        near(s, phase * np.conj(wide_b) / h, eps, least, context + ": s")
        for part in ("real", "imag"):
            near(getattr(r, part), getattr(phase * h, part) if a != 0 else {"real": h, "imag": 0}[part], eps,
                 least + eps * h, context + ": r")


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_rot_with_what_rotg_makes(device, precision, rng):
    """(a, b) is turned to (r, 0)."""
    for _ in range(20):
        a, b = rng.standard_normal(2) + (1j * rng.standard_normal(2) if precision.is_complex else 0)
        a, b = precision.dtype.type(a), precision.dtype.type(b)
        r, _, c, s = gpublas.rotg(a, b)
        x, y = np.array([a]), np.array([b])
        gpublas.rot(x, y, c, s)
        assert abs(x[0] - r) <= 8 * precision.eps * abs(r) and abs(y[0]) <= 8 * precision.eps * abs(r)


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_nan_gives_nan(device, precision):
    for a, b in ((np.nan, 1), (1, np.nan), (np.nan, np.nan)):
        r, _, c, s = gpublas.rotg(precision.dtype.type(a), precision.dtype.type(b))
        assert np.isnan(r) and np.isnan(c) and np.isnan(s)


def full(param):
    """H of a parameter array, in extended precision."""
    flag, h11, h21, h12, h22 = (np.longdouble(value) for value in param)
    return {-2: [[1, 0], [0, 1]], -1: [[h11, h12], [h21, h22]], 0: [[1, h12], [h21, 1]],
            1: [[h11, 1], [-1, h22]]}[int(flag)]


@pytest.mark.parametrize("precision", REAL, ids=lambda precision: precision.prefix)
def test_modified_rotations(device, precision):
    """H (x1, y1) = (new x1, 0), and d is updated so that d1 x1**2 + d2 y1**2 stays and H^T D' H = D."""
    kind, eps = precision.dtype.type, np.longdouble(precision.eps)
    gamma2 = 4096.0**2
    far = 1e12 if eps < 1e-10 else 1e5  # so that nothing underflows
    numbers = (0.5, 1.0, 3.0, -2.0, 1e-3, 1e3, 1 / far, far)
    for d1, d2, x1, y1 in itertools.product(numbers, repeat=4):
        if d1 < 0 or d1 * x1 * x1 + d2 * y1 * y1 <= 1e-3 * abs(d2) * y1 * y1:
            continue
        d1, d2, x1, y1 = map(kind, (d1, d2, x1, y1))
        new1, new2, x, param = gpublas.rotmg(d1, d2, x1, y1)
        assert type(new1) is type(new2) is type(x) is kind and param.dtype == kind
        context = f"rotmg({d1}, {d2}, {x1}, {y1}) = {param}"
        (h11, h12), (h21, h22) = full(param)
        tolerance = 16 * eps
        assert abs(h21 * x1 + h22 * y1) <= tolerance * (abs(h21 * x1) + abs(h22 * y1)), context
        assert abs(h11 * x1 + h12 * y1 - x) <= tolerance * (abs(h11 * x1) + abs(h12 * y1)), context
        assert abs(new1) * (1 - eps) <= gamma2 and abs(new2) * (1 - eps) <= gamma2, context
        assert min(abs(new1), abs(new2)) >= 1 / gamma2 * (1 - 2e-8), context
        wide1, wide2 = np.longdouble(new1), np.longdouble(new2)
        for left, right, wanted in ((h11, h11, d1), (h12, h12, d2)):
            other = {True: h21, False: h22}[left is h11]
            terms = wide1 * left * right, wide2 * other * other
            assert abs(sum(terms) - wanted) <= tolerance * sum(map(abs, terms)), context
        cross = wide1 * h11 * h12, wide2 * h21 * h22
        assert abs(sum(cross)) <= tolerance * sum(map(abs, cross)), context


@pytest.mark.parametrize("precision", REAL, ids=lambda precision: precision.prefix)
class TestModifiedRotationCorners:
    def test_negative_d1(self, device, precision):
        d1, d2, x1, param = gpublas.rotmg(precision.dtype.type(-1), 2, 3, 4)
        assert (d1, d2, x1) == (0, 0, 0) and param.tolist() == [-1, 0, 0, 0, 0]

    def test_nothing_to_do(self, device, precision):
        for d2, y1 in ((0, 5), (5, 0)):
            d1, new2, x1, param = gpublas.rotmg(precision.dtype.type(2), d2, 3, y1)
            assert (d1, new2, x1) == (2, d2, 3) and param.tolist() == [-2, 0, 0, 0, 0]

    def test_negative_sum(self, device, precision):
        d1, d2, x1, param = gpublas.rotmg(precision.dtype.type(1), -4, 1, 1)
        assert (d1, d2, x1) == (0, 0, 0) and param.tolist() == [-1, 0, 0, 0, 0]

    def test_ends_of_the_range(self, device, precision):
        """No loop for ever on infinite, subnormal or NaN numbers."""
        info = np.finfo(precision.dtype)
        ends = [info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan, 1, 0]
        for numbers in itertools.product(ends, repeat=4):
            *_, param = gpublas.rotmg(*map(precision.dtype.type, numbers))
            assert param.shape == (5,) and param[0] in (-2, -1, 0, 1)


def test_numbers_choose_the_precision():
    assert [type(value) for value in gpublas.rotg(3, 4)] == [np.float64] * 4
    assert type(gpublas.rotg(np.float32(3), 4)[0]) is np.float32
    assert type(gpublas.rotg(3.0, 4j)[0]) is np.complex128
    assert type(gpublas.rotg(np.float32(3), np.complex64(4))[0]) is np.complex64
    assert type(gpublas.rotg(np.float32(3), np.float64(4))[0]) is np.float64
    assert type(gpublas.rotg(np.array(3, np.float32), 4)[0]) is np.float32
    assert type(gpublas.rotmg(1, 1, np.float64(2), 1)[0]) is np.float64


def test_bad_numbers():
    with pytest.raises(gpublas.DTypeError, match="rotg: argument 2, number: found str"):
        gpublas.rotg(1, "2")
    with pytest.raises(gpublas.DTypeError, match="drotg: argument 1, a: found the complex number"):
        gpublas.drotg(1j, 2)
    with pytest.raises(gpublas.DTypeError, match="rotg: argument 1, number: found float16"):
        gpublas.rotg(np.float16(1), np.float16(2))
    with pytest.raises(gpublas.DTypeError, match="rotmg: argument 1, d1: found complex128, wanted real numbers"):
        gpublas.rotmg(1, 2, 3j, 4)
    with pytest.raises(gpublas.ArgumentError, match="drotg: argument 1, a: found an array with axes"):
        gpublas.drotg(np.ones(2), 1)
    with pytest.raises(gpublas.ArgumentError, match="drotg: argument 2, b: found an array on executor"):
        gpublas.drotg(1, DeviceArray(np.array(2.0)))
    with pytest.raises(gpublas.ArgumentError, match="rotg: argument 2, b: found an array on executor"):
        gpublas.rotg(1.0, DeviceArray(np.array(2.0)))
