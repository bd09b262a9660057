"""SciPy's own tests of its BLAS wrappers, run against gpublas.scipy_blas on every device."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import scipy.linalg
from conftest import DEVICES

FILES = ("test_blas.py", "test_fblas.py")
SOURCE = Path(scipy.linalg.__file__).parent / "tests"
HERE = Path(__file__).parent

# No test fails, so none is a departure of the drop-in. These (by name, without parameters) do not use its functions,
# where the installed SciPy has them and does not run them.
IDLE = {
    "test_blas.py test_get_blas_funcs": "looks at attributes only",
    "test_blas.py test_get_blas_funcs_alias": "looks at attributes only",
    "test_blas.py TestCBLAS1Simple test_axpy": "SciPy's second set of wrappers, cblas, which the drop-in is without",
    "test_blas.py test_gh_169309": "SciPy marks it as not to be run: negative increments of nrm2 crash some libraries",
    "test_fblas.py TestSgemv test_sgemv_on_osx": "for macOS only",
}

pytestmark = pytest.mark.skipif(not all((SOURCE / name).exists() for name in FILES),
                                reason="this SciPy is installed without its tests")


def report(device):
    """How each test went, by "file class name[parameters]", in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:  # apart from SciPy's conftest.py
            shutil.copy(SOURCE / name, folder)
        result = Path(folder) / "report.json"
        path = os.pathsep.join([str(HERE), str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "substitute", "-p", "no:cacheprovider", "-q", "-c", os.devnull,
             "--rootdir", folder, *FILES], cwd=folder, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": "", "GPUBLAS_TEST_DEVICE": device,
                 "GPUBLAS_TEST_REPORT": str(result)})
        assert result.exists(), done.stdout + done.stderr
        return json.loads(result.read_text(encoding="utf-8"))


def without_parameters(name):
    return name.split("[")[0]


@pytest.mark.parametrize("device", DEVICES)
def test_the_tests_of_scipy(device):
    """In one test, so that a device's report is made once, whatever pytest-xdist does."""
    found = report(device)
    failed = {name: test["text"] for name, test in found.items() if test["outcome"] == "failed"}
    assert not failed, "\n".join(failed.values())
    idle = {without_parameters(name) for name, test in found.items()
            if test["outcome"] != "passed" or not test["called"]}
    expected = {name for name in IDLE if name in map(without_parameters, found)}
    if sys.platform == "darwin":
        expected -= {name for name, reason in IDLE.items() if "macOS" in reason}
    assert idle == expected
    # SciPy 1.13 has 182 tests in these files, 1.17 has 300; they call 134 of the 150 functions.
    assert sum(test["outcome"] == "passed" and bool(test["called"]) for test in found.values()) > 170
    called = {name for test in found.values() for name in test["called"]}
    assert len(called) > 120
    launched = {name for test in found.values() for name in test["launched"]}
    assert launched == (set() if device == "cpu" else called)
