"""Arrays for tests: surrounded by canaries, poisoned, laid out in every way, or on the executor's device."""

from __future__ import annotations

from typing import Any

import numpy as np

_CANARY = 0xA5
_MARGIN = 64  # elements before and after


class Guarded:
    """An array inside a larger buffer whose other bytes are canaries.

    values: what the array holds at first. layout: one of `LAYOUTS`. `array` is the view to pass to a routine;
    `assert_intact()` fails if any byte of the buffer outside the view's elements has changed.
    """

    def __init__(self, values: np.ndarray, layout: str = "F"):
        values = np.asarray(values)
        self.layout = layout
        shape, strides, first = _place(values.shape, layout)
        itemsize = values.dtype.itemsize
        count = 1 + sum((extent - 1) * abs(stride) for extent, stride in zip(shape, strides, strict=True) if extent)
        self._bytes = np.full((count + 2 * _MARGIN) * itemsize, _CANARY, np.uint8)
        flat = self._bytes.view(values.dtype)[_MARGIN + first:]
        self.array = np.lib.stride_tricks.as_strided(flat, shape, [stride * itemsize for stride in strides],
                                                     writeable=True)
        self.array[...] = values
        outside = np.ones(len(self._bytes), bool)
        mask = np.lib.stride_tricks.as_strided(
            outside[(_MARGIN + first) * itemsize:], (*shape, itemsize), [*(s * itemsize for s in strides), 1])
        mask[...] = False
        self._outside = outside

    def assert_intact(self) -> None:
        """No byte outside the array has changed."""
        changed = np.flatnonzero((self._bytes != _CANARY) & self._outside)
        if changed.size:
            raise AssertionError(f"{changed.size} bytes outside the array were written, the first at byte "
                                 f"{changed[0]} of a buffer of {len(self._bytes)} (layout {self.layout})")


LAYOUTS = ("C", "F", "C padded", "F padded", "C reversed", "F reversed", "no unit stride")


def _place(shape, layout):
    """Shape, strides (in elements) and the offset of the first element for a layout."""
    order, _, variant = layout.partition(" ")
    axes = list(range(len(shape)))
    if order != "F":
        axes.reverse()  # the fastest axis first
    strides, step = [0] * len(shape), 2 if layout == "no unit stride" else 1
    for number, axis in enumerate(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
        if variant == "padded" and number == 0:
            step += 3
    first = 0
    if variant == "reversed":
        first = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True) if extent)
        strides = [-stride for stride in strides]
    return shape, strides, first


class DeviceArray:
    """A stand-in for a GPU array on a machine without one: it lives on the executor and shows itself to gpublas
    through `__cuda_array_interface__` only. NumPy cannot read it by accident; `get()` copies to a NumPy array.
    """

    __gpublas_place__ = "executor"

    def __init__(self, values: np.ndarray, *, version: int = 3, readonly: bool = False):
        self._values = values
        self._version, self._readonly = version, readonly

    @property
    def shape(self) -> tuple[int, ...]:
        return self._values.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        values = self._values
        pointer = values.ctypes.data if values.size else 0
        interface = {"version": self._version, "shape": values.shape, "typestr": values.dtype.str,
                     "data": (pointer, self._readonly),
                     "strides": None if values.flags.c_contiguous else values.strides}
        if self._version >= 3:
            interface["stream"] = None
        return interface

    def __gpublas_empty__(self, shape: tuple[int, ...], dtype: np.dtype, order: str) -> DeviceArray:
        return DeviceArray(np.empty(shape, dtype, order=order))  # type: ignore[call-overload]

    def get(self) -> np.ndarray:
        """A copy on the host."""
        return self._values.copy()
