"""A pytest plugin (`-p substitute`) that puts gpublas.scipy_blas where SciPy's own tests look for their BLAS.

It is loaded before the tests are. GPUBLAS_TEST_DEVICE names the device, GPUBLAS_TEST_REPORT the file that says, for
each test, how it went, which of our functions it called, and which of those launched kernels.
"""

import functools
import json
import os
import sys
import types
from pathlib import Path

import scipy.linalg

import gpublas
from gpublas import scipy_blas
from gpublas.cuda.executor import ExecutorDevice
from gpublas.scipy_blas.interface import Function

_called, _launched = [], []  # names of functions, in the running test
_report = {}


def _count_calls(device):
    """Note each call of one of our functions, and under its name each kernel that the device launches for it."""
    call, launch = Function.__call__, getattr(type(device), "launch", None)

    @functools.wraps(call)
    def counted(self, *args, **kwargs):
        _called.append(self.__name__)
        return call(self, *args, **kwargs)

    def counted_launch(self, *args, **kwargs):
        _launched.append(_called[-1])
        return launch(self, *args, **kwargs)

    Function.__call__ = counted
    if launch is not None:
        type(device).launch = counted_launch


def _substitute():
    """The modules and names that the test files import; the rest of scipy.linalg has its routines already."""
    stand_in = types.ModuleType("scipy.linalg._fblas")
    stand_in.__dict__.update({name: getattr(scipy_blas, name) for name in scipy_blas.__all__})
    stand_in.__dict__["__fblas_error"] = scipy_blas.error
    for name, module in {"_fblas": stand_in, "blas": scipy_blas}.items():
        setattr(scipy.linalg, name, module)
        sys.modules[f"scipy.linalg.{name}"] = module
    sys.modules["scipy.linalg._cblas"] = None  # not there: importing it is an ImportError
    scipy.linalg.get_blas_funcs = scipy_blas.get_blas_funcs


def pytest_configure():
    device = os.environ["GPUBLAS_TEST_DEVICE"]
    checked = ExecutorDevice(checked=True, order="random", seed=20261201, poison=True)
    _count_calls(gpublas.use(gpublas.Context(checked if device == "executor" else device)).context.device)
    _substitute()


def pytest_collection_modifyitems(items):
    """What the tests call `fblas` is ours, function by function."""
    for module in {item.module for item in items}:
        assert all(getattr(module.fblas, name) is getattr(scipy_blas, name) for name in scipy_blas.__all__)


def pytest_runtest_setup():
    _called.clear()
    _launched.clear()


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        name = report.nodeid.replace("::", " ").split("/")[-1]
        _report[name] = {"outcome": report.outcome, "called": sorted(set(_called)), "launched": sorted(set(_launched)),
                         "text": str(report.longrepr or "")}


def pytest_sessionfinish():
    Path(os.environ["GPUBLAS_TEST_REPORT"]).write_text(json.dumps(_report), encoding="utf-8")
