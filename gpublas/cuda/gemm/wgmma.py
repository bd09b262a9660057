"""The gemm kernel for the tensor cores of Hopper (sm_90a): 16-bit operands, sums in float32.

Algorithm (as in CUTLASS's warp-specialised persistent kernels, https://github.com/NVIDIA/cutlass, and PTX ISA, "wgmma",
"cp.async.bulk.tensor", "mbarrier"): as many blocks as there are multiprocessors take tiles of C in turn. In a block one
thread sends for slabs of A and B, which the copy engine (TMA) brings to a ring of stages in shared memory; the other
warpgroups multiply them straight from there, 64 rows of the tile each. Two mbarriers for each stage say that it is
full, and that it is free again. The next tile's slabs are on their way while the last one's sums become C.

tf32 and fp8 are left to mma.sync: wgmma drops bits of float32 operands where tf32 is promised to round, and adds up fp8
products in fewer bits than float32 has.
"""

from __future__ import annotations

from numba import cuda, float32, int32, int64, uint32

from ..compile import KernelSource
from ..ptx import (
    acquire_map,
    barrier_arrive,
    barrier_expect,
    barrier_init,
    barrier_wait,
    copy_box,
    multiply_shared,
    publish_barriers,
    registers_of_each,
    shared_address,
    store_fragments,
    warpgroup_commit,
    warpgroup_fence,
    warpgroup_wait,
    zeros,
)
from .config import ALONG_K, PANEL, ROW_BYTES, WgmmaConfig
from .epilogue import OUT_BYTES, finisher
from .tiles import tile_finder
from .tuples import for_each, in_order

device = cuda.jit(device=True)

# Maps of A and B, address of C; m, n, k; products, and which operands go on with them; C's strides and step of a batch;
# bias and aux with their steps; alpha and beta.
PARAMETERS = "lll" + "lll" + "lll" + "lll" + "ll" + "lll" + "ff"
_GROUP = 128  # threads of a warpgroup
_PRODUCER_REGISTERS, _CONSUMER_REGISTERS = 40, 232  # of each thread; 65536 are shared by three warpgroups
_PART = 32  # columns of results that go through shared memory at once


def wgmma_kernel(a_lies: str, b_lies: str, epilogue: tuple, *tiles) -> KernelSource:
    """The kernel for the fields of a WgmmaConfig, operands that lie along or across k, and the fields of an Epilogue.

    Kernel arguments:
    a_map, b_map: addresses of the operands' tensor maps, see mixed.boxes. C: address. m, n, k. products: of a batch.
    a_moves, b_moves: 1 where an operand has a matrix for each product, 0 where one serves all. c_row, c_column,
    c_batch: strides in elements. bias, bias_step, aux, aux_row, aux_column: see epilogue.py. alpha, beta.
    """
    config = WgmmaConfig(*tiles)
    BM, BN, BK, STAGES = config.block_rows, config.block_columns, config.block_depth, config.stages
    B_START, STAGE, OUT_SIZE = BM * ROW_BYTES, config.stage_bytes, OUT_BYTES[epilogue[0]]
    BARRIERS, CONSUMERS, PITCH = STAGES * STAGE, config.consumers, _PART + 8  # 8: against bank conflicts
    RESULTS = BARRIERS + config.barrier_bytes

    send_a, send_b = _sender(a_lies, BM, BK), _sender(b_lies, BN, BK)
    descriptor_a, step_a = _descriptors(a_lies)
    descriptor_b, step_b = _descriptors(b_lies)
    shape = f"k16.f32.{config.kind}.{config.kind}"
    multiply = multiply_shared(BN, shape, (a_lies != ALONG_K, b_lies != ALONG_K))
    no_sums, wait_all = zeros(BN // 2, float32), warpgroup_wait(0)
    fewer, more = registers_of_each(_PRODUCER_REGISTERS, False), registers_of_each(_CONSUMER_REGISTERS, True)
    finish = finisher(config.kind, *epilogue)
    keep_parts = in_order([_part_keeper(part, PITCH, finish) for part in range(BN // _PART)])

    find = tile_finder(uint32)

    @device
    def place(tile, down, across):
        """Product, first row and first column of a tile."""
        product = uint32(tile // uint32(down * across))
        row, column = find(uint32(tile - product * uint32(down * across)), down, across)
        return int32(product), int32(row * BM), int32(column * BN)

    @device
    def produce(a_map, b_map, base, slabs, tiles, down, across, a_moves, b_moves):
        """Send for the slabs of this block's tiles, one after the other, as stages become free."""
        acquire_map(a_map)
        acquire_map(b_map)
        slot, parity, tile = int32(0), int32(1), uint32(cuda.blockIdx.x)  # parity 1: stages are free at first
        while tile < tiles:
            product, top, left = place(tile, down, across)
            of_a, of_b = int32(product * a_moves), int32(product * b_moves)
            depth = int32(0)
            while depth < slabs * BK:
                full = int32(base + BARRIERS + slot * 8)
                barrier_wait(int32(full + STAGES * 8), parity)
                barrier_expect(full, int32(STAGE))
                send_a((int32(base + slot * STAGE), a_map, full, depth, top, of_a))
                send_b((int32(base + slot * STAGE + B_START), b_map, full, depth, left, of_b))
                slot = int32(slot + 1)
                if slot == STAGES:
                    slot, parity = int32(0), int32(parity ^ 1)
                depth = int32(depth + BK)
            tile = uint32(tile + cuda.gridDim.x)

    def kernel(a_map, b_map, C, m, n, k, products, a_moves, b_moves, c_row, c_column, c_batch, bias, bias_step, aux,
               aux_row, aux_column, alpha, beta):
        shared = cuda.shared.array(0, uint32, alignment=1024)
        base = shared_address(shared)
        t = int32(cuda.threadIdx.x)
        group = int32(t // _GROUP)
        down, across = uint32((m + (BM - 1)) // BM), uint32((n + (BN - 1)) // BN)
        tiles, slabs = uint32(down * across * products), int32((k + (BK - 1)) // BK)

        # 1. The barriers: a stage is full when its bytes are there, and free when all consumers have said so.
        if t == 0:
            for slot in range(STAGES):
                barrier_init(int32(base + BARRIERS + slot * 8), int32(1))
                barrier_init(int32(base + BARRIERS + (STAGES + slot) * 8), int32(CONSUMERS))
            publish_barriers()
        cuda.syncthreads()

        # 2. The first warpgroup brings slabs: A's tile of BM x BK, then B's of BN x BK, rows of 128 bytes.
        if group == 0:
            fewer()
            if t == 0:
                produce(a_map, b_map, base, slabs, tiles, down, across, a_moves, b_moves)
            return

        # 3. The others multiply: 64 rows of the tile each.
        more()
        mine, lane = int32((group - 1) * 64 * ROW_BYTES), int32(t & 31)
        slot, parity, tile = int32(0), int32(0), uint32(cuda.blockIdx.x)
        while tile < tiles:
            sums = no_sums()
            left_over = slabs
            while left_over > 0:
                full = int32(base + BARRIERS + slot * 8)
                a = descriptor_a(int32(base + slot * STAGE + mine))
                b = descriptor_b(int32(base + slot * STAGE + B_START))
                barrier_wait(full, parity)
                warpgroup_fence()
                sums = multiply(sums, a, b)
                sums = multiply(sums, a + step_a, b + step_b)
                sums = multiply(sums, a + 2 * step_a, b + 2 * step_b)
                sums = multiply(sums, a + 3 * step_a, b + 3 * step_b)
                warpgroup_commit()
                wait_all()
                if t % _GROUP == 0:
                    barrier_arrive(int32(full + STAGES * 8))
                slot = int32(slot + 1)
                if slot == STAGES:
                    slot, parity = int32(0), int32(parity ^ 1)
                left_over = int32(left_over - 1)

            # 4. A warp has 16 rows; its sums go through shared memory, so that neighbours write neighbours in a row.
            product, top, left = place(tile, down, across)
            row = int32((t - _GROUP) // 32 * 16)
            room = int32(RESULTS + row * PITCH * 4)
            keep_parts((sums, base, room, shared, lane, int64(top + row), int64(left), m, n,
                        C + product * c_batch * OUT_SIZE, c_row, c_column, bias, bias_step, aux, aux_row, aux_column,
                        alpha, beta))
            tile = uint32(tile + cuda.gridDim.x)

    return KernelSource(kernel, PARAMETERS, (), config.threads, 1, config.shared_bytes)


def _sender(lies, extent, BK):
    """Device function: send for an operand's tile of a slab: (destination, map, barrier, depth, place, product).

    A tile that lies across k comes in panels of 64 places: a row of 128 bytes for each step along k.
    """
    if lies == ALONG_K:
        @device
        def send(given):
            target, source, barrier, depth, place, product = given
            copy_box(target, source, barrier, depth, place, product)
        return send

    @device
    def send_panel(given, number):
        target, source, barrier, depth, place, product = given
        copy_box(int32(target + number * BK * ROW_BYTES), source, barrier, int32(place + number * PANEL), depth,
                 product)
    return for_each(extent // PANEL, send_panel)


def _descriptors(lies):
    """Device function: the wgmma descriptor of a tile at a shared address, and what 16 steps along k add to it.

    Lengths are in units of 16 bytes: 8 rows of 128 bytes follow each other along places (or along k), a panel of 64
    places is 64 rows. PTX ISA, "Matrix descriptor format".
    """
    SWIZZLE_128, ROWS = 1 << 62, (8 * ROW_BYTES >> 4) << 32
    PANELS = (PANEL * ROW_BYTES >> 4) << 16
    fixed = SWIZZLE_128 | ROWS | (1 << 16 if lies == ALONG_K else PANELS)
    step = 32 >> 4 if lies == ALONG_K else 16 * ROW_BYTES >> 4

    @device
    def descriptor(address):
        return int64(fixed) | int64(uint32(uint32(address) >> uint32(4)))

    return descriptor, step


def _part_keeper(part, PITCH, finish):
    """Device function: 32 columns of a warp's 16 rows of sums to C."""
    store = store_fragments(1, _PART // 8, PITCH, part * _PART // 2)

    @device
    def keep(given):
        (sums, base, room, shared, lane, top, left, m, n, c, c_row, c_column, bias, bias_step, aux, aux_row, aux_column,
         alpha, beta) = given
        store(int32(base + room + ((lane >> 2) * PITCH + (lane & 3) * 2) * 4), sums)
        cuda.syncwarp()
        j = left + part * _PART + lane
        if j < n:
            r = int32(0)
            while r < 16 and top + r < m:
                i = top + r
                finish(c, i * c_row + j * c_column, shared[room // 4 + r * PITCH + lane], i, j, bias, bias_step, aux,
                       i * aux_row + j * aux_column, alpha, beta)
                r = int32(r + 1)
        cuda.syncwarp()

    return keep
