"""Columns: the input value under each tap of each output pixel, and the way back, which sums them."""

from __future__ import annotations

from gpublas.cuda.compile import KernelSource

from .common import CODE, REAL, indexing, int32, int64, window_index

THREADS = 128


def im2col(dtype: str, wide: bool) -> KernelSource:
    """columns[c, i, j, m, n, od, oh, ow] = x[n, c, od*sd - pd + i*dd, ...], zero in the padding.

    One thread writes all taps of one channel and pixel. by_channel: neighbour threads have neighbour channels, not
    pixels. The columns' eight strides c0..c7 make them a matrix in either order, and may run a kernel backwards.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)

    def kernel(x, columns, total, by_channel, channels, xd, xh, xw, kd, kh, kw, yd, yh, yw,
               sd, sh, sw, dd, dh, dw, pd, ph, pw, x0, x1, x2, x3, x4, c0, c1, c2, c3, c4, c5, c6, c7):
        # 1. The thread's channel c and pixel (n, od, oh, ow).
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
        # 2. Every tap.
        image = n * x0 + int64(c) * x1
        pixel = int64(c) * c0 + n * c4 + int64(od) * c5 + int64(oh) * c6 + int64(ow) * c7
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
                    value = real(0)
                    if d >= 0 and d < xd and h >= 0 and h < xh and w >= 0 and w < xw:
                        value = x[image + d * x2 + h * x3 + w * x4]
                    columns[pixel + i * c1 + j * c2 + m * c3] = value
                    w += dw
                    m = int32(m + 1)
                h += dh
                j = int32(j + 1)
            d += dd
            i = int32(i + 1)

    return KernelSource(kernel, "pp" + "l" * 34, (real, real), THREADS)


def col2im(dtype: str, wide: bool) -> KernelSource:
    """dx[n, c, d, h, w] = (sum of the columns that were read from there) + beta * dx; beta == 0 does not read dx.

    A gather: one thread sums one input value, in a fixed order. dx is a box of the input whose first pixel is
    (fd, fh, fw); the columns are those of the output pixels from (gd, gh, gw) on, (yd, yh, yw) of them, which are
    all that reach the box.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)
    landing = window_index()

    def kernel(columns, dx, total, by_channel, channels, xd, xh, xw, kd, kh, kw, yd, yh, yw,
               sd, sh, sw, dd, dh, dw, pd, ph, pw, fd, fh, fw, gd, gh, gw,
               x0, x1, x2, x3, x4, c0, c1, c2, c3, c4, c5, c6, c7, beta):
        # 1. The thread's channel c and input pixel (n, d, h, w), counted from the box.
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
        # 2. The taps through which an output pixel sees it: its reach (input pixel + padding - tap) is a multiple of
        #    the stride.
        base = int64(c) * c0 + n * c4
        value = real(0)
        d_taps, h_taps, w_taps = int32(kd), int32(kh), int32(kw)
        d_from, h_from, w_from = gd * sd, gh * sh, gw * sw
        i = int32(0)
        while i < d_taps:
            od = landing(int64(d) + fd + pd - i * dd - d_from, sd, yd)
            if od >= 0:
                j = int32(0)
                while j < h_taps:
                    oh = landing(int64(h) + fh + ph - j * dh - h_from, sh, yh)
                    if oh >= 0:
                        m = int32(0)
                        while m < w_taps:
                            ow = landing(int64(w) + fw + pw - m * dw - w_from, sw, yw)
                            if ow >= 0:
                                value += columns[base + i * c1 + j * c2 + m * c3 + od * c5 + oh * c6
                                                 + ow * c7]
                            m = int32(m + 1)
                    j = int32(j + 1)
            i = int32(i + 1)
        # 3. Stored.
        at = n * x0 + int64(c) * x1 + int64(d) * x2 + int64(h) * x3 + int64(w) * x4
        if beta != real(0):
            value += beta * dx[at]
        dx[at] = value

    return KernelSource(kernel, "pp" + "l" * 40 + CODE[dtype], (real, real), THREADS)
