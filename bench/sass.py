"""Reading machine code: instructions, loops, and what they consist of. Pure functions of what NVIDIA's tools print."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

ARITHMETIC = ("FFMA", "DFMA", "HMMA", "IMMA", "DMMA", "HGMMA", "QGMMA")  # what a main loop is for
_SECTION = re.compile(r"^\.text\.(\S+):")
_LABEL = re.compile(r"^(\.L\w+):")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?);")
_TARGET = re.compile(r"`\((\.L\w+)\)")
_USAGE = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


@dataclass(frozen=True)
class Usage:
    """What a kernel holds: registers of a thread, bytes of stack and local memory of a thread (spills are among them),
    bytes of static shared memory of a block."""

    registers: int
    stack: int
    local: int
    shared: int


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop's body, by opcode with its modifiers."""

    opcodes: Counter[str] = field(repr=False)

    @property
    def length(self) -> int:
        return sum(self.opcodes.values())

    def count(self, *operations: str) -> int:
        """Instructions of these operations, whatever their modifiers."""
        return sum(number for opcode, number in self.opcodes.items() if opcode.partition(".")[0] in operations)

    @property
    def arithmetic(self) -> tuple[str, int]:
        """The operation of ARITHMETIC that occurs most often, and how often; a warpgroup's, which are large, first."""
        found = [(operation, self.count(operation)) for operation in ARITHMETIC]
        return max([pair for pair in found if pair[0][1:] == "GMMA" and pair[1]] or found, key=lambda pair: pair[1])

    def memory_widths(self) -> dict[str, int]:
        """How often each kind of access to memory occurs: "LDS.128", "LDG.32", "LDSM.x4", "LDGSTS.128" ..."""
        found: Counter[str] = Counter()
        for opcode, number in self.opcodes.items():
            operation, *modifiers = opcode.split(".")
            if operation in ("LDS", "STS", "LDG", "STG", "LDGSTS", "LDL", "STL"):
                width = next((modifier for modifier in modifiers if modifier in ("64", "128", "U8", "U16")), "32")
                found[f"{operation}.{width}"] += number
            elif operation == "LDSM":
                found[f"LDSM.x{modifiers[-1] if modifiers and modifiers[-1] in '24' else '1'}"] += number
        return dict(sorted(found.items()))


def usage(text: str, kernel: str) -> Usage:
    """A kernel's resources in what `cuobjdump -res-usage` prints."""
    for name, registers, stack, shared, local in _USAGE.findall(text):
        if name == kernel:
            return Usage(int(registers), int(stack), int(local), int(shared))
    raise ValueError(f"no kernel {kernel} in {text[:200]!r}")


def opcodes_and_loops(text: str, kernel: str) -> tuple[Counter[str], list[Loop]]:
    """All opcodes of a kernel in what `nvdisasm -c` prints, and its loops, the longest first.

    A loop is what lies between the target of a backward branch and the branch.
    """
    inside, opcodes, labels, loops = False, [], {}, []
    for line in text.splitlines():
        if section := _SECTION.match(line):
            inside = section.group(1) == kernel
        elif not inside:
            continue
        elif label := _LABEL.match(line):
            labels[label.group(1)] = len(opcodes)
        elif found := _INSTRUCTION.match(line):
            opcodes.append(found.group(1))
            target = _TARGET.search(found.group(2)) if found.group(1).startswith("BRA") else None
            if target and labels.get(target.group(1), len(opcodes)) < len(opcodes) - 1:
                loops.append(Loop(Counter(opcodes[labels[target.group(1)]:])))
    return Counter(opcodes), sorted(loops, key=lambda loop: -loop.length)


def main_loop(loops: list[Loop]) -> Loop | None:
    """The loop with most arithmetic, of those that also bring operands from global memory where there are any: others
    are tails."""
    busy = [loop for loop in reversed(loops) if loop.arithmetic[1]]  # of equals the innermost
    grouped = [loop for loop in busy if loop.arithmetic[0][1:] == "GMMA"]
    if grouped:  # other threads feed these
        return max(grouped, key=lambda loop: loop.arithmetic[1])
    fed = [loop for loop in busy if loop.count("LDG", "LDGSTS", "UTMALDG", "UBLKCP")]
    return max(fed or busy, key=lambda loop: loop.arithmetic[1], default=None)
