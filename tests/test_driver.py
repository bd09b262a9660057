"""The CUDA driver layer without a GPU: cuda-core is replaced by a stand-in whose memory is the host's and whose
launches go to the executor. What it cannot show, that real cuda-core and real GPUs agree, needs a GPU."""

import ctypes
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import random_values

import gpublas
from gpublas import context
from gpublas.cuda import driver
from gpublas.cuda.executor import ExecutorDevice
from gpublas.testing.buffers import DeviceArray, Guarded


class Buffer:
    """Memory with a handle; `borrowed` memory belongs to somebody else."""

    def __init__(self, nbytes, handle=None):
        self.memory = None if handle else np.full(nbytes + 256, 0xFF, np.uint8)
        self.handle = handle or self.memory.ctypes.data + -self.memory.ctypes.data % 256
        self.size = nbytes
        self.open = True

    @classmethod
    def from_handle(cls, pointer, nbytes):
        return cls(nbytes, pointer)

    def copy_from(self, other, *, stream):
        assert self.size <= other.size and other.open
        ctypes.memmove(self.handle, other.handle, self.size)
        stream.work += 1

    def copy_to(self, other, *, stream):
        other.copy_from(self, stream=stream)

    def close(self):
        self.open = False


class Memory:
    def __init__(self, limit=None):
        self.limit, self.live = limit, []

    def allocate(self, nbytes, stream=None):
        if self.limit is not None and nbytes > self.limit:
            raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: The API call failed")
        buffer = Buffer(nbytes)
        self.live.append(buffer)
        return buffer


class Stream:
    def __init__(self, handle=0):
        self.handle, self.work, self.synced = handle, 0, 0

    from_handle = classmethod(lambda cls, handle: cls(handle))

    def sync(self):
        self.synced += 1


@pytest.fixture
def core(monkeypatch):
    """A stand-in for cuda.core, and the device made from it."""
    fake = SimpleNamespace(Buffer=Buffer, Stream=Stream, LegacyPinnedMemoryResource=Memory, launches=[])
    fake.LaunchConfig = lambda **settings: SimpleNamespace(**settings)
    fake.memory = Memory()

    class Device:
        def __init__(self, number):
            self.device_id, self.name, self.compute_capability = number, "Stand-in", (8, 0)
            self.properties = SimpleNamespace(multiprocessor_count=108)
            self.memory_resource, self.default_stream = fake.memory, Stream()

        def set_current(self):
            pass

    fake.Device = Device
    kernels = {}
    fake.ObjectCode = SimpleNamespace(from_cubin=lambda code: SimpleNamespace(get_kernel=lambda name: kernels[name]))
    monkeypatch.setattr(driver, "_core", lambda: fake)
    device = driver.CudaDevice(0)
    executor = ExecutorDevice()

    def launch(stream, config, kernel, *arguments):
        fake.launches.append((stream, config, kernel))
        live = [(buffer.handle, buffer.size) for buffer in fake.memory.live]
        executor.launch(kernel, config.grid, arguments, None, live + fake.extra)

    fake.launch, fake.extra = launch, []
    real = driver.CudaDevice._load

    def load(self, kernel):
        kernels[kernel.name] = kernel
        return real(self, kernel)

    monkeypatch.setattr(driver.CudaDevice, "_load", load)
    monkeypatch.setitem(context._devices, "cuda:0", device)
    return SimpleNamespace(core=fake, device=device)


def test_numpy_arrays_are_staged_through_pinned_memory(core, rng):
    with gpublas.use(gpublas.Context(core.device)):
        for layouts in itertools.product(("C", "F padded", "F reversed", "no unit stride"), repeat=2):
            a = Guarded(random_values(rng, (9, 12), "f8"), layouts[0])
            c = Guarded(np.full((9, 9), np.nan), layouts[1])
            gpublas.dgemm("N", "T", 2, a.array, a.array, 0, c.array)
            with gpublas.use("cpu"):
                want = gpublas.dgemm("N", "T", 2, a.array, a.array)
            np.testing.assert_allclose(c.array, want, rtol=1e-13)
            c.assert_intact()
    assert not any(buffer.open for buffer in core.device._pinned.live)


def test_configurations_and_modules_are_made_once(core, rng, monkeypatch):
    a = random_values(rng, (20, 20), "f4")
    with gpublas.use(gpublas.Context(core.device)):
        for _ in range(3):
            gpublas.sgemm("N", "N", 1, a, a)
    assert len(core.core.launches) == 3
    assert len({id(config) for _, config, _ in core.core.launches}) == 1 and len(core.device._loaded) == 1


def test_out_of_memory_is_named(core, rng):
    core.core.memory.limit = 100
    a = random_values(rng, (20, 20), "f4")
    with gpublas.use(gpublas.Context(core.device)), \
            pytest.raises(gpublas.OutOfMemoryError, match="cannot allocate 1600 bytes on the device: CUDA_ERROR"):
        gpublas.sgemm("N", "N", 1, a, a)


def test_device_arrays_run_in_place_on_their_own_stream(core, rng, monkeypatch):
    class Resident(DeviceArray):
        __gpublas_place__ = "cuda:0"

        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, "stream": 77}

        def __gpublas_empty__(self, shape, dtype, order):
            return Resident(np.empty(shape, dtype, order=order))

    values = random_values(rng, (20, 20), "f4")
    c = np.zeros((20, 20), np.float32)
    core.core.extra = [(array.ctypes.data, array.nbytes) for array in (values, c)]
    with gpublas.use("cpu"):
        result = gpublas.sgemm("N", "N", 1, Resident(values), Resident(values), 0, Resident(c))
        want = gpublas.sgemm("N", "N", 1, values, values)
    np.testing.assert_allclose(result.get(), want, rtol=1e-4)
    assert [stream.handle for stream, _, _ in core.core.launches] == [77]
    assert not core.core.memory.live




def test_what_the_choice_of_tiles_asks(core):
    assert (core.device.model, core.device.multiprocessors) == ("Stand-in", 108)
    assert core.device.name == "cuda:0 (Stand-in)"


def test_tensor_maps_are_made_by_the_driver(core, monkeypatch):
    """What the driver is asked, and that what it gives is on the device, once."""
    from cuda.bindings import driver as bindings

    from gpublas.cuda.tensormaps import Boxes

    asked, made = [], bindings.CUtensorMap()
    ctypes.memset(int(made.getPtr()), 0x5A, 128)

    def encode(*arguments):
        asked.append(arguments)
        return 0, made

    monkeypatch.setattr(bindings, "cuTensorMapEncodeTiled", encode)
    form = Boxes(2, (72, 40, 3), (144, 5760), (64, 128, 1))
    place = core.device.maps.place(4096, form, core.device.stream(None))
    assert core.device.maps.place(4096, form, core.device.stream(None)) == place
    assert ctypes.string_at(place, 128) == b"\x5A" * 128 and place % 64 == 0
    ((kind, axes, address, extents, strides, box, steps, interleave, swizzle, _, fill),) = asked
    assert (kind.name, axes, address) == ("CU_TENSOR_MAP_DATA_TYPE_UINT16", 3, 4096)
    assert [[int(number) for number in numbers] for numbers in (extents, strides, box, steps)] == [
        [72, 40, 3], [144, 5760], [64, 128, 1], [1, 1, 1]]
    assert [value.name.rpartition("_")[2] for value in (interleave, swizzle, fill)] == ["NONE", "128B", "NONE"]


def test_work_is_timed_between_two_events(core, monkeypatch):
    from cuda.bindings import driver as bindings

    log, made = [], iter(("start", "end"))
    replies = {"cuEventCreate": lambda flags: (0, next(made)), "cuEventElapsedTime": lambda start, end: (0, 2.5)}
    for name in ("cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuEventDestroy"):
        def call(*arguments, name=name):
            log.append((name.removeprefix("cuEvent"), *arguments[:1]))
            return replies.get(name, lambda *given: (0,))(*arguments)

        monkeypatch.setattr(bindings, name, call)
    assert core.device.seconds(lambda: log.append("work"), Stream(77)) == 0.0025
    assert log[2:] == [("Record", "start"), "work", ("Record", "end"), ("Synchronize", "end"), ("ElapsedTime", "start"),
                       ("Destroy", "start"), ("Destroy", "end")]
