"""Level 3: matrix times matrix."""

from __future__ import annotations

from typing import Any

from . import arrays, backend, checks, everyday, mixed
from .checks import Argument, Scalar
from .context import Call, call
from .errors import ArgumentError, DTypeError
from .flags import Op
from .operands import Matrix
from .precision import C as _C
from .precision import D, Precision, Routine, S, Z
from .typed import typed


def _gemm(this: Routine, opA: Any, opB: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None, *,
          compute: Any = None, epilogue: Any = None, bias: Any = None, aux: Any = None, out_dtype: Any = None,
          scale_a: Any = None, scale_b: Any = None, bias_grad: Any = None) -> Any:
    """C = alpha op(A) op(B) + beta C, the general matrix product ({p}gemm of reference BLAS).

    opA, opB: "N" (as it is), "T" (transpose) or "C" (conjugate transpose), either case; for real matrices "C" is
        "T". op(A) is (m, k), op(B) is (k, n).
    alpha, beta: numbers, or 0-d device arrays, which the kernel reads without synchronising the host.
    A, B: 2-D arrays of {dtype}, read only; any strides, nothing is transposed or copied where the device can address
        them. Not read (NaN there has no effect) when alpha == 0.
    C: (m, n) array of {dtype}, written in place and returned. Not read when beta == 0, in which case it may be
        omitted: a new column-major array of A's library is returned. With k == 0 the result is beta C.
    compute: None or "ieee"; or for float32 matrices "tf32" (operands rounded to 11 bits, on tensor cores: relative
        error 2**-11), "tf32x3" (three such products, near float32's error; Inf gives NaN) or "bf16x9" (nine products
        of three bfloat16 parts each, within float32's error bound; every float32 number is the sum of its parts, the
        largest too, but for what lies below 2**-133; Inf gives NaN); for float64 "dmma" (IEEE arithmetic on tensor
        cores, sums in another order). The CPU takes none of these liberties.
    epilogue: "relu", "gelu", "gelu_tanh" or "silu": C = activation(alpha op(A) op(B) + beta C + bias), in the same
        kernel; or with a "d" before it the gradient: C = (alpha op(A) op(B) + beta C + bias) * activation'(aux).
    bias: array of C's type that is added by the rules of broadcasting: (n,), (1, n) or (m, 1). aux: (m, n) array of
        C's type; with an activation it is written: what went into the activation; a gradient reads that again.
    bias_grad: array of C's type that is written: the sums, in float32 (float64 where C is), of C as it is then stored,
        over rows into (n,) or (1, n), over columns into (m, 1): with a gradient as epilogue, that of a bias which had
        this shape (DRELU_BGRAD of cuBLASLt). The same bits from run to run.
    out_dtype: type of a new C, where there is a choice.
    scale_a, scale_b: for 8-bit floats, what op(A) and op(B) are multiplied with: numbers, float32 arrays of one number,
        or of one for each row of op(A), (m,) or (m, 1), and for each column of op(B), (n,) or (1, n). The factor of an
        element of the product is alpha scale_a scale_b, worked out first; not read when alpha == 0.

    The generic `gemm` also takes float16 and bfloat16 (sums in float32, C of the same type or float32), int8 (exact
    sums in int32, C int32, with integers alpha and beta, or float32) and float8_e4m3fn and float8_e5m2 of ml_dtypes, A
    of one and B of the other too (sums in float32, C float32, float16 or bfloat16), on tensor cores where there is a
    GPU; with these, and with the keywords above, matrices are real and alpha and beta are numbers on the host. 8-bit
    floats are multiplied as float16 numbers, which all of them are: that needs no newer GPU, and keeps float32 sums,
    which matrix instructions for 8-bit floats do not have everywhere.

    Arithmetic is IEEE in {dtype}; |computed - exact| <= c (k + 2) eps (|alpha| |A| |B| + |beta| |C|) with a small c.
    Raises ArgumentError (a ValueError) for a wrong flag, shape, place, a read-only or overlapping C, DTypeError for
    another element type; nothing is written then.
    Source: J. Dongarra et al., "A set of level 3 basic linear algebra subprograms", ACM TOMS 16 (1990).

    >>> import numpy as np, gpublas
    >>> A = np.array([[1, 2], [3, 4]], {example})
    >>> {name}("N", "T", 1, A, A).real.tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    """
    op_a, op_b = checks.flag(this.name, 1, "opA", opA, Op), checks.flag(this.name, 2, "opB", opB, Op)
    a = checks.array(this.name, 4, "A", A, 2)
    if mixed.wanted(a, compute, epilogue, bias, aux, out_dtype, scale_a, scale_b, bias_grad):
        return mixed.gemm(this, op_a, op_b, alpha, a, B, beta, C, compute, epilogue, bias, aux, out_dtype, scale_a,
                          scale_b, bias_grad)
    b, kind = _beside(this, a, 5, B)
    scale_a = checks.scalar(this.name, 3, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 6, "beta", beta, kind)
    m, n, _ = _inner(this, op_a, a, op_b, b)
    c = _output(this, 7, C, (m, n), "rows of op(A), columns of op(B)", scale_b, a)
    with _product(this, {"A": a, "B": b, "alpha": scale_a, "beta": scale_b}, c, scale_b.is_zero) as run:
        gemm_bound(run, scale_a, Matrix.of(run["A"]).under(op_a), Matrix.of(run["B"]).under(op_b), scale_b,
                   Matrix.of(run["C"]))
    return c.given


def _operands(this: Routine, position_a: int, A: Any, position_b: int, B: Any) -> tuple[Argument, Argument, Precision]:
    """Two matrices of one element type, and the precision."""
    a = checks.array(this.name, position_a, "A", A, 2)
    return (a, *_beside(this, a, position_b, B))


def _beside(this: Routine, a: Argument, position: int, B: Any, ndim: int = 2) -> tuple[Argument, Precision]:
    """The second matrix (or stack of them), of the first one's element type, and the precision."""
    b = checks.array(this.name, position, "B", B, ndim)
    kind = checks.precision(this, a)
    checks.dtype(this.name, a, kind.dtype)
    checks.dtype(this.name, b, kind.dtype)
    return b, kind


def _inner(this: Routine, op_a: Op, a: Argument, op_b: Op, b: Argument) -> tuple[int, int, int]:
    """m, n, k of op(A) op(B), whose inner dimensions agree."""
    (m, k), (depth, n) = _under(op_a, a.array.shape), _under(op_b, b.array.shape)
    if depth != k:
        raise ArgumentError(this.name, b.position, "B", f"shape {b.array.shape} with opB={op_b}",
                            f"op(B) with {k} rows, as op(A) has columns (A has shape {a.array.shape}, opA={op_a})")
    return m, n, k


def _output(this: Routine, position: int, C: Any, shape: tuple[int, int], why: str, beta: Scalar,
            like: Argument) -> Argument:
    """The output argument; a new column-major array where none is given and beta does not need its values."""
    if C is None:
        if not beta.is_zero:
            raise ArgumentError(this.name, position, "C", "None", "an array, since beta is not 0")
        C = arrays.empty(like.given, shape, like.array.dtype, order="F")
    c = checks.array(this.name, position, "C", C, 2)
    checks.dtype(this.name, c, like.array.dtype)
    checks.shape(this.name, c, shape, why)
    return c


def _product(this: Routine, reads: dict[str, Argument | Scalar], c: Argument, overwrites: bool) -> Call:
    """The call of a product into C; scalars among the reads count where they are on the device."""
    group = {"C": c}
    return call(this, _arguments(reads), writes=group if overwrites else None,
                updates=None if overwrites else group)


def _arguments(reads: dict[str, Argument | Scalar]) -> dict[str, Argument]:
    found = {name: value.argument if isinstance(value, Scalar) else value for name, value in reads.items()}
    return {name: value for name, value in found.items() if value is not None}


def _under(op: Op, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[::-1] if op.transposes else shape


def gemm_bound(run: Call, alpha: Scalar | complex, A: Matrix, B: Matrix, beta: Scalar | complex, C: Matrix) -> None:
    """C = alpha A B + beta C for operands that are where the call's device can reach them."""
    alpha = alpha if isinstance(alpha, Scalar) else Scalar(alpha)
    beta = beta if isinstance(beta, Scalar) else Scalar(beta)
    if C.rows == 0 or C.columns == 0:
        return
    if turns(run, C):
        A, B, C = B.transposed, A.transposed, C.transposed
    backend.of(run).gemm(run, alpha, A, B, beta, C)


def turns(run: Call, C: Matrix) -> bool:
    """Whether a product is computed as C^T = B^T A^T.

    The one canonical form of the product: C column-major where it can be, so a row-major C is turned. Real products
    have the same bits either way, complex ones not; and as a single row or column counts as column-major, the way
    would depend on how many there are. So a batch-invariant context leaves complex products as they are.
    """
    if run.context.batch_invariant and C.precision.is_complex:
        return False
    return not C.is_column_major and C.transposed.is_column_major


def _gemm3m(this: Routine, opA: Any, opB: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(B) + beta C of complex matrices by three real products ({p}gemm3m of MKL and cuBLAS).

    Arguments as in gemm, complex64 or complex128. With P = Re A Re B, Q = Im A Im B, R = (Re A + Im A)(Re B + Im B),
    A B is P - Q + i (R - P - Q): three quarters of gemm's arithmetic, for workspace of 3 (m k + k n + m n) reals and
    the passes over memory that fill it, so it pays for large matrices. A small imaginary part beside a large real one
    loses digits that gemm keeps: |computed - exact| <= c (k + 6) eps (|alpha| S + |beta| |C|) with a small c and S =
    (|Re A| + |Im A|) (|Re B| + |Im B|). Inf, and finite numbers whose sums overflow, give NaN or Inf in more places
    than in gemm.
    alpha == 0 reads neither A nor B, beta == 0 does not read C.

    Raises ArgumentError or DTypeError before anything is written. Source: N. Higham, "Stability of a method for
    multiplying complex matrices with three real matrix multiplications", SIAM J. Matrix Anal. Appl. 13 (1992).

    >>> import numpy as np, gpublas
    >>> A = np.array([[1 + 2j, 3], [4, 5j]], {example_complex})
    >>> {name}("N", "N", 1, A, A).tolist()
    [[(9+4j), (3+21j)], [(4+28j), (-13+0j)]]
    """
    op_a, op_b = checks.flag(this.name, 1, "opA", opA, Op), checks.flag(this.name, 2, "opB", opB, Op)
    a = checks.array(this.name, 4, "A", A, 2)
    if a.array.dtype not in (_C.dtype, Z.dtype):
        raise DTypeError(this.name, 4, "A", a.array.dtype, "complex64 or complex128")
    b, kind = _beside(this, a, 5, B)
    scale_a = checks.scalar(this.name, 3, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 6, "beta", beta, kind)
    m, n, k = _inner(this, op_a, a, op_b, b)
    c = _output(this, 7, C, (m, n), "rows of op(A), columns of op(B)", scale_b, a)
    with _product(this, {"A": a, "B": b, "alpha": scale_a, "beta": scale_b}, c, scale_b.is_zero) as run:
        left, right, out = (Matrix.of(run["A"]).under(op_a), Matrix.of(run["B"]).under(op_b), Matrix.of(run["C"]))
        if k == 0 or scale_a.is_zero:
            gemm_bound(run, scale_a, left, right, scale_b, out)
        elif m and n:
            backend.of(run).gemm3m(run, scale_a, left, right, scale_b, out)
    return c.given


gemm = typed(_gemm, None, everyday=everyday.gemm)
sgemm = typed(_gemm, S, everyday=everyday.gemm)
dgemm = typed(_gemm, D, everyday=everyday.gemm)
cgemm = typed(_gemm, _C, everyday=everyday.gemm)
zgemm = typed(_gemm, Z, everyday=everyday.gemm)
gemm3m = typed(_gemm3m, None)
cgemm3m = typed(_gemm3m, _C)
zgemm3m = typed(_gemm3m, Z)
