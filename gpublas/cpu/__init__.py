"""The host backend: reference BLAS through SciPy's cython_blas pointers, without copies and without the GIL."""

from .level3 import gemm, gemmtr, symm, syr2k, syrk, trmm, trsm

__all__ = ["gemm", "gemmtr", "symm", "syr2k", "syrk", "trmm", "trsm"]
