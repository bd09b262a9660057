"""How an algorithm is chosen: flags, measured choices and where they are kept, steps back, and what is told of it."""

import json
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import device_context

import gpublas
import gpudnn
from gpudnn import choices, measure, select
from gpudnn.algorithms import direct, im2col

from . import reference

PROBLEM = gpudnn.ConvProblem.from_shapes((2, 3, 9, 8), (4, 3, 3, 3), padding=1)
DIRECTIONS = ["forward", "backward_data", "backward_filter"]


@pytest.fixture(autouse=True)
def forgetful(tmp_path, monkeypatch):
    """Choices are kept in a folder of the test's own, and none is known; kernels stay in the usual cache."""
    monkeypatch.setattr(choices, "place", lambda device: tmp_path / f"{choices._model(device)}.json")
    forget(monkeypatch)


def forget(monkeypatch):
    """As in another process."""
    monkeypatch.setattr(choices, "_known", choices.OrderedDict())
    monkeypatch.setattr(choices, "_read", set())


@pytest.fixture
def images(rng):
    return rng.standard_normal(PROBLEM.x_shape).astype("f4"), rng.standard_normal(PROBLEM.w_shape).astype("f4")


@pytest.fixture
def measured(monkeypatch):
    """(problem, direction) of everything that is measured; direct is taken for the fastest, whatever the clock says."""
    seen, whole = [], measure._measure
    times = {"direct": 1e-6, "im2col": 2e-6}

    def watched(run, problem, direction, able, limit):
        seen.append((problem, direction))
        found, faults = whole(run, problem, direction, able, limit)
        again = (choices.Measured(name, times[name]) for name, _ in found)
        return tuple(sorted(again, key=lambda one: one.seconds)), faults

    monkeypatch.setattr(measure, "_measure", watched)
    return seen


def check(x, w, y):
    exact = reference.conv_forward(x, w, (1, 1), ((1, 1), (1, 1)), (1, 1), 1, False)
    size = reference.conv_forward(np.abs(x), np.abs(w), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, False)
    assert np.all(np.abs(y - exact) <= im2col.error_bound(PROBLEM, "forward") * size)


# Flags.


def test_flags_hold_in_their_block():
    with gpudnn.flags(benchmark=True, max_error=1) as outer:
        assert outer.benchmark and outer.max_error == 1.0 and gpudnn.current_flags() is outer
        with gpudnn.flags(max_error=None, workspace_limit=np.int64(5)) as inner:
            assert inner.benchmark and inner.max_error is None and inner.workspace_limit == 5
        assert gpudnn.current_flags() is outer
        found = []
        thread = threading.Thread(target=lambda: found.append(gpudnn.current_flags()))
        thread.start()
        thread.join()
        assert found == [gpudnn.Flags()]
    assert gpudnn.current_flags() == gpudnn.Flags()


@pytest.mark.parametrize("name, value, error", [
    ("bench", True, gpudnn.ArgumentError), ("benchmark", 1, gpudnn.DTypeError),
    ("max_error", "small", gpudnn.DTypeError), ("max_error", 0.0, gpudnn.ArgumentError),
    ("max_error", float("nan"), gpudnn.ArgumentError),
    ("workspace_limit", -1, gpudnn.ArgumentError), ("workspace_limit", 1.5, gpudnn.ArgumentError),
    ("benchmark_limit", 0, gpudnn.ArgumentError)])
def test_flags_that_are_none(name, value, error):
    with pytest.raises(error, match=name), gpudnn.flags(**{name: value}):
        pass
    assert gpudnn.current_flags() == gpudnn.Flags()


@pytest.mark.parametrize("given, reason", [
    ({"enabled": False}, "enabled=False"), ({"workspace_limit": 0}, "limit is 0"),
    ({"max_error": direct.error_bound(PROBLEM, "forward")}, "error bound of"),
    ({"deterministic": True}, "nondeterministic"), ({}, "reduced_precision")])
def test_what_flags_rule_out(given, reason, monkeypatch):
    if reason in ("nondeterministic", "reduced_precision"):
        monkeypatch.setattr(im2col, "TRAITS", frozenset({reason}))
    with gpudnn.flags(**given):
        choice = gpudnn.explain(PROBLEM)
        assert choice.algorithm == "direct" and reason in dict(choice.passed_over)["im2col"]
        assert reason in choice.table() and "taken" in choice.table()
        with pytest.raises(gpudnn.UnsupportedError, match=reason):
            gpudnn.explain(PROBLEM, algo="im2col")
    with gpudnn.flags(allow_tf32=True):
        assert gpudnn.explain(PROBLEM).algorithm == "im2col"


def test_no_algorithm_is_that_exact():
    with gpudnn.flags(max_error=1e-12), pytest.raises(gpudnn.UnsupportedError, match=r"direct cannot .* is 1e-12"):
        gpudnn.explain(PROBLEM)
    double = gpudnn.ConvProblem.from_shapes(PROBLEM.x_shape, PROBLEM.w_shape, padding=1, dtype="float64")
    with gpudnn.flags(max_error=1e-12):
        assert gpudnn.explain(double).algorithm == "im2col"


def test_a_calls_own_limit_counts(images):
    x, w = images
    with gpublas.use("cpu"), gpudnn.flags(workspace_limit=0):
        gpudnn.conv2d(x, w, padding=1)
        assert gpudnn.last_choice().algorithm == "direct"
        gpudnn.conv2d(x, w, padding=1, workspace_limit=1 << 20)
        assert gpudnn.last_choice().algorithm == "im2col"


# Measured choices.


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_find(device, direction):
    found = gpudnn.find_conv2d(PROBLEM, direction)
    assert {row.algorithm for row in found} == {"im2col", "direct"} and all(row.status == "ok" for row in found)
    times = [row.seconds for row in found]
    assert times == sorted(times) and times[0] > 0
    for row in found:
        module = {"im2col": im2col, "direct": direct}[row.algorithm]
        assert row.workspace_bytes == module.workspace_bytes(PROBLEM, direction)
        assert row.error_bound == module.error_bound(PROBLEM, direction) and row.deterministic
    found = gpudnn.find_conv2d(PROBLEM, direction, workspace_limit=0)
    assert [(row.algorithm, row.status == "ok") for row in found] == [("direct", True), ("im2col", False)]
    assert "limit is 0" in found[1].status and found[1].seconds is None


def test_benchmark_measures_once_for_all_processes(device, images, measured, monkeypatch):
    x, w = images
    for _ in range(2):
        check(x, w, gpudnn.conv2d(x, w, padding=1, algo="benchmark"))
        assert gpudnn.last_choice().algorithm == "direct" and "measured" in gpudnn.last_choice().why
    gpudnn.conv2d(x, w, padding=1)  # auto takes what is known
    assert gpudnn.last_choice().algorithm == "direct"
    forget(monkeypatch)
    with gpudnn.flags(benchmark=True):
        gpudnn.conv2d(x, w, padding=1)
    assert gpudnn.last_choice().algorithm == "direct" and measured == [(PROBLEM, "forward")]
    gpudnn.conv2d(x[:1], w, padding=1)
    assert gpudnn.last_choice().algorithm == "im2col"  # of another problem nothing is known


def test_what_the_call_allows_is_part_of_what_is_known(images, measured):
    """An entry measured under a small limit does not serve a call that may take more."""
    x, w = images
    with gpublas.use("cpu"):
        gpudnn.conv2d(x, w, padding=1, algo="benchmark", workspace_limit=0)
        assert gpudnn.last_choice().algorithm == "direct"  # d2
        gpudnn.conv2d(x, w, padding=1)
        assert gpudnn.last_choice().algorithm == "im2col" and len(measured) == 1
        with gpudnn.flags(deterministic=True):
            gpudnn.conv2d(x, w, padding=1, algo="benchmark")
        gpudnn.conv2d(x, w, padding=1, algo="benchmark")
    assert len(measured) == 3


def test_frozen_never_measures(images, measured):
    x, w = images
    with gpublas.use("cpu"):
        with gpudnn.flags(frozen=True):
            gpudnn.conv2d(x, w, padding=1, algo="benchmark")
            assert gpudnn.last_choice().algorithm == "im2col" and not measured
        gpudnn.conv2d(x, w, padding=1, algo="benchmark")
        with gpudnn.flags(frozen=True):
            gpudnn.conv2d(x, w, padding=1, algo="benchmark")
            assert gpudnn.last_choice().algorithm == "direct" and len(measured) == 1


def test_how_many_are_measured(images, measured):
    x, w = images
    with gpublas.use("cpu"), gpudnn.flags(benchmark_limit=1):
        gpudnn.conv2d(x, w, padding=1, algo="benchmark")
    assert gpudnn.last_choice().algorithm == "im2col"


@pytest.mark.parametrize("fault, message", [("wrong", "differ from direct's"), ("outside", "wrote outside"),
                                            ("nan", "differ from direct's"), ("refuses", "not today")])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_faulty_algorithm_is_found_out(direction, fault, message, monkeypatch):
    whole = getattr(im2col, direction)

    def spoiled(call, problem, *given):
        *operands, _, _, _ = given
        out = operands[-1]
        if fault == "refuses":
            raise gpudnn.UnsupportedError("not today")
        whole(call, problem, *given)
        if fault == "wrong":
            measure._at(out.pointer, 4).view("f4")[0] *= 1.001
        elif fault == "nan":
            measure._at(out.pointer, 4).view("f4")[0] = np.nan
        else:
            measure._at(out.pointer - 4, 4)[0] ^= 1

    monkeypatch.setattr(im2col, direction, spoiled)
    with gpublas.use("cpu"):
        found = gpudnn.find_conv2d(PROBLEM, direction)
    assert [row.algorithm for row in found] == ["direct", "im2col"] and message in found[1].status


def test_no_room_for_measuring(images, monkeypatch):
    x, w = images

    def refuse(run, problem, direction, able, limit):
        raise gpudnn.OutOfMemoryError(10**12, "no such memory")

    monkeypatch.setattr(measure, "_measure", refuse)
    with gpublas.use("cpu"):
        check(x, w, gpudnn.conv2d(x, w, padding=1, algo="benchmark"))
        with pytest.raises(gpudnn.OutOfMemoryError):
            gpudnn.find_conv2d(PROBLEM)


# Where choices are kept.


def test_files_are_readable_and_travel(images, measured, tmp_path, monkeypatch):
    x, w = images
    with gpublas.use("cpu"):
        gpudnn.conv2d(x, w, padding=1, algo="benchmark")
        content = json.loads((tmp_path / "cpu.json").read_text())
        (entry,) = content["entries"]
        assert content["library"] == "0.1.0" and entry["problem"]["channels"] == 3
        assert [found["algorithm"] for found in entry["results"]] == ["direct", "im2col"]
        assert gpudnn.export_choices(tmp_path / "shipped.json") == 1
        (tmp_path / "cpu.json").unlink()
        forget(monkeypatch)
        assert gpudnn.explain(PROBLEM).algorithm == "im2col"
        assert gpudnn.import_choices(tmp_path / "shipped.json") == 1
        assert gpudnn.explain(PROBLEM).algorithm == "direct"
        for damage in ({"device": "another"}, {"library": "0.0.1"}, {"driver": 1}):
            (tmp_path / "shipped.json").write_text(json.dumps({**content, **damage}))
            with pytest.raises(gpudnn.UnsupportedError, match=next(iter(damage))):
                gpudnn.import_choices(tmp_path / "shipped.json")


def damaged(content, damage):
    if damage == "truncated":
        return json.dumps(content)[:-20]
    if damage == "no object":
        return "[1, 2]"
    if damage == "not text":
        return "\udc80"
    entry = content["entries"][0]
    if damage == "unknown algorithm":
        entry["results"][0]["algorithm"] = "magic"
    elif damage == "unknown field":
        entry["problem"]["color"] = "red"
    elif damage == "direction":
        entry["direction"] = "sideways"
    else:
        content[damage] = "something else"
    return json.dumps(content)


@pytest.mark.parametrize("damage", ["truncated", "no object", "not text", "unknown algorithm", "unknown field",
                                    "direction", "library", "driver", "device"])
def test_d7_files_that_do_not_serve(damage, images, measured, tmp_path, monkeypatch):
    """Ignored with one warning, and written anew."""
    x, w = images
    with gpublas.use("cpu"):
        gpudnn.conv2d(x, w, padding=1, algo="benchmark")
        text = damaged(json.loads((tmp_path / "cpu.json").read_text()), damage)
        (tmp_path / "cpu.json").write_text(text, encoding="utf-8", errors="surrogateescape")
        forget(monkeypatch)
        with pytest.warns(RuntimeWarning, match="ignored|utf-8") as told:
            gpudnn.conv2d(x, w, padding=1)
        assert len(told) == 1 and gpudnn.last_choice().algorithm == "im2col"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gpudnn.conv2d(x, w, padding=1, algo="benchmark")
            forget(monkeypatch)
            assert gpudnn.explain(PROBLEM).algorithm == "direct"


def test_memory_is_bounded_and_shared_by_threads(monkeypatch, tmp_path):
    monkeypatch.setattr(choices, "_CAPACITY", 20)
    device, result = SimpleNamespace(name="some"), (choices.Measured("direct", 1e-3),)
    keys = [choices.Key(PROBLEM, "forward", limit, False, False, None) for limit in range(40)]

    def work(part):
        for key in keys[part::4]:
            choices.keep(device, key, result)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [key for _, key in choices._known]
    assert len(kept) == 20 and choices.find(device, kept[0]) == result and len(choices._known) == 20
    assert len(json.loads((tmp_path / "some.json").read_text())["entries"]) == 40


def test_a_folder_that_cannot_be_written_costs_time_only(images, measured, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(choices, "place", lambda device: tmp_path / "file" / "cpu.json")
    x, w = images
    with gpublas.use("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            gpudnn.conv2d(x, w, padding=1, algo="benchmark")
    assert gpudnn.last_choice().algorithm == "direct" and len(measured) == 1


# Steps back.


def test_d3_every_allocation_may_fail(device, images, monkeypatch):
    """Whichever allocation fails, the result is the same; the step is logged, and the failure not repeated."""
    x, w = images
    pool = gpublas.context.WorkspacePool
    lend, failing = pool.lend, SimpleNamespace(at=0, count=0)

    def lends(self, device, stream, nbytes):
        failing.count += 1
        if failing.count - 1 == failing.at:
            raise gpudnn.OutOfMemoryError(nbytes, "injected")
        return lend(self, device, stream, nbytes)

    monkeypatch.setattr(pool, "lend", lends)
    failed = 0
    for failing.at in range(100):
        failing.count = 0
        check(x, w, gpudnn.conv2d(x, w, padding=1))
        steps = gpudnn.fallback_log()
        if failing.count <= failing.at:
            break
        failed += 1
        (step,) = steps
        assert (step.routine, step.algorithm, step.taken) == ("conv2d", "im2col", "direct")
        assert "injected" in step.reason
        failing.at = -1
        gpudnn.conv2d(x, w, padding=1)
        assert gpudnn.last_choice().algorithm == "direct" and gpudnn.fallback_log() == steps
        assert "failed before" in dict(gpudnn.last_choice().passed_over)["im2col"]
        check(x, w, gpudnn.conv2d(x, w, padding=1, algo="im2col"))  # a name is obeyed
        assert gpudnn.fallback_log(clear=True) == steps and gpudnn.fallback_log() == []
    assert failed and gpudnn.last_choice().algorithm == "im2col"


def test_a_wrong_argument_and_a_fault_are_never_retried(images, monkeypatch):
    x, w = images

    def faulty(*given):
        raise gpudnn.DeviceError("an illegal address")

    monkeypatch.setattr(im2col, "forward", faulty)
    with gpublas.use("cpu"):
        with pytest.raises(gpudnn.DeviceError):
            gpudnn.conv2d(x, w, padding=1)
        with pytest.raises(gpudnn.ArgumentError):
            gpudnn.conv2d(x, w[:, :2], padding=1)
    assert gpudnn.fallback_log() == []


def test_only_what_needs_less_follows_when_memory_is_out(images, monkeypatch):
    """An algorithm that wants as much as the one that failed is not tried."""
    x, w = images
    greedy = SimpleNamespace(NAME="greedy", NOTES="", TRAITS=frozenset(), supports=lambda problem, direction: None,
                             error_bound=im2col.error_bound, workspace_bytes=lambda *given: 1 << 20, forward=None)

    def forward(*given):
        raise gpudnn.OutOfMemoryError(1 << 20, "full")

    greedy.forward = forward
    modest = SimpleNamespace(**{**vars(greedy), "NAME": "modest", "workspace_bytes": lambda *given: 1 << 19})
    alike = SimpleNamespace(**{**vars(greedy), "NAME": "alike"})
    monkeypatch.setattr(select, "ALGORITHMS", (greedy, alike, modest, direct))
    with gpublas.use("cpu"):
        gpudnn.conv2d(x, w, padding=1)
    tried = [step.algorithm for step in gpudnn.fallback_log()]
    assert tried == ["greedy", "modest"] and gpudnn.last_choice().algorithm == "direct"


def test_explain_says_what_serves_on_each_device(measured):
    with gpublas.use(device_context("cpu")):
        gpudnn.conv2d(np.ones(PROBLEM.x_shape, "f4"), np.ones(PROBLEM.w_shape, "f4"), padding=1, algo="benchmark")
        assert gpudnn.explain(PROBLEM).algorithm == "direct" and "0.001 ms" in gpudnn.explain(PROBLEM).table()
    with gpublas.use(device_context("executor")):
        assert gpudnn.explain(PROBLEM).algorithm == "im2col"
