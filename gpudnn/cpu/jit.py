"""Host loops: how they are compiled and cached, how they reach memory, and how threads share them.

A loop is a function `loop(start, stop, ...)` over a part of its work, compiled without the GIL. `share` splits the
work among a small pool of Python threads. Numba's own parallel back ends are not used: which of them is there
differs between machines, and the one that always is (workqueue) must not be entered from two threads at once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numba
from numba import types
from numba.extending import intrinsic

from gpublas import diskcache

# contract: a product and a sum may be one instruction, as on the GPU; nothing else of "fast math" is allowed.
_OPTIONS = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
_GRAIN = 300_000  # operations below which a thread costs more than it brings (measured: 0.1 ms to hand over)


@intrinsic
def pointer(typing_context, address, like):
    """The memory at an address as elements of the type of `like`; indices are in elements, of any sign."""
    kind = types.CPointer(like.dtype if isinstance(like, types.UniTuple) else like)

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(address, like), generate


def loop(function: Callable) -> Callable:
    """Compile a loop when it is first called, and keep it on disk, below the project's cache folder."""
    with _cache_folder():
        try:
            return numba.njit(cache=True, **_OPTIONS)(function)
        except RuntimeError:  # Numba finds no folder it can write to: compile in every process
            return numba.njit(**_OPTIONS)(function)


def inline(function: Callable) -> Callable:
    """Compile a helper that loops call."""
    return numba.njit(**_OPTIONS)(function)


def _digest():
    """Numba's cache notices edits of a loop's own file only, so the folder's name stands for all files they use."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    return diskcache.key(*texts, numba.__version__)


@contextlib.contextmanager
def _cache_folder() -> Iterator[None]:
    """Numba looks its cache folder up while it decorates; the package's own folder may be read-only."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(diskcache.folder() / "numba" / _DIGEST)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


_DIGEST = _digest()


def threads() -> int:
    """Threads that share a loop: GPUBLAS_NUM_THREADS, else the processors this process may use."""
    chosen = os.environ.get("GPUBLAS_NUM_THREADS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def _workers() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=max(threads() - 1, 1), thread_name_prefix="gpudnn")
        return _pool


def _forget_pool() -> None:
    """A forked child has none of its parent's threads."""
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def share(function: Callable, count: int, work: int, *arguments: object) -> None:
    """function(start, stop, *arguments) for range(count), in parts; work: operations in all.

    Parts must write different memory. How many parts there are has no influence on any result.
    """
    parts = min(threads(), count, work // _GRAIN + 1)
    if parts <= 1:
        if count > 0:
            function(0, count, *arguments)
        return
    bounds = [count * part // parts for part in range(parts + 1)]
    pool = _workers()
    others = [pool.submit(function, start, stop, *arguments) for start, stop in itertools.pairwise(bounds[1:])]
    try:
        function(bounds[0], bounds[1], *arguments)
    finally:
        wait(others)  # they use the caller's memory
    for other in others:
        other.result()
