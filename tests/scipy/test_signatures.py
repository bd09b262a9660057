"""Names, parameters and defaults of all functions are those that SciPy's docstrings state."""

import doctest
import inspect
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg.blas

from gpublas import scipy_blas
from gpublas.scipy_blas.interface import Function

FORTRAN = type(scipy.linalg.blas.daxpy)
NAMES = [name for name in dir(scipy.linalg.blas) if isinstance(getattr(scipy.linalg.blas, name), FORTRAN)]

# "z = daxpy(x,y,[n,a])", and below it "a : input float, optional" with "    Default: 1.0".
FIRST_LINE = re.compile(r"^[\w,]+ = (?P<name>\w+)\((?P<required>\w+(,\w+)*)(,\[(?P<optional>[\w,]*)\])?\)")
DEFAULT = re.compile(r"^(\w+) : (.*)\n    Default: (.*)$", re.MULTILINE)


def stated(name):
    """What SciPy's docstring says: the required parameters, and the defaults of the others by name, in order."""
    text = getattr(scipy.linalg.blas, name).__doc__
    found = FIRST_LINE.match(text)
    optional = dict.fromkeys((found["optional"] or "").split(",")) if found["optional"] else {}
    for parameter, kind, default in DEFAULT.findall(text):
        if "array" in kind:
            continue  # an array of zeros, where none is given
        value = None if re.search("[a-z]", default) else np.ravel(eval(default))
        optional[parameter] = None if value is None else complex(*value)  # an expression of other parameters
    return found["required"].split(","), optional


def test_names():
    ours = {name for name in scipy_blas.__all__ if isinstance(getattr(scipy_blas, name), Function)}
    assert len(NAMES) == 150
    assert ours == set(NAMES)
    assert {"find_best_blas_type", "get_blas_funcs"} <= set(scipy_blas.__all__)
    assert all(hasattr(scipy_blas, name) for name in scipy_blas.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name):
    parameters = inspect.signature(getattr(scipy_blas, name)).parameters
    required, optional = stated(name)
    assert list(parameters) == [*required, *optional]
    assert [key for key, parameter in parameters.items() if parameter.default is parameter.empty] == required
    for key, default in optional.items():
        assert parameters[key].default == default


def test_defaults_are_found_in_the_docstrings():
    """The comparison above would be empty if SciPy's docstrings changed."""
    assert stated("daxpy") == (["x", "y"], {"n": None, "a": 1, "offx": 0, "incx": 1, "offy": 0, "incy": 1})
    assert stated("cgerc")[1] == {"incx": 1, "incy": 1, "a": None, "overwrite_x": 1, "overwrite_y": 1, "overwrite_a": 0}


@pytest.mark.parametrize("name", NAMES)
def test_function(name):
    function = getattr(scipy_blas, name)
    assert function.__name__ == name and callable(function)
    assert function.prefix == function.typecode and function.prefix in "sdcz"
    assert np.dtype(dict(zip("sdcz", "fdFD", strict=True))[function.prefix]) == function.dtype
    assert pickle.loads(pickle.dumps(function)) is function
    assert "{" not in function.__doc__ and function.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize("name", [*NAMES, "find_best_blas_type", "get_blas_funcs"])
def test_example(device, name):
    (test,) = doctest.DocTestFinder(recurse=False).find(getattr(scipy_blas, name), name, module=False, globs={})
    assert test.examples
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.attempted == len(test.examples) and result.failed == 0


def test_a_function_does_not_become_a_method():
    """As SciPy's: they are stored in classes, and called without the instance."""
    class Holder:
        dot = scipy_blas.ddot

    assert Holder().dot([1], [2]) == 2


def test_import_is_light():
    code = ("import sys, gpublas.scipy_blas; print([name for name in ('numba', 'llvmlite', 'cuda', 'scipy') "
            "if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


CHARACTERS = "?bBhHiIlLqQefdgFDGOSU"


@pytest.mark.parametrize("first", CHARACTERS)
def test_best_type_is_that_of_scipy(first):
    ours, theirs = scipy_blas.find_best_blas_type, scipy.linalg.blas.find_best_blas_type
    assert ours(dtype=first) == theirs(dtype=first)
    assert ours() == theirs()
    for order in "CF":
        one = np.zeros((2, 3), first, order)
        assert ours((one,)) == theirs((one,))
        for second in CHARACTERS:
            for other in (np.zeros((3, 2), second), np.zeros((3, 2), second, "F")):
                assert ours((one, other)) == theirs((one, other)), second
                assert ours([one, other, one], dtype="F") == theirs([one, other, one], dtype="F"), second


@pytest.mark.parametrize("dtype", "fdFDgei")
@pytest.mark.parametrize("name", ["axpy", "nrm2", "dot", "dotc", "dotu", "ger", "gemm", "rotg", "scal", "syr", "hemv",
                                  "spr2", "asum", "amax", "no_such_thing"])
def test_functions_are_found_under_the_names_of_scipy(name, dtype):
    try:
        wanted = scipy.linalg.blas.get_blas_funcs(name, dtype=dtype)
    except ValueError as expected:
        with pytest.raises(ValueError, match=str(expected)):
            scipy_blas.get_blas_funcs(name, dtype=dtype)
        return
    for ilp64 in (False, True, "preferred"):
        found = scipy_blas.get_blas_funcs(name, dtype=dtype, ilp64=ilp64)
        assert found is getattr(scipy_blas, wanted.__name__.split()[-1])
        assert (found.typecode, found.prefix, found.dtype) == (wanted.typecode, wanted.prefix, wanted.dtype)
        assert found.module_name == "fblas" and found.int_dtype == np.int64
    assert scipy_blas.get_blas_funcs((name, "copy"), dtype=dtype)[0] is found


def test_a_wrong_word_for_ilp64():
    with pytest.raises(ValueError, match="ilp64"):
        scipy_blas.get_blas_funcs("gemm", ilp64="sometimes")
