"""What the kernels ask of memory, counted by the executor: no byte more than the operands have, in whole vectors."""

import numpy as np
import pytest

import gpublas
from gpublas.cuda.executor import ExecutorDevice

from .cases import VECTOR_CASES

SECTOR = 32  # bytes that global memory moves at a time
SLACK = 1.05
SCALARS = {"alpha": 0.75, "beta": -1.25, "c": 0.6, "s": 0.8, "sb": 1, "param": [-1, 0.5, -0.25, 1.5, -2]}


def aligned(values, offset=0):
    """A copy that starts `offset` elements past a multiple of 128 bytes."""
    memory = np.empty(values.nbytes + 128 + offset * values.itemsize, np.uint8)
    start = -memory.ctypes.data % 128 + offset * values.itemsize
    copy = memory[start:start + values.nbytes].view(values.dtype)
    copy[:] = values
    return copy


def counted(case, n, offset=0, scalars=SCALARS):
    device = ExecutorDevice(counters=True)
    vectors = {name: aligned(np.arange(1, n + 1).astype(case.precision.dtype), offset) for name in "xy"}
    with gpublas.use(gpublas.Context(device)):
        getattr(gpublas, case.name)(*({**scalars, **vectors}[name] for name in case.arguments))
    return [counts for _, counts in device.counts]


def operand_bytes(case, n, reads=None):
    """What a perfect kernel would read and write."""
    reads = len([name for name in ("x", "y") if name in case.arguments]) if reads is None else reads
    return (reads + len(case.outputs)) * n * case.precision.dtype.itemsize


@pytest.mark.parametrize("n", [1 << 12, 1 << 15])
@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_contiguous_vectors_move_once_in_whole_sectors(case, n):
    launches = counted(case, n)
    assert len(launches) <= (2 if case.result is not None else 1)
    sectors = sum(counts.global_sectors for counts in launches)
    reads = 1 if case.operation == "copy" else None
    assert sectors <= SLACK * operand_bytes(case, n, reads) / SECTOR
    assert sectors <= SLACK * sum(counts.minimum_sectors for counts in launches)
    assert all(counts.bank_conflicts == 0 for counts in launches)


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_contiguous_vectors_move_16_bytes_an_access(case):
    """A whole number of vectors for each thread: no access to operands is narrower."""
    n = 1 << 12
    launches = counted(case, n)
    wide = sum(count for counts in launches for opcode, count in counts.instructions.items()
               if opcode.startswith(("ld.global.v4.f32", "st.global.v4.f32", "ld.global.v2.f64", "st.global.v2.f64")))
    assert wide == operand_bytes(case, n, 1 if case.operation == "copy" else None) / 16


@pytest.mark.parametrize("case", VECTOR_CASES, ids=str)
def test_misaligned_vectors_are_coalesced(case):
    """One element off: a warp's request, of 4 sectors or more, touches one sector more than it must."""
    if case.precision.dtype.itemsize % 16 == 0:
        pytest.skip("elements of 16 bytes are always aligned")
    n = 1 << 12
    launches = counted(case, n, offset=1)
    sectors = sum(counts.global_sectors for counts in launches)
    assert sectors <= SLACK * 5 / 4 * operand_bytes(case, n, 1 if case.operation == "copy" else None) / SECTOR


@pytest.mark.parametrize("name, scalars, reads, writes", [
    ("saxpy", {"alpha": 0}, 0, 0), ("saxpby", {"alpha": 0, "beta": 0}, 0, 1), ("saxpby", {"alpha": 0}, 1, 1),
    ("saxpby", {"beta": 0}, 1, 1), ("sscal", {"alpha": 0}, 1, 1), ("sscal", {"alpha": 1}, 0, 0),
    ("caxpby", {"alpha": 0}, 1, 1), ("caxpby", {"beta": 0}, 1, 1)])
def test_what_zero_multiplies_is_not_read(name, scalars, reads, writes):
    case = next(case for case in VECTOR_CASES if case.name == name)
    n = 1 << 12
    launches = counted(case, n, scalars={**SCALARS, **scalars})
    counts = {"ld": 0, "st": 0}
    for launch in launches:
        for access in launch.global_():
            counts[access.opcode[:2]] += access.sectors
    whole = n * case.precision.dtype.itemsize // SECTOR
    assert counts == {"ld": reads * whole, "st": writes * whole}


@pytest.mark.parametrize("case", [case for case in VECTOR_CASES if case.result is not None], ids=str)
def test_reductions_have_no_atomics(case):
    for counts in counted(case, 1 << 13):
        assert not [opcode for opcode in counts.instructions if opcode.startswith(("atom", "red."))]
