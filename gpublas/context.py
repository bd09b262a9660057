"""Which device serves a call, and what that call needs from it: stream, workspace, arrays in the right place."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar, Token
from typing import Any, Protocol

import numpy as np

from . import arrays
from .arrays import HOST, Array
from .checks import Argument
from .errors import ArgumentError, DeviceError, OutOfMemoryError, UnsupportedError
from .precision import Routine

log = logging.getLogger("gpublas")
PRECISION_MODES = ("ieee",)


class Device(Protocol):
    """What runs kernels: the CUDA driver or the PTX executor. The CPU device has a kind and a name, no kernels."""

    kind: str
    name: str
    place: str
    capability: tuple
    model: str  # what the maker calls it
    multiprocessors: int
    reads_host_memory: bool
    keeps_ranges: bool  # whether launches want to know which memory they may touch

    def allocate(self, nbytes: int, stream: Any) -> Any: ...
    def upload(self, host: np.ndarray, pointer: int, stream: Any) -> None: ...
    def download(self, pointer: int, host: np.ndarray, stream: Any) -> None: ...
    def stream(self, handle: int | None) -> Any: ...
    def launch(self, kernel: Any, grid: tuple[int, int, int], arguments: tuple, stream: Any,
               memory: list[tuple[int, int]]) -> None: ...
    def synchronize(self, stream: Any) -> None: ...
    def seconds(self, work: Callable[[], object], stream: Any) -> float: ...


class HostBuffer:
    """Workspace on the host: `pointer` is 256-byte aligned."""

    def __init__(self, nbytes: int):
        try:
            self.memory = np.empty(nbytes + 256, np.uint8)
        except MemoryError as error:
            raise OutOfMemoryError(nbytes) from error
        self.nbytes = nbytes
        self.offset = -self.memory.ctypes.data % 256
        self.pointer = self.memory.ctypes.data + self.offset

    def bytes(self) -> np.ndarray:
        return self.memory[self.offset:self.offset + self.nbytes]


class CpuDevice:
    """The host: reference BLAS through SciPy, loops through Numba."""

    kind = name = "cpu"
    place = HOST
    capability = ()
    reads_host_memory = True
    keeps_ranges = False
    poison = False  # tests fill workspace with NaN patterns before each use

    def allocate(self, nbytes: int, stream: Any = None) -> HostBuffer:
        return HostBuffer(nbytes)

    def prepare(self, buffer: HostBuffer) -> None:
        if self.poison:
            buffer.bytes()[:] = 0xFF

    def stream(self, handle: int | None) -> None:
        return None

    def synchronize(self, stream: Any = None) -> None:
        return None


class WorkspacePool:
    """Device memory lent to calls and taken back, so that a repeated call allocates nothing.

    A buffer taken back is lent again only on the same stream, where the order of launches keeps its users apart.
    """

    def __init__(self, keep: int = 8):
        self._free: list[tuple[Any, Any, Any]] = []  # (device, stream, buffer)
        self._keep = keep
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def lend(self, device: Any, stream: Any, nbytes: int) -> Iterator[Any]:
        buffer = self._take(device, stream, nbytes)
        try:
            prepare = getattr(device, "prepare", None)
            if prepare:
                prepare(buffer)
            yield buffer
        finally:
            with self._lock:
                self._free.append((device, stream, buffer))
                del self._free[:-self._keep]

    def _take(self, device, stream, nbytes):
        with self._lock:
            fitting = [entry for entry in self._free
                       if entry[0] is device and entry[1] is stream and entry[2].nbytes >= nbytes]
            if fitting:
                best = min(fitting, key=lambda entry: entry[2].nbytes)
                self._free.remove(best)
                return best[2]
        try:
            return device.allocate(nbytes, stream)
        except OutOfMemoryError:
            self.release()
            return device.allocate(nbytes, stream)

    def release(self) -> None:
        """Give all unused workspace back to the device."""
        with self._lock:
            self._free.clear()


class Context:
    """The device and settings that calls use.

    device: "cpu", "cuda", "cuda:1", "executor", a device object, or None for the default (GPUBLAS_DEVICE, else
    CUDA where a usable GPU is, else the CPU). stream: handle of a CUDA stream for NumPy arrays and for arrays whose
    library has no current stream. precision: "ieee", the only mode so far: arithmetic in the routine's precision.
    batch_invariant: a row or column of a gemm's result, for one order of C, has the same bits whatever the others are
    and however many: k is never split. Not on the CPU, whose BLAS makes no such promise: UnsupportedError.
    gemm_config: configurations of the gemm kernels to use instead of those found for a problem: a GemmConfig, tiles
    alone, or several of different kinds (see gpublas.tuning). ArgumentError where one does not fit the device,
    UnsupportedError on the CPU.

    >>> import gpublas
    >>> from gpublas.tuning import GemmConfig, SimtConfig
    >>> tiles = SimtConfig("s", 64, 64, 8, 8, 4, 4)   # float32, 64 x 64 elements of C for a thread block ...
    >>> gpublas.Context("executor", gemm_config=GemmConfig(tiles, splits=2))   # ... and k in two parts
    Context(device='executor', precision='ieee')
    """

    def __init__(self, device: str | Any | None = None, *, stream: int | None = None, precision: str = "ieee",
                 batch_invariant: bool = False, gemm_config: Any = None):
        if precision not in PRECISION_MODES:
            raise ArgumentError("Context", None, "precision", repr(precision), " or ".join(map(repr, PRECISION_MODES)))
        self.device = _device(device) if device is None or isinstance(device, str) else device
        self.stream = stream
        self.precision = precision
        self.batch_invariant = batch_invariant
        self.on_host = self.device.kind == "cpu"  # whether the CPU device serves NumPy arrays
        if batch_invariant and self.on_host:
            raise UnsupportedError("batch_invariant: the BLAS of device 'cpu' does not promise it")
        if gemm_config is not None and self.on_host:
            raise UnsupportedError("gemm_config: device 'cpu' has no kernels to configure")
        self.gemm_config = _explicit(gemm_config, self.device)
        self.pool = WorkspacePool()
        self.repeats: dict[tuple, Any] = {}  # what calls came down to: see repeats.py

    def __repr__(self) -> str:
        return f"Context(device={self.device.name!r}, precision={self.precision!r})"


def _explicit(gemm_config, device):
    """What the context says about configurations, checked; nothing is imported where it says nothing."""
    if gemm_config is None:
        return ()
    from . import tuning

    return tuning.explicit(gemm_config, device.capability)


_cpu = CpuDevice()
_devices_lock = threading.Lock()
_devices: dict[str, Any] = {"cpu": _cpu}


def _device(name: str | None) -> Any:
    """The device object for a name; each is made once a process."""
    if name is None:
        name = os.environ.get("GPUBLAS_DEVICE") or None
        if name is None:
            return _automatic_device()
        log.info("device %s, as GPUBLAS_DEVICE says", name)
    wanted = "cuda:0" if name == "cuda" else name
    with _devices_lock:
        if wanted not in _devices:
            _devices[wanted] = _make_device(wanted)
        return _devices[wanted]


def _make_device(name):
    if name == "executor":
        from .cuda.executor import ExecutorDevice

        return ExecutorDevice()
    kind, _, number = name.partition(":")
    if kind == "cuda" and number.isdecimal():
        from .cuda import driver

        reason = driver.why_unusable()
        if reason:
            raise DeviceError(f"device {name!r} cannot be used: {reason}")
        return driver.CudaDevice(int(number))
    raise ArgumentError("use", 1, "device", repr(name), "'cpu', 'cuda', 'cuda:<number>' or 'executor'")


def _automatic_device():
    from .cuda import driver

    reason = driver.why_unusable()
    if reason:
        log.info("device cpu: no usable GPU (%s)", reason)
        return _cpu
    device = _device("cuda:0")
    log.info("device %s: a usable GPU was found", device.name)
    return device


_default: Context | None = None
_default_lock = threading.Lock()
_current: ContextVar[Context | None] = ContextVar("gpublas.context", default=None)
chosen = _current.get  # what `use` chose in this thread or task, None where nothing was

def current() -> Context:
    """The context of this thread or task: what `use` chose here, else the process's default."""
    chosen = _current.get()
    if chosen is not None:
        return chosen
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = Context()
    return _default


class use:
    """Choose the device (and other settings) for the calls that follow, in this thread or task only.

    As a statement it holds until the next choice; as a context manager it ends with the block:

    >>> import gpublas
    >>> with gpublas.use("cpu") as context:
    ...     context.device.name
    'cpu'

    device: see `Context`; a Context itself is also taken. Raises ArgumentError for an unknown name and DeviceError,
    saying what is missing, for a device that cannot be used.
    """

    def __init__(self, device: str | Context | Any | None = None, **settings: Any):
        self.context = device if isinstance(device, Context) else Context(device, **settings)
        self._token: Token = _current.set(self.context)

    def __enter__(self) -> Context:
        return self.context

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._token)


class Call:
    """One call of a routine on one device: its arrays where the device can reach them, launches, workspace.

    Entering checks what concerns several arguments (places, outputs against inputs) and brings NumPy arrays to the
    device where it cannot read host memory; leaving brings outputs back. `call["x"]` is the Array of argument x.
    memory: address and length of what launches may touch, for devices that want to know (`keeps_ranges`). recorder:
    what listens to the plans that are run (see repeats.py). plans_run: how many were.
    """

    def __init__(self, routine: str | Routine, reads: Mapping[str, Argument], outputs: Mapping[str, Argument],
                 updates: frozenset[str] = frozenset()):
        self.routine = _name(routine)
        self.recorder = routine.recorder if isinstance(routine, Routine) else None
        self.reads, self.outputs, self.updates = reads, outputs, updates
        self.context = current()
        self.memory: list[tuple[int, int]] = []
        self.plans_run = 0
        self._arrays: dict[str, Array] = {}
        self._staged: list[tuple[Array, Array]] = []

    def __enter__(self) -> Call:
        everything = {**self.reads, **self.outputs}
        resident = next((argument for argument in everything.values() if argument.array.place != HOST), None)
        self.device = device = self.context.device if resident is None else self._device_of(resident, everything)
        if self.outputs:
            _check_outputs(self.routine, self.reads, self.outputs)
        self.stream = device.stream(self.context.stream if resident is None else self._stream_handle(everything))
        for name, argument in everything.items():
            array = argument.array
            if (array.is_regular and (device.reads_host_memory or array.place != HOST)) or array.size == 0:
                self._arrays[name] = array
                if device.keeps_ranges:
                    low, high = array.bounds()
                    self.memory.append((low, high - low))
            else:
                self._arrays[name] = self._bring(argument, name in self.outputs,
                                                 name in self.reads or name in self.updates)
        return self

    def __exit__(self, kind: type | None, *rest: object) -> None:
        if kind is None:
            for here, there in self._staged:
                self._bring_back(here, there)

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    @property
    def on_host(self) -> bool:
        """Whether the CPU device serves the call."""
        return self.device.kind == "cpu"

    def launch(self, kernel: Any, grid: int | tuple[int, ...], *arguments: Any) -> None:
        """Launch a kernel with one value for each of its parameters; grid: blocks along x, or (x, y, z)."""
        self.plans_run += 1
        extent = (grid,) if isinstance(grid, int) else grid
        x, y, z = (*extent, 1, 1)[:3]
        if x and y and z:
            values = tuple(convert(value) for convert, value in zip(kernel.converters, arguments, strict=True))
            self.device.launch(kernel, (x, y, z), values, self.stream, self.memory)

    @contextlib.contextmanager
    def workspace(self, nbytes: int) -> Iterator[int]:
        """Address of device memory (256-byte aligned) for the duration of the block; contents undefined."""
        with self.context.pool.lend(self.device, self.stream, max(nbytes, 1)) as buffer:
            reach = (buffer.pointer, buffer.nbytes)
            self.memory.append(reach)
            try:
                yield buffer.pointer
            finally:
                self.memory.remove(reach)

    @contextlib.contextmanager
    def host_workspace(self, shape: tuple[int, ...], dtype: Any) -> Iterator[np.ndarray]:
        """A NumPy array (C order) from the CPU device's pool for the duration of the block; contents undefined."""
        count = int(np.prod(shape, dtype=np.int64))
        nbytes = count * np.dtype(dtype).itemsize
        with self.context.pool.lend(self.device, self.stream, max(nbytes, 1)) as buffer:
            yield buffer.bytes()[:nbytes].view(dtype).reshape(shape)

    def _device_of(self, first, everything):
        """Device arrays are served where they live, and all of them live in one place; scalars may be on the host."""
        place = first.array.place
        for argument in everything.values():
            found = argument.array
            if found.place != place and not (found.ndim == 0 and found.place == HOST):
                raise ArgumentError(self.routine, argument.position, argument.name, f"an array on {found.place}",
                                    f"all arrays on one device ({first.name} is on {place})")
        return self.context.device if self.context.device.place == place else _device(place)

    def _stream_handle(self, everything):
        for argument in everything.values():
            if argument.array.place != HOST:
                handle = arrays.current_stream(argument.array.owner, argument.array.stream)
                if handle is not None:
                    return handle
        return self.context.stream

    def _bring(self, argument, is_output, is_read):
        """A compact copy where the device can reach it; an output's is brought back at the end."""
        array = argument.array
        if array.place != HOST:
            raise ArgumentError(self.routine, argument.position, argument.name,
                                f"device strides {array.strides} of {array.dtype}",
                                "strides and address that are multiples of the element size")
        compact = np.array(array.ndarray, order="C") if is_read else np.empty(array.shape, array.dtype)
        there = self._compact_on_device(compact, is_read)
        if is_output:
            self._staged.append((array, there))
        return there

    def _compact_on_device(self, compact, is_read):
        if self.device.reads_host_memory:
            self.memory.append((compact.ctypes.data, compact.nbytes))
            return Array(compact.ctypes.data, compact.shape, compact.strides, compact.dtype, True, HOST, compact)
        buffer = self.device.allocate(compact.nbytes, self.stream)
        self.memory.append((buffer.pointer, compact.nbytes))
        if is_read:
            self.device.upload(compact, buffer.pointer, self.stream)
        return Array(buffer.pointer, compact.shape, compact.strides, compact.dtype, True, self.device.place, buffer)

    def _bring_back(self, here, there):
        """Store an output's compact copy into the caller's array: its elements, and nothing between them."""
        if there.place == HOST:
            here.ndarray[...] = there.owner
        else:
            compact = np.empty(here.shape, here.dtype)
            self.device.download(there.pointer, compact, self.stream)
            here.ndarray[...] = compact


def _check_outputs(routine: str, reads: Mapping[str, Argument], outputs: Mapping[str, Argument]) -> None:
    """Outputs can be stored to, name each element once, and share no memory with an input or another output."""
    for name, argument in outputs.items():
        array = argument.array
        if not array.writeable:
            raise ArgumentError(routine, argument.position, name, "a read-only array", "a writeable array")
        if array.may_repeat():
            raise ArgumentError(routine, argument.position, name,
                                f"an output whose elements share memory (strides {array.strides})",
                                "an output with one place for each element")
    for name, other in _overlaps(reads, outputs):
        raise ArgumentError(routine, outputs[name].position, name, f"an output that overlaps {other}",
                            "memory that no other argument shares")


_FEW = 8  # arguments that are compared each with each; thousands, as batches have, are sorted first


def _overlaps(reads: Mapping[str, Argument], outputs: Mapping[str, Argument]) -> Iterator[tuple[str, str]]:
    """Pairs (output, other argument) that have a byte in common."""
    if len(reads) + len(outputs) <= _FEW:
        seen: list[tuple[str, Array]] = [(name, argument.array) for name, argument in reads.items()]
        for name, argument in outputs.items():
            for other, array in seen:
                if argument.array.overlaps(array):
                    yield name, other
            seen.append((name, argument.array))
        return
    # By first byte: an argument is compared only with those before it that reach as far.
    ranges = sorted((*argument.array.bounds(), name) for name, argument in (*reads.items(), *outputs.items()))
    reaching: list[tuple[int, str]] = []
    for low, high, name in ranges:
        if low == high:
            continue
        reaching = [(end, other) for end, other in reaching if end > low]
        for _, other in reaching:
            output, second = (name, other) if name in outputs else (other, name)
            if output in outputs:
                against = outputs[second] if second in outputs else reads[second]
                if outputs[output].array.overlaps(against.array):
                    yield output, second
        reaching.append((high, name))


def _name(routine: str | Routine) -> str:
    return routine.name if isinstance(routine, Routine) else routine


_NOTHING: dict[str, Argument] = {}


def call(routine: str | Routine, reads: Mapping[str, Any], writes: Mapping[str, Any] | None = None,
         updates: Mapping[str, Any] | None = None) -> Call:
    """A Call: reads are inputs, writes are outputs whose old contents do not matter, updates are read and written.

    routine: the Routine of a public function; of one that has none, its name.
    Values are checked Arguments, or arrays that are described here.
    """
    def described(group: Mapping[str, Any] | None) -> Mapping[str, Argument]:
        if not group or all(type(value) is Argument for value in group.values()):
            return group or _NOTHING
        return {name: value if isinstance(value, Argument) else _described(routine, name, value)
                for name, value in (group or {}).items() if value is not None}

    if not updates:
        return Call(routine, described(reads), described(writes))
    updated = described(updates)
    return Call(routine, described(reads), {**described(writes), **updated} if writes else updated,
                frozenset(updated))


def _described(routine, name, value):
    found = arrays.describe(value)
    if found is None:
        from .errors import DTypeError

        raise DTypeError(_name(routine), None, name, type(value).__name__, "an array")
    return Argument(None, name, found, value)
