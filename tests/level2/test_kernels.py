"""Kernels as a GPU would get them: without one, by compiling alone."""

import inspect

import pytest

from gpublas.cuda import compile as compiler
from gpublas.cuda.matvec import diagonal_sums, finish_sums, tile_sums
from gpublas.cuda.rank import rank_update
from gpublas.cuda.substitution import substitution


@pytest.mark.parametrize("factory", [tile_sums, diagonal_sums, finish_sums, rank_update, substitution])
@pytest.mark.parametrize("precision", "sdcz")
def test_compiles_to_machine_code(factory, precision):
    """Accumulators stay in registers, nothing is called, no double precision in single precision kernels."""
    source = factory(precision)
    assert len(inspect.signature(source.function).parameters) == len(source.parameters)
    kernel = compiler.build(factory, precision, capability=(8, 0))
    text = "".join(kernel.texts)
    assert "__local_depot" not in text and "call" not in text
    assert precision in "dz" or ".f64" not in text
    assert kernel.cubin().startswith(b"\x7fELF")
