"""Bad calls: each kind raises the named error, says what and where, and leaves every buffer untouched."""

import pickle

import numpy as np
import pytest

import gpublas
from gpublas.testing.buffers import DeviceArray


def operands():
    return np.ones((4, 3)), np.ones((3, 5)), np.full((4, 5), 7.0)


def broken(position, value):
    """Arguments of dgemm with one replaced."""
    a, b, c = operands()
    arguments = ["N", "N", 1.0, a, b, 1.0, c]
    arguments[position - 1] = value
    return arguments


def read_only():
    c = np.full((4, 5), 7.0)
    c.flags.writeable = False
    return c


BAD = {
    "unknown opA": (1, "X", gpublas.ArgumentError, r"dgemm: argument 1, opA: found 'X', wanted 'N' or 'T' or 'C'"),
    "opA of a wrong type": (1, 0, gpublas.ArgumentError, r"argument 1, opA: found 0"),
    "unknown opB": (2, "", gpublas.ArgumentError, r"argument 2, opB: found ''"),
    "complex alpha": (3, 1j, gpublas.DTypeError, r"argument 3, alpha: found the complex number 1j"),
    "text for alpha": (3, "one", gpublas.ArgumentError, r"argument 3, alpha: found str"),
    "alpha with axes": (3, np.ones(1), gpublas.ArgumentError, r"argument 3, alpha: found an array with axes"),
    "A of float32": (4, np.ones((4, 3), "f4"), gpublas.DTypeError, r"argument 4, A: found float32, wanted float64"),
    "A in foreign byte order": (4, np.ones((4, 3), ">f8"), gpublas.DTypeError, r"argument 4, A: found >f8"),
    "A is a list": (4, [[1.0] * 3] * 4, gpublas.DTypeError, r"argument 4, A: found list"),
    "A is masked": (4, np.ma.ones((4, 3)), gpublas.DTypeError, r"argument 4, A: found MaskedArray"),
    "A has one axis": (4, np.ones(4), gpublas.ArgumentError, r"argument 4, A: found 1 axes \(shape \(4,\)\)"),
    "B of a wrong shape": (5, np.ones((2, 5)), gpublas.ArgumentError,
                           r"argument 5, B: found shape \(2, 5\) with opB=N, wanted op\(B\) with 3 rows"),
    "complex beta": (6, 2 + 1j, gpublas.DTypeError, r"argument 6, beta: found the complex number"),
    "C missing": (7, None, gpublas.ArgumentError, r"argument 7, C: found None, wanted an array, since beta is not 0"),
    "C of a wrong shape": (7, np.ones((5, 4)), gpublas.ArgumentError, r"argument 7, C: found shape \(5, 4\)"),
    "C of float32": (7, np.ones((4, 5), "f4"), gpublas.DTypeError, r"argument 7, C: found float32"),
    "C read-only": (7, read_only(), gpublas.ArgumentError, r"argument 7, C: found a read-only array"),
    "C names elements twice": (7, np.lib.stride_tricks.as_strided(np.full(9, 7.0), (4, 5), (8, 8)),
                               gpublas.ArgumentError, r"argument 7, C: found an output whose elements share memory"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_argument(device, name):
    position, value, error, message = BAD[name]
    arguments = broken(position, value)
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    with pytest.raises(error, match=message):
        gpublas.dgemm(*arguments)
    for x, kept in zip(arguments, before, strict=True):
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("view", [lambda m: (m[:4, :4], m[2:6, 2:6]), lambda m: (m[:4, :4], m[:4, :4]),
                                  lambda m: (m[:4, :4], m[:4, :4].T), lambda m: (m[::2, :4][:4], m[:4, :4])])
def test_overlapping_output(device, view):
    memory = np.arange(100.0).reshape(10, 10)
    a, c = view(memory)
    before = memory.copy()
    with pytest.raises(gpublas.ArgumentError, match="dgemm: argument 7, C: found an output that overlaps A"):
        gpublas.dgemm("N", "N", 1, a, np.ones((4, 4)), 0, c)
    np.testing.assert_array_equal(memory, before)


def test_interleaved_operands_do_not_overlap(device):
    """The address ranges cross, but no byte is shared: even and odd columns of one array."""
    memory = np.arange(64.0).reshape(8, 8)
    a, c = memory[:4, 0::2], memory[:4, 1::2]
    want = a.copy() @ np.eye(4)
    gpublas.dgemm("N", "N", 1, a, np.eye(4), 0, c)
    np.testing.assert_array_equal(c, want)


def test_mixed_devices(executor):
    a, b, c = operands()
    with pytest.raises(gpublas.ArgumentError, match=r"dgemm: argument 5, B: found an array on host, wanted all arrays "
                                                    r"on one device \(A is on executor\)"):
        gpublas.dgemm("N", "N", 1, DeviceArray(a), b, 0, DeviceArray(c))
    assert (c == 7).all()


def test_read_only_device_array(executor):
    a, b, c = operands()
    with pytest.raises(gpublas.ArgumentError, match="argument 7, C: found a read-only array"):
        gpublas.dgemm("N", "N", 1, DeviceArray(a), DeviceArray(b), 0, DeviceArray(c, readonly=True))
    assert (c == 7).all()


def test_generic_name_with_an_unknown_dtype(device):
    with pytest.raises(gpublas.DTypeError, match="gemm: argument 4, A: found int64, wanted float32, float64"):
        gpublas.gemm("N", "N", 1, np.ones((2, 2), int), np.ones((2, 2), int))


def test_errors_are_the_builtin_kinds_and_survive_pickling():
    error = gpublas.DTypeError("dgemm", 4, "A", "float32", "float64")
    assert isinstance(error, ValueError) and isinstance(error, TypeError)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and (copy.routine, copy.position, copy.argument) == ("dgemm", 4, "A")
