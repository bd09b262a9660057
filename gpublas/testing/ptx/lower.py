"""Lowering of parsed PTX modules to LLVM IR text."""

from __future__ import annotations

from collections import Counter

from . import arithmetic, control, conversion, copies, logic, matrix, memory, warp
from .flow import callee_name, inline_synchronizing_calls
from .function import RECURSION_BYTES, DeviceFunctionLowering, Operations, aligned
from .lowered import LoweredKernel
from .parse import TEXT_LINES, Function, Instr, Module, Variable
from .prelude import PRELUDE, directed_operation
from .resumable import KernelLowering

# How each instruction is lowered, by the first part of its opcode.
OPERATIONS: Operations = {
    **arithmetic.OPERATIONS, **logic.OPERATIONS, **conversion.OPERATIONS, **memory.OPERATIONS, **control.OPERATIONS,
    **warp.OPERATIONS, **matrix.OPERATIONS, **copies.OPERATIONS,
}


class ModuleLowering:
    """Shared state while lowering a module: variables, helper functions, IR text."""

    operations = OPERATIONS

    def __init__(self, module: Module, checked: bool = False, counters: bool = False) -> None:
        self.module = module
        self.checked = checked
        self.counters = counters
        self.declarations: dict[str, str] = {}
        self.definitions: list[str] = []
        self.segments: list[Counter[str]] = []  # opcodes per run of instructions executed together
        self.hints = 0  # checked accesses so far
        self.local_end = 0  # end of local memory in a thread's context
        self._lowered_functions: dict[str, DeviceFunctionLowering] = {}
        self._place_variables()

    def _place_variables(self) -> None:
        """Give module variables offsets into shared memory, or into the program's own memory for the rest."""
        self.addresses: dict[str, tuple[str, int]] = {}  # space and offset
        self.shared_bytes = host_bytes = 0
        dynamic: list[Variable] = []
        hosted: list[tuple[Variable, int]] = []
        for variable in self.module.variables.values():
            if variable.space == "shared":
                if variable.size == 0:
                    dynamic.append(variable)
                else:
                    self.place_shared(variable.name, variable)
            else:
                host_bytes = aligned(host_bytes, max(variable.align, 16))
                hosted.append((variable, host_bytes))
                host_bytes += variable.size
        self.dynamic_variables = dynamic
        image = bytearray(host_bytes)
        for variable, offset in hosted:
            self.addresses[variable.name] = (variable.space, offset)
            if variable.data:
                image[offset : offset + variable.size] = variable.data
        self.variables = bytes(image)

    def place_shared(self, name: str, variable: Variable) -> None:
        """Give a static shared variable the next offset."""
        self.shared_bytes = aligned(self.shared_bytes, variable.align)
        self.addresses[name] = ("shared", self.shared_bytes)
        self.shared_bytes += variable.size

    def place_dynamic(self) -> None:
        """Dynamic shared memory follows all static variables."""
        self.shared_bytes = aligned(self.shared_bytes, max([16, *(v.align for v in self.dynamic_variables)]))
        for variable in self.dynamic_variables:
            self.addresses[variable.name] = ("shared", self.shared_bytes)

    def declare(self, result: str, name: str, argument_types: list[str]) -> None:
        """Declare an LLVM intrinsic unless that was done before."""
        if name.startswith("llvm.") and name not in self.declarations and f"@{name}(" not in PRELUDE:
            self.declarations[name] = f"declare {result} @{name}({', '.join(argument_types)})"

    def directed(self, operation: str, source: str, result: str, mode: int) -> str:
        """Name of the helper for a float operation with directed rounding."""
        name, intrinsic, declaration, definition = directed_operation(operation, source, result, mode)
        if name not in self.declarations:
            self.declarations[name] = definition
            self.declarations[intrinsic] = declaration
        return name

    def callee(self, name: str) -> DeviceFunctionLowering:
        """The lowered form of a device function, lowering it on first use."""
        if name not in self._lowered_functions:
            function = self.module.functions[name]
            lowering = DeviceFunctionLowering(self, function, f"function.{len(self._lowered_functions)}")
            self._lowered_functions[name] = lowering
            self.definitions.append(lowering.lower())
        return self._lowered_functions[name]

    def stack_bytes(self, function: Function, active: tuple[str, ...] = ()) -> int:
        """Local memory for a function and everything it calls."""
        if function.name in active:
            return RECURSION_BYTES
        deepest = 0
        for item in function.body or ():
            if isinstance(item, Instr) and item.base == "call":
                callee = self.module.functions.get(callee_name(item)[0])
                if callee and callee.body is not None:
                    deepest = max(deepest, self.stack_bytes(callee, (*active, function.name)))
        frame = sum(
            variable.size + variable.align for variable in function.variables.values() if variable.space == "local"
        )
        return aligned(frame, 16) + deepest + 16

    def lower_kernel(self, function: Function) -> LoweredKernel:
        """Lower a kernel and the functions it calls."""
        inline_synchronizing_calls(function, self.module)
        for name, variable in function.variables.items():
            if variable.space == "shared":
                self.place_shared(name, variable)
        self.place_dynamic()
        lowering = KernelLowering(self, function)
        self.definitions.append(lowering.lower())
        return LoweredKernel(
            function.name,
            lowering.symbol,
            [(item.name, item.size, item.align) for item in function.params],
            lowering.site_table(),
            aligned(lowering.context_bytes, 64),
            lowering.local_range,
            self.shared_bytes,
            self.hints,
            [dict(segment) for segment in self.segments],
            {site: (instr.line % TEXT_LINES, instr.opcode) for site, instr in lowering.accesses.items()},
            self.variables,
        )

    def ir(self) -> str:
        """The IR text of everything lowered so far."""
        return "\n".join([PRELUDE, *self.declarations.values(), *self.definitions])
