"""Slow oracles in extended precision, written from the definitions; nothing here comes from gpudnn.

Images are (N, C, *spatial) and filters (K, C/groups, *kernel): `to_channels_first` and back serve the other layout.
"""

import itertools

import numpy as np


def wide(values):
    """Extended precision."""
    return np.asarray(values).astype(np.longdouble)


def to_channels_first(values):
    """(N, *spatial, C) as (N, C, *spatial)."""
    return np.moveaxis(values, -1, 1)


def to_channels_last(values):
    """(N, C, *spatial) as (N, *spatial, C)."""
    return np.moveaxis(values, 1, -1)


def _windows(padded_extents, kernel, stride, dilation):
    """For each output pixel: its index, and the slices of the padded image that its taps cover."""
    outputs = [(extent - (k - 1) * d - 1) // s + 1
               for extent, k, s, d in zip(padded_extents, kernel, stride, dilation, strict=True)]
    for pixel in itertools.product(*map(range, outputs)):
        yield pixel, tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                           for p, k, s, d in zip(pixel, kernel, stride, dilation, strict=True))


def _pad(x, padding, value=0):
    return np.pad(x, ((0, 0), (0, 0), *padding), constant_values=value)


def _flip(w):
    return w[(slice(None), slice(None), *(slice(None, None, -1),) * (w.ndim - 2))]


def conv_forward(x, w, stride, padding, dilation, groups, flip=False):
    """Cross-correlation, or convolution with flip."""
    x, w = _pad(wide(x), padding), wide(w)
    if flip:
        w = _flip(w)
    batch, _, *extents = x.shape
    filters, group_channels, *kernel = w.shape
    outputs = [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(extents, kernel, stride, dilation, strict=True)]
    y = np.zeros((batch, filters, *outputs), np.longdouble)
    per_group = filters // groups
    for pixel, window in _windows(extents, kernel, stride, dilation):
        for group in range(groups):
            c = slice(group * group_channels, (group + 1) * group_channels)
            k = slice(group * per_group, (group + 1) * per_group)
            patch = x[(slice(None), c, *window)]
            y[(slice(None), k, *pixel)] = np.tensordot(patch, w[k], axes=(range(1, x.ndim), range(1, x.ndim)))
    return y


def conv_backward_data(dy, w, x_shape, stride, padding, dilation, groups, flip=False):
    """The adjoint of conv_forward in x: every output pixel adds its filters to its window."""
    dy, w = wide(dy), wide(w)
    if flip:
        w = _flip(w)
    padded = [e + before + after for e, (before, after) in zip(x_shape[2:], padding, strict=True)]
    dx = np.zeros((*x_shape[:2], *padded), np.longdouble)
    filters, group_channels, *kernel = w.shape
    per_group = filters // groups
    for pixel, window in _windows(padded, kernel, stride, dilation):
        for group in range(groups):
            c = slice(group * group_channels, (group + 1) * group_channels)
            k = slice(group * per_group, (group + 1) * per_group)
            dx[(slice(None), c, *window)] += np.tensordot(dy[(slice(None), k, *pixel)], w[k], axes=(1, 0))
    inside = tuple(slice(before, before + e) for e, (before, _) in zip(x_shape[2:], padding, strict=True))
    return dx[(slice(None), slice(None), *inside)]


def conv_backward_filter(x, dy, w_shape, stride, padding, dilation, groups, flip=False):
    """The adjoint of conv_forward in w."""
    x, dy = _pad(wide(x), padding), wide(dy)
    dw = np.zeros(w_shape, np.longdouble)
    filters, group_channels, *kernel = w_shape
    per_group = filters // groups
    for pixel, window in _windows(x.shape[2:], kernel, stride, dilation):
        for group in range(groups):
            c = slice(group * group_channels, (group + 1) * group_channels)
            k = slice(group * per_group, (group + 1) * per_group)
            dw[k] += np.tensordot(dy[(slice(None), k, *pixel)], x[(slice(None), c, *window)], axes=(0, 0))
    return _flip(dw) if flip else dw


def max_pool(x, window, stride, padding, dilation, outputs):
    """(y, indices): the first of equal values, the first NaN; -inf and -1 for a window without pixels."""
    x = np.asarray(x)
    batch, channels, height, width = x.shape
    y = np.full((batch, channels, *outputs), -np.inf, x.dtype)
    indices = np.full(y.shape, -1, np.int64)
    for n, c, oh, ow in np.ndindex(*y.shape):
        for i, j in itertools.product(range(window[0]), range(window[1])):
            h = oh * stride[0] - padding[0] + i * dilation[0]
            w = ow * stride[1] - padding[1] + j * dilation[1]
            if not (0 <= h < height and 0 <= w < width):
                continue
            value, best = x[n, c, h, w], y[n, c, oh, ow]
            first = indices[n, c, oh, ow] < 0
            if first or (not np.isnan(best) and (np.isnan(value) or value > best)):
                y[n, c, oh, ow], indices[n, c, oh, ow] = value, h * width + w
    return y, indices


def max_pool_backward(dy, indices, x_shape):
    """Every gradient is added to the pixel that won."""
    dx = np.zeros((*x_shape[:2], x_shape[2] * x_shape[3]), np.longdouble)
    for n, c, oh, ow in np.ndindex(*dy.shape):
        if indices[n, c, oh, ow] >= 0:
            dx[n, c, indices[n, c, oh, ow]] += dy[n, c, oh, ow]
    return dx.reshape(x_shape)


def softmax(x, axis):
    x = wide(x)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cross_entropy(logits, target):
    """One loss for each sample; classes along axis 1, or the only axis."""
    x = wide(logits)
    x = np.moveaxis(x, 1, -1) if x.ndim > 1 else x
    top = x.max(-1, keepdims=True)
    sums = np.log(np.exp(x - top).sum(-1)) + top[..., 0]
    return sums - np.take_along_axis(x, np.asarray(target)[..., None], -1)[..., 0]


def cross_entropy_backward(logits, target):
    """The gradient of the sum of losses."""
    axis = 1 if np.ndim(logits) > 1 else 0
    p = softmax(logits, axis)
    ones = np.zeros_like(p)
    np.put_along_axis(ones, np.expand_dims(np.asarray(target), axis), 1, axis)
    return p - ones
