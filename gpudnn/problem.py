"""All geometry of a convolution or a pooling, in one frozen, hashable descriptor.

A problem is made once from the shapes and options of a call, checked there, and serves the forward call, its
gradients, the choice of an algorithm and the keys of caches. It knows nothing of addresses and strides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpublas.errors import ArgumentError

from . import checks

# Layout names by number of spatial axes: channels before them, channels after them.
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
MODES = ("cross_correlation", "convolution")
DIRECTIONS = ("forward", "backward_data", "backward_filter")


def channels_last(layout: str) -> bool:
    """Whether a layout name puts the channels after the spatial axes."""
    return layout.endswith("C")


def image_shape(layout: str, batch: int, channels: int, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an image array in a layout."""
    return (batch, *spatial, channels) if channels_last(layout) else (batch, channels, *spatial)


def split_shape(layout: str, shape: Sequence[int]) -> tuple[int, int, tuple[int, ...]]:
    """(batch, channels, spatial extents) of an image shape in a layout; a filter's likewise."""
    first, *rest = shape
    return (first, rest[-1], tuple(rest[:-1])) if channels_last(layout) else (first, rest[0], tuple(rest[1:]))


@dataclass(frozen=True)
class ConvProblem:
    """A convolution over any number of spatial axes.

    batch, channels, filters: N, C, K. input, kernel, output: extent of each spatial axis. stride, dilation: one for
    each axis. padding: (before, after) for each axis. groups: channels and filters split into so many independent
    convolutions. layout: "NCHW", "NHWC" and their 1-D and 3-D forms. dtype: "float32" or "float64". mode:
    "cross_correlation" as in all frameworks, or "convolution", which flips the kernel.

    >>> problem = ConvProblem.from_shapes((8, 3, 32, 32), (16, 3, 3, 3), stride=2, padding="same")
    >>> problem.output, problem.padding
    ((16, 16), ((0, 1), (0, 1)))
    """

    batch: int
    channels: int
    filters: int
    input: tuple[int, ...]
    kernel: tuple[int, ...]
    output: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    groups: int
    layout: str
    dtype: str
    mode: str

    @classmethod
    def from_shapes(cls, x_shape: Sequence[int], w_shape: Sequence[int], *, stride: Any = 1, padding: Any = 0,
                    dilation: Any = 1, groups: int = 1, layout: str = "NCHW", mode: str = "cross_correlation",
                    dtype: Any = "float32", routine: str = "ConvProblem") -> ConvProblem:
        """The problem of convolving an image of x_shape with filters of w_shape.

        x_shape: (N, C, ...) or (N, ..., C) as `layout` says. w_shape: (K, C/groups, ...), or (K, ..., C/groups) in a
        channels-last layout. padding: see `checks.padding`. routine: whom error messages name. Raises ArgumentError.
        """
        axes = len(x_shape) - 2
        checks.choice(routine, None, "layout", layout, LAYOUTS.get(axes, ()))
        checks.choice(routine, None, "mode", mode, MODES)
        if len(w_shape) != axes + 2:
            raise ArgumentError(routine, None, "w", f"shape {tuple(w_shape)}", f"{axes + 2} axes, as many as x has")
        batch, channels, extents = split_shape(layout, x_shape)
        filters, group_channels, kernel = split_shape(layout, w_shape)
        strides = checks.per_axis(routine, None, "stride", stride, axes, 1)
        dilations = checks.per_axis(routine, None, "dilation", dilation, axes, 1)
        groups = checks.integer(routine, None, "groups", groups, 1)
        if channels % groups or filters % groups:
            raise ArgumentError(routine, None, "groups", groups,
                                f"a divisor of {channels} input channels and of {filters} filters")
        if group_channels != channels // groups:
            raise ArgumentError(routine, None, "w", f"shape {tuple(w_shape)}, {group_channels} channels in a filter",
                                f"{channels // groups} ({channels} channels in x / {groups} groups)")
        if min(kernel, default=1) < 1:
            raise ArgumentError(routine, None, "w", f"shape {tuple(w_shape)}", "kernel extents of at least 1")
        windows = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
        pads = checks.padding(routine, padding, extents, windows, strides)
        output = tuple(_output_extent(routine, "w", *axis)
                       for axis in zip(extents, windows, strides, pads, strict=True))
        return cls(batch, channels, filters, extents, kernel, output, strides, dilations, pads, groups, layout,
                   np.dtype(dtype).name, mode)

    @property
    def channels_last(self) -> bool:
        return channels_last(self.layout)

    @property
    def x_shape(self) -> tuple[int, ...]:
        return image_shape(self.layout, self.batch, self.channels, self.input)

    @property
    def w_shape(self) -> tuple[int, ...]:
        return image_shape(self.layout, self.filters, self.group_channels, self.kernel)

    @property
    def y_shape(self) -> tuple[int, ...]:
        return image_shape(self.layout, self.batch, self.filters, self.output)

    @property
    def group_channels(self) -> int:
        return self.channels // self.groups

    @property
    def group_filters(self) -> int:
        return self.filters // self.groups

    @property
    def taps(self) -> int:
        """Positions in a kernel."""
        return math.prod(self.kernel)

    @property
    def pixels(self) -> int:
        """Positions in an output image."""
        return math.prod(self.output)

    @property
    def itemsize(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number of the element type."""
        return float(np.finfo(self.dtype).eps)

    @property
    def is_pointwise(self) -> bool:
        """Whether each output pixel depends on the input pixel in its place alone: a matrix product as it stands."""
        return self.taps == 1 and set(self.stride) <= {1} and not any(map(any, self.padding))

    def terms(self, direction: str) -> int:
        """The largest number of products summed into one result."""
        if direction == "forward":
            return self.group_channels * self.taps
        if direction == "backward_data":
            return self.group_filters * self.taps
        return self.batch * self.pixels

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the definition, padding included; the same number in each direction."""
        return self.batch * self.pixels * self.filters * self.group_channels * self.taps


@dataclass(frozen=True)
class PoolProblem:
    """A pooling over any number of spatial axes: fields as in ConvProblem; `window` is the kernel's extent.

    >>> PoolProblem.from_shape((1, 1, 9, 9), 4, stride=4, padding=2, ceil_mode=True).output
    (3, 3)
    """

    batch: int
    channels: int
    input: tuple[int, ...]
    window: tuple[int, ...]
    output: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    ceil_mode: bool
    layout: str
    dtype: str

    @classmethod
    def from_shape(cls, x_shape: Sequence[int], window: Any, *, stride: Any = None, padding: Any = 0,
                   dilation: Any = 1, ceil_mode: bool = False, layout: str = "NCHW", dtype: Any = "float32",
                   routine: str = "PoolProblem") -> PoolProblem:
        """The problem of pooling an image of x_shape. stride: None means the window's extents. ceil_mode: a last
        window that hangs over the padded image counts, unless it starts in the padding behind the image."""
        axes = len(x_shape) - 2
        checks.choice(routine, None, "layout", layout, LAYOUTS.get(axes, ()))
        batch, channels, extents = split_shape(layout, x_shape)
        window = checks.per_axis(routine, None, "window", window, axes, 1)
        strides = window if stride is None else checks.per_axis(routine, None, "stride", stride, axes, 1)
        dilations = checks.per_axis(routine, None, "dilation", dilation, axes, 1)
        windows = tuple((k - 1) * d + 1 for k, d in zip(window, dilations, strict=True))
        pads = checks.padding(routine, padding, extents, windows, strides)
        output = tuple(_output_extent(routine, "window", *axis, ceil_mode=ceil_mode)
                       for axis in zip(extents, windows, strides, pads, strict=True))
        return cls(batch, channels, extents, window, output, strides, dilations, pads, bool(ceil_mode), layout,
                   np.dtype(dtype).name)

    @property
    def x_shape(self) -> tuple[int, ...]:
        return image_shape(self.layout, self.batch, self.channels, self.input)

    @property
    def y_shape(self) -> tuple[int, ...]:
        return image_shape(self.layout, self.batch, self.channels, self.output)


def _output_extent(routine, argument, extent, window, stride, pads, ceil_mode=False):
    """How many windows fit; at least one has to."""
    room = extent + sum(pads) - window
    if room < 0:
        raise ArgumentError(routine, None, argument, f"a window over {window} positions (dilation counted)",
                            f"at most {extent + sum(pads)}, the extent {extent} with padding {pads}")
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= extent + pads[0] else count
