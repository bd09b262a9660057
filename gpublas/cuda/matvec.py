"""Level 2 kernels: matrix times vector, for matrices in every storage, with the elements of each read once.

A first launch multiplies blocks of the matrix by their part of x and leaves the sums in workspace; a second one adds
those of each element of y, in a fixed order, and applies alpha and beta. So results are the same from run to run, and
x may be y. `tile_sums` takes rectangles and triangles: a tile contributes the sums of its rows, of its columns, or,
where one triangle stands for a symmetric matrix, both. `diagonal_sums` takes bands diagonal by diagonal.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from .access import REALS, bent, loader, near, parts_of, storer
from .compile import KernelSource
from .scalars import ALPHA_REAL, ALPHA_THERE, BETA_REAL, BETA_THERE, gate_reader, scalar_reader

device = cuda.jit(device=True)

THREADS = 256
WARPS = THREADS // 32
LANE_ROWS = {"s": 4, "d": 4, "c": 2, "z": 2}  # rows of a tile that a lane takes, 32 apart
GROUP = 4  # columns whose elements a thread loads before it multiplies
SLAB = 256  # columns of which x is kept in shared memory at a time
WANTS_ROWS, WANTS_COLUMNS, SYMMETRIC, HERMITIAN = 1, 2, 4, 8  # bits of a mode

DIAGONAL_THREADS = 128  # rows of a block of `diagonal_sums`
DIAGONALS = {"s": 32, "d": 16, "c": 16, "z": 8}  # brought to shared memory at a time
ROWS_FAST, COLUMNS_FAST, DIAGONALS_FAST = 0, 1, 2  # along what a band's neighbours in memory lie


def tile_rows(precision: str) -> int:
    """Rows of a tile."""
    return 32 * LANE_ROWS[precision]


def tile_sums(precision: str) -> KernelSource:
    """Sums of the products of a block of A with x: along rows (for A x), along columns (for A^T x), or both.

    Rows are the fast axis of memory: lanes take neighbouring rows, warps groups of columns in turn. A block takes
    chunk_rows x chunk_columns of A, either one tile of rows or one slab of columns (or both).

    Kernel arguments: addresses of A, x and the sums; m; n; strides of A and bend of its columns; step of x; below,
    above (see access.py); chunk_rows, chunk_columns; mode: a mask of the bits above (SYMMETRIC: the diagonal counts
    once, HERMITIAN: and is real); alpha_at and a mask that may make it a gate (scalars.py); row_sign, column_sign: +1
    or -1, times A's imaginary parts in either product.
    Sums: one row of m for each chunk of columns if rows are wanted, then one of n for each chunk of rows.
    """
    real, parts = REALS[precision], parts_of(precision)
    zero = real(0)
    R = LANE_ROWS[precision]
    TILE, STEP = 32 * R, WARPS * GROUP
    X_SIZE, CROSSED_SIZE = SLAB * parts, WARPS * TILE * parts
    A_SIZE, R_SIZE, G_SIZE, TILE_SIZE = R * GROUP * parts, R * parts, GROUP * parts, TILE * parts
    shut = gate_reader(parts, zero)
    fetch, add_rows, add_columns = _tile_steps(R, parts, zero, loader(parts, zero))
    stage, take, store_columns, store_rows = _tile_borders(R, parts, zero)
    gather = _gatherer(parts)

    def kernel(A, x, sums, m, n, row_stride, column_stride, column_bend, x_step, below, above, chunk_rows,
               chunk_columns, mode, alpha_at, scalars, row_sign, column_sign):
        xs = cuda.shared.array(X_SIZE, real)  # x of the slab: real parts, then imaginary ones
        column_sums = cuda.shared.array(X_SIZE, real)
        x_tile = cuda.shared.array(TILE_SIZE, real)  # x of the tile's rows
        crossed = cuda.shared.array(CROSSED_SIZE, real)  # [warp][row of the tile]
        a = cuda.local.array(A_SIZE, real)  # [column of the group][row of the lane]
        x_rows, row_sums = cuda.local.array(R_SIZE, real), cuda.local.array(R_SIZE, real)
        group_sums = cuda.local.array(G_SIZE, real)
        if shut(alpha_at, scalars):
            return

        # 1. Which part of A this block takes.
        t = int32(cuda.threadIdx.x)
        lane, warp = int32(t & 31), int32(t >> 5)
        down = (m + (chunk_rows - 1)) // chunk_rows
        chunk, row_chunk = int64(cuda.blockIdx.x) // down, int64(cuda.blockIdx.x) % down
        top, left = row_chunk * chunk_rows, chunk * chunk_columns
        bottom, right = min(m, top + chunk_rows), min(n, left + chunk_columns)
        rows_wanted, columns_wanted = mode & WANTS_ROWS, mode & WANTS_COLUMNS
        after_rows = int64(0)
        if rows_wanted:
            after_rows = (n + (chunk_columns - 1)) // chunk_columns * m

        slab = left
        while slab < right:
            columns = int32(min(right - slab, SLAB))

            # 2. The slab's part of x into shared memory; no sums of its columns yet.
            if rows_wanted:
                stage(x, slab, columns, x_step, t, xs, SLAB)
            c = int32(t)
            while c < X_SIZE:
                column_sums[c] = zero
                c = int32(c + THREADS)
            cuda.syncthreads()

            tile = top
            while tile < bottom:
                # 3. This lane's rows: how many of them are there, their part of x, no sums yet.
                first = tile + lane
                height = near(bottom - first)
                if slab == left:
                    for r in range(R_SIZE):
                        row_sums[r] = zero
                if columns_wanted:
                    stage(x, tile, int32(min(bottom - tile, TILE)), x_step, t, x_tile, TILE)
                    cuda.syncthreads()
                    take(x_tile, lane, x_rows)
                    cuda.syncthreads()

                # 4. Columns in groups, unless nothing of the tile is there. Row r, column k of the group is on
                #    diagonal 32 r - k, counted from that of the first element.
                if tile - (slab + columns - 1) <= below and slab - min(bottom, tile + TILE) + 1 <= above:
                    c = int32(warp * GROUP)
                    while c < columns:
                        width = int32(columns - c)
                        diagonal = first - (slab + c)
                        most, least, main = near(below - diagonal), near(-above - diagonal), near(-diagonal)
                        fetch(A, first * row_stride, row_stride, slab + c, column_stride, column_bend, height, width,
                              most, least, main, mode, row_sign, a)
                        if rows_wanted:
                            add_rows(a, xs, c, height, width, most, least, row_sums)
                        if columns_wanted:
                            add_columns(a, x_rows, height, width, most, least, main, mode, column_sign * row_sign,
                                        group_sums)
                            gather(group_sums, lane, column_sums, c)
                        c = int32(c + STEP)

                # 5. Sums of rows over the warps.
                if rows_wanted and slab + SLAB >= right:
                    store_rows(row_sums, crossed, t, sums, chunk * m + tile, bottom - tile)
                tile += TILE

            # 6. Sums of the slab's columns: each was added up by one warp.
            cuda.syncthreads()
            if columns_wanted:
                store_columns(column_sums, columns, t, sums, after_rows + row_chunk * n + slab)
                cuda.syncthreads()
            slab += SLAB

    letter = "f" if precision in "sc" else "d"
    return KernelSource(kernel, "ppp" + "ll" + "lll" + "l" + "ll" + "ll" + "i" + "pi" + letter * 2, (real,) * 4,
                        THREADS, 2)


def _tile_borders(R, parts, zero):
    """Device functions for a block's vectors: part of x into shared memory, a lane's rows of it into registers, sums of
    columns and of rows to where the second launch finds them.

    In shared memory imaginary parts come after all real ones.
    """
    load, store = loader(parts, zero), storer(parts)
    TILE, CROSSED = 32 * R, WARPS * 32 * R

    @device
    def stage(x, first, count, step, t, shared, imaginary):
        i = int32(t)
        while i < count:
            value, imag = load(x, (first + i) * step)
            shared[i] = value
            if parts == 2:
                shared[imaginary + i] = imag
            i = int32(i + THREADS)

    @device
    def take(x_tile, lane, x_rows):
        for r in range(R):
            x_rows[r * parts] = x_tile[32 * r + lane]
            if parts == 2:
                x_rows[r * parts + 1] = x_tile[TILE + 32 * r + lane]

    @device
    def store_columns(column_sums, columns, t, sums, at):
        c = int32(t)
        while c < columns:
            imag = zero
            if parts == 2:
                imag = column_sums[SLAB + c]
            store(sums, at + c, column_sums[c], imag)
            c = int32(c + THREADS)

    @device
    def store_rows(row_sums, crossed, t, sums, at, rows):
        place = int32((t >> 5) * TILE + (t & 31))
        for r in range(R):
            crossed[place + 32 * r] = row_sums[r * parts]
            if parts == 2:
                crossed[CROSSED + place + 32 * r] = row_sums[r * parts + 1]
        cuda.syncthreads()
        if t < TILE and t < rows:
            value, imag = zero, zero
            for w in range(WARPS):
                value += crossed[w * TILE + t]
                if parts == 2:
                    imag += crossed[CROSSED + w * TILE + t]
            store(sums, at + t, value, imag)
        cuda.syncthreads()

    return stage, take, store_columns, store_rows


def _tile_steps(R, parts, zero, load):
    """Device functions over a group of columns: bring its elements to registers, multiply by x along rows, and along
    columns. Element (r, k) is there if 32 r < height, k < width and least <= 32 r - k <= most."""
    @device
    def fetch(A, at_rows, row_stride, column, column_stride, column_bend, height, width, most, least, main, mode, sign,
              a):
        for k in range(GROUP):
            at = at_rows + bent(column_stride, column_bend, column + k)
            for r in range(R):
                value, imag = zero, zero
                if 32 * r < height and k < width and 32 * r - k <= most and 32 * r - k >= least:
                    value, imag = load(A, at + 32 * r * row_stride)
                    if mode & HERMITIAN and 32 * r - k == main:
                        imag = zero
                a[(k * R + r) * parts] = value
                if parts == 2:
                    a[(k * R + r) * parts + 1] = imag * sign

    @device
    def add_rows(a, xs, c, height, width, most, least, sums):
        for k in range(GROUP):
            x, x_imag = xs[c + k], zero
            if parts == 2:
                x_imag = xs[SLAB + c + k]
            for r in range(R):
                if 32 * r < height and k < width and 32 * r - k <= most and 32 * r - k >= least:
                    i = (k * R + r) * parts
                    sums[r * parts] += a[i] * x
                    if parts == 2:
                        sums[r * parts] -= a[i + 1] * x_imag
                        sums[r * parts + 1] += a[i] * x_imag
                        sums[r * parts + 1] += a[i + 1] * x

    @device
    def add_columns(a, x_rows, height, width, most, least, main, mode, flip, sums):
        for k in range(GROUP):
            total, total_imag = zero, zero
            for r in range(R):
                if 32 * r < height and k < width and 32 * r - k <= most and 32 * r - k >= least and (
                        not mode & SYMMETRIC or 32 * r - k != main):
                    i = (k * R + r) * parts
                    total += a[i] * x_rows[r * parts]
                    if parts == 2:
                        imag = a[i + 1] * flip
                        total -= imag * x_rows[r * parts + 1]
                        total_imag += a[i] * x_rows[r * parts + 1]
                        total_imag += imag * x_rows[r * parts]
            sums[k * parts] = total
            if parts == 2:
                sums[k * parts + 1] = total_imag

    return fetch, add_rows, add_columns


def _gatherer(parts):
    """Device function: add up the four column sums of a group over the lanes of a warp, into shared memory.

    Two exchanges halve what a lane has to add; three more finish one column in each quarter of the warp.
    """
    @device
    def total(s0, s1, s2, s3, lane):
        everyone = 0xFFFFFFFF
        upper = lane & 16
        p, q = (s2, s3) if upper else (s0, s1)
        p_other, q_other = (s0, s1) if upper else (s2, s3)
        p += cuda.shfl_xor_sync(everyone, p_other, 16)
        q += cuda.shfl_xor_sync(everyone, q_other, 16)
        odd = lane & 8
        value, other = (q, p) if odd else (p, q)
        value += cuda.shfl_xor_sync(everyone, other, 8)
        value += cuda.shfl_xor_sync(everyone, value, 4)
        value += cuda.shfl_xor_sync(everyone, value, 2)
        value += cuda.shfl_xor_sync(everyone, value, 1)
        return value

    @device
    def gather(sums, lane, column_sums, c):
        value = total(sums[0], sums[parts], sums[2 * parts], sums[3 * parts], lane)
        to = int32(c + (lane >> 3))  # beyond the slab's columns these sums are zero
        if lane & 7 == 0:
            column_sums[to] += value
        if parts == 2:
            value = total(sums[1], sums[parts + 1], sums[2 * parts + 1], sums[3 * parts + 1], lane)
            if lane & 7 == 0:
                column_sums[SLAB + to] += value
        cuda.syncwarp()

    return gather


def diagonal_sums(precision: str) -> KernelSource:
    """Sums of the products of a band with x, a thread for each row, for diagonals low to high.

    A block brings some diagonals of its rows to shared memory at a time, in the order in which they lie there.

    Kernel arguments: addresses of A, x and the sums; m; n; strides of A; step of x; low, high: first and last
    diagonal (j - i); depth: how many of them a block takes; fast: along what neighbours in memory lie; mirror: 0, or
    the sign of the diagonals that are stored, of which the others are the mirror image; mode: HERMITIAN or 0;
    alpha_at and a mask that may make it a gate (scalars.py); sign: +1 or -1, times A's imaginary parts.
    Sums: one row of m for each chunk of diagonals.
    """
    real, parts = REALS[precision], parts_of(precision)
    zero = real(0)
    T, D = DIAGONAL_THREADS, DIAGONALS[precision]
    PITCH = T + 2  # of a diagonal in shared memory: lanes that walk down a column meet no bank twice
    SHARED, IMAG = D * PITCH * parts, D * PITCH
    X_SHARED, X_IMAG = (T + D) * parts, T + D
    store = storer(parts)
    shut = gate_reader(parts, zero)
    bring, bring_x = _diagonal_steps(parts, loader(parts, zero), PITCH, IMAG, X_IMAG)

    def kernel(A, x, sums, m, n, row_stride, column_stride, x_step, low, high, depth, fast, mirror, mode, alpha_at,
               scalars, sign):
        band = cuda.shared.array(SHARED, real)  # [diagonal][row]
        xs = cuda.shared.array(X_SHARED, real)  # from the first column of these rows and diagonals on
        if shut(alpha_at, scalars):
            return

        # 1. Which rows and diagonals this block takes.
        t = int32(cuda.threadIdx.x)
        down = (m + (T - 1)) // T
        chunk, top = int64(cuda.blockIdx.x) // down, int64(cuda.blockIdx.x) % down * T
        rows = int32(min(m - top, T))
        last = min(min(low + (chunk + 1) * depth - 1, high), n - 1 - top)
        d = max(low + chunk * depth, -(top + rows - 1))
        value, imag = zero, zero

        while d <= last:
            # 2. The next diagonals, all on one side of the main one; the others' mirror images if need be.
            count = int32(min(last - d + 1, D))
            if d < 0:
                count = int32(min(count, -d))
            along_rows, along_columns, flip, order = row_stride, column_stride, sign, fast
            if (mirror > 0 and d < 0) or (mirror < 0 and d >= 0):  # the main one is its own mirror image
                along_rows, along_columns = column_stride, row_stride
                if mode & HERMITIAN:
                    flip = -sign
                if fast != DIAGONALS_FAST:
                    order = int32(COLUMNS_FAST - fast)

            # 3. Into shared memory, with the x that they multiply.
            bring(A, top, rows, d, count, n, along_rows, along_columns, flip, order, t, band)
            bring_x(x, top + d, int32(rows + count - 1), n, x_step, t, xs)
            cuda.syncthreads()

            # 4. This thread's row.
            if t < rows:
                for k in range(count):
                    column = top + t + d + k
                    if column >= 0 and column < n:
                        a, a_imag = band[k * PITCH + t], zero
                        x_real = xs[t + k]
                        value += a * x_real
                        if parts == 2:
                            x_imag = xs[X_IMAG + t + k]
                            if not mode & HERMITIAN or d + k != 0:
                                a_imag = band[IMAG + k * PITCH + t]
                            value -= a_imag * x_imag
                            imag += a * x_imag
                            imag += a_imag * x_real
            cuda.syncthreads()
            d += count
        if t < rows:
            store(sums, chunk * m + top + t, value, imag)

    letter = "f" if precision in "sc" else "d"
    return KernelSource(kernel, "ppp" + "ll" + "ll" + "l" + "lll" + "iii" + "pi" + letter, (real,) * 4, T)


def _diagonal_steps(parts, load, pitch, imaginary, x_imaginary):
    """Device functions: some diagonals of a block's rows into shared memory, neighbours by neighbours, and part of x.
    """
    T = DIAGONAL_THREADS

    @device
    def bring(A, top, rows, d, count, n, along_rows, along_columns, sign, order, t, band):
        spread = int32(rows)
        if order == ROWS_FAST:
            spread = int32(rows + count - 1)
        index = int32(t)
        while index < spread * count:
            if order == DIAGONALS_FAST:
                k, i = int32(index // rows), int32(index % rows)
            else:
                k, i = int32(index % count), int32(index // count)
                if order == ROWS_FAST:  # down a column
                    i = int32(i - k)
            row, column = top + i, top + i + d + k
            if i >= 0 and i < rows and column >= 0 and column < n:
                value, imag = load(A, row * along_rows + column * along_columns)
                band[k * pitch + i] = value
                if parts == 2:
                    band[imaginary + k * pitch + i] = imag * sign
            index = int32(index + T)

    @device
    def bring_x(x, first, count, n, x_step, t, xs):
        index = int32(t)
        while index < count:
            column = first + index
            if column >= 0 and column < n:
                value, imag = load(x, column * x_step)
                xs[index] = value
                if parts == 2:
                    xs[x_imaginary + index] = imag
            index = int32(index + T)

    return bring, bring_x


def finish_sums(precision: str) -> KernelSource:
    """y = alpha * (the sums that an earlier launch left, and x for a unit diagonal) + beta * y.

    alpha == 0 reads no sums, beta == 0 does not read y.

    Kernel arguments: addresses of the sums (count rows of n), x and y; n; count; step of x; step of y; splits: over
    how many threads (a power of two) each element's sums are spread; unit: whether x is added; addresses, mask and
    values of alpha and beta (scalars.py).
    """
    real, parts = REALS[precision], parts_of(precision)
    zero, one = real(0), real(1)
    SHARED = THREADS * parts
    load, store = loader(parts, zero), storer(parts)
    scalar = scalar_reader(parts, zero)
    scaled = _scaler(parts, zero, one)

    def kernel(sums, x, y, n, count, x_step, y_step, splits, unit, alpha_at, beta_at, scalars, alpha_real, alpha_imag,
               beta_real, beta_imag):
        shared = cuda.shared.array(SHARED, real)  # [split][element]
        alpha_real, alpha_imag = scalar(alpha_at, scalars, ALPHA_THERE, ALPHA_REAL, alpha_real, alpha_imag)
        beta_real, beta_imag = scalar(beta_at, scalars, BETA_THERE, BETA_REAL, beta_real, beta_imag)
        takes_sums = alpha_real != zero or alpha_imag != zero

        # 1. This thread's share of an element's sums.
        t = int32(cuda.threadIdx.x)
        width = int32(THREADS // splits)
        split, i = int32(t // width), int64(cuda.blockIdx.x) * width + int32(t % width)
        value, imag = zero, zero
        if takes_sums and i < n:
            part = int64(split)
            while part < count:
                more, more_imag = load(sums, part * n + i)
                value += more
                imag += more_imag
                part += splits

        # 2. The shares, in order.
        shared[t] = value
        if parts == 2:
            shared[THREADS + t] = imag
        cuda.syncthreads()
        if split != 0 or i >= n:
            return
        for s in range(1, splits):
            value += shared[s * width + t]
            if parts == 2:
                imag += shared[THREADS + s * width + t]

        # 3. The element of y.
        if takes_sums:
            if unit:
                more, more_imag = load(x, i * x_step)
                value += more
                imag += more_imag
            value, imag = scaled(value, imag, alpha_real, alpha_imag)
        if beta_real != zero or beta_imag != zero:
            old, old_imag = load(y, i * y_step)
            old, old_imag = scaled(old, old_imag, beta_real, beta_imag)
            value += old
            imag += old_imag
        store(y, i * y_step, value, imag)

    letter = "f" if precision in "sc" else "d"
    return KernelSource(kernel, "ppp" + "llll" + "ii" + "pp" + "i" + letter * 4, (real,) * 5, THREADS)


def _scaler(parts, zero, one):
    """Device function: a number times a scalar; times one it stays as it is, Inf too."""
    if parts == 1:
        @device
        def scaled(value, imag, by, by_imag):
            return value * by, zero
    else:
        @device
        def scaled(value, imag, by, by_imag):
            if by == one and by_imag == zero:
                return value, imag
            return value * by - imag * by_imag, value * by_imag + imag * by
    return scaled
