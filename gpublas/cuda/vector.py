"""Level 1 kernels: element-wise operations on one or two vectors, and reductions to one value.

Threads of the grid take turns (a grid-stride loop), so that any size fits any grid; offsets have 64 bits. A kernel
holds two loops. The first moves 128 bits an access, for as many whole vectors of 16 bytes as the caller says (none
unless every operand is contiguous and aligned); the second takes the elements that are left one by one, at any
stride. So one kernel serves contiguous, misaligned and strided operands.

A complex vector on which only real arithmetic is done is a vector of pairs of reals: real number i lies at
(i >> shift) * step + (i & (2**shift - 1)), with shift = 1, step the distance of elements in reals.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64

from .compile import KernelSource
from .ptx import GLOBAL, vector_load, vector_store
from .scalars import ALPHA_REAL, ALPHA_THERE, BETA_REAL, BETA_THERE, scalar_reader

device = cuda.jit(device=True)

THREADS = 256
VECTOR_BYTES = 16
_REALS = {"s": float32, "d": float64, "c": float32, "z": float64}
_BYTES = {"s": 4, "d": 8, "c": 4, "z": 8}  # of a real


def elementwise_kernel(operation: str, precision: str) -> KernelSource:
    """The kernel for "axpby" (y = alpha x + beta y) or "rotate" ((x, y) = H (x, y)).

    "axpby" also serves axpy, scal and copy, "rotate" rot, rotm and swap.
    """
    return _axpby_kernel(precision) if operation == "axpby" else _rotate_kernel(precision)


def _axpby_kernel(precision):
    """y = alpha x + beta y.

    Kernel arguments: addresses of x and y; number of elements; of them in whole vectors (as a number of vectors);
    steps of x and y; shift; whether a zero beta multiplies (1) instead of leaving y unread (0); addresses, mask and
    values of alpha and beta (scalars.py).
    """
    real, parts = _REALS[precision], _parts(precision)
    R = VECTOR_BYTES // _BYTES[precision]  # reals in a vector
    one, zero = real(1), real(0)
    fetch, put = _fetcher(R), _putter(R)
    fetch_element, put_element = _fetcher(parts), _putter(parts)
    place = _placer(parts)
    combine = _combiner(parts, zero)
    read_scalar = scalar_reader(parts, zero)

    def kernel(x, y, n, vectors, x_step, y_step, shift, multiplies, alpha_at, beta_at, scalars, alpha_real, alpha_imag,
               beta_real, beta_imag):
        a, b = cuda.local.array(R, real), cuda.local.array(R, real)

        # 1. Scalars: from the device where they are there.
        alpha_real, alpha_imag = read_scalar(alpha_at, scalars, ALPHA_THERE, ALPHA_REAL, alpha_real, alpha_imag)
        beta_real, beta_imag = read_scalar(beta_at, scalars, BETA_THERE, BETA_REAL, beta_real, beta_imag)

        # 2. Which operands are read, and whether they are multiplied: what a zero multiplies is not read. One real
        #    number does not change when it is multiplied by 1; a complex one may (Inf + 0i becomes Inf + NaN i).
        takes_x = alpha_real != zero or alpha_imag != zero
        takes_y = multiplies != 0 or beta_real != zero or beta_imag != zero
        scales_x = parts == 2 or alpha_real != one
        scales_y = beta_real != one or beta_imag != zero

        # 3. Whole vectors.
        first = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        stride = int64(cuda.gridDim.x) * THREADS
        at = first
        while at < vectors:
            if takes_x:
                fetch(x, at * R, a)
            if takes_y:
                fetch(y, at * R, b)
            for i in range(R // parts):
                combine(a, b, i * parts, takes_x, takes_y, scales_x, scales_y, alpha_real, alpha_imag, beta_real,
                        beta_imag)
            put(y, at * R, b)
            at += stride

        # 4. Elements one by one.
        at = vectors * (R // parts) + first
        while at < n:
            to = place(at, y_step, shift)
            if takes_x:
                fetch_element(x, place(at, x_step, shift), a)
            if takes_y:
                fetch_element(y, to, b)
            combine(a, b, 0, takes_x, takes_y, scales_x, scales_y, alpha_real, alpha_imag, beta_real, beta_imag)
            put_element(y, to, b)
            at += stride

    scalar = "f" if real is float32 else "d"
    return KernelSource(kernel, "pp" + "lllli" + "i" + "pp" + "i" + scalar * 4, (real,) * 4, THREADS)


def _rotate_kernel(precision):
    """(x, y) = H (x, y), where H = [[h11, h12], [h21, h22]].

    mode 0: x and y are exchanged. mode 1, a plane rotation: h11 = h22 = c, h12 = s, h21 = -conj(s). mode 2, a
    modified rotation: param = (flag, h11, h21, h12, h22), flag as in reference BLAS.

    Kernel arguments: addresses of x and y; number of elements; of them in whole vectors (as a number of vectors);
    steps of x and y; shift; mode; addresses on the device of c or param, and of s; a mask that says which of the two
    to read there (1, 2); five reals: param, or c and the real and imaginary part of s.
    """
    real, parts = _REALS[precision], _parts(precision)
    R = VECTOR_BYTES // _BYTES[precision]
    one, zero = real(1), real(0)
    fetch, put = _fetcher(R), _putter(R)
    fetch_element, put_element = _fetcher(parts), _putter(parts)
    place = _placer(parts)
    turn = _turner(parts)

    def kernel(x, y, n, vectors, x_step, y_step, shift, mode, c_at, s_at, scalars, p0, p1, p2, p3, p4):
        a, b = cuda.local.array(R, real), cuda.local.array(R, real)

        # 1. H: from the device where it is there.
        h11, h12, h21, h22, imag = one, one, one, one, p2
        if mode == 1:
            h11, h12 = p0, p1
            if scalars & 1:
                h11 = c_at[0]
            if scalars & 2:
                h12 = s_at[0]
                if parts == 2:
                    imag = s_at[1]
            h21, h22 = -h12, h11
        elif mode == 2:
            if scalars & 1:
                p0, p1, p2, p3, p4 = c_at[0], c_at[1], c_at[2], c_at[3], c_at[4]
            if p0 == -2 * one:
                return
            if p0 != one:
                h21, h12 = p2, p3
            else:
                h21 = -one
            if p0 != zero:
                h11, h22 = p1, p4

        # 2. Whole vectors.
        first = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        stride = int64(cuda.gridDim.x) * THREADS
        at = first
        while at < vectors:
            fetch(x, at * R, a)
            fetch(y, at * R, b)
            for i in range(R // parts):
                turn(a, b, i * parts, mode, h11, h12, h21, h22, imag)
            put(x, at * R, a)
            put(y, at * R, b)
            at += stride

        # 3. Elements one by one.
        at = vectors * (R // parts) + first
        while at < n:
            x_at, y_at = place(at, x_step, shift), place(at, y_step, shift)
            fetch_element(x, x_at, a)
            fetch_element(y, y_at, b)
            turn(a, b, 0, mode, h11, h12, h21, h22, imag)
            put_element(x, x_at, a)
            put_element(y, y_at, b)
            at += stride

    scalar = "f" if real is float32 else "d"
    return KernelSource(kernel, "pp" + "lllli" + "i" + "pp" + "i" + scalar * 5, (real,) * 4, THREADS)


def sum_kernel(kind: str, precision: str) -> KernelSource:
    """The kernel for "dot", "nrm2" or "asum": float64 sums by a fixed tree, whatever the precision.

    A thread adds up its elements, a block its threads. With one block the result is finished; with more, each block
    leaves its sums in `partials`, and a second launch of one block takes them in the place of elements. A product or
    square of float32 numbers is exact in float64, where it neither overflows nor underflows.

    Kernel arguments: addresses of x and y (dot only); number of elements; of them in whole vectors (as a number of
    vectors); steps of x and y; shift; sign that multiplies the imaginary parts of x; number of partial results to
    take, and their address (written when the grid has several blocks); a number to add to the result; whether the
    result is stored in float64 (1) or in the precision (0); its address, twice.
    """
    real, parts = _REALS[precision], _parts(precision)
    R = VECTOR_BYTES // _BYTES[precision]
    SUMS = {"dot": parts, "nrm2": 3 if real is float64 else 1, "asum": 1}[kind]
    fetch, fetch_element = _fetcher(R), _fetcher(parts)
    place = _placer(parts)
    two_vectors, SHARED = kind == "dot", SUMS * THREADS
    add = {"dot": _dot_adder(parts), "nrm2": _square_adder(SUMS), "asum": _magnitude_adder()}[kind]
    finish = _norm_finisher(SUMS, real) if kind == "nrm2" else _dot_finisher(SUMS)

    def kernel(x, y, n, vectors, x_step, y_step, shift, sign, count, partials, start, wide, out, wide_out):
        shared = cuda.shared.array(SHARED, float64)
        sums = cuda.local.array(SUMS, float64)
        a, b = cuda.local.array(R, real), cuda.local.array(R, real)
        for k in range(SUMS):
            sums[k] = float64(0)

        # 1. Whole vectors.
        thread, blocks = int32(cuda.threadIdx.x), int32(cuda.gridDim.x)
        first = int64(cuda.blockIdx.x) * THREADS + thread
        stride = int64(blocks) * THREADS
        at = first
        while at < vectors:
            fetch(x, at * R, a)
            if two_vectors:
                fetch(y, at * R, b)
            for i in range(R // parts):
                add(sums, a, b, i * parts, sign)
            at += stride

        # 2. Elements one by one.
        at = vectors * (R // parts) + first
        while at < n:
            fetch_element(x, place(at, x_step, shift), a)
            if two_vectors:
                fetch_element(y, place(at, y_step, shift), b)
            add(sums, a, b, 0, sign)
            at += stride

        # 3. The sums that the blocks of an earlier launch left: sum k of block i lies at k * count + i.
        at = first
        while at < count:
            for k in range(SUMS):
                sums[k] += partials[k * count + at]
            at += stride

        # 4. The block's sums, halving the number of threads that add.
        for k in range(SUMS):
            shared[k * THREADS + thread] = sums[k]
        half = int32(THREADS // 2)
        while half > 0:
            cuda.syncthreads()
            if thread < half:
                for k in range(SUMS):
                    shared[k * THREADS + thread] += shared[k * THREADS + thread + half]
            half = int32(half >> 1)

        # 5. The result, or this block's part of it.
        if thread == 0:
            if blocks > 1:
                for k in range(SUMS):
                    partials[k * int64(blocks) + int64(cuda.blockIdx.x)] = shared[k * THREADS]
            elif wide != 0:
                finish(shared, start, wide_out)
            else:
                finish(shared, start, out)

    return KernelSource(kernel, "pp" + "lllli" + "d" + "lp" + "di" + "pp", (real, real, float64, real, float64),
                        THREADS)


def extreme_kernel(precision: str) -> KernelSource:
    """The kernel for iamax and iamin: the first place of the largest sign * (|Re x| + |Im x|), NaN above all.

    Blocks and launches share the work as in `sum_kernel`.

    Kernel arguments: address of x; number of elements; of them in whole vectors (as a number of vectors); step of x;
    sign; number of partial results to take, and the addresses of their values and places (written when the grid has
    several blocks); address of the result, -1 where there is no element.
    """
    real, parts = _REALS[precision], _parts(precision)
    R = VECTOR_BYTES // _BYTES[precision]
    fetch, fetch_element = _fetcher(R), _fetcher(parts)
    nothing, none = real(math.nan), int64(-1)
    magnitude = _magnitude(parts)
    beats, wins = _order()

    def kernel(x, n, vectors, x_step, sign, count, values, places, out):
        shared, shared_where = cuda.shared.array(THREADS, real), cuda.shared.array(THREADS, int64)
        a = cuda.local.array(R, real)
        best, where = nothing, none

        # 1. Whole vectors.
        thread, blocks = int32(cuda.threadIdx.x), int32(cuda.gridDim.x)
        first = int64(cuda.blockIdx.x) * THREADS + thread
        stride = int64(blocks) * THREADS
        at = first
        while at < vectors:
            fetch(x, at * R, a)
            for i in range(R // parts):
                value, here = sign * magnitude(a, i * parts), int64(at * (R // parts) + i)
                if beats(value, best, where):
                    best, where = value, here
            at += stride

        # 2. Elements one by one.
        at = vectors * (R // parts) + first
        while at < n:
            fetch_element(x, at * x_step * parts, a)
            value = sign * magnitude(a, 0)
            if beats(value, best, where):
                best, where = value, at
            at += stride

        # 3. What the blocks of an earlier launch found.
        at = first
        while at < count:
            if wins(values[at], places[at], best, where):
                best, where = values[at], places[at]
            at += stride

        # 4. The block's best, halving the number of threads that compare.
        shared[thread], shared_where[thread] = best, where
        half = int32(THREADS // 2)
        while half > 0:
            cuda.syncthreads()
            if thread < half:
                value, here = shared[thread + half], shared_where[thread + half]
                if wins(value, here, best, where):
                    best, where = value, here
                    shared[thread], shared_where[thread] = best, where
            half = int32(half >> 1)

        # 5. The result, or what this block found.
        if thread == 0:
            if blocks > 1:
                values[cuda.blockIdx.x], places[cuda.blockIdx.x] = best, where
            else:
                out[0] = where

    scalar = "f" if real is float32 else "d"
    return KernelSource(kernel, "p" + "lll" + scalar + "l" + "ppp", (real, real, int64, int64), THREADS)


def _order():
    """Device functions: whether one candidate of `extreme_kernel` goes before another. NaN goes before all numbers."""
    @device
    def beats(value, best, where):
        """A value, before the best so far, which came earlier: NaN, and NaN at -1 where there is none."""
        return not value <= best and (best == best or where < 0)

    @device
    def wins(value, where, best, best_where):
        """A value and its place, before another, wherever the two stand; -1 is no place."""
        if where < 0:
            return False
        if best_where < 0:
            return True
        if best != best or value != value:
            if best != best and value != value:
                return where < best_where
            return value != value
        return value > best or (value == best and where < best_where)

    return beats, wins


def _parts(precision):
    """Reals in an element."""
    return 2 if precision in "cz" else 1


def _fetcher(width):
    """Device function: `width` reals from source[at ...] into a register array."""
    load = vector_load(width, GLOBAL)
    if width == 4:
        @device
        def fetch(source, at, out):
            out[0], out[1], out[2], out[3] = load(source, at, 0)
    elif width == 2:
        @device
        def fetch(source, at, out):
            out[0], out[1] = load(source, at, 0)
    else:
        @device
        def fetch(source, at, out):
            out[0] = load(source, at, 0)[0]
    return fetch


def _putter(width):
    """Device function: `width` reals of a register array to target[at ...]."""
    store = vector_store(width, GLOBAL)
    if width == 4:
        @device
        def put(target, at, values):
            store(target, at, 0, (values[0], values[1], values[2], values[3]))
    elif width == 2:
        @device
        def put(target, at, values):
            store(target, at, 0, (values[0], values[1]))
    else:
        @device
        def put(target, at, values):
            store(target, at, 0, (values[0],))
    return put


def _placer(parts):
    """Device function: where element i lies, in reals from the start."""
    if parts == 1:
        @device
        def place(i, step, shift):
            return (i >> shift) * step + (i & ((int64(1) << shift) - 1))
    else:
        @device
        def place(i, step, shift):
            return 2 * (i * step)
    return place


def _combiner(parts, zero):
    """Device function: one element b = alpha a + beta b, of the operands and products that are wanted."""
    if parts == 1:
        @device
        def combine(a, b, i, takes_x, takes_y, scales_x, scales_y, alpha, alpha_imag, beta, beta_imag):
            p, q = a[i], b[i]
            if scales_x:
                p = alpha * p
            if scales_y:
                q = beta * q
            if takes_x and takes_y:
                q += p
            elif takes_x:
                q = p
            elif not takes_y:
                q = zero
            b[i] = q
    else:
        @device
        def combine(a, b, i, takes_x, takes_y, scales_x, scales_y, alpha, alpha_imag, beta, beta_imag):
            p, p_imag, q, q_imag = a[i], a[i + 1], b[i], b[i + 1]
            if scales_x:
                p, p_imag = alpha * p - alpha_imag * p_imag, alpha * p_imag + alpha_imag * p
            if scales_y:
                q, q_imag = beta * q - beta_imag * q_imag, beta * q_imag + beta_imag * q
            if takes_x and takes_y:
                q += p
                q_imag += p_imag
            elif takes_x:
                q, q_imag = p, p_imag
            elif not takes_y:
                q, q_imag = zero, zero
            b[i], b[i + 1] = q, q_imag
    return combine


def _turner(parts):
    """Device function: one pair of elements (a, b) = H (a, b), or exchanged in mode 0."""
    if parts == 1:
        @device
        def turn(a, b, i, mode, h11, h12, h21, h22, imag):
            p, q = a[i], b[i]
            if mode == 0:
                a[i], b[i] = q, p
            else:
                a[i], b[i] = h11 * p + h12 * q, h21 * p + h22 * q
    else:
        @device
        def turn(a, b, i, mode, h11, h12, h21, h22, imag):  # h12 = s, of which imag is the imaginary part
            p, p_imag, q, q_imag = a[i], a[i + 1], b[i], b[i + 1]
            a[i] = h11 * p + (h12 * q - imag * q_imag)
            a[i + 1] = h11 * p_imag + (h12 * q_imag + imag * q)
            b[i] = h11 * q - (h12 * p + imag * p_imag)
            b[i + 1] = h11 * q_imag - (h12 * p_imag - imag * p)
    return turn


def _dot_adder(parts):
    """Device function: sums += one product."""
    if parts == 1:
        @device
        def add(sums, a, b, i, sign):
            sums[0] += float64(a[i]) * float64(b[i])
    else:
        @device
        def add(sums, a, b, i, sign):  # four real multiply-adds
            x, x_imag, y, y_imag = float64(a[i]), sign * float64(a[i + 1]), float64(b[i]), float64(b[i + 1])
            sums[0] += x * y
            sums[0] -= x_imag * y_imag
            sums[1] += x * y_imag
            sums[1] += x_imag * y
    return add


def _magnitude_adder():
    @device
    def add(sums, a, b, i, sign):
        sums[0] += math.fabs(float64(a[i]))
    return add


def _magnitude(parts):
    """Device function: |Re| + |Im| of one element."""
    if parts == 1:
        @device
        def magnitude(a, i):
            return abs(a[i])
    else:
        @device
        def magnitude(a, i):
            return abs(a[i]) + abs(a[i + 1])
    return magnitude


_FLOAT64 = np.finfo(np.float64)
_DIGITS, _MAX, _MIN = _FLOAT64.nmant + 1, int(_FLOAT64.maxexp), int(_FLOAT64.minexp) + 1  # as Fortran counts them
# E. Anderson, "Algorithm 978: Safe scaling in the Level 1 BLAS", ACM TOMS 44 (2017): squares of numbers between SMALL
# and BIG are safe; those above are added up multiplied by SCALE_BIG, those below by SCALE_SMALL.
SMALL, BIG = 2.0 ** math.ceil((_MIN - 1) / 2), 2.0 ** math.floor((_MAX - _DIGITS + 1) / 2)
SCALE_SMALL, SCALE_BIG = 2.0 ** -math.floor((_MIN - _DIGITS) / 2), 2.0 ** -math.ceil((_MAX + _DIGITS - 1) / 2)


def _square_adder(sums):
    """Device function: sums += one square; of three sums the first is of ordinary, the second of large, the third of
    small numbers. A NaN counts as ordinary."""
    if sums == 1:
        @device
        def add(sums, a, b, i, sign):
            value = float64(a[i])
            sums[0] += value * value
    else:
        @device
        def add(sums, a, b, i, sign):
            value = math.fabs(float64(a[i]))
            if value > BIG:
                value *= SCALE_BIG
                sums[1] += value * value
            elif value < SMALL:
                value *= SCALE_SMALL
                sums[2] += value * value
            else:
                sums[0] += value * value
    return add


def _norm_finisher(sums, real):
    """Device function: the root of the sum of squares."""
    if sums == 1:
        @device
        def finish(shared, start, out):
            out[0] = real(math.sqrt(shared[0]))
    else:
        @device
        def finish(shared, start, out):
            ordinary, large, small = shared[0], shared[THREADS], shared[2 * THREADS]
            if large > 0:  # small numbers add nothing to large ones
                result = math.sqrt(large + (ordinary * SCALE_BIG) * SCALE_BIG) / SCALE_BIG
            elif small > 0:
                high, low = math.sqrt(ordinary), math.sqrt(small) / SCALE_SMALL
                if low > high:
                    high, low = low, high
                result = low
                if high > 0:
                    result = high * math.sqrt(1 + (low / high) * (low / high))
                if ordinary != ordinary:
                    result = ordinary
            else:
                result = math.sqrt(ordinary)
            out[0] = result
    return finish


def _dot_finisher(sums):
    """Device function: the sums, rounded to the type of the result."""
    if sums == 1:
        @device
        def finish(shared, start, out):
            out[0] = shared[0] + start
    else:
        @device
        def finish(shared, start, out):
            out[0], out[1] = shared[0], shared[THREADS]
    return finish
