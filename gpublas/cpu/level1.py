"""Level 1 on the host: reference BLAS where it keeps our rules at the corners, NumPy where it does not.

NumPy serves scal (BLAS may not read what it multiplies by zero), dot and asum (float32 sums in BLAS are less accurate
than pairwise ones), nrm2 and iamax (NaN and Inf). Chunks of a vector that fit into cache go through workspace.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import HOST, Array
from ..checks import Scalar
from ..context import Call
from ..operands import Vector
from ..precision import D, Z
from . import reference
from .reference import INT_MAX, integer, number

_CHUNK = 1 << 13  # elements at a time: they stay in cache, and no BLAS starts threads for so few
_WIDE = {"f": D.dtype, "c": Z.dtype}


def view(vector: Vector) -> np.ndarray:
    """The vector's memory as a NumPy array."""
    dtype = vector.precision.dtype
    return Array(vector.pointer, (vector.size,), (vector.stride * dtype.itemsize,), dtype, True, HOST, None).ndarray


def halves(vector: Vector) -> np.ndarray:
    """The memory as real numbers: of shape (size,), or (size, 2) for a complex vector."""
    if not vector.precision.is_complex:
        return view(vector)
    real = vector.precision.real
    return Array(vector.pointer, (vector.size, 2), (vector.stride * 2 * real.itemsize, real.itemsize), real, True, HOST,
                 None).ndarray


def axpy(call: Call, alpha: Scalar, x: Vector, y: Vector) -> None:
    """y = alpha x + y."""
    if not alpha.is_zero:  # else x is not read
        _fortran(call, y.precision.prefix + "axpy", "y", alpha, x, y)


def axpby(call: Call, alpha: Scalar, x: Vector, beta: Scalar, y: Vector) -> None:
    """y = alpha x + beta y; what a zero multiplies is not read."""
    if beta.is_zero:
        with np.errstate(all="ignore"):
            if alpha.is_zero:
                view(y)[...] = 0
            else:
                np.multiply(view(x), _number(alpha, y), out=view(y))
        return
    if beta.value != 1:
        scal(call, beta, y, real=False)
    axpy(call, alpha, x, y)


def scal(call: Call, alpha: Scalar, x: Vector, real: bool) -> None:
    """x = alpha x, also when alpha is zero; real: alpha is a real number."""
    with np.errstate(all="ignore"):
        if real:
            values = halves(x)
            values *= x.precision.real.type(alpha.value)
        else:
            values = view(x)
            values *= _number(alpha, x)


def _number(scalar: Scalar, vector: Vector) -> Any:
    return vector.precision.dtype.type(scalar.value)


def copy(call: Call, x: Vector, y: Vector) -> None:
    """y = x."""
    view(y)[...] = view(x)


def swap(call: Call, x: Vector, y: Vector) -> None:
    """x and y are exchanged."""
    _fortran(call, x.precision.prefix + "swap", "xy", x, y)


def rot(call: Call, x: Vector, y: Vector, c: Scalar, s: Scalar, real: bool) -> None:
    """(x, y) = (c x + s y, c y - conj(s) x); c is real, and s too where `real` says so."""
    if real:
        _fortran(call, {"s": "srot", "d": "drot", "c": "csrot", "z": "zdrot"}[x.precision.prefix], "xy", x, y, c, s)
        return
    for start in range(0, x.size, _CHUNK):  # crot and zrot are LAPACK's, not BLAS's
        a, b = (halves(v.part(start, min(start + _CHUNK, v.size))) for v in (x, y))
        _rotate(a, b, x.precision.real.type(c.value), s.value.real, s.value.imag)


def _rotate(a: np.ndarray, b: np.ndarray, c: Any, s: float, s_imag: float) -> None:
    """A rotation of complex numbers given as pairs of reals; c is of the real type, which makes all of it."""
    kind = type(c)
    s, s_imag = kind(s), kind(s_imag)
    with np.errstate(all="ignore"):
        turned = c * b
        turned[:, 0] -= s * a[:, 0] + s_imag * a[:, 1]
        turned[:, 1] -= s * a[:, 1] - s_imag * a[:, 0]
        a *= c
        a[:, 0] += s * b[:, 0] - s_imag * b[:, 1]
        a[:, 1] += s * b[:, 1] + s_imag * b[:, 0]
        b[...] = turned


def rotm(call: Call, x: Vector, y: Vector, param: np.ndarray | Array) -> None:
    """(x, y) = H (x, y); param: five real numbers."""
    values = param.ndarray if isinstance(param, Array) else param
    _fortran(call, x.precision.prefix + "rotm", "xy", x, y, np.ascontiguousarray(values, x.precision.real))


def dot(call: Call, x: Vector, y: Vector, conjugate: bool, start: float, result: np.dtype, out: Array | None) -> Any:
    """start + the sum of the products, in `result`'s type; conjugate: of conj(x) and y."""
    product = np.vdot if conjugate else np.dot
    total: Any = start
    with np.errstate(all="ignore"):
        for a, b in _wide_chunks(call, x, y):
            total = total + product(a, b)
        return _deliver(result.type(total), out)


def nrm2(call: Call, x: Vector, out: Array | None) -> Any:
    """The root of the sum of squares."""
    squares = 0.0
    with np.errstate(all="ignore"):
        for part in _real_chunks(x):
            squares += np.dot(part, part)
        # Squares of float32 numbers are safe in float64. Those of float64 numbers are when their sum is neither
        # infinite nor so small that what was lost to underflow counts.
        if x.precision.real == D.dtype and x.size and not _SAFE * x.size <= squares <= _LARGEST:
            return _deliver(_scaled_norm(x), out)
        return _deliver(x.precision.real.type(math.sqrt(squares)), out)


def _real_chunks(x: Vector) -> Iterator[np.ndarray]:
    """The vector's reals in float64, in one axis: as they are, or chunk by chunk."""
    values = halves(x)
    if values.dtype == np.float64 and (values.ndim == 1 or values.flags.c_contiguous):
        yield values.reshape(-1)
    else:
        for start in range(0, x.size, _CHUNK):
            yield values[start:start + _CHUNK].astype(np.float64).ravel()


_SAFE = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
_LARGEST = float(np.finfo(np.float64).max)


def _scaled_norm(x: Vector) -> np.float64:
    """nrm2 of float64 numbers whose squares may overflow or underflow: with the largest scaled to about 1."""
    values = halves(x)
    chunks = range(0, x.size, _CHUNK)
    largest = np.max([np.abs(values[start:start + _CHUNK]).max() for start in chunks])  # NaN if there is one
    if largest == 0 or not np.isfinite(largest):
        return largest
    exponent = math.frexp(largest)[1]
    squares = 0.0
    for start in chunks:
        part = np.ldexp(values[start:start + _CHUNK], -exponent).ravel()
        squares += np.dot(part, part)
    return np.ldexp(np.float64(math.sqrt(squares)), exponent)


def asum(call: Call, x: Vector, out: Array | None) -> Any:
    """The sum of magnitudes, |Re| + |Im| for complex numbers."""
    total = 0.0
    with np.errstate(all="ignore"):
        values = halves(x)
        for start in range(0, x.size, _CHUNK):
            total += np.abs(values[start:start + _CHUNK]).sum(dtype=np.float64)
        return _deliver(x.precision.real.type(total), out)


def iamax(call: Call, x: Vector, sign: int, out: Array | None) -> Any:
    """The first place of the largest (sign 1) or smallest (-1) magnitude; NumPy takes the first NaN before all."""
    pick = np.argmax if sign > 0 else np.argmin
    values = halves(x)
    best, where = None, -1
    with np.errstate(all="ignore"):
        for start in range(0, x.size, _CHUNK):
            part = np.abs(values[start:start + _CHUNK])
            sizes = part[:, 0] + part[:, 1] if part.ndim == 2 else part
            place = int(pick(sizes))
            if best is None or np.isnan(sizes[place]) or sign * sizes[place] > sign * best:
                best, where = sizes[place], start + place
            if np.isnan(best):
                break
    return _deliver(np.int64(where), out)


def _deliver(value: Any, out: Array | None) -> Any:
    """The value, also stored where the caller wants it."""
    if out is not None:
        out.ndarray[...] = value
    return value


def _wide_chunks(call: Call, *vectors: Vector) -> Iterator[tuple[np.ndarray, ...]]:
    """The vectors in float64 or complex128: as they are, or chunk by chunk through workspace."""
    size, dtype = vectors[0].size, vectors[0].precision.dtype
    wide = _WIDE[dtype.kind]
    if dtype == wide:
        yield tuple(view(vector) for vector in vectors)
        return
    with call.host_workspace((len(vectors), min(size, _CHUNK)), wide) as rows:
        sources = [view(vector) for vector in vectors]
        for start in range(0, size, _CHUNK):
            for row, source in zip(rows, sources, strict=True):
                part = source[start:start + _CHUNK]
                row[:part.size] = part
            yield tuple(row[:min(size - start, _CHUNK)] for row in rows)


def _is_blas(vector: Vector) -> bool:
    """Whether BLAS can address the memory: a stride of zero is none that it promises to take."""
    return 0 < abs(vector.stride) <= INT_MAX or vector.size <= 1


@contextlib.contextmanager
def _compact_copy(call: Call, vector: Vector, output: bool) -> Iterator[Vector]:
    """A copy in workspace, which is stored back if it is an output."""
    with call.host_workspace((vector.size,), vector.precision.dtype) as compact:
        compact[...] = view(vector)
        yield Vector(compact.ctypes.data, vector.size, 1, vector.precision)
        if output:
            view(vector)[...] = compact


def _fortran(call: Call, name: str, outputs: str, *arguments: Any) -> None:
    """Call a subroutine of the reference interface on vectors, scalars and arrays, in pieces that 32 bits count.

    outputs: "y" where only the last vector is written, "xy" where both are. Scalars are of the vectors' type in axpy,
    of its real type in the rotations.
    """
    x, y = (argument for argument in arguments if isinstance(argument, Vector))
    if not (_is_blas(x) and _is_blas(y)):
        with _compact_copy(call, x, outputs == "xy") as a, _compact_copy(call, y, True) as b:
            copies = {id(x): a, id(y): b}
            _fortran(call, name, outputs, *(copies.get(id(argument), argument) for argument in arguments))
        return
    kind = x.precision.dtype if outputs == "y" else x.precision.real
    for start in range(0, x.size, INT_MAX):
        passed: list[Any] = [integer(min(x.size - start, INT_MAX))]
        for argument in arguments:
            if isinstance(argument, Vector):
                piece = argument if x.size <= INT_MAX else argument.part(start, min(start + INT_MAX, x.size))
                passed += [piece.lowest, integer(piece.stride if x.size > 1 else 1)]
            elif isinstance(argument, Scalar):
                passed.append(number(argument.value, kind))
            else:
                passed.append(argument.ctypes.data)
        reference.routine(name)(*passed)
