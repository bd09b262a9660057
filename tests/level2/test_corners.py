"""NaN, Inf, zeros and the ends of the exponent range: what is used shows, what is not used does not."""

import itertools

import numpy as np
import pytest
from conftest import random_values
from level1.strided import Strided

from .calls import Memory, a_layout, call, pick, square_memory, tame, triangle_of
from .cases import BY_NAME, flag_choices, of_family

N, WIDTH = 70, 3
BAD = (np.nan, np.inf, -np.inf)
PLACES = (0, 33, 69)


def used(case, flags):
    """Mask of the elements of op(A) that a product uses, for a matrix of order N."""
    if case.family == "general":
        i, j = np.indices((N, N))
        mask = np.ones((N, N), bool) if case.storage == "full" else (i - j <= WIDTH) & (j - i <= WIDTH - 1)
    else:
        mask = triangle_of(N, flags["uplo"], WIDTH if case.storage == "band" else None)
    if case.family == "symmetric":
        return mask | mask.T
    return mask if flags["op"] == "N" else mask.T


def memory_of(case, rng, values, flags):
    """The matrix with these values in the case's storage."""
    if case.family == "general":
        mask = used(case, {"op": "N"})
        return Memory(case, values, mask, a_layout(case, rng), WIDTH, WIDTH - 1)
    unit = flags.get("diag") == "U"
    memory, _ = square_memory(case, rng, N, flags["uplo"], WIDTH if case.storage == "band" else None, values, unit)
    return memory


def result_of(case, flags, memory, x):
    vector = Strided(x)
    arguments = {**flags, "alpha": 1, "beta": 0, "m": N, "kl": WIDTH, "ku": WIDTH - 1, "x": vector.array,
                 "y": np.full(N, np.nan, case.dtype), case.matrix: memory.array}
    return call(case, **arguments)


@pytest.mark.parametrize("case", of_family("general", "symmetric", "product"), ids=str)
def test_bad_elements_of_x_reach_the_results_that_use_them(device, case, rng):
    """Only those: nothing is multiplied by what is zero by structure."""
    for flags, place in itertools.product(flag_choices(case), PLACES):
        x = random_values(rng, N, case.dtype)
        x[place] = pick(rng, BAD)
        y = result_of(case, flags, memory_of(case, rng, random_values(rng, (N, N), case.dtype), flags), x)
        np.testing.assert_array_equal(~np.isfinite(y), used(case, flags)[:, place], err_msg=f"{flags} {place}")


@pytest.mark.parametrize("case", of_family("general", "symmetric", "product"), ids=str)
def test_bad_elements_of_a_matrix_show_though_x_is_zero(device, case, rng):
    """0 * NaN and 0 * Inf are NaN: zeros of x are not skipped."""
    for flags, place in itertools.product(flag_choices(case), PLACES):
        values = random_values(rng, (N, N), case.dtype)
        shown = np.zeros(N, bool)
        rows = np.flatnonzero(used(case, {**flags, "op": "N"})[:, place])
        i = int(pick(rng, rows))
        values[i, place] = pick(rng, BAD)
        if i != place or flags.get("diag") != "U":
            shown[i if flags.get("op", "N") == "N" else place] = True
            if case.family == "symmetric":
                stored = used(case, flags) & triangle_of(N, flags["uplo"], None)
                if not stored[i, place]:
                    continue
                shown[place] = True
        y = result_of(case, flags, memory_of(case, rng, values, flags), np.zeros(N, case.dtype))
        np.testing.assert_array_equal(np.isnan(y), shown, err_msg=f"{flags} {i} {place}")
        assert not y[~shown].any()


def order_of(flags):
    """Rows in the order of substitution."""
    forward = (flags["uplo"] == "L") == (flags["op"] == "N")
    return range(N) if forward else range(N - 1, -1, -1)


def spread(flags, matrix_mask, start, bad_elements=()):
    """Which elements of a solution are not finite: those of `start`, those with a bad element in their row, and those
    that use one of them."""
    bad = np.array(start)
    for i in order_of(flags):
        bad[i] |= any(row == i for row, _ in bad_elements)
        bad[i] |= bool((matrix_mask[i] & bad & (np.arange(N) != i)).any())
    return bad


@pytest.mark.parametrize("case", of_family("solve"), ids=str)
def test_bad_numbers_in_solutions(device, case, rng):
    """What is bad, and all that depends on it, for every flag; also where the right-hand side is zero."""
    width = WIDTH if case.storage == "band" else None
    for flags, place in itertools.product(flag_choices(case), PLACES):
        mask = used(case, flags)
        values = tame(case, rng, N, flags["uplo"], width)
        x = random_values(rng, N, case.dtype)
        x[place] = pick(rng, BAD)
        z = result_of(case, flags, memory_of(case, rng, values, flags), x)
        np.testing.assert_array_equal(~np.isfinite(z), spread(flags, mask, np.arange(N) == place), err_msg=f"{flags}")

        columns = np.flatnonzero(mask[place] & (np.arange(N) != place))
        if len(columns):
            other = int(pick(rng, columns))
            at = (place, other) if flags["op"] == "N" else (other, place)
            values[at] = pick(rng, BAD)
            z = result_of(case, flags, memory_of(case, rng, values, flags), np.zeros(N, case.dtype))
            wanted = spread(flags, mask, np.zeros(N, bool), [(place, other)])
            np.testing.assert_array_equal(np.isnan(z), wanted, err_msg=f"{flags} {at}")
            assert not z[~wanted].any()


@pytest.mark.parametrize("case", of_family("solve"), ids=str)
def test_a_singular_diagonal_shows_in_the_same_places(device, case, rng):
    """Inf or NaN from the zero on, for every flag; with a zero right-hand side NaN."""
    for flags in flag_choices(case):
        if flags["diag"] == "U":
            continue
        values = tame(case, rng, N, flags["uplo"], WIDTH if case.storage == "band" else None)
        values[33, 33] = 0
        wanted = spread(flags, used(case, flags), np.arange(N) == 33)
        z = result_of(case, flags, memory_of(case, rng, values, flags), random_values(rng, N, case.dtype))
        np.testing.assert_array_equal(~np.isfinite(z), wanted, err_msg=f"{flags}")
        z = result_of(case, flags, memory_of(case, rng, values, flags), np.zeros(N, case.dtype))
        np.testing.assert_array_equal(np.isnan(z), wanted, err_msg=f"{flags}")


def extremes(precision):
    """Diagonal elements whose reciprocal, or the square of whose size, is out of range."""
    info = np.finfo(precision.real)
    sizes = [info.smallest_subnormal, info.tiny / 4, info.max / 2, info.max]
    if not precision.is_complex:
        return [precision.dtype.type(size) for size in sizes]
    parts = [(size, 0) for size in sizes] + [(0, size) for size in sizes] + [(info.max / 4, -info.max / 8)]
    return [precision.dtype.type(complex(re, im)) for re, im in parts]


@pytest.mark.parametrize("case", of_family("solve"), ids=str)
def test_solutions_divide(device, case, rng):
    """A diagonal d and a right-hand side d give 1, whatever d: nothing is multiplied by a rounded reciprocal. (As
    case b13.)"""
    for flags, d in itertools.product(flag_choices(case), extremes(case.precision)):
        if flags["diag"] == "U":
            continue
        values = np.where(np.eye(N, dtype=bool), d, 0).astype(case.dtype)
        conjugates = flags["op"] == "C" and case.precision.is_complex
        x = np.full(N, np.conj(d) if conjugates else d, case.dtype)
        z = result_of(case, flags, memory_of(case, rng, values, flags), x)
        assert (np.abs(z - 1) <= 2 * case.precision.eps).all(), (flags, d)


@pytest.mark.parametrize("case", of_family("outer", "update"), ids=str)
def test_bad_elements_of_vectors_show_though_the_others_are_zero(device, case, rng):
    for flags, place in itertools.product(flag_choices(case), PLACES):
        uplo = flags.get("uplo")
        written = np.ones((N, N), bool) if uplo is None else triangle_of(N, uplo, None)
        A = Memory(case, random_values(rng, (N, N), case.dtype), written, a_layout(case, rng), uplo=uplo)
        x, y = np.zeros(N, case.dtype), np.zeros(N, case.dtype)
        x[place] = pick(rng, BAD)
        call(case, **flags, alpha=1, x=x, y=y, **{case.matrix: A.array})
        i, j = np.indices((N, N))
        shown = (i == place) if case.family == "outer" else (i == place) | (j == place)
        np.testing.assert_array_equal(~np.isfinite(A.dense())[written], shown[written], err_msg=f"{flags} {place}")


@pytest.mark.parametrize("case", of_family("general", "symmetric", "outer", "update"), ids=str)
def test_a_bad_alpha_shows_though_x_is_zero(device, case, rng):
    for flags in flag_choices(case):
        arguments = {**flags, "alpha": np.inf, "beta": 0, "m": N, "kl": WIDTH, "ku": WIDTH - 1,
                     "x": np.zeros(N, case.dtype), "y": np.zeros(N, case.dtype)}
        values = random_values(rng, (N, N), case.dtype)
        if case.family in ("general", "symmetric"):
            memory = memory_of(case, rng, values, flags)
            assert np.isnan(call(case, **arguments, **{case.matrix: memory.array})).all()
        else:
            written = np.ones((N, N), bool) if case.family == "outer" else triangle_of(N, flags["uplo"], None)
            A = Memory(case, values, written, a_layout(case, rng), uplo=flags.get("uplo"))
            call(case, **arguments, **{case.matrix: A.array})
            assert np.isnan(A.dense()[written]).all(), flags


@pytest.mark.parametrize("name", ["cher", "zher", "cher2", "zher2", "chpr", "zhpr", "chpr2", "zhpr2"])
@pytest.mark.parametrize("alpha", [0, 1])
@pytest.mark.parametrize("uplo", "UL")
def test_hermitian_updates_clear_the_imaginary_diagonal(device, name, alpha, uplo, rng):
    """Also for alpha == 0, when NaN there goes too and nothing else changes. (As case b15.)"""
    case = BY_NAME[name]
    values = random_values(rng, (N, N), case.dtype)
    values.imag[np.diag_indices(N)] = np.nan
    A = Memory(case, values, triangle_of(N, uplo, None), a_layout(case, rng), uplo=uplo)
    x = random_values(rng, N, case.dtype)
    call(case, uplo=uplo, alpha=alpha, x=x, y=x.copy(), **{case.matrix: A.array})
    after = A.dense()
    assert not after.diagonal().imag.any() and np.isfinite(after.diagonal().real).all()
    if alpha == 0:
        strict = triangle_of(N, uplo, None) & ~np.eye(N, dtype=bool)
        np.testing.assert_array_equal(after[strict], values[strict])
        np.testing.assert_array_equal(after.diagonal().real, values.diagonal().real)
