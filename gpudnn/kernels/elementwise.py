"""Element-wise loops over up to five strided axes: scaled copies and bias, and the activations."""

from __future__ import annotations

from numba import cuda

from gpublas.cuda.compile import KernelSource

from .common import CODE, REAL, indexing, int64

THREADS = 256
AXES = 5


def elementwise(dtype: str, operation: str, wide: bool) -> KernelSource:
    """One thread an element of `out`; a, b: inputs (b is ignored by operations of one input).

    operation: "axpby": out = alpha*a + beta*out, where alpha == 0 does not read a and beta == 0 does not read out;
    "relu": out = a where a > 0 or NaN, else 0; "relu_backward": out = a (the gradient) where b > 0 or NaN, else 0.
    """
    real = REAL[dtype]
    index, number, split = indexing(wide, THREADS)

    if operation == "axpby":
        @cuda.jit(device=True)
        def store(out, at, a, at_a, b, at_b, alpha, beta):
            value = real(0)
            if alpha != real(0):
                value = alpha * a[at_a]
            if beta != real(0):
                value += beta * out[at]
            out[at] = value
    elif operation == "relu":
        @cuda.jit(device=True)
        def store(out, at, a, at_a, b, at_b, alpha, beta):
            value = a[at_a]
            if value <= real(0):  # false for NaN, which so passes
                value = real(0)
            out[at] = value
    else:
        assert operation == "relu_backward", operation

        @cuda.jit(device=True)
        def store(out, at, a, at_a, b, at_b, alpha, beta):
            value = a[at_a]
            if b[at_b] <= real(0):
                value = real(0)
            out[at] = value

    def kernel(out, a, b, total, n1, n2, n3, n4, o0, o1, o2, o3, o4, a0, a1, a2, a3, a4, b0, b1, b2, b3, b4,
               alpha, beta):
        # 1. The thread's element; the last axis runs along memory.
        rest = number()
        if rest >= index(total):
            return
        rest, i4 = split(rest, n4)
        rest, i3 = split(rest, n3)
        rest, i2 = split(rest, n2)
        rest, i1 = split(rest, n1)
        # 2. Where it lies in each operand.
        at = int64(rest) * o0 + int64(i1) * o1 + int64(i2) * o2 + int64(i3) * o3 + int64(i4) * o4
        at_a = int64(rest) * a0 + int64(i1) * a1 + int64(i2) * a2 + int64(i3) * a3 + int64(i4) * a4
        at_b = int64(rest) * b0 + int64(i1) * b1 + int64(i2) * b2 + int64(i3) * b3 + int64(i4) * b4
        # 3. The operation.
        store(out, at, a, at_a, b, at_b, alpha, beta)

    return KernelSource(kernel, "ppp" + "l" * 20 + CODE[dtype] * 2, (real,) * 3, THREADS)
