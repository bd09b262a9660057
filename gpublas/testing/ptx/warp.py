"""Lowering of barriers and warp-wide instructions: threads stop at them and the scheduler carries them out."""

from __future__ import annotations

from . import layout
from .function import Operations
from .parse import SINK, Instr, Vec
from .ptxtypes import TYPES, U32, type_of
from .resumable import KernelLowering


def _bar(fn: KernelLowering, instr: Instr) -> None:
    mods, operands = instr.mods, list(instr.operands)
    if "warp" in mods:
        fn.stop(layout.WARP_SYNC, [("i32", fn.value(operands[0], U32))])
        return
    if "cluster" in mods:
        if "wait" in mods:
            fn.stop(layout.BARRIER_SYNC, [("i32", "15"), ("i32", "0")], (0, 0))
        return
    aligned = int(instr.base == "bar" or "aligned" in mods)
    if "red" in mods:
        target, predicate = operands.pop(0), operands.pop()
        bit = fn.new(f"zext i1 {fn.value(predicate, TYPES['pred'])} to i32")
    identifier = fn.value(operands[0], U32)
    count = fn.value(operands[1], U32) if len(operands) > 1 else "0"
    exchange = [("i32", identifier), ("i32", count)]
    if "arrive" in mods:
        fn.stop(layout.BARRIER_ARRIVE, exchange, (0, aligned))
    elif "red" in mods:
        operation = next(mod for mod in mods if mod in layout.BARRIER_REDUCTIONS)
        fn.stop(layout.BARRIER_REDUCE, [*exchange, ("i32", bit)], (layout.BARRIER_REDUCTIONS[operation], aligned))
        if operation == "popc":
            fn.assign(target, fn.result(2), U32)
        else:
            fn.assign(target, fn.predicate_result(2), TYPES["pred"])
    else:
        fn.stop(layout.BARRIER_SYNC, exchange, (0, aligned))


def _shfl(fn: KernelLowering, instr: Instr) -> None:
    target, *sources = instr.operands
    value, lane, clamp = (fn.value(source, U32) for source in sources[:3])
    mask = fn.value(sources[3], U32)
    fn.stop(
        layout.SHUFFLE,
        [("i32", mask), ("i32", value), ("i32", lane), ("i32", clamp)],
        [layout.SHUFFLE_MODES[instr.mods[1]]],
    )
    results = target.items if isinstance(target, Vec) else (target,)
    fn.assign(results[0], fn.result(1), U32)
    if len(results) > 1 and results[1] is not SINK:
        fn.assign(results[1], fn.predicate_result(2), TYPES["pred"])


def _vote(fn: KernelLowering, instr: Instr) -> None:
    target, source, mask = instr.operands
    bit = fn.new(f"zext i1 {fn.value(source, TYPES['pred'])} to i32")
    mode = instr.mods[1]
    fn.stop(layout.VOTE, [("i32", fn.value(mask, U32)), ("i32", bit)], [layout.VOTE_MODES[mode]])
    if mode == "ballot":
        fn.assign(target, fn.result(1), U32)
    else:
        fn.assign(target, fn.predicate_result(1), TYPES["pred"])


def _match(fn: KernelLowering, instr: Instr) -> None:
    target, source, mask = instr.operands
    type_ = type_of(instr)
    value = fn.convert(fn.value(source, type_), type_.llvm, "i64")
    fn.stop(layout.MATCH, [("i32", fn.value(mask, U32)), ("i64", value)], [int("all" in instr.mods)])
    results = target.items if isinstance(target, Vec) else (target,)
    fn.assign(results[0], fn.result(1), U32)
    if len(results) > 1 and results[1] is not SINK:
        fn.assign(results[1], fn.predicate_result(2), TYPES["pred"])


def _redux(fn: KernelLowering, instr: Instr) -> None:
    target, source, mask = instr.operands
    type_ = type_of(instr)
    operation = next(mod for mod in instr.mods if mod in layout.REDUCTIONS)
    fn.stop(
        layout.REDUX,
        [("i32", fn.value(mask, U32)), ("i32", fn.value(source, U32))],
        [layout.REDUCTIONS[operation], int(type_.kind == "s"), int(type_.kind == "f")],
    )
    fn.assign(target, fn.result(1), U32)


def _elect(fn: KernelLowering, instr: Instr) -> None:
    target, mask = instr.operands
    fn.stop(layout.ELECT, [("i32", fn.value(mask, U32))])
    fn.assign(target.items[0], fn.result(1), U32)
    fn.assign(target.items[1], fn.predicate_result(2), TYPES["pred"])


def _activemask(fn: KernelLowering, instr: Instr) -> None:
    fn.stop(layout.ACTIVE_MASK)
    fn.assign(instr.operands[0], fn.result(1), U32)


def _nanosleep(fn: KernelLowering, instr: Instr) -> None:
    fn.stop(layout.YIELD)


OPERATIONS: Operations = {
    "bar": _bar, "barrier": _bar, "shfl": _shfl, "vote": _vote, "match": _match, "redux": _redux, "elect": _elect,
    "activemask": _activemask, "nanosleep": _nanosleep,
}
