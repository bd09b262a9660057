"""Frozen views of operands, as the backends see them, and the problems they form.

A Matrix is mathematical: (rows, columns) with a stride along each, so that transposing swaps two pairs of
numbers and C order, Fortran order, leading dimensions and negative strides are all one thing.
"""

from __future__ import annotations

from typing import NamedTuple

from .arrays import Array
from .flags import Op
from .precision import BY_DTYPE, Precision


class Vector(NamedTuple):
    """A vector operand.

    pointer: address of element 0. size: number of elements. stride: elements from one to the next, of any sign; zero
    repeats one element. precision: element type.
    """

    pointer: int
    size: int
    stride: int
    precision: Precision

    @classmethod
    def of(cls, array: Array) -> Vector:
        """The vector in a 1-D array, as it is indexed."""
        return cls(array.pointer, array.shape[0], array.steps[0], BY_DTYPE[array.dtype])

    @property
    def reversed(self) -> Vector:
        """The same elements, last first."""
        last = self.pointer + max(self.size - 1, 0) * self.stride * self.precision.dtype.itemsize
        return Vector(last, self.size, -self.stride, self.precision)

    @property
    def lowest(self) -> int:
        """The lowest address of an element: what reference BLAS takes for a vector of any stride."""
        return self.reversed.pointer if self.stride < 0 else self.pointer

    def part(self, start: int, stop: int) -> Vector:
        """Elements start to stop - 1."""
        return Vector(self.pointer + start * self.stride * self.precision.dtype.itemsize, stop - start, self.stride,
                      self.precision)


class Matrix(NamedTuple):
    """A matrix operand.

    pointer: address of element (0, 0). rows, columns: extents. row_stride: elements from (i, j) to (i+1, j);
    column_stride: to (i, j+1). precision: element type. conjugate: read as the complex conjugate.
    """

    pointer: int
    rows: int
    columns: int
    row_stride: int
    column_stride: int
    precision: Precision
    conjugate: bool = False

    @classmethod
    def of(cls, array: Array) -> Matrix:
        """The matrix in a 2-D array, as it is indexed."""
        (rows, columns), (row_stride, column_stride) = array.shape, array.steps
        return cls(array.pointer, rows, columns, row_stride, column_stride, BY_DTYPE[array.dtype])

    @property
    def transposed(self) -> Matrix:
        return Matrix(self.pointer, self.columns, self.rows, self.column_stride, self.row_stride, self.precision,
                      self.conjugate)

    @property
    def adjoint(self) -> Matrix:
        """The conjugate transpose."""
        return self.under(Op.C)

    def under(self, op: Op) -> Matrix:
        """op(self): a conjugate of a real matrix is the matrix itself."""
        turned = self.transposed if op.transposes else self
        if op.conjugates and self.precision.is_complex:
            turned = turned._replace(conjugate=not turned.conjugate)
        return turned

    @property
    def is_column_major(self) -> bool:
        """Whether columns are contiguous and apart from each other: what reference BLAS can address as it is."""
        return (self.row_stride == 1 or self.rows <= 1) and (
            self.columns <= 1 or self.column_stride >= max(1, self.rows))

    @property
    def leading_dimension(self) -> int:
        """Elements from one column to the next of a column-major matrix, in the form BLAS accepts."""
        smallest = max(1, self.rows)
        return max(self.column_stride, smallest) if self.columns > 1 else smallest


class Symmetric(NamedTuple):
    """A symmetric or Hermitian operand of which one triangle is stored.

    matrix: its memory as a square matrix. lower: whether the lower triangle is the stored one. hermitian: whether the
    other one is its conjugate; the imaginary part of the diagonal is then taken as zero.
    """

    matrix: Matrix
    lower: bool
    hermitian: bool

    @property
    def transposed(self) -> Symmetric:
        """Its transpose (for a Hermitian one its conjugate): the same memory, seen the other way."""
        return Symmetric(self.matrix.transposed, not self.lower, self.hermitian)


class Triangular(NamedTuple):
    """A triangular operand. lower: which triangle. unit: whether its diagonal is ones, which are not read."""

    matrix: Matrix
    lower: bool
    unit: bool

    @property
    def transposed(self) -> Triangular:
        return Triangular(self.matrix.transposed, not self.lower, self.unit)

    def under(self, op: Op) -> Triangular:
        return Triangular(self.matrix.under(op), self.lower != op.transposes, self.unit)


class Stored(NamedTuple):
    """A matrix as Level 2 takes it: full, banded or packed, and of a triangle only that. Which elements there are, and
    where.

    Element (i, j) is there for i - j <= below and j - i <= above, and lies row_stride * i + column_stride * j +
    row_bend * T(i) + column_bend * T(j) elements from `pointer`, T(k) = k (k + 1) / 2. Bands, too, are matrices with
    two strides, of which only the band is there; only packed triangles bend, along one axis. So each storage can be
    transposed and cut into blocks without a copy.
    storage: "full", "band" or "packed". turned: whether it is the transpose of what the caller's array holds.
    conjugate: read as the complex conjugate.
    """

    pointer: int
    rows: int
    columns: int
    row_stride: int
    column_stride: int
    precision: Precision
    below: int
    above: int
    storage: str = "full"
    row_bend: int = 0
    column_bend: int = 0
    conjugate: bool = False
    turned: bool = False

    @classmethod
    def full(cls, array: Array) -> Stored:
        """The matrix in a 2-D array."""
        a = Matrix.of(array)
        return cls(a.pointer, a.rows, a.columns, a.row_stride, a.column_stride, a.precision, a.rows, a.columns)

    @classmethod
    def band(cls, array: Array, rows: int, below: int, above: int) -> Stored:
        """The matrix with `below` diagonals under the main one and `above` over it: array[above + i - j, j] is A[i, j].
        """
        (_, columns), (step, column_step) = array.shape, array.steps
        kind = BY_DTYPE[array.dtype]
        return cls(array.pointer + above * step * kind.dtype.itemsize, rows, columns, step, column_step - step, kind,
                   below, above, "band")

    @classmethod
    def packed(cls, array: Array, order: int, lower: bool) -> Stored:
        """The triangle that a 1-D array holds column by column."""
        (step,) = array.steps
        stride, bend = ((order * step, -step) if lower else (0, step))
        return cls(array.pointer, order, order, step, stride, BY_DTYPE[array.dtype], order if lower else 0,
                   0 if lower else order, "packed", 0, bend)

    @property
    def lower(self) -> bool:
        """Of a triangle: which."""
        return self.above <= 0

    @property
    def rows_fast(self) -> bool:
        """Whether neighbours in memory are rows rather than columns; an axis that bends never is the fast one."""
        return not self.row_bend and (self.column_bend != 0 or abs(self.row_stride) <= abs(self.column_stride))

    @property
    def transposed(self) -> Stored:
        return Stored(self.pointer, self.columns, self.rows, self.column_stride, self.row_stride, self.precision,
                      self.above, self.below, self.storage, self.column_bend, self.row_bend, self.conjugate,
                      not self.turned)

    def under(self, op: Op) -> Stored:
        """op(self): a conjugate of a real matrix is the matrix itself."""
        turned = self.transposed if op.transposes else self
        if op.conjugates and self.precision.is_complex:
            turned = turned._replace(conjugate=not turned.conjugate)
        return turned

    def triangle(self, lower: bool) -> Stored:
        """One triangle with its diagonal."""
        return self._replace(above=0) if lower else self._replace(below=0)

    def without_diagonal(self, lower: bool) -> Stored:
        """A triangle without its diagonal."""
        return self._replace(above=-1) if lower else self._replace(below=-1)

    def offset(self, i: int, j: int) -> int:
        """Bytes from `pointer` to element (i, j)."""
        elements = (i * self.row_stride + j * self.column_stride + self.row_bend * (i * (i + 1) // 2)
                    + self.column_bend * (j * (j + 1) // 2))
        return elements * self.precision.dtype.itemsize

    def block(self, rows: range, columns: range) -> Stored:
        """A contiguous block of rows and columns."""
        i, j = rows.start, columns.start
        return self._replace(
            pointer=self.pointer + self.offset(i, j), rows=len(rows), columns=len(columns),
            row_stride=self.row_stride + self.row_bend * i, column_stride=self.column_stride + self.column_bend * j,
            below=self.below - i + j, above=self.above + i - j)


class Batch(NamedTuple):
    """How many products there are, and elements from one's matrix to the next one's; tables: the operands' pointers
    are those of tables of addresses instead, one for each product."""

    products: int = 1
    a: int = 0
    b: int = 0
    c: int = 0
    tables: bool = False


ALONE = Batch()


class Stack(NamedTuple):
    """Matrices of one shape at equal distances: the first of them, how many, elements from one to the next."""

    matrix: Matrix
    products: int
    step: int

    @classmethod
    def of(cls, array: Array) -> Stack:
        """The matrices of a 3-D array, whose first axis counts them; one alone has no distance."""
        first = Array(array.pointer, array.shape[1:], array.strides[1:], array.dtype, array.writeable, array.place,
                      array.owner)
        return cls(Matrix.of(first), array.shape[0], array.steps[0] if array.shape[0] > 1 else 0)


class Triangle(NamedTuple):
    """Which triangle of an output is written, and whether its diagonal is made real (Hermitian results)."""

    lower: bool
    real_diagonal: bool = False

    @property
    def flipped(self) -> Triangle:
        return Triangle(not self.lower, self.real_diagonal)


class GemmProblem(NamedTuple):
    """What a gemm is, apart from where its data lies: the key of its plan.

    m, n, k: C is m x n, A is m x k. strides: row and column strides of A, B and C in elements. stored: which triangle
    of a symmetric A is there, 1 lower, -1 upper, 0 for a general A. triangle: the part of C that is written, None
    for all. aligned: whether A and B, of every product, are known to begin at multiples of 16 bytes. whole: whether k
    must not be split, so that an element of C has the same bits whatever m and n are.
    """

    precision: Precision
    m: int
    n: int
    k: int
    strides: tuple[int, int, int, int, int, int]
    conjugate_a: bool
    conjugate_b: bool
    batch: Batch = ALONE
    stored: int = 0
    hermitian: bool = False
    triangle: Triangle | None = None
    aligned: tuple[bool, bool] = (False, False)
    whole: bool = False

    @classmethod
    def of(cls, A: Matrix | Symmetric, B: Matrix, C: Matrix, batch: Batch = ALONE,
           triangle: Triangle | None = None) -> GemmProblem:
        stored, hermitian = 0, False
        if isinstance(A, Symmetric):
            stored, hermitian, A = (1 if A.lower else -1), A.hermitian, A.matrix
        size = C.precision.dtype.itemsize
        aligned = (not (A.pointer | batch.a * size) & 15, not (B.pointer | batch.b * size) & 15)
        return cls(C.precision, C.rows, C.columns, A.columns,
                   (A.row_stride, A.column_stride, B.row_stride, B.column_stride, C.row_stride, C.column_stride),
                   A.conjugate, B.conjugate, batch, stored, hermitian, triangle,
                   (False, False) if batch.tables else aligned)


class TriangularProblem(NamedTuple):
    """What a triangular product or solution is: B = alpha A B, or B = alpha inv(A) B, with A m x m and B m x n.

    alpha: "zero", "value" (on the host, not zero) or "device" (unknown to the host).
    """

    precision: Precision
    solve: bool
    m: int
    n: int
    strides: tuple[int, int, int, int]
    lower: bool
    unit: bool
    conjugate: bool
    alpha: str
    batch: Batch = ALONE

    @classmethod
    def of(cls, solve: bool, alpha: str, A: Triangular, B: Matrix, batch: Batch = ALONE) -> TriangularProblem:
        a = A.matrix
        return cls(B.precision, solve, B.rows, B.columns, (a.row_stride, a.column_stride, B.row_stride,
                   B.column_stride), A.lower, A.unit, a.conjugate, alpha, batch)


_ALIGNED = 16  # bytes that the widest access of a GPU thread moves


class VectorProblem(NamedTuple):
    """What an operation on one or two vectors of one size is, apart from where its data lies: the key of its plan.

    precision: in which the kernel computes. size: elements of it. x_step, y_step: from one to the next, in them.
    shift: 1 where the elements are halves of complex ones, which lie side by side and to whose distances steps then
    apply (element i is at (i >> 1) * step + (i & 1)), else 0. wide: every operand is contiguous and aligned.
    """

    precision: Precision
    size: int
    x_step: int
    y_step: int
    shift: int
    wide: bool

    @classmethod
    def of(cls, x: Vector, y: Vector | None = None, halves: bool = False) -> VectorProblem:
        """The problem of one or two vectors; halves: only real arithmetic is done on them."""
        y = y or x
        wide = x.size <= 1 or (x.stride == 1 and y.stride == 1)
        wide = wide and x.pointer % _ALIGNED == 0 and y.pointer % _ALIGNED == 0
        if halves and x.precision.is_complex:
            return cls(BY_DTYPE[x.precision.real], 2 * x.size, 2 * x.stride, 2 * y.stride, 1, wide)
        return cls(x.precision, x.size, x.stride, y.stride, 0, wide)
