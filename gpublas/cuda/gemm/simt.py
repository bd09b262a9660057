"""The gemm kernel for ordinary arithmetic units: C = alpha A B + beta C, any strides, any sizes.

Algorithm (register blocking as in V. Volkov, J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008,
and the two-level tiling of CUTLASS): a block computes a tile of C from slabs of A and B in shared memory, two
stages of them so that one is filled while the other is used; a thread keeps its part of the tile in registers.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32, int64, uint32

from ..compile import KernelSource
from ..ptx import GLOBAL, SHARED, matrix_at, pointer_to, vector_load, vector_store
from ..scalars import alpha_beta_reader, gate_reader
from .config import WARP_COLUMNS, WARP_ROWS, SimtConfig
from .epilogue import sums_finisher
from .tiles import tile_placer

device = cuda.jit(device=True)

PARAMETERS = "lll" + "lll" + "llllll" + "llli" + "iiii" + "pp" + "i"  # then four scalars, two signs of the real type


def gemm_kernel(structured: bool, epilogue: tuple, *tiles) -> KernelSource:
    """The kernel for the fields of a SimtConfig.

    structured: A is symmetric or Hermitian, one triangle of it stored. epilogue: the fields of an Epilogue, or () for
    alpha and beta alone.

    Kernel arguments:
    A, B, C: addresses of A (m x k), B (k x n), C (m x n), or of tables of such addresses. m, n, k.
    a_row ... c_column: strides in elements. a_batch, b_batch, c_batch: elements from one product's matrix to the
    next one's. tables: whether A, B, C are tables, one address for each product; a_batch ... are then elements from
    each address to its matrix.
    stored: which triangle of A is there, 1 lower, -1 upper. hermitian: whether the other one is its conjugate.
    triangle: which triangle of C is written, 1 lower, -1 upper, 0 all. real_diagonal: whether the imaginary parts of
    C's diagonal are set to zero.
    alpha_at, beta_at: where alpha and beta are on the device; scalars: a mask, see scalars.py.
    alpha_real ... beta_imag: their values otherwise. a_sign, b_sign: +1 or -1, times the imaginary parts of A, B.
    bias, bias_step, aux, aux_row, aux_column: see epilogue.py; steps in elements.
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
    SIZE = config.element_bytes()
    zero = real(0)

    load_fragment = _fragment_loader(V * parts)
    multiply = _multiplier(TM, TN, parts)
    fetch_a = _structured_fetcher(LOADS_A, parts, zero) if structured else _fetcher(LOADS_A, parts, zero)
    fetch_b = _fetcher(LOADS_B, parts, zero)
    stash_a, stash_b = _stasher(LOADS_A, parts), _stasher(LOADS_B, parts)
    finish = sums_finisher(epilogue, parts, real)
    both, shut, place = alpha_beta_reader(parts, zero), gate_reader(parts, zero), tile_placer(BM, BN)

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

    def kernel(A, B, C, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column, a_batch, b_batch, c_batch, tables,
               stored, hermitian, triangle, real_diagonal, alpha_at, beta_at, scalars,
               alpha_real, alpha_imag, beta_real, beta_imag, a_sign, b_sign, bias, bias_step, aux, aux_row, aux_column):
        shared = cuda.shared.array(SHARED_REALS, real, alignment=16)
        accumulators = cuda.local.array(ACCUMULATORS, real)
        a0, a1 = cuda.local.array(A_FRAGMENT, real), cuda.local.array(A_FRAGMENT, real)
        b0, b1 = cuda.local.array(B_FRAGMENT, real), cuda.local.array(B_FRAGMENT, real)
        slab_a, slab_b = cuda.local.array(A_SLAB, real), cuda.local.array(B_SLAB, real)

        # 1. Scalars: from the device where they are there. alpha == 0 reads neither A nor B.
        if shut(alpha_at, scalars):
            return
        alpha_real, alpha_imag, beta_real, beta_imag = both(alpha_at, beta_at, scalars, alpha_real, alpha_imag,
                                                            beta_real, beta_imag)
        depth = k
        if alpha_real == zero and alpha_imag == zero:
            depth = int64(0)

        # 2. Which product, which tile of its C, and how much of the tile lies inside the matrix.
        product, top, left, rows, columns = place(m, n)
        if (triangle > 0 and top + rows <= left) or (triangle < 0 and left + columns <= top):
            return  # no element of the tile is in the triangle
        a = pointer_to(matrix_at(A, product, a_batch, tables, SIZE), real)
        b = pointer_to(matrix_at(B, product, b_batch, tables, SIZE), real)
        c = matrix_at(C, product, c_batch, tables, SIZE)

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

        # 5. The first slab takes the remainder of k, its end, so that the others need no test along k; as in wide.py,
        #    so that both kernels, with any tiles, add up in the same order.
        if depth > 0:
            first = int32((depth - 1) % BK + 1)
            start = depth - first if first < BK else int64(0)
            skipped = int64(first if first < BK else 0)
            a_first, b_first = a_at + start * a_column, b_at + start * b_row
            fetch_a(a, a_first, a_step, a_i, a_i_step, rows, a_k, a_k_step, first, a_sign, slab_a,
                    top, start, a_row, a_column, stored, hermitian)
            fetch_b(b, b_first, b_step, b_j, b_j_step, columns, b_k, b_k_step, first, b_sign, slab_b,
                    left, start, b_column, b_row, int32(0), int32(0))
            a_at += (first - skipped) * a_column
            b_at += (first - skipped) * b_row
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
                    done = depth - left_over - skipped
                    fetch_a(a, a_at, a_step, a_i, a_i_step, rows, a_k, a_k_step, int32(BK), a_sign, slab_a,
                            top, done, a_row, a_column, stored, hermitian)
                    fetch_b(b, b_at, b_step, b_j, b_j_step, columns, b_k, b_k_step, int32(BK), b_sign, slab_b,
                            left, done, b_column, b_row, int32(0), int32(0))
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
                    if s < columns and (top + r - left - s) * triangle >= 0:
                        finish(c, (top + r) * c_row + (left + s) * c_column, accumulators, i * TN + j, alpha_real,
                               alpha_imag, beta_real, beta_imag, real_diagonal and top + r == left + s, top + r,
                               left + s, bias, bias_step, aux, (top + r) * aux_row + (left + s) * aux_column)

    kinds = PARAMETERS + ("f" if real is float32 else "d") * 6 + "ll" + "lll"
    return KernelSource(kernel, kinds, (real,) * 2, T, config.min_blocks)


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
                    accumulators[i * columns + j] = cuda.fma(a[i], b[j], accumulators[i * columns + j])
    else:
        @device
        def multiply(accumulators, a, b):
            for i in range(rows):
                for j in range(columns):  # four real multiply-adds; the complex operator would cost six operations
                    at = 2 * (i * columns + j)
                    accumulators[at] = cuda.fma(a[2 * i], b[2 * j], accumulators[at])
                    accumulators[at] = cuda.fma(-a[2 * i + 1], b[2 * j + 1], accumulators[at])
                    accumulators[at + 1] = cuda.fma(a[2 * i], b[2 * j + 1], accumulators[at + 1])
                    accumulators[at + 1] = cuda.fma(a[2 * i + 1], b[2 * j], accumulators[at + 1])
    return multiply


def _element_loader(parts, zero):
    """Device function: element i of a register array from global memory, zero where it is not inside."""
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
    return element


def _fetcher(loads, parts, zero):
    """Device function that brings a thread's elements of a slab from global memory, zero outside the matrix.

    Element i lies at `at + i step`, at row (column) place + i place_step below limit, and at depth + i depth_step
    below depth_limit along k: one test, the same for every full slab. The arguments after `out` are for
    structured operands.
    """
    element = _element_loader(parts, zero)

    @device
    def fetch(source, at, step, place, place_step, limit, depth, depth_step, depth_limit, sign, out,
              first_place, first_depth, along_place, along_depth, stored, hermitian):
        for i in range(loads):
            inside = int32(place + i * place_step) < limit and int32(depth + i * depth_step) < depth_limit
            element(source, at + i * step, inside, sign, out, i)

    return fetch


def _structured_fetcher(loads, parts, zero):
    """Device function like `_fetcher`'s for a symmetric or Hermitian matrix of which one triangle is stored.

    The slab begins at row first_place and at first_depth along k; strides are along_place and along_depth.
    """
    element = _element_loader(parts, zero)

    @device
    def fetch(source, at, step, place, place_step, limit, depth, depth_step, depth_limit, sign, out,
              first_place, first_depth, along_place, along_depth, stored, hermitian):
        for i in range(loads):
            r, d = int32(place + i * place_step), int32(depth + i * depth_step)
            row, column = first_place + r, first_depth + d
            flip = sign
            if (row - column) * stored < 0:  # not stored: its mirror image is
                row, column = column, row
                if hermitian:
                    flip = -sign
            element(source, row * along_place + column * along_depth, r < limit and d < depth_limit, flip, out, i)
            if parts == 2 and hermitian and row == column:
                out[2 * i + 1] = zero

    return fetch


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
