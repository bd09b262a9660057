"""rot, rotg, rotm, rotmg: plane rotations, applied to vectors and made from numbers.

rotg and rotmg take and return numbers: they run on the host, in the arithmetic of their precision, whatever the device.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from .. import arrays, backend, checks
from ..checks import Argument
from ..context import call
from ..errors import ArgumentError, DTypeError
from ..precision import BY_DTYPE, Precision, Routine, S, Z
from ..precision import C as _C
from ..precision import D as _D
from ..typed import typed
from .common import on_device, real, two, vectors


def _rot(this: Routine, x: Any, y: Any, c: Any, s: Any) -> tuple[Any, Any]:
    """Apply a plane rotation, in place: x, y = c x + s y, c y - conj(s) x ({p}rot of reference BLAS and LAPACK).

    x, y: 1-D arrays of {dtype} and one length, read and written; any strides but zero (a vector whose elements share
        memory is an error, where reference BLAS would rotate one element again and again). Returns (x, y).
    c: real number, or a 0-d device array of {real}. s: number, or a 0-d device array of {dtype}; complex for complex
        vectors (csrot and zdrot take a real one). The kernel reads device arrays without synchronising the host.

    Every product is formed: 0 * NaN is NaN.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only array, or shared
    memory; DTypeError for another element type or a complex c. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979); LAPACK crot.

    >>> import numpy as np, gpublas
    >>> x, y = {name}(np.array([1, 2], {example}), np.array([3, 4], {example}), 0, 1)
    >>> x.real.tolist(), y.real.tolist()
    ([3.0, 4.0], [-1.0, -2.0])
    """
    return _rotated(this, x, y, c, s, real_scalars=False)


def _rot_real(this: Routine, x: Any, y: Any, c: Any, s: Any) -> tuple[Any, Any]:
    """Apply a real plane rotation to complex vectors, in place: x, y = c x + s y, c y - s x (csrot, zdrot of BLAS).

    x, y: 1-D arrays of {dtype} and one length, read and written; any strides but zero (a vector whose elements share
        memory is an error, where reference BLAS would rotate one element again and again). Returns (x, y).
    c, s: real numbers, or 0-d device arrays of {real}, which the kernel reads without synchronising the host.

    Every product is formed: 0 * NaN is NaN. Real and imaginary parts are rotated each for itself.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only array, or shared
    memory; DTypeError for another element type or a complex c or s. Nothing is written then.
    Source: J. Dongarra et al., LINPACK Users' Guide (1979), csrot.

    >>> import numpy as np, gpublas
    >>> x, y = {name}(np.array([1, 2j], {example}), np.array([3, 4], {example}), 0, 1)
    >>> x.tolist(), y.tolist()
    ([(3+0j), (4+0j)], [(-1+0j), -2j])
    """
    return _rotated(this, x, y, c, s, real_scalars=True)


def _rotated(this: Routine, x: Any, y: Any, c: Any, s: Any, real_scalars: bool) -> tuple[Any, Any]:
    first, second, kind = two(this, 1, x, 2, y)
    cosine = checks.scalar(this.name, 3, "c", c, real(kind))
    sine = checks.scalar(this.name, 4, "s", s, real(kind) if real_scalars else kind)
    with call(this.name, on_device(c=cosine, s=sine), updates={"x": first, "y": second}) as run:
        if first.array.size:
            backend.of(run).rot(run, *vectors(run, "x", "y"), cosine, sine, real=real_scalars or not kind.is_complex)
    return x, y


def _rotg(this: Routine, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Make the plane rotation that takes (a, b) to (r, 0) ({p}rotg of reference BLAS 3.10). Returns (r, z, c, s).

    a, b: numbers. c a + s b = r and c b - conj(s) a = 0, c is real, c**2 + |s|**2 = 1.
    Real numbers: r has the sign of the larger of a and b in magnitude (b's on a tie). z holds the rotation in one
        number: s where |a| > |b|, else 1/c, or 1 where c is 0. a = b = 0 gives c = 1, s = 0; b = 0 alone gives
        r = a, c = 1 (of either sign of a).
    Complex numbers: r = (a / |a|) sqrt(|a|**2 + |b|**2), or |b| where a is 0; c is real and not negative. There is no
        such z: reference BLAS leaves b as it was, and z is b.

    Results are NumPy scalars of the type, computed on the host on every device, without overflow or underflow on the
    way. NaN gives NaN.
    Raises DTypeError for what is no number of the type.
    Source: E. Anderson, "Algorithm 978: Safe scaling in the Level 1 BLAS", ACM TOMS 44 (2017).

    >>> import gpublas
    >>> r, z, c, s = {name}(3, 4)
    >>> round(r.real.item(), 5), round(c.item(), 5), round(s.real.item(), 5)
    (5.0, 0.6, 0.8)
    """
    kind = _number_kind(this, a, b)
    scalars = [kind.dtype.type(checks.number(this.name, place, name, value, kind))
               for place, name, value in ((1, "a", a), (2, "b", b))]
    with np.errstate(all="ignore"):
        return (_complex_rotation if kind.is_complex else _real_rotation)(kind, *scalars)


def _number_kind(this: Routine, *values: Any) -> Precision:
    """The precision of a routine on numbers: as its name says, or by their type; Python's numbers are double."""
    if this.precision is not None:
        return this.precision
    types = []
    for position, value in enumerate(values, 1):
        array = arrays.describe(value)
        if array is None and not isinstance(value, (numbers.Number, np.generic)):
            raise DTypeError(this.name, position, "number", type(value).__name__, "a number")
        types.append(value if array is None else array.dtype)
    found = np.result_type(*types)
    kind = _D if found.kind in "biu" else BY_DTYPE.get(found)
    if kind is None:
        raise DTypeError(this.name, 1, "number", found, "float32, float64, complex64 or complex128")
    return kind


def _real_rotation(kind: Precision, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    one, zero = kind.dtype.type(1), kind.dtype.type(0)
    if b == 0:
        return a, zero, one, zero
    if a == 0:
        return b, one, zero, one
    info = np.finfo(kind.dtype)
    size_a, size_b = abs(a), abs(b)
    # The scale keeps the squares in range; its reciprocal must be a number too.
    scale = np.minimum(one / info.tiny, np.maximum(info.tiny, np.maximum(size_a, size_b)))
    sigma = np.copysign(one, a if size_a > size_b else b)
    r = sigma * (scale * np.sqrt((a / scale) ** 2 + (b / scale) ** 2))
    c, s = a / r, b / r
    z = s if size_a > size_b else one / c if c != 0 else one
    return r, z, c, s


def _complex_rotation(kind: Precision, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """c = |a| / h, s = (a / |a|) conj(b) / h, r = (a / |a|) h with h = hypot(|a|, |b|), on scaled numbers."""
    number, part = kind.dtype.type, kind.real.type
    if b == 0:
        return a, b, part(1), number(0)
    unit_a, size_a, exponent_a = _polar(kind, a)
    unit_b, size_b, exponent_b = _polar(kind, b)
    if a == 0:
        return number(np.ldexp(size_b, exponent_b)), b, part(0), np.conj(unit_b)
    # |a| = size_a 2**exponent: sizes lie between 1/2 and 3/2, so only the one that does not count can underflow.
    exponent = max(exponent_a, exponent_b)
    size_a, size_b = np.ldexp(size_a, exponent_a - exponent), np.ldexp(size_b, exponent_b - exponent)
    h = np.hypot(size_a, size_b)
    turned = unit_a * h
    r = number(complex(np.ldexp(turned.real, exponent), np.ldexp(turned.imag, exponent)))
    return r, b, part(size_a / h), number(unit_a * np.conj(unit_b) * part(size_b / h))


def _polar(kind: Precision, value: Any) -> tuple[Any, Any, int]:
    """value = unit * size * 2**exponent with |unit| = 1, without overflow or underflow."""
    exponent = math.frexp(max(abs(value.real), abs(value.imag)))[1]
    re, im = np.ldexp(value.real, -exponent), np.ldexp(value.imag, -exponent)
    size = np.hypot(re, im)
    return kind.dtype.type(complex(re / size, im / size)), size, exponent


def _rotm(this: Routine, x: Any, y: Any, param: Any) -> tuple[Any, Any]:
    """Apply a modified plane rotation, in place: (x, y) = H (x, y) ({p}rotm of reference BLAS). Returns (x, y).

    x, y: 1-D arrays of {dtype} and one length, read and written; any strides but zero.
    param: five real numbers (flag, h11, h21, h12, h22), or an array of them of the same type, which on a GPU the
        kernel reads without synchronising the host. H = [[h11, h12], [h21, h22]], of which the flag says what counts:
        -1 all four; 0 h11 = h22 = 1; 1 h12 = 1, h21 = -1; -2 nothing is done.

    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only array, shared memory,
    or another flag (on the host: on the device it counts as -1); DTypeError for another element type, also complex.
    Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> x, y = {name}(np.array([1, 2], {example}), np.array([3, 4], {example}), [1, 10, 0, 0, 100])
    >>> x.tolist(), y.tolist()
    ([13.0, 24.0], [299.0, 398.0])
    """
    first, second, kind = two(this, 1, x, 2, y)
    if kind.is_complex:
        raise DTypeError(this.name, 1, "x", kind.dtype, "float32 or float64")
    values, there = _parameters(this, param, kind)
    reads = {} if there is None else {"param": there}
    with call(this.name, reads, updates={"x": first, "y": second}) as run:
        if first.array.size:
            backend.of(run).rotm(run, *vectors(run, "x", "y"), run["param"] if there else values)
    return x, y


def _parameters(this: Routine, param: Any, kind: Precision) -> tuple[Any, Argument | None]:
    """The parameters of a modified rotation on the host, or else the contiguous array on the device."""
    if isinstance(param, (list, tuple)):
        param = np.array([checks.number(this.name, 3, "param", value, kind) for value in param], kind.dtype)
    found = checks.array(this.name, 3, "param", param, 1)
    checks.dtype(this.name, found, kind.dtype)
    checks.shape(this.name, found, (5,), "flag, h11, h21, h12, h22")
    if found.array.place != arrays.HOST:
        if found.array.steps != (1,):
            raise ArgumentError(this.name, 3, "param", f"a device array of strides {found.array.strides}",
                                "a contiguous one")
        return None, found
    values = np.array(found.array.ndarray)
    if values[0] not in (-2, -1, 0, 1):
        raise ArgumentError(this.name, 3, "param", f"flag {values[0]}", "-2, -1, 0 or 1")
    return values, None


def _rotmg(this: Routine, d1: Any, d2: Any, x1: Any, y1: Any) -> tuple[Any, Any, Any, np.ndarray]:
    """Make the modified plane rotation that takes the second part of (sqrt(d1) x1, sqrt(d2) y1) to zero.

    ({p}rotmg of reference BLAS 3.10.) Returns (d1, d2, x1, param): the new numbers, and what `rotm` takes.
    d1, d2, x1, y1: real numbers. d1 < 0 gives H = 0 and zeros (flag -1), d2 y1 == 0 gives flag -2.
    param: (flag, h11, h21, h12, h22); what the flag implies is 0 there. d1 and d2 are kept between 4096**-2 and
        4096**2 by powers of 4096, which go into H and x1.

    Computed on the host in the type's arithmetic on every device. Ends for all numbers: infinite d1, d2 are not scaled
    (reference BLAS loops for ever), and a row of H that is scaled twice keeps its values (3.10 overwrites them).
    Raises DTypeError for what is no real number of the type.
    Source: R. Hanson, F. Krogh, "Algorithm 539", ACM TOMS 5 (1979); T. Hopkins, remark, ACM TOMS 23 (1997).

    >>> import numpy as np, gpublas
    >>> d1, d2, x1, param = {name}(1, 1, 2, 1)
    >>> round(float(d1), 5), round(float(d2), 5), float(x1), param.tolist()
    (0.8, 0.8, 2.5, [0.0, 0.0, -0.5, 0.5, 0.0])
    """
    kind = _number_kind(this, d1, d2, x1, y1)
    if kind.is_complex:
        raise DTypeError(this.name, 1, "d1", kind.dtype, "real numbers")
    given = [kind.dtype.type(checks.number(this.name, place, name, value, kind)) for place, name, value in
             ((1, "d1", d1), (2, "d2", d2), (3, "x1", x1), (4, "y1", y1))]
    with np.errstate(all="ignore"):
        return _modified_rotation(kind.dtype.type, *given)


_GAMMA = 4096
_LEAST = 5.9604645e-8  # gamma**-2 to as many digits as reference BLAS has


def _modified_rotation(kind: Any, d1: Any, d2: Any, x1: Any, y1: Any) -> tuple[Any, Any, Any, np.ndarray]:
    zero, one = kind(0), kind(1)
    nothing = zero, zero, zero, np.array([-1, 0, 0, 0, 0], kind)
    if d1 < 0:
        return nothing
    p2 = d2 * y1
    if p2 == 0:
        return d1, d2, x1, np.array([-2, 0, 0, 0, 0], kind)
    p1 = d1 * x1
    q1, q2 = p1 * x1, p2 * y1
    if abs(q1) > abs(q2):
        h11, h21, h12, h22 = one, -y1 / x1, p2 / p1, one
        flag, u = 0, one - h12 * h21
        if not u > 0:  # d1 x1**2 + d2 y1**2 rounds to zero, or is not a number
            return nothing
        d1, d2, x1 = d1 / u, d2 / u, x1 * u
    elif q2 < 0:
        return nothing
    else:
        h11, h21, h12, h22 = p1 / p2, -one, one, x1 / y1
        flag, u = 1, one + h11 * h22
        d1, d2, x1 = d2 / u, d1 / u, y1 * u
    while (power := _scaling(kind, d1)) != 0:
        flag, factor = -1, kind(_GAMMA) ** power
        d1, x1, h11, h12 = d1 * factor ** 2, x1 / factor, h11 / factor, h12 / factor
    while (power := _scaling(kind, d2)) != 0:
        flag, factor = -1, kind(_GAMMA) ** power
        d2, h21, h22 = d2 * factor ** 2, h21 / factor, h22 / factor
    if flag == 0:
        h11 = h22 = zero
    elif flag == 1:
        h21 = h12 = zero
    return d1, d2, x1, np.array([flag, h11, h21, h12, h22], kind)


def _scaling(kind: Any, d: Any) -> int:
    """1 if d is to be multiplied by gamma**2, -1 if divided, 0 if it is in range, zero, infinite or NaN."""
    if d == 0 or not np.isfinite(d):
        return 0
    return 1 if abs(d) <= kind(_LEAST) else -1 if abs(d) >= _GAMMA ** 2 else 0


rot = typed(_rot, None)
srot = typed(_rot, S)
drot = typed(_rot, _D)
crot = typed(_rot, _C)
zrot = typed(_rot, Z)
csrot = typed(_rot_real, _C, "csrot")
zdrot = typed(_rot_real, Z, "zdrot")

rotg = typed(_rotg, None)
srotg = typed(_rotg, S)
drotg = typed(_rotg, _D)
crotg = typed(_rotg, _C)
zrotg = typed(_rotg, Z)

rotm = typed(_rotm, None)
srotm = typed(_rotm, S)
drotm = typed(_rotm, _D)

rotmg = typed(_rotmg, None)
srotmg = typed(_rotmg, S)
drotmg = typed(_rotmg, _D)
