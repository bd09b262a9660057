"""What the documents say is so: the README's table, its examples, and the example of every public routine."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

import gpublas
import gpudnn
from docs import tables

README = Path(__file__).parent.parent / "README.md"
ROUTINES = sorted(name for name in gpublas.__all__ if hasattr(getattr(gpublas, name), "routine"))
LAYERS = sorted(name for name in gpudnn.__all__ if callable(getattr(gpudnn, name)) and name[0].islower())


def run_example(function, name):
    """Run a docstring's example and check what it prints."""
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert test.examples, f"{name} has no example"
    results = doctest.DocTestRunner(verbose=False).run(test)
    assert results.failed == 0 and results.attempted == len(test.examples)


@pytest.mark.parametrize("name", ROUTINES)
def test_example_of_a_routine(device, name):
    """Every routine runs on every device: the README's table says so."""
    run_example(getattr(gpublas, name), name)


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "last_choice"])
def test_example_of_a_layer(device, name):
    run_example(getattr(gpudnn, name), name)


@pytest.mark.parametrize("name", ROUTINES)
def test_docstring_is_complete(name):
    text = getattr(gpublas, name).__doc__
    assert not re.search(r"\{\w+\}", text), "a word of the template was not filled in"
    assert "Raises " in text or "Arguments as in" in text or "As " in text


def test_every_public_name_is_exported():
    for package in (gpublas, gpudnn):
        assert sorted(package.__all__) == sorted(set(package.__all__))
        assert all(hasattr(package, name) for name in package.__all__)
    typed = {name for name, value in vars(gpublas).items() if hasattr(value, "routine")}
    assert typed == set(ROUTINES)
    assert all(getattr(gpublas, name).__name__ == name for name in ROUTINES)


def test_the_readmes_table_is_current():
    text = README.read_text(encoding="utf-8")
    assert tables.renewed(text) == text, "run python -m docs.tables"


def test_the_readmes_example_runs(device):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    names = {}
    exec(code, names)
    A, B, x, w = (names[name].astype(np.float64) for name in "ABxw")
    np.testing.assert_allclose(names["C"], 2.5 * (A.T @ B), rtol=1e-5)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    np.testing.assert_allclose(names["y"], np.einsum("nchwij,kcij->nkhw", windows, w), rtol=1e-5)
