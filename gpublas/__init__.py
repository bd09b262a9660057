"""gpublas: a BLAS whose GPU kernels are Python, on NVIDIA GPUs, on the CPU, and on the PTX executor."""

from .context import Context, current, use
from .errors import ArgumentError, DeviceError, DTypeError, OutOfMemoryError, UnsupportedError
from .flags import Diag, Op, Side, UpLo
from .level3 import cgemm, dgemm, gemm, sgemm, zgemm
from .structured import (
    cgemmtr, chemm, cher2k, cherk, cherkx, csymm, csyr2k, csyrk, csyrkx, ctrmm, ctrsm, dgemmtr, dsymm, dsyr2k, dsyrk,
    dsyrkx, dtrmm, dtrsm, gemmtr, hemm, her2k, herk, herkx, sgemmtr, ssymm, ssyr2k, ssyrk, ssyrkx, strmm, strsm, symm,
    syr2k, syrk, syrkx, trmm, trsm, zgemmtr, zhemm, zher2k, zherk, zherkx, zsymm, zsyr2k, zsyrk, zsyrkx, ztrmm, ztrsm,
)
from .version import __version__

__all__ = [
    "ArgumentError", "Context", "DTypeError", "DeviceError", "Diag", "Op", "OutOfMemoryError", "Side",
    "UnsupportedError", "UpLo", "__version__", "cgemm", "current", "dgemm", "gemm", "sgemm", "use", "zgemm",
]
