"""Compile Python functions to PTX without a CUDA driver."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

from numba.core import sigutils

from ..errors import UnsupportedError

_lock = threading.RLock()


class _DriverlessProgram:
    """Stands in for cuda.core.Program, whose PTX output asks the driver for its version."""

    def __init__(self, source: str, language: str, options: Any) -> None:
        self.source = source.encode()
        self.options = options.as_bytes("nvrtc")

    def compile(self, target: str, logs: Any = None) -> str:
        """The PTX of the source."""
        from cuda.bindings import nvrtc

        program = _checked(nvrtc.nvrtcCreateProgram(self.source, b"linked.cu", 0, [], []))
        if nvrtc.nvrtcCompileProgram(program, len(self.options), self.options)[0] != 0:
            log = b" " * _checked(nvrtc.nvrtcGetProgramLogSize(program))
            _checked(nvrtc.nvrtcGetProgramLog(program, log))
            raise UnsupportedError(log.decode())
        text = b" " * _checked(nvrtc.nvrtcGetPTXSize(program))
        _checked(nvrtc.nvrtcGetPTX(program, text))
        _checked(nvrtc.nvrtcDestroyProgram(program))
        return text.rstrip(b"\0").decode()


def _checked(result: tuple) -> Any:
    status, *values = result
    if status != 0:
        raise UnsupportedError(f"NVRTC failed: {status}")
    return values[0] if values else None


@contextlib.contextmanager
def imaginary_device(cc: tuple) -> Iterator[None]:
    """Compile inside for a compute capability, with no driver asked for the device's.

    While it compiles device functions and the CUDA C++ functions behind float16, Numba asks the current device for
    its capability and the driver for its version. Both questions go through names of Numba's modules, which are
    replaced for the time of one compilation; threads take turns.
    """
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import nvrtc

    device = SimpleNamespace(compute_capability=cc)
    with (_lock, mock.patch.object(nvrtc, "Program", _DriverlessProgram),
          mock.patch.object(dispatcher, "get_current_device", lambda: device)):
        yield


def compile_ptx(pyfunc: Callable, signature: Any, cc: tuple = (8, 0), **options: Any) -> tuple[str, ...]:
    """PTX texts of a kernel and of the CUDA C++ functions it links to."""
    from numba import cuda, types

    arguments = sigutils.normalize_signature(signature)[0]
    pyfunc = getattr(pyfunc, "py_func", pyfunc)
    with imaginary_device(cc):
        texts, _ = cuda.compile_all(pyfunc, types.void(*arguments), cc=cc, device=False, abi="numba", output="ptx",
                                    **options)
    return tuple(texts)
