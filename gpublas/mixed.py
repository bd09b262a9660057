"""gemm with more than one precision: the types of tensor cores, faster float32 on request, and fused epilogues.

The canonical problem is the same on every device; see `gpublas.gemm` for what users say.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import arrays, backend, checks
from .arrays import Array
from .checks import Argument
from .context import call
from .errors import ArgumentError, DTypeError
from .flags import Op
from .operands import ALONE, Batch
from .precision import D, Precision, Routine, S

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
FLOAT8 = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}  # types of 8-bit floats, as kinds of arithmetic call them
_SHORT = {name: short for short, name in FLOAT8.items()}
_OUT_NAMES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int32": "s32"}


class Arithmetic(NamedTuple):
    """What products and sums are made in: a kind of kernel, the operands' type, and the types that C may have, of which
    the first is what a new C gets."""

    kind: str
    operand: str
    out: tuple[str, ...]


_BY_OPERAND: dict[str, dict[str | None, Arithmetic]] = {
    "float16": {None: Arithmetic("f16", "float16", ("float16", "float32"))},
    "bfloat16": {None: Arithmetic("bf16", "bfloat16", ("bfloat16", "float32"))},
    **{name: {None: Arithmetic("float8", name, ("float32", "float16", "bfloat16"))} for name in _SHORT},
    "int8": {None: Arithmetic("s8", "int8", ("int32", "float32"))},
    "float32": {None: Arithmetic("f32", "float32", ("float32",)),
                "tf32": Arithmetic("tf32", "float32", ("float32",)),
                "tf32x3": Arithmetic("tf32x3", "float32", ("float32",)),
                "bf16x9": Arithmetic("bf16x9", "float32", ("float32",))},
    "float64": {None: Arithmetic("f64", "float64", ("float64",)),
                "dmma": Arithmetic("dmma", "float64", ("float64",))},
}


class Operands(NamedTuple):
    """What such a product reads and writes, op already applied: C = epilogue(A B, C, bias, aux).

    scale_a, scale_b: one number, or one for each row of A and column of B, where there are such. bias_grad: sums of C's
    rows or columns, to be written where they are asked for.
    """

    A: Array
    B: Array
    C: Array
    bias: Array | None
    aux: Array | None
    scale_a: Array | None = None
    scale_b: Array | None = None
    bias_grad: Array | None = None

    @property
    def transposed(self) -> Operands:
        """The same product seen the other way, C^T = B^T A^T; the bias keeps its place and changes its axis."""
        return Operands(_turned(self.B), _turned(self.A), _turned(self.C), self.bias,
                        None if self.aux is None else _turned(self.aux), self.scale_b, self.scale_a, self.bias_grad)


class MixedProblem(NamedTuple):
    """What such a product is, apart from where its data lies; C's rows lie together rather than its columns.

    kind: of arithmetic. out: type of C, "f16", "bf16", "f32", "f64" or "s32". m, n, k: C is m x n, A is m x k; k is 0
    where A and B are not read. strides: row and column strides of A, B, C in elements. chunked: whether A and B begin
    and go on at multiples of 16 bytes. activation: "" or one of ACTIVATIONS. bias: "row" (a number for each row of C),
    "column" or "". aux: "store", "gradient" or "" (see gpublas.gemm). bias_step, aux_steps: strides in elements.
    scale_steps: those of the numbers that rows of A and columns of B are multiplied with, None where there are none.
    bias_grad, bias_grad_step: which sums of C are asked for, and where they go, as bias and bias_step. boxes: whether
    copy engines may bring A and B, as far as strides decide.
    """

    kind: str
    out: str
    m: int
    n: int
    k: int
    strides: tuple[int, int, int, int, int, int]
    chunked: tuple[bool, bool]
    activation: str
    bias: str
    aux: str
    bias_step: int
    aux_steps: tuple[int, int]
    batch: Batch = ALONE
    scale_steps: tuple[int | None, int | None] = (None, None)
    bias_grad: str = ""
    bias_grad_step: int = 0
    boxes: bool = False

    @classmethod
    def of(cls, kind: str, out: str, operands: Operands, reads: bool, activation: str, bias: str,
           aux: str, bias_grad: str = "") -> MixedProblem:
        """The problem of some operands; reads: whether A and B are read at all. kind: "float8" for the one of these
        operands."""
        if kind == "float8":
            kind = "_".join(_SHORT[array.dtype.name] for array in (operands.A, operands.B))
        A, B, C = operands.A, operands.B, operands.C
        (m, k), n = A.shape[-2:], B.shape[-1]
        batch = ALONE
        if C.ndim == 3:
            a, b, c = (array.steps[0] if array.shape[0] > 1 else 0 for array in (A, B, C))
            batch = Batch(C.shape[0], a, b, c)
        bias_step, grad_step = (0 if vector is None else _step(vector)
                                for vector in (operands.bias, operands.bias_grad))
        scales = tuple(None if scale is None else _step(scale) for scale in (operands.scale_a, operands.scale_b))
        aux_steps = operands.aux.steps if operands.aux is not None else (0, 0)
        return cls(kind, out, m, n, k if reads else 0,
                   (*A.steps[-2:], *B.steps[-2:], *C.steps[-2:]),  # type: ignore[arg-type]
                   (_chunked(A), _chunked(B)), activation, bias, aux, bias_step, aux_steps,  # type: ignore[arg-type]
                   batch, scales, bias_grad, grad_step,  # type: ignore[arg-type]
                   all(stride >= 0 for stride in (*A.strides, *B.strides)))


def _step(vector: Array) -> int:
    """From one number to the next, in elements, of a vector that may have a second axis; 0 of one number."""
    return next((step for extent, step in zip(vector.shape, vector.steps, strict=True) if extent > 1), 0)


def wanted(a: Argument, *keywords: Any) -> bool:
    """Whether a call of gemm is one of these: it says so by keywords, or its first array has one of their types."""
    return a.array.dtype.itemsize <= 2 or any(keyword is not None for keyword in keywords)


def gemm(this: Routine, op_a: Op, op_b: Op, alpha: Any, a: Argument, B: Any, beta: Any, C: Any, compute: Any,
         epilogue: Any, bias: Any, aux: Any, out_dtype: Any, scale_a: Any = None, scale_b: Any = None,
         bias_grad: Any = None) -> Any:
    """The call, once gemm (or gemm_strided_batched, whose arrays have an axis more) has found that it is one of these.
    """
    b = checks.array(this.name, 5, "B", B, a.array.ndim)
    arithmetic = _arithmetic(this, a, compute)
    _beside(this, arithmetic, a, b)
    *products, m, n = shape = _shape(this, op_a, a, op_b, b)
    out = _out(this, arithmetic, C, out_dtype)
    factor, old = _numbers(this, alpha, beta, out)
    if C is None:
        if old != 0:
            raise ArgumentError(this.name, 7, "C", "None", "an array, since beta is not 0")
        C = arrays.empty(a.given, shape, arrays.named_type(out), order="C" if products else "F")
    c = checks.array(this.name, 7, "C", C, len(shape))
    checks.dtype(this.name, c, arrays.named_type(out))
    checks.shape(this.name, c, shape, "rows of op(A), columns of op(B)")
    activation, aux_mode = _epilogue(this, epilogue, aux, out)
    scale, scales = _scales(this, a, scale_a, m, scale_b, n)
    reads: dict[str, Argument] = {"A": a, "B": b, **(scales if factor != 0 else {})}
    writes: dict[str, Argument] = {}
    modes = {}  # of bias and its gradient
    if bias is not None:
        modes["bias"], reads["bias"] = _bias(this, "bias", bias, m, n, c, out)
    if bias_grad is not None:
        modes["bias_grad"], writes["bias_grad"] = _bias(this, "bias_grad", bias_grad, m, n, c, out)
    if aux is not None:
        found = checks.array(this.name, None, "aux", aux, 2)
        checks.dtype(this.name, found, c.array.dtype)
        checks.shape(this.name, found, (m, n), "that of C")
        (writes if aux_mode == "store" else reads)["aux"] = found
    updates = {"C": c} if old != 0 else None
    if updates is None:
        writes["C"] = c
    with call(this.name, reads, writes, updates) as run:
        if 0 not in shape or "bias_grad" in modes:
            operands = Operands(_operand(run["A"], op_a), _operand(run["B"], op_b), run["C"],
                                *(run[name] if name in reads or name in writes else None
                                  for name in Operands._fields[3:]))
            if _turns(run, run["C"]):
                operands = operands.transposed
                modes = {name: "column" if mode == "row" else "row" for name, mode in modes.items()}
            problem = MixedProblem.of(arithmetic.kind, _OUT_NAMES[out], operands, factor != 0, activation,
                                      modes.get("bias", ""), aux_mode, modes.get("bias_grad", ""))
            backend.of(run).mixed_gemm(run, problem, factor * scale if factor != 0 else 0.0, old, operands)
    return C


class Products(NamedTuple):
    """Products of one group of a list: op(A) op(B), how they are scaled, what they are computed in and give."""

    op_a: Op
    op_b: Op
    alpha: float
    beta: float
    kind: str
    out: str
    matrices: list[tuple[Argument, Argument, Argument]]


def group(this: Routine, first: Argument, op_a: Op, op_b: Op, alpha: Any, As: list[Argument], Bs: list[Argument],
          beta: Any, Cs: Any, name: str, compute: Any, out_dtype: Any) -> Products:
    """The checked products of a group, with new outputs where none are given. first: A of all groups; name: of Cs."""
    arithmetic = _arithmetic(this, first, compute)
    for given in (*As, *Bs):
        _beside(this, arithmetic, first, given)
    shape = _shape(this, op_a, As[0], op_b, Bs[0])
    out = _out(this, arithmetic, Cs[0] if Cs else None, out_dtype, f"{name}[0]")
    factor, old = _numbers(this, alpha, beta, out)
    if Cs is None:
        if old != 0:
            raise ArgumentError(this.name, 7, name, "None", "arrays, since beta is not 0")
        Cs = [arrays.empty(a.given, shape, arrays.named_type(out), order="F") for a in As]
    if len(Cs) != len(As):
        raise ArgumentError(this.name, 7, name, f"{len(Cs)} arrays", f"{len(As)}, as the first list has")
    outputs = [checks.array(this.name, 7, f"{name}[{number}]", C, 2) for number, C in enumerate(Cs)]
    for c in outputs:
        checks.dtype(this.name, c, arrays.named_type(out))
        checks.shape(this.name, c, shape, "rows of op(A), columns of op(B)")
    return Products(op_a, op_b, factor, old, arithmetic.kind, out, list(zip(As, Bs, outputs, strict=True)))


def compute_groups(this: Routine, groups: list[Products]) -> None:
    """All products of a list, in one call: one launch for all that are laid out alike."""
    reads: dict[str, Argument] = {}
    writes: dict[str, Argument] = {}
    updates: dict[str, Argument] = {}
    for found in groups:
        for a, b, c in found.matrices:
            reads.update({a.name: a, b.name: b})
            (updates if found.beta != 0 else writes)[c.name] = c
    with call(this.name, reads, writes, updates) as run:
        for found in groups:
            alike: dict[MixedProblem, list[Operands]] = {}
            for names in found.matrices:
                left, right, out = (run[argument.name] for argument in names)
                operands = Operands(_operand(left, found.op_a), _operand(right, found.op_b), out, None, None)
                if _turns(run, out):
                    operands = operands.transposed
                problem = MixedProblem.of(found.kind, _OUT_NAMES[found.out], operands, found.alpha != 0, "", "", "")
                alike.setdefault(problem, []).append(operands)
            for problem, items in alike.items():
                if problem.m and problem.n:
                    backend.of(run).mixed_gemm_many(run, problem, found.alpha, found.beta, items)


def _turns(run: Any, C: Array) -> bool:
    """Whether a product is computed as C^T = B^T A^T: stores go along rows. Not where bits count, since no tensor core
    promises those of B^T A^T to be those of A B."""
    return abs(C.strides[-2]) < abs(C.strides[-1]) and not run.context.batch_invariant


def _beside(this: Routine, arithmetic: Arithmetic, a: Argument, b: Argument) -> None:
    """The second matrix has the type of the first; one 8-bit float stands for the other."""
    if arithmetic.kind != "float8" or b.array.dtype.name not in _SHORT:
        checks.dtype(this.name, b, a.array.dtype)


def _numbers(this: Routine, alpha: Any, beta: Any, out: str) -> tuple[float, float]:
    kind = D if out in ("int32", "float64") else S
    return _number(this, 3, "alpha", alpha, kind, out), _number(this, 6, "beta", beta, kind, out)


def _shape(this: Routine, op_a: Op, a: Argument, op_b: Op, b: Argument) -> tuple[int, ...]:
    """The shape of C, whose factors fit each other; in a batch, an extent of 1 stands for any number of products."""
    (*first, m, k), (*second, depth, n) = (
        (*found.array.shape[:-2], *found.array.shape[:-3:-1]) if op.transposes else found.array.shape
        for op, found in ((op_a, a), (op_b, b)))
    if depth != k:
        raise ArgumentError(this.name, 5, "B", f"shape {b.array.shape} with opB={op_b}",
                            f"op(B) with {k} rows, as op(A) has columns (A has shape {a.array.shape}, opA={op_a})")
    if first and second[0] not in (1, first[0]) and first[0] != 1:
        raise ArgumentError(this.name, 5, "B", f"{second[0]} matrices", f"{first[0]}, as A has, or 1")
    return (*(second if first == [1] else first), m, n)


def _arithmetic(this: Routine, a: Argument, compute: Any) -> Arithmetic:
    by_compute = _BY_OPERAND.get(a.array.dtype.name)
    if this.precision is not None and a.array.dtype != this.precision.dtype:
        raise DTypeError(this.name, a.position, a.name, a.array.dtype, this.precision.dtype.name)
    if by_compute is None:
        known = ", ".join(name for name in _BY_OPERAND if name != "float64") + " or float64"
        raise DTypeError(this.name, a.position, a.name, a.array.dtype,
                         known + (", with these keywords" if a.array.dtype.kind == "c" else ""))
    found = by_compute.get(None if compute == "ieee" else compute)
    if found is None:
        raise ArgumentError(this.name, None, "compute", repr(compute), " or ".join(
            "None" if name is None else repr(name) for name in by_compute) + f" for {a.array.dtype.name}")
    return found


def _out(this: Routine, arithmetic: Arithmetic, C: Any, out_dtype: Any, given: str = "C") -> str:
    """The name of C's type: as it is said, as C has it, or the first that there is."""
    if out_dtype is not None:
        name = str(getattr(out_dtype, "__name__", None) or np.dtype(out_dtype).name)
    else:
        found = arrays.describe(C) if C is not None else None
        name = found.dtype.name if found is not None else arithmetic.out[0]
    if name not in arithmetic.out:
        position, argument = (None, "out_dtype") if out_dtype is not None else (7, given)
        raise DTypeError(this.name, position, argument, name, " or ".join(arithmetic.out))
    return name


def _number(this: Routine, position: int, name: str, value: Any, kind: Precision, out: str) -> float:
    found = checks.number(this.name, position, name, value, kind)
    if out == "int32" and (not abs(found) < 2**31 or found != int(found)):
        raise ArgumentError(this.name, position, name, found, "an integer of 32 bits, since C is int32")
    return found


def _scales(this: Routine, a: Argument, scale_a: Any, m: int, scale_b: Any,
            n: int) -> tuple[float, dict[str, Argument]]:
    """What 8-bit floats are multiplied with: the product of what are numbers, and what are arrays, by name."""
    factor, found = 1.0, {}
    for name, value, shapes in (("scale_a", scale_a, ((m,), (m, 1))), ("scale_b", scale_b, ((n,), (1, n)))):
        if value is None:
            continue
        if a.array.dtype.name not in _SHORT:
            raise ArgumentError(this.name, None, name, "a scale", f"None, since A is {a.array.dtype.name}")
        array = arrays.describe(value)
        if array is None or (array.ndim == 0 and array.place == arrays.HOST):
            factor *= checks.number(this.name, None, name, value, S)
            continue
        found[name] = Argument(None, name, array, value)
        checks.dtype(this.name, found[name], S.dtype)
        if array.shape not in ((), (1,), *shapes):
            raise ArgumentError(this.name, None, name, f"shape {array.shape}",
                                f"a number, or shape {shapes[0]} or {shapes[1]}")
    return factor, found


def _epilogue(this: Routine, epilogue: Any, aux: Any, out: str) -> tuple[str, str]:
    """The activation, and what aux is for."""
    if epilogue is None:
        if aux is not None:
            raise ArgumentError(this.name, None, "aux", "an array", "None without an epilogue")
        return "", ""
    gradient = isinstance(epilogue, str) and epilogue[:1] == "d"
    name = epilogue[1:] if gradient else epilogue
    if name not in ACTIVATIONS:
        raise ArgumentError(this.name, None, "epilogue", repr(epilogue), "None, " + ", ".join(
            repr(prefix + known) for prefix in ("", "d") for known in ACTIVATIONS))
    if out == "int32":
        raise ArgumentError(this.name, None, "epilogue", repr(epilogue), "None, since C is int32")
    if gradient and aux is None:
        raise ArgumentError(this.name, None, "aux", "None", f"what went into the activation, for {epilogue!r}")
    return name, "gradient" if gradient else "store" if aux is not None else ""


def _bias(this: Routine, name: str, bias: Any, m: int, n: int, c: Argument, out: str) -> tuple[str, Argument]:
    """Which way the bias goes, by the rules of broadcasting: (n,) and (1, n) to every row, (m, 1) to every column."""
    if out == "int32":
        raise ArgumentError(this.name, None, name, "an array", "None, since C is int32")
    found = arrays.describe(bias)
    if found is None:
        raise DTypeError(this.name, None, name, type(bias).__name__, "an array")
    argument = Argument(None, name, found, bias)
    checks.dtype(this.name, argument, c.array.dtype)
    if found.shape in ((n,), (1, n)):
        return "column", argument
    if found.shape == (m, 1):
        return "row", argument
    raise ArgumentError(this.name, None, name, f"shape {found.shape}", f"shape {(n,)}, {(1, n)} or {(m, 1)}")


def _operand(array: Array, op: Op) -> Array:
    """op(array), real: its memory seen the other way."""
    return _turned(array) if op.transposes else array


def _turned(array: Array) -> Array:
    shape, strides = (values[:-2] + values[:-3:-1] for values in (array.shape, array.strides))
    return Array(array.pointer, shape, strides, array.dtype, array.writeable, array.place, array.owner)


def _chunked(array: Array) -> bool:
    """Whether all matrices begin at multiples of 16 bytes, and go on at multiples of them but for their fast axis."""
    *batch, first, second = (abs(stride) if extent > 1 else 0
                             for stride, extent in zip(array.strides, array.shape, strict=True))
    return not any(step % 16 for step in (array.pointer, max(first, second), *batch))
