"""Reference BLAS on the host: the function pointers that SciPy's cython_blas exports, called through ctypes.

ctypes drops the GIL for the call. Arguments are passed by address, as Fortran does; integers have 32 bits.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

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


def integer(value: int) -> ctypes.c_int:
    """A Fortran INTEGER to be passed by reference."""
    return ctypes.c_int(value)


@functools.cache
def character(value: str) -> ctypes.c_char:
    """A Fortran CHARACTER to be passed by reference."""
    return ctypes.c_char(value.encode())
