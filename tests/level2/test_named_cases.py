"""Calls that went wrong in other libraries."""

import numpy as np
import pytest
from conftest import random_values
from level1.strided import Strided

import gpublas
from gpublas.cuda import level2
from gpublas.cuda.matvec import tile_rows
from gpublas.flags import Op
from gpublas.operands import Stored
from gpublas.precision import PRECISIONS, S
from gpublas.testing.bounds import assert_within, product_bound

by_prefix = pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)


@by_prefix
@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("steps", [(1, 2), (2, 1), (-1, 3), (2, -2), (-3, -1)])
def test_b3_rank_two_updates_with_different_strides(device, precision, uplo, steps, rng):
    n = 9
    x, y = (Strided(random_values(rng, n, precision.dtype), step) for step in steps)
    mask = np.tri(n, dtype=bool) if uplo == "L" else np.tri(n, dtype=bool).T
    for name, conjugate in (("syr2", False), ("her2", True)):
        a, b = x.values, np.conj(y.values) if conjugate else y.values
        exact = np.outer(a, b) + (np.outer(a, b).conj().T if conjugate else np.outer(a, b).T)
        found = getattr(gpublas, name)(uplo, 1, x.array, y.array, np.zeros((n, n), precision.dtype))
        size = np.abs(np.outer(x.values, y.values))
        assert_within(found[mask], exact[mask], 16 * precision.eps * (size + size.T)[mask], name)
        assert not found[~mask].any()


class TestB18:
    """gemv of 35783 x 65133: more than 2**31 elements."""

    M, N = 35783, 65133

    @pytest.mark.parametrize("op", "NT")
    @pytest.mark.parametrize("order", "CF")
    def test_what_the_plan_gives_the_kernel(self, op, order):
        """Sizes and strides in 64 bits, and blocks that cover the matrix up to its last element."""
        strides = (self.N, 1) if order == "C" else (1, self.M)
        matrix = Stored(0, self.M, self.N, *strides, S, self.M, self.N).under(Op(op))
        plan = level2.plan_matvec((8, 0), matrix, "", 1, 1, "value")
        sums, _ = plan.launches
        m, n, row_stride, column_stride, bend = sums.arguments[3:8]
        chunk_rows, chunk_columns = sums.arguments[11:13]
        assert all(type(value) is np.int64 for value in sums.arguments[3:13])
        assert {int(m), int(n)} == {self.M, self.N} and row_stride == 1 and bend == 0
        assert (m - 1) * row_stride + (n - 1) * column_stride == self.M * self.N - 1 > 2**31
        down, across = -(-m // chunk_rows), -(-n // chunk_columns)
        assert sums.grid == (down * across, 1, 1) and chunk_rows % tile_rows("s") == 0
        assert plan.workspace_bytes < self.M * self.N * 4 / 20

    @pytest.mark.parametrize("op", "NT")
    @pytest.mark.parametrize("order", "CF")
    def test_elements_from_end_to_end(self, device, op, order, rng, tmp_path):
        """Every 32566th column of every 17891st row, the last ones among them, in a file of which few pages exist."""
        whole = np.memmap(tmp_path / "matrix", np.float32, "w+", shape=(self.M, self.N), order=order)
        A = whole[::17891, ::32566]
        assert A.shape == (3, 3)
        A[...] = values = random_values(rng, (3, 3), "f4")
        x = random_values(rng, 3, "f4")
        matrix = values.T if op == "T" else values
        bound = product_bound(1, matrix, x[:, None], 0, None, 3, np.float32)[:, 0]
        assert_within(gpublas.sgemv(op, 1, A, x), matrix.astype("f8") @ x.astype("f8"), bound)
        gpublas.sger(1, x, x, A)
        assert_within(A, values + np.outer(x.astype("f8"), x), 3 * 1.2e-7 * (np.abs(values) + np.abs(np.outer(x, x))))


@by_prefix
@pytest.mark.parametrize("op", "NTC")
@pytest.mark.parametrize("shape", [(2, 3), (31, 65), (130, 7)])
def test_b20_gemv_on_a_c_order_matrix(device, precision, op, shape, rng):
    A = random_values(rng, (2 * shape[0], shape[1] + 5), precision.dtype)[::2, 3:-2]
    matrix = {"N": A, "T": A.T, "C": A.conj().T}[op]
    x = random_values(rng, matrix.shape[1], precision.dtype)
    bound = product_bound(1, matrix, x[:, None], 0, None, len(x), precision.dtype)[:, 0]
    wide = np.longdouble if not precision.is_complex else np.clongdouble
    exact = matrix.astype(wide) @ x.astype(wide)
    assert_within(gpublas.gemv(op, 1, A, x), exact, bound)
    assert_within(gpublas.gemv(op, 1, np.asfortranarray(A), x), exact, bound)


@by_prefix
def test_b17_broadcast_vectors(device, precision, rng):
    n = 40
    A = random_values(rng, (n, n), precision.dtype)
    A[np.diag_indices(n)] += 2
    x = np.broadcast_to(precision.dtype.type(3), (n,))
    for name, call in {
            "gemv": lambda v: gpublas.gemv("T", 1, A, v), "symv": lambda v: gpublas.symv("U", 1, A, v),
            "gbmv": lambda v: gpublas.gbmv("N", n, 20, 19, 1, A, v),
            "ger": lambda v: gpublas.syr2("U", 1, v, A[0], A.copy()), "her": lambda v: gpublas.her("L", 1, v, A.copy())
    }.items():
        np.testing.assert_array_equal(call(x), call(x.copy()), err_msg=name)


@by_prefix
def test_b19_a_slice_without_unit_stride(device, precision, rng):
    T = np.asfortranarray(random_values(rng, (3, 20, 30), precision.dtype))
    A, x = T[0, :, :], random_values(rng, 30, precision.dtype)
    for op, vector in (("N", x), ("T", x[:20]), ("C", x[:20])):
        exact = {"N": A, "T": A.T, "C": A.conj().T}[op].astype("c16") @ vector
        bound = 2 * product_bound(1, A if op == "N" else A.T, vector[:, None], 0, None, 30, precision.dtype)[:, 0]
        assert_within(gpublas.gemv(op, 1, A, vector), exact, bound)


@by_prefix
def test_an_empty_inner_dimension_scales(device, precision):
    """Reference gemv returns early and leaves y."""
    for op, shape in (("N", (4, 0)), ("T", (0, 4)), ("C", (0, 4))):
        y = np.arange(4).astype(precision.dtype)
        gpublas.gemv(op, 1, np.empty(shape, precision.dtype), np.empty(0, precision.dtype), 2, y)
        np.testing.assert_array_equal(y, 2 * np.arange(4))
        gpublas.gemv(op, 1, np.empty(shape, precision.dtype), np.empty(0, precision.dtype), 0, y)
        np.testing.assert_array_equal(y, 0)
