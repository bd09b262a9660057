"""The GPU backend: the function names of cpu/, served by launches of the kernels in kernels/.

Importing this module imports numba; gpudnn does so when a call first runs on a GPU or on the executor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpublas.context import Call
from gpublas.cuda import compile as compiler
from gpublas.errors import UnsupportedError

from .kernels import direct, pool, reduce
from .kernels import elementwise as elementwise_kernels
from .kernels import im2col as column_kernels
from .kernels import softmax as row_kernels
from .problem import ConvProblem, PoolProblem
from .views import LIMIT, View, compact, spatial, together

BLOCK = 4  # results of a thread in direct convolution, where a group has that many channels
LONG_ROW = 1024  # rows longer than this get 256 threads, others 32
_CHUNK = 1 << 14  # positions that one block sums


def _kernel(call: Call, factory: Callable, *parameters: Any) -> Any:
    return compiler.build(factory, *parameters, capability=call.device.capability)


def _blocks(count: int, threads: int) -> int:
    return -(-count // threads)


def _threads(call: Call, factory: Callable, parameters: tuple, total: int, arguments: tuple[Any, ...],
             pointers: int) -> None:
    """Launch a kernel of one thread a result: the number of results follows its `pointers` pointers."""
    kernel = _kernel(call, factory, *parameters, total >= LIMIT)
    call.launch(kernel, _blocks(total, kernel.threads), *arguments[:pointers], total, *arguments[pointers:])


def elementwise(call: Call, operation: str, dtype: str, out: View, a: View, b: View | None = None, *,
                alpha: float = 1.0, beta: float = 0.0) -> None:
    """out = operation(a, b): "axpby" (alpha*a + beta*out), "relu", "relu_backward" (a where b > 0, else 0)."""
    for extents, (to, source, other) in together([out, a, b or a], elementwise_kernels.AXES):
        _threads(call, elementwise_kernels.elementwise, (dtype, operation), math.prod(extents),
                 (to.pointer, source.pointer, other.pointer, *extents[1:], *to.strides, *source.strides,
                  *other.strides, alpha, beta), 3)


def row_sums(call: Call, dtype: str, a: View, out: View, alpha: float, beta: float) -> None:
    """out[k] = alpha * sum of a[:, k] + beta * out[k]; out: one axis. Long sums take two steps."""
    kernel = _kernel(call, reduce.row_sums, dtype)
    batch, channels, *extents = a.extents
    positions = batch * math.prod(extents)
    chunks = max(1, min(_blocks(positions, _CHUNK), 256))
    span = _blocks(positions, chunks)
    # Divisors in the kernel must not be zero; with an extent of zero there are no positions to split.
    extents = [max(extent, 1) for extent in extents]
    if chunks == 1:
        call.launch(kernel, channels, a.pointer, out.pointer, 1, span, positions, *extents, *a.strides,
                    out.strides[0], 0, alpha, beta)
        return
    with call.workspace(channels * chunks * a.itemsize) as partial:
        call.launch(kernel, channels * chunks, a.pointer, partial, chunks, span, positions, *extents, *a.strides,
                    chunks, 1, 1.0, 0.0)
        parts = compact(partial, (1, channels, 1, 1, chunks), a.itemsize, (0, 1, 2, 3, 4))
        call.launch(kernel, channels, parts.pointer, out.pointer, 1, chunks, chunks, *parts.extents[2:],
                    *parts.strides, out.strides[0], 0, alpha, beta)


def _geometry(problem: ConvProblem | PoolProblem) -> tuple[tuple[int, ...], ...]:
    """Input, kernel and output extents, stride, dilation, padding before."""
    kernel = problem.kernel if isinstance(problem, ConvProblem) else problem.window
    for extent, count, step in zip(problem.input, problem.output, problem.stride, strict=True):
        if max(extent, count * step) >= LIMIT:
            raise UnsupportedError(f"GPU kernels count along one axis in 32 bits: extent {extent}, "
                                   f"{count} windows of stride {step}")
    return (spatial(problem.input, 1), spatial(kernel, 1), spatial(problem.output, 1), spatial(problem.stride, 1),
            spatial(problem.dilation, 1), spatial([before for before, _ in problem.padding], 0))


def _flat(*groups: Any) -> tuple[int, ...]:
    return tuple(value for group in groups for value in group)


def _block(channels: int) -> int:
    return BLOCK if channels >= BLOCK else 1


def direct_forward(call: Call, problem: ConvProblem, x: View, w: View, bias: View | None, y: View, alpha: float,
                   beta: float) -> None:
    """y = alpha * conv(x, w) + bias + beta * y."""
    block = _block(problem.group_filters)
    blocks = _blocks(problem.group_filters, block)
    _threads(call, direct.forward, (problem.dtype, block),
             problem.batch * math.prod(problem.output) * problem.groups * blocks,
             (x.pointer, w.pointer, bias.pointer if bias else 0, y.pointer, int(problem.channels_last),
              int(bias is not None), blocks, problem.groups, problem.group_channels, problem.group_filters,
              *_flat(*_geometry(problem)), *x.strides, *w.strides, *y.strides, bias.strides[0] if bias else 0,
              alpha, beta), 4)


def direct_backward_data(call: Call, problem: ConvProblem, dy: View, w: View, dx: View, alpha: float,
                         beta: float) -> None:
    """dx = alpha * (gradient by x) + beta * dx."""
    block = _block(problem.group_channels)
    blocks = _blocks(problem.group_channels, block)
    _threads(call, direct.backward_data, (problem.dtype, block),
             problem.batch * math.prod(problem.input) * problem.groups * blocks,
             (dy.pointer, w.pointer, dx.pointer, int(problem.channels_last), blocks, problem.groups,
              problem.group_channels, problem.group_filters, *_flat(*_geometry(problem)), *dx.strides, *w.strides,
              *dy.strides, alpha, beta), 3)


def direct_backward_filter(call: Call, problem: ConvProblem, x: View, dy: View, dw: View, alpha: float,
                           beta: float) -> None:
    """dw = alpha * (gradient by w) + beta * dw."""
    block = _block(problem.group_filters)
    blocks = _blocks(problem.group_filters, block)
    call.launch(_kernel(call, direct.backward_filter, problem.dtype, block),
                problem.groups * blocks * problem.group_channels * problem.taps, x.pointer, dy.pointer, dw.pointer,
                blocks, problem.batch, problem.group_channels, problem.group_filters, *_flat(*_geometry(problem)),
                *x.strides, *dw.strides, *dy.strides, alpha, beta)


def im2col(call: Call, problem: ConvProblem, x: View, columns: View, first: tuple[int, int, int]) -> None:
    """The columns (C, KD, KH, KW, N, OD, OH, OW) of the output pixels that start at `first`, for the images in x."""
    inputs, kernel, _, stride, dilation, padding = _geometry(problem)
    channels, batch, extents = x.extents[1], columns.extents[4], columns.extents[5:]
    start = tuple(p - f * s for p, f, s in zip(padding, first, stride, strict=True))
    _threads(call, column_kernels.im2col, (problem.dtype,), batch * channels * math.prod(extents),
             (x.pointer, columns.pointer, int(problem.channels_last), channels,
              *_flat(inputs, kernel, extents, stride, dilation, start), *x.strides, *columns.strides), 2)


def col2im(call: Call, problem: ConvProblem, columns: View, dx: View, box: tuple[int, int, int],
           first: tuple[int, int, int], beta: float) -> None:
    """dx = (sum of columns) + beta * dx for the part of the input that starts at pixel `box`."""
    _, kernel, _, stride, dilation, padding = _geometry(problem)
    _threads(call, column_kernels.col2im, (problem.dtype,), dx.size,
             (columns.pointer, dx.pointer, int(problem.channels_last), dx.extents[1],
              *_flat(dx.extents[2:], kernel, columns.extents[5:], stride, dilation, padding, box, first), *dx.strides,
              *columns.strides, beta), 2)


def max_pool(call: Call, problem: PoolProblem, x: View, y: View, indices: View | None) -> None:
    """y = largest value under each window, indices = its place in the image plane."""
    _threads(call, pool.max_forward, (problem.dtype,), y.size,
             (x.pointer, y.pointer, indices.pointer if indices else 0, int(y.strides[1] == 1),
              int(indices is not None), problem.channels, *_flat(*_geometry(problem)), *x.strides, *y.strides,
              *(indices.strides if indices else (0,) * 5)), 3)


def max_pool_backward(call: Call, problem: PoolProblem, dy: View, indices: View, dx: View) -> None:
    """dx = sum of dy over the windows whose largest value stands there."""
    _threads(call, pool.max_backward, (problem.dtype,), dx.size,
             (dy.pointer, indices.pointer, dx.pointer, int(dx.strides[1] == 1), problem.channels,
              *_flat(*_geometry(problem)), *dx.strides, *dy.strides, *indices.strides), 3)


def _rows(call: Call, factory: Callable, parameters: tuple, count: int, extents: tuple[int, ...],
          pointers: tuple[int, ...], rest: tuple[Any, ...]) -> None:
    """Launch a row kernel: `count` values a row, rows numbered by four axes."""
    rows = math.prod(extents)
    width = 256 if count > LONG_ROW else 32
    kernel = _kernel(call, factory, *parameters, width, rows >= LIMIT)
    call.launch(kernel, _blocks(rows, kernel.threads // width), *pointers, rows, count, *extents[1:], *rest)


def softmax(call: Call, dtype: str, count: int, extents: tuple[int, ...], x: View, y: View) -> None:
    """y = softmax of rows of `count` values; extents: the four axes that number rows."""
    _rows(call, row_kernels.forward, (dtype,), count, extents, (x.pointer, y.pointer), (*x.strides, *y.strides))


def softmax_backward(call: Call, dtype: str, count: int, extents: tuple[int, ...], dy: View, y: View,
                     dx: View) -> None:
    """dx = y * (dy - sum(dy * y)) along rows."""
    _rows(call, row_kernels.backward, (dtype,), count, extents, (dy.pointer, y.pointer, dx.pointer),
          (*dy.strides, *y.strides, *dx.strides))


def cross_entropy(call: Call, dtype: str, integer: str, count: int, extents: tuple[int, ...], x: View, targets: View,
                  loss: View) -> None:
    """loss = -log(softmax(row)[target])."""
    _rows(call, row_kernels.cross_entropy, (dtype, integer), count, extents,
          (x.pointer, targets.pointer, loss.pointer), (*x.strides, *targets.strides[:4], *loss.strides[:4]))


def cross_entropy_backward(call: Call, dtype: str, integer: str, count: int, extents: tuple[int, ...], x: View,
                           targets: View, dloss: View | None, dx: View, scale: float) -> None:
    """dx = scale * dloss * (softmax(row) - one_hot(target)); dloss None stands for 1."""
    _rows(call, row_kernels.cross_entropy_backward, (dtype, integer), count, extents,
          (x.pointer, targets.pointer, dloss.pointer if dloss else 0, dx.pointer),
          (*x.strides, *targets.strides[:4], *(dloss.strides[:4] if dloss else (0,) * 4), *dx.strides,
           int(dloss is not None), scale))
