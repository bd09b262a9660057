"""How kernels get alpha and beta: by value, or from device memory, which the host then need not wait for.

A kernel takes two addresses, a mask of the bits below, and (real, imaginary) values for both scalars.
"""

from __future__ import annotations

from typing import Any

ALPHA_THERE, BETA_THERE = 1, 2  # read it at its address
ALPHA_REAL, BETA_REAL = 4, 8  # what lies there is a real number, though the kernel is complex
ALPHA_CONJUGATE = 16  # use the conjugate of alpha
GATE = 32  # do nothing at all if what lies at alpha's address is zero

# The values of a call that a plan names where a kernel takes its scalars, in the kernel's order.
NAMES = ("alpha_at", "beta_at", "scalars", "alpha_real", "alpha_imag", "beta_real", "beta_imag")


def values(alpha: Any, beta: Any, conjugate_alpha: bool = False) -> dict[str, Any]:
    """alpha and beta (checks.Scalar) under NAMES."""
    mask = ALPHA_CONJUGATE if conjugate_alpha else 0
    if alpha.argument or beta.argument:
        for scalar, there, real in ((alpha, ALPHA_THERE, ALPHA_REAL), (beta, BETA_THERE, BETA_REAL)):
            if scalar.argument:
                mask |= there | (real if scalar.argument.array.dtype.kind == "f" else 0)
    a, b = alpha.value, beta.value
    return {"alpha_at": alpha.pointer, "beta_at": beta.pointer, "scalars": mask, "alpha_real": a.real,
            "alpha_imag": a.imag, "beta_real": b.real, "beta_imag": b.imag}


def scalar_reader(parts, zero):
    """Device function: (real, imaginary) of a scalar; parts: reals in an element of the kernel's type."""
    from numba import cuda  # here, since plans need only the constants above

    device = cuda.jit(device=True)
    if parts == 1:
        @device
        def read(address, mask, there, is_real, real, imag):
            if mask & there:
                return address[0], zero
            return real, imag
    else:
        @device
        def read(address, mask, there, is_real, real, imag):
            if mask & there:
                if mask & is_real:
                    return address[0], zero
                return address[0], address[1]
            return real, imag
    return read


def alpha_beta_reader(parts, zero):
    """Device function (alpha_at, beta_at, mask, four numbers): alpha and beta as they are to be used, real and
    imaginary."""
    from numba import cuda

    read = scalar_reader(parts, zero)

    @cuda.jit(device=True)
    def read_both(alpha_at, beta_at, mask, alpha_real, alpha_imag, beta_real, beta_imag):
        alpha_real, alpha_imag = read(alpha_at, mask, ALPHA_THERE, ALPHA_REAL, alpha_real, alpha_imag)
        beta_real, beta_imag = read(beta_at, mask, BETA_THERE, BETA_REAL, beta_real, beta_imag)
        if mask & ALPHA_CONJUGATE:
            alpha_imag = -alpha_imag
        return alpha_real, alpha_imag, beta_real, beta_imag

    return read_both


def gate_reader(parts, zero):
    """Device function: whether the mask asks for a gate and it is shut."""
    from numba import cuda

    device = cuda.jit(device=True)
    if parts == 1:
        @device
        def shut(address, mask):
            return mask & GATE and address[0] == zero
    else:
        @device
        def shut(address, mask):
            return mask & GATE and address[0] == zero and address[1] == zero
    return shut
