"""python -m gpublas info"""

import os
import subprocess
import sys

import gpublas
from gpublas import diskcache, info
from gpublas.cuda import driver


def run(**environment):
    return subprocess.run([sys.executable, "-m", "gpublas", "info"], env={**os.environ, **environment}, check=True,
                          capture_output=True, text=True).stdout


def test_says_devices_versions_and_folders(tmp_path):
    text = run(GPUBLAS_CACHE_DIR=str(tmp_path))
    assert gpublas.__version__ in text and str(tmp_path) in text
    for name in ("cpu", "executor", "cuda", "numpy", "numba-cuda", "kernels"):
        assert name in text
    assert (driver.why_unusable() or "compute capability") in text


def test_names_what_is_missing_and_the_command_that_adds_it(monkeypatch):
    real = info.version_of
    monkeypatch.setattr(info, "version_of", lambda name: None if name in ("numba-cuda", "rich") else real(name))
    text = info.report()
    assert "numba-cuda     missing" in text
    assert 'run  pip install "gpublas[cuda13]"' in text and 'run  pip install "gpublas[demo]"' in text
    assert "executor  not available: numba-cuda is not installed" in text


def test_counts_cache_entries(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUBLAS_CACHE_DIR", str(tmp_path))
    diskcache.write("kernels", "one", b"x" * 2_000_000)
    assert "kernels   1 entries, 2.0 MB" in info.report()
