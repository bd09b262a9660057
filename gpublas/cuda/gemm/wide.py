"""The gemm kernel for ordinary arithmetic units where operands can be read 16 bytes at a time.

The algorithm is that of simt.py. What differs is how a slab comes from global memory: in whole vectors along the axis
on which the operand is contiguous, and without a test in the main loop. Rows and columns beyond the matrix repeat its
last ones (nothing of them is stored), and the rest of k, fewer steps than a slab has, goes first.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32, int64

from ..compile import KernelSource
from ..ptx import (
    GLOBAL,
    SHARED,
    load_vectors,
    matrix_at,
    outer_product,
    pointer_to,
    spread,
    vector_load,
    vector_store,
    zeros,
)
from ..scalars import alpha_beta_reader, gate_reader
from .config import WARP_COLUMNS, WARP_ROWS, SimtConfig
from .epilogue import sums_finisher
from .simt import PARAMETERS
from .tiles import tile_placer
from .tuples import for_each, in_order, tuple_of

device = cuda.jit(device=True)


def wide_kernel(a_along_k: bool, b_along_k: bool, epilogue: tuple, *tiles) -> KernelSource:
    """The kernel for the fields of a SimtConfig and an epilogue (the fields of an Epilogue, or ()).

    a_along_k, b_along_k: whether the operand is contiguous along k, rather than along m or n. Kernel arguments: those
    of simt.gemm_kernel, with `stored` 0: A is a general matrix.
    """
    config = SimtConfig(*tiles)
    real = float32 if config.precision in "sc" else float64
    parts = 2 if config.precision in "cz" else 1  # reals in an element
    BM, BN, BK = config.block_rows, config.block_columns, config.block_depth
    TM, TN, T, V = config.thread_rows, config.thread_columns, config.threads, config.vector
    WM, WN = config.warp_rows, config.warp_columns
    WARPS_DOWN = BM // WM
    A_ROW, B_ROW = BM + config.row_pad, BN + config.row_pad  # elements between k-steps in shared memory
    B_START, STAGE = BK * A_ROW, config.stage
    SIZE, SHARED_REALS = config.element_bytes(), 2 * STAGE * parts
    A_PACE, B_PACE = A_ROW * parts, B_ROW * parts
    zero = real(0)

    state_a, fetch_a, fetch_rest_a, stash_a = _mover(a_along_k, BM, A_ROW, config, parts, real)
    state_b, fetch_b, fetch_rest_b, stash_b = _mover(b_along_k, BN, B_ROW, config, parts, real)
    load_a = load_vectors(TM // V, V * parts, WARP_ROWS * V * parts)
    load_b = load_vectors(TN // V, V * parts, WARP_COLUMNS * V * parts)
    multiply, no_sums = outer_product(TM, TN, parts), zeros(TM * TN * parts, real)
    store_rows = in_order([_row_store(i, epilogue, config, parts, real) for i in range(TM)])
    both, shut, place = alpha_beta_reader(parts, zero), gate_reader(parts, zero), tile_placer(BM, BN)

    @device
    def multiply_slab(shared, sums, a, b, at_a, at_b):
        """All steps of a slab but the last, whose fragments are returned; the next step's are always on their way."""
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
        from_a, to_a = state_a(t, a_row, a_column, rows)
        from_b, to_b = state_b(t, b_column, b_row, columns)
        to_b = int32(to_b + B_START * parts)
        a_at, b_at = top * a_row * parts, left * b_column * parts
        sums = no_sums()

        # 4. The first slab: the rest of k where there is one.
        if depth > 0:
            whole, rest = depth // BK, int32(depth % BK)
            if rest > 0:
                stash_a(shared, to_a, fetch_rest_a(a, a_at + whole * BK * a_column * parts, from_a, rest, t), a_sign)
                stash_b(shared, to_b, fetch_rest_b(b, b_at + whole * BK * b_row * parts, from_b, rest, t), b_sign)
            else:
                stash_a(shared, to_a, fetch_a(a, a_at, from_a), a_sign)
                stash_b(shared, to_b, fetch_b(b, b_at, from_b), b_sign)
                a_at += BK * a_column * parts
                b_at += BK * b_row * parts
                whole -= 1
            cuda.syncthreads()
            at_a, at_b, other = int32(row * parts), int32((B_START + column) * parts), int32(STAGE * parts)
            fa, fb = load_a(shared, at_a, 0), load_b(shared, at_b, 0)

            # 5. Each turn multiplies one slab out of shared memory while the next comes from global memory.
            left_over = whole
            while left_over > 0:
                slab_a, slab_b = fetch_a(a, a_at, from_a), fetch_b(b, b_at, from_b)
                a_at += BK * a_column * parts
                b_at += BK * b_row * parts
                sums, ga, gb = multiply_slab(shared, sums, fa, fb, at_a, at_b)
                stash_a(shared, int32(to_a + other), slab_a, a_sign)
                stash_b(shared, int32(to_b + other), slab_b, b_sign)
                cuda.syncthreads()
                at_a, at_b = int32(row * parts + other), int32((B_START + column) * parts + other)
                other = int32(STAGE * parts - other)
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


def _mover(along_k, extent, pitch, config, parts, real):
    """Device functions that bring one operand's tile of a slab to shared memory, `extent` places by BK steps along k.

    state(t, place_stride, depth_stride, inside): what a thread works out once, (offsets of its vectors from the tile's
    first element in reals, where they go in shared memory). fetch(source, at, offsets): its vectors, as a tuple of
    tuples. fetch_rest(source, at, offsets, rest, t): the same of a slab of fewer steps, zero beyond. stash(shared, to,
    vectors, sign): stores them, k-step by k-step `pitch` elements apart; sign multiplies imaginary parts.
    """
    V = config.vector
    lanes = config.block_depth // V if along_k else extent // V  # threads that share a row (along k) or a k-step
    step = config.threads // lanes  # rows or k-steps from one of a thread's vectors to the next
    count = extent * config.block_depth // V // config.threads
    load = vector_load(V * parts, GLOBAL)
    make = _along_k if along_k else _along_places
    state, fetch_one_rest, stash_one = make(lanes, step, count, V, parts, pitch, real)
    fetch_all = tuple_of(count, device(lambda given, number: load(given[0], given[1] + given[2][number], 0)))
    fetch_all_rest, stash_all = tuple_of(count, fetch_one_rest), for_each(count, stash_one)

    @device
    def fetch(source, at, there):
        return fetch_all((source, at, there))

    @device
    def fetch_rest(source, at, there, rest, t):
        return fetch_all_rest((source, at, there, rest, t))

    @device
    def stash(shared, to, vectors, sign):
        stash_all((shared, to, vectors, sign))

    return state, fetch, fetch_rest, stash


def _along_k(lanes, step, count, V, parts, pitch, real):
    """What `_mover` needs of an operand contiguous along k: its vectors are turned on the way to shared memory."""
    zero = real(0)
    offsets = tuple_of(count, device(lambda given, number: (
        min(given[0] + number * step, given[2] - 1) * given[1] + given[3])))
    some = tuple_of(V * parts, device(lambda given, number: (
        given[0][given[1] + number] if number // parts < given[2] else zero)))
    signed, store = _signer(V, parts), vector_store(parts, SHARED)

    @device
    def state(t, place_stride, depth_stride, inside):
        place, chunk = int32(t // lanes), int32(t % lanes)
        there = offsets((place, place_stride * parts, inside, int64(chunk * V * parts)))
        return there, int32((chunk * V * pitch + place) * parts)

    @device
    def fetch_one_rest(given, number):
        source, at, there, rest, t = given
        return some((source, at + there[number], int32(rest - t % lanes * V)))

    store_all = for_each(V, _element_store(store, pitch, parts))

    @device
    def stash_one(given, number):
        shared, to, vectors, sign = given
        store_all((shared, int32(to + number * step * parts), signed(vectors[number], sign)))

    return state, fetch_one_rest, stash_one


def _element_store(store, pitch, parts):
    """Device function: one element of a vector, to its k-step."""
    if parts == 1:
        @device
        def store_one(given, number):
            store(given[0], int32(given[1] + number * pitch), 0, (given[2][number],))
    else:
        @device
        def store_one(given, number):
            store(given[0], int32(given[1] + number * pitch * 2), 0, (given[2][2 * number], given[2][2 * number + 1]))
    return store_one


def _along_places(lanes, step, count, V, parts, pitch, real):
    """What `_mover` needs of an operand contiguous along m or n."""
    none = (real(0),) * (V * parts)
    offsets = tuple_of(count, device(lambda given, number: given[0] + number * given[1]))
    load, store, signed = vector_load(V * parts, GLOBAL), vector_store(V * parts, SHARED), _signer(V, parts)

    @device
    def state(t, place_stride, depth_stride, inside):
        depth, chunk = int32(t // lanes), int32(t % lanes)
        place = min(int32(chunk * V), int32(inside - V))
        there = offsets((depth * depth_stride * parts + place * parts, step * depth_stride * parts))
        return there, int32((depth * pitch + chunk * V) * parts)

    @device
    def fetch_one_rest(given, number):
        source, at, there, rest, t = given
        if t // lanes + number * step < rest:
            return load(source, at + there[number], 0)
        return none

    @device
    def stash_one(given, number):
        shared, to, vectors, sign = given
        store(shared, int32(to + number * step * pitch * parts), 0, signed(vectors[number], sign))

    return state, fetch_one_rest, stash_one


def _signer(V, parts):
    """Device function: a vector with its imaginary parts times a sign; real ones as they are."""
    if parts == 1:
        return device(lambda values, sign: values)
    if V == 1:
        return device(lambda values, sign: (values[0], values[1] * sign))
    return device(lambda values, sign: (values[0], values[1] * sign, values[2], values[3] * sign))
