"""The command line of the benchmarks: `python -m bench overhead | static | gemm [--save]`."""

from __future__ import annotations

import argparse
import sys

from . import gemm, overhead, static


def main(arguments: list[str] | None = None) -> int:
    """Run a benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks of gpublas and gpudnn.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("overhead", help="what a small call costs beside its arithmetic")
    command.add_argument("--rounds", type=int, default=15, help="interleaved rounds, of which the median counts")
    commands.add_parser("static", help="what the gemm kernels became in machine code; needs no GPU")
    command = commands.add_parser("gemm", help="gemm against cuBLAS (CuPy, PyTorch) on a GPU, or SciPy's on the CPU")
    command.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    command.add_argument("--dtype", choices=("float16", "float32", "float64"), default="float32")
    command.add_argument("--rounds", type=int, default=50, help="at most so many interleaved rounds a shape")
    command.add_argument("--largest", type=float, default=1e13, help="floating-point operations of a shape, at most")
    for each in commands.choices.values():
        each.add_argument("--save", action="store_true", help="keep the figures under bench/results/")
    options = parser.parse_args(arguments)
    if options.command == "static":
        return static.run(options.save)
    if options.command == "gemm":
        return gemm.run(options.device, options.dtype, options.rounds, options.largest, options.save)
    overhead.run(options.rounds, options.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
