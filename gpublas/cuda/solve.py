"""Diagonal blocks of triangular products and solutions; all else in trmm and trsm is gemm.

An upper triangle is a lower one with rows and columns counted from the end, so one loop serves both.
"""

from __future__ import annotations

from numba import complex64, complex128, cuda, float32, float64, int32, int64

from .compile import KernelSource
from .ptx import matrix_at, pointer_to
from .scalars import gate_reader

device = cuda.jit(device=True)

ROWS = 32  # of a diagonal block
COLUMNS = {"s": 64, "d": 64, "c": 64, "z": 32}  # right-hand sides that a thread block takes, one a thread
PARAMETERS = "llll" + "lll" + "i" + "llll" + "iiiii" + "pi"  # then alpha as two reals, the sign of A's imaginary parts


def triangular_block(precision: str) -> KernelSource:
    """B = alpha A B or B = alpha inv(A) B for a triangle A of at most ROWS rows, in place.

    Kernel arguments: addresses of A (m x m) and B (m x n), or of tables of such addresses; a_batch, b_batch, tables: as
    for the gemm kernel; across: thread blocks of one product; n; m; row and column strides of A and of B in elements;
    solve: divide instead of multiply; lower; unit: the diagonal is ones and not read; b_rows_first, a_rows_first:
    whether rows are the fast axis in memory; alpha_at and a mask that may make it a gate (scalars.py); alpha as (real,
    imaginary), not zero; a_sign: +1 or -1, times A's imaginary parts.
    """
    real = float32 if precision in "sc" else float64
    kind = {"s": float32, "d": float64, "c": complex64, "z": complex128}[precision]
    is_complex = precision in "cz"
    T = COLUMNS[precision]
    A_SIZE, B_SIZE = ROWS * (ROWS + 1), ROWS * T
    SIZE = (4 if real is float32 else 8) * (2 if is_complex else 1)
    PITCH = ROWS + 1  # of the triangle in shared memory, against bank conflicts
    shut = gate_reader(2 if is_complex else 1, real(0))
    make, signed, divide = (complex_arithmetic if is_complex else real_arithmetic)(kind)

    def kernel(A_at, B_at, a_batch, b_batch, across, n, m, tables, a_row, a_column, b_row, b_column, solve, lower, unit,
               b_rows_first, a_rows_first, alpha_at, scalars, alpha_real, alpha_imag, a_sign):
        triangle = cuda.shared.array(A_SIZE, kind)  # [row][column], lower
        tile = cuda.shared.array(B_SIZE, kind)  # [row][right-hand side]
        t = int32(cuda.threadIdx.x)
        if shut(alpha_at, scalars):
            return
        alpha = make(alpha_real, alpha_imag)
        product, part = int64(cuda.blockIdx.x) // across, int64(cuda.blockIdx.x) % across
        A = pointer_to(matrix_at(A_at, product, a_batch, tables, SIZE), kind)
        B = pointer_to(matrix_at(B_at, product, b_batch, tables, SIZE), kind)
        first = part * T
        columns, rows = int32(min(n - first, T)), int32(m)
        last = int32(rows - 1)

        # 1. The triangle, and nothing of the other one, into shared memory; neighbours in memory by neighbours.
        for index in range(t, rows * rows, T):
            fast, slow = int32(index % rows), int32(index // rows)
            i, k = (fast, slow) if a_rows_first else (slow, fast)
            to_i, to_k = (i, k) if lower else (int32(last - i), int32(last - k))
            if to_i > to_k or (to_i == to_k and not unit):
                triangle[to_i * PITCH + to_k] = signed(A[i * a_row + k * a_column], a_sign)

        # 2. The right-hand sides of this block; .
        if b_rows_first:
            for index in range(t, rows * columns, T):
                i, j = int32(index % rows), int32(index // rows)
                tile[(i if lower else last - i) * T + j] = B[i * b_row + (first + j) * b_column]
        else:
            for index in range(t, rows * columns, T):
                i, j = int32(index // columns), int32(index % columns)
                tile[(i if lower else last - i) * T + j] = B[i * b_row + (first + j) * b_column]
        cuda.syncthreads()

        # 3. Each thread works down its own column: substitution, or the product from the last row up.
        if t < columns:
            if solve:
                for i in range(rows):
                    total = alpha * tile[i * T + t]
                    for k in range(i):
                        total -= triangle[i * PITCH + k] * tile[k * T + t]
                    tile[i * T + t] = total if unit else divide(total, triangle[i * PITCH + i])
            else:
                for i in range(last, -1, -1):
                    total = tile[i * T + t] if unit else triangle[i * PITCH + i] * tile[i * T + t]
                    for k in range(i):
                        total += triangle[i * PITCH + k] * tile[k * T + t]
                    tile[i * T + t] = alpha * total
        cuda.syncthreads()

        # 4. Back, in the order in which they came.
        if b_rows_first:
            for index in range(t, rows * columns, T):
                i, j = int32(index % rows), int32(index // rows)
                B[i * b_row + (first + j) * b_column] = tile[(i if lower else last - i) * T + j]
        else:
            for index in range(t, rows * columns, T):
                i, j = int32(index // columns), int32(index % columns)
                B[i * b_row + (first + j) * b_column] = tile[(i if lower else last - i) * T + j]

    letter = "f" if real is float32 else "d"
    return KernelSource(kernel, PARAMETERS + letter * 3, (real,), T)


def real_arithmetic(kind):
    """Device functions: a number from its parts; a number, its imaginary part times a sign; a quotient."""
    @device
    def make(real, imag):
        return real

    @device
    def signed(value, sign):
        return value

    @device
    def divide(a, b):
        return a / b

    return make, signed, divide


def complex_arithmetic(kind):
    """The same for complex numbers.

    Quotients by R. Smith, "Algorithm 116: complex division", CACM 5 (1962): nothing on the way over- or underflows
    where the quotient itself does not, save in rare corners.
    """
    @device
    def make(real, imag):
        return kind(complex(real, imag))

    @device
    def signed(value, sign):
        return kind(complex(value.real, value.imag * sign))

    @device
    def divide(a, b):
        if abs(b.real) >= abs(b.imag):
            ratio = b.imag / b.real
            size = b.real + b.imag * ratio
            return kind(complex((a.real + a.imag * ratio) / size, (a.imag - a.real * ratio) / size))
        ratio = b.real / b.imag
        size = b.imag + b.real * ratio
        return kind(complex((a.real * ratio + a.imag) / size, (a.imag * ratio - a.real) / size))

    return make, signed, divide
