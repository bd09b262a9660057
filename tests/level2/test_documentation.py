"""Every public routine says what it does, and its example runs."""

import doctest
import inspect

import pytest

import gpublas

from .cases import CASES, GENERIC

NAMES = sorted({case.name for case in CASES} | set(GENERIC))


def test_every_name_is_public():
    assert set(NAMES) <= set(gpublas.__all__)


def test_every_public_routine_has_its_row():
    """No routine of Level 2 is left out of the tests."""
    found = {name for name in gpublas.__all__
             if getattr(getattr(gpublas, name), "__module__", "").startswith("gpublas.level2.")}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_example(device, name):
    routine = getattr(gpublas, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(routine, name, globs={})
    assert test.examples
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.attempted == len(test.examples) and result.failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_docstring(name):
    text = getattr(gpublas, name).__doc__
    assert "{" not in text
    for wanted in ("Source: ", "Raises ", ">>> ", "Nothing is written then.", "eps"):
        assert wanted in text, wanted


@pytest.mark.parametrize("case", CASES, ids=str)
def test_signature(case):
    """The order of arguments that the table, and BLAS, have."""
    routine = getattr(gpublas, case.name)
    assert tuple(inspect.signature(routine).parameters) == case.arguments and routine.__name__ == case.name
