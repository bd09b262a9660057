"""What lowering a kernel yields besides its code, and the form it has on disk."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

import numpy as np

from . import layout

_LENGTHS = struct.Struct("<QQ")


@dataclass(frozen=True)
class LoweredKernel:
    """Everything the launcher needs to know about one kernel."""

    name: str
    symbol: str
    params: list[tuple[str, int, int]]  # name, bytes, alignment
    sites: np.ndarray  # int64 (sites, layout.SITE_COLUMNS)
    context_bytes: int  # per thread
    local_range: tuple[int, int]  # local memory within the context
    shared_bytes: int  # static
    hints: int  # checked accesses
    segments: list[dict[str, int]]  # opcodes per run of instructions executed together
    accesses: dict[int, tuple[int, str]]  # site: line, opcode of a counted memory instruction
    variables: bytes  # initial content of the module's global and constant memory

    def packed(self, code: bytes) -> bytes:
        """The record followed by the kernel's object code."""
        record = {
            "name": self.name, "symbol": self.symbol, "params": self.params, "sites": self.sites.tolist(),
            "context_bytes": self.context_bytes, "local_range": self.local_range, "shared_bytes": self.shared_bytes,
            "hints": self.hints, "segments": self.segments, "accesses": list(self.accesses.items()),
        }
        text = json.dumps(record).encode()
        return _LENGTHS.pack(len(text), len(self.variables)) + text + self.variables + code

    @classmethod
    def unpacked(cls, content: bytes) -> tuple[LoweredKernel, bytes]:
        """The record and the object code; ValueError when the content is not what packed() wrote."""
        try:
            text_size, variables_size = _LENGTHS.unpack_from(content)
            text, rest = content[_LENGTHS.size : _LENGTHS.size + text_size], content[_LENGTHS.size + text_size :]
            record = json.loads(text)
            record["params"] = [tuple(parameter) for parameter in record["params"]]
            record["sites"] = np.array(record["sites"], np.int64).reshape(-1, layout.SITE_COLUMNS)
            record["local_range"] = tuple(record["local_range"])
            record["accesses"] = {site: (line, opcode) for site, (line, opcode) in record["accesses"]}
            return cls(variables=rest[:variables_size], **record), rest[variables_size:]
        except (struct.error, ValueError, TypeError, KeyError) as error:
            raise ValueError("not a packed kernel") from error
