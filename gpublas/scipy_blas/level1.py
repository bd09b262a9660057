"""Level 1 under SciPy's signatures: vectors with an offset and an increment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..level1 import elementwise, reductions, rotations
from ..precision import C, D, S, Z
from .interface import Function, apart, elements, row


def _count(this: Function, name: str, vector: np.ndarray, n: int, offset: int, increment: int) -> None:
    length = len(vector)
    if not length - offset > (n - 1) * abs(increment):
        this.require(False, f"len({name})-off{name}>(n-1)*abs(inc{name})", "n", n)


def _start(this: Function, name: str, vector: np.ndarray, offset: Any, increment: Any) -> tuple[int, int]:
    """The offset and increment of a vector."""
    inc, off = this.integer(f"inc{name}", increment), this.integer(f"off{name}", offset)
    this.require(inc != 0, f"inc{name}>0||inc{name}<0", f"inc{name}", inc)
    if not 0 <= off < len(vector):
        this.require(False, f"off{name}>=0 && off{name}<len({name})", f"off{name}", off)
    return off, inc


def _one(this: Function, x: np.ndarray, n: Any, offx: Any, incx: Any) -> np.ndarray:
    """The elements of the only vector of a routine: none with a negative increment, as in reference BLAS."""
    off, inc = _start(this, "x", x, offx, incx)
    n = (len(x) - off) // abs(inc) if n is None else this.integer("n", n)
    _count(this, "x", x, n, off, inc)
    return elements(x, n if inc > 0 else 0, off, inc)


def _two(this: Function, x: np.ndarray, y: np.ndarray, n: Any, offx: Any, incx: Any, offy: Any, incy: Any,
         as_many_as_fit: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The elements of two vectors. as_many_as_fit: n is by default what x has, even where its end is no whole step."""
    off_x, inc_x = _start(this, "x", x, offx, incx)
    off_y, inc_y = _start(this, "y", y, offy, incy)
    if n is None:
        n = (len(x) - 1 - off_x) // abs(inc_x) + 1 if as_many_as_fit else (len(x) - off_x) // abs(inc_x)
    else:
        n = this.integer("n", n)
    _count(this, "y", y, n, off_y, inc_y)
    _count(this, "x", x, n, off_x, inc_x)
    return elements(x, n, off_x, inc_x), elements(y, n, off_y, inc_y)


def _axpy(this: Function, x: Any, y: Any, n: Any = None, a: Any = 1.0, offx: Any = 0, incx: Any = 1, offy: Any = 0,
          incy: Any = 1) -> np.ndarray:
    """y = a x + y, in place where y is an array of {dtype} that is contiguous in Fortran order, else in a copy.

    n: number of elements, by default (len(x) - offx) // abs(incx). offx, offy: first elements used. incx, incy: steps;
    negative ones go backwards from the last element. Returns y or the copy.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([1, 2, 3], [10, 20, 30], a=2).real.tolist()
    [12.0, 24.0, 36.0]
    """
    z = this.update(y, True)
    source, result = _two(this, this.read(x), row(z), n, offx, incx, offy, incy)
    elementwise.axpy(this.number("a", a), apart(source, z), result)
    return z


def _copy(this: Function, x: Any, y: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
          incy: Any = 1) -> np.ndarray:
    """y = x, in place where y is an array of {dtype} that is contiguous in Fortran order, else in a copy.

    n, offx, incx, offy, incy: as in axpy. Returns y or the copy.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([1, 2, 3], [0, 0, 0, 0], offy=1).real.tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    made = this.update(y, True)
    source, result = _two(this, this.read(x), row(made), n, offx, incx, offy, incy)
    elementwise.copy(apart(source, made), result)
    return made


def _swap(this: Function, x: Any, y: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
          incy: Any = 1) -> tuple[np.ndarray, np.ndarray]:
    """x, y = y, x, in place where they are arrays of {dtype} contiguous in Fortran order, else in copies.

    n, offx, incx, offy, incy: as in axpy. Returns (x, y) or the copies. Elements that are in both are an error.

    >>> from gpublas.scipy_blas import {name}
    >>> x, y = {name}([1, 2], [3, 4])
    >>> x.real.tolist(), y.real.tolist()
    ([3.0, 4.0], [1.0, 2.0])
    """
    first, second = this.update(x, True), this.update(y, True)
    elementwise.swap(*_two(this, row(first), row(second), n, offx, incx, offy, incy))
    return first, second


def _scal(this: Function, a: Any, x: Any, n: Any = None, offx: Any = 0, incx: Any = 1) -> np.ndarray:
    """x = a x, in place where x is an array of {dtype} that is contiguous in Fortran order, else in a copy.

    n: number of elements, by default (len(x) - offx) // abs(incx). offx: the first one. incx: step; a negative one
    scales nothing, as in reference BLAS. Returns x or the copy.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, [1, 2, 3]).real.tolist()
    [2.0, 4.0, 6.0]
    """
    made = this.update(x, True)
    elementwise.scal(this.number("a", a), _one(this, row(made), n, offx, incx))
    return made


def _scal_real(this: Function, a: Any, x: Any, n: Any = None, offx: Any = 0, incx: Any = 1,
               overwrite_x: Any = 0) -> np.ndarray:
    """a x with a real number and a complex vector, in a copy of x unless overwrite_x.

    n, offx, incx: as in scal. With overwrite_x the result is in x itself where that is an array of {dtype} that is
    contiguous in Fortran order.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(2, [1, 2j]).tolist()
    [(2+0j), 4j]
    """
    made = this.update(x, this.integer("overwrite_x", overwrite_x))
    scal = elementwise.csscal if this.precision is C else elementwise.zdscal
    scal(this.number("a", a, real=True), _one(this, row(made), n, offx, incx))
    return made


def _dot(this: Function, x: Any, y: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
         incy: Any = 1) -> float:
    """The sum of x[i] y[i], a Python float; n, offx, incx, offy, incy as in axpy.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([1, 2, 3], [1, 10, 100])
    321.0
    """
    return reductions.dot(*_two(this, this.read(x), this.read(y), n, offx, incx, offy, incy)).item()


def _dotu(this: Function, x: Any, y: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
          incy: Any = 1) -> complex:
    """The sum of x[i] y[i], a Python complex number; n, offx, incx, offy, incy as in axpy.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([1, 2j], [1, 10])
    (1+20j)
    """
    return reductions.dotu(*_two(this, this.read(x), this.read(y), n, offx, incx, offy, incy)).item()


def _dotc(this: Function, x: Any, y: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
          incy: Any = 1) -> complex:
    """The sum of conj(x[i]) y[i], a Python complex number; n, offx, incx, offy, incy as in axpy.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([1, 2j], [1, 10])
    (1-20j)
    """
    return reductions.dotc(*_two(this, this.read(x), this.read(y), n, offx, incx, offy, incy)).item()


def _nrm2(this: Function, x: Any, n: Any = None, offx: Any = 0, incx: Any = 1) -> float:
    """The square root of the sum of |x[i]|**2, a Python float.

    n: number of elements, by default (len(x) - offx) // incx. offx: the first one. incx: step, not negative.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([3, 4])
    5.0
    """
    vector, step = this.read(x), this.integer("incx", incx)
    this.require(step > 0, "incx>0", "incx", step)
    return reductions.nrm2(_one(this, vector, n, offx, step)).item()


def _asum(this: Function, x: Any, n: Any = None, offx: Any = 0, incx: Any = 1) -> float:
    """The sum of |Re x[i]| + |Im x[i]|, a Python float; n, offx, incx as in scal (0 with a negative increment).

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([3, -4])
    7.0
    """
    return reductions.asum(_one(this, this.read(x), n, offx, incx)).item()


def _iamax(this: Function, x: Any, n: Any = None, offx: Any = 0, incx: Any = 1) -> int:
    """The place, from 0, of the largest |Re x[i]| + |Im x[i]| among the elements used: the first of them on ties.

    n, offx, incx: as in scal. -1 for no elements, so also with a negative increment. The first NaN is the largest.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}([3, -4, 4])
    1
    """
    return int(reductions.iamax(_one(this, this.read(x), n, offx, incx)))


def _rot(this: Function, x: Any, y: Any, c: Any, s: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
         incy: Any = 1, overwrite_x: Any = 0, overwrite_y: Any = 0) -> tuple[np.ndarray, np.ndarray]:
    """c x + s y and c y - s x with real c and s, in copies of x and y unless they may be overwritten.

    n: number of elements, by default all of x that fit. offx, incx, offy, incy: as in axpy. overwrite_x, overwrite_y:
    as in csscal. Elements that are in both results are an error.

    >>> from gpublas.scipy_blas import {name}
    >>> x, y = {name}([1, 2], [3, 4], 0, 1)
    >>> x.real.tolist(), y.real.tolist()
    ([3.0, 4.0], [-1.0, -2.0])
    """
    first = this.update(x, this.integer("overwrite_x", overwrite_x))
    second = this.update(y, this.integer("overwrite_y", overwrite_y))
    rotate = {S: rotations.srot, D: rotations.drot, C: rotations.csrot, Z: rotations.zdrot}[this.precision]
    rotate(*_two(this, row(first), row(second), n, offx, incx, offy, incy, as_many_as_fit=True),
           this.number("c", c, real=True), this.number("s", s, real=True))
    return first, second


def _rotm(this: Function, x: Any, y: Any, param: Any, n: Any = None, offx: Any = 0, incx: Any = 1, offy: Any = 0,
          incy: Any = 1, overwrite_x: Any = 0, overwrite_y: Any = 0) -> tuple[np.ndarray, np.ndarray]:
    """The modified rotation `param`, which rotmg makes, of x and y, in copies unless they may be overwritten.

    n, offx, incx, offy, incy: as in axpy. overwrite_x, overwrite_y: as in csscal. Elements that are in both results are
    an error, and so is a flag param[0] other than -2, -1, 0, 1.

    >>> from gpublas.scipy_blas import {name}
    >>> x, y = {name}([1, 2], [3, 4], [-1, 1, 0, 1, 2])
    >>> x.tolist(), y.tolist()
    ([4.0, 6.0], [6.0, 8.0])
    """
    first = this.update(x, this.integer("overwrite_x", overwrite_x))
    second = this.update(y, this.integer("overwrite_y", overwrite_y))
    made = this.read(param)
    if len(made) != 5:
        raise ValueError(f"{this.__name__}: failed to create array from the {this.place('param')} -- 0-th dimension "
                         f"must be fixed to 5 but got {len(made)}")
    rotations.rotm(*_two(this, row(first), row(second), n, offx, incx, offy, incy), made)
    return first, second


def _rotg(this: Function, a: Any, b: Any) -> tuple[Any, Any]:
    """c and s of the rotation that takes (a, b) to (r, 0): c a + s b = r, c b - conj(s) a = 0.

    Python numbers; c is real, but a complex number where s is one.

    >>> from gpublas.scipy_blas import {name}
    >>> c, s = {name}(3, 4)
    >>> round(c.real, 5), round(s.real, 5)
    (0.6, 0.8)
    """
    rotg = {S: rotations.srotg, D: rotations.drotg, C: rotations.crotg, Z: rotations.zrotg}[this.precision]
    _, _, c, s = rotg(this.number("a", a), this.number("b", b))
    kind = complex if this.precision.is_complex else float
    return kind(c), kind(s)


def _rotmg(this: Function, d1: Any, d2: Any, x1: Any, y1: Any) -> np.ndarray:
    """The modified rotation, for rotm, that takes the second part of (sqrt(d1) x1, sqrt(d2) y1) to zero.

    Returns (flag, h11, h21, h12, h22), an array of {dtype}.

    >>> from gpublas.scipy_blas import {name}
    >>> {name}(1, 1, 2, 1).tolist()
    [0.0, 0.0, -0.5, 0.5, 0.0]
    """
    rotmg = rotations.srotmg if this.precision is S else rotations.drotmg
    return rotmg(*(this.number(name, value) for name, value in (("d1", d1), ("d2", d2), ("x1", x1), ("y1", y1))))[3]


saxpy = Function(_axpy, S)
daxpy = Function(_axpy, D)
caxpy = Function(_axpy, C)
zaxpy = Function(_axpy, Z)

scopy = Function(_copy, S)
dcopy = Function(_copy, D)
ccopy = Function(_copy, C)
zcopy = Function(_copy, Z)

sswap = Function(_swap, S)
dswap = Function(_swap, D)
cswap = Function(_swap, C)
zswap = Function(_swap, Z)

sscal = Function(_scal, S)
dscal = Function(_scal, D)
cscal = Function(_scal, C)
zscal = Function(_scal, Z)
csscal = Function(_scal_real, C, "csscal")
zdscal = Function(_scal_real, Z, "zdscal")

sdot = Function(_dot, S)
ddot = Function(_dot, D)
cdotu = Function(_dotu, C)
zdotu = Function(_dotu, Z)
cdotc = Function(_dotc, C)
zdotc = Function(_dotc, Z)

snrm2 = Function(_nrm2, S)
dnrm2 = Function(_nrm2, D)
scnrm2 = Function(_nrm2, C, "scnrm2")
dznrm2 = Function(_nrm2, Z, "dznrm2")

sasum = Function(_asum, S)
dasum = Function(_asum, D)
scasum = Function(_asum, C, "scasum")
dzasum = Function(_asum, Z, "dzasum")

isamax = Function(_iamax, S, "isamax")
idamax = Function(_iamax, D, "idamax")
icamax = Function(_iamax, C, "icamax")
izamax = Function(_iamax, Z, "izamax")

srot = Function(_rot, S)
drot = Function(_rot, D)
csrot = Function(_rot, C, "csrot")
zdrot = Function(_rot, Z, "zdrot")

srotm = Function(_rotm, S)
drotm = Function(_rotm, D)

srotg = Function(_rotg, S)
drotg = Function(_rotg, D)
crotg = Function(_rotg, C)
zrotg = Function(_rotg, Z)

srotmg = Function(_rotmg, S)
drotmg = Function(_rotmg, D)
