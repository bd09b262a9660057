"""Convolution as a matrix product: filters times columns, the input values under each output pixel's taps.

Chellapilla, Puri, Simard, "High performance convolutional neural networks for document processing" (2006).
For one group, with Q = C/groups * taps and M output pixels:

    forward          Y (K x M)  = W (K x Q) @ columns (Q x M)
    backward_filter  dW (K x Q) = dY (K x M) @ columns^T
    backward_data    columns    = W^T @ dY, and dX sums the columns that were read from each pixel

The work is cut into slices whose columns fit the workspace: several images, or some rows of one image. A slice of
the output that is a matrix as it lies is used in place, another goes through a packed copy. Kernels of one tap with
stride 1 and no padding need no columns: the image is the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from gpublas.context import Call
from gpublas.errors import UnsupportedError
from gpublas.level3 import gemm_bound
from gpublas.operands import Matrix
from gpublas.precision import BY_DTYPE

from .. import backend
from ..checks import DTYPES
from ..problem import ConvProblem
from ..views import View, compact, spatial, vector

NAME = "im2col"
TRAITS: frozenset[str] = frozenset({"nan_spreads"})
NOTES = "a matrix product on columns; any workspace from the columns of one output row on; deterministic"

PREFERRED_BYTES = 16 << 20  # larger slices gain nothing: the product has enough columns, and caches are left
_ALIGN = 256
_SPATIAL_AXES = (2, 3, 4)
_PIXEL_AXES = (0, 2, 3, 4)
_PRECISION = {dtype.name: BY_DTYPE[dtype] for dtype in DTYPES}


class Slice(NamedTuple):
    """Images first..last, and along the sliced spatial axis rows of the output and (backward_data) of the input."""

    images: tuple[int, int]
    out_rows: tuple[int, int]
    in_rows: tuple[int, int]


class Plan(NamedTuple):
    """Slices along `axis` (of the three spatial ones) and the bytes of their workspace's three parts."""

    axis: int
    slices: list[Slice]
    weight_bytes: int
    column_bytes: int
    pixel_bytes: int

    @property
    def total(self) -> int:
        return self.weight_bytes + self.column_bytes + self.pixel_bytes


def supports(problem: ConvProblem, direction: str) -> str | None:
    """None: all strides, paddings, dilations and groups."""
    return None


def error_bound(problem: ConvProblem, direction: str) -> float:
    """A sum of n rounded products, in whatever order, and the sum over slices or taps."""
    return (problem.terms(direction) + 4) * problem.eps


def workspace_bytes(problem: ConvProblem, direction: str, limit: int | None = None) -> int:
    """For dense operands; strided ones may need a packed copy of the filters more."""
    if problem.is_pointwise:
        return 0
    try:
        return _plan(problem, direction, limit, pack_weights=False).total
    except _TooSmall as error:
        return error.least


class _TooSmall(UnsupportedError):
    def __init__(self, least: int, limit: int):
        self.least = least
        super().__init__(f"needs {least} bytes of workspace, the limit is {limit}")


def _aligned(nbytes):
    return -(-nbytes // _ALIGN) * _ALIGN


def _plan(problem: ConvProblem, direction: str, limit: int | None, pack_weights: bool) -> Plan:
    """The largest slices that fit the limit, and are not larger than is useful."""
    output, inputs = spatial(problem.output, 1), spatial(problem.input, 1)
    axis = next((axis for axis in range(3) if output[axis] > 1), 2)
    row_pixels = math.prod(output) // max(output[axis], 1)
    columns, filters = problem.group_channels * problem.taps, problem.group_filters
    weight_bytes = _aligned(problem.filters * columns * problem.itemsize) if pack_weights else 0

    def size(pixels):
        return _aligned(columns * pixels * problem.itemsize) + _aligned(filters * pixels * problem.itemsize)

    # 1. The least: one output row, or all output rows that reach one input row.
    reach = (spatial(problem.kernel, 1)[axis] - 1) * spatial(problem.dilation, 1)[axis]
    step = spatial(problem.stride, 1)[axis]
    least_rows = min(reach // step + 1, output[axis]) if direction == "backward_data" else min(1, output[axis])
    least = weight_bytes + size(least_rows * row_pixels)
    if limit is not None and least > limit:
        raise _TooSmall(least, limit)
    # 2. As many rows as fit; a whole image where all do.
    budget = max(least, PREFERRED_BYTES if limit is None else min(limit, PREFERRED_BYTES)) - weight_bytes
    row_bytes = (columns + filters) * row_pixels * problem.itemsize
    rows = max((budget - 2 * _ALIGN) // max(row_bytes, 1), least_rows)
    if rows >= output[axis]:
        images = max(1, min(problem.batch, (budget - 2 * _ALIGN) // max(row_bytes * output[axis], 1)))
        slices = [Slice((first, min(first + images, problem.batch)), (0, output[axis]), (0, inputs[axis]))
                  for first in range(0, problem.batch, images)]
        pixels = images * math.prod(output)
    else:
        cuts = (_input_cuts(problem, axis, rows) if direction == "backward_data" else
                [((first, min(first + rows, output[axis])), (0, inputs[axis]))
                 for first in range(0, output[axis], rows)])
        slices = [Slice((image, image + 1), *cut) for image in range(problem.batch) for cut in cuts]
        pixels = rows * row_pixels
    return Plan(axis, slices, weight_bytes, _aligned(columns * pixels * problem.itemsize),
                _aligned(filters * pixels * problem.itemsize))


def _input_cuts(problem, axis, rows):
    """Cuts of the input along an axis, each with the output rows (at most `rows`) that reach it."""
    extent, output = spatial(problem.input, 1)[axis], spatial(problem.output, 1)[axis]
    step, before = spatial(problem.stride, 1)[axis], spatial(problem.padding, (0, 0))[axis][0]
    reach = (spatial(problem.kernel, 1)[axis] - 1) * spatial(problem.dilation, 1)[axis]
    height = max((rows - 1) * step - reach + 1, 1)
    cuts = []
    for first in range(0, extent, height):
        last = min(first + height, extent)
        low = max(-((reach - first - before) // step), 0)  # ceil((first + before - reach) / step)
        high = min((last - 1 + before) // step + 1, output)
        cuts.append(((low, max(high, low)), (first, last)))
    return cuts


def _order(problem: ConvProblem) -> tuple[int, ...]:
    """Axes of a filter in the order of the columns: channels innermost in a channels-last layout."""
    return (2, 3, 4, 1) if problem.channels_last else (1, 2, 3, 4)


def _weights_fit(problem: ConvProblem, w: View) -> bool:
    """Whether each group's filters are a matrix that BLAS can address."""
    found = w.merged(_order(problem))
    return found is not None and (found[1] == 1 or w.strides[0] == 1)


def _weights_matrix(problem: ConvProblem, w: View, group: int) -> Matrix:
    """Group's filters, K/groups x Q."""
    part = w.box(0, group * problem.group_filters, (group + 1) * problem.group_filters)
    columns, stride = part.merged(_order(problem)) or (0, 1)
    return Matrix(part.pointer, problem.group_filters, columns, part.strides[0], stride, _PRECISION[problem.dtype])


def _packed_weights(problem: ConvProblem, pointer: int) -> View:
    extents = (problem.filters, problem.group_channels, *spatial(problem.kernel, 1))
    return compact(pointer, extents, problem.itemsize, (0, *_order(problem)))


def _columns(problem: ConvProblem, pointer: int, images: int, output: tuple[int, ...]) -> tuple[View, Matrix]:
    """One group's columns as (C, KD, KH, KW, N, OD, OH, OW) and as a Q x M matrix.

    A flipped kernel (mode "convolution") is a view that runs over the taps backwards.
    """
    kernel = spatial(problem.kernel, 1)
    extents = (problem.group_channels, *kernel, images, *output)
    rows, pixels = problem.group_channels * problem.taps, images * math.prod(output)
    if problem.channels_last:
        view = compact(pointer, extents, problem.itemsize, (4, 5, 6, 7, 1, 2, 3, 0))
        matrix = Matrix(pointer, rows, pixels, 1, rows, _PRECISION[problem.dtype])
    else:
        view = compact(pointer, extents, problem.itemsize)
        matrix = Matrix(pointer, rows, pixels, pixels, 1, _PRECISION[problem.dtype])
    return (view.flipped((1, 2, 3)) if problem.mode == "convolution" else view), matrix


def _pixels_fit(image: View) -> bool:
    """Whether an image (N, C, D, H, W) is a C x N*D*H*W matrix that BLAS can address."""
    found = image.merged(_PIXEL_AXES)
    return found is not None and (found[1] == 1 or image.strides[1] == 1)


def _pixels_matrix(problem: ConvProblem, image: View) -> Matrix:
    pixels, stride = image.merged(_PIXEL_AXES) or (0, 1)
    return Matrix(image.pointer, image.extents[1], pixels, image.strides[1], stride, _PRECISION[problem.dtype])


def _packed_pixels(problem: ConvProblem, pointer: int, like: View) -> View:
    order = (0, 2, 3, 4, 1) if problem.channels_last else (1, 0, 2, 3, 4)
    return compact(pointer, like.extents, problem.itemsize, order)


def _output_box(plan: Plan, part: Slice, image: View) -> View:
    return image.box(0, *part.images).box(2 + plan.axis, *part.out_rows)


def _first(plan: Plan, row: int) -> tuple[int, int, int]:
    """The spatial coordinates where a slice starts."""
    first = [0, 0, 0]
    first[plan.axis] = row
    return (first[0], first[1], first[2])


def _pointwise(problem: ConvProblem, x: View, y: View) -> list[tuple[int, int]] | None:
    """Ranges of images over which both x and y are matrices as they lie, where that is all the problem is."""
    if not problem.is_pointwise:
        return None
    ranges = [(0, problem.batch)]
    if not (_pixels_fit(x) and _pixels_fit(y)):
        ranges = [(image, image + 1) for image in range(problem.batch)]
    parts = [view.box(0, *ranges[0]).box(1, 0, per_group) for view, per_group in
             ((x, problem.group_channels), (y, problem.group_filters))]
    return ranges if all(map(_pixels_fit, parts)) else None


def _groups(problem: ConvProblem, x: View, y: View) -> Iterator[tuple[int, View, View]]:
    """Each group with its part of an input-sized and of an output-sized image."""
    for group in range(problem.groups):
        yield (group, x.box(1, group * problem.group_channels, (group + 1) * problem.group_channels),
               y.box(1, group * problem.group_filters, (group + 1) * problem.group_filters))


def forward(call: Call, problem: ConvProblem, x: View, w: View, bias: View | None, y: View, alpha: float, beta: float,
            limit: int | None = None) -> None:
    """y = alpha * conv(x, w) + bias + beta * y."""
    serve = backend.of(call)
    ranges = _pointwise(problem, x, y) if _weights_fit(problem, w) else None
    if ranges is not None:
        for images in ranges:
            for group, x_part, y_part in _groups(problem, x.box(0, *images), y.box(0, *images)):
                gemm_bound(call, alpha, _weights_matrix(problem, w, group), _pixels_matrix(problem, x_part), beta,
                           _pixels_matrix(problem, y_part))
    else:
        plan = _plan(problem, "forward", limit, not _weights_fit(problem, w))
        with backend.workspace(call, plan.total) as memory:
            weights = _ready_weights(call, problem, plan, w, memory)
            for part in plan.slices:
                box = _output_box(plan, part, y)
                for group, x_part, y_part in _groups(problem, x.box(0, *part.images), box):
                    view, columns = _columns(problem, memory + plan.weight_bytes, box.extents[0], box.extents[2:])
                    serve.im2col(call, problem, x_part, view, _first(plan, part.out_rows[0]))
                    filters = _weights_matrix(problem, weights, group)
                    if _pixels_fit(y_part):
                        gemm_bound(call, alpha, filters, columns, beta, _pixels_matrix(problem, y_part))
                        continue
                    packed = _packed_pixels(problem, memory + plan.weight_bytes + plan.column_bytes, y_part)
                    gemm_bound(call, alpha, filters, columns, 0.0, _pixels_matrix(problem, packed))
                    serve.elementwise(call, "axpby", problem.dtype, y_part, packed, beta=beta)
    if bias is not None:
        along = vector(bias.pointer, bias.extents[0], bias.strides[0], bias.itemsize, 1)
        serve.elementwise(call, "axpby", problem.dtype, y, along, beta=1.0)


def backward_data(call: Call, problem: ConvProblem, dy: View, w: View, dx: View, alpha: float, beta: float,
                  limit: int | None = None) -> None:
    """dx = alpha * (gradient of conv by x, applied to dy) + beta * dx."""
    serve = backend.of(call)
    ranges = _pointwise(problem, dx, dy) if _weights_fit(problem, w) else None
    if ranges is not None:
        for images in ranges:
            for group, x_part, y_part in _groups(problem, dx.box(0, *images), dy.box(0, *images)):
                gemm_bound(call, alpha, _weights_matrix(problem, w, group).transposed,
                           _pixels_matrix(problem, y_part), beta, _pixels_matrix(problem, x_part))
        return
    plan = _plan(problem, "backward_data", limit, not _weights_fit(problem, w))
    with backend.workspace(call, plan.total) as memory:
        weights = _ready_weights(call, problem, plan, w, memory)
        for part in plan.slices:
            box = _output_box(plan, part, dy)
            target = dx.box(0, *part.images).box(2 + plan.axis, *part.in_rows)
            for group, x_part, y_part in _groups(problem, target, box):
                pixels = _ready_pixels(call, problem, plan, y_part, memory)
                view, columns = _columns(problem, memory + plan.weight_bytes, box.extents[0], box.extents[2:])
                gemm_bound(call, alpha, _weights_matrix(problem, weights, group).transposed, pixels, 0.0, columns)
                serve.col2im(call, problem, view, x_part, _first(plan, part.in_rows[0]),
                             _first(plan, part.out_rows[0]), beta)


def backward_filter(call: Call, problem: ConvProblem, x: View, dy: View, dw: View, alpha: float, beta: float,
                    limit: int | None = None) -> None:
    """dw = alpha * (gradient of conv by w, applied to dy) + beta * dw."""
    serve = backend.of(call)
    fits = _weights_fit(problem, dw)
    ranges = _pointwise(problem, x, dy) if fits else None
    if ranges is not None:
        for number, images in enumerate(ranges):
            for group, x_part, y_part in _groups(problem, x.box(0, *images), dy.box(0, *images)):
                gemm_bound(call, alpha, _pixels_matrix(problem, y_part), _pixels_matrix(problem, x_part).transposed,
                           1.0 if number else beta, _weights_matrix(problem, dw, group))
        return
    plan = _plan(problem, "backward_filter", limit, not fits)
    with backend.workspace(call, plan.total) as memory:
        sums = dw if fits else _packed_weights(problem, memory)
        scale = beta if fits else 0.0
        for number, part in enumerate(plan.slices):
            box = _output_box(plan, part, dy)
            for group, x_part, y_part in _groups(problem, x.box(0, *part.images), box):
                view, columns = _columns(problem, memory + plan.weight_bytes, box.extents[0], box.extents[2:])
                serve.im2col(call, problem, x_part, view, _first(plan, part.out_rows[0]))
                pixels = _ready_pixels(call, problem, plan, y_part, memory)
                gemm_bound(call, alpha, pixels, columns.transposed, 1.0 if number else scale,
                           _weights_matrix(problem, sums, group))
        if not fits:
            serve.elementwise(call, "axpby", problem.dtype, dw, sums, beta=beta)


def _ready_weights(call, problem, plan, w, memory):
    """The filters in the columns' order: as they lie, or packed into the workspace."""
    if not plan.weight_bytes:
        return w
    packed = _packed_weights(problem, memory)
    backend.of(call).elementwise(call, "axpby", problem.dtype, packed, w)
    return packed


def _ready_pixels(call, problem, plan, image, memory):
    """An image as a matrix: as it lies, or packed into the workspace."""
    if not _pixels_fit(image):
        packed = _packed_pixels(problem, memory + plan.weight_bytes + plan.column_bytes, image)
        backend.of(call).elementwise(call, "axpby", problem.dtype, packed, image)
        image = packed
    return _pixels_matrix(problem, image)
