"""What a program asks of the choice of algorithms, for a block of its code: names as PyTorch users know them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

from gpublas.errors import ArgumentError, DTypeError

from . import checks


@dataclass(frozen=True)
class Flags:
    """See `flags`."""

    benchmark: bool = False
    deterministic: bool = False
    allow_tf32: bool = False
    workspace_limit: int | None = None
    benchmark_limit: int | None = 10
    max_error: float | None = None
    enabled: bool = True
    frozen: bool = False


_chosen: ContextVar[Flags] = ContextVar("gpudnn.flags", default=Flags())  # noqa: B039 - frozen
_SWITCHES = tuple(field.name for field in fields(Flags) if field.type == "bool")


def current_flags() -> Flags:
    """The flags that hold here, in this thread or task.

    >>> import gpudnn
    >>> gpudnn.current_flags().benchmark
    False
    """
    return _chosen.get()


@contextlib.contextmanager
def flags(**changes: Any) -> Iterator[Flags]:
    """Flags for the convolutions of a block of code; what is not named stays as it is outside.

    benchmark: algo="auto" measures all algorithms that can do a problem, the first time that it is met, and remembers.
    deterministic: only algorithms that give the same bits in each run.
    allow_tf32: algorithms may round float32 operands to 11 bits; there is none yet that does.
    workspace_limit: bytes for calls that give no limit of their own; None: as each algorithm likes.
    benchmark_limit: how many algorithms are measured for a problem, those that the shape speaks for first; None: all.
    max_error: only algorithms whose error bound is no larger: b in |y - exact| <= b (|x| conv |w|). None: any.
    enabled: False leaves only "direct", which is the definition.
    frozen: nothing is measured; what was measured before is used.

    Raises ArgumentError for an unknown name or a value that fits none, DTypeError for one of another type.

    >>> import gpudnn
    >>> with gpudnn.flags(max_error=1e-5, workspace_limit=0) as found:
    ...     found.max_error
    1e-05
    """
    known = {field.name for field in fields(Flags)}
    for name, value in changes.items():
        if name not in known:
            raise ArgumentError("flags", None, name, repr(value), "one of " + ", ".join(sorted(known)))
        changes[name] = _checked(name, value)
    token = _chosen.set(replace(_chosen.get(), **changes))
    try:
        yield _chosen.get()
    finally:
        _chosen.reset(token)


def _checked(name, value):
    if name in _SWITCHES:
        if not isinstance(value, bool):
            raise DTypeError("flags", None, name, type(value).__name__, "True or False")
        return value
    if value is None:
        return None
    if name == "max_error":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DTypeError("flags", None, name, type(value).__name__, "a number or None")
        if not value > 0:
            raise ArgumentError("flags", None, name, value, "more than 0")
        return float(value)
    return checks.integer("flags", None, name, value, 1 if name == "benchmark_limit" else 0)
