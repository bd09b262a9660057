"""Level 3 with structure: symmetric, Hermitian and triangular operands, and results of which one triangle is kept."""

from __future__ import annotations

from typing import Any

from . import backend, checks, everyday
from .checks import Argument, Scalar
from .context import Call, call
from .errors import ArgumentError
from .flags import Diag, Op, Side, UpLo
from .level3 import _arguments, _inner, _operands, _output, _product, _under
from .operands import Matrix, Symmetric, Triangle, Triangular
from .precision import C as _C
from .precision import D, Precision, Routine, S, Z
from .typed import typed


def _square(this: Routine, argument: Argument, extent: int | None = None, why: str = "") -> int:
    """The extent of a square matrix argument."""
    rows, columns = argument.array.shape
    wanted = rows if extent is None else extent
    if rows != columns or rows != wanted:
        raise ArgumentError(this.name, argument.position, argument.name, f"shape {argument.array.shape}",
                            f"a square matrix of {extent} rows ({why})" if extent is not None else "a square matrix")
    return rows


def _symmetric_product(this: Routine, side: Any, uplo: Any, alpha: Any, A: Any, B: Any, beta: Any, C: Any,
                       hermitian: bool) -> Any:
    which, triangle = checks.flag(this.name, 1, "side", side, Side), checks.flag(this.name, 2, "uplo", uplo, UpLo)
    a, b, kind = _operands(this, 4, A, 5, B)
    scale_a = checks.scalar(this.name, 3, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 6, "beta", beta, kind)
    m, n = b.array.shape
    _square(this, a, m if which is Side.L else n, f"B has shape {b.array.shape}, side={which}")
    c = _output(this, 7, C, (m, n), "as B", scale_b, b)
    with _product(this, {"A": a, "B": b, "alpha": scale_a, "beta": scale_b}, c, scale_b.is_zero) as run:
        left = Symmetric(Matrix.of(run["A"]), triangle is UpLo.L, hermitian)
        right, out = Matrix.of(run["B"]), Matrix.of(run["C"])
        if which is Side.R:  # C = B A is C^T = A^T B^T
            left, right, out = left.transposed, right.transposed, out.transposed
        if m and n:
            backend.of(run).symm(run, scale_a, left, right, scale_b, out)
    return c.given


def _symm(this: Routine, side: Any, uplo: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha A B + beta C (side "L") or C = alpha B A + beta C (side "R") with a symmetric A ({p}symm).

    side: "L" or "R". uplo: "U" or "L", the triangle of A that is read; the other one is not (NaN there has no effect).
    alpha, beta: numbers or 0-d device arrays.
    A: (m, m) for side "L", (n, n) for "R"; B: (m, n); {dtype}, any strides, read only; not read when alpha == 0.
    C: (m, n) array of {dtype}, written in place and returned; not read when beta == 0, and then may be omitted.

    Raises ArgumentError or DTypeError before anything is written. Source: reference BLAS, {p}symm.

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [np.nan, 4]], {example})
    >>> {name}("L", "U", 1, A, np.eye(2, dtype={example})).real.tolist()
    [[2.0, 3.0], [3.0, 4.0]]
    """
    return _symmetric_product(this, side, uplo, alpha, A, B, beta, C, hermitian=False)


def _hemm(this: Routine, side: Any, uplo: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha A B + beta C (side "L") or C = alpha B A + beta C (side "R") with a Hermitian A ({p}hemm).

    As symm, but the triangle of A that is not stored is the conjugate of the other, and the imaginary part of its
    diagonal is taken as zero, whatever is stored there.

    >>> import numpy as np, gpublas
    >>> A = np.array([[2 + 9j, 3j], [0, 4]], {example_complex})
    >>> {name}("L", "U", 1, A, np.eye(2, dtype={example_complex})).imag.tolist()
    [[0.0, 3.0], [-3.0, 0.0]]
    """
    return _symmetric_product(this, side, uplo, alpha, A, B, beta, C, hermitian=True)


def _rank_update(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, B: Any, beta: Any, C: Any, hermitian: bool,
                 both: bool) -> Any:
    """syrk, herk (B is None), syrkx, herkx (one product), syr2k, her2k (both)."""
    position = 5 if B is None else 6
    triangle = checks.flag(this.name, 1, "uplo", uplo, UpLo)
    operation = checks.flag(this.name, 2, "op", op, Op)
    if B is None:
        a = checks.array(this.name, 4, "A", A, 2)
        kind = checks.precision(this, a)
        checks.dtype(this.name, a, kind.dtype)
    else:
        a, b, kind = _operands(this, 4, A, 5, B)
        checks.shape(this.name, b, a.array.shape, "as A")
    _check_update_op(this, operation, kind, hermitian)
    real = _real_precision(kind) if hermitian else kind
    scale_a = checks.scalar(this.name, 3, "alpha", alpha, kind if B is not None else real)
    scale_b = checks.scalar(this.name, position, "beta", beta, real)
    n, _ = _under(operation, a.array.shape)
    c = _output_square(this, position + 1, C, n, scale_b, a)
    reads: dict[str, Argument | Scalar] = {"A": a, "alpha": scale_a, "beta": scale_b}
    if B is not None:
        reads["B"] = b
    hermitian = hermitian and kind.is_complex
    part = Triangle(triangle is UpLo.L, real_diagonal=hermitian)
    with call(this, _arguments(reads), updates={"C": c}) as run:
        left, out = Matrix.of(run["A"]).under(operation), Matrix.of(run["C"])
        device = backend.of(run)
        if n == 0:
            pass
        elif B is None:
            device.syrk(run, scale_a, left, scale_b, out, part, hermitian)
        elif both:
            device.syr2k(run, scale_a, left, Matrix.of(run["B"]).under(operation), scale_b, out, part, hermitian)
        else:
            right = Matrix.of(run["B"]).under(operation)
            device.gemmtr(run, scale_a, left, right.adjoint if hermitian else right.transposed, scale_b, out, part)
    return c.given


def _real_precision(kind: Precision) -> Precision:
    return {_C: S, Z: D}.get(kind, kind)


def _check_update_op(this: Routine, operation: Op, kind: Precision, hermitian: bool) -> None:
    """Complex symmetric updates know no conjugate transpose, Hermitian ones no plain one."""
    bad = Op.T if hermitian else Op.C
    if kind.is_complex and operation is bad:
        raise ArgumentError(this.name, 2, "op", repr(operation.value), "'N' or 'C'" if hermitian else "'N' or 'T'")


def _output_square(this: Routine, position: int, C: Any, n: int, beta: Scalar, like: Argument) -> Argument:
    """The output of an update; a new one is zero outside its triangle, which is never written."""
    c = _output(this, position, C, (n, n), "rows of op(A), twice", beta, like)
    if C is None:
        _clear(this, c)
    return c


def _clear(this: Routine, c: Argument) -> None:
    """Fill a new output with zeros, by a product of nothing."""
    from .level3 import gemm_bound

    with call(this, {}, writes={"C": c}) as run:
        out = Matrix.of(run["C"])
        gemm_bound(run, 0, out._replace(columns=0), out._replace(rows=0), 0, out)


def _syrk(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(A)^T + beta C on one triangle of a symmetric C ({p}syrk).

    uplo: "U" or "L", the triangle of C that is read and written; the other one is untouched, bit for bit.
    op: "N" or "T" (for real matrices also "C", which is "T"); op(A) is (n, k).
    A: {dtype}, any strides, read only; not read when alpha == 0. alpha, beta: numbers or 0-d device arrays.
    C: (n, n) array of {dtype}, written in place and returned; its triangle is not read when beta == 0, and then C may
        be omitted: a new array is returned, zero in the other triangle.

    Raises ArgumentError or DTypeError before anything is written. Source: reference BLAS, {p}syrk.

    >>> import numpy as np, gpublas
    >>> {name}("U", "N", 1, np.array([[1, 2], [3, 4]], {example})).real.tolist()
    [[5.0, 11.0], [0.0, 25.0]]
    """
    return _rank_update(this, uplo, op, alpha, A, None, beta, C, hermitian=False, both=False)


def _herk(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(A)^H + beta C on one triangle of a Hermitian C, alpha and beta real ({p}herk).

    As syrk, with op "N" or "C". The imaginary part of C's diagonal is set to zero, for every alpha, beta and k
    (reference BLAS leaves it in one early return).

    >>> import numpy as np, gpublas
    >>> {name}("L", "N", 1, np.array([[1j, 2], [3, 4]], {example_complex})).real.tolist()
    [[5.0, 0.0], [8.0, 25.0]]
    """
    return _rank_update(this, uplo, op, alpha, A, None, beta, C, hermitian=True, both=False)


def _syr2k(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(B)^T + alpha op(B) op(A)^T + beta C on one triangle of a symmetric C ({p}syr2k).

    As syrk; A and B have the same shape.

    >>> import numpy as np, gpublas
    >>> A, B = np.array([[1], [2]], {example}), np.array([[3], [4]], {example})
    >>> {name}("L", "N", 1, A, B).real.tolist()
    [[6.0, 0.0], [10.0, 16.0]]
    """
    return _rank_update(this, uplo, op, alpha, A, B, beta, C, hermitian=False, both=True)


def _her2k(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(B)^H + conj(alpha) op(B) op(A)^H + beta C on one triangle of a Hermitian C ({p}her2k).

    As herk, but alpha is complex; A and B have the same shape; beta is real.

    >>> import numpy as np, gpublas
    >>> A, B = np.array([[1], [2j]], {example_complex}), np.array([[3], [4]], {example_complex})
    >>> {name}("L", "N", 1, A, B).imag.tolist()
    [[0.0, 0.0], [6.0, 0.0]]
    """
    return _rank_update(this, uplo, op, alpha, A, B, beta, C, hermitian=True, both=True)


def _syrkx(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(B)^T + beta C on one triangle of C, for products known to be symmetric (an extension).

    As syrk; A and B have the same shape. Symmetry is the caller's knowledge: only one triangle is computed.

    >>> import numpy as np, gpublas
    >>> A = np.array([[1, 2], [3, 4]], {example})
    >>> {name}("U", "N", 1, A, 2 * A).real.tolist()
    [[10.0, 22.0], [0.0, 50.0]]
    """
    return _rank_update(this, uplo, op, alpha, A, B, beta, C, hermitian=False, both=False)


def _herkx(this: Routine, uplo: Any, op: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None) -> Any:
    """C = alpha op(A) op(B)^H + beta C on one triangle of C, for products known to be Hermitian (an extension).

    As her2k, with one product; the imaginary part of C's diagonal is set to zero.

    >>> import numpy as np, gpublas
    >>> A = np.array([[1j, 2], [3, 4]], {example_complex})
    >>> {name}("L", "N", 1, A, 2 * A).real.tolist()
    [[10.0, 0.0], [16.0, 50.0]]
    """
    return _rank_update(this, uplo, op, alpha, A, B, beta, C, hermitian=True, both=False)


def _gemmtr(this: Routine, uplo: Any, opA: Any, opB: Any, alpha: Any, A: Any, B: Any, beta: Any = 0,
            C: Any = None) -> Any:
    """C = alpha op(A) op(B) + beta C on one triangle of a square C ({p}gemmtr of reference BLAS 3.12).

    uplo: "U" or "L", the triangle of C that is read and written; the other one is untouched, bit for bit.
    opA, opB: "N", "T" or "C". op(A) is (n, k), op(B) is (k, n). alpha, beta: numbers or 0-d device arrays.
    C: (n, n) array of {dtype}, written in place and returned; its triangle is not read when beta == 0, and then C may
        be omitted: a new array is returned, zero in the other triangle.

    Raises ArgumentError or DTypeError before anything is written. Source: reference BLAS, {p}gemmtr.

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [0, 4]], {example})
    >>> {name}("U", "T", "N", 1, A, A).real.tolist()
    [[4.0, 6.0], [0.0, 25.0]]
    """
    triangle = checks.flag(this.name, 1, "uplo", uplo, UpLo)
    op_a, op_b = checks.flag(this.name, 2, "opA", opA, Op), checks.flag(this.name, 3, "opB", opB, Op)
    a, b, kind = _operands(this, 5, A, 6, B)
    scale_a = checks.scalar(this.name, 4, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 7, "beta", beta, kind)
    m, n, _ = _inner(this, op_a, a, op_b, b)
    if m != n:
        raise ArgumentError(this.name, 6, "B", f"op(B) with {n} columns", f"{m}, as op(A) has rows: C is square")
    c = _output_square(this, 8, C, n, scale_b, a)
    with call(this, _arguments({"A": a, "B": b, "alpha": scale_a, "beta": scale_b}), updates={"C": c}) as run:
        if n:
            backend.of(run).gemmtr(run, scale_a, Matrix.of(run["A"]).under(op_a), Matrix.of(run["B"]).under(op_b),
                                   scale_b, Matrix.of(run["C"]), Triangle(triangle is UpLo.L))
    return c.given


def _triangular(this: Routine, side: Any, uplo: Any, op: Any, diag: Any, alpha: Any, A: Any,
                B: Any) -> tuple[Call, Side, tuple[UpLo, Op, Diag], Scalar]:
    """Checks of trmm and trsm, and their call."""
    which, triangle = checks.flag(this.name, 1, "side", side, Side), checks.flag(this.name, 2, "uplo", uplo, UpLo)
    operation, diagonal = checks.flag(this.name, 3, "op", op, Op), checks.flag(this.name, 4, "diag", diag, Diag)
    a, b, kind = _operands(this, 6, A, 7, B)
    scale = checks.scalar(this.name, 5, "alpha", alpha, kind)
    m, n = b.array.shape
    _square(this, a, m if which is Side.L else n, f"B has shape {b.array.shape}, side={which}")
    started = call(this, _arguments({"A": a, "alpha": scale}), updates={"B": b})
    return started, which, (triangle, operation, diagonal), scale


def _triangle_and_sides(run: Call, side: Side, flags: tuple[UpLo, Op, Diag]) -> tuple[Triangular, Matrix]:
    """op(A) and B as a product from the left: B A is (A^T B^T)^T."""
    uplo, op, diag = flags
    a = Triangular(Matrix.of(run["A"]), uplo is UpLo.L, diag is Diag.U).under(op)
    b = Matrix.of(run["B"])
    return (a, b) if side is Side.L else (a.transposed, b.transposed)


def _trmm(this: Routine, side: Any, uplo: Any, op: Any, diag: Any, alpha: Any, A: Any, B: Any) -> Any:
    """B = alpha op(A) B (side "L") or B = alpha B op(A) (side "R") with a triangular A, in place ({p}trmm).

    side: "L" or "R". uplo: "U" or "L", the triangle of A that is read. op: "N", "T" or "C". diag: "U" for a diagonal
    of ones, which is not read, "N" otherwise. alpha: number or 0-d device array.
    A: (m, m) for side "L", (n, n) for "R", {dtype}, read only; not read when alpha == 0, nor is B then.
    B: (m, n) array of {dtype}, overwritten and returned. A NaN of B reaches only the results that use it.

    Raises ArgumentError or DTypeError before anything is written. Source: reference BLAS, {p}trmm.

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [np.nan, 4]], {example})
    >>> {name}("L", "U", "N", "N", 1, A, np.array([[1], [10]], {example})).real.tolist()
    [[32.0], [40.0]]
    """
    started, which, flags, scale = _triangular(this, side, uplo, op, diag, alpha, A, B)
    with started as run:
        a, b = _triangle_and_sides(run, which, flags)
        if b.rows and b.columns:
            backend.of(run).trmm(run, scale, a, b)
    return B


def _trsm(this: Routine, side: Any, uplo: Any, op: Any, diag: Any, alpha: Any, A: Any, B: Any) -> Any:
    """Solve op(A) X = alpha B (side "L") or X op(A) = alpha B (side "R") with a triangular A; X overwrites B ({p}trsm).

    Arguments as in trmm. Entries are divided by the diagonal, never multiplied by a rounded reciprocal: A = B =
    5e-324 I gives I. A zero on the diagonal gives Inf or NaN; zero right-hand sides are not skipped.

    Raises ArgumentError or DTypeError before anything is written. Source: reference BLAS, {p}trsm.

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 3], [np.nan, 4]], {example})
    >>> {name}("L", "U", "N", "N", 1, A, np.array([[32], [40]], {example})).real.tolist()
    [[1.0], [10.0]]
    """
    started, which, flags, scale = _triangular(this, side, uplo, op, diag, alpha, A, B)
    with started as run:
        a, b = _triangle_and_sides(run, which, flags)
        if b.rows and b.columns:
            backend.of(run).trsm(run, scale, a, b)
    return B


symm = typed(_symm, None)
ssymm = typed(_symm, S)
dsymm = typed(_symm, D)
csymm = typed(_symm, _C)
zsymm = typed(_symm, Z)
syrk = typed(_syrk, None)
ssyrk = typed(_syrk, S)
dsyrk = typed(_syrk, D)
csyrk = typed(_syrk, _C)
zsyrk = typed(_syrk, Z)
syr2k = typed(_syr2k, None)
ssyr2k = typed(_syr2k, S)
dsyr2k = typed(_syr2k, D)
csyr2k = typed(_syr2k, _C)
zsyr2k = typed(_syr2k, Z)
syrkx = typed(_syrkx, None)
ssyrkx = typed(_syrkx, S)
dsyrkx = typed(_syrkx, D)
csyrkx = typed(_syrkx, _C)
zsyrkx = typed(_syrkx, Z)
gemmtr = typed(_gemmtr, None)
sgemmtr = typed(_gemmtr, S)
dgemmtr = typed(_gemmtr, D)
cgemmtr = typed(_gemmtr, _C)
zgemmtr = typed(_gemmtr, Z)
trmm = typed(_trmm, None)
strmm = typed(_trmm, S)
dtrmm = typed(_trmm, D)
ctrmm = typed(_trmm, _C)
ztrmm = typed(_trmm, Z)
trsm = typed(_trsm, None, everyday=everyday.trsm)
strsm = typed(_trsm, S, everyday=everyday.trsm)
dtrsm = typed(_trsm, D, everyday=everyday.trsm)
ctrsm = typed(_trsm, _C)
ztrsm = typed(_trsm, Z)
hemm = typed(_hemm, None)
chemm = typed(_hemm, _C)
zhemm = typed(_hemm, Z)
herk = typed(_herk, None)
cherk = typed(_herk, _C)
zherk = typed(_herk, Z)
her2k = typed(_her2k, None)
cher2k = typed(_her2k, _C)
zher2k = typed(_her2k, Z)
herkx = typed(_herkx, None)
cherkx = typed(_herkx, _C)
zherkx = typed(_herkx, Z)
