"""The command line: `python -m gpublas info | tune`."""

from __future__ import annotations

import argparse
import sys

from . import info


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpublas", description=sys.modules["gpublas"].__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="devices, versions, cache folders, and what is missing")
    tune = commands.add_parser("tune", help="measure the configurations of gemm on a GPU, and keep the best")
    tune.add_argument("--device", default="cuda", help="cuda, cuda:1 ..., or executor, only to try the command")
    tune.add_argument("--quick", action="store_true", help="few squares and rounds instead of every shape")
    tune.add_argument("--output", metavar="FILE", help="the table to write, instead of the user's for the device")
    tune.add_argument("--kinds", nargs="+", default=(), metavar="KIND",
                      choices=("s", "d", "c", "z", "f16", "bf16", "s8", "tf32", "tf32x3", "bf16x9", "dmma",
                               "e4m3_e4m3"),
                      help="kinds of arithmetic: s d c z f16 bf16 s8 tf32 tf32x3 bf16x9 dmma e4m3_e4m3")
    tune.add_argument("--shapes", nargs="+", default=(), metavar="SHAPE",
                      help="shapes instead of the list: MxNxK, or with opA and opB, TN:MxNxK")
    options = parser.parse_args(arguments)
    if options.command == "tune":
        from .tune import run

        return run(options.device, options.quick, options.output, options.kinds, options.shapes)
    print(info.report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
