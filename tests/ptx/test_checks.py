"""Faults, hidden races, counters, and hand-written PTX."""

import numpy as np
import pytest
from intrinsics import global_address, inline_ptx, load_matrix4, shared_address
from numba import cuda, float32, int32, int64, uint8, uint32, uint64, void

from gpublas.testing.ptx import Kernel, KernelFault, Program, PTXError


def neighbour_sum(synchronize):
    def kernel(x, y):
        shared = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        shared[t] = x[t]
        if synchronize:
            cuda.syncthreads()
        y[t] = shared[t] + shared[t ^ 64] + shared[t ^ 1]

    return kernel


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_missing_barrier_is_exposed(order):
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    index = np.arange(128)
    expected = x + x[index ^ 64] + x[index ^ 1]
    Kernel(neighbour_sum(True), void(float32[:], float32[:]), order=order)[1, 128](x, y)
    np.testing.assert_array_equal(y, expected)
    Kernel(neighbour_sum(False), void(float32[:], float32[:]), order=order)[1, 128](x, y)
    assert np.isnan(y).any()


def test_write_after_read_race_needs_an_order():
    def shift(x, y):
        shared = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        shared[t] = x[t]
        cuda.syncthreads()
        value = shared[(t + 1) % 64]
        shared[t] = value  # a barrier is missing before this store
        cuda.syncthreads()
        y[t] = shared[t]

    x = np.arange(64, dtype=np.float32)
    results = {}
    for order in ("forward", "reverse", "random"):
        y = np.zeros(64, np.float32)
        Kernel(shift, void(float32[:], float32[:]), order=order, seed=5)[1, 64](x, y)
        results[order] = np.array_equal(y, np.roll(x, -1))
    assert not results["random"] and not all(results.values())


def test_out_of_bounds_global():
    def write(x):
        x[cuda.grid(1)] = 1

    x = np.zeros(100, np.int32)
    with pytest.raises(KernelFault, match=r"out-of-bounds global access by block \(3, 0, 0\) thread \(4, 0, 0\) at "
                                          r"PTX line \d+: st\.global\.u32"):
        Kernel(write, void(int32[::1]), workers=1)[4, 32](x)
    Kernel(write, void(int32[::1]))[5, 20](x)
    assert (x == 1).all()


def test_out_of_bounds_shared():
    def write(x):
        shared = cuda.shared.array(16, float32)
        shared[cuda.threadIdx.x + 1] = 1
        cuda.syncthreads()
        x[cuda.threadIdx.x] = shared[0]

    with pytest.raises(KernelFault, match=r"out-of-bounds shared access by block \(0, 0, 0\) thread \(15, 0, 0\) .*"
                                          r"\(shared address 0x40, the block has 64 bytes\)"):
        Kernel(write, void(float32[::1]))[1, 16](np.zeros(16, np.float32))


def test_misaligned_vector_access():
    load4 = inline_ptx("load4", "ld.global.v4.f32 {$0, $1, $2, $3}, [$4];", "ffff", "l")

    def read(x, y, skip):
        value = load4(uint64(global_address(x) + skip * 4))
        y[0] = value[0] + value[3]

    buffer = np.zeros(64, np.float32)
    x = buffer[-(buffer.ctypes.data // 4) % 4:][:16]
    x[:] = np.arange(16)
    y = np.zeros(1, np.float32)
    kernel = Kernel(read, void(float32[::1], float32[::1], int64))
    kernel[1, 1](x, y, 4)
    assert y[0] == 4 + 7
    with pytest.raises(KernelFault, match=r"misaligned access.*ld.global.v4.f32"):
        kernel[1, 1](x, y, 1)


@pytest.mark.parametrize("source,target,size,fault", [
    (0, 0, 512, None), (512, 0, 512, None), (0, 512, 512, None),
    (528, 0, 512, r"out-of-bounds global access.*\(address 0x\w+, 496 bytes before the end of range 0"),
    (1024, 0, 16, r"out-of-bounds global access.*0 bytes past the end of range 0"),
    (0, 528, 512, r"out-of-bounds shared access.*\(shared address 0x220, the block has 1040 bytes\)"),
    (0, 0, 1040, "out-of-bounds shared access"),
    (8, 0, 16, "misaligned access"), (0, 8, 16, "misaligned access"), (0, 0, 24, "misaligned access"),
])
def test_bulk_copies_stay_in_bounds(source, target, size, fault):
    init = inline_ptx("bulk_init", "mbarrier.init.shared.b64 [$0], 1;", "", "r")
    expect = inline_ptx("bulk_expect", "{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [$0], $1; }", "", "rr")
    wait = inline_ptx("bulk_wait", """{ .reg .pred p;
        AGAIN: mbarrier.try_wait.parity.shared.b64 p, [$0], 0;
        @!p bra AGAIN; }""", "", "r")
    bulk = inline_ptx(
        "bulk", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "", "rlrr")

    def kernel(x, source, target, size):
        barrier = cuda.shared.array(2, uint64)
        buffer = cuda.shared.array(0, uint8)
        init(shared_address(barrier))
        expect(shared_address(barrier), uint32(size))
        bulk(uint32(shared_address(buffer) + target), uint64(global_address(x) + source), uint32(size),
             shared_address(barrier))
        wait(shared_address(barrier))

    array = np.zeros(1024 + 16, np.uint8)
    array = array[-array.ctypes.data % 16:][:1024]
    run = Kernel(kernel, void(uint8[::1], int64, uint32, uint32), cc=(9, 0))
    if fault is None:
        run[1, 1, 1024](array, source, target, size)
    else:
        with pytest.raises(KernelFault, match=fault):
            run[1, 1, 1024](array, source, target, size)


def test_random_order_depends_on_the_seed_only():
    def shuffled(x):
        shared = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            shared[0] = 0
        cuda.syncthreads()
        x[cuda.blockIdx.x, t] = cuda.atomic.add(shared, 0, 1)

    results = []
    for workers, seed in ((1, 3), (2, 3), (1, 4)):
        x = np.zeros((8, 96), np.int32)
        Kernel(shuffled, void(int32[:, ::1]), order="random", seed=seed, workers=workers)[8, 96](x)
        results.append(x)
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any() and (results[0][0] != results[0][1]).any()
    with pytest.raises(ValueError, match="order 'sideways' is none of forward, reverse, random"):
        Kernel(shuffled, void(int32[:, ::1]), order="sideways")[8, 96](results[0])


def test_divergent_barrier():
    def diverge(x):
        if cuda.threadIdx.x < 16:
            x[0] = 1
            cuda.syncthreads()
            x[1] = 2
        else:
            x[2] = 3
            cuda.syncthreads()
            x[3] = 4

    with pytest.raises(KernelFault, match=r"divergent barrier.*thread"):
        Kernel(diverge, void(int32[::1]))[1, 32](np.zeros(4, np.int32))


def test_deadlock_names_both_waiting_places():
    half_barrier = inline_ptx("barrier_one", "bar.sync 1, 64;", "", "")

    def deadlock(x):
        if cuda.threadIdx.x < 32:
            half_barrier()
        cuda.syncthreads()
        x[0] = 1

    with pytest.raises(KernelFault, match=r"deadlock.*bar.sync 1.*thread \(32, 0, 0\) waits at .*bar.sync"):
        Kernel(deadlock, void(int32[::1]))[1, 64](np.zeros(4, np.int32))


def test_endless_polling_is_a_deadlock():
    wait = inline_ptx("wait_forever", """{ .reg .pred p;
        A: mbarrier.try_wait.parity.shared.b64 p, [$0], 0;
        @!p bra A; }""", "", "r")
    init = inline_ptx("init_two", "mbarrier.init.shared.b64 [$0], 2;", "", "r")

    def poll(x):
        barrier = cuda.shared.array(1, uint64)
        base = shared_address(barrier)
        if cuda.threadIdx.x == 0:
            init(base)
        cuda.syncthreads()
        wait(base)
        x[0] = 1

    with pytest.raises(KernelFault, match=r"deadlock.*mbarrier.try_wait"):
        Kernel(poll, void(int32[::1]), cc=(9, 0))[1, 32](np.zeros(4, np.int32))


def test_partial_warps():
    def use(x):
        i = cuda.grid(1)
        if i < 20:
            x[i] = cuda.ballot_sync(0xFFFFF, True)
        else:
            x[i] = cuda.ballot_sync(0xFFFF, True)

    with pytest.raises(KernelFault, match="own member mask"):
        Kernel(use, void(int64[::1]))[1, 32](np.zeros(32, np.int64))

    def matrix(x):
        shared = cuda.shared.array(256, uint32)
        i = cuda.threadIdx.x
        if i < 30:
            x[i] = load_matrix4(uint32(shared_address(shared) + i * 16))[0]

    with pytest.raises(KernelFault, match=r"without all its lanes.*ldmatrix"):
        Kernel(matrix, void(uint32[::1]))[1, 32](np.zeros(32, np.uint32))


def test_exited_lanes_do_not_block_shuffles():
    def early(x):
        i = cuda.grid(1)
        if i >= 20:
            return
        x[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)

    x = np.arange(20, dtype=np.int32)
    Kernel(early, void(int32[::1]))[1, 32](x)
    np.testing.assert_array_equal(x[:19], np.arange(1, 20))
    assert x[19] == -1  # an exited lane supplies poison


def test_argument_errors():
    def kernel(x):
        x[0] = 1

    run = Kernel(kernel, void(float32[:]))
    with pytest.raises(TypeError, match="expected"):
        run[1, 1](np.zeros(3))
    with pytest.raises(TypeError, match="1 arguments"):
        run[1, 1]()
    with pytest.raises(ValueError, match="threads per block"):
        run[1, 2048](np.zeros(3, np.float32))


def test_instruction_counts():
    def kernel(x, y):
        i = cuda.grid(1)
        total = float32(0)
        for k in range(x.shape[0]):
            total += x[k] * x[k]
        y[i] = total

    x, y = np.ones(10, np.float32), np.zeros(64, np.float32)
    counts = Kernel(kernel, void(float32[::1], float32[::1]), counters=True)[2, 32](x, y)
    assert counts.instructions["fma.rn.f32"] == 640
    assert (y == 10).all()


@pytest.mark.parametrize("stride,padding,wavefronts", [(32, 0, 32), (32, 1, 1), (2, 0, 2), (1, 0, 1)])
def test_bank_conflicts(stride, padding, wavefronts):
    pitch = stride + padding

    def kernel(x):
        shared = cuda.shared.array(33 * 32, float32)
        t = cuda.threadIdx.x
        shared[t * pitch] = x[t]
        cuda.syncthreads()
        x[t] = shared[t * pitch] * 2

    x = np.arange(32, dtype=np.float32)
    counts = Kernel(kernel, void(float32[::1]), counters=True)[1, 32](x)
    np.testing.assert_array_equal(x, 2 * np.arange(32))
    assert [access.wavefronts for access in counts.shared()] == [wavefronts, wavefronts]
    assert [access.requests for access in counts.shared()] == [1, 1]


@pytest.mark.parametrize("stride,sectors", [(1, 4), (2, 8), (8, 32), (100, 32)])
def test_global_sectors(stride, sectors):
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i * stride]

    buffer = np.zeros(32 * stride + 8, np.float32)
    x = buffer[-(buffer.ctypes.data // 4) % 8:][:32 * stride]
    counts = Kernel(kernel, void(float32[::1], float32[::1]), counters=True)[1, 32](x, np.zeros(64, np.float32))
    load = next(access for access in counts.global_() if access.opcode.startswith("ld"))
    assert (load.requests, load.sectors) == (1, sectors)


def test_divergent_accesses_are_separate_requests():
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i % 2:
            for _ in range(3):
                y[i] += x[i]
        y[i] += 1

    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    counts = Kernel(kernel, void(float32[::1], float32[::1]), counters=True)[1, 32](x, y)
    assert (y[:32] == 1).all()
    assert sum(access.requests for access in counts.global_()) >= 3


HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def test_branch_table_and_exit():
    text = HEADER + """
    .visible .entry choose(.param .u64 out)
    {
        .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        setp.gt.u32 %p1, %r1, 2;
        @%p1 exit;
        TABLE: .branchtargets ZERO, ONE, TWO;
        brx.idx %r1, TABLE;
        ZERO: mov.u32 %r2, 10; bra.uni DONE;
        ONE: mov.u32 %r2, 20; bra.uni DONE;
        TWO: mov.u32 %r2, 30;
        DONE: st.global.u32 [%rd3], %r2;
        ret;
    }"""
    out = np.zeros(5, np.uint32)
    Program.compile((text,)).launch(1, 5, 0, [np.uint64(out.ctypes.data)], [(out.ctypes.data, out.nbytes)])
    np.testing.assert_array_equal(out, [10, 20, 30, 0, 0])


def test_calls_of_synchronising_functions():
    text = HEADER + """
    .shared .align 4 .b8 buffer[256];
    .func (.param .b32 result) swap(.param .b32 value, .param .align 8 .b8 pair[8])
    {
        .reg .b32 %r<9>; .reg .pred %p<2>;
        ld.param.u32 %r1, [value];
        mov.u32 %r2, %tid.x;
        shl.b32 %r3, %r2, 2;
        mov.u32 %r4, buffer;
        add.u32 %r5, %r4, %r3;
        st.shared.u32 [%r5], %r1;
        bar.sync 0;
        xor.b32 %r5, %r5, 4;
        ld.shared.u32 %r6, [%r5];
        bar.sync 0;
        setp.eq.u32 %p1, %r2, 3;
        @%p1 bra LAST;
        ld.param.u32 %r7, [pair+4];
        add.u32 %r6, %r6, %r7;
        LAST: st.param.b32 [result], %r6;
        ret;
    }
    .visible .entry twice(.param .u64 out)
    {
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out];
        cvta.to.global.u64 %rd1, %rd1;
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        { .param .b32 p0; st.param.b32 [p0], %r1;
          .param .align 8 .b8 p1[8]; st.param.v2.b32 [p1], {%r1, 100};
          .param .b32 r0; call.uni (r0), swap, (p0, p1); ld.param.b32 %r2, [r0]; }
        { .param .b32 p0; st.param.b32 [p0], %r2;
          .param .align 8 .b8 p1[8]; st.param.v2.b32 [p1], {%r1, 1000};
          .param .b32 r0; call.uni (r0), swap, (p0, p1); ld.param.b32 %r2, [r0]; }
        st.global.u32 [%rd3], %r2;
        ret;
    }"""
    for order in ("forward", "reverse", "random"):
        out = np.zeros(8, np.uint32)
        program = Program.compile((text,))
        program.launch(1, 8, 0, [np.uint64(out.ctypes.data)], [(out.ctypes.data, out.nbytes)], order=order)

        def swap(values, extra):
            return values[np.arange(8) ^ 1] + np.where(np.arange(8) == 3, 0, extra)

        np.testing.assert_array_equal(out, swap(swap(np.arange(8), 100), 1000))


def test_recursion_and_stack_overflow():
    text = HEADER + """
    .func (.param .b32 result) sum(.param .b32 count)
    {
        .local .align 4 .b8 frame[256];
        .reg .b32 %r<9>; .reg .pred %p<2>; .reg .b64 %rd<2>;
        ld.param.u32 %r1, [count];
        mov.u32 %r2, 0;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra DONE;
        mov.u64 %rd1, frame;
        st.local.u32 [%rd1], %r1;
        sub.u32 %r3, %r1, 1;
        { .param .b32 p0; st.param.b32 [p0], %r3; .param .b32 r0;
          call.uni (r0), sum, (p0); ld.param.b32 %r2, [r0]; }
        ld.local.u32 %r4, [%rd1];
        add.u32 %r2, %r2, %r4;
        DONE: st.param.b32 [result], %r2;
        ret;
    }
    .visible .entry total(.param .u64 out, .param .u32 count)
    {
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [count];
        { .param .b32 p0; st.param.b32 [p0], %r1; .param .b32 r0;
          call.uni (r0), sum, (p0); ld.param.b32 %r2, [r0]; }
        st.global.u32 [%rd1], %r2;
        ret;
    }"""
    out = np.zeros(1, np.uint32)
    program = Program.compile((text,))
    program.launch(1, 1, 0, [np.uint64(out.ctypes.data), np.uint32(100)], [(out.ctypes.data, out.nbytes)])
    assert out[0] == 5050
    with pytest.raises(KernelFault, match="local stack overflow"):
        program.launch(1, 1, 0, [np.uint64(out.ctypes.data), np.uint32(1 << 20)], [(out.ctypes.data, out.nbytes)])


def test_trap_and_unknown_instructions():
    body = HEADER + ".visible .entry stop() {{ .reg .b32 %r<2>; {} ret; }}"
    with pytest.raises(KernelFault, match="trap by block"):
        Program.compile((body.format("trap;"),)).launch(1, 1, 0, [], [])
    with pytest.raises(PTXError, match=r"line 4: tex.1d is not supported"):
        Program.compile((body.format("tex.1d %r1;"),))


def test_global_variables_keep_their_values():
    text = HEADER + """
    .global .align 4 .u32 counter = 5;
    .const .align 4 .b32 table[2] = {7, 0f3F800000};
    .visible .entry bump(.param .u64 out)
    {
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out];
        atom.global.add.u32 %r1, [counter], 1;
        ld.const.u32 %r2, [table+4];
        st.global.v2.u32 [%rd1], {%r1, %r2};
        ret;
    }"""
    program, out = Program.compile((text,)), np.zeros(2, np.uint32)
    for expected in (5, 6):
        program.launch(1, 1, 0, [np.uint64(out.ctypes.data)], [(out.ctypes.data, out.nbytes)])
        np.testing.assert_array_equal(out, [expected, 0x3F800000])


@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_may_wait_for_earlier_blocks(workers):
    def chained_scan(x, flags, out):
        block, t = cuda.blockIdx.x, cuda.threadIdx.x
        if t == 0:
            total = 0
            for i in range(block * 64, block * 64 + 64):
                total += x[i]
            if block > 0:
                while cuda.atomic.cas(flags, block - 1, -1, -1) == -2:
                    pass
                total += flags[block - 1]
            out[block] = total
            cuda.threadfence()
            cuda.atomic.exch(flags, block, total)

    x, flags, out = np.arange(64 * 40), np.full(40, -2), np.zeros(40, np.int64)
    Kernel(chained_scan, void(int64[:], int64[:], int64[:]), workers=workers)[40, 32](x, flags, out)
    np.testing.assert_array_equal(out, x.reshape(40, 64).sum(1).cumsum())


def test_waiting_for_a_later_block_is_a_deadlock():
    def wait_for_last(flags):
        if cuda.blockIdx.x < 8:
            while cuda.atomic.cas(flags, 0, -1, -1) == 0:
                pass
        else:
            cuda.atomic.exch(flags, 0, 1)

    with pytest.raises(KernelFault, match="deadlock"):
        Kernel(wait_for_last, void(int64[:]), workers=2)[9, 1](np.zeros(1, np.int64))
