"""float16 kernels, whose operations come from NVRTC-compiled CUDA C++."""

import numpy as np
from numba import cuda, float32, void
from numba.cuda.types import float16

from gpublas.testing.ptx import Kernel

RNG = np.random.default_rng(2)


def test_half_arithmetic():
    def apply(x, y, out):
        i = cuda.grid(1)
        a, b = x[i], y[i]
        out[0, i] = a + b
        out[1, i] = a - b
        out[2, i] = a * b
        out[3, i] = a / b
        out[4, i] = cuda.fp16.hfma(a, b, a)
        out[5, i] = -a
        out[6, i] = cuda.fp16.hmax(a, b)
        out[7, i] = cuda.fp16.habs(a)
        out[8, i] = float16(float32(a) * float32(3))
        if a > b:
            out[9, i] = a
        else:
            out[9, i] = b

    x, y = RNG.uniform(-2, 2, 256).astype(np.float16), RNG.uniform(-2, 2, 256).astype(np.float16)
    out = np.zeros((10, 256), np.float16)
    Kernel(apply, void(float16[:], float16[:], float16[:, :]))[2, 128](x, y, out)
    exact = (x.astype(np.float64) * y.astype(np.float64) + x.astype(np.float64)).astype(np.float16)
    expected = [x + y, x - y, x * y, x / y, exact, -x, np.maximum(x, y), abs(x),
                (x.astype(np.float32) * np.float32(3)).astype(np.float16), np.maximum(x, y)]
    for got, want in zip(out, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_half_functions():
    def apply(x, out):
        i = cuda.grid(1)
        v = x[i]
        out[0, i] = cuda.fp16.hexp(v)
        out[1, i] = cuda.fp16.hlog(v)
        out[2, i] = cuda.fp16.hsqrt(v)
        out[3, i] = cuda.fp16.hsin(v)
        out[4, i] = cuda.fp16.hfloor(v)
        out[5, i] = cuda.fp16.hrcp(v)

    x, out = RNG.uniform(0.1, 4, 128).astype(np.float16), np.zeros((6, 128), np.float16)
    Kernel(apply, void(float16[:], float16[:, :]))[1, 128](x, out)
    wide = x.astype(np.float64)
    expected = [np.exp(wide), np.log(wide), np.sqrt(wide), np.sin(wide), np.floor(wide), 1 / wide]
    for got, want in zip(out, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-3)
