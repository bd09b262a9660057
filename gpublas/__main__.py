"""The command line: `python -m gpublas info`."""

from __future__ import annotations

import argparse
import sys

from . import info


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpublas", description=sys.modules["gpublas"].__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="devices, versions, cache folders, and what is missing")
    parser.parse_args(arguments)
    print(info.report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
