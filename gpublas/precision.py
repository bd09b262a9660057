"""The four precisions of BLAS, and how a generic routine gets its typed names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, eq=False)
class Precision:
    """One element type: its BLAS prefix letter, dtype, and the dtype of its real part.

    There are four objects, S, D, C, Z, compared and hashed by identity: they stand in the keys of plans.
    """

    prefix: str
    dtype: np.dtype
    real: np.dtype

    @property
    def is_complex(self) -> bool:
        return self.dtype != self.real

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number."""
        return float(np.finfo(self.real).eps)

    def __repr__(self) -> str:
        return f"Precision({self.prefix})"


def _precision(prefix: str, dtype: type, real: type) -> Precision:
    return Precision(prefix, np.dtype(dtype), np.dtype(real))


S = _precision("s", np.float32, np.float32)
D = _precision("d", np.float64, np.float64)
C = _precision("c", np.complex64, np.float32)
Z = _precision("z", np.complex128, np.float64)

PRECISIONS = (S, D, C, Z)
BY_DTYPE = {precision.dtype: precision for precision in PRECISIONS}


class Routine(NamedTuple):
    """A public routine as its generic function sees it: the name users call, and the precision that name says.

    precision is None for a name that picks it by the dtype of its first array.
    """

    name: str
    precision: Precision | None


def typed(generic: Callable, precision: Precision | None, name: str | None = None) -> Callable:
    """The routine for one precision: `generic` with its first parameter, a Routine, bound and dropped.

    The name, signature and docstring are those a user looks up: `typed(_gemm, S)` is `sgemm(opA, ...)`. With None,
    the routine picks the precision by the dtype of its first array: `typed(_gemm, None)` is `gemm(opA, ...)`.
    name: where BLAS's name is not the prefix before the generic one: `typed(_nrm2, C, "scnrm2")`.
    In the docstring, {name}, {p}, {dtype}, {real}, {example} and {example_complex} stand for what differs.
    """
    prefix = precision.prefix if precision else ""
    generic_name = generic.__name__.strip("_")
    routine = Routine(name or prefix + generic_name, precision)

    def bound(*args, **kwargs):
        return generic(routine, *args, **kwargs)

    signature = inspect.signature(generic)
    bound.__name__ = bound.__qualname__ = routine.name
    bound.__module__ = generic.__module__
    bound.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[parameter.replace(annotation=parameter.empty)
                    for parameter in list(signature.parameters.values())[1:]], return_annotation=signature.empty)
    bound.routine, bound.generic_name = routine, generic_name  # type: ignore[attr-defined]
    words = {"{name}": f"gpublas.{routine.name}", "{p}": prefix or "?",
             "{dtype}": precision.dtype.name if precision else "one of the four element types",
             "{real}": precision.real.name if precision else "the element type's real type",
             "{example}": f"np.{precision.dtype.name if precision else 'float64'}",
             "{example_complex}": f"np.{precision.dtype.name if precision else 'complex128'}"}
    text = generic.__doc__ or ""
    for word, value in words.items():
        text = text.replace(word, value)
    bound.__doc__ = text
    return bound
