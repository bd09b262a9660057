"""Lists and groups of products in the types of tensor cores."""

import ml_dtypes
import numpy as np
import pytest

import gpublas
from gpublas.errors import ArgumentError, DTypeError
from gpublas.testing.bounds import assert_within, product_bound

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)


def matrices(rng, count, rows, columns, dtype, order="C"):
    if dtype == np.int8:
        return [np.array(rng.integers(-128, 128, (rows, columns)).astype(dtype), order=order) for _ in range(count)]
    return [np.array(rng.standard_normal((rows, columns)).astype(dtype), order=order) for _ in range(count)]


def check(C, alpha, A, B, beta=0.0, old=None):
    A, B = A.astype(np.float64), B.astype(np.float64)
    exact = alpha * (A @ B) + (0 if old is None else beta * old.astype(np.float64))
    bound = product_bound(alpha, A, B, beta, old, A.shape[1], np.float32)
    unit = 0 if C.dtype == np.float32 else float(ml_dtypes.finfo(C.dtype).eps)
    assert_within(C.astype(np.float64), exact, bound + unit * (np.abs(exact) + bound))


def test_lists(device, rng):
    """Of one layout, and of several; new outputs, and old ones with beta; one array as often as one likes."""
    As, Bs = matrices(rng, 4, 20, 24, "f2"), matrices(rng, 4, 24, 12, "f2", "F")
    As[2] = As[0]
    room = np.zeros((24, 15), "f2", "F")  # not at a multiple of 16 bytes
    room[:, 1:13] = Bs[3]
    Bs[3] = room[:, 1:13]
    for A, B, C in zip(As, Bs, gpublas.gemm_batched("N", "N", 0.5, As, Bs), strict=True):
        assert C.dtype == np.float16
        check(C, 0.5, A, B)
    Cs = matrices(rng, 4, 20, 12, "f4")
    olds = [C.copy() for C in Cs]
    assert gpublas.gemm_batched("N", "N", 1.0, As, Bs, -2.0, Cs) is Cs
    for A, B, C, old in zip(As, Bs, Cs, olds, strict=True):
        check(C, 1.0, A, B, -2.0, old)


def test_one_launch_for_what_is_laid_out_alike(executor, rng, monkeypatch):
    """Through the kernel that one product takes."""
    launched = []
    launch = type(executor).launch
    monkeypatch.setattr(type(executor), "launch", lambda self, kernel, grid, *rest: (
        launched.append((kernel.name, grid)), launch(self, kernel, grid, *rest))[1])
    As, Bs = matrices(rng, 5, 20, 24, "f2"), matrices(rng, 5, 24, 12, "f2", "F")
    Cs = gpublas.gemm_batched("N", "N", 1.0, As, Bs)
    gpublas.gemm("N", "N", 1.0, As[0], Bs[0])
    (many, (blocks, *_)), (one, (single, *_)) = launched
    assert many == one and blocks == 5 * single
    check(Cs[4], 1.0, As[4], Bs[4])


def test_groups(device, rng):
    """Of shapes, flags and scalars of their own; exact ones of int8; an empty one."""
    As = [matrices(rng, 3, 9, 33, np.int8), [], matrices(rng, 1, 20, 40, np.int8)]
    Bs = [matrices(rng, 3, 33, 5, np.int8, "F"), [], matrices(rng, 1, 70, 40, np.int8)]
    Cs = gpublas.gemm_grouped_batched("N", ["N", "N", "T"], [1, 1, -3], As, Bs)
    for group, (a, b, c) in enumerate(zip(As, Bs, Cs, strict=True)):
        for A, B, C in zip(a, b, c, strict=True):
            right = (B.T if group == 2 else B).astype(np.int64)
            assert C.dtype == np.int32 and np.array_equal(C, (1, 1, -3)[group] * (A.astype(np.int64) @ right))
    assert [len(group) for group in Cs] == [3, 0, 1]


def test_other_arithmetic(device, rng):
    """On request, with results of another type, and of 8-bit floats of both kinds."""
    As, Bs = matrices(rng, 3, 20, 24, "f4"), matrices(rng, 3, 24, 12, "f4", "F")
    for A, B, C in zip(As, Bs, gpublas.sgemm_batched("N", "N", 1.0, As, Bs, compute="bf16x9"), strict=True):
        check(C, 1.0, A, B)
    As = matrices(rng, 2, 20, 32, E4M3)
    Bs = matrices(rng, 1, 32, 12, E5M2, "F") + matrices(rng, 1, 32, 12, E4M3, "F")
    for A, B, C in zip(As, Bs, gpublas.gemm_batched("N", "N", 1.0, As, Bs, out_dtype=np.float32), strict=True):
        check(C, 1.0, A, B)


@pytest.mark.parametrize("change, error, message", [
    ({"Bs": [np.ones((3, 5), "f2"), np.ones((3, 5), "f4")]}, DTypeError, r"Bs\[1\]"),
    ({"Bs": [np.ones((3, 5), "f2")]}, ArgumentError, "Bs"), ({"Cs": [np.ones((4, 5), "f2")]}, ArgumentError, "Cs"),
    ({"Cs": [np.ones((4, 5), "f2"), np.ones((4, 6), "f2")]}, ArgumentError, r"Cs\[1\]"),
    ({"Cs": [np.ones((4, 5), "f8")] * 2}, DTypeError, r"Cs\[0\]"), ({"compute": "tf32"}, ArgumentError, "compute"),
    ({"Cs": [np.ones((4, 5), "f2")] * 2}, ArgumentError, "overlap"), ({"beta": 1.0}, ArgumentError, "Cs"),
    ({"Bs": [np.ones((2, 5), "f2")] * 2}, ArgumentError, r"op\(B\)"), ({"opA": "X"}, ArgumentError, "opA")])
def test_bad_lists(device, change, error, message):
    good = {"opA": "N", "opB": "N", "alpha": 1.0, "As": [np.ones((4, 3), "f2")] * 2, "Bs": [np.ones((3, 5), "f2")] * 2}
    with pytest.raises(error, match=message):
        gpublas.gemm_batched(**{**good, **change})
