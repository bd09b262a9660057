"""Which kernel and tiles serve a product, and into how many parts its k is cut: short pure functions of its shape,
strides and alignment, and of how many multiprocessors the device has.

Parts of k are equal parts of each tile's k. Equal parts of all tiles' k, one for each block that fits at once
(stream-K, M. Osama et al., PPoPP 2023), would by the model below take over 5 % less time for about a quarter of the
shapes in shapes.py on 108 to 148 multiprocessors (s: 44 to 60 of 193, at most 28 %; f16: 17 to 34 of 256), 1 to 4 % on
average: not yet done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...operands import GemmProblem
from .config import (
    ACROSS,
    ALONG_K,
    ANY,
    MMA_CONFIGS,
    SKINNY,
    SKINNY_COLUMNS,
    STRIDED,
    TRIANGLE,
    TRIANGLES,
    WIDE,
    GemmConfig,
    SimtConfig,
    SkinnyConfig,
    Tiles,
)

_SHORTEST, _MOST_SPLITS = 512, 32  # steps of a part of k, and parts
# Multiprocessors of a typical GPU of a compute capability: A100, A10, L40S, H100 and H200 (SXM), B200, RTX 5090.
_TYPICAL = {(8, 0): 108, (8, 6): 72, (8, 9): 142, (9, 0): 132, (10, 0): 148, (12, 0): 170}


class Kind(NamedTuple):
    """A kind of arithmetic. rate: multiply-adds of a multiprocessor a cycle. size, sum_size: bytes of an element of A
    and B, and of a sum."""

    rate: float
    size: int
    sum_size: int


# Rates from NVIDIA's A100 white paper; a complex product is four real ones, tf32x3 three of tf32. Later GPUs have about
# twice these everywhere, and hardly more bandwidth a multiprocessor.
KINDS = {"s": Kind(64, 4, 4), "d": Kind(32, 8, 8), "c": Kind(16, 8, 8), "z": Kind(8, 16, 16), "f16": Kind(1024, 2, 4),
         "bf16": Kind(1024, 2, 4), "s8": Kind(2048, 1, 4), "tf32": Kind(512, 4, 4), "tf32x3": Kind(512 / 3, 4, 4),
         "dmma": Kind(64, 8, 8)}
_L2, _DRAM = 32, 13  # bytes of a multiprocessor a cycle (A100: 5.1 TB/s as measured, 2.0 TB/s)
_START = 2000  # cycles until a block's first slab is there, and from its last one to its end
_LAUNCH = 4000  # cycles of one more kernel
_GAIN = 0.875  # k is cut only for less than this part of the time: it costs workspace, and bits that depend on m and n
_WORTH = 4000  # cycles that sums in another order must save too, as long as a launch takes anyway


class Work(NamedTuple):
    """A product as the choice of its configuration sees it.

    kind: of arithmetic, a key of KINDS. layout: how its operands lie, in words. m, n, k. products: of a batch. whole:
    sums along k must be those of one thread, in order.
    """

    kind: str
    layout: str
    m: int
    n: int
    k: int
    products: int
    whole: bool

    @property
    def cuttable(self) -> bool:
        """Whether k may be cut: not in batches, nor where only a triangle is there, or wanted."""
        return not self.whole and self.products == 1 and "triangle" not in self.layout

    def takes(self, tiles: Tiles) -> bool:
        """Whether tiles can serve it: those for few columns if C has few rows or columns, hardly fewer than they."""
        if not isinstance(tiles, SkinnyConfig):
            return True
        fitting = next((columns for columns in SKINNY_COLUMNS if columns >= min(self.m, self.n)), None)
        return fitting == tiles.thread_columns and not self.whole and "triangle" not in self.layout


class Choice(NamedTuple):
    """A kernel of ordinary arithmetic units.

    config: its tiles. lies: how it reads A and B, or the wider one of them; see config.py. splits: into how many parts
    k is cut.
    """

    config: SimtConfig | SkinnyConfig
    lies: tuple[str, ...]
    splits: int

    def tiles(self, m: int, n: int) -> int:
        """Thread blocks for one product."""
        return tiles(self.config, m, n)


def typical_multiprocessors(capability: tuple) -> int:
    """Multiprocessors of a typical GPU of a compute capability; of an A100 for one that is not known."""
    return _TYPICAL.get(tuple(capability[:2]), _TYPICAL[8, 0])


def tiles(config: Tiles, m: int, n: int) -> int:
    """Tiles of an m x n matrix, for any configuration."""
    if isinstance(config, SkinnyConfig):
        return -(-max(m, n) // config.block_rows)
    return -(-m // config.block_rows) * -(-n // config.block_columns)


def layout(lies: tuple[str, str]) -> str:
    """How A and B lie, in words."""
    words = {ALONG_K: "along k", ANY: "of any strides", TRIANGLE: "of one triangle"}
    return ", ".join(f"{name} {words.get(found, 'along ' + axis)}"
                     for name, axis, found in zip("AB", "mn", lies, strict=True))


def work_of(problem: GemmProblem, lies: tuple[str, str]) -> Work:
    """A product on ordinary arithmetic units; lies: as `ways` found it."""
    words = layout(lies) + (", triangle of C" if problem.triangle else "")
    whole = problem.whole or (problem.batch.tables and problem.batch.products == 1)
    return Work(problem.precision.prefix, words, problem.m, problem.n, problem.k, problem.batch.products, whole)


def candidates(work: Work) -> Sequence[Tiles]:
    """The tiles that there are for a product: those for few columns, then the others, the largest first."""
    if work.kind in MMA_CONFIGS:
        return MMA_CONFIGS[work.kind]
    if work.layout.startswith(layout((TRIANGLE, ANY))):
        return TRIANGLES[work.kind]
    usual = (STRIDED if work.layout.startswith(layout((ANY, ANY))) else WIDE)[work.kind]
    return (*(found for found in SKINNY[work.kind] if work.takes(found)), *usual)


def heuristic(work: Work, fitting: Sequence[Tiles], multiprocessors: int) -> GemmConfig:
    """The tiles, of those that fit the device, and the parts of k that should take the least time; the earlier ones of
    equals. Sums along k stay in order where another order gains little."""
    ordered = [GemmConfig(found, 1) for found in fitting if not isinstance(found, SkinnyConfig)]
    most = min(work.k // _SHORTEST, _MOST_SPLITS) if work.cuttable else 1
    others = [GemmConfig(found, 1) for found in fitting if isinstance(found, SkinnyConfig)]
    others += [GemmConfig(found, parts) for found in fitting for parts in range(2, most + 1)]
    times = {config: cycles(work, config, multiprocessors) for config in ordered + others}
    first, other = (min(some, key=times.__getitem__, default=None) for some in (ordered, others))
    if first is None or other is None:
        found = first or other
        assert found is not None, "no tiles fit"
        return found
    return other if times[other] < min(_GAIN * times[first], times[first] - _WORTH) else first


def cycles(work: Work, config: GemmConfig, multiprocessors: int) -> float:
    """What a product should take on the busiest multiprocessor.

    Its blocks take turns at arithmetic and at traffic through L2, which are added, since a block seldom hides one
    behind the other. Each wave of blocks that are there at once costs a start. Parts of k go through memory, and cost
    another launch that adds them up. With few columns A comes from memory, at its pace.
    """
    kind, (shape, parts) = KINDS[work.kind], (config.tiles, config.splits or 1)
    rows, columns, depth = shape.block_rows, shape.block_columns, cut(work.k, parts, shape.block_depth)[1]
    turns = -(-tiles(shape, work.m, work.n) * work.products * parts // multiprocessors)
    waves = -(-turns // shape.min_blocks)
    arithmetic = rows * columns * depth / kind.rate
    traffic = ((rows + columns) * depth * kind.size + rows * columns * kind.sum_size) / _L2
    if isinstance(shape, SkinnyConfig):
        traffic += rows * depth * kind.size * (1 / _DRAM - 1 / _L2)
    total = turns * (arithmetic + traffic) + waves * _START
    if parts > 1:
        total += _LAUNCH + 2 * parts * work.m * work.n * kind.sum_size / (_DRAM * multiprocessors)
    return total


def cut(k: int, parts: int, depth: int) -> tuple[int, int]:
    """How many parts k is cut into where `parts` are wanted, and how long each but the last is: whole slabs of `depth`,
    so that there may be fewer of them."""
    if parts < 2 or k == 0:
        return 1, k
    length = -(-k // (parts * depth)) * depth
    return -(-k // length), length if length < k else k


def ways(problem: GemmProblem) -> tuple[str, str]:
    """How A and B lie: in whole vectors only if both do."""
    if problem.stored:
        return TRIANGLE, ANY
    vector = WIDE[problem.precision.prefix][0].vector
    a_row, a_column, b_row, b_column = problem.strides[:4]
    a = way(vector, problem.aligned[0], a_row, a_column, problem.m, problem.k)
    b = way(vector, problem.aligned[1], b_column, b_row, problem.n, problem.k)
    return (ANY, ANY) if ANY in (a, b) else (a, b)


def skinny_way(problem: GemmProblem) -> str:
    """How the operand lies that a kernel for few columns reads once: A, or where C has few rows, B."""
    vector = SKINNY[problem.precision.prefix][0].vector
    a_row, a_column, b_row, b_column = problem.strides[:4]
    if turned(problem):
        return way(vector, problem.aligned[1], b_column, b_row, problem.n, problem.k)
    return way(vector, problem.aligned[0], a_row, a_column, problem.m, problem.k)


def turned(problem: Any) -> bool:
    """Whether kernels for few columns take a product as C^T = B^T A^T."""
    return problem.m < problem.n


def way(vector: int, aligned: bool, place_stride: int, depth_stride: int, places: int, k: int) -> str:
    """How an operand lies: whether it can be read in whole vectors along k, across it (along m or n), or not.

    aligned: whether its first element, and that of every product of a batch, lies at a multiple of 16 bytes.
    """
    if k == 0:  # nothing is read
        return ALONG_K
    if not aligned:
        return ANY
    if depth_stride == 1 and (places == 1 or place_stride % vector == 0):
        return ALONG_K
    if place_stride == 1 and (k <= 1 or depth_stride % vector == 0) and places % vector == 0:
        return ACROSS
    return ANY
