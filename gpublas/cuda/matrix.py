"""Element by element over matrices: sums and transposes (geam), scaling by a diagonal (dgmm), packing of triangles."""

from __future__ import annotations

from numba import cuda, float32, float64, int32, int64

from .access import bent, loader, storer
from .compile import KernelSource
from .scalars import ALPHA_REAL, ALPHA_THERE, BETA_REAL, BETA_THERE, scalar_reader

device = cuda.jit(device=True)

TILE = 32  # rows and columns of C that a thread block writes
_STRIPS = 8  # rows of threads: each thread has TILE / _STRIPS elements
THREADS = TILE * _STRIPS
PARAMETERS = "pppll" + "llllll" + "ll" + "ll" + "iiii" + "ppi"  # then four scalars and two signs of the real type


def matrix_kernel(precision: str) -> KernelSource:
    """C = alpha A + beta B, or C = A * B element by element, on the part of C that is there.

    Kernel arguments: addresses of A, B, C; rows, columns; row and column strides of each in elements; column bends of
    A and C (operands.Stored: packed triangles); below, above: element (i, j) is there for i - j <= below and j - i <=
    above; product; a_rows_first, b_rows_first, c_rows_first: whether rows are the fast axis in memory; alpha_at,
    beta_at and their mask (scalars.py), alpha and beta as (real, imaginary); a_sign, b_sign: +1 or -1, times the
    imaginary parts. alpha == 0 does not read A, beta == 0 does not read B; a factor of 1 is not multiplied with.
    """
    real = float32 if precision in "sc" else float64
    parts = 2 if precision in "cz" else 1
    zero, one = real(0), real(1)
    PITCH = TILE + 1  # of a tile in shared memory, so that columns of it lie in different banks
    SIZE = TILE * PITCH
    ROUNDS = TILE // _STRIPS
    load, store = loader(parts, zero), storer(parts)
    scalar = scalar_reader(parts, zero)
    combine = _combiner(parts, zero, one)

    @device
    def fetch(source, row_stride, column_stride, bend, top, left, rows, columns, below, above, rows_first, sign, tile,
              tile_imag):
        """The part of an operand under a tile of C into shared memory; neighbours in memory by neighbours."""
        x, y = int32(cuda.threadIdx.x % TILE), int32(cuda.threadIdx.x // TILE)
        for step in range(ROUNDS):
            z = int32(y + step * _STRIPS)
            i, j = (x, z) if rows_first else (z, x)
            row, column = top + i, left + j
            if row < rows and column < columns and row - column <= below and column - row <= above:
                value = load(source, row * row_stride + bent(column_stride, bend, column))
                tile[j * PITCH + i] = value[0]
                if parts == 2:
                    tile_imag[j * PITCH + i] = value[1] * sign

    def kernel(A, B, C, rows, columns, a_row, a_column, b_row, b_column, c_row, c_column, a_bend, c_bend, below, above,
               product, a_rows_first, b_rows_first, c_rows_first, alpha_at, beta_at, scalars, alpha_real, alpha_imag,
               beta_real, beta_imag, a_sign, b_sign):
        a, b = cuda.shared.array(SIZE, real), cuda.shared.array(SIZE, real)  # [column][row]
        a_imag, b_imag = cuda.shared.array(SIZE, real), cuda.shared.array(SIZE, real)

        # 1. Scalars, and which operands are read.
        alpha_real, alpha_imag = scalar(alpha_at, scalars, ALPHA_THERE, ALPHA_REAL, alpha_real, alpha_imag)
        beta_real, beta_imag = scalar(beta_at, scalars, BETA_THERE, BETA_REAL, beta_real, beta_imag)
        with_a = product or alpha_real != zero or alpha_imag != zero
        with_b = product or beta_real != zero or beta_imag != zero

        # 2. Which tile of C.
        tiles_down = (rows + (TILE - 1)) // TILE
        tile = int64(cuda.blockIdx.x)
        top, left = (tile % tiles_down) * TILE, (tile // tiles_down) * TILE

        # 3. What lies under it, through shared memory, since each matrix has a fast axis of its own.
        if with_a:
            fetch(A, a_row, a_column, a_bend, top, left, rows, columns, below, above, a_rows_first, a_sign, a, a_imag)
        if with_b:
            fetch(B, b_row, b_column, int64(0), top, left, rows, columns, below, above, b_rows_first, b_sign, b,
                  b_imag)
        cuda.syncthreads()

        # 4. The result, along C's fast axis.
        x, y = int32(cuda.threadIdx.x % TILE), int32(cuda.threadIdx.x // TILE)
        for step in range(ROUNDS):
            z = int32(y + step * _STRIPS)
            i, j = (x, z) if c_rows_first else (z, x)
            row, column = top + i, left + j
            if row < rows and column < columns and row - column <= below and column - row <= above:
                at = j * PITCH + i
                value = combine(product, with_a, with_b, a, a_imag, b, b_imag, at, alpha_real, alpha_imag, beta_real,
                                beta_imag)
                store(C, row * c_row + bent(c_column, c_bend, column), value[0], value[1])

    letter = "f" if real is float32 else "d"
    return KernelSource(kernel, PARAMETERS + letter * 6, (real,) * 5, THREADS)


def _combiner(parts, zero, one):
    """Device function: one element of the result as (real, imaginary)."""
    if parts == 1:
        @device
        def times(factor, factor_imag, x, y):
            return (x if factor == one else factor * x), zero
    else:
        @device
        def times(factor, factor_imag, x, y):
            if factor == one and factor_imag == zero:
                return x, y
            return factor * x - factor_imag * y, factor * y + factor_imag * x

    @device
    def combine(product, with_a, with_b, a, a_imag, b, b_imag, at, alpha, alpha_imag, beta, beta_imag):
        if product:
            return times(a[at], a_imag[at], b[at], b_imag[at])
        real, imag = zero, zero
        if with_a:
            real, imag = times(alpha, alpha_imag, a[at], a_imag[at])
        if with_b:
            other = times(beta, beta_imag, b[at], b_imag[at])
            real, imag = (real + other[0], imag + other[1]) if with_a else other
        return real, imag

    return combine
