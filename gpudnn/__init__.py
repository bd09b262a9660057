"""gpudnn: convolution, pooling and losses on gpublas, for NVIDIA GPUs, the CPU and the PTX executor."""

from gpublas.errors import ArgumentError, DeviceError, DTypeError, OutOfMemoryError, UnsupportedError

from .activation import relu, relu_backward
from .choices import export_choices, import_choices
from .conv import (
    conv1d,
    conv1d_backward_bias,
    conv1d_backward_data,
    conv1d_backward_filter,
    conv2d,
    conv2d_backward_bias,
    conv2d_backward_data,
    conv2d_backward_filter,
    conv3d,
    conv3d_backward_bias,
    conv3d_backward_data,
    conv3d_backward_filter,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from .linear import linear, linear_backward
from .loss import cross_entropy, cross_entropy_backward
from .measure import Found, find_conv2d
from .pool import max_pool2d, max_pool2d_backward
from .problem import ConvProblem, PoolProblem
from .select import Choice, Fallback, explain, fallback_log, last_choice
from .settings import Flags, current_flags, flags
from .softmax import softmax, softmax_backward

__all__ = [
    "ArgumentError", "Choice", "ConvProblem", "DTypeError", "DeviceError", "Fallback", "Flags", "Found",
    "OutOfMemoryError", "PoolProblem", "UnsupportedError", "conv1d", "conv1d_backward_bias", "conv1d_backward_data",
    "conv1d_backward_filter", "conv2d", "conv2d_backward_bias", "conv2d_backward_data", "conv2d_backward_filter",
    "conv3d", "conv3d_backward_bias", "conv3d_backward_data", "conv3d_backward_filter", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cross_entropy", "cross_entropy_backward", "current_flags", "explain",
    "export_choices", "fallback_log", "find_conv2d", "flags", "import_choices", "last_choice", "linear",
    "linear_backward", "max_pool2d", "max_pool2d_backward", "relu", "relu_backward", "softmax", "softmax_backward",
]
