"""Argument predicates: each raises an error that names routine, argument, position, found and wanted.

Routines call them in the order in which reference BLAS tests its arguments, before anything is written.
"""

from __future__ import annotations

import numbers
import operator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .arrays import Array, describe
from .errors import ArgumentError, DTypeError
from .flags import _Flag
from .precision import BY_DTYPE, PRECISIONS, Precision, Routine

_F = TypeVar("_F", bound=_Flag)


class Argument(NamedTuple):
    """A named, positioned array argument and its description."""

    position: int | None
    name: str
    array: Array
    given: Any


class Scalar(NamedTuple):
    """alpha or beta: a value on the host, or where on the device it will be when the kernel runs.

    value: Python number in the routine's precision; 1 when it is on the device. argument: the 0-d device array.
    position: which of the routine's arguments it is, counted from 1; 0 for a constant; None where it is made of them.
    """

    value: complex | float
    argument: Argument | None = None
    position: int | None = None

    @property
    def is_zero(self) -> bool:
        """Whether the value is known to be zero (a device scalar is not known on the host)."""
        return self.argument is None and self.value == 0

    @property
    def pointer(self) -> int:
        return self.argument.array.pointer if self.argument else 0


ONE, ZERO, MINUS_ONE = Scalar(1.0, None, 0), Scalar(0.0, None, 0), Scalar(-1.0, None, 0)


def flag(routine: str, position: int, name: str, value: Any, kind: type[_F]) -> _F:
    """The parsed flag character."""
    parsed = kind.parse(value)
    if parsed is None:
        raise ArgumentError(routine, position, name, repr(value), kind.wanted())
    return parsed


def array(routine: str, position: int | None, name: str, value: Any, ndim: int) -> Argument:
    """The description of an array argument with `ndim` axes."""
    found = describe(value)
    if found is None:
        raise DTypeError(routine, position, name, type(value).__name__,
                         "a NumPy array or one with __dlpack__ or __cuda_array_interface__")
    if found.ndim != ndim:
        raise ArgumentError(routine, position, name, f"{found.ndim} axes (shape {found.shape})", f"{ndim} axes")
    return Argument(position, name, found, value)


def precision(this: Routine, first: Argument) -> Precision:
    """The routine's precision: as its name says, or by the dtype of its first array."""
    if this.precision is not None:
        return this.precision
    found = BY_DTYPE.get(first.array.dtype)
    if found is None:
        raise DTypeError(this.name, first.position, first.name, first.array.dtype,
                         ", ".join(known.dtype.name for known in PRECISIONS))
    return found


def dtype(routine: str, argument: Argument, wanted: np.dtype) -> None:
    """The argument has exactly this element type."""
    if argument.array.dtype != wanted:
        raise DTypeError(routine, argument.position, argument.name, argument.array.dtype, np.dtype(wanted).name)


def shape(routine: str, argument: Argument, wanted: tuple[int, ...], why: str) -> None:
    """The argument has exactly this shape; `why` says how it follows from the other arguments."""
    if argument.array.shape != wanted:
        raise ArgumentError(routine, argument.position, argument.name, f"shape {argument.array.shape}",
                            f"shape {wanted} ({why})")


def extent(routine: str, position: int, name: str, value: Any) -> int:
    """A number of rows or diagonals: an integer that is not negative."""
    try:
        found = operator.index(value)
    except TypeError:
        raise DTypeError(routine, position, name, repr(value), "an integer") from None
    if found < 0:
        raise ArgumentError(routine, position, name, found, "0 or more")
    return found


_EXACT = 2**53  # integers up to here are floating-point numbers


def scalar(routine: str, position: int | None, name: str, value: Any, wanted: Precision) -> Scalar:
    """A number of the routine's precision: Python or NumPy scalar, 0-d host array, or 0-d device array."""
    if type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT):  # the common case, made short
        return Scalar(value if wanted.real.itemsize == 8 else float(wanted.real.type(value)), None, position)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (numbers.Number, np.generic)):
        return Scalar(_number(routine, position, name, value, wanted), None, position)
    found = describe(value)
    if found is None or found.ndim != 0:
        raise ArgumentError(routine, position, name, "an array with axes" if found else type(value).__name__,
                            f"a number or a 0-d array of {wanted.dtype.name}")
    argument = Argument(position, name, found, value)
    dtype(routine, argument, wanted.dtype)
    if found.place == "host":
        return Scalar(_number(routine, position, name, found.ndarray[()], wanted), None, position)
    return Scalar(1.0, argument, position)


def number(routine: str, position: int | None, name: str, value: Any, wanted: Precision) -> Any:
    """A number of the routine's precision on the host: Python or NumPy scalar, or 0-d host array."""
    found = scalar(routine, position, name, value, wanted)
    if found.argument is not None:
        raise ArgumentError(routine, position, name, f"an array on {found.argument.array.place}",
                            "a number on the host")
    return found.value


def _number(routine, position, name, value, wanted):
    if isinstance(value, (complex, np.complexfloating)) and not wanted.is_complex:
        raise DTypeError(routine, position, name, f"the complex number {value}", f"a real number ({wanted.dtype.name})")
    try:
        return wanted.dtype.type(value).item()
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(routine, position, name, repr(value), f"a number ({wanted.dtype.name})") from error
