"""axpy, axpby, scal, copy, swap: one pass over one or two vectors."""

from __future__ import annotations

from typing import Any

from .. import backend, checks, everyday
from ..checks import Scalar
from ..context import call
from ..precision import C as _C
from ..precision import D, Routine, S, Z
from ..typed import typed
from .common import on_device, one, real, two, vectors


def _axpy(this: Routine, alpha: Any, x: Any, y: Any) -> Any:
    """y = alpha x + y, in place ({p}axpy of reference BLAS). Returns y.

    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x: 1-D array of {dtype}, read only; any stride, also zero and negative. Not read when alpha == 0.
    y: 1-D array of {dtype} as long as x, read and written; any stride but zero. Untouched when alpha == 0.

    |computed - exact| <= 2 eps (|alpha| |x| + |y|), four times that for complex numbers.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only y, or one that shares
    memory with x; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> y = np.array([10, 20, 30], {example})
    >>> {name}(2, np.array([1, 2, 3], {example}), y).real.tolist()
    [12.0, 24.0, 36.0]
    """
    first, second, kind = two(this, 2, x, 3, y)
    scale = checks.scalar(this.name, 1, "alpha", alpha, kind)
    with call(this, {"x": first, **on_device(alpha=scale)}, updates={"y": second}) as run:
        if first.array.size and not scale.is_zero:
            a, b = vectors(run, "x", "y")
            backend.of(run).axpy(run, scale, a, b)
    return y


def _axpby(this: Routine, alpha: Any, x: Any, beta: Any, y: Any) -> Any:
    """y = alpha x + beta y, in place ({p}axpby, an extension that most BLAS libraries have). Returns y.

    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    x: 1-D array of {dtype}, read only; any stride, also zero and negative. Not read when alpha == 0.
    y: 1-D array of {dtype} as long as x, written; any stride but zero. Not read when beta == 0: NaN there does not
        survive. alpha == beta == 0 gives zeros.

    |computed - exact| <= 2 eps (|alpha| |x| + |beta| |y|), four times that for complex numbers.
    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only y, or one that shares
    memory with x; DTypeError for another element type. Nothing is written then.
    Source: BLAS Technical Forum Standard (2001), section 2.8.5, AXPBY.

    >>> import numpy as np, gpublas
    >>> y = np.array([10, 20, 30], {example})
    >>> {name}(2, np.array([1, 2, 3], {example}), -1, y).real.tolist()
    [-8.0, -16.0, -24.0]
    """
    first, second, kind = two(this, 2, x, 4, y)
    scale_x = checks.scalar(this.name, 1, "alpha", alpha, kind)
    scale_y = checks.scalar(this.name, 3, "beta", beta, kind)
    group, overwrites = {"y": second}, scale_y.is_zero
    with call(this, {"x": first, **on_device(alpha=scale_x, beta=scale_y)}, writes=group if overwrites else None,
              updates=None if overwrites else group) as run:
        if first.array.size:
            a, b = vectors(run, "x", "y")
            backend.of(run).axpby(run, scale_x, a, scale_y, b)
    return y


def _scal(this: Routine, alpha: Any, x: Any) -> Any:
    """x = alpha x, in place ({p}scal of reference BLAS). Returns x.

    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x: 1-D array of {dtype}, read and written; any stride but zero. alpha == 1 leaves it as it is.

    alpha == 0 multiplies like any other number: 0 * NaN and 0 * Inf are NaN (some BLAS libraries write 0).
    Raises ArgumentError (a ValueError) for another number of axes or a read-only x, DTypeError for another element
    type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> {name}(2, np.array([1, 2, 3], {example})).real.tolist()
    [2.0, 4.0, 6.0]
    """
    return _scaled(this, alpha, x, real_scalar=False)


def _scal_real(this: Routine, alpha: Any, x: Any) -> Any:
    """x = alpha x, in place, with a real alpha (csscal, zdscal of reference BLAS). Returns x.

    alpha: real number, or a 0-d device array of {real}, which the kernel reads without synchronising the host.
    x: 1-D array of {dtype}, read and written; any stride but zero. alpha == 1 leaves it as it is.

    Real and imaginary parts are multiplied each for itself; alpha == 0 multiplies too: 0 * NaN and 0 * Inf are NaN.
    Raises ArgumentError (a ValueError) for another number of axes or a read-only x, DTypeError for another element
    type or a complex alpha. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> {name}(2, np.array([1, 2j], {example})).tolist()
    [(2+0j), 4j]
    """
    return _scaled(this, alpha, x, real_scalar=True)


def _scaled(this: Routine, alpha: Any, x: Any, real_scalar: bool) -> Any:
    found, kind = one(this, 2, x)
    scale = checks.scalar(this.name, 1, "alpha", alpha, real(kind) if real_scalar else kind)
    with call(this, on_device(alpha=scale), updates={"x": found}) as run:
        if found.array.size and not _is_one(scale):
            backend.of(run).scal(run, scale, *vectors(run, "x"), real=real_scalar or not kind.is_complex)
    return x


def _is_one(scalar: Scalar) -> bool:
    return scalar.argument is None and scalar.value == 1


def _copy(this: Routine, x: Any, y: Any) -> Any:
    """y = x, bit for bit ({p}copy of reference BLAS). Returns y.

    x: 1-D array of {dtype}, read only; any stride, also zero and negative.
    y: 1-D array of {dtype} as long as x, written, not read; any stride but zero.

    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only y, or one that shares
    memory with x; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> x = np.array([1, 2, 3], {example})
    >>> {name}(x[::-1], np.empty_like(x)).real.tolist()
    [3.0, 2.0, 1.0]
    """
    first, second, _ = two(this, 1, x, 2, y)
    with call(this, {"x": first}, writes={"y": second}) as run:
        if first.array.size:
            backend.of(run).copy(run, *vectors(run, "x", "y"))
    return y


def _swap(this: Routine, x: Any, y: Any) -> tuple[Any, Any]:
    """x and y exchange their elements, bit for bit ({p}swap of reference BLAS). Returns (x, y).

    x, y: 1-D arrays of {dtype} and one length, read and written; any strides but zero.

    Raises ArgumentError (a ValueError) for another length, number of axes or place, a read-only array, or shared
    memory; DTypeError for another element type. Nothing is written then.
    Source: C. Lawson et al., "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5 (1979).

    >>> import numpy as np, gpublas
    >>> x, y = {name}(np.array([1, 2], {example}), np.array([3, 4], {example}))
    >>> x.real.tolist(), y.real.tolist()
    ([3.0, 4.0], [1.0, 2.0])
    """
    first, second, _ = two(this, 1, x, 2, y)
    with call(this, {}, updates={"x": first, "y": second}) as run:
        if first.array.size:
            backend.of(run).swap(run, *vectors(run, "x", "y"))
    return x, y


axpy = typed(_axpy, None, everyday=everyday.axpy)
saxpy = typed(_axpy, S, everyday=everyday.axpy)
daxpy = typed(_axpy, D, everyday=everyday.axpy)
caxpy = typed(_axpy, _C, everyday=everyday.axpy)
zaxpy = typed(_axpy, Z, everyday=everyday.axpy)

axpby = typed(_axpby, None)
saxpby = typed(_axpby, S)
daxpby = typed(_axpby, D)
caxpby = typed(_axpby, _C)
zaxpby = typed(_axpby, Z)

scal = typed(_scal, None, everyday=everyday.scal)
sscal = typed(_scal, S, everyday=everyday.scal)
dscal = typed(_scal, D, everyday=everyday.scal)
cscal = typed(_scal, _C)
zscal = typed(_scal, Z)
csscal = typed(_scal_real, _C, "csscal")
zdscal = typed(_scal_real, Z, "zdscal")

copy = typed(_copy, None)
scopy = typed(_copy, S)
dcopy = typed(_copy, D)
ccopy = typed(_copy, _C)
zcopy = typed(_copy, Z)

swap = typed(_swap, None)
sswap = typed(_swap, S)
dswap = typed(_swap, D)
cswap = typed(_swap, _C)
zswap = typed(_swap, Z)
