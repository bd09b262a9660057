"""The error of each arithmetic that float32 matrices may ask for, on the executor: `python -m bench.accuracy`."""

from __future__ import annotations

import numpy as np

import gpublas


def errors(compute: str | None, k: int, size: int = 64) -> float:
    """The largest error of a product of normal random numbers, in units of 2**-24 (|A| |B|)."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((size, k)).astype(np.float32), rng.standard_normal((size, k)).astype(np.float32)
    exact = A.astype(np.float64) @ B.astype(np.float64).T
    scale = np.abs(A).astype(np.float64) @ np.abs(B).astype(np.float64).T
    with gpublas.use("executor"):
        found = gpublas.sgemm("N", "T", 1.0, A, B, compute=compute)
    return float((np.abs(found - exact) / scale).max() * 2**24)


if __name__ == "__main__":
    for name in (None, "bf16x9", "tf32x3", "tf32"):
        print(f"{name!s:<8}" + "".join(f"  k = {k}: {errors(name, k):.1f}" for k in (64, 1024)))
