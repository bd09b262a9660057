"""What a warp of the tensor-core kernel does: where its fragments lie in shared memory, and how they multiply.

Layouts of fragments: PTX ISA, "mma". A slab's rows hold chunks of 16 bytes whose places are XORed with `swizzle(row)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import cuda, float32, float64, int32, uint32

from ..ptx import load_doubles, load_fragments, multiply_doubles, store_fragments, zeros
from .config import ACROSS, CHUNK, ROW_BYTES, MmaConfig
from .multiply import multiplier
from .tuples import tuple_of

device = cuda.jit(device=True)



class Warp(NamedTuple):
    """Device functions of a warp's part of a tile, all made for one configuration and one way that A and B lie.

    places_a(lane, first), places_b: bytes from a tile's start to what this lane loads, for the warp's part from row or
    column `first` on. loads_a, loads_b: for each of the four steps of a slab load(start, places), the fragments as a
    tuple. multiply(sums, a, b). no_sums(): zeros. keep(base, row, column, lane, sums): the sums into a row-major tile
    of results in shared memory. element: the type of what lies there; 32 bits are raw.
    """

    places_a: Callable
    loads_a: tuple
    places_b: Callable
    loads_b: tuple
    multiply: Callable
    no_sums: Callable
    keep: Callable
    element: Any


def swizzle(config: MmaConfig) -> Callable:
    """Device function: what the places of the chunks in a row of a slab are XORed with.

    An 8x8 matrix of 16 bits takes one chunk of each of eight rows; half a warp takes two chunks of each of four rows of
    float64 numbers. Both then lie in all banks.
    """
    if config.kind == "dmma":
        return device(lambda row: (row & 3) << 1)
    return device(lambda row: row & 7)


def warp_tile(config: MmaConfig, a_lies: str, b_lies: str) -> Warp:
    """What a warp does with its tile of a configuration."""
    rows, columns, pitch = config.warp_rows, config.warp_columns, config.result_pitch
    if config.kind == "dmma":
        down, across = rows // 8, columns // 8
        store = store_fragments(down, across, pitch)
        places_a, loads_a = _double_fragments(a_lies, config.block_rows, down)
        places_b, loads_b = _double_fragments(b_lies, config.block_columns, across)
        return Warp(places_a, loads_a, places_b, loads_b, multiply_doubles(down, across),
                    zeros(down * across * 2, float64), _keeper(store, pitch, 8), float64)
    down, across = rows // 16, columns // 8
    kind = int32 if config.kind == "s8" else float32
    places_a, loads_a = _fragments(a_lies, config.block_rows, down, True)
    places_b, loads_b = _fragments(b_lies, config.block_columns, across // 2, False)
    keep, count = _keeper(store_fragments(down, across, pitch), pitch, 4), down * across * 4
    if config.kind == "bf16x9":  # twice the sums, see multiply.py
        keep, count = _added(keep, count), 2 * count
    return Warp(places_a, loads_a, places_b, loads_b, multiplier(config.kind, down, across), zeros(count, kind), keep,
                uint32)


def _added(keep, count):
    """`keep` for twice `count` sums, of which the second half is added to the first."""
    add = tuple_of(count, device(lambda sums, number: sums[number] + sums[number + count]))
    return device(lambda base, row, column, lane, sums: keep(base, row, column, lane, add(sums)))


def _keeper(store, pitch, size):
    """Device function: a warp's sums to the tile of results; a lane holds pairs, four lanes share a row."""
    @device
    def keep(base, row, column, lane, sums):
        store(int32(base + ((row + (lane >> 2)) * pitch + column + (lane & 3) * 2) * size), sums)
    return keep


def _fragments(lies, extent, count, is_left):
    """A device function that says where a lane's rows of 8x8 matrices lie in a tile, and the loads of the four steps.

    extent: rows of A's tile or columns of B's. count: ldmatrix instructions of a step, each for 16 rows of A (its four
    matrices: two down, then two along k) or 16 columns of B (two along k, then two across). places(lane, first): bytes
    from the tile's start, for the warp's part from row or column `first` on.
    """
    if lies == ACROSS:  # a row of the tile for each k: the matrices are read transposed
        WIDTH = extent * 2

        @device
        def place(given, number):
            lane, first = given
            if is_left:
                row, chunk = int32((lane & 7) + ((lane >> 4) << 3)), int32((first >> 3) + ((lane >> 3) & 1))
            else:
                row, chunk = int32(lane & 15), int32((first >> 3) + (lane >> 4))
            return int32(row * WIDTH + (((chunk + 2 * number) ^ (row & 7)) << 4))

        loads = tuple(load_fragments(count, True, 0, 0, step * 16 * WIDTH) for step in range(4))
        all_places = tuple_of(count, place)
        return device(lambda lane, first: all_places((lane, first))), loads

    @device
    def places(lane, first):
        if is_left:
            row, chunk = int32(first + (lane & 15)), int32(lane >> 4)
        else:
            row, chunk = int32(first + (lane & 7) + ((lane >> 4) << 3)), int32((lane >> 3) & 1)
        return (int32(row * ROW_BYTES + ((chunk ^ (row & 7)) << 4)),)

    return places, tuple(load_fragments(count, False, 16 * ROW_BYTES, step * 2 * CHUNK, 0) for step in range(4))


def _double_fragments(lies, extent, count):
    """The same for float64: a fragment is eight rows of A (columns of B) by four steps along k, an element a lane."""
    if lies == ACROSS:  # a row of the tile for each k
        WIDTH = extent * 8

        @device
        def place(given, number):
            lane, first = given
            at, step = int32(first + (lane >> 2) + 8 * number), int32(lane & 3)
            return int32(step * WIDTH + (((at >> 1) ^ (step << 1)) << 4) + ((at & 1) << 3))

        all_places = tuple_of(count, place)
        return (device(lambda lane, first: all_places((lane, first))),
                tuple(load_doubles(count, 0, 0, step * 4 * WIDTH) for step in range(4)))

    @device
    def places(lane, first):
        row, step = int32(first + (lane >> 2)), int32(lane & 3)
        return (int32(row * ROW_BYTES + (((step >> 1) ^ ((row & 3) << 1)) << 4) + ((step & 1) << 3)),)

    return places, tuple(load_doubles(count, 8 * ROW_BYTES, step * 2 * CHUNK, 0) for step in range(4))
