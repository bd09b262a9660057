"""Level 3 under SciPy's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import level3 as general
from .. import structured
from ..precision import C, D, S, Z
from .interface import Function, apart, op, unit, uplo


def _gemm(this: Function, alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, trans_a: Any = 0,
          trans_b: Any = 0, overwrite_c: Any = 0) -> np.ndarray:
    """alpha op(a) op(b) + beta c; op is nothing, with trans_a, trans_b=1 the transpose, with 2 its conjugate.

    a, b: any order, they are not copied for it. c: zeros by default; a copy of it is returned, or with overwrite_c
    itself where it is an array of {dtype} in Fortran order. Not read when beta is 0. The result is in Fortran order.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1, 2], [3, 4]], [[1, 0], [0, 10]]).real.tolist()
    [[1.0, 20.0], [3.0, 40.0]]
    """
    left, right = this.matrix(a), this.matrix(b)
    op_a, op_b = this.flag("trans_a", trans_a, 2), this.flag("trans_b", trans_b, 2)
    m, k = left.shape[::-1] if op_a else left.shape
    inner, n = right.shape[::-1] if op_b else right.shape
    this.require(inner == k, "trans_b?kb==k:ldb==k", "n", n)
    made, result = this.target("c", c, (m, n), this.integer("overwrite_c", overwrite_c))
    general.gemm(op(op_a), op(op_b), this.number("alpha", alpha), apart(left, made), apart(right, made),
                 this.number("beta", beta), result)
    return made


def _symmetric_product(this: Function, multiply: Callable, alpha: Any, a: Any, b: Any, beta: Any, c: Any, side: Any,
                       lower: Any, overwrite_c: Any) -> np.ndarray:
    left, right = this.matrix(a), this.matrix(b)
    on_the_right, triangle = this.flag("side", side), uplo(this.flag("lower", lower))
    if on_the_right:
        met, shape = right.shape[1] == left.shape[0], (right.shape[0], left.shape[1])
    else:
        met, shape = left.shape[1] == right.shape[0], (left.shape[0], right.shape[1])
    this.require(met, "side? kb==lda : ka==ldb", "n", shape[1])
    made, result = this.target("c", c, shape, this.integer("overwrite_c", overwrite_c))
    multiply("R" if on_the_right else "L", triangle, this.number("alpha", alpha), apart(left, made),
             apart(right, made), this.number("beta", beta), result)
    return made


def _symm(this: Function, alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, side: Any = 0, lower: Any = 0,
          overwrite_c: Any = 0) -> np.ndarray:
    """alpha A b + beta c, or with side=1 alpha b A + beta c, with a symmetric A.

    a: holds A's upper triangle, or with lower the lower one; the other one is not read. c, overwrite_c: as in gemm.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[2, 3], [0, 4]], [[10, 0], [1, 1]]).real.tolist()
    [[23.0, 3.0], [34.0, 4.0]]
    """
    return _symmetric_product(this, structured.symm, alpha, a, b, beta, c, side, lower, overwrite_c)


def _hemm(this: Function, alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, side: Any = 0, lower: Any = 0,
          overwrite_c: Any = 0) -> np.ndarray:
    """alpha A b + beta c, or with side=1 alpha b A + beta c, with a Hermitian A; arguments as in symm.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[2, 3j], [0, 4]], [[1, 0], [0, 1]]).imag.tolist()
    [[0.0, 3.0], [-3.0, 0.0]]
    """
    return _symmetric_product(this, structured.hemm, alpha, a, b, beta, c, side, lower, overwrite_c)


def _update(this: Function, rank_k: Callable, alpha: Any, a: Any, beta: Any, c: Any, trans: Any, lower: Any,
            overwrite_c: Any) -> np.ndarray:
    left, which, triangle = this.matrix(a), this.flag("trans", trans, 2), uplo(this.flag("lower", lower))
    n = left.shape[1 if which else 0]
    made, result = this.target("c", c, (n, n), this.integer("overwrite_c", overwrite_c))
    rank_k(triangle, op(which), alpha, apart(left, made), beta, result)
    return made


def _syrk(this: Function, alpha: Any, a: Any, beta: Any = 0.0, c: Any = None, trans: Any = 0, lower: Any = 0,
          overwrite_c: Any = 0) -> np.ndarray:
    """alpha a a^T + beta c, or with trans=1 alpha a^T a + beta c, in the upper or, with lower, in the lower triangle.

    c: zeros by default; a copy of it is returned, or with overwrite_c itself where it is an array of {dtype} in Fortran
    order. The other triangle stays as it is in c. For complex types trans=2 is an error, as in reference BLAS (SciPy
    returns c then).

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1, 2], [3, 4]]).real.tolist()
    [[5.0, 11.0], [0.0, 25.0]]
    """
    return _update(this, structured.syrk, this.number("alpha", alpha), a, this.number("beta", beta), c, trans, lower,
                   overwrite_c)


def _herk(this: Function, alpha: Any, a: Any, beta: Any = 0.0, c: Any = None, trans: Any = 0, lower: Any = 0,
          overwrite_c: Any = 0) -> np.ndarray:
    """alpha a a^H + beta c, or with trans=2 alpha a^H a + beta c, in a triangle; the rest as in syrk.

    Of alpha and beta only the real part counts. The imaginary part of the diagonal is set to zero. trans=1 is an error,
    as in reference BLAS (SciPy returns c then).

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1j, 2], [3, 4]], lower=1)[1].tolist()
    [(8-3j), (25+0j)]
    """
    return _update(this, structured.herk, this.number("alpha", alpha).real, a, this.number("beta", beta).real, c,
                   trans, lower, overwrite_c)


def _update_by_two(this: Function, rank_2k: Callable, alpha: Any, a: Any, b: Any, beta: Any, c: Any, trans: Any,
                   lower: Any, overwrite_c: Any) -> np.ndarray:
    left, right = this.matrix(a), this.matrix(b)
    which, triangle = this.flag("trans", trans, 2), uplo(this.flag("lower", lower))
    inner, outer = (0, 1) if which else (1, 0)
    k, n = left.shape[inner], left.shape[outer]
    this.require(right.shape[inner] == k, "trans ? lda==ldb: ka==kb", "k", k)
    used = right[:, :n] if which else right[:n]  # b may have more; with fewer, it is gpublas that says so
    made, result = this.target("c", c, (n, n), this.integer("overwrite_c", overwrite_c))
    rank_2k(triangle, op(which), this.number("alpha", alpha), apart(left, made), apart(used, made), beta, result)
    return made


def _syr2k(this: Function, alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, trans: Any = 0, lower: Any = 0,
           overwrite_c: Any = 0) -> np.ndarray:
    """alpha a b^T + alpha b a^T + beta c, or with trans=1 alpha a^T b + alpha b^T a + beta c; the rest as in syrk.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1], [2]], [[3], [4]]).real.tolist()
    [[6.0, 10.0], [0.0, 16.0]]
    """
    return _update_by_two(this, structured.syr2k, alpha, a, b, this.number("beta", beta), c, trans, lower, overwrite_c)


def _her2k(this: Function, alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, trans: Any = 0, lower: Any = 0,
           overwrite_c: Any = 0) -> np.ndarray:
    """alpha a b^H + conj(alpha) b a^H + beta c, or with trans=2 alpha a^H b + conj(alpha) b^H a + beta c.

    Of beta only the real part counts; the rest as in herk.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1], [2j]], [[3], [4]]).tolist()[0]
    [(6+0j), (4-6j)]
    """
    return _update_by_two(this, structured.her2k, alpha, a, b, this.number("beta", beta).real, c, trans, lower,
                          overwrite_c)


def _trmm(this: Function, alpha: Any, a: Any, b: Any, side: Any = 0, lower: Any = 0, trans_a: Any = 0, diag: Any = 0,
          overwrite_b: Any = 0) -> np.ndarray:
    """alpha op(A) b, or with side=1 alpha b op(A), with the upper triangle A of a, or with lower the lower one.

    a: may have more rows and columns than the product needs. trans_a: 0 for A, 1 for its transpose, 2 for its conjugate
    transpose. diag=1: A has ones on its diagonal, whatever a holds there. A copy of b is returned, or with overwrite_b
    itself where it is an array of {dtype} in Fortran order.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1, 2], [9, 3]], [[10], [1]]).real.tolist()
    [[12.0], [3.0]]
    """
    matrix, on_the_right, triangle = this.matrix(a), this.flag("side", side), uplo(this.flag("lower", lower))
    which, ones = this.flag("trans_a", trans_a, 2), unit(this.flag("diag", diag))
    made = this.update(b, this.integer("overwrite_b", overwrite_b))
    result = this.two_axes(made)
    order, k = result.shape[1 if on_the_right else 0], matrix.shape[1]
    this.require(order <= k <= matrix.shape[0], "k>=(side?n:m) && k<=shape(a, 0)", "k", k)
    structured.trmm("R" if on_the_right else "L", triangle, op(which), ones, this.number("alpha", alpha),
                    apart(matrix[:order, :order], made), result)
    return made


def _trsm(this: Function, alpha: Any, a: Any, b: Any, side: Any = 0, lower: Any = 0, trans_a: Any = 0, diag: Any = 0,
          overwrite_b: Any = 0) -> np.ndarray:
    """The solution z of op(A) z = alpha b, or with side=1 of z op(A) = alpha b; arguments as in trmm, but a fits.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1, 2], [9, 4]], [[12], [4]]).real.tolist()
    [[10.0], [1.0]]
    """
    matrix, on_the_right, triangle = this.matrix(a), this.flag("side", side), uplo(this.flag("lower", lower))
    which, ones = this.flag("trans_a", trans_a, 2), unit(this.flag("diag", diag))
    made = this.update(b, this.integer("overwrite_b", overwrite_b))
    result = this.two_axes(made)
    this.require(matrix.shape[0] == matrix.shape[1], "shape(a,0)==shape(a,1)", "a")
    this.require(matrix.shape[0] == result.shape[1 if on_the_right else 0], "shape(a,0)==(side?n:m)", "a")
    structured.trsm("R" if on_the_right else "L", triangle, op(which), ones, this.number("alpha", alpha),
                    apart(matrix, made), result)
    return made


sgemm = Function(_gemm, S)
dgemm = Function(_gemm, D)
cgemm = Function(_gemm, C)
zgemm = Function(_gemm, Z)

ssymm = Function(_symm, S)
dsymm = Function(_symm, D)
csymm = Function(_symm, C)
zsymm = Function(_symm, Z)
chemm = Function(_hemm, C)
zhemm = Function(_hemm, Z)

ssyrk = Function(_syrk, S)
dsyrk = Function(_syrk, D)
csyrk = Function(_syrk, C)
zsyrk = Function(_syrk, Z)
cherk = Function(_herk, C)
zherk = Function(_herk, Z)

ssyr2k = Function(_syr2k, S)
dsyr2k = Function(_syr2k, D)
csyr2k = Function(_syr2k, C)
zsyr2k = Function(_syr2k, Z)
cher2k = Function(_her2k, C)
zher2k = Function(_her2k, Z)

strmm = Function(_trmm, S)
dtrmm = Function(_trmm, D)
ctrmm = Function(_trmm, C)
ztrmm = Function(_trmm, Z)

strsm = Function(_trsm, S)
dtrsm = Function(_trsm, D)
ctrsm = Function(_trsm, C)
ztrsm = Function(_trsm, Z)
