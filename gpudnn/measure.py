"""Measuring convolution algorithms on a problem's real shapes: each one's result is checked before its time counts.

Operands are positive random numbers, so that the sum of the products' sizes, which error bounds refer to, is the result
itself. An algorithm's result is compared with direct's within the two bounds, on the first image where images are
independent; zones on either side of the output must stay as they were.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from gpublas.context import Call, call
from gpublas.errors import OutOfMemoryError, UnsupportedError

from . import backend, checks, choices
from .algorithms import direct
from .problem import DIRECTIONS, ConvProblem
from .settings import Flags, current_flags
from .views import View, compact, spatial

_GUARD = 256  # bytes on either side of an output
_ROUNDS, _BUDGET = 7, 0.25  # of each algorithm, and seconds after which no further round begins
_BLOCK = 1 << 20  # random numbers that are made; larger arrays repeat them
_OPERANDS = {"forward": ("x", "w", "y"), "backward_data": ("y", "w", "x"), "backward_filter": ("x", "y", "w")}


class Found(NamedTuple):
    """One algorithm for a problem. seconds: median, None where it was not measured. status: "ok", or why not."""

    algorithm: str
    seconds: float | None
    workspace_bytes: int | None
    error_bound: float | None
    deterministic: bool
    status: str


def find_conv2d(problem: ConvProblem, direction: str = "forward", *, workspace_limit: int | None = None) -> list[Found]:
    """Every algorithm for a problem, measured on the device that NumPy arrays go to, under the flags that hold.

    problem, direction, workspace_limit: as in `explain`. Returns those that can do it, the fastest first, then the
    others with their reasons. Measures even what is known, and remembers it. Operands of the problem's size are made on
    the device; OutOfMemoryError where they do not fit.

    >>> from gpudnn import ConvProblem, find_conv2d
    >>> found = find_conv2d(ConvProblem.from_shapes((1, 2, 8, 8), (3, 2, 3, 3)))
    >>> sorted(row.algorithm for row in found if row.status == "ok")[:1]
    ['direct']
    """
    from . import select

    checks.choice("find_conv2d", 2, "direction", direction, DIRECTIONS)
    limit = select.limit_or_flag(select.checked_limit("find_conv2d", workspace_limit))
    flags = current_flags()
    able, unable = select.candidates(problem, direction, "auto", limit, flags)
    with call("find_conv2d", {}) as run:
        times, faults = _measure(run, problem, direction, able, limit)
        choices.keep(run.device, choices.Key.of(problem, direction, limit, flags), times)
    rows = [_row(next(one for one in able if name == one.NAME), problem, direction, limit, seconds, "ok")
            for name, seconds in times]
    rows += [_row(one, problem, direction, limit, None, faults[one.NAME]) for one in able if one.NAME in faults]
    reasons = dict(unable)
    return rows + [Found(one.NAME, None, None, None, "nondeterministic" not in one.TRAITS, reasons[one.NAME])
                   for one in select.ALGORITHMS if one.NAME in reasons]


def _row(algorithm, problem, direction, limit, seconds, status):
    return Found(algorithm.NAME, seconds, algorithm.workspace_bytes(problem, direction, limit),
                 algorithm.error_bound(problem, direction), "nondeterministic" not in algorithm.TRAITS, status)


def learn(run: Call, problem: ConvProblem, direction: str, able: list[ModuleType], workspace_limit: int | None,
          flags: Flags) -> None:
    """Measure the candidates of a problem of which nothing is known, unless the flags say that nothing is measured."""
    key = choices.Key.of(problem, direction, workspace_limit, flags)
    if flags.frozen or choices.find(run.device, key) is not None:
        return
    with contextlib.suppress(OutOfMemoryError):  # no room for a second set of operands: the order by shape serves
        times, _ = _measure(run, problem, direction, able[:flags.benchmark_limit], workspace_limit)
        choices.keep(run.device, key, times)


def _measure(run: Call, problem: ConvProblem, direction: str, able: list[ModuleType], limit: int | None,
             ) -> tuple[choices.Results, dict[str, str]]:
    """(median times, the fastest first; what went wrong with the others)."""
    names = _OPERANDS[direction]
    with _operands(run, problem, names) as (first, second, out):
        expected = _reference(run, problem, direction, first, second, out)
        times, faults = [], {}
        for algorithm in able:
            work = _call_of(run, algorithm, problem, direction, (first, second, out), limit)
            try:
                faults[algorithm.NAME] = _checked(run, algorithm, problem, direction, work, out, expected)
                if not faults[algorithm.NAME]:
                    del faults[algorithm.NAME]
                    times.append(choices.Measured(algorithm.NAME, _time(run, work)))
            except (UnsupportedError, OutOfMemoryError) as error:
                faults[algorithm.NAME] = str(error)
    return tuple(sorted(times, key=lambda measured: measured.seconds)), faults


@contextlib.contextmanager
def _operands(run: Call, problem: ConvProblem, names: tuple[str, str, str]) -> Iterator[list[View]]:
    """Two inputs of positive random numbers and an output between guards, compact in the problem's layout."""
    rng = np.random.default_rng(0)
    with contextlib.ExitStack() as stack:
        views = []
        for name in names:
            extents = _extents(problem, name)
            order = (0, 2, 3, 4, 1) if problem.channels_last else None
            nbytes = math.prod(extents) * problem.itemsize
            start = stack.enter_context(backend.workspace(run, nbytes + 2 * _GUARD)) + _GUARD
            views.append(compact(start, extents, problem.itemsize, order))
            if name != names[2]:
                block = rng.uniform(0.5, 1.5, min(_BLOCK, math.prod(extents))).astype(problem.dtype)
                for at in range(0, nbytes, max(block.nbytes, 1)):
                    part = block[:(nbytes - at) // problem.itemsize]
                    _store(run, start + at, part)
        yield views


def _extents(problem: ConvProblem, name: str) -> tuple[int, ...]:
    if name == "w":
        return (problem.filters, problem.group_channels, *spatial(problem.kernel, 1))
    channels, pixels = (problem.channels, problem.input) if name == "x" else (problem.filters, problem.output)
    return (problem.batch, channels, *spatial(pixels, 1))


def _call_of(run, algorithm, problem, direction, operands, limit) -> Callable[[], None]:
    """One run of an algorithm, without a bias."""
    first, second, out = operands
    given = (first, second, None, out) if direction == "forward" else operands
    return lambda: getattr(algorithm, direction)(run, problem, *given, 1.0, 0.0, limit)


def _reference(run, problem, direction, first, second, out) -> np.ndarray:
    """What direct computes: of the first image where images are independent, else everything."""
    if direction != "backward_filter":
        problem = dataclasses.replace(problem, batch=1)
        first, out = first.box(0, 0, 1), out.box(0, 0, 1)
    _call_of(run, direct, problem, direction, (first, second, out), 0)()
    return _load(run, out.pointer, math.prod(out.extents), problem.dtype)


def _checked(run, algorithm, problem, direction, work, out, expected) -> str:
    """Run once; what is wrong with the result, or ""."""
    nbytes = math.prod(out.extents) * problem.itemsize
    guard = np.full(_GUARD, 0xA5, np.uint8)
    for place in (out.pointer - _GUARD, out.pointer + nbytes):
        _store(run, place, guard)
    _store(run, out.pointer, np.full(expected.size, np.nan, problem.dtype))
    work()
    for place in (out.pointer - _GUARD, out.pointer + nbytes):
        if not np.array_equal(_load(run, place, _GUARD, np.uint8), guard):
            return "wrote outside its output"
    bound = algorithm.error_bound(problem, direction) + direct.error_bound(problem, direction)
    error = np.abs(_load(run, out.pointer, expected.size, problem.dtype) - expected)
    wrong = int(np.count_nonzero(~(error <= bound * expected)))
    return f"{wrong} of {expected.size} results differ from direct's by more than the error bounds" if wrong else ""


def _time(run: Call, work: Callable[[], None]) -> float:
    """Median of some rounds; the first call, which compiles and warms up, was the check."""
    samples: list[float] = []
    while len(samples) < _ROUNDS and sum(samples) < _BUDGET:
        if run.on_host:
            start = time.perf_counter()
            work()
            samples.append(time.perf_counter() - start)
        else:
            samples.append(run.device.seconds(work, run.stream))
    return statistics.median(samples)


def _store(run: Call, pointer: int, values: np.ndarray) -> None:
    if values.size == 0:
        return
    if run.on_host:
        _at(pointer, values.nbytes)[:] = values.view(np.uint8).reshape(-1)
    else:
        run.device.upload(values, pointer, run.stream)


def _load(run: Call, pointer: int, count: int, dtype: Any) -> np.ndarray:
    values = np.empty(count, dtype)
    if count and run.on_host:
        values.view(np.uint8)[:] = _at(pointer, values.nbytes)
    elif count:
        run.device.download(pointer, values, run.stream)
    return values


class _Bytes:
    def __init__(self, pointer: int, nbytes: int):
        self.__array_interface__ = {"version": 3, "data": (pointer, False), "shape": (nbytes,), "typestr": "|u1"}


def _at(pointer: int, nbytes: int) -> np.ndarray:
    """The host's bytes at an address."""
    return np.asarray(_Bytes(pointer, nbytes))
