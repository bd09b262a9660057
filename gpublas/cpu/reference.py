"""Reference BLAS on the host: the function pointers that SciPy's cython_blas exports, called through ctypes.

ctypes drops the GIL for the call. Arguments are passed by address, as Fortran does; integers have 32 bits.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import Scalar
from ..operands import Matrix, Vector
from ..precision import Precision

INT_MAX = 2**31 - 1

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


@functools.cache
def routine(name: str) -> Callable:
    """The Fortran subroutine of that name; every argument is an address."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    signature = _name_of(capsule)
    count = signature.count(b",") + 1
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(_pointer_of(capsule, signature))


@functools.lru_cache(4096)
def integer(value: int) -> Any:
    """A Fortran INTEGER by reference; BLAS only reads them, so one serves many calls."""
    return ctypes.byref(ctypes.c_int(value))


@functools.cache
def character(value: str) -> Any:
    """A Fortran CHARACTER by reference."""
    return ctypes.byref(ctypes.c_char(value.encode()))


_REALS = {4: ctypes.c_float, 8: ctypes.c_double}


def number(value: complex | float, dtype: np.dtype) -> Any:
    """A Fortran REAL or COMPLEX by reference."""
    if dtype.kind == "c":
        return ctypes.byref((_REALS[dtype.itemsize // 2] * 2)(value.real, value.imag))
    return ctypes.byref(_REALS[dtype.itemsize](value.real))


def call(name: str, precision: Precision, *arguments: Any, real_scalars: bool = False) -> None:
    """Call a subroutine: characters, integers, Scalars of the precision (or of its real part), vectors as an address
    and an increment, matrices as an address and a leading dimension; anything else has a method `passed()`."""
    passed: list[Any] = []
    for argument in arguments:
        kind = type(argument)
        if kind is str:
            passed.append(character(argument))
        elif kind is int:
            passed.append(integer(argument))
        elif kind is Scalar:
            passed.append(number(argument.value, precision.real if real_scalars else precision.dtype))
        elif kind is Matrix:
            passed += (argument.pointer, integer(argument.leading_dimension))
        elif kind is Vector:
            passed += (argument.lowest, integer(argument.stride if argument.size > 1 else 1))
        else:
            passed += argument.passed()
    routine(precision.prefix + name)(*passed)
