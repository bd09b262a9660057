"""The memory a launch may touch: sorted for the kernel's checks, described for its faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEARBY = 1 << 20  # an address at most this many bytes from a range is described by it


def byte_range(array: np.ndarray) -> tuple[int, int]:
    """Address and extent in bytes of everything an array's elements occupy, for any strides."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, 0
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize - low


def range_table(memory: Sequence[tuple[int, int]]) -> np.ndarray:
    """Disjoint (address, bytes) rows in ascending order, ready for binary search; overlapping ranges become one.

    Ranges that only touch stay apart: an access that straddles two buffers is a fault even when they are neighbours.
    """
    rows: list[list[int]] = []
    for address, size in sorted((int(address), int(size)) for address, size in memory):
        if size < 0 or address < 0:
            raise ValueError(f"memory range of {size} bytes at {address:#x}")
        if size == 0:
            continue
        if rows and address < sum(rows[-1]):
            rows[-1][1] = max(rows[-1][1], address + size - rows[-1][0])
        else:
            rows.append([address, size])
    return np.array(rows or [[0, 0]], np.uint64)


def describe_address(address: int, memory: Sequence[tuple[int, int]]) -> str:
    """The address and, when a range of memory is near it, where it lies relative to the nearest one."""
    text = f"address {address:#x}"
    nearest, distance = -1, NEARBY + 1
    for index, (start, size) in enumerate(memory):
        away = max(start - address, address - (start + size) + 1, 0)
        if size and away < distance:
            nearest, distance = index, away
    if nearest < 0:
        return text
    start, size = (int(field) for field in memory[nearest])
    where = f"range {nearest}, {size} bytes from {start:#x}"
    if address < start:
        return f"{text}, {start - address} bytes before {where}"
    if address >= start + size:
        return f"{text}, {address - start - size} bytes past the end of {where}"
    return f"{text}, {start + size - address} bytes before the end of {where}, which the access crosses"
