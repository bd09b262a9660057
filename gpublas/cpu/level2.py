"""Level 2 on the host: reference BLAS where it keeps our rules at the corners, columns in NumPy where it does not.

BLAS libraries may skip zeros of vectors (which hides NaN of a matrix) and multiply by reciprocals. So they serve calls
whose numbers cannot show it: finite vectors without zeros, or with zeros and a finite matrix; diagonals whose
reciprocals are ordinary numbers. All other calls go column by column.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import HOST, Array
from ..checks import ONE, ZERO, Scalar
from ..context import Call
from ..operands import Matrix, Stored, Vector
from . import reference
from .level1 import view
from .level3 import _ordinary, quotient
from .matrices import is_blas
from .reference import INT_MAX, integer


def gemv(call: Call, alpha: Scalar, A: Stored, x: Vector, beta: Scalar, y: Vector) -> None:
    """y = alpha A x + beta y."""
    if alpha.is_zero or A.columns == 0:  # neither A nor x is read, whatever they hold
        _scale(view(y), beta)
    elif _fits(A) and (A.storage == "full" or _plain(alpha, x, A)):
        _blas_product(call, "gemv" if A.storage == "full" else "gbmv", alpha, A, x, beta, y)
    else:
        _by_columns(call, alpha, A, x, beta, y)


def symv(call: Call, alpha: Scalar, A: Stored, hermitian: bool, x: Vector, beta: Scalar,
                     y: Vector) -> None:
    """y = alpha A x + beta y, for a symmetric or Hermitian A of which one triangle is there."""
    if alpha.is_zero:
        _scale(view(y), beta)
    elif hermitian == A.precision.is_complex and _fits(A) and _plain(alpha, x, A):
        names = {"full": "hemv", "band": "hbmv", "packed": "hpmv"} if hermitian else {
            "full": "symv", "band": "sbmv", "packed": "spmv"}
        _blas_product(call, names[A.storage], alpha, A, x, beta, y)
    else:
        _by_columns(call, alpha, A, x, beta, y, mirrored=True, hermitian=hermitian)


def trmv(call: Call, A: Stored, lower: bool, unit: bool, x: Vector) -> None:
    """x = A x, for a triangular A."""
    if _fits(A) and _plain(ONE, x, A):
        _blas_triangular(call, {"full": "trmv", "band": "tbmv", "packed": "tpmv"}[A.storage], A, lower, unit, x)
    else:
        _by_columns(call, ONE, A.without_diagonal(lower) if unit else A, x, ZERO, x, unit=unit)


def trsv(call: Call, A: Stored, lower: bool, unit: bool, x: Vector) -> None:
    """x = inv(A) x, for a triangular A."""
    with call.host_workspace((x.size,), x.precision.dtype) as before:
        values = view(x)
        before[...] = values
        if _fits(A) and np.isfinite(values).all() and (unit or _ordinary(_diagonal(A), A.precision)):
            _blas_triangular(call, {"full": "trsv", "band": "tbsv", "packed": "tpsv"}[A.storage], A, lower, unit, x)
            if np.isfinite(values).all() and (values.all() or _is_finite(A)):
                return
            values[...] = before
        _substitute(A, lower, unit, values)


def _scale(y: np.ndarray, beta: Scalar) -> None:
    """y = beta y; beta == 0 writes zeros and reads nothing."""
    if beta.is_zero:
        y[...] = 0
    elif beta.value != 1:
        with np.errstate(all="ignore"):
            y *= y.dtype.type(beta.value)


def _fits(A: Stored) -> bool:
    """Whether BLAS's 32-bit integers can say its sizes."""
    return max(A.rows, A.columns) <= INT_MAX and (A.storage != "band" or A.below + A.above < INT_MAX)


def _plain(alpha: Scalar, x: Vector, A: Stored) -> bool:
    """Whether no zero that is skipped, or multiplied where nothing is, can show."""
    values = view(x)
    return bool(np.isfinite(alpha.value) and np.isfinite(values).all() and (values.all() or _is_finite(A)))


def _is_finite(A: Stored) -> bool:
    return bool(np.isfinite(_memory(A)).all())


def _memory(A: Stored) -> np.ndarray:
    """The caller's array: what is there of A and, except of packed matrices, what is not."""
    whole = A.transposed if A.turned else A
    itemsize = A.precision.dtype.itemsize
    row, column = whole.row_stride * itemsize, whole.column_stride * itemsize
    pointer, shape, strides = whole.pointer, (whole.rows, whole.columns), (row, column)
    if A.storage == "band":
        pointer, shape = pointer - whole.above * row, (whole.below + whole.above + 1, whole.columns)
        strides = (row, row + column)
    elif A.storage == "packed":
        return Array(pointer, (whole.rows * (whole.rows + 1) // 2,), (row,), A.precision.dtype, True, HOST,
                     None).ndarray
    return Array(pointer, shape, strides, A.precision.dtype, True, HOST, None).ndarray


def _diagonal(A: Stored) -> np.ndarray:
    """The diagonal of a triangle: a view, except of a packed one."""
    if A.storage != "packed":
        dtype = A.precision.dtype
        return Array(A.pointer, (A.rows,), ((A.row_stride + A.column_stride) * dtype.itemsize,), dtype, True, HOST,
                     None).ndarray
    return _memory(A)[_packed_diagonal(A)]


def _packed_diagonal(A: Stored) -> np.ndarray:
    """Where in its array the diagonal of a packed triangle lies."""
    whole = A.transposed if A.turned else A
    j = np.arange(A.rows)
    return j * (j + 3) // 2 if not whole.lower else j * (2 * A.rows - j + 1) // 2


class _Blas:
    """A matrix as BLAS takes it: what a subroutine is told of its memory, and how that is to be read.

    matrix: in the storage's own orientation, column-major. op: "N", "T" or "C". conjugate: whether the result shall be
    as of the conjugate besides, which BLAS has no character for.
    """

    def __init__(self, matrix: Stored, turned: bool):
        self.matrix = matrix
        conjugate = matrix.conjugate
        self.op = ("C" if conjugate else "T") if turned else "N"
        self.conjugate = conjugate and not turned

    def uplo(self, lower: bool) -> str:
        """The triangle to name, for a matrix that, as it shall be read, has this one."""
        return "L" if lower == (self.op == "N") else "U"

    def passed(self) -> list[Any]:
        """Address, and leading dimension where there is one."""
        a = self.matrix
        if a.storage == "packed":
            return [a.pointer]
        if a.storage == "band":
            return [a.pointer - a.above * a.precision.dtype.itemsize, integer(a.column_stride + 1)]
        return [a.pointer, integer(_as_matrix(a).leading_dimension)]


def _as_matrix(A: Stored) -> Matrix:
    return Matrix(A.pointer, A.rows, A.columns, A.row_stride, A.column_stride, A.precision)


@contextlib.contextmanager
def _for_blas(call: Call, A: Stored) -> Iterator[_Blas]:
    """The matrix's own memory where BLAS can address it, else a compact copy."""
    if A.storage == "full":
        if is_blas(_as_matrix(A)):
            yield _Blas(A, False)
            return
        if is_blas(_as_matrix(A.transposed)):
            yield _Blas(A.transposed, True)
            return
    whole = A.transposed if A.turned else A
    if (A.storage == "packed" and whole.row_stride == 1) or (
            A.storage == "band" and whole.row_stride == 1
            and whole.below + whole.above <= whole.column_stride < INT_MAX):
        yield _Blas(whole, A.turned)
        return
    memory = _memory(A)
    with call.host_workspace(memory.shape[::-1], memory.dtype) as copy:
        copy[...] = memory.T
        pointer, height = copy.ctypes.data, max(1, memory.shape[0])
        if A.storage == "full":
            whole = whole._replace(pointer=pointer, row_stride=1, column_stride=height)
        elif A.storage == "band":
            whole = whole._replace(pointer=pointer + whole.above * memory.dtype.itemsize, row_stride=1,
                                   column_stride=height - 1)
        else:
            whole = whole._replace(pointer=pointer, row_stride=1)
        yield _Blas(whole, A.turned)


@contextlib.contextmanager
def _vector(call: Call, x: Vector, conjugate: bool = False) -> Iterator[Vector]:
    """An input as BLAS can address it, perhaps conjugate: itself or a compact copy."""
    if not conjugate and (0 < abs(x.stride) <= INT_MAX or x.size <= 1):
        yield x
        return
    with call.host_workspace((x.size,), x.precision.dtype) as copy:
        (np.conjugate if conjugate else np.positive)(view(x), out=copy)
        yield Vector(copy.ctypes.data, x.size, 1, x.precision)


@contextlib.contextmanager
def _output(call: Call, y: Vector, conjugate: bool = False) -> Iterator[Vector]:
    """An output as BLAS can address it: itself or a compact copy; conjugated before and after."""
    addressable = 0 < abs(y.stride) <= INT_MAX or y.size <= 1
    if addressable and not conjugate:
        yield y
        return
    with call.host_workspace((y.size,), y.precision.dtype) as copy:
        carry = np.conjugate if conjugate else np.positive
        carry(view(y), out=copy)
        yield Vector(copy.ctypes.data, y.size, 1, y.precision)
        carry(copy, out=view(y))


def _blas_product(call, name, alpha, A, x, beta, y):
    """y = alpha A x + beta y by one of BLAS's products."""
    if beta.is_zero:
        view(y)[...] = 0  # BLAS libraries differ in whether they read what they multiply by zero
    with _for_blas(call, A) as a:
        # The transpose of a Hermitian matrix, which is what rows in memory show, is its conjugate.
        conjugate = a.op != "N" if name[0] == "h" else a.conjugate
        if conjugate:
            alpha, beta = Scalar(alpha.value.conjugate()), Scalar(beta.value.conjugate())
        with _vector(call, x, conjugate) as x, _output(call, y, conjugate) as y:
            m = a.matrix
            if name[0] == "g":
                head = [a.op, m.rows, m.columns, *([m.below, m.above] if name == "gbmv" else [])]
            else:
                head = [a.uplo(A.lower), m.rows, *([max(m.below, m.above)] if name[1:] == "bmv" else [])]
            reference.call(name, A.precision, *head, alpha, a, x, beta, y)


def _blas_triangular(call, name, A, lower, unit, x):
    """x = A x or x = inv(A) x by one of BLAS's triangular subroutines."""
    with _for_blas(call, A) as a, _output(call, x, a.conjugate) as x:
        width = [max(a.matrix.below, a.matrix.above)] if name[1] == "b" else []
        reference.call(name, A.precision, a.uplo(lower), a.op, "U" if unit else "N", x.size, *width, a, x)


def _columns(A: Stored) -> Iterator[tuple[int, slice, np.ndarray]]:
    """Number, rows and elements (a view) of each column of what is there of A; A must not bend along rows."""
    dtype = A.precision.dtype
    for j in range(A.columns):
        first, last = max(0, j - A.above), min(A.rows, j + A.below + 1)
        size = max(last - first, 0)
        yield j, slice(first, first + size), Array(
            A.pointer + A.offset(first, j) if size else A.pointer, (size,), (A.row_stride * dtype.itemsize,), dtype,
            True, HOST, None).ndarray


def _by_columns(call, alpha, A, x, beta, y, mirrored=False, hermitian=False, unit=False):
    """y = alpha A x + beta y with NumPy, every element as it is meant."""
    seen, turned = (A, False) if A.rows_fast else (A.transposed, True)
    with call.host_workspace((y.size,), y.precision.dtype) as total, np.errstate(all="ignore"):
        source, result = view(x), view(y)
        total[...] = source if unit else 0
        for j, rows, column in _columns(seen):
            column = np.conjugate(column) if A.conjugate else column
            if hermitian and rows.start <= j < rows.stop:
                column = column.copy()
                column.imag[j - rows.start] = 0
            mirror = np.conjugate(column) if hermitian else column
            down, across = (mirror, column) if turned else (column, mirror)
            if mirrored or not turned:
                total[rows] += down * source[j]
            if mirrored or turned:
                products = across * source[rows]
                if mirrored and rows.start <= j < rows.stop:
                    products[j - rows.start] = 0
                total[j] += products.sum()
        if alpha.value != 1:
            total *= total.dtype.type(alpha.value)
        _scale(result, beta)
        if beta.is_zero:
            result[...] = total
        else:
            result += total


def _substitute(A, lower, unit, x):
    """x = inv(A) x with NumPy: an element is divided by the diagonal, then taken off the rest, or the other way round.
    """
    seen, turned = (A, False) if A.rows_fast else (A.transposed, True)
    seen = seen.without_diagonal(lower != turned)
    diagonal = None if unit else _diagonal(A)
    columns = list(_columns(seen))
    with np.errstate(all="ignore"):
        for j, rows, column in columns if lower else reversed(columns):
            column = np.conjugate(column) if A.conjugate else column
            if turned and column.size:
                x[j] -= (column * x[rows]).sum()
            if diagonal is not None:
                divisor = np.conjugate(diagonal[j]) if A.conjugate else diagonal[j]
                x[j:j + 1] = quotient(x[j:j + 1], divisor)
            if not turned:
                x[rows] -= column * x[j]


def ger(call: Call, alpha: Scalar, x: Vector, y: Vector, conjugate: bool, A: Stored) -> None:
    """A = A + alpha x y^T, or y^H if conjugate."""
    name = ("gerc" if conjugate else "geru") if A.precision.is_complex else "ger"
    if _fits(A) and _all_finite(alpha, x, y):
        if is_blas(_as_matrix(A)):
            with _vector(call, x) as x, _vector(call, y) as y:
                reference.call(name, A.precision, A.rows, A.columns, alpha, x, y, _Blas(A, False))
            return
        if is_blas(_as_matrix(A.transposed)):  # A^T += alpha y x^T
            with _vector(call, x) as x, _vector(call, y, conjugate) as y:
                reference.call("geru" if conjugate else name, A.precision, A.columns, A.rows, alpha, y, x,
                         _Blas(A.transposed, False))
            return
    with np.errstate(all="ignore"):
        down, across = view(x), np.conjugate(view(y)) if conjugate else view(y)
        if not A.rows_fast:
            A, down, across = A.transposed, across, down
        number = A.precision.dtype.type(alpha.value)
        for j, rows, column in _columns(A):
            column += down[rows] * (number * across[j])


def _all_finite(alpha: Scalar, *vectors: Vector) -> bool:
    return bool(np.isfinite(alpha.value)) and all(bool(np.isfinite(view(vector)).all()) for vector in vectors)


def syr(call: Call, alpha: Scalar, x: Vector, y: Vector | None, hermitian: bool, A: Stored) -> None:
    """A = A + alpha x x^T, or A + alpha x y^T + alpha y x^T, on the triangle that is there; adjoints, and the second
    alpha conjugate, if hermitian, and then the diagonal is made real."""
    if not alpha.is_zero:
        whole = A if A.storage == "packed" or is_blas(_as_matrix(A)) else A.transposed
        addressable = whole.row_stride == 1 if A.storage == "packed" else is_blas(_as_matrix(whole))
        vectors = (x,) if y is None else (x, y)
        if addressable and hermitian == A.precision.is_complex and _fits(A) and _all_finite(alpha, *vectors):
            _blas_update(call, alpha, vectors, hermitian, whole)
        else:
            _update_columns(alpha, vectors, hermitian, A)
    if hermitian:
        if A.storage == "packed":
            _memory(A).imag[_packed_diagonal(A)] = 0
        else:
            _diagonal(A).imag[...] = 0


def _blas_update(call, alpha, vectors, hermitian, A):
    name = ("h" if hermitian else "s") + ("p" if A.storage == "packed" else "e" if hermitian else "y") + "r"
    conjugate = hermitian and A.turned  # the transpose is the conjugate, and so are the vectors that update it
    if conjugate:
        alpha = Scalar(alpha.value.conjugate())
    with contextlib.ExitStack() as stack:
        passed = [stack.enter_context(_vector(call, vector, conjugate)) for vector in vectors]
        reference.call(name + ("2" if len(vectors) == 2 else ""), A.precision, "L" if A.lower else "U", A.rows, alpha,
                 *passed, _Blas(A, False), real_scalars=hermitian and len(vectors) == 1)


def _update_columns(alpha, vectors, hermitian, A):
    number, x = A.precision.dtype.type(alpha.value), view(vectors[0])
    y = view(vectors[-1])
    second = np.conjugate(number) if hermitian else number
    turned = not A.rows_fast
    with np.errstate(all="ignore"):
        for j, rows, column in _columns(A.transposed if turned else A):
            for scale, a, b in ((number, x, y), (second, y, x))[:len(vectors)]:
                if turned:  # column is row j of A
                    column += (np.conjugate(b[rows]) if hermitian else b[rows]) * (scale * a[j])
                else:
                    column += a[rows] * (scale * (np.conjugate(b[j]) if hermitian else b[j]))
