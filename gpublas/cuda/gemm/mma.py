"""The gemm kernel for tensor cores, sm_80 and later: C = alpha A B + beta C with sums in float32 (int32 for
int8, float64 for float64).

Algorithm (as in CUTLASS's multistage kernels, https://github.com/NVIDIA/cutlass, and PTX ISA, "mma"): a block copies
slabs of A and B to shared memory asynchronously, several slabs ahead; its warps take fragments from there with
ldmatrix and multiply them on tensor cores. Rows of slabs have 128 bytes whatever the element, and 16-byte chunks change
places within them (XOR with the row), so that neither copies nor ldmatrix meet bank conflicts.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint8, uint16, uint32, uint64

from ..compile import KernelSource
from ..ptx import commit_copies, copy_async, matrix_at, pointer_to, shared_address, shared_pointer, wait_copies
from .config import ALONG_K, ANY, CHUNK, ROW_BYTES, MmaConfig
from .epilogue import OUT_BYTES, finisher, scaler
from .fragments import swizzle, warp_tile
from .sums import tile_summer
from .tiles import tile_placer
from .tuples import tuple_of

device = cuda.jit(device=True)

# Addresses; m, n, k; six strides; three steps of a batch, tables; bias and aux with their steps. Then two scalars, two
# scales with their steps, and an address for sums.
PARAMETERS = "lll" + "lll" + "llllll" + "llli" + "ll" + "lll"
LAST_PARAMETERS = "llll" + "l"
_BITS = {1: uint8, 2: uint16, 4: uint32, 8: uint64}


def mma_kernel(a_lies: str, b_lies: str, epilogue: tuple, *tiles) -> KernelSource:
    """The kernel for the fields of an MmaConfig, two operands that lie as said, and the fields of an Epilogue.

    Kernel arguments:
    A, B, C: addresses of A (m x k), B (k x n), C (m x n), or of tables of such addresses. m, n, k.
    a_row ... c_column: strides in elements. a_batch, b_batch, c_batch, tables: see simt.py.
    bias, bias_step, aux, aux_row, aux_column: see epilogue.py; steps in elements.
    alpha, beta: numbers of the sums' type. scale_a ... scale_b_step: see epilogue.py. bias_grad:
    address for a tile's sums, see sums.py.
    """
    config = MmaConfig(*tiles)
    BM, BN, T, STAGES = config.block_rows, config.block_columns, config.threads, config.stages
    BK, SIZE = config.block_depth, config.element_bytes
    WM, WN = config.warp_rows, config.warp_columns
    WARPS_DOWN = BM // WM
    B_START, STAGE = BM * ROW_BYTES, config.stage_bytes
    PITCH, OUT_SIZE = config.result_pitch, OUT_BYTES[epilogue[0]]

    fill_a, fill_a_rest, a_state = _fillers(a_lies, BM, config)
    fill_b, fill_b_rest, b_state = _fillers(b_lies, BN, config)
    places_a, loads_a, places_b, loads_b, multiply, no_sums, keep, element = warp_tile(config, a_lies, b_lies)
    wait, wait_all = wait_copies(STAGES - 2), wait_copies(0)
    load_a0, load_a1, load_a2, load_a3 = loads_a
    load_b0, load_b1, load_b2, load_b3 = loads_b
    finish, scaled, place = finisher(config.kind, *epilogue), scaler(config.kind), tile_placer(BM, BN)
    keep_result, add_results = tile_summer(epilogue[4], config.kind, T, BM, BN, PITCH)

    @device
    def multiply_slab(sums, fa, fb, read, after, at_a, at_b):
        """Four steps of 32 bytes along k, with the next one's fragments on their way; they wait for the slab after."""
        ga, gb = load_a1(read, at_a), load_b1(int32(read + B_START), at_b)
        sums = multiply(sums, fa, fb)
        fa, fb = load_a2(read, at_a), load_b2(int32(read + B_START), at_b)
        sums = multiply(sums, ga, gb)
        ga, gb = load_a3(read, at_a), load_b3(int32(read + B_START), at_b)
        sums = multiply(sums, fa, fb)
        wait()
        cuda.syncthreads()
        fa, fb = load_a0(after, at_a), load_b0(int32(after + B_START), at_b)
        return multiply(sums, ga, gb), fa, fb

    def kernel(A, B, C, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column, a_batch, b_batch, c_batch, tables,
               bias, bias_step, aux, aux_row, aux_column, alpha, beta, scale_a, scale_a_step, scale_b, scale_b_step,
               bias_grad):
        shared = cuda.shared.array(0, element, alignment=1024)
        base = shared_address(shared)
        t = int32(cuda.threadIdx.x)
        warp, lane = int32(t >> 5), int32(t & 31)

        # 1. Which product, and which tile of its C.
        product, top, left, rows, columns = place(m, n)
        a = matrix_at(A, product, a_batch, tables, SIZE) + top * a_row * SIZE
        b = matrix_at(B, product, b_batch, tables, SIZE) + left * b_column * SIZE

        # 2. Where this thread copies from and to, and where its lane finds its rows of 8x8 matrices.
        from_a = a_state(t, a_row, a_column, rows)
        from_b = b_state(t, b_column, b_row, columns)
        warp_top, warp_left = int32(warp % WARPS_DOWN * WM), int32(warp // WARPS_DOWN * WN)
        at_a, at_b = places_a(lane, warp_top), places_b(lane, warp_left)
        sums = no_sums()

        # 3. The first STAGES - 1 slabs are sent for: the rest of k (fewer than BK steps), then whole slabs from the
        #    start of k. A slab is A's tile (BM rows or BK rows of it), then B's.
        whole, rest = k // BK, int32(k % BK)
        slabs = int32(whole + (1 if rest > 0 else 0))
        sent, done = int32(0), int64(0)  # slabs, and steps of the whole ones
        while sent < STAGES - 1:
            slot = int32(base + sent * STAGE)
            if sent == 0 and rest > 0:
                fill_a_rest(slot, a + whole * BK * a_column * SIZE, from_a, a_row, a_column, rest)
                fill_b_rest(int32(slot + B_START), b + whole * BK * b_row * SIZE, from_b, b_column, b_row, rest)
            elif sent < slabs:
                fill_a(slot, a + done * a_column * SIZE, from_a, a_row, a_column, int32(BK))
                fill_b(int32(slot + B_START), b + done * b_row * SIZE, from_b, b_column, b_row, int32(BK))
                done += BK
            commit_copies()
            sent += int32(1)
        wait()
        cuda.syncthreads()
        read, write = int32(base), int32(base + (STAGES - 1) * STAGE)
        end = int32(base + STAGES * STAGE)
        a += done * a_column * SIZE
        b += done * b_row * SIZE
        fa, fb = load_a0(read, at_a), load_b0(int32(read + B_START), at_b)

        # 4. Each turn multiplies one slab, and sends for the slab STAGES - 1 ahead, into the place of the one that all
        #    warps left at the barrier before; then the last slabs, with none left to send for.
        left_over = slabs
        while left_over > STAGES - 1:
            fill_a(write, a, from_a, a_row, a_column, int32(BK))
            fill_b(int32(write + B_START), b, from_b, b_column, b_row, int32(BK))
            commit_copies()
            a += BK * a_column * SIZE
            b += BK * b_row * SIZE
            write = int32(base) if write + STAGE == end else int32(write + STAGE)
            after = int32(base) if read + STAGE == end else int32(read + STAGE)
            sums, fa, fb = multiply_slab(sums, fa, fb, read, after, at_a, at_b)
            read = after
            left_over -= int32(1)
        while left_over > 0:
            commit_copies()
            after = int32(base) if read + STAGE == end else int32(read + STAGE)
            sums, fa, fb = multiply_slab(sums, fa, fb, read, after, at_a, at_b)
            read = after
            left_over -= int32(1)

        # 5. The sums go through shared memory, a row-major tile BM x BN of them, so that neighbours write
        #    neighbours in a row of C.
        wait_all()
        cuda.syncthreads()
        keep(base, warp_top, warp_left, lane, sums)
        cuda.syncthreads()
        c = matrix_at(C, product, c_batch, tables, OUT_SIZE)
        at = t
        while at < BM * BN:
            i, j = int32(at // BN), int32(at % BN)
            if i < rows and j < columns:
                factor = scaled(alpha, top + i, left + j, scale_a, scale_a_step, scale_b, scale_b_step)
                result = finish(c, (top + i) * c_row + (left + j) * c_column, shared[i * PITCH + j], top + i, left + j,
                                bias, bias_step, aux, (top + i) * aux_row + (left + j) * aux_column, factor, beta)
                keep_result(shared, i * PITCH + j, result)
            at += int32(T)
        add_results(shared, bias_grad, m, n, top, left, rows, columns)

    scalars = {"s32": "ii", "f64": "dd"}.get(epilogue[0], "ff")
    return KernelSource(kernel, PARAMETERS + scalars + LAST_PARAMETERS, (), T, config.min_blocks, config.shared_bytes)


def _fillers(lies, extent, config):
    """Device functions that bring one operand's tile of a slab to shared memory: of a whole slab, of the rest of k, and
    what each thread works out once for them.

    extent: rows of A's tile or columns of B's. A tile that lies along k has `extent` rows of 128 bytes; one that lies
    across has a row of extent elements for each step along k. state(t, place_stride, depth_stride, inside): inside
    is how many rows or columns there are. fill(slot, corner, state, place_stride, depth_stride, depth): to the shared
    address slot, from the address of the operand's first element that this slab takes, depth steps along k.
    """
    if lies == ANY:
        return _element_filler(extent, config)
    return _row_filler(extent, config) if lies == ALONG_K else _column_filler(extent, config)


def _row_filler(extent, config):
    """`_fillers` for an operand that lies along k: eight threads share a row.

    A row beyond the matrix repeats the last one: nothing of it is stored.
    """
    T, SIZE = config.threads, config.element_bytes
    LANES, PER_CHUNK, turn = ROW_BYTES // CHUNK, CHUNK // SIZE, swizzle(config)
    STEP, COUNT = T // LANES, extent * LANES // T
    offsets = tuple_of(COUNT, device(lambda given, number: int32(
        min(given[0] + number * STEP, given[2] - 1) * given[1] + given[3])))

    @device
    def state(t, place_stride, depth_stride, inside):
        row, chunk = int32(t // LANES), int32(t % LANES)
        there = offsets((row, int32(place_stride * SIZE), inside, int32(chunk * CHUNK)))
        return there, int32(row * ROW_BYTES + ((chunk ^ turn(row)) << 4)), chunk

    @device
    def fill(slot, corner, state, place_stride, depth_stride, depth):
        there, place, _ = state
        for i in range(COUNT):
            copy_async(int32(slot + place + i * STEP * ROW_BYTES), corner + there[i], int32(CHUNK))

    @device
    def fill_rest(slot, corner, state, place_stride, depth_stride, depth):
        there, place, chunk = state
        valid = max(min(int32((depth - chunk * PER_CHUNK) * SIZE), int32(CHUNK)), int32(0))
        for i in range(COUNT):
            copy_async(int32(slot + place + i * STEP * ROW_BYTES), corner + there[i], valid)

    return fill, fill_rest, state


def _column_filler(extent, config):
    """`_fillers` for an operand that lies across k: a row of the tile for each step along k."""
    T, BK, SIZE = config.threads, config.block_depth, config.element_bytes
    PER_CHUNK, WIDTH, turn = CHUNK // SIZE, extent * SIZE, swizzle(config)
    LANES = extent // PER_CHUNK
    STEP, COUNT = T // LANES, BK * LANES // T

    @device
    def state(t, place_stride, depth_stride, inside):
        row, chunk = int32(t // LANES), int32(t % LANES)
        valid = max(min(int32((inside - chunk * PER_CHUNK) * SIZE), int32(CHUNK)), int32(0))
        return (row * depth_stride * SIZE + chunk * CHUNK, STEP * depth_stride * SIZE,
                int32(row * WIDTH + ((chunk ^ turn(row)) << 4)), valid)

    def filler(is_whole):
        @device
        def fill(slot, corner, state, place_stride, depth_stride, depth):
            there, step, place, valid = state
            for i in range(COUNT):
                here = valid if is_whole or place // WIDTH + i * STEP < depth else int32(0)
                copy_async(int32(slot + place + i * STEP * WIDTH), corner + there + i * step, here)
        return fill

    return filler(True), filler(False), state


def _element_filler(extent, config):
    """`_fillers` for an operand of any strides and alignment, element by element; its tile comes to lie along k."""
    T, BK, SIZE = config.threads, config.block_depth, config.element_bytes
    bits, turn = _BITS[SIZE], swizzle(config)

    @device
    def state(t, place_stride, depth_stride, inside):
        return inside

    @device
    def fill(slot, corner, inside, place_stride, depth_stride, depth):
        tile = shared_pointer(slot, bits)
        at = int32(cuda.threadIdx.x)
        while at < extent * BK:
            if abs(place_stride) < abs(depth_stride):
                place, step = int32(at % extent), int32(at // extent)
            else:
                place, step = int32(at // BK), int32(at % BK)
            value = bits(0)
            if place < inside and step < depth:
                value = pointer_to(corner, bits)[place * place_stride + step * depth_stride]
            byte = int32(step * SIZE)
            tile[(place * ROW_BYTES + (((byte >> 4) ^ turn(place)) << 4) + (byte & 15)) // SIZE] = value
            at += int32(T)

    return fill, fill, state
