"""What kernels share: element types, the number of a thread and its split into coordinates, block-wide trees."""

from __future__ import annotations

from numba import cuda
from numba.cuda import types

int32, int64, uint32, uint64 = types.int32, types.int64, types.uint32, types.uint64

REAL = {"float32": types.float32, "float64": types.float64}
CODE = {"float32": "f", "float64": "d"}
INTEGER = {"int32": types.int32, "int64": types.int64}


def indexing(wide: bool, threads: int):
    """(index, number, split): the index type, `number()` of this thread in the grid, and `split(rest, extent)` into
    (rest // extent, rest % extent), without a division where the extent is 1."""
    index = uint64 if wide else uint32

    @cuda.jit(device=True)
    def number():
        return index(index(cuda.blockIdx.x) * index(threads) + index(cuda.threadIdx.x))

    @cuda.jit(device=True)
    def split(rest, extent):
        count = index(extent)
        if count == index(1):
            return rest, index(0)
        quotient = index(rest // count)
        return quotient, index(rest - index(quotient * count))

    return index, number, split


def window_index():
    """`landing(reach, step, count)`: the window that starts `reach` after the first one, -1 where there is none.

    Windows start `step` apart, `count` of them. Coordinates are below 2**31, so the division is one of 32 bits.
    """

    @cuda.jit(device=True)
    def landing(reach, step, count):
        if reach < 0 or reach >= count * step:
            return int64(-1)
        if step == 1:
            return int64(reach)
        quotient = int64(uint32(uint32(reach) // uint32(step)))
        return quotient if quotient * step == reach else int64(-1)

    return landing


def tree_sum(width: int):
    """`total(values, lane, base)`: the sum of values[base : base + width] in shared memory, by a fixed tree.

    All threads of the block call it together; lane is the thread's place in its group of `width` (a power of two).
    The result is the same for every lane; the array may be written again after the call.
    """

    @cuda.jit(device=True)
    def total(values, lane, base):
        half = int32(width // 2)
        cuda.syncthreads()
        while half > 0:
            if lane < half:
                values[base + lane] += values[base + lane + half]
            cuda.syncthreads()
            half = int32(half >> 1)
        result = values[base]
        cuda.syncthreads()
        return result

    return total


def tree_max(width: int):
    """As tree_sum, for the maximum; a NaN anywhere makes it NaN."""

    @cuda.jit(device=True)
    def greatest(values, lane, base):
        half = int32(width // 2)
        cuda.syncthreads()
        while half > 0:
            if lane < half:
                other = values[base + lane + half]
                if other > values[base + lane] or other != other:
                    values[base + lane] = other
            cuda.syncthreads()
            half = int32(half >> 1)
        result = values[base]
        cuda.syncthreads()
        return result

    return greatest
