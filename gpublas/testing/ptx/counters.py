"""What a counting launch measures: executed instructions, and memory requests per instruction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class AccessCount:
    """Memory requests of one instruction, summed over warps.

    A request is one execution of the instruction by a warp. Shared memory serves it in `wavefronts` passes, of which
    `minimum_wavefronts` are needed whatever the addresses: one per 128 bytes' worth of lanes that has an active one.
    Global memory moves it in `sectors` of 32 bytes; `minimum_sectors` would hold the distinct bytes it asks for.
    """

    line: int
    opcode: str
    shared_requests: int = 0
    wavefronts: int = 0
    minimum_wavefronts: int = 0
    global_requests: int = 0
    sectors: int = 0
    minimum_sectors: int = 0

    @property
    def requests(self) -> int:
        """Requests to shared and global memory."""
        return self.shared_requests + self.global_requests

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond the minimum."""
        return self.wavefronts - self.minimum_wavefronts


COUNT_COLUMNS = len(fields(AccessCount)) - 2  # as collectives.trace_access fills them, in field order


@dataclass(frozen=True)
class Counters:
    """Executed instructions by opcode, summed over threads, and one row per instruction that accesses memory."""

    instructions: Counter[str]
    accesses: list[AccessCount]

    def shared(self) -> list[AccessCount]:
        """The rows that made requests to shared memory."""
        return [access for access in self.accesses if access.shared_requests]

    def global_(self) -> list[AccessCount]:
        """The rows that made requests to global memory."""
        return [access for access in self.accesses if access.global_requests]

    @property
    def global_requests(self) -> int:
        """Warp-wide requests to global memory."""
        return sum(access.global_requests for access in self.accesses)

    @property
    def global_sectors(self) -> int:
        """Sectors of 32 bytes moved to and from global memory, caches not considered."""
        return sum(access.sectors for access in self.accesses)

    @property
    def minimum_sectors(self) -> int:
        """Sectors that would do if the bytes of each request were contiguous."""
        return sum(access.minimum_sectors for access in self.accesses)

    @property
    def shared_requests(self) -> int:
        """Warp-wide requests to shared memory."""
        return sum(access.shared_requests for access in self.accesses)

    @property
    def shared_wavefronts(self) -> int:
        """Passes shared memory made to serve its requests."""
        return sum(access.wavefronts for access in self.accesses)

    @property
    def bank_conflicts(self) -> int:
        """Passes of shared memory beyond those its requests needed."""
        return sum(access.bank_conflicts for access in self.accesses)


def count(
    executed: np.ndarray, segments: list[dict[str, int]], accesses: np.ndarray, sites: dict[int, tuple[int, str]]
) -> Counters:
    """Counters from raw tables: executions per segment of code, and access counts per site."""
    instructions: Counter[str] = Counter()
    for times, segment in zip(executed.tolist(), segments, strict=False):
        for opcode, number in segment.items():
            instructions[opcode] += times * number
    rows = [AccessCount(line, opcode, *accesses[site].tolist()) for site, (line, opcode) in sites.items()]
    return Counters(+instructions, rows)
