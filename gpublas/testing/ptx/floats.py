"""Float operations in LLVM IR with PTX modifiers: rounding, ftz, sat, relu, packed and 16-bit types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .function import FunctionLowering
from .parse import Instr
from .ptxtypes import DIRECTED, PACKED, Type, float_type, type_of

Operation = Callable[..., str]  # (LLVM type, *values) -> value


def per_lane(fn: FunctionLowering, type_: Type, function: Callable[..., str], values: Sequence[str]) -> str:
    """Apply a scalar function to values, or to both halves of packed values."""
    if type_.kind != "p":
        return function(type_, *values)
    scalar, results = PACKED[type_.name], []
    for shift in (0, 16):
        lanes = []
        for value in values:
            half = fn.new(f"trunc i32 {fn.new(f'lshr i32 {value}, {shift}')} to i16")
            lanes.append(fn.convert(half, "i16", scalar.llvm))
        results.append(fn.convert(function(scalar, *lanes), scalar.llvm, "i16"))
    low, high = (fn.new(f"zext i16 {result} to i32") for result in results)
    return fn.new(f"or i32 {low}, {fn.new(f'shl i32 {high}, 16')}")


def to_float(fn: FunctionLowering, value: str, type_: Type) -> str:
    """Widen f16 and bf16 to f32."""
    if type_.name == "bf16":
        wide = fn.new(f"zext i16 {value} to i32")
        return fn.convert(fn.new(f"shl i32 {wide}, 16"), "i32", "float")
    return fn.new(f"fpext half {value} to float")


def from_float(fn: FunctionLowering, value: str, type_: Type) -> str:
    """Round f32 to f16 or bf16."""
    if type_.name == "bf16":
        return fn.call("i16", "bf16.from.float", f"float {value}")
    return fn.new(f"fptrunc float {value} to half")


def flush(fn: FunctionLowering, value: str) -> str:
    """Subnormal f32 to zero."""
    return fn.call("float", "flush", f"float {value}")


def saturate(fn: FunctionLowering, value: str, llvm: str) -> str:
    """Clamp to [0, 1], NaN to 0."""
    positive = number_extreme(fn, "max")(llvm, value, "0.0")
    return number_extreme(fn, "min")(llvm, positive, "1.0")


def clamp_negative(fn: FunctionLowering, value: str, llvm: str) -> str:
    """The relu modifier: negative values to 0, NaN stays."""
    return intrinsic(fn, "maximum")(llvm, value, "0.0")


def number_extreme(fn: FunctionLowering, name: str) -> Operation:
    """The operation min or max that ignores a NaN beside a number."""
    return lambda llvm, a, b: fn.call(llvm, f"{name}.number.{float_type(llvm)}", f"{llvm} {a}", f"{llvm} {b}")


def float_apply(
    fn: FunctionLowering, instr: Instr, type_: Type, values: Sequence[str], operation: Operation,
    narrow_operation: Operation | None = None,
) -> str:
    """Apply operation(llvm type, *values) under the instruction's ftz, relu and sat modifiers."""
    mods = instr.mods

    def scalar(lane_type: Type, *values: str) -> str:
        arguments = list(values)
        narrow = lane_type.bits == 16
        if narrow:
            arguments = [to_float(fn, argument, lane_type) for argument in arguments]
        flushed = "ftz" in mods and lane_type.name == "f32"
        if flushed:
            arguments = [flush(fn, argument) for argument in arguments]
        llvm = "float" if narrow else lane_type.llvm
        chosen = narrow_operation if narrow and narrow_operation else operation
        result = chosen(llvm, *arguments)
        if flushed:
            result = flush(fn, result)
        if "sat" in mods:
            result = saturate(fn, result, llvm)
        if "relu" in mods:
            result = clamp_negative(fn, result, llvm)
        return from_float(fn, result, lane_type) if narrow else result

    return per_lane(fn, type_, scalar, values)


def rounded(fn: FunctionLowering, instr: Instr, name: str, llvm: str, *arguments: str) -> str:
    """A float operation rounded as the instruction says: to nearest or directed."""
    mode = next((DIRECTED[mod] for mod in instr.mods if mod in DIRECTED), None)
    if mode is not None:
        return fn.call(
            llvm, fn.module.directed(name, llvm, llvm, mode), *(f"{llvm} {argument}" for argument in arguments)
        )
    if name in ("fma", "sqrt"):
        return fn.call(llvm, f"llvm.{name}.{float_type(llvm)}", *(f"{llvm} {argument}" for argument in arguments))
    return fn.new(f"{name} {llvm} {', '.join(arguments)}")


def intrinsic(fn: FunctionLowering, name: str) -> Operation:
    """An operation calling the LLVM float intrinsic of that name."""
    return lambda llvm, *values: fn.call(
        llvm, f"llvm.{name}.{float_type(llvm)}", *(f"{llvm} {value}" for value in values)
    )


def assign_float(
    fn: FunctionLowering, instr: Instr, operation: Operation, narrow_operation: Operation | None = None
) -> None:
    """Lower an instruction that applies a float operation to its sources."""
    type_ = type_of(instr)
    values = fn.sources(instr, type_)
    fn.assign(instr.operands[0], float_apply(fn, instr, type_, values, operation, narrow_operation), type_)
