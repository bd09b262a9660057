"""Everyday small calls on the CPU: NumPy arrays of one element type go straight to SciPy's wrappers of BLAS.

Checks, canonical problems and plans cost tens of microseconds, many times what BLAS takes for ten elements. Each
function here makes a routine that looks first whether a call needs none of them: ordinary small arrays, numbers as
alpha and beta, and values at which BLAS libraries keep our rules. All that is unusual, or wrong, takes the ordinary
way, which has every check and every message. SciPy copies an output that it cannot write in place, so a result that
is not the caller's own array has changed nothing, and the ordinary way serves that call too.

SciPy's wrappers hold the GIL, hence "small"; the ordinary way drops it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import may_share_memory, ndarray

from .context import chosen, current
from .precision import BY_DTYPE, PRECISIONS, D, Precision, Routine

_MATRIX, _VECTOR = 1 << 12, 1 << 14  # elements of the largest operand: some microseconds of work
_OP = {"N": 0, "n": 0, "T": 1, "t": 1, "C": 2, "c": 2}  # as SciPy's wrappers take flags
_RIGHT, _LOWER, _UNIT = {"L": 0, "l": 0, "R": 1, "r": 1}, {"U": 0, "u": 0, "L": 1, "l": 1}, {
    "N": 0, "n": 0, "U": 1, "u": 1}
_REAL = frozenset((float, int, np.float64, np.float32))
_COMPLEX = frozenset((complex, np.complex128, np.complex64))

Way = Callable[..., Any]  # a public routine as users call it


class _Wrappers(dict):
    """SciPy's wrappers by element type, found when first asked for (SciPy takes time to import); None for others."""

    def __init__(self, name: str, precisions: tuple[Precision, ...]):
        self.name, self.precisions = name, precisions

    def __missing__(self, dtype: np.dtype) -> Way | None:
        kind = BY_DTYPE.get(dtype)
        if kind not in self.precisions:
            return None
        from scipy.linalg import blas

        # What scipy.linalg.blas takes its names from: under them, or as that module, a program may have put ours.
        found = getattr(getattr(blas, "_fblas", blas), kind.prefix + self.name)
        is_ours = str(getattr(found, "__module__", "")).startswith(__package__)
        return self.setdefault(dtype, None if is_ours else found)


def _wrappers(this: Routine, name: str, precisions: tuple[Precision, ...] = PRECISIONS) -> _Wrappers:
    return _Wrappers(name, tuple(kind for kind in precisions if this.precision in (None, kind)))


def axpy(this: Routine, ordinary: Way) -> Way:
    """axpy for contiguous vectors and an alpha that is not zero."""
    runs = _wrappers(this, "axpy")

    def routine(alpha, x, y):
        if (type(x) is type(y) is ndarray and x.dtype is y.dtype
                and (type(alpha) in _REAL or (x.dtype.kind == "c" and type(alpha) in _COMPLEX)) and alpha
                and x.ndim == 1 and 0 < x.size <= _VECTOR and x.shape == y.shape and x is not y
                and (x.base is y.base is None or not may_share_memory(x, y)) and y.flags.carray
                and (chosen() or current()).on_host):
            run = runs[x.dtype]
            try:
                if run is not None and run(x, y, x.size, alpha) is y:
                    return y
            except Exception:  # a number that SciPy refuses: the ordinary way says why
                pass
        return ordinary(alpha, x, y)

    return routine


def scal(this: Routine, ordinary: Way) -> Way:
    """scal for a contiguous vector and a real alpha that is not zero: BLAS may not read what it multiplies by zero, and
    complex products have corners of their own."""
    runs = _wrappers(this, "scal", PRECISIONS[:2])

    def routine(alpha, x):
        if (type(x) is ndarray and type(alpha) in _REAL and alpha and x.ndim == 1 and 0 < x.size <= _VECTOR
                and x.flags.carray and (chosen() or current()).on_host):
            run = runs[x.dtype]
            try:
                if run is not None and run(alpha, x) is x:
                    return x
            except Exception:  # a number that SciPy refuses: the ordinary way says why
                pass
        return ordinary(alpha, x)

    return routine


def dot(name: str, kind: Precision) -> Callable[[Routine, Way], Way]:
    """A dot product of double precision; those of single precision are summed in double, which BLAS does not."""
    def everyday(this: Routine, ordinary: Way) -> Way:
        runs, dtype, scalar = _wrappers(this, name, (kind,)), kind.dtype, kind.dtype.type

        def routine(x, y, *, out=None):
            if (out is None and type(x) is type(y) is ndarray and x.dtype is y.dtype is dtype and x.ndim == 1
                    and 0 < x.size <= _VECTOR and x.shape == y.shape and (chosen() or current()).on_host):
                run = runs[dtype]
                if run is not None:
                    return scalar(run(x, y))
            return ordinary(x, y, out=out)

        return routine

    return everyday


def nrm2(this: Routine, ordinary: Way) -> Way:
    """nrm2 of float64 numbers whose squares neither overflow nor lose what counts to underflow."""
    runs, dtype, scalar = _wrappers(this, "dot", (D,)), D.dtype, D.dtype.type
    least, largest = float(np.finfo(dtype).tiny / np.finfo(dtype).eps) * _VECTOR, float(np.finfo(dtype).max)
    root = math.sqrt

    def routine(x, *, out=None):
        if (out is None and type(x) is ndarray and x.dtype is dtype and x.ndim == 1 and 0 < x.size <= _VECTOR
                and (chosen() or current()).on_host):
            run = runs[dtype]
            if run is not None and least <= (squares := run(x, x)) <= largest:
                return scalar(root(squares))
        return ordinary(x, out=out)

    return routine


def _apart(output: ndarray, a: ndarray, b: ndarray) -> bool:
    """Whether an output surely shares no memory with two inputs; arrays that own theirs need no look at addresses."""
    return output is not a and output is not b and (
        output.base is a.base is b.base is None
        or not (may_share_memory(output, a) or may_share_memory(output, b)))


def _fit(array: ndarray, alpha: Any, beta: Any) -> bool:
    """Whether alpha and beta are numbers, complex ones only where the array's elements are."""
    return (type(alpha) in _REAL and type(beta) in _REAL) or (array.dtype.kind == "c" and all(
        type(number) in _REAL or type(number) in _COMPLEX for number in (alpha, beta)))


def gemv(this: Routine, ordinary: Way) -> Way:
    """gemv for numbers that are not zero where that is a case of its own."""
    runs = _wrappers(this, "gemv")

    def routine(op, alpha, A, x, beta=0, y=None):
        if (type(A) is type(x) is type(y) is ndarray and A.dtype is x.dtype is y.dtype and _fit(A, alpha, beta)
                and alpha and type(op) is str and op in _OP and 0 < A.size <= _VECTOR
                and A.shape == (x.shape + y.shape if _OP[op] else y.shape + x.shape) and y.flags.carray
                and _apart(y, A, x) and (chosen() or current()).on_host):
            run = runs[A.dtype]
            try:
                if run is None:
                    pass
                elif not beta:  # BLAS libraries differ in whether they read what they multiply by zero
                    y[...] = run(alpha, A, x, 0, None, 0, 1, 0, 1, _OP[op])
                    return y
                elif run(alpha, A, x, beta, y, 0, 1, 0, 1, _OP[op], 1) is y:
                    return y
            except Exception:  # a number that SciPy refuses: the ordinary way says why
                pass
        return ordinary(op, alpha, A, x, beta, y)

    return routine


def ger(name: str) -> Callable[[Routine, Way], Way]:
    """A rank-1 update of a column-major A by finite vectors: BLAS skips their zeros, which would hide a NaN."""
    kinds = PRECISIONS[:2] if name == "ger" else PRECISIONS[2:]

    def everyday(this: Routine, ordinary: Way) -> Way:
        runs, squares = _wrappers(this, name, kinds), _wrappers(this, "dot" if name == "ger" else "dotc", kinds)

        def routine(alpha, x, y, A):
            if (type(A) is type(x) is type(y) is ndarray and A.dtype is x.dtype is y.dtype
                    and _fit(A, alpha, 0) and alpha and 0 < A.size <= _VECTOR and A.shape == x.shape + y.shape
                    and A.flags.f_contiguous and A.flags.writeable and _apart(A, x, y)
                    and (chosen() or current()).on_host):
                run, square = runs[A.dtype], squares[A.dtype]
                try:
                    if run is not None:
                        size = square(x, x) + square(y, y) + alpha  # infinite or NaN if an element is
                        if size - size == 0 and run(alpha, x, y, a=A, overwrite_a=1) is A:
                            return A
                except Exception:  # a number that SciPy refuses: the ordinary way says why
                    pass
            return ordinary(alpha, x, y, A)

        return routine

    return everyday


def gemm(this: Routine, ordinary: Way) -> Way:
    """gemm into a contiguous C: a row-major one is the transpose of a column-major product."""
    runs = _wrappers(this, "gemm")

    def routine(opA, opB, alpha, A, B, beta=0, C=None, *, compute=None, epilogue=None, bias=None, aux=None,
                out_dtype=None, scale_a=None, scale_b=None, bias_grad=None):
        if (compute is epilogue is bias is aux is out_dtype is scale_a is scale_b is bias_grad is None
                and type(A) is type(B) is type(C) is ndarray and A.dtype is B.dtype is C.dtype
                and _fit(A, alpha, beta) and alpha and type(opA) is type(opB) is str and opA in _OP and opB in _OP
                and A.ndim == B.ndim == C.ndim == 2 and 0 < A.size <= _MATRIX and 0 < B.size <= _MATRIX
                and 0 < C.size <= _MATRIX and C.flags.forc and C.flags.writeable and _apart(C, A, B)
                and (chosen() or current()).on_host):
            run = runs[A.dtype]
            try:
                if run is None:
                    pass
                elif C.flags.f_contiguous:
                    if run(alpha, A, B, beta, C, _OP[opA], _OP[opB], 1) is C:
                        return C
                else:
                    turned = C.T
                    if run(alpha, B.T, A.T, beta, turned, _OP[opB], _OP[opA], 1) is turned:
                        return C
            except Exception:  # shapes that do not fit, or a number that SciPy refuses: the ordinary way says why
                pass
        given = {"compute": compute, "epilogue": epilogue, "bias": bias, "aux": aux, "out_dtype": out_dtype,
                 "scale_a": scale_a, "scale_b": scale_b, "bias_grad": bias_grad}
        return ordinary(opA, opB, alpha, A, B, beta, C,
                        **{name: value for name, value in given.items() if value is not None})

    return routine


def trsm(this: Routine, ordinary: Way) -> Way:
    """trsm into a column-major B, with a real diagonal whose reciprocals are ordinary numbers: BLAS multiplies by
    them."""
    runs = _wrappers(this, "trsm", PRECISIONS[:2])
    ordinary_from = {kind.dtype: float(np.finfo(kind.real).tiny) * 4 for kind in runs.precisions}

    def routine(side, uplo, op, diag, alpha, A, B):
        if (type(A) is type(B) is ndarray and A.dtype is B.dtype and type(alpha) in _REAL and alpha
                and A.ndim == B.ndim == 2 and 0 < A.size <= _MATRIX and 0 < B.size <= _MATRIX
                and B.flags.f_contiguous and B.flags.writeable
                and _apart(B, A, A) and (chosen() or current()).on_host):
            run = runs[A.dtype]
            try:
                right, unit = _RIGHT[side], _UNIT[diag]
                if run is not None and A.shape == (B.shape[right],) * 2:
                    size, least = np.abs(A.diagonal()), ordinary_from[A.dtype]
                    if (unit or (size.min() > least and size.max() < 1 / least)) and run(
                            alpha, A, B, right, _LOWER[uplo], _OP[op], unit, 1) is B:
                        return B
            except Exception:  # a flag that is none, or a number that SciPy refuses: the ordinary way says why
                pass
        return ordinary(side, uplo, op, diag, alpha, A, B)

    return routine
