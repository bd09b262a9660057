"""The gemm kernel for ordinary arithmetic units: C = alpha A B + beta C, any strides, any sizes.

Algorithm (register blocking as in V. Volkov, J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008,
and the two-level tiling of CUTLASS): a block computes a tile of C from slabs of A and B in shared memory, two
stages of them so that one is filled while the other is used; a thread keeps its part of the tile in registers. How a
slab comes from global memory depends on how the operands lie: see movers.py.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32, int64

from ..compile import KernelSource
from ..ptx import load_vectors, matrix_at, outer_product, pointer_to, spread, zeros
from ..scalars import alpha_beta_reader, gate_reader
from .config import WARP_COLUMNS, WARP_ROWS, SimtConfig
from .epilogue import sums_finisher
from .movers import mover
from .tiles import tile_placer
from .tuples import in_order

device = cuda.jit(device=True)

PARAMETERS = "lll" + "lll" + "llllll" + "llli" + "iiii" + "pp" + "i"  # then four scalars, two signs of the real type


def gemm_kernel(a_lies: str, b_lies: str, epilogue: tuple, *tiles) -> KernelSource:
    """The kernel for the fields of a SimtConfig.

    a_lies, b_lies: how an operand lies, see movers.py. epilogue: the fields of an Epilogue, or () for alpha and beta
    alone.

    Kernel arguments:
    A, B, C: addresses of A (m x k), B (k x n), C (m x n), or of tables of such addresses. m, n, k.
    a_row ... c_column: strides in elements. a_batch, b_batch, c_batch: elements from one product's matrix to the
    next one's. tables: whether A, B, C are tables, one address for each product; a_batch ... are then elements from
    each address to its matrix.
    stored: which triangle of A is there, 1 lower, -1 upper, where A lies as TRIANGLE. hermitian: whether the other one
    is its conjugate.
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
    TM, TN, T, V = config.thread_rows, config.thread_columns, config.threads, config.vector
    WM, WN = config.warp_rows, config.warp_columns
    WARPS_DOWN = BM // WM
    A_ROW, B_ROW = BM + config.row_pad, BN + config.row_pad  # elements between k-steps in shared memory
    B_START, STAGE = BK * A_ROW * parts, config.stage * parts  # reals
    SIZE, SHARED_REALS = config.element_bytes(), 2 * STAGE
    zero = real(0)

    begin_a, fetch_a, fetch_rest_a, stash_a = mover(a_lies, BM, A_ROW, config, parts, real)
    begin_b, fetch_b, fetch_rest_b, stash_b = mover(b_lies, BN, B_ROW, config, parts, real)
    load_a = load_vectors(TM // V, V * parts, WARP_ROWS * V * parts)
    load_b = load_vectors(TN // V, V * parts, WARP_COLUMNS * V * parts)
    multiply, no_sums = outer_product(TM, TN, parts), zeros(TM * TN * parts, real)
    multiply_slab = _slab_multiplier(load_a, load_b, multiply, A_ROW * parts, B_ROW * parts)
    store_rows = in_order([_row_store(i, epilogue, config, parts, real) for i in range(TM)])
    both, shut, place = alpha_beta_reader(parts, zero), gate_reader(parts, zero), tile_placer(BM, BN)

    def kernel(A, B, C, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column, a_batch, b_batch, c_batch, tables,
               stored, hermitian, triangle, real_diagonal, alpha_at, beta_at, scalars,
               alpha_real, alpha_imag, beta_real, beta_imag, a_sign, b_sign, bias, bias_step, aux, aux_row, aux_column):
        shared = cuda.shared.array(SHARED_REALS, real, alignment=16)

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

        # 3. Where this thread brings from and to; where its part of the tile lies: vectors that lanes take in turn.
        t = int32(cuda.threadIdx.x)
        warp, lane = int32(t >> 5), int32(t & 31)
        row = int32((warp % WARPS_DOWN) * WM + (lane // WARP_COLUMNS) * V)
        column = int32((warp // WARPS_DOWN) * WN + (lane % WARP_COLUMNS) * V)
        from_a, to_a, a_at, a_pace = begin_a(t, a_row, a_column, top, rows, stored, hermitian)
        from_b, to_b, b_at, b_pace = begin_b(t, b_column, b_row, left, columns, stored, hermitian)
        to_b = int32(to_b + B_START)
        sums = no_sums()

        # 4. The first slab: the rest of k, its end, where there is one, so that the others need no test along k.
        if depth > 0:
            whole, rest = depth // BK, int32(depth % BK)
            if rest > 0:
                stash_a(shared, to_a, from_a, fetch_rest_a(a, a_at + whole * a_pace, from_a, rest, t), a_sign)
                stash_b(shared, to_b, from_b, fetch_rest_b(b, b_at + whole * b_pace, from_b, rest, t), b_sign)
            else:
                stash_a(shared, to_a, from_a, fetch_a(a, a_at, from_a), a_sign)
                stash_b(shared, to_b, from_b, fetch_b(b, b_at, from_b), b_sign)
                a_at += a_pace
                b_at += b_pace
                whole -= 1
            cuda.syncthreads()
            at_a, at_b, other = int32(row * parts), int32(B_START + column * parts), int32(STAGE)
            fa, fb = load_a(shared, at_a, 0), load_b(shared, at_b, 0)

            # 5. Each turn multiplies one slab out of shared memory while the next comes from global memory.
            left_over = whole
            while left_over > 0:
                slab_a, slab_b = fetch_a(a, a_at, from_a), fetch_b(b, b_at, from_b)
                a_at += a_pace
                b_at += b_pace
                sums, ga, gb = multiply_slab(shared, sums, fa, fb, at_a, at_b)
                stash_a(shared, int32(to_a + other), from_a, slab_a, a_sign)
                stash_b(shared, int32(to_b + other), from_b, slab_b, b_sign)
                cuda.syncthreads()
                at_a, at_b = int32(row * parts + other), int32(B_START + column * parts + other)
                other = int32(STAGE - other)
                fa, fb = load_a(shared, at_a, 0), load_b(shared, at_b, 0)
                sums = multiply(sums, ga, gb)
                left_over -= 1
            sums, ga, gb = multiply_slab(shared, sums, fa, fb, at_a, at_b)
            sums = multiply(sums, ga, gb)

        # 6. C = alpha * (the sums) + beta * C; beta == 0 does not read C.
        store_rows((sums, c, top, left, row, column, rows, columns, c_row, c_column, triangle, real_diagonal,
                    (alpha_real, alpha_imag, beta_real, beta_imag), bias, bias_step, aux, aux_row, aux_column))

    kinds = PARAMETERS + ("f" if real is float32 else "d") * 6 + "ll" + "lll"
    return KernelSource(kernel, kinds, (real,) * 2, T, config.min_blocks)


def _slab_multiplier(load_a, load_b, multiply, A_PACE, B_PACE):
    """Device function: all steps of a slab but the last, whose fragments are returned; the next step's are always on
    their way. at_a, at_b: where the thread's parts of the slab's first step lie; paces: from step to step."""
    @device
    def multiply_slab(shared, sums, a, b, at_a, at_b):
        c, d = load_a(shared, at_a, A_PACE), load_b(shared, at_b, B_PACE)
        sums = multiply(sums, a, b)
        a, b = load_a(shared, at_a, 2 * A_PACE), load_b(shared, at_b, 2 * B_PACE)
        sums = multiply(sums, c, d)
        c, d = load_a(shared, at_a, 3 * A_PACE), load_b(shared, at_b, 3 * B_PACE)
        sums = multiply(sums, a, b)
        a, b = load_a(shared, at_a, 4 * A_PACE), load_b(shared, at_b, 4 * B_PACE)
        sums = multiply(sums, c, d)
        c, d = load_a(shared, at_a, 5 * A_PACE), load_b(shared, at_b, 5 * B_PACE)
        sums = multiply(sums, a, b)
        a, b = load_a(shared, at_a, 6 * A_PACE), load_b(shared, at_b, 6 * B_PACE)
        sums = multiply(sums, c, d)
        c, d = load_a(shared, at_a, 7 * A_PACE), load_b(shared, at_b, 7 * B_PACE)
        return multiply(sums, a, b), c, d

    return multiply_slab


def _row_store(number, epilogue, config, parts, real):
    """Device function: one row of a thread's part of the tile to C.

    Row by row, since the compiler keeps a thread's sums in registers only if it writes out every access to them, which
    it does for so few at a time.
    """
    TN, V = config.thread_columns, config.vector
    ROW, SUMS = number // V * (WARP_ROWS * V) + number % V, TN * parts
    keep, finish = spread(number * SUMS, SUMS), sums_finisher(epilogue, parts, real)

    @device
    def store_row(given):
        (sums, c, top, left, row, column, rows, columns, c_row, c_column, triangle, real_diagonal, scalars, bias,
         bias_step, aux, aux_row, aux_column) = given
        r = int32(row + ROW)
        if r < rows:
            totals = cuda.local.array(SUMS, real)
            keep(sums, totals)
            for j in range(TN):
                s = int32(column + (j // V) * (WARP_COLUMNS * V) + j % V)
                if s < columns and (top + r - left - s) * triangle >= 0:
                    finish(c, (top + r) * c_row + (left + s) * c_column, totals, j, scalars[0], scalars[1], scalars[2],
                           scalars[3], real_diagonal and top + r == left + s, top + r, left + s, bias, bias_step, aux,
                           (top + r) * aux_row + (left + s) * aux_column)

    return store_row
