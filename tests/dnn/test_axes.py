"""Convolutions of one and three spatial axes, and transposed ones, against sums over taps written out in NumPy."""

import itertools

import numpy as np
import pytest

import gpudnn
from gpublas.testing.bounds import assert_within

from . import reference

# Shape of x, of w, stride, padding, dilation, groups.
CASES = {
    1: [((2, 3, 11), (4, 3, 3), (2,), ((1, 2),), (1,), 1), ((1, 4, 9), (6, 2, 4), (1,), ((0, 3),), (2,), 2)],
    2: [((2, 3, 5, 6), (4, 3, 3, 2), (2, 1), ((1, 0), (0, 1)), (1, 2), 1)],
    3: [((2, 3, 4, 5, 6), (4, 3, 2, 3, 1), (1, 2, 3), ((0, 1), (1, 1), (0, 0)), (1, 1, 1), 1),
        ((1, 4, 5, 3, 4), (2, 2, 3, 1, 2), (2, 1, 1), ((1, 1), (0, 0), (2, 0)), (2, 1, 1), 2)],
}
ALL = [(axes, case) for axes, cases in CASES.items() for case in cases]
DIRECTIONS = ["forward", "backward_data", "backward_filter"]


def windows(extents, kernel, stride, padding, dilation):
    """For each tap: (tap, slices of the padded input that its products read)."""
    output = [(e + sum(p) - (k - 1) * d - 1) // s + 1
              for e, p, k, d, s in zip(extents, padding, kernel, dilation, stride, strict=True)]
    for tap in itertools.product(*map(range, kernel)):
        yield tap, tuple(slice(t * d, t * d + (o - 1) * s + 1, s)
                         for t, d, s, o in zip(tap, dilation, stride, output, strict=True))


def exact(direction, a, b, x_shape, w_shape, stride, padding, dilation, groups):
    """In extended precision; a, b: the operands of the direction, channels first."""
    a, b = reference.wide(a), reference.wide(b)
    kernel, pads = w_shape[2:], ((0, 0), (0, 0), *padding)
    padded = np.zeros([e + sum(p) for e, p in zip(x_shape, pads, strict=True)], np.longdouble)
    inside = tuple(slice(p[0], p[0] + e) for e, p in zip(x_shape, pads, strict=True))
    if direction != "backward_data":
        padded[inside] = a
    out = None
    for group in range(groups):
        channels = slice(group * w_shape[1], (group + 1) * w_shape[1])
        filters = slice(group * (w_shape[0] // groups), (group + 1) * (w_shape[0] // groups))
        for tap, places in windows(x_shape[2:], kernel, stride, padding, dilation):
            part = padded[(slice(None), channels, *places)]
            if direction == "forward":
                if out is None:
                    out = np.zeros((x_shape[0], w_shape[0], *part.shape[2:]), np.longdouble)
                out[:, filters] += np.einsum("nc...,kc->nk...", part, b[(filters, slice(None), *tap)])
            elif direction == "backward_data":
                part += np.einsum("nk...,kc->nc...", a[:, filters], b[(filters, slice(None), *tap)])
            else:
                if out is None:
                    out = np.zeros(w_shape, np.longdouble)
                pixels = tuple(range(2, part.ndim))
                out[(filters, slice(None), *tap)] = np.tensordot(b[:, filters], part, ((0, *pixels), (0, *pixels)))
    return padded[inside] if direction == "backward_data" else out


def output_shape(x_shape, w_shape, stride, padding, dilation, groups):
    return (x_shape[0], w_shape[0], *(
        (e + sum(p) - (k - 1) * d - 1) // s + 1
        for e, p, k, d, s in zip(x_shape[2:], padding, w_shape[2:], dilation, stride, strict=True)))


def outward(values, layout):
    return values if not layout.endswith("C") else reference.to_channels_last(values)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("last", [False, True], ids=["channels_first", "channels_last"])
@pytest.mark.parametrize("axes, case", ALL, ids=str)
def test_every_number_of_axes(device, axes, case, last, direction, rng):
    x_shape, w_shape, stride, padding, dilation, groups = case
    layout = gpudnn.problem.LAYOUTS[axes][last]
    shapes = {"x": x_shape, "w": w_shape, "y": output_shape(*case)}
    first, second, result = {"forward": "xwy", "backward_data": "ywx", "backward_filter": "xyw"}[direction]
    a, b = (rng.standard_normal(shapes[name]).astype("f4") for name in (first, second))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "layout": layout}
    given = [outward(a, layout), outward(b, layout)]
    for algo in ("direct", "im2col"):
        if direction == "forward":
            found = getattr(gpudnn, f"conv{axes}d")(*given, algo=algo, **options)
        else:
            extents = outward(np.empty(shapes[result]), layout).shape
            found = getattr(gpudnn, f"conv{axes}d_{direction}")(*given, extents, algo=algo, **options)
        found = np.moveaxis(found, -1, 1) if last else found
        problem = gpudnn.ConvProblem.from_shapes(x_shape, w_shape, stride=stride, padding=padding, dilation=dilation,
                                                 groups=groups, layout=gpudnn.problem.LAYOUTS[axes][0])
        bound = max(one.error_bound(problem, direction) for one in gpudnn.select.ALGORITHMS)
        assert_within(found, exact(direction, a, b, *case), bound * exact(direction, abs(a), abs(b), *case))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True], ids=["channels_first", "channels_last"])
def test_transposed(device, axes, last, rng):
    """Groups, asymmetric padding, output padding, dilation, a bias, alpha and beta."""
    layout = gpudnn.problem.LAYOUTS[axes][last]
    x_shape, w_shape, groups = (2, 4, *(3, 4, 2)[:axes]), (4, 3, *(3, 2, 2)[:axes]), 2
    stride, dilation, more = (2, 3, 1)[:axes], (1, 2, 1)[:axes], (1, 0, 0)[:axes]
    padding = ((1, 0), (0, 1), (0, 0))[:axes]
    out = (2, 6, *((e - 1) * s - sum(p) + (k - 1) * d + 1 + o for e, s, p, k, d, o in
                   zip(x_shape[2:], stride, padding, w_shape[2:], dilation, more, strict=True)))
    x, w, bias, old = (rng.standard_normal(shape).astype("f4") for shape in (x_shape, w_shape, (6,), out))
    result = outward(old, layout).copy()
    found = getattr(gpudnn, f"conv_transpose{axes}d")(
        outward(x, layout), outward(w, layout), bias, stride=stride, padding=padding, output_padding=more,
        dilation=dilation, groups=groups, layout=layout, alpha=0.5, beta=-2.0, out=result)
    assert found is result
    found = np.moveaxis(found, -1, 1) if last else found
    case = (out, w_shape, stride, padding, dilation, groups)
    shift = bias.reshape(1, -1, *(1,) * axes)
    value = 0.5 * exact("backward_data", x, w, *case) + shift - 2.0 * reference.wide(old)
    size = 0.5 * exact("backward_data", abs(x), abs(w), *case) + abs(shift) + 2.0 * abs(old)
    terms = 2 * np.prod(w_shape[2:])
    assert_within(found, value, (terms + 8) * 2.0**-23 * size)


def test_transposed_is_the_gradient(device, rng):
    """Without a bias it is backward_data, bit by bit, and its own gradients are what the docstring says."""
    x, w = rng.standard_normal((2, 4, 3, 3)).astype("f4"), rng.standard_normal((4, 2, 3, 3)).astype("f4")
    y = gpudnn.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)
    assert np.array_equal(y, gpudnn.conv2d_backward_data(x, w, (2, 2, 6, 6), stride=2, padding=1))
    dy = rng.standard_normal(y.shape)
    x, w = x.astype("f8"), w.astype("f8")
    dx = gpudnn.conv2d(dy, w, stride=2, padding=1)
    dw = gpudnn.conv2d_backward_filter(dy, x, w.shape, stride=2, padding=1)
    y = gpudnn.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)
    # The map is linear in x and in w: its value is the inner product with the gradient, up to rounding.
    value, size = float(np.sum(dy * y)), float(np.sum(abs(dy) * abs(y)))
    for gradient, operand in ((dx, x), (dw, w)):
        assert abs(float(np.sum(gradient * operand)) - value) <= 1e3 * 2.0**-52 * (size + float(np.sum(
            abs(gradient) * abs(operand))))


@pytest.mark.parametrize("options, name", [
    ({"output_padding": 1}, "output_padding"), ({"output_padding": -1}, "output_padding"),
    ({"padding": "same"}, "padding"),
    ({"padding": 3}, "padding"), ({"layout": "NCW"}, "layout"), ({"layout": None}, "layout"),
    ({"groups": 3}, "groups")])
def test_transposed_arguments(options, name):
    with pytest.raises(gpudnn.ArgumentError, match=name):
        gpudnn.conv_transpose2d(np.ones((1, 2, 3, 3), "f4"), np.ones((2, 2, 2, 2), "f4"), **options)
    with pytest.raises(gpudnn.ArgumentError, match="as x has"):
        gpudnn.conv_transpose2d(np.ones((1, 3, 3, 3), "f4"), np.ones((2, 2, 2, 2), "f4"))


def test_d1_a_small_limit(device):
    """d1: a 1x1 kernel with thousands of channels and little workspace."""
    x, w = np.ones((1, 3000, 2, 2), "f4"), np.ones((3000, 3, 1, 1), "f4")
    y = gpudnn.conv_transpose2d(x, w, stride=2, workspace_limit=1000)
    assert gpudnn.last_choice().workspace_bytes <= 1000
    assert np.all(y[:, :, ::2, ::2] == 3000) and not np.any(y[:, :, 1::2]) and y.shape == (1, 3, 3, 3)


@pytest.mark.parametrize("axes", [1, 3])
def test_the_bias_gradient(device, axes, rng):
    dy = rng.integers(-4, 5, (2, 3, *(4, 5, 2)[:axes])).astype("f4")
    found = getattr(gpudnn, f"conv{axes}d_backward_bias")(dy)
    assert np.array_equal(found, dy.sum((0, *range(2, axes + 2))))
    layout = gpudnn.problem.LAYOUTS[axes][1]
    found = getattr(gpudnn, f"conv{axes}d_backward_bias")(outward(dy, layout), layout=layout)
    assert np.array_equal(found, dy.sum((0, *range(2, axes + 2))))


def test_wrong_numbers_of_axes():
    x, w = np.ones((1, 2, 3, 3), "f4"), np.ones((1, 2, 3, 3), "f4")
    for name in ("conv1d", "conv3d", "conv_transpose1d"):
        with pytest.raises(gpudnn.ArgumentError, match=f"{name}.*axes"):
            getattr(gpudnn, name)(x, w)
