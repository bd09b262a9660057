"""Which device serves a call, and who sees the choice."""

import asyncio
import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import gpublas
from gpublas import context
from gpublas.cuda import driver
from gpublas.cuda.executor import ExecutorDevice


def run(code, **environment):
    """The output of a new Python process."""
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=True).stdout.strip()


def test_use_as_context_manager_and_as_statement():
    before = gpublas.current()
    with gpublas.use("cpu") as chosen:
        assert gpublas.current() is chosen and chosen.device.name == "cpu"
        with gpublas.use("executor"):
            assert gpublas.current().device.kind == "executor"
        assert gpublas.current() is chosen
    assert gpublas.current() is before

    def stays():
        gpublas.use("executor")
        gpublas.use("cpu")
        return gpublas.current().device.name

    import contextvars

    assert contextvars.copy_context().run(stays) == "cpu"
    assert gpublas.current() is before


def test_a_context_object_is_taken_as_it_is():
    chosen = gpublas.Context("cpu")
    with gpublas.use(chosen) as entered:
        assert entered is chosen


def test_threads_and_tasks_do_not_see_each_others_choice():
    seen = {}

    def other():
        seen["thread"] = gpublas.current().device

    async def task(name):
        with gpublas.use(name):
            await asyncio.sleep(0)
            seen[name] = gpublas.current().device.kind

    async def both():
        await asyncio.gather(task("cpu"), task("executor"))

    with gpublas.use(gpublas.Context(ExecutorDevice())) as chosen:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        asyncio.run(both())
        assert gpublas.current() is chosen
    assert seen["thread"] is not chosen.device
    assert seen["cpu"] == "cpu" and seen["executor"] == "executor"


def test_environment_variable():
    code = "import gpublas; print(gpublas.current().device.name)"
    assert run(code, GPUBLAS_DEVICE="executor") == "executor"
    assert run(code, GPUBLAS_DEVICE="cpu") == "cpu"


def test_default_device_says_why():
    code = ("import logging; logging.basicConfig(level=logging.INFO, format='%(name)s %(message)s', stream=__import__("
            "'sys').stdout)\nimport gpublas, numpy\na = numpy.eye(2)\n"
            "gpublas.dgemm('N', 'N', 1, a, a); gpublas.dgemm('N', 'N', 1, a, a)")
    lines = run(code, GPUBLAS_DEVICE="").splitlines()
    assert len(lines) == 1 and lines[0].startswith("gpublas device c")
    reason = driver.why_unusable()
    assert (reason or "usable GPU was found") in lines[0]


def test_unknown_and_unusable_devices():
    before = gpublas.current()
    with pytest.raises(gpublas.ArgumentError, match="use: argument 1, device: found 'gpu'"):
        gpublas.use("gpu")
    if driver.why_unusable():
        with pytest.raises(gpublas.DeviceError, match="device 'cuda:0' cannot be used: no NVIDIA driver"):
            gpublas.use("cuda")
    with pytest.raises(gpublas.ArgumentError, match="Context: argument precision: found 'tf32'"):
        gpublas.Context("cpu", precision="tf32")
    assert gpublas.current() is before


@pytest.mark.parametrize("missing, reason", [
    (("numba_cuda",), "numba-cuda is not installed"), (("cuda.core",), "cuda-core is not installed")])
def test_what_is_missing_is_named(monkeypatch, missing, reason):
    monkeypatch.setattr(driver, "_loads", lambda name: True)
    find = driver.importlib.util.find_spec
    monkeypatch.setattr(driver.importlib.util, "find_spec", lambda name: None if name in missing else find(name))
    driver.why_unusable.cache_clear()
    try:
        assert driver.why_unusable().startswith(reason) and "pip install" in driver.why_unusable()
    finally:
        driver.why_unusable.cache_clear()


def test_an_executor_without_a_compiler_says_what_to_install(monkeypatch):
    find = driver.importlib.util.find_spec
    monkeypatch.setattr(driver.importlib.util, "find_spec", lambda name: None if name == "numba_cuda" else find(name))
    with pytest.raises(gpublas.DeviceError, match="device 'executor' cannot be used: numba-cuda is not installed; pip"):
        ExecutorDevice()


class TestWorkspacePool:
    def test_memory_is_used_again(self):
        device = ExecutorDevice()
        pool = context.WorkspacePool()
        with pool.lend(device, None, 1000) as first:
            assert first.pointer % 256 == 0
            with pool.lend(device, None, 1000) as second:
                assert second is not first
        with pool.lend(device, None, 500) as third:
            assert third is first or third is second

    def test_is_bounded(self):
        pool = context.WorkspacePool(keep=3)
        device = ExecutorDevice()
        for size in range(1000, 20000, 1000):
            with pool.lend(device, None, size):
                pass
        assert len(pool._free) <= 3

    def test_out_of_memory_releases_the_pool_and_tries_again(self):
        class Small(ExecutorDevice):
            used = 0

            def allocate(self, nbytes, stream=None):
                if len(pool._free):
                    raise gpublas.OutOfMemoryError(nbytes)
                return super().allocate(nbytes, stream)

        pool, device = context.WorkspacePool(), Small()
        with pool.lend(device, None, 100):
            pass
        assert len(pool._free) == 1
        with pool.lend(device, None, 10**6) as buffer:
            assert buffer.nbytes == 10**6

    def test_is_poisoned_before_each_use(self):
        with gpublas.use(gpublas.Context(ExecutorDevice())), context.call("test", {}) as run_:
            for _ in range(2):
                with run_.workspace(64) as pointer:
                    values = np.frombuffer((__import__("ctypes").c_float * 16).from_address(pointer), np.float32)
                    assert np.isnan(values).all()
                    values[:] = 1


def test_a_stray_kernel_faults_and_is_named(executor, monkeypatch):
    """Checked mode is on: a launch that is told of too little memory is caught, with nothing left locked."""
    from gpublas.testing.ptx import KernelFault

    a = np.ones((40, 40), np.float32)
    launch = ExecutorDevice.launch

    def short(self, kernel, grid, arguments, stream, memory):
        launch(self, kernel, grid, arguments, stream, [(start, size // 2) for start, size in memory])

    monkeypatch.setattr(ExecutorDevice, "launch", short)
    with pytest.raises(KernelFault, match="out-of-bounds global access"):
        gpublas.sgemm("N", "N", 1, a, a)
    monkeypatch.undo()
    assert (gpublas.sgemm("N", "N", 1, a, a) == 40).all()


def test_executor_counts_on_request(rng):
    device = ExecutorDevice(counters=True)
    with gpublas.use(gpublas.Context(device)):
        gpublas.sgemm("N", "N", 1, np.ones((64, 64), np.float32), np.ones((64, 64), np.float32))
    (_, counts), = device.counts
    assert sum(count for opcode, count in counts.instructions.items() if opcode.startswith("fma")) >= 64**3


def test_logging_is_quiet_by_default():
    assert logging.getLogger("gpublas").level == logging.NOTSET
    assert run("import gpublas, numpy as np; a = np.eye(2); gpublas.dgemm('N', 'N', 1, a, a)") == ""
