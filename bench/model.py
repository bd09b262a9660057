"""What a gemm should take on a device, from counts of its machine code: the slowest of what it occupies.

A wave of thread blocks takes as long as the busiest of: instruction slots, the arithmetic pipe, shared memory; all
waves together at least as long as their traffic through L2, and as the least traffic with DRAM (every operand once). No
overlap is lost and nothing else costs time, so the figure is a bound to compare measurements with, not a forecast.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Gpu(NamedTuple):
    """A device. Per multiprocessor and cycle: fused multiply-adds by operation of bench/sass.py (HMMA: of 16-bit
    operands), bytes of shared memory, warp instructions. l2, dram: bytes a second. clock: boost, in Hz."""

    name: str
    multiprocessors: int
    clock: float
    multiply_adds: dict[str, float]
    l2: float
    dram: float
    shared: float = 128
    slots: float = 4


# From NVIDIA's datasheets and white papers of A100 (80 GB) and H200 (SXM); L2 as measured by Chips and Cheese for A100,
# H100. mma.sync on Hopper gets about 62 % of what wgmma does (W. Luo et al., arXiv 2402.13499).
GPUS = (
    Gpu("A100", 108, 1.41e9, {"FFMA": 64, "DFMA": 32, "HMMA": 1024, "IMMA": 2048, "DMMA": 64}, 5.7e12, 2.04e12),
    Gpu("H200", 132, 1.83e9, {"FFMA": 128, "DFMA": 64, "HMMA": 0.62 * 2048, "IMMA": 0.62 * 4096, "DMMA": 128}, 5.5e12,
        4.8e12),
)
_SHARED_BYTES = {"LDS.32": 128, "LDS.64": 256, "LDS.128": 512, "LDSM.x4": 512, "LDSM.x2": 256, "LDSM.x1": 128,
                 "STS.32": 128, "STS.64": 256, "STS.128": 512, "LDGSTS.128": 512}  # of one warp instruction


class Prediction(NamedTuple):
    """Seconds, and what they would be if only one thing took time."""

    seconds: float
    issue: float
    arithmetic: float
    shared: float
    l2: float
    dram: float

    @property
    def bound(self) -> str:
        """What takes the longest."""
        return max(("issue", "arithmetic", "shared", "l2", "dram"), key=lambda name: getattr(self, name))


def predict(gpu: Gpu, figures: dict[str, Any], tile: tuple[int, int, int], size: int, m: int, n: int, k: int,
            reads_c: bool = False, products: int = 1) -> Prediction:
    """The bound for one gemm.

    figures: a row of the static report. tile: rows, columns and depth of a block's slab. size: bytes of an element.
    """
    rows, columns, depth = tile
    tiles = math.ceil(m / rows) * math.ceil(n / columns) * products
    slabs, warps = math.ceil(k / depth), figures["threads"] / 32
    pieces = slabs * _per_loop(figures, tile)  # turns of the main loop
    waves = math.ceil(tiles / (gpu.multiprocessors * figures["blocks"]))
    concurrent = min(figures["blocks"], math.ceil(tiles / gpu.multiprocessors))
    cycles = waves * concurrent / gpu.clock
    moved = sum(_SHARED_BYTES.get(name, 0) * number for name, number in figures["memory"].items())
    issue = cycles * pieces * figures["loop"] * warps / gpu.slots
    arithmetic = cycles * slabs * rows * columns * depth / gpu.multiply_adds[figures["operation"]]
    shared = cycles * pieces * moved * warps / gpu.shared
    through_l2 = tiles * (rows + columns) * k * size / gpu.l2
    dram = products * (m * k + k * n + (2 if reads_c else 1) * m * n) * size / gpu.dram
    parts = (issue, arithmetic, shared, through_l2, dram)
    return Prediction(max(parts), *parts)


def _per_loop(figures, tile):
    """Turns of the main loop for a slab: the compiler may have unrolled it, or one turn be a slab."""
    rows, columns, depth = tile
    each = {"FFMA": 32, "DFMA": 32, "HMMA": 16 * 8 * 16, "IMMA": 16 * 8 * 32, "DMMA": 8 * 8 * 4}[figures["operation"]]
    if figures["operation"] == "HMMA" and "tf32" in figures["kernel"]:
        each //= 2
    if "bf16x9" in figures["kernel"]:  # four instructions of 16 steps and one of 8 for 8 steps
        each = 16 * 8 * 8 / 5
    return rows * columns * depth / (figures["count"] * each * figures["threads"] / 32)
