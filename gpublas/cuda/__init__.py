"""The GPU backend: problems become plans, plans become launches, on the CUDA driver or the PTX executor."""

from .level1 import asum, axpby, axpy, copy, dot, iamax, nrm2, rot, rotm, scal, swap
from .level3 import gemm, gemmtr, symm, syr2k, syrk, trmm, trsm

__all__ = [
    "asum", "axpby", "axpy", "copy", "dot", "gemm", "gemmtr", "iamax", "nrm2", "rot", "rotm", "scal", "swap", "symm",
    "syr2k", "syrk", "trmm", "trsm",
]
