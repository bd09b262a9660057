"""The command line of the benchmarks: `python -m bench overhead | static [--save]`."""

from __future__ import annotations

import argparse
import sys

from . import overhead, static


def main(arguments: list[str] | None = None) -> int:
    """Run a benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks of gpublas and gpudnn.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("overhead", help="what a small call costs beside its arithmetic")
    command.add_argument("--rounds", type=int, default=15, help="interleaved rounds, of which the median counts")
    commands.add_parser("static", help="what the gemm kernels became in machine code; needs no GPU")
    for each in commands.choices.values():
        each.add_argument("--save", action="store_true", help="keep the figures under bench/results/")
    options = parser.parse_args(arguments)
    if options.command == "static":
        return static.run(options.save)
    overhead.run(options.rounds, options.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
