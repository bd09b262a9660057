"""The one file that knows foreign arrays: NumPy, DLPack, __cuda_array_interface__, and their libraries' streams.

`describe(obj)` turns any of them into an `Array`: an address, a shape, strides, an element type and a place.
Nothing is copied and nothing is read; the Array keeps the owner of the memory alive.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

HOST = "host"
_OVERLAP_WORK = 100_000  # steps of the exact search for a common byte before "may" counts as "does"


class Array:
    """A described array.

    pointer: address of element (0, ..., 0). shape, strides: per axis, strides in bytes, of any sign. dtype: element
    type in native byte order. writeable: whether an output may be stored here. place: "host", "cuda:0" ... or
    "executor". owner: what keeps the memory alive, the caller's object where there is one. stream: handle of the CUDA
    stream that the array's own description names, if it does.
    """

    __slots__ = ("dtype", "owner", "place", "pointer", "shape", "stream", "strides", "writeable")

    def __init__(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype,
                 writeable: bool, place: str, owner: Any, stream: int | None = None):
        self.pointer, self.shape, self.strides, self.dtype = pointer, shape, strides, dtype
        self.writeable, self.place, self.owner, self.stream = writeable, place, owner, stream

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of a compact copy."""
        return self.size * self.dtype.itemsize

    @property
    def steps(self) -> tuple[int, ...]:
        """Strides in elements; `is_regular` says whether that is exact."""
        itemsize = self.dtype.itemsize
        return tuple(stride // itemsize for stride in self.strides)

    @property
    def is_regular(self) -> bool:
        """Whether every element lies at a multiple of its own size from the start, itself so aligned.

        Kernels address such arrays directly; others (fields of packed records, say) go through a compact copy.
        """
        mask = self.dtype.itemsize - 1  # sizes of elements are powers of two
        bits = self.pointer
        for stride in self.strides:
            bits |= stride
        return not bits & mask

    def bounds(self) -> tuple[int, int]:
        """First byte, and one past the last byte, that the elements occupy; equal when there are none."""
        low = high = self.pointer
        for extent, stride in zip(self.shape, self.strides):  # noqa: B905 - of one length, on the way of every call
            if extent == 0:
                return self.pointer, self.pointer
            if stride < 0:
                low += (extent - 1) * stride
            else:
                high += (extent - 1) * stride
        return low, high + self.dtype.itemsize

    @property
    def ndarray(self) -> np.ndarray:
        """The memory as a NumPy array: to be read or written only where place is the host (or the executor)."""
        if isinstance(self.owner, np.ndarray):
            return self.owner
        return _wrap(self)

    def overlaps(self, other: Array) -> bool:
        """Whether the two have a byte in common; when that is too hard to say, whether they may have."""
        low, high = self.bounds()
        other_low, other_high = other.bounds()
        if self.place != other.place or high <= other_low or other_high <= low or low == high \
                or other_low == other_high:
            return False
        try:
            return np.shares_memory(_wrap(self), _wrap(other), max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True

    def may_repeat(self) -> bool:
        """Whether two indices may name the same element, as in a broadcast view.

        Sorted by stride, each axis of a view without repeats (in practice) steps over all that the smaller ones span.
        """
        if 0 in self.shape:
            return False
        if len(self.shape) == 1:
            return self.strides[0] == 0 and self.shape[0] > 1
        span = self.dtype.itemsize
        for stride, extent in sorted((abs(stride), extent) for extent, stride in
                                     zip(self.shape, self.strides, strict=True) if extent != 1):
            if stride < span:
                return True
            span += stride * (extent - 1)
        return False

    def __repr__(self) -> str:
        return f"Array({self.shape}, {self.dtype}, {self.place}, strides={self.strides})"


_ADDED = 2  # numpy.dtype.isbuiltin of a type that is not NumPy's own


class _Interface:
    """An object whose array interface is a described array; NumPy reads the interface, not the memory."""

    def __init__(self, array: Array):
        self.owner = array.owner
        # Types that a package has added to NumPy have no name here that NumPy reads: their bytes have.
        typestr = array.dtype.str if array.dtype.isbuiltin != _ADDED else f"|V{array.dtype.itemsize}"
        self.__array_interface__ = {
            "version": 3, "data": (array.pointer, not array.writeable), "shape": array.shape,
            "strides": array.strides, "typestr": typestr}


def _wrap(array: Array) -> np.ndarray:
    if array.size == 0:
        return np.empty(array.shape, array.dtype)
    memory = np.asarray(_Interface(array))
    return memory if memory.dtype == array.dtype else memory.view(array.dtype)


def _slow_address(array: np.ndarray) -> int:
    return array.ctypes.data


def _fast_address(array: np.ndarray) -> int:
    """The data pointer, which in NumPy's C API (PyArrayObject) follows the head of the object.

    Every other way builds objects that cost more than a small product.
    """
    return _POINTER.from_address(id(array) + _HEAD).value or 0


_POINTER, _HEAD = ctypes.c_void_p, object.__basicsize__
_probe = np.empty(3)[1:]
_address = _fast_address if _fast_address(_probe) == _slow_address(_probe) else _slow_address


def describe(obj: Any) -> Array | None:
    """The Array behind an object, or None when it is no array that can be used in place.

    NumPy arrays (masked arrays are refused: their mask would be lost), anything with `__cuda_array_interface__`
    (versions 2 and 3) or `__dlpack__`. Lists and scalars are not arrays.
    """
    if type(obj) is np.ndarray or (isinstance(obj, np.ndarray) and not isinstance(obj, np.ma.MaskedArray)):
        return Array(_address(obj), obj.shape, obj.strides, obj.dtype, obj.flags.writeable, HOST, obj)
    if isinstance(obj, (np.generic, np.ndarray)):
        return None
    interface = _interface_of(obj)
    if interface is not None:
        return _from_interface(obj, interface)
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj)
    return None


def _interface_of(obj: Any) -> dict | None:
    """The object's `__cuda_array_interface__`; None also for types that it has no name for, such as bfloat16."""
    if str(getattr(obj, "dtype", "")).startswith(("torch.bfloat16", "torch.float8")):
        return None
    return getattr(obj, "__cuda_array_interface__", None)


def glance(obj: Any) -> tuple[int, tuple, int | None, Any] | None:
    """What `describe` would say of a device array, in less time: address, all the rest as a key, and stream, owner.

    Only of objects with `__cuda_array_interface__` and at least one axis; None for others.
    """
    interface = _interface_of(obj)
    if interface is None or not interface["shape"] or interface.get("mask") is not None:
        return None
    pointer, readonly = interface["data"]
    strides = interface.get("strides")
    place = getattr(obj, "__gpublas_place__", None) or _cuda_place(obj, pointer)
    pointer = pointer or 0
    form = (tuple(interface["shape"]), None if strides is None else tuple(strides), interface["typestr"], readonly,
            place, pointer & 15)
    return pointer, form, interface.get("stream"), obj


def _compact_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if len(shape) == 1:
        return (itemsize,)
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _from_interface(obj: Any, interface: dict) -> Array:
    """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, versions 2 and 3."""
    if interface.get("mask") is not None:
        raise TypeError("__cuda_array_interface__ with a mask: masked arrays are not supported")
    typestr = interface["typestr"]
    dtype = _DTYPES.get(typestr) or np.dtype(typestr)
    shape = tuple(interface["shape"])
    pointer, readonly = interface["data"]
    strides = interface.get("strides")
    strides = tuple(strides) if strides is not None else _compact_strides(shape, dtype.itemsize)
    place = getattr(obj, "__gpublas_place__", None) or _cuda_place(obj, pointer)
    return Array(pointer or 0, shape, strides, dtype, not readonly, place, obj, interface.get("stream"))


_DTYPES = {np.dtype(code).str: np.dtype(code) for code in ("f4", "f8", "c8", "c16")}


def _cuda_place(obj: Any, pointer: int | None) -> str:
    """The device an array lives on: its own word for it, else the driver's."""
    device = getattr(obj, "device", None)
    number = getattr(device, "index", None)  # PyTorch
    if number is None:
        number = getattr(device, "id", None)  # CuPy
    if number is None and pointer:
        from .cuda import driver

        number = driver.device_of(pointer)
    return f"cuda:{int(number or 0)}"


class _DLDevice(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _DLTensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", _DLDevice), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64))


class _DLVersioned(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor))


_DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_DL_EXTENSIONS = {(4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2"}  # by code and bits
_DL_CUDA, _DL_CUDA_MANAGED, _DL_HOST_KINDS = 2, 13, (1, 3)  # 3: pinned host memory
_DL_READ_ONLY = 1

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_capsule_valid = ctypes.pythonapi.PyCapsule_IsValid
_capsule_valid.restype, _capsule_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def _from_dlpack(obj: Any) -> Array | None:
    """https://dmlc.github.io/dlpack/latest: the capsule is only read, and its own destructor frees it."""
    kind, number = obj.__dlpack_device__()
    # On a GPU the call runs on the array's own current stream (see current_stream): -1 asks for no synchronisation.
    options: dict[str, Any] = {"stream": -1} if kind in (_DL_CUDA, _DL_CUDA_MANAGED) else {}
    try:
        capsule = obj.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # written before DLPack 1.0
        capsule = obj.__dlpack__(**options)
    if _capsule_valid(capsule, b"dltensor_versioned"):
        versioned = _DLVersioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        tensor, writeable = versioned.tensor, not versioned.flags & _DL_READ_ONLY
    else:
        tensor, writeable = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor")), True
    if kind in _DL_HOST_KINDS:
        place = HOST
    elif kind in (_DL_CUDA, _DL_CUDA_MANAGED):
        place = f"cuda:{number}"
    else:
        return None
    dtype = _dlpack_dtype(tensor.code, tensor.bits, tensor.lanes)
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
    else:
        strides = _compact_strides(shape, dtype.itemsize)
    return Array((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, writeable, place, (obj, capsule))


def _dlpack_dtype(code: int, bits: int, lanes: int) -> np.dtype:
    kind = _DL_KINDS.get(code)
    if lanes == 1 and (code, bits) in _DL_EXTENSIONS:
        return extension_type(_DL_EXTENSIONS[code, bits])
    if lanes != 1 or kind is None:
        raise TypeError(f"DLPack element type (code {code}, {bits} bits, {lanes} lanes) is not supported")
    return np.dtype(f"{kind}{bits // 8}" if kind != "b" else np.bool_)


def bfloat16() -> np.dtype:
    """NumPy's bfloat16, which the package ml_dtypes brings; TypeError says how to get it."""
    return extension_type("bfloat16")


def named_type(name: str) -> np.dtype:
    """The element type of a name, one of ml_dtypes among them."""
    return extension_type(name) if name in _DL_EXTENSIONS.values() else np.dtype(name)


def extension_type(name: str) -> np.dtype:
    """A type that the package ml_dtypes adds to NumPy: bfloat16, float8_e4m3fn, float8_e5m2."""
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(f'{name} arrays need ml_dtypes; pip install "gpublas[bfloat16]" adds it') from error
    return np.dtype(getattr(ml_dtypes, name))


def _library(obj: Any) -> str:
    return type(obj).__module__.partition(".")[0]


def current_stream(owner: Any, named: int | None) -> int | None:
    """The handle of the stream that an array's library would use now, or else the one its description names, or None.
    """
    owner = owner[0] if type(owner) is tuple else owner
    kind = type(owner)
    if kind not in _stream_of:
        _stream_of[kind] = {"torch": _torch_stream, "cupy": _cupy_stream}.get(_library(owner))
    ask = _stream_of[kind]
    return named if ask is None else ask(owner)


_stream_of: dict[type, Callable[[Any], int | None] | None] = {}  # by type: a repeated call need not look again


def _torch_stream(tensor):
    import torch

    return torch.cuda.current_stream(tensor.device).cuda_stream


def _cupy_stream(array):
    import cupy

    return cupy.cuda.get_current_stream().ptr


def empty(like: Any, shape: tuple[int, ...], dtype: np.dtype, order: str = "C") -> Any:
    """A new array of the library, and on the device, of `like`; contents undefined. order: "C" or "F"."""
    shape, dtype = tuple(shape), np.dtype(dtype)
    make = getattr(like, "__gpublas_empty__", None)
    if make is not None:
        return make(shape, dtype, order)
    library = _library(like)
    if isinstance(like, np.ndarray):
        return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    if library == "cupy":
        return sys.modules["cupy"].empty(shape, dtype, order=order)
    if library == "torch":
        torch = sys.modules["torch"]
        extents = shape if order == "C" else shape[::-1]
        tensor = torch.empty(extents, dtype=getattr(torch, dtype.name), device=like.device)
        return tensor if order == "C" else tensor.permute(*reversed(range(len(shape))))
    if library == "numba":
        from numba import cuda

        return cuda.device_array(shape, dtype, order=order)
    raise TypeError(f"cannot make a new array for {type(like).__module__}.{type(like).__qualname__}: "
                    "pass the output explicitly")
