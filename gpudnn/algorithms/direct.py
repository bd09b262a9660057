"""Sums the products as the definition says. Supports everything and needs no workspace."""

from __future__ import annotations

from gpublas.context import Call

from .. import backend
from ..problem import ConvProblem
from ..views import View

NAME = "direct"
TRAITS: frozenset[str] = frozenset()
NOTES = "every problem, no workspace; deterministic: one result is summed in one place, in a fixed order"


def supports(problem: ConvProblem, direction: str) -> str | None:
    """Always None."""
    return None


def workspace_bytes(problem: ConvProblem, direction: str, limit: int | None = None) -> int:
    """Always 0."""
    return 0


def error_bound(problem: ConvProblem, direction: str) -> float:
    """A sum of n rounded products, in whatever order: Higham, Accuracy and Stability (2002), section 3.1."""
    return (problem.terms(direction) + 2) * problem.eps


def _filters(problem: ConvProblem, w: View) -> View:
    return w.flipped((2, 3, 4)) if problem.mode == "convolution" else w


def forward(call: Call, problem: ConvProblem, x: View, w: View, bias: View | None, y: View, alpha: float, beta: float,
            limit: int | None = None) -> None:
    """y = alpha * conv(x, w) + bias + beta * y."""
    backend.of(call).direct_forward(call, problem, x, _filters(problem, w), bias, y, alpha, beta)


def backward_data(call: Call, problem: ConvProblem, dy: View, w: View, dx: View, alpha: float, beta: float,
                  limit: int | None = None) -> None:
    """dx = alpha * (gradient of conv by x, applied to dy) + beta * dx."""
    backend.of(call).direct_backward_data(call, problem, dy, _filters(problem, w), dx, alpha, beta)


def backward_filter(call: Call, problem: ConvProblem, x: View, dy: View, dw: View, alpha: float, beta: float,
                    limit: int | None = None) -> None:
    """dw = alpha * (gradient of conv by w, applied to dy) + beta * dw."""
    backend.of(call).direct_backward_filter(call, problem, x, dy, _filters(problem, dw), alpha, beta)
