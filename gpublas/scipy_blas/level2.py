"""Level 2 under SciPy's signatures: vectors with an offset and an increment; matrices full, banded and packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..level2 import products, triangular, updates
from ..precision import C, D, S, Z
from .interface import Function, apart, elements, op, row, unit, uplo


def _vector(this: Function, name: str, vector: np.ndarray, count: int, counted: str, offset: Any,
            increment: Any) -> np.ndarray:
    """As many elements of a vector as the matrix says; counted: the number of steps between them, in f2py's words."""
    inc, off = this.integer(f"inc{name}", increment), this.integer(f"off{name}", offset)
    this.require(inc != 0, f"inc{name}>0||inc{name}<0", f"inc{name}", inc)
    this.require(len(vector) > off + (count - 1) * abs(inc), f"len({name})>off{name}+({counted})*abs(inc{name})", name)
    this.require(0 <= off < len(vector), f"off{name}>=0 && off{name}<len({name})", name)
    return elements(vector, count, off, inc)


def _product(this: Function, x: Any, beta: Any, y: Any, columns: tuple[int, str], rows: tuple[int, str],
             places: tuple[Any, Any, Any, Any], overwrite_y: Any, run: Callable) -> np.ndarray:
    """The vector y of a product: run(x, beta, y) with the elements that places (offx, incx, offy, incy) say.

    columns, rows: how many elements x and y have, and the steps between them in f2py's words.
    """
    offx, incx, offy, incy = places
    if y is None:
        size = 1 + this.integer("offy", offy) + (rows[0] - 1) * abs(this.integer("incy", incy))
        made = np.zeros(max(size, 0), this.dtype)
    else:
        made = this.update(y, this.integer("overwrite_y", overwrite_y))
    source = _vector(this, "x", this.read(x), *columns, offx, incx)
    result = _vector(this, "y", row(made), *rows, offy, incy)
    run(apart(source, made), this.number("beta", beta), result)
    return made


def _square(this: Function, a: Any) -> np.ndarray:
    found = this.matrix(a)
    this.require(found.shape[0] == found.shape[1], "shape(a,0)==shape(a,1)", "a")
    return found


def _order(this: Function, n: Any) -> int:
    """The order of a packed matrix, which is an argument of its own."""
    found = this.integer("n", n)
    this.require(found >= 0, "n>=0", "n", found)
    return found


def _packed(this: Function, ap: np.ndarray, n: int) -> np.ndarray:
    """The elements of a packed triangle; there may be more behind them."""
    size = n * (n + 1) // 2
    this.require(len(ap) >= size, "len(ap)>=(n*(n+1)/2)", "ap")
    return ap[:size]


def _band(this: Function, k: Any, a: Any) -> np.ndarray:
    """The k + 1 rows of a banded triangle; there may be more below them."""
    found, width = this.matrix(a), this.integer("k", k)
    this.require(0 <= width <= found.shape[0] - 1, "k>=0&&k<=lda-1", "k", width)
    return found[:width + 1]


def _gemv(this: Function, alpha: Any, a: Any, x: Any, beta: Any = 0.0, y: Any = None, offx: Any = 0, incx: Any = 1,
          offy: Any = 0, incy: Any = 1, trans: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha op(a) x + beta y; op(a) is a, with trans=1 its transpose, with trans=2 its conjugate transpose.

    y: zeros by default; a copy of it is returned, or with overwrite_y itself where it is an array of {dtype} that is
    contiguous in Fortran order. offx, offy: first elements used. incx, incy: steps; negative ones go backwards from the
    last element. Elements of y that are not used stay as they are. Not read when beta is 0.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[1, 2], [3, 4]], [10, 1]).real.tolist()
    [12.0, 34.0]
    """
    matrix, which = this.matrix(a), this.flag("trans", trans, 2)
    rows, columns = matrix.shape[::-1] if which else matrix.shape
    factor = this.number("alpha", alpha)
    return _product(this, x, beta, y, (columns, "cols-1"), (rows, "rows-1"), (offx, incx, offy, incy), overwrite_y,
                    lambda p, scale, q: products.gemv(op(which), factor, apart(matrix, q), p, scale, q))


def _gbmv(this: Function, m: Any, n: Any, kl: Any, ku: Any, alpha: Any, a: Any, x: Any, incx: Any = 1, offx: Any = 0,
          beta: Any = 0.0, y: Any = None, incy: Any = 1, offy: Any = 0, trans: Any = 0,
          overwrite_y: Any = 0) -> np.ndarray:
    """alpha op(A) x + beta y with the m x n matrix A that has kl diagonals below and ku above the main one.

    a: A[i, j] is a[ku + i - j, j]; n columns, kl + ku + 1 rows or more. m is at least kl + ku + 1. The rest as in gemv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(3, 3, 0, 1, 1, [[0, 7, 8], [1, 2, 3]], [100, 10, 1]).real.tolist()
    [170.0, 28.0, 3.0]
    """
    band, which = this.matrix(a), this.flag("trans", trans, 2)
    m, n, kl, ku = (this.integer(name, value) for name, value in (("m", m), ("n", n), ("kl", kl), ("ku", ku)))
    this.require(kl >= 0, "kl>=0", "kl", kl)
    this.require(ku >= 0, "ku>=0", "ku", ku)
    this.require(m >= ku + kl + 1, "m>=ku+kl+1", "m", m)
    this.require(n >= 0 and n == band.shape[1], "n>=0&&n==shape(a,1)", "n", n)
    rows, columns = (n, m) if which else (m, n)
    factor = this.number("alpha", alpha)
    return _product(this, x, beta, y, (columns, "trans==0?n-1:m-1"), (rows, "trans==0?m-1:n-1"),
                    (offx, incx, offy, incy), overwrite_y,
                    lambda p, scale, q: products.gbmv(op(which), m, kl, ku, factor, apart(band[:kl + ku + 1], q), p,
                                                      scale, q))


def _symmetric(this: Function, multiply: Callable, n: int, alpha: Any, stored: np.ndarray, x: Any, beta: Any, y: Any,
               places: tuple[Any, Any, Any, Any], lower: Any, overwrite_y: Any) -> np.ndarray:
    """The products with a matrix of which one triangle is stored."""
    triangle, factor = uplo(this.flag("lower", lower)), this.number("alpha", alpha)
    return _product(this, x, beta, y, (n, "n-1"), (n, "n-1"), places, overwrite_y,
                    lambda p, scale, q: multiply(triangle, factor, apart(stored, q), p, scale, q))


def _symv(this: Function, alpha: Any, a: Any, x: Any, beta: Any = 0.0, y: Any = None, offx: Any = 0, incx: Any = 1,
          offy: Any = 0, incy: Any = 1, lower: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha A x + beta y with a symmetric A of which a holds the upper triangle, or with lower the lower one.

    y, offx, incx, offy, incy, overwrite_y: as in gemv. The other triangle of a is not read.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[2, 3], [0, 4]], [10, 1]).tolist()
    [23.0, 34.0]
    """
    matrix = _square(this, a)
    return _symmetric(this, products.symv, len(matrix), alpha, matrix, x, beta, y, (offx, incx, offy, incy), lower,
                      overwrite_y)


def _hemv(this: Function, alpha: Any, a: Any, x: Any, beta: Any = 0.0, y: Any = None, offx: Any = 0, incx: Any = 1,
          offy: Any = 0, incy: Any = 1, lower: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha A x + beta y with a Hermitian A of which a holds the upper triangle, or with lower the lower one.

    y, offx, incx, offy, incy, overwrite_y: as in gemv. The other triangle of a is not read, nor is the imaginary part
    of its diagonal.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[2, 3j], [0, 4]], [10, 1]).tolist()
    [(20+3j), (4-30j)]
    """
    matrix = _square(this, a)
    return _symmetric(this, products.hemv, len(matrix), alpha, matrix, x, beta, y, (offx, incx, offy, incy), lower,
                      overwrite_y)


def _sbmv(this: Function, k: Any, alpha: Any, a: Any, x: Any, incx: Any = 1, offx: Any = 0, beta: Any = 0.0,
          y: Any = None, incy: Any = 1, offy: Any = 0, lower: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha A x + beta y with a symmetric A that has k diagonals on either side of the main one.

    a: k + 1 rows or more; A[i, j] is a[k + i - j, j] in the upper triangle, or with lower a[i - j, j] in the lower one.
    y, offx, incx, offy, incy, overwrite_y: as in gemv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, 1, [[0, 7, 8], [1, 2, 3]], [100, 10, 1]).tolist()
    [170.0, 728.0, 83.0]
    """
    band = _band(this, k, a)
    return _symmetric(this, products.sbmv, band.shape[1], alpha, band, x, beta, y, (offx, incx, offy, incy), lower,
                      overwrite_y)


def _hbmv(this: Function, k: Any, alpha: Any, a: Any, x: Any, incx: Any = 1, offx: Any = 0, beta: Any = 0.0,
          y: Any = None, incy: Any = 1, offy: Any = 0, lower: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha A x + beta y with a Hermitian A that has k diagonals on either side of the main one, stored as in sbmv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, 1, [[0, 3j], [2, 4]], [10, 1]).tolist()
    [(20+3j), (4-30j)]
    """
    band = _band(this, k, a)
    return _symmetric(this, products.hbmv, band.shape[1], alpha, band, x, beta, y, (offx, incx, offy, incy), lower,
                      overwrite_y)


def _spmv(this: Function, n: Any, alpha: Any, ap: Any, x: Any, incx: Any = 1, offx: Any = 0, beta: Any = 0.0,
          y: Any = None, incy: Any = 1, offy: Any = 0, lower: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha A x + beta y with a symmetric n x n matrix A of which ap holds a triangle column by column.

    ap: the upper triangle, or with lower the lower one; n (n + 1) / 2 elements or more. The rest as in gemv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, 1, [2, 3, 4], [10, 1]).real.tolist()
    [23.0, 34.0]
    """
    order = _order(this, n)
    return _symmetric(this, products.spmv, order, alpha, _packed(this, this.read(ap), order), x, beta, y,
                      (offx, incx, offy, incy), lower, overwrite_y)


def _hpmv(this: Function, n: Any, alpha: Any, ap: Any, x: Any, incx: Any = 1, offx: Any = 0, beta: Any = 0.0,
          y: Any = None, incy: Any = 1, offy: Any = 0, lower: Any = 0, overwrite_y: Any = 0) -> np.ndarray:
    """alpha A x + beta y with a Hermitian n x n matrix A of which ap holds a triangle, as in spmv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, 1, [2, 3j, 4], [10, 1]).tolist()
    [(20+3j), (4-30j)]
    """
    order = _order(this, n)
    return _symmetric(this, products.hpmv, order, alpha, _packed(this, this.read(ap), order), x, beta, y,
                      (offx, incx, offy, incy), lower, overwrite_y)


def _triangular(this: Function, routine: Callable, n: int, stored: np.ndarray, x: Any, offx: Any, incx: Any,
                lower: Any, trans: int, diag: Any, overwrite_x: Any) -> np.ndarray:
    """The products and solutions in place."""
    triangle, ones = uplo(this.flag("lower", lower)), unit(this.flag("diag", diag))
    made = this.update(x, this.integer("overwrite_x", overwrite_x))
    result = _vector(this, "x", row(made), n, "n-1", offx, incx)
    routine(triangle, op(trans), ones, apart(stored, made), result)
    return made


def _trmv(this: Function, a: Any, x: Any, offx: Any = 0, incx: Any = 1, lower: Any = 0, trans: Any = 0, diag: Any = 0,
          overwrite_x: Any = 0) -> np.ndarray:
    """op(A) x with the upper triangle A of a, or with lower the lower one.

    trans: 0 for A, 1 for its transpose, 2 for its conjugate transpose. diag=1: A has ones on its diagonal, whatever a
    holds there. offx: first element used. incx: step; a negative one goes backwards from the last element.
    A copy of x is returned, or with overwrite_x itself where it is an array of {dtype} that is contiguous in Fortran
    order; elements that are not used stay as they are.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([[1, 2], [9, 3]], [10, 1]).real.tolist()
    [12.0, 3.0]
    """
    matrix, which = _square(this, a), this.flag("trans", trans, 2)
    n, off, inc, length = len(matrix), this.integer("offx", offx), this.integer("incx", incx), np.size(x)
    this.require(inc != 0, "incx>0||incx<0", "incx", inc)
    this.require(0 <= off < length, "offx>=0 && offx<len(x)", "offx", off)
    this.require(length > off + (n - 1) * abs(inc), "len(x)>offx+(n-1)*abs(incx)", "n", n)
    return _triangular(this, triangular.trmv, n, matrix, x, off, inc, lower, which, diag, overwrite_x)


def _trsv(this: Function, a: Any, x: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0, trans: Any = 0, diag: Any = 0,
          overwrite_x: Any = 0) -> np.ndarray:
    """The solution z of op(A) z = x; arguments as in trmv (a trans that is neither 0 nor 2 transposes).

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([[1, 2], [9, 4]], [12, 4]).real.tolist()
    [10.0, 1.0]
    """
    matrix = _square(this, a)
    return _triangular(this, triangular.trsv, len(matrix), matrix, x, offx, incx, lower,
                       this.integer("trans", trans), diag, overwrite_x)


def _tbmv(this: Function, k: Any, a: Any, x: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0, trans: Any = 0,
          diag: Any = 0, overwrite_x: Any = 0) -> np.ndarray:
    """op(A) x with a triangular A that has k diagonals beside the main one, stored as in sbmv; the rest as in trsv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[0, 7, 8], [1, 2, 3]], [100, 10, 1]).real.tolist()
    [170.0, 28.0, 3.0]
    """
    band = _band(this, k, a)
    return _triangular(this, triangular.tbmv, band.shape[1], band, x, offx, incx, lower,
                       this.integer("trans", trans), diag, overwrite_x)


def _tbsv(this: Function, k: Any, a: Any, x: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0, trans: Any = 0,
          diag: Any = 0, overwrite_x: Any = 0) -> np.ndarray:
    """The solution z of op(A) z = x; A as in tbmv, the rest as in trsv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [[0, 7, 8], [1, 2, 4]], [170, 28, 4]).real.tolist()
    [100.0, 10.0, 1.0]
    """
    band = _band(this, k, a)
    return _triangular(this, triangular.tbsv, band.shape[1], band, x, offx, incx, lower,
                       this.integer("trans", trans), diag, overwrite_x)


def _tpmv(this: Function, n: Any, ap: Any, x: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0, trans: Any = 0,
          diag: Any = 0, overwrite_x: Any = 0) -> np.ndarray:
    """op(A) x with a triangular n x n matrix A, packed in ap as in spmv; the rest as in trsv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, [1, 2, 3], [10, 1]).real.tolist()
    [12.0, 3.0]
    """
    order = _order(this, n)
    return _triangular(this, triangular.tpmv, order, _packed(this, this.read(ap), order), x, offx, incx, lower,
                       this.integer("trans", trans), diag, overwrite_x)


def _tpsv(this: Function, n: Any, ap: Any, x: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0, trans: Any = 0,
          diag: Any = 0, overwrite_x: Any = 0) -> np.ndarray:
    """The solution z of op(A) z = x; A as in tpmv, the rest as in trsv.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, [1, 2, 4], [12, 4]).real.tolist()
    [10.0, 1.0]
    """
    order = _order(this, n)
    return _triangular(this, triangular.tpsv, order, _packed(this, this.read(ap), order), x, offx, incx, lower,
                       this.integer("trans", trans), diag, overwrite_x)


def _rank_one(this: Function, update: Callable, alpha: Any, x: Any, y: Any, incx: Any, incy: Any, a: Any,
              overwrite_a: Any) -> np.ndarray:
    first, second, steps = this.read(x), this.read(y), []
    for name, value in (("incx", incx), ("incy", incy)):
        steps.append(this.integer(name, value))
        this.require(abs(steps[-1]) == 1, f"{name}==1||{name}==-1", name, steps[-1])
    made, result = this.target("a", a, (len(first), len(second)), this.integer("overwrite_a", overwrite_a))
    update(this.number("alpha", alpha), apart(first[::steps[0]], made), apart(second[::steps[1]], made), result)
    return made


def _ger(this: Function, alpha: Any, x: Any, y: Any, incx: Any = 1, incy: Any = 1, a: Any = None, overwrite_x: Any = 1,
         overwrite_y: Any = 1, overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x y^T, with all of x and y, backwards with an increment of -1 (1 and -1 are allowed).

    a: zeros by default; a copy of it is returned, or with overwrite_a itself where it is an array of {dtype} in Fortran
    order. x and y are never overwritten.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 2], [10, 20]).tolist()
    [[10.0, 20.0], [20.0, 40.0]]
    """
    return _rank_one(this, updates.ger, alpha, x, y, incx, incy, a, overwrite_a)


def _geru(this: Function, alpha: Any, x: Any, y: Any, incx: Any = 1, incy: Any = 1, a: Any = None, overwrite_x: Any = 1,
          overwrite_y: Any = 1, overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x y^T; arguments as in ger.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 2], [1, 1j]).tolist()
    [[(1+0j), 1j], [(2+0j), 2j]]
    """
    return _rank_one(this, updates.geru, alpha, x, y, incx, incy, a, overwrite_a)


def _gerc(this: Function, alpha: Any, x: Any, y: Any, incx: Any = 1, incy: Any = 1, a: Any = None, overwrite_x: Any = 1,
          overwrite_y: Any = 1, overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x y^H; arguments as in ger.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 2], [1, 1j]).imag.tolist()
    [[0.0, -1.0], [0.0, -2.0]]
    """
    return _rank_one(this, updates.gerc, alpha, x, y, incx, incy, a, overwrite_a)


def _ends(this: Function, name: str, vector: np.ndarray, offset: Any, increment: Any) -> tuple[int, int, int]:
    """The offset and increment of a vector, and how many of its elements they reach."""
    inc, off = this.integer(f"inc{name}", increment), this.integer(f"off{name}", offset)
    this.require(inc != 0, f"inc{name}>0||inc{name}<0", f"inc{name}", inc)
    this.require(0 <= off < len(vector), f"off{name} >= 0 && off{name} < len({name})", name)
    return off, inc, (len(vector) - 1 - off) // abs(inc) + 1


def _symmetric_rank_one(this: Function, update: Callable, alpha: Any, x: Any, lower: Any, incx: Any, offx: Any, n: Any,
                        a: Any, overwrite_a: Any) -> np.ndarray:
    triangle, vector = uplo(this.flag("lower", lower)), this.read(x)
    off, inc, most = _ends(this, "x", vector, offx, incx)
    order = most if n is None else this.integer("n", n)
    this.require(order >= 0, "n >= 0", "n", order)
    this.require(order <= most, "n <= (len(x)-1-offx)/abs(incx)+1", "n", order)
    made, result = this.target("a", a, (order, order), this.integer("overwrite_a", overwrite_a))
    update(triangle, alpha, apart(elements(vector, order, off, inc), made), result)
    return made


def _syr(this: Function, alpha: Any, x: Any, lower: Any = 0, incx: Any = 1, offx: Any = 0, n: Any = None, a: Any = None,
         overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x x^T in the upper triangle, or with lower in the lower one; the rest stays as it is in a.

    n: number of elements of x that are used, by default all that fit. offx: the first one. incx: step; a negative one
    goes backwards from the last element. a: n x n, zeros by default; a copy of it is returned, or with overwrite_a
    itself where it is an array of {dtype} in Fortran order.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 3]).real.tolist()
    [[1.0, 3.0], [0.0, 9.0]]
    """
    return _symmetric_rank_one(this, updates.syr, this.number("alpha", alpha), x, lower, incx, offx, n, a, overwrite_a)


def _her(this: Function, alpha: Any, x: Any, lower: Any = 0, incx: Any = 1, offx: Any = 0, n: Any = None, a: Any = None,
         overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x x^H in a triangle of a Hermitian matrix; of alpha only the real part counts. The rest as in syr.

    The imaginary part of the diagonal is set to zero.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 3j]).imag.tolist()
    [[0.0, -3.0], [0.0, 0.0]]
    """
    factor = this.number("alpha", alpha).real
    return _symmetric_rank_one(this, updates.her, factor, x, lower, incx, offx, n, a, overwrite_a)


def _symmetric_rank_two(this: Function, update: Callable, alpha: Any, x: Any, y: Any, lower: Any,
                        places: tuple[Any, Any, Any, Any], n: Any, a: Any, overwrite_a: Any) -> np.ndarray:
    triangle, first, second = uplo(this.flag("lower", lower)), this.read(x), this.read(y)
    incx, offx, incy, offy = places
    off_x, inc_x, most_x = _ends(this, "x", first, offx, incx)
    off_y, inc_y, most_y = _ends(this, "y", second, offy, incy)
    order = min(most_x, most_y) if n is None else this.integer("n", n)
    this.require(order >= 0, "n>=0", "n", order)
    this.require(order <= most_y, "n <= (len(y)-1-offy)/abs(incy)+1", "n", order)
    this.require(order <= most_x, "n <= (len(x)-1-offx)/abs(incx)+1", "n", order)
    made, result = this.target("a", a, (order, order), this.integer("overwrite_a", overwrite_a))
    update(triangle, this.number("alpha", alpha), apart(elements(first, order, off_x, inc_x), made),
           apart(elements(second, order, off_y, inc_y), made), result)
    return made


def _syr2(this: Function, alpha: Any, x: Any, y: Any, lower: Any = 0, incx: Any = 1, offx: Any = 0, incy: Any = 1,
          offy: Any = 0, n: Any = None, a: Any = None, overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x y^T + alpha y x^T in the upper triangle, or with lower in the lower one; the rest as in syr.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 3], [10, 20]).tolist()
    [[20.0, 50.0], [0.0, 120.0]]
    """
    return _symmetric_rank_two(this, updates.syr2, alpha, x, y, lower, (incx, offx, incy, offy), n, a, overwrite_a)


def _her2(this: Function, alpha: Any, x: Any, y: Any, lower: Any = 0, incx: Any = 1, offx: Any = 0, incy: Any = 1,
          offy: Any = 0, n: Any = None, a: Any = None, overwrite_a: Any = 0) -> np.ndarray:
    """a + alpha x y^H + conj(alpha) y x^H in a triangle of a Hermitian matrix; the rest as in her.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, [1, 1j], [2, 3], lower=1)[1, 0].item()
    (3+2j)
    """
    return _symmetric_rank_two(this, updates.her2, alpha, x, y, lower, (incx, offx, incy, offy), n, a, overwrite_a)


def _packed_rank_one(this: Function, update: Callable, n: Any, alpha: Any, x: Any, ap: Any, incx: Any, offx: Any,
                     lower: Any, overwrite_ap: Any) -> np.ndarray:
    order, triangle = _order(this, n), uplo(this.flag("lower", lower))
    vector = _vector(this, "x", this.read(x), order, "n-1", offx, incx)
    made = this.update(ap, this.integer("overwrite_ap", overwrite_ap))
    update(triangle, alpha, apart(vector, made), _packed(this, row(made), order))
    return made


def _spr(this: Function, n: Any, alpha: Any, x: Any, ap: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0,
         overwrite_ap: Any = 0) -> np.ndarray:
    """A + alpha x x^T for a symmetric n x n matrix A, packed in ap as in spmv; incx, offx as in syr.

    A copy of ap is returned, or with overwrite_ap itself where it is a contiguous array of {dtype}.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, 1, [1, 3], [0, 0, 1]).real.tolist()
    [1.0, 3.0, 10.0]
    """
    return _packed_rank_one(this, updates.spr, n, this.number("alpha", alpha), x, ap, incx, offx, lower, overwrite_ap)


def _hpr(this: Function, n: Any, alpha: Any, x: Any, ap: Any, incx: Any = 1, offx: Any = 0, lower: Any = 0,
         overwrite_ap: Any = 0) -> np.ndarray:
    """A + alpha x x^H for a Hermitian n x n matrix A, alpha real; the rest as in spr.

    The imaginary part of the diagonal is set to zero.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, 1, [1, 3j], [0, 0, 1]).imag.tolist()
    [0.0, -3.0, 0.0]
    """
    factor = this.number("alpha", alpha, real=True)
    return _packed_rank_one(this, updates.hpr, n, factor, x, ap, incx, offx, lower, overwrite_ap)


def _packed_rank_two(this: Function, update: Callable, n: Any, alpha: Any, x: Any, y: Any, ap: Any,
                     places: tuple[Any, Any, Any, Any], lower: Any, overwrite_ap: Any) -> np.ndarray:
    incx, offx, incy, offy = places
    order, triangle = _order(this, n), uplo(this.flag("lower", lower))
    first = _vector(this, "x", this.read(x), order, "n-1", offx, incx)
    second = _vector(this, "y", this.read(y), order, "n-1", offy, incy)
    made = this.update(ap, this.integer("overwrite_ap", overwrite_ap))
    update(triangle, this.number("alpha", alpha), apart(first, made), apart(second, made),
           _packed(this, row(made), order))
    return made


def _spr2(this: Function, n: Any, alpha: Any, x: Any, y: Any, ap: Any, incx: Any = 1, offx: Any = 0, incy: Any = 1,
          offy: Any = 0, lower: Any = 0, overwrite_ap: Any = 0) -> np.ndarray:
    """A + alpha x y^T + alpha y x^T for a symmetric n x n matrix A, packed in ap; the rest as in spr.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, 1, [1, 3], [10, 20], [0, 0, 1]).tolist()
    [20.0, 50.0, 121.0]
    """
    return _packed_rank_two(this, updates.spr2, n, alpha, x, y, ap, (incx, offx, incy, offy), lower, overwrite_ap)


def _hpr2(this: Function, n: Any, alpha: Any, x: Any, y: Any, ap: Any, incx: Any = 1, offx: Any = 0, incy: Any = 1,
          offy: Any = 0, lower: Any = 0, overwrite_ap: Any = 0) -> np.ndarray:
    """A + alpha x y^H + conj(alpha) y x^H for a Hermitian n x n matrix A, packed in ap; the rest as in hpr.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, 1, [1, 1j], [2, 3], [0, 0, 0], lower=1)[1].item()
    (3+2j)
    """
    return _packed_rank_two(this, updates.hpr2, n, alpha, x, y, ap, (incx, offx, incy, offy), lower, overwrite_ap)


sgemv = Function(_gemv, S)
dgemv = Function(_gemv, D)
cgemv = Function(_gemv, C)
zgemv = Function(_gemv, Z)

sgbmv = Function(_gbmv, S)
dgbmv = Function(_gbmv, D)
cgbmv = Function(_gbmv, C)
zgbmv = Function(_gbmv, Z)

ssymv = Function(_symv, S)
dsymv = Function(_symv, D)
chemv = Function(_hemv, C)
zhemv = Function(_hemv, Z)

ssbmv = Function(_sbmv, S)
dsbmv = Function(_sbmv, D)
chbmv = Function(_hbmv, C)
zhbmv = Function(_hbmv, Z)

sspmv = Function(_spmv, S)
dspmv = Function(_spmv, D)
cspmv = Function(_spmv, C)
zspmv = Function(_spmv, Z)
chpmv = Function(_hpmv, C)
zhpmv = Function(_hpmv, Z)

strmv = Function(_trmv, S)
dtrmv = Function(_trmv, D)
ctrmv = Function(_trmv, C)
ztrmv = Function(_trmv, Z)

strsv = Function(_trsv, S)
dtrsv = Function(_trsv, D)
ctrsv = Function(_trsv, C)
ztrsv = Function(_trsv, Z)

stbmv = Function(_tbmv, S)
dtbmv = Function(_tbmv, D)
ctbmv = Function(_tbmv, C)
ztbmv = Function(_tbmv, Z)

stbsv = Function(_tbsv, S)
dtbsv = Function(_tbsv, D)
ctbsv = Function(_tbsv, C)
ztbsv = Function(_tbsv, Z)

stpmv = Function(_tpmv, S)
dtpmv = Function(_tpmv, D)
ctpmv = Function(_tpmv, C)
ztpmv = Function(_tpmv, Z)

stpsv = Function(_tpsv, S)
dtpsv = Function(_tpsv, D)
ctpsv = Function(_tpsv, C)
ztpsv = Function(_tpsv, Z)

sger = Function(_ger, S)
dger = Function(_ger, D)
cgeru = Function(_geru, C)
zgeru = Function(_geru, Z)
cgerc = Function(_gerc, C)
zgerc = Function(_gerc, Z)

ssyr = Function(_syr, S)
dsyr = Function(_syr, D)
csyr = Function(_syr, C)
zsyr = Function(_syr, Z)
cher = Function(_her, C)
zher = Function(_her, Z)

ssyr2 = Function(_syr2, S)
dsyr2 = Function(_syr2, D)
cher2 = Function(_her2, C)
zher2 = Function(_her2, Z)

sspr = Function(_spr, S)
dspr = Function(_spr, D)
cspr = Function(_spr, C)
zspr = Function(_spr, Z)
chpr = Function(_hpr, C)
zhpr = Function(_hpr, Z)

sspr2 = Function(_spr2, S)
dspr2 = Function(_spr2, D)
chpr2 = Function(_hpr2, C)
zhpr2 = Function(_hpr2, Z)
