"""dot, nrm2, asum, iamax, iamin: one value out of one or two vectors.

Results are the same from run to run on one device: sums are fixed trees, without atomic operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import checks, everyday
from ..errors import DTypeError
from ..precision import C as _C
from ..precision import D, Routine, S, Z
from ..typed import typed
from .common import one, reduced, two, vectors

_INDEX = np.dtype(np.int64)


def _dot(this: Routine, x: Any, y: Any, *, out: Any = None) -> Any:
    """The sum of x[i] y[i] for real vectors ({p}dot of reference BLAS; `dotu` and `dotc` take complex ones too).

    x, y: 1-D arrays of {dtype} and one length, read only; any strides, also zero and negative. No elements give 0.
    out: an array without axes of the same type, on the device of x and y: the result is stored there and `out`
        returned, without waiting for the device. Otherwise the result is a NumPy scalar.

    float32 is multiplied and added up in float64 (at least as accurate as pairwise summation); for float64
    |computed - exact| <= n eps |x| |y|.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, or an `out` that shares memory
    with x or y; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> x = np.array([1, 2, 3], {example})
    >>> float({name}(x, x[::-1]))
    10.0
    """
    first, second, kind = two(this, 1, x, 2, y)
    if kind.is_complex:
        raise DTypeError(this.name, 1, "x", kind.dtype, "float32 or float64 (dotu and dotc take complex vectors)")
    return _product(this, first, second, False, 0.0, kind.dtype, out)


def _dotu(this: Routine, x: Any, y: Any, *, out: Any = None) -> Any:
    """The sum of x[i] y[i], nothing conjugated ({p}dotu of reference BLAS).

    x, y: 1-D arrays of {dtype} and one length, read only; any strides, also zero and negative. No elements give 0.
    out: an array without axes of the same type, on the device of x and y: the result is stored there and `out`
        returned, without waiting for the device. Otherwise the result is a NumPy scalar.

    Single precision is multiplied and added up in double (at least as accurate as pairwise summation); for double
    |computed - exact| <= 4 n eps |x| |y|.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, or an `out` that shares memory
    with x or y; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> x = np.array([1, 2, 3], {example})
    >>> {name}(x, x[::-1]).real.item()
    10.0
    """
    first, second, kind = two(this, 1, x, 2, y)
    return _product(this, first, second, False, 0.0, kind.dtype, out)


def _dotc(this: Routine, x: Any, y: Any, *, out: Any = None) -> Any:
    """The sum of conj(x[i]) y[i] ({p}dotc of reference BLAS).

    x, y: 1-D arrays of {dtype} and one length, read only; any strides, also zero and negative. No elements give 0.
    out: an array without axes of the same type, on the device of x and y: the result is stored there and `out`
        returned, without waiting for the device. Otherwise the result is a NumPy scalar.

    Single precision is multiplied and added up in double (at least as accurate as pairwise summation); for double
    |computed - exact| <= 4 n eps |x| |y|.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, or an `out` that shares memory
    with x or y; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> x = np.array([1, 2, 3], {example})
    >>> {name}(x, x).real.item()
    14.0
    """
    first, second, kind = two(this, 1, x, 2, y)
    return _product(this, first, second, True, 0.0, kind.dtype, out)


def _dsdot(this: Routine, x: Any, y: Any, *, out: Any = None) -> Any:
    """The sum of x[i] y[i] of float32 vectors, in float64 (dsdot of reference BLAS).

    x, y: 1-D arrays of float32 and one length, read only; any strides, also zero and negative. No elements give 0.
    out: an array without axes of float64, on the device of x and y: the result is stored there and `out` returned,
        without waiting for the device. Otherwise the result is a NumPy float64.

    Products are exact, sums are rounded to float64.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, or an `out` that shares memory
    with x or y; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> float(gpublas.dsdot(np.float32([1e5, 0.5]), np.float32([1e5, 0.5])))
    10000000000.25
    """
    first, second, _ = two(this, 1, x, 2, y)
    return _product(this, first, second, False, 0.0, D.dtype, out)


def _sdsdot(this: Routine, sb: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    """sb + the sum of x[i] y[i] of float32 vectors, in float64, rounded to float32 once (sdsdot of reference BLAS).

    sb: a number. x, y: 1-D arrays of float32 and one length, read only; any strides, also zero and negative.
    out: an array without axes of float32, on the device of x and y: the result is stored there and `out` returned,
        without waiting for the device. Otherwise the result is a NumPy float32.

    Raises ArgumentError (a ValueError) for another length, number of axes or place, an `sb` on the device, or an
    `out` that shares memory with x or y; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> float(gpublas.sdsdot(-1, np.float32([1, 2]), np.float32([3, 4])))
    10.0
    """
    first, second, _ = two(this, 2, x, 3, y)
    start = checks.number(this.name, 1, "sb", sb, S)
    return _product(this, first, second, False, start, S.dtype, out)


def _product(this, first, second, conjugate, start, result, out):
    return reduced(this, {"x": first, "y": second}, result, start, out,
                   lambda device, run, target: device.dot(run, *vectors(run, "x", "y"), conjugate, start, result,
                                                          target))


def _nrm2(this: Routine, x: Any, *, out: Any = None) -> Any:
    """The Euclidean norm, sqrt of the sum of |x[i]|**2 (snrm2, dnrm2, scnrm2, dznrm2 of reference BLAS).

    x: 1-D array of {dtype}, read only; any stride, also zero and negative. No elements give 0.
    out: an array without axes of {real}, on the device of x: the result is stored there and `out` returned, without
        waiting for the device. Otherwise the result is a NumPy scalar of {real}.

    Safe over the whole exponent range, without overflow or underflow on the way; a NaN gives NaN, an Inf without
    NaN gives Inf. Relative error at most (n + 2) eps; single precision is added up in double.
    Raises ArgumentError (a ValueError) for another number of axes or place, or an `out` that shares memory with x;
    DTypeError for another element type. Nothing is written then.
    Source: E. Anderson, "Algorithm 978: Safe scaling in the Level 1 BLAS", ACM TOMS 44 (2017).

    >>> import numpy as np, gpublas
    >>> float({name}(np.array([3, -4], {example})))
    5.0
    """
    found, kind = one(this, 1, x)
    return reduced(this, {"x": found}, kind.real, 0.0, out,
                   lambda device, run, target: device.nrm2(run, *vectors(run, "x"), target))


def _asum(this: Routine, x: Any, *, out: Any = None) -> Any:
    """The sum of magnitudes: of |x[i]|, for complex vectors of |Re x[i]| + |Im x[i]| (?asum of reference BLAS).

    x: 1-D array of {dtype}, read only; any stride, also zero and negative. No elements give 0.
    out: an array without axes of {real}, on the device of x: the result is stored there and `out` returned, without
        waiting for the device. Otherwise the result is a NumPy scalar of {real}.

    Relative error at most n eps (2 n for complex vectors); single precision is added up in double.
    Raises ArgumentError (a ValueError) for another number of axes or place, or an `out` that shares memory with x;
    DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> float({name}(np.array([3, -4], {example})))
    7.0
    """
    found, kind = one(this, 1, x)
    return reduced(this, {"x": found}, kind.real, 0.0, out,
                   lambda device, run, target: device.asum(run, *vectors(run, "x"), target))


def _iamax(this: Routine, x: Any, *, out: Any = None) -> Any:
    """The index of the element of largest magnitude (i?amax of reference BLAS), counted from 0.

    Fortran and cuBLAS count from 1. The magnitude of a complex number is |Re| + |Im|, in its own precision.
    x: 1-D array of {dtype}, read only; any stride, also zero and negative. The index is that of the element, whatever
        the stride; of equal magnitudes the first is taken, the first NaN before all numbers. No elements give -1.
    out: an array without axes of int64, on the device of x: the result is stored there and `out` returned, without
        waiting for the device. Otherwise the result is a NumPy int64.

    Raises ArgumentError (a ValueError) for another number of axes or place, or an `out` that shares memory with x;
    DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> int({name}(np.array([1, -5, 5, 2], {example})))
    1
    """
    return _extreme(this, x, 1, out)


def _iamin(this: Routine, x: Any, *, out: Any = None) -> Any:
    """The index of the element of smallest magnitude (i?amin, an extension that many BLAS libraries have), from 0.

    cuBLAS counts from 1. The magnitude of a complex number is |Re| + |Im|, in its own precision.
    x: 1-D array of {dtype}, read only; any stride, also zero and negative. The index is that of the element, whatever
        the stride; of equal magnitudes the first is taken, the first NaN before all numbers. No elements give -1.
    out: an array without axes of int64, on the device of x: the result is stored there and `out` returned, without
        waiting for the device. Otherwise the result is a NumPy int64.

    Raises ArgumentError (a ValueError) for another number of axes or place, or an `out` that shares memory with x;
    DTypeError for another element type. Nothing is written then.
    Source: BLAS Technical Forum Standard (2001), section 2.8.3, AMIN_VAL (there with the value).

    >>> import numpy as np, gpublas
    >>> int({name}(np.array([4, -1, 1, 2], {example})))
    1
    """
    return _extreme(this, x, -1, out)


def _extreme(this, x, sign, out):
    found, _ = one(this, 1, x)
    return reduced(this, {"x": found}, _INDEX, -1, out,
                   lambda device, run, target: device.iamax(run, *vectors(run, "x"), sign, target))


_everyday_dot, _everyday_dotu = everyday.dot("dot", D), everyday.dot("dotu", Z)
_everyday_dotc = everyday.dot("dotc", Z)

dot = typed(_dot, None, everyday=_everyday_dot)
sdot = typed(_dot, S)
ddot = typed(_dot, D, everyday=_everyday_dot)
dotu = typed(_dotu, None, everyday=_everyday_dotu)
cdotu = typed(_dotu, _C)
zdotu = typed(_dotu, Z, everyday=_everyday_dotu)
dotc = typed(_dotc, None, everyday=_everyday_dotc)
cdotc = typed(_dotc, _C)
zdotc = typed(_dotc, Z, everyday=_everyday_dotc)
dsdot = typed(_dsdot, S, "dsdot")
sdsdot = typed(_sdsdot, S, "sdsdot")

nrm2 = typed(_nrm2, None, everyday=everyday.nrm2)
snrm2 = typed(_nrm2, S)
dnrm2 = typed(_nrm2, D, everyday=everyday.nrm2)
scnrm2 = typed(_nrm2, _C, "scnrm2")
dznrm2 = typed(_nrm2, Z, "dznrm2")

asum = typed(_asum, None)
sasum = typed(_asum, S)
dasum = typed(_asum, D)
scasum = typed(_asum, _C, "scasum")
dzasum = typed(_asum, Z, "dzasum")

iamax = typed(_iamax, None)
isamax = typed(_iamax, S, "isamax")
idamax = typed(_iamax, D, "idamax")
icamax = typed(_iamax, _C, "icamax")
izamax = typed(_iamax, Z, "izamax")

iamin = typed(_iamin, None)
isamin = typed(_iamin, S, "isamin")
idamin = typed(_iamin, D, "idamin")
icamin = typed(_iamin, _C, "icamin")
izamin = typed(_iamin, Z, "izamin")
