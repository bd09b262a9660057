"""Compile kernels from PTX to host code, and launch them."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from . import collectives, layout, schedule
from .counters import COUNT_COLUMNS, Counters, count
from .objectcode import LoweredKernel, NativeCode, compiled_kernel
from .parse import TEXT_LINES
from .ranges import byte_range, describe_address, range_table

_ORDERS = {"forward": schedule.FORWARD, "reverse": schedule.REVERSE, "random": schedule.RANDOM}
_MAX_THREADS = 1024


class KernelFault(RuntimeError):
    """A kernel did something a GPU would not allow, or deadlocked."""


class Program:
    """One kernel compiled from PTX texts to host code.

    `compile` is the way to get one: it keeps recent programs in memory and the code of all on disk.
    """

    capacity = 256  # programs kept in memory
    _cache: ClassVar[OrderedDict[tuple, Future[Program]]] = OrderedDict()
    _lock = threading.Lock()

    @classmethod
    def compile(
        cls, texts: Sequence[str], name: str | None = None, checked: bool = True, counters: bool = False, opt: int = 2
    ) -> Program:
        """The program for a kernel of the PTX texts, which are linked together.

        name: the kernel, needed when the texts hold several. checked: bounds- and alignment-check memory accesses.
        counters: launches return Counters. opt: LLVM optimisation level, 0 to 3. PTX that cannot be read or holds
        unsupported instructions raises PTXError. Threads asking for the same program wait for one compilation.
        """
        key = (tuple(texts), name, bool(checked), bool(counters), opt)
        with cls._lock:
            pending = cls._cache.get(key)
            owner = pending is None
            if pending is None:
                pending = cls._cache[key] = Future()
                while len(cls._cache) > cls.capacity:
                    cls._cache.popitem(last=False)
            else:
                cls._cache.move_to_end(key)
        if owner:
            try:
                pending.set_result(cls(*key))
            except BaseException as error:
                with cls._lock:
                    if cls._cache.get(key) is pending:
                        del cls._cache[key]
                pending.set_exception(error)
        return pending.result()

    def __init__(self, texts: tuple[str, ...], name: str | None, checked: bool, counters: bool, opt: int) -> None:
        self.texts = texts
        self.counters = counters
        self.kernel: LoweredKernel
        self.kernel, code = compiled_kernel(texts, name, checked, counters, opt)
        self._code = NativeCode(code)
        self.address = self._code.address(self.kernel.symbol)
        self.variables = aligned_zeros(len(self.kernel.variables))
        self.variables[:] = np.frombuffer(self.kernel.variables, np.uint8)

    def source_line(self, line: int) -> str:
        """A PTX line and its text."""
        text, number = divmod(line, TEXT_LINES)
        lines = self.texts[text].splitlines()
        return f"PTX line {number}: {lines[number - 1].strip()}" if number else "entry"

    def launch(
        self, grid: int | Sequence[int], block: int | Sequence[int], shared_bytes: int, values: Sequence[np.generic],
        memory: Sequence[tuple[int, int]], order: str = "forward", seed: int = 0, workers: int | None = None,
    ) -> Counters | None:
        """Run the kernel; returns Counters when the program counts.

        grid, block: extents, up to three each. shared_bytes: dynamic shared memory. values: one NumPy scalar (or
        array of the right size) per kernel parameter. memory: (address, bytes) of everything the kernel may touch;
        checked programs fault on other accesses. order, seed: stepping of threads between synchronisations. workers:
        host threads, by default one per processor. A forbidden access, a deadlock or a trap raises KernelFault.
        """
        grid, block = _triple(grid), _triple(block)
        threads = block[0] * block[1] * block[2]
        if not 0 < threads <= _MAX_THREADS:
            raise ValueError(f"{threads} threads per block")
        if order not in _ORDERS:
            raise ValueError(f"order {order!r} is none of {', '.join(_ORDERS)}")
        total_blocks = grid[0] * grid[1] * grid[2]
        workers = max(1, min(workers or _processors(), total_blocks))
        params = self._pack(values)
        table = range_table([*memory, byte_range(self.variables)])
        progress = np.array([0, workers], np.int64)
        states = [_Worker(self, grid, block, shared_bytes, params, table) for _ in range(workers)]
        run_blocks = schedule.run_blocks()
        functions = collectives.addresses(np.unique(self.kernel.sites[:, layout.KIND]))
        local_words = np.array(self.kernel.local_range, np.int64) // 4
        random_seed = seed & (1 << 40) - 1

        def work(state: _Worker) -> None:
            run_blocks(
                self.address, state.words, state.shared, state.record, self.kernel.sites, functions, local_words,
                progress, _ORDERS[order], random_seed, state.accesses, state.report,
            )

        if workers == 1:
            work(states[0])
        else:
            list(_pool(workers).map(work, states))
        faults = [state.report for state in states if state.report[schedule.REPORT_KIND]]
        if faults:  # a deadlock may only follow from another worker's fault
            first = min(
                faults,
                key=lambda report: (report[schedule.REPORT_KIND] == layout.DEADLOCK, report[schedule.REPORT_BLOCK]),
            )
            raise KernelFault(self._describe(first, grid, block, memory, states[0].shared_total))
        if not self.counters:
            return None
        return count(
            np.sum([state.executed for state in states], 0),
            self.kernel.segments,
            np.sum([state.accesses for state in states], 0),
            self.kernel.accesses,
        )

    def _pack(self, values: Sequence[np.generic]) -> np.ndarray:
        """The parameter buffer as the kernel's PTX declares it."""
        if len(values) != len(self.kernel.params):
            raise TypeError(f"kernel takes {len(self.kernel.params)} parameters, {len(values)} given")
        buffer, offset = b"", 0
        for (name, size, align), value in zip(self.kernel.params, values, strict=True):
            offset = -(-offset // align) * align
            data = value.tobytes()
            if len(data) != size:
                raise TypeError(f"parameter {name} has {size} bytes, value has {len(data)}")
            buffer = buffer.ljust(offset, b"\0") + data
            offset += size
        packed = aligned_zeros(max(offset, 16))
        packed[: len(buffer)] = np.frombuffer(buffer, np.uint8)
        return packed

    def _describe(
        self, report: np.ndarray, grid: tuple[int, ...], block: tuple[int, ...], memory: Sequence[tuple[int, int]],
        shared_total: int,
    ) -> str:
        """A fault report in words."""
        kind, number, thread, line, address, other, other_line = report.tolist()

        def position(index: int, extent: tuple[int, ...]) -> tuple[int, int, int]:
            return (index % extent[0], index // extent[0] % extent[1], index // (extent[0] * extent[1]))

        text = (
            f"{layout.FAULTS[kind]} by block {position(number, grid)} thread {position(thread, block)} "
            f"at {self.source_line(line)}"
        )
        if kind == layout.OUT_OF_BOUNDS:
            text += f" ({describe_address(address & (1 << 64) - 1, memory)})"
        elif kind == layout.SHARED_OUT_OF_BOUNDS:
            text += f" (shared address {address & (1 << 64) - 1:#x}, the block has {shared_total} bytes)"
        elif kind == layout.MISALIGNED:
            text += f" (address {address & (1 << 64) - 1:#x})"
        if other_line:
            text += f"; thread {position(other, block)} waits at {self.source_line(other_line)}"
        return text


class _Worker:
    """The memory one host thread works with: contexts, shared memory, block record, counters and report."""

    def __init__(
        self, program: Program, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, params: np.ndarray,
        table: np.ndarray,
    ) -> None:
        kernel = program.kernel
        threads = block[0] * block[1] * block[2]
        self.shared_total = shared_total = kernel.shared_bytes + shared_bytes
        contexts = aligned_zeros(threads * kernel.context_bytes)
        self.words = contexts.view(np.uint32).reshape(threads, -1)
        self.shared = aligned_zeros(max(shared_total, 16))
        self.executed = np.zeros(max(len(kernel.segments), 1), np.int64)
        self.accesses = np.zeros((len(kernel.sites), COUNT_COLUMNS), np.int64)
        self.report = np.zeros(schedule.REPORT_FIELDS, np.int64)
        hints = np.zeros((max(kernel.hints, 1), 2), np.uint64)
        self.kept_alive = (params, table, hints)
        self.record = record = np.zeros(layout.BLOCK_WORDS, np.int64)
        record[layout.SHARED], record[layout.SHARED_SIZE] = self.shared.ctypes.data, shared_total
        record[layout.CONTEXTS], record[layout.CONTEXTS_SIZE] = byte_range(contexts)
        record[layout.RANGES], record[layout.RANGE_COUNT] = table.ctypes.data, len(table)
        record[layout.HINTS] = hints.ctypes.data
        record[layout.PARAMS] = params.ctypes.data
        record[layout.COUNTERS] = self.executed.ctypes.data
        record[layout.VARIABLES] = program.variables.ctypes.data
        record[layout.NTID : layout.NTID + 3] = block
        record[layout.NCTAID : layout.NCTAID + 3] = grid
        record[layout.DYNAMIC_SHARED] = shared_bytes


def _triple(extent: Any) -> tuple[int, ...]:
    extent = (extent,) if isinstance(extent, (int, np.integer)) else tuple(extent)
    return (*map(int, extent), 1, 1)[:3]


def aligned_zeros(size: int, align: int = 1024) -> np.ndarray:
    """A zeroed byte array at an aligned address."""
    buffer = np.zeros(size + align, np.uint8)
    start = -buffer.ctypes.data % align
    return buffer[start : start + size]


def _processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()


def _pool(workers: int) -> ThreadPoolExecutor:
    """Host threads for a launch, kept for the next ones; a forked process has none of its parent's."""
    key = (os.getpid(), workers)
    with _pools_lock:
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(workers)
        return _pools[key]
