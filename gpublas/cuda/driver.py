"""The CUDA driver through cuda-core: memory, streams, modules, launches. Nothing here is imported without a GPU."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DeviceError, OutOfMemoryError
from .tensormaps import BYTES, Boxes, TensorMaps

_DEFAULT_SHARED_LIMIT = 48 * 1024  # bytes a kernel may use without asking for more
_DRIVER_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
_OUT_OF_MEMORY = "OUT_OF_MEMORY"


def _core() -> Any:
    """cuda-core, under the name its version gives it."""
    try:
        import cuda.core as core

        if hasattr(core, "Device"):
            return core
    except ImportError:
        pass
    import cuda.core.experimental as core

    return core


@functools.cache
def why_unusable() -> str | None:
    """Why no CUDA device can be used here, or None when one can. Imports CUDA packages only if a driver is there."""
    if not any(_loads(name) for name in _DRIVER_LIBRARIES):
        return "no NVIDIA driver (libcuda) on this machine"
    missing = _missing("cuda-core", "cuda.core") or why_no_compiler()
    if missing:
        return missing
    try:
        count = device_count()
    except Exception as error:  # whatever the driver raises is the reason, not a fault of the caller
        return f"the NVIDIA driver does not answer: {error}"
    return None if count else "the NVIDIA driver finds no device"


def why_no_compiler() -> str | None:
    """Why GPU kernels cannot be compiled here, or None when they can. Imports nothing."""
    return _missing("numba-cuda", "numba_cuda")


def _missing(package: str, module: str) -> str | None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    return None if found else f'{package} is not installed; pip install "gpublas[cuda13]" adds it'


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def device_count() -> int:
    """Number of CUDA devices the driver shows."""
    from cuda.bindings import driver

    _checked(driver.cuInit(0))
    return int(_checked(driver.cuDeviceGetCount()))


def _checked(result):
    status, *values = result
    if int(status) != 0:
        raise DeviceError(f"CUDA driver: {status}")
    return values[0] if values else None


def device_of(pointer: int) -> int:
    """The number of the device that owns an address."""
    from cuda.bindings import driver

    _checked(driver.cuInit(0))
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(_checked(driver.cuPointerGetAttribute(attribute, pointer)))


class DeviceBuffer:
    """Device memory; freed, in stream order, when the object goes."""

    def __init__(self, buffer: Any, nbytes: int):
        self._buffer = buffer
        self.pointer = int(buffer.handle)
        self.nbytes = nbytes


class CudaDevice:
    """One NVIDIA GPU."""

    kind = "cuda"
    reads_host_memory = False
    keeps_ranges = False

    def __init__(self, number: int):
        core = _core()
        self._core = core
        self._device = core.Device(number)
        self._device.set_current()
        self.place = f"cuda:{number}"
        self.model = str(self._device.name)
        self.name = f"{self.place} ({self.model})"
        self.capability = tuple(self._device.compute_capability)[:2]
        self._pinned = core.LegacyPinnedMemoryResource()
        self._loaded: dict[Any, Any] = {}
        self._configs: dict[tuple, Any] = {}
        self._streams: dict[int, Any] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def multiprocessors(self) -> int:
        """How many multiprocessors the device has."""
        return int(self._device.properties.multiprocessor_count)

    @functools.cached_property
    def driver_version(self) -> int:
        """The CUDA version that the driver supports, as 1000 major + 10 minor."""
        from cuda.bindings import driver

        return int(_checked(driver.cuDriverGetVersion()))

    def stream(self, handle: int | None) -> Any:
        """The cuda-core stream for a foreign handle; the device's default stream for None or 0."""
        self._device.set_current()
        if not handle:
            return self._device.default_stream
        with self._lock:
            if handle not in self._streams:
                self._streams[handle] = self._core.Stream.from_handle(handle)
            return self._streams[handle]

    def allocate(self, nbytes: int, stream: Any) -> DeviceBuffer:
        """Uninitialised device memory, aligned to at least 256 bytes."""
        try:
            return DeviceBuffer(self._device.memory_resource.allocate(nbytes, stream=stream), nbytes)
        except Exception as error:
            if _OUT_OF_MEMORY in str(error).upper():
                raise OutOfMemoryError(nbytes, str(error)) from error
            raise

    def upload(self, host: np.ndarray, pointer: int, stream: Any) -> None:
        """Copy a compact host array to the device through pinned memory."""
        pinned = self._pinned.allocate(host.nbytes)
        _view(pinned, host.nbytes)[:] = host.reshape(-1).view(np.uint8)
        self._borrowed(pointer, host.nbytes).copy_from(pinned, stream=stream)
        stream.sync()  # the pinned block is freed on return
        pinned.close()

    def download(self, pointer: int, host: np.ndarray, stream: Any) -> None:
        """Copy device memory into a compact host array through pinned memory, when the stream has got there."""
        pinned = self._pinned.allocate(host.nbytes)
        self._borrowed(pointer, host.nbytes).copy_to(pinned, stream=stream)
        stream.sync()
        host.reshape(-1).view(np.uint8)[:] = _view(pinned, host.nbytes)
        pinned.close()

    def _borrowed(self, pointer, nbytes):
        """A cuda-core view of memory that something else owns."""
        return self._core.Buffer.from_handle(pointer, nbytes)

    def launch(self, kernel: Any, grid: tuple[int, int, int], arguments: tuple, stream: Any,
               memory: list[tuple[int, int]]) -> None:
        """Queue a kernel on the stream."""
        loaded = self._loaded.get(kernel)
        if loaded is None:
            loaded = self._load(kernel)
        config = self._configs.get((grid, kernel.threads, kernel.shared_bytes))
        if config is None:
            config = self._configs[grid, kernel.threads, kernel.shared_bytes] = self._core.LaunchConfig(
                grid=grid, block=kernel.threads, shmem_size=kernel.shared_bytes)
        self._core.launch(stream, config, loaded, *arguments)

    def _load(self, kernel):
        with self._lock:
            if kernel not in self._loaded:
                code = self._core.ObjectCode.from_cubin(kernel.cubin())
                loaded = code.get_kernel(kernel.name)
                if kernel.shared_bytes > _DEFAULT_SHARED_LIMIT:
                    self._allow_shared(loaded, kernel.shared_bytes)
                self._loaded[kernel] = loaded
            return self._loaded[kernel]

    def _allow_shared(self, loaded, nbytes):
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _checked(driver.cuKernelSetAttribute(attribute, nbytes, loaded.handle,
                                             driver.CUdevice(self._device.device_id)))

    @functools.cached_property
    def maps(self) -> TensorMaps:
        """The tensor maps that launches have needed."""
        return TensorMaps(self)

    def encode_map(self, address: int, boxes: Boxes) -> np.ndarray:
        """A tensor map, made by the driver; elements outside the tensor read as zero."""
        from cuda.bindings import driver

        kinds, axes = driver.CUtensorMapDataType, len(boxes.extents)
        kind = {1: kinds.CU_TENSOR_MAP_DATA_TYPE_UINT8, 2: kinds.CU_TENSOR_MAP_DATA_TYPE_UINT16,
                4: kinds.CU_TENSOR_MAP_DATA_TYPE_UINT32, 8: kinds.CU_TENSOR_MAP_DATA_TYPE_UINT64}[boxes.itemsize]
        found = _checked(driver.cuTensorMapEncodeTiled(
            kind, axes, address, [driver.cuuint64_t(extent) for extent in boxes.extents],
            [driver.cuuint64_t(stride) for stride in boxes.strides],
            [driver.cuuint32_t(extent) for extent in boxes.box],
            [driver.cuuint32_t(1)] * axes, driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        return np.frombuffer(ctypes.string_at(int(found.getPtr()), BYTES), np.uint8)

    def drain(self) -> None:
        """Wait until nothing runs on the device any more."""
        self._device.sync()

    def seconds(self, work: Callable[[], object], stream: Any) -> float:
        """How long what `work` queues on the stream takes there, between two events."""
        from cuda.bindings import driver

        handle = driver.CUstream(int(stream.handle))
        start, end = (_checked(driver.cuEventCreate(0)) for _ in range(2))
        try:
            _checked(driver.cuEventRecord(start, handle))
            work()
            _checked(driver.cuEventRecord(end, handle))
            _checked(driver.cuEventSynchronize(end))
            return _checked(driver.cuEventElapsedTime(start, end)) / 1e3
        finally:
            for event in (start, end):
                driver.cuEventDestroy(event)

    def synchronize(self, stream: Any) -> None:
        """Wait until everything queued on the stream is done."""
        stream.sync()


def _view(buffer, nbytes):
    """Pinned memory as a byte array."""
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(int(buffer.handle)), np.uint8)
