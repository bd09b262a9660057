"""Level 1 on the host: reference BLAS where it keeps our rules at the corners, NumPy where it does not.

NumPy serves scal (BLAS may not read what it multiplies by zero), dot and asum (float32 sums in BLAS are less accurate
than pairwise ones), nrm2 and iamax (NaN and Inf). Chunks of a vector that fit into cache go through workspace.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from ctypes import byref
from typing import Any

import numpy as np

from ..arrays import HOST, Array
from ..checks import Scalar
from ..context import Call
from ..operands import Vector
from ..precision import D, Z
from . import reference
from .reference import INT_MAX, integer

_CHUNK = 1 << 13  # elements that go through workspace at a time
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
        with _for_blas(call, x) as x, _for_blas(call, y, output=True) as y:
            _fortran("axpy", alpha, x, y)


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
    with _for_blas(call, x, output=True) as x, _for_blas(call, y, output=True) as y:
        _fortran("swap", x, y)


def rot(call: Call, x: Vector, y: Vector, c: Scalar, s: Scalar, real: bool) -> None:
    """(x, y) = (c x + s y, c y - conj(s) x); c is real, and s too where `real` says so."""
    if real:
        name = {"s": "srot", "d": "drot", "c": "csrot", "z": "zdrot"}[x.precision.prefix]
        with _for_blas(call, x, output=True) as x, _for_blas(call, y, output=True) as y:
            _fortran(name, x, y, c, s, real_scalars=True)
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
    with _for_blas(call, x, output=True) as x, _for_blas(call, y, output=True) as y:
        _fortran("rotm", x, y, np.ascontiguousarray(values, x.precision.real))


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
    best, where = None, -1
    with np.errstate(all="ignore"):
        for start in range(0, x.size, _CHUNK):
            part = np.abs(halves(x.part(start, min(start + _CHUNK, x.size))))
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


@contextlib.contextmanager
def _for_blas(call: Call, vector: Vector, output: bool = False) -> Iterator[Vector]:
    """The vector, or a compact copy of it where BLAS cannot address its memory; outputs are copied back.

    A stride of zero is none that BLAS promises to take.
    """
    if 0 < abs(vector.stride) <= INT_MAX or vector.size <= 1:
        yield vector
        return
    with call.host_workspace((vector.size,), vector.precision.dtype) as compact:
        compact[...] = view(vector)
        yield Vector(compact.ctypes.data, vector.size, 1, vector.precision)
        if output:
            view(vector)[...] = compact


def _fortran(name: str, *arguments: Any, real_scalars: bool = False) -> None:
    """Call a subroutine of the reference interface on vectors, scalars and arrays, in pieces that 32 bits count."""
    vectors = [argument for argument in arguments if isinstance(argument, Vector)]
    precision, size = vectors[0].precision, vectors[0].size
    routine = reference.routine(name if real_scalars else precision.prefix + name)
    kind = precision.real if real_scalars else precision.dtype
    for start in range(0, size, INT_MAX):
        passed: list[Any] = [byref(integer(min(size - start, INT_MAX)))]
        keep = []
        for argument in arguments:
            if isinstance(argument, Vector):
                piece = argument if size <= INT_MAX else argument.part(start, min(start + INT_MAX, size))
                passed += [piece.lowest, byref(integer(piece.stride if size > 1 else 1))]
            else:
                keep.append(np.array(argument.value, kind) if isinstance(argument, Scalar) else argument)
                passed.append(keep[-1].ctypes.data)
        routine(*passed)
