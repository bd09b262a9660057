"""Random calls of every function give what scipy.linalg.blas gives: values, types, orders, the memory they are in."""

import zlib

import numpy as np
import pytest
import scipy.linalg.blas
from f2py_calls import Draw
from scipy.linalg import _fblas

from gpublas import scipy_blas
from gpublas.scipy_blas.interface import Function

NAMES = [name for name in scipy_blas.__all__ if isinstance(getattr(scipy_blas, name), Function)]
CALLS = {"cpu": 60, "executor": 12, "cuda": 12}

# The only results that are rounded; both libraries are within 4 roundings of the true value.
ROUNDED = {"nrm2": 8, "rotg": 8}


def run(function, ours, seed):
    """The results of a call, and the arrays among its arguments afterwards."""
    positional, keywords = Draw(ours, seed).call()
    results = function(*positional, **keywords)
    arrays = [value for value in (*positional, *keywords.values()) if isinstance(value, np.ndarray)]
    return results if isinstance(results, tuple) else (results,), arrays


def memory(results, arrays):
    """For each result: the arguments that it is, and those that it shares memory with."""
    return [([result is array for array in arrays], [np.may_share_memory(result, array) for array in arrays])
            for result in results]


def same(ours, theirs, rounds):
    assert type(ours) is type(theirs)
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert ours.flags.f_contiguous == theirs.flags.f_contiguous
        assert ours.flags.c_contiguous == theirs.flags.c_contiguous
    assert np.all(abs(ours - theirs) <= rounds * abs(np.asarray(theirs)))


@pytest.mark.filterwarnings("ignore:Casting complex", "ignore:Conversion of an array")  # SciPy's, of numbers in arrays
@pytest.mark.parametrize("name", NAMES)
def test_random_calls(device, name):
    ours, theirs = getattr(scipy_blas, name), getattr(scipy.linalg.blas, name)
    family = ours.generic.__name__.strip("_")
    rounds = ROUNDED.get(family, 0) * float(np.finfo(ours.dtype).eps)
    for number in range(CALLS[device]):
        seed = zlib.crc32(name.encode()) + number
        wanted, their_arrays = run(theirs, ours, seed)
        if name in ("crotg", "zrotg"):  # SciPy's wrapper leaves the imaginary part of c, a real number, undefined
            wanted = (complex(wanted[0].real), wanted[1])
        found, our_arrays = run(ours, ours, seed)
        assert len(found) == len(wanted), Draw(ours, seed).arguments
        for one, other in zip(found, wanted, strict=True):
            same(one, other, rounds)
        assert memory(found, our_arrays) == memory(wanted, their_arrays), Draw(ours, seed).arguments
        for one, other in zip(our_arrays, their_arrays, strict=True):
            assert np.array_equal(one, other), Draw(ours, seed).arguments


FLAGS = {"lower": 1, "diag": 1, "side": 1, "trans": 2, "trans_a": 2, "trans_b": 2}
FLAGGED = [(name, flag) for name in NAMES for flag in FLAGS
           if flag in getattr(scipy_blas, name).__signature__.parameters]


@pytest.mark.parametrize(("name", "flag"), FLAGGED)
def test_flags_out_of_range(name, flag):
    """The same error, with f2py's words; tbmv and the like take any trans."""
    function, draw = getattr(scipy_blas, name), Draw(getattr(scipy_blas, name), zlib.crc32(name.encode()))
    takes_any = flag == "trans" and function.generic.__name__ in ("_trsv", "_tbmv", "_tbsv", "_tpmv", "_tpsv")
    for value in (-1, FLAGS[flag] + 1):
        arguments = {**draw.arguments, flag: value}
        if takes_any:
            arguments["overwrite_x"] = 0
            assert np.array_equal(function(**arguments), getattr(scipy.linalg.blas, name)(**arguments))
            continue
        with pytest.raises(_fblas.__fblas_error) as theirs:
            getattr(scipy.linalg.blas, name)(**arguments)
        with pytest.raises(scipy_blas.error) as ours:
            function(**arguments)
        assert str(ours.value).replace(" ", "") == str(theirs.value).replace(" ", "")
