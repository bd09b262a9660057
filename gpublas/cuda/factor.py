"""Factorisations of many small matrices: a thread block for each matrix, in global memory.

Barriers of the block make what one thread has stored visible to the others. Reductions are fixed trees.
"""

from __future__ import annotations

from numba import complex64, complex128, cuda, float32, float64, int32, int64

from .compile import KernelSource
from .solve import complex_arithmetic, real_arithmetic

device = cuda.jit(device=True)

THREADS = 128
_WARPS = THREADS // 32


def _types(precision):
    """Element type, real type, whether complex, and the arithmetic that solve.py has for them."""
    real = float32 if precision in "sc" else float64
    kind = {"s": float32, "d": float64, "c": complex64, "z": complex128}[precision]
    return kind, real, (complex_arithmetic if precision in "cz" else real_arithmetic)(kind)


def _size_of(precision):
    """Device functions: |Re| + |Im| of a number; the number's conjugate; its real part."""
    if precision in "cz":
        @device
        def size(value):
            return abs(value.real) + abs(value.imag)

        @device
        def conjugate(value):
            return value.conjugate()

        @device
        def real_part(value):
            return value.real
    else:
        size, conjugate, real_part = _size_of_real()
    return size, conjugate, real_part


def _size_of_real():
    @device
    def size(value):
        return abs(value)

    @device
    def same(value):
        return value

    return size, same, same


def lu_kernel(precision: str) -> KernelSource:
    """P A = L U by elimination with row exchanges, in place, for each matrix of a batch (getrf).

    Kernel arguments: address of the first A (n x n); n; elements from one matrix to the next; row and column strides;
    copies: first fill A from a source, of which address and strides follow in the same order; addresses of pivots
    (int32, n for each matrix: row k was exchanged with that row, counted from 0) and of info (int32 for each: 0, or the
    number, counted from 1, of the first exactly zero diagonal element of U).
    The pivot is the first row of largest |Re| + |Im|; the first NaN counts as largest, so that it shows.
    """
    kind, real, (_, _, divide) = _types(precision)
    size, _, _ = _size_of(precision)

    def kernel(A, n, batch, row, column, copies, source, source_batch, source_row, source_column, pivots, info):
        best = cuda.shared.array(THREADS, real)
        where = cuda.shared.array(THREADS, int64)
        t = int32(cuda.threadIdx.x)
        matrix = int64(cuda.blockIdx.x)
        start = matrix * batch
        singular = int64(0)
        if copies:
            for index in range(t, n * n, THREADS):
                i, j = index % n, index // n
                A[start + i * row + j * column] = source[matrix * source_batch + i * source_row + j * source_column]
            cuda.syncthreads()
        for k in range(n):
            # 1. The pivot: each thread looks at every THREADS-th row, a tree does the rest; the first of equals wins.
            most, at = real(-1), int64(n)
            for i in range(k + t, n, THREADS):
                value = size(A[start + i * row + k * column])
                if value > most or (value != value and most == most):
                    most, at = value, int64(i)
            best[t], where[t] = most, at
            cuda.syncthreads()
            half = int32(THREADS // 2)
            while half:
                if t < half:
                    mine, other = best[t], best[t + half]
                    nan, other_nan = mine != mine, other != other
                    earlier = where[t + half] < where[t]
                    if other_nan:
                        better = earlier or not nan
                    else:
                        better = not nan and (other > mine or (other == mine and earlier))
                    if better:
                        best[t], where[t] = other, where[t + half]
                cuda.syncthreads()
                half = int32(half // 2)
            pivot = where[0]
            if t == 0:
                pivots[matrix * n + k] = int32(pivot)

            # 2. Exchange the rows.
            if pivot != k:
                for j in range(t, n, THREADS):
                    upper, lower = start + k * row + j * column, start + pivot * row + j * column
                    value = A[upper]
                    A[upper] = A[lower]
                    A[lower] = value
            cuda.syncthreads()

            # 3. The column of L: true divisions. A zero pivot leaves the column, which is zero.
            diagonal = A[start + k * row + k * column]
            if size(diagonal) == 0:
                if singular == 0:
                    singular = int64(k + 1)
            else:
                for i in range(k + 1 + t, n, THREADS):
                    A[start + i * row + k * column] = divide(A[start + i * row + k * column], diagonal)
            cuda.syncthreads()

            # 4. The rest: one element a thread at a time, neighbours in memory by neighbours.
            rest = n - k - 1
            for index in range(t, rest * rest, THREADS):
                if abs(row) <= abs(column):
                    i, j = k + 1 + index % rest, k + 1 + index // rest
                else:
                    i, j = k + 1 + index // rest, k + 1 + index % rest
                A[start + i * row + j * column] -= (A[start + i * row + k * column]
                                                    * A[start + k * row + j * column])
            cuda.syncthreads()
        if t == 0:
            info[matrix] = int32(singular)

    return KernelSource(kernel, "plllliplllpp", (kind, kind, int32, int32), THREADS)


def exchange_kernel(precision: str) -> KernelSource:
    """Apply the row exchanges of a factorisation to each B of a batch, or write the permuted identity there.

    Kernel arguments: address of the first B (n x m); n; m; elements from one B to the next; row and column strides;
    address of pivots; backwards: undo them; identity: first set B to the identity.
    """
    kind, real, (make, _, _) = _types(precision)
    one, zero = real(1), real(0)

    def kernel(B, n, m, batch, row, column, pivots, backwards, identity):
        t = int32(cuda.threadIdx.x)
        matrix = int64(cuda.blockIdx.x)
        start = matrix * batch
        for j in range(t, m, THREADS):  # a thread moves the elements of its own columns
            here = start + j * column
            if identity:
                for i in range(n):
                    B[here + i * row] = make(one if i == j else zero, zero)
            for step in range(n):
                k = int64(n - 1 - step) if backwards else int64(step)
                pivot = int64(pivots[matrix * n + k])
                value = B[here + k * row]
                B[here + k * row] = B[here + pivot * row]
                B[here + pivot * row] = value

    return KernelSource(kernel, "plllllpii", (kind, int32), THREADS)


def qr_kernel(precision: str) -> KernelSource:
    """A = Q R by Householder reflections, in place, for each matrix of a batch (geqrf).

    Kernel arguments: address of the first A (m x n); m; n; elements from one matrix to the next; row and column
    strides; address of tau (min(m, n) for each matrix). Below the diagonal A keeps the vectors v, with v[k] = 1 left
    out; reflection k is I - tau v v^H. Formulas of LAPACK's ?geqr2 and ?larfg; the norm is taken of the column divided
    by its largest element, so that no square over- or underflows.
    """
    kind, real, (make, _, divide) = _types(precision)
    size, conjugate, real_part = _size_of(precision)
    zero = real(0)
    shuffle_sum = _shuffle_sum(precision, make)

    @device
    def total_of(partial, value, t, largest):
        """The sum, or the largest, of the block's values."""
        partial[t] = value
        cuda.syncthreads()
        half = int32(THREADS // 2)
        while half:
            if t < half:
                other = partial[t + half]
                if largest:
                    if other > partial[t] or other != other:
                        partial[t] = other
                else:
                    partial[t] += other
            cuda.syncthreads()
            half = int32(half // 2)
        result = partial[0]
        cuda.syncthreads()
        return result

    def kernel(A, m, n, batch, row, column, tau):
        partial = cuda.shared.array(THREADS, real)
        t = int32(cuda.threadIdx.x)
        lane, warp = int32(t & 31), int32(t >> 5)
        matrix = int64(cuda.blockIdx.x)
        start = matrix * batch
        reflections = min(m, n)
        for k in range(reflections):
            # 1. The norm of what lies below the diagonal, and of the whole column from the diagonal on.
            head = A[start + k * row + k * column]
            most = zero
            for i in range(k + 1 + t, m, THREADS):
                value = size(A[start + i * row + k * column])
                if value > most or value != value:
                    most = value
            below = total_of(partial, most, t, True)
            scale = max(below, size(head)) if below == below else below
            squares = zero
            if below != zero:
                for i in range(k + 1 + t, m, THREADS):
                    value = A[start + i * row + k * column]
                    a, b = real_part(value) / scale, size(value - make(real_part(value), zero)) / scale
                    squares += a * a + b * b
            squares = total_of(partial, squares, t, False)
            a, b = real_part(head), size(head - make(real_part(head), zero))

            # 2. The reflection that makes the column a multiple of the k-th unit vector, with a real factor.
            factor = make(zero, zero)
            beta = a
            if below != zero or b != zero:
                length = (squares + (a / scale) * (a / scale) + (b / scale) * (b / scale)) ** real(0.5) * scale
                beta = -length if a >= zero else length
                factor = divide(make(beta, zero) - head, make(beta, zero))
                divisor = head - make(beta, zero)
                for i in range(k + 1 + t, m, THREADS):
                    A[start + i * row + k * column] = divide(A[start + i * row + k * column], divisor)
            cuda.syncthreads()
            if t == 0:
                A[start + k * row + k * column] = make(beta, zero)
                tau[matrix * reflections + k] = factor

            # 3. Its adjoint on the columns to the right: a warp for each, lanes along the rows.
            turned = conjugate(factor)
            for j in range(k + 1 + warp, n, _WARPS):
                total = make(zero, zero)
                for i in range(k + 1 + lane, m, 32):
                    total += conjugate(A[start + i * row + k * column]) * A[start + i * row + j * column]
                total = shuffle_sum(total)
                total += A[start + k * row + j * column]
                total *= turned
                cuda.syncwarp()
                if lane == 0:
                    A[start + k * row + j * column] -= total
                for i in range(k + 1 + lane, m, 32):
                    A[start + i * row + j * column] -= A[start + i * row + k * column] * total
            cuda.syncthreads()

    return KernelSource(kernel, "plllllp", (kind, kind), THREADS)


def _shuffle_sum(precision, make):
    """Device function: the sum of a warp's values, in every lane."""
    if precision in "cz":
        @device
        def shuffle_sum(value):
            real, imag = value.real, value.imag
            for step in (16, 8, 4, 2, 1):
                real += cuda.shfl_xor_sync(0xFFFFFFFF, real, step)
                imag += cuda.shfl_xor_sync(0xFFFFFFFF, imag, step)
            return make(real, imag)
    else:
        @device
        def shuffle_sum(value):
            for step in (16, 8, 4, 2, 1):
                value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
            return value
    return shuffle_sum
