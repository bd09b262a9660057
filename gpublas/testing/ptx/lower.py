"""Lower parsed PTX kernels to LLVM IR step functions.

A kernel becomes `i32 step(context, block)`, which runs one thread until it exits,
faults or stops at a site (a synchronising instruction). Registers are allocas; those
live across a site are kept in the thread's context while it waits.
"""

from collections import Counter

import numpy as np

from . import layout
from .arithmetic import LLVM_BITS, TYPES, U32, U64, Arithmetic
from .flow import CARRY, Flow, callee_name, inline_synchronizing_calls, is_polling
from .lowered import LoweredKernel
from .parse import SINK, TEXT_LINES, Addr, Imm, Instr, Label, Not, PTXError, Reg, Sym, Vec
from .prelude import PRELUDE, directed_operation

_STORAGE = {"pred": "i1", "f32": "float", "f64": "double"}
_SPACES = ("global", "shared", "local", "param", "const")
_RECURSION_BYTES = 1 << 16
_TRACED = {"shared": 0, "global": 1, "generic": 2}
_COMMUTING = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "inc": "uinc_wrap",
              "dec": "udec_wrap"}

# Special registers read from the context (32-bit words) or the block record (64-bit words).
_CONTEXT_REGISTERS = {f"%tid.{axis}": layout.TID + index for index, axis in enumerate("xyz")}
_BLOCK_REGISTERS = {
    **{f"%{name}.{axis}": base + index for name, base in
       (("ntid", layout.NTID), ("ctaid", layout.CTAID), ("nctaid", layout.NCTAID)) for index, axis in enumerate("xyz")},
    "%dynamic_smem_size": layout.DYNAMIC_SHARED, "%total_smem_size": layout.SHARED_SIZE,
}
_CONSTANT_REGISTERS = {
    "WARP_SZ": 32, "%smid": 0, "%nsmid": 1, "%gridid": 0, "%cluster_ctarank": 0, "%cluster_nctarank": 1,
    "%clusterid.x": 0, "%clusterid.y": 0, "%clusterid.z": 0, "%is_explicit_cluster": 0,
    **{f"%cluster_ctaid.{axis}": 0 for axis in "xyz"}, **{f"%cluster_nctaid.{axis}": 1 for axis in "xyz"},
}


def _aligned(size, align):
    return (size + align - 1) // align * align


class ModuleLowering:
    """Shared state while lowering a module: variables, helper functions, IR text."""

    def __init__(self, module, checked=False, counters=False):
        self.module = module
        self.checked = checked
        self.counters = counters
        self.declarations = {}
        self.definitions = []
        self.segments = []
        self.hints = 0
        self._lowered_functions = {}
        self._place_variables()

    def _place_variables(self):
        """Give module variables offsets into shared memory, or into the program's own memory for the rest."""
        self.addresses, self.shared_bytes, host_bytes = {}, 0, 0
        dynamic, hosted = [], []
        for variable in self.module.variables.values():
            if variable.space == "shared":
                if variable.size == 0:
                    dynamic.append(variable)
                else:
                    self.place_shared(variable.name, variable)
            else:
                host_bytes = _aligned(host_bytes, max(variable.align, 16))
                hosted.append((variable, host_bytes))
                host_bytes += variable.size
        self.dynamic_variables = dynamic
        image = bytearray(host_bytes)
        for variable, offset in hosted:
            self.addresses[variable.name] = (variable.space, offset)
            if variable.data:
                image[offset:offset + variable.size] = variable.data
        self.variables = bytes(image)

    def place_shared(self, name, variable):
        self.shared_bytes = _aligned(self.shared_bytes, variable.align)
        self.addresses[name] = ("shared", self.shared_bytes)
        self.shared_bytes += variable.size

    def place_dynamic(self):
        """Dynamic shared memory follows all static variables."""
        self.shared_bytes = _aligned(self.shared_bytes, max([16, *(v.align for v in self.dynamic_variables)]))
        for variable in self.dynamic_variables:
            self.addresses[variable.name] = ("shared", self.shared_bytes)

    def declare(self, result, name, argument_types):
        if name.startswith("llvm.") and name not in self.declarations and f"@{name}(" not in PRELUDE:
            self.declarations[name] = f"declare {result} @{name}({', '.join(argument_types)})"

    def directed(self, operation, source, result, mode):
        """Name of the helper for a float operation with directed rounding."""
        name, intrinsic, declaration, definition = directed_operation(operation, source, result, mode)
        if name not in self.declarations:
            self.declarations[name] = definition
            self.declarations[intrinsic] = declaration
        return name

    def callee(self, name):
        """The lowered form of a device function, lowering it on first use."""
        if name not in self._lowered_functions:
            function = self.module.functions[name]
            lowering = DeviceFunctionLowering(self, function, f"function.{len(self._lowered_functions)}")
            self._lowered_functions[name] = lowering
            self.definitions.append(lowering.lower())
        return self._lowered_functions[name]

    def stack_bytes(self, function, active=()):
        """Local memory for a function and everything it calls."""
        if function.name in active:
            return _RECURSION_BYTES
        deepest = 0
        for item in function.body:
            if isinstance(item, Instr) and item.base == "call":
                callee = self.module.functions.get(callee_name(item)[0])
                if callee and callee.body is not None:
                    deepest = max(deepest, self.stack_bytes(callee, (*active, function.name)))
        frame = sum(variable.size + variable.align for variable in function.variables.values()
                    if variable.space == "local")
        return _aligned(frame, 16) + deepest + 16

    def lower_kernel(self, function):
        inline_synchronizing_calls(function, self.module)
        for name, variable in function.variables.items():
            if variable.space == "shared":
                self.place_shared(name, variable)
        self.place_dynamic()
        lowering = KernelLowering(self, function)
        self.definitions.append(lowering.lower())
        return LoweredKernel(
            function.name, lowering.symbol, [(item.name, item.size, item.align) for item in function.params],
            lowering.site_table(), _aligned(lowering.context_bytes, 64), lowering.local_range, self.shared_bytes,
            self.hints, [dict(segment) for segment in self.segments],
            {site: (instr.line % TEXT_LINES, instr.opcode) for site, instr in lowering.accesses.items()},
            self.variables)

    def ir(self):
        return "\n".join([PRELUDE, *self.declarations.values(), *self.definitions])


class FunctionLowering(Arithmetic):
    """Lowering common to kernels and device functions."""

    def __init__(self, module, function, symbol):
        self.module = module
        self.function = function
        self.symbol = symbol
        self.lines = []
        self.specials = {}
        self.serial = 0
        self.open = True
        self.registers = {name: f"%r{index}" for index, name in enumerate(function.registers)}
        self.kinds = {name: _STORAGE.get(kind) or f"i{TYPES[kind].bits}" for name, kind in function.registers.items()}
        self.registers[CARRY], self.kinds[CARRY] = "%carry", "i1"
        self.labels = {name: f"%L{index}" for index, name in enumerate(function.branch_targets)}
        self.frame_bytes = 0
        self.locals = {}
        for name, variable in function.variables.items():
            if variable.space == "local":
                self.frame_bytes = _aligned(self.frame_bytes, variable.align)
                self.locals[name] = self.frame_bytes
                self.frame_bytes += variable.size
        self.frame_bytes = _aligned(self.frame_bytes, 16)

    # Emission

    def emit(self, text):
        self.lines.append("  " + text)

    def new(self, expression):
        self.serial += 1
        name = f"%t{self.serial}"
        self.emit(f"{name} = {expression}")
        return name

    def call(self, result, name, *arguments):
        self.module.declare(result, name, [argument.split()[0] for argument in arguments])
        text = f"call {result} @\"{name}\"({', '.join(arguments)})"
        return self.emit(text) if result == "void" else self.new(text)

    def fresh_label(self):
        self.serial += 1
        return f"%b{self.serial}"

    def begin(self, label):
        if self.open:
            self.emit(f"br label {label}")
        self.lines.append(f"{label[1:]}:")
        self.open = True

    def end(self, text):
        self.emit(text)
        self.open = False

    def fault_unless(self, condition, kind, address="0"):
        """Stop the thread with a fault unless the condition holds."""
        good, bad = self.fresh_label(), self.fresh_label()
        self.end(f"br i1 {condition}, label {good}, label {bad}")
        self.begin(bad)
        self.fault(kind, address)
        self.begin(good)

    def fault(self, kind, address="0"):
        self.call("void", "fault", "ptr %ctx", f"i32 {kind}", f"i32 {self.current.line}", f"i64 {address}")
        self.end(f"ret i32 {layout.FAULTED}")

    # Registers and operands

    def load_register(self, name):
        return self.new(f"load {self.kinds[name]}, ptr {self.registers[name]}")

    def store_register(self, name, value):
        self.emit(f"store {self.kinds[name]} {value}, ptr {self.registers[name]}")

    def value(self, operand, type_):
        """An operand read as a PTX type."""
        signed = type_.kind == "s"
        if isinstance(operand, Reg):
            if operand.name in self.registers:
                return self.convert(self.load_register(operand.name), self.kinds[operand.name], type_.llvm, signed)
            value, llvm = self.special(operand.name)
            return self.convert(value, llvm, type_.llvm)
        if isinstance(operand, Imm):
            return self.constant(operand, type_)
        if isinstance(operand, Not):
            return self.new(f"xor i1 {self.value(operand.operand, type_)}, true")
        if isinstance(operand, Sym):
            if operand.name in _CONSTANT_REGISTERS:
                return str(_CONSTANT_REGISTERS[operand.name])
            return self.convert(self.symbol_address(operand), "i64", type_.llvm)
        raise PTXError(f"line {self.current.line}: unexpected operand {operand}")

    def assign(self, operand, value, type_):
        if operand is SINK:
            return
        kind = self.kinds[operand.name]
        self.store_register(operand.name, self.convert(value, type_.llvm, kind, type_.kind == "s"))

    def special(self, name):
        """A special register as (value, LLVM type); loads are made once at function entry."""
        if name in _CONSTANT_REGISTERS:
            return str(_CONSTANT_REGISTERS[name]), "i32"
        if name in ("%clock", "%clock64", "%globaltimer", "%clock_hi", "%globaltimer_lo"):
            return self.call("i64", "llvm.readcyclecounter"), "i64"
        if name not in self.specials:
            self.specials[name] = f"%special{len(self.specials)}"
        return self.specials[name], "i32"

    def _special_loads(self):
        lines = []
        for name, value in self.specials.items():
            if name in _CONTEXT_REGISTERS or name in ("%laneid", "%warpid") or name.startswith("%lanemask"):
                word = _CONTEXT_REGISTERS.get(name, layout.LINEAR_TID)
                lines.append(f"  {value}.p = getelementptr i32, ptr %ctx, i64 {word}")
                if name in _CONTEXT_REGISTERS:
                    lines.append(f"  {value} = load i32, ptr {value}.p")
                    continue
                lines.append(f"  {value}.t = load i32, ptr {value}.p")
                if name == "%warpid":
                    lines.append(f"  {value} = lshr i32 {value}.t, 5")
                elif name == "%laneid":
                    lines.append(f"  {value} = and i32 {value}.t, 31")
                else:
                    lines += self._lane_mask(name, value)
            elif name in _BLOCK_REGISTERS:
                lines.append(f"  {value}.p = getelementptr i64, ptr %block, i64 {_BLOCK_REGISTERS[name]}")
                lines.append(f"  {value} = load i32, ptr {value}.p")
            else:
                raise PTXError(f"special register {name} is not supported")
        return lines

    @staticmethod
    def _lane_mask(name, value):
        final = {"eq": f"{value} = or i32 {value}.bit, 0", "lt": f"{value} = sub i32 {value}.bit, 1",
                 "ge": f"{value} = sub i32 0, {value}.bit",
                 "le": f"{value} = or i32 {value}.bit, {value}.below",
                 "gt": f"{value} = xor i32 {value}.upto, -1"}[name[-2:]]
        return [f"  {value}.lane = and i32 {value}.t, 31", f"  {value}.bit = shl i32 1, {value}.lane",
                f"  {value}.below = sub i32 {value}.bit, 1", f"  {value}.upto = or i32 {value}.bit, {value}.below",
                f"  {final}"]

    # Variables and memory

    def symbol_space(self, name):
        if name in self.locals:
            return "local"
        variable = self.function.variables.get(name)
        if variable is not None and variable.space == "param" or name in self.parameters:
            return "param"
        if name in self.module.addresses:
            return self.module.addresses[name][0]
        raise PTXError(f"line {self.current.line}: unknown symbol {name}")

    def symbol_pointer(self, symbol):
        """Pointer to a local or parameter variable."""
        name = symbol.name
        if name in self.locals:
            base, offset = "%stack", self.locals[name]
        elif name in self.parameters:
            base, offset = self.parameters[name]
        else:
            base, offset = f"%v{list(self.function.variables).index(name)}", 0
        return self.new(f"getelementptr i8, ptr {base}, i64 {offset + symbol.offset}")

    def symbol_address(self, symbol):
        space = self.symbol_space(symbol.name)
        if space in ("local", "param"):
            return self.new(f"ptrtoint ptr {self.symbol_pointer(symbol)} to i64")
        offset = self.module.addresses[symbol.name][1] + symbol.offset
        return str(offset) if space == "shared" else self.new(f"add i64 %variables, {offset}")

    def address(self, operand):
        """The integer address a memory operand denotes in its own space."""
        if isinstance(operand, Vec):
            operand = operand.items[0]
        base, offset = operand.base, operand.offset
        if isinstance(base, Sym):
            return self.symbol_address(Sym(base.name, base.offset + offset))
        value = self.value(base, U64)
        return self.new(f"add i64 {value}, {offset}") if offset else value

    def space_of(self, instr):
        return next((mod.split("::")[0] for mod in instr.mods if mod.split("::")[0] in _SPACES), "generic")

    def pointer(self, operand, space, size, traced=True):
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

    def check(self, space, address, size, align):
        if align > 1:
            rest = self.new(f"and i64 {address}, {align - 1}")
            self.fault_unless(self.new(f"icmp eq i64 {rest}, 0"), layout.MISALIGNED, address)
        if space == "shared":
            limit = self.call("i64", "llvm.usub.sat.i64", "i64 %shared.size", f"i64 {size - 1}")
            self.fault_unless(self.new(f"icmp ult i64 {address}, {limit}"), layout.SHARED_OUT_OF_BOUNDS, address)
        elif space in ("global", "generic"):
            self.fault_unless(self.accessible(space, address, size), layout.OUT_OF_BOUNDS, address)

    def accessible(self, space, address, size):
        """Whether an access lies in memory the launch may touch."""
        hint = self.new(f"getelementptr {{ i64, i64 }}, ptr %hints, i64 {self.module.hints}")
        self.module.hints += 1
        return self.call("i1", "accessible", "ptr %block", f"ptr {hint}", f"i64 {address}", f"i64 {size}",
                         f"i1 {int(space == 'generic')}")

    def trace(self, operand, space, size):
        """Kernels in counting mode stop here; elsewhere accesses are not traced."""

    def op_ld(self, instr):
        type_, space = self.type_of(instr), self.space_of(instr)
        target = instr.operands[0]
        targets = target.items if isinstance(target, Vec) else (target,)
        size = type_.bits // 8
        pointer = self.pointer(instr.operands[1], space, size * len(targets))
        volatile = "volatile " if is_polling(instr) else ""
        for index, item in enumerate(targets):
            element = self.new(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
            self.assign(item, self.new(f"load {volatile}{type_.llvm}, ptr {element}"), type_)
        if "acquire" in instr.mods:
            self.emit("fence acquire")

    op_ldu = op_ld

    def op_st(self, instr):
        type_, space = self.type_of(instr), self.space_of(instr)
        source = instr.operands[1]
        sources = source.items if isinstance(source, Vec) else (source,)
        size = type_.bits // 8
        pointer = self.pointer(instr.operands[0], space, size * len(sources))
        if "release" in instr.mods:
            self.emit("fence release")
        volatile = "volatile " if "volatile" in instr.mods or "relaxed" in instr.mods else ""
        for index, item in enumerate(sources):
            element = self.new(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
            self.emit(f"store {volatile}{type_.llvm} {self.value(item, type_)}, ptr {element}")

    def op_copy(self, instr):
        """Pseudo-instruction of inlined calls: copy a parameter variable."""
        target, source = instr.operands
        size = self.function.variables[target.name].size
        target, source = self.symbol_pointer(target), self.symbol_pointer(source)
        self.call("void", "llvm.memcpy.p0.p0.i64", f"ptr {target}", f"ptr {source}", f"i64 {size}", "i1 false")

    def _atomic(self, instr, target, address, sources):
        type_, space = self.type_of(instr), self.space_of(instr)
        mods = instr.mods
        count = next((int(mod[1:]) for mod in mods if mod in ("v2", "v4", "v8")), 1)
        pointer = self.pointer(address, space, type_.bits // 8 * count)
        if count > 1:
            for index in range(count):
                element = self.new(f"getelementptr i8, ptr {pointer}, i64 {index * type_.bits // 8}")
                old = self._update(type_, mods, element, [source.items[index] for source in sources])
                if target is not None:
                    self.assign(target.items[index], old, type_)
            return
        old = self._update(type_, mods, pointer, sources)
        if target is not None:
            self.assign(target, old, type_)

    def _update(self, type_, mods, pointer, sources):
        """One atomic read-modify-write; returns the old value in the type's LLVM form."""
        if type_.name in ("bf16", "bf16x2"):
            raise PTXError(f"line {self.current.line}: {type_.name} atomics are not supported")
        if "cas" in mods:
            llvm = f"i{type_.bits}"
            expected, new = (self.value(source, TYPES[f"b{type_.bits}"]) for source in sources)
            pair = self.new(f"cmpxchg ptr {pointer}, {llvm} {expected}, {llvm} {new} seq_cst seq_cst")
            return self.convert(self.new(f"extractvalue {{ {llvm}, i1 }} {pair}, 0"), llvm, type_.llvm)
        value, llvm = self.value(sources[0], type_), type_.llvm
        name = next((_COMMUTING[mod] for mod in mods if mod in _COMMUTING), None)
        if name is None:
            name = next(mod for mod in mods if mod in ("min", "max"))
            name = "f" + name if type_.kind == "f" else name if type_.kind == "s" else "u" + name
        elif type_.kind in "fp" and name == "add":
            name = "fadd"
        if type_.kind == "p":
            llvm = "<2 x half>"
            value = self.new(f"bitcast i32 {value} to {llvm}")
        old = self.new(f"atomicrmw {name} ptr {pointer}, {llvm} {value} seq_cst")
        return self.new(f"bitcast {llvm} {old} to i32") if type_.kind == "p" else old

    def op_atom(self, instr):
        self._atomic(instr, instr.operands[0], instr.operands[1], instr.operands[2:])

    def op_red(self, instr):
        if instr.mods[0] == "async":
            raise PTXError(f"{instr.opcode} is not supported")
        self._atomic(instr, None, instr.operands[0], instr.operands[1:])

    def op_cvta(self, instr):
        target, source = instr.operands
        value, space = self.value(source, U64), self.space_of(instr)
        if space == "shared":
            value = self.new(f"{'sub' if 'to' in instr.mods else 'add'} i64 {value}, %shared.base")
        self.assign(target, value, U64)

    def op_isspacep(self, instr):
        space = self.space_of(instr)
        address = self.value(instr.operands[1], U64)
        shared = self.new(f"icmp ult i64 {self.new(f'sub i64 {address}, %shared.base')}, %shared.size")
        base = self.new("ptrtoint ptr %ctx to i64")
        local = self.new(f"icmp ult i64 {self.new(f'sub i64 {address}, {base}')}, {self.module.local_end}")
        result = {"shared": shared, "local": local}.get(space)
        if space == "global":
            result = self.new(f"xor i1 {self.new(f'or i1 {shared}, {local}')}, true")
        self.assign(instr.operands[0], result or "false", TYPES["pred"])

    def op_prefetch(self, instr):
        """Cache hints have no effect."""

    op_prefetchu = op_discard = op_applypriority = op_pmevent = op_setmaxnreg = op_griddepcontrol = op_prefetch

    def op_membar(self, instr):
        self.emit("fence seq_cst")

    op_fence = op_membar

    # Control flow

    def lower_body(self):
        self.begin("%start")
        self.segment_start()
        for index, item in enumerate(self.function.body):
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
            self.op_ret(None)

    def lower_instruction(self, instr):
        handler = getattr(self, "op_" + instr.base, None)
        if handler is None:
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        if instr.guard is None:
            return handler(instr)
        name, negated = instr.guard
        run, skip = self.fresh_label(), self.fresh_label()
        order = (skip, run) if negated else (run, skip)
        self.end(f"br i1 {self.load_register(name)}, label {order[0]}, label {order[1]}")
        self.begin(run)
        handler(instr)
        self.begin(skip)
        if instr.base in ("bra", "brx", "ret", "exit", "trap", "call"):
            self.segment_start()

    def op_bra(self, instr):
        self.end(f"br label {self.labels[instr.operands[0].name]}")

    def op_brx(self, instr):
        index = self.value(instr.operands[0], U32)
        targets = self.function.branch_targets[instr.operands[1].name]
        cases = " ".join(f"i32 {number}, label {self.labels[name]}" for number, name in enumerate(targets))
        self.end(f"switch i32 {index}, label {self.labels[targets[0]]} [ {cases} ]")

    def op_ret(self, instr):
        self.end(f"ret i32 {self.returned}")

    def op_trap(self, instr):
        self.fault(layout.TRAP)

    def op_brkpt(self, instr):
        """Breakpoints are ignored."""

    def op_call(self, instr):
        name, results, arguments = callee_name(instr)
        callee = self.module.module.functions.get(name)
        if callee is None or callee.body is None:
            return self._external_call(name, results)
        target = self.module.callee(name)
        stack = self.new(f"getelementptr i8, ptr %stack, i64 {self.frame_bytes}")
        operands = [f"ptr {self.symbol_pointer(operand)}" for operand in [*results, *arguments]]
        status = self.call("i32", target.symbol, "ptr %ctx", "ptr %block", f"ptr {stack}", *operands)
        good, bad = self.fresh_label(), self.fresh_label()
        self.end(f"br i1 {self.new(f'icmp eq i32 {status}, 0')}, label {good}, label {bad}")
        self.begin(bad)
        self.end(f"ret i32 {status}")
        self.begin(good)
        self.segment_start()

    def _external_call(self, name, results):
        """vprintf prints nothing; failed assertions trap."""
        if name == "vprintf":
            for result in results:
                self.emit(f"store i32 0, ptr {self.symbol_pointer(result)}")
        elif name in ("__assertfail", "__assert_fail"):
            self.fault(layout.TRAP)
            self.begin(self.fresh_label())
        else:
            raise PTXError(f"line {self.current.line}: function {name} is not defined")

    # Counting

    def segment_start(self):
        """Start a run of instructions executed together, counted by one counter."""
        if self.module.counters:
            self.module.segments.append(Counter())
            slot = self.new(f"getelementptr i64, ptr %counters, i64 {len(self.module.segments) - 1}")
            count = self.new(f"load i64, ptr {slot}")
            self.emit(f"store i64 {self.new(f'add i64 {count}, 1')}, ptr {slot}")

    def count(self, instr):
        if self.module.counters and instr.opcode != "copy.param":
            self.module.segments[-1][instr.opcode] += 1

    # Assembly

    def _prologue(self):
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
            lines += [f"  %p.hints = getelementptr i64, ptr %block, i64 {layout.HINTS}",
                      "  %hints = load ptr, ptr %p.hints"]
        if self.module.counters:
            lines += [f"  %p.counters = getelementptr i64, ptr %block, i64 {layout.COUNTERS}",
                      "  %counters = load ptr, ptr %p.counters"]
        lines += self._special_loads()
        for name, register in self.registers.items():
            lines.append(f"  {register} = alloca {self.kinds[name]}")
        for index, variable in enumerate(self.function.variables.values()):
            if variable.space == "param":
                lines.append(f"  %v{index} = alloca [{variable.size} x i8], align {max(variable.align, 8)}")
        return lines


class DeviceFunctionLowering(FunctionLowering):
    """A device function that never synchronises: a plain function of pointers to its parameters."""

    returned = 0

    def lower(self):
        function = self.function
        variables = [*function.returns, *function.params]
        self.parameters = {variable.name: (f"%a{index}", 0) for index, variable in enumerate(variables)}
        self.lower_body()
        arguments = ["ptr %ctx", "ptr %block", "ptr %stack", *(f"ptr %a{index}" for index in range(len(variables)))]
        overflow = []
        if self.module.stack_bytes(function) >= _RECURSION_BYTES:
            overflow = self._overflow_check()
        return "\n".join([f"define internal i32 @{self.symbol}({', '.join(arguments)}) {{", "entry:",
                          *self._prologue(), *overflow, *self.lines, "}"])

    def _overflow_check(self):
        """Recursive functions stop when they leave the thread's local memory."""
        return [
            f"  %limit = getelementptr i8, ptr %ctx, i64 {self.module.local_end}",
            f"  %frame = getelementptr i8, ptr %stack, i64 {self.frame_bytes}",
            "  %fits = icmp ule ptr %frame, %limit",
            "  br i1 %fits, label %start, label %overflow",
            "overflow:",
            f"  call void @fault(ptr %ctx, i32 {layout.STACK_OVERFLOW}, i32 {self.function.body[0].line}, i64 0)",
            f"  ret i32 {layout.FAULTED}",
        ]


class KernelLowering(FunctionLowering):
    """A kernel: resumable at every site."""

    returned = layout.EXITED

    def __init__(self, module, function):
        super().__init__(module, function, "step")
        self.flow = Flow(function)
        self.sites = []
        self.slots = {}
        self.accesses = {}
        opcodes = [item.opcode for item in function.body if isinstance(item, Instr)]
        uses_wgmma = any(opcode.startswith("wgmma") for opcode in opcodes)
        self.uses_copies = any(opcode.startswith("cp.async") for opcode in opcodes)
        self.queue = _aligned(4 * (layout.EXCHANGE + (layout.WGMMA_EXCHANGE_WORDS if uses_wgmma
                                                      else layout.EXCHANGE_WORDS)), 16)
        local = _aligned(self.queue + (layout.COPY_CAPACITY * layout.COPY_BYTES if self.uses_copies else 0), 16)
        self.local_range = (local, _aligned(local + module.stack_bytes(function), 16))
        self.context_bytes = module.local_end = self.local_range[1]
        offset, self.parameters = 0, {}
        for parameter in function.params:
            offset = _aligned(offset, parameter.align)
            self.parameters[parameter.name] = ("%params", offset)
            offset += parameter.size

    def site_table(self):
        table = np.zeros((max(len(self.sites), 1), layout.SITE_COLUMNS), np.int64)
        for row, (kind, line, arguments) in zip(table, self.sites):
            row[:2] = kind, line
            row[layout.ARGS:layout.ARGS + len(arguments)] = arguments
        return table

    def lower(self):
        self.lower_body()
        cases = " ".join(f"i32 {site + 1}, label %resume{site}" for site in range(len(self.sites)))
        return "\n".join([
            f"define i32 @{self.symbol}(i64 %ctx.address, i64 %block.address) {{", "entry:",
            "  %ctx = inttoptr i64 %ctx.address to ptr",
            "  %block = inttoptr i64 %block.address to ptr",
            f"  %stack = getelementptr i8, ptr %ctx, i64 {self.local_range[0]}",
            f"  %p.params = getelementptr i64, ptr %block, i64 {layout.PARAMS}",
            "  %params = load ptr, ptr %p.params",
            *self._prologue(),
            f"  %p.resume = getelementptr i32, ptr %ctx, i64 {layout.RESUME}",
            "  %resume = load i32, ptr %p.resume",
            f"  switch i32 %resume, label %start [ {cases} ]",
            *self.lines[1:], "}"])

    # Stopping and resuming

    def _slot(self, name):
        """Context offset where a register is kept while its thread waits."""
        if name not in self.slots:
            size = max(LLVM_BITS[self.kinds[name]] // 8, 1)
            self.context_bytes = _aligned(self.context_bytes, size)
            self.slots[name] = self.context_bytes
            self.context_bytes += size
        return self.new(f"getelementptr i8, ptr %ctx, i64 {self.slots[name]}")

    def stop(self, kind, exchange=(), arguments=(), live=None):
        """Hand (LLVM type, value) operands to the scheduler and wait to be resumed."""
        if live is None:
            live = self.flow.live_after(self.index)
        word = layout.EXCHANGE
        for llvm, value in exchange:
            self.emit(f"store {llvm} {value}, ptr {self.exchange_pointer(word - layout.EXCHANGE)}, align 4")
            word += max(LLVM_BITS[llvm] // 32, 1)
        for name in live:
            self.emit(f"store {self.kinds[name]} {self.load_register(name)}, ptr {self._slot(name)}")
        site = len(self.sites)
        self.sites.append((kind, self.current.line, list(arguments)))
        self.emit(f"store i32 {site + 1}, ptr %p.resume")
        self.end(f"ret i32 {site}")
        self.begin(f"%resume{site}")
        for name in live:
            self.store_register(name, self.new(f"load {self.kinds[name]}, ptr {self._slot(name)}"))
        return site

    def exchange_pointer(self, word):
        return self.new(f"getelementptr i32, ptr %ctx, i64 {layout.EXCHANGE + word}")

    def result(self, word, llvm="i32"):
        return self.new(f"load {llvm}, ptr {self.exchange_pointer(word)}, align 4")

    def predicate_result(self, word):
        return self.new(f"icmp ne i32 {self.result(word)}, 0")

    def lower_instruction(self, instr):
        if is_polling(instr) and self.flow.in_loop(self.index):
            self.stop(layout.YIELD, live=self.flow.live_before(self.index))
        super().lower_instruction(instr)

    def trace(self, operand, space, size):
        """Stop so that the scheduler sees the addresses of all lanes making this access."""
        if self.module.counters and space in _TRACED:
            site = self.stop(layout.ACCESS, [("i64", self.address(operand))], (_TRACED[space], size),
                             self.flow.live_before(self.index))
            self.accesses[site] = self.current

    def op_exit(self, instr):
        self.op_ret(instr)

    # Barriers and warp-wide instructions

    def op_bar(self, instr):
        mods, operands = instr.mods, list(instr.operands)
        if "warp" in mods:
            return self.stop(layout.WARP_SYNC, [("i32", self.value(operands[0], U32))])
        if "cluster" in mods:
            if "wait" in mods:
                self.stop(layout.BARRIER_SYNC, [("i32", "15"), ("i32", "0")], (0, 0))
            return
        aligned = int(instr.base == "bar" or "aligned" in mods)
        if "red" in mods:
            target, predicate = operands.pop(0), operands.pop()
            bit = self.new(f"zext i1 {self.value(predicate, TYPES['pred'])} to i32")
        identifier = self.value(operands[0], U32)
        count = self.value(operands[1], U32) if len(operands) > 1 else "0"
        exchange = [("i32", identifier), ("i32", count)]
        if "arrive" in mods:
            self.stop(layout.BARRIER_ARRIVE, exchange, (0, aligned))
        elif "red" in mods:
            operation = next(mod for mod in mods if mod in layout.BARRIER_REDUCTIONS)
            self.stop(layout.BARRIER_REDUCE, [*exchange, ("i32", bit)], (layout.BARRIER_REDUCTIONS[operation], aligned))
            if operation == "popc":
                self.assign(target, self.result(2), U32)
            else:
                self.assign(target, self.predicate_result(2), TYPES["pred"])
        else:
            self.stop(layout.BARRIER_SYNC, exchange, (0, aligned))

    op_barrier = op_bar

    def op_shfl(self, instr):
        target, *sources = instr.operands
        value, lane, clamp = (self.value(source, U32) for source in sources[:3])
        mask = self.value(sources[3], U32)
        self.stop(layout.SHUFFLE, [("i32", mask), ("i32", value), ("i32", lane), ("i32", clamp)],
                  [layout.SHUFFLE_MODES[instr.mods[1]]])
        results = target.items if isinstance(target, Vec) else (target,)
        self.assign(results[0], self.result(1), U32)
        if len(results) > 1 and results[1] is not SINK:
            self.assign(results[1], self.predicate_result(2), TYPES["pred"])

    def op_vote(self, instr):
        target, source, mask = instr.operands
        bit = self.new(f"zext i1 {self.value(source, TYPES['pred'])} to i32")
        mode = instr.mods[1]
        self.stop(layout.VOTE, [("i32", self.value(mask, U32)), ("i32", bit)], [layout.VOTE_MODES[mode]])
        if mode == "ballot":
            self.assign(target, self.result(1), U32)
        else:
            self.assign(target, self.predicate_result(1), TYPES["pred"])

    def op_match(self, instr):
        target, source, mask = instr.operands
        type_ = self.type_of(instr)
        value = self.convert(self.value(source, type_), type_.llvm, "i64")
        self.stop(layout.MATCH, [("i32", self.value(mask, U32)), ("i64", value)], [int("all" in instr.mods)])
        results = target.items if isinstance(target, Vec) else (target,)
        self.assign(results[0], self.result(1), U32)
        if len(results) > 1 and results[1] is not SINK:
            self.assign(results[1], self.predicate_result(2), TYPES["pred"])

    def op_redux(self, instr):
        target, source, mask = instr.operands
        type_ = self.type_of(instr)
        operation = next(mod for mod in instr.mods if mod in layout.REDUCTIONS)
        self.stop(layout.REDUX, [("i32", self.value(mask, U32)), ("i32", self.value(source, U32))],
                  [layout.REDUCTIONS[operation], int(type_.kind == "s"), int(type_.kind == "f")])
        self.assign(target, self.result(1), U32)

    def op_elect(self, instr):
        target, mask = instr.operands
        self.stop(layout.ELECT, [("i32", self.value(mask, U32))])
        self.assign(target.items[0], self.result(1), U32)
        self.assign(target.items[1], self.predicate_result(2), TYPES["pred"])

    def op_activemask(self, instr):
        self.stop(layout.ACTIVE_MASK)
        self.assign(instr.operands[0], self.result(1), U32)

    def op_nanosleep(self, instr):
        self.stop(layout.YIELD)

    # Matrix instructions

    def op_mma(self, instr):
        mods = instr.mods
        shape = next(mod for mod in mods if mod[0] == "m" and "n8k" in mod)
        rows, depth = int(shape[1:shape.index("n")]), int(shape[shape.index("k") + 1:])
        d_type, a_type, b_type, _ = mods[-4:]
        narrow_allowed = a_type in ("s8", "u8", "f64")
        if (a_type not in layout.MATRIX_TYPES or rows == 8 and not narrow_allowed
                or any(mod.startswith("sp") for mod in mods)):
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        register = TYPES["b64"] if a_type == "f64" else U32
        exchange = [("i32", "-1")]
        for operand in instr.operands[1:4]:
            for item in operand.items if isinstance(operand, Vec) else (operand,):
                exchange.append((register.llvm, self.value(item, register)))
        counts = [len(operand.items) if isinstance(operand, Vec) else 1 for operand in instr.operands]
        self.stop(layout.MMA, exchange, (rows, depth, layout.MATRIX_TYPES[a_type], layout.MATRIX_TYPES[b_type],
                                         layout.MATRIX_TYPES[d_type], counts[1], counts[2], int("satfinite" in mods)))
        target = instr.operands[0]
        for index, item in enumerate(target.items if isinstance(target, Vec) else (target,)):
            self.assign(item, self.result(1 + index * register.bits // 32, register.llvm), register)

    def shared_offset(self, operand, space):
        """An address as an offset into shared memory."""
        address = self.address(operand)
        return address if space == "shared" else self.new(f"sub i64 {address}, %shared.base")

    def _matrix_arguments(self, instr):
        if "b16" not in instr.mods or "m8n8" not in instr.mods:
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        count = next(int(mod[1:]) for mod in instr.mods if mod in ("x1", "x2", "x4"))
        return count, int("trans" in instr.mods), int(self.module.counters)

    def op_ldmatrix(self, instr):
        arguments = self._matrix_arguments(instr)
        address = self.shared_offset(instr.operands[1], self.space_of(instr))
        site = self.stop(layout.LOAD_MATRIX, [("i32", "-1"), ("i64", address)], arguments)
        self.accesses[site] = instr
        target = instr.operands[0]
        for index, item in enumerate(target.items if isinstance(target, Vec) else (target,)):
            self.assign(item, self.result(1 + index), U32)

    def op_stmatrix(self, instr):
        arguments = self._matrix_arguments(instr)
        address = self.shared_offset(instr.operands[0], self.space_of(instr))
        source = instr.operands[1]
        values = [("i32", self.value(item, U32)) for item in (source.items if isinstance(source, Vec) else (source,))]
        site = self.stop(layout.STORE_MATRIX, [("i32", "-1"), ("i64", address), *values], arguments)
        self.accesses[site] = instr

    def op_movmatrix(self, instr):
        self.stop(layout.MOVE_MATRIX, [("i32", "-1"), ("i32", self.value(instr.operands[1], U32))])
        self.assign(instr.operands[0], self.result(1), U32)

    def op_wgmma(self, instr):
        """Executed at once, so fence, commit_group and wait_group have nothing to do."""
        if instr.mods[0] != "mma_async":
            return
        mods, (target, a, b, *flags) = instr.mods, instr.operands
        shape = next(mod for mod in mods if mod.startswith("m64n"))
        kind = mods[-1]
        if mods[-3] != "f32" or mods[-2] != kind or kind not in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        in_registers = isinstance(a, Vec)
        scale = self.new(f"zext i1 {self.value(flags[0], TYPES['pred'])} to i32")
        exchange = [("i32", scale)]
        if in_registers:
            exchange += [("i32", self.value(item, U32)) for item in a.items]
        else:
            exchange += [("i64", self.value(a, U64)), ("i32", "0"), ("i32", "0")]
        exchange.append(("i64", self.value(b, U64)))
        exchange += [("i32", self.value(item, U32)) for item in target.items]
        signs, transposes = [flag.value for flag in flags[1:3]], [flag.value for flag in flags[3:]]
        if in_registers or not transposes:
            transposes = [0, *(transposes or [0])]
        self.stop(layout.WGMMA, exchange, (int(shape[4:shape.index("k")]), layout.MATRIX_TYPES[kind],
                                           int(in_registers), *transposes, *signs))
        for index, item in enumerate(target.items):
            self.assign(item, self.result(7 + index), U32)

    # Asynchronous copies and memory barriers

    def op_cp(self, instr):
        mods = instr.mods
        if mods[0] != "async":
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        if "bulk" in mods:
            return self._bulk_copy(instr)
        if "commit_group" in mods:
            pointer = self.new(f"getelementptr i32, ptr %ctx, i64 {layout.COPY_GROUP}")
            group = self.new(f"load i32, ptr {pointer}")
            self.emit(f"store i32 {self.new(f'add i32 {group}, 1')}, ptr {pointer}")
        elif "wait_all" in mods:
            self._complete_copies("2147483647")
        elif "wait_group" in mods:
            pointer = self.new(f"getelementptr i32, ptr %ctx, i64 {layout.COPY_GROUP}")
            group = self.new(f"load i32, ptr {pointer}")
            self._complete_copies(self.new(f"sub i32 {group}, {instr.operands[0].value}"))
        elif "mbarrier" in mods:
            self._complete_copies("2147483647")
            pointer = self.pointer(instr.operands[0], self.space_of(instr), 8, traced=False)
            if "noinc" in mods:
                self.update_barrier(pointer, arrivals="1")
        else:
            self._queue_copy(instr)

    def _complete_copies(self, limit):
        self.call("void", "copy.complete", "ptr %ctx", "ptr %shared", f"i64 {self.queue}", f"i32 {limit}")

    def _queue_copy(self, instr):
        target, source, size = instr.operands[:3]
        size = size.value
        self.trace(source, "global", size)
        self.pointer(target, "shared", size)
        valid = self._valid_bytes(instr, size)
        address, origin = self.address(target), self.address(source)
        if self.module.checked:
            self._check_source(origin, valid, size)
        queued = self.call("i1", "copy.queue", "ptr %ctx", "ptr %shared", f"i64 {self.queue}", f"i64 {address}",
                           f"i64 {origin}", f"i32 {size}", f"i32 {valid}")
        self.fault_unless(queued, layout.COPY_OVERFLOW)

    def _valid_bytes(self, instr, size):
        """How many bytes to read: all, an operand's value, or none if a predicate says to ignore the source."""
        optional = instr.operands[3:]
        if "cache_hint" in instr.opcode:
            optional = optional[:-1]
        if not optional:
            return str(size)
        if isinstance(optional[0], Reg) and self.kinds.get(optional[0].name) == "i1":
            return self.new(f"select i1 {self.value(optional[0], TYPES['pred'])}, i32 0, i32 {size}")
        return self.value(optional[0], U32)

    def _check_source(self, address, valid, size):
        rest = self.new(f"and i64 {address}, {size - 1}")
        self.fault_unless(self.new(f"icmp eq i64 {rest}, 0"), layout.MISALIGNED, address)
        wide = self.new(f"zext i32 {valid} to i64")
        inside = self.accessible("global", address, wide)
        none = self.new(f"icmp eq i32 {valid}, 0")
        self.fault_unless(self.new(f"or i1 {inside}, {none}"), layout.OUT_OF_BOUNDS, address)

    def _bulk_copy(self, instr):
        """Non-tensor bulk copies complete at once; their groups need no bookkeeping."""
        mods = instr.mods
        if "tensor" in mods or "reduce" in mods or "prefetch" in mods:
            raise PTXError(f"line {instr.line}: {instr.opcode} is not supported")
        if "commit_group" in mods or "wait_group" in mods:
            return
        target, source, size = instr.operands[:3]
        spaces = [mod.split("::")[0] for mod in mods if mod.split("::")[0] in ("shared", "global")]
        pointers = []
        size = self.value(size, U32)
        for operand, space in zip((target, source), spaces):
            address = self.address(operand)
            if space == "shared":
                pointers.append(self.new(f"getelementptr i8, ptr %shared, i64 {address}"))
            else:
                pointers.append(self.new(f"inttoptr i64 {address} to ptr"))
        wide = self.new(f"zext i32 {size} to i64")
        self.call("void", "llvm.memcpy.p0.p0.i64", *(f"ptr {pointer}" for pointer in pointers), f"i64 {wide}",
                  "i1 false")
        if any(mod.startswith("mbarrier") for mod in mods):
            barrier = self.pointer(instr.operands[3], "shared", 8, traced=False)
            self.update_barrier(barrier, transferred=self.new(f"sub i64 0, {wide}"))

    def update_barrier(self, pointer, arrivals="0", expected="0", transferred="0"):
        return self.call("i64", "mbarrier.update", f"ptr {pointer}", f"i64 {arrivals}", f"i64 {expected}",
                         f"i64 {transferred}")

    def op_mbarrier(self, instr):
        mods, operands = instr.mods, list(instr.operands)
        action, space = mods[0], self.space_of(instr)
        if action == "pending_count":
            return self.assign(operands[0], self.new(f"and i64 {self.value(operands[1], U64)}, 1048575"), U64)
        if action in ("test_wait", "try_wait"):
            return self._mbarrier_wait(instr, space)
        target = None
        if action in ("arrive", "arrive_drop") and not isinstance(operands[0], Addr):
            target = operands.pop(0)
        pointer = self.pointer(operands[0], space, 8, traced=False)
        amount = self.convert(self.value(operands[1], U32), "i32", "i64") if len(operands) > 1 else "1"
        if action == "init":
            word = self.new(f"or i64 {amount}, {self.new(f'shl i64 {amount}, 20')}")
            self.emit(f"store i64 {self.new(f'or i64 {word}, {1 << 61}')}, ptr {pointer}")
        elif action == "inval":
            self.emit(f"store i64 -1, ptr {pointer}")
        elif action == "expect_tx":
            self.update_barrier(pointer, transferred=amount)
        elif action == "complete_tx":
            self.update_barrier(pointer, transferred=self.new(f"sub i64 0, {amount}"))
        elif "expect_tx" in mods:
            self.update_barrier(pointer, transferred=amount)
            self._arrived(target, self.update_barrier(pointer, arrivals="1"))
        elif action == "arrive_drop":
            self._arrived(target, self.update_barrier(pointer, amount, self.new(f"sub i64 0, {amount}")))
        else:
            self._arrived(target, self.update_barrier(pointer, amount))

    def _arrived(self, target, state):
        if target is not None:
            self.assign(target, state, U64)

    def _mbarrier_wait(self, instr, space):
        self.stop(layout.YIELD, live=self.flow.live_before(self.index))
        target, address, state, *_ = instr.operands
        word = self.new(f"load i64, ptr {self.pointer(address, space, 8, traced=False)}")
        phase = self.new(f"trunc i64 {self.new(f'lshr i64 {word}, 62')} to i1")
        if "parity" in instr.mods:
            waited = self.new(f"trunc i32 {self.value(state, U32)} to i1")
        else:
            waited = self.new(f"trunc i64 {self.new(f'lshr i64 {self.value(state, U64)}, 62')} to i1")
        self.assign(target, self.new(f"xor i1 {phase}, {waited}"), TYPES["pred"])
