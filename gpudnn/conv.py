"""Two-dimensional convolution and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpublas import arrays
from gpublas.checks import Argument
from gpublas.context import Call, call
from gpublas.errors import ArgumentError, DTypeError

from . import backend, checks, select
from .problem import ConvProblem, split_shape
from .views import View, image, plain, vector

_AXES = 4  # of an image of two spatial axes


def conv2d(x: Any, w: Any, bias: Any = None, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
           layout: str = "NCHW", mode: str = "cross_correlation", algo: str = "auto", alpha: float = 1.0,
           beta: float = 0.0, out: Any = None, workspace_limit: int | None = None) -> Any:
    """y = alpha * conv(x, w) + bias + beta * y, a convolution of images with filters.

    x: (N, C, H, W), or (N, H, W, C) with layout="NHWC"; float32 or float64; any strides; read.
    w: (K, C/groups, kh, kw), or (K, kh, kw, C/groups) with layout="NHWC" (as PyTorch's channels_last memory and
        cuDNN's NHWC filters lie); of x's type; read.
    bias: (K,) of x's type, or None; read; not scaled by alpha.
    stride, dilation: an integer, or one for each axis, at least 1.
    padding: zeros around the image: an integer, one for each axis, a pair (before, after) for each axis, "valid"
        (none), "same" (output extent ceil(H / stride), an odd zero goes after) or "same_lower" (goes before).
    groups: channels and filters are split into so many independent convolutions; depthwise with groups=C.
    layout: how x, w and the result are indexed. It is never guessed from strides.
    mode: "cross_correlation" as in all frameworks, or "convolution", which flips the kernel.
    algo: "auto" (see `explain`), "benchmark" (measure all that can do it, the first time, and remember), "im2col" or
        "direct". A named one is taken or refused. `gpudnn.flags` sets more, for a block of code.
    alpha, beta: numbers. beta == 0 does not read `out`; alpha == 0 reads neither x nor w.
    out: array for the result, of x's type, that overlaps no input; None (with beta == 0): a new C-order array of x's
        library.
    workspace_limit: bytes of device memory that the call may take besides its arrays; None: the algorithm's choice
        (at most about 16 MiB). 0 always succeeds.

    Returns y of shape (N, K, OH, OW) or (N, OH, OW, K), OH = (H + before + after - (kh-1)*dilation - 1) // stride + 1.
    Rounding: |y - exact| <= (C/groups*kh*kw + 4) * eps * (|alpha| |x| conv |w| + |bias| + |beta| |out|), IEEE
    arithmetic of x's type. A NaN or Inf spreads no further than the windows that hold it. A NaN or Inf weight shows
    wherever it meets a pixel; where it meets only padding, im2col multiplies it by zero (NaN) and direct skips it.
    Raises ArgumentError (a ValueError) for shapes, strides, padding, groups, names that do not fit, DTypeError for
    other or mixed element types, UnsupportedError when a named algorithm cannot (its workspace above the limit).
    Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016), arXiv:1603.07285.

    >>> import numpy as np, gpudnn
    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> gpudnn.conv2d(x, np.ones((1, 1, 3, 3), np.float32), stride=2, padding=1)[0, 0].tolist()
    [[10.0, 24.0], [51.0, 90.0]]
    """
    routine = "conv2d"
    image_x = checks.array(routine, 1, "x", x, _AXES)
    dtype = image_x.array.dtype
    filters = checks.array(routine, 2, "w", w, _AXES, dtype)
    problem = ConvProblem.from_shapes(image_x.array.shape, filters.array.shape, stride=stride, padding=padding,
                                      dilation=dilation, groups=groups, layout=layout, mode=mode, dtype=dtype,
                                      routine=routine)
    shift = None
    if bias is not None:
        shift = checks.array(routine, 3, "bias", bias, 1, dtype)
        checks.shaped(routine, shift, (problem.filters,), "one for each filter")
    scales = _Scales(routine, alpha, beta, algo, workspace_limit, dtype)
    target, result = _target(routine, out, x, problem.y_shape, dtype, scales.beta, "N, filters and output extents")

    if target.array.size == 0:
        return result
    with _call(routine, {"x": image_x, "w": filters, "bias": shift}, target, scales.beta) as run:
        y = image(run["out"], layout)
        b = plain(run["bias"]) if shift else None
        if scales.alpha == 0 or problem.terms("forward") == 0:
            _scale(run, problem.dtype, y, scales.beta)
            if b is not None:
                along = vector(b.pointer, b.extents[0], b.strides[0], b.itemsize, 1)
                backend.of(run).elementwise(run, "axpby", problem.dtype, y, along, beta=1.0)
        else:
            operands = (image(run["x"], layout), image(run["w"], layout), b, y)
            scales.run(run, problem, "forward", operands)
    return result


def conv2d_backward_data(dy: Any, w: Any, x_shape: Sequence[int], *, stride: Any = 1, padding: Any = 0,
                         dilation: Any = 1, groups: int = 1, layout: str = "NCHW", mode: str = "cross_correlation",
                         algo: str = "auto", alpha: float = 1.0, beta: float = 0.0, out: Any = None,
                         workspace_limit: int | None = None) -> Any:
    """dx = alpha * (gradient of conv2d by x, applied to dy) + beta * dx.

    dy: gradient by the forward result, (N, K, OH, OW) or (N, OH, OW, K); read. w: the forward call's filters; read.
    x_shape: shape of the forward call's x, which the result has: the output extents alone do not determine it.
    All other arguments as in `conv2d`; padding words give the padding of the forward call.

    Returns dx. An input pixel that no window touches has gradient 0. Deterministic. Rounding:
    |dx - exact| <= (K/groups*kh*kw + 4) * eps * (|alpha| |dy| conv' |w| + |beta| |out|).
    Raises as `conv2d`; ArgumentError too when dy does not have the forward result's shape.
    Source: as `conv2d`, section 4 (transposed convolution).

    >>> import numpy as np, gpudnn
    >>> w = np.ones((1, 1, 2, 2), np.float32)
    >>> gpudnn.conv2d_backward_data(np.ones((1, 1, 2, 2), np.float32), w, (1, 1, 3, 3))[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    routine = "conv2d_backward_data"
    gradient = checks.array(routine, 1, "dy", dy, _AXES)
    dtype = gradient.array.dtype
    filters = checks.array(routine, 2, "w", w, _AXES, dtype)
    problem = ConvProblem.from_shapes(_shape(routine, 3, "x_shape", x_shape), filters.array.shape, stride=stride,
                                      padding=padding, dilation=dilation, groups=groups, layout=layout, mode=mode,
                                      dtype=dtype, routine=routine)
    checks.shaped(routine, gradient, problem.y_shape, "the forward result's")
    scales = _Scales(routine, alpha, beta, algo, workspace_limit, dtype)
    target, result = _target(routine, out, dy, problem.x_shape, dtype, scales.beta, "x_shape")

    if target.array.size == 0:
        return result
    with _call(routine, {"dy": gradient, "w": filters}, target, scales.beta) as run:
        dx = image(run["out"], layout)
        if scales.alpha == 0 or problem.terms("backward_data") == 0:
            _scale(run, problem.dtype, dx, scales.beta)
        else:
            operands = (image(run["dy"], layout), image(run["w"], layout), dx)
            scales.run(run, problem, "backward_data", operands)
    return result


def conv2d_backward_filter(x: Any, dy: Any, w_shape: Sequence[int], *, stride: Any = 1, padding: Any = 0,
                           dilation: Any = 1, groups: int = 1, layout: str = "NCHW", mode: str = "cross_correlation",
                           algo: str = "auto", alpha: float = 1.0, beta: float = 0.0, out: Any = None,
                           workspace_limit: int | None = None) -> Any:
    """dw = alpha * (gradient of conv2d by w, applied to dy) + beta * dw.

    x: the forward call's images; read. dy: gradient by the forward result; read. w_shape: shape of the forward call's
    filters, which the result has. All other arguments as in `conv2d`.

    Returns dw; zeros (beta * dw) for an empty batch. Deterministic: sums are fixed trees or fixed sequences. Rounding:
    |dw - exact| <= (N*OH*OW + 4) * eps * (|alpha| |x| conv' |dy| + |beta| |out|).
    Raises as `conv2d`; ArgumentError too when dy does not have the forward result's shape.

    >>> import numpy as np, gpudnn
    >>> x = np.arange(9, dtype=np.float64).reshape(1, 1, 3, 3)
    >>> gpudnn.conv2d_backward_filter(x, np.ones((1, 1, 2, 2)), (1, 1, 2, 2))[0, 0].tolist()
    [[8.0, 12.0], [20.0, 24.0]]
    """
    routine = "conv2d_backward_filter"
    image_x = checks.array(routine, 1, "x", x, _AXES)
    dtype = image_x.array.dtype
    gradient = checks.array(routine, 2, "dy", dy, _AXES, dtype)
    problem = ConvProblem.from_shapes(image_x.array.shape, _shape(routine, 3, "w_shape", w_shape), stride=stride,
                                      padding=padding, dilation=dilation, groups=groups, layout=layout, mode=mode,
                                      dtype=dtype, routine=routine)
    checks.shaped(routine, gradient, problem.y_shape, "the forward result's")
    scales = _Scales(routine, alpha, beta, algo, workspace_limit, dtype)
    target, result = _target(routine, out, x, problem.w_shape, dtype, scales.beta, "w_shape")

    if target.array.size == 0:
        return result
    with _call(routine, {"x": image_x, "dy": gradient}, target, scales.beta) as run:
        dw = image(run["out"], layout)
        if scales.alpha == 0 or problem.terms("backward_filter") == 0:
            _scale(run, problem.dtype, dw, scales.beta)
        else:
            operands = (image(run["x"], layout), image(run["dy"], layout), dw)
            scales.run(run, problem, "backward_filter", operands)
    return result


def conv2d_backward_bias(dy: Any, *, layout: str = "NCHW", alpha: float = 1.0, beta: float = 0.0,
                         out: Any = None) -> Any:
    """db = alpha * (sum of dy over images and pixels) + beta * db, the gradient of conv2d by its bias.

    dy: (N, K, OH, OW), or (N, OH, OW, K) with layout="NHWC"; float32 or float64; read. out: (K,), as in `conv2d`.
    Returns db of shape (K,); zeros (beta * db) for an empty batch. Deterministic: a fixed tree. Raises as `conv2d`.

    >>> import numpy as np, gpudnn
    >>> gpudnn.conv2d_backward_bias(np.ones((2, 3, 4, 4), np.float32)).tolist()
    [32.0, 32.0, 32.0]
    """
    routine = "conv2d_backward_bias"
    gradient = checks.array(routine, 1, "dy", dy, _AXES)
    dtype = gradient.array.dtype
    checks.choice(routine, None, "layout", layout, ("NCHW", "NHWC"))
    scale_a, scale_b = checks.number(routine, "alpha", alpha, dtype), checks.number(routine, "beta", beta, dtype)
    _, filters, _ = split_shape(layout, gradient.array.shape)
    target, result = _target(routine, out, dy, (filters,), dtype, scale_b, "one for each filter")

    if target.array.size == 0:
        return result
    with _call(routine, {"dy": gradient}, target, scale_b) as run:
        db = plain(run["out"])
        if scale_a == 0 or gradient.array.size == 0:
            _scale(run, dtype.name, db, scale_b)
        else:
            backend.of(run).row_sums(run, dtype.name, image(run["dy"], layout), db, scale_a, scale_b)
    return result


class _Scales:
    """The checked options that all three directions share, and how they are run."""

    def __init__(self, routine: str, alpha: Any, beta: Any, algo: Any, workspace_limit: Any, dtype: np.dtype):
        self.alpha = checks.number(routine, "alpha", alpha, dtype)
        self.beta = checks.number(routine, "beta", beta, dtype)
        self.algo = select.checked_algorithm(routine, algo)
        self.limit = select.checked_limit(routine, workspace_limit)

    def run(self, run: Call, problem: ConvProblem, direction: str, operands: tuple) -> None:
        select.run(run, problem, direction, operands, self.alpha, self.beta, self.algo, self.limit)


def _shape(routine, position, name, value):
    try:
        shape = tuple(value)
    except TypeError:
        raise DTypeError(routine, position, name, type(value).__name__, f"{_AXES} integers") from None
    if len(shape) != _AXES:
        raise ArgumentError(routine, position, name, shape, f"{_AXES} integers")
    return tuple(checks.integer(routine, position, name, extent, 0) for extent in shape)


def _target(routine, out, like, shape, dtype, beta, why):
    """(checked output, the array to return): `out`, or a new array where it is None."""
    if out is None:
        if beta != 0:
            raise ArgumentError(routine, None, "out", "None", "an array, since beta is not 0")
        out = arrays.empty(like, shape, dtype)
    return checks.output(routine, "out", out, shape, dtype, why), out


def _call(routine: str, reads: dict[str, Argument | None], target: Argument, beta: float) -> Call:
    inputs = {name: argument for name, argument in reads.items() if argument is not None}
    output = {"out": target}
    return call(routine, inputs, writes=output if beta == 0 else None, updates=None if beta == 0 else output)


def _scale(run: Call, dtype: str, out: View, beta: float) -> None:
    """out = beta * out; zeros, without reading it, for beta == 0."""
    backend.of(run).elementwise(run, "axpby", dtype, out, out, alpha=0.0, beta=beta)
