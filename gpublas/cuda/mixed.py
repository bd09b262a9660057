"""gemm with more than one precision on the GPU: the tensor-core kernel, its tiles chosen by the problem's size."""

from __future__ import annotations

import dataclasses
import functools
import warnings

from .. import tuning
from ..context import Call
from ..errors import UnsupportedError
from ..mixed import MixedProblem, Operands
from ..operands import ALONE, GemmProblem
from ..precision import D, S
from .compile import build
from .gemm.config import (
    ACROSS,
    ALONG_K,
    ANY,
    CHUNK,
    ELEMENT_BYTES,
    MMA_CONFIGS,
    PANEL,
    ROW_BYTES,
    WGMMA_CONFIGS,
    GemmConfig,
    WgmmaConfig,
)
from .gemm.select import NOT_IN_BOXES, Work, cut, heuristic, layout, tiles
from .level3 import _tables as tables_of
from .level3 import fold_launch, plan_product, split_problem
from .plan import At, Launch, MapAt, Plan
from .tensormaps import Boxes
from .trust import verdict

_PLANS = 4096
_SIMT = {"f32": S, "f64": D}  # kinds of arithmetic that are IEEE, and so not for tensor cores
_ORDINARY = {"tf32": "f32", "tf32x3": "f32", "bf16x9": "f32", "dmma": "f64"}  # what serves a kind without tensor cores
_SUM_BYTES = {"f32": 4, "f64": 8}
_ALIGNED = 256  # bytes: where parts of the workspace begin
_FAR = 2**31  # bytes: offsets within a tile of an operand that lies along k have 32 bits


def mixed_gemm(call: Call, problem: MixedProblem, alpha: float, beta: float, operands: Operands) -> None:
    """C = epilogue(alpha A B + beta C + bias)."""
    if problem.kind not in _SIMT and call.device.kind == "cuda":
        problem = _trusted(call.device, problem)
    pointers = {name: 0 if array is None else array.pointer
                for name, array in zip(Operands._fields, operands, strict=True)}
    plan = plan_mixed(call.device.capability, problem, call.context.batch_invariant,
                      tuning.target(call.device, call.context.gemm_config))
    plan.run(call, {**pointers, "alpha": alpha, "beta": beta})


def mixed_gemm_many(call: Call, problem: MixedProblem, alpha: float, beta: float, items: list[Operands]) -> None:
    """C = alpha A B + beta C for each of some operands, all of them of the problem: one launch."""
    if len(items) == 1:
        return mixed_gemm(call, problem, alpha, beta, items[0])
    if problem.kind not in _SIMT and call.device.kind == "cuda":
        problem = _trusted(call.device, problem)
    with tables_of(call, [(item.A, item.B, item.C) for item in items]) as ((a, b, c), batch):
        plan = plan_mixed(call.device.capability, problem._replace(batch=batch), call.context.batch_invariant,
                          tuning.target(call.device, call.context.gemm_config))
        plan.run(call, {"A": a, "B": b, "C": c, "bias": 0, "aux": 0, "alpha": alpha, "beta": beta})


def _trusted(device, problem: MixedProblem) -> MixedProblem:
    """The problem, if the device passes the check of its tensor cores; else the ordinary arithmetic units' kernels for
    float32 and float64, and UnsupportedError for other types."""
    reason = verdict(device, problem.kind)
    if not reason:
        if problem.boxes and problem.kind in WGMMA_CONFIGS and device.capability == (9, 0):
            reason = verdict(device, problem.kind, "wgmma")
            if reason:
                _warn(device, f"{problem.kind} on warpgroups", reason)
                return problem._replace(boxes=False)
        return problem
    _warn(device, f"{problem.kind} on tensor cores", reason)
    if problem.kind in _ORDINARY:
        return problem._replace(kind=_ORDINARY[problem.kind])
    raise UnsupportedError(f"gemm of {problem.kind}: {device.name} failed the check of its tensor cores: {reason}")


def _warn(device, what, reason):
    """Once for each device."""
    if (device.name, what) not in _warned:
        _warned.add((device.name, what))
        warnings.warn(f"gpublas: {device.name} failed the check of {what}, which are not used for it: {reason}",
                      RuntimeWarning, stacklevel=5)


_warned: set[tuple[str, str]] = set()  # (device, what failed)


@functools.lru_cache(_PLANS)
def plan_mixed(capability: tuple, problem: MixedProblem, whole: bool, target: tuning.Target | None = None) -> Plan:
    """One launch: a block for each tile of each C, numbered along one axis so that no grid limit is met.

    Where there are few tiles and k is long, k is cut, unless it shall stay whole; see level3.plan_gemm. target: None
    for what the heuristic alone makes of it on a typical device of the capability.
    """
    target = target or tuning.typical(capability)
    if 0 in (problem.m, problem.n):
        return _with_sums(capability, problem, Plan(()))
    if problem.kind in _SIMT:
        return _with_sums(capability, problem, _simt_plan(target, problem, whole))
    config, wanted = choose(target, problem, whole)
    parts, length = cut(problem.k, wanted or 1, config.block_depth)
    launch = _wgmma_launch if isinstance(config, WgmmaConfig) else _mma_launch
    if parts == 1:
        product = launch(target, problem, config, At("A", 0), At("B", 0), At("C", 0), "alpha", "beta")
        if isinstance(config, WgmmaConfig):
            return _with_sums(capability, problem, Plan((product,)))
        return _with_tile_sums(capability, problem, config, product) if problem.bias_grad else Plan((product,))
    from .gemm.epilogue import Epilogue

    sums, out = (D, "f64") if problem.kind == "dmma" else (S, "f32")
    plain = problem._replace(out=out, activation="", bias="", aux="", bias_step=0, aux_steps=(0, 0), bias_grad="")
    sum_size = sums.dtype.itemsize
    launches = [launch(target, part, config, At("A", a), At("B", b), At("workspace", c), 1, 0)
                for part, a, b, c in split_problem(plain, parts, length, ELEMENT_BYTES[problem.kind], sum_size)]
    epilogue = Epilogue(problem.out, problem.activation, problem.bias, problem.aux)
    fused = ("bias", problem.bias_step, "aux", *problem.aux_steps)
    launches.append(fold_launch(capability, sums, problem, parts, dataclasses.astuple(epilogue),
                                (0, 0, 0, "alpha", 0, "beta", 0), fused))
    return _with_sums(capability, problem, Plan(tuple(launches), parts * problem.m * problem.n * sum_size))


def _with_tile_sums(capability, problem, config, launch):
    """The plan of a kernel that keeps sums of its tiles in workspace: another launch adds them up."""
    lines, tiles_along = (problem.m, -(-problem.n // config.block_columns)) if problem.bias_grad == "row" else \
        (problem.n, -(-problem.m // config.block_rows))
    kind = "f64" if problem.kind == "dmma" else "f32"
    last = _sums_launch(capability, kind, problem.out, At("workspace", 0), "bias_grad", lines, tiles_along, tiles_along,
                        1, lines, problem.bias_grad_step)
    return Plan((launch, last), lines * tiles_along * _SUM_BYTES[kind])


def _with_sums(capability, problem, plan):
    """The plan with launches after it that add up rows or columns of C, where these are asked for."""
    c_row, c_column = problem.strides[4:]
    lines, count, line_step, step = (problem.m, problem.n, c_row, c_column) if problem.bias_grad == "row" else \
        (problem.n, problem.m, c_column, c_row)
    if not problem.bias_grad or lines == 0:
        return plan
    from .gemm.sums import PIECE

    kind, pieces = "f64" if problem.out == "f64" else "f32", -(-count // PIECE)
    if pieces < 2:
        return Plan((*plan.launches, _sums_launch(capability, problem.out, problem.out, "C", "bias_grad", lines, count,
                                                  PIECE, line_step, step, problem.bias_grad_step)),
                    plan.workspace_bytes)
    start = -(-plan.workspace_bytes // _ALIGNED) * _ALIGNED
    both = (_sums_launch(capability, problem.out, kind, "C", At("workspace", start), lines, count, PIECE, line_step,
                         step, 1),
            _sums_launch(capability, kind, problem.out, At("workspace", start), "bias_grad", lines, pieces, pieces, 1,
                         lines, problem.bias_grad_step))
    return Plan((*plan.launches, *both), start + lines * pieces * _SUM_BYTES[kind])


def _sums_launch(capability, kind, out, given, sums, lines, count, piece, *steps):
    from .gemm.sums import THREADS, sums_kernel

    pieces = max(1, -(-count // max(piece, 1)))
    return Launch.of(build(sums_kernel, kind, out, capability=capability), -(-lines * pieces // THREADS), given, sums,
                     lines, count, piece, *steps)


def _mma_launch(target, problem, config, a, b, c, alpha, beta):
    from .gemm.epilogue import Epilogue
    from .gemm.mma import mma_kernel

    epilogue = Epilogue(problem.out, problem.activation, problem.bias, problem.aux, problem.bias_grad)
    kernel = build(mma_kernel, *_both_lie(problem), dataclasses.astuple(epilogue), *dataclasses.astuple(config),
                   capability=target.capability)
    batch = problem.batch
    return Launch.of(
        kernel, _blocks(problem, config), a, b, c, problem.m, problem.n, problem.k, *problem.strides, batch.a, batch.b,
        batch.c, batch.tables, "bias", problem.bias_step, "aux", *problem.aux_steps, alpha, beta,
        *_scale("scale_a", problem.scale_steps[0]), *_scale("scale_b", problem.scale_steps[1]),
        At("workspace", 0) if problem.bias_grad else 0)


def _scale(name, step):
    """Address and step of a scale, where there is one."""
    return (0, 0) if step is None else (name, step)


def _wgmma_launch(target, problem, config, a, b, c, alpha, beta):
    """As many blocks as multiprocessors, unless there are fewer tiles."""
    from .gemm.epilogue import Epilogue
    from .gemm.wgmma import wgmma_kernel

    epilogue = Epilogue(problem.out, problem.activation, problem.bias, problem.aux)
    a_lies, b_lies = _both_lie(problem)
    kernel = build(wgmma_kernel, a_lies, b_lies, dataclasses.astuple(epilogue), *dataclasses.astuple(config),
                   capability=(9, 0, "a"))
    a_row, a_column, b_row, b_column, c_row, c_column = problem.strides
    batch, size = problem.batch, ELEMENT_BYTES[problem.kind]
    a_moves, b_moves = (int(batch.products > 1 and step != 0) for step in (batch.a, batch.b))
    a_boxes = boxes(a_lies, problem.m, problem.k, batch.products if a_moves else 1, a_row, a_column, batch.a, size,
                    config.block_rows)
    b_boxes = boxes(b_lies, problem.n, problem.k, batch.products if b_moves else 1, b_column, b_row, batch.b, size,
                    config.block_columns)
    return Launch.of(
        kernel, min(_blocks(problem, config), target.multiprocessors), MapAt(a, a_boxes), MapAt(b, b_boxes), c,
        problem.m, problem.n, problem.k, batch.products, a_moves, b_moves, c_row, c_column, batch.c, "bias",
        problem.bias_step, "aux", *problem.aux_steps, alpha, beta)


def boxes(lies: str, places: int, depth: int, products: int, place_stride: int, depth_stride: int, step: int,
          size: int, tile: int) -> Boxes:
    """What an operand's tensor map says.

    places: rows of A or columns of B, depth: k; strides and step (from product to product) in elements of `size` bytes;
    tile: rows or columns of a block's tile. The axes: along memory, the other one, products.
    """
    if lies == ALONG_K:
        extents, rows, box = (depth, places, products), place_stride, (ROW_BYTES // size, tile, 1)
    else:
        extents, rows, box = (places, depth, products), depth_stride, (PANEL, ROW_BYTES // size, 1)
    # Nothing lies beyond a single row or matrix, but its map wants a stride.
    strides = tuple(stride * size if extent > 1 else CHUNK
                    for stride, extent in zip((rows, step), extents[1:], strict=True))
    return Boxes(size, extents, strides, box)


def _simt_plan(target, problem, whole):
    """IEEE arithmetic with an epilogue: the kernels of ordinary arithmetic units."""
    from .gemm.epilogue import Epilogue

    product = GemmProblem(_SIMT[problem.kind], problem.m, problem.n, problem.k, problem.strides, False, False,
                          problem.batch, aligned=problem.chunked, whole=whole)
    epilogue = Epilogue(problem.out, problem.activation, problem.bias, problem.aux)
    scalars = (0, 0, 0, "alpha", 0, "beta", 0)  # addresses and mask, values
    return plan_product(target, product, dataclasses.astuple(epilogue), scalars,
                        ("bias", problem.bias_step, "aux", *problem.aux_steps))


def choose(target: tuning.Target, problem: MixedProblem, whole: bool) -> GemmConfig:
    """The tiles and the parts of k for a problem; whole: k must not be cut, as it never is for integers,
    batches, or scales of rows and columns."""
    work = work_of(problem, whole)
    found = tuning.choose(target, work)
    if isinstance(found.tiles, WgmmaConfig) and work.layout.endswith(NOT_IN_BOXES):  # named for others
        return heuristic(work, MMA_CONFIGS[work.kind], target.multiprocessors)
    return found


def work_of(problem: MixedProblem, whole: bool = False) -> Work:
    """The problem as the choice of its configuration sees it."""
    words = layout(_both_lie(problem))
    if problem.kind in WGMMA_CONFIGS and not _in_boxes(problem):
        words += NOT_IN_BOXES
    return Work(problem.kind, words, problem.m, problem.n, problem.k, problem.batch.products,
                whole or problem.kind == "s8" or problem.batch != ALONE
                or problem.scale_steps != (None, None))


def _blocks(problem, config):
    return tiles(config, problem.m, problem.n) * problem.batch.products


def _in_boxes(problem: MixedProblem) -> bool:
    """Whether copy engines can bring A and B, and 32 bits count the tiles."""
    return (problem.boxes and ANY not in _both_lie(problem) and not problem.batch.tables and problem.k > 0
            and max(problem.m, problem.n, problem.k, _blocks(problem, WGMMA_CONFIGS[problem.kind][-1])) < 2**31)


def _both_lie(problem: MixedProblem) -> tuple[str, str]:
    a_row, a_column, b_row, b_column = problem.strides[:4]
    return (_lies(problem, a_row, a_column, problem.m, problem.chunked[0]),
            _lies(problem, b_column, b_row, problem.n, problem.chunked[1]))


def _lies(problem: MixedProblem, place_stride: int, depth_stride: int, places: int, chunked: bool) -> str:
    """How the kernel may read an operand."""
    size = ELEMENT_BYTES[problem.kind]
    if chunked and (depth_stride == 1 or problem.k <= 1) and max(places, 1) * abs(place_stride) * size < _FAR:
        return ALONG_K
    if chunked and size in (2, 8) and (place_stride == 1 or places <= 1):
        return ACROSS
    return ANY
