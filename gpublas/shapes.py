"""Sizes of gemm that tuning and benchmarks measure: squares, and those of DeepBench
(https://github.com/baidu-research/DeepBench), column-major as they are there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_DEEPBENCH = Path(__file__).parent / "deepbench_gemm.json"
_SQUARES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
_TEXT = re.compile(r"(?:([NT])([NT]):)?(\d+)x(\d+)x(\d+)")


class Shape(NamedTuple):
    """C is m x n, op(A) m x k; group: where the shape comes from."""

    group: str
    m: int
    n: int
    k: int
    op_a: str
    op_b: str

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.n * self.k

    def __str__(self) -> str:
        return f"{self.op_a}{self.op_b} {self.m}x{self.n}x{self.k}"


def shapes(largest: float = math.inf) -> Iterator[Shape]:
    """All shapes of at most `largest` floating-point operations, the squares first."""
    found = [Shape("square", size, size, size, "N", "N") for size in _SQUARES]
    for group, rows in json.loads(_DEEPBENCH.read_text(encoding="utf-8")).items():
        found += [Shape(group, row["m"], row["n"], row["k"], row["opA"], row["opB"]) for row in rows]
    return (shape for shape in found if shape.flops <= largest)


def parse(text: str) -> Shape:
    """A shape as a user writes it: `1760x128x1760` (m, n, k), or `TN:1760x128x1760` with opA and opB.

    >>> parse("TN:1760x128x1760")
    Shape(group='given', m=1760, n=128, k=1760, op_a='T', op_b='N')
    """
    found = _TEXT.fullmatch(text)
    if not found or "0" in found.groups():
        raise ValueError(f"shape {text!r}; wanted MxNxK with positive numbers, or ops before it as in TN:MxNxK")
    op_a, op_b, m, n, k = found.groups()
    return Shape("given", int(m), int(n), int(k), op_a or "N", op_b or "N")
