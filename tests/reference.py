"""Slow oracles in extended precision, written from the definitions and independent of the CPU device."""

import numpy as np

WIDE = {"f": np.longdouble, "c": np.clongdouble}


def wide(values):
    """The values in extended precision."""
    values = np.asarray(values)
    return values.astype(WIDE[values.dtype.kind])


def op(flag, values):
    """op(values) for "N", "T", "C"."""
    flag = flag.upper()
    return values if flag == "N" else values.T if flag == "T" else values.conj().T


def gemm(op_a, op_b, alpha, A, B, beta, C):
    """alpha op(A) op(B) + beta C; what a zero scalar multiplies is not read. NumPy multiplies extended precision in
    loops of its own, without BLAS."""
    left, right = op(op_a, wide(A)), op(op_b, wide(B))
    shape = (left.shape[0], right.shape[1])
    total = np.zeros(shape, np.result_type(left, right))
    if alpha != 0 and left.shape[1]:
        total = alpha * (left @ right)
    if beta != 0:
        total = total + beta * wide(C)
    return total
