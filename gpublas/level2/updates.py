"""Updates of a matrix by products of vectors, in place."""

from __future__ import annotations

from typing import Any

from .. import backend, checks, everyday
from ..context import call
from ..errors import DTypeError
from ..flags import UpLo
from ..operands import Stored, Vector
from ..precision import C as _C
from ..precision import D, Routine, S, Z
from ..typed import typed
from .common import FULL, PACKED, matrix, on_device, order_of, real, triangle, typed_vector, vector


def _rank_one(this: Routine, alpha: Any, x: Any, y: Any, A: Any, conjugate: bool) -> Any:
    """A = A + alpha x y^T, or y^H."""
    a, kind = matrix(this, 4, FULL, A)
    scale = checks.scalar(this.name, 1, "alpha", alpha, kind)
    m, n = a.array.shape
    b = vector(this, 2, "x", x, kind, m, "rows of A")
    c = vector(this, 3, "y", y, kind, n, "columns of A")
    with call(this, {"x": b, "y": c, **on_device(alpha=scale)}, updates={"A": a}) as run:
        if m and n and not scale.is_zero:
            backend.of(run).ger(run, scale, Vector.of(run["x"]), Vector.of(run["y"]),
                                     conjugate and kind.is_complex, Stored.full(run["A"]))
    return A


def _ger(this: Routine, alpha: Any, x: Any, y: Any, A: Any) -> Any:
    """A = A + alpha x y^T for real matrices, in place ({p}ger of reference BLAS; geru and gerc for complex ones).

    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with m and n elements, read only; any strides, also zero and negative. Not read when
        alpha == 0.
    A: (m, n) array of {dtype}, read, written and returned; any strides. Untouched when alpha == 0.

    |computed - exact| <= 3 eps (|A| + |alpha| |x| |y|^T). Zeros of x and y are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong shape or place, a read-only A, or one that shares memory with x or
    y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.ones((2, 3), {example})
    >>> {name}(2, np.array([1, 10], {example}), np.array([1, 2, 3], {example}), A).real.tolist()
    [[3.0, 5.0, 7.0], [21.0, 41.0, 61.0]]
    """
    _, kind = matrix(this, 4, FULL, A)
    if kind.is_complex:
        raise DTypeError(this.name, 4, "A", kind.dtype, "float32 or float64 (geru and gerc take complex matrices)")
    return _rank_one(this, alpha, x, y, A, False)


def _geru(this: Routine, alpha: Any, x: Any, y: Any, A: Any) -> Any:
    """A = A + alpha x y^T, nothing conjugated, in place ({p}geru of reference BLAS).

    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with m and n elements, read only; any strides, also zero and negative. Not read when
        alpha == 0.
    A: (m, n) array of {dtype}, read, written and returned; any strides. Untouched when alpha == 0.

    |computed - exact| <= 12 eps (|A| + |alpha| |x| |y|^T). Zeros of x and y are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong shape or place, a read-only A, or one that shares memory with x or
    y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.ones((2, 2), {example_complex})
    >>> {name}(2, np.array([1, 1j], {example_complex}), np.array([1, 1j], {example_complex}), A).tolist()
    [[(3+0j), (1+2j)], [(1+2j), (-1+0j)]]
    """
    return _rank_one(this, alpha, x, y, A, False)


def _gerc(this: Routine, alpha: Any, x: Any, y: Any, A: Any) -> Any:
    """A = A + alpha x y^H, in place ({p}gerc of reference BLAS).

    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with m and n elements, read only; any strides, also zero and negative. Not read when
        alpha == 0.
    A: (m, n) array of {dtype}, read, written and returned; any strides. Untouched when alpha == 0.

    |computed - exact| <= 12 eps (|A| + |alpha| |x| |y|^T). Zeros of x and y are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong shape or place, a read-only A, or one that shares memory with x or
    y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.ones((2, 2), {example_complex})
    >>> {name}(2, np.array([1, 1j], {example_complex}), np.array([1, 1j], {example_complex}), A).tolist()
    [[(3+0j), (1-2j)], [(1+2j), (3+0j)]]
    """
    return _rank_one(this, alpha, x, y, A, True)


def _symmetric(this: Routine, storage: str, hermitian: bool, uplo: Any, alpha: Any, x: Any, y: Any, A: Any,
               both: bool) -> Any:
    """A = A + alpha x x^T, or with both, A = A + alpha x y^T + alpha y x^T; adjoints if hermitian."""
    which = checks.flag(this.name, 1, "uplo", uplo, UpLo)
    a, kind = matrix(this, 5 if both else 4, storage, A)
    scale = checks.scalar(this.name, 2, "alpha", alpha, real(kind) if hermitian and not both else kind)
    b = typed_vector(this, 3, "x", x, kind)
    n = order_of(this, a, b.array.shape[0])
    checks.shape(this.name, b, (n,), f"the order of {storage}")
    reads = {"x": b, **on_device(alpha=scale)}
    if both:
        reads["y"] = vector(this, 4, "y", y, kind, n, f"the order of {storage}")
    hermitian = hermitian and kind.is_complex
    with call(this, reads, updates={storage: a}) as run:
        if n and not (scale.is_zero and not hermitian):
            backend.of(run).syr(run, scale, Vector.of(run["x"]), Vector.of(run["y"]) if both else None,
                                        hermitian, triangle(storage, run[storage], n, which))
    return A


def _syr(this: Routine, uplo: Any, alpha: Any, x: Any, A: Any) -> Any:
    """A = A + alpha x x^T on one triangle of a symmetric A, in place ({p}syr of reference BLAS; LAPACK if complex).

    uplo: "U" or "L", the triangle of A that is read and written; the other one is untouched, bit for bit.
    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Not read when alpha == 0.
    A: (n, n) array of {dtype}, updated in its triangle and returned; any strides. Untouched when alpha == 0.

    |computed - exact| <= 3 eps (|A| + |alpha| |x| |x|^T), four times that for complex numbers. Zeros of x are not
    skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only A, or one that shares memory with
    x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> {name}("U", 2, np.array([1, 3], {example}), np.ones((2, 2), {example})).real.tolist()
    [[3.0, 7.0], [1.0, 19.0]]
    """
    return _symmetric(this, FULL, False, uplo, alpha, x, None, A, False)


def _her(this: Routine, uplo: Any, alpha: Any, x: Any, A: Any) -> Any:
    """A = A + alpha x x^H on one triangle of a Hermitian A, alpha real, in place ({p}her of reference BLAS).

    uplo: "U" or "L", the triangle of A that is read and written; the other one is untouched, bit for bit.
    alpha: real number, or a 0-d device array of {real}, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Not read when alpha == 0.
    A: (n, n) array of {dtype}, updated in its triangle and returned; any strides. The imaginary part of its diagonal is
        set to zero, also when alpha == 0 (reference BLAS leaves it then); nothing else changes when alpha == 0.

    |computed - exact| <= 12 eps (|A| + |alpha| |x| |x|^T). Zeros of x are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only A, or one that shares memory with
    x; DTypeError for another element type or a complex alpha. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> {name}("U", 2, np.array([1, 1j], {example_complex}), np.full((2, 2), 1 + 1j, {example_complex})).tolist()
    [[(3+0j), (1-1j)], [(1+1j), (3+0j)]]
    """
    return _symmetric(this, FULL, True, uplo, alpha, x, None, A, False)


def _spr(this: Routine, uplo: Any, alpha: Any, x: Any, AP: Any) -> Any:
    """A = A + alpha x x^T for a symmetric A in packed storage, in place ({p}spr of BLAS and LAPACK). Returns AP.

    uplo: "U" or "L", the triangle that AP holds column by column.
    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Not read when alpha == 0.
    AP: 1-D array of {dtype} with n (n + 1) / 2 elements, read, written and returned; any stride but zero. Untouched
        when alpha == 0.

    |computed - exact| <= 3 eps (|A| + |alpha| |x| |x|^T), four times that for complex numbers. Zeros of x are not
    skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only AP, or one that shares memory with
    x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> {name}("U", 2, np.array([1, 3], {example}), np.ones(3, {example})).real.tolist()
    [3.0, 7.0, 19.0]
    """
    return _symmetric(this, PACKED, False, uplo, alpha, x, None, AP, False)


def _hpr(this: Routine, uplo: Any, alpha: Any, x: Any, AP: Any) -> Any:
    """A = A + alpha x x^H for a Hermitian A in packed storage, alpha real, in place ({p}hpr of reference BLAS).

    uplo: "U" or "L", the triangle that AP holds column by column.
    alpha: real number, or a 0-d device array of {real}, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Not read when alpha == 0.
    AP: 1-D array of {dtype} with n (n + 1) / 2 elements, read, written and returned; any stride but zero. The imaginary
        part of the diagonal is set to zero, also when alpha == 0; nothing else changes then.

    |computed - exact| <= 12 eps (|A| + |alpha| |x| |x|^T). Zeros of x are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only AP, or one that shares memory with
    x; DTypeError for another element type or a complex alpha. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> {name}("U", 2, np.array([1, 1j], {example_complex}), np.full(3, 1 + 1j, {example_complex})).tolist()
    [(3+0j), (1-1j), (3+0j)]
    """
    return _symmetric(this, PACKED, True, uplo, alpha, x, None, AP, False)


def _syr2(this: Routine, uplo: Any, alpha: Any, x: Any, y: Any, A: Any) -> Any:
    """A = A + alpha x y^T + alpha y x^T on one triangle of a symmetric A, in place ({p}syr2 of reference BLAS).

    uplo: "U" or "L", the triangle of A that is read and written; the other one is untouched, bit for bit.
    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with n elements, read only; any strides, also zero and negative, each its own. Not read when
        alpha == 0.
    A: (n, n) array of {dtype}, updated in its triangle and returned; any strides. Untouched when alpha == 0.

    |computed - exact| <= 4 eps (|A| + 2 |alpha| |x| |y|^T), four times that for complex numbers. Zeros of x and y are
    not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only A, or one that shares memory with
    x or y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> x, y = np.array([1, 3], {example}), np.array([10, 20], {example})
    >>> {name}("L", 1, x, y, np.ones((2, 2), {example})).real.tolist()
    [[21.0, 1.0], [51.0, 121.0]]
    """
    return _symmetric(this, FULL, False, uplo, alpha, x, y, A, True)


def _her2(this: Routine, uplo: Any, alpha: Any, x: Any, y: Any, A: Any) -> Any:
    """A = A + alpha x y^H + conj(alpha) y x^H on one triangle of a Hermitian A, in place ({p}her2 of reference BLAS).

    uplo: "U" or "L", the triangle of A that is read and written; the other one is untouched, bit for bit.
    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with n elements, read only; any strides, also zero and negative, each its own. Not read when
        alpha == 0.
    A: (n, n) array of {dtype}, updated in its triangle and returned; any strides. The imaginary part of its diagonal is
        set to zero, also when alpha == 0 (reference BLAS leaves it then); nothing else changes when alpha == 0.

    |computed - exact| <= 16 eps (|A| + 2 |alpha| |x| |y|^T). Zeros of x and y are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only A, or one that shares memory with
    x or y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> x, y = np.array([1, 1j], {example_complex}), np.array([2, 3], {example_complex})
    >>> {name}("L", 1, x, y, np.zeros((2, 2), {example_complex})).tolist()
    [[(4+0j), 0j], [(3+2j), 0j]]
    """
    return _symmetric(this, FULL, True, uplo, alpha, x, y, A, True)


def _spr2(this: Routine, uplo: Any, alpha: Any, x: Any, y: Any, AP: Any) -> Any:
    """A = A + alpha x y^T + alpha y x^T for a symmetric A in packed storage, in place ({p}spr2 of reference BLAS).

    uplo: "U" or "L", the triangle that AP holds column by column.
    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with n elements, read only; any strides, also zero and negative, each its own. Not read when
        alpha == 0.
    AP: 1-D array of {dtype} with n (n + 1) / 2 elements, read, written and returned; any stride but zero. Untouched
        when alpha == 0.

    |computed - exact| <= 4 eps (|A| + 2 |alpha| |x| |y|^T), four times that for complex numbers. Zeros of x and y are
    not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only AP, or one that shares memory with
    x or y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> x, y = np.array([1, 3], {example}), np.array([10, 20], {example})
    >>> {name}("L", 1, x, y, np.ones(3, {example})).real.tolist()
    [21.0, 51.0, 121.0]
    """
    return _symmetric(this, PACKED, False, uplo, alpha, x, y, AP, True)


def _hpr2(this: Routine, uplo: Any, alpha: Any, x: Any, y: Any, AP: Any) -> Any:
    """A = A + alpha x y^H + conj(alpha) y x^H for a packed Hermitian A, in place ({p}hpr2 of reference BLAS).

    uplo: "U" or "L", the triangle that AP holds column by column.
    alpha: number, or a 0-d device array, which the kernel reads without synchronising the host.
    x, y: arrays of {dtype} with n elements, read only; any strides, also zero and negative, each its own. Not read when
        alpha == 0.
    AP: 1-D array of {dtype} with n (n + 1) / 2 elements, read, written and returned; any stride but zero. The imaginary
        part of the diagonal is set to zero, also when alpha == 0; nothing else changes then.

    |computed - exact| <= 16 eps (|A| + 2 |alpha| |x| |y|^T). Zeros of x and y are not skipped: times NaN they are NaN.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only AP, or one that shares memory with
    x or y; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> x, y = np.array([1, 1j], {example_complex}), np.array([2, 3], {example_complex})
    >>> {name}("L", 1, x, y, np.zeros(3, {example_complex})).tolist()
    [(4+0j), (3+2j), 0j]
    """
    return _symmetric(this, PACKED, True, uplo, alpha, x, y, AP, True)


_everyday_ger, _everyday_geru, _everyday_gerc = (everyday.ger(name) for name in ("ger", "geru", "gerc"))

ger = typed(_ger, None, everyday=_everyday_ger)
sger = typed(_ger, S, everyday=_everyday_ger)
dger = typed(_ger, D, everyday=_everyday_ger)

geru = typed(_geru, None, everyday=_everyday_geru)
cgeru = typed(_geru, _C, everyday=_everyday_geru)
zgeru = typed(_geru, Z, everyday=_everyday_geru)

gerc = typed(_gerc, None, everyday=_everyday_gerc)
cgerc = typed(_gerc, _C, everyday=_everyday_gerc)
zgerc = typed(_gerc, Z, everyday=_everyday_gerc)

syr = typed(_syr, None)
ssyr = typed(_syr, S)
dsyr = typed(_syr, D)
csyr = typed(_syr, _C)
zsyr = typed(_syr, Z)

her = typed(_her, None)
cher = typed(_her, _C)
zher = typed(_her, Z)

spr = typed(_spr, None)
sspr = typed(_spr, S)
dspr = typed(_spr, D)
cspr = typed(_spr, _C)
zspr = typed(_spr, Z)

hpr = typed(_hpr, None)
chpr = typed(_hpr, _C)
zhpr = typed(_hpr, Z)

syr2 = typed(_syr2, None)
ssyr2 = typed(_syr2, S)
dsyr2 = typed(_syr2, D)
csyr2 = typed(_syr2, _C)
zsyr2 = typed(_syr2, Z)

her2 = typed(_her2, None)
cher2 = typed(_her2, _C)
zher2 = typed(_her2, Z)

spr2 = typed(_spr2, None)
sspr2 = typed(_spr2, S)
dspr2 = typed(_spr2, D)

hpr2 = typed(_hpr2, None)
chpr2 = typed(_hpr2, _C)
zhpr2 = typed(_hpr2, Z)
