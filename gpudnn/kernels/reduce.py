"""Sums over images: the bias gradient, and means of losses."""

from __future__ import annotations

from numba import cuda

from gpublas.cuda.compile import KernelSource

from .common import CODE, REAL, int32, int64, tree_sum

THREADS = 128


def row_sums(dtype: str) -> KernelSource:
    """out[k, chunk] = alpha * (sum of a part of a[:, k, :, :, :]) + beta * out[k, chunk], by a fixed tree.

    One block a channel k (blockIdx.x // chunks) and chunk. a: (N, K, D, H, W). The N*D*H*W positions are numbered;
    chunk c has those from c*span on, `span` of them. beta == 0 does not read out.
    """
    real = REAL[dtype]
    total = tree_sum(THREADS)

    def kernel(a, out, chunks, span, positions, d_extent, h_extent, w_extent, a0, a1, a2, a3, a4, o0, o1, alpha, beta):
        partial = cuda.shared.array(THREADS, real)
        lane = int32(cuda.threadIdx.x)
        channel, chunk = int64(cuda.blockIdx.x) // chunks, int64(cuda.blockIdx.x) % chunks
        # 1. The thread's first position, and its step of THREADS positions, as coordinates: later no division.
        at, stop = chunk * span + lane, min((chunk + 1) * span, positions)
        w, h, d, n = at % w_extent, at // w_extent % h_extent, at // (w_extent * h_extent) % d_extent, \
            at // (w_extent * h_extent * d_extent)
        step = int64(THREADS)
        step_w, step_h = step % w_extent, step // w_extent % h_extent
        step_d = step // (w_extent * h_extent) % d_extent
        step_n = step // (w_extent * h_extent * d_extent)
        # 2. Its own sum.
        value = real(0)
        while at < stop:
            value += a[n * a0 + channel * a1 + d * a2 + h * a3 + w * a4]
            at += step
            w += step_w
            h += step_h
            d += step_d
            n += step_n
            if w >= w_extent:
                w -= w_extent
                h += 1
            if h >= h_extent:
                h -= h_extent
                d += 1
            if d >= d_extent:
                d -= d_extent
                n += 1
        # 3. The block's sum.
        partial[lane] = value
        value = alpha * total(partial, lane, int32(0))
        if lane == 0:
            place = channel * o0 + chunk * o1
            if beta != real(0):
                value += beta * out[place]
            out[place] = value

    return KernelSource(kernel, "pp" + "l" * 13 + CODE[dtype] * 2, (real, real), THREADS)
