"""Warp-wide PTX instructions on the exchange words of 32 consecutive thread contexts.

In each function `words` is the uint32 array (lane, word) of a warp's contexts and
`active` the mask of lanes taking part. Fragment layouts follow the PTX ISA.
"""

import threading

import numpy as np
from numba import carray, cfunc, types

from . import layout
from .layout import EXCHANGE
from .native import (
    bits_of_double, bits_of_float, bytes_at, double_of_bits, float_of_bits, float_of_half, half_of_float, helper, numba_cache)

_ALL = np.int64(0xFFFFFFFF)


@helper
def word(words, thread, index):
    return np.int64(words[thread, EXCHANGE + index])


@helper
def put(words, thread, index, value):
    words[thread, EXCHANGE + index] = np.uint32(value & _ALL)


@helper
def wide_word(words, thread, index):
    return word(words, thread, index) | word(words, thread, index + 1) << 32


@helper
def put_wide(words, thread, index, value):
    put(words, thread, index, value)
    put(words, thread, index + 1, value >> 32)


@helper
def signed(value):
    return value - ((value & 0x80000000) << 1)


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
    leader = np.int64(0)
    while not active >> leader & 1:
        leader += 1
    for lane in range(32):
        if active >> lane & 1:
            put(words, lane, 1, leader)
            put(words, lane, 2, np.int64(lane == leader))


@helper
def element(bits, kind):
    """Decode one matrix element of up to 32 bits as f32."""
    if kind == 0:
        return float_of_half(bits)
    if kind == 1:
        return float_of_bits(bits << 16)
    if kind == 2:
        return float_of_bits(bits & 0xFFFFE000)
    if kind == 8:
        return small_float(bits, 4, 7)
    return small_float(bits, 5, 15)


@helper
def small_float(bits, exponent_bits, bias):
    """Decode an 8-bit float: e4m3 (no infinity) or e5m2."""
    if exponent_bits == 5:
        return float_of_half(bits << 8)
    fraction = bits & 7
    exponent = bits >> 3 & 15
    if exponent == 15 and fraction == 7:
        return np.float32(np.nan)
    size = fraction * 2.0 ** -9 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 10)
    return np.float32(-size if bits & 128 else size)


@helper
def mma(words, rows, depth, a_kind, b_kind, d_kind, a_count, b_count, saturate):
    """mma.sync m{8,16}n8k*: word 0 is a mask, then the A, B and C fragments; D replaces A."""
    if a_kind == 5:
        mma_double(words, rows, depth, a_count, b_count)
    elif a_kind == 3 or a_kind == 4:
        mma_int(words, rows, depth, a_kind == 3, b_kind == 3, a_count, b_count, saturate)
    else:
        mma_float(words, rows, depth, a_kind, b_kind, d_kind, a_count, b_count)


@helper
def mma_float(words, rows, depth, a_kind, b_kind, d_kind, a_count, b_count):
    per_word = depth * 8 // (b_count * 32)
    bits = 32 // per_word
    mask = (np.int64(1) << bits) - 1
    a = np.zeros((16, 32), np.float32)
    b = np.zeros((32, 8), np.float32)
    d = np.zeros((16, 8), np.float32)
    start = 1 + a_count + b_count
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for register in range(a_count):
            value = word(words, lane, 1 + register)
            for index in range(per_word):
                column = member * per_word + index + 4 * per_word * (register >> 1)
                a[group + 8 * (register & 1), column] = element(value >> bits * index & mask, a_kind)
        for register in range(b_count):
            value = word(words, lane, 1 + a_count + register)
            for index in range(per_word):
                row = member * per_word + index + 4 * per_word * register
                b[row, group] = element(value >> bits * index & mask, b_kind)
        if d_kind == 6:
            for register in range(4):
                d[group + 8 * (register >> 1), member * 2 + (register & 1)] = float_of_bits(
                    word(words, lane, start + register))
        else:
            for register in range(2):
                value = word(words, lane, start + register)
                d[group + 8 * register, member * 2] = float_of_half(value & 0xFFFF)
                d[group + 8 * register, member * 2 + 1] = float_of_half(value >> 16)
    for row in range(rows):
        for k in range(depth):
            factor = a[row, k]
            for column in range(8):
                d[row, column] += factor * b[k, column]
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        if d_kind == 6:
            for register in range(4):
                put(words, lane, 1 + register,
                    bits_of_float(d[group + 8 * (register >> 1), member * 2 + (register & 1)]))
        else:
            for register in range(2):
                low = half_of_float(d[group + 8 * register, member * 2])
                high = half_of_float(d[group + 8 * register, member * 2 + 1])
                put(words, lane, 1 + register, low | high << 16)


@helper
def mma_int(words, rows, depth, a_signed, b_signed, a_count, b_count, saturate):
    a = np.zeros((16, 32), np.int64)
    b = np.zeros((32, 8), np.int64)
    start = 1 + a_count + b_count
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for register in range(a_count):
            value = word(words, lane, 1 + register)
            for index in range(4):
                byte = value >> 8 * index & 255
                a[group + 8 * (register & 1), member * 4 + index + 16 * (register >> 1)] = (
                    byte - ((byte & 128) << 1) if a_signed else byte)
        for register in range(b_count):
            value = word(words, lane, 1 + a_count + register)
            for index in range(4):
                byte = value >> 8 * index & 255
                b[member * 4 + index + 16 * register, group] = byte - ((byte & 128) << 1) if b_signed else byte
    results = np.empty((32, 4), np.int64)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for register in range(rows // 4):
            row, column = group + 8 * (register >> 1), member * 2 + (register & 1)
            total = signed(word(words, lane, start + register))
            for k in range(depth):
                total += a[row, k] * b[k, column]
            if saturate:
                total = min(max(total, np.int64(-0x80000000)), np.int64(0x7FFFFFFF))
            results[lane, register] = total
    for lane in range(32):
        for register in range(rows // 4):
            put(words, lane, 1 + register, results[lane, register])


@helper
def mma_double(words, rows, depth, a_count, b_count):
    a = np.zeros((16, 16))
    b = np.zeros((16, 8))
    start = 1 + 2 * (a_count + b_count)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for register in range(a_count):
            column = member + 4 * (register >> 1) if rows == 16 else member
            a[group + 8 * (register & 1), column] = double_of_bits(wide_word(words, lane, 1 + 2 * register))
        for register in range(b_count):
            b[member + 4 * register, group] = double_of_bits(wide_word(words, lane, 1 + 2 * (a_count + register)))
    results = np.empty((32, 4))
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for register in range(rows // 4):
            row, column = group + 8 * (register >> 1), member * 2 + (register & 1)
            total = double_of_bits(wide_word(words, lane, start + 2 * register))
            for k in range(depth):
                total += a[row, k] * b[k, column]
            results[lane, register] = total
    for lane in range(32):
        for register in range(rows // 4):
            put_wide(words, lane, 1 + 2 * register, bits_of_double(results[lane, register]))


@helper
def half_at(shared, offset):
    return np.int64(shared[offset]) | np.int64(shared[offset + 1]) << 8


@helper
def matrix_fault(words, count, shared_bytes):
    """A fault code if a row address of ldmatrix or stmatrix is misaligned or outside shared memory."""
    for lane in range(8 * count):
        address = wide_word(words, lane, 1)
        if address & 15:
            return fault_at(layout.MISALIGNED, lane)
        if address < 0 or address + 16 > shared_bytes:
            return fault_at(layout.SHARED_OUT_OF_BOUNDS, lane)
    return 0


@helper
def fault_at(kind, lane):
    return np.int64(kind) | lane << 8


@helper
def load_matrix(words, shared, count, transposed):
    """ldmatrix: words 1-2 hold each lane's row address; results in words 1 and on."""
    rows = np.empty(32, np.int64)
    for lane in range(32):
        rows[lane] = wide_word(words, lane, 1)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for matrix in range(count):
            if transposed:
                low = half_at(shared, rows[8 * matrix + 2 * member] + 2 * group)
                high = half_at(shared, rows[8 * matrix + 2 * member + 1] + 2 * group)
            else:
                low = half_at(shared, rows[8 * matrix + group] + 4 * member)
                high = half_at(shared, rows[8 * matrix + group] + 4 * member + 2)
            put(words, lane, 1 + matrix, low | high << 16)


@helper
def store_matrix(words, shared, count, transposed):
    """stmatrix: words 1-2 hold each lane's row address, words 3 and on the fragments."""
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for matrix in range(count):
            value = word(words, lane, 3 + matrix)
            for half in range(2):
                row, column = (2 * member + half, group) if transposed else (group, 2 * member + half)
                address = wide_word(words, 8 * matrix + row, 1) + 2 * column
                shared[address] = np.uint8(value >> 16 * half & 255)
                shared[address + 1] = np.uint8(value >> 16 * half + 8 & 255)


@helper
def move_matrix(words):
    """movmatrix: transpose an 8x8 matrix of 16-bit elements held one fragment word per lane."""
    values = np.empty(32, np.int64)
    for lane in range(32):
        values[lane] = word(words, lane, 1)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        total = np.int64(0)
        for half in range(2):
            row, column = 2 * member + half, group
            source = values[row * 4 + column // 2]
            total |= (source >> 16 * (column & 1) & 0xFFFF) << 16 * half
        put(words, lane, 1, total)


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


@helper
def descriptor_offset(descriptor, index, k, size, transposed):
    """Shared offset of element (index, k) of a wgmma operand; index counts along M or N.

    Swizzled rows are 128, 64 or 32 bytes wide; K-major unless transposed.
    """
    start = (descriptor & 0x3FFF) << 4
    leading = (descriptor >> 16 & 0x3FFF) << 4
    stride = (descriptor >> 32 & 0x3FFF) << 4
    mode = descriptor >> 62 & 3
    width = np.int64(256) >> mode if mode else np.int64(16)
    if not transposed:
        chunk = k * size // 16
        offset = index % 8 * width + index // 8 * stride + k * size % 16 + chunk * (16 if mode else leading)
    elif mode:
        span = width // size
        offset = index % span * size + index // span * leading + k % 8 * width + k // 8 * stride
    else:
        span = 16 // size
        offset = index % span * size + index // span * stride + k % 8 * 16 + k // 8 * leading
    address = start + offset
    if mode:
        address ^= (address >> 7 & (np.int64(1) << 4 - mode) - 1) << 4
    return address


@helper
def descriptor_element(shared, descriptor, index, k, size, transposed, kind):
    """An element addressed by a descriptor, and whether it lies in shared memory."""
    address = descriptor_offset(descriptor, index, k, size, transposed)
    if address + size > shared.size:
        return np.float32(0), False
    bits = np.int64(0)
    for byte in range(size):
        bits |= np.int64(shared[address + byte]) << 8 * byte
    return element(bits, kind), True


@helper
def warpgroup_mma(words, shared, columns, kind, a_in_registers, a_transposed, b_transposed, a_scale, b_scale):
    """wgmma of 128 contexts: word 0 says whether to add D, words 1-4 are A, 5-6 B's descriptor, 7 on D."""
    size = 4 if kind == 2 else 1 if kind >= 8 else 2
    depth, per_word = 32 // size, 4 // size
    mask = (np.int64(1) << 8 * size) - 1
    a = np.zeros((64, 32), np.float32)
    b = np.zeros((32, columns), np.float32)
    d = np.zeros((64, columns), np.float32)
    inside = True
    b_descriptor = wide_word(words, 0, 5)
    for k in range(depth):
        for column in range(columns):
            b[k, column], valid = descriptor_element(shared, b_descriptor, column, k, size, b_transposed, kind)
            inside = inside and valid
    if not a_in_registers:
        a_descriptor = wide_word(words, 0, 1)
        for row in range(64):
            for k in range(depth):
                a[row, k], valid = descriptor_element(shared, a_descriptor, row, k, size, a_transposed, kind)
                inside = inside and valid
    if not inside:
        return fault_at(layout.SHARED_OUT_OF_BOUNDS, 0)
    for thread in range(128):
        row, member = thread // 32 * 16 + thread % 32 // 4, thread % 4
        if a_in_registers:
            for register in range(4):
                value = word(words, thread, 1 + register)
                for index in range(per_word):
                    k = member * per_word + index + 4 * per_word * (register >> 1)
                    a[row + 8 * (register & 1), k] = element(value >> 8 * size * index & mask, kind)
        if word(words, thread, 0):
            for register in range(columns // 2):
                column = register // 4 * 8 + member * 2 + (register & 1)
                d[row + 8 * (register >> 1 & 1), column] = float_of_bits(word(words, thread, 7 + register))
    for row in range(64):
        for k in range(depth):
            factor = a[row, k] * np.float32(a_scale * b_scale)
            for column in range(columns):
                d[row, column] += factor * b[k, column]
    for thread in range(128):
        row, member = thread // 32 * 16 + thread % 32 // 4, thread % 4
        for register in range(columns // 2):
            column = register // 4 * 8 + member * 2 + (register & 1)
            put(words, thread, 7 + register, bits_of_float(d[row + 8 * (register >> 1 & 1), column]))
    return np.int64(0)


# Collectives as the scheduler calls them: (words, words per context, active lanes, site
# arguments, block record, access counts of the site) -> 0 or a fault code from fault_at.

SIGNATURE = types.int64(types.CPointer(types.uint32), types.int64, types.int64, types.CPointer(types.int64),
                        types.CPointer(types.int64), types.CPointer(types.int64))


def _shuffle(words, stride, active, arguments, block, counts):
    shuffle(carray(words, (32, stride)), active, arguments[0])
    return 0


def _vote(words, stride, active, arguments, block, counts):
    vote(carray(words, (32, stride)), active, arguments[0])
    return 0


def _match(words, stride, active, arguments, block, counts):
    match(carray(words, (32, stride)), active, arguments[0])
    return 0


def _redux(words, stride, active, arguments, block, counts):
    reduce(carray(words, (32, stride)), active, arguments[0], arguments[1], arguments[2])
    return 0


def _elect(words, stride, active, arguments, block, counts):
    elect(carray(words, (32, stride)), active)
    return 0


def _active_mask(words, stride, active, arguments, block, counts):
    lanes = carray(words, (32, stride))
    for lane in range(32):
        if active >> lane & 1:
            put(lanes, lane, 1, active)
    return 0


def _warp_sync(words, stride, active, arguments, block, counts):
    return 0


def _mma(words, stride, active, arguments, block, counts):
    mma(carray(words, (32, stride)), arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
        arguments[5], arguments[6], arguments[7])
    return 0


def _move_matrix(words, stride, active, arguments, block, counts):
    move_matrix(carray(words, (32, stride)))
    return 0


def _load_matrix(words, stride, active, arguments, block, counts):
    lanes = carray(words, (32, stride))
    fault = matrix_fault(lanes, arguments[0], block[layout.SHARED_SIZE])
    if not fault:
        if arguments[2]:
            trace_matrix(lanes, arguments[0], counts)
        shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
        load_matrix(lanes, shared, arguments[0], arguments[1])
    return fault


def _store_matrix(words, stride, active, arguments, block, counts):
    lanes = carray(words, (32, stride))
    fault = matrix_fault(lanes, arguments[0], block[layout.SHARED_SIZE])
    if not fault:
        if arguments[2]:
            trace_matrix(lanes, arguments[0], counts)
        shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
        store_matrix(lanes, shared, arguments[0], arguments[1])
    return fault


def _warpgroup_mma(words, stride, active, arguments, block, counts):
    shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
    return warpgroup_mma(carray(words, (128, stride)), shared, arguments[0], arguments[1], arguments[2], arguments[3],
                         arguments[4], arguments[5], arguments[6])


def _access(words, stride, active, arguments, block, counts):
    trace_access(carray(words, (32, stride)), active, arguments[0], arguments[1], block, counts)
    return 0


_FUNCTIONS = {
    layout.SHUFFLE: _shuffle, layout.VOTE: _vote, layout.MATCH: _match, layout.REDUX: _redux, layout.ELECT: _elect,
    layout.ACTIVE_MASK: _active_mask, layout.WARP_SYNC: _warp_sync, layout.MMA: _mma,
    layout.MOVE_MATRIX: _move_matrix, layout.LOAD_MATRIX: _load_matrix, layout.STORE_MATRIX: _store_matrix,
    layout.ACCESS: _access, layout.WGMMA: _warpgroup_mma,
}
_compiled = {}
_lock = threading.Lock()


def addresses(kinds):
    """Host addresses of the collectives for some site kinds, compiled on first use and cached on disk."""
    table = np.zeros(layout.SITE_KINDS, np.int64)
    with _lock:
        for kind in kinds:
            if kind in _FUNCTIONS:
                if kind not in _compiled:
                    with numba_cache() as usable:
                        _compiled[kind] = cfunc(SIGNATURE, cache=usable)(_FUNCTIONS[kind])
                table[kind] = _compiled[kind].address
    return table
