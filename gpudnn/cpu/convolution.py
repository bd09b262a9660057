"""Host loops of convolution: direct in three directions, columns and back.

Axes as in views.py, strides in elements, geometry as tuples (D, H, W). Direct loops compute `BLOCK` channels of one
image row at a time, in a row buffer: the inner loop runs along W for all of them, so what they share is loaded once.
"""

from __future__ import annotations

import numpy as np

from .jit import inline, loop, pointer

BLOCK = 4


@inline
def _span(offset, step, count, extent):
    """(first, last): the window starts t, 0 <= t < count, for which 0 <= t*step + offset < extent."""
    first = 0 if offset >= 0 else (-offset + step - 1) // step
    last = (extent - 1 - offset) // step + 1 if extent > offset else 0
    return first, min(last, count)


@inline
def _landing(reach, step, count):
    """The window that starts `reach` after the first one, windows `step` apart; -1 where there is none."""
    if reach < 0 or reach >= count * step or reach % step != 0:
        return -1
    return reach // step


@loop
def direct_forward(start, stop, x, w, bias, y, has_bias, groups, group_channels, group_filters, xe, ke, ye,
                   stride, dilation, padding, xs, ws, ys, bias_stride, alpha, beta):
    """y = alpha * conv(x, w) + bias + beta * y for a range of (n, od, oh, group, filter block)."""
    x_at, w_at, bias_at, y_at = pointer(x, alpha), pointer(w, alpha), pointer(bias, alpha), pointer(y, alpha)
    blocks = (group_filters + BLOCK - 1) // BLOCK
    width = ye[2]
    rows = np.empty(BLOCK * width, type(alpha))
    for item in range(start, stop):
        block, rest = item % blocks, item // blocks
        group, rest = rest % groups, rest // groups
        oh, rest = rest % ye[1], rest // ye[1]
        od, n = rest % ye[0], rest // ye[0]
        live = min(BLOCK, group_filters - block * BLOCK)
        k = group * group_filters + block * BLOCK
        rows[:] = 0
        # Filters past the group read its last one again.
        k1, k2, k3 = min(1, live - 1) * ws[0], min(2, live - 1) * ws[0], min(3, live - 1) * ws[0]
        for c in range(group_channels):
            for i in range(ke[0]):
                d = od * stride[0] - padding[0] + i * dilation[0]
                if d < 0 or d >= xe[0]:
                    continue
                for j in range(ke[1]):
                    h = oh * stride[1] - padding[1] + j * dilation[1]
                    if h < 0 or h >= xe[1]:
                        continue
                    for m in range(ke[2]):
                        offset = m * dilation[2] - padding[2]
                        first, last = _span(offset, stride[2], width, xe[2])
                        tap = k * ws[0] + c * ws[1] + i * ws[2] + j * ws[3] + m * ws[4]
                        w0, w1, w2, w3 = w_at[tap], w_at[tap + k1], w_at[tap + k2], w_at[tap + k3]
                        at = n * xs[0] + (group * group_channels + c) * xs[1] + d * xs[2] + h * xs[3] + offset * xs[4]
                        step = stride[2] * xs[4]
                        for ow in range(first, last):
                            value = x_at[at + ow * step]
                            rows[ow] += value * w0
                            rows[width + ow] += value * w1
                            rows[2 * width + ow] += value * w2
                            rows[3 * width + ow] += value * w3
        for f in range(live):
            at = n * ys[0] + (k + f) * ys[1] + od * ys[2] + oh * ys[3]
            shift = bias_at[(k + f) * bias_stride] if has_bias else type(alpha)(0)
            for ow in range(width):
                value = alpha * rows[f * width + ow] + shift
                if beta != 0:
                    value += beta * y_at[at + ow * ys[4]]
                y_at[at + ow * ys[4]] = value


@loop
def direct_backward_data(start, stop, dy, w, dx, groups, group_channels, group_filters, xe, ke, ye,
                         stride, dilation, padding, xs, ws, ys, alpha, beta):
    """dx = alpha * (gradient by x) + beta * dx for a range of (n, d, h, group, channel block)."""
    dy_at, w_at, dx_at = pointer(dy, alpha), pointer(w, alpha), pointer(dx, alpha)
    blocks = (group_channels + BLOCK - 1) // BLOCK
    width = xe[2]
    rows = np.empty(BLOCK * width, type(alpha))
    for item in range(start, stop):
        block, rest = item % blocks, item // blocks
        group, rest = rest % groups, rest // groups
        h, rest = rest % xe[1], rest // xe[1]
        d, n = rest % xe[0], rest // xe[0]
        c = block * BLOCK
        live = min(BLOCK, group_channels - c)
        rows[:] = 0
        c1, c2, c3 = min(1, live - 1) * ws[1], min(2, live - 1) * ws[1], min(3, live - 1) * ws[1]
        for i in range(ke[0]):
            od = _landing(d + padding[0] - i * dilation[0], stride[0], ye[0])
            if od < 0:
                continue
            for j in range(ke[1]):
                oh = _landing(h + padding[1] - j * dilation[1], stride[1], ye[1])
                if oh < 0:
                    continue
                for f in range(group_filters):
                    k = group * group_filters + f
                    at = n * ys[0] + k * ys[1] + od * ys[2] + oh * ys[3]
                    for m in range(ke[2]):
                        offset = m * dilation[2] - padding[2]
                        first, last = _span(offset, stride[2], ye[2], width)
                        tap = k * ws[0] + c * ws[1] + i * ws[2] + j * ws[3] + m * ws[4]
                        w0, w1, w2, w3 = w_at[tap], w_at[tap + c1], w_at[tap + c2], w_at[tap + c3]
                        for ow in range(first, last):
                            value = dy_at[at + ow * ys[4]]
                            place = ow * stride[2] + offset
                            rows[place] += value * w0
                            rows[width + place] += value * w1
                            rows[2 * width + place] += value * w2
                            rows[3 * width + place] += value * w3
        for f in range(live):
            at = n * xs[0] + (group * group_channels + c + f) * xs[1] + d * xs[2] + h * xs[3]
            for column in range(width):
                value = alpha * rows[f * width + column]
                if beta != 0:
                    value += beta * dx_at[at + column * xs[4]]
                dx_at[at + column * xs[4]] = value


@loop
def direct_backward_filter(start, stop, x, dy, dw, batch, group_channels, group_filters, xe, ke, ye,
                           stride, dilation, padding, xs, ws, ys, alpha, beta):
    """dw = alpha * (gradient by w) + beta * dw for a range of (group, filter block, channel).

    A sum is split over the places of a row, then over the row, so it is short in either step.
    """
    x_at, dy_at, dw_at = pointer(x, alpha), pointer(dy, alpha), pointer(dw, alpha)
    blocks = (group_filters + BLOCK - 1) // BLOCK
    width = ye[2]
    rows = np.empty(BLOCK * width, type(alpha))
    for item in range(start, stop):
        c, rest = item % group_channels, item // group_channels
        block, group = rest % blocks, rest // blocks
        live = min(BLOCK, group_filters - block * BLOCK)
        k = group * group_filters + block * BLOCK
        k1, k2, k3 = min(1, live - 1) * ys[1], min(2, live - 1) * ys[1], min(3, live - 1) * ys[1]
        for i in range(ke[0]):
            for j in range(ke[1]):
                for m in range(ke[2]):
                    rows[:] = 0
                    offset = m * dilation[2] - padding[2]
                    first, last = _span(offset, stride[2], width, xe[2])
                    step = stride[2] * xs[4]
                    for n in range(batch):
                        for od in range(ye[0]):
                            d = od * stride[0] - padding[0] + i * dilation[0]
                            if d < 0 or d >= xe[0]:
                                continue
                            for oh in range(ye[1]):
                                h = oh * stride[1] - padding[1] + j * dilation[1]
                                if h < 0 or h >= xe[1]:
                                    continue
                                at = n * xs[0] + (group * group_channels + c) * xs[1] + d * xs[2] + h * xs[3] \
                                    + offset * xs[4]
                                out = n * ys[0] + k * ys[1] + od * ys[2] + oh * ys[3]
                                for ow in range(first, last):
                                    value = x_at[at + ow * step]
                                    place = out + ow * ys[4]
                                    rows[ow] += value * dy_at[place]
                                    rows[width + ow] += value * dy_at[place + k1]
                                    rows[2 * width + ow] += value * dy_at[place + k2]
                                    rows[3 * width + ow] += value * dy_at[place + k3]
                    for f in range(live):
                        whole = type(alpha)(0)
                        for ow in range(first, last):
                            whole += rows[f * width + ow]
                        value = alpha * whole
                        at = (k + f) * ws[0] + c * ws[1] + i * ws[2] + j * ws[3] + m * ws[4]
                        if beta != 0:
                            value += beta * dw_at[at]
                        dw_at[at] = value


@loop
def im2col(start, stop, x, columns, by_channel, channels, xe, ke, ye, stride, dilation, padding, xs, cs, zero):
    """columns[c, i, j, m, n, od, oh, ow] = x[n, c, od*stride - padding + i*dilation, ...], zero in the padding, for a
    range of (n, od, oh). by_channel: channels are the columns' innermost axis, else pixels are."""
    x_at, columns_at = pointer(x, zero), pointer(columns, zero)
    for item in range(start, stop):
        oh, rest = item % ye[1], item // ye[1]
        od, n = rest % ye[0], rest // ye[0]
        for i in range(ke[0]):
            d = od * stride[0] - padding[0] + i * dilation[0]
            for j in range(ke[1]):
                h = oh * stride[1] - padding[1] + j * dilation[1]
                inside = d >= 0 and d < xe[0] and h >= 0 and h < xe[1]
                for m in range(ke[2]):
                    offset = m * dilation[2] - padding[2]
                    first, last = _span(offset, stride[2], ye[2], xe[2])
                    if not inside:
                        first, last = ye[2], ye[2]
                    first = min(first, ye[2])
                    last = max(first, last)
                    source = n * xs[0] + d * xs[2] + h * xs[3] + offset * xs[4]
                    target = i * cs[1] + j * cs[2] + m * cs[3] + n * cs[4] + od * cs[5] + oh * cs[6]
                    step = stride[2] * xs[4]
                    if by_channel:
                        for ow in range(ye[2]):
                            if ow < first or ow >= last:
                                for c in range(channels):
                                    columns_at[target + c * cs[0] + ow * cs[7]] = zero
                            else:
                                for c in range(channels):
                                    columns_at[target + c * cs[0] + ow * cs[7]] = x_at[source + c * xs[1] + ow * step]
                    else:
                        for c in range(channels):
                            for ow in range(first):
                                columns_at[target + c * cs[0] + ow * cs[7]] = zero
                            for ow in range(first, last):
                                columns_at[target + c * cs[0] + ow * cs[7]] = x_at[source + c * xs[1] + ow * step]
                            for ow in range(last, ye[2]):
                                columns_at[target + c * cs[0] + ow * cs[7]] = zero


@loop
def col2im(start, stop, columns, dx, by_channel, channels, xe, ke, ye, stride, dilation, padding, box, out_box,
           xs, cs, beta):
    """dx[n, c, d, h, w] = (sum of the columns read from there) + beta * dx for a range of (n, d, h).

    dx is the part of the input that starts at pixel `box` and has extents xe; the columns are those of the output
    pixels from `out_box` on, ye of them, all that reach the part. One range owns a whole row, so nothing races.
    """
    columns_at, dx_at = pointer(columns, beta), pointer(dx, beta)
    for item in range(start, stop):
        h, rest = item % xe[1], item // xe[1]
        d, n = rest % xe[0], rest // xe[0]
        target = n * xs[0] + d * xs[2] + h * xs[3]
        for c in range(channels):
            for w in range(xe[2]):
                place = target + c * xs[1] + w * xs[4]
                if beta == 0:
                    dx_at[place] = 0
                else:
                    dx_at[place] *= beta
        for i in range(ke[0]):
            od = _landing(d + box[0] + padding[0] - i * dilation[0] - out_box[0] * stride[0], stride[0], ye[0])
            if od < 0:
                continue
            for j in range(ke[1]):
                oh = _landing(h + box[1] + padding[1] - j * dilation[1] - out_box[1] * stride[1], stride[1], ye[1])
                if oh < 0:
                    continue
                for m in range(ke[2]):
                    # The input place of output ow is ow * stride + offset, counted from the part.
                    offset = out_box[2] * stride[2] - padding[2] + m * dilation[2] - box[2]
                    first, last = _span(offset, stride[2], ye[2], xe[2])
                    source = i * cs[1] + j * cs[2] + m * cs[3] + n * cs[4] + od * cs[5] + oh * cs[6]
                    step = stride[2] * xs[4]
                    base = target + offset * xs[4]
                    if by_channel:
                        for ow in range(first, last):
                            for c in range(channels):
                                dx_at[base + c * xs[1] + ow * step] += columns_at[source + c * cs[0] + ow * cs[7]]
                    else:
                        for c in range(channels):
                            for ow in range(first, last):
                                dx_at[base + c * xs[1] + ow * step] += columns_at[source + c * cs[0] + ow * cs[7]]
