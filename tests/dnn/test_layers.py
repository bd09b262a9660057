"""Activations, pooling, the linear layer, softmax and cross-entropy, on every device."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import gpudnn
from gpublas.testing.bounds import assert_within
from gpublas.testing.buffers import LAYOUTS as MEMORY
from gpublas.testing.buffers import DeviceArray, Guarded

from . import reference

EPS = {"float32": 2.0**-23, "float64": 2.0**-52}
DTYPES = list(EPS)
NAN, INF = np.nan, np.inf


# ---- activations


@pytest.mark.parametrize("dtype", DTYPES)
def test_relu(device, rng, dtype):
    special = np.array([NAN, INF, -INF, 0.0, -0.0, 5e-324, -1.0, 1.0], dtype)
    assert np.array_equal(gpudnn.relu(special), [NAN, INF, 0, 0, 0, special[5], 0, 1], equal_nan=True)
    assert not np.signbit(gpudnn.relu(special)[4])
    dy = np.arange(1, 9).astype(dtype)
    kept = [1, 2, 0, 0, 0, 6 if special[5] > 0 else 0, 0, 8]
    assert np.array_equal(gpudnn.relu_backward(dy, special), kept)
    for shape in [(), (0, 3), (7,), (2, 3, 4), (2, 1, 3, 2, 2), (2, 3, 2, 2, 1, 2, 3)]:
        for memory in MEMORY:
            x, dy = (Guarded(rng.standard_normal(shape).astype(dtype), memory) for _ in range(2))
            assert np.array_equal(gpudnn.relu(x.array), np.maximum(x.array, 0))
            assert np.array_equal(gpudnn.relu_backward(dy.array, x.array), np.where(x.array > 0, dy.array, 0))


def test_more_axes_than_kernels_have(device, rng):
    """Seven axes that no stride merges: the leading ones are separate launches."""
    x = rng.standard_normal((4,) * 7)[::2, ::2, ::2, ::2, ::2, ::2, ::2]
    assert np.array_equal(gpudnn.relu(x), np.maximum(x, 0))
    y = gpudnn.softmax(x, axis=3)
    assert np.allclose(y, reference.softmax(x, 3).astype(float), rtol=1e-14)


def test_broadcast_and_packed_inputs(device, rng):
    row = rng.standard_normal(5)
    assert np.array_equal(gpudnn.relu(np.broadcast_to(row, (3, 5))), np.broadcast_to(np.maximum(row, 0), (3, 5)))
    records = np.zeros(6, [("tag", "i1"), ("value", "f8")])
    records["value"] = rng.standard_normal(6)
    assert np.array_equal(gpudnn.relu(records["value"]), np.maximum(records["value"], 0))


# ---- pooling

POOLS = [  # shape, window, stride, padding, dilation, ceil_mode
    ((2, 3, 6, 8), 2, None, 0, 1, False),
    ((1, 2, 7, 7), 3, 2, 1, 1, False),
    ((2, 2, 9, 9), 4, 4, 2, 1, True),
    ((1, 2, 7, 6), (3, 2), (1, 2), ((0, 2), (1, 0)), 1, True),
    ((2, 1, 9, 8), (2, 3), 1, 0, (3, 2), False),
    ((1, 2, 5, 5), 2, 3, 0, 1, True),
    ((1, 1, 2, 2), 2, 2, 3, 1, False),  # windows that lie in the padding alone
    ((3, 2, 1, 1), 1, 1, 0, 1, False),
    ((0, 2, 4, 4), 2, 2, 0, 1, False),
    ((2, 0, 4, 4), 2, 2, 0, 1, False),
    ((1, 37, 3, 3), 3, 1, "same", 1, False),
]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", range(len(POOLS)))
def test_max_pool(device, rng, number, dtype, layout):
    shape, window, stride, padding, dilation, ceil_mode = POOLS[number]
    x = rng.integers(-3, 4, shape).astype(dtype)  # ties
    x[rng.random(shape) < 0.05] = NAN
    x[rng.random(shape) < 0.1] = -INF
    options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, "layout": layout}
    outward = (lambda v: v) if layout == "NCHW" else reference.to_channels_last
    inward = (lambda v: v) if layout == "NCHW" else reference.to_channels_first
    memory = MEMORY[number % len(MEMORY)]
    guarded = Guarded(outward(x), memory)
    problem = gpudnn.PoolProblem.from_shape(guarded.array.shape, window, **options)
    exact, places = reference.max_pool(x, problem.window, problem.stride, [p[0] for p in problem.padding],
                                       problem.dilation, problem.output)
    y, indices = gpudnn.max_pool2d(guarded.array, window, return_indices=True, **options)
    assert y.dtype == dtype and indices.dtype == np.int64
    assert np.array_equal(inward(y), exact, equal_nan=True) and np.array_equal(inward(indices), places)
    assert np.array_equal(gpudnn.max_pool2d(guarded.array, window, **options), y, equal_nan=True)

    dy = rng.standard_normal(exact.shape).astype(dtype)
    dx = gpudnn.max_pool2d_backward(Guarded(outward(dy), memory).array, Guarded(indices, memory).array,
                                    guarded.array.shape, window, **options)
    taps = problem.window[0] * problem.window[1]
    wanted = reference.max_pool_backward(dy, places, shape)
    bound = taps * EPS[dtype] * reference.max_pool_backward(np.abs(dy), places, shape)
    assert_within(inward(dx), wanted, bound, "gradient")


def test_ceil_mode_drops_the_window_in_the_padding():
    assert gpudnn.PoolProblem.from_shape((1, 1, 9, 9), 4, stride=4, padding=2, ceil_mode=True).output == (3, 3)
    assert gpudnn.PoolProblem.from_shape((1, 1, 9, 9), 4, stride=4, padding=2).output == (3, 3)
    assert gpudnn.PoolProblem.from_shape((1, 1, 5, 5), 2, ceil_mode=True).output == (3, 3)


def test_d19_nan_channels(device):
    """d19: three equal channels holding NaN give three equal results, all NaN."""
    x = np.zeros((1, 3, 4, 4), np.float32)
    x[:, :, 1, 2] = NAN
    y, indices = gpudnn.max_pool2d(x, 4, return_indices=True)
    assert np.all(np.isnan(y)) and np.all(indices == 6)


def test_window_of_minus_infinity(device):
    y, indices = gpudnn.max_pool2d(np.full((1, 1, 2, 2), -INF), 2, padding=1, stride=2, return_indices=True)
    assert np.all(y == -INF) and indices.ravel().tolist() == [0, 1, 2, 3]


# ---- linear


def linear_bound(dtype, terms, *sizes):
    return (terms + 4) * EPS[dtype] * sum(sizes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leading", [(), (1,), (5,), (2, 3), (2, 2, 3), (0,), (2, 0)])
def test_linear(device, rng, leading, dtype):
    for inputs, outputs in [(7, 4), (1, 1), (0, 3), (3, 0)]:
        for number, memory in enumerate(MEMORY):
            x = Guarded(rng.standard_normal((*leading, inputs)).astype(dtype), memory)
            w = Guarded(rng.standard_normal((outputs, inputs)).astype(dtype), MEMORY[(number + 1) % len(MEMORY)])
            dy = Guarded(rng.standard_normal((*leading, outputs)).astype(dtype), MEMORY[(number + 2) % len(MEMORY)])
            b = rng.standard_normal(2 * outputs).astype(dtype)[::2]
            wx, ww, wy = (reference.wide(one.array) for one in (x, w, dy))
            y = gpudnn.linear(x.array, w.array, b)
            assert_within(y, wx @ ww.T + b, linear_bound(dtype, inputs, np.abs(wx) @ np.abs(ww).T, np.abs(b)), memory)
            assert_within(gpudnn.linear(x.array, w.array), wx @ ww.T,
                          linear_bound(dtype, inputs, np.abs(wx) @ np.abs(ww).T), memory)
            dx, dw, db = gpudnn.linear_backward(dy.array, x.array, w.array)
            assert_within(dx, wy @ ww, linear_bound(dtype, outputs, np.abs(wy) @ np.abs(ww)), memory)
            rows = wx.size // inputs if inputs else wy.size // outputs if outputs else 0
            fx, fy = wx.reshape(rows, inputs), wy.reshape(rows, outputs)
            assert_within(dw, fy.T @ fx, linear_bound(dtype, rows, np.abs(fy).T @ np.abs(fx)), memory)
            assert_within(db, fy.sum(0), linear_bound(dtype, rows, np.abs(fy).sum(0)), memory)


# ---- softmax and cross-entropy


def softmax_bound(x, axis, dtype):
    """exp and the difference round its argument; the sum has the extent's roundings."""
    finite = np.where(np.isfinite(x), x, 0).astype(float)
    spread = np.max(np.abs(finite - finite.max(axis, keepdims=True, initial=0)), initial=0)
    return (x.shape[axis] + 2 * spread + 12) * EPS[dtype]


SHAPES = [((5, 10), -1), ((10,), 0), ((3, 4, 5), 1), ((3, 4, 5), 0), ((2, 3, 2, 3, 2), 2), ((4, 1), 1), ((2, 33), 1),
          ((3, 1500), 1), ((0, 4), 1), ((9, 2, 2), -3)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_softmax(device, rng, shape, axis, dtype):
    for memory in MEMORY:
        x = Guarded((3 * rng.standard_normal(shape)).astype(dtype), memory).array
        dy = Guarded(rng.standard_normal(shape).astype(dtype), memory).array
        exact = reference.softmax(x, axis) if x.size else np.zeros(shape)
        bound = softmax_bound(x, axis, dtype) * exact if x.size else exact
        y = gpudnn.softmax(x, axis)
        assert_within(y, exact, bound, memory)
        size = (np.abs(dy) * y).sum(axis, keepdims=True)
        wanted = reference.wide(y) * (dy - (reference.wide(dy) * y).sum(axis, keepdims=True))
        bound = (shape[axis] + 4) * EPS[dtype] * y * (np.abs(dy) + size)
        assert_within(gpudnn.softmax_backward(dy, y, axis), wanted, bound, memory)


def test_softmax_extremes(device):
    with np.errstate(all="ignore"):
        y = gpudnn.softmax(np.array([[-6e4, -5e4], [INF, 0], [NAN, 0], [-INF, -INF], [-INF, 3]], np.float32))
    assert np.array_equal(y, [[0, 1], [NAN, NAN], [NAN, NAN], [NAN, NAN], [0, 1]], equal_nan=True) or np.array_equal(
        y[[0, 2, 3, 4]], [[0, 1], [NAN, NAN], [NAN, NAN], [0, 1]], equal_nan=True)
    assert np.isnan(y[1, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 10), (10,), (2, 5, 3, 4), (3, 1500), (1, 1)])
@pytest.mark.parametrize("integer", ["int64", "int32"])
def test_cross_entropy(device, rng, shape, dtype, integer):
    axis = 1 if len(shape) > 1 else 0
    rest = (*shape[:axis], *shape[axis + 1:])
    for memory in MEMORY:
        x = Guarded((3 * rng.standard_normal(shape)).astype(dtype), memory).array
        target = Guarded(rng.integers(0, shape[axis], rest).astype(integer), memory).array
        exact = reference.cross_entropy(x, target)
        spread = float(np.max(np.abs(x.astype(float) - x.max(axis, keepdims=True)), initial=0))
        bound = (shape[axis] + 3 * spread + 12) * EPS[dtype]
        losses = gpudnn.cross_entropy(x, target, reduction="none")
        assert_within(losses, exact, bound, memory)
        count = max(exact.size, 1)
        assert_within(gpudnn.cross_entropy(x, target, reduction="sum"), exact.sum(),
                      count * (bound + (count + 2) * EPS[dtype] * np.abs(exact).max()), memory)
        assert_within(gpudnn.cross_entropy(x, target), exact.mean(),
                      bound + (count + 2) * EPS[dtype] * np.abs(exact).max(), memory)

        gradient = reference.cross_entropy_backward(x, target)
        relative = softmax_bound(x, axis, dtype) * 2
        assert_within(gpudnn.cross_entropy_backward(x, target, reduction="sum"), gradient, relative, memory)
        assert_within(gpudnn.cross_entropy_backward(x, target, 2.0), 2 * gradient / count, 2 * relative / count, memory)
        weights = Guarded(rng.standard_normal(rest).astype(dtype), memory).array
        wide = np.expand_dims(reference.wide(weights), axis)
        assert_within(gpudnn.cross_entropy_backward(x, target, weights, reduction="none"), wide * gradient,
                      relative * np.abs(wide), memory)


def test_cross_entropy_without_samples(device):
    x, target = np.zeros((0, 3)), np.zeros(0, int)
    assert np.isnan(gpudnn.cross_entropy(x, target)) and gpudnn.cross_entropy(x, target).shape == ()
    assert gpudnn.cross_entropy(x, target, reduction="sum") == 0
    assert gpudnn.cross_entropy(x, target, reduction="none").shape == (0,)
    assert gpudnn.cross_entropy_backward(x, target).shape == (0, 3)


def test_cross_entropy_never_rounds_a_probability_to_zero(device):
    x = np.array([[0.0, 1e4], [-5e4, -6e4]], np.float32)
    assert gpudnn.cross_entropy(x, np.array([0, 1]), reduction="none").tolist() == [1e4, 1e4]


def test_cross_entropy_of_no_class_on_a_device(executor):
    """Labels on a device are not waited for: a wrong one gives NaN."""
    x = DeviceArray(np.zeros((3, 4), np.float32))
    target = DeviceArray(np.array([1, 4, -1]))
    losses = gpudnn.cross_entropy(x, target, reduction="none").get()
    assert np.isfinite(losses[0]) and np.all(np.isnan(losses[1:]))
    gradient = gpudnn.cross_entropy_backward(x, target).get()
    assert np.all(np.isfinite(gradient[0])) and np.all(np.isnan(gradient[1:]))


@pytest.mark.parametrize("step", [1e-4])
def test_derivatives(device, rng, step):
    """Central differences in float64 of everything that is smooth."""
    x, target = rng.standard_normal((4, 5)), np.array([0, 4, 2, 2])
    dy = rng.standard_normal((4, 5))
    y = gpudnn.softmax(x)
    checks = [
        (lambda v: float(gpudnn.cross_entropy(v, target)), x, gpudnn.cross_entropy_backward(x, target)),
        (lambda v: float((gpudnn.softmax(v) * dy).sum()), x, gpudnn.softmax_backward(dy, y)),
        (lambda v: float((gpudnn.relu(v) * dy).sum()), x, gpudnn.relu_backward(dy, x)),
    ]
    for function, at, gradient in checks:
        for index in np.ndindex(*at.shape):
            values = []
            for sign in (1, -1):
                moved = at.copy()
                moved[index] += sign * step
                values.append(function(moved))
            assert abs((values[0] - values[1]) / (2 * step) - gradient[index]) < 1e-7


# ---- arrays and threads


def test_device_arrays(executor, rng):
    """A device's arrays run where they live, and results are arrays of their library."""
    values = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in
              {"x": (2, 3, 5, 5), "w": (4, 3, 3, 3), "bias": (4,)}.items()}
    x, w, bias = (DeviceArray(values[name]) for name in values)
    with_arrays = gpudnn.conv2d(x, w, bias, padding=1)
    assert isinstance(with_arrays, DeviceArray)
    assert np.array_equal(with_arrays.get(), gpudnn.conv2d(*values.values(), padding=1))
    y, indices = gpudnn.max_pool2d(with_arrays, 2, return_indices=True)
    assert isinstance(y, DeviceArray) and isinstance(indices, DeviceArray)
    loss = gpudnn.cross_entropy(DeviceArray(rng.standard_normal((2, 3))), DeviceArray(np.array([0, 2])))
    assert isinstance(loss, DeviceArray) and loss.shape == ()


def test_threads_of_the_caller(rng):
    """Calls from several Python threads at once give what one thread gives."""
    x, w = rng.standard_normal((8, 8, 24, 24)), rng.standard_normal((8, 8, 3, 3))
    wanted = gpudnn.conv2d(x, w, algo="direct"), gpudnn.conv2d(x, w, algo="im2col")
    failures = []

    def work():
        for _ in range(5):
            for algo, exact in zip(("direct", "im2col"), wanted, strict=True):
                if not np.array_equal(gpudnn.conv2d(x, w, algo=algo), exact):
                    failures.append(algo)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUBLAS_NUM_THREADS", "3")
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_parts_do_not_change_results(rng, monkeypatch):
    """However many threads share a loop, the bits are the same."""
    x, w = rng.standard_normal((3, 4, 30, 30)).astype(np.float32), rng.standard_normal((5, 4, 3, 3)).astype(np.float32)
    results = set()
    for count in ("1", "2", "7"):
        monkeypatch.setenv("GPUBLAS_NUM_THREADS", count)
        y = gpudnn.conv2d(x, w, algo="direct")
        dw = gpudnn.conv2d_backward_filter(x, y, w.shape, algo="direct")
        results.add((y.tobytes(), dw.tobytes(), gpudnn.conv2d_backward_data(y, w, x.shape, algo="direct").tobytes()))
    assert len(results) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_has_its_own_threads():
    """A child made by fork has none of the parent's worker threads: its calls must not wait for them."""
    code = """
import os, warnings
import numpy as np
import gpudnn
warnings.simplefilter("ignore")
x, w = np.ones((8, 4, 40, 40)), np.ones((8, 4, 3, 3))
wanted = gpudnn.conv2d(x, w, algo="direct")
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(gpudnn.conv2d(x, w, algo="direct"), wanted) else 3)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120,
                   env={**os.environ, "GPUBLAS_NUM_THREADS": "3", "GPUBLAS_DEVICE": "cpu"})
