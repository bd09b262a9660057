"""Lowering of comparisons, selections, logic, shifts and bit fields."""

from __future__ import annotations

from functools import partial

from .floats import flush, per_lane, to_float
from .function import FunctionLowering, Operations
from .parse import SINK, Instr, PTXError, Vec
from .ptxtypes import PACKED, TYPES, U32, Type, type_of

_FLOAT_COMPARE = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
    "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}
_UNSIGNED_COMPARE = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def compare(fn: FunctionLowering, instr: Instr, name: str, type_: Type, a: str, b: str) -> str:
    """The i1 result of a comparison by name."""
    if type_.kind == "f":
        llvm = type_.llvm
        if type_.name == "bf16":
            a, b, llvm = to_float(fn, a, type_), to_float(fn, b, type_), "float"
        elif "ftz" in instr.mods and llvm == "float":
            a, b = flush(fn, a), flush(fn, b)
        return fn.new(f"fcmp {_FLOAT_COMPARE[name]} {llvm} {a}, {b}")
    condition = _UNSIGNED_COMPARE.get(name) or (
        name if name in ("eq", "ne") else ("s" if type_.kind == "s" else "u") + name
    )
    return fn.new(f"icmp {condition} {type_.llvm} {a}, {b}")


def _combined(fn: FunctionLowering, instr: Instr, result, boolean, operand):
    """A comparison result combined with a predicate operand."""
    return fn.new(f"{boolean} i1 {result}, {fn.value(operand, TYPES['pred'])}")


def _setp(fn: FunctionLowering, instr: Instr) -> None:
    type_, mods = type_of(instr), instr.mods
    target, predicate = instr.operands[0], TYPES["pred"]
    targets = target.items if isinstance(target, Vec) else (target,)
    boolean = mods[1] if mods[1] in ("and", "or", "xor") else None
    a, b = (fn.value(operand, type_) for operand in instr.operands[1:3])
    if type_.kind == "p":
        return _packed_setp(fn, instr, type_, targets, a, b)
    result = compare(fn, instr, mods[0], type_, a, b)
    results = [result, fn.new(f"xor i1 {result}, true")]
    for destination, value in zip(targets, results, strict=False):
        if destination is not SINK:
            if boolean:
                value = _combined(fn, instr, value, boolean, instr.operands[3])
            fn.assign(destination, value, predicate)


def _packed_setp(fn: FunctionLowering, instr: Instr, type_, targets, a, b):
    scalar = PACKED[type_.name]
    for shift, destination in zip((0, 16), targets, strict=False):
        lanes = [
            fn.convert(fn.new(f"trunc i32 {fn.new(f'lshr i32 {value}, {shift}')} to i16"), "i16", scalar.llvm)
            for value in (a, b)
        ]
        fn.assign(destination, compare(fn, instr, instr.mods[0], scalar, *lanes), TYPES["pred"])


def _set(fn: FunctionLowering, instr: Instr) -> None:
    mods = instr.mods
    boolean = mods[1] if mods[1] in ("and", "or", "xor") else None
    target, source = TYPES[mods[-2]], TYPES[mods[-1]]
    a, b = (fn.value(operand, source) for operand in instr.operands[1:3])

    def scalar(lane, a, b):
        result = compare(fn, instr, mods[0], lane, a, b)
        if boolean:
            result = _combined(fn, instr, result, boolean, instr.operands[3])
        if target.name == "f32":
            return fn.new(f"uitofp i1 {result} to float")
        if lane.bits == 16:
            one = {"f16": "15360", "bf16": "16256"}[lane.name]
            return fn.convert(fn.new(f"select i1 {result}, i16 {one}, i16 0"), "i16", lane.llvm)
        return fn.new(f"sext i1 {result} to i32")

    fn.assign(instr.operands[0], per_lane(fn, source, scalar, [a, b]), target)


def _selp(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    a, b = (fn.value(operand, type_) for operand in instr.operands[1:3])
    condition = fn.value(instr.operands[3], TYPES["pred"])
    fn.assign(instr.operands[0], fn.new(f"select i1 {condition}, {type_.llvm} {a}, {type_.llvm} {b}"), type_)


def _slct(fn: FunctionLowering, instr: Instr) -> None:
    type_, selector = TYPES[instr.mods[-2]], type_of(instr)
    a, b = (fn.value(operand, type_) for operand in instr.operands[1:3])
    c = fn.value(instr.operands[3], selector)
    test = f"fcmp oge float {c}, 0.0" if selector.kind == "f" else f"icmp sge i32 {c}, 0"
    fn.assign(instr.operands[0], fn.new(f"select i1 {fn.new(test)}, {type_.llvm} {a}, {type_.llvm} {b}"), type_)


def _testp(fn: FunctionLowering, instr: Instr) -> None:
    classes = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 264, "subnormal": 144}
    type_ = type_of(instr)
    (a,) = fn.sources(instr, type_)
    result = fn.call("i1", f"llvm.is.fpclass.{type_.name}", f"{type_.llvm} {a}", f"i32 {classes[instr.mods[0]]}")
    fn.assign(instr.operands[0], result, TYPES["pred"])


def _logic(fn: FunctionLowering, instr: Instr, name):
    type_ = type_of(instr)
    a, b = fn.sources(instr, type_)
    fn.assign(instr.operands[0], fn.new(f"{name} {type_.llvm} {a}, {b}"), type_)


def _not(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    (a,) = fn.sources(instr, type_)
    fn.assign(instr.operands[0], fn.new(f"xor {type_.llvm} {a}, -1"), type_)


def _cnot(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    (a,) = fn.sources(instr, type_)
    zero = fn.new(f"icmp eq {type_.llvm} {a}, 0")
    fn.assign(instr.operands[0], fn.new(f"zext i1 {zero} to {type_.llvm}"), type_)


def _lop3(fn: FunctionLowering, instr: Instr) -> None:
    type_ = TYPES["b32"]
    a, b, c = (fn.value(operand, type_) for operand in instr.operands[1:4])
    table, result = instr.operands[4].value, "0"
    for index in range(8):
        if table >> index & 1:
            term = "-1"
            for value, bit in ((a, 4), (b, 2), (c, 1)):
                factor = value if index & bit else fn.new(f"xor i32 {value}, -1")
                term = fn.new(f"and i32 {term}, {factor}")
            result = fn.new(f"or i32 {result}, {term}")
    fn.assign(instr.operands[0], result, type_)


def _shift(fn: FunctionLowering, instr: Instr, name):
    """Shifts clamp their count to the register width."""
    type_ = type_of(instr)
    a, count = fn.value(instr.operands[1], type_), fn.value(instr.operands[2], U32)
    limit = type_.bits - 1
    clamped = fn.call("i32", "llvm.umin.i32", f"i32 {count}", f"i32 {limit}")
    shifted = fn.new(f"{name} {type_.llvm} {a}, {fn.convert(clamped, 'i32', type_.llvm)}")
    if name != "ashr":
        inside = fn.new(f"icmp ule i32 {count}, {limit}")
        shifted = fn.new(f"select i1 {inside}, {type_.llvm} {shifted}, {type_.llvm} 0")
    fn.assign(instr.operands[0], shifted, type_)


def _shr(fn: FunctionLowering, instr: Instr) -> None:
    _shift(fn, instr, "ashr" if type_of(instr).kind == "s" else "lshr")


def _shf(fn: FunctionLowering, instr: Instr) -> None:
    low, high, count = (fn.value(operand, U32) for operand in instr.operands[1:4])
    if "wrap" in instr.mods:
        count = fn.new(f"and i32 {count}, 31")
    else:
        count = fn.call("i32", "llvm.umin.i32", f"i32 {count}", "i32 32")
    count = fn.new(f"zext i32 {count} to i64")
    upper = fn.new(f"shl i64 {fn.new(f'zext i32 {high} to i64')}, 32")
    both = fn.new(f"or i64 {upper}, {fn.new(f'zext i32 {low} to i64')}")
    if instr.mods[0] == "l":
        shifted = fn.new(f"lshr i64 {fn.new(f'shl i64 {both}, {count}')}, 32")
    else:
        shifted = fn.new(f"lshr i64 {both}, {count}")
    fn.assign(instr.operands[0], fn.new(f"trunc i64 {shifted} to i32"), U32)


def _bit_intrinsic(fn: FunctionLowering, instr: Instr, name, *extra):
    type_ = type_of(instr)
    (a,) = fn.sources(instr, type_)
    result = fn.call(type_.llvm, f"llvm.{name}.{type_.llvm}", f"{type_.llvm} {a}", *extra)
    return result, type_


def _popc(fn: FunctionLowering, instr: Instr) -> None:
    result, type_ = _bit_intrinsic(fn, instr, "ctpop")
    fn.assign(instr.operands[0], fn.convert(result, type_.llvm, "i32"), U32)


def _clz(fn: FunctionLowering, instr: Instr) -> None:
    result, type_ = _bit_intrinsic(fn, instr, "ctlz", "i1 false")
    fn.assign(instr.operands[0], fn.convert(result, type_.llvm, "i32"), U32)


def _brev(fn: FunctionLowering, instr: Instr) -> None:
    fn.assign(instr.operands[0], *_bit_intrinsic(fn, instr, "bitreverse"))


def _bfind(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    llvm = type_.llvm
    (a,) = fn.sources(instr, type_)
    if type_.kind == "s":
        a = fn.new(f"xor {llvm} {a}, {fn.new(f'ashr {llvm} {a}, {type_.bits - 1}')}")
    zeros = fn.call(llvm, f"llvm.ctlz.{llvm}", f"{llvm} {a}", "i1 false")
    found = zeros if "shiftamt" in instr.mods else fn.new(f"sub {llvm} {type_.bits - 1}, {zeros}")
    missing = fn.new(f"icmp eq {llvm} {a}, 0")
    result = fn.new(f"select i1 {missing}, {llvm} -1, {llvm} {found}")
    fn.assign(instr.operands[0], fn.convert(result, llvm, "i32"), U32)


def _field(fn: FunctionLowering, operands, bits):
    """Position and length of a bit field, clamped to the register width."""
    clamped = []
    for operand in operands:
        byte = fn.new(f"and i32 {fn.value(operand, U32)}, 255")
        clamped.append(fn.call("i32", "llvm.umin.i32", f"i32 {byte}", f"i32 {bits}"))
    return clamped


def _bfe(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    llvm, bits = type_.llvm, type_.bits
    wide = f"i{2 * bits}"
    signed = type_.kind == "s"
    position, length = (fn.convert(value, "i32", wide) for value in _field(fn, instr.operands[2:4], bits))
    a = fn.convert(fn.value(instr.operands[1], type_), llvm, wide, signed)
    shifted = fn.new(f"{'ashr' if signed else 'lshr'} {wide} {a}, {position}")
    margin = fn.new(f"sub {wide} {2 * bits}, {length}")
    none = fn.new(f"icmp eq {wide} {length}, 0")
    margin = fn.new(f"select i1 {none}, {wide} 0, {wide} {margin}")
    raised = fn.new(f"shl {wide} {shifted}, {margin}")
    field = fn.new(f"{'ashr' if signed else 'lshr'} {wide} {raised}, {margin}")
    field = fn.new(f"select i1 {none}, {wide} 0, {wide} {field}")
    fn.assign(instr.operands[0], fn.new(f"trunc {wide} {field} to {llvm}"), type_)


def _bfi(fn: FunctionLowering, instr: Instr) -> None:
    type_ = type_of(instr)
    llvm, bits = type_.llvm, type_.bits
    wide = f"i{2 * bits}"
    position, length = (fn.convert(value, "i32", wide) for value in _field(fn, instr.operands[3:5], bits))
    a, b = (fn.convert(fn.value(operand, type_), llvm, wide) for operand in instr.operands[1:3])
    ones = fn.new(f"sub {wide} {fn.new(f'shl {wide} 1, {length}')}, 1")
    mask = fn.new(f"shl {wide} {ones}, {position}")
    inserted = fn.new(f"and {wide} {fn.new(f'shl {wide} {a}, {position}')}, {mask}")
    kept = fn.new(f"and {wide} {b}, {fn.new(f'xor {wide} {mask}, -1')}")
    fn.assign(instr.operands[0], fn.new(f"trunc {wide} {fn.new(f'or {wide} {inserted}, {kept}')} to {llvm}"), type_)


def _prmt(fn: FunctionLowering, instr: Instr) -> None:
    if instr.mods != ["b32"]:
        raise PTXError(f"{instr.opcode} is not supported")
    values = [fn.value(operand, U32) for operand in instr.operands[1:4]]
    fn.assign(instr.operands[0], fn.call("i32", "permute.bytes", *(f"i32 {value}" for value in values)), U32)


OPERATIONS: Operations = {
    "setp": _setp, "set": _set, "selp": _selp, "slct": _slct, "testp": _testp, "and": partial(_logic, name="and"),
    "or": partial(_logic, name="or"), "xor": partial(_logic, name="xor"), "not": _not, "cnot": _cnot, "lop3": _lop3,
    "shl": partial(_shift, name="shl"), "shr": _shr, "shf": _shf, "popc": _popc, "clz": _clz, "brev": _brev,
    "bfind": _bfind, "bfe": _bfe, "bfi": _bfi, "prmt": _prmt,
}
