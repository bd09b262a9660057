"""Devices that every case runs on, and helpers shared by the tests."""

import faulthandler
import os
import sys

# One thread for each test process: with more, on busy cores, BLAS's threads mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import gpublas
from gpublas.cuda import driver
from gpublas.cuda.executor import ExecutorDevice

faulthandler.enable()

DEVICES = ["cpu", "executor", *([] if driver.why_unusable() else ["cuda"])]

# Threads step in random order, accesses are checked, workspace is poisoned: what a GPU forgives, this does not.
_executor = ExecutorDevice(checked=True, order="random", seed=20261201, poison=True)


def device_context(name):
    """A context for a device as tests use it."""
    return gpublas.Context(_executor if name == "executor" else name)


@pytest.fixture(params=DEVICES)
def device(request):
    """Every device of this machine in turn, chosen for the test."""
    with gpublas.use(device_context(request.param)):
        yield request.param


@pytest.fixture
def executor():
    """The executor, chosen for the test."""
    with gpublas.use(device_context("executor")) as context:
        yield context.device


@pytest.fixture(autouse=True)
def poisoned_workspace(monkeypatch):
    """Workspace of the CPU device holds NaN before each use."""
    monkeypatch.setattr("gpublas.context.CpuDevice.poison", True)


@pytest.fixture(autouse=True)
def nothing_failed():
    """What ran out of memory in one test is tried again in the next."""
    if "gpudnn" in sys.modules:
        sys.modules["gpudnn"].fallback_log(clear=True)


@pytest.fixture
def rng():
    return np.random.default_rng(20261201)


def random_values(rng, shape, dtype):
    """Normal values of a type."""
    dtype = np.dtype(dtype)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)
