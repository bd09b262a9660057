"""Factorisations, solutions and inverses of many small matrices, as cuBLAS has them for batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, backend, checks
from .checks import Argument
from .context import call
from .errors import ArgumentError
from .flags import Op
from .operands import Stack
from .precision import C as _C
from .precision import D, Precision, Routine, S, Z
from .typed import typed


def _stack(this: Routine, position: int, name: str, value: Any) -> tuple[Argument, Precision]:
    found = checks.array(this.name, position, name, value, 3)
    kind = checks.precision(this, found)
    checks.dtype(this.name, found, kind.dtype)
    return found, kind


def _squares(this: Routine, position: int, name: str, value: Any) -> tuple[Argument, Precision]:
    """A 3-D argument of square matrices."""
    found, kind = _stack(this, position, name, value)
    _, rows, columns = found.array.shape
    if rows != columns:
        raise ArgumentError(this.name, position, name, f"shape {found.array.shape}", "square matrices")
    return found, kind


def _new(this: Routine, name: str, like: Argument, shape: tuple[int, ...], dtype: Any) -> Argument:
    """A new result array of the input's library."""
    return checks.array(this.name, None, name, arrays.empty(like.given, shape, np.dtype(dtype)), len(shape))


def _pivots(this: Routine, position: int, value: Any, shape: tuple[int, ...]) -> Argument:
    found = checks.array(this.name, position, "pivots", value, 2)
    checks.dtype(this.name, found, np.dtype(np.int32))
    checks.shape(this.name, found, shape, "one row of pivots for each matrix")
    if found.array.size and found.array.strides != (4 * shape[1], 4):
        raise ArgumentError(this.name, position, "pivots", f"strides {found.array.strides}", "a C-ordered array")
    return found


def _getrf_batched(this: Routine, A: Any) -> tuple[Any, Any, Any]:
    """P A[i] = L U for every i, by elimination with row exchanges, in place ({p}getrf of LAPACK for a batch).

    A: (products, n, n) array of {dtype}, any strides, overwritten by the factors: U on and above the diagonal, L
        below it (its diagonal of ones is not stored).
    Returns (A, pivots, info): pivots (products, n), int32: row k was exchanged with row pivots[i, k], counted from 0
        (LAPACK and cuBLAS count from 1); info (products,), int32: 0, or the number, counted from 1, of the first
        exactly zero element on U's diagonal. Both are new arrays of A's library.
    The pivot is the first row of largest |Re| + |Im|. |P A - L U| <= c n eps |L| |U|, element by element.

    Raises ArgumentError or DTypeError before anything is written. Source: LAPACK, {p}getrf; cuBLAS, {p}getrfBatched.

    >>> import numpy as np, gpublas
    >>> A, pivots, info = {name}(np.array([[[1, 2], [2, 8]]], {example}))
    >>> A[0].real.tolist(), pivots.tolist(), info.tolist()
    ([[2.0, 8.0], [0.5, -2.0]], [[1, 1]], [0])
    """
    a, _ = _squares(this, 1, "A", A)
    products, n, _ = a.array.shape
    pivots, info = _new(this, "pivots", a, (products, n), np.int32), _new(this, "info", a, (products,), np.int32)
    with call(this.name, {}, writes={"pivots": pivots, "info": info}, updates={"A": a}) as run:
        if products:
            backend.of(run).getrf(run, Stack.of(run["A"]), run["pivots"].pointer, run["info"].pointer)
    return A, pivots.given, info.given


def _getrs_batched(this: Routine, op: Any, A: Any, pivots: Any, B: Any) -> Any:
    """Solve op(A[i]) X = B[i] for every i with the factors that getrf_batched left; X overwrites B ({p}getrs).

    op: "N", "T" or "C". A, pivots: as getrf_batched returns them, read only. B: (products, n, m) array of {dtype}, any
    strides, overwritten and returned. A zero on U's diagonal gives Inf or NaN.

    Raises ArgumentError or DTypeError before anything is written. Source: LAPACK, {p}getrs; cuBLAS, {p}getrsBatched.

    >>> import numpy as np, gpublas
    >>> A, pivots, info = gpublas.getrf_batched(np.array([[[1, 2], [2, 8]]], {example}))
    >>> {name}("N", A, pivots, np.array([[[3], [10]]], {example})).real.tolist()
    [[[1.0], [1.0]]]
    """
    operation = checks.flag(this.name, 1, "op", op, Op)
    a, kind = _squares(this, 2, "A", A)
    products, n, _ = a.array.shape
    rows = _pivots(this, 3, pivots, (products, n))
    b = checks.array(this.name, 4, "B", B, 3)
    checks.dtype(this.name, b, kind.dtype)
    checks.shape(this.name, b, (products, n, b.array.shape[2]), "products and rows as A has")
    with call(this.name, {"A": a, "pivots": rows}, updates={"B": b}) as run:
        if b.array.size:
            backend.of(run).getrs(run, operation, Stack.of(run["A"]), run["pivots"].pointer, Stack.of(run["B"]))
    return B


def _getri_batched(this: Routine, A: Any, pivots: Any, C: Any = None) -> Any:
    """C[i] = inv(A[i]) for every i from the factors that getrf_batched left ({p}getri of LAPACK, out of place).

    A, pivots: as getrf_batched returns them, read only. C: (products, n, n) array of {dtype}, any strides, written and
    returned; None: a new one. A singular matrix gives Inf or NaN: see getrf_batched's info.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}getriBatched.

    >>> import numpy as np, gpublas
    >>> A, pivots, info = gpublas.getrf_batched(np.array([[[2, 0], [0, 4]]], {example}))
    >>> {name}(A, pivots).real.tolist()
    [[[0.5, 0.0], [0.0, 0.25]]]
    """
    a, kind = _squares(this, 1, "A", A)
    products, n, _ = a.array.shape
    rows = _pivots(this, 2, pivots, (products, n))
    c = _inverse(this, 3, C, a, kind)
    with call(this.name, {"A": a, "pivots": rows}, writes={"C": c}) as run:
        if c.array.size:
            backend.of(run).getri(run, Stack.of(run["A"]), run["pivots"].pointer, Stack.of(run["C"]))
    return c.given


def _inverse(this: Routine, position: int, C: Any, a: Argument, kind: Precision) -> Argument:
    """The output of an inversion."""
    if C is None:
        return _new(this, "C", a, a.array.shape, kind.dtype)
    c = checks.array(this.name, position, "C", C, 3)
    checks.dtype(this.name, c, kind.dtype)
    checks.shape(this.name, c, a.array.shape, "as A")
    return c


def _matinv_batched(this: Routine, A: Any, C: Any = None) -> tuple[Any, Any]:
    """C[i] = inv(A[i]) for every i ({p}matinvBatched of cuBLAS, for any n).

    A: (products, n, n) array of {dtype}, any strides, read only. C: array of the same shape, written; None: a new one.
    Returns (C, info): info as getrf_batched gives it; a matrix with info other than 0 gives Inf or NaN.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}matinvBatched.

    >>> import numpy as np, gpublas
    >>> C, info = {name}(np.array([[[2, 0], [0, 4]]], {example}))
    >>> C.real.tolist(), info.tolist()
    ([[[0.5, 0.0], [0.0, 0.25]]], [0])
    """
    a, kind = _squares(this, 1, "A", A)
    c = _inverse(this, 2, C, a, kind)
    info = _new(this, "info", a, (a.array.shape[0],), np.int32)
    with call(this.name, {"A": a}, writes={"C": c, "info": info}) as run:
        if a.array.shape[0]:
            backend.of(run).matinv(run, Stack.of(run["A"]), Stack.of(run["C"]), run["info"].pointer)
    return c.given, info.given


def _geqrf_batched(this: Routine, A: Any) -> tuple[Any, Any]:
    """A[i] = Q R for every i, by Householder reflections, in place ({p}geqrf of LAPACK for a batch).

    A: (products, m, n) array of {dtype}, any strides, overwritten: R on and above the diagonal; below it the vectors v
        of the reflections, whose element on the diagonal is 1 and not stored.
    Returns (A, tau): tau (products, min(m, n)), a new array: Q is the product of I - tau[i, k] v v^H over k.

    Raises ArgumentError or DTypeError before anything is written. Source: LAPACK, {p}geqrf; cuBLAS, {p}geqrfBatched.

    >>> import numpy as np, gpublas
    >>> A, tau = {name}(np.array([[[3, 1], [4, 2]]], {example}))
    >>> bool(np.allclose(abs(np.triu(A[0])), [[5, 2.2], [0, 0.4]]))
    True
    """
    a, kind = _stack(this, 1, "A", A)
    products, m, n = a.array.shape
    tau = _new(this, "tau", a, (products, min(m, n)), kind.dtype)
    with call(this.name, {}, writes={"tau": tau}, updates={"A": a}) as run:
        if a.array.size:
            backend.of(run).geqrf(run, Stack.of(run["A"]), run["tau"].pointer)
    return A, tau.given


getrf_batched = typed(_getrf_batched, None)
sgetrf_batched = typed(_getrf_batched, S)
dgetrf_batched = typed(_getrf_batched, D)
cgetrf_batched = typed(_getrf_batched, _C)
zgetrf_batched = typed(_getrf_batched, Z)
getrs_batched = typed(_getrs_batched, None)
sgetrs_batched = typed(_getrs_batched, S)
dgetrs_batched = typed(_getrs_batched, D)
cgetrs_batched = typed(_getrs_batched, _C)
zgetrs_batched = typed(_getrs_batched, Z)
getri_batched = typed(_getri_batched, None)
sgetri_batched = typed(_getri_batched, S)
dgetri_batched = typed(_getri_batched, D)
cgetri_batched = typed(_getri_batched, _C)
zgetri_batched = typed(_getri_batched, Z)
matinv_batched = typed(_matinv_batched, None)
smatinv_batched = typed(_matinv_batched, S)
dmatinv_batched = typed(_matinv_batched, D)
cmatinv_batched = typed(_matinv_batched, _C)
zmatinv_batched = typed(_matinv_batched, Z)
geqrf_batched = typed(_geqrf_batched, None)
sgeqrf_batched = typed(_geqrf_batched, S)
dgeqrf_batched = typed(_geqrf_batched, D)
cgeqrf_batched = typed(_geqrf_batched, _C)
zgeqrf_batched = typed(_geqrf_batched, Z)
