"""Which calls the CPU device leaves to the host's BLAS: those on which no BLAS library can differ from our rules.

Some skip zeros of vectors, multiply by reciprocals or read what they multiply by zero; the one at hand may not.
"""

import numpy as np
import pytest

import gpublas
from gpublas.cpu import reference
from gpublas.cpu.level1 import view
from gpublas.operands import Vector

from .calls import call
from .cases import CASES, flag_choices, of_family
from .test_devices import arguments_of

N = 9
BLAS_HAS_NONE = ("csymv", "zsymv", "cspmv", "zspmv", "cspr", "zspr", "csyr", "zsyr", "csyr2", "zsyr2")
IN_BLAS = [case for case in CASES if case.name not in BLAS_HAS_NONE]


@pytest.fixture(autouse=True)
def cpu():
    with gpublas.use("cpu") as context:
        context.on_host = False  # small everyday calls have a way of their own, which is not what is tested here
        yield


@pytest.fixture
def called(monkeypatch):
    """Names of the subroutines that are called, and a list of what to do with their arguments instead."""
    names, instead, real = [], [], reference.call

    def watched(name, precision, *arguments, **options):
        names.append(precision.prefix + name)
        (instead[0] if instead else real)(name, precision, *arguments, **options)

    monkeypatch.setattr(reference, "call", watched)
    return names, instead


def host_call(case, rng, flags):
    return {**arguments_of(case, rng, N, flags), "alpha": 2, "beta": 0.5}


@pytest.mark.parametrize("case", IN_BLAS, ids=str)
def test_ordinary_calls_are_one_call_of_blas(case, rng, called):
    """In every storage and order, and with zeros in the vectors."""
    names, _ = called
    for flags in flag_choices(case):
        for zeros in (False, True):
            arguments = host_call(case, rng, flags)
            if zeros:
                arguments["x"][::2] = 0
            names.clear()
            call(case, **arguments)
            assert names in ([case.name], [case.name.replace("gerc", "geru")]), flags  # gerc of rows is geru


@pytest.mark.parametrize("case", [case for case in IN_BLAS if case.family != "general" or case.storage == "band"],
                         ids=str)
def test_calls_on_which_libraries_differ_do_not_reach_blas(case, rng, called):
    """NaN or Inf in a vector; zeros in a vector and NaN in the matrix; an infinite alpha."""
    names, _ = called
    for flags in flag_choices(case):
        calls = [host_call(case, rng, flags) for _ in range(3)]
        calls[0]["x"][4] = np.nan
        calls[1]["alpha"] = np.inf
        calls[2]["x"][4] = 0
        calls[2][case.matrix].reshape(-1)[1::2] = np.nan
        for number, arguments in enumerate(calls):
            if (number == 1 and "alpha" not in case.arguments) or (
                    number == 2 and case.family not in ("general", "symmetric", "product")):
                continue
            names.clear()
            call(case, **arguments)
            assert not names, (flags, number)


@pytest.mark.parametrize("case", of_family("solve"), ids=str)
def test_solutions_of_blas_are_looked_at(case, rng, called):
    """A library that skips zeros of the solution hides NaN of the matrix: its result is not taken."""
    def all_zero(name, precision, *arguments, **options):
        for argument in arguments:
            if isinstance(argument, Vector):
                view(argument)[...] = 0

    names, instead = called
    instead.append(all_zero)
    for flags in flag_choices(case):
        arguments = host_call(case, rng, {**flags, "diag": "U"})
        arguments[case.matrix][...] = np.nan
        names.clear()
        assert np.isnan(call(case, **arguments)).any() and names == [case.name], flags


@pytest.mark.parametrize("case", of_family("solve"), ids=str)
def test_diagonals_whose_reciprocals_round_do_not_reach_blas(case, rng, called):
    names, _ = called
    info = np.finfo(case.precision.real)
    for flags in flag_choices(case):
        for size in (0, info.smallest_subnormal, info.tiny, info.max, np.nan):
            arguments = host_call(case, rng, {**flags, "diag": "N"})
            arguments[case.matrix][...] = size
            names.clear()
            call(case, **arguments)
            assert not names, (flags, size)


@pytest.mark.parametrize("case", [case for case in IN_BLAS if case.family in ("general", "symmetric")], ids=str)
def test_blas_finds_zeros_where_beta_is_zero(case, rng, called):
    """A library that multiplies by beta == 0 would carry NaN of y into the result."""
    def look(name, precision, *arguments, **options):
        assert not view(arguments[-1]).any()

    _, instead = called
    instead.append(look)
    for flags in flag_choices(case):
        for step in (1, -2):
            y = np.full(2 * N, np.nan, case.dtype)[::step][:N]
            call(case, **{**host_call(case, rng, flags), "beta": 0, "y": y})


@pytest.mark.parametrize("name", BLAS_HAS_NONE)
def test_complex_symmetric_matrices_are_served_without_blas(name, rng, called):
    names, _ = called
    case = next(case for case in CASES if case.name == name)
    call(case, **host_call(case, rng, {"uplo": "U"}))
    assert not names
