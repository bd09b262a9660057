"""Picks the module that serves a call: `cpu` or `gpu`; both have the same function names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpublas.context import Call


def of(call: Call) -> Any:
    """The backend for a call's device, imported when first used: it imports numba."""
    if call.on_host:
        from . import cpu

        return cpu
    from . import gpu

    return gpu


@contextlib.contextmanager
def workspace(call: Call, nbytes: int) -> Iterator[int]:
    """Address of uninitialised memory that the call's device can reach; 0 where no bytes are asked for."""
    if nbytes == 0:
        yield 0
    elif call.on_host:
        with call.host_workspace((nbytes,), np.uint8) as memory:
            yield memory.ctypes.data
    else:
        with call.workspace(nbytes) as pointer:
            yield pointer
