"""Lowering of one function to LLVM IR: registers, operands, addresses and instructions in order.

Registers are allocas, which LLVM turns into values; IR text is emitted line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import layout
from .flow import CARRY
from .parse import SINK, Function, Imm, Instr, Label, Not, PTXError, Reg, Sym, Vec
from .ptxtypes import LLVM_BITS, TYPES, U64, Type, constant
from .specials import CLOCKS, CONSTANTS, special_loads

if TYPE_CHECKING:
    from .lower import ModuleLowering

Operations = dict[str, Callable[..., None]]  # how instructions are lowered: (function, instruction) -> None

_STORAGE = {"pred": "i1", "f32": "float", "f64": "double"}
_SPACES = ("global", "shared", "local", "param", "const")
RECURSION_BYTES = 1 << 16  # local memory assumed for a call chain that comes back to a function


def aligned(size: int, align: int) -> int:
    """The next multiple of align."""
    return (size + align - 1) // align * align


class FunctionLowering:
    """Lowering common to kernels and device functions."""

    returned: int  # by a thread that reaches the function's end

    def __init__(self, module: ModuleLowering, function: Function, symbol: str) -> None:
        self.module = module
        self.function = function
        self.symbol = symbol
        self.lines: list[str] = []
        self.specials: dict[str, str] = {}  # special registers and the values loaded for them at entry
        self.serial = 0
        self.open = True  # whether the last basic block lacks a terminator
        self.current: Instr  # the instruction being lowered, and its index in the body
        self.index = 0
        self.parameters: dict[str, tuple[str, int]] = {}  # base pointer and offset
        self.registers = {name: f"%r{index}" for index, name in enumerate(function.registers)}
        self.kinds = {name: _STORAGE.get(kind) or f"i{TYPES[kind].bits}" for name, kind in function.registers.items()}
        self.registers[CARRY], self.kinds[CARRY] = "%carry", "i1"
        self.labels = {name: f"%L{index}" for index, name in enumerate(function.branch_targets)}
        self.frame_bytes = 0
        self.locals: dict[str, int] = {}  # offsets in the stack frame
        for name, variable in function.variables.items():
            if variable.space == "local":
                self.frame_bytes = aligned(self.frame_bytes, variable.align)
                self.locals[name] = self.frame_bytes
                self.frame_bytes += variable.size
        self.frame_bytes = aligned(self.frame_bytes, 16)

    # Emission

    def emit(self, text: str) -> None:
        """Append a line of IR."""
        self.lines.append("  " + text)

    def new(self, expression: str) -> str:
        """Emit an instruction; returns the name of its value."""
        self.serial += 1
        name = f"%t{self.serial}"
        self.emit(f"{name} = {expression}")
        return name

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Call a function with typed arguments; returns the name of its value of type `result`."""
        self.module.declare(result, name, [argument.split()[0] for argument in arguments])
        return self.new(f'call {result} @"{name}"({", ".join(arguments)})')

    def invoke(self, name: str, *arguments: str) -> None:
        """Call a function without a result."""
        self.module.declare("void", name, [argument.split()[0] for argument in arguments])
        self.emit(f'call void @"{name}"({", ".join(arguments)})')

    def fresh_label(self) -> str:
        """A label not used before."""
        self.serial += 1
        return f"%b{self.serial}"

    def begin(self, label: str) -> None:
        """Start a basic block, which the previous one falls into if it is open."""
        if self.open:
            self.emit(f"br label {label}")
        self.lines.append(f"{label[1:]}:")
        self.open = True

    def end(self, text: str) -> None:
        """End the basic block with a terminator."""
        self.emit(text)
        self.open = False

    def fault_unless(self, condition: str, kind: int, address: str = "0") -> None:
        """Stop the thread with a fault unless the condition holds."""
        good, bad = self.fresh_label(), self.fresh_label()
        self.end(f"br i1 {condition}, label {good}, label {bad}")
        self.begin(bad)
        self.fault(kind, address)
        self.begin(good)

    def fault(self, kind: int, address: str = "0") -> None:
        """Stop the thread with a fault."""
        self.invoke("fault", "ptr %ctx", f"i32 {kind}", f"i32 {self.current.line}", f"i64 {address}")
        self.end(f"ret i32 {layout.FAULTED}")

    # Registers and operands

    def load_register(self, name: str) -> str:
        """The value of a register."""
        return self.new(f"load {self.kinds[name]}, ptr {self.registers[name]}")

    def store_register(self, name: str, value: str) -> None:
        """Set a register to a value of its own type."""
        self.emit(f"store {self.kinds[name]} {value}, ptr {self.registers[name]}")

    def value(self, operand: Any, type_: Type) -> str:
        """An operand read as a PTX type."""
        signed = type_.kind == "s"
        if isinstance(operand, Reg):
            if operand.name in self.registers:
                return self.convert(self.load_register(operand.name), self.kinds[operand.name], type_.llvm, signed)
            value, llvm = self.special(operand.name)
            return self.convert(value, llvm, type_.llvm)
        if isinstance(operand, Imm):
            return constant(operand, type_)
        if isinstance(operand, Not):
            return self.new(f"xor i1 {self.value(operand.operand, type_)}, true")
        if isinstance(operand, Sym):
            if operand.name in CONSTANTS:
                return str(CONSTANTS[operand.name])
            return self.convert(self.symbol_address(operand), "i64", type_.llvm)
        raise PTXError(f"line {self.current.line}: unexpected operand {operand}")

    def convert(self, value: str, source: str, target: str, signed: bool = False) -> str:
        """Reinterpret a value as another LLVM type, truncating or extending integers."""
        if source == target:
            return value
        source_bits, target_bits = LLVM_BITS[source], LLVM_BITS[target]
        if not source.startswith("i"):
            value, source = self.new(f"bitcast {source} {value} to i{source_bits}"), f"i{source_bits}"
        if source_bits != target_bits:
            change = "trunc" if source_bits > target_bits else "sext" if signed else "zext"
            value = self.new(f"{change} {source} {value} to i{target_bits}")
        if not target.startswith("i"):
            value = self.new(f"bitcast i{target_bits} {value} to {target}")
        return value

    def sources(self, instr: Instr, type_: Type, start: int = 1) -> list[str]:
        """An instruction's source operands read as a PTX type."""
        return [self.value(operand, type_) for operand in instr.operands[start:]]

    def assign(self, operand: Any, value: str, type_: Type) -> None:
        """Set a destination operand to a value of a PTX type."""
        if operand is SINK:
            return
        kind = self.kinds[operand.name]
        self.store_register(operand.name, self.convert(value, type_.llvm, kind, type_.kind == "s"))

    def special(self, name: str) -> tuple[str, str]:
        """A special register as (value, LLVM type); loads are made once at function entry."""
        if name in CONSTANTS:
            return str(CONSTANTS[name]), "i32"
        if name in CLOCKS:
            return self.call("i64", "llvm.readcyclecounter"), "i64"
        if name not in self.specials:
            self.specials[name] = f"%special{len(self.specials)}"
        return self.specials[name], "i32"

    # Variables and memory

    def symbol_space(self, name: str) -> str:
        """The state space of a variable."""
        if name in self.locals:
            return "local"
        variable = self.function.variables.get(name)
        if (variable is not None and variable.space == "param") or name in self.parameters:
            return "param"
        if name in self.module.addresses:
            return self.module.addresses[name][0]
        raise PTXError(f"line {self.current.line}: unknown symbol {name}")

    def symbol_pointer(self, symbol: Sym) -> str:
        """Pointer to a local or parameter variable."""
        name = symbol.name
        if name in self.locals:
            base, offset = "%stack", self.locals[name]
        elif name in self.parameters:
            base, offset = self.parameters[name]
        else:
            base, offset = f"%v{list(self.function.variables).index(name)}", 0
        return self.new(f"getelementptr i8, ptr {base}, i64 {offset + symbol.offset}")

    def symbol_address(self, symbol: Sym) -> str:
        """The integer address of a variable in its own space; the launch says where hosted ones lie."""
        space = self.symbol_space(symbol.name)
        if space in ("local", "param"):
            return self.new(f"ptrtoint ptr {self.symbol_pointer(symbol)} to i64")
        offset = self.module.addresses[symbol.name][1] + symbol.offset
        return str(offset) if space == "shared" else self.new(f"add i64 %variables, {offset}")

    def address(self, operand: Any) -> str:
        """The integer address a memory operand denotes in its own space."""
        if isinstance(operand, Vec):
            operand = operand.items[0]
        base, offset = operand.base, operand.offset
        if isinstance(base, Sym):
            return self.symbol_address(Sym(base.name, base.offset + offset))
        value = self.value(base, U64)
        return self.new(f"add i64 {value}, {offset}") if offset else value

    def space_of(self, instr: Instr) -> str:
        """The state space an instruction names, else generic."""
        return next((mod.split("::")[0] for mod in instr.mods if mod.split("::")[0] in _SPACES), "generic")

    def pointer(self, operand: Any, space: str, size: int, traced: bool = True) -> str:
        """Checked pointer to `size` bytes; the access is traced first when counting."""
        if isinstance(operand, Vec):
            operand = operand.items[0]
        if isinstance(operand.base, Sym) and self.symbol_space(operand.base.name) in ("param", "local"):
            return self.symbol_pointer(Sym(operand.base.name, operand.base.offset + operand.offset))
        if traced:
            self.trace(operand, space, size)
        address = self.address(operand)
        if self.module.checked:
            self.check(space, address, size, size)
        if space == "shared":
            return self.new(f"getelementptr i8, ptr %shared, i64 {address}")
        return self.new(f"inttoptr i64 {address} to ptr")

    def check(self, space: str, address: str, size: int, align: int) -> None:
        """Fault on a misaligned access, and on one outside the memory of its space."""
        if align > 1:
            rest = self.new(f"and i64 {address}, {align - 1}")
            self.fault_unless(self.new(f"icmp eq i64 {rest}, 0"), layout.MISALIGNED, address)
        if space == "shared":
            limit = self.call("i64", "llvm.usub.sat.i64", "i64 %shared.size", f"i64 {size - 1}")
            self.fault_unless(self.new(f"icmp ult i64 {address}, {limit}"), layout.SHARED_OUT_OF_BOUNDS, address)
        elif space in ("global", "generic"):
            self.fault_unless(self.accessible(space, address, size), layout.OUT_OF_BOUNDS, address)

    def accessible(self, space: str, address: str, size: int | str) -> str:
        """Whether an access lies in memory the launch may touch."""
        hint = self.new(f"getelementptr {{ i64, i64 }}, ptr %hints, i64 {self.module.hints}")
        self.module.hints += 1
        return self.call(
            "i1", "accessible", "ptr %block", f"ptr {hint}", f"i64 {address}", f"i64 {size}",
            f"i1 {int(space == 'generic')}",
        )

    def trace(self, operand: Any, space: str, size: int) -> None:
        """Kernels in counting mode stop here; elsewhere accesses are not traced."""

    # Control flow

    def lower_body(self) -> None:
        """Lower all instructions in order."""
        self.begin("%start")
        self.segment_start()
        for index, item in enumerate(self.function.body or ()):
            if isinstance(item, Label):
                self.begin(self.labels[item.name])
                self.segment_start()
                continue
            if not self.open:
                self.begin(self.fresh_label())
                self.segment_start()
            self.current, self.index = item, index
            self.count(item)
            self.lower_instruction(item)
        if self.open:
            self.end(f"ret i32 {self.returned}")

    def lower_instruction(self, instr: Instr) -> None:
        """Lower one instruction, under its guard if it has one."""
        handler = self.module.operations.get(instr.base)
        if handler is None:
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        if instr.guard is None:
            handler(self, instr)
            return
        name, negated = instr.guard
        run, skip = self.fresh_label(), self.fresh_label()
        order = (skip, run) if negated else (run, skip)
        self.end(f"br i1 {self.load_register(name)}, label {order[0]}, label {order[1]}")
        self.begin(run)
        handler(self, instr)
        self.begin(skip)
        if instr.base in ("bra", "brx", "ret", "exit", "trap", "call"):
            self.segment_start()

    # Counting

    def segment_start(self) -> None:
        """Start a run of instructions executed together, counted by one counter."""
        if self.module.counters:
            self.module.segments.append(Counter())
            slot = self.new(f"getelementptr i64, ptr %counters, i64 {len(self.module.segments) - 1}")
            count = self.new(f"load i64, ptr {slot}")
            self.emit(f"store i64 {self.new(f'add i64 {count}, 1')}, ptr {slot}")

    def count(self, instr: Instr) -> None:
        """Count an instruction with its segment."""
        if self.module.counters and instr.opcode != "copy.param":
            self.module.segments[-1][instr.opcode] += 1

    # Assembly

    def _prologue(self) -> list[str]:
        """Loads from the block record and allocas, at the function's entry."""
        lines = [
            f"  %p.shared = getelementptr i64, ptr %block, i64 {layout.SHARED}",
            "  %shared = load ptr, ptr %p.shared",
            "  %shared.base = ptrtoint ptr %shared to i64",
            f"  %p.shared.size = getelementptr i64, ptr %block, i64 {layout.SHARED_SIZE}",
            "  %shared.size = load i64, ptr %p.shared.size",
            f"  %p.variables = getelementptr i64, ptr %block, i64 {layout.VARIABLES}",
            "  %variables = load i64, ptr %p.variables",
        ]
        if self.module.checked:
            lines += [
                f"  %p.hints = getelementptr i64, ptr %block, i64 {layout.HINTS}",
                "  %hints = load ptr, ptr %p.hints",
            ]
        if self.module.counters:
            lines += [
                f"  %p.counters = getelementptr i64, ptr %block, i64 {layout.COUNTERS}",
                "  %counters = load ptr, ptr %p.counters",
            ]
        lines += special_loads(self.specials)
        for name, register in self.registers.items():
            lines.append(f"  {register} = alloca {self.kinds[name]}")
        for index, variable in enumerate(self.function.variables.values()):
            if variable.space == "param":
                lines.append(f"  %v{index} = alloca [{variable.size} x i8], align {max(variable.align, 8)}")
        return lines


class DeviceFunctionLowering(FunctionLowering):
    """A device function that never synchronises: a plain function of pointers to its parameters."""

    returned = 0

    def lower(self) -> str:
        """The function's IR."""
        function = self.function
        variables = [*function.returns, *function.params]
        self.parameters = {variable.name: (f"%a{index}", 0) for index, variable in enumerate(variables)}
        self.lower_body()
        arguments = ["ptr %ctx", "ptr %block", "ptr %stack", *(f"ptr %a{index}" for index in range(len(variables)))]
        overflow: list[str] = []
        if self.module.stack_bytes(function) >= RECURSION_BYTES:
            overflow = self._overflow_check()
        return "\n".join(
            [
                f"define internal i32 @{self.symbol}({', '.join(arguments)}) {{",
                "entry:",
                *self._prologue(),
                *overflow,
                *self.lines,
                "}",
            ]
        )

    def _overflow_check(self) -> list[str]:
        """Recursive functions stop when they leave the thread's local memory."""
        line = next(item.line for item in self.function.body or () if isinstance(item, Instr))
        return [
            f"  %limit = getelementptr i8, ptr %ctx, i64 {self.module.local_end}",
            f"  %frame = getelementptr i8, ptr %stack, i64 {self.frame_bytes}",
            "  %fits = icmp ule ptr %frame, %limit",
            "  br i1 %fits, label %start, label %overflow",
            "overflow:",
            f"  call void @fault(ptr %ctx, i32 {layout.STACK_OVERFLOW}, i32 {line}, i64 0)",
            f"  ret i32 {layout.FAULTED}",
        ]
