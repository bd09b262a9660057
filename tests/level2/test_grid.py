"""The grid of the netlib test program (xblat2) and sizes around the edges of the kernels' tiles: all flags, scalars 0,
1 and general, band widths, increments and layouts drawn anew for every call."""

import itertools

import pytest

from gpublas.cuda import level2

from .calls import check_general, check_symmetric, check_triangular, check_update, pick
from .cases import flag_choices, of_family, scalar_choices

GRID = (0, 1, 2, 3, 5, 9)
SMALL = tuple(itertools.product(GRID, GRID))
EDGES = ((31, 33), (32, 64), (33, 31), (63, 65), (64, 32), (65, 130), (127, 129), (128, 127), (129, 128), (130, 63))
LONG = ((3, 700), (700, 3), (260, 515))  # several slabs, tiles and chunks
WIDTHS = (0, 1, 2, 4, None)


def widths_of(rng, shape):
    """Diagonals below and above the main one; None means all of them."""
    return tuple(max(extent - 1, 0) if width is None else width
                 for extent, width in zip(shape, (pick(rng, WIDTHS), pick(rng, WIDTHS)), strict=True))


def width_of(rng, n):
    return widths_of(rng, (n, n))[0]


@pytest.mark.parametrize("case", of_family("general"), ids=str)
def test_general_products(device, case, rng):
    for shape, flags in itertools.product((*SMALL, *EDGES, *LONG), flag_choices(case)):
        scalars = scalar_choices(case)
        for choice in scalars if max(shape) < 10 else scalars[-1:]:
            check_general(case, rng, shape, choice, **flags, widths=widths_of(rng, shape))


@pytest.mark.parametrize("case", of_family("symmetric"), ids=str)
def test_symmetric_products(device, case, rng):
    sizes = (*GRID, *(m for m, _ in EDGES), 300)
    for n, flags, scalars in itertools.product(sizes, flag_choices(case), scalar_choices(case)):
        if n < 10 or scalars == scalar_choices(case)[-1]:
            for width in (0, 1, 2, 4, max(n - 1, 0)) if case.storage == "band" else (None,):
                check_symmetric(case, rng, n, scalars, **flags, width=width)


@pytest.mark.parametrize("case", of_family("product", "solve"), ids=str)
def test_triangular_products_and_solutions(device, case, rng):
    for n, flags in itertools.product((*GRID, *(m for m, _ in EDGES)), flag_choices(case)):
        check_triangular(case, rng, n, flags, width_of(rng, n) if case.storage == "band" else None)
    for n, flags in zip((256, 257, 300, 513, 600) * 3, flag_choices(case), strict=False):
        for width in (1, 40, 299, n - 1) if case.storage == "band" else (None,):
            check_triangular(case, rng, n, flags, width)


@pytest.mark.parametrize("case", of_family("outer"), ids=str)
def test_outer_products(device, case, rng):
    for shape, scalars in itertools.product((*SMALL, *EDGES, *LONG), scalar_choices(case)):
        check_update(case, rng, shape, scalars)


@pytest.mark.parametrize("case", of_family("update"), ids=str)
def test_updates_of_triangles(device, case, rng):
    sizes = (*GRID, *(m for m, _ in EDGES), 300)
    for n, flags, scalars in itertools.product(sizes, flag_choices(case), scalar_choices(case)):
        check_update(case, rng, (n, n), scalars, **flags)


@pytest.mark.parametrize("blocks", [1, 3])
def test_chunks_of_any_size(executor, rng, monkeypatch, blocks):
    """As if a GPU were filled by that many thread blocks: each takes many tiles, slabs or diagonals."""
    monkeypatch.setattr(level2, "_BLOCKS", blocks)
    level2.plan_matvec.cache_clear()
    try:
        for case in of_family("general", "symmetric"):
            for flags in flag_choices(case):
                scalars = scalar_choices(case)[-1]
                if case.family == "general":
                    for shape in ((300, 700), (700, 300)):
                        check_general(case, rng, shape, scalars, **flags, widths=(70, 200))
                else:
                    check_symmetric(case, rng, 400, scalars, **flags, width=130)
    finally:
        level2.plan_matvec.cache_clear()
