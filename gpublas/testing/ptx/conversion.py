"""Lowering of moves and conversions between types."""

from __future__ import annotations

from .floats import clamp_negative, flush, from_float, intrinsic, saturate, to_float
from .function import FunctionLowering, Operations
from .parse import SINK, Instr, PTXError, Vec
from .ptxtypes import DIRECTED, LLVM_BITS, PACKED, TYPES, U32, float_type, type_of

_ROUND_INTRINSIC = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def _mov(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    target, source = instr.operands
    if isinstance(target, Vec):
        value, width = fn.value(source, TYPES[f"b{type_.bits}"]), type_.bits // len(target.items)
        for index, item in enumerate(target.items):
            if item is not SINK:
                part = fn.new(f"lshr i{type_.bits} {value}, {index * width}")
                fn.assign(item, fn.convert(part, f"i{type_.bits}", f"i{width}"), TYPES[f"b{width}"])
    elif isinstance(source, Vec):
        width, total = type_.bits // len(source.items), "0"
        for index, item in enumerate(source.items):
            part = fn.convert(fn.value(item, TYPES[f"b{width}"]), f"i{width}", f"i{type_.bits}")
            total = fn.new(f"or i{type_.bits} {total}, {fn.new(f'shl i{type_.bits} {part}, {index * width}')}")
        fn.assign(target, total, TYPES[f"b{type_.bits}"])
    else:
        fn.assign(target, fn.value(source, type_), type_)


def _cvt(fn: FunctionLowering, instr: Instr) -> None:
    mods = instr.mods
    if mods[0] == "pack":
        return _cvt_pack(fn, instr)
    target, source = TYPES.get(mods[-2]), TYPES.get(mods[-1])
    if target is None or source is None:
        raise PTXError(f"{instr.opcode} is not supported")
    values = [fn.value(operand, source) for operand in instr.operands[1:]]
    if target.kind == "p":
        scalar = PACKED[target.name]
        high, low = (
            fn.convert(converted(fn, instr, scalar, source, value), scalar.llvm, "i16") for value in values[:2]
        )
        low, high = (fn.new(f"zext i16 {half} to i32") for half in (low, high))
        result = fn.new(f"or i32 {low}, {fn.new(f'shl i32 {high}, 16')}")
    else:
        result = converted(fn, instr, target, source, values[0])
    fn.assign(instr.operands[0], result, target)


def _cvt_pack(fn: FunctionLowering, instr: Instr):
    """cvt.pack.sat: saturate two s32 to a narrow type and pack them above the bits of c."""
    target = TYPES[instr.mods[2]]
    low, high = (
        (-(1 << target.bits - 1), (1 << target.bits - 1) - 1) if target.kind == "s" else (0, (1 << target.bits) - 1)
    )
    parts = []
    for operand in instr.operands[1:3]:
        value = fn.call("i32", "llvm.smax.i32", f"i32 {fn.value(operand, U32)}", f"i32 {low}")
        value = fn.call("i32", "llvm.smin.i32", f"i32 {value}", f"i32 {high}")
        parts.append(fn.new(f"and i32 {value}, {(1 << target.bits) - 1}"))
    result = fn.new(f"or i32 {parts[1]}, {fn.new(f'shl i32 {parts[0]}, {target.bits}')}")
    if len(instr.operands) > 3:
        upper = fn.new(f"shl i32 {fn.value(instr.operands[3], U32)}, {2 * target.bits}")
        result = fn.new(f"or i32 {result}, {upper}")
    fn.assign(instr.operands[0], result, U32)


def converted(fn: FunctionLowering, instr: Instr, target, source, value):
    """A scalar converted between any two types, rounding and saturating as told."""
    if source.kind == "f":
        llvm = source.llvm
        if source.bits == 16 and (target.kind != "f" or source.name != target.name):
            value, llvm = to_float(fn, value, source), "float"
        if "ftz" in instr.mods and source.name == "f32":
            value = flush(fn, value)
        if target.kind == "f":
            return _float_to_float(fn, instr, target, source, value, llvm)
        if target.name == "tf32":
            return fn.call("i32", "tf32.from.float", f"float {value}")
        return _float_to_int(fn, instr, target, value, llvm)
    if target.kind == "f":
        return _int_to_float(fn, instr, target, source, value)
    return _int_to_int(fn, instr, target, source, value)


def _round_to_integer(fn: FunctionLowering, instr: Instr, value, llvm):
    name = next((_ROUND_INTRINSIC[mod] for mod in instr.mods if mod in _ROUND_INTRINSIC), None)
    return intrinsic(fn, name)(llvm, value) if name else value


def _float_to_float(fn: FunctionLowering, instr: Instr, target, source, value, llvm):
    if source.name == target.name:
        if target.bits == 16:
            value, llvm = to_float(fn, value, source), "float"
        value = _round_to_integer(fn, instr, value, llvm)
    wide = "float" if target.bits == 16 else target.llvm
    if LLVM_BITS[llvm] < LLVM_BITS[wide]:
        value = fn.new(f"fpext {llvm} {value} to {wide}")
    elif LLVM_BITS[llvm] > LLVM_BITS[wide]:
        mode = next((DIRECTED[mod] for mod in instr.mods if mod in DIRECTED), None)
        if target.bits == 16:
            value = fn.call("float", "truncate.odd", f"double {value}")
        elif mode is not None:
            value = fn.call(wide, fn.module.directed("fptrunc", llvm, wide, mode), f"{llvm} {value}")
        else:
            value = fn.new(f"fptrunc {llvm} {value} to {wide}")
    if "sat" in instr.mods:
        value = saturate(fn, value, wide)
    if "relu" in instr.mods:
        value = clamp_negative(fn, value, wide)
    if "ftz" in instr.mods and target.name == "f32":
        value = flush(fn, value)
    if target.bits == 16:
        if "rz" in instr.mods:
            return fn.convert(fn.call("i16", f"{target.name}.from.float.rz", f"float {value}"), "i16", target.llvm)
        value = from_float(fn, value, target)
    return value


def _float_to_int(fn: FunctionLowering, instr: Instr, target, value, llvm):
    value = _round_to_integer(fn, instr, value, llvm)
    sign = "s" if target.kind == "s" else "u"
    return fn.call(target.llvm, f"llvm.fpto{sign}i.sat.{target.llvm}.{float_type(llvm)}", f"{llvm} {value}")


def _int_to_float(fn: FunctionLowering, instr: Instr, target, source, value):
    wide = "float" if target.bits == 16 else target.llvm
    name = "sitofp" if source.kind == "s" else "uitofp"
    mode = next((DIRECTED[mod] for mod in instr.mods if mod in DIRECTED), None)
    if mode is not None:
        value = fn.call(wide, fn.module.directed(name, source.llvm, wide, mode), f"{source.llvm} {value}")
    else:
        value = fn.new(f"{name} {source.llvm} {value} to {wide}")
    return from_float(fn, value, target) if target.bits == 16 else value


def _int_to_int(fn: FunctionLowering, instr: Instr, target, source, value):
    if "sat" in instr.mods:
        wide = "i128"
        value = fn.convert(value, source.llvm, wide, source.kind == "s")
        low, high = (
            (-(1 << target.bits - 1), (1 << target.bits - 1) - 1) if target.kind == "s" else (0, (1 << target.bits) - 1)
        )
        value = fn.call(wide, "llvm.smax.i128", f"i128 {value}", f"i128 {low}")
        value = fn.call(wide, "llvm.smin.i128", f"i128 {value}", f"i128 {high}")
        return fn.convert(value, wide, target.llvm)
    return fn.convert(value, source.llvm, target.llvm, source.kind == "s")


OPERATIONS: Operations = {"mov": _mov, "cvt": _cvt}
