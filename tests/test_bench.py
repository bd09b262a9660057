"""The benchmarks run; their figures are for reading, not for asserting."""

import json

from bench import __main__ as bench
from bench import machine


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
