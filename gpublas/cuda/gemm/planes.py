"""What goes before and after the three real products of a complex one: real parts, imaginary parts and their sums as
matrices of their own, and C from the three products of these."""

from __future__ import annotations

from numba import cuda, float32, float64, int64

from ..compile import KernelSource
from ..ptx import pointer_to
from ..scalars import ALPHA_REAL, ALPHA_THERE, alpha_beta_reader, scalar_reader
from .epilogue import sums_finisher

device = cuda.jit(device=True)

THREADS = 256


@device
def _place(rows, columns, by_rows):
    """Row and column of this thread's element, neighbours in memory for neighbours, and whether there is one."""
    element = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    if by_rows:
        return element // columns, element % columns, element < rows * columns
    return element % rows, element // rows, element < rows * columns


def planes_kernel(prefix: str) -> KernelSource:
    """Real parts, imaginary parts and their sums of a complex matrix (prefix "c" or "z").

    Kernel arguments: A, P: addresses. rows, columns, row_stride, column_stride: of A, in elements. pitch: reals from
    one row (by_rows) or column of P to the next. plane: reals from one of the three matrices to the next. by_rows.
    alpha_at, scalars: where alpha is on the device, see scalars.py; a zero there reads nothing. sign: +1 or -1, times
    imaginary parts.
    """
    real = float32 if prefix == "c" else float64
    read, zero = scalar_reader(2, real(0)), real(0)
    one = real(1)

    def kernel(A, P, rows, columns, row_stride, column_stride, pitch, plane, by_rows, alpha_at, scalars, sign):
        alpha, alpha_imag = read(alpha_at, scalars, ALPHA_THERE, ALPHA_REAL, one, zero)
        i, j, inside = _place(rows, columns, by_rows)
        if not inside or (alpha == zero and alpha_imag == zero):
            return
        a, out = pointer_to(A, real), pointer_to(P, real)
        at, to = 2 * (i * row_stride + j * column_stride), i + j * pitch
        if by_rows:
            to = i * pitch + j
        x, y = a[at], a[at + 1] * sign
        out[to], out[plane + to], out[2 * plane + to] = x, y, x + y

    return KernelSource(kernel, "ll" + "llll" + "ll" + "i" + "pi" + ("f" if prefix == "c" else "d"), (real,), THREADS)


def combine_kernel(prefix: str) -> KernelSource:
    """C = alpha (P - Q + i (R - P - Q)) + beta C, from products of real parts (P), imaginary parts (Q) and sums (R).

    Kernel arguments: P: address of the three matrices, pitch and plane as in planes_kernel. C, m, n, c_row, c_column,
    by_rows: how P lies. alpha_at ... beta_imag: see simt.py; alpha == 0 reads no products.
    """
    real = float32 if prefix == "c" else float64
    zero = real(0)
    both, finish = alpha_beta_reader(2, zero), sums_finisher((), 2, real)

    def kernel(P, pitch, plane, C, m, n, c_row, c_column, by_rows, alpha_at, beta_at, scalars, alpha_real, alpha_imag,
               beta_real, beta_imag):
        i, j, inside = _place(m, n, by_rows)
        if not inside:
            return
        alpha_real, alpha_imag, beta_real, beta_imag = both(alpha_at, beta_at, scalars, alpha_real, alpha_imag,
                                                            beta_real, beta_imag)
        total = cuda.local.array(2, real)
        total[0] = total[1] = zero
        if alpha_real != zero or alpha_imag != zero:
            products = pointer_to(P, real)
            at = i + j * pitch
            if by_rows:
                at = i * pitch + j
            p, q, r = products[at], products[plane + at], products[2 * plane + at]
            total[0], total[1] = p - q, r - p - q
        finish(C, i * c_row + j * c_column, total, 0, alpha_real, alpha_imag, beta_real, beta_imag, False, i, j,
               int64(0), int64(0), int64(0), int64(0))

    return KernelSource(kernel, "lll" + "l" + "llll" + "i" + "pp" + "i" + ("f" if prefix == "c" else "d") * 4,
                        (real,) * 2, THREADS)
