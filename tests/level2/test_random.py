"""Random routines, sizes, widths, strides, flags and scalars against the oracle."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .calls import check_general, check_symmetric, check_triangular, check_update
from .cases import CASES, flag_choices

_COMMON = {"deadline": None, "derandomize": True, "database": None,
           "suppress_health_check": [HealthCheck.function_scoped_fixture]}
PARTS = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-4, 4).map(lambda value: round(value * 64) / 64))
SIZES = st.one_of(st.integers(0, 12), st.integers(0, 140))


@st.composite
def scalars(draw, case):
    """alpha and beta that every precision holds exactly."""
    found = {}
    for name in ("alpha", "beta"):
        if name in case.arguments:
            found[name] = draw(PARTS)
            if case.precision.is_complex and not case.real_alpha:
                found[name] += 1j * draw(PARTS)
    return found


@settings(max_examples=300, **_COMMON)
@given(data=st.data())
def test_random_calls(device, data):
    case = data.draw(st.sampled_from(CASES))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    flags = data.draw(st.sampled_from(flag_choices(case)))
    chosen = data.draw(scalars(case))
    m, n = data.draw(SIZES), data.draw(SIZES)
    width = data.draw(st.integers(0, 12)) if case.storage == "band" else None
    if case.family == "general":
        check_general(case, rng, (m, n), chosen, **flags, widths=(width or 0, data.draw(st.integers(0, 12))))
    elif case.family == "symmetric":
        check_symmetric(case, rng, n, chosen, **flags, width=width)
    elif case.family in ("product", "solve"):
        check_triangular(case, rng, n, flags, width)
    else:
        check_update(case, rng, (m if case.family == "outer" else n, n), chosen, **flags)
