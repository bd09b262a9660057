"""Calls that are refused: routine, argument and position are named, and nothing has been written."""

import numpy as np
import pytest
from conftest import random_values

import gpublas
from gpublas.testing.buffers import DeviceArray

from .cases import BY_NAME, CASES

N = 5
FLAGS = {"op": "'N' or 'T' or 'C'", "uplo": "'U' or 'L'", "diag": "'N' or 'U'"}


def good(case, rng):
    """Arguments of a call that works."""
    shape = {"full": (N, N), "band": (3, N), "packed": (N * (N + 1) // 2,)}[case.storage]
    values = {"op": "N", "uplo": "U", "diag": "N", "m": N, "kl": 1, "ku": 1, "alpha": 1.0, "beta": 1.0,
              case.matrix: random_values(rng, shape, case.dtype)}
    for name in "xy":
        values[name] = random_values(rng, N, case.dtype)
    return {name: values[name] for name in case.arguments}


def refused(case, arguments, wrong, message, kind=gpublas.ArgumentError, **replaced):
    """The call with replaced arguments is refused over the argument `wrong`, and no array changes."""
    arguments = {**arguments, **replaced}
    before = {name: value.copy() for name, value in arguments.items() if isinstance(value, np.ndarray)}
    place = f"{case.name}: argument {case.arguments.index(wrong) + 1}, {wrong}: "
    with pytest.raises(kind) as caught:
        getattr(gpublas, case.name)(*arguments.values())
    assert str(caught.value).startswith(place) and message in str(caught.value)
    for name, value in before.items():
        np.testing.assert_array_equal(arguments[name], value)


def other_dtype(case):
    return np.dtype("f8") if case.dtype != np.float64 else np.dtype("f4")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_arguments(device, case, rng):
    call = good(case, rng)
    vectors, output = [name for name in "xy" if name in call], case.matrix
    if case.family in ("general", "symmetric"):
        output = "y"
    elif case.family in ("product", "solve"):
        output = "x"
    for name, wanted in FLAGS.items():
        if name in call:
            for value in ("X", "", 1, None):
                refused(case, call, name, f"wanted {wanted}", **{name: value})
    for name in (*vectors, case.matrix):
        value = call[name]
        refused(case, call, name, f"found {other_dtype(case)}", gpublas.DTypeError,
                **{name: np.zeros(value.shape, other_dtype(case))})
        refused(case, call, name, "found list", gpublas.DTypeError, **{name: value.tolist()})
        refused(case, call, name, f"found {value.ndim + 1} axes", **{name: value[None]})
    for name in vectors:
        if not (case.storage == "packed" and name == "x"):  # whose length says how large the matrix is
            refused(case, call, name, f"found shape ({N - 1},)", **{name: call[name][1:]})
    if case.family != "outer":
        longer = case.matrix if case.storage == "packed" else "x"
        refused(case, call, longer, "found shape", x=np.zeros(N + 1, case.dtype))
    read_only = call[output].copy()
    read_only.flags.writeable = False
    refused(case, call, output, "a read-only array", **{output: read_only})
    twice = np.broadcast_to(call[output].ravel()[0], call[output].shape)
    twice.flags.writeable = True
    refused(case, call, output, "elements share memory", **{output: twice})
    for name in ("alpha", "beta"):
        if name in call:
            refused(case, call, name, "a number or a 0-d array", **{name: np.zeros(3)})
            if not case.precision.is_complex:
                refused(case, call, name, "found the complex number", gpublas.DTypeError, **{name: 1j})
    if case.real_alpha:
        refused(case, call, "alpha", "found the complex number", gpublas.DTypeError, alpha=1j)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outputs_share_no_memory_with_inputs(device, case, rng):
    call = good(case, rng)
    matrix = call[case.matrix]
    inside = matrix.reshape(-1)[:N]
    output = {"general": "y", "symmetric": "y", "product": "x", "solve": "x"}.get(case.family, case.matrix)
    changed = "x" if output == case.matrix else output
    refused(case, call, output, "found an output that overlaps", **{changed: inside})
    if output == "y":
        refused(case, call, "y", "found an output that overlaps x", y=call["x"][::-1])


@pytest.mark.parametrize("case", [case for case in CASES if "beta" in case.arguments], ids=str)
def test_a_missing_y_needs_a_zero_beta(device, case, rng):
    refused(case, good(case, rng), "y", "found None, wanted an array, since beta is not 0", y=None)


@pytest.mark.parametrize("case", [case for case in CASES if case.storage == "full" and case.family not in
                                  ("general", "outer")], ids=str)
def test_matrices_are_square(device, case, rng):
    refused(case, good(case, rng), "A", "a square matrix", A=np.zeros((N, N + 1), case.dtype))


@pytest.mark.parametrize("case", [case for case in CASES if case.storage == "band"], ids=str)
def test_bands(device, case, rng):
    call = good(case, rng)
    if case.family != "general":
        refused(case, call, "AB", "at least one row", AB=np.zeros((0, N), case.dtype))
        return
    for name in ("m", "kl", "ku"):
        refused(case, call, name, "found -1, wanted 0 or more", **{name: -1})
        refused(case, call, name, "found 1.5, wanted an integer", gpublas.DTypeError, **{name: 1.5})
    refused(case, call, "AB", f"wanted shape (4, {N}) (kl + ku + 1 rows, kl=2, ku=1)", kl=2)


@pytest.mark.parametrize("name", ["ger"])
def test_ger_is_for_real_matrices(device, name):
    A = np.zeros((2, 2), "c8")
    with pytest.raises(gpublas.DTypeError, match="ger: argument 4, A: found complex64, wanted float32 or float64"):
        getattr(gpublas, name)(1, A[0], A[1], A.copy())


def test_arrays_in_different_places(executor, rng):
    case = BY_NAME["dgemv"]
    refused(case, good(case, rng), "x", "found an array on host", A=DeviceArray(np.zeros((N, N))))
