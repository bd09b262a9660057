"""Host loops over elements, images and rows: scaled copies, activations, sums, pooling, softmax, cross-entropy."""

from __future__ import annotations

import math

import numpy as np

from .jit import inline, loop, pointer


@inline
def _place(index, extents):
    """The coordinates (i0, ..., i4) of element `index` of a shape."""
    i4, rest = index % extents[4], index // extents[4]
    i3, rest = rest % extents[3], rest // extents[3]
    i2, rest = rest % extents[2], rest // extents[2]
    return rest // extents[1], rest % extents[1], i2, i3, i4


@inline
def _offset(place, strides):
    return (place[0] * strides[0] + place[1] * strides[1] + place[2] * strides[2] + place[3] * strides[3]
            + place[4] * strides[4])


@loop
def axpby(start, stop, out, a, b, extents, os, sa, sb, alpha, beta):
    """out = alpha * a + beta * out; alpha == 0 does not read a, beta == 0 does not read out. b is not used."""
    out_at, a_at = pointer(out, alpha), pointer(a, alpha)
    at = start
    while at < stop:
        place = _place(at, extents)
        run = min(extents[4] - place[4], stop - at)
        to, source = _offset(place, os), _offset(place, sa)
        if alpha == 0 and beta == 0:
            for e in range(run):
                out_at[to + e * os[4]] = 0
        elif alpha == 0:
            for e in range(run):
                out_at[to + e * os[4]] *= beta
        elif beta == 0:
            for e in range(run):
                out_at[to + e * os[4]] = alpha * a_at[source + e * sa[4]]
        else:
            for e in range(run):
                out_at[to + e * os[4]] = alpha * a_at[source + e * sa[4]] + beta * out_at[to + e * os[4]]
        at += run


@loop
def relu(start, stop, out, a, b, extents, os, sa, sb, alpha, beta):
    """out = a where a > 0 or NaN, else 0."""
    out_at, a_at = pointer(out, alpha), pointer(a, alpha)
    at = start
    while at < stop:
        place = _place(at, extents)
        run = min(extents[4] - place[4], stop - at)
        to, source = _offset(place, os), _offset(place, sa)
        for e in range(run):
            value = a_at[source + e * sa[4]]
            out_at[to + e * os[4]] = type(alpha)(0) if value <= 0 else value
        at += run


@loop
def relu_backward(start, stop, out, a, b, extents, os, sa, sb, alpha, beta):
    """out = a where b > 0 or NaN, else 0."""
    out_at, a_at, b_at = pointer(out, alpha), pointer(a, alpha), pointer(b, alpha)
    at = start
    while at < stop:
        place = _place(at, extents)
        run = min(extents[4] - place[4], stop - at)
        to, source, other = _offset(place, os), _offset(place, sa), _offset(place, sb)
        for e in range(run):
            value = a_at[source + e * sa[4]]
            out_at[to + e * os[4]] = type(alpha)(0) if b_at[other + e * sb[4]] <= 0 else value
        at += run


@loop
def row_sums(start, stop, a, out, extents, strides, out_stride, alpha, beta):
    """out[k] = alpha * (sum of a[:, k, :, :, :]) + beta * out[k] for a range of k; sums in float64."""
    a_at, out_at = pointer(a, alpha), pointer(out, alpha)
    for k in range(start, stop):
        whole = 0.0
        for n in range(extents[0]):
            for d in range(extents[2]):
                for h in range(extents[3]):
                    at = n * strides[0] + k * strides[1] + d * strides[2] + h * strides[3]
                    for w in range(extents[4]):
                        whole += a_at[at + w * strides[4]]
        value = type(alpha)(alpha * whole)
        if beta != 0:
            value += beta * out_at[k * out_stride]
        out_at[k * out_stride] = value


@loop
def max_forward(start, stop, x, y, indices, by_channel, has_indices, channels, xe, ke, ye, stride, dilation, padding,
                xs, ys, ies, zero):
    """Largest value under each window, and its place in the image plane, for a range of (n, od, oh).

    The first of equal values and the first NaN win; a window without any pixel gives -inf and index -1.
    """
    x_at, y_at, indices_at = pointer(x, zero), pointer(y, zero), pointer(indices, np.int64(0))
    inner = ye[2] * channels
    for item in range(start, stop):
        oh, rest = item % ye[1], item // ye[1]
        od, n = rest % ye[0], rest // ye[0]
        for e in range(inner):
            if by_channel:
                c, ow = e % channels, e // channels
            else:
                ow, c = e % ye[2], e // ye[2]
            best = type(zero)(-math.inf)
            best_at = -1
            image = n * xs[0] + c * xs[1]
            for i in range(ke[0]):
                d = od * stride[0] - padding[0] + i * dilation[0]
                if d < 0 or d >= xe[0]:
                    continue
                for j in range(ke[1]):
                    h = oh * stride[1] - padding[1] + j * dilation[1]
                    if h < 0 or h >= xe[1]:
                        continue
                    for m in range(ke[2]):
                        w = ow * stride[2] - padding[2] + m * dilation[2]
                        if w < 0 or w >= xe[2]:
                            continue
                        value = x_at[image + d * xs[2] + h * xs[3] + w * xs[4]]
                        if best_at < 0 or value > best or (value != value and best == best):
                            best = value
                            best_at = (d * xe[1] + h) * xe[2] + w
            y_at[n * ys[0] + c * ys[1] + od * ys[2] + oh * ys[3] + ow * ys[4]] = best
            if has_indices:
                indices_at[n * ies[0] + c * ies[1] + od * ies[2] + oh * ies[3] + ow * ies[4]] = best_at


@inline
def _landing(reach, step, count):
    if reach < 0 or reach >= count * step or reach % step != 0:
        return -1
    return reach // step


@loop
def max_backward(start, stop, dy, indices, dx, by_channel, channels, xe, ke, ye, stride, dilation, padding,
                 xs, ys, ies, zero):
    """dx = the sum of dy over the windows whose largest value stands there, for a range of (n, d, h)."""
    dy_at, indices_at, dx_at = pointer(dy, zero), pointer(indices, np.int64(0)), pointer(dx, zero)
    inner = xe[2] * channels
    for item in range(start, stop):
        h, rest = item % xe[1], item // xe[1]
        d, n = rest % xe[0], rest // xe[0]
        for e in range(inner):
            if by_channel:
                c, w = e % channels, e // channels
            else:
                w, c = e % xe[2], e // xe[2]
            here = (d * xe[1] + h) * xe[2] + w
            value = zero
            for i in range(ke[0]):
                od = _landing(d + padding[0] - i * dilation[0], stride[0], ye[0])
                if od < 0:
                    continue
                for j in range(ke[1]):
                    oh = _landing(h + padding[1] - j * dilation[1], stride[1], ye[1])
                    if oh < 0:
                        continue
                    for m in range(ke[2]):
                        ow = _landing(w + padding[2] - m * dilation[2], stride[2], ye[2])
                        if ow < 0:
                            continue
                        if indices_at[n * ies[0] + c * ies[1] + od * ies[2] + oh * ies[3] + ow * ies[4]] == here:
                            value += dy_at[n * ys[0] + c * ys[1] + od * ys[2] + oh * ys[3] + ow * ys[4]]
            dx_at[n * xs[0] + c * xs[1] + d * xs[2] + h * xs[3] + w * xs[4]] = value


# Rows: `extents` are four axes that number the rows; strides have a fifth entry, the step along a row.


@inline
def _row(index, extents, strides):
    """The offset of row `index`."""
    i3, rest = index % extents[3], index // extents[3]
    i2, rest = rest % extents[2], rest // extents[2]
    return rest // extents[1] * strides[0] + rest % extents[1] * strides[1] + i2 * strides[2] + i3 * strides[3]


@inline
def _exponentials(x_at, at, step, count, zero):
    """(maximum of a row, sum of exp(x - maximum)); the sum in float64. A NaN makes the maximum NaN."""
    top = type(zero)(-math.inf)
    for c in range(count):
        value = x_at[at + c * step]
        if value > top or value != value:
            top = value
    whole = 0.0
    for c in range(count):
        whole += math.exp(x_at[at + c * step] - top)
    return top, whole


@loop
def softmax(start, stop, x, y, count, extents, xs, ys, zero):
    """y = exp(x - max) / sum(exp(x - max)) for a range of rows."""
    x_at, y_at = pointer(x, zero), pointer(y, zero)
    for row in range(start, stop):
        at, to = _row(row, extents, xs), _row(row, extents, ys)
        top, whole = _exponentials(x_at, at, xs[4], count, zero)
        for c in range(count):
            y_at[to + c * ys[4]] = math.exp(x_at[at + c * xs[4]] - top) / whole


@loop
def softmax_backward(start, stop, dy, y, dx, count, extents, ds, ys, xs, zero):
    """dx = y * (dy - sum(dy * y)) for a range of rows."""
    dy_at, y_at, dx_at = pointer(dy, zero), pointer(y, zero), pointer(dx, zero)
    for row in range(start, stop):
        at, other, to = _row(row, extents, ds), _row(row, extents, ys), _row(row, extents, xs)
        mean = 0.0
        for c in range(count):
            mean += dy_at[at + c * ds[4]] * y_at[other + c * ys[4]]
        for c in range(count):
            dx_at[to + c * xs[4]] = y_at[other + c * ys[4]] * (dy_at[at + c * ds[4]] - type(zero)(mean))


@loop
def cross_entropy(start, stop, x, targets, loss, count, extents, xs, ts, ls, zero, integer):
    """loss = log(sum(exp(x - max))) - (x[target] - max) for a range of rows; NaN where the target is no class."""
    x_at, targets_at, loss_at = pointer(x, zero), pointer(targets, integer), pointer(loss, zero)
    for row in range(start, stop):
        at = _row(row, extents, xs)
        wanted = targets_at[_row(row, extents, ts)]
        value = math.nan
        if wanted >= 0 and wanted < count:
            top, whole = _exponentials(x_at, at, xs[4], count, zero)
            value = math.log(whole) - (x_at[at + wanted * xs[4]] - top)
        loss_at[_row(row, extents, ls)] = value


@loop
def cross_entropy_backward(start, stop, x, targets, dloss, dx, has_dloss, count, extents, xs, ts, ls, ds, scale,
                           integer):
    """dx = scale * dloss * (softmax(x) - one_hot(target)) for a range of rows; NaN where the target is no class."""
    x_at, targets_at = pointer(x, scale), pointer(targets, integer)
    dloss_at, dx_at = pointer(dloss, scale), pointer(dx, scale)
    for row in range(start, stop):
        at, to = _row(row, extents, xs), _row(row, extents, ds)
        wanted = targets_at[_row(row, extents, ts)]
        factor = scale
        if has_dloss:
            factor = scale * dloss_at[_row(row, extents, ls)]
        if wanted < 0 or wanted >= count:
            factor = type(scale)(math.nan)
        top, whole = _exponentials(x_at, at, xs[4], count, scale)
        for c in range(count):
            value = math.exp(x_at[at + c * xs[4]] - top) / whole
            if c == wanted:
                value -= 1.0
            dx_at[to + c * ds[4]] = factor * value
