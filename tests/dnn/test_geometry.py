"""Geometry beyond the list of cases: random shapes, one and three spatial axes, offsets beyond 2**31."""

import numpy as np
import pytest
from conftest import DEVICES, device_context
from hypothesis import given, settings
from hypothesis import strategies as st

import gpublas
import gpudnn
from gpublas.context import call
from gpublas.testing.bounds import assert_within
from gpudnn import select, views

from . import reference

ALGORITHMS = [algorithm.NAME for algorithm in select.ALGORITHMS]


@st.composite
def problems(draw):
    """(x shape, w shape, options), channels first, every number small."""
    def pick(low, high):
        return draw(st.integers(low, high))

    groups = pick(1, 3)
    kernel, stride, dilation = ([pick(1, 4) for _ in range(2)], [pick(1, 4) for _ in range(2)],
                                [pick(1, 3) for _ in range(2)])
    padding = [(pick(0, 3), pick(0, 3)) for _ in range(2)]
    extents = [max((k - 1) * d + 1 - sum(p), 0) + pick(0, 6) for k, d, p in
               zip(kernel, dilation, padding, strict=True)]
    x = (pick(1, 3), groups * pick(1, 3), *extents)
    w = (groups * pick(1, 5), x[1] // groups, *kernel)
    return x, w, {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation), "groups": groups}


@pytest.mark.parametrize("device_name", DEVICES)
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(problem=problems(), layout=st.sampled_from(["NCHW", "NHWC"]), algo=st.sampled_from(ALGORITHMS),
       flip=st.booleans(), limited=st.booleans())
def test_random_problems(device_name, problem, layout, algo, flip, limited):
    x_shape, w_shape, options = problem
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal(x_shape), rng.standard_normal(w_shape)
    geometry = (options["stride"], options["padding"], options["dilation"], options["groups"], flip)
    y = reference.conv_forward(x, w, *geometry)
    dy = rng.standard_normal(y.shape)
    turn = reference.to_channels_last if layout == "NHWC" else np.asarray
    back = reference.to_channels_first if layout == "NHWC" else np.asarray
    described = gpudnn.ConvProblem.from_shapes(turn(x).shape, turn(w).shape, layout=layout, **options)
    algorithm = next(one for one in select.ALGORITHMS if algo == one.NAME)
    calls = {
        "forward": (gpudnn.conv2d, (turn(x), turn(w)), y,
                    reference.conv_forward(np.abs(x), np.abs(w), *geometry)),
        "backward_data": (gpudnn.conv2d_backward_data, (turn(dy), turn(w), turn(x).shape),
                          reference.conv_backward_data(dy, w, x_shape, *geometry),
                          reference.conv_backward_data(np.abs(dy), np.abs(w), x_shape, *geometry)),
        "backward_filter": (gpudnn.conv2d_backward_filter, (turn(x), turn(dy), turn(w).shape),
                            reference.conv_backward_filter(x, dy, w_shape, *geometry),
                            reference.conv_backward_filter(np.abs(x), np.abs(dy), w_shape, *geometry)),
    }
    for direction, (function, operands, exact, size) in calls.items():
        limit = algorithm.workspace_bytes(described, direction, 0) * 2 if limited else None
        if limited and algo == "im2col":
            limit += 2048  # turned filters are no dense array of the layout and may be packed
        with gpublas.use(device_context(device_name)):
            result = function(*operands, layout=layout, algo=algo, mode="convolution" if flip else "cross_correlation",
                              workspace_limit=limit, **options)
        bound = (max(described.terms(direction), 1) + 6) * 2.0**-52 * size
        assert_within(back(result), exact, bound, f"{direction} {problem} {layout} {algo}")


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("shapes", [
    ((2, 4, 11), (6, 2, 3), {"stride": (2,), "padding": ((2, 1),), "dilation": (2,), "groups": 2}, "NCW"),
    ((2, 11, 4), (6, 3, 2), {"stride": (2,), "padding": ((2, 1),), "dilation": (2,), "groups": 2}, "NWC"),
    ((2, 3, 4, 5, 6), (4, 3, 3, 2, 3), {"stride": (1, 2, 1), "padding": ((1, 1), (0, 1), (2, 0)),
                                        "dilation": (1, 2, 1), "groups": 1}, "NCDHW"),
    ((2, 4, 5, 6, 3), (4, 3, 2, 3, 3), {"stride": (1, 2, 1), "padding": ((1, 1), (0, 1), (2, 0)),
                                        "dilation": (1, 2, 1), "groups": 1}, "NDHWC"),
], ids=lambda shapes: shapes[3])
def test_one_and_three_axes(device, shapes, algo):
    """Algorithms, loops and kernels serve any number of axes up to three, as problems describe them."""
    x_shape, w_shape, options, layout = shapes
    last = layout.endswith("C")
    problem = gpudnn.ConvProblem.from_shapes(x_shape, w_shape, layout=layout, mode="convolution", **options)
    turn = reference.to_channels_first if last else np.asarray
    rng = np.random.default_rng(5)
    x, w, dy = (rng.standard_normal(shape).astype(np.float32) for shape in (x_shape, w_shape, problem.y_shape))
    geometry = (*options.values(), True)
    exact = {"forward": (x, w, problem.y_shape, reference.conv_forward(turn(x), turn(w), *geometry)),
             "backward_data": (dy, w, x_shape, reference.conv_backward_data(turn(dy), turn(w), turn(x).shape,
                                                                            *geometry)),
             "backward_filter": (x, dy, w_shape, reference.conv_backward_filter(turn(x), turn(dy), turn(w).shape,
                                                                                *geometry))}
    for direction, (a, b, shape, wanted) in exact.items():
        # The least workspace too: slices along another axis than in two dimensions.
        algorithm = next(one for one in select.ALGORITHMS if algo == one.NAME)
        for limit in (None, algorithm.workspace_bytes(problem, direction, 0)):
            out = np.full(shape, np.nan, np.float32)
            with call("test", {"a": a, "b": b}, {"out": out}) as run:
                operands = [views.image(run[name], layout) for name in ("a", "b", "out")]
                if direction == "forward":
                    operands.insert(2, None)
                select.run(run, problem, direction, tuple(operands), 1.0, 0.0, algo, limit)
            assert np.allclose(turn(out), wanted.astype(float), rtol=1e-4, atol=1e-4), (direction, limit)


def far_apart(folder, values, axis):
    """The values in a sparse file, with more than 2**31 elements from one index of an axis to the next."""
    step = 2**31 + 64
    span = (values.shape[axis] - 1) * step + values.size
    memory = np.memmap(folder / f"far{axis}{values.shape}", values.dtype, "w+", shape=(span,))
    rest = np.delete(np.arange(values.ndim), axis)
    strides = [0] * values.ndim
    stride = 1
    for position in rest[::-1]:
        strides[position] = stride * values.itemsize
        stride *= values.shape[position]
    strides[axis] = step * values.itemsize
    view = np.lib.stride_tricks.as_strided(memory, values.shape, strides)
    view[...] = values
    return view.view(np.ndarray)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_offsets_beyond_32_bits(device, algo, tmp_path, rng):
    """Every operand in turn, with its elements more than 2**31 apart (8 GiB of address space, a few pages of it)."""
    x, w = rng.standard_normal((2, 2, 4, 5)).astype("f4"), rng.standard_normal((2, 2, 3, 3)).astype("f4")
    y = gpudnn.conv2d(x, w, algo=algo)
    dx, dw = (gpudnn.conv2d_backward_data(y, w, x.shape, algo=algo),
              gpudnn.conv2d_backward_filter(x, y, w.shape, algo=algo))
    close = {"rtol": 1e-5, "atol": 1e-5}
    for axis in (0, 1, 2):
        far_x, far_w = far_apart(tmp_path, x, axis), far_apart(tmp_path, w, axis)
        far_y = far_apart(tmp_path, np.zeros_like(y), axis)
        gpudnn.conv2d(far_x, far_w, algo=algo, out=far_y)
        assert np.allclose(far_y, y, **close)
        far_x[...] = 0
        gpudnn.conv2d_backward_data(far_y, far_w, x.shape, algo=algo, out=far_x)
        assert np.allclose(far_x, dx, **close)
        far_x[...] = x
        gpudnn.conv2d_backward_filter(far_x, far_y, w.shape, algo=algo, out=far_w)
        assert np.allclose(far_w, dw, **close)
        assert np.array_equal(gpudnn.relu(far_x), np.maximum(x, 0))
        assert np.allclose(gpudnn.conv2d_backward_bias(far_y), y.sum((0, 2, 3)), **close)
        assert np.array_equal(gpudnn.max_pool2d(far_x, 2), gpudnn.max_pool2d(x, 2))
        assert np.allclose(gpudnn.softmax(far_x, 1), gpudnn.softmax(x, 1), **close)
