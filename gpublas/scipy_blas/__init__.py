"""A drop-in for scipy.linalg.blas that computes on gpublas's current device: `from gpublas import scipy_blas as blas`.

All functions of scipy.linalg.blas (1.13 to 1.17) with their names, parameters, defaults and results, and
find_best_blas_type and get_blas_funcs. What f2py does around every routine happens here too:

- Arguments are whatever NumPy makes arrays of. They are converted to the routine's type; a matrix in C order is not
  copied for its order where it is only read. Device arrays are for gpublas's own functions.
- Level 1 routines work in place (axpy, copy, scal, swap) or in a copy unless overwrite_x says otherwise; all others
  return a copy of what they update unless overwrite_y (x, a, ap, b, c) is set. In place means in the array that was
  given if its type and order are those of the routine (contiguous, first index fastest), else in a converted copy.
- offx and incx say which elements of a vector are used; with a negative increment the last of them comes first.
- A check that fails raises `error`, or ValueError where an array has the wrong shape.

What differs: arrays that are read-only are copied, not written to; results that share memory with an input are as if it
had been copied before, two results that share elements are an error; arguments with which reference BLAS prints a
message and returns, or reads beyond an array, are an error (a gpublas.ArgumentError, which is a ValueError); the rules
for NaN, zeros and corners are those of gpublas's functions on every device.
"""
# ruff: noqa: I001  # names in filled lines: one a line would be pages

from .finding import find_best_blas_type, get_blas_funcs
from .interface import error
from .level1 import (
    caxpy, ccopy, cdotc, cdotu, crotg, cscal, csrot, csscal, cswap, dasum, daxpy, dcopy, ddot, dnrm2, drot, drotg,
    drotm, drotmg, dscal, dswap, dzasum, dznrm2, icamax, idamax, isamax, izamax, sasum, saxpy, scasum, scnrm2, scopy,
    sdot, snrm2, srot, srotg, srotm, srotmg, sscal, sswap, zaxpy, zcopy, zdotc, zdotu, zdrot, zdscal, zrotg, zscal,
    zswap,
)
from .level2 import (
    cgbmv, cgemv, cgerc, cgeru, chbmv, chemv, cher, cher2, chpmv, chpr, chpr2, cspmv, cspr, csyr, ctbmv, ctbsv, ctpmv,
    ctpsv, ctrmv, ctrsv, dgbmv, dgemv, dger, dsbmv, dspmv, dspr, dspr2, dsymv, dsyr, dsyr2, dtbmv, dtbsv, dtpmv, dtpsv,
    dtrmv, dtrsv, sgbmv, sgemv, sger, ssbmv, sspmv, sspr, sspr2, ssymv, ssyr, ssyr2, stbmv, stbsv, stpmv, stpsv, strmv,
    strsv, zgbmv, zgemv, zgerc, zgeru, zhbmv, zhemv, zher, zher2, zhpmv, zhpr, zhpr2, zspmv, zspr, zsyr, ztbmv, ztbsv,
    ztpmv, ztpsv, ztrmv, ztrsv,
)
from .level3 import (
    cgemm, chemm, cher2k, cherk, csymm, csyr2k, csyrk, ctrmm, ctrsm, dgemm, dsymm, dsyr2k, dsyrk, dtrmm, dtrsm, sgemm,
    ssymm, ssyr2k, ssyrk, strmm, strsm, zgemm, zhemm, zher2k, zherk, zsymm, zsyr2k, zsyrk, ztrmm, ztrsm,
)

HAS_ILP64 = True

__all__ = [
    "HAS_ILP64", "caxpy", "ccopy", "cdotc", "cdotu", "cgbmv", "cgemm", "cgemv", "cgerc", "cgeru", "chbmv", "chemm",
    "chemv", "cher", "cher2", "cher2k", "cherk", "chpmv", "chpr", "chpr2", "crotg", "cscal", "cspmv", "cspr",
    "csrot", "csscal", "cswap", "csymm", "csyr", "csyr2k", "csyrk", "ctbmv", "ctbsv", "ctpmv", "ctpsv", "ctrmm",
    "ctrmv", "ctrsm", "ctrsv", "dasum", "daxpy", "dcopy", "ddot", "dgbmv", "dgemm", "dgemv", "dger", "dnrm2",
    "drot", "drotg", "drotm", "drotmg", "dsbmv", "dscal", "dspmv", "dspr", "dspr2", "dswap", "dsymm", "dsymv",
    "dsyr", "dsyr2", "dsyr2k", "dsyrk", "dtbmv", "dtbsv", "dtpmv", "dtpsv", "dtrmm", "dtrmv", "dtrsm", "dtrsv",
    "dzasum", "dznrm2", "error", "find_best_blas_type", "get_blas_funcs", "icamax", "idamax", "isamax", "izamax",
    "sasum", "saxpy", "scasum", "scnrm2", "scopy", "sdot", "sgbmv", "sgemm", "sgemv", "sger", "snrm2", "srot",
    "srotg", "srotm", "srotmg", "ssbmv", "sscal", "sspmv", "sspr", "sspr2", "sswap", "ssymm", "ssymv", "ssyr",
    "ssyr2", "ssyr2k", "ssyrk", "stbmv", "stbsv", "stpmv", "stpsv", "strmm", "strmv", "strsm", "strsv", "zaxpy",
    "zcopy", "zdotc", "zdotu", "zdrot", "zdscal", "zgbmv", "zgemm", "zgemv", "zgerc", "zgeru", "zhbmv", "zhemm",
    "zhemv", "zher", "zher2", "zher2k", "zherk", "zhpmv", "zhpr", "zhpr2", "zrotg", "zscal", "zspmv", "zspr",
    "zswap", "zsymm", "zsyr", "zsyr2k", "zsyrk", "ztbmv", "ztbsv", "ztpmv", "ztpsv", "ztrmm", "ztrmv", "ztrsm",
    "ztrsv",
]
