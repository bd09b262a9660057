"""The gemm kernel for few columns: C = alpha A B + beta C with C of at most 16 columns, any strides.

Such a product takes as long as A takes to come from memory: A is read once, straight into registers, 16 bytes at a time
where it lies so. Several threads share a row's k, and their sums are added up in a fixed order through shared memory. B
goes through shared memory, slab by slab, in the order in which threads want it. A product with few rows is one with few
columns, seen the other way.

Sectors of 32 bytes that a product must move, caches not considered (tests/test_skinny.py measures them): A once, B once
for each block of rows, C once, and once more where beta is not 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numba import cuda, float32, float64, int32, int64

from ..compile import KernelSource
from ..ptx import (
    GLOBAL,
    SHARED,
    load_grid,
    load_vectors,
    matrix_at,
    outer_product,
    pick,
    pointer_to,
    spread,
    vector_load,
    vector_store,
    zeros,
)
from ..scalars import alpha_beta_reader, gate_reader
from .config import ACROSS, ALONG_K, ANY, SKINNY_CHUNKS, SkinnyConfig
from .epilogue import sums_finisher
from .tuples import in_order, tuple_of

device = cuda.jit(device=True)

PARAMETERS = "lll" + "lll" + "llllll" + "llli" + "pp" + "i"  # then four scalars, two signs of the real type
_GROUPS = 4  # of columns, see SkinnyConfig.group
_AT_ONCE = 4  # elements of B that a thread has on their way


class Reader(NamedTuple):
    """Device functions that bring A to registers, in turns of a vector of k for each of the threads along k.

    begin(t, place_stride, depth_stride, inside): what thread t works out once: (mine, down, along, swapped): its own;
    which of the threads down the tile and along k it is; whether its steps of a turn are `along` steps apart, rather
    than neighbours. fetch(source, at, mine): its part of a turn, a tuple. fetch_rest(source, at, mine, rest): of one
    that has `rest` steps, zero beyond. steps: for each of its steps along k a function (part): its rows' elements.
    row(down, number): the row in the tile of its place `number`.
    """

    begin: Callable
    fetch: Callable
    fetch_rest: Callable
    steps: list[Callable]
    row: Callable


def skinny_kernel(lies: str, epilogue: tuple, *tiles) -> KernelSource:
    """The kernel for the fields of a SkinnyConfig.

    lies: how A lies, see config.py. epilogue: the fields of an Epilogue, or () for alpha and beta alone.
    Kernel arguments: as those of simt.py, without what concerns triangles.
    """
    config = SkinnyConfig(*tiles)
    real = float32 if config.precision in "sc" else float64
    parts = 2 if config.precision in "cz" else 1  # reals in an element
    N, V, ALONG, T = config.thread_columns, config.vector, config.along, config.threads
    ROWS, TURN, SLAB = config.block_rows, config.block_depth, SKINNY_CHUNKS * config.vector
    PITCH = (N + 1) * V * parts  # reals from one thread's steps of a turn to the next one's, in a slab
    SIZE = config.element_bytes()
    SHARED_REALS = config.shared_bytes * parts // SIZE
    zero = real(0)

    begin, fetch, fetch_rest, steps, row = {ACROSS: _across, ALONG_K: _along_k, ANY: _any}[lies](config, parts)
    multiply_turn = _in_turn([_step(number, take, config, parts) for number, take in enumerate(steps)])
    no_sums, stage = zeros(config.thread_rows * N * parts, real), _stager(config, PITCH, parts, real)
    finish_tile = _finisher(config, epilogue, row, parts, real)
    both, shut = alpha_beta_reader(parts, zero), gate_reader(parts, zero)

    def kernel(A, B, C, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column, a_batch, b_batch, c_batch, tables,
               alpha_at, beta_at, scalars, alpha_real, alpha_imag, beta_real, beta_imag, a_sign, b_sign, bias,
               bias_step, aux, aux_row, aux_column):
        shared = cuda.shared.array(SHARED_REALS, real, alignment=16)

        # 1. Scalars: from the device where they are there. alpha == 0 reads neither A nor B.
        if shut(alpha_at, scalars):
            return
        alpha_real, alpha_imag, beta_real, beta_imag = both(alpha_at, beta_at, scalars, alpha_real, alpha_imag,
                                                            beta_real, beta_imag)
        depth = k
        if alpha_real == zero and alpha_imag == zero:
            depth = int64(0)

        # 2. Which product, which rows of it; where this thread reads.
        down = (m + (ROWS - 1)) // ROWS
        product, top = int64(cuda.blockIdx.x) // down, int64(cuda.blockIdx.x) % down * ROWS
        rows = int32(min(m - top, ROWS))
        a = pointer_to(matrix_at(A, product, a_batch, tables, SIZE), real)
        b = pointer_to(matrix_at(B, product, b_batch, tables, SIZE), real)
        c = matrix_at(C, product, c_batch, tables, SIZE)
        t = int32(cuda.threadIdx.x)
        mine, at_down, at_along, swapped = begin(t, a_row, a_column, rows)
        at, pace = top * a_row * parts, TURN * a_column * parts
        sums = no_sums()

        # 3. The first turn's part of A: the rest of k, its end, where there is one, so that the others need no test.
        left, rest = depth // TURN, int32(depth % TURN)  # turns
        start, next_start = int64(0), int64(SLAB)  # of slabs
        if depth > 0:
            if rest > 0:
                part = fetch_rest(a, at + left * pace, mine, rest)
                start, next_start = left * TURN, int64(0)
                left += 1
                turns = int32(1)
            else:
                part = fetch(a, at, mine)
                at += pace
                turns = int32(min(left, SLAB // TURN))

            # 4. Slab by slab, turn by turn: the next turn's part is on its way while this one's is multiplied. The
            #    conjugate of A is that of B and of the sums.
            while left > 0:
                cuda.syncthreads()
                stage(b, shared, start, depth, int32(n), b_row, b_column, swapped, a_sign * b_sign, t)
                cuda.syncthreads()
                in_slab = int32(at_along * PITCH)
                while turns > 0:
                    following = part
                    if left > 1:
                        following = fetch(a, at, mine)
                    sums = multiply_turn(sums, shared, in_slab, part)
                    part = following
                    at += pace
                    in_slab = int32(in_slab + ALONG * PITCH)
                    turns = int32(turns - 1)
                    left -= 1
                start = next_start
                next_start += SLAB
                turns = int32(min(left, SLAB // TURN))

        # 5. Sums over the threads along k; C = alpha * (the sums) + beta * C; beta == 0 does not read C.
        finish_tile((shared, sums, a_sign, t, at_down, at_along, c, top, rows, int32(n), c_row, c_column,
                     (alpha_real, alpha_imag, beta_real, beta_imag), bias, bias_step, aux, aux_row, aux_column))

    kinds = PARAMETERS + ("f" if real is float32 else "d") * 6 + "ll" + "lll"
    return KernelSource(kernel, kinds, (real,) * 2, T, config.min_blocks)


def _across(config, parts) -> Reader:
    """Vectors hold rows. Neighbouring threads take neighbouring rows."""
    P, V, DOWN = config.thread_rows, config.vector, config.threads // config.along
    load = load_grid(P // V, V, V * parts)
    offsets = tuple_of(P // V, device(lambda given, number: (
        int64(min(int32((given[0] + number * DOWN) * V), int32(given[1] - V)) * parts) + given[2])))

    @device
    def begin(t, place_stride, depth_stride, inside):
        down, along = int32(t % DOWN), int32(t // DOWN)
        there = offsets((down, inside, along * V * depth_stride * parts))
        return (there, depth_stride * parts, int32(along * V)), down, along, False

    @device
    def fetch(source, at, mine):
        return load(source, at, mine[0], mine[1], ())

    @device
    def fetch_rest(source, at, mine, rest):
        return load(source, at, mine[0], mine[1], (int32(rest - mine[2]), int32(1)))

    steps = [pick(*((vector * V + d) * V * parts + number for vector in range(P // V) for number in range(V * parts)))
             for d in range(V)]
    row = device(lambda down, number: int32((down + number // V * DOWN) * V + number % V))
    return Reader(begin, fetch, fetch_rest, steps, row)


def _along_k(config, parts) -> Reader:
    """Vectors hold steps along k. Neighbouring threads take neighbouring vectors of a row."""
    P, V, ALONG = config.thread_rows, config.vector, config.along
    load, load_some, offsets = load_grid(P, 1, V * parts), load_grid(P, V, parts), _row_offsets(config)

    @device
    def begin(t, place_stride, depth_stride, inside):
        down, along = int32(t // ALONG), int32(t % ALONG)
        there = offsets((down, inside, place_stride * parts, int64(along * V * parts)))
        return (there, int32(along * V)), down, along, False

    @device
    def fetch(source, at, mine):
        return load(source, at, mine[0], int64(0), ())

    @device
    def fetch_rest(source, at, mine, rest):
        return load_some(source, at, mine[0], int64(parts), (int32(rest - mine[1]), int32(1)))

    return Reader(begin, fetch, fetch_rest, _row_steps(config, parts), _single_row(config))


def _any(config, parts) -> Reader:
    """Single elements. Neighbouring threads take neighbours in memory: of a row if those along k are nearer."""
    V, ALONG, DOWN = config.vector, config.along, config.threads // config.along
    load, offsets = load_grid(config.thread_rows, V, parts), _row_offsets(config)

    @device
    def begin(t, place_stride, depth_stride, inside):
        swapped = abs(depth_stride) < abs(place_stride)
        if swapped:
            down, along, first, apart = int32(t // ALONG), int32(t % ALONG), int32(t % ALONG), int32(ALONG)
        else:
            down, along, first, apart = int32(t % DOWN), int32(t // DOWN), int32(t // DOWN * V), int32(1)
        there = offsets((down, inside, place_stride * parts, first * depth_stride * parts))
        return (there, apart * depth_stride * parts, first, apart), down, along, swapped

    @device
    def fetch(source, at, mine):
        return load(source, at, mine[0], mine[1], ())

    @device
    def fetch_rest(source, at, mine, rest):
        return load(source, at, mine[0], mine[1], (int32(rest - mine[2]), mine[3]))

    return Reader(begin, fetch, fetch_rest, _row_steps(config, parts), _single_row(config))


def _row_offsets(config):
    """Device function ((down, inside, place_stride, first)): where the rows of a thread begin; those beyond the matrix
    are its last one again."""
    DOWN = config.threads // config.along
    return tuple_of(config.thread_rows, device(lambda given, number: (
        min(given[0] + number * DOWN, given[1] - 1) * given[2] + given[3])))


def _row_steps(config, parts):
    """The functions of the steps along k for a part in which each row's elements follow each other."""
    P, V = config.thread_rows, config.vector
    return [pick(*((row * V + d) * parts + number for row in range(P) for number in range(parts))) for d in range(V)]


def _single_row(config):
    DOWN = config.threads // config.along
    return device(lambda down, number: int32(down + number * DOWN))


def _step(number, take, config, parts):
    """Device function (sums, shared, at, part): the sums after one step along k, column by column."""
    N, V = config.thread_columns, config.vector
    load_b, multiply = load_vectors(N // V, V * parts, V * parts), outer_product(N, config.thread_rows, parts)
    PLACE = number * N * parts

    @device
    def step(sums, shared, at, part):
        return multiply(sums, load_b(shared, at, PLACE), take(part))

    return step


def _in_turn(steps):
    """Device function (sums, shared, at, part): the sums after all steps, one after the other."""
    if len(steps) == 1:
        return steps[0]
    middle = len(steps) // 2
    low, high = _in_turn(steps[:middle]), _in_turn(steps[middle:])
    return device(lambda sums, shared, at, part: high(low(sums, shared, at, part), shared, at, part))


def _stager(config, PITCH, parts, real):
    """Device function: a slab of B into shared memory, for each thread along k the steps of its turns one after the
    other, all columns of a step together; zero beyond k.

    Each thread brings elements of one step, or of one column, whichever of both has neighbours in memory.
    """
    N, V, ALONG, TURN, T = config.thread_columns, config.vector, config.along, config.block_depth, config.threads
    SLAB, none = SKINNY_CHUNKS * V, (real(0),) * parts
    COUNT = SLAB * N // T
    AT_ONCE = min(_AT_ONCE, COUNT)
    load, store = vector_load(parts, GLOBAL), vector_store(parts, SHARED)
    signed = device(lambda value, sign: value) if parts == 1 else device(
        lambda value, sign: (value[0], value[1] * sign))

    @device
    def load_one(given, number):
        source, at, apart, step, column, step_pace, column_pace, steps, n = given
        if step + number * step_pace < steps and column + number * column_pace < n:
            return load(source, at + number * apart, 0)
        return none

    load_some = tuple_of(AT_ONCE, load_one)

    def store_at(number):
        @device
        def store_one(given):
            values, shared, step, column, step_pace, column_pace, n, swapped, sign = given
            s, j = int32(step + number * step_pace), int32(column + number * column_pace)
            if j < n:
                chunk, place = int32(s // V), int32(s % V)
                if swapped:
                    chunk, place = int32(s // TURN * ALONG + s % ALONG), int32(s % TURN // ALONG)
                store(shared, int32(chunk * PITCH + (place * N + j) * parts), 0, signed(values[number], sign))
        return store_one

    store_some = in_order([store_at(number) for number in range(AT_ONCE)])

    @device
    def stage(source, shared, start, depth, n, row_stride, column_stride, swapped, sign, t):
        step, column, step_pace, column_pace = int32(t // N), int32(t % N), int32(T // N), int32(0)
        if abs(row_stride) <= abs(column_stride):
            step, column, step_pace, column_pace = int32(t % SLAB), int32(t // SLAB), int32(0), int32(T // SLAB)
        steps = int32(min(depth - start, SLAB))
        at = ((start + step) * row_stride + column * column_stride) * parts
        apart = (step_pace * row_stride + column_pace * column_stride) * parts
        done = int32(0)
        while done < COUNT:
            values = load_some((source, at, apart, step, column, step_pace, column_pace, steps, n))
            store_some((values, shared, step, column, step_pace, column_pace, n, swapped, sign))
            at += AT_ONCE * apart
            step, column = int32(step + AT_ONCE * step_pace), int32(column + AT_ONCE * column_pace)
            done = int32(done + AT_ONCE)

    return stage


def _finisher(config, epilogue, row, parts, real):
    """Device function: the block's tile from its threads' sums, a group of columns at a time."""
    G, ALONG, ROWS, T = config.group, config.along, config.block_rows, config.threads
    ALL = (G * ROWS + config.vector) * parts  # reals of one thread along k
    finish, zero = sums_finisher(epilogue, parts, real), real(0)
    write = in_order([_group_store(group, row, config, parts, real) for group in range(_GROUPS)])

    @device
    def finish_tile(given):
        (shared, sums, sign, t, down, along, c, top, rows, n, c_row, c_column, scalars, bias, bias_step, aux, aux_row,
         aux_column) = given
        total = cuda.local.array(2, real)
        by_rows = abs(c_column) < abs(c_row)
        group = int32(0)
        while group < _GROUPS and group * G < n:
            cuda.syncthreads()
            write((shared, sums, int32(along * ALL), down, group))
            cuda.syncthreads()
            index = int32(t)
            while index < ROWS * G:
                if by_rows:
                    i, column = int32(index // G), int32(index % G)
                else:
                    i, column = int32(index % ROWS), int32(index // ROWS)
                j = int32(group * G + column)
                if i < rows and j < n:
                    total[0] = total[1] = zero
                    for other in range(ALONG):
                        for part in range(parts):
                            total[part] += shared[other * ALL + (column * ROWS + i) * parts + part]
                    total[1] *= sign  # of a complex sum
                    finish(c, (top + i) * c_row + j * c_column, total, 0, scalars[0], scalars[1], scalars[2],
                           scalars[3], False, top + i, int64(j), bias, bias_step, aux,
                           (top + i) * aux_row + j * aux_column)
                index = int32(index + T)
            group = int32(group + 1)

    return finish_tile


def _group_store(group, row, config, parts, real):
    """Device function: a thread's sums of one group of columns to shared memory, if it is that group's turn."""
    P, G, ROWS = config.thread_rows, config.group, config.block_rows
    COUNT = G * P * parts
    keep = spread(group * COUNT, COUNT)

    @device
    def store(given):
        shared, sums, at, down, wanted = given
        if wanted == group:
            found = cuda.local.array(COUNT, real)
            keep(sums, found)
            for number in range(COUNT):
                column, place, part = number // parts // P, number // parts % P, number % parts
                shared[int32(at + (column * ROWS + row(down, place)) * parts + part)] = found[number]

    return store
