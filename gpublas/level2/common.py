"""What the Level 2 routines share: checks of matrices in every storage, of vectors, and of the vector they make."""

from __future__ import annotations

from typing import Any

from .. import arrays, checks
from ..arrays import Array
from ..checks import Argument, Scalar
from ..context import Call, call
from ..errors import ArgumentError
from ..flags import UpLo
from ..operands import Stored
from ..precision import BY_DTYPE, Precision, Routine

FULL, BAND, PACKED = "A", "AB", "AP"  # storages, under the names of their arguments


def matrix(this: Routine, position: int, storage: str, A: Any) -> tuple[Argument, Precision]:
    """A matrix argument of the routine's type, and that type."""
    found = checks.array(this.name, position, storage, A, 1 if storage == PACKED else 2)
    kind = checks.precision(this, found)
    checks.dtype(this.name, found, kind.dtype)
    return found, kind


def typed_vector(this: Routine, position: int, name: str, x: Any, kind: Precision) -> Argument:
    """A vector argument of the routine's type, of any length."""
    found = checks.array(this.name, position, name, x, 1)
    checks.dtype(this.name, found, kind.dtype)
    return found


def vector(this: Routine, position: int, name: str, x: Any, kind: Precision, length: int, why: str) -> Argument:
    """A vector argument of the routine's type with as many elements as the other arguments say."""
    found = typed_vector(this, position, name, x, kind)
    checks.shape(this.name, found, (length,), why)
    return found


def order_of(this: Routine, a: Argument, length: int) -> int:
    """The order of a square matrix argument, which for a packed one only the vector's length says."""
    shape = a.array.shape
    if a.name == PACKED:
        checks.shape(this.name, a, (length * (length + 1) // 2,), f"a triangle of order {length}, as x is long")
        return length
    if a.name == BAND:
        if shape[0] == 0:
            raise ArgumentError(this.name, a.position, a.name, f"shape {shape}", "at least one row, the diagonal")
    elif shape[0] != shape[1]:
        raise ArgumentError(this.name, a.position, a.name, f"shape {shape}", "a square matrix")
    return shape[1]


def triangle(storage: str, array: Array, order: int, uplo: UpLo) -> Stored:
    """The triangle that is read, or written, in an array of a storage."""
    lower = uplo is UpLo.L
    if storage == PACKED:
        return Stored.packed(array, order, lower)
    if storage == BAND:
        width = array.shape[0] - 1
        return Stored.band(array, order, width if lower else 0, 0 if lower else width)
    return Stored.full(array).triangle(lower)


def result(this: Routine, position: int, y: Any, length: int, why: str, beta: Scalar, like: Argument) -> Argument:
    """The output argument; a new vector where none is given and beta does not need its values."""
    if y is None:
        if not beta.is_zero:
            raise ArgumentError(this.name, position, "y", "None", "an array, since beta is not 0")
        y = arrays.empty(like.given, (length,), like.array.dtype)
    return vector(this, position, "y", y, BY_DTYPE[like.array.dtype], length, why)


def product(this: Routine, a: Argument, x: Argument, alpha: Scalar, beta: Scalar, y: Argument) -> Call:
    """The call of a product into y."""
    reads = {a.name: a, "x": x, **on_device(alpha=alpha, beta=beta)}
    return call(this, reads, writes={"y": y} if beta.is_zero else None,
                updates=None if beta.is_zero else {"y": y})


def on_device(**scalars: Scalar) -> dict[str, Argument]:
    """The scalars that lie on the device, as the call has to know of them."""
    return {name: scalar.argument for name, scalar in scalars.items() if scalar.argument is not None}


def real(kind: Precision) -> Precision:
    """The precision of the real part."""
    return BY_DTYPE[kind.real]
