"""The host backend: reference BLAS through SciPy's cython_blas pointers, without copies and without the GIL."""

from .elementwise import assign, combine, multiply
from .factorizations import geqrf, getrf, getri, getrs, matinv
from .level1 import asum, axpby, axpy, copy, dot, iamax, nrm2, rot, rotm, scal, swap
from .level2 import gemv, ger, symv, syr, trmv, trsv
from .level3 import gemm, gemm3m, gemm_many, gemmtr, symm, syr2k, syrk, trmm, trsm, trsm_many
from .mixed import mixed_gemm, mixed_gemm_many

__all__ = [
    "assign", "asum", "axpby", "axpy", "combine", "copy", "dot", "gemm", "gemm3m", "gemm_many", "gemmtr", "gemv",
    "geqrf", "ger", "getrf", "getri", "getrs", "iamax", "matinv", "mixed_gemm", "mixed_gemm_many", "multiply", "nrm2",
    "rot", "rotm", "scal", "swap", "symm", "symv", "syr", "syr2k", "syrk", "trmm", "trmv", "trsm", "trsm_many", "trsv",
]
