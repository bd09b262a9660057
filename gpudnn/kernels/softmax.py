"""Row kernels: softmax, cross-entropy, and their gradients. A row is one line along the reduced axis.

A group of `width` threads has a row: 32 for short rows, 256 for long ones. Threads past the last row take part in
the barriers and store nothing. The other axes are the row's number split into four coordinates.
"""

from __future__ import annotations

import math

from numba import cuda

from gpublas.cuda.compile import KernelSource

from .common import CODE, INTEGER, REAL, indexing, int32, int64, tree_max, tree_sum

THREADS = 256


def _place(wide):
    """`row(rows, n1, n2, n3)`: (is there a row for this group, its four coordinates)."""
    index, _, split = indexing(wide, THREADS)

    def make(width):
        @cuda.jit(device=True)
        def row(rows, n1, n2, n3):
            groups = THREADS // width
            rest = index(index(cuda.blockIdx.x) * index(groups) + index(cuda.threadIdx.x // width))
            there = rest < index(rows)
            rest, i3 = split(rest, n3)
            rest, i2 = split(rest, n2)
            rest, i1 = split(rest, n1)
            return there, int64(rest), int64(i1), int64(i2), int64(i3)

        return row

    return make


def _exponentials(real, width):
    """`reduce(values, lane, base, x, start, stride, count, there)`: (maximum of a row, sum of exp(x - maximum)).

    The sum is at least 1, so its logarithm and reciprocal are safe: Goodfellow, Bengio, Courville, Deep Learning
    (2016), section 4.1.
    """
    greatest, total = tree_max(width), tree_sum(width)

    @cuda.jit(device=True)
    def reduce(values, lane, base, x, start, stride, count, there):
        top = real(-math.inf)
        c = int64(lane)
        while there and c < count:
            value = x[start + c * stride]
            if value > top or value != value:
                top = value
            c += width
        values[base + lane] = top
        top = greatest(values, lane, base)
        value = real(0)
        c = int64(lane)
        while there and c < count:
            value += math.exp(x[start + c * stride] - top)
            c += width
        values[base + lane] = value
        return top, total(values, lane, base)

    return reduce


def forward(dtype: str, width: int, wide: bool) -> KernelSource:
    """y = exp(x - max) / sum(exp(x - max)) along rows of `count` values, xs and ys apart."""
    real = REAL[dtype]
    place, reduce = _place(wide)(width), _exponentials(real, width)

    def kernel(x, y, rows, count, n1, n2, n3, x0, x1, x2, x3, xs, y0, y1, y2, y3, ys):
        values = cuda.shared.array(THREADS, real)
        # 1. The group's row.
        there, r0, r1, r2, r3 = place(rows, n1, n2, n3)
        lane = int32(cuda.threadIdx.x % width)
        base = int32(cuda.threadIdx.x - lane)
        start = r0 * x0 + r1 * x1 + r2 * x2 + r3 * x3
        # 2. Its maximum and its sum.
        top, whole = reduce(values, lane, base, x, start, xs, count, there)
        # 3. The quotients.
        target = r0 * y0 + r1 * y1 + r2 * y2 + r3 * y3
        c = int64(lane)
        while there and c < count:
            y[target + c * ys] = math.exp(x[start + c * xs] - top) / whole
            c += width

    return KernelSource(kernel, "pp" + "l" * 15, (real, real), THREADS)


def backward(dtype: str, width: int, wide: bool) -> KernelSource:
    """dx = y * (dy - sum(dy * y)) along rows; y is the forward result."""
    real = REAL[dtype]
    place, total = _place(wide)(width), tree_sum(width)

    def kernel(dy, y, dx, rows, count, n1, n2, n3, d0, d1, d2, d3, ds, y0, y1, y2, y3, ys, x0, x1, x2, x3, xs):
        values = cuda.shared.array(THREADS, real)
        # 1. The group's row.
        there, r0, r1, r2, r3 = place(rows, n1, n2, n3)
        lane = int32(cuda.threadIdx.x % width)
        base = int32(cuda.threadIdx.x - lane)
        start_d = r0 * d0 + r1 * d1 + r2 * d2 + r3 * d3
        start_y = r0 * y0 + r1 * y1 + r2 * y2 + r3 * y3
        # 2. sum(dy * y).
        value = real(0)
        c = int64(lane)
        while there and c < count:
            value += dy[start_d + c * ds] * y[start_y + c * ys]
            c += width
        values[base + lane] = value
        mean = total(values, lane, base)
        # 3. The gradient.
        target = r0 * x0 + r1 * x1 + r2 * x2 + r3 * x3
        c = int64(lane)
        while there and c < count:
            dx[target + c * xs] = y[start_y + c * ys] * (dy[start_d + c * ds] - mean)
            c += width

    return KernelSource(kernel, "ppp" + "l" * 20, (real,) * 3, THREADS)


def cross_entropy(dtype: str, integer: str, width: int, wide: bool) -> KernelSource:
    """loss = log(sum(exp(x - max))) - (x[target] - max) for each row; NaN where the target is no class."""
    real = REAL[dtype]
    place, reduce = _place(wide)(width), _exponentials(real, width)

    def kernel(x, targets, loss, rows, count, n1, n2, n3, x0, x1, x2, x3, xs, t0, t1, t2, t3, l0, l1, l2, l3):
        values = cuda.shared.array(THREADS, real)
        # 1. The group's row.
        there, r0, r1, r2, r3 = place(rows, n1, n2, n3)
        lane = int32(cuda.threadIdx.x % width)
        base = int32(cuda.threadIdx.x - lane)
        start = r0 * x0 + r1 * x1 + r2 * x2 + r3 * x3
        # 2. Its maximum and its sum.
        top, whole = reduce(values, lane, base, x, start, xs, count, there)
        # 3. The loss, stored by one thread.
        if there and lane == 0:
            wanted = int64(targets[r0 * t0 + r1 * t1 + r2 * t2 + r3 * t3])
            value = real(math.nan)
            if wanted >= 0 and wanted < count:
                value = math.log(whole) - (x[start + wanted * xs] - top)
            loss[r0 * l0 + r1 * l1 + r2 * l2 + r3 * l3] = value

    return KernelSource(kernel, "ppp" + "l" * 18, (real, INTEGER[integer], real), THREADS)


def cross_entropy_backward(dtype: str, integer: str, width: int, wide: bool) -> KernelSource:
    """dx = scale * dloss * (softmax(x) - one_hot(target)) for each row; NaN where the target is no class.

    dloss: one value a row, its strides zero for one value in all; not read unless has_dloss.
    """
    real = REAL[dtype]
    place, reduce = _place(wide)(width), _exponentials(real, width)

    def kernel(x, targets, dloss, dx, rows, count, n1, n2, n3, x0, x1, x2, x3, xs, t0, t1, t2, t3, l0, l1, l2, l3,
               d0, d1, d2, d3, ds, has_dloss, scale):
        values = cuda.shared.array(THREADS, real)
        # 1. The group's row.
        there, r0, r1, r2, r3 = place(rows, n1, n2, n3)
        lane = int32(cuda.threadIdx.x % width)
        base = int32(cuda.threadIdx.x - lane)
        start = r0 * x0 + r1 * x1 + r2 * x2 + r3 * x3
        # 2. Its maximum and its sum.
        top, whole = reduce(values, lane, base, x, start, xs, count, there)
        # 3. The gradient.
        if there:
            wanted = int64(targets[r0 * t0 + r1 * t1 + r2 * t2 + r3 * t3])
            factor = scale
            if has_dloss != 0:
                factor *= dloss[r0 * l0 + r1 * l1 + r2 * l2 + r3 * l3]
            if wanted < 0 or wanted >= count:
                factor = real(math.nan)
            target = r0 * d0 + r1 * d1 + r2 * d2 + r3 * d3
            c = int64(lane)
            while c < count:
                value = math.exp(x[start + c * xs] - top) / whole
                if c == wanted:
                    value -= real(1)
                dx[target + c * ds] = factor * value
                c += width

    return KernelSource(kernel, "pppp" + "l" * 24 + CODE[dtype], (real, INTEGER[integer], real, real), THREADS)
