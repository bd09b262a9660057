"""What a gemm kernel does with its sums before it stores them: scale, add C, bias, activation, gradients, rounding.

One element at a time, in float32 (float64 where C is): x = alpha sum + beta C + bias; aux = x, if asked for;
C = activation(x). A gradient multiplies instead: C = (alpha sum + beta C + bias) activation'(aux). Formulas:
D. Hendrycks, K. Gimpel, "Gaussian error linear units", arXiv 1606.08415 (gelu, and its tanh form); S. Elfwing et al.,
"Sigmoid-weighted linear units", Neural Networks 107 (2018) (silu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numba import cuda, float32, float64, int32, uint16, uint32

from ..ptx import instruction, pointer_to
from .config import FLOAT8_KINDS

device = cuda.jit(device=True)


@dataclass(frozen=True)
class Epilogue:
    """A key of the kernels.

    out: type of C, "f16", "bf16", "f32", "f64" or "s32". activation: see activation_functions; "" for none. bias:
    "row" (a number for each row of C), "column" or "". aux: "store" (what goes into the activation), "gradient" (what
    once went in), or "". bias_grad: whether sums of rows or columns of C are kept, as bias; see sums.py.
    """

    out: str
    activation: str = ""
    bias: str = ""
    aux: str = ""
    bias_grad: str = ""


OUT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "s32": 4, "f64": 8}  # of an element of C
_WIDE = {"f32": float32, "f64": float64, "s32": int32}  # types of C that are numbers of a kernel as they are
_half_to_float = instruction("cvt.f32.f16 $0, $1;", "f", "h")
_float_to_half = instruction("cvt.rn.f16.f32 $0, $1;", "h", "f")
_float_to_bfloat = instruction("cvt.rn.bf16.f32 $0, $1;", "h", "f")
_as_float = instruction("mov.b32 $0, $1;", "f", "r")

def activation_functions(name: str, real):
    """Device functions (activation, its derivative) of a Numba type's numbers; NaN stays NaN."""
    zero, one, half = real(0), real(1), real(0.5)
    root_half, root, cubic = real(math.sqrt(0.5)), real(math.sqrt(2 / math.pi)), real(0.044715)
    normal = real(1 / math.sqrt(2 * math.pi))
    return {
        "": (device(lambda x: x), None),
        "relu": (device(lambda x: zero if x < zero else x),
                 device(lambda x: x if x != x else one if x > zero else zero)),
        "gelu": (device(lambda x: half * x * (one + math.erf(x * root_half))),
                 device(lambda x: half * (one + math.erf(x * root_half)) + x * normal * math.exp(-half * x * x))),
        "gelu_tanh": (device(lambda x: half * x * (one + math.tanh(root * (x + cubic * x * x * x)))),
                      _gelu_tanh_slope(real, root, cubic)),
        "silu": (device(lambda x: x / (one + math.exp(-x))), _silu_slope(one)),
    }[name]


def _gelu_tanh_slope(real, root, cubic):
    one, half, three = real(1), real(0.5), real(3)

    @device
    def slope(x):
        t = math.tanh(root * (x + cubic * x * x * x))
        return half * (one + t) + half * x * (one - t * t) * root * (one + three * cubic * x * x)

    return slope


def _silu_slope(one):
    @device
    def slope(x):
        s = one / (one + math.exp(-x))
        return s * (one + x * (one - s))

    return slope


def element_access(kind: str):
    """Device functions (load, store): one element of a type at an address and an index, as float32 (float64, int32 for
    f64, s32). store gives back what is stored, rounded."""
    if kind in _WIDE:
        element = _WIDE[kind]

        @device
        def load(address, at):
            return pointer_to(address, element)[at]

        @device
        def store(address, at, value):
            pointer_to(address, element)[at] = value
            return value
    elif kind == "f16":
        @device
        def load(address, at):
            return _half_to_float(pointer_to(address, uint16)[at])

        @device
        def store(address, at, value):
            rounded = _float_to_half(value)
            pointer_to(address, uint16)[at] = rounded
            return _half_to_float(rounded)
    else:
        @device
        def load(address, at):
            return _as_float(uint32(uint32(pointer_to(address, uint16)[at]) << uint32(16)))

        @device
        def store(address, at, value):
            rounded = _float_to_bfloat(value)
            pointer_to(address, uint16)[at] = rounded
            return _as_float(uint32(uint32(rounded) << uint32(16)))
    return load, store


def finisher(kind: str, out: str, activation: str, bias: str, aux: str, bias_grad: str = ""):
    """Device function: one element of C from its sum, a float64 number for "dmma", else 32 bits as `kind` has them.

    finish(C, at, sum, i, j, bias, bias_step, aux, aux_at, alpha, beta): element (i, j) is C[at]; bias and aux are
    addresses; aux is of C's type and its element is aux[aux_at]. It gives back what is stored, rounded to C's type.
    """
    if out == "s32":
        load, store = element_access(out)

        @device
        def finish_integers(C, at, sum, i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta):
            value = int32(alpha * int32(sum))
            if beta != 0:
                value = int32(value + int32(beta * load(C, at)))
            return store(C, at, value)
        return finish_integers
    finish_number = number_finisher(out, activation, bias, aux)
    if kind == "dmma":
        return finish_number
    if kind == "s8":
        @device
        def finish(C, at, sum, i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta):
            return finish_number(C, at, float32(int32(sum)), i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta)
    else:
        unit = float32(2.0 ** (8 * kind.count("e4m3")))  # these numbers are multiplied as 2**-8 of theirs

        @device
        def finish(C, at, sum, i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta):
            return finish_number(C, at, unit * _as_float(sum), i, j, bias_at, bias_step, aux_at, aux_place, alpha,
                                 beta)
    return finish


def scaler(kind: str):
    """Device function: alpha for element (i, j), times what operands of 8-bit floats are to be multiplied with.

    scale_a, scale_b: addresses of float32 numbers for the rows of A and columns of B with steps in elements, or 0.
    """
    if kind not in FLOAT8_KINDS:
        return device(lambda alpha, i, j, scale_a, a_step, scale_b, b_step: alpha)

    @device
    def scaled(alpha, i, j, scale_a, a_step, scale_b, b_step):
        if scale_a != 0:
            alpha *= pointer_to(scale_a, float32)[i * a_step]
        if scale_b != 0:
            alpha *= pointer_to(scale_b, float32)[j * b_step]
        return alpha

    return scaled


def number_finisher(out: str, activation: str, bias: str, aux: str, bias_grad: str = ""):
    """Device function like `finisher`'s for a sum that is a number: float64 where C is, else float32."""
    load, store = element_access(out)
    function, slope = activation_functions(activation, float64 if out == "f64" else float32)
    by_row, by_column, stores_aux, is_gradient = bias == "row", bias == "column", aux == "store", aux == "gradient"

    @device
    def finish(C, at, sum, i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta):
        x = alpha * sum
        if beta != 0:
            x += beta * load(C, at)
        if by_row:
            x += load(bias_at, i * bias_step)
        if by_column:
            x += load(bias_at, j * bias_step)
        if stores_aux:
            store(aux_at, aux_place, x)
        if is_gradient:
            x *= slope(load(aux_at, aux_place))
        else:
            x = function(x)
        return store(C, at, x)

    return finish


def sums_finisher(epilogue: tuple, parts: int, real):
    """Device function: one element of C from the kernel's array of sums, `parts` numbers of type `real` each.

    epilogue: the fields of an Epilogue, or () for alpha and beta alone.
    """
    return _fused(epilogue) if epilogue else _plain(parts, real)


def _plain(parts, real):
    """Device function: one element of the result; is_real: on the diagonal of a Hermitian one.

    The arguments after it are for `_fused`, which has the same ones.
    """
    zero = real(0)
    if parts == 1:
        @device
        def finish(address, at, accumulators, index, alpha, alpha_imag, beta, beta_imag, is_real, i, j, bias, bias_step,
                   aux, aux_at):
            C = pointer_to(address, real)
            value = alpha * accumulators[index]
            if beta != 0:
                value += beta * C[at]
            C[at] = value
    else:
        @device
        def finish(address, at, accumulators, index, alpha_real, alpha_imag, beta_real, beta_imag, is_real, i, j, bias,
                   bias_step, aux, aux_at):
            C = pointer_to(address, real)
            x, y = accumulators[2 * index], accumulators[2 * index + 1]
            real_part, imag = alpha_real * x - alpha_imag * y, alpha_real * y + alpha_imag * x
            if beta_real != 0 or beta_imag != 0:
                x, y = C[2 * at], C[2 * at + 1]
                real_part += beta_real * x - beta_imag * y
                imag += beta_real * y + beta_imag * x
            C[2 * at], C[2 * at + 1] = real_part, zero if is_real else imag
    return finish


def _fused(epilogue):
    """Device function: one element of a real result with bias, activation or gradient (the fields of an Epilogue)."""
    finish_number = number_finisher(*epilogue)

    @device
    def finish(address, at, accumulators, index, alpha, alpha_imag, beta, beta_imag, is_real, i, j, bias, bias_step,
               aux, aux_at):
        finish_number(address, at, accumulators[index], i, j, bias, bias_step, aux, aux_at, alpha, beta)

    return finish
