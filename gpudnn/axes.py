"""How a convolution gets its public names: one for each number of spatial axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple

from .problem import LAYOUTS


class Form(NamedTuple):
    """The public name that a generic function is called as, and its number of spatial axes."""

    name: str
    axes: int


_EXTENTS = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}
_KERNEL = {1: ("kw",), 2: ("kh", "kw"), 3: ("kd", "kh", "kw")}


def with_axes(generic: Callable, axes: int) -> Callable:
    """`generic`, whose first parameter is a Form and whose name has "nd" in it, for a number of spatial axes.

    `with_axes(_convnd, 2)` is `conv2d(x, w, ...)`. `layout` is channels-first unless it is said. In the docstring, {n}
    stands for the number, {layout} and {last} for the layouts' names, {x_first}, {x_last}, {w_first}, {w_last},
    {y_first}, {y_last} for shapes.
    """
    name = generic.__name__.strip("_").replace("nd", f"{axes}d", 1)
    form, (first, last) = Form(name, axes), LAYOUTS[axes]

    def bound(*args, **kwargs):
        kwargs.setdefault("layout", first)
        return generic(form, *args, **kwargs)

    signature = inspect.signature(generic)
    parameters = [parameter.replace(annotation=parameter.empty,
                                    default=first if parameter.name == "layout" else parameter.default)
                  for parameter in list(signature.parameters.values())[1:]]
    bound.__name__ = bound.__qualname__ = name
    bound.__module__ = generic.__module__
    bound.__signature__ = signature.replace(parameters=parameters,  # type: ignore[attr-defined]
                                            return_annotation=signature.empty)
    extents, kernel = ", ".join(_EXTENTS[axes]), ", ".join(_KERNEL[axes])
    outer = ", ".join(f"O{extent}" for extent in _EXTENTS[axes])
    words = {"{n}": str(axes), "{layout}": first, "{last}": last, "{x_first}": f"(N, C, {extents})",
             "{x_last}": f"(N, {extents}, C)", "{w_first}": f"(K, C/groups, {kernel})",
             "{w_last}": f"(K, {kernel}, C/groups)", "{y_first}": f"(N, K, {outer})", "{y_last}": f"(N, {outer}, K)"}
    text = generic.__doc__ or ""
    for word, value in words.items():
        text = text.replace(word, value)
    bound.__doc__ = text
    return bound
