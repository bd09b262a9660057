"""What BLAS users expect beyond the three levels: sums and transposes, diagonal scaling, packing, batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import arrays, backend, checks, mixed
from .checks import ZERO, Argument, Scalar
from .context import Call, call
from .errors import ArgumentError
from .flags import Diag, Op, Side, UpLo
from .level3 import _arguments, _beside, _inner, _operands, _output, _under, turns
from .operands import Batch, Matrix, Stack, Stored, Triangular, Vector
from .precision import C as _C
from .precision import D, Precision, Routine, S, Z
from .typed import typed


def _geam(this: Routine, opA: Any, opB: Any, alpha: Any, A: Any, beta: Any, B: Any, C: Any = None) -> Any:
    """C = alpha op(A) + beta op(B), which also transposes (beta = 0) and converts orders ({p}geam of cuBLAS).

    opA, opB: "N", "T" or "C"; op(A) and op(B) are (m, n). alpha, beta: numbers or 0-d device arrays.
    A, B: {dtype}, any strides, read only; A is not read when alpha == 0, B not when beta == 0. A factor of 1 copies
        exactly, NaN payloads, Inf and signed zeros of complex numbers too.
    C: (m, n) array of {dtype}, written in place and returned; overlaps neither. None: a new column-major array.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}geam.

    >>> import numpy as np, gpublas
    >>> A = np.array([[1, 2], [3, 4]], {example})
    >>> {name}("T", "N", 1, A, 10, A).real.tolist()
    [[11.0, 23.0], [32.0, 44.0]]
    """
    op_a, op_b = checks.flag(this.name, 1, "opA", opA, Op), checks.flag(this.name, 2, "opB", opB, Op)
    a, b, kind = _operands(this, 4, A, 6, B)
    scale_a = checks.scalar(this.name, 3, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 5, "beta", beta, kind)
    m, n = _under(op_a, a.array.shape)
    if _under(op_b, b.array.shape) != (m, n):
        raise ArgumentError(this.name, 6, "B", f"shape {b.array.shape} with opB={op_b}",
                            f"op(B) of shape {(m, n)}, as op(A) has")
    c = _output(this, 7, C, (m, n), "as op(A)", ZERO, a)
    reads = _arguments({"A": a, "B": b, "alpha": scale_a, "beta": scale_b})
    with call(this.name, reads, writes={"C": c}) as run:
        if m and n:
            backend.of(run).combine(run, scale_a, Stored.full(run["A"]).under(op_a), scale_b,
                                    Stored.full(run["B"]).under(op_b), Stored.full(run["C"]))
    return c.given




def _dgmm(this: Routine, side: Any, A: Any, x: Any, C: Any = None) -> Any:
    """C = diag(x) A (side "L") or C = A diag(x) (side "R"), a scaling of rows or columns ({p}dgmm of cuBLAS).

    side: "L" or "R". A: (m, n) array of {dtype}, any strides, read only. x: vector of m (side "L") or n elements, any
    stride, read only. C: (m, n) array of {dtype}, written in place and returned; overlaps neither. None: a new
    column-major array. Products are IEEE: 0 * NaN is NaN.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}dgmm.

    >>> import numpy as np, gpublas
    >>> A = np.array([[1, 2], [3, 4]], {example})
    >>> {name}("L", A, np.array([1, 10], {example})).real.tolist()
    [[1.0, 2.0], [30.0, 40.0]]
    """
    which = checks.flag(this.name, 1, "side", side, Side)
    a, vector = checks.array(this.name, 2, "A", A, 2), checks.array(this.name, 3, "x", x, 1)
    kind = checks.precision(this, a)
    checks.dtype(this.name, a, kind.dtype)
    checks.dtype(this.name, vector, kind.dtype)
    m, n = a.array.shape
    checks.shape(this.name, vector, (m,) if which is Side.L else (n,), "the rows of A" if which is Side.L
                 else "the columns of A")
    c = _output(this, 4, C, (m, n), "as A", ZERO, a)
    with call(this.name, {"A": a, "x": vector}, writes={"C": c}) as run:
        scale = Vector.of(run["x"])
        along = (scale.stride, 0) if which is Side.L else (0, scale.stride)
        diagonal = Stored(scale.pointer, m, n, *along, kind, m, n)  # one number for each row, or column
        if m and n:
            backend.of(run).multiply(run, Stored.full(run["A"]), diagonal, Stored.full(run["C"]))
    return c.given


def _trttp(this: Routine, uplo: Any, A: Any, AP: Any = None) -> Any:
    """Copy a triangle of a matrix to packed storage ({p}trttp of LAPACK).

    uplo: "U" or "L". A: (n, n) array of {dtype}, any strides, of which one triangle is read. AP: vector of n(n+1)/2
    elements, any stride, written and returned, column by column: A[i, j] goes to AP[i + j(j+1)/2] (upper) or AP[i +
    (2n-j-1)j/2] (lower). None: a new vector.

    Raises ArgumentError or DTypeError before anything is written. Source: LAPACK, {p}trttp.

    >>> import numpy as np, gpublas
    >>> {name}("U", np.array([[1, 2], [0, 3]], {example})).real.tolist()
    [1.0, 2.0, 3.0]
    """
    lower = checks.flag(this.name, 1, "uplo", uplo, UpLo) is UpLo.L
    a = checks.array(this.name, 2, "A", A, 2)
    kind = checks.precision(this, a)
    checks.dtype(this.name, a, kind.dtype)
    n = a.array.shape[0]
    checks.shape(this.name, a, (n, n), "a square matrix")
    if AP is None:
        AP = arrays.empty(A, (n * (n + 1) // 2,), kind.dtype)
    packed = checks.array(this.name, 3, "AP", AP, 1)
    checks.dtype(this.name, packed, kind.dtype)
    checks.shape(this.name, packed, (n * (n + 1) // 2,), f"n(n+1)/2 for n = {n}")
    with call(this.name, {"A": a}, writes={"AP": packed}) as run:
        if n:
            backend.of(run).assign(run, Stored.full(run["A"]), Stored.packed(run["AP"], n, lower))
    return AP


def _tpttr(this: Routine, uplo: Any, AP: Any, A: Any = None) -> Any:
    """Copy packed storage to a triangle of a matrix ({p}tpttr of LAPACK).

    uplo: "U" or "L". AP: vector of n(n+1)/2 elements as trttp writes it, any stride, read only. A: (n, n) array of
    {dtype}, any strides, of which one triangle is written and the other left as it is; returned. None: a new
    column-major array, zero in the other triangle.

    Raises ArgumentError or DTypeError before anything is written. Source: LAPACK, {p}tpttr.

    >>> import numpy as np, gpublas
    >>> {name}("U", np.array([1, 2, 3], {example})).real.tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    lower = checks.flag(this.name, 1, "uplo", uplo, UpLo) is UpLo.L
    packed = checks.array(this.name, 2, "AP", AP, 1)
    kind = checks.precision(this, packed)
    checks.dtype(this.name, packed, kind.dtype)
    (length,) = packed.array.shape
    n = int(((8 * length + 1) ** 0.5 - 1) / 2 + 0.5)
    if n * (n + 1) // 2 != length:
        raise ArgumentError(this.name, 2, "AP", f"{length} elements", "n(n+1)/2 elements for some n")
    fresh = A is None
    if fresh:
        A = arrays.empty(AP, (n, n), kind.dtype, order="F")
    a = checks.array(this.name, 3, "A", A, 2)
    checks.dtype(this.name, a, kind.dtype)
    checks.shape(this.name, a, (n, n), f"AP has {length} elements")
    with call(this.name, {"AP": packed}, updates={"A": a}) as run:
        if n:
            source, target = Stored.packed(run["AP"], n, lower), Stored.full(run["A"])
            if fresh:
                backend.of(run).combine(run, ZERO, target, ZERO, target, target)
            backend.of(run).assign(run, source, target.triangle(lower))
    return A


def _gemm_strided_batched(this: Routine, opA: Any, opB: Any, alpha: Any, A: Any, B: Any, beta: Any = 0, C: Any = None,
                          *, compute: Any = None, epilogue: Any = None, bias: Any = None, out_dtype: Any = None,
                          scale_a: Any = None, scale_b: Any = None) -> Any:
    """C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for every i, in one launch ({p}gemm_strided_batched of cuBLAS).

    opA, opB: "N", "T" or "C", for all products. alpha, beta: numbers or 0-d device arrays, for all products.
    A, B: 3-D arrays of {dtype} whose first axis counts the products; any strides, read only. An extent of 1 there, or
        a stride of 0, means one matrix for all products.
    C: (products, m, n) array of {dtype}, written in place and returned. Not read when beta == 0, and then may be
        omitted: a new array is returned. With k == 0 the result is beta C.
    compute, epilogue, bias, out_dtype, scale_a, scale_b: as for gemm, with one bias and the same scales for all
        products; and as there the generic name takes float16, bfloat16, 8-bit floats and int8 too.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}gemmStridedBatched.

    >>> import numpy as np, gpublas
    >>> A, B = np.ones((5, 2, 3), {example}), np.ones((1, 3, 4), {example})
    >>> C = {name}("N", "N", 1, A, B)
    >>> C.shape, C[4, 1, 2].real.item()
    ((5, 2, 4), 3.0)
    """
    op_a, op_b = checks.flag(this.name, 1, "opA", opA, Op), checks.flag(this.name, 2, "opB", opB, Op)
    a = checks.array(this.name, 4, "A", A, 3)
    if mixed.wanted(a, compute, epilogue, bias, out_dtype, scale_a, scale_b):
        return mixed.gemm(this, op_a, op_b, alpha, a, B, beta, C, compute, epilogue, bias, None, out_dtype, scale_a,
                          scale_b)
    b, kind = _beside(this, a, 5, B, 3)
    scale_a = checks.scalar(this.name, 3, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 6, "beta", beta, kind)
    products = b.array.shape[0] if a.array.shape[0] == 1 else a.array.shape[0]
    if b.array.shape[0] not in (1, products):
        raise ArgumentError(this.name, 5, "B", f"{b.array.shape[0]} matrices", f"{products}, as A has, or 1")
    m, n, _ = _inner(this, op_a, _first(a), op_b, _first(b))
    if C is None:
        if not scale_b.is_zero:
            raise ArgumentError(this.name, 7, "C", "None", "an array, since beta is not 0")
        C = arrays.empty(A, (products, m, n), kind.dtype)
    c = checks.array(this.name, 7, "C", C, 3)
    checks.dtype(this.name, c, kind.dtype)
    checks.shape(this.name, c, (products, m, n), "products, rows of op(A), columns of op(B)")
    group = {"C": c}
    with call(this.name, _arguments({"A": a, "B": b, "alpha": scale_a, "beta": scale_b}),
              writes=group if scale_b.is_zero else None, updates=None if scale_b.is_zero else group) as run:
        if products and m and n:
            _batch(run, scale_a, Stack.of(run["A"]), op_a, Stack.of(run["B"]), op_b, scale_b, Stack.of(run["C"]))
    return C


def _first(stack: Argument) -> Argument:
    """The shape of one matrix of a 3-D argument, for checks."""
    found = stack.array
    return stack._replace(array=arrays.Array(found.pointer, found.shape[1:], found.strides[1:], found.dtype,
                                             found.writeable, found.place, found.owner))


def _batch(run: Any, alpha: Scalar, A: Stack, op_a: Op, B: Stack, op_b: Op, beta: Scalar, C: Stack) -> None:
    batch = Batch(C.products, A.step, B.step, C.step)
    a, b, c = A.matrix.under(op_a), B.matrix.under(op_b), C.matrix
    if turns(run, c):
        a, b, c, batch = b.transposed, a.transposed, c.transposed, batch._replace(a=B.step, b=A.step)
    backend.of(run).gemm(run, alpha, a, b, beta, c, batch)


def _listed(this: Routine, position: int, name: str, items: Any, ndim: int) -> list[Argument]:
    """The arrays of a list argument, each named by its index."""
    if not isinstance(items, Sequence):
        raise ArgumentError(this.name, position, name, type(items).__name__, "a list of arrays")
    return [checks.array(this.name, position, f"{name}[{number}]", item, ndim) for number, item in enumerate(items)]


def _same_type(this: Routine, found: list[Argument], kind: Precision) -> None:
    for argument in found:
        checks.dtype(this.name, argument, kind.dtype)


def _as_many(this: Routine, found: list[Argument], position: int, name: str, wanted: int) -> None:
    if len(found) != wanted:
        raise ArgumentError(this.name, position, name, f"{len(found)} arrays", f"{wanted}, as the first list has")


def _named(found: list[Argument]) -> dict[str, Argument]:
    return {argument.name: argument for argument in found}


def _alike(this: Routine, found: list[Argument]) -> None:
    """All arrays of a list have the shape of the first."""
    for argument in found:
        checks.shape(this.name, argument, found[0].array.shape, f"as {found[0].name}")


def _gemm_batched(this: Routine, opA: Any, opB: Any, alpha: Any, As: Any, Bs: Any, beta: Any = 0,
                  Cs: Any = None, *, compute: Any = None, out_dtype: Any = None) -> Any:
    """Cs[i] = alpha op(As[i]) op(Bs[i]) + beta Cs[i] for every i ({p}gemm_batched of cuBLAS).

    As gemm_strided_batched for matrices that lie anywhere: As, Bs, Cs are lists of 2-D arrays of {dtype}, all of one
    list of the same shape. An array may occur in As and Bs as often as it likes; those of Cs overlap nothing. Products
    whose arrays have the same strides share a launch. Cs is returned; None (with beta == 0): a list of new arrays.
    compute, out_dtype: as for gemm; and as there the generic name takes float16, bfloat16, 8-bit floats and int8 too.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}gemmBatched.

    >>> import numpy as np, gpublas
    >>> As = [np.eye(2, dtype={example}), 2 * np.eye(2, dtype={example})]
    >>> [C.real.tolist() for C in {name}("N", "N", 1, As, As)]
    [[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 4.0]]]
    """
    a, b = _listed(this, 4, "As", As, 2), _listed(this, 5, "Bs", Bs, 2)
    _alike(this, a)
    _alike(this, b)
    return _products(this, [opA], [opB], [alpha], [a], [b], [beta], None if Cs is None else [Cs], _flat,
                     compute, out_dtype)


def _flat(groups: list[list[Any]]) -> list[Any]:
    return groups[0]


def _grouped(groups: list[list[Any]]) -> list[list[Any]]:
    return groups


def _gemm_grouped_batched(this: Routine, opA: Any, opB: Any, alpha: Any, As: Any, Bs: Any, beta: Any = 0,
                          Cs: Any = None, *, compute: Any = None, out_dtype: Any = None) -> Any:
    """Groups of products, each group with flags, scalars and shapes of its own ({p}gemm_grouped_batched of cuBLAS).

    As, Bs, Cs: lists of groups, each a list of 2-D arrays of {dtype} as gemm_batched takes them. opA, opB, alpha,
    beta: one value for all groups, or a list with one for each. Cs is returned; None (with beta == 0): new arrays.
    compute, out_dtype: as for gemm_batched, for all groups.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}gemmGroupedBatched.

    >>> import numpy as np, gpublas
    >>> groups = [[np.ones((1, 1), {example})], [np.ones((2, 2), {example})] * 3]
    >>> Cs = {name}("N", "N", [1, 3], groups, groups)
    >>> len(Cs[1]), Cs[1][2].real.tolist()
    (3, [[6.0, 6.0], [6.0, 6.0]])
    """
    for position, name, value in ((4, "As", As), (5, "Bs", Bs), (7, "Cs", Cs)):
        if not (isinstance(value, Sequence) or (value is None and name == "Cs")):
            raise ArgumentError(this.name, position, name, type(value).__name__, "a list of groups")
    groups = len(As)
    for position, name, value in ((5, "Bs", Bs), (7, "Cs", Cs)):
        if value is not None and len(value) != groups:
            raise ArgumentError(this.name, position, name, f"{len(value)} groups", f"{groups}, as As has")
    a = [_listed(this, 4, f"As[{number}]", group, 2) for number, group in enumerate(As)]
    b = [_listed(this, 5, f"Bs[{number}]", group, 2) for number, group in enumerate(Bs)]
    for group in (*a, *b):
        _alike(this, group)
    spread = [_each(this, position, name, value, groups) for position, name, value in
              ((1, "opA", opA), (2, "opB", opB), (3, "alpha", alpha), (6, "beta", beta))]
    return _products(this, spread[0], spread[1], spread[2], a, b, spread[3], Cs, _grouped, compute, out_dtype)


def _each(this: Routine, position: int, name: str, value: Any, groups: int) -> list[Any]:
    """One value for each group."""
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ArgumentError(this.name, position, name, f"{len(value)} values", f"one, or {groups}, one for each group")
    return list(value)


def _products(this: Routine, ops_a: list[Any], ops_b: list[Any], alphas: list[Any], As: list[list[Argument]],
              Bs: list[list[Argument]], betas: list[Any], Cs: Any, shape_result: Callable[[list[Any]], Any],
              compute: Any, out_dtype: Any) -> Any:
    """All groups of products: checks of everything, then one call."""
    flat = [argument for group in As for argument in group]
    if not flat:
        return [] if Cs is None else shape_result(Cs)
    if mixed.wanted(flat[0], compute, out_dtype):
        return _mixed_products(this, ops_a, ops_b, alphas, As, Bs, betas, Cs, shape_result, compute, out_dtype)
    kind = checks.precision(this, flat[0])
    reads: dict[str, Argument] = {}
    writes: dict[str, Argument] = {}
    updates: dict[str, Argument] = {}
    plans, results = [], []
    for number, (group_a, group_b) in enumerate(zip(As, Bs, strict=True)):
        op_a = checks.flag(this.name, 1, "opA", ops_a[number], Op)
        op_b = checks.flag(this.name, 2, "opB", ops_b[number], Op)
        _as_many(this, group_b, 5, "Bs", len(group_a))
        _same_type(this, [*group_a, *group_b], kind)
        alpha = checks.scalar(this.name, 3, "alpha", alphas[number], kind)
        beta = checks.scalar(this.name, 6, "beta", betas[number], kind)
        outputs = _outputs(this, op_a, group_a, op_b, group_b, beta, None if Cs is None else Cs[number],
                           f"Cs[{number}]" if len(As) > 1 else "Cs")
        plans.append((op_a, op_b, alpha, beta, group_a, group_b, outputs))
        reads.update(_named([*group_a, *group_b]))
        reads.update(_arguments({f"alpha[{number}]": alpha, f"beta[{number}]": beta}))
        (writes if beta.is_zero else updates).update(_named(outputs))
        results.append([argument.given for argument in outputs])
    with call(this.name, reads, writes, updates) as run:
        for op_a, op_b, alpha, beta, group_a, group_b, outputs in plans:
            items = [_oriented(run, Matrix.of(run[a.name]).under(op_a), Matrix.of(run[b.name]).under(op_b),
                               Matrix.of(run[c.name])) for a, b, c in zip(group_a, group_b, outputs, strict=True)]
            if items and items[0][2].rows and items[0][2].columns:
                backend.of(run).gemm_many(run, alpha, items, beta)
    return shape_result(results) if Cs is None else shape_result(Cs)


def _mixed_products(this: Routine, ops_a: list[Any], ops_b: list[Any], alphas: list[Any], As: list[list[Argument]],
                    Bs: list[list[Argument]], betas: list[Any], Cs: Any, shape_result: Callable[[list[Any]], Any],
                    compute: Any, out_dtype: Any) -> Any:
    """`_products` in one of the kinds of arithmetic of mixed.py."""
    groups: list[mixed.Products] = []
    results: list[list[Any]] = []
    first = next(group[0] for group in As if group)
    for number, (group_a, group_b) in enumerate(zip(As, Bs, strict=True)):
        op_a = checks.flag(this.name, 1, "opA", ops_a[number], Op)
        op_b = checks.flag(this.name, 2, "opB", ops_b[number], Op)
        _as_many(this, group_b, 5, "Bs", len(group_a))
        given, name = None if Cs is None else Cs[number], f"Cs[{number}]" if len(As) > 1 else "Cs"
        if given is not None and not isinstance(given, Sequence):
            raise ArgumentError(this.name, 7, name, type(given).__name__, "a list of arrays")
        results.append([])
        if group_a:
            groups.append(mixed.group(this, first, op_a, op_b, alphas[number], group_a, group_b, betas[number], given,
                                      name, compute, out_dtype))
            results[-1] = [c.given for _, _, c in groups[-1].matrices]
    mixed.compute_groups(this, groups)
    return shape_result(results) if Cs is None else shape_result(Cs)


def _oriented(run: Call, A: Matrix, B: Matrix, C: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """C column-major where it can be."""
    if turns(run, C):
        return B.transposed, A.transposed, C.transposed
    return A, B, C


def _outputs(this: Routine, op_a: Op, As: list[Argument], op_b: Op, Bs: list[Argument], beta: Scalar, Cs: Any,
             name: str) -> list[Argument]:
    """The outputs of one group, new where none are given."""
    if not As:
        return []
    m, n, _ = _inner(this, op_a, As[0], op_b, Bs[0])
    if Cs is None:
        if not beta.is_zero:
            raise ArgumentError(this.name, 7, name, "None", "arrays, since beta is not 0")
        Cs = [arrays.empty(a.given, (m, n), a.array.dtype, order="F") for a in As]
    found = _listed(this, 7, name, Cs, 2)
    _as_many(this, found, 7, name, len(As))
    for argument in found:
        checks.dtype(this.name, argument, As[0].array.dtype)
        checks.shape(this.name, argument, (m, n), "rows of op(A), columns of op(B)")
    return found


def _gemv_batched(this: Routine, op: Any, alpha: Any, As: Any, xs: Any, beta: Any = 0, ys: Any = None) -> Any:
    """ys[i] = alpha op(As[i]) xs[i] + beta ys[i] for every i ({p}gemv_batched of cuBLAS).

    As: list of 2-D arrays of {dtype}, all of one shape. xs, ys: lists of vectors of any stride. An array may occur in
    As and xs as often as it likes; those of ys overlap nothing. alpha, beta: for all products. ys is returned, not
    read when beta == 0; None (with beta == 0): a list of new vectors.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}gemvBatched.

    >>> import numpy as np, gpublas
    >>> A = np.array([[1, 2], [3, 4]], {example})
    >>> [y.real.tolist() for y in {name}("N", 1, [A, A], [A[0], A[1]])]
    [[5.0, 11.0], [11.0, 25.0]]
    """
    operation = checks.flag(this.name, 1, "op", op, Op)
    a, x = _listed(this, 3, "As", As, 2), _listed(this, 4, "xs", xs, 1)
    if not a:
        return [] if ys is None else ys
    _alike(this, a)
    kind = checks.precision(this, a[0])
    _as_many(this, x, 4, "xs", len(a))
    _same_type(this, [*a, *x], kind)
    scale_a = checks.scalar(this.name, 2, "alpha", alpha, kind)
    scale_b = checks.scalar(this.name, 5, "beta", beta, kind)
    m, k = _under(operation, a[0].array.shape)
    for argument in x:
        checks.shape(this.name, argument, (k,), "columns of op(A)")
    if ys is None:
        if not scale_b.is_zero:
            raise ArgumentError(this.name, 6, "ys", "None", "arrays, since beta is not 0")
        ys = [arrays.empty(argument.given, (m,), kind.dtype) for argument in a]
    y = _listed(this, 6, "ys", ys, 1)
    _as_many(this, y, 6, "ys", len(a))
    _same_type(this, y, kind)
    for argument in y:
        checks.shape(this.name, argument, (m,), "rows of op(A)")
    reads = {**_named([*a, *x]), **_arguments({"alpha": scale_a, "beta": scale_b})}
    with call(this.name, reads, writes=_named(y) if scale_b.is_zero else None,
              updates=None if scale_b.is_zero else _named(y)) as run:
        items = [(Matrix.of(run[i.name]).under(operation), _column(run[j.name]), _column(run[o.name]))
                 for i, j, o in zip(a, x, y, strict=True)]
        if m:
            backend.of(run).gemm_many(run, scale_a, items, scale_b)
    return ys


def _column(found: arrays.Array) -> Matrix:
    """A vector as a matrix of one column."""
    vector = Vector.of(found)
    return Matrix(vector.pointer, vector.size, 1, vector.stride, max(1, vector.size * abs(vector.stride)),
                  vector.precision)


def _trsm_batched(this: Routine, side: Any, uplo: Any, op: Any, diag: Any, alpha: Any, As: Any, Bs: Any) -> Any:
    """Solve op(As[i]) X = alpha Bs[i] (side "L") or X op(As[i]) = alpha Bs[i] (side "R") for every i, in place.

    Flags and alpha as in trsm, for all solutions. As, Bs: lists of 2-D arrays of {dtype}, all of one list of the same
    shape. An array may occur in As as often as it likes; those of Bs overlap nothing. Bs is returned. Solutions
    whose arrays have the same strides share their launches.

    Raises ArgumentError or DTypeError before anything is written. Source: cuBLAS, {p}trsmBatched.

    >>> import numpy as np, gpublas
    >>> A = np.array([[2, 0], [1, 4]], {example})
    >>> Bs = [np.array([[2], [9]], {example}), np.array([[4], [2]], {example})]
    >>> [X.real.tolist() for X in {name}("L", "L", "N", "N", 1, [A, A], Bs)]
    [[[1.0], [2.0]], [[2.0], [0.0]]]
    """
    which, triangle = checks.flag(this.name, 1, "side", side, Side), checks.flag(this.name, 2, "uplo", uplo, UpLo)
    operation, diagonal = checks.flag(this.name, 3, "op", op, Op), checks.flag(this.name, 4, "diag", diag, Diag)
    a, b = _listed(this, 6, "As", As, 2), _listed(this, 7, "Bs", Bs, 2)
    _as_many(this, b, 7, "Bs", len(a))
    if not a:
        return Bs
    _alike(this, b)
    kind = checks.precision(this, a[0])
    _same_type(this, [*a, *b], kind)
    scale = checks.scalar(this.name, 5, "alpha", alpha, kind)
    m, n = b[0].array.shape
    order = m if which is Side.L else n
    for argument in a:
        checks.shape(this.name, argument, (order, order), f"B has shape {(m, n)}, side={which}")
    with call(this.name, {**_named(a), **_arguments({"alpha": scale})}, updates=_named(b)) as run:
        items = []
        for matrix, right in zip(a, b, strict=True):
            left = Triangular(Matrix.of(run[matrix.name]), triangle is UpLo.L, diagonal is Diag.U).under(operation)
            out = Matrix.of(run[right.name])
            items.append((left, out) if which is Side.L else (left.transposed, out.transposed))
        if m and n:
            backend.of(run).trsm_many(run, scale, items)
    return Bs


geam = typed(_geam, None)
sgeam = typed(_geam, S)
dgeam = typed(_geam, D)
cgeam = typed(_geam, _C)
zgeam = typed(_geam, Z)
dgmm = typed(_dgmm, None)
sdgmm = typed(_dgmm, S)
ddgmm = typed(_dgmm, D)
cdgmm = typed(_dgmm, _C)
zdgmm = typed(_dgmm, Z)
trttp = typed(_trttp, None)
strttp = typed(_trttp, S)
dtrttp = typed(_trttp, D)
ctrttp = typed(_trttp, _C)
ztrttp = typed(_trttp, Z)
tpttr = typed(_tpttr, None)
stpttr = typed(_tpttr, S)
dtpttr = typed(_tpttr, D)
ctpttr = typed(_tpttr, _C)
ztpttr = typed(_tpttr, Z)
gemm_strided_batched = typed(_gemm_strided_batched, None)
sgemm_strided_batched = typed(_gemm_strided_batched, S)
dgemm_strided_batched = typed(_gemm_strided_batched, D)
cgemm_strided_batched = typed(_gemm_strided_batched, _C)
zgemm_strided_batched = typed(_gemm_strided_batched, Z)
gemm_batched = typed(_gemm_batched, None)
sgemm_batched = typed(_gemm_batched, S)
dgemm_batched = typed(_gemm_batched, D)
cgemm_batched = typed(_gemm_batched, _C)
zgemm_batched = typed(_gemm_batched, Z)
gemm_grouped_batched = typed(_gemm_grouped_batched, None)
sgemm_grouped_batched = typed(_gemm_grouped_batched, S)
dgemm_grouped_batched = typed(_gemm_grouped_batched, D)
cgemm_grouped_batched = typed(_gemm_grouped_batched, _C)
zgemm_grouped_batched = typed(_gemm_grouped_batched, Z)
gemv_batched = typed(_gemv_batched, None)
sgemv_batched = typed(_gemv_batched, S)
dgemv_batched = typed(_gemv_batched, D)
cgemv_batched = typed(_gemv_batched, _C)
zgemv_batched = typed(_gemv_batched, Z)
trsm_batched = typed(_trsm_batched, None)
strsm_batched = typed(_trsm_batched, S)
dtrsm_batched = typed(_trsm_batched, D)
ctrsm_batched = typed(_trsm_batched, _C)
ztrsm_batched = typed(_trsm_batched, Z)
