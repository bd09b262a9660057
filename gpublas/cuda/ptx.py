"""Intrinsics for kernels: what Numba's Python cannot say. Every inline instruction of the project is here.

Vector accesses move 128 bits (or 64) in one instruction; offsets are in elements, their constant part is given
apart so that it folds into the instruction's immediate.
"""

from __future__ import annotations

import functools

from llvmlite import ir
from numba import cuda, int64
from numba.cuda import types
from numba.cuda.extending import intrinsic

GLOBAL, SHARED = 1, 3  # LLVM address spaces
_LANE = ir.IntType(32)


def _pointer(context, builder, kind, value, element, space):
    """The base of an array or pointer argument as a pointer to `element` in an address space."""
    if isinstance(kind, types.Array):
        value = context.make_array(kind)(context, builder, value=value).data
    return builder.addrspacecast(builder.bitcast(value, element.as_pointer()), element.as_pointer(space))


@functools.cache
def vector_load(width: int, space: int):
    """`load(base, offset, constant)`: a tuple of `width` elements at base[offset + constant].

    base: an array or CPointer in the address space; offset: any integer; constant: an integer literal after inlining.
    The address must be aligned to width times the element size.
    """

    @intrinsic
    def load(typing_context, base, offset, constant):
        kind = base.dtype

        def generate(context, builder, signature, arguments):
            element = context.get_data_type(kind)
            start = _pointer(context, builder, signature.args[0], arguments[0], element, space)
            place = builder.gep(builder.gep(start, [arguments[1]], inbounds=True), [arguments[2]], inbounds=True)
            if width == 1:
                return context.make_tuple(builder, signature.return_type, [builder.load(place)])
            vector = ir.VectorType(element, width)
            value = builder.load(builder.bitcast(place, vector.as_pointer(space)),
                                 align=width * context.get_abi_sizeof(element))
            return context.make_tuple(builder, signature.return_type,
                                      [builder.extract_element(value, _LANE(lane)) for lane in range(width)])

        return types.UniTuple(kind, width)(base, offset, constant), generate

    return load


@functools.cache
def vector_store(width: int, space: int):
    """`store(base, offset, constant, values)`: base[offset + constant ...] = values, a tuple of `width` elements.

    The address must be aligned to width times the element size.
    """

    @intrinsic
    def store(typing_context, base, offset, constant, values):
        kind = base.dtype

        def generate(context, builder, signature, arguments):
            element = context.get_data_type(kind)
            start = _pointer(context, builder, signature.args[0], arguments[0], element, space)
            place = builder.gep(builder.gep(start, [arguments[1]], inbounds=True), [arguments[2]], inbounds=True)
            lanes = [builder.extract_value(arguments[3], lane) for lane in range(width)]
            if width == 1:
                builder.store(lanes[0], place)
                return context.get_dummy_value()
            vector = ir.VectorType(element, width)
            value = ir.Constant(vector, ir.Undefined)
            for lane, part in enumerate(lanes):
                value = builder.insert_element(value, part, _LANE(lane))
            builder.store(value, builder.bitcast(place, vector.as_pointer(space)),
                          align=width * context.get_abi_sizeof(element))
            return context.get_dummy_value()

        return types.void(base, offset, constant, types.UniTuple(kind, width)), generate

    return store


@intrinsic
def pointer_to(typing_context, address, element):
    """The CPointer of `element` (a type) at an int64 address."""
    kind = types.CPointer(element.dtype)

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(address, element), generate


@cuda.jit(device=True)
def matrix_at(base, product, step, tables, size):
    """The address of one product's matrix in a batch: `step` elements of `size` bytes on from the one before, or from
    the address in a table at `base`."""
    if tables:
        return pointer_to(base, int64)[product] + step * size
    return base + product * step * size
