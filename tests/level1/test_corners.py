"""NaN, Inf, zeros and the ends of the exponent range: what every routine gives there, on every device."""

import numpy as np
import pytest

import gpublas
from gpublas.precision import PRECISIONS
from gpublas.testing.bounds import assert_within

from . import reference
from .cases import BY_NAME

NAN, INF = np.nan, np.inf
REAL = [precision for precision in PRECISIONS if not precision.is_complex]
COMPLEX = [precision for precision in PRECISIONS if precision.is_complex]


def of(**values):
    """Values by name."""
    return values


# Real vectors: routine, arguments, what outputs and result then are. x and y stand for vectors.
REAL_TABLE = [
    # alpha == 0 does not read x; any other alpha does, NaN included.
    ("axpy", of(alpha=0, x=[NAN, INF, 1], y=[1, NAN, 3]), of(y=[1, NAN, 3])),
    ("axpy", of(alpha=2, x=[NAN, INF, 1], y=[1, -INF, -INF]), of(y=[NAN, NAN, -INF])),
    ("axpy", of(alpha=NAN, x=[0, 1, INF], y=[1, 1, 1]), of(y=[NAN, NAN, NAN])),
    ("axpy", of(alpha=INF, x=[0, 1, -1], y=[1, 1, 1]), of(y=[NAN, INF, -INF])),
    # beta == 0 does not read y, alpha == 0 not x; both give zeros.
    ("axpby", of(alpha=2, x=[1, INF, 3], beta=0, y=[NAN, INF, -INF]), of(y=[2, INF, 6])),
    ("axpby", of(alpha=0, x=[NAN, INF, 1], beta=2, y=[1, NAN, INF]), of(y=[2, NAN, INF])),
    ("axpby", of(alpha=0, x=[NAN, INF, 1], beta=1, y=[1, NAN, INF]), of(y=[1, NAN, INF])),
    ("axpby", of(alpha=0, x=[NAN, INF, 1], beta=0, y=[NAN, INF, 1]), of(y=[0, 0, 0])),
    ("axpby", of(alpha=1, x=[NAN, INF, 1], beta=NAN, y=[0, 0, 0]), of(y=[NAN, NAN, NAN])),
    ("axpby", of(alpha=-1, x=[INF, 1, 0], beta=1, y=[INF, INF, NAN]), of(y=[NAN, INF, NAN])),
    # scal always multiplies.
    ("scal", of(alpha=0, x=[1, NAN, INF, -INF]), of(x=[0, NAN, NAN, NAN])),
    ("scal", of(alpha=1, x=[1, NAN, INF, -INF]), of(x=[1, NAN, INF, -INF])),
    ("scal", of(alpha=-2, x=[1, NAN, INF, -INF]), of(x=[-2, NAN, -INF, INF])),
    ("scal", of(alpha=INF, x=[0, 1, -1, NAN]), of(x=[NAN, INF, -INF, NAN])),
    ("scal", of(alpha=NAN, x=[0, 1, INF, NAN]), of(x=[NAN, NAN, NAN, NAN])),
    ("copy", of(x=[NAN, INF, -INF], y=[0, NAN, 1]), of(y=[NAN, INF, -INF])),
    ("swap", of(x=[NAN, INF, 1], y=[0, NAN, -INF]), of(x=[0, NAN, -INF], y=[NAN, INF, 1])),
    ("dot", of(x=[NAN, 1], y=[1, 1]), of(result=NAN)),
    ("dot", of(x=[0, 1], y=[INF, 1]), of(result=NAN)),
    ("dot", of(x=[1, 1], y=[INF, -INF]), of(result=NAN)),
    ("dot", of(x=[1, -1], y=[INF, 1]), of(result=INF)),
    ("dot", of(x=[0, 0], y=[NAN, 1]), of(result=NAN)),
    ("nrm2", of(x=[0, 0, 0]), of(result=0)),
    ("nrm2", of(x=[1, NAN, 2]), of(result=NAN)),
    ("nrm2", of(x=[NAN, INF, -INF]), of(result=NAN)),
    ("nrm2", of(x=[INF, 1, -INF]), of(result=INF)),
    ("asum", of(x=[1, NAN, INF]), of(result=NAN)),
    ("asum", of(x=[1, -INF, INF]), of(result=INF)),
    ("iamax", of(x=[0, -0.0, 0]), of(result=0)),
    ("iamax", of(x=[1, -INF, INF]), of(result=1)),
    ("iamax", of(x=[1, NAN, INF, NAN]), of(result=1)),
    ("iamax", of(x=[NAN]), of(result=0)),
    ("iamin", of(x=[3, -0.0, 0]), of(result=1)),
    ("iamin", of(x=[INF, -INF]), of(result=0)),
    ("iamin", of(x=[0, NAN, NAN]), of(result=1)),
    ("iamin", of(x=[2, -1, 1]), of(result=1)),
    # Every product is formed: 0 * NaN and 0 * Inf are NaN.
    ("rot", of(x=[NAN, INF, 1, 1], y=[1, 1, INF, 1], c=1, s=0), of(x=[NAN, INF, NAN, 1], y=[NAN, NAN, INF, 1])),
    ("rot", of(x=[NAN, INF, 1, 1], y=[1, 1, INF, 1], c=0, s=1),
     of(x=[NAN, NAN, INF, 1], y=[NAN, -INF, NAN, -1])),
    ("rot", of(x=[1, 2], y=[3, 4], c=NAN, s=0), of(x=[NAN, NAN], y=[NAN, NAN])),
    # What the flag implies is not read from param.
    ("rotm", of(x=[NAN, 1], y=[1, 2], param=[-2, NAN, NAN, NAN, NAN]), of(x=[NAN, 1], y=[1, 2])),
    ("rotm", of(x=[1, INF], y=[1, 2], param=[0, NAN, 3, 2, NAN]), of(x=[3, INF], y=[4, INF])),
    ("rotm", of(x=[1, INF], y=[1, 2], param=[1, 2, NAN, NAN, 3]), of(x=[3, INF], y=[2, -INF])),
    ("rotm", of(x=[1, NAN], y=[1, 2], param=[-1, 0, 0, 0, 0]), of(x=[0, NAN], y=[0, NAN])),
]


def typed_name(operation, precision, real_scalars=False):
    return next(case.name for case in BY_NAME.values()
                if (case.operation, case.precision, case.real_scalars) == (operation, precision, real_scalars))


def outcome(name, given, dtype):
    """What outputs and result are after a call with lists for vectors."""
    case = BY_NAME[name]
    values = {key: np.array(value, dtype) if key in "xy" else value for key, value in given.items()}
    returned = getattr(gpublas, name)(*(values[key] for key in case.arguments))
    return {**values, "result": returned}


@pytest.mark.parametrize("padding", [0, 40], ids=["alone", "in a long vector"])
@pytest.mark.parametrize("precision", REAL, ids=lambda precision: precision.prefix)
def test_real_table(device, precision, padding):
    """The table, alone and with elements behind that change nothing (so that whole vectors are moved)."""
    neutral = {"iamin": INF}
    for operation, given, wanted in REAL_TABLE:
        behind = [neutral.get(operation, 0.0)] * padding
        longer = {key: value + behind if key in "xy" else value for key, value in given.items()}
        found = outcome(typed_name(operation, precision), longer, precision.dtype)
        for key, value in wanted.items():
            part = found[key] if key == "result" else found[key][:len(value)]
            np.testing.assert_array_equal(part, np.array(value), err_msg=f"{operation} {given}: {key}")


def pairs(values):
    """Complex numbers from (real, imaginary) pairs, exactly."""
    return np.array(values, np.float64).view(np.complex128)[:, 0]


# Complex vectors: products are (ac - bd) + (ad + bc) i, of which Inf and NaN follow; a real scalar multiplies the two
# parts.
COMPLEX_TABLE = [
    ("axpy", False, of(alpha=0, x=[(NAN, INF)], y=[(1, NAN)]), of(y=[(1, NAN)])),
    ("axpy", False, of(alpha=1j, x=[(1, 2)], y=[(INF, 1)]), of(y=[(INF, 2)])),
    ("axpy", False, of(alpha=2, x=[(INF, 1)], y=[(1, 1)]), of(y=[(INF, NAN)])),
    ("axpby", False, of(alpha=1j, x=[(1, 2)], beta=0, y=[(NAN, NAN)]), of(y=[(-2, 1)])),
    ("axpby", False, of(alpha=0, x=[(NAN, 1)], beta=1j, y=[(1, 2)]), of(y=[(-2, 1)])),
    ("axpby", False, of(alpha=0, x=[(NAN, 1)], beta=0, y=[(NAN, NAN)]), of(y=[(0, 0)])),
    ("axpby", False, of(alpha=0, x=[(NAN, 1)], beta=1, y=[(1, INF)]), of(y=[(1, INF)])),
    ("scal", False, of(alpha=0, x=[(1, 2), (NAN, 0)]), of(x=[(0, 0), (NAN, NAN)])),
    ("scal", False, of(alpha=0, x=[(INF, 1), (1, -INF)]), of(x=[(NAN, NAN), (NAN, NAN)])),
    ("scal", False, of(alpha=2, x=[(1, NAN), (INF, 1)]), of(x=[(NAN, NAN), (INF, NAN)])),
    ("scal", False, of(alpha=1, x=[(1, NAN), (INF, 1)]), of(x=[(1, NAN), (INF, 1)])),
    ("scal", True, of(alpha=0, x=[(1, 2), (NAN, 1), (1, INF)]), of(x=[(0, 0), (NAN, 0), (0, NAN)])),
    ("scal", True, of(alpha=2, x=[(1, NAN), (INF, 1)]), of(x=[(2, NAN), (INF, 2)])),
    ("copy", False, of(x=[(NAN, 1), (1, INF)], y=[(0, 0), (NAN, NAN)]), of(y=[(NAN, 1), (1, INF)])),
    ("swap", False, of(x=[(NAN, 1)], y=[(1, INF)]), of(x=[(1, INF)], y=[(NAN, 1)])),
    ("rot", True, of(x=[(1, INF)], y=[(NAN, 2)], c=2, s=1), of(x=[(NAN, INF)], y=[(NAN, -INF)])),
    ("rot", False, of(x=[(1, 2)], y=[(3, 4)], c=0, s=1j), of(x=[(-4, 3)], y=[(-2, 1)])),
    ("rot", False, of(x=[(INF, 2)], y=[(0, 0)], c=1, s=0), of(x=[(INF, 2)], y=[(NAN, NAN)])),
    ("nrm2", False, of(x=[(1, NAN), (INF, 1)]), of(result=NAN)),
    ("nrm2", False, of(x=[(1, -INF), (2, 1)]), of(result=INF)),
    ("asum", False, of(x=[(3, 4), (-1, 0)]), of(result=8)),
    ("asum", False, of(x=[(3, -INF), (-1, 0)]), of(result=INF)),
    ("iamax", False, of(x=[(3, 4), (0, 6), (-7, 0)]), of(result=0)),  # |Re| + |Im|: 7, 6, 7
    ("iamax", False, of(x=[(3, 4), (INF, 0), (1, NAN)]), of(result=2)),
    ("iamin", False, of(x=[(3, 3), (0, -5), (5, 0)]), of(result=1)),
    ("iamin", False, of(x=[(3, 3), (NAN, 0), (0, 0)]), of(result=1)),
    ("dotu", False, of(x=[(1, 2)], y=[(3, 4)]), of(result=(-5, 10))),
    ("dotc", False, of(x=[(1, 2)], y=[(3, 4)]), of(result=(11, -2))),
]


@pytest.mark.parametrize("padding", [0, 20], ids=["alone", "in a long vector"])
@pytest.mark.parametrize("precision", COMPLEX, ids=lambda precision: precision.prefix)
def test_complex_table(device, precision, padding):
    neutral = {"iamin": (INF, 0)}
    for operation, real_scalars, given, wanted in COMPLEX_TABLE:
        behind = [neutral.get(operation, (0, 0))] * padding
        vectors = {key: pairs(value + behind) if key in "xy" else value for key, value in given.items()}
        found = outcome(typed_name(operation, precision, real_scalars), vectors, precision.dtype)
        for key, value in wanted.items():
            if key == "result":
                part = [found[key].real, found[key].imag] if isinstance(value, tuple) else found[key]
            else:
                part = found[key].view(precision.real).reshape(-1, 2)[:len(value)]
            np.testing.assert_array_equal(part, np.array(value), err_msg=f"{operation} {given}: {key}")


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_copy_and_swap_keep_every_bit(device, precision, rng):
    """Payloads of NaNs, quiet and signalling, signs of zeros, subnormal numbers."""
    x, y = (rng.integers(0, 256, 40 * precision.dtype.itemsize, np.uint8).view(precision.dtype) for _ in range(2))
    bits = np.uint32 if precision.real == np.float32 else np.uint64
    signalling = np.array(np.inf, precision.real).view(bits) + bits(5)
    for vector in (x, y):
        vector[::3] = np.full(2 * vector[::3].size, signalling).view(precision.dtype)[:vector[::3].size]
    a, b = x.tobytes(), y.tobytes()
    assert gpublas.copy(x, np.zeros_like(x)).tobytes() == a
    assert gpublas.copy(x[::2], np.zeros_like(x[::2])).tobytes() == x[::2].tobytes()
    gpublas.swap(x, y)
    assert (x.tobytes(), y.tobytes()) == (b, a)
    gpublas.swap(x[::-2], y[::-2])
    gpublas.swap(x[::-2], y[::-2])
    assert (x.tobytes(), y.tobytes()) == (b, a)


@pytest.mark.parametrize("precision", REAL, ids=lambda precision: precision.prefix)
def test_signs_of_zero(device, precision):
    x = np.array([0.0, -0.0, 1, -1], precision.dtype)
    np.testing.assert_array_equal(np.signbit(gpublas.scal(2, x.copy())), [False, True, False, True])
    np.testing.assert_array_equal(np.signbit(gpublas.scal(0, x.copy())), [False, True, False, True])
    np.testing.assert_array_equal(np.signbit(gpublas.axpby(-1, x, 0, np.ones_like(x))), [True, False, True, False])
    np.testing.assert_array_equal(np.signbit(gpublas.axpby(0, x, 0, -np.ones_like(x))), [False] * 4)


def spread(precision, rng, low, high, n):
    """Numbers whose exponents lie between two fractions of the type's range, of both signs."""
    info = np.finfo(precision.real)
    least = info.minexp - info.nmant
    exponents = least + (info.maxexp - least) * rng.uniform(low, high, n)
    return np.copysign(np.exp2(exponents.astype(np.longdouble)), rng.standard_normal(n)).astype(precision.real)


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
class TestNormAtTheEndsOfTheRange:
    def check(self, precision, values):
        values = np.asarray(values, precision.dtype)
        for x in (values, values[::-1], np.repeat(values, 3)[::3]):
            assert_within(gpublas.nrm2(x), *map(np.asarray, reference.nrm2(precision.dtype, x)["result"]),
                          f"nrm2 of {x[:5]}")

    def test_largest_and_smallest_numbers(self, device, precision):
        info = np.finfo(precision.real)
        big, tiny, least = info.max, info.tiny, info.smallest_subnormal
        for values in ([big], [-big, 0], [big / 2, big / 2], [tiny], [least], [least] * 4, [tiny, least],
                       [big / 4, 1, tiny], [1, least], [tiny, 1], [big / 2, least], [0, least, 0],
                       [least, tiny, big / 8]):
            self.check(precision, values)

    def test_overflow_is_infinite(self, device, precision):
        big = np.finfo(precision.real).max
        assert gpublas.nrm2(np.array([big, big], precision.dtype)) == np.inf

    @pytest.mark.parametrize("low, high", [(0, 1), (0, .3), (.7, .95), (0, .05), (.2, .3), (.45, .8), (.2, .8)])
    def test_any_exponents(self, device, precision, low, high, rng):
        for n in (1, 2, 7, 33):
            values = spread(precision, rng, low, high, n)
            if precision.is_complex:
                values = values + 1j * spread(precision, rng, low, high, n)
            self.check(precision, values)

    def test_around_the_thresholds(self, device, precision):
        """Numbers on either side of where the kernel changes accumulators."""
        from gpublas.cuda import vector

        if precision.real == np.float64:
            for edge in (vector.SMALL, vector.BIG):
                around = [edge, np.nextafter(edge, 0), np.nextafter(edge, np.inf)]
                for values in (around, around[:1], around[1:2], [*around, edge * 2.0**30], [*around, edge * 2.0**-30],
                               [*around, 1]):
                    self.check(precision, values)


@pytest.mark.parametrize("n", [1 << 16, 100_003])
def test_float32_sums_are_as_good_as_pairwise(device, n):
    """Sequential float32 sums of as many equal numbers are off in the third digit; these are rounded once."""
    x = np.full(n, 0.1, np.float32)
    exact = n * np.longdouble(x[0]) ** 2
    assert abs(gpublas.sdot(x, x) - exact) <= np.finfo(np.float32).eps / 2 * exact * (1 + 1e-6)
    assert abs(gpublas.cdotc(x + 0j, x + 0j).real - exact) <= np.finfo(np.float32).eps / 2 * exact * (1 + 1e-6)
    assert abs(gpublas.dsdot(x, x) - exact) <= n * np.finfo(np.float64).eps * exact


def test_dsdot_and_sdsdot_add_in_float64(device):
    """1 is lost next to 2**24 in float32."""
    x, y = np.float32([2.0**24, 1, -(2.0**24)]), np.ones(3, np.float32)
    assert gpublas.dsdot(x, y) == 1 and gpublas.sdsdot(0, x, y) == 1 and gpublas.sdot(x, y) == 1
    assert gpublas.sdsdot(-(2.0**24), x, y) == -(2.0**24) + 1
    assert gpublas.sdsdot(0.25, np.empty(0, np.float32), np.empty(0, np.float32)) == 0.25


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_places_in_long_vectors(device, precision):
    """Ties and NaNs in different blocks of a launch and chunks of the host: the first wins."""
    n = 20_000
    flat = np.ones(n, precision.dtype)
    assert gpublas.iamax(flat) == gpublas.iamin(flat) == 0
    for first, second in ((0, n - 1), (5000, 5001), (4095, 4096), (8191, 8192), (1023, 19_999), (1, 1024)):
        for value in (np.nan, -3):
            x = flat.copy()
            x[[first, second]] = value
            assert gpublas.iamax(x) == first and gpublas.iamax(x[::-1]) == n - 1 - second, (first, second, value)
        x[[first, second]] = -0.5
        assert gpublas.iamin(x) == first and gpublas.iamin(x[::-1]) == n - 1 - second, (first, second)
        x[second] = np.nan
        assert gpublas.iamin(x) == second and gpublas.iamin(x[::-1]) == n - 1 - second, (first, second)


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)
def test_sums_of_long_vectors_at_the_ends_of_the_range(device, precision, rng):
    n = 20_000
    info = np.finfo(precision.real)
    for size in (info.smallest_subnormal * 3, info.tiny, 1, info.max / 4096 / n):
        x = np.full(n, size, precision.dtype)
        x[rng.random(n) < .5] *= -1
        for operation in ("nrm2", "asum"):
            wanted = getattr(reference, operation)(precision.dtype, x)["result"]
            assert_within(getattr(gpublas, operation)(x), *map(np.asarray, wanted), f"{operation} of {n} times {size}")
    for place in (3, 8190, 8195, n - 1):
        x = np.zeros(n, precision.dtype)
        x[place] = info.smallest_subnormal
        assert gpublas.nrm2(x) == info.smallest_subnormal
        x[0] = np.nan
        assert np.isnan(gpublas.nrm2(x))
        x[[0, place]] = 0, -info.max
        assert gpublas.nrm2(x) == info.max
        x[0] = np.nan
        assert np.isnan(gpublas.nrm2(x)) and np.isnan(gpublas.asum(x))
        x[[0, place]] = 1, np.inf
        assert gpublas.nrm2(x) == np.inf and gpublas.asum(x) == np.inf
