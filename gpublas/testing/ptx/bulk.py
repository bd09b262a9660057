"""Bulk copies between global and shared memory, which are done later than their instruction.

A copy is noticed when its instruction is executed: what it will write to shared memory holds NaN patterns from then on,
and a checksum of what it will read from shared memory is kept. When it is due, the bytes move; so who does not wait
for the copy computes nonsense, and who changes its source too early is told. PTX ISA, "cp.async.bulk".
"""

from __future__ import annotations

import numpy as np
from numba import carray

from . import layout
from .lanes import fault_at, put_wide, wide_word
from .native import bytes_at, helper, words_at

_POISON = np.uint8(0xFF)
_BIAS, _TRANSACTION, _PHASE = 1 << 21, 40, 1 << 62  # of an mbarrier's word, see mbarrier.update
_COUNT, _EXPECTED = (1 << 20) - 1, 20


@helper
def late_fault(words, kind, address):
    """The fault code of a late copy, and the address that it is about."""
    put_wide(words, 0, layout.LATE_FAULT, address)
    return fault_at(kind, 0)


@helper
def accessible(block, address, size):
    """Whether the launch may touch these bytes."""
    table = carray(words_at(block[layout.RANGES]), (block[layout.RANGE_COUNT], 2))
    for row in range(block[layout.RANGE_COUNT]):
        if table[row, 0] <= address and address + size <= table[row, 0] + table[row, 1]:
            return True
    return False


@helper
def fits(shared, address, size):
    """Whether bytes are shared memory of the block."""
    return address >= 0 and size >= 0 and address + size <= shared.size


@helper
def count_sectors(counts, address, size):
    """Add one request for bytes of global memory to an access's counts."""
    counts[3] += 1
    counts[4] += (address + size - 1 >> 5) - (address >> 5) + 1
    counts[5] += (size + 31) // 32


@helper
def checksum(shared, start, size):
    """A number that changes with the bytes, and with their order."""
    total = np.int64(size)
    for place in range(start, start + size):
        total = total * 0x100000001B3 + shared[place]
    return total


@helper
def reads_shared(words, shared, start, size, is_due):
    """Keep the checksum of a copy's source, or say whether it is still the same."""
    found = checksum(shared, start, size)
    if not is_due:
        put_wide(words, 0, layout.LATE_CHECKSUM, found)
        return True
    return found == wide_word(words, 0, layout.LATE_CHECKSUM)


@helper
def poison(shared, start, size):
    """NaN patterns where a copy will write."""
    shared[start:start + size] = _POISON


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


@helper
def bulk_copy(words, shared, block, in_group, to_shared, from_shared, checked, is_due, counts):
    """Notice a copy, or do it; exchange words: addresses of destination, source and mbarrier, then the size.

    in_group: its thread waits for its group of copies, no mbarrier hears of it.
    """
    target, source, barrier = wide_word(words, 0, 0), wide_word(words, 0, 2), wide_word(words, 0, 4)
    size = wide_word(words, 0, 6)
    if (target | source | size) % 16:
        return late_fault(words, layout.MISALIGNED, target if target % 16 else source if source % 16 else size)
    if not in_group and barrier % 8:
        return late_fault(words, layout.MISALIGNED, barrier)
    if not in_group and not fits(shared, barrier, 8):
        return late_fault(words, layout.SHARED_OUT_OF_BOUNDS, barrier)
    for address, is_shared in ((target, to_shared), (source, from_shared)):
        if is_shared and not fits(shared, address, size):
            return late_fault(words, layout.SHARED_OUT_OF_BOUNDS, address)
        if checked and not is_shared and not accessible(block, address, size):
            return late_fault(words, layout.OUT_OF_BOUNDS, address)
    if from_shared and not reads_shared(words, shared, source, size, is_due):
        return late_fault(words, layout.CHANGED_SOURCE, source)
    if not is_due:
        if to_shared:
            poison(shared, target, size)
        return np.int64(0)
    if not to_shared:
        count_sectors(counts, target, size)
    if not from_shared:
        count_sectors(counts, source, size)
    home = block[layout.SHARED]
    read = carray(bytes_at(source + home if from_shared else source), size)
    carray(bytes_at(target + home if to_shared else target), size)[:] = read
    if not in_group:
        complete_bytes(shared, barrier, size)
    return np.int64(0)
