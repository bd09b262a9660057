"""Bad calls: the named error, and every buffer untouched."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gpudnn

X = np.ones((2, 4, 6, 5), np.float32)
W = np.ones((6, 4, 3, 3), np.float32)
DY = np.ones((2, 6, 4, 3), np.float32)


def conv(x=X, w=W, bias=None, **options):
    return gpudnn.conv2d(x, w, bias, **options)


BAD_CONV = [  # arguments, the argument that is named, words of the message
    ({"groups": 0}, "groups", "found 0"),
    ({"groups": 3}, "groups", "4 input channels and of 6 filters"),
    ({"w": np.ones((6, 3, 3, 3), np.float32)}, "w", "4 channels in x"),
    ({"groups": 2}, "w", "2 (4 channels in x / 2 groups)"),
    ({"stride": 0}, "stride", "found 0"),
    ({"stride": (1, -1)}, "stride", "(1, -1)"),
    ({"stride": (1, 1, 1)}, "stride", "2 of them"),
    ({"stride": 1.0}, "stride", "1.0"),
    ({"stride": True}, "stride", "True"),
    ({"dilation": 0}, "dilation", "found 0"),
    ({"padding": -1}, "padding", "found -1"),
    ({"padding": ((1, -1), (0, 0))}, "padding", "-1"),
    ({"padding": ((1, 1),)}, "padding", "2 pairs"),
    ({"padding": "full"}, "padding", "'same'"),
    ({"w": np.ones((6, 4, 9, 3), np.float32)}, "w", "at most 6"),
    ({"dilation": 3}, "w", "over 7 positions"),
    ({"w": np.ones((6, 4, 0, 3), np.float32)}, "w", "at least 1"),
    ({"x": np.ones((4, 6, 5), np.float32)}, "x", "3 axes"),
    ({"w": np.ones((4, 3, 3), np.float32)}, "w", "3 axes"),
    ({"bias": np.ones((1, 6), np.float32)}, "bias", "2 axes"),
    ({"bias": np.ones(5, np.float32)}, "bias", "(6,)"),
    ({"layout": "NHW"}, "layout", "'NHWC'"),
    ({"layout": "NDHWC"}, "layout", "'NHWC'"),
    ({"mode": "correlate"}, "mode", "'convolution'"),
    ({"algo": "fastest"}, "algo", "'im2col'"),
    ({"workspace_limit": -1}, "workspace_limit", "found -1"),
    ({"workspace_limit": 1.5}, "workspace_limit", "1.5"),
    ({"beta": 1}, "out", "beta is not 0"),
    ({"out": np.zeros((2, 6, 4, 4), np.float32)}, "out", "(2, 6, 4, 3)"),
]
BAD_TYPES = [
    ({"x": X.astype(np.float64)}, "w"),
    ({"w": W.astype(np.float64)}, "w"),
    ({"bias": np.ones(6)}, "bias"),
    ({"out": np.zeros((2, 6, 4, 3))}, "out"),
    ({"x": X.astype(np.int32)}, "x"),
    ({"x": X.astype(np.float16), "w": W.astype(np.float16)}, "x"),
    ({"x": X.astype(">f4")}, "x"),
    ({"x": X.tolist()}, "x"),
    ({"alpha": 1j}, "alpha"),
    ({"beta": "1"}, "beta"),
]


@pytest.mark.parametrize("number", range(len(BAD_CONV)))
def test_bad_geometry(device, number):
    """d17 and its kind: a ValueError that names routine, argument and values; the output is untouched."""
    options, argument, words = BAD_CONV[number]
    options = dict(options)
    out = options.setdefault("out", np.full((2, 6, 4, 3), 7, np.float32)) if argument != "out" else options.get("out")
    before = None if out is None else out.copy()
    with pytest.raises(ValueError, match="conv2d: argument") as caught:
        conv(**options)
    assert isinstance(caught.value, gpudnn.ArgumentError)
    assert caught.value.argument == argument and words in str(caught.value)
    assert out is None or np.array_equal(out, before)


@pytest.mark.parametrize("number", range(len(BAD_TYPES)))
def test_bad_types(device, number):
    options, argument = BAD_TYPES[number]
    with pytest.raises(gpudnn.DTypeError) as caught:
        conv(**options)
    assert caught.value.argument == argument


def test_bad_outputs(device):
    out = np.full((2, 6, 4, 3), 7, np.float32)
    out.flags.writeable = False
    with pytest.raises(gpudnn.ArgumentError, match="read-only"):
        conv(out=out)
    shared = np.ones(2 * 4 * 6 * 5 + 200, np.float32)
    x, y = shared[:240].reshape(2, 4, 6, 5), shared[200:344].reshape(2, 6, 4, 3)
    before = shared.copy()
    with pytest.raises(gpudnn.ArgumentError, match="overlaps x"):
        conv(x=x, out=y)
    with pytest.raises(gpudnn.ArgumentError, match="share memory"):
        conv(out=np.lib.stride_tricks.as_strided(np.zeros(12, np.float32), (2, 6, 4, 3), (0, 0, 12, 4)))
    records = np.zeros((2, 6, 4, 3), [("tag", "i1"), ("value", "f4")])
    with pytest.raises(gpudnn.ArgumentError, match="multiples of 4"):
        conv(out=records["value"])
    assert np.array_equal(shared, before)


@pytest.mark.parametrize(("call", "argument"), [
    (lambda: gpudnn.conv2d_backward_data(DY, W, (2, 4, 6)), "x_shape"),
    (lambda: gpudnn.conv2d_backward_data(DY, W, 7), "x_shape"),
    (lambda: gpudnn.conv2d_backward_data(DY, W, (2, 4, 6, -5)), "x_shape"),
    (lambda: gpudnn.conv2d_backward_data(DY, W, (2, 4, 7, 5)), "dy"),
    (lambda: gpudnn.conv2d_backward_data(DY, W, (2, 4, 6, 5), stride=2), "dy"),
    (lambda: gpudnn.conv2d_backward_filter(X, DY, (6, 4, 3, 2)), "dy"),
    (lambda: gpudnn.conv2d_backward_filter(X, DY, (6, 2, 3, 3)), "w"),
    (lambda: gpudnn.conv2d_backward_filter(X, DY.astype(float), (6, 4, 3, 3)), "dy"),
    (lambda: gpudnn.conv2d_backward_bias(X[0]), "dy"),
    (lambda: gpudnn.conv2d_backward_bias(X, layout="NCW"), "layout"),
    (lambda: gpudnn.relu_backward(X, X[0]), "x"),
    (lambda: gpudnn.relu([1.0]), "x"),
    (lambda: gpudnn.max_pool2d(X, 7), "window"),
    (lambda: gpudnn.max_pool2d(X, 0), "window"),
    (lambda: gpudnn.max_pool2d(X, 2, stride=0), "stride"),
    (lambda: gpudnn.max_pool2d(X.astype(int), 2), "x"),
    (lambda: gpudnn.max_pool2d_backward(X, X, X.shape, 2), "indices"),
    (lambda: gpudnn.max_pool2d_backward(X, np.zeros(X.shape, int), X.shape, 2), "dy"),
    (lambda: gpudnn.max_pool2d_backward(X, np.zeros(X.shape, int), 4, 2), "x_shape"),
    (lambda: gpudnn.linear(X, np.ones((3, 4), np.float32)), "w"),
    (lambda: gpudnn.linear(X, np.ones((3, 5))), "w"),
    (lambda: gpudnn.linear(X, np.ones((3, 5), np.float32), np.ones(4, np.float32)), "bias"),
    (lambda: gpudnn.linear(np.float32(1).reshape(()), np.ones((3, 5), np.float32)), "x"),
    (lambda: gpudnn.linear_backward(X, X, np.ones((3, 5), np.float32)), "dy"),
    (lambda: gpudnn.softmax(X, 4), "axis"),
    (lambda: gpudnn.softmax(X, -5), "axis"),
    (lambda: gpudnn.softmax(np.array(1.0)), "axis"),
    (lambda: gpudnn.softmax_backward(X, W), "y"),
    (lambda: gpudnn.cross_entropy(X, np.zeros((2, 6, 5), int), reduction="max"), "reduction"),
    (lambda: gpudnn.cross_entropy(X, np.zeros((2, 6), int)), "target"),
    (lambda: gpudnn.cross_entropy(X, np.full((2, 6, 5), 4)), "target"),
    (lambda: gpudnn.cross_entropy(X, np.full((2, 6, 5), -1)), "target"),
    (lambda: gpudnn.cross_entropy(X, np.zeros((2, 6, 5))), "target"),
    (lambda: gpudnn.cross_entropy(np.array(1.0), np.array(0)), "logits"),
    (lambda: gpudnn.cross_entropy_backward(X, np.zeros((2, 6, 5), int), np.ones((2, 6, 5), np.float32)), "dloss"),
    (lambda: gpudnn.cross_entropy_backward(X, np.zeros((2, 6, 5), int), np.ones(3, np.float32), reduction="none"),
     "dloss"),
])
def test_other_routines(call, argument):
    with pytest.raises(gpudnn.ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


def test_padding_words():
    def padding(extent, kernel, stride, word, dilation=1):
        problem = gpudnn.ConvProblem.from_shapes((1, 1, extent, extent), (1, 1, kernel, kernel), stride=stride,
                                                 padding=word, dilation=dilation)
        assert word == "valid" or problem.output == (-(-extent // stride),) * 2
        return problem.padding[0]

    assert padding(8, 3, 1, "same") == padding(8, 3, 1, "same_lower") == (1, 1)
    assert padding(8, 4, 1, "same") == (1, 2) and padding(8, 4, 1, "same_lower") == (2, 1)
    assert padding(8, 3, 2, "same") == (0, 1) and padding(8, 3, 2, "same_lower") == (1, 0)
    assert padding(8, 1, 3, "same") == (0, 0) and padding(7, 3, 1, "same", dilation=2) == (2, 2)
    assert padding(8, 3, 1, "valid") == (0, 0)


def test_problems_are_keys():
    """Equal calls give equal, hashable problems, whatever form the arguments had."""
    first = gpudnn.ConvProblem.from_shapes((1, 2, 5, 6), (3, 2, 3, 3), padding=1, stride=np.int64(2))
    second = gpudnn.ConvProblem.from_shapes([1, 2, 5, 6], [3, 2, 3, 3], padding=((1, 1), [1, 1]), stride=[2, 2])
    assert first == second and hash(first) == hash(second)
    assert first.y_shape == (1, 3, 3, 3) and first.w_shape == (3, 2, 3, 3) and first.terms("forward") == 18
    one = gpudnn.ConvProblem.from_shapes((4, 9, 2), (3, 3, 2), layout="NWC")
    assert one.output == (7,) and one.y_shape == (4, 7, 3)
    three = gpudnn.ConvProblem.from_shapes((1, 2, 4, 5, 6), (3, 2, 3, 3, 3), layout="NCDHW")
    assert three.y_shape == (1, 3, 2, 3, 4)


def test_importing_is_light():
    code = ("import sys, gpudnn; assert not {'numba', 'cuda', 'sklearn', 'matplotlib', 'rich'} & set(sys.modules);"
            "import numpy as np; gpudnn.relu(np.ones(3)); assert 'numba.cuda' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "GPUBLAS_DEVICE": "cpu"})
