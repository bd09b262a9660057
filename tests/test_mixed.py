"""gemm in the types of tensor cores, in faster float32, and with fused epilogues, against wider oracles."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from scipy.special import erf

import gpublas
from gpublas import tuning
from gpublas.cuda import mixed as cuda_mixed
from gpublas.cuda.gemm.config import MMA_CONFIGS, GemmConfig
from gpublas.errors import ArgumentError, DTypeError, UnsupportedError
from gpublas.testing.buffers import DeviceArray

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64, S8, S32 = (np.dtype(name) for name in ("f2", "f4", "f8", "i1", "i4"))
TF32_EPS = 2.0**-11  # half a unit of 11 bits: what rounding one operand may do


def eps(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def matrix(rng, rows, columns, dtype, layout):
    """A matrix in one of the ways that operands lie: "C", "F", "padded", "unaligned", "reversed", "strided"."""
    if dtype == S8:
        values = rng.integers(-128, 128, (rows, columns)).astype(dtype)
    else:
        values = rng.standard_normal((rows, columns)).astype(dtype)
    if layout in "CF":
        return np.array(values, order=layout)
    if layout == "padded":
        room = np.zeros((rows + 3, -(-columns // 16) * 16 + 16), dtype)
        inner = room[1:rows + 1, 16:16 + columns]
    elif layout == "unaligned":
        room = np.zeros((rows, columns + 3), dtype)
        inner = room[:, 1:columns + 1]
    elif layout == "reversed":
        inner = np.zeros((rows, columns), dtype)[::-1, ::-1]
    else:
        inner = np.zeros((2 * rows, 3 * columns), dtype)[::2, ::3]
    inner[...] = values
    return inner


def check(C, op_a, A, op_b, B, alpha=1.0, beta=0.0, old=None, product_eps=None):
    """|C - exact| within the rounding of float32 sums, of C's type, and of the products where they are rounded."""
    def under(op, X):
        wide = X.astype(np.longdouble)
        return wide if op == "N" else wide.T

    a, b = under(op_a, A), under(op_b, B)
    k = a.shape[1]
    exact, size = alpha * (a @ b), abs(alpha) * (np.abs(a) @ np.abs(b))
    if beta:
        exact, size = exact + beta * old.astype(np.longdouble), size + abs(beta) * np.abs(old.astype(np.longdouble))
    unit = np.finfo(np.float32).eps if C.dtype != F64 else np.finfo(np.float64).eps
    bound = (k + 4) * unit * size + (product_eps or 0) * size + eps(C.dtype) * (np.abs(exact) + 1e-7)
    assert np.all(np.abs(C.astype(np.longdouble) - exact) <= bound)


SHAPES = [(1, 1, 1), (1, 9, 40), (65, 1, 7), (33, 17, 64), (64, 64, 128), (70, 65, 63), (5, 130, 200), (129, 66, 65)]


@pytest.mark.parametrize("op_a", "NTC")
@pytest.mark.parametrize("op_b", "NT")
@pytest.mark.parametrize("layout_a, layout_b", [("C", "C"), ("F", "C"), ("C", "F"), ("padded", "padded"),
                                                ("unaligned", "F"), ("reversed", "strided")])
def test_float16(device, rng, op_a, op_b, layout_a, layout_b):
    """Every op, order, stride and alignment; sizes about tiles, k not a multiple of a slab, one row or column."""
    for m, n, k in SHAPES:
        A = matrix(rng, *((m, k) if op_a == "N" else (k, m)), F16, layout_a)
        B = matrix(rng, *((k, n) if op_b == "N" else (n, k)), F16, layout_b)
        C = gpublas.gemm(op_a, op_b, 1.5, A, B, out_dtype=np.float32)
        assert C.dtype == F32 and C.shape == (m, n)
        check(C, op_a, A, op_b, B, 1.5)


@pytest.mark.parametrize("dtype, out", [(F16, F16), (F16, F32), (BF16, BF16), (BF16, F32)], ids=str)
def test_halves_accumulate_in_float32(device, rng, dtype, out):
    """Into C of either type and any strides, with beta; sums that a half could not hold step by step."""
    for layout in ("C", "F", "strided"):
        A, B = matrix(rng, 40, 300, dtype, "C"), matrix(rng, 300, 24, dtype, "C")
        C = matrix(rng, 40, 24, out, layout)
        old = C.copy()
        assert gpublas.gemm("N", "N", 0.5, A, B, -2.0, C) is C
        check(C, "N", A, "N", B, 0.5, -2.0, old)
    ones = np.ones((8, 4096), dtype)
    total = gpublas.gemm("N", "T", 1.0, ones, ones, out_dtype=out)
    assert (total.astype(float) == 4096).all()


def test_int8_is_exact(device, rng):
    for layout_a, layout_b in (("C", "F"), ("F", "C"), ("strided", "unaligned")):
        for m, n, k in SHAPES:
            A, B = matrix(rng, m, k, S8, layout_a), matrix(rng, k, n, S8, layout_b)
            C = rng.integers(-1000, 1000, (m, n)).astype(S32)
            expected = 3 * (A.astype(np.int64) @ B.astype(np.int64)) - 2 * C
            gpublas.gemm("N", "N", 3, A, B, -2, C)
            assert np.array_equal(C, expected)
    A = np.full((2, 70000), -128, S8)
    assert (gpublas.gemm("N", "T", 1, A, A) == 70000 * 16384).all()
    scaled = gpublas.gemm("N", "T", 0.5, A[:, :64], A[:, :64], out_dtype=np.float32)
    assert scaled.dtype == F32 and (scaled == 64 * 8192).all()


@pytest.mark.parametrize("compute, bound", [("tf32", 2.01 * TF32_EPS), ("tf32x3", 3 * TF32_EPS**2), (None, 0)])
def test_float32_on_request(device, rng, compute, bound):
    """tf32 rounds both operands; tf32x3 leaves out the product of what rounding took, and rounds that again."""
    for layout_a, layout_b in (("C", "F"), ("F", "C"), ("unaligned", "strided")):
        for m, n, k in SHAPES:
            A, B = matrix(rng, m, k, F32, layout_a), matrix(rng, k, n, F32, layout_b)
            C = gpublas.sgemm("N", "N", -1.0, A, B, compute=compute)
            check(C, "N", A, "N", B, -1.0, product_eps=bound)


def test_bf16x9_meets_the_bound_of_float32(device, rng):
    """And holds all 24 bits of each operand: powers of two pick and scale its elements, up to the largest numbers."""
    for m, n, k in (*SHAPES, (9, 5, 700)):
        A, B = matrix(rng, m, k, F32, "C"), matrix(rng, k, n, F32, "F")
        check(gpublas.sgemm("N", "N", -1.0, A, B, compute="bf16x9"), "N", A, "N", B, -1.0)
    numbers = (rng.integers(2**23, 2**24, (33, 70)) * rng.choice([-1.0, 1.0], (33, 70))).astype(F32)
    numbers[5] = np.finfo(F32).max
    picks = np.zeros((70, 70), F32)
    picks[rng.permutation(70), np.arange(70)] = np.exp2(-rng.integers(0, 80, 70))
    assert np.array_equal(gpublas.sgemm("N", "T", 1.0, numbers, picks, compute="bf16x9"), numbers @ picks.T)
    assert np.array_equal(gpublas.sgemm("N", "T", 1.0, picks, numbers, compute="bf16x9"), picks @ numbers.T)


def test_bf16x9_at_the_corners(executor, rng):
    """Parts hold what lies above 2**-133; Inf and NaN give NaN, and nowhere else."""
    A, big = np.ldexp(matrix(rng, 16, 16, F32, "C"), -125), np.ldexp(matrix(rng, 16, 16, F32, "F"), 60)
    assert np.any((A != 0) & (np.abs(A) < np.finfo(F32).smallest_normal))
    exact = A.astype(F64) @ big.astype(F64)
    lost = 2.0**-133 * np.abs(big).astype(F64).sum(0)
    size = np.abs(A).astype(F64) @ np.abs(big).astype(F64)
    C = gpublas.sgemm("N", "N", 1.0, A, big, compute="bf16x9")
    assert np.all(np.abs(C - exact) <= lost + 18 * eps(F32) * size)
    A = matrix(rng, 16, 16, F32, "C")
    A[3, 4], A[5, 6], A[7, 8] = np.inf, np.nan, -np.inf
    bad = np.isnan(gpublas.sgemm("N", "N", 1.0, A, big, compute="bf16x9"))
    assert np.array_equal(bad, np.isin(np.arange(16), (3, 5, 7))[:, None] & np.ones(16, bool))


@pytest.mark.parametrize("layout_a, layout_b", [("C", "F"), ("F", "C"), ("C", "C"), ("unaligned", "strided")])
def test_float64_on_tensor_cores(device, rng, layout_a, layout_b):
    """Along k, across it and in no whole chunks; split along k; with an epilogue."""
    for m, n, k in (*SHAPES, (7, 10, 1100)):
        A, B = matrix(rng, m, k, F64, layout_a), matrix(rng, k, n, F64, layout_b)
        C = gpublas.dgemm("N", "N", -1.5, A, B, compute="dmma")
        check(C, "N", A, "N", B, -1.5)
    bias = matrix(rng, 1, 10, F64, "C")
    fused = gpublas.dgemm("N", "N", -1.5, A, B, compute="dmma", epilogue="relu", bias=bias)
    assert np.allclose(fused, np.maximum(C + bias, 0), rtol=0, atol=1e-12)


def test_tf32_really_is_less_exact(executor, rng):
    """The bounds above are told apart by what the kernel does."""
    A, B = matrix(rng, 64, 128, F32, "C"), matrix(rng, 128, 64, F32, "F")
    exact = A.astype(F64) @ B.astype(F64)
    tf32, three, nine, ieee = (np.abs(gpublas.sgemm("N", "N", 1.0, A, B, compute=compute) - exact).max()
                               for compute in ("tf32", "tf32x3", "bf16x9", "ieee"))
    assert tf32 > 50 * three and three < 4 * ieee and nine < ieee


@pytest.mark.parametrize("number", range(3))
def test_every_configuration(executor, rng, number):
    """All tiles that there are, on a product of more than one of them each way and with something left over."""
    for kind, dtype in (("f16", F16), ("s8", S8), ("dmma", F64)):
        if number >= len(MMA_CONFIGS[kind]):
            continue
        config = MMA_CONFIGS[kind][number]
        m, n, k = config.block_rows + 9, config.block_columns + 3, 5 * config.block_depth + 7
        A, B = matrix(rng, m, k, dtype, "padded"), matrix(rng, n, k, dtype, "padded")
        with gpublas.use(gpublas.Context(executor, gemm_config=GemmConfig(config, 1))):
            C = gpublas.gemm("N", "T", 1, A, B, out_dtype=np.float32 if dtype == F16 else None,
                             compute="dmma" if dtype == F64 else None)
        if dtype == S8:
            assert np.array_equal(C, A.astype(np.int64) @ B.astype(np.int64).T)
        else:
            check(C, "N", A, "T", B)


def test_configurations_fit():
    for configs in MMA_CONFIGS.values():
        assert [config.fits((8, 0)) for config in configs] == [None] * len(configs)
        assert configs[-1].fits((8, 6)) is None
        assert "8.0" in configs[0].fits((7, 5))


def test_what_is_not_read(device, rng):
    """beta == 0 does not read C, alpha == 0 neither A nor B, k == 0 gives beta C."""
    bad = np.full((20, 20), np.nan, F16)
    A = matrix(rng, 20, 20, F16, "C")
    assert np.isfinite(gpublas.gemm("N", "N", 1.0, A, A, 0.0, bad.copy())).all()
    C = A.copy()
    gpublas.gemm("N", "N", 0.0, bad, bad, 2.0, C)
    assert np.array_equal(C, 2 * A)
    C = A.copy()
    gpublas.gemm("N", "N", 1.0, np.empty((20, 0), F16), np.empty((0, 20), F16), -1.0, C)
    assert np.array_equal(C, -A)
    assert gpublas.gemm("N", "N", 1.0, np.empty((0, 3), F16), np.empty((3, 5), F16)).shape == (0, 5)


def test_nan_and_inf_go_where_they_belong(device, rng):
    A, B = matrix(rng, 70, 70, F16, "C"), matrix(rng, 70, 70, F16, "C")
    A[3, 5], A[69, 69] = np.nan, np.inf
    C = gpublas.gemm("N", "N", 1.0, A, B)
    rows = np.zeros((70, 70), bool)
    rows[[3, 69]] = True
    assert np.array_equal(~np.isfinite(C), rows)


def activate(name, x):
    x = x.astype(np.longdouble)
    if name == "relu":
        return np.maximum(x, 0), (x > 0).astype(x.dtype)
    if name == "gelu":
        cumulative = (1 + erf((x / np.sqrt(2)).astype(F64))) / 2
        return x * cumulative, cumulative + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    if name == "gelu_tanh":
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        t = np.tanh(inner)
        return x * (1 + t) / 2, (1 + t) / 2 + x / 2 * (1 - t * t) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)
    s = 1 / (1 + np.exp(-x))
    return x * s, s * (1 + x * (1 - s))


@pytest.mark.parametrize("name, dtype", [("relu", F16), ("gelu", F16), ("gelu_tanh", F16), ("silu", F16),
                                         ("gelu", F32)])
def test_epilogues(device, rng, name, dtype):
    """Activation with aux, then the gradient from aux; bias per column and per row."""
    A, B = matrix(rng, 40, 30, dtype, "C") / 8, matrix(rng, 30, 20, dtype, "C")
    A = A.astype(dtype)
    unit = eps(dtype)
    row, column = matrix(rng, 40, 1, dtype, "C"), matrix(rng, 1, 20, dtype, "C")[0]
    bias, of_gradient = (column, row) if name in ("relu", "silu") else (row, None)
    aux = np.full((40, 20), np.nan, dtype)
    C = gpublas.gemm("N", "N", 0.5, A, B, epilogue=name, bias=bias, aux=aux)
    x = 0.5 * (A.astype(F64) @ B.astype(F64)) + bias.astype(F64)
    size = 0.5 * (np.abs(A.astype(F64)) @ np.abs(B.astype(F64))) + np.abs(bias.astype(F64))
    slack = 40 * np.finfo(np.float32).eps * size  # of sums, and of the functions' own arithmetic
    value, _ = activate(name, x)
    assert np.all(np.abs(aux - x) <= unit * np.abs(x) + slack)
    assert np.all(np.abs(C - value) <= unit * np.abs(value) + 2 * slack)
    _, slope = activate(name, aux)
    gradient = gpublas.gemm("N", "N", 1.0, A, B, epilogue="d" + name, aux=aux, bias=of_gradient)
    y = A.astype(F64) @ B.astype(F64) + (0 if of_gradient is None else of_gradient.astype(F64))
    size = 2 * size + (0 if of_gradient is None else np.abs(of_gradient.astype(F64)))
    slack = 40 * np.finfo(np.float32).eps * (size + np.abs(y)) * (1 + np.abs(slope))
    assert np.all(np.abs(gradient - y * slope) <= unit * np.abs(y * slope) + slack)


def test_epilogue_in_float64(device, rng):
    A, B, C = (matrix(rng, 20, 20, F64, "C") for _ in range(3))
    bias = matrix(rng, 1, 20, F64, "C")
    x = 2 * A @ B - C + bias
    result = gpublas.dgemm("N", "N", 2.0, A, B, -1.0, C, epilogue="relu", bias=bias)
    assert result is C and np.allclose(C, np.maximum(x, 0), rtol=0, atol=1e-13)


def test_relu_keeps_nan(device):
    A = np.full((4, 4), np.nan, F32)
    assert np.isnan(gpublas.gemm("N", "N", 1.0, A, A, epilogue="relu")).all()


def test_device_arrays_and_guards(executor, rng):
    """Results stay where the operands are, and nothing beside C is written."""
    A, B = matrix(rng, 33, 20, F16, "C"), matrix(rng, 20, 17, F16, "C")
    room = np.full((40, 24), 7, F16)
    C = DeviceArray(room[2:35, 3:20])
    gpublas.gemm("N", "N", 1.0, DeviceArray(A), DeviceArray(B), 0.0, C)
    check(room[2:35, 3:20], "N", A, "N", B)
    room[2:35, 3:20] = 7
    assert (room == 7).all()
    made = gpublas.gemm("N", "N", 1.0, DeviceArray(A), DeviceArray(B))
    assert isinstance(made, DeviceArray)


def bad_calls():
    A, B, C = np.ones((4, 3), F16), np.ones((3, 5), F16), np.ones((4, 5), F16)
    good = {"opA": "N", "opB": "N", "alpha": 1.0, "A": A, "B": B, "beta": 1.0, "C": C}
    return good, [
        ({"B": B.astype(F32)}, DTypeError, "B"), ({"B": B[:2]}, ArgumentError, "op.B."),
        ({"C": C.astype(F64)}, DTypeError, "C"), ({"C": C[:3]}, ArgumentError, "C"), ({"C": None}, ArgumentError, "C"),
        ({"compute": "tf32"}, ArgumentError, "compute"), ({"epilogue": "swish"}, ArgumentError, "epilogue"),
        ({"epilogue": "drelu"}, ArgumentError, "aux"), ({"aux": C.copy()}, ArgumentError, "aux"),
        ({"epilogue": "relu", "aux": C[:3].copy()}, ArgumentError, "aux"),
        ({"epilogue": "relu", "aux": C.astype(F32)}, DTypeError, "aux"),
        ({"epilogue": "relu", "aux": C}, ArgumentError, "overlap"),
        ({"bias": np.ones(4, F16)}, ArgumentError, "bias"), ({"bias": np.ones(5, F32)}, DTypeError, "bias"),
        ({"bias": 1.0}, DTypeError, "bias"), ({"bias": C[0]}, ArgumentError, "overlap"),
        ({"out_dtype": np.float64}, DTypeError, "out_dtype"), ({"alpha": 1j}, DTypeError, "alpha"),
        ({"A": A.astype("i2")}, DTypeError, "A"), ({"opA": "X"}, ArgumentError, "opA"),
    ]


@pytest.mark.parametrize("number", range(len(bad_calls()[1])))
def test_bad_arguments(device, number):
    good, cases = bad_calls()
    change, error, message = cases[number]
    before = {key: value.copy() for key, value in {**good, **change}.items() if isinstance(value, np.ndarray)}
    arguments = {**good, **change}
    with pytest.raises(error, match=message):
        gpublas.gemm(**arguments)
    for key, value in before.items():
        assert np.array_equal(value, arguments[key])


def test_wrong_types_of_int8(device):
    A = np.ones((4, 4), S8)
    for change in ({"alpha": 0.5}, {"epilogue": "relu"}, {"bias": np.ones(4, S32)},
                   {"beta": 0.5, "C": np.ones((4, 4), S32)}):
        with pytest.raises(ArgumentError):
            gpublas.gemm(**{"opA": "N", "opB": "N", "alpha": 1, "A": A, "B": A, **change})
    with pytest.raises(DTypeError):
        gpublas.cgemm("N", "N", 1, np.ones((4, 4), "c8"), np.ones((4, 4), "c8"), compute="tf32")
    with pytest.raises(DTypeError):
        gpublas.sgemm("N", "N", 1, np.ones((4, 4), F16), np.ones((4, 4), F16))


def test_old_gpus_are_told(executor):
    problem = cuda_mixed.MixedProblem("f16", "f16", 4, 4, 4, (4, 1) * 3, (True, True), "", "", "", 0, (0, 0))
    with pytest.raises(UnsupportedError, match=r"7\.5.*8\.0"):
        cuda_mixed.choose(tuning.typical((7, 5)), problem, False)


def test_no_bank_conflicts(rng):
    """Copies to shared memory and fragments from there meet none, however the operands lie."""
    from gpublas.cuda.executor import ExecutorDevice

    for op_a, op_b in itertools.product("NT", repeat=2):
        counting = ExecutorDevice(counters=True)
        A = matrix(rng, *((64, 256) if op_a == "N" else (256, 64)), F16, "C")
        B = matrix(rng, *((256, 64) if op_b == "N" else (64, 256)), F16, "C")
        with gpublas.use(gpublas.Context(counting)):
            gpublas.gemm(op_a, op_b, 1.0, A, B, out_dtype=np.float32)
        (_, counted), = counting.counts
        assert counted.bank_conflicts == 0


def stack(rng, products, rows, columns, dtype, layout):
    """Matrices of a batch, each laid out as `matrix` does, or one for all of them."""
    if layout == "one for all":
        return np.broadcast_to(matrix(rng, rows, columns, dtype, "C"), (products, rows, columns))
    if layout == "single":
        return matrix(rng, rows, columns, dtype, "C")[None]
    values = np.stack([matrix(rng, rows, columns, dtype, "C") for _ in range(products)])
    return np.array(values.swapaxes(1, 2), order="C").swapaxes(1, 2) if layout == "F" else values


@pytest.mark.parametrize("layout_a, layout_b", [("C", "F"), ("F", "C"), ("one for all", "C"), ("C", "single")])
def test_batches(device, rng, layout_a, layout_b):
    """One launch for all products; whole chunks, and steps between matrices that are none."""
    for m, n, k in ((8, 16, 24), (5, 3, 7), (1, 1, 1)):
        A, B = stack(rng, 3, m, k, F16, layout_a), stack(rng, 3, k, n, F16, layout_b)
        C = gpublas.gemm_strided_batched("N", "N", 0.5, A, B, out_dtype=np.float32)
        assert C.shape == (3, m, n)
        for number in range(3):
            check(C[number], "N", A[number], "N", B[number if len(B) > 1 else 0], 0.5)
        bias = matrix(rng, m, 1, F32, "C")
        fused = gpublas.gemm_strided_batched("N", "N", 0.5, A, B, out_dtype=np.float32, epilogue="relu", bias=bias)
        assert np.allclose(fused, np.maximum(C + bias, 0), rtol=0, atol=1e-5)


def test_many_small_products(device, rng):
    """More products than a grid has rows, of float32 with an epilogue, of int8 with beta."""
    A, B = rng.random((70000, 2, 2), np.float32), rng.random((70000, 2, 2), np.float32)
    C = gpublas.sgemm_strided_batched("N", "T", -1.0, A, B, epilogue="relu")
    assert C.shape == A.shape and (C == 0).all()
    A, C = np.ones((70, 2, 3), S8), np.full((70, 2, 2), 5, S32)
    gpublas.gemm_strided_batched("N", "T", 2, A, A, -1, C)
    assert (C == 1).all()


def test_wrong_batches(device):
    A, B = np.ones((3, 4, 4), F16), np.ones((2, 4, 4), F16)
    with pytest.raises(ArgumentError, match="2 matrices"):
        gpublas.gemm_strided_batched("N", "N", 1.0, A, B)
    with pytest.raises(ArgumentError, match="axes"):
        gpublas.gemm_strided_batched("N", "N", 1.0, A, B[0])
    with pytest.raises(ArgumentError, match="shape"):
        gpublas.gemm_strided_batched("N", "N", 1.0, A, A, 0.0, np.ones((2, 4, 4), F16))
