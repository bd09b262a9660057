'''The PTX executor: compiled Numba CUDA kernels run on the CPU, with checks and counters.

A kernel's PTX, the text a GPU's driver would be given, is translated to LLVM IR and compiled for this machine. Each
thread of a block is a resumable function; at barriers and warp-wide instructions its live registers are saved and a
compiled scheduler goes on with the next thread. So what is tested is the code a GPU executes, without a GPU:

>>> import numpy as np
>>> from numba import cuda, float32, void
>>> from gpublas.testing.ptx import Kernel, KernelFault
>>> def scale(a, x):
...     i = cuda.grid(1)
...     x[i] = a * x[i]
>>> x = np.arange(6, dtype=np.float32)
>>> kernel = Kernel(scale, void(float32, float32[::1]), counters=True)
>>> counts = kernel[2, 3](10, x)  # grid, block
>>> x
array([ 0., 10., 20., 30., 40., 50.], dtype=float32)
>>> counts.global_requests, counts.instructions["st.global.f32"]
(4, 6)
>>> try:
...     kernel[3, 3](10, x)
... except KernelFault as fault:
...     print(str(fault).split(" at ")[0])
out-of-bounds global access by block (2, 0, 0) thread (0, 0, 0)

Without NumPy arrays, from PTX and addresses:

>>> from gpublas.testing.ptx import Program, compile_ptx
>>> from numba import types
>>> def fill(out, value):
...     out[cuda.threadIdx.x] = value
>>> texts = compile_ptx(fill, void(types.CPointer(float32), float32), cc=(8, 0))
>>> program = Program.compile(texts)
>>> program.launch(1, 4, 0, [np.uint64(x.ctypes.data), np.float32(7)], [(x.ctypes.data, x.nbytes)])
>>> x
array([  7.,   7.,   7.,   7., 400., 500.], dtype=float32)

Program.compile(texts, name=None, checked=True, counters=False, opt=2)
    A kernel from the PTX texts it is linked from. Recent programs stay in memory; native code stays on disk
    (gpublas.diskcache), so that a program seen before starts without compiling, in any process.
Program.launch(grid, block, shared_bytes, values, memory, order="forward", seed=0, workers=None)
    Runs it. values: NumPy scalars, one per parameter; memory: (address, bytes) pairs the kernel may touch.
    order: "forward", "reverse" or "random" stepping of threads between synchronisations, to expose races.
Kernel(function, signature, cc=(8, 0), checked=True, order="forward", seed=0, counters=False, workers=None, ...)
    The same for a Python function; kernel[grid, block, shared_bytes](*arguments) takes NumPy arrays and scalars.
KernelFault
    A forbidden or misaligned access, a deadlock, a divergent barrier, a trap: which thread, which PTX line.
Counters
    instructions by opcode; global_requests, global_sectors, minimum_sectors; shared_requests, shared_wavefronts,
    bank_conflicts; accesses, one AccessCount per instruction that touches memory.
compile_ptx(function, signature, cc, **options)
    PTX without a driver.

Uninitialised shared and local memory, and destinations of copies on their way hold NaN patterns. Bulk and tensor copies
(TMA) are done late: one at a time when no thread can go on, the first that was issued before the others (the last in
reverse order), or now and then in random order. Shared memory that changes before a copy out of it was waited for is a
fault, and so is a block that ends while copies are on their way. Maps of tensor copies are those of
gpublas.testing.ptx.tensormap. Not modelled: im2col, multicast, reductions by copies, sparse mma, clusters; wgmma
completes at once, so that a missing wait for it goes unnoticed, and so does a missing fence.proxy.async;
cp.async.bulk.wait_group.read waits for writes too; loops that wait on plain loads never end; accesses to local and
constant memory are not checked against bounds; accesses inside functions that were not inlined are not counted.
'''

from ...cuda.frontend import compile_ptx, imaginary_device
from .counters import AccessCount, Counters
from .kernel import Kernel
from .parse import PTXError
from .program import KernelFault, Program

__all__ = [
    "AccessCount", "Counters", "Kernel", "KernelFault", "PTXError", "Program", "compile_ptx", "imaginary_device",
]
