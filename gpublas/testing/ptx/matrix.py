"""Lowering of matrix instructions: mma, ldmatrix, stmatrix, movmatrix, wgmma."""

from __future__ import annotations

from . import layout
from .function import Operations
from .parse import Instr, PTXError, Vec
from .ptxtypes import TYPES, U32, U64
from .resumable import KernelLowering


def _mma(fn: KernelLowering, instr: Instr) -> None:
    mods = instr.mods
    shape = next(mod for mod in mods if mod[0] == "m" and "n8k" in mod)
    rows, depth = int(shape[1 : shape.index("n")]), int(shape[shape.index("k") + 1 :])
    d_type, a_type, b_type, _ = mods[-4:]
    narrow_allowed = a_type in ("s8", "u8", "f64")
    if (
        a_type not in layout.MATRIX_TYPES
        or (rows == 8 and not narrow_allowed)
        or any(mod.startswith("sp") for mod in mods)
    ):
        raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
    register = TYPES["b64"] if a_type == "f64" else U32
    exchange = [("i32", "-1")]
    for operand in instr.operands[1:4]:
        for item in operand.items if isinstance(operand, Vec) else (operand,):
            exchange.append((register.llvm, fn.value(item, register)))
    counts = [len(operand.items) if isinstance(operand, Vec) else 1 for operand in instr.operands]
    fn.stop(
        layout.MMA,
        exchange,
        (
            rows, depth, layout.MATRIX_TYPES[a_type], layout.MATRIX_TYPES[b_type], layout.MATRIX_TYPES[d_type],
            counts[1], counts[2], int("satfinite" in mods),
        ),
    )
    target = instr.operands[0]
    for index, item in enumerate(target.items if isinstance(target, Vec) else (target,)):
        fn.assign(item, fn.result(1 + index * register.bits // 32, register.llvm), register)


def shared_offset(fn: KernelLowering, operand, space):
    """An address as an offset into shared memory."""
    address = fn.address(operand)
    return address if space == "shared" else fn.new(f"sub i64 {address}, %shared.base")


def _matrix_arguments(fn: KernelLowering, instr: Instr):
    if "b16" not in instr.mods or "m8n8" not in instr.mods:
        raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
    count = next(int(mod[1:]) for mod in instr.mods if mod in ("x1", "x2", "x4"))
    return count, int("trans" in instr.mods), int(fn.module.counters)


def _ldmatrix(fn: KernelLowering, instr: Instr) -> None:
    arguments = _matrix_arguments(fn, instr)
    address = shared_offset(fn, instr.operands[1], fn.space_of(instr))
    site = fn.stop(layout.LOAD_MATRIX, [("i32", "-1"), ("i64", address)], arguments)
    fn.accesses[site] = instr
    target = instr.operands[0]
    for index, item in enumerate(target.items if isinstance(target, Vec) else (target,)):
        fn.assign(item, fn.result(1 + index), U32)


def _stmatrix(fn: KernelLowering, instr: Instr) -> None:
    arguments = _matrix_arguments(fn, instr)
    address = shared_offset(fn, instr.operands[0], fn.space_of(instr))
    source = instr.operands[1]
    values = [("i32", fn.value(item, U32)) for item in (source.items if isinstance(source, Vec) else (source,))]
    site = fn.stop(layout.STORE_MATRIX, [("i32", "-1"), ("i64", address), *values], arguments)
    fn.accesses[site] = instr


def _movmatrix(fn: KernelLowering, instr: Instr) -> None:
    fn.stop(layout.MOVE_MATRIX, [("i32", "-1"), ("i32", fn.value(instr.operands[1], U32))])
    fn.assign(instr.operands[0], fn.result(1), U32)


def _wgmma(fn: KernelLowering, instr: Instr) -> None:
    """Executed at once, so fence, commit_group and wait_group have nothing to do."""
    if instr.mods[0] != "mma_async":
        return
    mods, (target, a, b, *flags) = instr.mods, instr.operands
    shape = next(mod for mod in mods if mod.startswith("m64n"))
    kind = mods[-1]
    if mods[-3] != "f32" or mods[-2] != kind or kind not in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
        raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
    in_registers = isinstance(a, Vec)
    scale = fn.new(f"zext i1 {fn.value(flags[0], TYPES['pred'])} to i32")
    exchange = [("i32", scale)]
    if in_registers:
        exchange += [("i32", fn.value(item, U32)) for item in a.items]
    else:
        exchange += [("i64", fn.value(a, U64)), ("i32", "0"), ("i32", "0")]
    exchange.append(("i64", fn.value(b, U64)))
    exchange += [("i32", fn.value(item, U32)) for item in target.items]
    signs, transposes = [flag.value for flag in flags[1:3]], [flag.value for flag in flags[3:]]
    if in_registers or not transposes:
        transposes = [0, *(transposes or [0])]
    fn.stop(
        layout.WGMMA,
        exchange,
        (int(shape[4 : shape.index("k")]), layout.MATRIX_TYPES[kind], int(in_registers), *transposes, *signs),
    )
    for index, item in enumerate(target.items):
        fn.assign(item, fn.result(7 + index), U32)


OPERATIONS: Operations = {
    "mma": _mma, "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix, "wgmma": _wgmma,
}
