"""The example in the package's docstring."""

import doctest

import gpublas.testing.ptx


def test_example():
    failed, attempted = doctest.testmod(gpublas.testing.ptx)
    assert failed == 0 and attempted > 10
