"""The executor as a device: the PTX that a GPU would run, run on the CPU. For tests and for looking, not for speed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import HostBuffer
from ..errors import DeviceError
from . import driver
from .gemm.select import typical_multiprocessors
from .tensormaps import Boxes, TensorMaps

_GUARD = 256  # bytes on either side of workspace that no range covers: a kernel that strays there faults


class ExecutorDevice:
    """A device without a GPU.

    checked: fault on accesses outside the memory of the call, and on misaligned ones. order: in which order threads
    step between synchronisations, "forward", "reverse" or "random" (with seed). counters: keep what each launch
    counted in `counts`, a list of (kernel name, Counters). staged: copy NumPy arrays to memory of the device's own,
    as a GPU must, instead of reading them in place. poison: fill workspace with NaN patterns before each use.
    capability: for which GPU kernels are compiled. multiprocessors: of the device that it stands for when tiles are
    chosen; those of a typical GPU of the capability (108 for 8.0, as an A100 has) where nothing is said. Raises
    DeviceError, with the command that helps, where no compiler of GPU kernels is installed.
    """

    kind = name = place = model = "executor"
    driver_version = 0
    keeps_ranges = True

    def __init__(self, *, checked: bool = True, order: str = "forward", seed: int = 0, counters: bool = False,
                 staged: bool = False, poison: bool = True, capability: tuple = (8, 0), workers: int | None = None,
                 multiprocessors: int | None = None):
        reason = driver.why_no_compiler()
        if reason:
            raise DeviceError(f"device 'executor' cannot be used: {reason}")
        self.checked, self.order, self.seed = checked, order, seed
        self.counters, self.poison, self.capability, self.workers = counters, poison, capability, workers
        self.multiprocessors = multiprocessors or typical_multiprocessors(capability)
        self.reads_host_memory = not staged
        self.counts: list[tuple[str, Any]] = []

    def stream(self, handle: int | None) -> None:
        """Launches are synchronous: there are no streams."""
        return None

    def allocate(self, nbytes: int, stream: Any = None) -> HostBuffer:
        """Uninitialised memory between guard zones."""
        buffer = HostBuffer(nbytes + 2 * _GUARD)
        buffer.pointer += _GUARD
        buffer.offset += _GUARD
        buffer.nbytes = nbytes
        self.prepare(buffer)
        return buffer

    def prepare(self, buffer: HostBuffer) -> None:
        """Poison workspace that is lent again."""
        if self.poison:
            buffer.bytes()[:] = 0xFF

    def upload(self, host: np.ndarray, pointer: int, stream: Any = None) -> None:
        """Copy a compact host array to device memory."""
        _bytes_at(pointer, host.nbytes)[:] = host.reshape(-1).view(np.uint8)

    def download(self, pointer: int, host: np.ndarray, stream: Any = None) -> None:
        """Copy device memory into a compact host array."""
        host.reshape(-1).view(np.uint8)[:] = _bytes_at(pointer, host.nbytes)

    def launch(self, kernel: Any, grid: tuple[int, int, int], arguments: tuple, stream: Any,
               memory: list[tuple[int, int]]) -> None:
        """Run a kernel to its end."""
        from ..testing.ptx import Program

        program = Program.compile(kernel.texts, kernel.name, checked=self.checked, counters=self.counters)
        values = [np.uint64(value) if isinstance(value, int) else value for value in arguments]
        counted = program.launch(grid, kernel.threads, kernel.shared_bytes, values, memory, order=self.order,
                                 seed=self.seed, workers=self.workers)
        if self.counters:
            self.counts.append((kernel.name, counted))

    @functools.cached_property
    def maps(self) -> TensorMaps:
        """The tensor maps that launches have needed."""
        return TensorMaps(self)

    def encode_map(self, address: int, boxes: Boxes) -> np.ndarray:
        """A tensor map as the executor knows them."""
        from ..testing.ptx import tensormap

        return tensormap.encode(address, *boxes, swizzle=128)

    def drain(self) -> None:
        """Launches are synchronous: nothing runs."""

    def seconds(self, work: Callable[[], object], stream: Any = None) -> float:
        """How long `work` takes: of the executor, nothing that tells of a GPU."""
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def synchronize(self, stream: Any = None) -> None:
        """Nothing is ever pending."""


class _Bytes:
    def __init__(self, pointer: int, nbytes: int):
        self.__array_interface__ = {"version": 3, "data": (pointer, False), "shape": (nbytes,), "typestr": "|u1"}


def _bytes_at(pointer: int, nbytes: int) -> np.ndarray:
    return np.asarray(_Bytes(pointer, nbytes))
