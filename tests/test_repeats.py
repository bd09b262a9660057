"""Repeated calls on device arrays: what is kept, what is not, and that a repeat computes what a first call does."""

import numpy as np
import pytest
from conftest import device_context, random_values

import gpublas
from gpublas import repeats
from gpublas.errors import ArgumentError, DTypeError
from gpublas.testing.buffers import DeviceArray

N = 9
CALLS = {  # name: arguments by kind; v: a vector, m: a matrix, t: a triangle, numbers and flags as they are
    "saxpy": (2.0, "v", "v"), "daxpby": (2.0, "v", -0.5, "v"), "cscal": (1 + 2j, "v"), "zcopy": ("v", "v"),
    "sgemv": ("T", 1.5, "m", "v", 0.5, "v"), "csymv": ("U", 1.5, "m", "v", 0.0, "v"),
    "chemv": ("L", 1.5j, "m", "v", 0.5, "v"), "sger": (1.5, "v", "v", "m"), "cher": ("U", 1.5, "v", "h"),
    "strsv": ("L", "N", "N", "t", "v"), "ztrmv": ("U", "C", "U", "t", "v"), "dspmv": ("U", 2.0, "p", "v", 0.5, "v"),
    "sgemm": ("N", "T", 1.5, "m", "m", 0.5, "m"), "cgemm": ("C", "N", 1.5j, "m", "m", 0.0, "m"),
    "ssymm": ("R", "U", 1.5, "m", "m", 0.5, "m"), "dsyrk": ("L", "N", 1.5, "m", 0.5, "m"),
    "cherk": ("U", "C", 1.5, "m", 0.5, "h"), "strsm": ("R", "L", "T", "N", 1.5, "t", "m"),
}


@pytest.fixture
def context():
    """A context of its own, so that it begins with nothing kept."""
    with gpublas.use(gpublas.Context(device_context("executor").device)) as found:
        yield found


def arguments_of(name, rng):
    """Host arguments: arrays where CALLS names a kind."""
    dtype = getattr(gpublas, name).routine.precision.dtype

    def make(kind):
        if kind not in ("v", "m", "t", "h", "p"):
            return kind
        shape = {"v": N, "p": N * (N + 1) // 2}.get(kind, (N, N))
        values = np.asarray(random_values(rng, shape, dtype), order="F")
        if kind == "t":
            values = values / N + np.eye(N, dtype=dtype)
        return values

    return [make(kind) for kind in CALLS[name]]


def on_device(arguments):
    return [DeviceArray(value.copy(order="K")) if isinstance(value, np.ndarray) else value for value in arguments]


def run(name, arguments):
    """Every array after a call on copies on the device."""
    there = on_device(arguments)
    result = getattr(gpublas, name)(*there)
    assert any(result is value for value in there)
    return [value.get() for value in there if isinstance(value, DeviceArray)]


@pytest.mark.parametrize("name", CALLS)
def test_a_repeat_computes_what_a_first_call_does(name, rng, context, monkeypatch):
    """Other arrays and other numbers of the same form, and the same bits as from a call that is not a repeat."""
    first, second = arguments_of(name, rng), arguments_of(name, rng)
    second = [value * 1.75 if isinstance(value, (float, complex)) else value for value in second]
    run(name, first)
    assert [key[0] for key in context.repeats] == [name]
    with monkeypatch.context() as patch:
        patch.setattr(repeats.Recorder, "__init__", None)  # a call that is not a repeat could not be made
        repeated = run(name, second)
    context.repeats.clear()
    for a, b in zip(repeated, run(name, second), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_numbers_that_are_cases_of_their_own_are_other_forms(rng, context):
    """beta = 0 reads nothing, alpha = 0 neither: with NaN there, after an ordinary call has been kept."""
    A, B, C = on_device([np.asfortranarray(rng.random((N, N))) for _ in range(3)])
    bad = DeviceArray(np.full((N, N), np.nan, order="F"))
    gpublas.dgemm("N", "N", 2.0, A, B, 3.0, C)
    assert np.isfinite(gpublas.dgemm("N", "N", 2.0, A, B, 0.0, bad).get()).all()
    bad = DeviceArray(np.full((N, N), np.nan, order="F"))
    assert np.isfinite(gpublas.dgemm("N", "N", 0.0, bad, bad, 3.0, C).get()).all()
    assert len(context.repeats) == 2  # one matrix given twice is not kept: which is A and which is B cannot be told


def test_repeats_are_checked(rng, context):
    """Another shape, type, or a read-only output is another form; outputs that overlap are looked at each time."""
    x, y = on_device([rng.random(N), rng.random(N)])
    gpublas.daxpy(2.0, x, y)
    before = y.get()
    with pytest.raises(ArgumentError, match="overlap"):
        gpublas.daxpy(2.0, y, y)
    with pytest.raises(ArgumentError):
        gpublas.daxpy(2.0, DeviceArray(rng.random(N - 1)), y)
    with pytest.raises(DTypeError):
        gpublas.daxpy(2.0, DeviceArray(rng.random(N).astype("f4")), y)
    with pytest.raises(DTypeError):
        gpublas.daxpy(2.0 + 0j, x, y)
    locked = DeviceArray(rng.random(N), readonly=True)
    with pytest.raises(ArgumentError, match="read-only"):
        gpublas.daxpy(2.0, x, locked)
    assert np.array_equal(y.get(), before)


def test_what_is_not_kept(rng, context):
    """Host arrays, scalars on the device, calls of more than one plan, results that are made, sizes as numbers."""
    host = rng.random(N)
    x, y = on_device([rng.random(N), rng.random(N)])
    A, B, C = on_device([np.asfortranarray(rng.random((N, N))) for _ in range(3)])
    gpublas.daxpy(2.0, host, host.copy())
    gpublas.daxpy(DeviceArray(np.array(2.0)), x, y)
    gpublas.dsyr2k("U", "N", 2.0, A, B, 0.5, C)
    gpublas.ddot(x, y)
    gpublas.dgemm("N", "N", 2.0, A, B)
    gpublas.dgbmv("N", N, 1, 1, 2.0, DeviceArray(np.asfortranarray(rng.random((3, N)))), x, 0.5, y)
    assert not context.repeats


def test_what_is_kept_is_bounded(rng, context, monkeypatch):
    monkeypatch.setattr(repeats, "_KEPT", 3)
    for extent in range(1, 9):
        gpublas.dscal(2.0, DeviceArray(rng.random(extent)))
        assert len(context.repeats) <= 3
