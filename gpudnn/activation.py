"""Activations, element by element."""

from __future__ import annotations

from typing import Any

from gpublas import arrays
from gpublas.context import call

from . import backend, checks
from .views import plain


def relu(x: Any) -> Any:
    """max(x, 0), element by element; NaN stays NaN, -0.0 becomes 0.

    x: array of any shape, float32 or float64, any strides; read. Returns a new array of the same shape.
    Raises DTypeError for other element types.

    >>> import numpy as np, gpudnn
    >>> gpudnn.relu(np.array([-1.0, 2.0, np.nan])).tolist()
    [0.0, 2.0, nan]
    """
    source = checks.array("relu", 1, "x", x)
    out = arrays.empty(x, source.array.shape, source.array.dtype)
    if source.array.size == 0:
        return out
    with call("relu", {"x": source}, {"out": out}) as run:
        backend.of(run).elementwise(run, "relu", source.array.dtype.name, plain(run["out"]), plain(run["x"]))
    return out


def relu_backward(dy: Any, x: Any) -> Any:
    """The gradient of relu by x: dy where x > 0 (or x is NaN), else 0.

    dy: gradient by the forward result; read. x: the forward call's argument, or its result, which has the same signs;
    same shape and type; read. Returns a new array. Raises ArgumentError for another shape, DTypeError as `relu`.

    >>> import numpy as np, gpudnn
    >>> gpudnn.relu_backward(np.array([5.0, 6.0, 7.0]), np.array([-1.0, 2.0, 0.0])).tolist()
    [0.0, 6.0, 0.0]
    """
    gradient = checks.array("relu_backward", 1, "dy", dy)
    source = checks.array("relu_backward", 2, "x", x, dtype=gradient.array.dtype)
    checks.shaped("relu_backward", source, gradient.array.shape, "that of dy")
    out = arrays.empty(dy, gradient.array.shape, gradient.array.dtype)
    if source.array.size == 0:
        return out
    with call("relu_backward", {"dy": gradient, "x": source}, {"out": out}) as run:
        backend.of(run).elementwise(run, "relu_backward", gradient.array.dtype.name, plain(run["out"]),
                                    plain(run["dy"]), plain(run["x"]))
    return out
