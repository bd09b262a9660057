"""Every public routine says what it does, and its example runs."""

import doctest
import inspect

import pytest

import gpublas

from .cases import CASES, GENERIC

NAMES = sorted({case.name for case in CASES} | set(GENERIC))


def test_every_name_is_public():
    assert set(NAMES) <= set(gpublas.__all__)


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
    for wanted in ("Source: ", "Raises ", ">>> "):
        assert wanted in text, wanted
    assert "rotg" in name or "rotmg" in name or "Nothing is written then." in text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_signature(case):
    """The order of arguments that the table, and BLAS, have."""
    routine = getattr(gpublas, case.name)
    parameters = inspect.signature(routine).parameters
    positional = tuple(name for name, value in parameters.items() if value.kind is not value.KEYWORD_ONLY)
    assert positional == case.arguments and routine.__name__ == case.name
    assert ("out" in parameters) == (case.result is not None)
