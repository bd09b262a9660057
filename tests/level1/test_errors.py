"""Bad calls of every routine: the named error, what and where, and no buffer touched."""

import numpy as np
import pytest

import gpublas
from gpublas.testing.buffers import DeviceArray

from .cases import REDUCTIONS, VECTOR_CASES

WRITING = [case for case in VECTOR_CASES if case.outputs]
TWO_VECTORS = [case for case in VECTOR_CASES if "y" in case.arguments]
SCALARS = {"alpha": 2, "beta": 3, "c": 0.5, "s": 2, "sb": 1, "param": [-1, 1, 2, 3, 4]}


def good(case, n=4):
    """Valid arguments by name."""
    values = {"x": np.arange(1, n + 1).astype(case.precision.dtype), "y": np.full(n, 7, case.precision.dtype)}
    return {name: values.get(name, SCALARS.get(name)) for name in case.arguments}


def fails(case, error, message, **bad):
    """The call with some arguments replaced raises, and leaves every array as it was."""
    arguments = {**good(case), **bad}
    arrays = [value for value in arguments.values() if isinstance(value, np.ndarray)]
    before = [array.copy() for array in arrays]
    positional = [arguments[name] for name in case.arguments]
    keywords = {name: value for name, value in bad.items() if name not in case.arguments}
    with pytest.raises(error, match=message):
        getattr(gpublas, case.name)(*positional, **keywords)
    for array, kept in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, kept)


def place(case, name):
    return f"{case.name}: argument {case.arguments.index(name) + 1}, {name}: "


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
class TestEveryRoutine:
    def test_wrong_type(self, device, case):
        other = np.float32 if case.precision.dtype == np.float64 else np.float64
        for name in ("x", "y"):
            if name in case.arguments:
                fails(case, gpublas.DTypeError, place(case, name) + f"found {np.dtype(other)}, wanted",
                      **{name: np.ones(4, other)})
                fails(case, gpublas.DTypeError, place(case, name) + "found list", **{name: [1, 2, 3, 4]})

    def test_wrong_number_of_axes(self, device, case):
        for name in ("x", "y"):
            if name in case.arguments:
                for shape in ((), (4, 1)):
                    fails(case, gpublas.ArgumentError, place(case, name) + rf"found {len(shape)} axes",
                          **{name: np.ones(shape, case.precision.dtype)})


@pytest.mark.parametrize("case", WRITING, ids=str)
class TestOutputs:
    def test_read_only(self, device, case):
        for name in case.outputs:
            array = good(case)[name]
            array.flags.writeable = False
            fails(case, gpublas.ArgumentError, place(case, name) + "found a read-only array", **{name: array})

    def test_repeated_elements(self, device, case):
        for name in case.outputs:
            array = np.lib.stride_tricks.as_strided(np.ones(1, case.precision.dtype), (4,), (0,))
            fails(case, gpublas.ArgumentError, place(case, name) + "found an output whose elements share memory",
                  **{name: array})


@pytest.mark.parametrize("case", TWO_VECTORS, ids=str)
class TestTwoVectors:
    def test_wrong_length(self, device, case):
        for n in (0, 3, 5):
            fails(case, gpublas.ArgumentError, place(case, "y") + rf"found shape \({n},\), wanted shape \(4,\)",
                  y=np.ones(n, case.precision.dtype))

    def test_interleaved_vectors_do_not_overlap(self, device, case):
        memory = np.arange(12).astype(case.precision.dtype)
        arguments = {**good(case), "x": memory[::2], "y": memory[1::2]}
        copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
        results = [getattr(gpublas, case.name)(*(values[name] for name in case.arguments))
                   for values in (arguments, copies)]
        for name in case.outputs:
            np.testing.assert_array_equal(arguments[name], copies[name])
        if not case.outputs:
            assert results[0] == results[1]

    def test_mixed_devices(self, executor, case):
        array = good(case)["x"]
        with pytest.raises(gpublas.ArgumentError, match="wanted all arrays on one device"):
            getattr(gpublas, case.name)(*({**good(case), "x": DeviceArray(array)}[name] for name in case.arguments))


@pytest.mark.parametrize("case", [case for case in WRITING if "y" in case.arguments], ids=str)
def test_overlap(device, case):
    memory = np.arange(12).astype(case.precision.dtype)
    for x, y in ((memory[:4], memory[:4]), (memory[:4], memory[3:7]), (memory[:8:2], memory[2:6]),
                 (memory[3::-1], memory[:4])):
        before = memory.copy()
        fails(case, gpublas.ArgumentError, "found an output that overlaps", x=x, y=y)
        np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize("case", REDUCTIONS, ids=str)
class TestResultPlace:
    def test_wrong_type(self, device, case):
        fails(case, gpublas.DTypeError, f"{case.name}: argument out: found float16, wanted {case.result}",
              out=np.array(7, np.float16))

    def test_with_axes(self, device, case):
        fails(case, gpublas.ArgumentError, f"{case.name}: argument out: found 1 axes", out=np.ones(1, case.result))

    def test_read_only(self, device, case):
        out = np.array(7, case.result)
        out.flags.writeable = False
        fails(case, gpublas.ArgumentError, f"{case.name}: argument out: found a read-only array", out=out)

    def test_overlap(self, device, case):
        """`out` lies in the memory of x."""
        memory = np.arange(1, 9).astype(np.complex128)
        x, out = memory.view(case.precision.dtype)[:4], memory.view(case.result)[1:2].reshape(())
        fails(case, gpublas.ArgumentError, f"{case.name}: argument out: found an output that overlaps x", x=x, out=out)


@pytest.mark.parametrize("case", [case for case in VECTOR_CASES if set(case.arguments) & {"alpha", "beta", "c", "s"}],
                         ids=str)
def test_wrong_scalars(device, case):
    for name in {"alpha", "beta", "c", "s"} & set(case.arguments):
        fails(case, gpublas.ArgumentError, place(case, name) + "found str", **{name: "one"})
        fails(case, gpublas.ArgumentError, place(case, name) + "found an array with axes", **{name: np.ones(1)})
        if case.real_scalars or not case.precision.is_complex or name == "c":
            fails(case, gpublas.DTypeError, place(case, name) + "found the complex number", **{name: 1j})


@pytest.mark.parametrize("name", ["srotm", "drotm"])
def test_wrong_parameters(device, name):
    case = next(case for case in VECTOR_CASES if case.name == name)
    fails(case, gpublas.ArgumentError, name + r": argument 3, param: found shape \(4,\)", param=[0, 1, 2, 3])
    fails(case, gpublas.ArgumentError, name + ": argument 3, param: found flag 2", param=[2, 1, 2, 3, 4])
    fails(case, gpublas.DTypeError, name + ": argument 3, param: found float16", param=np.ones(5, np.float16))
    fails(case, gpublas.DTypeError, name + ": argument 3, param: found the complex number", param=[0, 1, 2j, 3, 4])
    fails(case, gpublas.DTypeError, name + ": argument 3, param: found str", param="text")


def test_types_that_an_operation_does_not_have(device):
    z = np.ones(3, complex)
    with pytest.raises(gpublas.DTypeError, match="dot: argument 1, x: found complex128, wanted float32 or float64"):
        gpublas.dot(z, z)
    with pytest.raises(gpublas.DTypeError, match="rotm: argument 1, x: found complex128, wanted float32 or float64"):
        gpublas.rotm(z, z.copy(), [-2, 0, 0, 0, 0])
    with pytest.raises(gpublas.DTypeError, match="nrm2: argument 1, x: found int64, wanted float32, float64"):
        gpublas.nrm2(np.arange(3))
    with pytest.raises(gpublas.ArgumentError, match="sdsdot: argument 1, sb: found an array on executor"):
        gpublas.sdsdot(DeviceArray(np.array(1, np.float32)), np.ones(3, np.float32), np.ones(3, np.float32))
