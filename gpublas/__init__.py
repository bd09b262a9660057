"""gpublas: a BLAS whose GPU kernels are Python, on NVIDIA GPUs, on the CPU, and on the PTX executor."""

from .context import Context, current, use
from .errors import ArgumentError, DTypeError, DeviceError, OutOfMemoryError, UnsupportedError
from .flags import Diag, Op, Side, UpLo
from .level1.elementwise import (
    axpby, axpy, caxpby, caxpy, ccopy, copy, cscal, csscal, cswap, daxpby, daxpy, dcopy, dscal, dswap, saxpby,
    saxpy, scal, scopy, sscal, sswap, swap, zaxpby, zaxpy, zcopy, zdscal, zscal, zswap,
)
from .level1.reductions import (
    asum, cdotc, cdotu, dasum, ddot, dnrm2, dot, dotc, dotu, dsdot, dzasum, dznrm2, iamax, iamin, icamax, icamin,
    idamax, idamin, isamax, isamin, izamax, izamin, nrm2, sasum, scasum, scnrm2, sdot, sdsdot, snrm2, zdotc, zdotu,
)
from .level1.rotations import (
    crot, crotg, csrot, drot, drotg, drotm, drotmg, rot, rotg, rotm, rotmg, srot, srotg, srotm, srotmg, zdrot, zrot,
    zrotg,
)
from .level3 import cgemm, dgemm, gemm, sgemm, zgemm
from .structured import (
    cgemmtr, chemm, cher2k, cherk, cherkx, csymm, csyr2k, csyrk, csyrkx, ctrmm, ctrsm, dgemmtr, dsymm, dsyr2k,
    dsyrk, dsyrkx, dtrmm, dtrsm, gemmtr, hemm, her2k, herk, herkx, sgemmtr, ssymm, ssyr2k, ssyrk, ssyrkx, strmm,
    strsm, symm, syr2k, syrk, syrkx, trmm, trsm, zgemmtr, zhemm, zher2k, zherk, zherkx, zsymm, zsyr2k, zsyrk,
    zsyrkx, ztrmm, ztrsm,
)
from .version import __version__

__all__ = [
    "ArgumentError", "Context", "DTypeError", "DeviceError", "Diag", "Op", "OutOfMemoryError", "Side",
    "UnsupportedError", "UpLo", "__version__", "asum", "axpby", "axpy", "caxpby", "caxpy", "ccopy", "cdotc",
    "cdotu", "cgemm", "cgemmtr", "chemm", "cher2k", "cherk", "cherkx", "copy", "crot", "crotg", "cscal", "csrot",
    "csscal", "cswap", "csymm", "csyr2k", "csyrk", "csyrkx", "ctrmm", "ctrsm", "current", "dasum", "daxpby",
    "daxpy", "dcopy", "ddot", "dgemm", "dgemmtr", "dnrm2", "dot", "dotc", "dotu", "drot", "drotg", "drotm",
    "drotmg", "dscal", "dsdot", "dswap", "dsymm", "dsyr2k", "dsyrk", "dsyrkx", "dtrmm", "dtrsm", "dzasum", "dznrm2",
    "gemm", "gemmtr", "hemm", "her2k", "herk", "herkx", "iamax", "iamin", "icamax", "icamin", "idamax", "idamin",
    "isamax", "isamin", "izamax", "izamin", "nrm2", "rot", "rotg", "rotm", "rotmg", "sasum", "saxpby", "saxpy",
    "scal", "scasum", "scnrm2", "scopy", "sdot", "sdsdot", "sgemm", "sgemmtr", "snrm2", "srot", "srotg", "srotm",
    "srotmg", "sscal", "sswap", "ssymm", "ssyr2k", "ssyrk", "ssyrkx", "strmm", "strsm", "swap", "symm", "syr2k",
    "syrk", "syrkx", "trmm", "trsm", "use", "zaxpby", "zaxpy", "zcopy", "zdotc", "zdotu", "zdrot", "zdscal",
    "zgemm", "zgemmtr", "zhemm", "zher2k", "zherk", "zherkx", "zrot", "zrotg", "zscal", "zswap", "zsymm", "zsyr2k",
    "zsyrk", "zsyrkx", "ztrmm", "ztrsm",
]
