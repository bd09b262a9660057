"""Warp-wide matrix instructions on the exchange words of 32 thread contexts; fragment layouts follow the PTX ISA."""

from __future__ import annotations

import numpy as np

from . import layout
from .lanes import fault_at, put, put_wide, signed, wide_word, word
from .native import bits_of_double, bits_of_float, double_of_bits, float_of_bits, float_of_half, half_of_float, helper


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
    size = fraction * 2.0**-9 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 10)
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
    """Floating-point mma accumulated in f32, as mma()."""
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
                    word(words, lane, start + register)
                )
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
                put(
                    words,
                    lane,
                    1 + register,
                    bits_of_float(d[group + 8 * (register >> 1), member * 2 + (register & 1)]),
                )
        else:
            for register in range(2):
                low = half_of_float(d[group + 8 * register, member * 2])
                high = half_of_float(d[group + 8 * register, member * 2 + 1])
                put(words, lane, 1 + register, low | high << 16)


@helper
def mma_int(words, rows, depth, a_signed, b_signed, a_count, b_count, saturate):
    """Integer mma accumulated in s32, as mma()."""
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
                    byte - ((byte & 128) << 1) if a_signed else byte
                )
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
    """f64 mma, as mma(), whose fragments take two words an element."""
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
    """16 bits of shared memory."""
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
