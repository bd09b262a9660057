"""Ordinary Numba CUDA kernels against NumPy."""

import math

import numpy as np
import pytest
from numba import (
    boolean,
    complex64,
    complex128,
    cuda,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    types,
    uint8,
    uint32,
    void,
)

from gpublas.testing.ptx import Kernel

RNG = np.random.default_rng(1)


def uniform(*shape, dtype=np.float32):
    return RNG.uniform(-1, 1, shape).astype(dtype)


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("fastmath", [True, False])
def test_saxpy(checked, fastmath):
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    x, y = uniform(1000), uniform(1000)
    expected = np.float32(2.5) * x + y
    Kernel(saxpy, void(float32, float32[::1], float32[::1]), checked=checked, fastmath=fastmath)[8, 128](2.5, x, y)
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-7)


def test_strided_and_negative_index():
    def reverse(x, y):
        i = cuda.grid(1)
        if i < y.shape[0]:
            y[-1 - i, 1] = x[i, -1] + x[-2, 0]

    x, y = uniform(2 * 50, 7)[::2, ::3], np.zeros((4, 50), np.float32).T
    expected = y.copy()
    expected[::-1, 1] = x[:, -1] + x[-2, 0]
    Kernel(reverse, void(float32[:, :], float32[:, :]))[1, 64](x, y)
    np.testing.assert_array_equal(y, expected)


def test_three_dimensional_grid():
    def fill(out):
        x, y, z = cuda.grid(3)
        if x < out.shape[0] and y < out.shape[1] and z < out.shape[2]:
            out[x, y, z] = x * 10000 + y * 100 + z + cuda.gridDim.z * cuda.blockDim.y

    out = np.zeros((9, 10, 11), np.int64)
    Kernel(fill, void(int64[:, :, ::1]))[(3, 5, 6), (4, 2, 2)](out)
    x, y, z = np.indices(out.shape)
    np.testing.assert_array_equal(out, x * 10000 + y * 100 + z + 12)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_block_reduction(order):
    def reduce(x, out):
        shared = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        shared[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        step = 128
        while step:
            if t < step:
                shared[t] += shared[t + step]
            cuda.syncthreads()
            step >>= 1
        if t == 0:
            out[cuda.blockIdx.x] = shared[0]

    x, out = uniform(8 * 256), np.zeros(8, np.float32)
    Kernel(reduce, void(float32[:], float32[:]), order=order)[8, 256](x, out)
    np.testing.assert_allclose(out, x.reshape(8, 256).sum(1), rtol=1e-4, atol=1e-5)


def test_dynamic_shared():
    def reverse(x):
        shared = cuda.shared.array(0, float64)
        t = cuda.threadIdx.x
        shared[t] = x[t]
        cuda.syncthreads()
        x[t] = shared[cuda.blockDim.x - 1 - t]

    x = uniform(96, dtype=np.float64)
    expected = x[::-1].copy()
    Kernel(reverse, void(float64[:]))[1, 96, 0, 96 * 8](x)
    np.testing.assert_array_equal(x, expected)


def test_warp_shuffles():
    def shuffles(x, out):
        i = cuda.grid(1)
        value = x[i]
        for offset in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        out[0, i] = cuda.shfl_sync(0xFFFFFFFF, value, 0)
        out[1, i] = cuda.shfl_up_sync(0xFFFFFFFF, x[i], 3)
        out[2, i] = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 5)
        out[3, i] = cuda.shfl_sync(0xFFFFFFFF, x[i], i + 3)

    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = RNG.integers(-1000, 1000, 64).astype(dtype)
        out = np.zeros((4, 64), dtype)
        kind = {np.float32: float32, np.float64: float64, np.int32: int32, np.int64: int64}[dtype]
        Kernel(shuffles, void(kind[::1], kind[:, ::1]))[2, 32](x, out)
        lanes, warps = np.arange(32), x.reshape(2, 32)
        np.testing.assert_array_equal(out[0].reshape(2, 32), np.repeat(warps.sum(1)[:, None], 32, 1))
        np.testing.assert_array_equal(out[1].reshape(2, 32), warps[:, np.where(lanes < 3, lanes, lanes - 3)])
        np.testing.assert_array_equal(out[2].reshape(2, 32), warps[:, lanes ^ 5])
        np.testing.assert_array_equal(out[3].reshape(2, 32), warps[:, (lanes + 3) % 32])


def test_votes_and_matches():
    def votes(x, out):
        i = cuda.grid(1)
        out[0, i] = cuda.ballot_sync(0xFFFFFFFF, x[i] > 0)
        out[1, i] = cuda.any_sync(0xFFFFFFFF, x[i] > 5)
        out[2, i] = cuda.all_sync(0xFFFFFFFF, x[i] > -9)
        out[3, i] = cuda.match_any_sync(0xFFFFFFFF, x[i])
        out[4, i] = cuda.match_all_sync(0xFFFFFFFF, x[i])[1]
        if i % 2:
            out[5, i] = cuda.activemask()
        out[6, i] = cuda.lanemask_lt()
        out[7, i] = cuda.laneid
        out[8, i] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, x[i] == 2))
        cuda.syncwarp()

    x, out = RNG.integers(-3, 4, 32).astype(np.int32), np.zeros((9, 32), np.int64)
    Kernel(votes, void(int32[:], int64[:, :]))[1, 32](x, out)
    bits = 1 << np.arange(32, dtype=np.int64)
    assert (out[0] == bits[x > 0].sum()).all() or (out[0] == np.int32(np.uint32(bits[x > 0].sum()))).all()
    assert (out[1] == 0).all() and (out[2] == 1).all() and (out[4] == 0).all()
    np.testing.assert_array_equal(out[3] & 0xFFFFFFFF, [bits[x == value].sum() for value in x])
    np.testing.assert_array_equal(out[5, 1::2] & 0xFFFFFFFF, 0xAAAAAAAA)
    np.testing.assert_array_equal(out[6] & 0xFFFFFFFF, bits - 1)
    np.testing.assert_array_equal(out[7], np.arange(32))
    assert (out[8] == (x == 2).sum()).all()


def test_barrier_reductions():
    def counts(x, out):
        i = cuda.grid(1)
        out[0, i] = cuda.syncthreads_count(x[i])
        out[1, i] = cuda.syncthreads_and(x[i] + 1)
        out[2, i] = cuda.syncthreads_or(x[i])

    x, out = RNG.integers(0, 2, 96).astype(np.int32), np.zeros((3, 96), np.int32)
    Kernel(counts, void(int32[:], int32[:, :]), order="random")[1, 96](x, out)
    assert (out[0] == x.sum()).all() and (out[1] == 1).all() and (out[2] == 1).all()


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_tiled_matrix_product(order):
    def multiply(a, b, c):
        sa = cuda.shared.array((16, 16), float32)
        sb = cuda.shared.array((16, 16), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row, column = cuda.blockIdx.y * 16 + ty, cuda.blockIdx.x * 16 + tx
        total = float32(0)
        for tile in range(0, a.shape[1], 16):
            sa[ty, tx] = a[row, tile + tx]
            sb[ty, tx] = b[tile + ty, column]
            cuda.syncthreads()
            for k in range(16):
                total += sa[ty, k] * sb[k, tx]
            cuda.syncthreads()
        c[row, column] = total

    a, b, c = uniform(64, 48), uniform(48, 80), np.zeros((64, 80), np.float32)
    kind = float32[:, ::1]
    Kernel(multiply, void(kind, kind, kind), order=order)[(5, 4), (16, 16)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)


def register_blocked(kind):
    """A matrix product with 128x128 tiles and 8x8 results per thread."""

    def multiply(a, b, c):
        sa = cuda.shared.array((8, 128), kind)
        sb = cuda.shared.array((8, 128), kind)
        total = cuda.local.array((8, 8), kind)
        left = cuda.local.array(8, kind)
        right = cuda.local.array(8, kind)
        t = cuda.threadIdx.x
        tx, ty = t % 16, t // 16
        row, column = cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
        for i in range(8):
            for j in range(8):
                total[i, j] = 0
        for tile in range(0, a.shape[1], 8):
            for i in range(4):
                index = t + 256 * i
                sa[index % 8, index // 8] = a[row + index // 8, tile + index % 8]
                sb[index // 128, index % 128] = b[tile + index // 128, column + index % 128]
            cuda.syncthreads()
            for k in range(8):
                for i in range(8):
                    left[i] = sa[k, ty * 8 + i]
                    right[i] = sb[k, tx * 8 + i]
                for i in range(8):
                    for j in range(8):
                        total[i, j] += left[i] * right[j]
            cuda.syncthreads()
        for i in range(8):
            for j in range(8):
                c[row + ty * 8 + i, column + tx * 8 + j] = total[i, j]

    return multiply


@pytest.mark.parametrize("kind,dtype", [(float32, np.float32), (float64, np.float64), (complex64, np.complex64)])
def test_register_blocked_matrix_product(kind, dtype):
    a, b, c = (uniform(256, 128, dtype=dtype), uniform(128, 128, dtype=dtype), np.zeros((256, 128), dtype))
    array = kind[:, ::1]
    Kernel(register_blocked(kind), void(array, array, array))[(1, 2), 256](a, b, c)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(c, a @ b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind,dtype", [(complex64, np.complex64), (complex128, np.complex128)])
def test_complex(kind, dtype):
    def combine(s, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] * x[i].conjugate() + s * x[i] / (x[i] + kind(1 + 2j)) - abs(x[i])

    x = (uniform(100) + 1j * uniform(100)).astype(dtype)
    y = np.zeros_like(x)
    Kernel(combine, void(kind, kind[:], kind[:]))[4, 32](2 - 1j, x, y)
    expected = x * x.conj() + (2 - 1j) * x / (x + (1 + 2j)) - abs(x)
    np.testing.assert_allclose(y, expected, rtol=1e-5 if dtype == np.complex64 else 1e-13)


def test_atomics_across_blocks():
    def accumulate(x, ints, longs, floats, doubles, unsigned):
        i = cuda.grid(1)
        cuda.atomic.add(ints, 0, 1)
        cuda.atomic.max(ints, 1, i)
        cuda.atomic.min(ints, 2, -i)
        cuda.atomic.add(longs, i % 3, i)
        cuda.atomic.add(floats, 0, float32(1))
        cuda.atomic.max(floats, 1, x[i])
        cuda.atomic.min(floats, 2, x[i])
        cuda.atomic.add(doubles, 0, 0.5)
        cuda.atomic.max(doubles, 1, float64(x[i]))
        cuda.atomic.and_(unsigned, 0, ~(1 << (i % 16)))
        cuda.atomic.or_(unsigned, 1, 1 << (i % 32))
        cuda.atomic.xor(unsigned, 2, i)
        cuda.atomic.inc(unsigned, 3, 99)
        cuda.atomic.sub(ints, 3, 2)
        while cuda.atomic.cas(ints, 4, 0, 1) != 0:
            cuda.nanosleep(1)
        longs[3] += 1
        cuda.threadfence()
        cuda.atomic.exch(ints, 4, 0)

    n = 64 * 64
    x = uniform(n)
    ints, longs = np.zeros(5, np.int32), np.zeros(4, np.int64)
    floats, doubles, unsigned = np.zeros(3, np.float32), np.zeros(2), np.zeros(4, np.uint32)
    unsigned[0] = 0xFFFFFFFF
    Kernel(accumulate, void(float32[:], int32[:], int64[:], float32[:], float64[:], uint32[:]))[64, 64](
        x, ints, longs, floats, doubles, unsigned)
    np.testing.assert_array_equal(ints, [n, n - 1, -(n - 1), -2 * n, 0])
    np.testing.assert_array_equal(longs, [*(np.arange(n)[k::3].sum() for k in range(3)), n])
    np.testing.assert_array_equal(floats, [n, x.max(), x.min()])
    np.testing.assert_array_equal(doubles, [n / 2, np.float64(x.max())])
    np.testing.assert_array_equal(unsigned, [0xFFFF0000, 0xFFFFFFFF, np.bitwise_xor.reduce(np.arange(n)), n % 100])


def test_shared_atomics():
    def histogram(x, out):
        shared = cuda.shared.array(16, int32)
        t = cuda.threadIdx.x
        if t < 16:
            shared[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(shared, x[cuda.grid(1)], 1)
        cuda.syncthreads()
        if t < 16:
            cuda.atomic.add(out, t, shared[t])

    x, out = RNG.integers(0, 16, 1024).astype(np.int32), np.zeros(16, np.int32)
    Kernel(histogram, void(int32[:], int32[:]), order="random")[8, 128](x, out)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=16))


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sqrt", "erf", "sin", "cos", "tan", "atan", "asin", "acos",
                                  "sinh", "cosh", "log1p", "expm1", "log2", "log10", "erfc", "gamma", "lgamma",
                                  "floor", "ceil", "trunc", "fabs"])
@pytest.mark.parametrize("kind,dtype", [(float32, np.float32), (float64, np.float64)])
def test_math(name, kind, dtype):
    function = getattr(math, name)

    def apply(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = function(x[i])

    high = 1 if name in ("asin", "acos") else 40 if name in ("sin", "cos", "tan") else 8
    x = RNG.uniform(0.01, high, 200).astype(dtype)
    y = np.zeros_like(x)
    Kernel(apply, void(kind[::1], kind[::1]))[4, 64](x, y)
    expected = np.vectorize(function)(x.astype(np.float64))
    np.testing.assert_allclose(y, expected, rtol=4e-6 if dtype == np.float32 else 1e-13,
                               atol=3e-7 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("kind,dtype", [(float32, np.float32), (float64, np.float64)])
def test_binary_math(kind, dtype):
    def apply(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[0, i] = math.pow(x[i], y[i])
            out[1, i] = math.atan2(y[i], x[i])
            out[2, i] = math.fmod(x[i] * kind(10), y[i])
            out[3, i] = math.hypot(x[i], y[i])
            out[4, i] = math.copysign(x[i], y[i] - 2)
            out[5, i] = x[i] ** 3 / y[i]
            out[6, i] = x[i] * kind(10) // y[i]
            out[7, i] = min(x[i], y[i]) + max(x[i], y[i]) * 2
            out[8, i] = round(y[i])
            out[9, i] = math.sin(x[i] * kind(1e6))

    x, y = RNG.uniform(0.1, 4, 100).astype(dtype), RNG.uniform(0.1, 4, 100).astype(dtype)
    out = np.zeros((10, 100), dtype)
    Kernel(apply, void(kind[::1], kind[::1], kind[:, ::1]))[4, 32](x, y, out)
    tenfold = x * dtype(10)
    expected = [x ** y, np.arctan2(y, x), np.fmod(tenfold, y), np.hypot(x, y), np.copysign(x, y - 2), x ** 3 / y,
                np.floor_divide(tenfold, y), np.minimum(x, y) + np.maximum(x, y) * 2, np.round(y),
                np.sin((x * dtype(1e6)).astype(np.float64))]
    for got, want in zip(out, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=3e-6 if dtype == np.float32 else 1e-13,
                                   atol=1e-6 if dtype == np.float32 else 1e-13)


def test_fast_math():
    def apply(x, out):
        i = cuda.grid(1)
        v = x[i]
        out[0, i] = math.exp(v)
        out[1, i] = math.log(v)
        out[2, i] = math.sin(v)
        out[3, i] = math.tanh(v)
        out[4, i] = math.sqrt(v)
        out[5, i] = 1 / v
        out[6, i] = v * float32(1e-38) * float32(0.01)

    x, out = RNG.uniform(0.1, 3, 64).astype(np.float32), np.zeros((7, 64), np.float32)
    Kernel(apply, void(float32[:], float32[:, :]), fastmath=True)[2, 32](x, out)
    for got, want in zip(out, [np.exp(x), np.log(x), np.sin(x), np.tanh(x), np.sqrt(x), 1 / x, 0 * x], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind,dtype", [(int32, np.int32), (int64, np.int64), (uint32, np.uint32)])
def test_integers(kind, dtype):
    def apply(x, y, out):
        i = cuda.grid(1)
        v, w = x[i], y[i]
        out[0, i] = v // w
        out[1, i] = v % w
        out[2, i] = v * w + 7
        out[3, i] = (v << 3) ^ (w >> 2)
        out[4, i] = (v & w) | ~v
        out[5, i] = cuda.popc(v)
        out[6, i] = cuda.clz(v)
        out[7, i] = cuda.ffs(v)
        out[8, i] = min(v, w) - max(v, w)
        out[9, i] = cuda.selp(v > w, v, w)
        out[10, i] = v // 7 + v % 10
        out[11, i] = cuda.brev(v)  # Numba reverses signed 64-bit integers as 32-bit ones

    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max, 128, dtype=dtype)
    y = RNG.integers(1, 1000, 128, dtype=dtype)
    if info.min < 0:
        y[::3] *= -1
    out = np.zeros((12, 128), dtype)
    Kernel(apply, void(kind[::1], kind[::1], kind[:, ::1]))[4, 32](x, y, out)
    bits = info.bits
    unsigned = [int(v) & (1 << bits) - 1 for v in x]
    brev = np.array([int(f"{v & 0xFFFFFFFF:032b}"[::-1], 2) for v in unsigned], np.uint32).astype(dtype)
    with np.errstate(over="ignore"):
        expected = [x // y, x % y, x * y + dtype(7), (x << 3) ^ (y >> 2), (x & y) | ~x,
                    [bin(v).count("1") for v in unsigned], [bits - v.bit_length() for v in unsigned],
                    [(v & -v).bit_length() for v in unsigned], np.minimum(x, y) - np.maximum(x, y),
                    np.maximum(x, y), x // dtype(7) + x % dtype(10), brev]
    for got, want in zip(out, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_small_types():
    def apply(a, b, c, d):
        i = cuda.grid(1)
        d[i] = a[i] + b[i] * 2 - c[i]
        a[i] = d[i]
        b[i] = d[i]
        c[i] = d[i] > 3

    a, b = RNG.integers(0, 256, 64).astype(np.uint8), RNG.integers(-128, 128, 64).astype(np.int8)
    c, d = RNG.integers(0, 2, 64).astype(np.bool_), np.zeros(64, np.int16)
    expected = (a.astype(np.int64) + b.astype(np.int64) * 2 - c).astype(np.int16)
    Kernel(apply, void(uint8[:], int8[:], boolean[:], int16[:]))[2, 32](a, b, c, d)
    np.testing.assert_array_equal(d, expected)
    np.testing.assert_array_equal(a, expected.astype(np.uint8))
    np.testing.assert_array_equal(b, expected.astype(np.int8))
    np.testing.assert_array_equal(c, expected > 3)


def test_conversions():
    def apply(x, ints, longs, bytes_, floats):
        i = cuda.grid(1)
        ints[i] = int32(x[i])
        longs[i] = int64(x[i])
        bytes_[i] = uint8(ints[i])
        floats[i] = float32(longs[i]) + float32(ints[i])

    x = RNG.uniform(-1e6, 1e6, 64)
    ints, longs, bytes_, floats = (np.zeros(64, t) for t in (np.int32, np.int64, np.uint8, np.float32))
    Kernel(apply, void(float64[:], int32[:], int64[:], uint8[:], float32[:]))[2, 32](x, ints, longs, bytes_, floats)
    np.testing.assert_array_equal(ints, x.astype(np.int32))
    np.testing.assert_array_equal(longs, x.astype(np.int64))
    np.testing.assert_array_equal(bytes_, x.astype(np.int32).astype(np.uint8))
    np.testing.assert_array_equal(floats, 2 * x.astype(np.int64).astype(np.float32))


def test_local_array():
    def gather(x, y):
        i = cuda.grid(1)
        local = cuda.local.array(64, float64)
        for k in range(64):
            local[k] = x[k] * (i + 1)
        total = 0.0
        for k in range(i):
            total += local[(k * 7 + i) % 64]
        y[i] = total

    x, y = uniform(64, dtype=np.float64), np.zeros(40)
    Kernel(gather, void(float64[:], float64[:]))[1, 40](x, y)
    expected = [sum(x[(k * 7 + i) % 64] * (i + 1) for k in range(i)) for i in range(40)]
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


def test_divergent_control_flow():
    def collatz(x, y):
        i = cuda.grid(1)
        if i >= x.size:
            return
        value, steps = x[i], 0
        while value != 1:
            if value % 2:
                value = 3 * value + 1
            else:
                value //= 2
            steps += 1
            if steps > 100:
                break
        y[i] = steps

    x, y = np.arange(1, 101), np.zeros(100, np.int64)
    Kernel(collatz, void(int64[:], int64[:]))[4, 32](x, y)

    def steps(value):
        count = 0
        while value != 1 and count <= 100:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        return count

    np.testing.assert_array_equal(y, [steps(int(value)) for value in x])


def test_switch_and_tuple_argument():
    def choose(pair, y):
        i = cuda.grid(1)
        kind = i % 6
        if kind == 0:
            y[i] = 3
        elif kind == 1:
            y[i] = pair[0]
        elif kind == 2:
            y[i] = pair[1][i]
        elif kind == 3:
            y[i] = 12
        elif kind == 4:
            y[i] = i * 7
        else:
            y[i] = -1

    x, y = uniform(32), np.zeros(32, np.float32)
    Kernel(choose, void(types.Tuple((int32, float32[:])), float32[:]))[1, 32]((5, x), y)
    i = np.arange(32)
    np.testing.assert_array_equal(y, np.choose(i % 6, [3, 5, x, 12, i * 7, -1]).astype(np.float32))


def test_constant_array():
    table = np.arange(10, dtype=np.float32) ** 2

    def lookup(out):
        constant = cuda.const.array_like(table)
        i = cuda.grid(1)
        out[i] = constant[i % 10] + constant[3]

    out = np.zeros(32, np.float32)
    Kernel(lookup, void(float32[:]))[1, 32](out)
    np.testing.assert_array_equal(out, table[np.arange(32) % 10] + 9)


def test_printing_and_exceptions_are_harmless():
    def noisy(x):
        i = cuda.grid(1)
        if x[i] < 0:
            raise ValueError
        print(i, x[i])
        x[i] += 1

    x = np.array([1, -1, 2, 3], np.int32)
    Kernel(noisy, void(int32[:]))[1, 4](x)
    np.testing.assert_array_equal(x, [2, -1, 3, 4])


def test_debug_build():
    def divide(x, y):
        i = cuda.grid(1)
        y[i] = 100 // x[i]

    x, y = np.arange(1, 33, dtype=np.int32), np.zeros(32, np.int32)
    Kernel(divide, void(int32[:], int32[:]), debug=True, opt=False)[1, 32](x, y)
    np.testing.assert_array_equal(y, 100 // x)
