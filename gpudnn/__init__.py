"""gpudnn: convolution, pooling and losses on gpublas, for NVIDIA GPUs, the CPU and the PTX executor."""

from gpublas.errors import ArgumentError, DeviceError, DTypeError, OutOfMemoryError, UnsupportedError

from .activation import relu, relu_backward
from .conv import conv2d, conv2d_backward_bias, conv2d_backward_data, conv2d_backward_filter
from .linear import linear, linear_backward
from .loss import cross_entropy, cross_entropy_backward
from .pool import max_pool2d, max_pool2d_backward
from .problem import ConvProblem, PoolProblem
from .select import Choice, explain, last_choice
from .softmax import softmax, softmax_backward

__all__ = [
    "ArgumentError", "Choice", "ConvProblem", "DTypeError", "DeviceError", "OutOfMemoryError", "PoolProblem",
    "UnsupportedError", "conv2d", "conv2d_backward_bias", "conv2d_backward_data", "conv2d_backward_filter",
    "cross_entropy", "cross_entropy_backward", "explain", "last_choice", "linear", "linear_backward", "max_pool2d",
    "max_pool2d_backward", "relu", "relu_backward", "softmax", "softmax_backward",
]
