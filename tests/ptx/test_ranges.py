"""The memory a launch may touch."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import GATHER, HEADER

from gpublas.testing.ptx import KernelFault, Program
from gpublas.testing.ptx.ranges import byte_range, describe_address, range_table

RNG = np.random.default_rng(5)


def gather(addresses, memory, program=None):
    """Values at addresses read by one thread each."""
    addresses = np.asarray(addresses, np.uint64)
    out = np.zeros(len(addresses), np.uint32)
    own = [(array.ctypes.data, array.nbytes) for array in (addresses, out)]
    program = program or Program.compile((GATHER,))
    program.launch(1, len(addresses), 0, [np.uint64(addresses.ctypes.data), np.uint64(out.ctypes.data),
                                          np.uint32(len(addresses))], [*memory, *own])
    return out


def scattered(count):
    """Ranges of 4 to 64 bytes in one buffer, at least 4 bytes apart, in no order."""
    buffer = np.arange(32 * count, dtype=np.uint32)
    sizes = RNG.integers(1, 17, count) * 4
    starts = buffer.ctypes.data + 128 * np.arange(count) + 4 * RNG.integers(1, 8, count)
    order = RNG.permutation(count)
    return buffer, [(int(starts[index]), int(sizes[index])) for index in order]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100, 128])
def test_every_byte_of_many_ranges_is_accessible_and_none_beyond(count):
    buffer, memory = scattered(count)
    base = buffer.ctypes.data
    addresses = [address for start, size in memory for address in (start, start + size - 4)]
    np.testing.assert_array_equal(gather(addresses, memory), [(address - base) // 4 for address in addresses])
    for start, size in [*memory[:5], *memory[-5:]]:
        for outside in (start - 4, start + size):
            with pytest.raises(KernelFault, match="out-of-bounds global access"):
                gather([*addresses[:3], outside], memory)


def test_overlapping_ranges_are_one():
    buffer = np.arange(16, dtype=np.uint32)
    base = buffer.ctypes.data
    memory = [(base, 16), (base + 8, 24), (base + 4, 4)]
    np.testing.assert_array_equal(gather([base, base + 12, base + 28], memory), [0, 3, 7])
    with pytest.raises(KernelFault):
        gather([base + 32], memory)


def test_an_access_may_not_straddle_two_ranges():
    text = HEADER + """
    .visible .entry wide(.param .u64 address)
    {
        .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [address];
        ld.global.u64 %rd2, [%rd1];
        st.global.u64 [%rd1], %rd2;
        ret;
    }"""
    program, buffer = Program.compile((text,)), np.zeros(4, np.uint64)
    base = buffer.ctypes.data
    program.launch(1, 1, 0, [np.uint64(base)], [(base, 4), (base + 4, 4), (base, 8)])
    with pytest.raises(KernelFault, match=r"4 bytes before the end of range 0, .*which the access crosses"):
        program.launch(1, 1, 0, [np.uint64(base)], [(base, 4), (base + 4, 4)])
    with pytest.raises(KernelFault, match=r"4 bytes before the end of range 0, .*which the access crosses"):
        program.launch(1, 1, 0, [np.uint64(base + 8)], [(base, 12)])


def test_message_names_the_nearest_range():
    first, second = np.zeros(100, np.uint32), np.zeros(64, np.uint32)
    memory = [byte_range(first), byte_range(second)]
    end = second.ctypes.data + second.nbytes
    with pytest.raises(KernelFault, match=rf"out-of-bounds global access by block \(0, 0, 0\) thread \(1, 0, 0\) at "
                                          rf"PTX line \d+: ld\.global\.u32.*\(address {end + 8:#x}, 8 bytes past the "
                                          rf"end of range 1, 256 bytes from {second.ctypes.data:#x}\)"):
        gather([first.ctypes.data, end + 8], memory)
    with pytest.raises(KernelFault, match=r"\(address 0x8\)$"):
        gather([8], memory)


def test_addresses_in_words():
    memory = [(1000, 100), (5000, 0), (3000, 8)]
    assert describe_address(1100, memory).endswith("0 bytes past the end of range 0, 100 bytes from 0x3e8")
    assert describe_address(2996, memory).endswith("4 bytes before range 2, 8 bytes from 0xbb8")
    assert describe_address(1096, memory).endswith("before the end of range 0, 100 bytes from 0x3e8, which the access "
                                                   "crosses")
    assert describe_address(5016, memory).endswith("2008 bytes past the end of range 2, 8 bytes from 0xbb8")
    assert describe_address(1 << 40, memory) == "address 0x10000000000"
    assert describe_address(4, []) == "address 0x4"


def test_ranges_must_make_sense():
    for memory in ([(16, -1)], [(-16, 4)]):
        with pytest.raises(ValueError, match="memory range"):
            range_table(memory)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=8), st.integers(0, 80), st.integers(1, 4))
def test_table_is_sorted_disjoint_and_complete(memory, address, size):
    table = [(int(start), int(extent)) for start, extent in range_table(memory)]
    assert all(start + extent <= following for (start, extent), (following, _) in pairwise(table))
    covered = {byte for start, extent in memory for byte in range(start, start + extent)}
    assert covered == {byte for start, extent in table for byte in range(start, start + extent)}
    if any(start <= address and address + size <= start + extent for start, extent in memory):
        assert any(start <= address and address + size <= start + extent for start, extent in table)


@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1], np.s_[1:5, ::2], np.s_[::-2, 1:], np.s_[2, 3], np.s_[0:0]])
def test_byte_range_of_views(view):
    array = np.arange(60, dtype=np.int16).reshape(6, 10)
    part = array[view]
    low, size = byte_range(np.asarray(part)) if isinstance(part, np.ndarray) else byte_range(array[2:3, 3:4])
    addresses = [array.ctypes.data + 2 * int(value) for value in np.asarray(part).ravel()]
    if addresses:
        assert (low, low + size) == (min(addresses), max(addresses) + 2)
    else:
        assert size == 0


def test_unchecked_programs_are_not_held_to_ranges():
    buffer = np.arange(4, dtype=np.uint32)
    program = Program.compile((GATHER,), checked=False)
    np.testing.assert_array_equal(gather([buffer.ctypes.data + 8], [], program), [2])
