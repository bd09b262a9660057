"""Libraries that gpublas is compared with, each behind the same few functions."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Peer(Protocol):
    """name: library and what it calls. device: what gpublas.use takes for the same place."""

    name: str
    device: str

    def array(self, values: np.ndarray) -> Any:
        """The values where the peer computes, in the same order of axes in memory."""

    def numpy(self, array: Any) -> np.ndarray:
        """Back to the host."""

    def product(self, op_a: str, op_b: str, A: Any, B: Any) -> Callable[[], Any]:
        """A call that computes op(A) op(B) into memory of its own."""

    def seconds(self, call: Callable[[], Any]) -> float:
        """How long one call takes where it runs."""


class Host:
    """SciPy's BLAS."""

    name, device = "SciPy", "cpu"

    def array(self, values: np.ndarray) -> np.ndarray:
        return values

    def numpy(self, array: np.ndarray) -> np.ndarray:
        return array

    def product(self, op_a: str, op_b: str, A: np.ndarray, B: np.ndarray) -> Callable[[], Any]:
        from scipy.linalg import blas

        gemm = blas.get_blas_funcs("gemm", (A,))
        return lambda: gemm(1.0, A, B, trans_a=op_a == "T", trans_b=op_b == "T")

    def seconds(self, call: Callable[[], Any]) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start


class Torch:
    """PyTorch, that is cuBLAS, on the current GPU, without TF32."""

    name, device = "PyTorch (cuBLAS)", "cuda"

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.backends.cuda.matmul.allow_tf32 = False

    def array(self, values: np.ndarray) -> Any:
        if values.flags.f_contiguous:
            return self.torch.from_numpy(np.ascontiguousarray(values.T)).cuda().T
        return self.torch.from_numpy(values).cuda()

    def numpy(self, array: Any) -> np.ndarray:
        return array.cpu().numpy()

    def product(self, op_a: str, op_b: str, A: Any, B: Any) -> Callable[[], Any]:
        a, b = A.T if op_a == "T" else A, B.T if op_b == "T" else B
        out = self.torch.empty((b.shape[1], a.shape[0]), dtype=A.dtype, device=A.device).T
        return lambda: self.torch.mm(a, b, out=out)

    def seconds(self, call: Callable[[], Any]) -> float:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3


class Cupy:
    """CuPy, that is cuBLAS, on the current GPU."""

    name, device = "CuPy (cuBLAS)", "cuda"

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")

    def array(self, values: np.ndarray) -> Any:
        return self.cupy.asarray(values, order="F" if values.flags.f_contiguous else "C")

    def numpy(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(array)

    def product(self, op_a: str, op_b: str, A: Any, B: Any) -> Callable[[], Any]:
        a, b = A.T if op_a == "T" else A, B.T if op_b == "T" else B
        out = self.cupy.empty((a.shape[0], b.shape[1]), A.dtype)
        return lambda: self.cupy.matmul(a, b, out=out)

    def seconds(self, call: Callable[[], Any]) -> float:
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        call()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) / 1e3


def find(device: str) -> Peer:
    """The peer for a device, "cpu" or "cuda"; RuntimeError says what is missing."""
    if device == "cpu":
        return Host()
    for kind, module in ((Cupy, "cupy"), (Torch, "torch")):
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        return kind()
    raise RuntimeError("comparing on a GPU needs CuPy or PyTorch; neither is installed")
