"""Which algorithm serves a convolution.

ALGORITHMS is the ordered list, `direct`, which supports everything, last. A named algorithm is taken or refused with
its reason. "auto" takes what was measured for the problem (see choices.py), else goes by a short pure function of the
problem over the list; "benchmark" measures where nothing is known. At run time the next algorithm that needs less is
taken when one finds that it cannot (UnsupportedError) or that there is no memory (OutOfMemoryError); each such step is
logged, and the one that failed is not tried again for the problem. Every other error is a fault and surfaces.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from gpublas.context import Call
from gpublas.errors import ArgumentError, OutOfMemoryError, UnsupportedError

from . import checks, choices
from .algorithms import direct, im2col
from .problem import DIRECTIONS, ConvProblem
from .settings import Flags, current_flags

log = logging.getLogger("gpudnn")

ALGORITHMS: tuple[ModuleType, ...] = (im2col, direct)
NAMES = ("auto", "benchmark", *(algorithm.NAME for algorithm in ALGORITHMS))


@dataclass(frozen=True)
class Choice:
    """The algorithm for a problem and direction, its workspace, why others before it were passed over, and why it was
    taken itself. str() is one line; `table()` shows every algorithm."""

    problem: ConvProblem
    direction: str
    algorithm: str
    workspace_bytes: int
    passed_over: tuple[tuple[str, str], ...] = ()
    why: str = ""

    def __str__(self) -> str:
        reasons = "".join(f"; not {name}: {reason}" for name, reason in self.passed_over)
        return f"{self.direction}: {self.algorithm} ({self.workspace_bytes} bytes of workspace), {self.why}{reasons}"

    def table(self) -> str:
        """Every algorithm: what it needs, its error bound, and why it serves or does not."""
        lines = [f"{self.direction} of {self.problem.x_shape} with {self.problem.w_shape}, {self.problem.dtype}",
                 f"{'algorithm':<16}{'workspace':>12}{'error bound':>13}  "]
        reasons = dict(self.passed_over)
        for algorithm in ALGORITHMS:
            name = algorithm.NAME
            needed, bound = "", ""
            if algorithm.supports(self.problem, self.direction) is None:
                needed = str(algorithm.workspace_bytes(self.problem, self.direction, None))
                bound = f"{algorithm.error_bound(self.problem, self.direction):.2g}"
            word = f"taken: {self.why}" if name == self.algorithm else reasons.get(name, "can do it, was not preferred")
            lines.append(f"{name:<16}{needed:>12}{bound:>13}  {word}")
        return "\n".join(lines)


_last: ContextVar[Choice | None] = ContextVar("gpudnn.last_choice", default=None)


def last_choice() -> Choice | None:
    """The Choice that served the last convolution in this thread or task; None before the first one.

    Calls that are no more than a scaling (an empty batch, alpha == 0) run no algorithm and leave it as it was.
    """
    return _last.get()


def preference(problem: ConvProblem, direction: str) -> tuple[ModuleType, ...]:
    """The algorithms, best first, by the problem's shape alone.

    A matrix product per group pays when a group has enough filters and enough terms; depthwise convolutions do not.
    """
    thin = problem.group_filters < 4 or problem.group_channels * problem.taps < 4
    return tuple(reversed(ALGORITHMS)) if problem.groups > 1 and thin else ALGORITHMS


def objection(algorithm: ModuleType, problem: ConvProblem, direction: str, workspace_limit: int | None,
              flags: Flags) -> str | None:
    """Why an algorithm may not serve a problem; None if it may."""
    if not flags.enabled and algorithm is not direct:
        return "flags(enabled=False)"
    for trait, barred in (("nondeterministic", flags.deterministic), ("reduced_precision", not flags.allow_tf32)):
        if barred and trait in algorithm.TRAITS:
            return f"is {trait}"
    reason = algorithm.supports(problem, direction)
    if reason is not None:
        return reason
    bound = algorithm.error_bound(problem, direction)
    if flags.max_error is not None and bound > flags.max_error:
        return f"has an error bound of {bound:.2g}, max_error is {flags.max_error:.2g}"
    if workspace_limit is not None:
        needed = algorithm.workspace_bytes(problem, direction, workspace_limit)
        if needed > workspace_limit:
            return f"needs {needed} bytes of workspace, the limit is {workspace_limit}"
    return None


def candidates(problem: ConvProblem, direction: str, algo: str = "auto", workspace_limit: int | None = None,
               flags: Flags | None = None) -> tuple[list[ModuleType], list[tuple[str, str]]]:
    """(algorithms that can do the problem within limit and flags, best first; the others with their reasons).

    Raises UnsupportedError when none is left, which happens only to a named algorithm, and to a max_error that is
    smaller than every bound.
    """
    flags = flags or current_flags()
    able, unable = [], []
    for algorithm in preference(problem, direction):
        if algo in ("auto", "benchmark", algorithm.NAME):
            reason = objection(algorithm, problem, direction, workspace_limit, flags)
            if reason is None:
                able.append(algorithm)
            else:
                unable.append((algorithm.NAME, reason))
    if not able:
        raise UnsupportedError("; ".join(f"{name} cannot do this convolution ({direction}): {reason}"
                                         for name, reason in unable))
    return able, unable


def explain(problem: ConvProblem, direction: str = "forward", *, algo: str = "auto",
            workspace_limit: int | None = None) -> Choice:
    """The Choice that a call for this problem would start with, under the flags that hold. Runs nothing.

    direction: "forward", "backward_data" or "backward_filter". algo, workspace_limit: as in `conv2d`. What was measured
    counts for the device that NumPy arrays go to. `print(explain(...).table())` shows every algorithm, what it needs,
    its error bound, and why it is not taken.
    Raises UnsupportedError, with the reason, when a named algorithm cannot do the problem.

    >>> from gpudnn import ConvProblem, explain
    >>> explain(ConvProblem.from_shapes((8, 16, 32, 32), (32, 16, 3, 3)), workspace_limit=0).algorithm
    'direct'
    """
    from gpublas.context import current

    checks.choice("explain", 2, "direction", direction, DIRECTIONS)
    checks.choice("explain", None, "algo", algo, NAMES)
    workspace_limit = limit_or_flag(checked_limit("explain", workspace_limit))
    device = current().device
    able, unable = candidates(problem, direction, algo, workspace_limit)
    able, unable, why = _in_order(device, problem, direction, algo, workspace_limit, able, unable)
    return _choice(problem, direction, able[0], workspace_limit, unable, why)


def _choice(problem, direction, algorithm, workspace_limit, unable, why):
    needed = algorithm.workspace_bytes(problem, direction, workspace_limit)
    return Choice(problem, direction, algorithm.NAME, needed, tuple(unable), why)


def _in_order(device, problem, direction, algo, workspace_limit, able, unable):
    """The candidates as they will be tried: without what has failed before, what was measured first; and why so."""
    why = "named" if algo not in ("auto", "benchmark") else "the first of the order for such a shape"
    with _lock:
        known = {algorithm.NAME: None if why == "named" else
                 _failed.get((device.name, problem, direction, workspace_limit, algorithm.NAME)) for algorithm in able}
    unable = [*unable, *((name, f"failed before: {reason}") for name, reason in known.items() if reason)]
    able = [algorithm for algorithm in able if not known[algorithm.NAME]] or able[-1:]
    if algo in ("auto", "benchmark"):
        found = choices.find(device, choices.Key.of(problem, direction, workspace_limit, current_flags()))
        times = {measured.algorithm: measured.seconds for measured in found or ()}
        if times:
            able = sorted(able, key=lambda algorithm: times.get(algorithm.NAME, float("inf")))
            if able[0].NAME in times:
                why = f"the fastest when measured ({times[able[0].NAME] * 1e3:.3g} ms)"
    return able, unable, why


def run(call: Call, problem: ConvProblem, direction: str, operands: tuple[Any, ...], alpha: float, beta: float,
        algo: str, workspace_limit: int | None) -> None:
    """Run the first candidate that can; operands as the algorithms' functions take them."""
    workspace_limit = limit_or_flag(workspace_limit)
    flags = current_flags()
    able, unable = candidates(problem, direction, algo, workspace_limit, flags)
    if algo == "benchmark" or (algo == "auto" and flags.benchmark):
        from . import measure

        measure.learn(call, problem, direction, able, workspace_limit, flags)
    able, unable, why = _in_order(call.device, problem, direction, algo, workspace_limit, able, unable)
    while True:
        algorithm = able.pop(0)
        serve: Callable = getattr(algorithm, direction)
        needed = algorithm.workspace_bytes(problem, direction, workspace_limit)
        try:
            serve(call, problem, *operands, alpha, beta, workspace_limit)
        except (UnsupportedError, OutOfMemoryError) as error:
            if isinstance(error, OutOfMemoryError):
                call.context.pool.release()
                able = [other for other in able
                        if other.workspace_bytes(problem, direction, workspace_limit) < max(needed, 1)]
            if not able:
                raise
            unable.append((algorithm.NAME, str(error)))
            why = f"the next after {algorithm.NAME} failed"
            _note(call, problem, direction, workspace_limit, algorithm.NAME, error, able[0].NAME)
        else:
            _last.set(_choice(problem, direction, algorithm, workspace_limit, unable, why))
            return


class Fallback(NamedTuple):
    """One step back: the routine, what it was to compute, the algorithm that failed and why, and the one taken then."""

    routine: str
    problem: ConvProblem
    direction: str
    algorithm: str
    reason: str
    taken: str


_KEPT = 1000  # steps back, and failures that are not tried again
_lock = threading.Lock()
_steps: deque[Fallback] = deque(maxlen=_KEPT)
_failed: OrderedDict[tuple, str] = OrderedDict()  # reasons by device, problem, direction, limit and algorithm


def _note(call, problem, direction, workspace_limit, name, error, taken):
    log.warning("%s: %s cannot serve (%s); taking %s", call.routine, name, error, taken)
    with _lock:
        _steps.append(Fallback(call.routine, problem, direction, name, str(error), taken))
        _failed[call.device.name, problem, direction, workspace_limit, name] = str(error)
        while len(_failed) > _KEPT:
            _failed.popitem(last=False)


def fallback_log(clear: bool = False) -> list[Fallback]:
    """The last 1000 steps from an algorithm that failed to the next, oldest first.

    clear: forget them, so that what failed (for want of memory, say) is tried again.

    >>> import gpudnn
    >>> gpudnn.fallback_log()
    []
    """
    with _lock:
        found = list(_steps)
        if clear:
            _steps.clear()
            _failed.clear()
    return found


def limit_or_flag(workspace_limit: int | None) -> int | None:
    """A call's own limit, or that of the flags."""
    return current_flags().workspace_limit if workspace_limit is None else workspace_limit


def checked_limit(routine: str, limit: Any) -> int | None:
    """A workspace limit in bytes, or None."""
    return None if limit is None else checks.integer(routine, None, "workspace_limit", limit, 0)


def checked_algorithm(routine: str, algo: Any) -> str:
    """The name of an algorithm, or "auto"."""
    if algo not in NAMES:
        raise ArgumentError(routine, None, "algo", repr(algo), " or ".join(map(repr, NAMES)))
    return algo
