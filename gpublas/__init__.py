"""gpublas: a BLAS whose GPU kernels are Python, on NVIDIA GPUs, on the CPU, and on the PTX executor."""

from .context import Context, current, use
from .errors import ArgumentError, DTypeError, DeviceError, OutOfMemoryError, UnsupportedError
from .extensions import (
    cdgmm, cgeam, cgemm_batched, cgemm_grouped_batched, cgemm_strided_batched, cgemv_batched, ctpttr, ctrsm_batched,
    ctrttp, ddgmm, dgeam, dgemm_batched, dgemm_grouped_batched, dgemm_strided_batched, dgemv_batched, dgmm, dtpttr,
    dtrsm_batched, dtrttp, geam, gemm_batched, gemm_grouped_batched, gemm_strided_batched, gemv_batched, sdgmm,
    sgeam, sgemm_batched, sgemm_grouped_batched, sgemm_strided_batched, sgemv_batched, stpttr, strsm_batched,
    strttp, tpttr, trsm_batched, trttp, zdgmm, zgeam, zgemm_batched, zgemm_grouped_batched, zgemm_strided_batched,
    zgemv_batched, ztpttr, ztrsm_batched, ztrttp,
)
from .factorizations import (
    cgeqrf_batched, cgetrf_batched, cgetri_batched, cgetrs_batched, cmatinv_batched, dgeqrf_batched, dgetrf_batched,
    dgetri_batched, dgetrs_batched, dmatinv_batched, geqrf_batched, getrf_batched, getri_batched, getrs_batched,
    matinv_batched, sgeqrf_batched, sgetrf_batched, sgetri_batched, sgetrs_batched, smatinv_batched, zgeqrf_batched,
    zgetrf_batched, zgetri_batched, zgetrs_batched, zmatinv_batched,
)
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
from .level2.products import (
    cgbmv, cgemv, chbmv, chemv, chpmv, cspmv, csymv, dgbmv, dgemv, dsbmv, dspmv, dsymv, gbmv, gemv, hbmv, hemv,
    hpmv, sbmv, sgbmv, sgemv, spmv, ssbmv, sspmv, ssymv, symv, zgbmv, zgemv, zhbmv, zhemv, zhpmv, zspmv, zsymv,
)
from .level2.triangular import (
    ctbmv, ctbsv, ctpmv, ctpsv, ctrmv, ctrsv, dtbmv, dtbsv, dtpmv, dtpsv, dtrmv, dtrsv, stbmv, stbsv, stpmv, stpsv,
    strmv, strsv, tbmv, tbsv, tpmv, tpsv, trmv, trsv, ztbmv, ztbsv, ztpmv, ztpsv, ztrmv, ztrsv,
)
from .level2.updates import (
    cgerc, cgeru, cher, cher2, chpr, chpr2, cspr, csyr, csyr2, dger, dspr, dspr2, dsyr, dsyr2, ger, gerc, geru, her,
    her2, hpr, hpr2, sger, spr, spr2, sspr, sspr2, ssyr, ssyr2, syr, syr2, zgerc, zgeru, zher, zher2, zhpr, zhpr2,
    zspr, zsyr, zsyr2,
)
from .level3 import cgemm, cgemm3m, dgemm, gemm, gemm3m, sgemm, zgemm, zgemm3m
from .structured import (
    cgemmtr, chemm, cher2k, cherk, cherkx, csymm, csyr2k, csyrk, csyrkx, ctrmm, ctrsm, dgemmtr, dsymm, dsyr2k,
    dsyrk, dsyrkx, dtrmm, dtrsm, gemmtr, hemm, her2k, herk, herkx, sgemmtr, ssymm, ssyr2k, ssyrk, ssyrkx, strmm,
    strsm, symm, syr2k, syrk, syrkx, trmm, trsm, zgemmtr, zhemm, zher2k, zherk, zherkx, zsymm, zsyr2k, zsyrk,
    zsyrkx, ztrmm, ztrsm,
)
from .version import __version__

__all__ = [
    "ArgumentError", "Context", "DTypeError", "DeviceError", "Diag", "Op", "OutOfMemoryError", "Side",
    "UnsupportedError", "UpLo", "__version__", "asum", "axpby", "axpy", "caxpby", "caxpy", "ccopy", "cdgmm",
    "cdotc", "cdotu", "cgbmv", "cgeam", "cgemm", "cgemm3m", "cgemm_batched", "cgemm_grouped_batched",
    "cgemm_strided_batched", "cgemmtr", "cgemv", "cgemv_batched", "cgeqrf_batched", "cgerc", "cgeru",
    "cgetrf_batched", "cgetri_batched", "cgetrs_batched", "chbmv", "chemm", "chemv", "cher", "cher2", "cher2k",
    "cherk", "cherkx", "chpmv", "chpr", "chpr2", "cmatinv_batched", "copy", "crot", "crotg", "cscal", "cspmv",
    "cspr", "csrot", "csscal", "cswap", "csymm", "csymv", "csyr", "csyr2", "csyr2k", "csyrk", "csyrkx", "ctbmv",
    "ctbsv", "ctpmv", "ctpsv", "ctpttr", "ctrmm", "ctrmv", "ctrsm", "ctrsm_batched", "ctrsv", "ctrttp", "current",
    "dasum", "daxpby", "daxpy", "dcopy", "ddgmm", "ddot", "dgbmv", "dgeam", "dgemm", "dgemm_batched",
    "dgemm_grouped_batched", "dgemm_strided_batched", "dgemmtr", "dgemv", "dgemv_batched", "dgeqrf_batched",
    "dger", "dgetrf_batched", "dgetri_batched", "dgetrs_batched", "dgmm", "dmatinv_batched", "dnrm2", "dot",
    "dotc", "dotu", "drot", "drotg", "drotm", "drotmg", "dsbmv", "dscal", "dsdot", "dspmv", "dspr", "dspr2",
    "dswap", "dsymm", "dsymv", "dsyr", "dsyr2", "dsyr2k", "dsyrk", "dsyrkx", "dtbmv", "dtbsv", "dtpmv", "dtpsv",
    "dtpttr", "dtrmm", "dtrmv", "dtrsm", "dtrsm_batched", "dtrsv", "dtrttp", "dzasum", "dznrm2", "gbmv", "geam",
    "gemm", "gemm3m", "gemm_batched", "gemm_grouped_batched", "gemm_strided_batched", "gemmtr", "gemv",
    "gemv_batched", "geqrf_batched", "ger", "gerc", "geru", "getrf_batched", "getri_batched", "getrs_batched",
    "hbmv", "hemm", "hemv", "her", "her2", "her2k", "herk", "herkx", "hpmv", "hpr", "hpr2", "iamax", "iamin",
    "icamax", "icamin", "idamax", "idamin", "isamax", "isamin", "izamax", "izamin", "matinv_batched", "nrm2",
    "rot", "rotg", "rotm", "rotmg", "sasum", "saxpby", "saxpy", "sbmv", "scal", "scasum", "scnrm2", "scopy",
    "sdgmm", "sdot", "sdsdot", "sgbmv", "sgeam", "sgemm", "sgemm_batched", "sgemm_grouped_batched",
    "sgemm_strided_batched", "sgemmtr", "sgemv", "sgemv_batched", "sgeqrf_batched", "sger", "sgetrf_batched",
    "sgetri_batched", "sgetrs_batched", "smatinv_batched", "snrm2", "spmv", "spr", "spr2", "srot", "srotg",
    "srotm", "srotmg", "ssbmv", "sscal", "sspmv", "sspr", "sspr2", "sswap", "ssymm", "ssymv", "ssyr", "ssyr2",
    "ssyr2k", "ssyrk", "ssyrkx", "stbmv", "stbsv", "stpmv", "stpsv", "stpttr", "strmm", "strmv", "strsm",
    "strsm_batched", "strsv", "strttp", "swap", "symm", "symv", "syr", "syr2", "syr2k", "syrk", "syrkx", "tbmv",
    "tbsv", "tpmv", "tpsv", "tpttr", "trmm", "trmv", "trsm", "trsm_batched", "trsv", "trttp", "use", "zaxpby",
    "zaxpy", "zcopy", "zdgmm", "zdotc", "zdotu", "zdrot", "zdscal", "zgbmv", "zgeam", "zgemm", "zgemm3m",
    "zgemm_batched", "zgemm_grouped_batched", "zgemm_strided_batched", "zgemmtr", "zgemv", "zgemv_batched",
    "zgeqrf_batched", "zgerc", "zgeru", "zgetrf_batched", "zgetri_batched", "zgetrs_batched", "zhbmv", "zhemm",
    "zhemv", "zher", "zher2", "zher2k", "zherk", "zherkx", "zhpmv", "zhpr", "zhpr2", "zmatinv_batched", "zrot",
    "zrotg", "zscal", "zspmv", "zspr", "zswap", "zsymm", "zsymv", "zsyr", "zsyr2", "zsyr2k", "zsyrk", "zsyrkx",
    "ztbmv", "ztbsv", "ztpmv", "ztpsv", "ztpttr", "ztrmm", "ztrmv", "ztrsm", "ztrsm_batched", "ztrsv", "ztrttp",
]
