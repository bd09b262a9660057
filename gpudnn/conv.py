"""Convolution over one, two or three spatial axes, its gradients, and transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpublas import arrays
from gpublas.checks import Argument
from gpublas.context import Call, call
from gpublas.errors import ArgumentError, DTypeError

from . import backend, checks, select
from .axes import Form, with_axes
from .problem import LAYOUTS, ConvProblem, image_shape, split_shape
from .views import View, image, plain, vector


def _convnd(form: Form, x: Any, w: Any, bias: Any = None, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
            groups: int = 1, layout: str, mode: str = "cross_correlation", algo: str = "auto", alpha: float = 1.0,
            beta: float = 0.0, out: Any = None, workspace_limit: int | None = None) -> Any:
    """y = alpha * conv(x, w) + bias + beta * y, a convolution of images with filters.

    x: {x_first}, or {x_last} with layout="{last}"; float32 or float64; any strides; read.
    w: {w_first}, or {w_last} with layout="{last}" (as PyTorch's channels_last memory and
        cuDNN's NHWC filters lie); of x's type; read.
    bias: (K,) of x's type, or None; read; not scaled by alpha.
    stride, dilation: an integer, or one for each axis, at least 1.
    padding: zeros around the image: an integer, one for each axis, a pair (before, after) for each axis, "valid"
        (none), "same" (output extent ceil(extent / stride), an odd zero goes after) or "same_lower" (goes before).
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

    Returns y of shape {y_first} or {y_last}: of an extent E, (E + before + after - (k-1)*dilation - 1) // stride + 1.
    Rounding: |y - exact| <= (C/groups * taps + 4) * eps * (|alpha| |x| conv |w| + |bias| + |beta| |out|), IEEE
    arithmetic of x's type. A NaN or Inf spreads no further than the windows that hold it. A NaN or Inf weight shows
    wherever it meets a pixel; where it meets only padding, im2col multiplies it by zero (NaN) and direct skips it.
    Raises ArgumentError (a ValueError) for shapes, strides, padding, groups, names that do not fit, DTypeError for
    other or mixed element types, UnsupportedError when a named algorithm cannot (its workspace above the limit).
    Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016), arXiv:1603.07285.

    >>> import numpy as np, gpudnn
    >>> x, w = np.ones((1, 2) + (4,) * {n}, np.float32), np.ones((1, 2) + (3,) * {n}, np.float32)
    >>> gpudnn.conv{n}d(x, w, stride=2, padding=1).max().item() == 2 * 3.0**{n}
    True
    """
    routine, axes = form.name, form.axes + 2
    image_x = checks.array(routine, 1, "x", x, axes)
    dtype = image_x.array.dtype
    filters = checks.array(routine, 2, "w", w, axes, dtype)
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
                _add_bias(run, problem.dtype, y, b)
        else:
            operands = (image(run["x"], layout), image(run["w"], layout), b, y)
            scales.run(run, problem, "forward", operands)
    return result


def _convnd_backward_data(form: Form, dy: Any, w: Any, x_shape: Sequence[int], *, stride: Any = 1, padding: Any = 0,
                          dilation: Any = 1, groups: int = 1, layout: str, mode: str = "cross_correlation",
                          algo: str = "auto", alpha: float = 1.0, beta: float = 0.0, out: Any = None,
                          workspace_limit: int | None = None) -> Any:
    """dx = alpha * (gradient of conv{n}d by x, applied to dy) + beta * dx.

    dy: gradient by the forward result, {y_first} or {y_last}; read. w: the forward call's filters; read.
    x_shape: shape of the forward call's x, which the result has: the output extents alone do not determine it.
    All other arguments as in `conv{n}d`; padding words give the padding of the forward call.

    Returns dx. An input pixel that no window touches has gradient 0. Deterministic. Rounding:
    |dx - exact| <= (K/groups * taps + 4) * eps * (|alpha| |dy| conv' |w| + |beta| |out|).
    Raises as `conv{n}d`; ArgumentError too when dy does not have the forward result's shape.
    Source: as `conv{n}d`, section 4 (transposed convolution).

    >>> import numpy as np, gpudnn
    >>> w = np.ones((1, 1) + (2,) * {n}, np.float32)
    >>> dx = gpudnn.conv{n}d_backward_data(np.ones((1, 1) + (2,) * {n}, np.float32), w, (1, 1) + (3,) * {n})
    >>> dx.max().item() == 2.0**{n} and dx.min().item() == 1
    True
    """
    routine, axes = form.name, form.axes + 2
    gradient = checks.array(routine, 1, "dy", dy, axes)
    dtype = gradient.array.dtype
    filters = checks.array(routine, 2, "w", w, axes, dtype)
    problem = ConvProblem.from_shapes(_shape(routine, 3, "x_shape", x_shape, axes), filters.array.shape, stride=stride,
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


def _convnd_backward_filter(form: Form, x: Any, dy: Any, w_shape: Sequence[int], *, stride: Any = 1, padding: Any = 0,
                            dilation: Any = 1, groups: int = 1, layout: str, mode: str = "cross_correlation",
                            algo: str = "auto", alpha: float = 1.0, beta: float = 0.0, out: Any = None,
                            workspace_limit: int | None = None) -> Any:
    """dw = alpha * (gradient of conv{n}d by w, applied to dy) + beta * dw.

    x: the forward call's images; read. dy: gradient by the forward result; read. w_shape: shape of the forward call's
    filters, which the result has. All other arguments as in `conv{n}d`.

    Returns dw; zeros (beta * dw) for an empty batch. Deterministic: sums are fixed trees or fixed sequences. Rounding:
    |dw - exact| <= (N * pixels + 4) * eps * (|alpha| |x| conv' |dy| + |beta| |out|).
    Raises as `conv{n}d`; ArgumentError too when dy does not have the forward result's shape.

    >>> import numpy as np, gpudnn
    >>> x, dy = np.ones((2, 1) + (3,) * {n}), np.ones((2, 1) + (2,) * {n})
    >>> gpudnn.conv{n}d_backward_filter(x, dy, (1, 1) + (2,) * {n}).max().item() == 2 * 2.0**{n}
    True
    """
    routine, axes = form.name, form.axes + 2
    image_x = checks.array(routine, 1, "x", x, axes)
    dtype = image_x.array.dtype
    gradient = checks.array(routine, 2, "dy", dy, axes, dtype)
    problem = ConvProblem.from_shapes(image_x.array.shape, _shape(routine, 3, "w_shape", w_shape, axes), stride=stride,
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


def _convnd_backward_bias(form: Form, dy: Any, *, layout: str, alpha: float = 1.0, beta: float = 0.0,
                          out: Any = None) -> Any:
    """db = alpha * (sum of dy over images and pixels) + beta * db, the gradient of conv{n}d by its bias.

    dy: {y_first}, or {y_last} with layout="{last}"; float32 or float64; read. out: (K,), as in `conv{n}d`.
    Returns db of shape (K,); zeros (beta * db) for an empty batch. Deterministic: a fixed tree. Raises as `conv{n}d`.

    >>> import numpy as np, gpudnn
    >>> gpudnn.conv{n}d_backward_bias(np.ones((2, 3) + (4,) * {n}, np.float32)).tolist() == [2 * 4.0**{n}] * 3
    True
    """
    routine = form.name
    gradient = checks.array(routine, 1, "dy", dy, form.axes + 2)
    dtype = gradient.array.dtype
    checks.choice(routine, None, "layout", layout, LAYOUTS[form.axes])
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


def _conv_transposend(form: Form, x: Any, w: Any, bias: Any = None, *, stride: Any = 1, padding: Any = 0,
                      output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layout: str,
                      mode: str = "cross_correlation", algo: str = "auto", alpha: float = 1.0, beta: float = 0.0,
                      out: Any = None, workspace_limit: int | None = None) -> Any:
    """y = alpha * (transpose of the map x -> conv{n}d(x, w), applied to x) + bias + beta * y.

    x: {x_first}, or {x_last} with layout="{last}"; float32 or float64; read.
    w: {w_first} as for the convolution that is transposed: its first axis has x's channels, its channels times groups
        are those of the result; of x's type; read.
    bias: one number for each channel of the result, of x's type, or None; read; not scaled by alpha.
    stride, dilation, groups, mode: of that convolution. padding: of that convolution, an integer, one for each axis,
        or a pair (before, after) for each: as much is cut off the result. output_padding: an integer, or one for each
        axis, below stride: rows that the result has more at its end.
    algo, alpha, beta, out, workspace_limit: as in `conv{n}d`.

    Returns y, of an extent E: (E - 1) * stride - before - after + (k - 1) * dilation + 1 + output_padding. Its
    gradients are convolutions: by x `conv{n}d(dy, w)`, by w `conv{n}d_backward_filter(dy, x, w.shape)`, by bias
    `conv{n}d_backward_bias(dy)`, with the same options. Rounding, errors and source as `conv{n}d_backward_data`.
    Raises as `conv{n}d`; ArgumentError too for an output_padding of stride or more, and where nothing is left.

    >>> import numpy as np, gpudnn
    >>> x, w = np.ones((1, 1) + (3,) * {n}, np.float32), np.ones((1, 2) + (2,) * {n}, np.float32)
    >>> gpudnn.conv_transpose{n}d(x, w, stride=2).shape == (1, 2) + (6,) * {n}
    True
    """
    routine, axes = form.name, form.axes + 2
    image_x = checks.array(routine, 1, "x", x, axes)
    dtype = image_x.array.dtype
    filters = checks.array(routine, 2, "w", w, axes, dtype)
    checks.choice(routine, None, "layout", layout, LAYOUTS[form.axes])
    shape, pads = _transposed(routine, form.axes, image_x, filters, stride, padding, output_padding, dilation, groups,
                              layout)
    problem = ConvProblem.from_shapes(shape, filters.array.shape, stride=stride, padding=pads, dilation=dilation,
                                      groups=groups, layout=layout, mode=mode, dtype=dtype, routine=routine)
    shift = None
    if bias is not None:
        shift = checks.array(routine, 3, "bias", bias, 1, dtype)
        checks.shaped(routine, shift, (problem.channels,), "one for each channel of the result")
    scales = _Scales(routine, alpha, beta, algo, workspace_limit, dtype)
    target, result = _target(routine, out, x, problem.x_shape, dtype, scales.beta, "N, channels and output extents")

    if target.array.size == 0:
        return result
    with _call(routine, {"x": image_x, "w": filters, "bias": shift}, target, scales.beta) as run:
        y = image(run["out"], layout)
        if scales.alpha == 0 or problem.terms("backward_data") == 0:
            _scale(run, problem.dtype, y, scales.beta)
        else:
            scales.run(run, problem, "backward_data", (image(run["x"], layout), image(run["w"], layout), y))
        if shift:
            _add_bias(run, problem.dtype, y, plain(run["bias"]))
    return result


def _transposed(routine, axes, x, w, stride, padding, output_padding, dilation, groups, layout):
    """(shape of a transposed convolution's result, padding as pairs)."""
    batch, channels, extents = split_shape(layout, x.array.shape)
    filters, group_channels, kernel = split_shape(layout, w.array.shape)
    if filters != channels:
        raise ArgumentError(routine, 2, "w", f"shape {w.array.shape}, for {filters} channels", f"{channels}, as x has")
    strides = checks.per_axis(routine, None, "stride", stride, axes, 1)
    dilations = checks.per_axis(routine, None, "dilation", dilation, axes, 1)
    more = checks.per_axis(routine, None, "output_padding", output_padding, axes, 0)
    if any(extra >= step for extra, step in zip(more, strides, strict=True)):
        raise ArgumentError(routine, None, "output_padding", output_padding, f"less than the stride {strides}")
    if isinstance(padding, str) and padding != "valid":
        raise ArgumentError(routine, None, "padding", repr(padding), "numbers, or 'valid'")
    windows = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    pads = checks.padding(routine, padding, extents, windows, strides)
    output = tuple((extent - 1) * step - sum(pad) + window + extra for extent, step, pad, window, extra in
                   zip(extents, strides, pads, windows, more, strict=True))
    if min(output) < 1:
        raise ArgumentError(routine, None, "padding", repr(padding), f"less: the result would have extents {output}")
    groups = checks.integer(routine, None, "groups", groups, 1)
    return image_shape(layout, batch, group_channels * groups, output), pads


conv1d = with_axes(_convnd, 1)
conv2d = with_axes(_convnd, 2)
conv3d = with_axes(_convnd, 3)
conv1d_backward_data = with_axes(_convnd_backward_data, 1)
conv2d_backward_data = with_axes(_convnd_backward_data, 2)
conv3d_backward_data = with_axes(_convnd_backward_data, 3)
conv1d_backward_filter = with_axes(_convnd_backward_filter, 1)
conv2d_backward_filter = with_axes(_convnd_backward_filter, 2)
conv3d_backward_filter = with_axes(_convnd_backward_filter, 3)
conv1d_backward_bias = with_axes(_convnd_backward_bias, 1)
conv2d_backward_bias = with_axes(_convnd_backward_bias, 2)
conv3d_backward_bias = with_axes(_convnd_backward_bias, 3)
conv_transpose1d = with_axes(_conv_transposend, 1)
conv_transpose2d = with_axes(_conv_transposend, 2)
conv_transpose3d = with_axes(_conv_transposend, 3)


def _add_bias(run: Call, dtype: str, y: View, bias: View) -> None:
    """y = y + bias, a number for each channel."""
    along = vector(bias.pointer, bias.extents[0], bias.strides[0], bias.itemsize, 1)
    backend.of(run).elementwise(run, "axpby", dtype, y, along, beta=1.0)


class _Scales:
    """The checked options that all three directions share, and how they are run."""

    def __init__(self, routine: str, alpha: Any, beta: Any, algo: Any, workspace_limit: Any, dtype: np.dtype):
        self.alpha = checks.number(routine, "alpha", alpha, dtype)
        self.beta = checks.number(routine, "beta", beta, dtype)
        self.algo = select.checked_algorithm(routine, algo)
        self.limit = select.checked_limit(routine, workspace_limit)

    def run(self, run: Call, problem: ConvProblem, direction: str, operands: tuple) -> None:
        select.run(run, problem, direction, operands, self.alpha, self.beta, self.algo, self.limit)


def _shape(routine, position, name, value, axes):
    try:
        shape = tuple(value)
    except TypeError:
        raise DTypeError(routine, position, name, type(value).__name__, f"{axes} integers") from None
    if len(shape) != axes:
        raise ArgumentError(routine, position, name, shape, f"{axes} integers")
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
