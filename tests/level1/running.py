"""One call of a Level 1 routine on the chosen device, checked against its oracle."""

import numpy as np
from conftest import random_values

import gpublas
from gpublas.testing.bounds import assert_within

from . import reference
from .strided import Strided


def check(case, n, rng, scalars, steps=(1, 1), offsets=(0, 0)):
    """Random vectors of n elements; steps and offsets are those of x and y in elements."""
    vectors = {}
    for name, step, offset in zip("xy", steps, offsets, strict=True):
        if name in case.arguments:
            values = random_values(rng, n, case.precision.dtype)
            if name == "y" and _is_overwritten(case, scalars):
                values[:] = np.nan
            vectors[name] = Strided(values, step, offset)
    check_vectors(case, vectors, scalars, f"{case.name} n={n} {scalars} steps={steps} offsets={offsets}")


def _is_overwritten(case, scalars):
    return case.operation == "copy" or (case.operation == "axpby" and scalars["beta"] == 0)


def check_vectors(case, vectors, scalars, context):
    """One call on Strided vectors: results within the bound, memory around them and inputs as before."""
    arguments = {**scalars, **{name: vector.array for name, vector in vectors.items()}}
    before = {**scalars, **{name: vector.values for name, vector in vectors.items()}}
    wanted = getattr(reference, case.operation)(case.precision.dtype, **before)

    returned = getattr(gpublas, case.name)(*(arguments[name] for name in case.arguments))

    if case.result is not None:
        assert isinstance(returned, np.generic) and returned.dtype == case.result, context
        assert_within(returned, *map(np.asarray, wanted["result"]), context)
    else:
        returned = returned if isinstance(returned, tuple) else (returned,)
        assert len(returned) == len(case.outputs)
        for array, name in zip(returned, case.outputs, strict=True):
            assert array is arguments[name], context
    for name, vector in vectors.items():
        if name in case.outputs:
            assert_within(vector.array, *wanted[name], f"{context}: {name}")
            vector.assert_intact()
        else:
            vector.assert_unchanged()
