"""The gemm kernel for ordinary arithmetic units: C = alpha A B + beta C, any strides, any sizes.

Algorithm (register blocking as in V. Volkov, J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008,
and the two-level tiling of CUTLASS): a block computes a tile of C from slabs of A and B in shared memory, two
stages of them so that one is filled while the other is used; a thread keeps its part of the tile in registers.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32, int64, uint32

from ..compile import KernelSource
from ..ptx import GLOBAL, SHARED, vector_load, vector_store
from .config import WARP_COLUMNS, WARP_ROWS, SimtConfig

device = cuda.jit(device=True)

PARAMETERS = "ppp" + "lll" + "llllll" + "pp" + "i"  # then four scalars and two signs of the real type


def gemm_kernel(*tiles) -> KernelSource:
    """The kernel for the fields of a SimtConfig.

    Kernel arguments: addresses of A (m x k), B (k x n), C (m x n); m, n, k; row and column strides of A, B, C in
    elements; addresses of alpha and beta on the device, and a mask that says which of the two to read there (1 alpha,
    2 beta); alpha and beta as (real, imaginary); signs (+1 or -1) that multiply the imaginary parts of A and of B.
    """
    config = SimtConfig(*tiles)
    real = float32 if config.precision in "sc" else float64
    parts = 2 if config.precision in "cz" else 1  # reals in an element
    BM, BN, BK = config.block_rows, config.block_columns, config.block_depth
    TM, TN = config.thread_rows, config.thread_columns
    T, V = config.threads, config.vector
    WM, WN = config.warp_rows, config.warp_columns
    WARPS_DOWN = BM // WM
    A_ROW, B_ROW = BM + config.row_pad, BN + config.row_pad  # elements between k-steps in shared memory
    B_START, STAGE = BK * A_ROW, config.stage
    LOADS_A, LOADS_B = BM * BK // T, BN * BK // T  # elements that each thread brings of a slab
    SHARED_REALS, ACCUMULATORS = 2 * STAGE * parts, TM * TN * parts
    A_FRAGMENT, B_FRAGMENT, A_SLAB, B_SLAB = TM * parts, TN * parts, LOADS_A * parts, LOADS_B * parts
    zero = real(0)

    load_fragment = _fragment_loader(V * parts)
    multiply = _multiplier(TM, TN, parts)
    fetch_a, fetch_a_first = _fetchers(LOADS_A, parts, zero)
    fetch_b, fetch_b_first = _fetchers(LOADS_B, parts, zero)
    stash_a, stash_b = _stasher(LOADS_A, parts), _stasher(LOADS_B, parts)
    finish = _finisher(parts)

    @device
    def load_a(shared, at, step, out):
        load_fragment(shared, at, step * A_ROW * parts, WARP_ROWS * V * parts, TM // V, out)

    @device
    def load_b(shared, at, step, out):
        load_fragment(shared, at, step * B_ROW * parts, WARP_COLUMNS * V * parts, TN // V, out)

    @device
    def advance(shared, at_a, at_b, step, accumulators, a, b, next_a, next_b):
        """Multiply the fragments at hand while those of k-step `step` are on their way."""
        load_a(shared, at_a, step, next_a)
        load_b(shared, at_b, step, next_b)
        multiply(accumulators, a, b)

    def kernel(A, B, C, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column, alpha_at, beta_at, scalars,
               alpha_real, alpha_imag, beta_real, beta_imag, a_sign, b_sign):
        shared = cuda.shared.array(SHARED_REALS, real, alignment=16)
        accumulators = cuda.local.array(ACCUMULATORS, real)
        a0, a1 = cuda.local.array(A_FRAGMENT, real), cuda.local.array(A_FRAGMENT, real)
        b0, b1 = cuda.local.array(B_FRAGMENT, real), cuda.local.array(B_FRAGMENT, real)
        slab_a, slab_b = cuda.local.array(A_SLAB, real), cuda.local.array(B_SLAB, real)

        # 1. Scalars: from the device where they are there. alpha == 0 reads neither A nor B.
        if scalars & 1:
            alpha_real = alpha_at[0]
            if parts == 2:
                alpha_imag = alpha_at[1]
        if scalars & 2:
            beta_real = beta_at[0]
            if parts == 2:
                beta_imag = beta_at[1]
        depth = k
        if alpha_real == zero and alpha_imag == zero:
            depth = int64(0)

        # 2. Which tile of C, and how much of it lies inside the matrix.
        tiles_down = (m + (BM - 1)) // BM
        tile = int64(cuda.blockIdx.x)
        top, left = (tile % tiles_down) * BM, (tile // tiles_down) * BN
        rows, columns = int32(min(m - top, BM)), int32(min(n - left, BN))

        # 3. Which elements of a slab this thread brings: neighbours in memory go to neighbouring threads, so
        #    the fast axis of each operand decides. Element i lies at (row + i row_step, depth + i depth_step).
        t = int32(cuda.threadIdx.x)
        if abs(a_row) <= abs(a_column):
            a_i, a_k, a_i_step, a_k_step = int32(t % BM), int32(t // BM), int32(0), int32(T // BM)
        else:
            a_i, a_k, a_i_step, a_k_step = int32(t // BK), int32(t % BK), int32(T // BK), int32(0)
        if abs(b_column) <= abs(b_row):
            b_j, b_k, b_j_step, b_k_step = int32(t % BN), int32(t // BN), int32(0), int32(T // BN)
        else:
            b_j, b_k, b_j_step, b_k_step = int32(t // BK), int32(t % BK), int32(T // BK), int32(0)
        a_at = (top + a_i) * a_row + a_k * a_column
        a_step = a_i_step * a_row + a_k_step * a_column
        b_at = (left + b_j) * b_column + b_k * b_row
        b_step = b_j_step * b_column + b_k_step * b_row
        a_to = int32(a_k * A_ROW + a_i)
        a_to_step = int32(a_k_step * A_ROW + a_i_step)
        b_to = int32(B_START + b_k * B_ROW + b_j)
        b_to_step = int32(b_k_step * B_ROW + b_j_step)

        # 4. Where this thread's part of the tile lies: vectors of V rows (columns) that lanes take in turn.
        warp, lane = int32(t >> 5), int32(t & 31)
        row = int32((warp % WARPS_DOWN) * WM + (lane // WARP_COLUMNS) * V)
        column = int32((warp // WARPS_DOWN) * WN + (lane % WARP_COLUMNS) * V)
        for i in range(ACCUMULATORS):
            accumulators[i] = zero

        # 5. The first slab takes the remainder of k, so that the others need no test along k.
        if depth > 0:
            first = int32((depth - 1) % BK + 1)
            fetch_a_first(A, a_at, a_step, a_i, a_i_step, rows, a_k, a_k_step, first, a_sign, slab_a)
            fetch_b_first(B, b_at, b_step, b_j, b_j_step, columns, b_k, b_k_step, first, b_sign, slab_b)
            a_at += first * a_column
            b_at += first * b_row
            stash_a(shared, a_to, a_to_step, slab_a)
            stash_b(shared, b_to, b_to_step, slab_b)
            cuda.syncthreads()
            at_a, at_b, other = int32(row * parts), int32((B_START + column) * parts), int32(STAGE)
            load_a(shared, at_a, 0, a0)
            load_b(shared, at_b, 0, b0)
            left_over = int64(depth - first)

            # 6. Each turn multiplies one slab out of shared memory while the next comes from global memory.
            while left_over >= 0:
                if left_over > 0:
                    fetch_a(A, a_at, a_step, a_i, a_i_step, rows, a_sign, slab_a)
                    fetch_b(B, b_at, b_step, b_j, b_j_step, columns, b_sign, slab_b)
                    a_at += BK * a_column
                    b_at += BK * b_row
                advance(shared, at_a, at_b, 1, accumulators, a0, b0, a1, b1)
                advance(shared, at_a, at_b, 2, accumulators, a1, b1, a0, b0)
                advance(shared, at_a, at_b, 3, accumulators, a0, b0, a1, b1)
                advance(shared, at_a, at_b, 4, accumulators, a1, b1, a0, b0)
                advance(shared, at_a, at_b, 5, accumulators, a0, b0, a1, b1)
                advance(shared, at_a, at_b, 6, accumulators, a1, b1, a0, b0)
                advance(shared, at_a, at_b, 7, accumulators, a0, b0, a1, b1)
                stash_a(shared, int32(a_to + other), a_to_step, slab_a)
                stash_b(shared, int32(b_to + other), b_to_step, slab_b)
                cuda.syncthreads()
                at_a, at_b = int32((row + other) * parts), int32((B_START + column + other) * parts)
                other = int32(STAGE - other)
                advance(shared, at_a, at_b, 0, accumulators, a1, b1, a0, b0)
                left_over -= BK

        # 7. C = alpha * (the sums) + beta * C; beta == 0 does not read C.
        for i in range(TM):
            r = int32(row + (i // V) * (WARP_ROWS * V) + i % V)
            if r < rows:
                for j in range(TN):
                    s = int32(column + (j // V) * (WARP_COLUMNS * V) + j % V)
                    if s < columns:
                        finish(C, (top + r) * c_row + (left + s) * c_column, accumulators, i * TN + j, alpha_real,
                               alpha_imag, beta_real, beta_imag)

    kinds = PARAMETERS + ("f" if real is float32 else "d") * 6
    return KernelSource(kernel, kinds, (real,) * 5, T, config.min_blocks)


def _fragment_loader(width):
    """Device function: `groups` vectors of `width` reals, `apart` reals from each other, into a register array.

    A vector access moves 128 bits: four float32 or two float64.
    """
    if width == 4:
        load = vector_load(4, SHARED)

        @device
        def load_fragment(shared, at, constant, apart, groups, out):
            for g in range(groups):
                out[4 * g], out[4 * g + 1], out[4 * g + 2], out[4 * g + 3] = load(shared, at, constant + g * apart)
    else:
        load = vector_load(2, SHARED)

        @device
        def load_fragment(shared, at, constant, apart, groups, out):
            for g in range(groups):
                out[2 * g], out[2 * g + 1] = load(shared, at, constant + g * apart)
    return load_fragment


def _multiplier(rows, columns, parts):
    """Device function: accumulators (rows x columns) += a (rows) times b (columns), all in registers."""
    if parts == 1:
        @device
        def multiply(accumulators, a, b):
            for i in range(rows):
                for j in range(columns):
                    accumulators[i * columns + j] += a[i] * b[j]
    else:
        @device
        def multiply(accumulators, a, b):
            for i in range(rows):
                for j in range(columns):  # four real multiply-adds; the complex operator would cost six operations
                    at = 2 * (i * columns + j)
                    accumulators[at] += a[2 * i] * b[2 * j]
                    accumulators[at] -= a[2 * i + 1] * b[2 * j + 1]
                    accumulators[at + 1] += a[2 * i] * b[2 * j + 1]
                    accumulators[at + 1] += a[2 * i + 1] * b[2 * j]
    return multiply


def _fetchers(loads, parts, zero):
    """Device functions that bring a thread's elements of a slab from global memory, zero outside the matrix.

    The second also tests along k, for the slab that k does not fill.
    """
    load = vector_load(parts, GLOBAL)
    if parts == 1:
        @device
        def element(source, at, inside, sign, out, i):
            out[i] = load(source, at, 0)[0] if inside else zero
    else:
        @device
        def element(source, at, inside, sign, out, i):
            if inside:
                value = load(source, 2 * at, 0)
                out[2 * i], out[2 * i + 1] = value[0], value[1] * sign
            else:
                out[2 * i], out[2 * i + 1] = zero, zero

    @device
    def fetch(source, at, step, place, place_step, limit, sign, out):
        for i in range(loads):
            element(source, at + i * step, int32(place + i * place_step) < limit, sign, out, i)

    @device
    def fetch_first(source, at, step, place, place_step, limit, depth, depth_step, depth_limit, sign, out):
        for i in range(loads):
            inside = int32(place + i * place_step) < limit and int32(depth + i * depth_step) < depth_limit
            element(source, at + i * step, inside, sign, out, i)

    return fetch, fetch_first


def _stasher(loads, parts):
    """Device function: a thread's elements of a slab from registers to shared memory."""
    store = vector_store(parts, SHARED)
    if parts == 1:
        @device
        def stash(shared, at, step, values):
            for i in range(loads):
                store(shared, uint32(at + i * step), 0, (values[i],))
    else:
        @device
        def stash(shared, at, step, values):
            for i in range(loads):
                store(shared, uint32(2 * (at + i * step)), 0, (values[2 * i], values[2 * i + 1]))
    return stash


def _finisher(parts):
    """Device function: one element of the result."""
    if parts == 1:
        @device
        def finish(C, at, accumulators, i, alpha, alpha_imag, beta, beta_imag):
            value = alpha * accumulators[i]
            if beta != 0:
                value += beta * C[at]
            C[at] = value
    else:
        @device
        def finish(C, at, accumulators, i, alpha_real, alpha_imag, beta_real, beta_imag):
            x, y = accumulators[2 * i], accumulators[2 * i + 1]
            real, imag = alpha_real * x - alpha_imag * y, alpha_real * y + alpha_imag * x
            if beta_real != 0 or beta_imag != 0:
                x, y = C[2 * at], C[2 * at + 1]
                real += beta_real * x - beta_imag * y
                imag += beta_real * y + beta_imag * x
            C[2 * at], C[2 * at + 1] = real, imag
    return finish
