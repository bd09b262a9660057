"""What the shipped gemm kernels became in machine code, without a GPU: registers, spills, shared memory, occupancy, and
what the main loop consists of. `python -m bench static`.

The cubin is the very one that a GPU would load (nvJitLink); cuobjdump and nvdisasm of NVIDIA's pip packages read it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from gpublas.cuda.compile import Kernel, architecture, build

from . import machine, sass, toolchain
from .shipped import Shipped, kernels


class Multiprocessor(NamedTuple):
    """What one multiprocessor has: CUDA C++ programming guide, "Compute capabilities"."""

    threads: int
    blocks: int
    registers: int
    shared: int  # bytes, of which a block costs 1 KiB beside its own


MULTIPROCESSORS = {(8, 0): Multiprocessor(2048, 32, 65536, 164 * 1024),
                   (9, 0): Multiprocessor(2048, 32, 65536, 228 * 1024),
                   (10, 0): Multiprocessor(2048, 32, 65536, 228 * 1024)}
_REGISTER_UNIT, _WARP, _RESERVED = 256, 32, 1024


def blocks_at_once(capability: tuple, kernel: Kernel, usage: sass.Usage) -> int:
    """Blocks of a kernel that a multiprocessor holds at once."""
    limits = MULTIPROCESSORS[capability[:2]]
    warps = -(-kernel.threads // _WARP)
    of_warp = -(-usage.registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    static = usage.shared if usage.shared != _RESERVED else 0  # sm_90 and later count what the system reserves
    shared = kernel.shared_bytes + static + _RESERVED
    return min(limits.threads // kernel.threads, limits.blocks, limits.registers // (of_warp * warps),
               limits.shared // shared)


def examine(shipped: Shipped, capability: tuple) -> dict[str, Any]:
    """The figures of one kernel for one compute capability."""
    kernel = build(shipped.factory, *shipped.parameters, capability=capability)
    cubin = kernel.cubin()
    used = sass.usage(toolchain.resources(cubin), kernel.name)
    opcodes, loops = sass.opcodes_and_loops(toolchain.listing(cubin), kernel.name)
    loop = sass.main_loop(loops)
    assert loop is not None, f"{shipped.name} has no main loop"
    operation, count = loop.arithmetic
    blocks = blocks_at_once(capability, kernel, used)
    return {"family": shipped.family, "kernel": shipped.name, "seen": shipped.seen,
            "target": architecture(capability),
            **dataclasses.asdict(used), "spills": sum(opcodes[name] for name in opcodes if name[:3] in ("LDL", "STL")),
            "dynamic_shared": kernel.shared_bytes, "threads": kernel.threads, "blocks": blocks,
            "occupancy": blocks * kernel.threads / MULTIPROCESSORS[capability[:2]].threads,
            "loop": loop.length, "operation": operation, "count": count, "share": count / loop.length,
            "memory": loop.memory_widths(), "main_loop": dict(loop.opcodes.most_common())}


def report(rows: list[dict[str, Any]]) -> None:
    """The figures as a table."""
    print(f"{'kernel':<30}{'target':>8}{'regs':>6}{'stack':>7}{'spills':>8}{'shared':>8}{'occup.':>8}{'loop':>6}"
          f"{'of it':>13}{'share':>8}  seen on, accesses in the loop")
    for row in rows:
        print(f"{row['kernel']:<30}{row['target']:>8}{row['registers']:>6}{row['stack']:>7}{row['spills']:>8}"
              f"{row['dynamic_shared'] + row['shared']:>8}{row['occupancy']:>8.0%}{row['loop']:>6}"
              f"{row['count']:>7} {row['operation']:<5}{row['share']:>8.1%}  {row['seen']}  "
              + " ".join(f"{name}:{number}" for name, number in row["memory"].items()))


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    """Share of arithmetic in the main loop, a bar for each kernel and target."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    targets = list(dict.fromkeys(row["target"] for row in rows))
    names = list(dict.fromkeys(row["kernel"] for row in rows))
    figure, axes = pyplot.subplots(figsize=(9, 0.32 * len(names) + 1.2))
    for number, target in enumerate(targets):
        found = {row["kernel"]: row["share"] for row in rows if row["target"] == target}
        places, shares = [place + 0.27 * number for place in range(len(names))], [found.get(name, 0) for name in names]
        axes.barh(places, [100 * share for share in shares], 0.25, label=target)
    axes.set_yticks([place + 0.27 for place in range(len(names))], names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("instructions of the main loop that do the arithmetic, %")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def run(keep: bool) -> int:
    """Examine everything, print a table, and keep figures and plot when asked; returns the exit status."""
    reason = toolchain.missing()
    if reason:
        print(reason)
        return 1
    rows = [examine(shipped, target) for shipped in kernels() for target in shipped.targets]
    report(rows)
    if keep:
        path = machine.save("static", rows)
        plot(rows, path.with_suffix(".png"))
        print(f"\nkept in {path} and beside it as a plot")
    return 0
