"""What the kernels ask of memory, counted by the executor: each element of a matrix once, in whole sectors."""

import numpy as np
import pytest
from level1.test_counters import SECTOR, SLACK, aligned

import gpublas
from gpublas.cuda.executor import ExecutorDevice
from gpublas.cuda.matvec import DIAGONAL_THREADS, DIAGONALS
from gpublas.precision import PRECISIONS
from gpublas.testing.buffers import DeviceArray

from .cases import CASES, flag_choices, scalar_choices
from .test_devices import arguments_of, call

by_prefix = pytest.mark.parametrize("precision", PRECISIONS, ids=lambda precision: precision.prefix)


def counted(compute):
    """The counters of each launch."""
    device = ExecutorDevice(counters=True)
    with gpublas.use(gpublas.Context(device)):
        compute()
    return [counts for _, counts in device.counts]


@by_prefix
@pytest.mark.parametrize("shape", [(512, 512), (1024, 256), (256, 1024)])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("op", "NT")
def test_gemv_moves_the_matrix_once(precision, shape, order, op):
    """Sectors of both launches against the bytes of A, x and y; and no shared memory bank is asked twice at a time."""
    m, n = shape
    A = aligned(np.ones(m * n, precision.dtype)).reshape(shape, order=order)
    x, y = (aligned(np.ones(size, precision.dtype)) for size in ((n, m) if op == "N" else (m, n)))
    launches = counted(lambda: gpublas.gemv(op, 1, A, x, 0, y))
    sectors = sum(counts.global_sectors for counts in launches)
    assert len(launches) == 2
    assert sectors <= SLACK * (A.nbytes + x.nbytes + y.nbytes) / SECTOR
    assert sectors == sum(counts.minimum_sectors for counts in launches)
    assert all(counts.bank_conflicts == 0 for counts in launches)


def bytes_loaded(launch, precision):
    """Bytes that the loads of a launch ask for, each thread's counted."""
    width = precision.dtype.itemsize
    return width * sum(count for opcode, count in launch.instructions.items() if opcode.startswith("ld.global"))


@by_prefix
@pytest.mark.parametrize("uplo", "UL")
@pytest.mark.parametrize("name", ["symv", "hemv", "trmv", "spmv", "hpmv", "tpmv", "syr", "her2", "spr", "hpr2"])
def test_triangles_are_read_once(precision, uplo, name):
    """Loads beyond the elements of the triangle are those of vectors and sums: a small share. Updates store each
    element once too."""
    n = 512
    packed = "p" in name
    triangle = n * (n + 1) // 2
    A = aligned(np.ones(triangle if packed else n * n, precision.dtype))
    A = A if packed else A.reshape(n, n)
    x, y = aligned(np.ones(n, precision.dtype)), aligned(np.ones(n, precision.dtype))
    routine = getattr(gpublas, name)
    if name in ("trmv", "tpmv"):
        launches = counted(lambda: routine(uplo, "N", "N", A, x))
    elif "r" in name:
        launches = counted(lambda: routine(uplo, 1, x, *([y] if "2" in name else []), A))
    else:
        launches = counted(lambda: routine(uplo, 1, A, x, 0, y))
    if "r" not in name or name == "trmv":
        loaded = bytes_loaded(launches[0], precision) / precision.dtype.itemsize
        assert triangle <= loaded <= SLACK * triangle
    else:
        stored = sum(count for opcode, count in launches[0].instructions.items() if opcode.startswith("st.global"))
        assert stored == triangle

    # Columns end, and those of a packed triangle also begin, within a sector: so do a packed one's requests.
    passes, size = 3 - len(launches), precision.dtype.itemsize
    straddle = 1 + SECTOR / (32 * size) if packed else 1
    sums = 2 * launches[1].global_sectors if len(launches) == 2 else 0  # written by the first, read by the second
    bound = SLACK * passes * (triangle * size / SECTOR * straddle + n * straddle) + sums
    assert sum(counts.global_sectors for counts in launches) <= bound


@by_prefix
@pytest.mark.parametrize("order", "CF")
def test_bands_are_read_once(precision, order):
    n, k = 512, 40
    rows, diagonals = DIAGONAL_THREADS, DIAGONALS[precision.prefix]  # of a block, and of what it brings at a time
    AB = aligned(np.ones((2 * k + 1) * n, precision.dtype)).reshape((2 * k + 1, n), order=order)
    x, y = aligned(np.ones(n, precision.dtype)), aligned(np.ones(n, precision.dtype))
    for op in "NT":
        first, _ = counted(lambda op=op: gpublas.gbmv(op, n, k, k, 1, AB, x, 0, y))
        inside = (2 * k + 1) * n - k * (k + 1)
        vectors = bytes_loaded(first, precision) / precision.dtype.itemsize - inside
        assert 0 <= vectors <= n // rows * ((2 * k + 1) // diagonals + 2) * (rows + diagonals)


@by_prefix
@pytest.mark.parametrize("name", ["gemv", "symv", "gbmv"])
def test_a_zero_alpha_on_the_device_ends_the_launch(precision, name):
    """Its threads read alpha and nothing else."""
    n = 200
    A, x = (DeviceArray(np.ones(shape, precision.dtype)) for shape in ((n, n), n))
    zero = DeviceArray(np.array(0, precision.dtype))
    head = {"gemv": ("N",), "symv": ("U",), "gbmv": ("N", n, n - 1, 0)}[name]
    first, _ = counted(lambda: getattr(gpublas, name)(*head, zero, A, x))
    parts = 2 if precision.is_complex else 1
    threads = first.instructions["ret"]
    assert sum(count for opcode, count in first.instructions.items() if opcode.startswith("ld.global")
               ) == parts * threads


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_atomics(case, rng):
    for counts in counted(lambda: call(case, **arguments_of(case, rng, 70, flag_choices(case)[0]),
                                       **scalar_choices(case)[-1])):
        assert not [opcode for opcode in counts.instructions if opcode.startswith(("atom", "red."))]


@by_prefix
@pytest.mark.parametrize("name", ["trsv", "tpsv"])
def test_solutions_are_blocked(precision, name):
    """A launch for each 256 rows of the diagonal; most of the triangle is read by the products between them."""
    n = 1024
    A = aligned(np.ones(n * n if name == "trsv" else n * (n + 1) // 2, precision.dtype))
    A = A.reshape(n, n) if name == "trsv" else A
    device = ExecutorDevice(counters=True)
    with gpublas.use(gpublas.Context(device)):
        getattr(gpublas, name)("L", "N", "U", A, np.zeros(n, precision.dtype))
    names = [kernel.rpartition("_")[0] for kernel, _ in device.counts]
    assert names.count("substitution") == 4 and names.count("tile_sums") == 3 and len(names) == 10
    sectors = {kernel: sum(counts.global_sectors for name, counts in device.counts if name.startswith(kernel))
               for kernel in ("tile_sums", "substitution")}
    assert sectors["tile_sums"] > sectors["substitution"]
