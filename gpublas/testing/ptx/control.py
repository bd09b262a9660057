"""Lowering of branches, calls and exits."""

from __future__ import annotations

from . import layout
from .flow import callee_name
from .function import FunctionLowering, Operations
from .parse import Instr, PTXError
from .ptxtypes import U32


def _bra(fn: FunctionLowering, instr: Instr) -> None:
    fn.end(f"br label {fn.labels[instr.operands[0].name]}")


def _brx(fn: FunctionLowering, instr: Instr) -> None:
    index = fn.value(instr.operands[0], U32)
    targets = fn.function.branch_targets[instr.operands[1].name]
    cases = " ".join(f"i32 {number}, label {fn.labels[name]}" for number, name in enumerate(targets))
    fn.end(f"switch i32 {index}, label {fn.labels[targets[0]]} [ {cases} ]")


def _ret(fn: FunctionLowering, instr: Instr) -> None:
    fn.end(f"ret i32 {fn.returned}")


def _trap(fn: FunctionLowering, instr: Instr) -> None:
    fn.fault(layout.TRAP)


def _brkpt(fn: FunctionLowering, instr: Instr) -> None:
    """Breakpoints are ignored."""


def _call(fn: FunctionLowering, instr: Instr) -> None:
    name, results, arguments = callee_name(instr)
    callee = fn.module.module.functions.get(name)
    if callee is None or callee.body is None:
        return _external_call(fn, name, results)
    target = fn.module.callee(name)
    stack = fn.new(f"getelementptr i8, ptr %stack, i64 {fn.frame_bytes}")
    operands = [f"ptr {fn.symbol_pointer(operand)}" for operand in [*results, *arguments]]
    status = fn.call("i32", target.symbol, "ptr %ctx", "ptr %block", f"ptr {stack}", *operands)
    good, bad = fn.fresh_label(), fn.fresh_label()
    fn.end(f"br i1 {fn.new(f'icmp eq i32 {status}, 0')}, label {good}, label {bad}")
    fn.begin(bad)
    fn.end(f"ret i32 {status}")
    fn.begin(good)
    fn.segment_start()


def _external_call(fn: FunctionLowering, name, results):
    """vprintf prints nothing; failed assertions trap."""
    if name == "vprintf":
        for result in results:
            fn.emit(f"store i32 0, ptr {fn.symbol_pointer(result)}")
    elif name in ("__assertfail", "__assert_fail"):
        fn.fault(layout.TRAP)
        fn.begin(fn.fresh_label())
    else:
        raise PTXError(f"line {fn.current.line}: function {name} is not defined")


OPERATIONS: Operations = {
    "bra": _bra, "brx": _brx, "ret": _ret, "exit": _ret, "trap": _trap, "brkpt": _brkpt, "call": _call,
}
