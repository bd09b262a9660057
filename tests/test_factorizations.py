"""Batched LU, solutions, inverses and QR: backward errors against the factors' own bounds, pivots, corners."""

import itertools

import numpy as np
import pytest
import reference
from conftest import random_values

import gpublas
from gpublas.precision import PRECISIONS
from gpublas.testing.bounds import assert_within
from gpublas.testing.buffers import Guarded

LAYOUTS = ("C", "F", "C padded", "F reversed", "no unit stride")
ORDERS = ((0, 3), (2, 0), (3, 1), (2, 2), (3, 5), (2, 33), (2, 70))
every_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: p.prefix)


def routine(precision, name):
    return getattr(gpublas, precision.prefix + name)


def eps_of(precision):
    return precision.eps * (4 if precision.is_complex else 1)


def exchanged(values, pivots):
    """The rows of a matrix exchanged as a factorisation says."""
    values = values.copy()
    for k, pivot in enumerate(pivots):
        values[[k, pivot]] = values[[pivot, k]]
    return values


def factors(lu):
    """L and U in extended precision."""
    lu = reference.wide(lu)
    return np.tril(lu, -1) + np.eye(len(lu)), np.triu(lu)


@every_precision
def test_getrf(device, precision, rng):
    for (products, n), layout in itertools.product(ORDERS, LAYOUTS):
        A = Guarded(random_values(rng, (products, n, n), precision.dtype), layout)
        before = A.array.copy()
        result, pivots, info = routine(precision, "getrf_batched")(A.array)
        assert result is A.array and pivots.shape == (products, n) and pivots.dtype == info.dtype == np.int32
        A.assert_intact()
        assert not info.any()
        for a, lu, rows in zip(before, A.array, pivots, strict=True):
            lower, upper = factors(lu)
            assert_within(exchanged(reference.wide(a), rows), lower @ upper,
                          (n + 2) * eps_of(precision) * (abs(lower) @ abs(upper)), f"n={n} {layout}")
            assert (abs(lower.real) + abs(lower.imag) <= 1 + 4 * precision.eps).all() or precision.is_complex
            assert (rows >= np.arange(n)).all()


@every_precision
@pytest.mark.parametrize("op", "NTC")
def test_getrs(device, precision, op, rng):
    for (products, n), columns, layout in itertools.product(ORDERS, (0, 1, 4), LAYOUTS):
        a = random_values(rng, (products, n, n), precision.dtype)
        B = Guarded(random_values(rng, (products, n, columns), precision.dtype), layout)
        before = B.array.copy()
        lu, pivots, _ = routine(precision, "getrf_batched")(a.copy())
        kept = lu.copy()
        assert routine(precision, "getrs_batched")(op, lu, pivots, B.array) is B.array
        B.assert_intact()
        np.testing.assert_array_equal(lu, kept)
        for matrix, factored, rows, right, found in zip(a, lu, pivots, before, B.array, strict=True):
            lower, upper = factors(factored)
            inverse = np.argsort(exchanged(np.arange(n), rows))
            size = (abs(lower) @ abs(upper))[inverse]  # of P^T |L| |U|
            matrix = reference.op(op, reference.wide(matrix))
            size = size if op == "N" else size.T
            found = reference.wide(found)
            assert_within(matrix @ found, reference.wide(right), (3 * n + 4) * eps_of(precision) * (size @ abs(found)),
                          f"{op} n={n} {layout}")


@every_precision
def test_inverses(device, precision, rng):
    for (products, n), layout in itertools.product(ORDERS, LAYOUTS):
        A = Guarded(random_values(rng, (products, n, n), precision.dtype), layout)
        before = A.array.copy()
        C = Guarded(np.full((products, n, n), np.nan, precision.dtype), layout)
        result, info = routine(precision, "matinv_batched")(A.array, C.array)
        assert result is C.array and not info.any()
        np.testing.assert_array_equal(A.array, before)
        lu, pivots, _ = routine(precision, "getrf_batched")(before.copy())
        new = routine(precision, "getri_batched")(lu, pivots)
        for a, found, other in zip(before, C.array, new, strict=True):
            wide, exact = reference.wide(a), reference.wide(found)
            condition = np.linalg.cond(a.astype(np.complex128)) if n else 1
            assert_within(wide @ exact, np.eye(n), (3 * n + 4) * n * eps_of(precision) * np.full((n, n), condition))
            np.testing.assert_allclose(other, found, rtol=10 * n * eps_of(precision) * condition, atol=abs(found).max(
                initial=0) * 10 * n * eps_of(precision) * condition)
        A.assert_intact()
        C.assert_intact()


@every_precision
def test_geqrf(device, precision, rng):
    for (products, m, n), layout in itertools.product(((0, 2, 2), (2, 0, 3), (2, 3, 0), (3, 1, 1), (2, 1, 4), (2, 5, 3),
                                                       (2, 3, 5), (2, 40, 33), (2, 130, 7)), LAYOUTS):
        A = Guarded(random_values(rng, (products, m, n), precision.dtype), layout)
        before = A.array.copy()
        result, tau = routine(precision, "geqrf_batched")(A.array)
        assert result is A.array and tau.shape == (products, min(m, n)) and tau.dtype == precision.dtype
        A.assert_intact()
        for a, qr, factor in zip(before, A.array, tau, strict=True):
            qr, q = reference.wide(qr), np.eye(m, dtype=np.result_type(reference.wide(a)))
            for k, t in enumerate(reference.wide(factor)):
                v = np.concatenate([np.zeros(k), [1], qr[k + 1:, k]])
                q = q - t * np.outer(q @ v, v.conj())
            bound = 8 * (m + 2) * (min(m, n) + 1) * eps_of(precision)
            assert_within(q.conj().T @ q, np.eye(m), np.full((m, m), bound), f"{m}x{n} {layout}")
            columns = np.sqrt((abs(reference.wide(a)) ** 2).sum(0))
            assert_within(q @ np.triu(qr), reference.wide(a), bound * np.broadcast_to(columns, (m, n)), f"{m}x{n}")


def test_pivots_take_the_first_of_the_largest(device):
    a = np.array([[[1.0, 2], [-1, 3]], [[1, 2], [-2, 3]]])
    _, pivots, _ = gpublas.dgetrf_batched(a)
    np.testing.assert_array_equal(pivots, [[0, 1], [1, 1]])


def test_info_numbers_the_first_zero_pivot_from_one(device):
    a = np.stack([np.eye(3), np.diag([1.0, 0, 2]), np.zeros((3, 3)), np.diag([1.0, 2, 0])])
    _, _, info = gpublas.dgetrf_batched(a.copy())
    np.testing.assert_array_equal(info, [0, 2, 1, 3])
    inverses, again = gpublas.dmatinv_batched(a)
    np.testing.assert_array_equal(again, info)
    np.testing.assert_array_equal(np.isfinite(inverses).all((1, 2)), info == 0)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_qr_of_extreme_columns(device, scale):
    """No square over- or underflows."""
    a = np.array([[[3.0, 1], [4, 2], [0, 5]]]) * scale
    qr, _ = gpublas.dgeqrf_batched(a.copy())
    np.testing.assert_allclose(abs(qr[0, 0, 0]), 5 * scale, rtol=1e-14)


def test_a_batch_of_many(device, rng):
    a = random_values(rng, (3000, 3, 3), "f4") + 4 * np.eye(3, dtype="f4")
    inverse, info = gpublas.smatinv_batched(a)
    assert not info.any()
    np.testing.assert_allclose(np.einsum("nij,njk->nik", a, inverse), np.broadcast_to(np.eye(3), a.shape), atol=1e-4)


BAD = {
    "not square": (lambda: gpublas.dgetrf_batched(np.ones((2, 3, 2))), r"argument 1, A: found shape \(2, 3, 2\)"),
    "two axes": (lambda: gpublas.dgetrf_batched(np.ones((3, 3))), "argument 1, A: found 2 axes"),
    "pivot type": (lambda: gpublas.dgetrs_batched("N", np.ones((1, 2, 2)), np.zeros((1, 2)), np.ones((1, 2, 1))),
                   "argument 3, pivots: found float64, wanted int32"),
    "pivot shape": (lambda: gpublas.dgetri_batched(np.ones((1, 2, 2)), np.zeros((1, 3), "i4")),
                    r"argument 2, pivots: found shape \(1, 3\)"),
    "rows of B": (lambda: gpublas.dgetrs_batched("N", np.ones((1, 2, 2)), np.zeros((1, 2), "i4"), np.ones((1, 3, 1))),
                  r"argument 4, B: found shape \(1, 3, 1\)"),
    "C": (lambda: gpublas.dmatinv_batched(np.ones((1, 2, 2)), np.ones((1, 3, 3))), r"2, C: found shape \(1, 3, 3\)"),
    "read only": (lambda: gpublas.dgeqrf_batched(np.broadcast_to(np.ones((2, 2)), (3, 2, 2))),
                  "argument 1, A: found a read-only array"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(device, name):
    call, message = BAD[name]
    with pytest.raises(gpublas.ArgumentError, match=message):
        call()
