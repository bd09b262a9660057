"""Foreign arrays: NumPy, __cuda_array_interface__ and DLPack, described without copying."""

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import gpublas
from gpublas import arrays
from gpublas.testing.buffers import DeviceArray


class Capsules:
    """An array that only knows DLPack, of version 1 or of the time before versions."""

    def __init__(self, values, versioned=True):
        self.values, self.versioned = values, versioned

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned:
            if "max_version" in options:
                raise TypeError("unexpected keyword argument 'max_version'")
            return self.values.__dlpack__()
        return self.values.__dlpack__(**options)


def views():
    base = np.arange(120, dtype="f8").reshape(4, 5, 6)
    return {"whole": base, "slice": base[1:3, ::2], "reversed": base[::-1, :, ::-1], "transposed": base.T,
            "broadcast": np.broadcast_to(base[:1], (3, 5, 6)), "empty": base[:0], "scalar": base[0, 0, 0:1].reshape(())}


@pytest.mark.parametrize("name", views())
def test_numpy_views(name):
    values = views()[name]
    found = arrays.describe(values)
    assert (found.shape, found.strides, found.dtype) == (values.shape, values.strides, values.dtype)
    assert found.place == "host"
    assert found.writeable == values.flags.writeable and found.size == values.size
    np.testing.assert_array_equal(found.ndarray, values)
    if values.size:
        low, high = found.bounds()
        assert (low, high) == np.lib.array_utils.byte_bounds(values)
    assert found.may_repeat() == (name == "broadcast")


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("name", ["whole", "slice", "transposed", "empty", "scalar"])
def test_dlpack(name, versioned):
    values = views()[name]
    found = arrays.describe(Capsules(values, versioned))
    assert found.shape == values.shape and found.place == "host" and found.dtype == values.dtype and found.writeable
    np.testing.assert_array_equal(found.ndarray, values)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 exports no read-only DLPack")
def test_dlpack_says_read_only():
    values = np.ones(3)
    values.flags.writeable = False
    assert not arrays.describe(Capsules(values)).writeable


def test_dlpack_keeps_the_memory_alive():
    values = np.arange(1000.0)
    alive = weakref.ref(values)
    found = arrays.describe(Capsules(values))
    del values
    gc.collect()
    assert alive() is not None and found.ndarray[999] == 999
    del found
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "f2", "i4", "u1", "?"])
def test_dlpack_element_types(dtype):
    values = np.ones((2, 3), dtype)
    found = arrays.describe(Capsules(values))
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found.ndarray, values)


@pytest.mark.parametrize("code, bits, name", [(4, 16, "bfloat16"), (10, 8, "float8_e4m3fn"), (12, 8, "float8_e5m2")])
def test_types_that_numpy_lacks(code, bits, name):
    """DLPack's numbers for them, https://dmlc.github.io/dlpack/latest; memory that another library owns is read so."""
    dtype = arrays._dlpack_dtype(code, bits, 1)
    assert dtype == np.dtype(getattr(ml_dtypes, name)) == arrays.named_type(name)
    with pytest.raises(TypeError, match="not supported"):
        arrays._dlpack_dtype(code, 2 * bits, 1)
    values = np.arange(6).reshape(2, 3).astype(dtype)
    there = arrays.describe(values)
    found = arrays.Array(there.pointer, there.shape, there.strides, dtype, True, arrays.HOST, object())
    assert found.ndarray.dtype == dtype and np.array_equal(found.ndarray, values)


def test_dlpack_operands_on_every_device(device):
    a, c = np.arange(6.0).reshape(2, 3), np.zeros((2, 2), order="F")
    out = Capsules(c)
    assert gpublas.dgemm("N", "T", 1, Capsules(a), Capsules(a), 0, out) is out
    np.testing.assert_array_equal(c, a @ a.T)


def test_dlpack_results_need_an_output():
    a = Capsules(np.eye(2))
    with pytest.raises(TypeError, match=r"cannot make a new array for .*Capsules: pass the output explicitly"):
        gpublas.dgemm("N", "N", 1, a, a)


def test_pytorch_cpu_tensors(device):
    torch = pytest.importorskip("torch")
    a = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    result = gpublas.dgemm("N", "T", 1, a, a)
    assert isinstance(result, torch.Tensor) and torch.equal(result, a @ a.T)


class TestInterface:
    @pytest.mark.parametrize("version", [2, 3])
    def test_strides_may_be_none(self, version):
        values = np.arange(12, dtype="f4").reshape(3, 4)
        found = arrays.describe(DeviceArray(values, version=version))
        assert found.strides == (16, 4) and found.place == "executor" and found.pointer == values.ctypes.data

    def test_zero_size_has_a_null_pointer(self):
        found = arrays.describe(DeviceArray(np.empty((0, 3), "f4")))
        assert found.pointer == 0 and found.bounds() == (0, 0)

    def test_masks_are_refused(self):
        class Masked(DeviceArray):
            @property
            def __cuda_array_interface__(self):
                return {**super().__cuda_array_interface__, "mask": self}

        with pytest.raises(TypeError, match="mask"):
            arrays.describe(Masked(np.ones(3)))

    def test_the_device_is_the_arrays_own_word(self):
        class OnGpu:
            def __init__(self, device):
                self.device = device
                self.__cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}

        class Torch:
            index = 1

        class Cupy:
            id = 2

        assert arrays.describe(OnGpu(Torch())).place == "cuda:1"
        assert arrays.describe(OnGpu(Cupy())).place == "cuda:2"


@pytest.mark.parametrize("value", [1.5, [1.0, 2.0], None, "text", np.float64(3), np.ma.ones(3)])
def test_what_is_no_array(value):
    assert arrays.describe(value) is None


def test_overlap_is_exact():
    base = np.arange(100.0)
    even, odd, whole = arrays.describe(base[::2]), arrays.describe(base[1::2]), arrays.describe(base)
    assert not even.overlaps(odd) and even.overlaps(whole) and not even.overlaps(arrays.describe(np.zeros(3)))
    assert not even.overlaps(arrays.describe(base[:0]))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (2, 0, 4)])
def test_an_empty_array_repeats_nothing(shape):
    """Whatever its strides: NumPy gives empty arrays zero strides."""
    assert not arrays.describe(np.empty(shape, "f4")).may_repeat()
    assert not arrays.Array(0, shape, (0,) * len(shape), np.dtype("f4"), True, "host", None).may_repeat()
