"""Whether the tensor cores of a device compute what our kernels expect of them: asked once, of the device itself.

Fragment layouts, swizzled copies and matrix instructions can be tested on the executor only against our own reading of
their documentation. So on a real GPU a kind of arithmetic is checked before it is first used: products of small
integers in awkward shapes, exact in every kind, against the kernels of ordinary arithmetic units on the same device.
The verdict is kept on disk, for this device, driver and version of the library.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import arrays, diskcache, tuning
from ..arrays import Array
from ..mixed import FLOAT8, MixedProblem, Operands
from ..version import __version__
from .gemm.config import FLOAT8_KINDS

_FOLDER = "verdicts"
# Shapes and orders: one row, parts of tiles, several slabs and a rest of k; both ways of lying, and no whole chunks.
_CASES = ((1, 9, 8, "C", "F"), (65, 33, 72, "F", "C"), (130, 72, 200, "C", "C"), (40, 130, 136, "F", "F"),
          (33, 17, 71, "C", "C"))
_TYPES = {"f16": "float16", "bf16": "bfloat16", "s8": "int8", "tf32": "float32", "tf32x3": "float32",
          "bf16x9": "float32", "dmma": "float64", "f64": "float64"}
# Integers whose parts in bfloat16 are three, or two: products of these and -1, 0 or 1 need them all, and sums of these
# products stay below 2**24.
_PARTS = ((65793, 1), (1, 65793), (257, 257))
_lock = threading.Lock()
_known: dict[tuple[Any, str, str], str] = {}  # by device, kind and family; "" where the device is to be trusted


def verdict(device: Any, kind: str, family: str = "mma") -> str:
    """Why a family's kernels of a kind of arithmetic must not be used on a device; "" if they may. Runs the check the
    first time. family: "mma" (warps multiply) or "wgmma" (warpgroups do)."""
    found = _known.get((device, kind, family))
    if found is not None:  # on the way of every call
        return found
    with _lock:
        if (device, kind, family) not in _known:
            name = _key(device, kind, family)
            stored = diskcache.read(_FOLDER, name)
            if stored is None:
                stored = json.dumps(
                    {"device": device.name, "kind": kind if family == "mma" else f"{kind} {family}",
                     "version": __version__, "driver": device.driver_version,
                     "verdict": examine(device, kind, family)}).encode()
                diskcache.write(_FOLDER, name, stored)
            _known[device, kind, family] = json.loads(stored)["verdict"]
        return _known[device, kind, family]


def _key(device, kind, family):
    from .compile import source_digest
    from .gemm import mma, wgmma

    return diskcache.key(kind, device.name, device.capability, device.driver_version, __version__,
                         source_digest(wgmma if family == "wgmma" else mma))


def kept() -> list[tuple[str, str, str]]:
    """(device, kind, verdict) of every check that is on disk, for this version of the library."""
    folder = diskcache.folder() / _FOLDER
    found = []
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        stored = diskcache.read(_FOLDER, path.name)
        entry = json.loads(stored) if stored else {}
        if entry.get("version") == __version__:
            found.append((entry["device"], entry["kind"], entry["verdict"]))
    return found


def examine(device: Any, kind: str, family: str = "mma") -> str:
    """Run the check: what went wrong, or ""."""
    rng = np.random.default_rng(20261201)
    for number, (m, n, k, order_a, order_b) in enumerate(_CASES):
        largest, weights = (1, _PARTS[number % len(_PARTS)]) if kind == "bf16x9" else (4, (1, 1))
        A, B = (np.asarray(weight * rng.integers(-largest, largest + 1, extents),
                           order=order)  # type: ignore[call-overload]
                for weight, extents, order in zip(weights, ((m, k), (k, n)), (order_a, order_b), strict=True))
        try:
            found = _product(device, kind, family, A, B)
            expected = _product(device, "f64" if kind == "dmma" else "f32", "simt", A, B)
        except Exception as error:  # whatever the device reports is the verdict
            return f"{m} x {n} x {k}: {type(error).__name__}: {error}"
        wrong = int(np.count_nonzero(found != expected))
        if wrong:
            return f"{m} x {n} x {k}: {wrong} of {m * n} elements differ from those of ordinary arithmetic units"
    return ""


def _product(device, kind, family, A, B):
    """A B on the device by one kind of arithmetic, as float64 for float64 operands, else as float32."""
    from .gemm.config import MMA_CONFIGS, WGMMA_CONFIGS, GemmConfig, Tiles
    from .mixed import plan_mixed

    names = [FLOAT8[part] for part in kind.split("_")] if kind in FLOAT8_KINDS else [_TYPES.get(kind, "float32")] * 2
    type_a, type_b = map(arrays.named_type, names)
    stream = device.stream(None)
    run = SimpleNamespace(device=device, stream=stream, memory=[], plans_run=0, recorder=None)
    out = np.dtype(np.float64 if type_a == np.float64 else np.float32)
    operands = []
    for values in (A.astype(type_a), B.astype(type_b), np.full((len(A), B.shape[1]), np.nan, out)):
        compact = values if values.flags.c_contiguous else values.T
        buffer = device.allocate(compact.nbytes, stream)
        device.upload(compact, buffer.pointer, stream)
        run.memory.append((buffer.pointer, compact.nbytes))
        operands.append(Array(buffer.pointer, values.shape, values.strides, values.dtype, True, device.place, buffer))
    a, b, c = operands
    problem = MixedProblem.of(kind, "f64" if out == np.float64 else "f32", Operands(a, b, c, None, None), True, "", "",
                              "")
    pointers = dict(zip("ABC", (array.pointer for array in operands), strict=True))
    families: dict[str, Mapping[str, Sequence[Tiles]]] = {"mma": MMA_CONFIGS, "wgmma": WGMMA_CONFIGS, "simt": {}}
    explicit = tuple(GemmConfig(tiles, 1) for tiles in families[family].get(kind, ())[-1:])
    target = tuning.Target(device.capability, device.multiprocessors, explicit)
    plan_mixed(device.capability, problem, True, target).run(
        run, {**pointers, "bias": 0, "aux": 0, "alpha": 1.0, "beta": 0.0})
    result = np.empty((len(A), B.shape[1]), out)
    device.download(operands[2].pointer, result, stream)
    return result
