"""Lowering of loads, stores, atomics, address conversions and fences."""

from __future__ import annotations

from .flow import is_polling
from .function import FunctionLowering, Operations
from .parse import Instr, PTXError, Vec
from .ptxtypes import TYPES, U64, type_of

_COMMUTING = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap",
}


def _ld(fn: FunctionLowering, instr: Instr) -> None:
    type_, space = type_of(instr), fn.space_of(instr)
    target = instr.operands[0]
    targets = target.items if isinstance(target, Vec) else (target,)
    size = type_.bits // 8
    pointer = fn.pointer(instr.operands[1], space, size * len(targets))
    volatile = "volatile " if is_polling(instr) else ""
    for index, item in enumerate(targets):
        element = fn.new(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        fn.assign(item, fn.new(f"load {volatile}{type_.llvm}, ptr {element}"), type_)
    if "acquire" in instr.mods:
        fn.emit("fence acquire")


def _st(fn: FunctionLowering, instr: Instr) -> None:
    type_, space = type_of(instr), fn.space_of(instr)
    source = instr.operands[1]
    sources = source.items if isinstance(source, Vec) else (source,)
    size = type_.bits // 8
    pointer = fn.pointer(instr.operands[0], space, size * len(sources))
    if "release" in instr.mods:
        fn.emit("fence release")
    volatile = "volatile " if "volatile" in instr.mods or "relaxed" in instr.mods else ""
    for index, item in enumerate(sources):
        element = fn.new(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        fn.emit(f"store {volatile}{type_.llvm} {fn.value(item, type_)}, ptr {element}")


def _copy(fn: FunctionLowering, instr: Instr) -> None:
    """Pseudo-instruction of inlined calls: copy a parameter variable."""
    target, source = instr.operands
    size = fn.function.variables[target.name].size
    target, source = fn.symbol_pointer(target), fn.symbol_pointer(source)
    fn.invoke("llvm.memcpy.p0.p0.i64", f"ptr {target}", f"ptr {source}", f"i64 {size}", "i1 false")


def _atomic(fn: FunctionLowering, instr: Instr, target, address, sources):
    type_, space = type_of(instr), fn.space_of(instr)
    mods = instr.mods
    count = next((int(mod[1:]) for mod in mods if mod in ("v2", "v4", "v8")), 1)
    pointer = fn.pointer(address, space, type_.bits // 8 * count)
    if count > 1:
        for index in range(count):
            element = fn.new(f"getelementptr i8, ptr {pointer}, i64 {index * type_.bits // 8}")
            old = _update(fn, type_, mods, element, [source.items[index] for source in sources])
            if target is not None:
                fn.assign(target.items[index], old, type_)
        return
    old = _update(fn, type_, mods, pointer, sources)
    if target is not None:
        fn.assign(target, old, type_)


def _update(fn: FunctionLowering, type_, mods, pointer, sources):
    """One atomic read-modify-write; returns the old value in the type's LLVM form."""
    if type_.name in ("bf16", "bf16x2"):
        raise PTXError(f"line {fn.current.line}: {type_.name} atomics are not supported")
    if "cas" in mods:
        llvm = f"i{type_.bits}"
        expected, new = (fn.value(source, TYPES[f"b{type_.bits}"]) for source in sources)
        pair = fn.new(f"cmpxchg ptr {pointer}, {llvm} {expected}, {llvm} {new} seq_cst seq_cst")
        return fn.convert(fn.new(f"extractvalue {{ {llvm}, i1 }} {pair}, 0"), llvm, type_.llvm)
    value, llvm = fn.value(sources[0], type_), type_.llvm
    name = next((_COMMUTING[mod] for mod in mods if mod in _COMMUTING), None)
    if name is None:
        name = next(mod for mod in mods if mod in ("min", "max"))
        name = "f" + name if type_.kind == "f" else name if type_.kind == "s" else "u" + name
    elif type_.kind in "fp" and name == "add":
        name = "fadd"
    if type_.kind == "p":
        llvm = "<2 x half>"
        value = fn.new(f"bitcast i32 {value} to {llvm}")
    old = fn.new(f"atomicrmw {name} ptr {pointer}, {llvm} {value} seq_cst")
    return fn.new(f"bitcast {llvm} {old} to i32") if type_.kind == "p" else old


def _atom(fn: FunctionLowering, instr: Instr) -> None:
    _atomic(fn, instr, instr.operands[0], instr.operands[1], instr.operands[2:])


def _red(fn: FunctionLowering, instr: Instr) -> None:
    if instr.mods[0] == "async":
        raise PTXError(f"{instr.opcode} is not supported")
    _atomic(fn, instr, None, instr.operands[0], instr.operands[1:])


def _cvta(fn: FunctionLowering, instr: Instr) -> None:
    target, source = instr.operands
    value, space = fn.value(source, U64), fn.space_of(instr)
    if space == "shared":
        value = fn.new(f"{'sub' if 'to' in instr.mods else 'add'} i64 {value}, %shared.base")
    fn.assign(target, value, U64)


def _isspacep(fn: FunctionLowering, instr: Instr) -> None:
    space = fn.space_of(instr)
    address = fn.value(instr.operands[1], U64)
    shared = fn.new(f"icmp ult i64 {fn.new(f'sub i64 {address}, %shared.base')}, %shared.size")
    base = fn.new("ptrtoint ptr %ctx to i64")
    local = fn.new(f"icmp ult i64 {fn.new(f'sub i64 {address}, {base}')}, {fn.module.local_end}")
    result = {"shared": shared, "local": local}.get(space)
    if space == "global":
        result = fn.new(f"xor i1 {fn.new(f'or i1 {shared}, {local}')}, true")
    fn.assign(instr.operands[0], result or "false", TYPES["pred"])


def _no_effect(fn: FunctionLowering, instr: Instr) -> None:
    """Cache hints have no effect."""


def _membar(fn: FunctionLowering, instr: Instr) -> None:
    fn.emit("fence seq_cst")


OPERATIONS: Operations = {
    "ld": _ld, "ldu": _ld, "st": _st, "copy": _copy, "atom": _atom, "red": _red, "cvta": _cvta, "isspacep": _isspacep,
    "membar": _membar, "fence": _membar, "prefetch": _no_effect, "prefetchu": _no_effect, "discard": _no_effect,
    "applypriority": _no_effect, "pmevent": _no_effect, "setmaxnreg": _no_effect, "griddepcontrol": _no_effect,
}
