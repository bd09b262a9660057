"""gemm of 8-bit floats: every value, every pair of types, scales, against wider oracles."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import gpublas
from gpublas.cuda.gemm.config import MMA_CONFIGS, GemmConfig
from gpublas.errors import ArgumentError, DTypeError
from gpublas.testing.bounds import assert_within, product_bound

E4M3, E5M2, BF16 = (np.dtype(kind) for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16))
SHAPES = [(1, 1, 1), (9, 5, 16), (33, 17, 71), (65, 66, 130), (70, 3, 300)]


def matrix(rng, rows, columns, dtype, order="C"):
    return np.array(rng.standard_normal((rows, columns)).astype(dtype), order=order)


def wide(array):
    return array.astype(np.float64)


def check(C, factor, A, B, beta=0.0, old=None):
    """C = factor A B + beta old, factor a number or one for each element, within float32 sums and C's rounding.

    Two roundings more than the bound has: of the factor, which is a product of three.
    """
    A, B = wide(A), wide(B)
    exact = factor * (A @ B) + (0 if old is None else beta * wide(old))
    bound = np.abs(factor) * product_bound(1, A, B, 0, None, A.shape[1] + 2, np.float32)
    if old is not None:
        bound = bound + product_bound(0, A, B, beta, wide(old), A.shape[1], np.float32)
    if C.dtype != np.float32:
        bound = bound + float(ml_dtypes.finfo(C.dtype).eps) * (np.abs(exact) + bound)
    assert_within(wide(C), exact, bound)


@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_every_value(device, dtype):
    """NaN, Inf, zeros and subnormal numbers too, as A and as B."""
    values = np.arange(256, dtype=np.uint8).view(dtype).reshape(256, 1)
    one = np.ones((1, 1), E5M2)
    for C in (gpublas.gemm("N", "N", 1.0, values, one), gpublas.gemm("N", "T", 1.0, one, values).T):
        assert np.array_equal(C, values.astype(np.float32), equal_nan=True)
        zero = values.astype(np.float32) == 0
        assert np.array_equal(np.signbit(C[zero]), np.zeros(2, bool))  # 0 + -0


@pytest.mark.parametrize("type_a, type_b", list(itertools.product([E4M3, E5M2], repeat=2)), ids=str)
def test_products_and_scales(device, rng, type_a, type_b):
    """Of the whole matrix, of rows and columns, of both kinds at once; with beta, which they leave alone."""
    for m, n, k in SHAPES:
        A, B = matrix(rng, m, k, type_a), matrix(rng, k, n, type_b, "F")
        rows, columns = (rng.random(extent, np.float32) + 0.5 for extent in (m, n))
        check(gpublas.gemm("N", "N", -1.5, A, B), -1.5, A, B)
        check(gpublas.gemm("N", "N", 1.0, A, B, scale_a=0.25, scale_b=np.float32(3)), 0.75, A, B)
        C = gpublas.gemm("N", "N", 2.0, A, B, scale_a=rows, scale_b=columns[None, :])
        check(C, 2 * wide(rows)[:, None] * wide(columns), A, B)
        old = matrix(rng, m, n, np.float32, "F")
        C = gpublas.gemm("N", "N", 1.0, A, B, -2.0, old.copy("F"), scale_a=np.full(1, 0.5, np.float32), scale_b=columns)
        check(C, 0.5 * wide(columns)[None, :] * np.ones((m, 1)), A, B, -2.0, old)


def test_strides_and_batches(device, rng):
    """Operands that lie across k, and steps that are no whole chunks."""
    A, B = matrix(rng, 50, 33, E4M3, "F"), matrix(rng, 33, 21, E5M2)
    check(gpublas.gemm("N", "N", 1.0, A, B, scale_a=2.0), 2.0, A, B)
    check(gpublas.gemm("T", "T", 1.0, B, A), 1.0, B.T, A.T)
    As, Bs = (np.stack([matrix(rng, *shape, E4M3) for _ in range(3)]) for shape in ((7, 16), (16, 5)))
    scale = rng.random((7, 1), np.float32)
    C = gpublas.gemm_strided_batched("N", "N", 1.0, As, Bs, scale_a=scale)
    for number in range(3):
        check(C[number], wide(scale) * np.ones((1, 5)), As[number], Bs[number])


@pytest.mark.parametrize("out", [np.float16, BF16], ids=str)
def test_types_of_c(device, rng, out):
    """With bias and activation: what float32 gives, rounded once."""
    A, B = matrix(rng, 40, 64, E4M3), matrix(rng, 64, 24, E4M3, "F")
    bias = matrix(rng, 1, 24, out)
    given = {"scale_a": 0.125, "scale_b": rng.random(24, np.float32)}
    C = gpublas.gemm("N", "N", 1.0, A, B, epilogue="relu", bias=bias, out_dtype=out, **given)
    whole = gpublas.gemm("N", "N", 1.0, A, B, epilogue="relu", bias=bias.astype(np.float32), **given)
    assert C.dtype == out and np.array_equal(C, whole.astype(out))


def test_outputs_beside_operands(device):
    """Memory that is near is told from memory that is shared."""
    room = np.zeros(256, np.uint8)
    A, C = room[:64].view(E5M2).reshape(8, 8), room[64:192].view(np.float16).reshape(8, 8)
    assert gpublas.gemm("N", "N", 1.0, A, A, 0.0, C) is C
    with pytest.raises(ArgumentError, match="overlap"):
        gpublas.gemm("N", "N", 1.0, room[100:164].view(E5M2).reshape(8, 8), A, 0.0, C)


def test_cutting_k(executor, rng):
    A, B = matrix(rng, 20, 600, E4M3), matrix(rng, 600, 12, E4M3, "F")
    config = GemmConfig(MMA_CONFIGS["e4m3_e4m3"][-1], 2)
    with gpublas.use(gpublas.Context(executor, gemm_config=config)):
        check(gpublas.gemm("N", "N", 0.5, A, B, scale_a=3.0), 1.5, A, B)
        scale = rng.random(20, np.float32)
        check(gpublas.gemm("N", "N", 0.5, A, B, scale_a=scale), 0.5 * wide(scale)[:, None] * np.ones((1, 12)), A, B)


def test_what_is_not_read(device):
    bad = np.full((8, 8), np.nan, E4M3)
    C = gpublas.gemm("N", "N", 0.0, bad, bad, scale_a=np.full(8, np.nan, np.float32), scale_b=float("nan"))
    assert (C == 0).all()
    assert np.isnan(gpublas.gemm("N", "N", 1.0, bad, bad, scale_a=0.0)).all()


@pytest.mark.parametrize("change, error, message", [
    ({"scale_a": np.ones(5, "f4")}, ArgumentError, "scale_a"), ({"scale_b": np.ones((5, 1), "f4")}, ArgumentError,
                                                                  "scale_b"),
    ({"scale_a": np.ones(4)}, DTypeError, "scale_a"), ({"scale_a": "1"}, ArgumentError, "scale_a"),
    ({"B": np.ones((3, 5), np.float16)}, DTypeError, "B"), ({"out_dtype": np.float64}, DTypeError, "out_dtype"),
    ({"A": np.ones((4, 3), "f2"), "B": np.ones((3, 5), "f2"), "scale_a": 2.0}, ArgumentError, "scale_a"),
    ({"compute": "tf32"}, ArgumentError, "compute"), ({"C": np.ones((4, 5), E4M3)}, DTypeError, "C")])
def test_bad_arguments(device, change, error, message):
    good = {"A": np.ones((4, 3), E4M3), "B": np.ones((3, 5), E5M2), "alpha": 1.0}
    with pytest.raises(error, match=message):
        gpublas.gemm("N", "N", **{**good, **change})
