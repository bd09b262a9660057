"""How one operand's part of a slab comes from global to shared memory, for each way that the operand may lie.

A slab is `extent` places (rows of A, columns of B) by BK steps along k. In the main loop nothing is tested: places
beyond the matrix repeat its last one, since nothing of them is stored; only the rest of k, fewer steps than a slab has,
needs a look, and goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import cuda, int32, int64

from ..ptx import GLOBAL, SHARED, vector_load, vector_store
from .config import ACROSS, ALONG_K, ANY, TRIANGLE, SimtConfig
from .tuples import for_each, tuple_of

device = cuda.jit(device=True)


class Mover(NamedTuple):
    """Device functions that bring one operand.

    begin(t, place_stride, depth_stride, first, inside, stored, hermitian): what thread t works out once: (mine, to, at,
    pace). mine is its own; to: where its part goes in a stage of shared memory; at: where the first slab is, and pace:
    how far from one slab to the next. first: the tile's first place, inside: how many of its places are in the matrix;
    strides in elements; stored, hermitian: see simt.py.
    fetch(source, at, mine): the thread's part of a slab, a tuple of tuples. fetch_rest(source, at, mine, rest, t): of
    one that has `rest` steps, zero beyond. stash(shared, to, mine, part, sign): into shared memory; sign multiplies
    imaginary parts. Offsets are in reals.
    """

    begin: Callable
    fetch: Callable
    fetch_rest: Callable
    stash: Callable


def mover(lies: str, extent: int, pitch: int, config: SimtConfig, parts: int, real: Any) -> Mover:
    """The mover of an operand that lies in a way; pitch: elements from k-step to k-step in shared memory."""
    made = {ALONG_K: _along_k, ACROSS: _across, ANY: _any, TRIANGLE: _triangle}[lies]
    count, begin, fetch_one, fetch_one_rest, stash_one = made(extent, pitch, config, parts, real)
    fetch_all, fetch_all_rest = tuple_of(count, fetch_one), tuple_of(count, fetch_one_rest)
    stash_all = for_each(count, stash_one)

    @device
    def fetch(source, at, mine):
        return fetch_all((source, at, mine))

    @device
    def fetch_rest(source, at, mine, rest, t):
        return fetch_all_rest((source, at, mine, rest, t))

    @device
    def stash(shared, to, mine, part, sign):
        stash_all((shared, to, mine, part, sign))

    return Mover(begin, fetch, fetch_rest, stash)


def _along_k(extent, pitch, config, parts, real):
    """Vectors are turned on the way to shared memory. Threads: `lanes` to a place, `step` places further for each."""
    V, zero = config.vector, real(0)
    lanes = config.block_depth // V
    step = config.threads // lanes
    count, depth_reals = extent // step, config.block_depth * parts
    load, store, signed = vector_load(V * parts, GLOBAL), vector_store(parts, SHARED), _signer(V, parts)
    offsets = tuple_of(count, device(lambda given, number: (
        min(given[0] + number * step, given[2] - 1) * given[1] + given[3])))
    some = tuple_of(V * parts, device(lambda given, number: (
        given[0][given[1] + number] if number // parts < given[2] else zero)))
    store_all = for_each(V, _element_store(store, pitch, parts))

    @device
    def begin(t, place_stride, depth_stride, first, inside, stored, hermitian):
        place, chunk = int32(t // lanes), int32(t % lanes)
        there = offsets((place, place_stride * parts, inside, int64(chunk * V * parts)))
        return there, int32((chunk * V * pitch + place) * parts), first * place_stride * parts, int64(depth_reals)

    @device
    def fetch_one(given, number):
        source, at, there = given
        return load(source, at + there[number], 0)

    @device
    def fetch_one_rest(given, number):
        source, at, there, rest, t = given
        return some((source, at + there[number], int32(rest - t % lanes * V)))

    @device
    def stash_one(given, number):
        shared, to, _, part, sign = given
        store_all((shared, int32(to + number * step * parts), signed(part[number], sign)))

    return count, begin, fetch_one, fetch_one_rest, stash_one


def _element_store(store, pitch, parts):
    """Device function: one element of a vector, to its k-step."""
    if parts == 1:
        @device
        def store_one(given, number):
            store(given[0], int32(given[1] + number * pitch), 0, (given[2][number],))
    else:
        @device
        def store_one(given, number):
            store(given[0], int32(given[1] + number * pitch * 2), 0, (given[2][2 * number], given[2][2 * number + 1]))
    return store_one


def _across(extent, pitch, config, parts, real):
    """Vectors go to shared memory as they are. Threads: `lanes` to a k-step, `step` k-steps further for each."""
    V, none = config.vector, (real(0),) * (config.vector * parts)
    lanes = extent // V
    step = config.threads // lanes
    count, depth = config.block_depth // step, config.block_depth
    load, store, signed = vector_load(V * parts, GLOBAL), vector_store(V * parts, SHARED), _signer(V, parts)
    offsets = tuple_of(count, device(lambda given, number: given[0] + number * given[1]))

    @device
    def begin(t, place_stride, depth_stride, first, inside, stored, hermitian):
        row, chunk = int32(t // lanes), int32(t % lanes)
        place = min(int32(chunk * V), int32(inside - V))
        there = offsets((row * depth_stride * parts + place * parts, step * depth_stride * parts))
        return there, int32((row * pitch + chunk * V) * parts), first * parts, depth * depth_stride * parts

    @device
    def fetch_one(given, number):
        source, at, there = given
        return load(source, at + there[number], 0)

    @device
    def fetch_one_rest(given, number):
        source, at, there, rest, t = given
        if t // lanes + number * step < rest:
            return load(source, at + there[number], 0)
        return none

    @device
    def stash_one(given, number):
        shared, to, _, part, sign = given
        store(shared, int32(to + number * step * pitch * parts), 0, signed(part[number], sign))

    return count, begin, fetch_one, fetch_one_rest, stash_one


def _shared_out(extent, config):
    """Device function (t, along): how single elements are shared among threads: (place, depth, place_step, depth_step),
    the first one's, and how far it is to each next one. along: neighbours in memory follow each other across k, so that
    those of a warp come together; else along k."""
    T, BK = config.threads, config.block_depth

    @device
    def share(t, across):
        if across:
            return int32(t % extent), int32(t // extent), int32(0), int32(T // extent)
        return int32(t // BK), int32(t % BK), int32(T // BK), int32(0)

    return share


def _any(extent, pitch, config, parts, real):
    """Single elements."""
    count, BK = extent * config.block_depth // config.threads, config.block_depth
    none = (real(0),) * parts
    share, load, store, signed = (_shared_out(extent, config), vector_load(parts, GLOBAL), vector_store(parts, SHARED),
                                  _signer(1, parts))
    offsets = tuple_of(count, device(lambda given, number: (
        min(given[0] + number * given[1], given[2] - 1) * given[3] + (given[4] + number * given[5]) * given[6])))

    @device
    def begin(t, place_stride, depth_stride, first, inside, stored, hermitian):
        place, depth, place_step, depth_step = share(t, abs(place_stride) <= abs(depth_stride))
        there = offsets((place, place_step, inside, place_stride * parts, depth, depth_step, depth_stride * parts))
        mine = (there, depth, depth_step, int32((depth_step * pitch + place_step) * parts))
        return (mine, int32((depth * pitch + place) * parts), first * place_stride * parts, BK * depth_stride * parts)

    @device
    def fetch_one(given, number):
        source, at, mine = given
        return load(source, at + mine[0][number], 0)

    @device
    def fetch_one_rest(given, number):
        source, at, mine, rest, _ = given
        if mine[1] + number * mine[2] < rest:
            return load(source, at + mine[0][number], 0)
        return none

    @device
    def stash_one(given, number):
        shared, to, mine, part, sign = given
        store(shared, int32(to + number * mine[3]), 0, signed(part[number], sign))

    return count, begin, fetch_one, fetch_one_rest, stash_one


def _triangle(extent, pitch, config, parts, real):
    """Single elements of a symmetric or Hermitian matrix: one that is not stored is read where its mirror image is. A
    slab is known by its first step along k."""
    count, BK = extent * config.block_depth // config.threads, config.block_depth
    none, zero = (real(0),) * parts, real(0)
    share, load, store, signed = (_shared_out(extent, config), vector_load(parts, GLOBAL), vector_store(parts, SHARED),
                                  _signer(1, parts))
    hermitian_part = device(lambda value, is_mirrored, is_diagonal: value) if parts == 1 else device(
        lambda value, is_mirrored, is_diagonal: (
            value[0], zero if is_diagonal else -value[1] if is_mirrored else value[1]))

    @device
    def begin(t, place_stride, depth_stride, first, inside, stored, hermitian):
        place, depth, place_step, depth_step = share(t, abs(place_stride) <= abs(depth_stride))
        mine = (place, depth, place_step, depth_step, place_stride, depth_stride, first, inside, stored, hermitian)
        return mine, int32((depth * pitch + place) * parts), int64(0), int64(BK)

    @device
    def fetch_one(given, number):
        source, at, mine = given
        place, depth, place_step, depth_step, place_stride, depth_stride, first, inside, stored, hermitian = mine
        row = first + min(int32(place + number * place_step), int32(inside - 1))
        column = at + depth + number * depth_step
        is_mirrored = (row - column) * stored < 0
        if is_mirrored:
            row, column = column, row
        value = load(source, (row * place_stride + column * depth_stride) * parts, 0)
        return hermitian_part(value, hermitian != 0 and is_mirrored, hermitian != 0 and row == column)

    @device
    def fetch_one_rest(given, number):
        source, at, mine, rest, _ = given
        if mine[1] + number * mine[3] < rest:
            return fetch_one((source, at, mine), number)
        return none

    @device
    def stash_one(given, number):
        shared, to, mine, part, sign = given
        step = int32((mine[3] * pitch + mine[2]) * parts)
        store(shared, int32(to + number * step), 0, signed(part[number], sign))

    return count, begin, fetch_one, fetch_one_rest, stash_one


def _signer(V, parts):
    """Device function: a vector with its imaginary parts times a sign; real ones as they are."""
    if parts == 1:
        return device(lambda values, sign: values)
    if V == 1:
        return device(lambda values, sign: (values[0], values[1] * sign))
    return device(lambda values, sign: (values[0], values[1] * sign, values[2], values[3] * sign))
