"""wgmma on the exchange words of the 128 thread contexts of a warpgroup, with shared memory descriptors."""

from __future__ import annotations

import numpy as np

from . import layout
from .lanes import fault_at, put, wide_word, word
from .matrices import element
from .native import bits_of_float, float_of_bits, helper


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
