"""The compiler's disk cache, and machine code without a GPU."""

import dataclasses
import importlib
import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gpublas
from gpublas import diskcache
from gpublas.cuda import compile as compiler
from gpublas.cuda.gemm import config, simt

TILES = (config.ANY, config.ANY, (), *dataclasses.astuple(config.STRIDED["s"][0]))

FACTORY = '''
from numba import cuda, float32, int32, int64
from gpublas.cuda.compile import KernelSource

STEP = {step}

def scale(factor):
    def kernel(x, n):
        i = int64(cuda.blockIdx.x) * 64 + int32(cuda.threadIdx.x)
        if i < n:
            x[i] = x[i] * float32(factor) + float32(STEP)
    return KernelSource(kernel, "pl", (float32,), 64)
'''


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty disk cache, and nothing in memory."""
    monkeypatch.setenv("GPUBLAS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_built", {})
    return tmp_path / "cache"


@pytest.fixture
def factory(tmp_path, monkeypatch):
    """A module of kernels that can be edited: `write(step)` gives its factory."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(compiler, "_PACKAGES", ("gpublas", "gpudnn", "edited_kernels"))

    def write(step):
        (tmp_path / "edited_kernels.py").write_text(FACTORY.format(step=step))
        importlib.invalidate_caches()
        sys.modules.pop("edited_kernels", None)
        compiler._built.clear()
        return importlib.import_module("edited_kernels").scale

    yield write
    sys.modules.pop("edited_kernels", None)


@pytest.fixture
def compilations(monkeypatch):
    """Counts runs of the compiler."""
    calls = []
    real = compiler._compile
    monkeypatch.setattr(compiler, "_compile", lambda *arguments: calls.append(arguments) or real(*arguments))
    return calls


def run(kernel, x):
    with gpublas.use("executor"), gpublas.context.call("test", {}, updates={"x": x}) as call:
        call.launch(kernel, -(-x.size // 64), call["x"].pointer, x.size)
    return x


def test_compiled_once_then_read_from_disk(cache, factory, compilations):
    scale = factory(1)
    for _ in range(3):
        compiler._built.clear()
        kernel = compiler.build(scale, 2.0, capability=(8, 0))
    assert len(compilations) == 1
    np.testing.assert_array_equal(run(kernel, np.arange(5, dtype="f4")), [1, 3, 5, 7, 9])


def test_everything_that_matters_is_in_the_key(cache, factory, compilations):
    kernels = [compiler.build(factory(1), 2.0, capability=(8, 0)), compiler.build(factory(1), 3.0, capability=(8, 0)),
               compiler.build(factory(1), 2.0, capability=(9, 0)), compiler.build(factory(5), 2.0, capability=(8, 0))]
    assert len(compilations) == 4
    assert ".target sm_90" in kernels[2].texts[0]
    np.testing.assert_array_equal(run(kernels[3], np.zeros(2, "f4")), [5, 5])


def test_versions_of_the_compilers_are_in_the_key(cache, factory, compilations, monkeypatch):
    scale = factory(1)
    compiler.build(scale, 2.0, capability=(8, 0))
    monkeypatch.setattr(compiler, "_versions", lambda: (("numba-cuda", "99"),))
    compiler._built.clear()
    compiler.build(scale, 2.0, capability=(8, 0))
    assert len(compilations) == 2


def test_sources_of_modules_that_a_kernel_uses_are_in_the_key():
    texts = {}
    compiler._collect_sources(simt, texts)
    assert {f"gpublas.cuda.{name}" for name in ("gemm.simt", "gemm.config", "ptx", "compile")} <= set(texts)


@pytest.mark.parametrize("damage", [lambda data: data[:-7], lambda data: b"",
                                    lambda data: data[:40] + b"x" + data[41:]])
def test_a_corrupt_entry_is_rebuilt(cache, factory, compilations, damage):
    scale = factory(1)
    compiler.build(scale, 2.0, capability=(8, 0))
    entry, = (cache / "kernels").iterdir()
    good = entry.read_bytes()
    entry.write_bytes(damage(good))
    compiler._built.clear()
    compiler.build(scale, 2.0, capability=(8, 0))
    assert len(compilations) == 2 and entry.read_bytes() == good


def test_threads_that_want_the_same_kernel_compile_it_once(cache, factory, compilations):
    scale, found = factory(1), []
    threads = [threading.Thread(target=lambda: found.append(compiler.build(scale, 2.0, capability=(8, 0))))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compilations) == 1 and len(found) == 6 and len(set(map(id, found))) == 1


def test_processes_share_entries(cache):
    """Several processes write one entry at once, and one whole file is left."""
    code = ("from gpublas.cuda import compile; from gpublas.cuda.gemm.simt import gemm_kernel;"
            f"assert compile.build(gemm_kernel, *{TILES}, capability=(8, 0)).threads == 256")
    processes = [subprocess.Popen([sys.executable, "-c", code], env=os.environ) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    names = [path.name for path in (cache / "kernels").iterdir()]
    assert len(names) == 1 and not names[0].startswith(".")
    assert diskcache.read("kernels", names[0]) is not None


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch, factory):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("GPUBLAS_CACHE_DIR", str(blocked))
    kernel = compiler.build(factory(0), 2.0, capability=(8, 0))
    np.testing.assert_array_equal(run(kernel, np.ones(3, "f4")), [2, 2, 2])


def test_concurrent_writers_leave_a_whole_entry(cache):
    stop, seen = time.monotonic() + 1.0, set()
    contents = [bytes([letter]) * 100_000 for letter in b"abc"]

    def write(content):
        while time.monotonic() < stop:
            diskcache.write("test", "entry", content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    while time.monotonic() < stop:
        found = diskcache.read("test", "entry")
        assert found is None or found in contents
        seen.add(found)
    for thread in threads:
        thread.join()
    assert seen - {None}
    assert [path.name for path in (cache / "test").iterdir()] == ["entry"]


@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (10, 0)])
def test_machine_code_without_a_gpu(cache, capability):
    """nvJitLink assembles what the compiler made; the machine code is an ELF file that names the kernel."""
    kernel = compiler.build(simt.gemm_kernel, *TILES, capability=capability)
    code = kernel.cubin()
    assert code[:4] == b"\x7fELF" and kernel.name.encode() in code
    assert kernel.cubin() == code and len(list((cache / "cubins").iterdir())) == 1


def test_a_configuration_says_why_it_does_not_fit():
    small = config.STRIDED["s"][-1]
    for tiles in itertools.chain(*config.WIDE.values(), *config.STRIDED.values(), *config.TRIANGLES.values()):
        assert tiles.fits() is None
    bad = {"shared memory": {"block_rows": 1024, "block_columns": 1024}, "accumulators": {"thread_rows": 16,
           "thread_columns": 16}, "vector width": {"thread_rows": 3}, "warp tile": {"block_rows": 72},
           "block_depth": {"block_depth": 4}}
    for reason, change in bad.items():
        assert reason in dataclasses.replace(small, **change).fits()
