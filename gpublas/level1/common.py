"""What the Level 1 routines share: checks of one or two vectors, and the way of a reduction's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, checks
from ..arrays import Array
from ..checks import Argument, Scalar
from ..context import Call, call
from ..operands import Vector
from ..precision import BY_DTYPE, Precision, Routine


def one(this: Routine, position: int, x: Any) -> tuple[Argument, Precision]:
    """A vector of the routine's type."""
    found = checks.array(this.name, position, "x", x, 1)
    kind = checks.precision(this, found)
    checks.dtype(this.name, found, kind.dtype)
    return found, kind


def two(this: Routine, position_x: int, x: Any, position_y: int, y: Any) -> tuple[Argument, Argument, Precision]:
    """Two vectors of the routine's type and of one length."""
    first, kind = one(this, position_x, x)
    second = checks.array(this.name, position_y, "y", y, 1)
    checks.dtype(this.name, second, kind.dtype)
    checks.shape(this.name, second, first.array.shape, "as long as x")
    return first, second, kind


def real(kind: Precision) -> Precision:
    """The precision of the real part."""
    return BY_DTYPE[kind.real]


def on_device(**scalars: Scalar) -> dict[str, Argument]:
    """The scalars that lie on the device, as the call has to know of them."""
    return {name: scalar.argument for name, scalar in scalars.items() if scalar.argument is not None}


def vectors(run: Call, *names: str) -> list[Vector]:
    """The operands where the call's device can reach them."""
    return [Vector.of(run[name]) for name in names]


def reduced(this: Routine, reads: dict[str, Argument], result: np.dtype, empty: Any, out: Any,
            compute: Callable[[Any, Call, Array | None], Any]) -> Any:
    """Run a reduction: compute(backend, run, out). empty: its value for no elements.

    Its result is a NumPy scalar; or `out`, an array without axes in which it is stored, and then nothing waits for it.
    """
    if out is None:
        with call(this, reads) as run:
            if reads["x"].array.size == 0:
                return result.type(empty)
            return compute(backend.of(run), run, None)
    target = checks.array(this.name, None, "out", out, 0)
    checks.dtype(this.name, target, result)
    with call(this, reads, writes={"out": target}) as run:
        compute(backend.of(run), run, run["out"])
    return out
