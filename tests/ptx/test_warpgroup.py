"""wgmma with shared-memory descriptors."""

import numpy as np
import pytest
from intrinsics import inline_ptx, shared_address
from numba import cuda, float32, uint8, uint32, uint64, void

from gpublas.testing.ptx import Kernel

RNG = np.random.default_rng(4)
ROWS = COLUMNS = DEPTH = 64


def swizzled(matrix, width):
    """A matrix as bytes in panels of `width` bytes per row, 16-byte chunks exchanged within 8 rows."""
    per_row = width // matrix.itemsize
    rows, columns = matrix.shape
    data = np.zeros(matrix.nbytes, np.uint8)
    for panel in range(columns // per_row):
        for row in range(rows):
            line = np.ascontiguousarray(matrix[row, panel * per_row:(panel + 1) * per_row]).view(np.uint8)
            for chunk in range(width // 16):
                address = panel * rows * width + row * width + chunk * 16
                address ^= (address >> 7 & width // 16 - 1) << 4
                data[address:address + 16] = line[chunk * 16:chunk * 16 + 16]
    return data


def encode(x, kind):
    return x.astype(np.float16).view(np.uint16) if kind == "f16" else (x.view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("width,mode", [(128, 1), (64, 2), (32, 3)])
@pytest.mark.parametrize("transposed", [False, True])
def test_warpgroup_product(kind, width, mode, transposed):
    registers = ", ".join(f"${index}" for index in range(32))
    multiply = inline_ptx("multiply", f"""{{ .reg .pred p; setp.ne.u32 p, $34, 0;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n64k16.f32.{kind}.{kind}
            {{{registers}}}, $32, $33, p, 1, 1, {int(transposed)}, {int(transposed)};
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0; }}""", "f" * 32, ["l", "l", "r", *map(str, range(32))])
    zeros = (np.float32(0),) * 32

    def kernel(a, b, out):
        shared = cuda.shared.array(2 * 64 * 64 * 2, uint8)
        t = cuda.threadIdx.x
        for i in range(t, a.size, 128):
            shared[i] = a[i]
            shared[8192 + i] = b[i]
        cuda.syncthreads()
        base = uint64(shared_address(shared))
        layout = (uint64(mode) << uint64(62)) | (uint64(8 * width // 16) << uint64(32)) | (
            uint64(64 * width // 16) << uint64(16))
        total = zeros
        for step in range(4):
            if transposed:
                offset = step * 16 * width
            else:
                offset = step * 32 // width * 64 * width + step * 32 % width
            da = layout | (base + uint64(offset)) >> uint64(4)
            db = layout | (base + uint64(8192 + offset)) >> uint64(4)
            total = multiply(da, db, uint32(step), *total)
        row, column = t // 32 * 16 + t % 32 // 4, t % 4 * 2
        for i in range(32):
            out[row + i // 2 % 2 * 8, column + i // 4 * 8 + i % 2] = total[i]

    a, b = (RNG.integers(-4, 4, (64, 64)).astype(np.float32) for _ in range(2))
    stored = [swizzled(encode(x, kind).T if transposed else encode(x, kind), width) for x in (a, b)]
    out = np.zeros((64, 64), np.float32)
    Kernel(kernel, void(uint8[::1], uint8[::1], float32[:, ::1]), cc=(9, 0))[1, 128](*stored, out)
    np.testing.assert_array_equal(out, a @ b.T)


def test_warpgroup_product_with_a_in_registers():
    registers = ", ".join(f"${index}" for index in range(4))
    multiply = inline_ptx("multiply", f"""
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{registers}}}, {{$4, $5, $6, $7}}, $8, 0, 1, -1, 0;
        """, "f" * 4, "rrrrl")

    def kernel(a, b, out):
        shared = cuda.shared.array(16 * 8 * 2, uint8)
        t = cuda.threadIdx.x
        for i in range(t, b.size, 128):
            shared[i] = b[i]
        cuda.syncthreads()
        base = uint64(shared_address(shared))
        # No swizzle: two core matrices of 128 bytes along k.
        d = multiply(a[t, 0], a[t, 1], a[t, 2], a[t, 3], uint64(128 >> 4) << uint64(16) | base >> uint64(4))
        row, column = t // 32 * 16 + t % 32 // 4, t % 4 * 2
        out[row, column] = d[0]
        out[row, column + 1] = d[1]
        out[row + 8, column] = d[2]
        out[row + 8, column + 1] = d[3]

    a, b = RNG.integers(-4, 4, (64, 16)).astype(np.float16), RNG.integers(-4, 4, (8, 16)).astype(np.float16)
    fragments = np.zeros((128, 4, 2), np.float16)
    for t in range(128):
        row, member = t // 32 * 16 + t % 32 // 4, t % 4
        for register in range(4):
            k = member * 2 + register // 2 * 8
            fragments[t, register] = a[row + register % 2 * 8, k:k + 2]
    cores = np.concatenate([b[:, :8].ravel(), b[:, 8:].ravel()]).view(np.uint8)
    out = np.zeros((64, 8), np.float32)
    Kernel(kernel, void(uint32[:, :], uint8[::1], float32[:, ::1]), cc=(9, 0))[1, 128](
        fragments.view(np.uint32)[..., 0], cores, out)
    np.testing.assert_array_equal(out, -(a.astype(np.float32) @ b.astype(np.float32).T))
