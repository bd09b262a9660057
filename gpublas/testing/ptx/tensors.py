"""Tensor copies (TMA): a box of a tensor to shared memory, which an mbarrier then knows of. PTX ISA, "Tensors".

A copy is noticed when its instruction is executed, and done later: until then its destination holds NaN patterns, so
that whoever does not wait for the mbarrier computes nonsense. Maps are those of tensormap.py.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from . import layout
from .lanes import fault_at, signed, wide_word, word
from .native import bytes_at, helper, words_at
from .tensormap import ADDRESS, BOX, BYTES, EXTENTS, HEADER, MAGIC, STRIDES, WORDS

_POISON = np.uint8(0xFF)
_BIAS, _TRANSACTION, _PHASE = 1 << 21, 40, 1 << 62  # of an mbarrier's word, see mbarrier.update
_COUNT, _EXPECTED = (1 << 20) - 1, 20


@helper
def accessible(block, address, size):
    """Whether the launch may touch these bytes."""
    table = carray(words_at(block[layout.RANGES]), (block[layout.RANGE_COUNT], 2))
    for row in range(block[layout.RANGE_COUNT]):
        if table[row, 0] <= address and address + size <= table[row, 0] + table[row, 1]:
            return True
    return False


@helper
def tensor_copy(words, shared, block, rank, is_due, counts):
    """Notice a copy, or do it; exchange words: addresses of the map, destination and mbarrier, then coordinates."""
    address, target, barrier = wide_word(words, 0, 0), wide_word(words, 0, 2), wide_word(words, 0, 4)
    if not accessible(block, address, BYTES):
        return fault_at(layout.OUT_OF_BOUNDS, 0)
    description = carray(words_at(address), WORDS)
    if description[HEADER] >> 32 != MAGIC or description[HEADER] >> 16 & 0xFFFF != rank:
        return fault_at(layout.NO_TENSOR_MAP, 0)
    size = description[HEADER] >> 8 & 0xFF
    rows, width = np.int64(1), description[BOX] * size
    for axis in range(1, rank):
        rows *= description[BOX + axis]
    if target % 128 or barrier % 8:
        return fault_at(layout.MISALIGNED, 0)
    if not (target >= 0 and target + rows * width <= shared.size and barrier >= 0 and barrier + 8 <= shared.size):
        return fault_at(layout.SHARED_OUT_OF_BOUNDS, 0)
    if not is_due:
        shared[target:target + rows * width] = _POISON
        return np.int64(0)
    for row in range(rows):
        if not copy_row(words, shared, block, description, rank, row, target + row * width, counts):
            return fault_at(layout.OUT_OF_BOUNDS, 0)
    complete_bytes(shared, barrier, rows * width)
    return np.int64(0)


@helper
def copy_row(words, shared, block, description, rank, row, target, counts):
    """One row of the box along the fastest axis; False where the tensor is not memory of the launch."""
    mode, size = description[HEADER] & 0xFF, description[HEADER] >> 8 & 0xFF
    start, rest, inside = description[ADDRESS], row, True
    for axis in range(1, rank):
        place = signed(word(words, 0, 6 + axis)) + rest % description[BOX + axis]
        rest //= description[BOX + axis]
        inside = inside and 0 <= place < description[EXTENTS + axis]
        start += place * description[STRIDES + axis - 1]
    first = signed(word(words, 0, 6))
    low, high = max(first, np.int64(0)), min(first + description[BOX], description[EXTENTS])
    if not inside or low >= high:
        low = high = first
    if low < high:
        if not accessible(block, start + low * size, (high - low) * size):
            return False
        counts[3] += 1
        counts[4] += (start + high * size - 1 >> 5) - (start + low * size >> 5) + 1
        counts[5] += ((high - low) * size + 31) // 32
    source = bytes_at(start)
    for byte in range(description[BOX] * size):
        place = target + byte
        if mode:  # chunks of 16 bytes change places within 8 rows
            place ^= (place >> 7 & (np.int64(1) << 4 - mode) - 1) << 4
        at = first * size + byte
        shared[place] = source[at] if low * size <= at < high * size else np.uint8(0)
    return True


@helper
def complete_bytes(shared, barrier, size):
    """Tell an mbarrier that bytes have arrived, which may complete its phase."""
    state = np.int64(0)
    for byte in range(8):
        state |= np.int64(shared[barrier + byte]) << 8 * byte
    pending, expected = state & _COUNT, state >> _EXPECTED & _COUNT
    left, phase = (state >> _TRANSACTION & 2 * _BIAS - 1) - size, state & _PHASE
    if pending == 0 and left == _BIAS:
        pending, phase = expected, phase ^ _PHASE
    state = pending | expected << _EXPECTED | left << _TRANSACTION | phase
    for byte in range(8):
        shared[barrier + byte] = np.uint8(state >> 8 * byte & 0xFF)
