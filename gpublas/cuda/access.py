"""How Level 2 kernels read and write elements: of any type, in any storage, real and imaginary parts apart.

Element (i, j) of a stored matrix lies at i * row_stride + j * column_stride + column_bend * j (j + 1) / 2 (see
operands.Stored); it is there for i < m, j < n, i - j <= below and j - i <= above. What is not there is neither read
nor multiplied, so that NaN and Inf of a vector stay where they are used.
"""

from __future__ import annotations

from numba import cuda, float32, float64, int32

from .ptx import GLOBAL, vector_load, vector_store

device = cuda.jit(device=True)

REALS = {"s": float32, "d": float64, "c": float32, "z": float64}


def parts_of(precision: str) -> int:
    """Reals in an element."""
    return 2 if precision in "cz" else 1


def loader(parts: int, zero):
    """Device function: (real, imaginary) of element `at` of memory that starts at `source`."""
    load = vector_load(parts, GLOBAL)
    if parts == 1:
        @device
        def element(source, at):
            return load(source, at, 0)[0], zero
    else:
        @device
        def element(source, at):
            value = load(source, 2 * at, 0)
            return value[0], value[1]
    return element


def storer(parts: int):
    """Device function: store (real, imaginary) as element `at`."""
    store = vector_store(parts, GLOBAL)
    if parts == 1:
        @device
        def element(target, at, real, imag):
            store(target, at, 0, (real,))
    else:
        @device
        def element(target, at, real, imag):
            store(target, 2 * at, 0, (real, imag))
    return element


@device
def bent(step, bend, j):
    """Where index j of an axis begins, in elements."""
    return j * step + bend * ((j * (j + 1)) >> 1)


_FAR = 1 << 20  # beyond every index within a tile


@device
def near(distance):
    """A distance in 32 bits: exact within a tile, and on the right side of it otherwise."""
    return int32(max(min(distance, _FAR), -_FAR))


def divider(parts: int, zero):
    """Device function: (real, imaginary) of a quotient.

    Complex ones by R. Smith, "Algorithm 116: complex division", CACM 5 (1962): nothing on the way over- or
    underflows where the quotient itself does not, save in rare corners.
    """
    if parts == 1:
        @device
        def divide(a, a_imag, b, b_imag):
            return a / b, zero
    else:
        @device
        def divide(a, a_imag, b, b_imag):
            if abs(b) >= abs(b_imag):
                ratio = b_imag / b
                size = b + b_imag * ratio
                return (a + a_imag * ratio) / size, (a_imag - a * ratio) / size
            ratio = b / b_imag
            size = b_imag + b * ratio
            return (a * ratio + a_imag) / size, (a_imag * ratio - a) / size
    return divide
