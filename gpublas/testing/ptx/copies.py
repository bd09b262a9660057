"""Lowering of asynchronous copies and of the mbarriers they signal."""

from __future__ import annotations

from . import layout
from .function import Operations
from .parse import Addr, Instr, PTXError, Reg
from .ptxtypes import TYPES, U32, U64
from .resumable import KernelLowering


def _cp(fn: KernelLowering, instr: Instr) -> None:
    mods = instr.mods
    if mods[0] != "async":
        raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
    if "bulk" in mods:
        return _bulk_copy(fn, instr)
    if "commit_group" in mods:
        pointer = fn.new(f"getelementptr i32, ptr %ctx, i64 {layout.COPY_GROUP}")
        group = fn.new(f"load i32, ptr {pointer}")
        fn.emit(f"store i32 {fn.new(f'add i32 {group}, 1')}, ptr {pointer}")
    elif "wait_all" in mods:
        _complete_copies(fn, "2147483647")
    elif "wait_group" in mods:
        pointer = fn.new(f"getelementptr i32, ptr %ctx, i64 {layout.COPY_GROUP}")
        group = fn.new(f"load i32, ptr {pointer}")
        _complete_copies(fn, fn.new(f"sub i32 {group}, {instr.operands[0].value}"))
    elif "mbarrier" in mods:
        _complete_copies(fn, "2147483647")
        pointer = fn.pointer(instr.operands[0], fn.space_of(instr), 8, traced=False)
        if "noinc" in mods:
            update_barrier(fn, pointer, arrivals="1")
    else:
        _queue_copy(fn, instr)


def _complete_copies(fn: KernelLowering, limit):
    fn.invoke("copy.complete", "ptr %ctx", "ptr %shared", f"i64 {fn.queue}", f"i32 {limit}")


def _queue_copy(fn: KernelLowering, instr: Instr):
    target, source, size = instr.operands[:3]
    size = size.value
    fn.trace(source, "global", size)
    fn.pointer(target, "shared", size)
    valid = _valid_bytes(fn, instr, size)
    address, origin = fn.address(target), fn.address(source)
    if fn.module.checked:
        _check_source(fn, origin, valid, size)
    queued = fn.call(
        "i1", "copy.queue", "ptr %ctx", "ptr %shared", f"i64 {fn.queue}", f"i64 {address}", f"i64 {origin}",
        f"i32 {size}", f"i32 {valid}",
    )
    fn.fault_unless(queued, layout.COPY_OVERFLOW)


def _valid_bytes(fn: KernelLowering, instr: Instr, size):
    """How many bytes to read: all, an operand's value, or none if a predicate says to ignore the source."""
    optional = instr.operands[3:]
    if "cache_hint" in instr.opcode:
        optional = optional[:-1]
    if not optional:
        return str(size)
    if isinstance(optional[0], Reg) and fn.kinds.get(optional[0].name) == "i1":
        return fn.new(f"select i1 {fn.value(optional[0], TYPES['pred'])}, i32 0, i32 {size}")
    return fn.value(optional[0], U32)


def _check_source(fn: KernelLowering, address, valid, size):
    rest = fn.new(f"and i64 {address}, {size - 1}")
    fn.fault_unless(fn.new(f"icmp eq i64 {rest}, 0"), layout.MISALIGNED, address)
    wide = fn.new(f"zext i32 {valid} to i64")
    inside = fn.accessible("global", address, wide)
    none = fn.new(f"icmp eq i32 {valid}, 0")
    fn.fault_unless(fn.new(f"or i1 {inside}, {none}"), layout.OUT_OF_BOUNDS, address)


def _bulk_copy(fn: KernelLowering, instr: Instr) -> None:
    """Bytes between global and shared memory, or groups of copies out of shared memory."""
    mods, operands = instr.mods, list(instr.operands)
    if "prefetch" in mods:  # to the cache of global memory: nothing that a kernel could see
        return
    pointer = fn.new(f"getelementptr i32, ptr %ctx, i64 {layout.BULK_GROUP}")
    group = fn.new(f"load i32, ptr {pointer}")
    if "commit_group" in mods:
        return fn.emit(f"store i32 {fn.new(f'add i32 {group}, 1')}, ptr {pointer}")
    if "wait_group" in mods:
        fn.stop(layout.BULK_WAIT, [("i32", fn.new(f"sub i32 {group}, {operands[0].value}"))])
        return
    if "tensor" in mods:
        return _tensor_copy(fn, instr)
    spaces = [mod.split("::")[0] for mod in mods if mod.split("::")[0] in ("shared", "global")]
    has_barrier = "mbarrier::complete_tx::bytes" in mods
    if len(spaces) != 2 or has_barrier != (spaces[0] == "shared") or _is_unusual(mods):
        raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
    exchange = [("i64", fn.address(operand)) for operand in operands[:2]]
    exchange.append(("i64", fn.address(operands[3]) if has_barrier else "0"))
    exchange.append(("i64", fn.convert(fn.value(operands[2], U32), "i32", "i64")))
    arguments = [int(not has_barrier), *(int(space == "shared") for space in spaces), int(fn.module.checked)]
    fn.accesses[fn.stop(layout.BULK_COPY, exchange, arguments)] = instr


def _is_unusual(mods: list[str]) -> bool:
    """Whether a bulk copy is of a kind that is not modelled."""
    return any(mod.startswith(("im2col", "multicast", "cta_group", "cp_mask", "tile::", "ignore_oob")) for mod in mods)


def _tensor_copy(fn: KernelLowering, instr: Instr) -> None:
    """A box of a tensor to shared memory or back."""
    mods, operands = instr.mods, list(instr.operands)
    rank = int(mods[3][0])
    is_store = mods[4:6] == ["global", "shared::cta"]
    is_load = mods[4] in ("shared::cluster", "shared::cta") and mods[5] == "global"
    signal = "bulk_group" if is_store else "mbarrier::complete_tx::bytes"
    if not (is_store or is_load) or signal not in mods or _is_unusual(mods):
        raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
    tensor, box = (operands[0], operands[1]) if is_store else (operands[1], operands[0])
    tensor_map, coordinates = tensor.items
    if len(coordinates.items) != rank:
        raise PTXError(f"line {instr.line}: {len(coordinates.items)} coordinates of a tensor of rank {rank}")
    exchange = [("i64", fn.address(operand)) for operand in (tensor_map, box)]
    exchange.append(("i64", "0" if is_store else fn.address(operands[2])))
    exchange += [("i32", fn.value(item, U32)) for item in coordinates.items]
    fn.accesses[fn.stop(layout.TENSOR_COPY, exchange, (int(is_store), rank, int(fn.module.checked)))] = instr


def update_barrier(fn: KernelLowering, pointer, arrivals="0", expected="0", transferred="0"):
    """Count arrivals and bytes at an mbarrier, which may complete its phase; returns the word before."""
    return fn.call(
        "i64", "mbarrier.update", f"ptr {pointer}", f"i64 {arrivals}", f"i64 {expected}", f"i64 {transferred}"
    )


def _mbarrier(fn: KernelLowering, instr: Instr) -> None:
    mods, operands = instr.mods, list(instr.operands)
    action, space = mods[0], fn.space_of(instr)
    if action == "pending_count":
        return fn.assign(operands[0], fn.new(f"and i64 {fn.value(operands[1], U64)}, 1048575"), U64)
    if action in ("test_wait", "try_wait"):
        return _mbarrier_wait(fn, instr, space)
    target = None
    if action in ("arrive", "arrive_drop") and not isinstance(operands[0], Addr):
        target = operands.pop(0)
    pointer = fn.pointer(operands[0], space, 8, traced=False)
    amount = fn.convert(fn.value(operands[1], U32), "i32", "i64") if len(operands) > 1 else "1"
    if action == "init":
        word = fn.new(f"or i64 {amount}, {fn.new(f'shl i64 {amount}, 20')}")
        fn.emit(f"store i64 {fn.new(f'or i64 {word}, {1 << 61}')}, ptr {pointer}")
    elif action == "inval":
        fn.emit(f"store i64 -1, ptr {pointer}")
    elif action == "expect_tx":
        update_barrier(fn, pointer, transferred=amount)
    elif action == "complete_tx":
        update_barrier(fn, pointer, transferred=fn.new(f"sub i64 0, {amount}"))
    elif "expect_tx" in mods:
        update_barrier(fn, pointer, transferred=amount)
        _arrived(fn, target, update_barrier(fn, pointer, arrivals="1"))
    elif action == "arrive_drop":
        _arrived(fn, target, update_barrier(fn, pointer, amount, fn.new(f"sub i64 0, {amount}")))
    else:
        _arrived(fn, target, update_barrier(fn, pointer, amount))


def _arrived(fn: KernelLowering, target, state):
    if target is not None:
        fn.assign(target, state, U64)


def _mbarrier_wait(fn: KernelLowering, instr: Instr, space):
    fn.stop(layout.YIELD, live=fn.flow.live_before(fn.index))
    target, address, state, *_ = instr.operands
    word = fn.new(f"load i64, ptr {fn.pointer(address, space, 8, traced=False)}")
    phase = fn.new(f"trunc i64 {fn.new(f'lshr i64 {word}, 62')} to i1")
    if "parity" in instr.mods:
        waited = fn.new(f"trunc i32 {fn.value(state, U32)} to i1")
    else:
        waited = fn.new(f"trunc i64 {fn.new(f'lshr i64 {fn.value(state, U64)}, 62')} to i1")
    fn.assign(target, fn.new(f"xor i1 {phase}, {waited}"), TYPES["pred"])


OPERATIONS: Operations = {"cp": _cp, "mbarrier": _mbarrier}
