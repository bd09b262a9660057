"""Every kernel that gpublas ships for gemm, in one list: the static report and its test read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpublas.cuda.gemm.config import (
    ACROSS,
    ALONG_K,
    ANY,
    FLOAT8_KINDS,
    MMA_CONFIGS,
    SKINNY,
    STRIDED,
    TRIANGLE,
    TRIANGLES,
    WGMMA_CONFIGS,
    WIDE,
    SimtConfig,
)
from gpublas.cuda.gemm.epilogue import Epilogue
from gpublas.cuda.gemm.mma import mma_kernel
from gpublas.cuda.gemm.simt import gemm_kernel
from gpublas.cuda.gemm.skinny import skinny_kernel
from gpublas.cuda.gemm.wgmma import wgmma_kernel

CAPABILITIES = ((8, 0), (9, 0), (10, 0))
_WAYS = ((ALONG_K, ACROSS), (ALONG_K, ALONG_K), (ACROSS, ACROSS))  # in which operands may lie
_OUT = {"f16": "f16", "bf16": "bf16", "s8": "s32", "tf32": "f32", "tf32x3": "f32", "bf16x9": "f32",
        "dmma": "f64", **dict.fromkeys(FLOAT8_KINDS, "f32")}


# Which kernels a GPU has run, by family and arithmetic (the first word of a kernel's name): the GPU's name and the file
# under bench/results/ that shows it. Whatever is not here is marked in the static report.
SEEN: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
UNSEEN = "never run on a GPU"


class Shipped(NamedTuple):
    """One kernel: family, a name that a reader knows, what `build` takes, and the compute capabilities it is for."""

    family: str
    name: str
    factory: Callable[..., Any]
    parameters: tuple
    targets: tuple[tuple, ...] = CAPABILITIES

    @property
    def seen(self) -> str:
        """The GPUs that have run kernels of this family and arithmetic, or that none has."""
        gpus = [gpu for gpu, _ in SEEN.get((self.family, self.name.partition(" ")[0]), ())]
        return ", ".join(dict.fromkeys(gpus)) or UNSEEN


def kernels() -> Iterator[Shipped]:
    """Ordinary arithmetic units: the kernels that read whole vectors, those for any strides, and those for few columns;
    then tensor cores, in every way that operands may lie, of single warps and of Hopper's warpgroups."""
    for prefix, configs in WIDE.items():
        for config in configs:
            for way in _WAYS if config is configs[0] else _WAYS[:1]:
                yield _simt(f"{prefix}gemm", config, way)
    for configs, routine, lies in ((STRIDED, "gemm", (ANY, ANY)), (TRIANGLES, "symm", (TRIANGLE, ANY))):
        for prefix, found in configs.items():
            yield from (_simt(prefix + routine, config, lies) for config in found)
    for prefix, few in SKINNY.items():
        for tiles in few:
            for way in (ALONG_K, ACROSS, ANY):
                yield Shipped("skinny", f"{prefix}gemm {tiles.block_rows}x{tiles.block_columns} {way}", skinny_kernel,
                              (way, (), *dataclasses.astuple(tiles)))
    for kind, configs in MMA_CONFIGS.items():
        ways = _WAYS if kind in ("f16", "bf16", "dmma") else _WAYS[1:2]
        for config in configs:
            for way in ways if config is configs[0] else ways[:1]:
                yield Shipped("mma", f"{kind} {_tiles(config)} {way[0]},{way[1]}", mma_kernel,
                              (*way, dataclasses.astuple(Epilogue(_OUT[kind])), *dataclasses.astuple(config)))
        yield Shipped("mma", f"{kind} {_tiles(configs[-1])} any", mma_kernel,
                      (ANY, ANY, dataclasses.astuple(Epilogue(_OUT[kind])), *dataclasses.astuple(configs[-1])))
    for kind, wgmma_configs in WGMMA_CONFIGS.items():
        for tiles in wgmma_configs:
            for way in _WAYS if tiles is wgmma_configs[0] else _WAYS[:1]:
                yield Shipped("wgmma", f"{kind} {_tiles(tiles)} {way[0]},{way[1]} wgmma", wgmma_kernel,
                              (*way, dataclasses.astuple(Epilogue(_OUT[kind])), *dataclasses.astuple(tiles)),
                              ((9, 0, "a"),))


def _simt(routine: str, config: SimtConfig, lies: tuple[str, str]) -> Shipped:
    return Shipped("simt", f"{routine} {_tiles(config)} {lies[0]},{lies[1]}", gemm_kernel,
                   (*lies, (), *dataclasses.astuple(config)))


def _tiles(config: Any) -> str:
    return f"{config.block_rows}x{config.block_columns}x{config.block_depth}"
