"""PTX types, and immediates as LLVM constants of them."""

from __future__ import annotations

import struct
from typing import NamedTuple

from .parse import Imm, Instr, PTXError


class Type(NamedTuple):
    """A PTX type: its name, LLVM type, width, and kind (signed, unsigned, bits, float, packed)."""

    name: str
    llvm: str
    bits: int
    kind: str


TYPES = {
    name: Type(name, llvm, bits, kind)
    for name, llvm, bits, kind in [
        ("pred", "i1", 1, "b"),
        *((f"{kind}{bits}", f"i{bits}", bits, kind) for bits in (8, 16, 32, 64) for kind in "sub"),
        ("b128", "i128", 128, "b"),
        ("f16", "half", 16, "f"),
        ("bf16", "i16", 16, "f"),
        ("f32", "float", 32, "f"),
        ("f64", "double", 64, "f"),
        ("f16x2", "i32", 32, "p"),
        ("bf16x2", "i32", 32, "p"),
        ("tf32", "i32", 32, "b"),
    ]
}
LLVM_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64}
PACKED = {"f16x2": TYPES["f16"], "bf16x2": TYPES["bf16"]}
F32, F64, U32, U64 = TYPES["f32"], TYPES["f64"], TYPES["u32"], TYPES["u64"]

DIRECTED = {"rz": 0, "rp": 2, "rm": 3}  # rounding modifiers: operand of llvm.set.rounding


def float_type(llvm: str) -> str:
    """The suffix LLVM intrinsics have for a float type."""
    return {"half": "f16", "float": "f32", "double": "f64"}[llvm]


def type_of(instr: Instr) -> Type:
    """The type an instruction names last."""
    try:
        return TYPES[instr.mods[-1]]
    except (KeyError, IndexError):
        raise PTXError(f"{instr.opcode} is not supported") from None


def constant(imm: Imm, type_: Type) -> str:
    """An immediate as an LLVM constant of the type."""
    if type_.llvm == "i1":
        return "true" if imm.value else "false"
    bits = imm.value
    if imm.bits == 64 and type_.bits == 32:
        number = struct.unpack("<d", struct.pack("<Q", bits))[0]
        bits = struct.unpack("<I", struct.pack("<f", number))[0]
    elif imm.bits == 0 and type_.name in ("f32", "f64"):
        code = "<f" if type_.bits == 32 else "<d"
        bits = int.from_bytes(struct.pack(code, float(imm.value)), "little")
    bits &= (1 << type_.bits) - 1
    if type_.llvm.startswith("i"):
        return str(bits)
    return f"bitcast (i{type_.bits} {bits} to {type_.llvm})"
