"""What SciPy's wrappers (made by f2py) do around every routine: arguments converted, checked, copied or used in place.

The texts of the checks are f2py's, and so is their order: programs, and SciPy's tests, look for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..precision import Precision


class error(ValueError):
    """What a failed check raises, as `_fblas.error` in SciPy (there it is no ValueError)."""


class Function:
    """A routine under its SciPy name. `generic` takes the Function first, then what the user gives.

    It is an object that is called, as SciPy's are, and not a Python function: in the body of a class it does not become
    a method. typecode, prefix: "s", "d", "c" or "z". dtype: of its arrays. module_name, int_dtype: as get_blas_funcs
    sets them in SciPy; indices are 64 bits.
    """

    def __init__(self, generic: Callable, precision: Precision, name: str | None = None):
        self.__name__ = self.__qualname__ = name or precision.prefix + generic.__name__.strip("_")
        self.__module__ = __package__
        signature = inspect.signature(generic)
        self.__signature__ = signature.replace(
            parameters=[parameter.replace(annotation=parameter.empty)
                        for parameter in list(signature.parameters.values())[1:]], return_annotation=signature.empty)
        text = generic.__doc__ or ""
        for word, value in {"{name}": self.__name__, "{dtype}": precision.dtype.name, "{real}": precision.real.name,
                            "{blas}": generic.__name__.strip("_")}.items():
            text = text.replace(word, value)
        self.__doc__ = f"{self.__name__}{self.__signature__}\n\n    {text}"
        self.generic, self.precision, self.dtype = generic, precision, precision.dtype
        self.typecode = self.prefix = precision.prefix
        self.module_name, self.int_dtype = "fblas", np.dtype(np.int64)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.generic(self, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__

    def require(self, met: bool, check: str, name: str, value: Any = None) -> None:
        """Raise f2py's error for a check of a parameter (or of a number that follows from them) that is not met."""
        if not met:
            at = f": {self.__name__}:{name}={value}" if value is not None else ""
            raise error(f"({check}) failed for {self.place(name)}{at}")

    def place(self, name: str) -> str:
        """How f2py names a parameter: "2nd argument x", "1st keyword n"; "hidden m" for one that is none."""
        parameters = self.__signature__.parameters
        if name not in parameters:
            return f"hidden {name}"
        required = [key for key, found in parameters.items() if found.default is found.empty]
        kind, among = ("argument", required) if name in required else (
            "keyword", [key for key in parameters if key not in required])
        position = among.index(name) + 1
        return f"{position}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(position, 'th')} {kind} {name}"

    def integer(self, name: str, value: Any) -> int:
        """An integer parameter; None stands for its default."""
        return self._converted(name, value, int, "int")

    def flag(self, name: str, value: Any, largest: int = 1) -> int:
        """lower, side, diag, or with 2 as the largest value, trans."""
        found = self.integer(name, value)
        if not 0 <= found <= largest:
            self.require(False, f"{name}==0||{name}==1" if largest == 1 else f"{name}>=0 && {name} <=2", name, found)
        return found

    def number(self, name: str, value: Any, real: bool = False) -> Any:
        """A number parameter of the routine's type, or of its real type; None stands for its default."""
        if self.precision.is_complex and not real:
            return self._converted(name, value, complex, "complex")
        return self._converted(name, value, float, "float")

    def _converted(self, name: str, value: Any, kind: type, wanted: str) -> Any:
        if type(value) is kind:  # as most are
            return value
        if value is None:
            value = self.__signature__.parameters[name].default
        try:
            return _first(value, kind)
        except (TypeError, ValueError, IndexError) as cause:
            raise type(cause)(f"{self.__name__}() {self.place(name)} can't be converted to {wanted}") from cause

    def read(self, value: Any) -> np.ndarray:
        """The elements of a vector argument that is only read, in a row."""
        return row(np.asarray(value, self.dtype))

    def update(self, value: Any, in_place: Any) -> np.ndarray:
        """The array that is updated and returned: the caller's where it can be used as it is, else a converted copy.

        f2py also writes to arrays that are read-only; here they are copied.
        """
        if (in_place and isinstance(value, np.ndarray) and value.dtype == self.dtype and value.flags.f_contiguous
                and value.flags.aligned and value.flags.writeable):
            return value
        return np.array(value, dtype=self.dtype, order="F")

    def matrix(self, value: Any) -> np.ndarray:
        """A matrix argument that is only read: no copy for its order, nor for its strides."""
        return self.two_axes(np.asarray(value, self.dtype))

    def two_axes(self, array: np.ndarray) -> np.ndarray:
        """An array as the matrix that f2py sees in it."""
        return array if array.ndim == 2 else array.reshape(_two_axes(array.shape), order="F")

    def target(self, name: str, value: Any, shape: tuple[int, int], in_place: Any) -> tuple[np.ndarray, np.ndarray]:
        """A matrix that is updated: the array to return, and that array as a matrix; zeros where none is given."""
        if value is None:
            made = np.zeros(shape, self.dtype, order="F")
            return made, made
        array = self.update(value, in_place)
        found = _two_axes(array.shape)
        if found != shape:
            axis = 0 if found[0] != shape[0] else 1
            raise ValueError(f"{self.__name__}: failed to create array from the {self.place(name)} -- {axis}-th "
                             f"dimension must be fixed to {shape[axis]} but got {found[axis]}")
        return array, array.reshape(shape, order="F")


def _first(value: Any, kind: type) -> Any:
    """A number out of whatever f2py takes for one: of complex ones the real part, of sequences the first element."""
    if isinstance(value, np.ndarray):
        value = value.flat[0]
    if isinstance(value, (complex, np.complexfloating)) and kind is not complex:
        value = value.real
    if isinstance(value, (list, tuple)):
        return _first(value[0], kind)
    if isinstance(value, str) and kind is complex:
        raise TypeError(value)
    return kind(value)


def _two_axes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The rows and columns that f2py sees in an array with any number of axes."""
    if len(shape) == 2:
        return shape[0], shape[1]
    if len(shape) < 2:
        return (shape[0] or 1, min(shape[0], 1)) if shape else (1, 1)
    longer = [extent for extent in shape if extent != 1]
    return (longer[0], int(np.prod(longer[1:]))) if longer else (1, 1)


def row(array: np.ndarray) -> np.ndarray:
    """All elements in a row, first index fastest; a view of what `Function.update` returns."""
    return array.reshape(-1, order="F")


def elements(vector: np.ndarray, count: int, offset: int, increment: int) -> np.ndarray:
    """The elements of a vector that BLAS means: with a negative increment the last one is first."""
    if count <= 0:
        return vector[:0]
    step = abs(increment)
    found = vector[offset:offset + (count - 1) * step + 1:step]
    return found[::-1] if increment < 0 else found


def apart(source: np.ndarray, result: np.ndarray) -> np.ndarray:
    """An input, copied where it may share memory with the result: gpublas's outputs do not overlap inputs."""
    return source.copy() if np.may_share_memory(source, result) else source


def op(trans: int) -> str:
    return "C" if trans == 2 else "T" if trans else "N"


def uplo(lower: int) -> str:
    return "L" if lower else "U"


def unit(diag: int) -> str:
    return "U" if diag else "N"
