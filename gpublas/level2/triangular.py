"""Products with triangular matrices and solutions of triangular systems, in place."""

from __future__ import annotations

from typing import Any

from .. import backend, checks
from ..context import call
from ..flags import Diag, Op, UpLo
from ..operands import Vector
from ..precision import C as _C
from ..precision import D, Routine, S, Z
from ..typed import typed
from .common import BAND, FULL, PACKED, matrix, order_of, triangle, typed_vector


def _triangular(this: Routine, storage: str, solve: bool, uplo: Any, op: Any, diag: Any, A: Any, x: Any) -> Any:
    """x = op(A) x, or x = inv(op(A)) x."""
    which = checks.flag(this.name, 1, "uplo", uplo, UpLo)
    operation = checks.flag(this.name, 2, "op", op, Op)
    unit = checks.flag(this.name, 3, "diag", diag, Diag) is Diag.U
    a, kind = matrix(this, 4, storage, A)
    b = typed_vector(this, 5, "x", x, kind)
    n = order_of(this, a, b.array.shape[0])
    checks.shape(this.name, b, (n,), f"the order of {storage}")
    with call(this, {storage: a}, updates={"x": b}) as run:
        if n:
            device = backend.of(run)
            compute = device.trsv if solve else device.trmv
            compute(run, triangle(storage, run[storage], n, which).under(operation),
                    (which is UpLo.L) != operation.transposes, unit, Vector.of(run["x"]))
    return x


def _trmv(this: Routine, uplo: Any, op: Any, diag: Any, A: Any, x: Any) -> Any:
    """x = op(A) x with a triangular A, in place ({p}trmv of reference BLAS). Returns x.

    uplo: "U" or "L", the triangle of A that is read. op: "N", "T" (transpose) or "C" (conjugate transpose). diag: "U"
        for a diagonal of ones, which is not read, "N" otherwise.
    A: (n, n) array of {dtype}, read only; any strides. Nothing of the other triangle is read.
    x: array of {dtype} with n elements, overwritten; any stride but zero. A NaN of x reaches only the results that use
        it: what is zero by structure multiplies nothing.

    |computed - exact| <= c (n + 1) eps |op(A)| |x| with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only x, or one that shares memory with
    A; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [np.nan, 4]], {example})
    >>> {name}("U", "N", "N", A, np.array([10, 1], {example})).real.tolist()
    [23.0, 4.0]
    """
    return _triangular(this, FULL, False, uplo, op, diag, A, x)


def _tbmv(this: Routine, uplo: Any, op: Any, diag: Any, AB: Any, x: Any) -> Any:
    """x = op(A) x with a triangular band matrix A, in place ({p}tbmv of reference BLAS). Returns x.

    uplo: "U" or "L", which triangle A is. op: "N", "T" (transpose) or "C" (conjugate transpose). diag: "U" for a
        diagonal of ones, which is not read, "N" otherwise.
    AB: 2-D array of {dtype} and shape (k + 1, n), read only, any strides; "U": AB[k + i - j, j] = A[i, j] for
        j - k <= i <= j; "L": AB[i - j, j] = A[i, j] for j <= i <= j + k. Its corner outside of A is not read.
    x: array of {dtype} with n elements, overwritten; any stride but zero. A NaN of x reaches only the results that use
        it.

    |computed - exact| <= c (k + 2) eps |op(A)| |x| with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only x, or one that shares memory with
    AB; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AB = np.array([[1, 2, 3], [7, 8, np.nan]], {example})  # [[1, 0, 0], [7, 2, 0], [0, 8, 3]]
    >>> {name}("L", "N", "N", AB, np.array([100, 10, 1], {example})).real.tolist()
    [100.0, 720.0, 83.0]
    """
    return _triangular(this, BAND, False, uplo, op, diag, AB, x)


def _tpmv(this: Routine, uplo: Any, op: Any, diag: Any, AP: Any, x: Any) -> Any:
    """x = op(A) x with a triangular A in packed storage, in place ({p}tpmv of reference BLAS). Returns x.

    uplo: "U" or "L", the triangle that AP holds column by column. op: "N", "T" (transpose) or "C" (conjugate
        transpose). diag: "U" for a diagonal of ones, which is not read, "N" otherwise.
    AP: 1-D array of {dtype} with n (n + 1) / 2 elements, read only; any stride.
    x: array of {dtype} with n elements, overwritten; any stride but zero. A NaN of x reaches only the results that use
        it.

    |computed - exact| <= c (n + 1) eps |op(A)| |x| with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only x, or one that shares memory with
    AP; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AP = np.array([2, 3, 4], {example})  # [[2, 3], [0, 4]]
    >>> {name}("U", "N", "N", AP, np.array([10, 1], {example})).real.tolist()
    [23.0, 4.0]
    """
    return _triangular(this, PACKED, False, uplo, op, diag, AP, x)


def _trsv(this: Routine, uplo: Any, op: Any, diag: Any, A: Any, x: Any) -> Any:
    """Solve op(A) z = x with a triangular A; the solution overwrites x ({p}trsv of reference BLAS). Returns x.

    uplo: "U" or "L", the triangle of A that is read. op: "N", "T" (transpose) or "C" (conjugate transpose). diag: "U"
        for a diagonal of ones, which is not read, "N" otherwise.
    A: (n, n) array of {dtype}, read only; any strides. Nothing of the other triangle is read.
    x: array of {dtype} with n elements, overwritten; any stride but zero.

    Elements are divided by the diagonal, never multiplied by a rounded reciprocal: A = 5e-324 I and x of 5e-324 give
    ones. A zero on the diagonal gives Inf or NaN, in the same places for every op; zeros of x are not skipped.
    The residual is small: |op(A) z - x| <= c (n + 1) eps |op(A)| |z| with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only x, or one that shares memory with
    A; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [np.nan, 4]], {example})
    >>> {name}("U", "N", "N", A, np.array([23, 4], {example})).real.tolist()
    [10.0, 1.0]
    """
    return _triangular(this, FULL, True, uplo, op, diag, A, x)


def _tbsv(this: Routine, uplo: Any, op: Any, diag: Any, AB: Any, x: Any) -> Any:
    """Solve op(A) z = x with a triangular band matrix A; the solution overwrites x ({p}tbsv of reference BLAS).

    uplo: "U" or "L", which triangle A is. op: "N", "T" (transpose) or "C" (conjugate transpose). diag: "U" for a
        diagonal of ones, which is not read, "N" otherwise.
    AB: 2-D array of {dtype} and shape (k + 1, n), read only, any strides; "U": AB[k + i - j, j] = A[i, j] for
        j - k <= i <= j; "L": AB[i - j, j] = A[i, j] for j <= i <= j + k. Its corner outside of A is not read.
    x: array of {dtype} with n elements, overwritten and returned; any stride but zero.

    Elements are divided by the diagonal, never multiplied by a rounded reciprocal. A zero on the diagonal gives Inf or
    NaN, in the same places for every op; zeros of x are not skipped.
    The residual is small: |op(A) z - x| <= c (k + 2) eps |op(A)| |z| with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only x, or one that shares memory with
    AB; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AB = np.array([[1, 2, 4], [7, 8, np.nan]], {example})  # [[1, 0, 0], [7, 2, 0], [0, 8, 4]]
    >>> {name}("L", "N", "N", AB, np.array([100, 720, 84], {example})).real.tolist()
    [100.0, 10.0, 1.0]
    """
    return _triangular(this, BAND, True, uplo, op, diag, AB, x)


def _tpsv(this: Routine, uplo: Any, op: Any, diag: Any, AP: Any, x: Any) -> Any:
    """Solve op(A) z = x with a triangular A in packed storage; the solution overwrites x ({p}tpsv of reference BLAS).

    uplo: "U" or "L", the triangle that AP holds column by column. op: "N", "T" (transpose) or "C" (conjugate
        transpose). diag: "U" for a diagonal of ones, which is not read, "N" otherwise.
    AP: 1-D array of {dtype} with n (n + 1) / 2 elements, read only; any stride.
    x: array of {dtype} with n elements, overwritten and returned; any stride but zero.

    Elements are divided by the diagonal, never multiplied by a rounded reciprocal. A zero on the diagonal gives Inf or
    NaN, in the same places for every op; zeros of x are not skipped.
    The residual is small: |op(A) z - x| <= c (n + 1) eps |op(A)| |z| with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only x, or one that shares memory with
    AP; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AP = np.array([2, 3, 4], {example})  # [[2, 3], [0, 4]]
    >>> {name}("U", "N", "N", AP, np.array([23, 4], {example})).real.tolist()
    [10.0, 1.0]
    """
    return _triangular(this, PACKED, True, uplo, op, diag, AP, x)


trmv = typed(_trmv, None)
strmv = typed(_trmv, S)
dtrmv = typed(_trmv, D)
ctrmv = typed(_trmv, _C)
ztrmv = typed(_trmv, Z)

tbmv = typed(_tbmv, None)
stbmv = typed(_tbmv, S)
dtbmv = typed(_tbmv, D)
ctbmv = typed(_tbmv, _C)
ztbmv = typed(_tbmv, Z)

tpmv = typed(_tpmv, None)
stpmv = typed(_tpmv, S)
dtpmv = typed(_tpmv, D)
ctpmv = typed(_tpmv, _C)
ztpmv = typed(_tpmv, Z)

trsv = typed(_trsv, None)
strsv = typed(_trsv, S)
dtrsv = typed(_trsv, D)
ctrsv = typed(_trsv, _C)
ztrsv = typed(_trsv, Z)

tbsv = typed(_tbsv, None)
stbsv = typed(_tbsv, S)
dtbsv = typed(_tbsv, D)
ctbsv = typed(_tbsv, _C)
ztbsv = typed(_tbsv, Z)

tpsv = typed(_tpsv, None)
stpsv = typed(_tpsv, S)
dtpsv = typed(_tpsv, D)
ctpsv = typed(_tpsv, _C)
ztpsv = typed(_tpsv, Z)
