"""A Numba CUDA kernel on the executor, called with NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import sigutils
from numba.np.numpy_support import as_dtype

from ...cuda.frontend import compile_ptx
from .counters import Counters
from .program import Program
from .ranges import byte_range


class Kernel:
    """A Numba CUDA kernel run on the CPU: `kernel[grid, block](*args)` or `kernel[grid, block, shared_bytes](*args)`.

    Arguments are NumPy arrays, scalars and addresses; the kernel may touch the arrays it is given, nothing else.
    checked: bounds- and alignment-check memory accesses. order: "forward", "reverse" or "random" stepping of threads
    between synchronisations. counters: return Counters from launches. Other options go to numba.cuda.compile_all.
    """

    def __init__(
        self, pyfunc: Callable, signature: Any, cc: tuple = (8, 0), checked: bool = True, order: str = "forward",
        seed: int = 0, counters: bool = False, workers: int | None = None, opt_level: int = 2, **options: Any,
    ) -> None:
        self.types = sigutils.normalize_signature(signature)[0]
        self.ptx = compile_ptx(pyfunc, signature, cc, **options)
        self.program = Program.compile(self.ptx, checked=checked, counters=counters, opt=opt_level)
        self.order, self.seed, self.workers = order, seed, workers

    def __getitem__(self, configuration: tuple) -> Callable[..., Counters | None]:
        grid, block, *rest = configuration
        shared_bytes = rest[-1] if rest else 0

        def launch(*arguments: Any) -> Counters | None:
            if len(arguments) != len(self.types):
                raise TypeError(f"kernel takes {len(self.types)} arguments, {len(arguments)} given")
            values: list[np.generic] = []
            arrays: list[np.ndarray] = []
            for kind, argument in zip(self.types, arguments, strict=True):
                flatten_argument(kind, argument, values, arrays)
            memory = [byte_range(array) for array in arrays]
            return self.program.launch(grid, block, shared_bytes, values, memory, self.order, self.seed, self.workers)

        return launch


def flatten_argument(kind: types.Type, argument: Any, values: list[np.generic], arrays: list[np.ndarray]) -> None:
    """Append an argument's parameter values in Numba's kernel ABI, and the arrays it consists of."""
    if isinstance(kind, types.Array):
        if argument.dtype != _dtype(kind.dtype) or argument.ndim != kind.ndim:
            raise TypeError(f"expected {kind}, got {argument.ndim}d array of {argument.dtype}")
        arrays.append(argument)
        fields = [0, 0, argument.size, argument.itemsize, argument.ctypes.data, *argument.shape, *argument.strides]
        values += [np.int64(field) for field in fields]
    elif isinstance(kind, types.BaseTuple):
        for item_kind, item in zip(tuple(kind), argument, strict=True):
            flatten_argument(item_kind, item, values, arrays)
    elif isinstance(kind, types.Complex):
        part = np.float32 if kind.bitwidth == 64 else np.float64
        values += [part(argument.real), part(argument.imag)]
    elif isinstance(kind, types.Boolean):
        values.append(np.uint8(bool(argument)))
    elif isinstance(kind, (types.Integer, types.Float)):
        values.append(_dtype(kind).type(argument))
    elif isinstance(kind, types.Record):
        arrays.append(np.atleast_1d(argument))
        values.append(np.int64(arrays[-1].ctypes.data))
    elif isinstance(kind, (types.RawPointer, types.CPointer)):
        values.append(np.int64(argument))
    else:
        raise TypeError(f"arguments of type {kind} are not supported")


def _dtype(kind: types.Type) -> np.dtype:
    return np.dtype(np.float16) if str(kind) == "float16" else np.dtype(as_dtype(kind))
