"""gemm with more than one precision on the host: float32 products by NumPy's BLAS, float64 ones (exact) for int8."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array
from ..context import Call
from ..mixed import MixedProblem, Operands


@np.errstate(all="ignore")
def mixed_gemm(call: Call, problem: MixedProblem, alpha: float, beta: float, operands: Operands) -> None:
    """C = epilogue(alpha A B + beta C + bias)."""
    A, B, C, bias, aux, scale_a, scale_b, bias_grad = operands
    wide = np.dtype(np.float64 if problem.kind in ("s8", "f64", "dmma") else np.float32)
    real = np.dtype(np.float64 if problem.out == "f64" else np.float32)
    target = _view(C)
    if problem.k:
        product = _view(A).astype(wide) @ _view(B).astype(wide)
    else:
        product = np.zeros(target.shape, wide)
    if problem.out == "s32":
        total = int(alpha) * product.astype(np.int64)
        if beta != 0:
            total += int(beta) * target.astype(np.int64)
        target[...] = total.astype(np.int32)  # what does not fit wraps, as in the kernel
        return
    factor: Any = real.type(alpha)
    for scale, shape in ((scale_a, (-1, 1)), (scale_b, (1, -1))):
        if scale is not None:
            factor = factor * _view(scale).reshape(shape)
    x = factor * product.astype(real)
    if beta != 0:
        x += real.type(beta) * target.astype(real)
    if bias is not None:
        x += _view(bias).reshape((-1, 1) if problem.bias == "row" else (1, -1)).astype(real)
    if problem.aux == "gradient" and aux is not None:
        x *= _slope(problem.activation, _view(aux).astype(real))
    else:
        if aux is not None:
            _view(aux)[...] = x.astype(aux.dtype)
        x = _activate(problem.activation, x)
    target[...] = x.astype(target.dtype)
    if bias_grad is not None:
        sums = target.astype(real).sum(1 if problem.bias_grad == "row" else 0)
        _view(bias_grad)[...] = sums.reshape(bias_grad.shape).astype(bias_grad.dtype)


def mixed_gemm_many(call: Call, problem: MixedProblem, alpha: float, beta: float, items: list[Operands]) -> None:
    """C = alpha A B + beta C for each of some operands, all of them of the problem."""
    for operands in items:
        mixed_gemm(call, problem, alpha, beta, operands)


def _view(array: Array) -> np.ndarray:
    """The memory as it is to be read: of the owner, or of its transpose."""
    memory = array.ndarray
    return memory if (memory.shape, memory.strides) == (array.shape, array.strides) else memory.swapaxes(-1, -2)


_CUBIC, _ROOT = 0.044715, math.sqrt(2 / math.pi)  # Python numbers take the type of the array beside them


def _activate(name: str, x: np.ndarray) -> np.ndarray:
    """The activation, by the formulas of cuda/gemm/epilogue.py."""
    if name == "relu":
        return np.where(x < 0, x.dtype.type(0), x)
    if name == "gelu":
        return 0.5 * x * (1 + _erf(x * math.sqrt(0.5)))
    if name == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(_ROOT * (x + _CUBIC * x * x * x)))
    if name == "silu":
        return x / (1 + np.exp(-x))
    return x


def _slope(name: str, x: np.ndarray) -> Any:
    """Its derivative."""
    if name == "relu":
        return np.where(np.isnan(x), x, (x > 0).astype(x.dtype))
    if name == "gelu":
        normal = 1 / math.sqrt(2 * math.pi) * np.exp(-0.5 * x * x)
        return 0.5 * (1 + _erf(x * math.sqrt(0.5))) + x * normal
    if name == "gelu_tanh":
        t = np.tanh(_ROOT * (x + _CUBIC * x * x * x))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _ROOT * (1 + 3 * _CUBIC * x * x)
    s = 1 / (1 + np.exp(-x))
    return s * (1 + x * (1 - s))


def _erf(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return erf(x)
