"""gemv, gbmv, and the products with symmetric and Hermitian matrices: y = alpha A x + beta y."""

from __future__ import annotations

from typing import Any

from .. import backend, checks, everyday
from ..flags import Op, UpLo
from ..operands import Stored, Vector
from ..precision import C as _C
from ..precision import D, Routine, S, Z
from ..typed import typed
from .common import BAND, FULL, PACKED, matrix, order_of, product, result, triangle, typed_vector, vector


def _gemv(this: Routine, op: Any, alpha: Any, A: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha op(A) x + beta y ({p}gemv of reference BLAS). Returns y.

    op: "N" (as it is), "T" (transpose) or "C" (conjugate transpose), either case; for real matrices "C" is "T".
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    A: 2-D array of {dtype}, read only; any strides: C order, Fortran order and views of them are used in place.
    x: 1-D array of {dtype}, read only, as long as op(A) has columns; any stride, also zero and negative. Neither A nor
        x is read (NaN there has no effect) when alpha == 0.
    y: 1-D array of {dtype}, as long as op(A) has rows, written; any stride but zero. Not read when beta == 0, and then
        it may be omitted: a new array of A's library is returned. Where op(A) has no columns the result is beta y
        (reference BLAS leaves y as it is).

    |computed - exact| <= c (k + 2) eps (|alpha| |op(A)| |x| + |beta| |y|), k the columns of op(A), with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    A or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.array([[1, 2], [3, 4], [5, 6]], {example})
    >>> {name}("N", 1, A, np.array([10, 1], {example})).real.tolist()
    [12.0, 34.0, 56.0]
    """
    operation = checks.flag(this.name, 1, "op", op, Op)
    a, kind = matrix(this, 3, FULL, A)
    scale_x = checks.scalar(this.name, 2, "alpha", alpha, kind)
    scale_y = checks.scalar(this.name, 5, "beta", beta, kind)
    rows, columns = a.array.shape[::-1] if operation.transposes else a.array.shape
    b = vector(this, 4, "x", x, kind, columns, "columns of op(A)")
    c = result(this, 6, y, rows, "rows of op(A)", scale_y, a)
    with product(this, a, b, scale_x, scale_y, c) as run:
        if rows:
            backend.of(run).gemv(run, scale_x, Stored.full(run["A"]).under(operation), Vector.of(run["x"]), scale_y,
                                   Vector.of(run["y"]))
    return c.given


def _gbmv(this: Routine, op: Any, m: Any, kl: Any, ku: Any, alpha: Any, AB: Any, x: Any, beta: Any = 0,
          y: Any = None) -> Any:
    """y = alpha op(A) x + beta y with a band matrix A ({p}gbmv of reference BLAS). Returns y.

    op: "N", "T" (transpose) or "C" (conjugate transpose), either case; for real matrices "C" is "T".
    m: rows of A. kl, ku: number of its diagonals below and above the main one.
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    AB: the band, a 2-D array of {dtype} and shape (kl + ku + 1, n), AB[ku + i - j, j] = A[i, j], read only; any
        strides. Its corners, which lie outside of A, are not read.
    x: 1-D array of {dtype}, read only, as long as op(A) has columns; any stride, also zero and negative. Neither AB
        nor x is read when alpha == 0.
    y: 1-D array of {dtype}, as long as op(A) has rows, written; any stride but zero. Not read when beta == 0, and then
        it may be omitted: a new array of AB's library is returned.

    |computed - exact| <= c (k + 2) eps (|alpha| |op(A)| |x| + |beta| |y|), k = kl + ku + 1, with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, number, shape or place, a read-only y, or one that shares
    memory with AB or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AB = np.array([[np.nan, 7, 8], [1, 2, 3]], {example})  # [[1, 7, 0], [0, 2, 8], [0, 0, 3]]
    >>> {name}("N", 3, 0, 1, 1, AB, np.array([100, 10, 1], {example})).real.tolist()
    [170.0, 28.0, 3.0]
    """
    operation = checks.flag(this.name, 1, "op", op, Op)
    m, kl, ku = (checks.extent(this.name, position, name, value)
                 for position, name, value in ((2, "m", m), (3, "kl", kl), (4, "ku", ku)))
    a, kind = matrix(this, 6, BAND, AB)
    scale_x = checks.scalar(this.name, 5, "alpha", alpha, kind)
    scale_y = checks.scalar(this.name, 8, "beta", beta, kind)
    n = a.array.shape[1]
    checks.shape(this.name, a, (kl + ku + 1, n), f"kl + ku + 1 rows, kl={kl}, ku={ku}")
    rows, columns = (n, m) if operation.transposes else (m, n)
    b = vector(this, 7, "x", x, kind, columns, "columns of op(A)")
    c = result(this, 9, y, rows, "rows of op(A)", scale_y, a)
    with product(this, a, b, scale_x, scale_y, c) as run:
        if rows:
            backend.of(run).gemv(run, scale_x, Stored.band(run["AB"], m, kl, ku).under(operation),
                                   Vector.of(run["x"]), scale_y, Vector.of(run["y"]))
    return c.given


def _symmetric(this: Routine, storage: str, hermitian: bool, uplo: Any, alpha: Any, A: Any, x: Any, beta: Any,
               y: Any) -> Any:
    """The products with a matrix of which one triangle is stored."""
    which = checks.flag(this.name, 1, "uplo", uplo, UpLo)
    a, kind = matrix(this, 3, storage, A)
    scale_x = checks.scalar(this.name, 2, "alpha", alpha, kind)
    scale_y = checks.scalar(this.name, 5, "beta", beta, kind)
    b = typed_vector(this, 4, "x", x, kind)
    n = order_of(this, a, b.array.shape[0])
    checks.shape(this.name, b, (n,), f"the order of {storage}")
    c = result(this, 6, y, n, f"the order of {storage}", scale_y, a)
    with product(this, a, b, scale_x, scale_y, c) as run:
        if n:
            backend.of(run).symv(
                run, scale_x, triangle(storage, run[storage], n, which), hermitian and kind.is_complex,
                Vector.of(run["x"]), scale_y, Vector.of(run["y"]))
    return c.given


def _symv(this: Routine, uplo: Any, alpha: Any, A: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha A x + beta y with a symmetric A ({p}symv of reference BLAS; LAPACK for complex types). Returns y.

    uplo: "U" or "L", the triangle of A that is read; the other one is not (NaN there has no effect).
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    A: (n, n) array of {dtype}, read only; any strides.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Neither A nor x is read when
        alpha == 0.
    y: array of {dtype} with n elements, written; any stride but zero. Not read when beta == 0, and then it may be
        omitted: a new array of A's library is returned.

    |computed - exact| <= c (n + 2) eps (|alpha| |A| |x| + |beta| |y|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    A or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [np.nan, 4]], {example})
    >>> {name}("U", 1, A, np.array([10, 1], {example})).real.tolist()
    [23.0, 34.0]
    """
    return _symmetric(this, FULL, False, uplo, alpha, A, x, beta, y)


def _hemv(this: Routine, uplo: Any, alpha: Any, A: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha A x + beta y with a Hermitian A ({p}hemv of reference BLAS). Returns y.

    uplo: "U" or "L", the triangle of A that is read; the other one, its conjugate, is not. The imaginary part of the
        diagonal is taken as zero, whatever is stored there.
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    A: (n, n) array of {dtype}, read only; any strides.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Neither A nor x is read when
        alpha == 0.
    y: array of {dtype} with n elements, written; any stride but zero. Not read when beta == 0, and then it may be
        omitted: a new array of A's library is returned.

    |computed - exact| <= c (n + 2) eps (|alpha| |A| |x| + |beta| |y|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    A or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3j], [np.nan, 4]], {example_complex})
    >>> {name}("U", 1, A, np.array([10, 1], {example_complex})).tolist()
    [(20+3j), (4-30j)]
    """
    return _symmetric(this, FULL, True, uplo, alpha, A, x, beta, y)


def _sbmv(this: Routine, uplo: Any, alpha: Any, AB: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha A x + beta y with a symmetric band matrix A ({p}sbmv of reference BLAS). Returns y.

    uplo: which half of the band is stored. AB: 2-D array of {dtype} and shape (k + 1, n), read only, any strides;
        "U": AB[k + i - j, j] = A[i, j] for j - k <= i <= j; "L": AB[i - j, j] = A[i, j] for j <= i <= j + k. Its
        corner, which lies outside of A, is not read.
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Neither AB nor x is read when
        alpha == 0.
    y: array of {dtype} with n elements, written; any stride but zero. Not read when beta == 0, and then it may be
        omitted: a new array of AB's library is returned.

    |computed - exact| <= c (2 k + 3) eps (|alpha| |A| |x| + |beta| |y|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    AB or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AB = np.array([[1, 2, 3], [7, 8, np.nan]], {example})  # [[1, 7, 0], [7, 2, 8], [0, 8, 3]]
    >>> {name}("L", 1, AB, np.array([100, 10, 1], {example})).real.tolist()
    [170.0, 728.0, 83.0]
    """
    return _symmetric(this, BAND, False, uplo, alpha, AB, x, beta, y)


def _hbmv(this: Routine, uplo: Any, alpha: Any, AB: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha A x + beta y with a Hermitian band matrix A ({p}hbmv of reference BLAS). Returns y.

    uplo: which half of the band is stored. AB: 2-D array of {dtype} and shape (k + 1, n), read only, any strides;
        "U": AB[k + i - j, j] = A[i, j] for j - k <= i <= j; "L": AB[i - j, j] = A[i, j] for j <= i <= j + k. Its
        corner, which lies outside of A, is not read; the imaginary part of the diagonal is taken as zero.
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Neither AB nor x is read when
        alpha == 0.
    y: array of {dtype} with n elements, written; any stride but zero. Not read when beta == 0, and then it may be
        omitted: a new array of AB's library is returned.

    |computed - exact| <= c (2 k + 3) eps (|alpha| |A| |x| + |beta| |y|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    AB or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AB = np.array([[1, 2], [7j, np.nan]], {example_complex})  # [[1, -7j], [7j, 2]]
    >>> {name}("L", 1, AB, np.array([10, 1], {example_complex})).tolist()
    [(10-7j), (2+70j)]
    """
    return _symmetric(this, BAND, True, uplo, alpha, AB, x, beta, y)


def _spmv(this: Routine, uplo: Any, alpha: Any, AP: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha A x + beta y with a symmetric A in packed storage ({p}spmv of BLAS; LAPACK if complex). Returns y.

    uplo: "U" or "L", the triangle that AP holds column by column. AP: 1-D array of {dtype} with n (n + 1) / 2
        elements, read only; any stride.
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Neither AP nor x is read when
        alpha == 0.
    y: array of {dtype} with n elements, written; any stride but zero. Not read when beta == 0, and then it may be
        omitted: a new array of AP's library is returned.

    |computed - exact| <= c (n + 2) eps (|alpha| |A| |x| + |beta| |y|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    AP or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AP = np.array([2, 3, 4], {example})  # [[2, 3], [3, 4]]
    >>> {name}("U", 1, AP, np.array([10, 1], {example})).real.tolist()
    [23.0, 34.0]
    """
    return _symmetric(this, PACKED, False, uplo, alpha, AP, x, beta, y)


def _hpmv(this: Routine, uplo: Any, alpha: Any, AP: Any, x: Any, beta: Any = 0, y: Any = None) -> Any:
    """y = alpha A x + beta y with a Hermitian A in packed storage ({p}hpmv of reference BLAS). Returns y.

    uplo: "U" or "L", the triangle that AP holds column by column; the other one is its conjugate. AP: 1-D array of
        {dtype} with n (n + 1) / 2 elements, read only; any stride. The imaginary part of the diagonal is taken as zero.
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    x: array of {dtype} with n elements, read only; any stride, also zero and negative. Neither AP nor x is read when
        alpha == 0.
    y: array of {dtype} with n elements, written; any stride but zero. Not read when beta == 0, and then it may be
        omitted: a new array of AP's library is returned.

    |computed - exact| <= c (n + 2) eps (|alpha| |A| |x| + |beta| |y|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape or place, a read-only y, or one that shares memory with
    AP or x; DTypeError for another element type. Nothing is written then.
    Source: J. Dongarra et al., "An extended set of Fortran basic linear algebra subprograms", ACM TOMS 14 (1988).

    >>> import numpy as np, gpublas
    >>> AP = np.array([2, 3j, 4], {example_complex})  # [[2, 3j], [-3j, 4]]
    >>> {name}("U", 1, AP, np.array([10, 1], {example_complex})).tolist()
    [(20+3j), (4-30j)]
    """
    return _symmetric(this, PACKED, True, uplo, alpha, AP, x, beta, y)


gemv = typed(_gemv, None, everyday=everyday.gemv)
sgemv = typed(_gemv, S, everyday=everyday.gemv)
dgemv = typed(_gemv, D, everyday=everyday.gemv)
cgemv = typed(_gemv, _C, everyday=everyday.gemv)
zgemv = typed(_gemv, Z, everyday=everyday.gemv)

gbmv = typed(_gbmv, None)
sgbmv = typed(_gbmv, S)
dgbmv = typed(_gbmv, D)
cgbmv = typed(_gbmv, _C)
zgbmv = typed(_gbmv, Z)

symv = typed(_symv, None)
ssymv = typed(_symv, S)
dsymv = typed(_symv, D)
csymv = typed(_symv, _C)
zsymv = typed(_symv, Z)

hemv = typed(_hemv, None)
chemv = typed(_hemv, _C)
zhemv = typed(_hemv, Z)

sbmv = typed(_sbmv, None)
ssbmv = typed(_sbmv, S)
dsbmv = typed(_sbmv, D)

hbmv = typed(_hbmv, None)
chbmv = typed(_hbmv, _C)
zhbmv = typed(_hbmv, Z)

spmv = typed(_spmv, None)
sspmv = typed(_spmv, S)
dspmv = typed(_spmv, D)
cspmv = typed(_spmv, _C)
zspmv = typed(_spmv, Z)

hpmv = typed(_hpmv, None)
chpmv = typed(_hpmv, _C)
zhpmv = typed(_hpmv, Z)
