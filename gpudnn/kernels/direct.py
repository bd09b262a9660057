"""Direct convolution: each result is summed as the definition says, without workspace.

Every kernel gives a thread (or a block) `block` results that differ in one channel index only, so that what they
share is loaded once: 4 where a group has that many channels, 1 for depthwise convolutions.
"""

from __future__ import annotations

from numba import cuda

from gpublas.cuda.compile import KernelSource

from .common import CODE, REAL, indexing, int32, int64, tree_sum, window_index

THREADS = 128


def _inside():
    """`first(start, step)`, `last(start, step, count, extent)`: which taps of a window lie inside an axis.

    The window starts at `start` (negative in the padding before the image) and has `count` taps `step` apart.
    """

    @cuda.jit(device=True)
    def first(start, step):
        if start >= 0:
            return int32(0)
        return int32((step - 1 - start) // step)

    @cuda.jit(device=True)
    def last(start, step, count, extent):
        if start >= extent:
            return int32(0)
        return int32(min(count, (extent - 1 - start) // step + 1))

    return first, last


def forward(dtype: str, block: int, wide: bool) -> KernelSource:
    """y = alpha * conv(x, w) + bias + beta * y; one thread computes `block` filters at one output pixel.

    x: (N, C, D, H, W); w: (K, C/groups, KD, KH, KW); y: (N, K, OD, OH, OW). bias: read if has_bias. by_filter:
    neighbour threads have neighbour filters, not pixels (for channels-last images). blocks: filter blocks in a group.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)
    first, last = _inside()

    def kernel(x, w, bias, y, total, by_filter, has_bias, blocks, groups, group_channels, group_filters,
               xd, xh, xw, kd, kh, kw, yd, yh, yw, sd, sh, sw, dd, dh, dw, pd, ph, pw,
               x0, x1, x2, x3, x4, w0, w1, w2, w3, w4, y0, y1, y2, y3, y4, b0, alpha, beta):
        # 1. The thread's pixel (n, od, oh, ow) and first filter k.
        rest = number()
        if rest >= index(total):
            return
        piece = index(0)
        if by_filter != 0:
            rest, piece = split(rest, groups * blocks)
        rest, ow = split(rest, yw)
        rest, oh = split(rest, yh)
        rest, od = split(rest, yd)
        if by_filter == 0:
            rest, piece = split(rest, groups * blocks)
        n = int64(rest)
        group, inner = split(piece, blocks)
        live = int32(min(group_filters - int64(inner) * block, block))
        k = int64(group) * group_filters + int64(inner) * block
        # 2. The taps that lie inside the image; the others are padding and add nothing.
        d_start, h_start, w_start = int64(od) * sd - pd, int64(oh) * sh - ph, int64(ow) * sw - pw
        d_first, d_last = first(d_start, dd), last(d_start, dd, kd, xd)
        h_first, h_last = first(h_start, dh), last(h_start, dh, kh, xh)
        w_first, w_last = first(w_start, dw), last(w_start, dw, kw, xw)
        # 3. The filters' places; a block that reaches past its group reads its last filter again.
        place = cuda.local.array(block, int64)
        sums = cuda.local.array(block, real)
        for f in range(block):
            sums[f] = real(0)
            place[f] = (k + min(int32(f), int32(live - 1))) * w0
        # 4. The sums.
        image = n * x0 + int64(group) * group_channels * x1
        channels = int32(group_channels)
        c = int32(0)
        while c < channels:
            i = d_first
            while i < d_last:
                j = h_first
                while j < h_last:
                    at = image + (d_start + i * dd) * x2 + (h_start + j * dh) * x3 + (w_start + w_first * dw) * x4
                    tap = c * w1 + i * w2 + j * w3 + w_first * w4
                    m = w_first
                    while m < w_last:
                        value = x[at]
                        for f in range(block):
                            sums[f] += value * w[place[f] + tap]
                        at += dw * x4
                        tap += w4
                        m = int32(m + 1)
                    j = int32(j + 1)
                i = int32(i + 1)
            image += x1
            c = int32(c + 1)
        # 5. Scaled and stored.
        at = n * y0 + int64(od) * y2 + int64(oh) * y3 + int64(ow) * y4
        for f in range(block):
            if int32(f) < live:
                value = alpha * sums[f]
                if has_bias != 0:
                    value += bias[(k + f) * b0]
                if beta != real(0):
                    value += beta * y[at + (k + f) * y1]
                y[at + (k + f) * y1] = value

    return KernelSource(kernel, "pppp" + "l" * 41 + CODE[dtype] * 2, (real,) * 4, THREADS)


def backward_data(dtype: str, block: int, wide: bool) -> KernelSource:
    """dx = alpha * (gradient of conv by x, applied to dy) + beta * dx; one thread gathers `block` channels of a pixel.

    Shapes as in `forward`; by_channel: neighbour threads have neighbour channels; blocks: channel blocks in a group.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)
    landing = window_index()

    def kernel(dy, w, dx, total, by_channel, blocks, groups, group_channels, group_filters,
               xd, xh, xw, kd, kh, kw, yd, yh, yw, sd, sh, sw, dd, dh, dw, pd, ph, pw,
               x0, x1, x2, x3, x4, w0, w1, w2, w3, w4, y0, y1, y2, y3, y4, alpha, beta):
        # 1. The thread's input pixel (n, d, h, w) and first channel c within its group.
        rest = number()
        if rest >= index(total):
            return
        piece = index(0)
        if by_channel != 0:
            rest, piece = split(rest, groups * blocks)
        rest, column = split(rest, xw)
        rest, row = split(rest, xh)
        rest, slab = split(rest, xd)
        if by_channel == 0:
            rest, piece = split(rest, groups * blocks)
        n = int64(rest)
        group, inner = split(piece, blocks)
        c = int64(inner) * block
        live = int32(min(group_channels - c, block))
        place = cuda.local.array(block, int64)
        sums = cuda.local.array(block, real)
        for f in range(block):
            sums[f] = real(0)
            place[f] = (c + min(int32(f), int32(live - 1))) * w1
        # 2. The taps through which an output pixel sees this one: (pixel + padding - tap) is a multiple of the stride.
        filters = int32(group_filters)
        image = n * y0 + int64(group) * group_filters * y1
        weights = int64(group) * group_filters * w0
        d_taps, h_taps, w_taps = int32(kd), int32(kh), int32(kw)
        i = int32(0)
        while i < d_taps:
            od = landing(int64(slab) + pd - i * dd, sd, yd)
            if od >= 0:
                j = int32(0)
                while j < h_taps:
                    oh = landing(int64(row) + ph - j * dh, sh, yh)
                    if oh >= 0:
                        m = int32(0)
                        while m < w_taps:
                            ow = landing(int64(column) + pw - m * dw, sw, yw)
                            if ow >= 0:
                                # 3. That pixel's gradients through all filters of the group.
                                at = image + od * y2 + oh * y3 + ow * y4
                                tap = weights + i * w2 + j * w3 + m * w4
                                k = int32(0)
                                while k < filters:
                                    value = dy[at]
                                    for f in range(block):
                                        sums[f] += value * w[place[f] + tap]
                                    at += y1
                                    tap += w0
                                    k = int32(k + 1)
                            m = int32(m + 1)
                    j = int32(j + 1)
            i = int32(i + 1)
        # 4. Scaled and stored.
        at = n * x0 + int64(slab) * x2 + int64(row) * x3 + int64(column) * x4
        first = int64(group) * group_channels + c
        for f in range(block):
            if int32(f) < live:
                value = alpha * sums[f]
                if beta != real(0):
                    value += beta * dx[at + (first + f) * x1]
                dx[at + (first + f) * x1] = value

    return KernelSource(kernel, "ppp" + "l" * 39 + CODE[dtype] * 2, (real,) * 3, THREADS)


def backward_filter(dtype: str, block: int) -> KernelSource:
    """dw = alpha * (gradient of conv by w, applied to dy) + beta * dw.

    One block of threads computes `block` filters at one channel and tap: its threads share the N*OD*OH*OW positions,
    and a fixed tree adds their sums. blocks: filter blocks in a group. Shapes as in `forward`.
    """
    real = REAL[dtype]
    total = tree_sum(THREADS)
    slots = THREADS * block

    def kernel(x, dy, dw_out, blocks, batch, group_channels, group_filters,
               xd, xh, xw, kd, kh, kw, yd, yh, yw, sd, sh, sw, dd, dh, dw, pd, ph, pw,
               x0, x1, x2, x3, x4, w0, w1, w2, w3, w4, y0, y1, y2, y3, y4, alpha, beta):
        partial = cuda.shared.array(slots, real)
        lane = int32(cuda.threadIdx.x)
        # 1. The block's tap (i, j, m), channel c within its group, and first filter k.
        rest = int64(cuda.blockIdx.x)
        m, rest = rest % kw, rest // kw
        j, rest = rest % kh, rest // kh
        i, rest = rest % kd, rest // kd
        c, rest = rest % group_channels, rest // group_channels
        inner, group = rest % blocks, rest // blocks
        live = int32(min(group_filters - inner * block, block))
        k = group * group_filters + inner * block
        place = cuda.local.array(block, int64)
        sums = cuda.local.array(block, real)
        for f in range(block):
            sums[f] = real(0)
            place[f] = (k + min(int32(f), int32(live - 1))) * y1
        # 2. The thread's first position (n, od, oh, ow), and its step of THREADS positions as coordinates.
        pixels = yd * yh * yw
        at, stop, step = int64(lane), batch * pixels, int64(THREADS)
        ow, oh, od, n = at % yw, at // yw % yh, at // (yw * yh) % yd, at // pixels
        step_w, step_h, step_d, step_n = step % yw, step // yw % yh, step // (yw * yh) % yd, step // pixels
        image = (group * group_channels + c) * x1
        d_start, h_start, w_start = i * dd - pd, j * dh - ph, m * dw - pw
        # 3. Its own sums; positions whose tap falls into the padding add nothing.
        while at < stop:
            d, h, w = od * sd + d_start, oh * sh + h_start, ow * sw + w_start
            if d >= 0 and d < xd and h >= 0 and h < xh and w >= 0 and w < xw:
                value = x[image + n * x0 + d * x2 + h * x3 + w * x4]
                pixel = n * y0 + od * y2 + oh * y3 + ow * y4
                for f in range(block):
                    sums[f] += value * dy[pixel + place[f]]
            at += step
            ow += step_w
            oh += step_h
            od += step_d
            n += step_n
            if ow >= yw:
                ow -= yw
                oh += 1
            if oh >= yh:
                oh -= yh
                od += 1
            if od >= yd:
                od -= yd
                n += 1
        # 4. The block's sums, a tree for each filter.
        for f in range(block):
            partial[int32(f * THREADS) + lane] = sums[f]
        for f in range(block):
            value = alpha * total(partial, lane, int32(f * THREADS))
            if lane == 0 and int32(f) < live:
                target = (k + f) * w0 + c * w1 + i * w2 + j * w3 + m * w4
                if beta != real(0):
                    value += beta * dw_out[target]
                dw_out[target] = value

    return KernelSource(kernel, "ppp" + "l" * 37 + CODE[dtype] * 2, (real,) * 3, THREADS)
