"""Random sizes, strides, offsets and scalars against the oracle."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .cases import VECTOR_CASES
from .running import check_vectors
from .strided import Strided

_COMMON = {"deadline": None, "derandomize": True, "database": None,
           "suppress_health_check": [HealthCheck.function_scoped_fixture]}
ORDINARY = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-4, 4).map(lambda value: round(value, 3)))


@st.composite
def calls(draw):
    """A case, its vectors and its scalars."""
    case = draw(st.sampled_from(VECTOR_CASES))
    n = draw(st.one_of(st.integers(0, 40), st.integers(0, 2100)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vectors = {}
    for name in "xy":
        if name in case.arguments:
            step = draw(st.integers(-5, 5).filter(lambda step, name=name: step or name not in case.outputs))
            values = rng.standard_normal(n)
            if case.precision.is_complex:
                values = values + 1j * rng.standard_normal(n)
            values[rng.random(n) < 0.1] = 0
            vectors[name] = Strided(values.astype(case.precision.dtype), step, draw(st.integers(0, 5)))
    scalars = {}
    for name in case.arguments:
        if name == "param":
            scalars[name] = [draw(st.sampled_from([-2, -1, 0, 1])), *draw(st.lists(ORDINARY, min_size=4, max_size=4))]
        elif name not in "xy":
            scalars[name] = draw(ORDINARY)
            if case.precision.is_complex and not case.real_scalars and name != "c":
                scalars[name] += 1j * draw(ORDINARY)
    return case, vectors, exact_in(case, scalars)


def exact_in(case, scalars):
    """The scalars as the routine's precision holds them, so that the oracle has the same ones."""
    kind = case.precision.real if case.real_scalars else case.precision.dtype
    return {name: [float(case.precision.real.type(part)) for part in value] if name == "param"
            else (case.precision.real if name in ("c", "sb") else kind).type(value).item()
            for name, value in scalars.items()}


def run(call):
    case, vectors, scalars = call
    described = {name: (vector.array.shape, vector.array.strides) for name, vector in vectors.items()}
    check_vectors(case, vectors, scalars, f"{case.name} {scalars} {described}")


@settings(max_examples=400, **_COMMON)
@given(call=calls())
def test_random_calls(device, call):
    run(call)
