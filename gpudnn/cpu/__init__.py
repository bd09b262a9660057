"""The host backend: the function names of gpu.py, served by compiled loops on NumPy memory.

Importing this module imports numba; gpudnn does so when a call first runs on the CPU.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpublas.context import Call

from ..problem import ConvProblem, PoolProblem
from ..views import View, spatial, together
from . import convolution, images
from .jit import share

AXES = 5
_ELEMENTWISE = {"axpby": images.axpby, "relu": images.relu, "relu_backward": images.relu_backward}


def elementwise(call: Call, operation: str, dtype: str, out: View, a: View, b: View | None = None, *,
                alpha: float = 1.0, beta: float = 0.0) -> None:
    """out = operation(a, b): "axpby" (alpha*a + beta*out), "relu", "relu_backward" (a where b > 0, else 0)."""
    real = np.dtype(dtype).type
    for extents, (to, source, other) in together([out, a, b or a], AXES):
        count = math.prod(extents)
        share(_ELEMENTWISE[operation], count, count, to.pointer, source.pointer, other.pointer, extents, to.strides,
              source.strides, other.strides, real(alpha), real(beta))


def row_sums(call: Call, dtype: str, a: View, out: View, alpha: float, beta: float) -> None:
    """out[k] = alpha * sum of a[:, k] + beta * out[k]; out: one axis."""
    real = np.dtype(dtype).type
    share(images.row_sums, a.extents[1], a.size, a.pointer, out.pointer, a.extents, a.strides, out.strides[0],
          real(alpha), real(beta))


def _geometry(problem: ConvProblem | PoolProblem) -> tuple[Any, ...]:
    """Input, kernel and output extents, stride, dilation, padding before."""
    kernel = problem.kernel if isinstance(problem, ConvProblem) else problem.window
    return (spatial(problem.input, 1), spatial(kernel, 1), spatial(problem.output, 1), spatial(problem.stride, 1),
            spatial(problem.dilation, 1), spatial([before for before, _ in problem.padding], 0))


def _blocks(channels: int) -> int:
    return -(-channels // convolution.BLOCK)


def direct_forward(call: Call, problem: ConvProblem, x: View, w: View, bias: View | None, y: View, alpha: float,
                   beta: float) -> None:
    """y = alpha * conv(x, w) + bias + beta * y."""
    real = np.dtype(problem.dtype).type
    rows = math.prod(spatial(problem.output, 1)[:2])
    share(convolution.direct_forward, problem.batch * rows * problem.groups * _blocks(problem.group_filters),
          problem.multiply_adds, x.pointer, w.pointer, bias.pointer if bias else 0, y.pointer, bias is not None,
          problem.groups, problem.group_channels, problem.group_filters, *_geometry(problem), x.strides, w.strides,
          y.strides, bias.strides[0] if bias else 0, real(alpha), real(beta))


def direct_backward_data(call: Call, problem: ConvProblem, dy: View, w: View, dx: View, alpha: float,
                         beta: float) -> None:
    """dx = alpha * (gradient by x) + beta * dx."""
    real = np.dtype(problem.dtype).type
    rows = math.prod(spatial(problem.input, 1)[:2])
    share(convolution.direct_backward_data, problem.batch * rows * problem.groups * _blocks(problem.group_channels),
          problem.multiply_adds + dx.size, dy.pointer, w.pointer, dx.pointer, problem.groups, problem.group_channels,
          problem.group_filters, *_geometry(problem), dx.strides, w.strides, dy.strides, real(alpha), real(beta))


def direct_backward_filter(call: Call, problem: ConvProblem, x: View, dy: View, dw: View, alpha: float,
                           beta: float) -> None:
    """dw = alpha * (gradient by w) + beta * dw."""
    real = np.dtype(problem.dtype).type
    share(convolution.direct_backward_filter, problem.groups * _blocks(problem.group_filters) * problem.group_channels,
          problem.multiply_adds, x.pointer, dy.pointer, dw.pointer, problem.batch, problem.group_channels,
          problem.group_filters, *_geometry(problem), x.strides, dw.strides, dy.strides, real(alpha), real(beta))


def im2col(call: Call, problem: ConvProblem, x: View, columns: View, first: tuple[int, int, int]) -> None:
    """The columns (C, KD, KH, KW, N, OD, OH, OW) of the output pixels that start at `first`, for the images in x."""
    inputs, kernel, _, stride, dilation, padding = _geometry(problem)
    extents = columns.extents[5:]
    start = tuple(p - f * s for p, f, s in zip(padding, first, stride, strict=True))
    share(convolution.im2col, columns.extents[4] * extents[0] * extents[1], columns.size, x.pointer, columns.pointer,
          abs(columns.strides[0]) == 1, x.extents[1], inputs, kernel, extents, stride, dilation, start, x.strides,
          columns.strides, np.dtype(problem.dtype).type(0))


def col2im(call: Call, problem: ConvProblem, columns: View, dx: View, box: tuple[int, int, int],
           first: tuple[int, int, int], beta: float) -> None:
    """dx = (sum of columns) + beta * dx for the part of the input that starts at pixel `box`."""
    _, kernel, _, stride, dilation, padding = _geometry(problem)
    extents = dx.extents[2:]
    share(convolution.col2im, dx.extents[0] * extents[0] * extents[1], columns.size + dx.size, columns.pointer,
          dx.pointer, abs(columns.strides[0]) == 1, dx.extents[1], extents, kernel, columns.extents[5:], stride,
          dilation, padding, box, first, dx.strides, columns.strides, np.dtype(problem.dtype).type(beta))


def max_pool(call: Call, problem: PoolProblem, x: View, y: View, indices: View | None) -> None:
    """y = largest value under each window, indices = its place in the image plane."""
    inputs, kernel, output, *rest = _geometry(problem)
    share(images.max_forward, problem.batch * output[0] * output[1], y.size * math.prod(kernel), x.pointer, y.pointer,
          indices.pointer if indices else 0, y.strides[1] == 1, indices is not None, problem.channels, inputs, kernel,
          output, *rest, x.strides, y.strides, indices.strides if indices else (0,) * 5,
          np.dtype(problem.dtype).type(0))


def max_pool_backward(call: Call, problem: PoolProblem, dy: View, indices: View, dx: View) -> None:
    """dx = sum of dy over the windows whose largest value stands there."""
    inputs, kernel, *rest = _geometry(problem)
    share(images.max_backward, problem.batch * inputs[0] * inputs[1], dx.size * math.prod(kernel), dy.pointer,
          indices.pointer, dx.pointer, dx.strides[1] == 1, problem.channels, inputs, kernel, *rest, dx.strides,
          dy.strides, indices.strides, np.dtype(problem.dtype).type(0))


def softmax(call: Call, dtype: str, count: int, extents: tuple[int, ...], x: View, y: View) -> None:
    """y = softmax of rows of `count` values; extents: the four axes that number rows."""
    rows = math.prod(extents)
    share(images.softmax, rows, 20 * rows * count, x.pointer, y.pointer, count, extents, x.strides, y.strides,
          np.dtype(dtype).type(0))


def softmax_backward(call: Call, dtype: str, count: int, extents: tuple[int, ...], dy: View, y: View,
                     dx: View) -> None:
    """dx = y * (dy - sum(dy * y)) along rows."""
    rows = math.prod(extents)
    share(images.softmax_backward, rows, 4 * rows * count, dy.pointer, y.pointer, dx.pointer, count, extents,
          dy.strides, y.strides, dx.strides, np.dtype(dtype).type(0))


def cross_entropy(call: Call, dtype: str, integer: str, count: int, extents: tuple[int, ...], x: View, targets: View,
                  loss: View) -> None:
    """loss = -log(softmax(row)[target])."""
    rows = math.prod(extents)
    share(images.cross_entropy, rows, 20 * rows * count, x.pointer, targets.pointer, loss.pointer, count, extents,
          x.strides, targets.strides, loss.strides, np.dtype(dtype).type(0), np.dtype(integer).type(0))


def cross_entropy_backward(call: Call, dtype: str, integer: str, count: int, extents: tuple[int, ...], x: View,
                           targets: View, dloss: View | None, dx: View, scale: float) -> None:
    """dx = scale * dloss * (softmax(row) - one_hot(target)); dloss None stands for 1."""
    rows = math.prod(extents)
    share(images.cross_entropy_backward, rows, 40 * rows * count, x.pointer, targets.pointer,
          dloss.pointer if dloss else 0, dx.pointer, dloss is not None, count, extents, x.strides, targets.strides,
          dloss.strides if dloss else (0,) * 5, dx.strides, np.dtype(dtype).type(scale), np.dtype(integer).type(0))
