"""Tensor-core, asynchronous-copy and other instructions written as inline PTX."""

import numpy as np
import pytest
from intrinsics import (
    copy4_zero_fill,
    copy16,
    copy_commit,
    copy_wait0,
    copy_wait1,
    copy_wait_all,
    global_address,
    inline_ptx,
    load_matrix2_transposed,
    load_matrix4,
    mma,
    mma_f16,
    shared_address,
    store_matrix1_transposed,
    store_matrix4,
)
from numba import cuda, float32, float64, int32, uint16, uint32, uint64, void

from gpublas.testing.ptx import Kernel, KernelFault

RNG = np.random.default_rng(3)


def half_product(a, b, c):
    """64x64 tiles with cp.async double buffering, ldmatrix and mma.sync; 4 warps of 16x64."""
    sa = cuda.shared.array((2, 64, 40), uint16)  # 64 x 32, rows padded against bank conflicts
    sb = cuda.shared.array((2, 32, 72), uint16)  # 32 x 64
    total = cuda.local.array((8, 4), float32)
    t = cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    row, column = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    sa_base, sb_base = shared_address(sa), shared_address(sb)
    ga, gb = global_address(a), global_address(b)
    for n in range(8):
        for i in range(4):
            total[n, i] = 0
    tiles = a.shape[1] // 32
    for tile in range(tiles + 1):
        if tile < tiles:
            stage = tile % 2
            for i in range(2):
                chunk = t + 128 * i
                ar, ac = chunk // 4, chunk % 4 * 8
                copy16(uint32(sa_base + ((stage * 64 + ar) * 40 + ac) * 2),
                       uint64(ga + ((row + ar) * a.shape[1] + tile * 32 + ac) * 2))
                br, bc = chunk // 8, chunk % 8 * 8
                copy16(uint32(sb_base + ((stage * 32 + br) * 72 + bc) * 2),
                       uint64(gb + ((tile * 32 + br) * b.shape[1] + column + bc) * 2))
        copy_commit()
        if tile > 0:
            copy_wait1()
            cuda.syncthreads()
            stage = (tile - 1) % 2
            for k in range(0, 32, 16):
                x = load_matrix4(uint32(
                    sa_base + ((stage * 64 + warp * 16 + lane % 16) * 40 + k + lane // 16 * 8) * 2))
                for n in range(8):
                    y = load_matrix2_transposed(uint32(sb_base + ((stage * 32 + k + lane % 16) * 72 + n * 8) * 2))
                    d = mma_f16(x[0], x[1], x[2], x[3], y[0], y[1], total[n, 0], total[n, 1], total[n, 2], total[n, 3])
                    total[n, 0] = d[0]
                    total[n, 1] = d[1]
                    total[n, 2] = d[2]
                    total[n, 3] = d[3]
            cuda.syncthreads()
    for n in range(8):
        r, q = row + warp * 16 + lane // 4, column + n * 8 + lane % 4 * 2
        c[r, q] = total[n, 0]
        c[r, q + 1] = total[n, 1]
        c[r + 8, q] = total[n, 2]
        c[r + 8, q + 1] = total[n, 3]


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_half_matrix_product(order):
    a, b = RNG.uniform(-1, 1, (128, 96)).astype(np.float16), RNG.uniform(-1, 1, (96, 192)).astype(np.float16)
    c = np.zeros((128, 192), np.float32)
    kernel = Kernel(half_product, void(uint16[:, ::1], uint16[:, ::1], float32[:, ::1]), order=order)
    kernel[(3, 2), 128](a.view(np.uint16), b.view(np.uint16), c)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-4)


def test_missing_copy_wait_reads_poison():
    def transfer(wait):
        def kernel(x, y):
            shared = cuda.shared.array(128, float32)
            t = cuda.threadIdx.x
            copy16(uint32(shared_address(shared) + t * 16), uint64(global_address(x) + t * 16))
            copy_commit()
            if wait:
                copy_wait0()
            cuda.syncthreads()
            y[t] = shared[t * 4] + shared[(t * 4 + 5) % 128]

        return kernel

    x, y = RNG.uniform(-1, 1, 128).astype(np.float32), np.zeros(32, np.float32)
    Kernel(transfer(True), void(float32[:], float32[:]))[1, 32](x, y)
    np.testing.assert_array_equal(y, x[::4] + np.roll(x, -5)[::4])
    Kernel(transfer(False), void(float32[:], float32[:]))[1, 32](x, y)
    assert np.isnan(y).all()


def test_copy_zero_fill():
    def kernel(x, y, valid):
        shared = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        copy4_zero_fill(uint32(shared_address(shared) + t * 4), uint64(global_address(x) + t * 4),
                        uint32(4 if t < valid else 0))
        copy_wait_all()
        cuda.syncthreads()
        y[t] = shared[63 - t]

    x, y = RNG.uniform(-1, 1, 40).astype(np.float32), np.ones(64, np.float32)
    Kernel(kernel, void(float32[:], float32[:], int32))[1, 64](x, y, 40)
    np.testing.assert_array_equal(y, np.pad(x, (0, 24))[::-1])


def fragments(matrix, per_word, registers, transposed=False):
    """Registers (lane, register) of an A operand, or of B when transposed, as PTX lays them out."""
    out = np.zeros((32, registers, per_word), matrix.dtype)
    for lane in range(32):
        group, member = divmod(lane, 4)
        for register in range(registers):
            for index in range(per_word):
                if transposed:
                    k = member * per_word + index + 4 * per_word * register
                    out[lane, register, index] = matrix[k, group]
                else:
                    k = member * per_word + index + 4 * per_word * (register // 2)
                    out[lane, register, index] = matrix[group + 8 * (register % 2), k]
    return out


def unpack_result(d):
    """The 16x8 matrix whose fragments are d (lane, 4)."""
    out = np.zeros((16, 8), d.dtype)
    for lane in range(32):
        group, member = divmod(lane, 4)
        out[group, member * 2:member * 2 + 2] = d[lane, :2]
        out[group + 8, member * 2:member * 2 + 2] = d[lane, 2:]
    return out


def bfloat16_bits(x):
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def test_mma_bf16():
    multiply = mma("mma_bf16", "m16n8k16", "f32.bf16.bf16.f32", "ffff", "rrrr", "rr")

    def kernel(a, b, d):
        t = cuda.threadIdx.x
        r = multiply(a[t, 0], a[t, 1], a[t, 2], a[t, 3], b[t, 0], b[t, 1], d[t, 0], d[t, 1], d[t, 2], d[t, 3])
        d[t, 0], d[t, 1], d[t, 2], d[t, 3] = r

    a, b = (bfloat16_bits(RNG.uniform(-1, 1, shape)) for shape in ((16, 16), (16, 8)))
    d = np.full((32, 4), 0.5, np.float32)
    Kernel(kernel, void(uint32[:, :], uint32[:, :], float32[:, :]))[1, 32](
        fragments(a, 2, 4).view(np.uint32)[..., 0], fragments(b, 2, 2, True).view(np.uint32)[..., 0], d)
    wide = [(m.astype(np.uint32) << 16).view(np.float32) for m in (a, b)]
    np.testing.assert_allclose(unpack_result(d), wide[0] @ wide[1] + 0.5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("depth", [4, 8])
def test_mma_tf32(depth):
    registers = depth // 2
    multiply = mma("mma_tf32", f"m16n8k{depth}", "f32.tf32.tf32.f32", "ffff", "r" * registers, "r" * (depth // 4))

    if depth == 8:
        def kernel(a, b, d):
            t = cuda.threadIdx.x
            r = multiply(a[t, 0], a[t, 1], a[t, 2], a[t, 3], b[t, 0], b[t, 1], d[t, 0], d[t, 1], d[t, 2], d[t, 3])
            d[t, 0], d[t, 1], d[t, 2], d[t, 3] = r
    else:
        def kernel(a, b, d):
            t = cuda.threadIdx.x
            r = multiply(a[t, 0], a[t, 1], b[t, 0], d[t, 0], d[t, 1], d[t, 2], d[t, 3])
            d[t, 0], d[t, 1], d[t, 2], d[t, 3] = r

    a, b = (RNG.integers(-8, 8, shape).astype(np.float32) for shape in ((16, depth), (depth, 8)))
    d = np.zeros((32, 4), np.float32)
    Kernel(kernel, void(uint32[:, :], uint32[:, :], float32[:, :]))[1, 32](
        fragments(a, 1, registers)[..., 0].view(np.uint32),
        fragments(b, 1, depth // 4, True)[..., 0].view(np.uint32), d)
    np.testing.assert_array_equal(unpack_result(d), a @ b)


def test_mma_half_accumulate():
    multiply = mma("mma_hh", "m16n8k16", "f16.f16.f16.f16", "rr", "rrrr", "rr")

    def kernel(a, b, d):
        t = cuda.threadIdx.x
        d[t, 0], d[t, 1] = multiply(a[t, 0], a[t, 1], a[t, 2], a[t, 3], b[t, 0], b[t, 1], d[t, 0], d[t, 1])

    a, b = (RNG.integers(-4, 4, shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    d = np.zeros((32, 2), np.uint32)
    Kernel(kernel, void(uint32[:, :], uint32[:, :], uint32[:, :]))[1, 32](
        fragments(a, 2, 4).view(np.uint32)[..., 0], fragments(b, 2, 2, True).view(np.uint32)[..., 0], d)
    np.testing.assert_array_equal(unpack_result(d.view(np.float16)), a @ b)


def test_mma_float8():
    multiply = mma("mma_e4m3", "m16n8k32", "f32.e4m3.e5m2.f32", "ffff", "rrrr", "rr")

    def kernel(a, b, d):
        t = cuda.threadIdx.x
        r = multiply(a[t, 0], a[t, 1], a[t, 2], a[t, 3], b[t, 0], b[t, 1], d[t, 0], d[t, 1], d[t, 2], d[t, 3])
        d[t, 0], d[t, 1], d[t, 2], d[t, 3] = r

    a, b = (RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((16, 32), (32, 8)))
    a[a & 0x7F == 0x7F] = 0
    b[b & 0x7C == 0x7C] = 0
    exponent, fraction = (a >> 3 & 15).astype(int), (a & 7) / 8
    left = np.where(exponent, (1 + fraction) * 2.0 ** (exponent - 7), fraction * 2.0 ** -6) * np.where(a & 128, -1, 1)
    right = (b.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    d = np.zeros((32, 4), np.float32)
    Kernel(kernel, void(uint32[:, :], uint32[:, :], float32[:, :]), cc=(9, 0))[1, 32](
        fragments(a, 4, 4).view(np.uint32)[..., 0], fragments(b, 4, 2, True).view(np.uint32)[..., 0], d)
    np.testing.assert_allclose(unpack_result(d), left @ right, rtol=1e-4, atol=1e-6 * abs(left @ right).max())


def test_mma_int8():
    multiply = mma("mma_s8", "m16n8k32", "s32.s8.s8.s32", "rrrr", "rrrr", "rr")

    def kernel(a, b, d):
        t = cuda.threadIdx.x
        r = multiply(a[t, 0], a[t, 1], a[t, 2], a[t, 3], b[t, 0], b[t, 1], d[t, 0], d[t, 1], d[t, 2], d[t, 3])
        d[t, 0], d[t, 1], d[t, 2], d[t, 3] = r

    a, b = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((16, 32), (32, 8)))
    d = np.full((32, 4), 7, np.uint32)
    Kernel(kernel, void(uint32[:, :], uint32[:, :], uint32[:, :]))[1, 32](
        fragments(a, 4, 4).view(np.uint32)[..., 0], fragments(b, 4, 2, True).view(np.uint32)[..., 0], d)
    np.testing.assert_array_equal(unpack_result(d.view(np.int32)), a.astype(np.int32) @ b.astype(np.int32) + 7)


def test_mma_double():
    multiply = mma("mma_f64", "m8n8k4", "f64.f64.f64.f64", "dd", "d", "d")

    def kernel(a, b, d):
        t = cuda.threadIdx.x
        d[t, 0], d[t, 1] = multiply(a[t], b[t], d[t, 0], d[t, 1])

    a, b = RNG.uniform(-1, 1, (8, 4)), RNG.uniform(-1, 1, (4, 8))
    d = np.ones((32, 2))
    lanes = np.arange(32)
    Kernel(kernel, void(float64[:], float64[:], float64[:, :]))[1, 32](
        a[lanes // 4, lanes % 4], b[lanes % 4, lanes // 4], d)
    np.testing.assert_allclose(d.reshape(8, 8), a @ b + 1, rtol=1e-14)


def test_matrix_store_and_reload():
    def kernel(x, y):
        shared = cuda.shared.array((32, 8), uint16)
        t = cuda.threadIdx.x
        base = shared_address(shared)
        store_matrix4(uint32(base + t * 16), x[t, 0], x[t, 1], x[t, 2], x[t, 3])
        cuda.syncthreads()
        for k in range(8):
            y[t, k] = shared[t, k]
        cuda.syncthreads()
        store_matrix1_transposed(uint32(base + t % 8 * 16), x[t, 0])
        cuda.syncthreads()
        for k in range(8):
            y[32 + t, k] = shared[t, k]

    matrix = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    x = matrix.reshape(4, 32, 2).transpose(1, 0, 2).copy().view(np.uint32)[..., 0]
    y = np.zeros((64, 8), np.uint16)
    Kernel(kernel, void(uint32[:, :], uint16[:, :]), cc=(9, 0))[1, 32](x, y)
    np.testing.assert_array_equal(y[:32], matrix.reshape(32, 8))
    np.testing.assert_array_equal(y[32:40], matrix[0].T)


def test_redux_elect_and_named_barrier():
    add = inline_ptx("redux_add", "redux.sync.add.s32 $0, $1, 0xffffffff;", "r", "r")
    high = inline_ptx("redux_max", "redux.sync.max.u32 $0, $1, 0xffffffff;", "r", "r")
    leader = inline_ptx("elect", "{ .reg .pred p; elect.sync $0|p, 0xffffffff; @p add.u32 $0, $0, 100; }", "r", "")
    half_barrier = inline_ptx("half_barrier", "bar.sync 1, 64;", "", "")

    def kernel(x, y):
        shared = cuda.shared.array(128, uint32)
        t = cuda.threadIdx.x
        y[0, t] = add(x[t])
        y[1, t] = high(x[t])
        y[2, t] = leader()
        shared[t] = x[t]
        if t < 64:
            half_barrier()
            y[3, t] = shared[63 - t]

    x, y = RNG.integers(0, 1000, 128).astype(np.uint32), np.zeros((4, 128), np.uint32)
    Kernel(kernel, void(uint32[:], uint32[:, :]), cc=(9, 0), order="random")[1, 128](x, y)
    warps = x.reshape(4, 32)
    np.testing.assert_array_equal(y[0].reshape(4, 32), np.repeat(warps.sum(1)[:, None], 32, 1))
    np.testing.assert_array_equal(y[1].reshape(4, 32), np.repeat(warps.max(1)[:, None], 32, 1))
    np.testing.assert_array_equal(y[2].reshape(4, 32), np.tile([100, *[0] * 31], (4, 1)))
    np.testing.assert_array_equal(y[3, :64], x[63::-1])


def test_mbarrier_pipeline():
    init = inline_ptx("barrier_init", "mbarrier.init.shared.b64 [$0], $1;", "", "rr")
    arrive = inline_ptx("barrier_arrive", "{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [$0]; }", "", "r")
    wait = inline_ptx("barrier_wait", """{
        .reg .pred p;
        AGAIN: mbarrier.try_wait.parity.shared.b64 p, [$0], $1;
        @!p bra AGAIN; }""", "", "rr")

    def kernel(x, y):
        shared = cuda.shared.array(64, float32)
        barrier = cuda.shared.array(2, uint64)
        t = cuda.threadIdx.x
        base = shared_address(barrier)
        if t == 0:
            init(base, 64)
            init(uint32(base + 8), 64)
        cuda.syncthreads()
        for round_ in range(4):
            if t < 64:
                shared[t] = x[round_, t]
                arrive(base)
                wait(uint32(base + 8), uint32(round_ & 1))
            else:
                wait(base, uint32(round_ & 1))
                y[round_, t - 64] = shared[127 - t]
                arrive(uint32(base + 8))

    x, y = RNG.uniform(-1, 1, (4, 64)).astype(np.float32), np.zeros((4, 64), np.float32)
    for order in ("forward", "reverse", "random"):
        y[:] = 0
        Kernel(kernel, void(float32[:, :], float32[:, :]), cc=(9, 0), order=order)[1, 128](x, y)
        np.testing.assert_array_equal(y, x[:, ::-1])


def test_bulk_copy_with_transaction_barrier():
    init = inline_ptx("tx_init", "mbarrier.init.shared.b64 [$0], 1;", "", "r")
    expect = inline_ptx("tx_expect", "{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [$0], 512; }", "", "r")
    bulk = inline_ptx(
        "tx_bulk", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], 512, [$2];", "",
        "rlr")
    wait = inline_ptx("tx_wait", """{ .reg .pred p;
        W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], 0;
        @p bra D;
        bra W;
        D: }""", "", "r")

    def kernel(x, y):
        shared = cuda.shared.array(128, float32)
        barrier = cuda.shared.array(1, uint64)
        t = cuda.threadIdx.x
        base = shared_address(barrier)
        if t == 0:
            init(base)
        cuda.syncthreads()
        if t == 0:
            expect(base)
            bulk(shared_address(shared), global_address(x), base)
        wait(base)
        y[t] = shared[127 - t]

    x, y = RNG.uniform(-1, 1, 128).astype(np.float32), np.zeros(128, np.float32)
    Kernel(kernel, void(float32[:], float32[:]), cc=(9, 0))[1, 128](x, y)
    np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_bulk_copies_out_of_shared_memory(order):
    """Groups are done in turn; memory that changes before its copy was waited for, or a copy nobody waits for, is a
    fault."""
    bulk = inline_ptx("out_bulk", "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 512;", "", "lr")
    commit = inline_ptx("out_commit", "cp.async.bulk.commit_group;", "", "")
    waits = [inline_ptx("out_wait0", "cp.async.bulk.wait_group 0;", "", ""),
             inline_ptx("out_wait1", "cp.async.bulk.wait_group.read 1;", "", "")]
    nothing = inline_ptx("out_nothing", "", "", "")

    def copier(in_loop, at_end):
        def kernel(x, y):
            shared = cuda.shared.array((2, 128), float32)
            t = cuda.threadIdx.x
            for step in range(4):
                if t == 0:
                    in_loop()
                cuda.syncthreads()
                shared[step % 2, t] = x[step, 127 - t]
                cuda.syncthreads()
                if t == 0:
                    bulk(uint64(global_address(y) + step * 512), uint32(shared_address(shared) + step % 2 * 512))
                    commit()
            if t == 0:
                at_end()

        return Kernel(kernel, void(float32[:, ::1], float32[:, ::1]), cc=(9, 0), order=order)[1, 128]

    x = RNG.uniform(-1, 1, (4, 128)).astype(np.float32)
    room = np.zeros(4 * 128 + 4, np.float32)
    y = room[-room.ctypes.data % 16 // 4:][:512].reshape(4, 128)
    copier(waits[1], waits[0])(x, y)
    np.testing.assert_array_equal(y, x[:, ::-1])
    with pytest.raises(KernelFault, match=r"shared memory changed before what reads it was waited for.*bulk_group"):
        copier(nothing, waits[0])(x, y)
    with pytest.raises(KernelFault, match="copy still on its way when its block ends"):
        copier(waits[1], nothing)(x, y)


def apply(asm, outputs, inputs, dtype_out, dtype_in, values):
    """Results of one instruction applied elementwise, its inputs being the columns of values."""
    instruction = inline_ptx("instruction", asm, outputs, inputs, memory=False)
    columns = len(inputs)
    if columns == 1:
        def kernel(x, y):
            i = cuda.grid(1)
            y[i] = instruction(x[i, 0])
    elif columns == 2:
        def kernel(x, y):
            i = cuda.grid(1)
            y[i] = instruction(x[i, 0], x[i, 1])
    else:
        def kernel(x, y):
            i = cuda.grid(1)
            y[i] = instruction(x[i, 0], x[i, 1], x[i, 2])
    values = np.asarray(values, dtype_in[1]).reshape(-1, columns)
    y = np.zeros(len(values), dtype_out[1])
    Kernel(kernel, void(dtype_in[0][:, ::1], dtype_out[0][::1]))[1, len(values)](values, y)
    return y


U, F, D, H = (uint32, np.uint32), (float32, np.float32), (float64, np.float64), (uint16, np.uint16)


@pytest.mark.parametrize("asm,values,expected", [
    ("prmt.b32 $0, $1, $2, $3;", [(0x33221100, 0x77665544, 0x7531), (0x80, 0, 0x8)], [0x77553311, 0x808080FF]),
    ("lop3.b32 $0, $1, $2, $3, 0x96;", [(0xF0F0, 0xCCCC, 0xAAAA)], [0xF0F0 ^ 0xCCCC ^ 0xAAAA]),
    ("lop3.b32 $0, $1, $2, $3, 0xE8;", [(0xF0F0, 0xCCCC, 0xAAAA)],
     [0xF0F0 & 0xCCCC | 0xF0F0 & 0xAAAA | 0xCCCC & 0xAAAA]),
    ("bfe.u32 $0, $1, $2, $3;", [(0x12345678, 8, 8), (0xFFFFFFFF, 28, 8), (1, 0, 0), (5, 0, 32)], [0x56, 15, 0, 5]),
    ("bfe.s32 $0, $1, $2, $3;", [(0x0000F000, 12, 4), (0x80000000, 28, 8), (0x7, 0, 3)],
     [2**32 - 1, 2**32 - 8, 2**32 - 1]),
    ("bfi.b32 $0, $1, $2, 8, $3;", [(0xAB, 0x11223344, 8), (0xAB, 0x11223344, 0)], [0x1122AB44, 0x11223344]),
    ("shf.l.wrap.b32 $0, $1, $2, $3;", [(0x80000000, 1, 1), (5, 6, 32)], [3, 6]),
    ("shf.r.clamp.b32 $0, $1, $2, $3;", [(2, 1, 1), (5, 6, 40)], [0x80000001, 6]),
    ("mad.hi.u32 $0, $1, $2, $3;", [(0xFFFFFFFF, 0xFFFFFFFF, 1)], [0xFFFFFFFF]),
    ("mad24.lo.u32 $0, $1, $2, $3;", [(0xFF000003, 5, 7)], [22]),
    ("sad.s32 $0, $1, $2, $3;", [(2**32 - 5, 5, 1)], [11]),
    ("dp4a.s32.s32 $0, $1, $2, $3;", [(0xFF020304, 0x01010101, 10)], [18]),
    ("dp4a.u32.u32 $0, $1, $2, $3;", [(0xFF020304, 0x01010101, 10)], [274]),
    ("slct.u32.s32 $0, $1, $2, $3;", [(1, 2, 0), (1, 2, 2**32 - 1)], [1, 2]),
    ("fma.rn.f16x2 $0, $1, $2, $3;", [(0x3C004000, 0x40003C00, 0x3C003C00)], [0x42004200]),
    ("fma.rn.bf16x2 $0, $1, $2, $3;", [(0x3F804000, 0x40003F80, 0x3F803F80)], [0x40404040]),
    ("{ .reg .u32 t; add.cc.u32 t, $1, $2; addc.u32 $0, $3, 0; }", [(0xFFFFFFFF, 1, 5), (1, 1, 5)], [6, 5]),
    ("{ .reg .u32 t; sub.cc.u32 t, $1, $2; subc.u32 $0, $3, 0; }", [(0, 1, 5), (1, 1, 5)], [4, 5]),
    ("{ .reg .pred p, q; setp.lt.and.u32 p|q, $1, $2, 1; @p mov.u32 $0, $3; @q mov.u32 $0, 9; }",
     [(1, 2, 5), (2, 1, 5)], [5, 9]),
])
def test_integer_instructions(asm, values, expected):
    np.testing.assert_array_equal(apply(asm, "r", "rrr", U, U, values), np.array(expected, np.uint32))


@pytest.mark.parametrize("asm,values,expected", [
    ("shl.b32 $0, $1, $2;", [(1, 31), (1, 32), (1, 200)], [0x80000000, 0, 0]),
    ("shr.s32 $0, $1, $2;", [(0x80000000, 40), (0x80000000, 4)], [0xFFFFFFFF, 0xF8000000]),
    ("shr.u32 $0, $1, $2;", [(0x80000000, 40), (0x80000000, 4)], [0, 0x08000000]),
    ("add.sat.s32 $0, $1, $2;", [(0x7FFFFFFF, 1)], [0x7FFFFFFF]),
    ("mul24.hi.u32 $0, $1, $2;", [(0xFFFFFF, 0xFFFFFF)], [0xFFFFFE00 | 0x00]),
    ("div.s32 $0, $1, $2;", [(0x80000000, 0xFFFFFFFF), (7, 0)], [0x80000000, 0xFFFFFFFF]),
    ("rem.u32 $0, $1, $2;", [(7, 3), (7, 0)], [1, 7]),
    ("set.lt.u32.s32 $0, $1, $2;", [(0xFFFFFFFF, 0), (0, 0)], [0xFFFFFFFF, 0]),
    ("max.f16x2 $0, $1, $2;", [(0x3C00C000, 0x40007E00)], [0x4000C000]),
    ("add.rn.f16x2 $0, $1, $2;", [(0x3C003C00, 0x40003C00)], [0x42004000]),
    ("{ .reg .f32 a, b; mov.b32 a, $1; mov.b32 b, $2; cvt.rn.f16x2.f32 $0, a, b; }", [(0x3F800000, 0x40000000)],
     [0x3C004000]),
    ("{ .reg .f32 a, b; mov.b32 a, $1; mov.b32 b, $2; cvt.rn.bf16x2.f32 $0, a, b; }", [(0x3F800000, 0x40000000)],
     [0x3F804000]),
    ("{ .reg .b16 l, h; mov.b32 {l, h}, $1; mov.b32 $0, {h, l}; }", [(0x12345678, 0)], [0x56781234]),
    ("cvt.pack.sat.s8.s32.b32 $0, $1, $2, 0;", [(300, 2**32 - 300)], [0x7F80]),
])
def test_two_operand_instructions(asm, values, expected):
    np.testing.assert_array_equal(apply(asm, "r", "rr", U, U, values), np.array(expected, np.uint32))


@pytest.mark.parametrize("asm,values,expected", [
    ("bfind.u32 $0, $1;", [0, 1, 0x80000000], [0xFFFFFFFF, 0, 31]),
    ("bfind.s32 $0, $1;", [0xFFFFFFFF, 0xFFFFFFFE, 5], [0xFFFFFFFF, 0, 2]),
    ("cnot.b32 $0, $1;", [0, 7], [1, 0]),
    ("cvt.u32.s8 $0, $1;", [0x80], [0xFFFFFF80]),
    ("cvt.sat.u8.s32 $0, $1;", [300, 2**32 - 4, 17], [255, 0, 17]),
    ("abs.s32 $0, $1;", [2**32 - 4, 4], [4, 4]),
    ("{ .reg .f32 f; mov.b32 f, $1; cvt.rna.tf32.f32 $0, f; }", [0x3F801000, 0x3F800FFF], [0x3F802000, 0x3F800000]),
    ("{ .reg .f32 f; .reg .pred p; mov.b32 f, $1; testp.subnormal.f32 p, f; selp.u32 $0, 1, 0, p; }",
     [1, 0x3F800000, 0], [1, 0, 0]),
    ("{ .reg .f32 f; mov.b32 f, $1; cvt.rzi.s32.f32 $0, f; }", [0x7FC00000, 0x4F000000, 0xCF800000],
     [0, 0x7FFFFFFF, 0x80000000]),
])
def test_one_operand_instructions(asm, values, expected):
    np.testing.assert_array_equal(apply(asm, "r", "r", U, U, values), np.array(expected, np.uint32))


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("asm,values,expected", [
    ("min.f32 $0, $1, $2;", [(NAN, 1), (1, NAN), (0.0, -0.0), (2, 3)], [1, 1, -0.0, 2]),
    ("max.f32 $0, $1, $2;", [(NAN, 1), (-0.0, 0.0), (2, 3)], [1, 0.0, 3]),
    ("max.NaN.f32 $0, $1, $2;", [(NAN, 1), (2, 3)], [NAN, 3]),
    ("add.rz.f32 $0, $1, $2;", [(1, 2.0 ** -30), (1, -(2.0 ** -30))], [1, np.nextafter(np.float32(1), np.float32(0))]),
    ("add.rp.f32 $0, $1, $2;", [(1, 2.0 ** -30)], [np.nextafter(np.float32(1), np.float32(2))]),
    ("add.rm.f32 $0, $1, $2;", [(1, 2.0 ** -30)], [1]),
    ("add.sat.f32 $0, $1, $2;", [(1, 2), (-1, 0), (NAN, 0), (0.25, 0.5)], [1, 0, 0, 0.75]),
    ("mul.ftz.f32 $0, $1, $2;", [(1e-40, 1e10), (1e-30, -1e-10)], [0, -0.0]),
    ("mul.rn.f32 $0, $1, $2;", [(1e-30, 1e-10)], [np.float32(1e-30) * np.float32(1e-10)]),
    ("div.rp.f32 $0, $1, $2;", [(1, 3)], [np.nextafter(np.float32(1 / 3), np.float32(0)) if np.float32(1 / 3) < 1 / 3
                                          else np.float32(1 / 3)]),
    ("copysign.f32 $0, $1, $2;", [(-1, 3), (2, -5)], [-3, 5]),
])
def test_float_instructions(asm, values, expected):
    got = apply(asm, "f", "ff", F, F, values)
    want = np.array(expected, np.float32)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("asm,function", [
    ("ex2.approx.f32 $0, $1;", np.exp2), ("lg2.approx.f32 $0, $1;", np.log2),
    ("rsqrt.approx.f32 $0, $1;", lambda x: x ** -0.5),
    ("rcp.rn.f32 $0, $1;", lambda x: 1 / x), ("sqrt.rz.f32 $0, $1;", np.sqrt), ("tanh.approx.f32 $0, $1;", np.tanh),
    ("cvt.rmi.f32.f32 $0, $1;", np.floor), ("cvt.rni.f32.f32 $0, $1;", np.rint),
])
def test_unary_float_instructions(asm, function):
    x = RNG.uniform(0.1, 9, 64).astype(np.float32)
    np.testing.assert_allclose(apply(asm, "f", "f", F, F, x), function(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("asm,values,expected", [
    ("min.f64 $0, $1, $2;", [(NAN, 1), (1, NAN), (0.0, -0.0), (-0.0, 0.0), (2, 3), (INF, -INF)],
     [1, 1, -0.0, -0.0, 2, -INF]),
    ("max.f64 $0, $1, $2;", [(NAN, 1), (1, NAN), (0.0, -0.0), (-0.0, 0.0), (2, 3), (NAN, NAN)],
     [1, 1, 0.0, 0.0, 3, NAN]),
])
def test_double_instructions(asm, values, expected):
    got, want = apply(asm, "d", "dd", D, D, values), np.array(expected)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("asm", [
    "cvt.rn.relu.f16.f32 $0, $1;",
    "{ .reg .b16 h, one, zero; mov.b16 one, 0x3C00; mov.b16 zero, 0; cvt.rn.f16.f32 h, $1;"
    "  fma.rn.relu.f16 $0, h, one, zero; }",
])
def test_relu_clamps_negative_values_and_keeps_nan(asm):
    got = apply(asm, "h", "f", H, F, [-3, 2, NAN, -INF, INF]).view(np.float16)
    np.testing.assert_array_equal(got, np.array([0, 2, NAN, 0, INF], np.float16))


def test_half_fma_is_rounded_once():
    x = RNG.integers(0, 1 << 15, (1000, 3)).astype(np.uint16)
    x[(x & 0x7C00) >= 0x6000] &= 0x3FFF
    got = apply("fma.rn.f16 $0, $1, $2, $3;", "h", "hhh", H, H, x)
    a, b, c = x.view(np.float16).astype(np.longdouble).T
    with np.errstate(over="ignore"):
        want = (a * b + c).astype(np.float16)
    np.testing.assert_array_equal(got.view(np.float16), want)
