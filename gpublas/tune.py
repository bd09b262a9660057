"""`python -m gpublas tune`: measures the configurations of gemm on the device at hand and writes the user's table.

For each problem every configuration that fits is run (tiles, and parts of k where that may help). A result counts only
if it is that of the heuristic's choice within rounding. Times are medians of several rounds after a warm-up.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import arrays, context, tuning
from .arrays import Array
from .checks import Scalar
from .cuda import level3, mixed, scalars, trust
from .cuda.gemm import select
from .cuda.gemm.config import ELEMENT_BYTES, GemmConfig
from .cuda.gemm.select import Work
from .cuda.plan import Plan
from .errors import ArgumentError, DeviceError, OutOfMemoryError, UnsupportedError
from .mixed import MixedProblem, Operands
from .operands import GemmProblem, Matrix
from .shapes import Shape, parse, shapes
from .tuning import Entry, Target

KINDS = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128", "f16": "float16", "bf16": "bfloat16",
         "s8": "int8", "tf32": "float32", "tf32x3": "float32", "dmma": "float64"}  # element types of A and B
DEFAULT_KINDS, QUICK_KINDS = ("s", "d", "f16", "bf16"), ("s", "d", "f16")
_ROUNDS, _QUICK_ROUNDS = 9, 3
_QUICK = 2.0 * 2048**3  # floating-point operations of the largest problem of a quick run, which takes squares only
_SPLITS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
_SHORTEST, _BUSY = 128, 8  # steps of a part of k; k is cut only for fewer than so many blocks a multiprocessor
_MOST_WORKSPACE = 2**30
_ROUND_SECONDS, _MOST_CALLS = 1e-3, 100  # of a round, so that its events are far apart
_CLEARLY = 0.98  # of the time of the heuristic's choice, so that noise does not replace it
_HOPELESS = 2  # times the best time so far: not measured to the end
_BLOCK = 1024  # rows that are compared at once


class Measured(NamedTuple):
    """An entry for the table, what the heuristic would choose, and what was found wrong ("" if nothing)."""

    entry: Entry
    heuristic: GemmConfig
    wrong: str


class Product:
    """One problem on a device: operands, and how to run it with a configuration."""

    def __init__(self, run: Any, kind: str, shape: Shape):
        self.run, self.kind, self.shape = run, kind, shape
        dtype = arrays.bfloat16() if kind == "bf16" else np.dtype(KINDS[kind])
        rng = np.random.default_rng(0)
        A = _values(rng, (shape.m, shape.k), shape.op_a, dtype)
        B = _values(rng, (shape.k, shape.n), shape.op_b, dtype)
        self.result = np.empty((shape.m, shape.n), np.int32 if kind == "s8" else dtype, order="F")
        self._buffers: list[Any] = []
        a, b, c = (self._place(values, values is not self.result) for values in (A, B, self.result))
        if kind in ELEMENT_BYTES:
            self._mixed(Operands(a, b, c, None, None))
        else:
            problem = GemmProblem.of(Matrix.of(a), Matrix.of(b), Matrix.of(c))
            self.work = select.work_of(problem, select.ways(problem))
            self.plan: Callable[[Target], Plan] = lambda target: level3.plan_gemm(target, problem)
            self.values = {"A": a.pointer, "B": b.pointer, "C": c.pointer,
                           **scalars.values(Scalar(1.0), Scalar(0.0))}
        self._rows, self._columns = _norms(A, 1), _norms(B, 0)

    def _mixed(self, operands):
        """As gpublas.gemm does for a column-major C."""
        if abs(operands.C.strides[0]) < abs(operands.C.strides[1]):
            operands = operands.transposed
        out = {"s8": "s32", "f16": "f16", "bf16": "bf16", "dmma": "f64"}.get(self.kind, "f32")
        problem = MixedProblem.of(self.kind, out, operands, True, "", "", "")
        capability = self.run.device.capability
        self.work = mixed.work_of(problem)
        self.plan = lambda target: mixed.plan_mixed(capability, problem, False, target)
        self.values = {"A": operands.A.pointer, "B": operands.B.pointer, "C": operands.C.pointer, "bias": 0, "aux": 0,
                       "alpha": 1.0, "beta": 0.0}

    def _place(self, values, is_read):
        """An array on the device, column-major or its transpose, with the values if it is read."""
        device, stream = self.run.device, self.run.stream
        buffer = device.allocate(values.nbytes, stream)
        self._buffers.append(buffer)
        self.run.memory.append((buffer.pointer, values.nbytes))
        if is_read:
            device.upload(values if values.flags.c_contiguous else values.T, buffer.pointer, stream)
        return Array(buffer.pointer, values.shape, values.strides, values.dtype, True, device.place, buffer)

    def launcher(self, config: GemmConfig) -> Callable[[], None]:
        """A function that queues the product, computed with a configuration."""
        device = self.run.device
        plan = self.plan(Target(device.capability, device.multiprocessors, (config,)))
        return lambda: plan.run(self.run, self.values)

    def compute(self, launch: Callable[[], None]) -> np.ndarray:
        """The product as a launcher computes it, in memory that held NaN before."""
        device, stream = self.run.device, self.run.stream
        pointer, there = self._buffers[2].pointer, self.result.T
        there.view(np.uint8)[:] = 0xFF
        device.upload(there, pointer, stream)
        launch()
        device.download(pointer, there, stream)
        return self.result.copy(order="F")

    def differs(self, found: np.ndarray, wanted: np.ndarray) -> str:
        """How two results differ beyond rounding, or "". Integers do not differ at all.

        Each is within gamma |A| |B| of the exact sums (N. Higham, "Accuracy and Stability of Numerical Algorithms",
        section 3.5), at most gamma times the norms of A's row and B's column, and then rounded to C's type.
        """
        if self.kind == "s8":
            wrong = int(np.count_nonzero(found != wanted))
        else:
            double = self.kind in ("d", "z", "dmma")
            sums = (4 if self.kind in "cz" else 1) * (self.shape.k + 2) * float(np.finfo(np.float64 if double
                                                                                     else np.float32).eps)
            last = {"f16": 2.0**-10, "bf16": 2.0**-7}.get(self.kind, 0.0)
            wide, wrong = np.result_type(found.dtype, np.float32) if found.dtype.itemsize > 2 else np.float32, 0
            for start in range(0, len(found), _BLOCK):
                rows = slice(start, start + _BLOCK)
                a, b = found[rows].astype(wide), wanted[rows].astype(wide)
                bound = 2 * sums * self._rows[rows, None] * self._columns + last * np.abs(b)
                wrong += int(np.count_nonzero(~(np.abs(a - b) <= bound)))  # NaN is wrong too
        return f"{wrong} of {found.size} elements differ beyond rounding" if wrong else ""


def _values(rng, extents, op, dtype):
    """Operand values, so laid out that op of a column-major array is what has these extents."""
    if dtype == np.int8:
        values = rng.integers(-8, 9, extents, np.int8)
    else:
        values = rng.standard_normal(extents, np.float32).astype(dtype)
        if dtype.kind == "c":
            values += 1j * rng.standard_normal(extents, np.float32)
    return np.asarray(values, order="F" if op == "N" else "C")


def _norms(values, axis):
    """Euclidean norms of rows (axis 1) or columns (axis 0), in double precision."""
    subscripts = "ij,ij->i" if axis else "ij,ij->j"
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values.astype(np.float32),)
    return np.sqrt(sum(np.einsum(subscripts, part, part, dtype=np.float64) for part in parts))


def configurations(work: Work, capability: tuple, multiprocessors: int) -> Iterator[GemmConfig]:
    """All that are measured for a problem."""
    size = select.KINDS[work.kind].sum_size
    for tiles in select.candidates(work):
        if GemmConfig(tiles).fits(capability):
            continue
        yield GemmConfig(tiles, 1)
        blocks = select.tiles(tiles, work.m, work.n) * work.products
        for parts in () if work.whole or blocks >= _BUSY * multiprocessors else _SPLITS:
            if work.k // parts >= _SHORTEST and parts * work.m * work.n * size <= _MOST_WORKSPACE \
                    and select.cut(work.k, parts, tiles.block_depth)[0] == parts:
                yield GemmConfig(tiles, parts)


def measure(run: Any, kind: str, shape: Shape, rounds: int) -> Measured:
    """The best configuration for a problem on the device of a call."""
    device = run.device
    product = Product(run, kind, shape)
    try:
        usual = tuning.choose(Target(device.capability, device.multiprocessors), product.work)
        launch = product.launcher(usual)
        expected = product.compute(launch)
        best, seconds = usual, median(run, launch, rounds)
        usual_seconds, limit, wrong = seconds, _CLEARLY * seconds, []
        for config in configurations(product.work, device.capability, device.multiprocessors):
            if config == usual:
                continue
            launch = product.launcher(config)
            difference = product.differs(product.compute(launch), expected)
            if difference:
                wrong.append(f"{kind} {shape} with {describe(config)}: {difference}")
                continue
            found = median(run, launch, rounds, hopeless=_HOPELESS * seconds)
            if found < limit:
                best, seconds, limit = config, found, found
        return Measured(Entry(product.work, best, seconds, usual_seconds), usual, "; ".join(wrong))
    finally:
        del run.memory[-3:]


def median(run: Any, launch: Callable[[], None], rounds: int, hopeless: float = float("inf")) -> float:
    """Seconds of a product: the median of some rounds, of as many products as make a round long enough to measure.

    One that takes longer than `hopeless` is not measured again.
    """
    once = run.device.seconds(launch, run.stream)  # the product has run before, so all is loaded
    if once > hopeless:
        return once
    calls = int(min(max(_ROUND_SECONDS / max(once, 1e-9), 1), _MOST_CALLS))

    def several():
        for _ in range(calls):
            launch()

    return statistics.median(run.device.seconds(several, run.stream) / calls for _ in range(rounds))


def describe(config: GemmConfig) -> str:
    """A configuration in a few characters: its tile, and parts of k."""
    tiles, parts = config
    return f"{tiles.block_rows}x{tiles.block_columns}" + (f" k/{parts}" if parts and parts > 1 else "")


def problems(quick: bool, kinds: Sequence[str], wanted: Sequence[Shape]) -> list[tuple[str, Shape]]:
    """What is measured: the shapes wanted, or all of the list; for a quick run, squares."""
    chosen: Iterable[Shape] = wanted or (shape for shape in shapes(_QUICK if quick else float("inf"))
                                         if shape.group == "square" or not quick)
    chosen = list(chosen)
    return [(kind, shape) for kind in kinds or (QUICK_KINDS if quick else DEFAULT_KINDS) for shape in chosen]


def report(measured: Sequence[tuple[str, Shape, Measured]]) -> None:
    """The table of what was found."""
    print(f"{'problem':<32}{'heuristic':>16}{'best':>16}{'ms':>12}{'gain':>8}")
    for kind, shape, (entry, heuristic, _) in measured:
        print(f"{f'{kind} {shape}':<32}{describe(heuristic):>16}{describe(entry.config):>16}"
              f"{entry.seconds * 1e3:>12.4f}{entry.heuristic_seconds / entry.seconds - 1:>8.1%}")


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A function that says what is measured next: a bar, or lines where rich is not installed."""
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield lambda text: print(text, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("tuning", total=total)
        done = -1

        def step(text: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=text)

        yield step
        progress.update(task, completed=done + 1)


def run(device_name: str, quick: bool, output: str | None, kinds: Sequence[str], texts: Sequence[str]) -> int:
    """The command; returns the exit status: 1 where nothing could be measured or a result was wrong, 130 if it was
    interrupted."""
    try:
        chosen = context.Context(device_name)
        wanted = [parse(text) for text in texts]
    except (ArgumentError, DeviceError, ValueError) as error:
        print(f"tune: {error}")
        return 1
    device = chosen.device
    if device.kind == "cpu":
        print("tune: device 'cpu' has no kernels to configure; a GPU is needed, or --device executor to try it")
        return 1
    if device.kind == "executor":
        print("The executor's times say nothing about a GPU: they are good for trying this command only.")
        if output is None:
            print("tune: --output FILE is needed, since no table of the executor belongs among the user's.")
            return 1
    path = Path(output) if output else tuning.user_file(device)
    kept, reason = tuning.read(path, device)
    if reason:
        print(f"{path}: {reason}")
    entries = {entry.work: entry for entry in kept}
    measured: list[tuple[str, Shape, Measured]] = []
    status = 0
    try:
        with context.use(chosen), context.Call("tune", {}, {}) as call:
            _measure_all(call, problems(quick, kinds, wanted), _QUICK_ROUNDS if quick else _ROUNDS, entries, measured,
                         path)
    except KeyboardInterrupt:
        print("interrupted; what was measured is kept")
        status = 130
    report(measured)
    for _, _, found in measured:
        if found.wrong:
            print(f"WRONG, left out: {found.wrong}")
            status = status or 1
    if measured:
        print(f"{len(measured)} problems, kept in {path}")
    return status if measured else status or 1


def _measure_all(call, wanted, rounds, entries, measured, path):
    """Measure problem after problem; the table on disk has all that were measured so far."""
    refused = {kind: trust.verdict(call.device, kind) for kind in dict.fromkeys(kind for kind, _ in wanted)
               if kind in ELEMENT_BYTES and call.device.kind == "cuda"}
    with _progress(len(wanted)) as step:
        for kind, shape in wanted:
            step(f"{kind} {shape}")
            if refused.get(kind):
                print(f"{kind} {shape}: left out, since the device failed the check of its tensor cores")
                continue
            try:
                found = measure(call, kind, shape, rounds)
            except (UnsupportedError, OutOfMemoryError) as error:
                print(f"{kind} {shape}: left out: {error}")
                continue
            measured.append((kind, shape, found))
            entries[found.entry.work] = found.entry
            tuning.write(path, call.device, entries.values())
