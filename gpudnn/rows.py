"""Arrays as rows along one axis, for softmax and the losses."""

from __future__ import annotations

from collections.abc import Sequence

from gpublas.arrays import Array
from gpublas.errors import ArgumentError

from . import checks
from .views import View, plain, together

ROW_AXES = 4  # axes that number the rows in loops and kernels


def axis_of(routine: str, position: int | None, axis: object, ndim: int) -> int:
    """A checked axis, counted from 0."""
    found = checks.integer(routine, position, "axis", axis, -ndim)
    if ndim == 0 or found >= ndim:
        raise ArgumentError(routine, position, "axis", axis, f"an axis of an array with {ndim} axes")
    return found % ndim


def split(arrays: Sequence[Array], axis: int) -> list[tuple[tuple[int, ...], list[View]]]:
    """Arrays of one shape as rows along `axis`, in parts of at most four axes (most often one part).

    Arrays without that axis (targets, losses) have one value a row. Each part: its four extents, and the views, whose
    strides are those of the four axes and then the step along the row (0 for arrays without the axis).
    """
    ndim = max(array.ndim for array in arrays)
    views, steps = [], []
    for array in arrays:
        view = plain(array)
        has_axis = array.ndim == ndim
        steps.append(view.strides[axis] if has_axis else 0)
        if has_axis:
            view = View(view.pointer, (*view.extents[:axis], *view.extents[axis + 1:]),
                        (*view.strides[:axis], *view.strides[axis + 1:]), view.itemsize)
        views.append(view)
    return [(extents, [view._replace(strides=(*view.strides, step)) for view, step in zip(parts, steps, strict=True)])
            for extents, parts in together(views, ROW_AXES)]
