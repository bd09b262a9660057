"""The error of each arithmetic that float32 matrices may ask for: on the executor, which rounds every sum, and of
"bf16x9" in a model of tensor cores that cut sums off. `python -m bench.accuracy`.

Errors are the largest of a product, in units of 2**-24 (|A| |B|).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import gpublas

_PAIRS = (((2, 2), (2, 1)), ((1, 2), (2, 0)), ((0, 2), (1, 1)), ((1, 0), (0, 1)))  # parts, in the kernel's order


def _error(found: np.ndarray, A: np.ndarray, B: np.ndarray) -> float:
    wide_a, wide_b = A.astype(np.float64), B.astype(np.float64)
    return float((np.abs(found - wide_a @ wide_b) / (np.abs(wide_a) @ np.abs(wide_b))).max() * 2**24)


def on_executor(compute: str | None, k: int) -> float:
    """For 64 x k x 64 normal numbers."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((64, k)).astype(np.float32), rng.standard_normal((64, k)).astype(np.float32)
    with gpublas.use("executor"):
        return _error(gpublas.sgemm("N", "T", 1.0, A, B, compute=compute), A, B.T)


def modelled(draw: Callable, k: int) -> tuple[float, float]:
    """For 48 x k x 48 numbers: of "bf16x9" where tensor cores cut every sum to 24 bits, and of float32 FMA."""
    A, B = draw((48, k)).astype(np.float32), draw((k, 48)).astype(np.float32)
    a, b = _parts(A), _parts(B)
    large, small, fma = np.zeros((48, 48), np.float32), np.zeros((48, 48)), np.zeros((48, 48), np.float32)
    for start in range(0, k, 8):
        step = slice(start, start + 8)
        for pair in _PAIRS:
            small = _cut(small + sum(a[i][:, step] @ b[j][step] for i, j in pair))
        large += _cut(a[0][:, step] @ b[0][step]).astype(np.float32)
    for step in range(k):  # a product of two float32 numbers is a float64 one
        fma = (fma + np.outer(A[:, step].astype(np.float64), B[step].astype(np.float64))).astype(np.float32)
    return _error(large + small.astype(np.float32), A, B), _error(fma, A, B)


def _parts(X: np.ndarray) -> list[np.ndarray]:
    """The three bfloat16 parts of float32 numbers."""
    found, rest = [], X
    for _ in range(3):
        upper = (rest.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        found.append(upper.astype(np.float64))
        rest = rest - upper
    return found


def _cut(x: np.ndarray) -> np.ndarray:
    """Numbers cut to 24 bits."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.trunc(np.ldexp(fraction, 24)), exponent - 24)


if __name__ == "__main__":
    for name in (None, "bf16x9", "tf32x3", "tf32"):
        print(f"{name!s:<8}" + "".join(f"  k = {k}: {on_executor(name, k):.1f}" for k in (64, 1024)))
    generator = np.random.default_rng(3)
    for text, draw in (("normal", generator.standard_normal), ("positive", generator.random)):
        for k in (64, 1024, 8192):
            nine, ieee = modelled(draw, k)
            print(f"model, {text} numbers, k = {k}: bf16x9 {nine:.1f}, float32 FMA {ieee:.1f}")
