"""What counting launches count."""

from collections import Counter

import numpy as np
import pytest
from intrinsics import copy16, copy_commit, copy_wait0, global_address, load_matrix4, shared_address
from numba import cuda, float32, uint32, uint64, void
from texts import HEADER

from gpublas.testing.ptx import Counters, Kernel, Program

_SUFFIX = {4: "u32", 8: "v2.u32", 16: "v4.u32"}
_VALUES = {4: "%r4", 8: "{%r4, %r5}", 16: "{%r4, %r5, %r6, %r7}"}


def strided(space, width, lanes, stride):
    """Counters of one load of `width` bytes by the first lanes of a warp, `stride` bytes apart."""
    base = "mov.u64 %rd1, buffer;" if space == "shared" else "ld.param.u64 %rd1, [source];"
    text = HEADER + f"""
    .shared .align 16 .b8 buffer[16384];
    .visible .entry load(.param .u64 source)
    {{
        .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<2>;
        {base}
        mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, {lanes};
        @%p1 exit;
        mul.wide.u32 %rd2, %r1, {stride};
        add.s64 %rd3, %rd1, %rd2;
        ld.{space}.{_SUFFIX[width]} {_VALUES[width]}, [%rd3];
        ret;
    }}"""
    buffer = np.zeros(16384 + 32, np.uint8)
    source = buffer[-buffer.ctypes.data % 32:]
    return Program.compile((text,), counters=True).launch(
        1, 32, 0, [np.uint64(source.ctypes.data)], [(source.ctypes.data, source.nbytes)])


@pytest.mark.parametrize("width,lanes,stride,wavefronts,minimum", [
    (4, 32, 4, 1, 1), (8, 32, 8, 2, 2), (16, 32, 16, 4, 4),  # contiguous
    (4, 8, 4, 1, 1), (8, 16, 8, 1, 1), (8, 17, 8, 2, 2), (16, 8, 16, 1, 1), (16, 9, 16, 2, 2),  # partial warps
    (4, 32, 0, 1, 1), (16, 32, 0, 4, 4),  # broadcasts
    (4, 32, 128, 32, 1), (4, 32, 8, 2, 1), (8, 32, 128, 32, 2), (16, 32, 128, 32, 4), (16, 32, 32, 8, 4),
])
def test_shared_wavefronts(width, lanes, stride, wavefronts, minimum):
    counts = strided("shared", width, lanes, stride)
    (row,) = counts.shared()
    assert (row.requests, row.wavefronts, row.minimum_wavefronts) == (1, wavefronts, minimum)
    assert (counts.shared_requests, counts.shared_wavefronts, counts.bank_conflicts) == (1, wavefronts,
                                                                                        wavefronts - minimum)
    assert (counts.global_requests, counts.global_sectors, counts.global_()) == (0, 0, [])


@pytest.mark.parametrize("width,lanes,stride,sectors,minimum", [
    (4, 32, 4, 4, 4), (8, 32, 8, 8, 8), (16, 32, 16, 16, 16), (4, 8, 4, 1, 1), (4, 9, 4, 2, 2),
    (4, 32, 0, 1, 1), (4, 32, 8, 8, 4), (4, 32, 128, 32, 4), (16, 32, 64, 32, 16), (4, 1, 4, 1, 1),
])
def test_global_sectors(width, lanes, stride, sectors, minimum):
    counts = strided("global", width, lanes, stride)
    (row,) = counts.global_()
    assert (row.requests, row.sectors, row.minimum_sectors) == (1, sectors, minimum)
    assert (counts.global_requests, counts.global_sectors, counts.minimum_sectors) == (1, sectors, minimum)
    assert (counts.shared_requests, counts.shared_wavefronts, counts.shared()) == (0, 0, [])


def test_totals_are_sums_of_rows():
    def kernel(x, y):
        shared = cuda.shared.array(32 * 33, float32)
        t = cuda.threadIdx.x
        for row in range(32):
            shared[t * 33 + row] = x[row, t]
        cuda.syncthreads()
        for row in range(32):
            y[row, t] = shared[row * 33 + t]

    x, y = np.random.default_rng(1).random((2, 32, 32), np.float32)
    counts = Kernel(kernel, void(float32[:, ::1], float32[:, ::1]), counters=True)[1, 32](x, y)
    np.testing.assert_array_equal(y, x.T)
    assert (counts.shared_requests, counts.bank_conflicts, counts.global_requests) == (64, 0, 64)
    assert counts.global_sectors == sum(row.sectors for row in counts.accesses)
    assert counts.shared_wavefronts == sum(row.wavefronts for row in counts.accesses) == 64
    for name in ("ld.global", "st.global", "ld.shared", "st.shared"):
        executed = sum(number for opcode, number in counts.instructions.items() if opcode.startswith(name))
        assert executed == 32 * 32  # threads times rows
        assert sum(row.requests for row in counts.accesses if row.opcode.startswith(name)) == 32
    assert all(row.line > 0 for row in counts.accesses)


def test_workers_add_up():
    def kernel(x):
        x[cuda.grid(1)] += 1

    results = []
    for workers in (1, 2):
        x = np.zeros(64 * 40 + 8, np.float32)
        x = x[-(x.ctypes.data // 4) % 8:][:64 * 40]
        counts = Kernel(kernel, void(float32[::1]), counters=True, workers=workers)[40, 64](x)
        results.append((counts.instructions, counts.accesses))
    assert results[0] == results[1]
    assert sum(row.sectors for row in results[0][1]) == 2 * 64 * 40 * 4 // 32


def test_matrix_loads_and_asynchronous_copies():
    def kernel(x, y):
        shared = cuda.shared.array((32, 8), uint32)
        t = cuda.threadIdx.x
        copy16(uint32(shared_address(shared) + t * 32), uint64(global_address(x) + t * 32))
        copy_commit()
        copy_wait0()
        cuda.syncthreads()
        y[t] = load_matrix4(uint32(shared_address(shared) + t * 32))[0]

    x = np.zeros(32 * 8 + 8, np.uint32)
    x = x[-(x.ctypes.data // 4) % 8:][:32 * 8]
    x[:] = np.arange(32 * 8)
    y = np.zeros(32, np.uint32)
    counts = Kernel(kernel, void(uint32[::1], uint32[::1]), counters=True)[1, 32](x, y)
    rows = {row.opcode.split(".")[0]: row for row in counts.shared() if row.opcode.startswith("ldmatrix")}
    assert (rows["ldmatrix"].wavefronts, rows["ldmatrix"].minimum_wavefronts) == (8, 4)  # rows 32 bytes apart
    copies = [row for row in counts.accesses if row.opcode.startswith("cp.async")]
    assert sum(row.global_requests for row in copies) == 1 and sum(row.sectors for row in copies) == 32
    assert sum(row.minimum_sectors for row in copies) == 16
    assert sum(row.wavefronts for row in copies) == 8


def test_generic_accesses_are_told_apart():
    text = HEADER + """
    .shared .align 16 .b8 buffer[128];
    .visible .entry mixed(.param .u64 source)
    {
        .local .align 4 .b8 frame[128];
        .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
        ld.param.u64 %rd1, [source];
        mov.u32 %r1, %tid.x;
        mov.u64 %rd2, buffer;
        cvta.shared.u64 %rd2, %rd2;
        mov.u64 %rd3, frame;
        cvta.local.u64 %rd3, %rd3;
        setp.lt.u32 %p1, %r1, 8;
        selp.b64 %rd4, %rd2, %rd1, %p1;
        setp.ge.u32 %p2, %r1, 24;
        selp.b64 %rd4, %rd3, %rd4, %p2;
        mul.wide.u32 %rd5, %r1, 4;
        add.s64 %rd6, %rd4, %rd5;
        st.u32 [%rd6], %r1;
        ret;
    }"""
    source = np.zeros(40, np.uint32)
    source = source[-(source.ctypes.data // 4) % 8:][:32]
    counts = Program.compile((text,), counters=True).launch(
        1, 32, 0, [np.uint64(source.ctypes.data)], [(source.ctypes.data, source.nbytes)])
    (row,) = counts.accesses
    assert (row.shared_requests, row.wavefronts, row.global_requests, row.sectors) == (1, 1, 1, 2)
    np.testing.assert_array_equal(source, np.where((np.arange(32) >= 8) & (np.arange(32) < 24), np.arange(32), 0))


def test_counting_is_off_by_default():
    def kernel(x):
        x[cuda.grid(1)] = 1

    assert Kernel(kernel, void(float32[::1]))[1, 8](np.zeros(8, np.float32)) is None


def test_empty_counters():
    counts = Counters(Counter(), [])
    assert (counts.global_sectors, counts.bank_conflicts, counts.minimum_sectors) == (0, 0, 0)
