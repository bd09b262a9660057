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


def triangle_mask(n, uplo):
    """Which elements of an n x n matrix are in the triangle."""
    return np.tri(n, dtype=bool) if uplo == "L" else np.tri(n, dtype=bool).T


def symmetric(uplo, values, hermitian):
    """The whole matrix of which one triangle is stored."""
    values = wide(values)
    part = np.where(triangle_mask(len(values), uplo), values, 0)
    mirrored = part.conj().T if hermitian else part.T
    diagonal = np.diag(np.diag(part).real if hermitian else np.diag(part))
    strict = ~np.eye(len(values), dtype=bool)
    return np.where(strict, part + mirrored, diagonal)


def triangular(uplo, diag, values):
    """The triangular matrix that is stored in one triangle; diag "U" puts ones on the diagonal."""
    values = wide(values)
    part = np.where(triangle_mask(len(values), uplo), values, 0)
    if diag == "U":
        part = np.where(np.eye(len(values), dtype=bool), 1, part)
    return part


def triangular_product(matrix, right):
    """matrix @ right in which structural zeros of the matrix multiply nothing, so that NaN and Inf stay where they
    are used. The matrix is triangular."""
    result = np.zeros((len(matrix), right.shape[1]), np.result_type(matrix, right))
    lower = not np.triu(matrix, 1).any()
    for i in range(len(matrix)):
        for k in range(i + 1) if lower else range(i, len(matrix)):
            result[i] += matrix[i, k] * right[k]
    return result
