"""Level 3 on the host: reference BLAS where it keeps our rules at the corners, blocks of it where it does not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import ONE, ZERO, Scalar
from ..context import Call
from ..errors import UnsupportedError
from ..operands import ALONE, Batch, Matrix, Symmetric, Triangle, Triangular
from ..precision import BY_DTYPE, Precision
from . import reference
from .matrices import as_op, block, column_major_copy, column_major_output, is_blas, values, view, with_op
from .reference import INT_MAX

_BLOCK = 64  # rows of a diagonal block that is computed whole, or by substitution


def gemm(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix, batch: Batch = ALONE) -> None:
    """C = alpha A B + beta C, for one product or a batch of them."""
    if batch is ALONE:
        _gemm(call, alpha, A, B, beta, C)
        return
    for a, b, c in _products(A, B, C, batch):
        _gemm(call, alpha, a, b, beta, c)


@np.errstate(all="ignore")
def gemm3m(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix) -> None:
    """C = alpha A B + beta C of complex matrices by three real products; k is not 0."""
    m, n, kind = C.rows, C.columns, C.precision
    one, two = (np.empty((m, n), kind.real, order="F") for _ in range(2))
    a, b, both = values(A), values(B), np.empty((m, n), kind.dtype, order="F")
    for left, right, out in ((a.real, b.real, one), (a.imag, b.imag, two)):
        _real_product(call, left, right, out)
    both.real, both.imag = one - two, one + two
    _real_product(call, a.real + a.imag, b.real + b.imag, one)
    both.imag = one - both.imag
    c = view(C)
    scale(c, beta)
    c += kind.dtype.type(alpha.value) * both


def _real_product(call, left, right, out):
    """out = left right, arrays of real numbers."""
    a, b, c = (Matrix(array.ctypes.data, len(array), len(array.T), array.strides[0] // array.itemsize,
                      array.strides[1] // array.itemsize, BY_DTYPE[array.dtype]) for array in (left, right, out))
    _gemm(call, ONE, a, b, ZERO, c)


def gemm_many(call: Call, alpha: Scalar, products: list[tuple[Matrix, Matrix, Matrix]], beta: Scalar) -> None:
    """C = alpha A B + beta C for each (A, B, C)."""
    for A, B, C in products:
        _gemm(call, alpha, A, B, beta, C)


def trsm_many(call: Call, alpha: Scalar, solutions: list[tuple[Triangular, Matrix]]) -> None:
    """B = alpha inv(A) B for each (A, B)."""
    for A, B in solutions:
        trsm(call, alpha, A, B)


def _products(A: Matrix, B: Matrix, C: Matrix, batch: Batch) -> Iterator[tuple[Matrix, Matrix, Matrix]]:
    itemsize = C.precision.dtype.itemsize
    for number in range(batch.products):
        yield tuple(matrix._replace(pointer=matrix.pointer + number * step * itemsize)  # type: ignore[misc]
                    for matrix, step in zip((A, B, C), batch[1:4], strict=True))


def _gemm(call, alpha, A, B, beta, C):
    if A.columns == 0 or alpha.is_zero:  # A and B are not read, whatever they hold
        scale(view(C), beta)
    elif not is_blas(C):
        with column_major_output(call, C, read=not beta.is_zero) as copy:
            _gemm(call, alpha, A, B, beta, copy)
    elif max(C.rows, C.columns, A.columns) > INT_MAX:
        _gemm_in_halves(call, alpha, A, B, beta, C)
    elif (left := as_op(A)) and (right := as_op(B)):
        reference.call("gemm", C.precision, left[0], right[0], C.rows, C.columns, A.columns, alpha, left[1], right[1],
                       beta, C)
    else:
        with with_op(call, A) as (op_a, a), with_op(call, B) as (op_b, b):
            reference.call("gemm", C.precision, op_a, op_b, C.rows, C.columns, A.columns, alpha, a, b, beta, C)


@np.errstate(all="ignore")
def scale(C: np.ndarray, beta: Scalar) -> None:
    """C = beta C; beta == 0 writes zeros and reads nothing."""
    if beta.is_zero:
        C[...] = 0
    elif beta.value != 1:
        C *= C.dtype.type(beta.value)


def _gemm_in_halves(call, alpha, A, B, beta, C):
    """Dimensions beyond 32-bit integers: split the longest."""
    m, n, k = C.rows, C.columns, A.columns
    if m == max(m, n, k):
        for rows in _halves(m):
            _gemm(call, alpha, block(A, rows, range(k)), B, beta, block(C, rows, range(n)))
    elif n == max(m, n, k):
        for columns in _halves(n):
            _gemm(call, alpha, A, block(B, range(k), columns), beta, block(C, range(m), columns))
    else:
        for number, depth in enumerate(_halves(k)):
            _gemm(call, alpha, block(A, range(m), depth), block(B, depth, range(n)), ONE if number else beta, C)


def _halves(extent: int) -> tuple[range, range]:
    return range(extent // 2), range(extent // 2, extent)


def _check_size(*extents: int) -> None:
    if max(extents) > INT_MAX:
        raise UnsupportedError(f"the cpu device's BLAS has 32-bit integers: a dimension of {max(extents)} is too long")


def symm(call: Call, alpha: Scalar, A: Symmetric, B: Matrix, beta: Scalar, C: Matrix) -> None:
    """C = alpha A B + beta C."""
    if alpha.is_zero or C.rows == 0:
        scale(view(C), beta)
        return
    _check_size(C.rows, C.columns)
    side = "L"
    if not is_blas(C) and is_blas(C.transposed):  # C^T = B^T A^T
        side, A, B, C = "R", A.transposed, B.transposed, C.transposed
    with (_symmetric(call, A) as (uplo, a), with_op(call, B, "N") as (_, b),
          column_major_output(call, C, read=not beta.is_zero) as c):
        reference.call("hemm" if A.hermitian and C.precision.is_complex else "symm", C.precision, side, uplo, c.rows,
                 c.columns, alpha, a, b, beta, c)


@contextlib.contextmanager
def _symmetric(call: Call, A: Symmetric) -> Iterator[tuple[str, Matrix]]:
    """The uplo character and column-major matrix that BLAS reads as A."""
    conjugate = A.matrix.conjugate and A.matrix.precision.is_complex
    flips = A.hermitian and A.matrix.precision.is_complex  # transposing conjugates a Hermitian matrix
    stored = A.matrix._replace(conjugate=False)
    if is_blas(stored) and not conjugate:
        yield "L" if A.lower else "U", stored
    elif is_blas(stored.transposed) and conjugate == flips:
        yield "U" if A.lower else "L", stored.transposed
    else:
        with column_major_copy(call, A.matrix) as (copy, _):
            yield "L" if A.lower else "U", copy


def syrk(call: Call, alpha: Scalar, A: Matrix, beta: Scalar, C: Matrix, triangle: Triangle, hermitian: bool) -> None:
    """C = alpha A A^T + beta C (A A^H if hermitian) on one triangle of C."""
    if alpha.is_zero or A.columns == 0:
        _scale_triangle(beta, C, triangle)
        return
    _check_size(C.rows, A.columns)
    if not is_blas(C) and is_blas(C.transposed):  # C^T = C, or conj(C) if Hermitian
        C, triangle, A = C.transposed, triangle.flipped, _conjugate_if(hermitian, A)
    with with_op(call, A, "NC" if hermitian else "NT") as (op, a), _triangle_output(call, C) as c:
        reference.call("herk" if hermitian else "syrk", C.precision, "L" if triangle.lower else "U", op, c.rows,
                       A.columns, alpha, a, beta, c, real_scalars=hermitian)
    _make_diagonal_real(C, triangle)


def syr2k(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix, triangle: Triangle,
          hermitian: bool) -> None:
    """C = alpha A B^T + alpha B A^T + beta C (adjoints, and the second alpha conjugate, if hermitian)."""
    if alpha.is_zero or A.columns == 0:
        _scale_triangle(beta, C, triangle)
        return
    _check_size(C.rows, A.columns)
    left, right = (B.adjoint, A.adjoint) if hermitian else (B.transposed, A.transposed)
    second = Scalar(alpha.value.conjugate()) if hermitian else alpha
    gemmtr(call, alpha, A, left, beta, C, triangle)
    gemmtr(call, second, B, right, ONE, C, triangle)


def _conjugate_if(condition: bool, matrix: Matrix) -> Matrix:
    return matrix._replace(conjugate=not matrix.conjugate) if condition else matrix


@contextlib.contextmanager
def _triangle_output(call: Call, C: Matrix) -> Iterator[Matrix]:
    """Like column_major_output; the copy holds all of C, so storing it back leaves the other triangle as it was."""
    with column_major_output(call, C) as c:
        yield c


def _triangle_mask(n: int, triangle: Triangle) -> np.ndarray:
    return np.tri(n, dtype=bool) if triangle.lower else np.tri(n, dtype=bool).T


def _scale_triangle(beta, C, triangle):
    for j, column in enumerate(view(C).T):
        scale(column[j:] if triangle.lower else column[:j + 1], beta)
    _make_diagonal_real(C, triangle)


def _make_diagonal_real(C, triangle):
    if triangle.real_diagonal and C.rows:
        np.einsum("ii->i", view(C)).imag[...] = 0


def gemmtr(call: Call, alpha: Scalar, A: Matrix, B: Matrix, beta: Scalar, C: Matrix, triangle: Triangle) -> None:
    """C = alpha A B + beta C on one triangle of C: whole blocks beside the diagonal, and copies of those on it."""
    if alpha.is_zero or A.columns == 0:
        _scale_triangle(beta, C, triangle)
        return
    n, k = C.rows, A.columns
    for start in range(0, n, _BLOCK):
        here, rest = range(start, min(start + _BLOCK, n)), range(min(start + _BLOCK, n), n)
        a, b, c = block(A, here, range(k)), block(B, range(k), here), block(C, here, here)
        with column_major_copy(call, c, read=not beta.is_zero) as (copy, compact):
            _gemm(call, alpha, a, b, beta, copy)
            np.copyto(view(c), compact, where=_triangle_mask(len(here), triangle))
        if triangle.lower:
            _gemm(call, alpha, block(A, rest, range(k)), b, beta, block(C, rest, here))
        else:
            _gemm(call, alpha, a, block(B, range(k), rest), beta, block(C, here, rest))
    _make_diagonal_real(C, triangle)


def trmm(call: Call, alpha: Scalar, A: Triangular, B: Matrix) -> None:
    """B = alpha A B. BLAS pads triangles with zeros, which would carry NaN and Inf of B to rows that do not use it:
    then diagonal blocks are multiplied here."""
    if alpha.is_zero:
        view(B)[...] = 0
    elif np.isfinite(view(B)).all():
        _triangular_fortran(call, "trmm", alpha, A, B)
    else:
        _divide_triangle(call, False, alpha, A, B)


def trsm(call: Call, alpha: Scalar, A: Triangular, B: Matrix) -> None:
    """B = alpha inv(A) B. BLAS multiplies by reciprocals of the diagonal: only where these are ordinary numbers."""
    if alpha.is_zero:
        view(B)[...] = 0
    elif A.unit or _ordinary(np.einsum("ii->i", view(A.matrix)), A.matrix.precision):
        _triangular_fortran(call, "trsm", alpha, A, B)
    else:
        _divide_triangle(call, True, alpha, A, B)


def _ordinary(diagonal: np.ndarray, precision: Precision) -> bool:
    """Whether the reciprocal of every entry, and what leads to it, is far from overflow and underflow."""
    info = np.finfo(precision.real)
    size = np.abs(diagonal.real) + np.abs(diagonal.imag)
    least = float(info.tiny) ** 0.5 if precision.is_complex else float(info.tiny) * 4
    return bool(((size > least) & (size < 1 / least)).all())


def _triangular_fortran(call, name, alpha, A, B):
    _check_size(B.rows, B.columns)
    side = "L"
    if not is_blas(B) and is_blas(B.transposed):  # (A B)^T = B^T A^T
        side, A, B = "R", A.transposed, B.transposed
    with with_op(call, A.matrix) as (op, a), column_major_output(call, B) as b:
        reference.call(name, B.precision, side, "L" if A.lower == (op == "N") else "U", op, "U" if A.unit else "N",
                       b.rows, b.columns, alpha, a, b)


def _divide_triangle(call, solve, alpha, A, B):
    """The same recursion as on the GPU: diagonal blocks row by row, the rectangles beside them by gemm."""
    m = B.rows
    if m <= _BLOCK:
        with np.errstate(all="ignore"):
            _block_rows(solve, alpha, A, view(B))
        return
    half = m // 2
    first, second = (range(half), range(half, m)) if A.lower else (range(m - half, m), range(m - half))
    everything = range(B.columns)
    top, bottom = block(B, first, everything), block(B, second, everything)
    beside = block(A.matrix, second, first)
    corners = [A._replace(matrix=block(A.matrix, rows, rows)) for rows in (first, second)]
    if solve:
        _divide_triangle(call, True, alpha, corners[0], top)
        _gemm(call, Scalar(-1.0), beside, top, alpha, bottom)
        _divide_triangle(call, True, ONE, corners[1], bottom)
    else:
        _divide_triangle(call, False, alpha, corners[1], bottom)
        _gemm(call, alpha, beside, top, ONE, bottom)
        _divide_triangle(call, False, alpha, corners[0], top)


def quotient(a: np.ndarray, b: Any) -> np.ndarray:
    """a / b with real divisions only: NumPy multiplies complex numbers by a rounded reciprocal.

    R. Smith, "Algorithm 116: complex division", CACM 5 (1962).
    """
    if a.dtype.kind != "c":
        return a / b
    if abs(b.real) >= abs(b.imag):
        ratio = b.imag / b.real
        size = b.real + b.imag * ratio
        real, imag = (a.real + a.imag * ratio) / size, (a.imag - a.real * ratio) / size
    else:
        ratio = b.real / b.imag
        size = b.imag + b.real * ratio
        real, imag = (a.real * ratio + a.imag) / size, (a.imag * ratio - a.real) / size
    result = np.empty_like(a)
    result.real, result.imag = real, imag
    return result


def _block_rows(solve, alpha, A, B):
    """Substitution, or the product from the last row up, with NumPy: one row for all right-hand sides at a time."""
    a, scalar = values(A.matrix), B.dtype.type(alpha.value)
    m = len(B)
    order = range(m) if A.lower else range(m - 1, -1, -1)
    for i in order if solve else reversed(order):
        before = slice(0, i) if A.lower else slice(i + 1, m)
        if solve:
            total = scalar * B[i]
            for k in range(m)[before]:
                total -= a[i, k] * B[k]
            B[i] = total if A.unit else quotient(total, a[i, i])
        else:
            total = B[i].copy() if A.unit else a[i, i] * B[i]
            for k in range(m)[before]:
                total += a[i, k] * B[k]
            B[i] = scalar * total
