"""Hopper's gemm kernel on the executor: the PTX of TMA, mbarriers and wgmma that a GPU would run."""

import dataclasses
import re

import numpy as np
import pytest
from conftest import random_values

import gpublas
from gpublas.cuda import mixed, trust
from gpublas.cuda.compile import build
from gpublas.cuda.executor import ExecutorDevice
from gpublas.cuda.gemm.config import ALONG_K, MMA_CONFIGS, WGMMA_CONFIGS, GemmConfig, WgmmaConfig
from gpublas.cuda.gemm.epilogue import Epilogue
from gpublas.cuda.gemm.wgmma import wgmma_kernel
from gpublas.errors import ArgumentError
from gpublas.testing.ptx import KernelFault

HOPPER = (9, 0)
SMALL = WGMMA_CONFIGS["f16"][-1]  # 128 x 128
F16, F32 = np.dtype(np.float16), np.dtype(np.float32)


@pytest.fixture(autouse=True)
def fresh_plans():
    mixed.plan_mixed.cache_clear()


def small_integers(rng, shape, order="C", dtype=F16):
    """Products and sums of these are exact, whatever the order. Rows (columns) begin at multiples of 16 bytes."""
    wide = (*shape[:-1], -(-shape[-1] // 8) * 8) if order == "C" else (*shape[:-2], -(-shape[-2] // 8) * 8, shape[-1])
    values = rng.integers(-3, 4, wide).astype(dtype)
    if order == "F":
        values = np.ascontiguousarray(values.swapaxes(-1, -2)).swapaxes(-1, -2)
    return values[..., :shape[-2], :shape[-1]]


def on_hopper(tiles=SMALL, splits=1, multiprocessors=3, **options):
    device = ExecutorDevice(capability=HOPPER, counters=True, multiprocessors=multiprocessors, **options)
    return gpublas.use(gpublas.Context(device, gemm_config=GemmConfig(tiles, splits)))


def kernels_of(context):
    return {name.split("_")[0] for name, _ in context.device.counts}


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize("order_a, order_b", ["CF", "CC", "FC", "FF"])
def test_shapes(rng, order_a, order_b, order):
    """Parts of tiles, several tiles to a block, more slabs than stages, a rest of k."""
    with on_hopper(order=order, seed=5) as context:
        for m, n, k in ((128, 128, 64), (136, 72, 72), (300, 264, 40), (2, 9, 8), (9, 2, 200), (130, 130, 520)):
            A, B = small_integers(rng, (m, k), order_a), small_integers(rng, (k, n), order_b)
            C = gpublas.gemm("N", "N", 1.0, A, B, out_dtype="float32")
            assert np.array_equal(C, A.astype(F32) @ B.astype(F32)), (m, n, k)
        assert kernels_of(context) == {"wgmma"}


def test_the_larger_tile_and_bfloat16(rng):
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    for kind, dtype in (("f16", F16), ("bf16", bfloat16)):
        with on_hopper(WGMMA_CONFIGS[kind][0]) as context:
            A, B = small_integers(rng, (200, 136), "C", dtype), small_integers(rng, (136, 300), "F", dtype)
            C = gpublas.gemm("N", "N", 1.0, A, B, out_dtype="float32")
            assert np.array_equal(C, A.astype(F32) @ B.astype(F32))
            assert kernels_of(context) == {"wgmma"}


def test_epilogue(rng):
    """alpha, beta, bias, activation, what went into it, and float16 results: as without a GPU, to rounding."""
    m, n, k = 140, 70, 72
    A, B = random_values(rng, (m, k), F16), random_values(rng, (n, k), F16)
    bias, before = random_values(rng, (n,), F16), random_values(rng, (m, n), F16)
    C, aux = before.copy(), np.empty((m, n), F16)
    with on_hopper() as context:
        gpublas.gemm("N", "T", 0.5, A, B, -1.5, C, epilogue="gelu", bias=bias, aux=aux)
        assert kernels_of(context) == {"wgmma"}
    wide = [array.astype("f8") for array in (A, B, bias, before)]
    exact = 0.5 * (wide[0] @ wide[1].T) - 1.5 * wide[3] + wide[2]
    size = 0.5 * (abs(wide[0]) @ abs(wide[1].T)) + 1.5 * abs(wide[3]) + abs(wide[2])
    bound = 2.0**-11 * abs(exact) + (k + 4) * 2.0**-23 * size
    assert np.all(abs(aux - exact) <= bound)
    from scipy.special import erf

    gelu = 0.5 * exact * (1 + erf(exact / np.sqrt(2)))
    assert np.all(abs(C - gelu) <= 1.13 * bound + 2.0**-11 * abs(gelu) + 2.0**-24)  # gelu's slope is below 1.13


def test_batches_in_one_launch(rng):
    """A matrix for each product, and one that serves all."""
    A, B = small_integers(rng, (5, 40, 72)), small_integers(rng, (5, 72, 136))
    for a, b in ((A, B), (A, B[:1]), (A[:1], B), (A.swapaxes(1, 2).copy().swapaxes(1, 2), B)):
        with on_hopper() as context:
            C = gpublas.gemm_strided_batched("N", "N", 1.0, a, b, out_dtype="float32")
            assert np.array_equal(C, a.astype(F32) @ b.astype(F32))
            assert [name.split("_")[0] for name, _ in context.device.counts] == ["wgmma"]


def test_parts_of_k(rng):
    A, B = small_integers(rng, (40, 2000)), small_integers(rng, (2000, 24))
    with on_hopper(splits=3) as context:
        C = gpublas.gemm("N", "N", 1.0, A, B, out_dtype="float32")
        assert [name.split("_")[0] for name, _ in context.device.counts] == ["wgmma", "wgmma", "fold"]
    assert np.array_equal(C, A.astype(F32) @ B.astype(F32))


def test_what_copy_engines_cannot_bring_goes_to_single_warps(rng):
    A, B = small_integers(rng, (40, 72)), small_integers(rng, (72, 24))
    unaligned = np.zeros((40, 73), F16)[:, 1:]
    unaligned[...] = A
    for a in (A[::-1], unaligned, np.repeat(A, 2, 1)[:, ::2]):
        with on_hopper() as context:
            assert np.array_equal(gpublas.gemm("N", "N", 1.0, a, B, out_dtype="float32"), a.astype(F32) @ B.astype(F32))
            assert kernels_of(context) == {"mma"}
    with pytest.raises(ArgumentError, match=r"capability 9\.0"):
        gpublas.Context(ExecutorDevice(), gemm_config=SMALL)


def test_memory_traffic(rng):
    """Each tile reads its rows of A and columns of B once, in whole sectors; no bank conflicts where results go."""
    A, B = small_integers(rng, (256, 256)), small_integers(rng, (256, 256), "F")
    with on_hopper(staged=True) as context:  # where memory begins at multiples of a sector
        gpublas.gemm("N", "N", 1.0, A, B, out_dtype="float32")
        ((_, counts),) = context.device.counts
    copies = [access for access in counts.accesses if "tensor" in access.opcode]
    assert sum(access.sectors for access in copies) == 2 * (A.nbytes + B.nbytes) // 32  # 2 x 2 tiles
    assert counts.bank_conflicts == 0


def test_a_stage_that_is_never_freed(rng):
    """Without the consumers' word the producer waits for ever once all stages are full."""
    epilogue = dataclasses.astuple(Epilogue("f32"))
    kernel = build(wgmma_kernel, ALONG_K, ALONG_K, epilogue, *dataclasses.astuple(SMALL), capability=(*HOPPER, "a"))
    text, found = re.subn(r"mbarrier\.arrive\.shared::cta\.b64 state, [^;]*;", "", kernel.texts[0])
    assert found == 1
    broken = dataclasses.replace(kernel, texts=(text, *kernel.texts[1:]))
    device, k = ExecutorDevice(capability=HOPPER), SMALL.block_depth * (SMALL.stages + 1)
    A, C = np.zeros((16, k), F16), np.zeros((16, 16), F32)
    form = mixed.boxes(ALONG_K, 16, k, 1, k, 1, 0, 2, 128)
    place = device.maps.place(A.ctypes.data, form, None)
    numbers = (place, place, C.ctypes.data, 16, 16, k, 1, 0, 0, 16, 1, 0, 0, 0, 0, 0, 0, 1, 0)
    arguments = [convert(number) for convert, number in zip(kernel.converters, numbers, strict=True)]
    memory = [(A.ctypes.data, A.nbytes), (C.ctypes.data, C.nbytes), (place, 128)]
    device.launch(kernel, (1, 1, 1), arguments, None, memory)
    with pytest.raises(KernelFault, match="deadlock"):
        device.launch(broken, (1, 1, 1), arguments, None, memory)


def test_configurations():
    for tiles in WGMMA_CONFIGS["f16"]:
        assert tiles.fits(HOPPER) is None and "9.0" in tiles.fits((8, 0)) and "9.0" in tiles.fits((10, 0))
    for change, message in (({"kind": "tf32"}, "kind"), ({"block_rows": 192}, "64 or 128 rows"),
                            ({"block_columns": 320}, "up to 256"), ({"stages": 1}, "two"), ({"stages": 7}, "shared"),
                            ({"stages": 0}, "positive")):
        assert message in dataclasses.replace(SMALL, **change).fits(HOPPER)
    assert isinstance(WgmmaConfig("f16", 64, 64, 4).fits(HOPPER), type(None))


def test_large_products_choose_it_on_hopper_alone(rng):
    from gpublas import tuning
    from gpublas.cuda.gemm import select

    for capability, found in ((HOPPER, WgmmaConfig), ((8, 0), type(MMA_CONFIGS["f16"][0]))):
        work = select.Work("f16", "A along k, B along k", 4096, 4096, 4096, 1, False)
        assert isinstance(tuning.choose(tuning.typical(capability), work).tiles, found)
        unboxed = work._replace(layout=work.layout + select.NOT_IN_BOXES)
        assert not isinstance(tuning.choose(tuning.typical(capability), unboxed).tiles, WgmmaConfig)


def test_maps_are_kept_and_replaced(monkeypatch):
    """A map is made once for an address and a form; when there is no room, the device comes to rest first."""
    from gpublas.cuda import tensormaps

    device = ExecutorDevice(capability=HOPPER)
    made, drained = [], []
    encode = device.encode_map
    monkeypatch.setattr(device, "encode_map", lambda *given: made.append(given) or encode(*given))
    monkeypatch.setattr(device, "drain", lambda: drained.append(len(made)))
    monkeypatch.setattr(tensormaps, "_SLOTS", 3)
    form = mixed.boxes(ALONG_K, 16, 64, 1, 64, 1, 0, 2, 128)
    places = [device.maps.place(4096 * number, form, None) for number in (1, 2, 1, 3, 2)]
    assert len(made) == 3 and len(set(places)) == 3 and not drained
    assert device.maps.place(4096 * 9, form, None) == places[0] and drained == [3]
    assert device.maps.place(4096, form, None) == places[1] and len(made) == 5


def test_a_device_whose_warpgroups_are_wrong_uses_single_warps(rng, monkeypatch):
    device = ExecutorDevice(capability=HOPPER, counters=True)
    device.kind, device.name = "cuda", "careless"
    monkeypatch.setattr(mixed, "verdict", lambda device, kind, family="mma": "wrong" if family == "wgmma" else "")
    monkeypatch.setattr(mixed, "_warned", set())
    A = small_integers(rng, (16, 16))
    with (gpublas.use(gpublas.Context(device, gemm_config=SMALL)),
          pytest.warns(RuntimeWarning, match="f16 on warpgroups")):
        C = gpublas.gemm("N", "T", 1.0, A, A, out_dtype="float32")
    assert np.array_equal(C, A.astype(F32) @ A.T.astype(F32))
    assert [name.split("_")[0] for name, _ in device.counts] == ["mma"]


def test_the_check_of_warpgroups():
    device = ExecutorDevice(capability=HOPPER, order="random", counters=True)
    assert trust.examine(device, "f16", "wgmma") == ""
    assert {name.split("_")[0] for name, _ in device.counts} >= {"wgmma", "gemm"}
