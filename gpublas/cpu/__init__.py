"""The host backend: reference BLAS through SciPy's cython_blas pointers, without copies and without the GIL."""

from .level1 import asum, axpby, axpy, copy, dot, iamax, nrm2, rot, rotm, scal, swap
from .level3 import gemm, gemmtr, symm, syr2k, syrk, trmm, trsm

__all__ = [
    "asum", "axpby", "axpy", "copy", "dot", "gemm", "gemmtr", "iamax", "nrm2", "rot", "rotm", "scal", "swap", "symm",
    "syr2k", "syrk", "trmm", "trsm",
]
