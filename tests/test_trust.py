"""The check of a device's tensor cores: it passes where kernels are right, and a wrong device is found out and told."""

import numpy as np
import pytest

import gpublas
from gpublas import diskcache
from gpublas.cuda import mixed, trust
from gpublas.cuda.executor import ExecutorDevice
from gpublas.errors import UnsupportedError


class Gpu(ExecutorDevice):
    """The executor, taken for a GPU; its tensor cores may give wrong results, or faults."""

    kind = "cuda"

    def __init__(self, name, spoils=None):
        super().__init__()
        self.name, self.spoils, self.launches = name, spoils, 0

    def launch(self, kernel, grid, arguments, stream, memory):
        self.launches += 1
        if self.spoils == "fault" and kernel.name.startswith("mma"):
            raise RuntimeError("an illegal instruction was encountered")
        super().launch(kernel, grid, arguments, stream, memory)
        if self.spoils == "layout" and kernel.name.startswith("mma"):
            address = int(arguments[2])
            first, second = np.empty(1, "f4"), np.empty(1, "f4")
            self.download(address, first)
            self.download(address + 4, second)
            self.upload(second, address)
            self.upload(first, address + 4)


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """No verdicts from elsewhere, and none kept; kernels stay in the usual cache."""
    monkeypatch.setattr(trust, "_known", {})
    monkeypatch.setattr(mixed, "_warned", set())
    stored, read, write = {}, diskcache.read, diskcache.write

    def read_here(kind, name):
        return stored.get(name) if kind == "verdicts" else read(kind, name)

    def write_here(kind, name, content):
        if kind == "verdicts":
            stored[name] = content
        else:
            write(kind, name, content)

    monkeypatch.setattr(diskcache, "read", read_here)
    monkeypatch.setattr(diskcache, "write", write_here)
    return stored


@pytest.mark.parametrize("kind", ["f16", "s8", "tf32", "dmma"])
def test_right_devices_pass(kind):
    assert trust.examine(ExecutorDevice(order="random", seed=3), kind) == ""


def test_the_check_runs_once(forgetful, monkeypatch):
    device = Gpu("careful")
    A = np.ones((8, 8), np.float16)
    with gpublas.use(gpublas.Context(device)):
        gpublas.gemm("N", "N", 1.0, A, A)
        first = device.launches
        gpublas.gemm("N", "N", 1.0, A, A)
        assert first == 1 + 2 * len(trust._CASES) and device.launches == first + 1
        monkeypatch.setattr(trust, "_known", {})  # as in another process
        gpublas.gemm("N", "N", 1.0, A, A)
        assert device.launches == first + 2
    assert len(forgetful) == 1


@pytest.mark.parametrize("spoils, message", [("layout", "elements differ"), ("fault", "illegal instruction")])
def test_a_wrong_device_is_left_out(spoils, message):
    device = Gpu(f"wrong by {spoils}", spoils)
    A = np.arange(64, dtype=np.float16).reshape(8, 8)
    with gpublas.use(gpublas.Context(device)):
        with pytest.warns(RuntimeWarning, match=message), pytest.raises(UnsupportedError, match=device.name):
            gpublas.gemm("N", "N", 1.0, A, A)
        A = A.astype(np.float32)
        with pytest.warns(RuntimeWarning, match="tf32"):
            C = gpublas.sgemm("N", "N", 1.0, A, A, compute="tf32")
    assert np.array_equal(C, A @ A)


def test_info_shows_verdicts(monkeypatch):
    from gpublas import info

    monkeypatch.setattr(trust, "kept", lambda: [("cuda:0 (Some GPU)", "f16", ""), ("cuda:0 (Some GPU)", "s8", "wrong")])
    text = info.report()
    assert "f16 on cuda:0 (Some GPU)  passed" in text and "wrong" in text


def test_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("GPUBLAS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(trust, "_known", {})
    monkeypatch.setattr(trust, "examine", lambda device, kind, family: "because")
    assert trust.verdict(Gpu("kept"), "f16") == "because" and trust.kept() == [("kept", "f16", "because")]
