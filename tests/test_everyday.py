"""Small calls on the CPU take a shorter way: which ones do, that both ways agree, and that nothing unusual gets in."""

import inspect

import numpy as np
import pytest

import gpublas
from gpublas.context import Call
from gpublas.errors import ArgumentError, DTypeError

N = 5
ROUTINES = [name for name in gpublas.__all__ if getattr(getattr(gpublas, name), "is_everyday", False)]


@pytest.fixture(autouse=True)
def cpu():
    with gpublas.use("cpu") as context:
        yield context


@pytest.fixture
def ordinary_calls(monkeypatch):
    """Names of the routines whose calls took the ordinary way."""
    seen, enter = [], Call.__enter__

    def watched(self):
        seen.append(self.routine)
        return enter(self)

    monkeypatch.setattr(Call, "__enter__", watched)
    return seen


def dtype_of(name):
    kind = getattr(gpublas, name).routine.precision
    return kind.dtype if kind else np.dtype("c16" if name in ("geru", "gerc", "dotu", "dotc") else "f8")


def arguments_of(name, rng, order="F"):
    """Ordinary arguments of an everyday routine, by name."""
    dtype = dtype_of(name)

    def random(*shape):
        values = rng.uniform(0.5, 1.5, shape) + (1j * rng.uniform(-1, 1, shape) if dtype.kind == "c" else 0)
        return np.array(values, dtype, order=order)

    given = {"alpha": 1.25, "beta": -0.5, "x": random(N), "y": random(N), "A": random(N, N), "B": random(N, N),
             "C": random(N, N), "op": "T", "opA": "T", "opB": "N", "side": "L", "uplo": "L", "diag": "N"}
    return {parameter: given[parameter] for parameter in inspect.signature(getattr(gpublas, name)).parameters
            if parameter in given}


def outcome(name, arguments):
    """What a call on copies returns, and every array after it."""
    copies = [value.copy(order="K") if isinstance(value, np.ndarray) else value for value in arguments.values()]
    result = getattr(gpublas, name)(*copies)
    return [np.asarray(result), *(value for value in copies if isinstance(value, np.ndarray))]


def error_bound(name, arguments):
    """Relative to the largest element: (N + 2) eps for a sum of N products of numbers of one sign and size, four times
    that for complex ones, and both ways err; a solve multiplies errors by 1 + |a_ij / a_jj| <= 4 in each of N steps."""
    array = next(value for value in arguments.values() if isinstance(value, np.ndarray))
    growth = 4.0**N if "trsm" in name else 4.0
    return growth * 2 * (N + 2) * float(np.finfo(array.dtype).eps)


def test_there_are_everyday_ways():
    assert {"dgemm", "gemm", "sgemv", "caxpy", "ddot", "zdotc", "dnrm2", "dger", "zgerc", "dtrsm",
            "sscal"} <= set(ROUTINES)


@pytest.mark.parametrize("name", ROUTINES)
def test_signature_is_the_generic_routines(name):
    """Keywords and defaults are the same on both ways in."""
    routine = getattr(gpublas, name)
    code = routine.__code__
    named = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    assert named == tuple(inspect.signature(routine).parameters)
    assert (routine.__defaults__ or ()) == tuple(
        parameter.default for parameter in inspect.signature(routine).parameters.values()
        if parameter.default is not parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY)


@pytest.mark.parametrize("name", ROUTINES)
@pytest.mark.parametrize("order", ["F", "C"])
def test_both_ways_agree(name, order, rng, cpu, ordinary_calls):
    arguments = arguments_of(name, rng, order)
    for change in ({}, {"op": "N", "opA": "N", "opB": "C"}, {"beta": 0, "side": "R", "uplo": "U"}, {"diag": "U"}):
        arguments.update({key: value for key, value in change.items() if key in arguments})
        cpu.on_host = True
        ordinary_calls.clear()
        short = outcome(name, arguments)
        if order == "F":
            assert not ordinary_calls
        cpu.on_host = False  # a context that says so has no short way
        ordinary = outcome(name, arguments)
        assert ordinary_calls
        for a, b in zip(short, ordinary, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert np.max(np.abs(a - b)) <= error_bound(name, arguments) * max(1.0, np.max(np.abs(b)))


@pytest.mark.parametrize("name", [name for name in ROUTINES if "gemm" in name])
def test_a_row_major_product_is_short_too(name, rng, ordinary_calls):
    outcome(name, arguments_of(name, rng, "C"))
    assert not ordinary_calls


@pytest.mark.parametrize("name", ROUTINES)
def test_unusual_arguments_take_the_ordinary_way(name, rng, ordinary_calls):
    """Zero sizes, other types, strides, subclasses, an alpha of zero, a complex alpha for real arrays."""
    arguments = arguments_of(name, rng)
    output = list(arguments)[-1]
    subclassed = arguments[output].view(type("Sub", (np.ndarray,), {}))
    changes = [{"alpha": 0.0}, {"alpha": np.array(2.0)}, {output: subclassed}]
    for change in changes:
        if not change.keys() <= arguments.keys():
            continue
        ordinary_calls.clear()
        getattr(gpublas, name)(*{**arguments, **change}.values())
        assert ordinary_calls, change
    if "alpha" in arguments and dtype_of(name).kind == "f":
        with pytest.raises(DTypeError):
            getattr(gpublas, name)(*{**arguments, "alpha": 1j}.values())


@pytest.mark.parametrize("name", [name for name in ROUTINES if "dot" not in name and "nrm2" not in name])
def test_outputs_are_guarded(name, rng):
    """A read-only output, one that overlaps an input, and one with room to spare around it."""
    arguments = arguments_of(name, rng)
    output = "C" if "C" in arguments else "B" if "B" in arguments else (
        "A" if "ger" in name else "y" if "y" in arguments else "x")
    locked = arguments[output].copy(order="K")
    locked.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        getattr(gpublas, name)(*{**arguments, output: locked}.values())
    inputs = [key for key, value in arguments.items() if isinstance(value, np.ndarray) and key != output
              and value.ndim == arguments[output].ndim]
    for other in inputs:
        before = arguments[output].copy()
        with pytest.raises(ArgumentError, match="overlap"):
            getattr(gpublas, name)(*{**arguments, other: arguments[output]}.values())
        with pytest.raises(ArgumentError, match="overlap"):
            getattr(gpublas, name)(*{**arguments, other: arguments[output][::-1]}.values())
        assert np.array_equal(arguments[output], before)
    wide = np.full((N, 2 * N) if arguments[output].ndim == 2 else (2 * N,), 7, dtype_of(name), order="F")
    inner = wide[..., ::2]
    inner[...] = arguments[output]
    expected = outcome(name, arguments)[0]
    result = getattr(gpublas, name)(*{**arguments, output: inner}.values())
    assert result is inner and np.allclose(inner, expected, rtol=error_bound(name, arguments))
    assert (wide[..., 1::2] == 7).all()


@pytest.mark.parametrize("name", [name for name in ROUTINES if any(kind in name for kind in ("gemm", "gemv", "ger"))])
def test_wrong_shapes_are_told_as_ever(name, rng):
    arguments = arguments_of(name, rng)
    for key, value in arguments.items():
        if isinstance(value, np.ndarray):
            with pytest.raises(ArgumentError):
                getattr(gpublas, name)(*{**arguments, key: value[:-1]}.values())


@pytest.mark.parametrize("name", ["dgemv", "dger", "dnrm2", "dscal", "daxpy", "dgemm", "dtrsm"])
def test_nan_and_inf(name, rng, cpu):
    """The rules about NaN and zeros hold on the short way as on the ordinary one."""
    for bad in (np.nan, np.inf, 1e300, 0.0):
        for key, value in arguments_of(name, rng).items():
            if isinstance(value, np.ndarray):
                arguments = arguments_of(name, rng)
                arguments[key][1:3] = bad
                if "beta" in arguments:
                    arguments["beta"] = 0.0
                outcomes = []
                for cpu.on_host in (True, False):
                    outcomes.append(outcome(name, arguments))
                for a, b in zip(*outcomes, strict=True):
                    assert np.array_equal(np.isnan(a), np.isnan(b)), (key, bad)


def test_a_name_of_scipys_may_be_ours(monkeypatch, rng):
    """Programs put this library under SciPy's names; the short way does not call itself then."""
    from scipy.linalg import blas

    monkeypatch.setattr(blas, "ddot", gpublas.ddot)
    x = rng.random(N)
    assert gpublas.ddot(x, x) == pytest.approx(float(x @ x))
