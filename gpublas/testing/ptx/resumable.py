"""Lowering of a kernel to `i32 step(context, block)`.

A step runs one thread until it exits, faults or stops at a site (a synchronising instruction); the next step resumes
it there. Registers live across a site are kept in the thread's context while it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import layout
from .flow import Flow, is_polling
from .function import FunctionLowering, aligned
from .parse import Function, Instr
from .ptxtypes import LLVM_BITS

if TYPE_CHECKING:
    from .lower import ModuleLowering

_TRACED = {"shared": 0, "global": 1, "generic": 2}


class KernelLowering(FunctionLowering):
    """A kernel: resumable at every site."""

    returned = layout.EXITED

    def __init__(self, module: ModuleLowering, function: Function) -> None:
        super().__init__(module, function, "step")
        self.flow = Flow(function)
        self.sites: list[tuple[int, int, list[int]]] = []  # kind, line, arguments
        self.slots: dict[str, int] = {}  # context offsets of registers kept while a thread waits
        self.accesses: dict[int, Instr] = {}  # counted memory instructions by site
        opcodes = [item.opcode for item in function.body or () if isinstance(item, Instr)]
        uses_wgmma = any(opcode.startswith("wgmma") for opcode in opcodes)
        self.uses_copies = any(
            opcode.startswith("cp.async") and not opcode.startswith("cp.async.bulk") for opcode in opcodes
        )
        self.queue = aligned(
            4 * (layout.EXCHANGE + (layout.WGMMA_EXCHANGE_WORDS if uses_wgmma else layout.EXCHANGE_WORDS)), 16
        )
        local = aligned(self.queue + (layout.COPY_CAPACITY * layout.COPY_BYTES if self.uses_copies else 0), 16)
        self.local_range = (local, aligned(local + module.stack_bytes(function), 16))
        self.context_bytes = module.local_end = self.local_range[1]
        offset = 0
        for parameter in function.params:
            offset = aligned(offset, parameter.align)
            self.parameters[parameter.name] = ("%params", offset)
            offset += parameter.size

    def site_table(self) -> np.ndarray:
        """The sites as the scheduler reads them."""
        table = np.zeros((max(len(self.sites), 1), layout.SITE_COLUMNS), np.int64)
        for row, (kind, line, arguments) in zip(table, self.sites, strict=False):
            row[:2] = kind, line
            row[layout.ARGS : layout.ARGS + len(arguments)] = arguments
        return table

    def lower(self) -> str:
        """The step function's IR."""
        self.lower_body()
        cases = " ".join(f"i32 {site + 1}, label %resume{site}" for site in range(len(self.sites)))
        return "\n".join(
            [
                f"define i32 @{self.symbol}(i64 %ctx.address, i64 %block.address) {{",
                "entry:",
                "  %ctx = inttoptr i64 %ctx.address to ptr",
                "  %block = inttoptr i64 %block.address to ptr",
                f"  %stack = getelementptr i8, ptr %ctx, i64 {self.local_range[0]}",
                f"  %p.params = getelementptr i64, ptr %block, i64 {layout.PARAMS}",
                "  %params = load ptr, ptr %p.params",
                *self._prologue(),
                f"  %p.resume = getelementptr i32, ptr %ctx, i64 {layout.RESUME}",
                "  %resume = load i32, ptr %p.resume",
                f"  switch i32 %resume, label %start [ {cases} ]",
                *self.lines[1:],
                "}",
            ]
        )

    # Stopping and resuming

    def _slot(self, name: str) -> str:
        """Context offset where a register is kept while its thread waits."""
        if name not in self.slots:
            size = max(LLVM_BITS[self.kinds[name]] // 8, 1)
            self.context_bytes = aligned(self.context_bytes, size)
            self.slots[name] = self.context_bytes
            self.context_bytes += size
        return self.new(f"getelementptr i8, ptr %ctx, i64 {self.slots[name]}")

    def stop(
        self, kind: int, exchange: Iterable[tuple[str, str]] = (), arguments: Sequence[int] = (),
        live: list[str] | None = None,
    ) -> int:
        """Hand (LLVM type, value) operands to the scheduler and wait to be resumed; returns the site."""
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

    def exchange_pointer(self, word: int) -> str:
        """Pointer to a word exchanged with the scheduler."""
        return self.new(f"getelementptr i32, ptr %ctx, i64 {layout.EXCHANGE + word}")

    def result(self, word: int, llvm: str = "i32") -> str:
        """A result the scheduler left."""
        return self.new(f"load {llvm}, ptr {self.exchange_pointer(word)}, align 4")

    def predicate_result(self, word: int) -> str:
        """A result that is true or false."""
        return self.new(f"icmp ne i32 {self.result(word)}, 0")

    def lower_instruction(self, instr: Instr) -> None:
        """As for any function; polling loads in loops let other threads run first."""
        if is_polling(instr) and self.flow.in_loop(self.index):
            self.stop(layout.YIELD, live=self.flow.live_before(self.index))
        super().lower_instruction(instr)

    def trace(self, operand: Any, space: str, size: int) -> None:
        """Stop so that the scheduler sees the addresses of all lanes making this access."""
        if self.module.counters and space in _TRACED:
            site = self.stop(
                layout.ACCESS, [("i64", self.address(operand))], (_TRACED[space], size),
                self.flow.live_before(self.index),
            )
            self.accesses[site] = self.current
