"""Which tile of which product a thread block computes."""

from __future__ import annotations

from numba import cuda, int32, int64

device = cuda.jit(device=True)


BAND = 8  # rows of tiles that are gone through together


def tile_finder(number):
    """Device function (tile, down, across): row and column of tile number `tile` of down x across, in bands of BAND
    rows, down and then across within each. number: the integer type to count in; 64-bit divisions are subroutines.

    Blocks that run at the same time then form a compact region, and share what they read of A and B in the L2 cache.
    """
    @device
    def find(tile, down, across):
        band = number(tile // number(BAND * across))
        place = number(tile - number(band * number(BAND * across)))
        height = number(min(number(down - band * BAND), number(BAND)))
        column = number(place // height)
        return number(band * BAND + place - column * height), column

    return find


tile_at = tile_finder(int64)


def tile_placer(block_rows: int, block_columns: int):
    """Device function (m, n): number of the product, first row and column of the block's tile of its m x n matrix, and
    how many rows and columns of the tile lie inside. Blocks are numbered along one axis, product after product."""
    @device
    def place(m, n):
        down, across = (m + (block_rows - 1)) // block_rows, (n + (block_columns - 1)) // block_columns
        product, tile = int64(cuda.blockIdx.x) // (down * across), int64(cuda.blockIdx.x) % (down * across)
        row, column = tile_at(tile, down, across)
        top, left = row * block_rows, column * block_columns
        return product, top, left, int32(min(m - top, block_rows)), int32(min(n - left, block_columns))

    return place
