"""Random shapes, strides, orders, flags and offsets, against the oracles."""

import numpy as np
import reference
from conftest import device_context
from hypothesis import given, settings
from hypothesis import strategies as st

import gpublas
from gpublas.precision import PRECISIONS
from gpublas.testing.bounds import assert_within, product_bound

EXTENTS = st.integers(0, 40) | st.sampled_from((63, 64, 65, 130))
STEPS = st.sampled_from((1, 1, 1, 2, 3, -1, -2))


@st.composite
def matrices(draw, rows, columns, dtype):
    """A view into a larger array: any order, steps and offsets along both axes."""
    steps, starts = [draw(STEPS) for _ in range(2)], [draw(st.integers(0, 3)) for _ in range(2)]
    extents = [start + max(0, extent - 1) * abs(step) + 1 + draw(st.integers(0, 2))
               for start, extent, step in zip(starts, (rows, columns), steps, strict=True)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    whole = rng.standard_normal(extents)
    if np.dtype(dtype).kind == "c":
        whole = whole + 1j * rng.standard_normal(extents)
    whole = np.asarray(whole.astype(dtype), order=draw(st.sampled_from("CF")))
    view = whole
    for axis, (start, extent, step) in enumerate(zip(starts, (rows, columns), steps, strict=True)):
        stop = start + extent * abs(step)
        index = [slice(None)] * 2
        index[axis] = slice(start, stop, abs(step))
        view = view[tuple(index)]
        if step < 0:
            view = np.flip(view, axis)
    assert view.shape == (rows, columns)
    return view


def scalars(dtype):
    return st.sampled_from((0, 1, -1, 0.75) + ((0.5 - 0.25j,) if np.dtype(dtype).kind == "c" else ()))


@settings(max_examples=120, deadline=None)
@given(st.data(), st.sampled_from(PRECISIONS), st.sampled_from(("cpu", "executor")), st.sampled_from("NTC"),
       st.sampled_from("NTC"), EXTENTS, EXTENTS, EXTENTS)
def test_gemm(data, precision, device, op_a, op_b, m, n, k):
    dtype = precision.dtype
    A = data.draw(matrices(*((m, k) if op_a == "N" else (k, m)), dtype))
    B = data.draw(matrices(*((k, n) if op_b == "N" else (n, k)), dtype))
    C = data.draw(matrices(m, n, dtype))
    alpha, beta = data.draw(scalars(dtype)), data.draw(scalars(dtype))
    before = C.copy()
    with gpublas.use(device_context(device)):
        gpublas.gemm(op_a, op_b, alpha, A, B, beta, C)
    left, right = reference.op(op_a, A), reference.op(op_b, B)
    assert_within(C, reference.gemm(op_a, op_b, alpha, A, B, beta, before),
                  product_bound(alpha, left, right, beta, before, k, dtype))


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from(PRECISIONS), st.sampled_from(("cpu", "executor")), st.sampled_from("LR"),
       st.sampled_from("UL"), st.sampled_from("NTC"), st.sampled_from("NU"), EXTENTS, EXTENTS)
def test_trsm_undoes_trmm(data, precision, device, side, uplo, op, diag, m, n):
    """op(A) B by trmm, then inv(op(A)) of it: back at B, within the error of both."""
    dtype, order = precision.dtype, m if side == "L" else n
    A = data.draw(matrices(order, order, dtype))
    A[...] = A / (2 * max(order, 1)) + np.eye(order)
    B = data.draw(matrices(m, n, dtype))
    before, flags = B.copy(), (side, uplo, op, diag)
    with gpublas.use(device_context(device)):
        gpublas.trmm(*flags, 1, A, B)
        gpublas.trsm(*flags, 1, A, B)
    triangle = reference.op(op, reference.triangular(uplo, diag, A))
    inverse = np.abs(np.linalg.inv(triangle.astype(np.complex128)))
    size = inverse @ np.abs(triangle) @ np.abs(before) if side == "L" else np.abs(before) @ np.abs(triangle) @ inverse
    factor = 4 if precision.is_complex else 1
    # |A||B| is the error of the product; the solution adds that of |A||X|: both through |inv(A)|.
    assert_within(B, reference.wide(before), 2 * factor * (order + 3) * precision.eps * size)


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from(PRECISIONS), st.sampled_from(("cpu", "executor")), st.sampled_from("UL"),
       st.sampled_from("NT"), EXTENTS, EXTENTS)
def test_syrk_is_a_triangle_of_gemm(data, precision, device, uplo, op, n, k):
    dtype = precision.dtype
    A = data.draw(matrices(*((n, k) if op == "N" else (k, n)), dtype))
    C = data.draw(matrices(n, n, dtype))
    alpha, beta = data.draw(scalars(dtype)), data.draw(scalars(dtype))
    before = C.copy()
    with gpublas.use(device_context(device)):
        gpublas.syrk(uplo, op, alpha, A, beta, C)
    left = reference.op(op, A)
    mask = reference.triangle_mask(n, uplo)
    exact = reference.gemm("N", "T", alpha, left, left, beta, before)
    assert_within(C[mask], exact[mask], product_bound(alpha, left, left.T, beta, before, k, dtype)[mask])
    np.testing.assert_array_equal(C[~mask], before[~mask])
