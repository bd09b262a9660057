"""Kernels as a GPU would get them: without one, by compiling alone."""

import inspect

import pytest

from gpublas.cuda import compile as compiler
from gpudnn.kernels import direct, elementwise, im2col, pool, reduce, softmax

FACTORIES = [
    *[(elementwise.elementwise, ("float32", operation, False)) for operation in ("axpby", "relu", "relu_backward")],
    (elementwise.elementwise, ("float64", "axpby", True)),
    *[(reduce.row_sums, (dtype,)) for dtype in ("float32", "float64")],
    *[(factory, (dtype, block, wide)) for factory in (direct.forward, direct.backward_data)
      for dtype, block, wide in (("float32", 4, False), ("float64", 1, True))],
    *[(direct.backward_filter, (dtype, block)) for dtype, block in (("float32", 4), ("float64", 1))],
    *[(factory, (dtype, wide)) for factory in (im2col.im2col, im2col.col2im, pool.max_forward, pool.max_backward)
      for dtype, wide in (("float32", False), ("float64", True))],
    *[(factory, (dtype, width, False)) for factory in (softmax.forward, softmax.backward)
      for dtype, width in (("float32", 32), ("float64", 256))],
    *[(factory, (dtype, integer, width, False)) for factory in (softmax.cross_entropy, softmax.cross_entropy_backward)
      for dtype, integer, width in (("float32", "int32", 32), ("float64", "int64", 256))],
]


@pytest.mark.parametrize("number", range(len(FACTORIES)))
def test_compiles_to_machine_code(number):
    """For the oldest and a new GPU; nothing in local memory, no calls, no double precision in float32 kernels."""
    factory, parameters = FACTORIES[number]
    source = factory(*parameters)
    assert len(inspect.signature(source.function).parameters) == len(source.parameters)
    for capability in ((8, 0), (9, 0)):
        kernel = compiler.build(factory, *parameters, capability=capability)
        text = "".join(kernel.texts)
        assert "__local_depot" not in text and "call" not in text.replace("callprototype", "")
        assert parameters[0] == "float64" or ".f64" not in text
        assert kernel.cubin().startswith(b"\x7fELF")
