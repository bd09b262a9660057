"""The grid of the netlib test program xblat1, and sizes around the edges of vectors, blocks and launches."""

import itertools

import numpy as np
import pytest

import gpublas
from gpublas.cuda import level1

from .cases import CASES, GENERIC, REDUCTIONS, VECTOR_CASES, scalar_choices
from .running import check

SIZES = (0, 1, 2, 3, 5, 9)
STEPS = (1, 2, -2, -1)
# A vector of 16 bytes holds up to 4 elements, a block 256 threads; a reduction has one block for 4 turns of it.
EDGES = (31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8195)


def step_pairs(case):
    return list(itertools.product(STEPS, STEPS)) if "y" in case.arguments else [(step, 1) for step in STEPS]


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_netlib_grid(device, case, rng):
    choices = scalar_choices(case)
    turn = itertools.cycle(choices)
    for number, (n, steps) in enumerate(itertools.product(SIZES, step_pairs(case))):
        if number % len(choices) == 0:
            next(turn)  # so that every size and step meets every choice in time
        check(case, n, rng, next(turn), steps)


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_every_scalar(device, case, rng):
    """All pairs of scalars, contiguous and strided, past a whole number of 16-byte vectors."""
    for scalars in scalar_choices(case):
        check(case, 11, rng, scalars)
        check(case, 7, rng, scalars, (3, -2))


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_edges(device, case, rng):
    turn = itertools.cycle(scalar_choices(case))
    for n in EDGES:
        check(case, n, rng, next(turn))
    for n in (255, 257, 1025, 2051):
        check(case, n, rng, next(turn), (2, -3))


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_misaligned(device, case, rng):
    """Contiguous vectors that do not start on 16 bytes, one or both."""
    turn = itertools.cycle(scalar_choices(case))
    for offsets in ((1, 1), (0, 1), (2, 0), (3, 3)):
        check(case, 21, rng, next(turn), (1, 1), offsets)
    check(case, 21, rng, next(turn), (-1, -1), (0, 0))


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_more_elements_than_threads(executor, case, rng, monkeypatch):
    """Grids of two blocks, whose threads take many turns."""
    monkeypatch.setattr(level1, "_MOST_BLOCKS", 2)
    monkeypatch.setattr(level1, "_MOST_PARTIALS", 2)
    for plan in (level1.plan_elementwise, level1.plan_sum, level1.plan_extreme):
        plan.cache_clear()
    turn = itertools.cycle(scalar_choices(case))
    check(case, 9001, rng, next(turn))
    check(case, 3001, rng, next(turn), (-2, 3))
    for plan in (level1.plan_elementwise, level1.plan_sum, level1.plan_extreme):
        plan.cache_clear()


@pytest.mark.parametrize("case", [case for case in VECTOR_CASES if "x" not in case.outputs], ids=str)
def test_broadcast_input(device, case, rng):
    """Case b17: x of stride zero equals its copy."""
    turn = itertools.cycle(scalar_choices(case))
    for n in (1, 2, 9, 300):
        check(case, n, rng, next(turn), (0, -1))


@pytest.mark.parametrize("case", REDUCTIONS, ids=str)
def test_same_bits_from_run_to_run(device, case, rng):
    """Also where several blocks share the work; the executor steps its threads in random order."""
    x, y = ((rng.standard_normal(9000) * 10.0 ** rng.integers(-6, 6, 9000)).astype(case.precision.dtype)
            for _ in range(2))
    arguments = [{"x": x, "y": y, "sb": 0.5}[name] for name in case.arguments]
    routine = getattr(gpublas, case.name)
    first = routine(*arguments)
    for _ in range(4):
        assert routine(*arguments).tobytes() == first.tobytes()


@pytest.mark.parametrize("operation", GENERIC)
def test_generic_names_pick_by_type(device, operation, rng):
    """The generic name gives what the typed one does; csscal and its like have none."""
    for case in CASES:
        if case.operation != operation or case.real_scalars:
            continue
        values = {name: rng.standard_normal(5).astype(case.precision.dtype) for name in ("x", "y")}
        scalars = scalar_choices(case)[-1]
        numbers = {name: case.precision.dtype.type(value) for name, value in
                   {"a": 0.3, "b": -2, "d1": 1, "d2": 2, "x1": 0.5, "y1": 3}.items()}
        results = []
        for name in (operation, case.name):
            arguments = {**{key: value.copy() for key, value in values.items()}, **scalars, **numbers}
            returned = getattr(gpublas, name)(*(arguments[key] for key in case.arguments))
            results.append([np.asarray(part) for part in (returned if isinstance(returned, tuple) else (returned,))])
        for generic, typed in zip(*results, strict=True):
            assert generic.dtype == typed.dtype
            np.testing.assert_array_equal(generic, typed)


def test_offsets_beyond_32_bits(device):
    """Elements so far apart that their offsets pass 2**31, in memory of which two pages are ever touched."""
    far = 2**31 + 64
    whole = np.empty(far + 64, np.float32)
    x = np.lib.stride_tricks.as_strided(whole, (2,), (far * 4,))
    y = np.lib.stride_tricks.as_strided(whole[1:], (2,), (far * 4,))
    x[:], y[:] = [1, -2], [3, 4]
    assert gpublas.sdot(x, y) == -5 and gpublas.sasum(x) == 3 and gpublas.isamax(x) == 1
    np.testing.assert_array_equal(gpublas.saxpy(2, x, y), [5, 0])
    gpublas.swap(x, y)
    np.testing.assert_array_equal(x, [5, 0])
    np.testing.assert_array_equal(gpublas.scal(3, y[::-1]), [-6, 3])
    gpublas.rot(x, y, 0, 1)
    np.testing.assert_array_equal(x, [3, -6])
    np.testing.assert_array_equal(y, [-5, 0])
    assert gpublas.snrm2(y) == 5 and gpublas.isamin(y) == 1
    np.testing.assert_array_equal(gpublas.srotm(x, y, [-1, 2, 0, 0, 3])[1], [-15, 0])
    np.testing.assert_array_equal(gpublas.copy(x, y), [6, -12])
