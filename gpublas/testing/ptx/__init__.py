"""The PTX executor: compiled Numba CUDA kernels run on the CPU, with checks and counters."""

from ...cuda.frontend import compile_ptx, imaginary_device
from .counters import AccessCount, Counters
from .kernel import Kernel
from .parse import PTXError
from .program import KernelFault, Program

__all__ = ["AccessCount", "Counters", "Kernel", "KernelFault", "PTXError", "Program", "compile_ptx", "imaginary_device"]
