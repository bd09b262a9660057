"""Shuffles, votes, matches and reductions on the exchange words of a warp's 32 consecutive thread contexts.

In each function `words` is the uint32 array (lane, word) of the contexts and `active` the mask of lanes taking part.
"""

from __future__ import annotations

import numpy as np

from .layout import EXCHANGE
from .native import float_of_bits, helper

_ALL = np.int64(0xFFFFFFFF)


@helper
def word(words, thread, index):
    """An exchange word of a thread."""
    return np.int64(words[thread, EXCHANGE + index])


@helper
def put(words, thread, index, value):
    """Set an exchange word to the low 32 bits of a value."""
    words[thread, EXCHANGE + index] = np.uint32(value & _ALL)


@helper
def wide_word(words, thread, index):
    """Two exchange words as one value."""
    return word(words, thread, index) | word(words, thread, index + 1) << 32


@helper
def put_wide(words, thread, index, value):
    """Set two exchange words."""
    put(words, thread, index, value)
    put(words, thread, index + 1, value >> 32)


@helper
def signed(value):
    """A 32-bit value read as signed."""
    return value - ((value & 0x80000000) << 1)


@helper
def fault_at(kind, lane):
    """The fault code a collective returns for a lane."""
    return np.int64(kind) | lane << 8


@helper
def shuffle(words, active, mode):
    """shfl.sync: words 1-3 are value, lane operand and clamp; results in words 1 and 2."""
    values = np.empty(32, np.int64)
    for lane in range(32):
        values[lane] = word(words, lane, 1) if active >> lane & 1 else _ALL
    for lane in range(32):
        if not active >> lane & 1:
            continue
        operand = word(words, lane, 2) & 31
        clamp = word(words, lane, 3)
        segment = clamp >> 8 & 31
        last = (lane & segment) | (clamp & 31 & ~segment)
        first = lane & segment
        if mode == 0:
            source = lane - operand
            inside = source >= last
        elif mode == 1:
            source = lane + operand
            inside = source <= last
        elif mode == 2:
            source = lane ^ operand
            inside = source <= last
        else:
            source = first | (operand & ~segment)
            inside = source <= last
        if not inside:
            source = lane
        put(words, lane, 1, values[source])
        put(words, lane, 2, np.int64(inside))


@helper
def vote(words, active, mode):
    """vote.sync: word 1 is the predicate, then the result."""
    ballot = np.int64(0)
    for lane in range(32):
        if active >> lane & 1 and word(words, lane, 1):
            ballot |= np.int64(1) << lane
    if mode == 0:
        result = np.int64(ballot == active)
    elif mode == 1:
        result = np.int64(ballot != 0)
    elif mode == 2:
        result = np.int64(ballot == 0 or ballot == active)
    else:
        result = ballot
    for lane in range(32):
        if active >> lane & 1:
            put(words, lane, 1, result)


@helper
def match(words, active, all_lanes):
    """match.sync: words 1-2 are the value; the mask of equal lanes and whether all agree in words 1 and 2."""
    values = np.empty(32, np.int64)
    for lane in range(32):
        if active >> lane & 1:
            values[lane] = wide_word(words, lane, 1)
    for lane in range(32):
        if active >> lane & 1:
            same = np.int64(0)
            for other in range(32):
                if active >> other & 1 and values[other] == values[lane]:
                    same |= np.int64(1) << other
            agreed = same == active
            put(words, lane, 1, same if not all_lanes or agreed else 0)
            put(words, lane, 2, np.int64(agreed))


@helper
def reduce(words, active, operation, is_signed, is_float):
    """redux.sync: word 1 is the value, then the result."""
    total = np.int64(0)
    first = True
    for lane in range(32):
        if not active >> lane & 1:
            continue
        value = word(words, lane, 1)
        if is_signed:
            value = signed(value)
        if first:
            total, first = value, False
        elif is_float:
            less = float_of_bits(value) < float_of_bits(total)
            if less == (operation == 1):
                total = value
        elif operation == 0:
            total += value
        elif operation == 1:
            total = min(total, value)
        elif operation == 2:
            total = max(total, value)
        elif operation == 3:
            total &= value
        elif operation == 4:
            total |= value
        else:
            total ^= value
    for lane in range(32):
        if active >> lane & 1:
            put(words, lane, 1, total)


@helper
def elect(words, active):
    """elect.sync: the lowest lane leads; its number in word 1, whether it is this lane in word 2."""
    leader = np.int64(0)
    while not active >> leader & 1:
        leader += 1
    for lane in range(32):
        if active >> lane & 1:
            put(words, lane, 1, leader)
            put(words, lane, 2, np.int64(lane == leader))
