"""Write the README's table of routines from the code: `python -m docs.tables`. A test checks that it is current."""

from __future__ import annotations

from pathlib import Path

import gpublas

README = Path(__file__).parent.parent / "README.md"
START = "<!-- routines: this part is written by `python -m docs.tables` -->\n"
END = "<!-- end of routines -->\n"

TITLES = {"gpublas.level1": "Level 1: vectors", "gpublas.level2": "Level 2: a matrix and vectors",
          "gpublas.level3": "Level 3: matrices", "gpublas.extensions": "Extensions"}
# Rooms whose name is not their level's.
LEVEL_OF = {"structured": "gpublas.level3", "factorizations": "gpublas.extensions"}
DEVICES = "cpu, executor, cuda"


def routines() -> dict[str, dict[str, dict[str, list[str]]]]:
    """Public names by level, generic name and precision letter ("" for the name that picks by dtype)."""
    found: dict[str, dict[str, dict[str, list[str]]]] = {level: {} for level in TITLES}
    for name in sorted(gpublas.__all__):
        routine = getattr(getattr(gpublas, name), "routine", None)
        if routine is None:
            continue
        function = getattr(gpublas, name)
        room = function.__module__.split(".")[1]
        level = LEVEL_OF.get(room, f"gpublas.{room}")
        letter = routine.precision.prefix if routine.precision else ""
        found[level].setdefault(_family(function), {}).setdefault(letter, []).append(name)
    return found


def _family(function) -> str:
    """The row a routine belongs to: real forms of complex routines (csscal) stand with the others."""
    return function.generic_name.removesuffix("_real")


def table() -> str:
    """The part of the README between the marks."""
    lines = []
    for level, families in routines().items():
        if not families:
            continue
        lines += [f"**{TITLES[level]}** (on {DEVICES})", "", "| by dtype | s | d | c | z |", "|---|---|---|---|---|"]
        for family in sorted(families):
            cells = (" ".join(f"`{name}`" for name in families[family].get(letter, [])) for letter in ("", *"sdcz"))
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def renewed(text: str) -> str:
    """The README with its table as the code has it."""
    before, _, rest = text.partition(START)
    return before + START + "\n" + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
