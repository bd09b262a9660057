"""Sums of the rows or columns of C as it is stored, which are the gradient of a bias, in a fixed order without atomics.

The tensor-core kernel keeps sums of its own tile while it stores that, one for each row or column; a second launch adds
up those of all tiles. Where C comes from another kernel, two launches do it: sums of pieces, then of all pieces.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32, int64, uint32

from ..compile import KernelSource
from ..ptx import instruction, pointer_to
from .epilogue import element_access

device = cuda.jit(device=True)

THREADS = 128
PIECE = 64  # values that a thread adds up, one after the other
_as_float = instruction("mov.b32 $0, $1;", "f", "r")
_as_bits = instruction("mov.b32 $0, $1;", "r", "f")


def tile_summer(mode: str, kind: str, threads: int, block_rows: int, block_columns: int, pitch: int):
    """Device functions (keep, add) for a tile of results in shared memory, of float32 bits ("dmma": float64 numbers).

    mode: "row" (a sum for each row of C), "column", or "", for which they do nothing. keep(tile, at, value): a result
    as it is stored. add(tile, sums, m, n, top, left, rows, columns): all of the tile's to the matrix of sums at an
    address, a row of which is one tile's share of all sums.
    """
    if not mode:
        return device(lambda tile, at, value: None), device(lambda *arguments: None)
    if kind == "dmma":
        read, write = device(lambda bits: bits), device(lambda value: value)
        real = float64
    else:
        read, write = device(lambda bits: _as_float(bits)), device(lambda value: uint32(_as_bits(value)))
        real = float32
    by_row = mode == "row"

    @device
    def keep(tile, at, value):
        tile[at] = write(value)

    @device
    def add(tile, sums, m, n, top, left, rows, columns):
        cuda.syncthreads()
        target = pointer_to(sums, real)
        if by_row:
            lines, count, line_step, step = rows, columns, int32(pitch), int32(1)
            first = left // block_columns * m + top
        else:
            lines, count, line_step, step = columns, rows, int32(1), int32(pitch)
            first = top // block_rows * n + left
        line = int32(cuda.threadIdx.x)
        while line < lines:
            total, at, done = real(0), int32(line * line_step), int32(0)
            while done < count:
                total += read(tile[at])
                at += step
                done += int32(1)
            target[first + line] = total
            line += int32(threads)

    return keep, add


def sums_kernel(kind: str, out: str) -> KernelSource:
    """The kernel that adds up numbers of a type (as an Epilogue names it) and rounds the sums to another.

    Kernel arguments:
    A, S: addresses of numbers and of sums. lines: how many sums, neighbours in a piece of S. count: numbers of a sum.
    piece: how many of them a thread adds up; S has a row of `lines` sums for each piece. line_step, step, out_step:
    from line to line and number to number of A, from sum to sum of S, in elements.
    """
    load, store = element_access(kind)[0], element_access(out)[1]
    real = float64 if kind == "f64" else float32

    def kernel(A, S, lines, count, piece, line_step, step, out_step):
        # A thread for each sum of a piece, neighbours for neighbouring lines.
        number = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        line, done = number % lines, number // lines * piece
        if done < count or number < lines:  # of no numbers the sum is 0
            end = min(done + piece, count)
            total = real(0)
            while done < end:
                total += load(A, line * line_step + done * step)
                done += 1
            store(S, number * out_step, total)

    return KernelSource(kernel, "ll" + "lll" + "lll", (), THREADS)
