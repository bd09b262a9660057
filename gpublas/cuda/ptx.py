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


_LETTERS = {"r": (ir.IntType(32), types.int32), "l": (ir.IntType(64), types.int64),
            "f": (ir.FloatType(), types.float32), "d": (ir.DoubleType(), types.float64),
            "h": (ir.IntType(16), types.uint16)}


def _inline(builder, text, results, operands, constraints, orders_memory):
    """Inline PTX: `results` is an LLVM type; orders_memory: it must not move, nor memory accesses across it."""
    kind = ir.FunctionType(results, [operand.type for operand in operands])
    if orders_memory:
        constraints += ",~{memory}" if constraints else "~{memory}"
    return builder.call(ir.InlineAsm(kind, text, constraints, side_effect=orders_memory), operands)


@functools.cache
def instruction(text: str, result: str, *operands: str, orders_memory: bool = False):
    """An intrinsic that is one PTX instruction (or a few): result and operands are constraint letters.

    Letters: r l 32 and 64-bit integers, f d floats, h 16 bits; "" for no result. $0 is the result, then the operands.
    """
    returned, returned_kind = _LETTERS[result] if result else (ir.VoidType(), types.void)
    constraints = ",".join(([f"={result}"] if result else []) + list(operands))

    def signature_of(*arguments):
        def generate(context, builder, signature, values):
            value = _inline(builder, text, returned, values, constraints, orders_memory)
            return value if result else context.get_dummy_value()

        return returned_kind(*(_LETTERS[letter][1] for letter in operands)), generate

    # Numba counts an intrinsic's parameters.
    return intrinsic([lambda typing: signature_of(), lambda typing, a: signature_of(a),
                      lambda typing, a, b: signature_of(a, b),
                      lambda typing, a, b, c: signature_of(a, b, c),
                      lambda typing, a, b, c, d: signature_of(a, b, c, d),
                      lambda typing, a, b, c, d, e: signature_of(a, b, c, d, e),
                      lambda typing, a, b, c, d, e, f: signature_of(a, b, c, d, e, f)][len(operands)])


# Asynchronous copies of 16 bytes from global (64-bit address) to shared memory (32-bit address); the third operand is
# how many of them are read, the others become zero. PTX ISA, "cp.async".
copy_async = instruction("cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;", "", "r", "l", "r",
                         orders_memory=True)
commit_copies = instruction("cp.async.commit_group;", "", orders_memory=True)


def wait_copies(pending: int):
    """An intrinsic that waits until no more than `pending` groups of copies are on their way."""
    return instruction(f"cp.async.wait_group {pending};", "", orders_memory=True)


@intrinsic
def shared_address(typing_context, array):
    """The 32-bit address of a shared array in the window of shared memory."""
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
        return builder.ptrtoint(builder.addrspacecast(data, data.type.pointee.as_pointer(SHARED)), _LANE)

    return types.int32(array), generate


@intrinsic
def shared_pointer(typing_context, address, element):
    """The CPointer of `element` (a type) at a 32-bit address in shared memory."""
    kind = types.CPointer(element.dtype)

    def generate(context, builder, signature, arguments):
        value = context.get_data_type(element.dtype)
        return builder.addrspacecast(builder.inttoptr(arguments[0], value.as_pointer(SHARED)), value.as_pointer())

    return kind(address, element), generate


@functools.cache
def zeros(count: int, kind):
    """An intrinsic that gives a tuple of `count` zeros of a Numba type."""
    @intrinsic
    def make(typing_context):
        def generate(context, builder, signature, arguments):
            return context.make_tuple(builder, signature.return_type, [context.get_constant(kind, 0)] * count)

        return types.UniTuple(kind, count)(), generate

    return make


def load_fragments(count: int, transposed: bool, apart: int, flip: int, shift: int):
    """`load(start, places)`: `count` ldmatrix, each of four 8x8 matrices of 16 bits, as a tuple of 4 * count registers.

    start: 32-bit address of a tile; places: a tuple of this lane's bytes from there, one for each, or one for all that
    are then `apart` bytes from each other. flip is XORed into the address, then shift is added. PTX ISA, "ldmatrix".
    """
    text = f"ldmatrix.sync.aligned.m8n8.x4{'.trans' if transposed else ''}.shared.b16 {{$0,$1,$2,$3}}, [$4+%d];"
    return _shared_loads(count, text, "rrrr", apart, flip, shift)


def load_doubles(count: int, apart: int, flip: int, shift: int):
    """`load(start, places)`: `count` float64 numbers from shared memory, as a tuple; arguments as of load_fragments."""
    return _shared_loads(count, "ld.shared.f64 $0, [$1+%d];", "d", apart, flip, shift)


@functools.cache
def _shared_loads(count: int, text: str, registers: str, apart: int, flip: int, shift: int):
    """load_fragments for an instruction that loads `registers` (constraint letters), and takes a constant offset."""
    (value, kind), parts = _LETTERS[registers[0]], len(registers)
    constraints = ",".join([f"={letter}" for letter in registers] + ["r"])

    @intrinsic
    def load(typing_context, start, places):
        def generate(context, builder, signature, arguments):
            found = []
            for number in range(count):
                alone = places.count == 1
                place = builder.extract_value(arguments[1], 0 if alone else number)
                address = builder.xor(builder.add(arguments[0], place), _LANE(flip))
                beyond = shift + (number * apart if alone else 0)
                found += _several(builder, text % beyond, value, parts, [address], constraints, True)
            return context.make_tuple(builder, signature.return_type, found)

        return types.UniTuple(kind, parts * count)(start, places), generate

    return load


def _several(builder, text, value, parts, operands, constraints, orders_memory):
    """The `parts` results, of one type, of an instruction."""
    if parts == 1:
        return [_inline(builder, text, value, operands, constraints, orders_memory)]
    found = _inline(builder, text, ir.LiteralStructType([value] * parts), operands, constraints, orders_memory)
    return [builder.extract_value(found, part) for part in range(parts)]


def multiply_fragments(rows: int, columns: int, shape: str, sums):
    """`multiply(sums, a, b)`: mma.sync of `rows` fragments of A (4 registers each) with `columns` of B (2 each).

    sums: a tuple of rows * columns * 4 values of the Numba type `sums`, fragment after fragment, row by row.
    shape: of the instruction and its types, as PTX writes them. PTX ISA, "mma".
    """
    text = f"mma.sync.aligned.{shape} {{$0,$1,$2,$3}}, {{$8,$9,$10,$11}}, {{$12,$13}}, {{$4,$5,$6,$7}};"
    return _fragment_products(rows, columns, text, ("f" if sums == types.float32 else "r") * 4, "rrrr", "rr")


def multiply_short_fragments(rows: int, columns: int, shape: str):
    """`multiply(sums, a, b)`: multiply_fragments for an instruction of half as many steps along k, and so half as many
    registers of A (2) and B (1), with sums in float32."""
    text = f"mma.sync.aligned.{shape} {{$0,$1,$2,$3}}, {{$8,$9}}, {{$10}}, {{$4,$5,$6,$7}};"
    return _fragment_products(rows, columns, text, "ffff", "rr", "r")


def multiply_doubles(rows: int, columns: int):
    """`multiply(sums, a, b)`: mma.sync m8n8k4 of `rows` fragments of A with `columns` of B, a number a lane each.

    sums: a tuple of rows * columns * 2 float64 numbers. IEEE arithmetic. PTX ISA, "mma".
    """
    text = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0,$1}, {$4}, {$5}, {$2,$3};"
    return _fragment_products(rows, columns, text, "dd", "d", "d")


@functools.cache
def _fragment_products(rows: int, columns: int, text: str, d: str, a: str, b: str):
    """multiply_fragments for an instruction whose fragments of sums, A and B have these registers (constraint
    letters)."""
    S, A, B = len(d), len(a), len(b)
    value, kind = _LETTERS[d[0]]
    all_sums = types.UniTuple(kind, rows * columns * S)
    constraints = ",".join([*(f"={letter}" for letter in d), *map(str, range(S)), *a, *b])

    @intrinsic
    def multiply(typing_context, sums, left, right):
        def generate(context, builder, signature, arguments):
            total, a, b = _entries(builder, signature, arguments)
            for i in range(rows):
                # To and fro, so that each instruction shares an operand with the one before.
                for j in range(columns) if i % 2 == 0 else reversed(range(columns)):
                    at = (i * columns + j) * S
                    operands = total[at:at + S] + a[A * i:A * i + A] + b[B * j:B * j + B]
                    total[at:at + S] = _several(builder, text, value, S, operands, constraints, False)
            return context.make_tuple(builder, signature.return_type, total)

        return all_sums(all_sums, types.UniTuple(_LETTERS[a[0]][1], A * rows),
                        types.UniTuple(_LETTERS[b[0]][1], B * columns)), generate

    return multiply


def _entries(builder, signature, arguments):
    """The values of each argument, all of them tuples."""
    return ([builder.extract_value(argument, number) for number in range(kind.count)]
            for argument, kind in zip(arguments, signature.args, strict=True))


def each_register(text: str, count: int):
    """`change(registers)`: one PTX instruction from register to register, for each of a tuple of `count`."""
    return register_groups(text, 1, 1, count)


@functools.cache
def register_groups(text: str, taken: int, given: int, count: int):
    """`change(registers)`: PTX that makes `given` registers of `taken` neighbours, for each of `count` such groups of a
    tuple. In the text the results come first: $0 is the first of them."""
    results = ir.LiteralStructType([_LANE] * given) if given > 1 else _LANE
    constraints = ",".join(["=&r" if given > 1 else "=r"] * given + ["r"] * taken)

    @intrinsic
    def change(typing_context, registers):
        def generate(context, builder, signature, arguments):
            changed = []
            for number in range(count):
                group = [builder.extract_value(arguments[0], number * taken + place) for place in range(taken)]
                found = _inline(builder, text, results, group, constraints, False)
                changed += [builder.extract_value(found, place) for place in range(given)] if given > 1 else [found]
            return context.make_tuple(builder, signature.return_type, changed)

        return types.UniTuple(types.int32, given * count)(types.UniTuple(types.int32, taken * count)), generate

    return change


@functools.cache
def picked(order: tuple[int, ...]):
    """`pick(registers)`: the tuple of those entries of a tuple."""
    @intrinsic
    def pick(typing_context, registers):
        def generate(context, builder, signature, arguments):
            entries = [builder.extract_value(arguments[0], place) for place in order]
            return context.make_tuple(builder, signature.return_type, entries)

        return types.UniTuple(registers.dtype, len(order))(registers), generate

    return pick


@functools.cache
def store_fragments(rows: int, columns: int, pitch: int, start: int = 0):
    """`store(address, sums)`: the sums of multiply_fragments or multiply_doubles to shared memory, as a row-major tile.

    address: 32-bit, of this lane's first element; pitch: elements from row to row. A lane has two neighbours in a row
    of each 8 x 8 part of a fragment: fragments of 32-bit sums have two such parts, the second below the first. start:
    of the first sum that is stored.
    """
    @intrinsic
    def store(typing_context, address, sums):
        letter, size, parts = {types.float32: ("f", 4, 2), types.int32: ("r", 4, 2),
                               types.float64: ("d", 8, 1)}[sums.dtype]
        kind = "f64" if letter == "d" else "b32"

        def generate(context, builder, signature, arguments):
            for i in range(rows):
                for part in range(parts):
                    for j in range(columns):
                        at = ((i * parts + part) * 8 * pitch + j * 8) * size
                        first = start + ((i * columns + j) * parts + part) * 2
                        pair = [builder.extract_value(arguments[1], first + number) for number in range(2)]
                        _inline(builder, f"st.shared.v2.{kind} [$0+{at}], {{$1,$2}};", ir.VoidType(),
                                [arguments[0], *pair], f"r,{letter},{letter}", True)
            return context.get_dummy_value()

        return types.void(address, sums), generate

    return store


@functools.cache
def load_vectors(count: int, width: int, apart: int):
    """`load(base, offset, constant)`: `count` vectors of `width` elements from shared memory, as one tuple.

    The first is at base[offset + constant], each next one `apart` elements on; all aligned to their size.
    """
    @intrinsic
    def load(typing_context, base, offset, constant):
        kind = base.dtype

        def generate(context, builder, signature, arguments):
            element = context.get_data_type(kind)
            start = _pointer(context, builder, signature.args[0], arguments[0], element, SHARED)
            start = builder.gep(builder.gep(start, [arguments[1]], inbounds=True), [arguments[2]], inbounds=True)
            found = []
            for number in range(count):
                place = builder.gep(start, [_LANE(number * apart)], inbounds=True)
                value = builder.load(builder.bitcast(place, ir.VectorType(element, width).as_pointer(SHARED)),
                                     align=width * context.get_abi_sizeof(element))
                found += [builder.extract_element(value, _LANE(lane)) for lane in range(width)]
            return context.make_tuple(builder, signature.return_type, found)

        return types.UniTuple(kind, count * width)(base, offset, constant), generate

    return load


@functools.cache
def load_grid(count: int, steps: int, width: int):
    """`load(base, at, places, apart, room)`: vectors of `width` elements from global memory, as one tuple.

    Vector s below `steps` of place i is at base[at + places[i] + s * apart]; places: a tuple of `count` offsets. Zeros
    stand for those of which s * room[1] is not below room[0] (int32); a room of () says that all are there.
    """
    @intrinsic
    def load(typing_context, base, at, places, apart, room):
        kind = base.dtype

        def generate(context, builder, signature, arguments):
            element = context.get_data_type(kind)
            start = _pointer(context, builder, signature.args[0], arguments[0], element, GLOBAL)
            vector, align = ir.VectorType(element, width), width * context.get_abi_sizeof(element)
            limits = [builder.extract_value(arguments[4], i) for i in range(signature.args[4].count)]
            wide = ir.IntType(64)
            found = []
            for i in range(count):
                row = builder.gep(start, [builder.add(arguments[1], builder.extract_value(arguments[2], i))])
                for step in range(steps):
                    place = builder.gep(row, [builder.mul(arguments[3], wide(step))])
                    place = builder.bitcast(place, vector.as_pointer(GLOBAL))
                    if not limits:
                        value = builder.load(place, align=align)
                    else:
                        before = builder.block
                        with builder.if_then(builder.icmp_signed("<", builder.mul(limits[1], _LANE(step)), limits[0])):
                            loaded, there = builder.load(place, align=align), builder.block
                        value = builder.phi(vector)
                        value.add_incoming(ir.Constant(vector, None), before)
                        value.add_incoming(loaded, there)
                    found += [builder.extract_element(value, _LANE(lane)) for lane in range(width)]
            return context.make_tuple(builder, signature.return_type, found)

        return types.UniTuple(kind, count * steps * width)(
            base, types.int64, types.UniTuple(types.int64, count), types.int64, room), generate

    return load


@functools.cache
def pick(*numbers: int):
    """`entries(values)`: the tuple of a tuple's entries of these numbers."""
    @intrinsic
    def entries(typing_context, values):
        def generate(context, builder, signature, arguments):
            return context.make_tuple(builder, signature.return_type,
                                      [builder.extract_value(arguments[0], number) for number in numbers])

        return types.UniTuple(values.dtype, len(numbers))(values), generate

    return entries


@functools.cache
def outer_product(rows: int, columns: int, parts: int):
    """`add(sums, a, b)`: sums + a b^T for tuples of `rows` and `columns` numbers, row by row, one fma for each product.

    parts: 2 for complex numbers, (real, imaginary) in turn, which take four.
    """
    @intrinsic
    def add(typing_context, sums, a, b):
        def generate(context, builder, signature, arguments):
            total, left, right = _entries(builder, signature, arguments)
            for i in range(rows):
                for j in range(columns):
                    at = (i * columns + j) * parts
                    if parts == 1:
                        total[at] = builder.fma(left[i], right[j], total[at])
                        continue
                    (x, y), (u, v) = left[2 * i:2 * i + 2], right[2 * j:2 * j + 2]
                    minus_y = builder.fsub(ir.Constant(y.type, -0.0), y)  # older NVVM does not know fneg
                    total[at] = builder.fma(minus_y, v, builder.fma(x, u, total[at]))
                    total[at + 1] = builder.fma(y, u, builder.fma(x, v, total[at + 1]))
            return context.make_tuple(builder, signature.return_type, total)

        return sums(sums, a, b), generate

    return add


@functools.cache
def spread(start: int, count: int):
    """`spread(values, array)`: `count` entries of a tuple, from `start` on, into a local array's first elements."""
    @intrinsic
    def store(typing_context, values, array):
        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[1])(context, builder, value=arguments[1]).data
            for number in range(count):
                builder.store(builder.extract_value(arguments[0], start + number), builder.gep(data, [_LANE(number)]))
            return context.get_dummy_value()

        return types.void(values, array), generate

    return store


# mbarriers: 64-bit words in shared memory, at 32-bit addresses, which count arrivals and bytes of copies, phase after
# phase; who waits says which parity of the phase it waits for. PTX ISA, "mbarrier".
barrier_init = instruction("mbarrier.init.shared::cta.b64 [$0], $1;", "", "r", "r", orders_memory=True)
barrier_arrive = instruction("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [$0]; }", "", "r",
                             orders_memory=True)
barrier_expect = instruction("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [$0], $1; }", "", "r",
                             "r", orders_memory=True)
barrier_wait = instruction(
    "{ .reg .pred done; WAIT${:uid}: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
    "@!done bra WAIT${:uid}; }", "", "r", "r", orders_memory=True)
publish_barriers = instruction("fence.mbarrier_init.release.cluster;", "", orders_memory=True)

# A box of a tensor to shared memory (32-bit address), told to an mbarrier: destination, map (64-bit address),
# mbarrier, then coordinates of the box, along the fastest axis first. PTX ISA, "cp.async.bulk.tensor".
copy_box = instruction(
    "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5}], [$2];", "",
    "r", "l", "r", "r", "r", "r", orders_memory=True)
# A map that the host wrote to global memory is read by another proxy than ordinary loads use.
acquire_map = instruction("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "", "l", orders_memory=True)

# Warpgroups: registers are shared out anew between them, products run while a warpgroup goes on. PTX ISA, "wgmma".
warpgroup_fence = instruction("wgmma.fence.sync.aligned;", "", orders_memory=True)
warpgroup_commit = instruction("wgmma.commit_group.sync.aligned;", "", orders_memory=True)


def warpgroup_wait(pending: int):
    """An intrinsic that waits until no more than `pending` committed groups of wgmma are running."""
    return instruction(f"wgmma.wait_group.sync.aligned {pending};", "", orders_memory=True)


def registers_of_each(count: int, more: bool):
    """An intrinsic that gives each thread of a warpgroup `count` registers, which is more, or not, than it has."""
    return instruction(f"setmaxnreg.{'inc' if more else 'dec'}.sync.aligned.u32 {count};", "", orders_memory=True)


@functools.cache
def multiply_shared(columns: int, shape: str, across: tuple[bool, bool] | None):
    """`multiply(sums, a, b)`: wgmma of a 64 x `columns` tile of float32 sums with operands in shared memory.

    sums: a tuple of columns / 2 numbers; a, b: 64-bit descriptors. shape: depth and types, as PTX writes them; across:
    whether A and B lie across k, for types that may, else None. PTX ISA, "wgmma.mma_async".
    """
    count = columns // 2
    registers = ", ".join(f"${number}" for number in range(count))
    flags = "" if across is None else "".join(f", {int(flag)}" for flag in across)
    text = (f"{{ .reg .pred adds; setp.ne.b32 adds, 1, 0; wgmma.mma_async.sync.aligned.m64n{columns}{shape} "
            f"{{{registers}}}, ${2 * count}, ${2 * count + 1}, adds, 1, 1{flags}; }}")
    constraints = ",".join(["=f"] * count + [str(number) for number in range(count)] + ["l", "l"])
    all_sums = types.UniTuple(types.float32, count)

    @intrinsic
    def multiply(typing_context, sums, a, b):
        def generate(context, builder, signature, arguments):
            total = [builder.extract_value(arguments[0], number) for number in range(count)]
            found = _several(builder, text, ir.FloatType(), count, [*total, *arguments[1:]], constraints, True)
            return context.make_tuple(builder, signature.return_type, found)

        return all_sums(all_sums, types.int64, types.int64), generate

    return multiply


# The way back: a box from shared memory (32-bit address) to a tensor; operands are map, box, coordinates. Copies are
# committed in groups, as those of copy_async, and who wrote the box says so first: copy engines read through another
# proxy than ordinary stores use. PTX ISA, "cp.async.bulk.tensor", "fence.proxy".
store_box = instruction("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [$0, {$2, $3, $4}], [$1];", "",
                        "l", "r", "r", "r", "r", orders_memory=True)
publish_boxes = instruction("fence.proxy.async.shared::cta;", "", orders_memory=True)
commit_boxes = instruction("cp.async.bulk.commit_group;", "", orders_memory=True)


def wait_boxes(pending: int, read: bool = False):
    """An intrinsic that waits until no more than `pending` groups of this thread's boxes are on their way; read: until
    those others have been read, so that their place in shared memory is free."""
    return instruction(f"cp.async.bulk.wait_group{'.read' if read else ''} {pending};", "", orders_memory=True)
