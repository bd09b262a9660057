"""Max pooling and its gradient."""

from __future__ import annotations

import math

from gpublas.cuda.compile import KernelSource

from .common import REAL, indexing, int32, int64, window_index

THREADS = 128


def max_forward(dtype: str, wide: bool) -> KernelSource:
    """y = the largest value under each window, indices = its place (d*H + h)*W + w in the image plane.

    One thread an output value. The first of equal values and the first NaN win; a window without any pixel gives
    -inf and index -1. indices is written if has_indices. by_channel: neighbour threads have neighbour channels.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)

    def kernel(x, y, indices, total, by_channel, has_indices, channels, xd, xh, xw, kd, kh, kw, yd, yh, yw,
               sd, sh, sw, dd, dh, dw, pd, ph, pw, x0, x1, x2, x3, x4, y0, y1, y2, y3, y4, i0, i1, i2, i3, i4):
        # 1. The thread's channel c and window (n, od, oh, ow).
        rest = number()
        if rest >= index(total):
            return
        c = index(0)
        if by_channel != 0:
            rest, c = split(rest, channels)
        rest, ow = split(rest, yw)
        rest, oh = split(rest, yh)
        rest, od = split(rest, yd)
        if by_channel == 0:
            rest, c = split(rest, channels)
        n = int64(rest)
        # 2. The largest value of the window's pixels.
        image = n * x0 + int64(c) * x1
        best = real(-math.inf)
        best_at = int64(-1)
        d_taps, h_taps, w_taps = int32(kd), int32(kh), int32(kw)
        d = int64(od) * sd - pd
        i = int32(0)
        while i < d_taps:
            h = int64(oh) * sh - ph
            j = int32(0)
            while j < h_taps:
                w = int64(ow) * sw - pw
                m = int32(0)
                while m < w_taps:
                    if d >= 0 and d < xd and h >= 0 and h < xh and w >= 0 and w < xw:
                        value = x[image + d * x2 + h * x3 + w * x4]
                        if best_at < 0 or value > best or (value != value and best == best):
                            best = value
                            best_at = (d * xh + h) * xw + w
                    w += dw
                    m = int32(m + 1)
                h += dh
                j = int32(j + 1)
            d += dd
            i = int32(i + 1)
        # 3. Stored.
        y[n * y0 + int64(c) * y1 + int64(od) * y2 + int64(oh) * y3 + int64(ow) * y4] = best
        if has_indices != 0:
            indices[n * i0 + int64(c) * i1 + int64(od) * i2 + int64(oh) * i3 + int64(ow) * i4] = best_at

    return KernelSource(kernel, "ppp" + "l" * 37, (real, real, int64), THREADS)


def max_backward(dtype: str, wide: bool) -> KernelSource:
    """dx = the sum of dy over the windows whose largest value stands there, by `indices`.

    A gather: one thread sums one input value, in a fixed order, so overlapping windows need no atomics.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)
    landing = window_index()

    def kernel(dy, indices, dx, total, by_channel, channels, xd, xh, xw, kd, kh, kw, yd, yh, yw,
               sd, sh, sw, dd, dh, dw, pd, ph, pw, x0, x1, x2, x3, x4, y0, y1, y2, y3, y4, i0, i1, i2, i3, i4):
        # 1. The thread's channel c and input pixel (n, d, h, w).
        rest = number()
        if rest >= index(total):
            return
        c = index(0)
        if by_channel != 0:
            rest, c = split(rest, channels)
        rest, w = split(rest, xw)
        rest, h = split(rest, xh)
        rest, d = split(rest, xd)
        if by_channel == 0:
            rest, c = split(rest, channels)
        n = int64(rest)
        here = (int64(d) * xh + int64(h)) * xw + int64(w)
        # 2. The windows that contain it: their reach (pixel + padding - tap) is a multiple of the stride.
        value = real(0)
        d_taps, h_taps, w_taps = int32(kd), int32(kh), int32(kw)
        i = int32(0)
        while i < d_taps:
            od = landing(int64(d) + pd - i * dd, sd, yd)
            if od >= 0:
                j = int32(0)
                while j < h_taps:
                    oh = landing(int64(h) + ph - j * dh, sh, yh)
                    if oh >= 0:
                        m = int32(0)
                        while m < w_taps:
                            ow = landing(int64(w) + pw - m * dw, sw, yw)
                            if ow >= 0 and \
                                    indices[n * i0 + int64(c) * i1 + od * i2 + oh * i3 + ow * i4] == here:
                                value += dy[n * y0 + int64(c) * y1 + od * y2 + oh * y3 + ow * y4]
                            m = int32(m + 1)
                    j = int32(j + 1)
            i = int32(i + 1)
        # 3. Stored.
        dx[n * x0 + int64(c) * x1 + int64(d) * x2 + int64(h) * x3 + int64(w) * x4] = value

    return KernelSource(kernel, "ppp" + "l" * 36, (real, int64, real), THREADS)
