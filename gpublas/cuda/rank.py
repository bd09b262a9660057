"""The Level 2 kernel for rank-one and rank-two updates of matrices in every storage, each element moved once."""

from __future__ import annotations

from numba import cuda, int32, int64

from .access import REALS, bent, loader, near, parts_of, storer
from .compile import KernelSource
from .matvec import GROUP, LANE_ROWS, THREADS, WARPS
from .scalars import ALPHA_CONJUGATE, ALPHA_REAL, ALPHA_THERE, scalar_reader

device = cuda.jit(device=True)

COLUMNS = 64  # of a tile


def rank_update(precision: str) -> KernelSource:
    """A = A + alpha x y^T, or A = A + alpha x y^T + alpha y x^T, on what is there of A.

    Rows are the fast axis of memory: lanes take neighbouring rows, warps groups of columns in turn. A block takes a
    tile of A.

    Kernel arguments: addresses of A, x, y; m; n; strides of A and bend of its columns; steps of x and y; below, above
    (see access.py); both: whether there is a second product; hermitian: it has the conjugate of alpha, and the
    imaginary part of the diagonal is set to zero, for every alpha; address, mask and values of alpha (scalars.py);
    row_sign, column_sign: +1 or -1, times the imaginary parts of the vectors along rows and along columns.
    """
    real, parts = REALS[precision], parts_of(precision)
    zero = real(0)
    R = LANE_ROWS[precision]
    TILE, STEP, X_SIZE, A_SIZE = 32 * R, WARPS * GROUP, R * parts, R * GROUP * parts
    SPAN = TILE + COLUMNS
    SHARED = SPAN * parts
    scalar = scalar_reader(parts, zero)
    stage, times, update = _vector_steps(TILE, parts, zero)
    fetch, put = _element_steps(R, parts, zero)

    def kernel(A, x, y, m, n, row_stride, column_stride, column_bend, x_step, y_step, below, above, both, hermitian,
               alpha_at, scalars, alpha, alpha_imag, row_sign, column_sign):
        xs, ys = cuda.shared.array(SHARED, real), cuda.shared.array(SHARED, real)
        x_rows, y_rows = cuda.local.array(X_SIZE, real), cuda.local.array(X_SIZE, real)
        a = cuda.local.array(A_SIZE, real)  # [column of the group][row of the lane]

        # 1. alpha: from the device if it is there. Zero reads no vector.
        alpha, alpha_imag = scalar(alpha_at, scalars, ALPHA_THERE, ALPHA_REAL, alpha, alpha_imag)
        if scalars & ALPHA_CONJUGATE:
            alpha_imag = -alpha_imag
        second_imag = -alpha_imag if hermitian else alpha_imag
        adds = alpha != zero or alpha_imag != zero

        # 2. Which tile, and whether anything of it is there.
        t = int32(cuda.threadIdx.x)
        lane, warp = int32(t & 31), int32(t >> 5)
        down = (m + (TILE - 1)) // TILE
        top, left = int64(cuda.blockIdx.x) % down * TILE, int64(cuda.blockIdx.x) // down * COLUMNS
        bottom, columns = min(m, top + TILE), int32(min(n - left, COLUMNS))
        if top - (left + columns - 1) > below or left - (bottom - 1) > above or not (adds or hermitian):
            return

        # 3. The vectors: along this lane's rows in registers.
        first = top + lane
        height = near(bottom - first)
        if adds:
            if both:
                stage(x, x_step, top, bottom, left, columns, t, row_sign, column_sign, xs)
                stage(y, y_step, top, bottom, left, columns, t, row_sign, column_sign, ys)
            else:
                stage(x, x_step, top, bottom, left, int32(0), t, row_sign, column_sign, xs)
                stage(y, y_step, top, top, left, columns, t, row_sign, column_sign, ys)
            cuda.syncthreads()
            for r in range(R):
                x_rows[r * parts] = xs[32 * r + lane]
                y_rows[r * parts] = ys[32 * r + lane]
                if parts == 2:
                    x_rows[r * parts + 1] = xs[SPAN + 32 * r + lane]
                    y_rows[r * parts + 1] = ys[SPAN + 32 * r + lane]

        # 4. Columns in groups: bring elements, update, store. Row r, column k is on diagonal 32 r - k, counted from
        #    that of the first element.
        c = int32(warp * GROUP)
        while c < columns:
            width = int32(columns - c)
            diagonal = first - (left + c)
            most, least, main = near(below - diagonal), near(-above - diagonal), near(-diagonal)
            fetch(A, first * row_stride, row_stride, left + c, column_stride, column_bend, height, width, most, least,
                  main, adds, a)
            for k in range(GROUP):
                if adds and k < width:
                    u, u_imag = times(alpha, alpha_imag, ys, c + k)
                    v, v_imag = zero, zero
                    if both:
                        v, v_imag = times(alpha, second_imag, xs, c + k)
                    for r in range(R):
                        update(a, (k * R + r) * parts, u, u_imag, x_rows, r * parts)
                        if both:
                            update(a, (k * R + r) * parts, v, v_imag, y_rows, r * parts)
            put(A, first * row_stride, row_stride, left + c, column_stride, column_bend, height, width, most, least,
                main, adds, hermitian, a)
            c = int32(c + STEP)

    letter = "f" if precision in "sc" else "d"
    return KernelSource(kernel, "ppp" + "ll" + "lll" + "ll" + "ll" + "ii" + "pi" + letter * 4, (real,) * 4, THREADS, 2)


def _vector_steps(TILE, parts, zero):
    """Device functions for a tile's parts of the vectors: into shared memory, times a scalar, and added to a group."""
    SPAN = TILE + COLUMNS  # elements of a vector that a tile needs: along its rows, then along its columns
    load = loader(parts, zero)

    @device
    def stage(source, step, top, bottom, left, columns, t, row_sign, column_sign, shared):
        """Real parts, then imaginary ones."""
        i = int32(t)
        while i < SPAN:
            at, sign, inside = top + i, row_sign, top + i < bottom
            if i >= TILE:
                at, sign, inside = left + (i - TILE), column_sign, i - TILE < columns
            if inside:
                value, imag = load(source, at * step)
                shared[i] = value
                if parts == 2:
                    shared[SPAN + i] = imag * sign
            i = int32(i + THREADS)

    @device
    def times(a, a_imag, shared, c):
        """A scalar times the element of a vector that belongs to column c of the tile."""
        if parts == 1:
            return a * shared[TILE + c], zero
        b, b_imag = shared[TILE + c], shared[SPAN + TILE + c]
        return a * b - a_imag * b_imag, a * b_imag + a_imag * b

    @device
    def update(a, i, u, u_imag, rows, r):
        """Element i of the group += u times element r of a vector along rows."""
        a[i] += u * rows[r]
        if parts == 2:
            a[i] -= u_imag * rows[r + 1]
            a[i + 1] += u * rows[r + 1]
            a[i + 1] += u_imag * rows[r]

    return stage, times, update


def _element_steps(R, parts, zero):
    """Device functions: the elements of a group of columns to registers, and back.

    Element (r, k) is there if 32 r < height, k < width and least <= 32 r - k <= most; where nothing is added, only the
    diagonal (32 r - k == main) is moved.
    """
    load, store = loader(parts, zero), storer(parts)

    @device
    def fetch(A, at_rows, row_stride, column, column_stride, column_bend, height, width, most, least, main, adds, a):
        for k in range(GROUP):
            at = at_rows + bent(column_stride, column_bend, column + k)
            for r in range(R):
                if 32 * r < height and k < width and 32 * r - k <= most and 32 * r - k >= least and (
                        adds or 32 * r - k == main):
                    value, imag = load(A, at + 32 * r * row_stride)
                    a[(k * R + r) * parts] = value
                    if parts == 2:
                        a[(k * R + r) * parts + 1] = imag

    @device
    def put(A, at_rows, row_stride, column, column_stride, column_bend, height, width, most, least, main, adds,
            hermitian, a):
        for k in range(GROUP):
            at = at_rows + bent(column_stride, column_bend, column + k)
            for r in range(R):
                if 32 * r < height and k < width and 32 * r - k <= most and 32 * r - k >= least and (
                        adds or 32 * r - k == main):
                    imag = zero
                    if parts == 2 and not (hermitian and 32 * r - k == main):
                        imag = a[(k * R + r) * parts + 1]
                    store(A, at + 32 * r * row_stride, a[(k * R + r) * parts], imag)

    return fetch, put
