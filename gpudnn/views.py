"""Strided views of operands in one canonical axis order, as loops and kernels take them.

Layout is settled here: whatever `layout` says, an image becomes (N, C, D, H, W) and filters (K, C, D, H, W), with
a stride for each axis and leading spatial axes of extent 1 where the problem has fewer than three. So loops know
neither layouts nor numbers of axes, and any strided array is taken as it lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gpublas.arrays import Array

from .problem import channels_last

SPATIAL = 3  # spatial axes that loops and kernels have
LIMIT = 2**31  # below it, 32-bit index arithmetic is enough


class View(NamedTuple):
    """A strided operand: address of its first element, extents, strides in elements, bytes of an element."""

    pointer: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @property
    def size(self) -> int:
        return math.prod(self.extents)

    def box(self, axis: int, start: int, stop: int) -> View:
        """The part with start <= index < stop along an axis."""
        extents = (*self.extents[:axis], stop - start, *self.extents[axis + 1:])
        return self._replace(pointer=self.pointer + start * self.strides[axis] * self.itemsize, extents=extents)

    def flipped(self, axes: Sequence[int]) -> View:
        """The same elements, with some axes running backwards."""
        view = self
        for axis in axes:
            steps = max(view.extents[axis] - 1, 0) * view.strides[axis]
            strides = (*view.strides[:axis], -view.strides[axis], *view.strides[axis + 1:])
            view = view._replace(pointer=view.pointer + steps * view.itemsize, strides=strides)
        return view

    def merged(self, axes: Sequence[int]) -> tuple[int, int] | None:
        """(extent, stride) of several axes, outermost first, taken as one; None when no single stride serves them."""
        extent, stride = 1, 1
        for axis in reversed(axes):
            if self.extents[axis] == 1:
                continue
            if extent != 1 and self.strides[axis] != extent * stride:
                return None
            if extent == 1:
                stride = self.strides[axis]
            extent *= self.extents[axis]
        return extent, stride


def plain(array: Array) -> View:
    """An array's axes as they are."""
    return View(array.pointer, array.shape, array.steps, array.dtype.itemsize)


def image(array: Array, layout: str) -> View:
    """An image (or filters) as (N, C, D, H, W)."""
    order = list(range(array.ndim))
    if channels_last(layout):
        order.insert(1, order.pop())
    return _canonical(array, order)


def _canonical(array, order):
    extents = [array.shape[axis] for axis in order]
    strides = [array.steps[axis] for axis in order]
    missing = SPATIAL + 2 - len(order)
    return View(array.pointer, (*extents[:2], *(1,) * missing, *extents[2:]),
                (*strides[:2], *(0,) * missing, *strides[2:]), array.dtype.itemsize)


def spatial(values: Sequence, filler: object) -> tuple:
    """One value for each of the three spatial axes; `filler` for the leading ones that the problem lacks."""
    return (*(filler,) * (SPATIAL - len(values)), *values)


def vector(pointer: int, extent: int, stride: int, itemsize: int, axis: int) -> View:
    """A vector along one axis of (N, C, D, H, W), repeated along the others by strides of zero (a bias)."""
    extents, strides = [1] * (SPATIAL + 2), [0] * (SPATIAL + 2)
    extents[axis], strides[axis] = extent, stride
    return View(pointer, tuple(extents), tuple(strides), itemsize)


def compact(pointer: int, extents: Sequence[int], itemsize: int, order: Sequence[int] | None = None) -> View:
    """A dense view at an address. order: axes from the outermost in memory to the innermost; None: as they come."""
    strides, step = [0] * len(extents), 1
    for axis in reversed(order if order is not None else range(len(extents))):
        strides[axis] = step
        step *= extents[axis]
    return View(pointer, tuple(extents), tuple(strides), itemsize)


def together(views: Sequence[View], limit: int) -> list[tuple[tuple[int, ...], list[View]]]:
    """Views of the same shape, for an element-wise loop over at most `limit` axes.

    Axes are ordered by the first view's strides, largest first (the innermost loop runs along memory), neighbours
    that step evenly in every view are merged, and shapes are filled with leading ones. Where more axes than `limit`
    remain, the leading ones become a list of separate parts. Each part: its extents and the views cut to it.
    """
    axes = [axis for axis in range(len(views[0].extents)) if views[0].extents[axis] != 1]
    axes.sort(key=lambda axis: -abs(views[0].strides[axis]))
    extents: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for axis in axes:
        extent = views[0].extents[axis]
        if extents and all(rows[-1] == extent * view.strides[axis] for rows, view in zip(strides, views, strict=True)):
            extents[-1] *= extent
            for rows, view in zip(strides, views, strict=True):
                rows[-1] = view.strides[axis]
        else:
            extents.append(extent)
            for rows, view in zip(strides, views, strict=True):
                rows.append(view.strides[axis])
    lead = max(len(extents) - limit, 0)
    missing = (1,) * (limit - len(extents[lead:]))
    shape = (*missing, *extents[lead:])
    parts = []
    for position in _positions(extents[:lead]):
        cut = [View(view.pointer + view.itemsize * sum(i * s for i, s in zip(position, rows, strict=False)), shape,
                    (*(0,) * len(missing), *rows[lead:]), view.itemsize)
               for view, rows in zip(views, strides, strict=True)]
        parts.append((shape, cut))
    return parts


def _positions(extents):
    if not extents:
        return [()]
    return [(first, *rest) for first in range(extents[0]) for rest in _positions(extents[1:])]
