"""Softmax and its gradient."""

from __future__ import annotations

from typing import Any

from gpublas import arrays
from gpublas.context import call

from . import backend, checks, rows


def softmax(x: Any, axis: int = -1) -> Any:
    """y = exp(x - max) / sum(exp(x - max)) along an axis, which never overflows.

    x: array of at least one axis, float32 or float64, any strides; read. Returns a new array of the same shape.
    A NaN or +inf makes its whole row NaN; a row of -inf alone is NaN. Each y has a relative error of a few
    (extent + |x - max|) eps. Raises ArgumentError for an axis that x has not, DTypeError for other element types.
    Source: I. Goodfellow, Y. Bengio, A. Courville, Deep Learning (2016), section 4.1.

    >>> import numpy as np, gpudnn
    >>> gpudnn.softmax(np.array([[0.0, 0.0], [-60000.0, -50000.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    source = checks.array("softmax", 1, "x", x)
    along = rows.axis_of("softmax", 2, axis, source.array.ndim)
    y = arrays.empty(x, source.array.shape, source.array.dtype)
    if source.array.size == 0:
        return y
    with call("softmax", {"x": source}, {"y": y}) as run:
        for extents, (to, values) in rows.split([run["y"], run["x"]], along):
            backend.of(run).softmax(run, source.array.dtype.name, source.array.shape[along], extents, values, to)
    return y


def softmax_backward(dy: Any, y: Any, axis: int = -1) -> Any:
    """The gradient of softmax by x: y * (dy - sum(dy * y)) along the axis.

    dy: gradient by the forward result; read. y: the forward result, same shape and type; read. Returns a new array.
    Raises as `softmax`; ArgumentError too when the shapes differ.

    >>> import numpy as np, gpudnn
    >>> gpudnn.softmax_backward(np.array([1.0, 0.0]), np.array([0.5, 0.5])).tolist()
    [0.25, -0.25]
    """
    gradient = checks.array("softmax_backward", 1, "dy", dy)
    dtype = gradient.array.dtype
    result = checks.array("softmax_backward", 2, "y", y, dtype=dtype)
    checks.shaped("softmax_backward", result, gradient.array.shape, "that of dy")
    along = rows.axis_of("softmax_backward", 3, axis, gradient.array.ndim)
    dx = arrays.empty(dy, gradient.array.shape, dtype)
    if gradient.array.size == 0:
        return dx
    with call("softmax_backward", {"dy": gradient, "y": result}, {"dx": dx}) as run:
        for extents, (to, by_y, values) in rows.split([run["dx"], run["dy"], run["y"]], along):
            backend.of(run).softmax_backward(run, dtype.name, gradient.array.shape[along], extents, by_y, values, to)
    return dx
