"""The second launch of a product whose k was split: partial sums, added up in a fixed order, become C."""

from __future__ import annotations

from numba import cuda, float32, float64, int64

from ..compile import KernelSource
from ..ptx import pointer_to
from ..scalars import alpha_beta_reader
from .epilogue import sums_finisher

THREADS = 256
PARAMETERS = "ll" + "lll" + "llii" + "pp" + "i"  # then four scalars; bias, its step, aux, its steps


def fold_kernel(prefix: str, epilogue: tuple) -> KernelSource:
    """The kernel for sums of a type (a prefix of BLAS) and the fields of an Epilogue, or ().

    Kernel arguments:
    P: address of `splits` partial sums of C, m x n each, compact one after the other. C. m, n, splits.
    c_row, c_column: C's strides in elements. by_rows: whether the partial sums lie row by row, else column by column.
    real_diagonal, alpha_at ... beta_imag, bias ... aux_column: see simt.py.
    """
    real = float32 if prefix in "sc" else float64
    parts = 2 if prefix in "cz" else 1
    zero = real(0)
    both, finish = alpha_beta_reader(parts, zero), sums_finisher(epilogue, parts, real)

    def kernel(P, C, m, n, splits, c_row, c_column, by_rows, real_diagonal, alpha_at, beta_at, scalars, alpha_real,
               alpha_imag, beta_real, beta_imag, bias, bias_step, aux, aux_row, aux_column):
        # 1. A thread for each element, neighbours in memory for neighbours.
        element = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        if element >= m * n:
            return
        if by_rows:
            i, j = element // n, element % n
        else:
            i, j = element % m, element // m
        alpha_real, alpha_imag, beta_real, beta_imag = both(alpha_at, beta_at, scalars, alpha_real, alpha_imag,
                                                            beta_real, beta_imag)

        # 2. The sum over the splits, first to last; alpha == 0 reads none of them.
        total = cuda.local.array(2, real)
        total[0] = total[1] = zero
        if alpha_real != zero or alpha_imag != zero:
            partial = pointer_to(P, real)
            for split in range(splits):
                for part in range(parts):
                    total[part] += partial[(split * m * n + element) * parts + part]

        # 3. C = alpha * (the sum) + beta * C, or what the epilogue says.
        finish(C, i * c_row + j * c_column, total, 0, alpha_real, alpha_imag, beta_real, beta_imag,
               real_diagonal and i == j, i, j, bias, bias_step, aux, i * aux_row + j * aux_column)

    return KernelSource(kernel, PARAMETERS + ("f" if real is float32 else "d") * 4 + "ll" + "lll", (real,) * 2, THREADS)
