"""The GPU backend: problems become plans, plans become launches, on the CUDA driver or the PTX executor."""

from .level3 import gemm, gemmtr, symm, syr2k, syrk, trmm, trsm

__all__ = ["gemm", "gemmtr", "symm", "syr2k", "syrk", "trmm", "trsm"]
