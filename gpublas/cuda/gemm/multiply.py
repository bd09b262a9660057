"""How a warp of the tensor-core kernel multiplies its fragments, for each kind of arithmetic.

Where a kind's operands are not what the instruction takes, they are converted in registers. The order of steps along k
within a fragment is then nobody's business, as long as A and B have the same: PTX ISA, "mma", gives each lane the same
places along k of both.
"""

from __future__ import annotations

from numba import cuda
from numba.cuda import types

from ..ptx import each_register, multiply_fragments, multiply_short_fragments, picked, register_groups, zeros
from .config import FLOAT8_KINDS
from .tuples import tuple_of

device = cuda.jit(device=True)

_SHAPES = {"f16": "m16n8k16.row.col.f32.f16.f16.f32", "bf16": "m16n8k16.row.col.f32.bf16.bf16.f32",
           "s8": "m16n8k32.row.col.s32.s8.s8.s32", "tf32": "m16n8k8.row.col.f32.tf32.tf32.f32"}
_SHORT_BF16 = "m16n8k8.row.col.f32.bf16.bf16.f32"


def multiplier(kind: str, rows: int, columns: int):
    """Device function (sums, a, b): one step's products of all fragments of a warp, rows x columns of them, added up.

    a, b: a step's registers as ldmatrix brings them, 4 for each fragment of A and 2 for each of B.
    """
    if kind == "bf16x9":
        return _nine(rows, columns)
    if kind.startswith("tf32"):
        return _rounded(kind, rows, columns)
    if kind in FLOAT8_KINDS:
        return _widened(kind, rows, columns)
    return multiply_fragments(rows, columns, _SHAPES[kind], types.int32 if kind == "s8" else types.float32)


_ROUND = "cvt.rna.tf32.f32 $0, $1;"
_REST = ("{ .reg .b32 high; .reg .f32 x, y; cvt.rna.tf32.f32 high, $1; mov.b32 x, $1; mov.b32 y, high; "
         "sub.rn.f32 x, x, y; cvt.rna.tf32.f32 $0, x; }")


def _rounded(kind, rows, columns):
    """`multiplier` for float32 operands on units for TF32.

    "tf32" rounds them to 11 bits. "tf32x3" splits each into a rounded part and a rounded rest, and leaves out only the
    product of the rests (H. Ootomo, R. Yokota, "Recovering single precision accuracy from Tensor Cores", IJHPCA 36
    (2022)).
    """
    multiply = multiply_fragments(rows, columns, _SHAPES["tf32"], types.float32)
    round_a, round_b = each_register(_ROUND, 4 * rows), each_register(_ROUND, 2 * columns)
    if kind == "tf32":
        return device(lambda sums, a, b: multiply(sums, round_a(a), round_b(b)))
    rest_a, rest_b = each_register(_REST, 4 * rows), each_register(_REST, 2 * columns)

    @device
    def multiply_three(sums, a, b):
        high_a, high_b = round_a(a), round_b(b)
        sums = multiply(sums, rest_a(a), high_b)
        sums = multiply(sums, high_a, rest_b(b))
        return multiply(sums, high_a, high_b)

    return multiply_three


# The upper halves of two float32 numbers are their leading bfloat16 parts, cut off rather than rounded, so that no part
# overflows; what is left of a number is exact.
_UPPER_HALVES = "prmt.b32 $0, $1, $2, 0x7632;"
_WITHOUT_UPPER_HALF = ("{ .reg .b32 high; .reg .f32 x, y; and.b32 high, $1, 0xffff0000; mov.b32 x, $1; "
                       "mov.b32 y, high; sub.rn.f32 x, x, y; mov.b32 $0, x; }")


def _nine(rows, columns):
    """`multiplier` for float32 operands as sums of three bfloat16 numbers each, x = x1 + x2 + x3 (24 bits are three
    times 8; G. Henry, P. Tang, A. Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for
    higher-precision computations", ARITH 2019).

    The product x1 y1 has sums of its own, the first half of them, and the eight small ones, at most 2**-7 of it, the
    second half, smallest first. Tensor cores cut sums off rather than round them, which adds up; so those of x1 y1 are
    for one step only, and ordinary units add them up. A step is 8 along k: an instruction of 16 takes two products, as
    if one lay behind the other along k; that of x1 y1 takes 8.
    """
    multiply_two = multiply_fragments(rows, columns, _SHAPES["bf16"], types.float32)
    multiply_one = multiply_short_fragments(rows, columns, _SHORT_BF16)
    parts_a, parts_b = _three_parts(2 * rows, _neighbours_along_k(rows)), _three_parts(columns, None)
    join_a, join_b, count = _joined(rows, 2), _joined(columns, 1), 4 * rows * columns
    second_half, nothing = picked(tuple(range(count, 2 * count))), zeros(count, types.float32)
    added = tuple_of(count, device(lambda both, number: both[0][number] + both[1][number]))

    @device
    def multiply_nine(sums, a, b):
        a1, a2, a3 = parts_a(a)
        b1, b2, b3 = parts_b(b)
        small = multiply_two(second_half(sums), join_a(a3 + a3), join_b(b3 + b2))
        small = multiply_two(small, join_a(a2 + a3), join_b(b3 + b1))
        small = multiply_two(small, join_a(a1 + a2), join_b(b3 + b2))
        small = multiply_two(small, join_a(a2 + a1), join_b(b1 + b2))
        return added((sums, multiply_one(nothing(), a1, b1))) + small

    return multiply_nine


def _neighbours_along_k(rows):
    """The order in which registers of A's fragments come in pairs of one row, two steps along k: 0 and 2, 1 and 3."""
    return tuple(4 * fragment + place for fragment in range(rows) for place in (0, 2, 1, 3))


def _three_parts(pairs, order):
    """Device function: three tuples of registers with two bfloat16 parts each, of 2 * pairs float32 numbers in an order
    (None: as they are)."""
    halves, without = register_groups(_UPPER_HALVES, 2, 1, pairs), each_register(_WITHOUT_UPPER_HALF, 2 * pairs)

    @device
    def parts(numbers):
        rest = without(numbers)
        return halves(numbers), halves(rest), halves(without(rest))

    if order is None:
        return parts
    sort = picked(order)
    return device(lambda numbers: parts(sort(numbers)))


def _joined(count, size):
    """Device function: of `count` fragments of `size` registers and as many more, each with its partner behind it."""
    return picked(tuple(first + fragment * size + place for fragment in range(count) for first in (0, count * size)
                        for place in range(size)))


# Four 8-bit floats to four float16 numbers, in two registers. An e5m2 number is the upper half of its float16. The
# seven bits of an e4m3 number beside its sign are those of a float16 number 2**8 times smaller, subnormal ones too; but
# NaN, all of whose bits are set, must get one bit more.
_WIDEN = {"e5m2": "prmt.b32 $0, $2, 0, 0x1404; prmt.b32 $1, $2, 0, 0x3424;", "e4m3": (
    "{ .reg .b32 low, high, carry; "
    "and.b32 carry, $2, 0x7f7f7f7f; add.u32 carry, carry, 0x01010101; shr.u32 carry, carry, 1; shr.u32 high, $2, 1; "
    "lop3.b32 high, high, carry, 0x40404040, 0xd8; lop3.b32 high, high, $2, 0x80808080, 0xd8; "
    "shl.b32 low, $2, 7; and.b32 low, low, 0x80808080; "
    "prmt.b32 $0, low, high, 0x5140; prmt.b32 $1, low, high, 0x7362; }")}


def _widened(kind, rows, columns):
    """`multiplier` for 8-bit floats, which are all float16 numbers too, as such: products are exact, sums those of
    float32.

    Matrix instructions for 8-bit floats are for sm_89 and later only, and on some of these keep fewer bits of sums than
    float32 has (J. Zhang et al., "SageAttention2", arXiv 2411.10958, section 3). A step of 32 bytes is two
    instructions of 16 along k; of the four numbers in a register either half takes two.
    """
    type_a, type_b = kind.split("_")
    multiply = multiply_fragments(rows, columns, _SHAPES["f16"], types.float32)
    widen_a = register_groups(_WIDEN[type_a], 1, 2, 4 * rows)
    widen_b = register_groups(_WIDEN[type_b], 1, 2, 2 * columns)
    first_a, second_a = (picked(tuple(8 * fragment + place for fragment in range(rows) for place in places))
                         for places in ((0, 2, 1, 3), (4, 6, 5, 7)))
    first_b, second_b = (picked(tuple(4 * fragment + place for fragment in range(columns) for place in places))
                         for places in ((0, 1), (2, 3)))

    @device
    def multiply_both(sums, a, b):
        wide_a, wide_b = widen_a(a), widen_b(b)
        sums = multiply(sums, first_a(wide_a), first_b(wide_b))
        return multiply(sums, second_a(wide_a), second_b(wide_b))

    return multiply_both
