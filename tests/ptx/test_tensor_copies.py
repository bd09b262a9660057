"""Tensor copies (TMA): boxes of tensors to shared memory, told to mbarriers, late."""

import functools

import numpy as np
import pytest
from intrinsics import global_address, inline_ptx, shared_address
from numba import cuda, int32, int64, uint8, uint32, uint64, void

from gpublas.cuda import ptx
from gpublas.testing.ptx import Kernel, KernelFault, tensormap

RNG = np.random.default_rng(5)
ROOM = 8192  # bytes of shared memory that boxes go to
SHARED = ROOM + 128  # and a barrier
COPY = "cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {%s}], [$2];"
COPIES = {rank: inline_ptx(f"copy{rank}", COPY % (rank, ", ".join(f"${3 + axis}" for axis in range(rank))), "",
                           "rlr" + "r" * rank) for rank in (2, 3)}
start = inline_ptx("start", "mbarrier.init.shared::cta.b64 [$0], 1;", "", "r")
expect = inline_ptx("expect", "{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [$0], $1; }", "", "rr")
wait = inline_ptx(
    "wait", "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], 0; @!p bra AGAIN; }", "", "r")


def bringer(rank, waits=True, **options):
    """A kernel that brings one box, and writes out the shared memory that it finds."""
    copy = COPIES[rank]
    if rank == 2:
        send = cuda.jit(device=True)(lambda target, source, barrier, places: copy(
            target, source, barrier, uint32(places[0]), uint32(places[1])))
    else:
        send = cuda.jit(device=True)(lambda target, source, barrier, places: copy(
            target, source, barrier, uint32(places[0]), uint32(places[1]), uint32(places[2])))

    def kernel(tensor, described, places, size, shift, out):
        shared = cuda.shared.array(SHARED, uint8, alignment=1024)
        base, t = uint32(shared_address(shared)), cuda.threadIdx.x
        barrier = uint32(base + ROOM)
        if t == 0:
            start(barrier)
        cuda.syncthreads()
        if t == 0:
            expect(barrier, uint32(size))
            send(uint32(base + shift), uint64(global_address(described)), barrier, places)
        if waits is True:
            wait(barrier)
        for place in range(t, out.size, 32):
            out[place] = shared[shift + place]
        if waits == "late":
            wait(barrier)

    return Kernel(kernel, void(uint8[::1], uint8[::1], int32[::1], int32, int32, uint8[::1]), cc=(9, 0),
                  **{"order": "random", **options})


@pytest.fixture(scope="module")
def kernels():
    return {rank: bringer(rank) for rank in COPIES}


def aligned(nbytes):
    room = np.zeros(nbytes + 256, np.uint8)
    return room[-room.ctypes.data % 256:][:nbytes]


def tensor_of(shape, dtype, pitch):
    """Random bytes as a tensor whose rows are `pitch` bytes apart, and all of its memory."""
    memory = aligned(int(np.prod(shape[:-1])) * pitch)
    memory[:] = RNG.integers(0, 256, memory.size)
    rows = memory.view(dtype).reshape(*shape[:-1], pitch // np.dtype(dtype).itemsize)
    return rows[..., :shape[-1]], memory


def bring(kernel, tensor, memory, box, places, swizzle=0, shift=0, change=None, beside=0):
    """The bytes that a box at some places becomes; axes of the tensor as NumPy counts them, others the other way."""
    described = aligned(tensormap.BYTES + beside)[beside:]
    described[:] = tensormap.encode(tensor.ctypes.data, tensor.itemsize, tensor.shape[::-1], tensor.strides[::-1][1:],
                                    box, swizzle)
    if change is not None:
        described[change] ^= 1
    out = np.zeros(int(np.prod(box)) * tensor.itemsize, np.uint8)
    counts = kernel[1, 32](memory, described, np.array(places, np.int32), out.size, shift, out)
    return out if counts is None else counts


def expected(tensor, box, places, swizzle):
    """The box, zero outside the tensor, as bytes; chunks of 16 bytes exchanged within 8 rows of 128."""
    out = np.zeros(box[::-1], tensor.dtype)
    for index in np.ndindex(*out.shape):
        at = tuple(place + step for place, step in zip(places[::-1], index, strict=True))
        if all(0 <= place < extent for place, extent in zip(at, tensor.shape, strict=True)):
            out[index] = tensor[at]
    flat = out.reshape(-1).view(np.uint8)
    moved = np.zeros_like(flat)
    for chunk in range(0, flat.size, 16):
        to = chunk ^ ((chunk >> 7) % (swizzle // 16) << 4) if swizzle else chunk
        moved[to:to + 16] = flat[chunk:chunk + 16]
    return moved


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_boxes(kernels, dtype, swizzle):
    """Inside, over every edge, beyond all of them, and before the first element."""
    size = np.dtype(dtype).itemsize
    width = (swizzle or 48) // size
    flat, memory = tensor_of((20, 100), dtype, 112 * size)
    for places in ((0, 0), (3, 2), (100 - width + 1, 5), (-5, 14), (200, 3), (7, -3), (1, 19), (0, 30)):
        for rows in (1, 8, 13):
            box = (width, rows)
            assert np.array_equal(bring(kernels[2], flat, memory, box, places, swizzle),
                                  expected(flat, box, places, swizzle)), (places, rows)
    deep, memory = tensor_of((3, 10, 100), dtype, 112 * size)
    for places in ((0, 0, 0), (50, 4, 1), (-1, 8, 2), (3, -1, -1), (0, 0, 3)):
        box = (width, 4, 2)
        assert np.array_equal(bring(kernels[3], deep, memory, box, places, swizzle),
                              expected(deep, box, places, swizzle)), places


def test_who_does_not_wait_reads_poison():
    tensor, memory = tensor_of((8, 64), "u2", 128)
    memory[:] = 1
    assert np.all(bring(bringer(2, waits="late", order="forward"), tensor, memory, (64, 8), (0, 0)) == 0xFF)
    with pytest.raises(KernelFault, match=r"copy still on its way when its block ends.*tensor"):
        bring(bringer(2, waits=False), tensor, memory, (64, 8), (0, 0))


@functools.cache
def sender(waits=True):
    """A kernel that fills shared memory and stores boxes of it, which then becomes something else."""
    wait, read, nothing = ptx.wait_boxes(0), ptx.wait_boxes(0, read=True), inline_ptx("nothing", "", "", "")
    wait_read, wait_all = (read, wait) if waits else (nothing, wait)

    def kernel(tensor, described, places, data):
        shared = cuda.shared.array(ROOM, uint8, alignment=1024)
        t = cuda.threadIdx.x
        for place in range(t, data.size, 32):
            shared[place] = data[place]
        ptx.publish_boxes()
        cuda.syncthreads()
        if t == 0:
            ptx.store_box(int64(global_address(described)), ptx.shared_address(shared), places[0], places[1], places[2])
            ptx.commit_boxes()
            wait_read()
        cuda.syncthreads()
        for place in range(t, data.size, 32):
            shared[place] = 0x55
        if t == 0:
            wait_all()

    return Kernel(kernel, void(uint8[::1], uint8[::1], int32[::1], uint8[::1]), cc=(9, 0), order="random",
                  counters=True)


def send(kernel, tensor, memory, box, places, swizzle, data):
    described = aligned(tensormap.BYTES)
    described[:] = tensormap.encode(tensor.ctypes.data, tensor.itemsize, tensor.shape[::-1], tensor.strides[::-1][1:],
                                    box, swizzle)
    return kernel[1, 32](memory, described, np.array(places, np.int32), data)


@pytest.mark.parametrize("dtype", ["u2", "u4"])
@pytest.mark.parametrize("swizzle", [0, 32, 128])
def test_boxes_on_their_way_back(dtype, swizzle):
    """What lies outside the tensor is left alone; chunks come back from where a swizzle puts them."""
    size = np.dtype(dtype).itemsize
    tensor, memory = tensor_of((3, 10, 100), dtype, 112 * size)
    box = ((swizzle or 48) // size, 4, 2)
    for places in ((0, 0, 0), (90, 4, 1), (-1, 8, 2), (3, -1, -1), (0, 0, 3)):
        values = RNG.integers(0, 200, box[::-1]).astype(dtype)
        want, before = tensor.copy(), memory.copy()
        for index in np.ndindex(*values.shape):
            at = tuple(place + step for place, step in zip(places[::-1], index, strict=True))
            if all(0 <= place < extent for place, extent in zip(at, tensor.shape, strict=True)):
                want[at] = values[index]
        data = expected(values, box, (0, 0, 0), swizzle)
        send(sender(), tensor, memory, box, places, swizzle, data)
        assert np.array_equal(tensor, want), places
        beside = [m.view(dtype).reshape(3, 10, 112)[..., 100:] for m in (memory, before)]
        assert np.array_equal(*beside), places


def test_sectors_and_faults_on_the_way_back():
    tensor, memory = tensor_of((1, 8, 64), "u2", 256)
    data = RNG.integers(0, 256, 64 * 8 * 2).astype(np.uint8)
    counts = send(sender(), tensor, memory, (64, 8, 1), (32, 5, 0), 0, data)
    (found,) = (access for access in counts.accesses if "tensor" in access.opcode)
    assert (found.sectors, found.global_requests) == (3 * 2, 3)
    with pytest.raises(KernelFault, match="out-of-bounds global"):
        send(sender(), tensor, memory[:-256], (64, 8, 1), (0, 0, 0), 0, data)
    with pytest.raises(KernelFault, match="shared memory changed before what reads it was waited for"):
        send(sender(waits=False), tensor, memory, (64, 8, 1), (0, 0, 0), 0, data)


def test_steps_and_what_fills_the_outside(kernels):
    """Every second or third row of the tensor; NaN outside."""
    tensor, memory = tensor_of((20, 64), "f2", 128)
    memory[:] = 1
    out = aligned(64 * 4 * 2)
    described = aligned(tensormap.BYTES)
    for step, rows, fill_nan in ((2, 8, False), (3, 10, True)):
        described[:] = tensormap.encode(tensor.ctypes.data, 2, (64, 20), (128,), (64, rows), 0, (1, step), fill_nan)
        tensor[:] = np.arange(20)[:, None]
        kernels[2][1, 32](memory, described, np.array((60, 14), np.int32), out.size, 0, out)
        found = out.view("f2").reshape(4, 64)
        outside = np.nan if fill_nan else 0
        lines = [14 + step * number if 14 + step * number < 20 else outside for number in range(4)]
        assert np.array_equal(found[:, :4], np.repeat(np.array(lines, "f2")[:, None], 4, 1), equal_nan=True)
        assert np.array_equal(found[:, 4:], np.full((4, 60), outside, "f2"), equal_nan=True)


def test_faults(kernels):
    tensor, memory = tensor_of((8, 64), "u2", 128)
    given = (tensor, memory, (64, 8), (0, 0))
    with pytest.raises(KernelFault, match="misaligned"):
        bring(kernels[2], *given, shift=64)
    with pytest.raises(KernelFault, match="out-of-bounds shared"):
        bring(kernels[2], *given, shift=ROOM - 256)
    with pytest.raises(KernelFault, match=r"misaligned.*tensor"):
        bring(kernels[2], *given, beside=32)  # maps begin at multiples of 64 bytes
    with pytest.raises(KernelFault, match="not a tensor map"):
        bring(kernels[2], *given, change=4)  # what only a map begins with
    with pytest.raises(KernelFault, match="not a tensor map"):
        bring(kernels[3], *given[:3], (0, 0, 0))  # of rank 2
    with pytest.raises(KernelFault, match="out-of-bounds global"):
        bring(kernels[2], tensor, memory[:-16], (64, 8), (0, 0))  # the tensor is longer than the launch's memory


def test_sectors():
    """64 numbers of 16 bits are four sectors where rows begin with one; what lies outside is not read."""
    kernel = bringer(2, counters=True)
    for pitch, places, sectors in ((256, (0, 0), 8 * 4), (144, (0, 0), 4 * 4 + 4 * 5), (256, (32, 0), 8 * 2),
                                   (256, (0, 5), 3 * 4), (256, (0, 8), 0)):
        tensor, memory = tensor_of((8, 64), "u2", pitch)
        counts = bring(kernel, tensor, memory, (64, 8), places)
        (found,) = (access for access in counts.accesses if "tensor" in access.opcode)
        assert found.sectors == sectors, places


@pytest.mark.parametrize("change, message", [
    ({"address": 8}, "address"), ({"itemsize": 3}, "elements"), ({"extents": (0, 4)}, "extents"),
    ({"strides": (24,)}, "strides"), ({"strides": (0,)}, "strides"), ({"strides": ()}, "wanted n, n - 1"),
    ({"box": (64, 257)}, "box"), ({"box": (4, 4)}, "rows of 8 bytes"), ({"swizzle": 64}, "up to 64"),
    ({"swizzle": 16}, "swizzle 16"), ({"steps": (1, 9)}, "steps"), ({"steps": (1,)}, "1 steps"),
    ({"itemsize": 1, "fill_nan": True}, "no NaN"),
    ({"extents": (64,) * 6, "strides": (128,) * 5, "box": (8,) * 6}, "up to 5")])
def test_what_no_map_can_say(change, message):
    usual = {"address": 4096, "itemsize": 2, "extents": (64, 8), "strides": (128,), "box": (64, 8), "swizzle": 128}
    tensormap.encode(**usual)
    with pytest.raises(ValueError, match=message):
        tensormap.encode(**{**usual, **change})
