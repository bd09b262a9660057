"""Which kernel and tiles serve a product: short pure functions of its shape, strides and alignment."""

from __future__ import annotations

from typing import NamedTuple

from ...operands import GemmProblem
from .config import STRIDED, TRIANGLES, WIDE, SimtConfig

_FILLS = 108  # tiles of a size from which on it keeps a large GPU busy (an A100 has 108 multiprocessors)
_SHORTEST, _MOST_SPLITS = 512, 32  # steps of a part of k, and parts


class Choice(NamedTuple):
    """A kernel of ordinary arithmetic units.

    config: its tiles. along_k: for the kernel that reads whole vectors, whether A and B are contiguous along k; None
    for the kernel that takes any strides.
    """

    config: SimtConfig
    along_k: tuple[bool, bool] | None

    def tiles(self, m: int, n: int) -> int:
        """Thread blocks for one product."""
        return tiles(self.config, m, n)


def tiles(config, m: int, n: int) -> int:
    """Tiles of an m x n matrix, for any configuration."""
    return -(-m // config.block_rows) * -(-n // config.block_columns)


def choose(problem: GemmProblem) -> Choice:
    """Whole vectors where both operands allow it; the largest tiles of which there are enough to keep a GPU busy."""
    prefix = problem.precision.prefix
    a_row, a_column, b_row, b_column = problem.strides[:4]
    vector = WIDE[prefix][0].vector
    ways = None
    if not problem.stored:
        a = along_k(vector, problem.aligned[0], a_row, a_column, problem.m, problem.k)
        b = along_k(vector, problem.aligned[1], b_column, b_row, problem.n, problem.k)
        ways = None if a is None or b is None else (a, b)
    configs = (WIDE if ways else TRIANGLES if problem.stored else STRIDED)[prefix]
    for config in configs:
        if tiles(config, problem.m, problem.n) * problem.batch.products >= _FILLS:
            return Choice(config, ways)
    return Choice(configs[-1], ways)


def splits(choice_tiles: int, problem_k: int, depth: int) -> tuple[int, int]:
    """How many parts k is cut into, and how long each but the last is (a multiple of a slab's depth).

    Only long products with few tiles are cut: into as many parts as keep a GPU busy, none shorter than _SHORTEST.
    """
    wanted = min(_FILLS // max(choice_tiles, 1), problem_k // _SHORTEST, _MOST_SPLITS)
    if wanted < 2:
        return 1, problem_k
    length = -(-problem_k // (wanted * depth)) * depth
    return -(-problem_k // length), length


def along_k(vector: int, aligned: bool, place_stride: int, depth_stride: int, places: int, k: int) -> bool | None:
    """Whether an operand can be read in whole vectors along k (True) or along m or n (False); None if neither.

    aligned: whether its first element, and that of every product of a batch, lies at a multiple of 16 bytes.
    """
    if k == 0:  # nothing is read
        return True
    if not aligned:
        return None
    if depth_stride == 1 and (places == 1 or place_stride % vector == 0):
        return True
    if place_stride == 1 and (k <= 1 or depth_stride % vector == 0) and places % vector == 0:
        return False
    return None
