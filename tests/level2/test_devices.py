"""Arrays and scalars that live on a device, NumPy arrays that have to be brought to one, results from run to run."""

import itertools

import numpy as np
import pytest
from conftest import random_values

import gpublas
from gpublas.cuda.executor import ExecutorDevice
from gpublas.testing.buffers import DeviceArray

from .calls import call, check_general, check_symmetric, check_triangular, check_update
from .cases import CASES, flag_choices, scalar_choices


def arguments_of(case, rng, n, flags):
    """A call on plain arrays."""
    shape = {"full": (n, n), "band": (4, n), "packed": (n * (n + 1) // 2,)}[case.storage]
    A = random_values(rng, shape, case.dtype)
    if case.family == "solve":
        A = (A / n + 1).astype(case.dtype)  # no element is small, so that nothing grows without bound
    return {**flags, "m": n, "kl": 2, "ku": 1, "x": random_values(rng, n, case.dtype),
            "y": random_values(rng, n, case.dtype), case.matrix: A}


def output_of(case):
    return {"general": "y", "symmetric": "y", "product": "x", "solve": "x"}.get(case.family, case.matrix)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_arrays_and_scalars_on_the_device(executor, case, rng):
    """The same bits as with NumPy arrays and numbers; the output given is returned."""
    for flags, scalars in itertools.product(flag_choices(case)[:3], scalar_choices(case)):
        host = arguments_of(case, rng, 33, flags)
        there = {name: DeviceArray(value.copy()) if isinstance(value, np.ndarray) else value
                 for name, value in host.items()}
        for name, value in scalars.items():
            kind = case.precision.real if case.real_alpha else case.dtype
            there[name] = DeviceArray(np.array(value, kind))
        wanted = call(case, **host, **scalars)
        found = call(case, **there)
        assert found is there[output_of(case)]
        np.testing.assert_array_equal(found.get(), wanted, err_msg=f"{flags} {scalars}")


@pytest.mark.parametrize("case", [case for case in CASES if "alpha" in case.arguments], ids=str)
def test_a_zero_alpha_on_the_device_reads_nothing(executor, case, rng):
    """Neither the matrix of a product nor a vector of an update."""
    arguments = arguments_of(case, rng, 33, flag_choices(case)[0])
    there = {name: DeviceArray(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    bad = {name: DeviceArray(np.full_like(value, np.nan)) for name, value in arguments.items()
           if isinstance(value, np.ndarray) and name != output_of(case)}
    zero = DeviceArray(np.array(0, case.precision.real if case.real_alpha else case.dtype))
    before = arguments[output_of(case)].copy()
    call(case, **{**there, **bad}, alpha=zero, beta=1)
    after = there[output_of(case)].get()
    if case.conjugate and case.family == "update":
        assert np.isfinite(after).all()  # but for the diagonal: test_corners.py
    else:
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_staged_arrays(case, rng):
    """NumPy arrays copied to memory of the device's own, as a GPU needs; only the outputs' elements come back."""
    with gpublas.use(gpublas.Context(ExecutorDevice(staged=True))):
        for flags, n in itertools.product(flag_choices(case)[-2:], (0, 9)):
            scalars, width = scalar_choices(case)[-1], 2 if case.storage == "band" else None
            if case.family == "general":
                check_general(case, rng, (n, n + 1), scalars, **flags, widths=(1, 2))
            elif case.family == "symmetric":
                check_symmetric(case, rng, n, scalars, **flags, width=width)
            elif case.family in ("product", "solve"):
                check_triangular(case, rng, n, flags, width)
            else:
                check_update(case, rng, (n, n), scalars, **flags)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_the_same_from_run_to_run(case, rng):
    """Bit by bit, in whatever order threads come."""
    for flags in flag_choices(case)[::2]:
        arguments, found = arguments_of(case, rng, 150, flags), set()
        for order, seed in (("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)):
            copies = {name: value.copy() if isinstance(value, np.ndarray) else value
                      for name, value in arguments.items()}
            with gpublas.use(gpublas.Context(ExecutorDevice(order=order, seed=seed))):
                found.add(call(case, **copies, **scalar_choices(case)[-1]).tobytes())
        assert len(found) == 1, flags


@pytest.mark.parametrize("case", [case for case in CASES if "beta" in case.arguments], ids=str)
def test_new_outputs(executor, case, rng):
    """Of the matrix's library, with the values that a given y gets."""
    arguments = arguments_of(case, rng, 9, flag_choices(case)[0])
    wanted = call(case, **arguments, alpha=2, beta=0)
    given = [name for name in case.arguments if name not in ("beta", "y")]
    arguments["alpha"] = 2
    routine = getattr(gpublas, case.name)
    found = routine(*(arguments[name] for name in given))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, wanted)
    found = routine(*(DeviceArray(arguments[name]) if isinstance(arguments[name], np.ndarray) else arguments[name]
                      for name in given))
    assert isinstance(found, DeviceArray)
    np.testing.assert_array_equal(found.get(), wanted)


def test_generic_names_pick_by_dtype(device, rng):
    """Also real types for Hermitian names, and complex ones where BLAS has only real symmetric storage."""
    for case in CASES:
        for flags in flag_choices(case)[:1]:
            arguments = arguments_of(case, rng, 9, flags)
            scalars = scalar_choices(case)[-1]
            ordered = {name: {**arguments, **scalars}[name] for name in case.arguments}
            copies = [value.copy() if isinstance(value, np.ndarray) else value for value in ordered.values()]
            found = getattr(gpublas, case.operation)(*copies)
            np.testing.assert_array_equal(found, call(case, **ordered))
    A = random_values(rng, (9, 9), "f8")
    x, AP = A[0].copy(), A[np.triu_indices(9)[::-1]].copy()
    np.testing.assert_array_equal(gpublas.hemv("U", 1, A, x), gpublas.dsymv("U", 1, A, x))
    AP = A.T[np.tril_indices(9)]
    np.testing.assert_allclose(gpublas.spmv("U", 1, AP + 0j, x + 0j), gpublas.dspmv("U", 1, AP, x), rtol=1e-13)
