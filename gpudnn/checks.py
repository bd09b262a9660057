"""Argument predicates of gpudnn: each raises an error that names routine, argument, what was found and what is wanted.

Everything is checked before anything is written. Geometry (shapes, strides, padding, groups) is checked where the
frozen problems are made, in problem.py.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from gpublas.arrays import HOST, describe
from gpublas.checks import Argument
from gpublas.errors import ArgumentError, DTypeError

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_WANTED_ARRAY = "a NumPy array or one with __dlpack__ or __cuda_array_interface__"


def array(routine: str, position: int | None, name: str, value: Any, rank: int | None = None,
          dtype: np.dtype | None = None, kinds: tuple[np.dtype, ...] = DTYPES) -> Argument:
    """The description of an input array. rank: number of axes, or None for any. dtype: exactly this type, when given,
    else one of `kinds`.

    Host arrays whose strides are no multiple of the element size (fields of packed records) are read from a copy.
    """
    argument = _described(routine, position, name, value, rank, dtype, kinds)
    if argument.array.place == HOST and not argument.array.is_regular:
        compact = np.ascontiguousarray(argument.array.ndarray)
        return _described(routine, position, name, compact, rank, dtype, kinds)
    return argument


def output(routine: str, name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype, why: str) -> Argument:
    """The description of an output array of exactly this shape and type; `why` says where the shape comes from."""
    argument = _described(routine, None, name, value, len(shape), dtype, DTYPES)
    shaped(routine, argument, shape, why)
    if not argument.array.is_regular:
        raise ArgumentError(routine, None, name, f"strides of {argument.array.strides} bytes",
                            f"strides that are multiples of {dtype.itemsize} bytes")
    return argument


def _described(routine, position, name, value, rank, dtype, kinds):
    found = describe(value)
    if found is None:
        raise DTypeError(routine, position, name, type(value).__name__, _WANTED_ARRAY)
    if dtype is not None and found.dtype != dtype:
        raise DTypeError(routine, position, name, found.dtype, f"{dtype.name}, the element type of the other arrays")
    if dtype is None and found.dtype not in kinds:
        raise DTypeError(routine, position, name, found.dtype, " or ".join(kind.name for kind in kinds))
    if rank is not None and found.ndim != rank:
        raise ArgumentError(routine, position, name, f"{found.ndim} axes (shape {found.shape})", f"{rank} axes")
    return Argument(position, name, found, value)


def shaped(routine: str, argument: Argument, shape: tuple[int, ...], why: str) -> None:
    """The argument has exactly this shape."""
    if argument.array.shape != shape:
        raise ArgumentError(routine, argument.position, argument.name, f"shape {argument.array.shape}",
                            f"shape {shape} ({why})")


def choice(routine: str, position: int | None, name: str, value: Any, allowed: Iterable[str]) -> str:
    """One of a few words."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise ArgumentError(routine, position, name, repr(value), " or ".join(map(repr, words)))
    return value


def number(routine: str, name: str, value: Any, dtype: np.dtype) -> float:
    """A real number (alpha, beta), rounded to the arrays' element type."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, np.floating, np.integer)):
        raise DTypeError(routine, None, name, repr(value) if isinstance(value, numbers.Number) else
                         type(value).__name__, "a real number")
    return float(dtype.type(value))


def integer(routine: str, position: int | None, name: str, value: Any, least: int) -> int:
    """An integer that is at least `least`; NumPy integers count, floats and booleans do not."""
    found = _as_integer(value)
    if found is None or found < least:
        raise ArgumentError(routine, position, name, repr(value), f"an integer of at least {least}")
    return found


def per_axis(routine: str, position: int | None, name: str, value: Any, axes: int, least: int) -> tuple[int, ...]:
    """One integer for all spatial axes, or one for each."""
    single = _as_integer(value)
    values = (single,) * axes if single is not None else _sequence(value)
    found = tuple(map(_as_integer, values)) if values is not None else ()
    whole = tuple(one for one in found if one is not None)
    if len(whole) != axes or len(found) != axes or any(one < least for one in whole):
        raise ArgumentError(routine, position, name, repr(value),
                            f"an integer of at least {least}, or {axes} of them, one for each spatial axis")
    return whole


PADDING_WORDS = ("same", "same_lower", "valid")


def padding(routine: str, value: Any, extents: tuple[int, ...], windows: tuple[int, ...],
            strides: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """(before, after) for each spatial axis.

    value: an integer; one for each axis; a pair (before, after) for each axis; "valid" (none); "same": as much as
    makes the output ceil(extent / stride) long, the odd one after the image ("same_lower": before it). extents:
    image. windows: extent of the dilated kernel.
    """
    axes = len(extents)
    if isinstance(value, str):
        choice(routine, None, "padding", value, PADDING_WORDS)
        if value == "valid":
            return ((0, 0),) * axes
        return tuple(_same(*axis, lower=value == "same_lower")
                     for axis in zip(extents, windows, strides, strict=True))
    single = _as_integer(value)
    entries = (single,) * axes if single is not None else _sequence(value)
    pairs = [_padding_pair(entry) for entry in entries or ()]
    whole = tuple(pair for pair in pairs if pair is not None)
    if len(whole) != axes or len(pairs) != axes or any(min(pair) < 0 for pair in whole):
        raise ArgumentError(routine, None, "padding", repr(value),
                            f"an integer of at least 0, {axes} of them, {axes} pairs (before, after), "
                            + " or ".join(map(repr, PADDING_WORDS)))
    return whole


def _same(extent, window, stride, *, lower):
    total = max((math.ceil(extent / stride) - 1) * stride + window - extent, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


def _padding_pair(entry):
    single = _as_integer(entry)
    if single is not None:
        return single, single
    values = tuple(map(_as_integer, _sequence(entry) or ()))
    return values if len(values) == 2 and None not in values else None


def _as_integer(value):
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _sequence(value):
    return tuple(value) if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) else None
