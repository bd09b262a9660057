"""Arrays that live on a device, scalars and results there, and NumPy arrays that have to be brought to one."""

import itertools

import numpy as np
import pytest
from conftest import random_values

import gpublas
from gpublas.cuda.executor import ExecutorDevice
from gpublas.testing.buffers import DeviceArray

from .cases import REDUCTIONS, VECTOR_CASES, scalar_choices
from .running import check


def operands(case, n, rng):
    return {name: random_values(rng, n, case.precision.dtype) for name in "xy" if name in case.arguments}


def call(case, arguments, **keywords):
    return getattr(gpublas, case.name)(*(arguments[name] for name in case.arguments), **keywords)


def on_device(case, name, value):
    """A scalar or parameter as an array on the device."""
    real = case.real_scalars or name in ("c", "param")
    return DeviceArray(np.array(value, case.precision.real if real else case.precision.dtype))


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_arrays_and_scalars_on_the_device(executor, case, rng):
    """The same bits as with NumPy arrays and numbers."""
    for scalars in scalar_choices(case):
        host = operands(case, 23, rng)
        there = {name: DeviceArray(value.copy()) for name, value in host.items()}
        there.update((name, value if name == "sb" else on_device(case, name, value)) for name, value in scalars.items())
        wanted = call(case, {**host, **scalars})
        found = call(case, there)
        if case.result is not None:
            assert isinstance(found, np.generic) and found.tobytes() == wanted.tobytes()
        for name in case.outputs:
            np.testing.assert_array_equal(there[name].get(), host[name], err_msg=f"{case} {scalars}: {name}")


@pytest.mark.parametrize("case", [case for case in VECTOR_CASES if "alpha" in case.arguments], ids=str)
def test_zero_scalars_on_the_device_read_nothing(executor, case):
    bad = np.full(9, np.nan, case.precision.dtype)
    zero = on_device(case, "alpha", 0)
    arguments = {"alpha": zero, "beta": zero, "x": DeviceArray(bad.copy()), "y": DeviceArray(np.ones_like(bad))}
    call(case, arguments)
    wanted = {"axpy": ("y", 1), "axpby": ("y", 0), "scal": ("x", np.nan)}[case.operation]
    np.testing.assert_array_equal(arguments[wanted[0]].get().real, wanted[1])


@pytest.mark.parametrize("n", [0, 1, 23, 9000])
@pytest.mark.parametrize("case", REDUCTIONS, ids=str)
def test_results_on_the_device(executor, case, n, rng, monkeypatch):
    """`out` gets the bits of the scalar and is returned; the device is never waited for, nor read."""
    arguments = {**operands(case, n, rng), "sb": 0.5}
    wanted = call(case, arguments)
    there = {name: DeviceArray(value) if name in "xy" else value for name, value in arguments.items()}
    for name in ("synchronize", "download"):
        monkeypatch.setattr(ExecutorDevice, name, None)
    out = DeviceArray(np.full((), -99).astype(case.result))
    assert call(case, there, out=out) is out
    assert out.get().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("n", [0, 5])
@pytest.mark.parametrize("case", REDUCTIONS, ids=str)
def test_results_in_numpy_arrays(device, case, n, rng):
    arguments = {**operands(case, n, rng), "sb": 0.5}
    out = np.full((), -99).astype(case.result)
    assert call(case, arguments, out=out) is out
    assert out.tobytes() == call(case, arguments).tobytes()


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_staged_arrays(case, rng):
    """NumPy arrays copied to memory of the device's own, as a GPU needs; only the outputs' elements come back."""
    turn = itertools.cycle(scalar_choices(case))
    with gpublas.use(gpublas.Context(ExecutorDevice(staged=True))):
        for n, steps in ((0, (1, 1)), (9, (1, 1)), (9, (-2, 3))):
            check(case, n, rng, next(turn), steps)


@pytest.mark.parametrize("case", REDUCTIONS, ids=str)
def test_staged_results(case, rng):
    arguments = {**operands(case, 9, rng), "sb": 0.5}
    with gpublas.use(gpublas.Context(ExecutorDevice(staged=True))):
        out = np.full((), -99).astype(case.result)
        wanted = call(case, arguments)
        assert call(case, arguments, out=out) is out and out.tobytes() == wanted.tobytes()


def test_fields_of_packed_records(device, rng):
    """No stride is a multiple of the element size: served through compact copies."""
    record = np.zeros(9, np.dtype([("tag", "u1"), ("value", "f8")]))
    record["tag"], record["value"] = 7, random_values(rng, 9, "f8")
    x, values = record["value"], record["value"].copy()
    assert gpublas.dasum(x) == gpublas.dasum(values) and gpublas.idamax(x) == gpublas.idamax(values)
    gpublas.dscal(2, x)
    np.testing.assert_array_equal(record["value"], 2 * values)
    assert (record["tag"] == 7).all()
