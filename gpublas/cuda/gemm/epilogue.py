"""What a gemm kernel does with its sums before it stores them: scale, add C, bias, activation, gradients, rounding.

One element at a time, in float32: x = alpha sum + beta C + bias; aux = x, if asked for; C = activation(x). A gradient
multiplies instead: C = (alpha sum + beta C) activation'(aux). Formulas: D. Hendrycks, K. Gimpel, "Gaussian error linear
units", arXiv 1606.08415 (gelu, and its tanh form); S. Elfwing et al., Neural Networks 107 (2018) (silu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numba import cuda, float32, int32, uint16, uint32

from ..ptx import instruction, pointer_to

device = cuda.jit(device=True)


@dataclass(frozen=True)
class Epilogue:
    """A key of the kernels.

    out: type of C, "f16", "bf16", "f32" or "s32". activation: a key of ACTIVATIONS, "" for none. bias: "row" (one number
    for each row of C), "column" or "". aux: "store" (what goes into the activation), "gradient" (what once went into
    it), or "".
    """

    out: str
    activation: str = ""
    bias: str = ""
    aux: str = ""


_half_to_float = instruction("cvt.f32.f16 $0, $1;", "f", "h")
_float_to_half = instruction("cvt.rn.f16.f32 $0, $1;", "h", "f")
_float_to_bfloat = instruction("cvt.rn.bf16.f32 $0, $1;", "h", "f")
_as_float = instruction("mov.b32 $0, $1;", "f", "r")

_ROOT_HALF, _ROOT_2_OVER_PI, _CUBIC = math.sqrt(0.5), math.sqrt(2 / math.pi), 0.044715
_INVERSE_ROOT_2_PI = 1 / math.sqrt(2 * math.pi)


@device
def _identity(x):
    return x


@device
def _relu(x):
    return float32(0) if x < 0 else x  # NaN stays


@device
def _relu_slope(x):
    return x if x != x else float32(1) if x > 0 else float32(0)


@device
def _gelu(x):
    return float32(0.5) * x * (float32(1) + math.erf(x * float32(_ROOT_HALF)))


@device
def _gelu_slope(x):
    return (float32(0.5) * (float32(1) + math.erf(x * float32(_ROOT_HALF)))
            + x * float32(_INVERSE_ROOT_2_PI) * math.exp(float32(-0.5) * x * x))


@device
def _gelu_tanh(x):
    return float32(0.5) * x * (float32(1) + math.tanh(float32(_ROOT_2_OVER_PI) * (x + float32(_CUBIC) * x * x * x)))


@device
def _gelu_tanh_slope(x):
    t = math.tanh(float32(_ROOT_2_OVER_PI) * (x + float32(_CUBIC) * x * x * x))
    inner = float32(_ROOT_2_OVER_PI) * (float32(1) + float32(3 * _CUBIC) * x * x)
    return float32(0.5) * (float32(1) + t) + float32(0.5) * x * (float32(1) - t * t) * inner


@device
def _silu(x):
    return x / (float32(1) + math.exp(-x))


@device
def _silu_slope(x):
    s = float32(1) / (float32(1) + math.exp(-x))
    return s * (float32(1) + x * (float32(1) - s))


ACTIVATIONS = {"": (_identity, None), "relu": (_relu, _relu_slope), "gelu": (_gelu, _gelu_slope),
               "gelu_tanh": (_gelu_tanh, _gelu_tanh_slope), "silu": (_silu, _silu_slope)}


def element_access(kind: str):
    """Device functions (load, store) of one element of a type at an address and an index, as float32 (int32 for s32)."""
    if kind in ("f32", "s32"):
        element = float32 if kind == "f32" else int32

        @device
        def load(address, at):
            return pointer_to(address, element)[at]

        @device
        def store(address, at, value):
            pointer_to(address, element)[at] = value
    elif kind == "f16":
        @device
        def load(address, at):
            return _half_to_float(pointer_to(address, uint16)[at])

        @device
        def store(address, at, value):
            pointer_to(address, uint16)[at] = _float_to_half(value)
    else:
        @device
        def load(address, at):
            return _as_float(uint32(uint32(pointer_to(address, uint16)[at]) << uint32(16)))

        @device
        def store(address, at, value):
            pointer_to(address, uint16)[at] = _float_to_bfloat(value)
    return load, store


def finisher(kind: str, out: str, activation: str, bias: str, aux: str):
    """Device function: one element of C from its sum, 32 bits of the kind of sum that `kind` of arithmetic has.

    finish(C, at, sum, i, j, bias, bias_step, aux, aux_at, alpha, beta): element (i, j) is C[at]; bias and aux are
    addresses; aux is of C's type and its element is aux[aux_at].
    """
    load, store = element_access(out)
    if out == "s32":
        @device
        def finish_integers(C, at, sum, i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta):
            value = int32(alpha * int32(sum))
            if beta != 0:
                value = int32(value + int32(beta * load(C, at)))
            store(C, at, value)
        return finish_integers
    function, slope = ACTIVATIONS[activation]
    has_integers = kind == "s8"
    by_row, by_column, stores_aux, is_gradient = bias == "row", bias == "column", aux == "store", aux == "gradient"

    @device
    def finish(C, at, sum, i, j, bias_at, bias_step, aux_at, aux_place, alpha, beta):
        x = alpha * (float32(int32(sum)) if has_integers else _as_float(sum))
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
        store(C, at, x)

    return finish
