"""find_best_blas_type and get_blas_funcs: a routine for arrays, or for an element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..precision import PRECISIONS
from . import level1, level2, level3
from .interface import Function

# Type characters of NumPy by the routine's type they fit into; every other one is served in double precision.
_KINDS = {**dict.fromkeys("?bBhHef", "s"), **dict.fromkeys("iIlLqQdg", "d"), "F": "c", "D": "z", "G": "z"}
_DTYPES = {kind.prefix: kind.dtype for kind in PRECISIONS}
_ORDER = "sdcz"

# Names that differ from prefix + name: reductions of complex vectors, and dot where conjugates are one or the other.
_ALIASES = {"cnrm2": "scnrm2", "znrm2": "dznrm2", "cdot": "cdotc", "zdot": "zdotc", "cger": "cgerc", "zger": "zgerc",
            "sdotc": "sdot", "sdotu": "sdot", "ddotc": "ddot", "ddotu": "ddot"}


def find_best_blas_type(arrays: Sequence[Any] = (), dtype: Any = None) -> tuple[str, np.dtype, bool]:
    """The routines' type that arrays (or, if there are none, an element type) fit into.

    Returns the prefix "s", "d", "c" or "z", its dtype, and whether the array that needs this type is in Fortran order.
    Types that BLAS does not have, integers of 32 bits or more and None count as float64; float64 together with
    complex64 needs complex128.

    >>> import numpy as np
    >>> from gpublas.scipy_blas import find_best_blas_type
    >>> find_best_blas_type((np.ones((2, 2), np.complex64, order="F"), np.ones(2)))
    ('z', dtype('complex128'), True)
    """
    if not len(arrays):
        prefix = _KINDS.get(np.dtype(dtype).char, "d")
        return prefix, _DTYPES[prefix], False
    known = [_KINDS.get(array.dtype.char) for array in arrays]
    ranks = [len(_ORDER) if prefix is None else _ORDER.index(prefix) for prefix in known]
    decides = ranks.index(max(ranks))
    prefix = known[decides] or "d"
    if prefix == "c" and "d" in known:
        prefix = "z"
    return prefix, _DTYPES[prefix], bool(arrays[decides].flags["FORTRAN"])


def get_blas_funcs(names: str | Sequence[str], arrays: Sequence[Any] = (), dtype: Any = None,
                   ilp64: bool | str = False) -> Function | list[Function]:
    """The functions of these names for the type that find_best_blas_type chooses.

    names: without the type's letter, one or a sequence. ilp64: True, False or "preferred": all have indices of 64 bits.
    Each function has typecode, prefix and dtype, which say its type. Raises ValueError for a name that is not there.

    >>> import numpy as np
    >>> from gpublas.scipy_blas import get_blas_funcs
    >>> gemv, nrm2 = get_blas_funcs(("gemv", "nrm2"), dtype=np.complex64)
    >>> gemv.__name__, nrm2.__name__, gemv.typecode, gemv.dtype
    ('cgemv', 'scnrm2', 'c', dtype('complex64'))
    """
    if isinstance(ilp64, str) and ilp64 != "preferred":
        raise ValueError(f"get_blas_funcs: ilp64 is {ilp64!r}, wanted True, False or 'preferred'")
    prefix, _, _ = find_best_blas_type(arrays, dtype)
    if isinstance(names, str):
        return _function(prefix + names)
    return [_function(prefix + name) for name in names]


def _function(name: str) -> Function:
    name = _ALIASES.get(name, name)
    for level in (level1, level2, level3):
        found = getattr(level, name, None)
        if isinstance(found, Function):
            return found
    raise ValueError(f"BLAS function {name} could not be found")
