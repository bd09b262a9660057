"""Pooling over two spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpublas import arrays
from gpublas.context import call
from gpublas.errors import ArgumentError

from . import backend, checks
from .problem import PoolProblem
from .views import image

_AXES = 4
_INDEX = np.dtype(np.int64)


def max_pool2d(x: Any, window: Any, *, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False, layout: str = "NCHW") -> Any:
    """The largest value under each window.

    x: (N, C, H, W), or (N, H, W, C) with layout="NHWC"; float32 or float64, any strides; read.
    window, stride, dilation: an integer, or one for each axis; stride None: the window's extents.
    padding: as in `conv2d`, but the padding is -inf: it never wins against a pixel.
    ceil_mode: also windows that hang over the padded image, but for one that starts in the padding behind it.
    return_indices: also where each value stands, h*W + w in its image plane (whatever the layout), int64.

    Returns y, or (y, indices), of shape (N, C, OH, OW) or (N, OH, OW, C). The first of equal values wins; a NaN wins
    over everything, the first NaN over others. A window without any pixel gives -inf and the index -1.
    Raises ArgumentError for geometry that does not fit, DTypeError for other element types.

    >>> import numpy as np, gpudnn
    >>> y, indices = gpudnn.max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2, return_indices=True)
    >>> y[0, 0].tolist(), indices[0, 0].tolist()
    ([[5.0, 7.0], [13.0, 15.0]], [[5, 7], [13, 15]])
    """
    routine = "max_pool2d"
    source = checks.array(routine, 1, "x", x, _AXES)
    problem = PoolProblem.from_shape(source.array.shape, window, stride=stride, padding=padding, dilation=dilation,
                                     ceil_mode=ceil_mode, layout=layout, dtype=source.array.dtype, routine=routine)
    y = arrays.empty(x, problem.y_shape, source.array.dtype)
    indices = arrays.empty(x, problem.y_shape, _INDEX) if return_indices else None
    result = (y, indices) if return_indices else y
    if math.prod(problem.y_shape) == 0:
        return result
    with call(routine, {"x": source}, {"y": y, "indices": indices}) as run:
        backend.of(run).max_pool(run, problem, image(run["x"], layout), image(run["y"], layout),
                                 image(run["indices"], layout) if return_indices else None)
    return result


def max_pool2d_backward(dy: Any, indices: Any, x_shape: Sequence[int], window: Any, *, stride: Any = None,
                        padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, layout: str = "NCHW") -> Any:
    """The gradient of max_pool2d by x: each value of dy goes to the pixel that won its window.

    dy: gradient by y; read. indices: int64, as max_pool2d returned them; read. x_shape: shape of the forward call's x,
    which the result has. All other arguments as in the forward call.

    Returns dx. Where windows overlap, the gradients of a pixel are added in a fixed order: deterministic.
    Raises as `max_pool2d`; ArgumentError too when dy or indices do not have the forward result's shape.

    >>> import numpy as np, gpudnn
    >>> y, indices = gpudnn.max_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), 2, return_indices=True)
    >>> gpudnn.max_pool2d_backward(np.ones((1, 1, 1, 1)), indices, (1, 1, 2, 2), 2)[0, 0].tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    routine = "max_pool2d_backward"
    gradient = checks.array(routine, 1, "dy", dy, _AXES)
    places = checks.array(routine, 2, "indices", indices, _AXES, kinds=(_INDEX,))
    if not isinstance(x_shape, Sequence) or len(x_shape) != _AXES:
        raise ArgumentError(routine, 3, "x_shape", x_shape, f"{_AXES} integers")
    shape = tuple(checks.integer(routine, 3, "x_shape", extent, 0) for extent in x_shape)
    problem = PoolProblem.from_shape(shape, window, stride=stride, padding=padding, dilation=dilation,
                                     ceil_mode=ceil_mode, layout=layout, dtype=gradient.array.dtype, routine=routine)
    checks.shaped(routine, gradient, problem.y_shape, "the forward result's")
    checks.shaped(routine, places, problem.y_shape, "the forward result's")
    dx = arrays.empty(dy, problem.x_shape, gradient.array.dtype)
    if math.prod(problem.x_shape) == 0:
        return dx
    with call(routine, {"dy": gradient, "indices": places}, {"dx": dx}) as run:
        backend.of(run).max_pool_backward(run, problem, image(run["dy"], layout), image(run["indices"], layout),
                                          image(run["dx"], layout))
    return dx
