"""The Level 2 kernel for triangular solutions: substitution over some rows of a triangle in one thread block.

Rows and columns are counted in the order of substitution: an upper triangle is a lower one counted from the end.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from .access import REALS, bent, divider, loader, parts_of, storer
from .compile import KernelSource

device = cuda.jit(device=True)

THREADS = 256
ROWS = 32  # of a diagonal block, which one warp solves
GROUPS = THREADS // ROWS  # threads that share a row's product with what is already solved
PITCH = ROWS + 1  # of a row of the diagonal block in shared memory, against bank conflicts
PART = ROWS + 4  # of a group of partial sums
BLOCK, SUMS = ROWS * PITCH, GROUPS * PART  # elements; imaginary parts come after all real ones
PARAMETERS = "pp" + "lll" + "llll" + "l" + "l" + "iii"  # then a sign of the real type


@device
def place(i, k, n, row_stride, column_stride, row_bend, column_bend, lower):
    """Where element (i, k), in the order of substitution, lies."""
    if not lower:
        i, k = n - 1 - i, n - 1 - k
    return bent(row_stride, row_bend, i) + bent(column_stride, column_bend, k)


def substitution(precision: str) -> KernelSource:
    """x = inv(A) x on rows first to last - 1, with columns from first on, for a triangle A.

    Kernel arguments: addresses of A and x; n: the triangle's order; first, last; strides of A and bends of its rows
    and columns; step of x; reach: how many diagonals there are beside the main one; lower; unit: the diagonal is ones
    and not read; rows_fast: whether rows are the fast axis of memory; sign: +1 or -1, times A's imaginary parts.
    """
    real, parts = REALS[precision], parts_of(precision)
    zero = real(0)
    BLOCK_SIZE, SUMS_SIZE = BLOCK * parts, SUMS * parts
    load = loader(parts, zero)
    solve = _warp_solver(parts, zero)

    def kernel(A, x, n, first, last, row_stride, column_stride, row_bend, column_bend, x_step, reach, lower, unit,
               rows_fast, sign):
        block = cuda.shared.array(BLOCK_SIZE, real)  # [row][column], a lower triangle
        sums = cuda.shared.array(SUMS_SIZE, real)  # [group][row]
        t = int32(cuda.threadIdx.x)
        if rows_fast:
            row, group, i_first, k_first, i_step, k_step = t & 31, t >> 5, t & 31, t >> 5, 0, GROUPS
        else:
            row, group, i_first, k_first, i_step, k_step = t >> 3, t & 7, t >> 5, t & 31, GROUPS, 0
        start = first
        while start < last:
            size = int32(min(last - start, ROWS))

            # 1. The products of the block's rows with what is solved, spread over groups of threads.
            value, imag = zero, zero
            if row < size:
                k = max(first, start - reach) + group
                while k < start:
                    if start + row - k <= reach:
                        a, a_imag = load(A, place(start + row, k, n, row_stride, column_stride, row_bend, column_bend,
                                                  lower))
                        b, b_imag = load(x, (k if lower else n - 1 - k) * x_step)
                        value += a * b
                        if parts == 2:
                            a_imag *= sign
                            value -= a_imag * b_imag
                            imag += a * b_imag
                            imag += a_imag * b
                    k += GROUPS
            sums[group * PART + row] = value
            if parts == 2:
                sums[SUMS + group * PART + row] = imag

            # 2. The diagonal block, of its triangle what is there.
            for turn in range(ROWS // GROUPS):
                i, k = int32(i_first + turn * i_step), int32(k_first + turn * k_step)
                if i < size and k <= i and i - k <= reach and not (unit and i == k):
                    a, a_imag = load(A, place(start + i, start + k, n, row_stride, column_stride, row_bend,
                                              column_bend, lower))
                    block[i * PITCH + k] = a
                    if parts == 2:
                        block[BLOCK + i * PITCH + k] = a_imag * sign
            cuda.syncthreads()

            # 3. One warp solves it.
            if t < 32:
                at = (start + t if lower else n - 1 - start - t) * x_step
                solve(x, at, block, sums, t, size, reach, unit)
            cuda.syncthreads()
            start += int64(ROWS)

    return KernelSource(kernel, PARAMETERS + ("f" if precision in "sc" else "d"), (real,) * 2, THREADS)


def _warp_solver(parts, zero):
    """Device function: a warp solves a diagonal block, a lane for each row. A column at a time is finished and taken
    off the rest."""
    load, store = loader(parts, zero), storer(parts)
    divide = divider(parts, zero)

    @device
    def solve(x, at, block, sums, t, size, reach, unit):
        value, imag = zero, zero
        if t < size:
            value, imag = load(x, at)
            for g in range(GROUPS):
                value -= sums[g * PART + t]
                if parts == 2:
                    imag -= sums[SUMS + g * PART + t]
        for k in range(size):
            if t == k and not unit:
                a_imag = zero
                if parts == 2:
                    a_imag = block[BLOCK + k * PITCH + k]
                value, imag = divide(value, imag, block[k * PITCH + k], a_imag)
            b, b_imag = cuda.shfl_sync(0xFFFFFFFF, value, k), zero
            if parts == 2:
                b_imag = cuda.shfl_sync(0xFFFFFFFF, imag, k)
            if t > k and t < size and t - k <= reach:
                a = block[t * PITCH + k]
                value -= a * b
                if parts == 2:
                    a_imag = block[BLOCK + t * PITCH + k]
                    value += a_imag * b_imag
                    imag -= a * b_imag
                    imag -= a_imag * b
        if t < size:
            store(x, at, value, imag)

    return solve
