"""How a generic routine gets its public names: one for each precision, with two shorter ways in.

A call goes first to `everyday` (small NumPy arrays on the CPU), then to `repeats` (device arrays, in a form that was
served before), then through the generic routine: checks, canonical problem, plan, launches.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from . import repeats
from .precision import Precision, Routine


def typed(generic: Callable, precision: Precision | None, name: str | None = None,
          everyday: Callable[[Routine, Callable], Callable] | None = None) -> Callable:
    """The routine for one precision: `generic` with its first parameter, a Routine, bound and dropped.

    The name, signature and docstring are those a user looks up: `typed(_gemm, S)` is `sgemm(opA, ...)`. With None,
    the routine picks the precision by the dtype of its first array: `typed(_gemm, None)` is `gemm(opA, ...)`.
    name: where BLAS's name is not the prefix before the generic one: `typed(_nrm2, C, "scnrm2")`. everyday: gives the
    routine a shorter way in for small calls on the CPU (everyday.py).
    In the docstring, {name}, {p}, {dtype}, {real}, {example} and {example_complex} stand for what differs.
    """
    prefix = precision.prefix if precision else ""
    generic_name = generic.__name__.strip("_")
    routine = Routine(name or prefix + generic_name, precision)

    def bound(*args, **kwargs):
        if kwargs:
            return generic(routine, *args, **kwargs)
        return repeats.serve(routine, generic, args)

    if everyday:
        bound = everyday(routine, bound)
    signature = inspect.signature(generic)
    bound.__name__ = bound.__qualname__ = routine.name
    bound.__module__ = generic.__module__
    bound.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[parameter.replace(annotation=parameter.empty)
                    for parameter in list(signature.parameters.values())[1:]], return_annotation=signature.empty)
    bound.routine, bound.generic_name = routine, generic_name  # type: ignore[attr-defined]
    bound.is_everyday = everyday is not None  # type: ignore[attr-defined]
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
