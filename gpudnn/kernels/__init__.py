"""Numba CUDA kernels. They import numba, gpublas's compile.KernelSource and precision, and each other; nothing else.

Conventions: operands are raw pointers with a stride for each axis, in elements; axes are those of views.py. All sizes
and strides arrive as int64. A factory's `wide` says that the number of threads passes 2**31, so that the thread's
number is split with 64-bit arithmetic; without it 32-bit division, which is several times cheaper, does. Offsets
are int64 in either case. Loops over channels and taps count in 32 bits.
"""
