"""One call of a Level 2 routine on the chosen device, checked against extended precision.

What must not be read holds NaN; what must not be written is compared bit by bit; results are held to error bounds.
"""

import numpy as np
import reference
from conftest import random_values
from level1.strided import Strided

import gpublas
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.testing.buffers import LAYOUTS, Guarded

STEPS = (1, -1, 2, -2)


def same_bits(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


class Memory:
    """A dense matrix in a storage, with NaN in all that is not there, between canaries.

    there: mask of what may be read. layout: one of LAYOUTS, or for packed storage the step from element to element.
    `array` is what to pass to the routine.
    """

    def __init__(self, case, values, there, layout, below=0, above=0, uplo="U"):
        self.storage, self.shape, self.below, self.above, self.uplo = case.storage, values.shape, below, above, uplo
        values = np.where(there, values, np.nan).astype(values.dtype)
        if case.storage == "full":
            self._guarded = Guarded(values, layout)
        elif case.storage == "band":
            band = np.full((below + above + 1, values.shape[1]), np.nan, values.dtype)
            i, j = np.nonzero(self._within())
            band[above + i - j, j] = values[i, j]
            self._guarded = Guarded(band, layout)
        else:
            self._guarded = Strided(values.T[self._within().T], layout)
        self.array = self._guarded.array
        self.before = self.array.copy()

    def _within(self):
        """Mask of what has a place in the array."""
        i, j = np.indices(self.shape)
        if self.storage == "band":
            return (i - j <= self.below) & (j - i <= self.above)
        return (i <= j if self.uplo == "U" else i >= j) if self.storage == "packed" else np.ones(self.shape, bool)

    def dense(self):
        """The array's values where they belong, NaN elsewhere."""
        if self.storage == "full":
            return self.array.copy()
        values = np.full(self.shape, np.nan, self.array.dtype)
        within = self._within()
        if self.storage == "packed":
            values.T[within.T] = self.array
        else:
            i, j = np.nonzero(within)
            values[i, j] = self.array[self.above + i - j, j]
        return values

    def assert_unchanged(self, context):
        assert same_bits(self.array.copy(), self.before), f"{context}: the matrix has changed"
        self._guarded.assert_intact()

    def assert_intact(self):
        """Nothing outside the array has changed."""
        self._guarded.assert_intact()


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def a_layout(case, rng):
    return pick(rng, STEPS) if case.storage == "packed" else pick(rng, LAYOUTS)


def a_vector(case, rng, n, unread=False):
    """Random values (NaN if unread) at a random step."""
    return Strided(np.full(n, np.nan, case.dtype) if unread else random_values(rng, n, case.dtype), pick(rng, STEPS))


def triangle_of(n, uplo, width):
    """Mask of a triangle, of a band of it if width is not None."""
    i, j = np.indices((n, n))
    mask = i <= j if uplo == "U" else i >= j
    return mask if width is None else mask & (abs(i - j) <= width)


def square_memory(case, rng, n, uplo, width, values=None, unit=False, unread=False):
    """A random triangle in the case's storage, and its dense values. A Hermitian one has NaN in the imaginary part of
    its diagonal; a unit one has NaN on it, one that is not read everywhere."""
    values = random_values(rng, (n, n), case.dtype) if values is None else values
    there = triangle_of(n, uplo, width if case.storage == "band" else None)
    if unit:
        there &= ~np.eye(n, dtype=bool)
    stored = values.copy()
    if case.conjugate and case.family == "symmetric":
        stored.imag[np.diag_indices(n)] = np.nan
    band = width or 0
    below, above = (band, 0) if uplo == "L" else (0, band)
    memory = Memory(case, stored, there & (not unread), a_layout(case, rng), below, above, uplo)
    return memory, np.where(there, values, 0)


def call(case, **arguments):
    return getattr(gpublas, case.name)(*(arguments[name] for name in case.arguments))


def check_general(case, rng, shape, scalars, op, widths=(0, 0)):
    """gemv or gbmv; widths: diagonals below and above."""
    (m, n), (kl, ku) = shape, widths
    i, j = np.indices(shape)
    there = np.ones(shape, bool) if case.storage == "full" else (i - j <= kl) & (j - i <= ku)
    values = random_values(rng, shape, case.dtype)
    unread = scalars["alpha"] == 0
    A = Memory(case, values, there & (not unread), a_layout(case, rng), kl, ku)
    x, rows = a_vector(case, rng, m if op != "N" else n, unread), n if op != "N" else m
    context = f"{case} {op} {shape} {widths} {scalars}"
    matrix = reference.op(op, reference.wide(np.where(there, values, 0)))
    _check_product(case, rng, A, x, matrix, rows, scalars, {"op": op, "m": m, "kl": kl, "ku": ku}, context)


def check_symmetric(case, rng, n, scalars, uplo, width=None):
    """Products with a symmetric or Hermitian matrix; width: diagonals of a band."""
    unread = scalars["alpha"] == 0
    A, values = square_memory(case, rng, n, uplo, width, unread=unread)
    context = f"{case} {uplo} {n} {width} {scalars}"
    matrix = reference.symmetric(uplo, values, case.conjugate)
    _check_product(case, rng, A, a_vector(case, rng, n, unread), matrix, n, scalars, {"uplo": uplo}, context)


def _check_product(case, rng, A, x, matrix, rows, scalars, flags, context):
    alpha, beta = scalars["alpha"], scalars["beta"]
    y = a_vector(case, rng, rows, unread=beta == 0)
    context += f" A {A.array.strides} x {x.array.strides} y {y.array.strides}"
    assert call(case, **flags, **scalars, x=x.array, y=y.array, **{case.matrix: A.array}) is y.array
    exact = np.zeros(rows, matrix.dtype)
    size = np.zeros((rows, 1))
    if alpha != 0:
        exact = exact + alpha * (matrix @ reference.wide(x.values))
        size = product_bound(alpha, matrix, reference.wide(x.values)[:, None], 0, None, matrix.shape[1], case.dtype)
    if beta != 0:
        exact = exact + beta * reference.wide(y.values)
        size = size + product_bound(0, matrix, np.zeros((matrix.shape[1], 1)), beta, y.values[:, None],
                                    matrix.shape[1], case.dtype)
    assert_within(y.array, exact, size[:, 0], context)
    y.assert_intact()
    x.assert_unchanged()
    A.assert_unchanged(context)


def tame(case, rng, n, uplo, width):
    """A triangle whose inverse is tame."""
    values = random_values(rng, (n, n), case.dtype) / case.dtype.type(2 * max(n, 1))
    values[np.diag_indices(n)] += 1
    return np.where(triangle_of(n, uplo, width), values, 0)


def check_triangular(case, rng, n, flags, width=None):
    """Products with a triangle, and solutions, by their residual: |op(A) z - x| <= (n + 3) eps |op(A)| |z|."""
    uplo, op, diag = flags["uplo"], flags["op"], flags["diag"]
    A, values = square_memory(case, rng, n, uplo, width, tame(case, rng, n, uplo, width), diag == "U")
    x = a_vector(case, rng, n)
    context = f"{case} {flags} {n} {width} A {A.array.strides} x {x.array.strides}"
    assert call(case, **flags, x=x.array, **{case.matrix: A.array}) is x.array
    matrix = reference.op(op, reference.triangular(uplo, diag, values))
    before, after = reference.wide(x.values), reference.wide(x.array)
    info = np.finfo(case.dtype)
    eps = (n + 3) * info.eps * (4 if case.precision.is_complex else 1)
    if case.family == "product":
        assert_within(x.array, matrix @ before, eps * (np.abs(matrix) @ np.abs(before)), context)
    else:
        assert_within(matrix @ after, before, eps * (np.abs(matrix) @ np.abs(after)), context)
    x.assert_intact()
    A.assert_unchanged(context)


def check_update(case, rng, shape, scalars, uplo="U"):
    """Updates of a matrix by vectors, in its triangle or as a whole."""
    m, n = shape
    alpha, hermitian = scalars["alpha"], case.conjugate and case.family == "update"
    written = np.ones(shape, bool) if case.family == "outer" else triangle_of(n, uplo, None)
    values = random_values(rng, shape, case.dtype)
    A = Memory(case, values, written, a_layout(case, rng), uplo=uplo)
    x, y = a_vector(case, rng, m, alpha == 0), a_vector(case, rng, n, alpha == 0)
    context = f"{case} {uplo} {shape} {scalars} A {A.array.strides} x {x.array.strides} y {y.array.strides}"
    assert call(case, uplo=uplo, **scalars, x=x.array, y=y.array, **{case.matrix: A.array}) is A.array
    exact, size = reference.wide(values), np.abs(reference.wide(values))
    if alpha != 0:
        a, b = reference.wide(x.values), reference.wide(y.values if case.vectors == 2 or m != n or
                                                        case.family == "outer" else x.values)
        turned = np.conj(b) if case.conjugate else b
        exact = exact + alpha * np.outer(a, turned)
        size = size + abs(alpha) * np.abs(np.outer(a, b))
        if case.vectors == 2:
            back, scale = (np.conj(a), np.conj(alpha)) if hermitian else (a, alpha)
            exact = exact + scale * np.outer(b, back)
            size = size + abs(alpha) * np.abs(np.outer(b, a))
    if hermitian:
        exact[np.diag_indices(n)] = exact.diagonal().real
    info = np.finfo(case.dtype)
    bound = (2 + case.vectors) * (4 if case.precision.is_complex else 1) * (info.eps * size + info.smallest_subnormal)
    after = A.dense()
    assert_within(after[written], exact[written], bound[written], context)
    if alpha == 0:
        keeps = written & ~np.eye(*shape, dtype=bool) if hermitian else written
        assert same_bits(after[keeps], values[keeps]), context
    if hermitian:
        assert not after.diagonal().imag.any(), context
    if case.storage == "full":
        assert same_bits(after[~written], A.before[~written]), context
    A.assert_intact()
    x.assert_unchanged()
    y.assert_unchanged()
