"""Which algorithm serves a convolution.

ALGORITHMS is the ordered list, `direct`, which supports everything, last. A named algorithm is taken or refused with
its reason. "auto" is a short pure function of the problem over the list; at run time it steps back to the next one
when an algorithm finds that it cannot (UnsupportedError) or that there is no memory (OutOfMemoryError), and logs it.
Every other error is a fault and surfaces.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gpublas.context import Call
from gpublas.errors import ArgumentError, OutOfMemoryError, UnsupportedError

from . import checks
from .algorithms import direct, im2col
from .problem import DIRECTIONS, ConvProblem

log = logging.getLogger("gpudnn")

ALGORITHMS: tuple[ModuleType, ...] = (im2col, direct)
NAMES = ("auto", *(algorithm.NAME for algorithm in ALGORITHMS))


@dataclass(frozen=True)
class Choice:
    """The algorithm for a problem and direction, its workspace, and why others before it were passed over."""

    problem: ConvProblem
    direction: str
    algorithm: str
    workspace_bytes: int
    passed_over: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        reasons = "".join(f"; not {name}: {reason}" for name, reason in self.passed_over)
        return f"{self.direction}: {self.algorithm} ({self.workspace_bytes} bytes of workspace){reasons}"


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


def candidates(problem: ConvProblem, direction: str, algo: str = "auto", workspace_limit: int | None = None,
               ) -> tuple[list[ModuleType], list[tuple[str, str]]]:
    """(algorithms that can do the problem within the limit, best first; the others with their reasons).

    Raises UnsupportedError when none is left, which happens only to a named algorithm.
    """
    wanted = [algorithm for algorithm in preference(problem, direction) if algo in ("auto", algorithm.NAME)]
    able, unable = [], []
    for algorithm in wanted:
        reason = algorithm.supports(problem, direction)
        if reason is None and workspace_limit is not None:
            needed = algorithm.workspace_bytes(problem, direction, workspace_limit)
            if needed > workspace_limit:
                reason = f"needs {needed} bytes of workspace, the limit is {workspace_limit}"
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
    """The Choice that a call for this problem would start with. Runs nothing.

    direction: "forward", "backward_data" or "backward_filter". algo, workspace_limit: as in `conv2d`.
    Raises UnsupportedError, with the reason, when a named algorithm cannot do the problem.

    >>> from gpudnn import ConvProblem, explain
    >>> explain(ConvProblem.from_shapes((8, 16, 32, 32), (32, 16, 3, 3)), workspace_limit=0).algorithm
    'direct'
    """
    checks.choice("explain", 2, "direction", direction, DIRECTIONS)
    checks.choice("explain", None, "algo", algo, NAMES)
    able, unable = candidates(problem, direction, algo, workspace_limit)
    needed = able[0].workspace_bytes(problem, direction, workspace_limit)
    return Choice(problem, direction, able[0].NAME, needed, tuple(unable))


def run(call: Call, problem: ConvProblem, direction: str, operands: tuple[Any, ...], alpha: float, beta: float,
        algo: str, workspace_limit: int | None) -> None:
    """Run the first candidate that can; operands as the algorithms' functions take them."""
    able, unable = candidates(problem, direction, algo, workspace_limit)
    for number, algorithm in enumerate(able):
        serve: Callable = getattr(algorithm, direction)
        try:
            serve(call, problem, *operands, alpha, beta, workspace_limit)
        except (UnsupportedError, OutOfMemoryError) as error:
            if number + 1 == len(able):
                raise
            unable.append((algorithm.NAME, str(error)))
            log.warning("%s: %s cannot serve (%s); taking %s", call.routine, algorithm.NAME, error,
                        able[number + 1].NAME)
        else:
            needed = algorithm.workspace_bytes(problem, direction, workspace_limit)
            _last.set(Choice(problem, direction, algorithm.NAME, needed, tuple(unable)))
            return


def checked_limit(routine: str, limit: Any) -> int | None:
    """A workspace limit in bytes, or None."""
    return None if limit is None else checks.integer(routine, None, "workspace_limit", limit, 0)


def checked_algorithm(routine: str, algo: Any) -> str:
    """The name of an algorithm, or "auto"."""
    if algo not in NAMES:
        raise ArgumentError(routine, None, "algo", repr(algo), " or ".join(map(repr, NAMES)))
    return algo
