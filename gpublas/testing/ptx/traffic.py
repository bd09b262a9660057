"""Memory traffic of warp-wide accesses: shared memory wavefronts and global memory sectors.

Counts are a row of six: the fields of counters.AccessCount from shared_requests on.
"""

from __future__ import annotations

import numpy as np

from . import layout
from .lanes import wide_word
from .native import helper


@helper
def shared_wavefronts(addresses, active, size, counts):
    """Passes of one warp's shared access: the fullest bank in each group of 128 bytes' worth of lanes.

    Counts are those of counters.AccessCount; a group with an active lane needs one pass at least.
    """
    lanes = min(32, 128 // size) if size > 4 else 32
    seen = np.empty(128, np.int64)
    for first in range(0, 32, lanes):
        count = 0
        for lane in range(first, first + lanes):
            if active >> lane & 1:
                for part in range(max(size // 4, 1)):
                    count = include(seen, count, (addresses[lane] >> 2) + part)
        banks = np.zeros(32, np.int64)
        for index in range(count):
            banks[seen[index] & 31] += 1
        counts[1] += banks.max()
        counts[2] += count > 0


@helper
def include(seen, count, value):
    """Add a value to the first `count` ones unless it is there; returns the new count."""
    for index in range(count):
        if seen[index] == value:
            return count
    seen[count] = value
    return count + 1


@helper
def trace_access(words, active, space, size, block, counts):
    """Account one memory access of a warp, in the columns of counters.AccessCount."""
    addresses = np.empty(32, np.int64)
    base = block[layout.SHARED]
    shared, outside = np.int64(0), np.int64(0)
    for lane in range(32):
        if not active >> lane & 1:
            continue
        bit = np.int64(1) << lane
        addresses[lane] = wide_word(words, lane, 0)
        if space == 0:
            shared |= bit
        elif space == 1:
            outside |= bit
        elif 0 <= addresses[lane] - base < block[layout.SHARED_SIZE]:
            addresses[lane] -= base
            shared |= bit
        elif not 0 <= addresses[lane] - block[layout.CONTEXTS] < block[layout.CONTEXTS_SIZE]:  # not local memory
            outside |= bit
    if shared:
        counts[0] += 1
        shared_wavefronts(addresses, shared, size, counts)
    if outside:
        counts[3] += 1
        global_sectors(addresses, outside, size, counts)


@helper
def trace_matrix(words, count, counts):
    """Account ldmatrix and stmatrix: one pass per matrix plus bank conflicts among its rows."""
    addresses = np.empty(32, np.int64)
    for lane in range(32):
        addresses[lane] = wide_word(words, lane, 1)
    counts[0] += 1
    shared_wavefronts(addresses, (np.int64(1) << 8 * count) - 1, 16, counts)


@helper
def global_sectors(addresses, active, size, counts):
    """Distinct 32-byte sectors touched by one warp's global access, and how few could hold its distinct elements."""
    sectors, elements = np.empty(64, np.int64), np.empty(32, np.int64)
    sector_count, element_count = 0, 0
    for lane in range(32):
        if active >> lane & 1:
            element_count = include(elements, element_count, addresses[lane])
            for sector in range(addresses[lane] >> 5, (addresses[lane] + size - 1 >> 5) + 1):
                sector_count = include(sectors, sector_count, sector)
    counts[4] += sector_count
    counts[5] += (element_count * size + 31) // 32
