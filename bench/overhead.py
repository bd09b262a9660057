"""What a small call costs beside its arithmetic.

On the CPU: our call and SciPy's for the same operands (n = 10), interleaved in one run, medians of processor time.
On the GPU path: the host's time for a repeated call on device arrays, with the launch itself left out (a device whose
driver does nothing), so that no GPU is needed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gpublas
from gpublas.cuda.executor import ExecutorDevice
from gpublas.testing.buffers import DeviceArray

from . import machine

_N = 10
_CALLS = 2000


def _cpu_pairs() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Our call and SciPy's for the same operands, in place where both can."""
    from scipy.linalg import blas

    rng = np.random.default_rng(0)
    A, B, C = (np.asfortranarray(rng.random((_N, _N))) for _ in range(3))
    triangle = np.asfortranarray(np.eye(_N) + np.tril(rng.random((_N, _N))) / _N)
    x, y = rng.random(_N), rng.random(_N)
    return {
        "daxpy": (lambda: gpublas.daxpy(1e-9, x, y), lambda: blas.daxpy(x, y, a=1e-9)),
        "ddot": (lambda: gpublas.ddot(x, y), lambda: blas.ddot(x, y)),
        "dscal": (lambda: gpublas.dscal(1.0, x), lambda: blas.dscal(1.0, x)),
        "dnrm2": (lambda: gpublas.dnrm2(x), lambda: blas.dnrm2(x)),
        "dgemv": (lambda: gpublas.dgemv("N", 1.0, A, x, 0.0, y),
                  lambda: blas.dgemv(1.0, A, x, 0.0, y, overwrite_y=1)),
        "dger": (lambda: gpublas.dger(1e-9, x, y, A), lambda: blas.dger(1e-9, x, y, a=A, overwrite_a=1)),
        "dgemm": (lambda: gpublas.dgemm("N", "N", 1.0, A, B, 0.0, C),
                  lambda: blas.dgemm(1.0, A, B, 0.0, C, overwrite_c=1)),
        "dtrsm": (lambda: gpublas.dtrsm("L", "L", "N", "N", 1.0, triangle, B),
                  lambda: blas.dtrsm(1.0, triangle, B, lower=1, overwrite_b=1)),
    }


class _Undriven(ExecutorDevice):
    """A device that takes launches and runs none."""

    keeps_ranges = False

    def launch(self, kernel: Any, grid: Any, arguments: Any, stream: Any, memory: Any) -> None:
        """Nothing: what is measured ends here."""


class _Resident(DeviceArray):
    """A device array whose interface is made once, so that its making is not measured."""

    def __init__(self, values: np.ndarray):
        super().__init__(values)
        self.interface = DeviceArray.__cuda_array_interface__.fget(self)  # type: ignore[attr-defined]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface


def _gpu_calls() -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    x, y, u, v = (_Resident(rng.random(extent).astype("f4")) for extent in (1000, 1000, 64, 64))
    A, B, C = (_Resident(rng.random((64, 64)).astype("f4")) for _ in range(3))
    return {"saxpy": lambda: gpublas.saxpy(2.0, x, y), "sgemv": lambda: gpublas.sgemv("N", 1.0, A, u, 0.0, v),
            "sgemm": lambda: gpublas.sgemm("N", "N", 1.0, A, B, 0.0, C)}


def _microseconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    for _ in range(_CALLS):
        call()
    return (time.process_time() - start) / _CALLS * 1e6


def run(rounds: int, keep: bool) -> None:
    """Measure, print a table, and keep the figures when asked."""
    figures: dict[str, dict[str, float]] = {}
    with gpublas.use("cpu"):
        pairs = _cpu_pairs()
        samples: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in pairs}
        for _ in range(rounds):
            for name, (ours, theirs) in pairs.items():
                samples[name][0].append(_microseconds(ours))
                samples[name][1].append(_microseconds(theirs))
    print(f"{'cpu, n = 10':<14}{'gpublas us':>12}{'SciPy us':>12}{'ratio':>8}")
    for name, (ours, theirs) in samples.items():
        a, b = statistics.median(ours), statistics.median(theirs)
        figures[name] = {"gpublas_us": a, "scipy_us": b, "ratio": a / b}
        print(f"{name:<14}{a:>12.2f}{b:>12.2f}{a / b:>8.1f}")
    print(f"\n{'GPU path, host time to launch':<32}{'us':>6}")
    with gpublas.use(gpublas.Context(_Undriven())):
        for name, call in _gpu_calls().items():
            call()
            figures[f"{name} to launch"] = {"gpublas_us": statistics.median(_microseconds(call) for _ in range(rounds))}
            print(f"{name:<32}{figures[f'{name} to launch']['gpublas_us']:>6.1f}")
    if keep:
        print(f"\nkept in {machine.save('overhead', figures)}")
