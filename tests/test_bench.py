"""The benchmarks run; their figures are for reading, not for asserting."""

import json

import numpy as np
import pytest

from bench import __main__ as bench
from bench import gemm, machine, model


def test_overhead_prints_and_keeps_its_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr("bench.overhead._CALLS", 3)
    assert bench.main(["overhead", "--rounds", "1", "--save"]) == 0
    (kept,) = tmp_path.iterdir()
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert found["machine"]["versions"]["gpublas"] and found["machine"]["cores"] >= 1
    assert all(figures["gpublas_us"] > 0 for figures in found["figures"].values())
    assert {"dgemm", "daxpy", "sgemm to launch"} <= set(found["figures"])
    assert "dgemm" in capsys.readouterr().out


def test_gemm_compares_on_the_cpu(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    command = ["gemm", "--device", "cpu", "--rounds", "3", "--largest", "1e7", "--save"]
    assert bench.main(command) == 0
    found = json.loads(next(tmp_path.glob("gemm-cpu-float32-*.json")).read_text(encoding="utf-8"))
    assert {row["group"] for row in found["figures"]["rows"]} >= {"square"}
    assert all(row["speed"] > 0 for row in found["figures"]["rows"])
    assert list(tmp_path.glob("*.png")) and "geometric mean" in capsys.readouterr().out


def test_gemm_notices_a_wrong_result():
    shape = gemm.Shape("square", 20, 20, 20, "N", "N")
    A, B = np.random.default_rng(0).standard_normal((2, 20, 20))
    gemm.check(shape, [A, B], A @ B, np.dtype("f8"), "right")
    with pytest.raises(ArithmeticError, match="wrong"):
        gemm.check(shape, [A, B], A @ B + 1e-12, np.dtype("f8"), "wrong")


def test_without_a_peer_there_is_nothing_to_compare_with(monkeypatch, capsys):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", nothing)
    assert bench.main(["gemm", "--device", "cuda"]) == 1
    assert "CuPy or PyTorch" in capsys.readouterr().out


def test_the_model_by_hand():
    """One wave of 128 x 128 tiles on a made-up GPU, each part worked out by hand."""
    gpu = model.Gpu("made up", 4, 1e9, {"FFMA": 128}, l2=1e12, dram=1e11)
    figures = {"kernel": "sgemm", "threads": 256, "blocks": 1, "loop": 600, "operation": "FFMA", "count": 512,
               "memory": {"LDS.128": 32, "LDG.128": 2}}
    found = model.predict(gpu, figures, (128, 128, 8), 4, 256, 256, 80)
    assert found.arithmetic == pytest.approx(10 * 128 * 128 * 8 / 128 / 1e9)
    assert found.issue == pytest.approx(10 * 600 * 8 / 4 / 1e9)
    assert found.shared == pytest.approx(10 * 32 * 512 * 8 / 128 / 1e9)
    assert found.l2 == pytest.approx(4 * 256 * 80 * 4 / 1e12)
    assert found.dram == pytest.approx((2 * 256 * 80 + 256 * 256) * 4 / 1e11)
    assert found.seconds == found.issue and found.bound == "issue"
    # A fifth tile needs a second wave; twice the depth twice the time.
    assert model.predict(gpu, figures, (128, 128, 8), 4, 257, 128, 80).arithmetic == pytest.approx(found.arithmetic)
    assert model.predict(gpu, figures, (128, 128, 8), 4, 257, 256, 80).arithmetic == pytest.approx(2 * found.arithmetic)
    assert model.predict(gpu, figures, (128, 128, 8), 4, 256, 256, 160).issue == pytest.approx(2 * found.issue)
