"""gpublas: a BLAS whose GPU kernels are Python, on NVIDIA GPUs, on the CPU, and on the PTX executor."""

from .context import Context, current, use
from .errors import ArgumentError, DeviceError, DTypeError, OutOfMemoryError, UnsupportedError
from .flags import Diag, Op, Side, UpLo
from .level3 import cgemm, dgemm, gemm, sgemm, zgemm
from .version import __version__

__all__ = [
    "ArgumentError", "Context", "DTypeError", "DeviceError", "Diag", "Op", "OutOfMemoryError", "Side",
    "UnsupportedError", "UpLo", "__version__", "cgemm", "current", "dgemm", "gemm", "sgemm", "use", "zgemm",
]
