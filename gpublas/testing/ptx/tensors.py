"""Tensor copies (TMA): a box of a tensor to shared memory or back, done late as bulk.py says. PTX ISA, "Tensors".

Maps are those of tensormap.py. A box lies densely in shared memory, the fastest axis first, but for chunks of 16 bytes
that a swizzle exchanges.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from . import layout
from .bulk import accessible, complete_bytes, count_sectors, fits, late_fault, poison, reads_shared
from .lanes import signed, wide_word, word
from .native import bytes_at, helper, words_at
from .tensormap import ADDRESS, ALIGNMENT, BOX, BYTES, EXTENTS, FILL_NAN, HEADER, MAGIC, STEP, STRIDES, WORDS

_CHUNK = 16


@helper
def tensor_copy(words, shared, block, is_store, rank, checked, is_due, counts):
    """Notice a copy, or do it; exchange words: addresses of the map, the box in shared memory and the mbarrier, then
    coordinates."""
    address, box, barrier = wide_word(words, 0, 0), wide_word(words, 0, 2), wide_word(words, 0, 4)
    if checked and not accessible(block, address, BYTES):
        return late_fault(words, layout.OUT_OF_BOUNDS, address)
    if address % ALIGNMENT:
        return late_fault(words, layout.MISALIGNED, address)
    description = carray(words_at(address), WORDS)
    if description[HEADER] >> 32 != MAGIC or description[HEADER] >> 16 & 0xFFFF != rank:
        return late_fault(words, layout.NO_TENSOR_MAP, address)
    size = description[HEADER] >> 8 & 0xFF
    rows, width = np.int64(1), (description[BOX] & (1 << STEP) - 1) * size
    for axis in range(1, rank):
        rows *= description[BOX + axis] & (1 << STEP) - 1
    if box % 128:
        return late_fault(words, layout.MISALIGNED, box)
    if not fits(shared, box, rows * width):
        return late_fault(words, layout.SHARED_OUT_OF_BOUNDS, box)
    if is_store:
        if not reads_shared(words, shared, box, rows * width, is_due):
            return late_fault(words, layout.CHANGED_SOURCE, box)
    elif barrier % 8:
        return late_fault(words, layout.MISALIGNED, barrier)
    elif not fits(shared, barrier, 8):
        return late_fault(words, layout.SHARED_OUT_OF_BOUNDS, barrier)
    if not is_due:
        if not is_store:
            poison(shared, box, rows * width)
        return np.int64(0)
    for row in range(rows):
        outside = copy_row(words, shared, block, description, rank, row, box + row * width, is_store, checked,
                           counts)
        if outside:
            return late_fault(words, layout.OUT_OF_BOUNDS, outside)
    if not is_store:
        complete_bytes(shared, barrier, rows * width)
    return np.int64(0)


@helper
def copy_row(words, shared, block, description, rank, row, place, is_store, checked, counts):
    """One row of a box along the fastest axis; returns the address where the tensor is not memory of the launch."""
    start, rest, inside = description[ADDRESS], row, True
    for axis in range(1, rank):
        extent, step = description[BOX + axis] & (1 << STEP) - 1, description[BOX + axis] >> STEP
        at = signed(word(words, 0, 6 + axis)) + rest % extent * step
        rest //= extent
        inside = inside and 0 <= at < description[EXTENTS + axis]
        start += at * description[STRIDES + axis - 1]
    first, size = signed(word(words, 0, 6)), description[HEADER] >> 8 & 0xFF
    extent = description[BOX] & (1 << STEP) - 1
    low, high = max(first, np.int64(0)), min(first + extent, description[EXTENTS])
    if not inside or low >= high:
        low = high = first
    if low < high:
        if checked and not accessible(block, start + low * size, (high - low) * size):
            return start + low * size
        count_sectors(counts, start + low * size, (high - low) * size)
    move_row(shared, start, first * size, low * size, high * size, extent * size, place, description[HEADER], is_store)
    return np.int64(0)


@helper
def move_row(shared, start, first, low, high, width, place, header, is_store):
    """`width` bytes of a row at address `start`, from byte `first` on, of which those from low to high exist."""
    mode, outside = header & 0xF, np.uint8(0xFF if header & FILL_NAN else 0)
    memory = bytes_at(start)
    for chunk in range(0, width, _CHUNK):
        target = place + chunk
        if mode:  # chunks change places within 8 rows
            target ^= (target >> 7 & (np.int64(1) << 4 - mode) - 1) << 4
        for byte in range(_CHUNK):
            at = first + chunk + byte
            if low <= at < high:
                if is_store:
                    memory[at] = shared[target + byte]
                else:
                    shared[target + byte] = memory[at]
            elif not is_store:
                shared[target + byte] = outside
