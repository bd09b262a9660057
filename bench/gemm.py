"""gemm against the peer's, in one run: correctness first, then times interleaved, medians. `python -m bench gemm`.

On a GPU the peer is cuBLAS, through CuPy or PyTorch, whichever is there; on the CPU it is SciPy's BLAS. Shapes are
those of gpublas/shapes.py.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np

import gpublas
from gpublas.shapes import Shape, shapes

from . import machine, peers

_SAMPLES = 64  # rows and columns that are checked
_BUDGET = 0.5  # seconds for the rounds of one shape, beyond the first three


def compare(peer: peers.Peer, shape: Shape, dtype: np.dtype, rounds: int) -> dict[str, Any]:
    """Both results checked, then both timed in turn."""
    rng = np.random.default_rng(0)
    host = [np.asfortranarray(rng.standard_normal(extents, np.float32).astype(dtype))
            for extents in ((shape.m, shape.k) if shape.op_a == "N" else (shape.k, shape.m),
                            (shape.k, shape.n) if shape.op_b == "N" else (shape.n, shape.k))]
    A, B = (peer.array(values) for values in host)
    C = peer.array(np.zeros((shape.m, shape.n), dtype, order="F"))

    def ours() -> Any:
        return gpublas.gemm(shape.op_a, shape.op_b, 1.0, A, B, 0.0, C)

    theirs = peer.product(shape.op_a, shape.op_b, A, B)
    for name, computed in (("gpublas", ours()), (peer.name, theirs())):
        check(shape, host, peer.numpy(computed), dtype, name)
    times: tuple[list[float], list[float]] = ([], [])
    while len(times[0]) < rounds and (len(times[0]) < 3 or sum(times[0]) + sum(times[1]) < _BUDGET):
        for samples, call in zip(times, (ours, theirs), strict=True):
            samples.append(peer.seconds(call))
    a, b = (statistics.median(samples) for samples in times)
    return {**shape._asdict(), "gpublas_s": a, "peer_s": b, "speed": b / a, "gpublas_flops": shape.flops / a,
            "rounds": len(times[0])}


def check(shape: Shape, host: list[np.ndarray], computed: np.ndarray, dtype: np.dtype, name: str) -> None:
    """Some rows and columns against float64; ArithmeticError where the error is beyond rounding."""
    A = host[0] if shape.op_a == "N" else host[0].T
    B = host[1] if shape.op_b == "N" else host[1].T
    rows = np.unique(np.linspace(0, shape.m - 1, _SAMPLES).astype(int))
    columns = np.unique(np.linspace(0, shape.n - 1, _SAMPLES).astype(int))
    a, b = A[rows].astype(np.float64), B[:, columns].astype(np.float64)
    unit = float(np.finfo(np.float32 if dtype.itemsize <= 4 else np.float64).eps)
    bound = (shape.k + 2) * unit * (np.abs(a) @ np.abs(b)) + float(np.finfo(dtype).eps) * np.abs(a @ b)
    if not np.all(np.abs(computed[np.ix_(rows, columns)] - a @ b) <= bound):
        raise ArithmeticError(f"{name} is wrong at {shape}")


def plot(rows: list[dict[str, Any]], peer: str, path: Any) -> None:
    """Speed against the peer over the size of the problem."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for group in dict.fromkeys(row["group"] for row in rows):
        found = [row for row in rows if row["group"] == group]
        axes.plot([2.0 * row["m"] * row["n"] * row["k"] for row in found], [row["speed"] for row in found], "o",
                  markersize=3, label=group)
    axes.axhline(1, color="black", linewidth=0.7)
    axes.set_xscale("log")
    axes.set_xlabel("floating-point operations")
    axes.set_ylabel(f"time of {peer} / time of gpublas")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def run(device: str, dtype: str, rounds: int, largest: float, keep: bool) -> int:
    """Compare over all shapes, print a table, keep figures and plot when asked; returns the exit status."""
    try:
        peer = peers.find(device)
    except RuntimeError as error:
        print(error)
        return 1
    rows = []
    with gpublas.use(peer.device) as context:
        print(f"{context.device.name}, {dtype}, against {peer.name}\n{'shape':<28}{'gpublas ms':>12}{'peer ms':>12}"
              f"{'Gflop/s':>10}{'speed':>8}")
        for shape in shapes(largest):
            row = compare(peer, shape, np.dtype(dtype), rounds)
            rows.append(row)
            print(f"{shape!s:<28}{row['gpublas_s'] * 1e3:>12.4f}{row['peer_s'] * 1e3:>12.4f}"
                  f"{row['gpublas_flops'] / 1e9:>10.1f}{row['speed']:>8.2f}")
        for group in dict.fromkeys(row["group"] for row in rows):
            found = [row["speed"] for row in rows if row["group"] == group]
            print(f"{group}: geometric mean of the speed {math.prod(found) ** (1 / len(found)):.3f} over {len(found)}")
        if keep:
            path = machine.save(f"gemm-{device}-{dtype}", {"device": context.device.name, "peer": peer.name,
                                                           "rows": rows})
            plot(rows, peer.name, path.with_suffix(".png"))
            print(f"kept in {path} and beside it as a plot")
    return 0
