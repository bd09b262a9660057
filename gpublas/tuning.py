"""Which configuration a gemm on GPU kernels gets.

In this order: what the context names (`gpublas.use(..., gemm_config=...)`), what the user's table for the device says
(`python -m gpublas tune` writes it), what the table shipped for the device says, and what the heuristic makes of the
problem's size (cuda/gemm/select.py).

A table is JSON. Its head says what it was measured with, and each entry what it is for and what was best:

    {"library": "0.1.0", "driver": "13.0", "device": "NVIDIA H200", "entries": [
     {"problem": {"kind": "s", "layout": "A along m, B along k", "m": 1760, "n": 128, "k": 1760, "batch": 1},
      "config": {"block_rows": 64, "block_columns": 64, "block_depth": 8, "thread_rows": 8, "thread_columns": 4,
                 "min_blocks": 4}, "splits": 3, "seconds": 0.000041, "heuristic_seconds": 0.000052}]}

An entry serves its own shape, and all shapes that have as many tiles: m, n and k rounded up to multiples of 64. The
user's tables lie in `folder()`, one for each model of GPU. A table of another library version, device or driver (the
driver counts for the user's only), a damaged one, and entries whose tiles do not fit the device are left out, with one
warning for each file.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import threading
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from . import diskcache
from .cuda.gemm.config import FAMILIES, GemmConfig, MmaConfig, SimtConfig, SkinnyConfig, Tiles, WgmmaConfig
from .cuda.gemm.select import KINDS, Work, candidates, heuristic, typical_multiprocessors
from .errors import ArgumentError, UnsupportedError
from .version import __version__

__all__ = ["GemmConfig", "MmaConfig", "SimtConfig", "SkinnyConfig", "WgmmaConfig"]

_SAME_TILES = 64  # rows, columns and steps of the smallest tiles: shapes that round up to the same share an entry


@dataclasses.dataclass(frozen=True, eq=False)
class Target:
    """What beside the problem decides: the device, and who has said what. Equal only to itself, to be part of keys.

    explicit: what the context names. tables: the user's, then the shipped one.
    """

    capability: tuple
    multiprocessors: int
    explicit: tuple[GemmConfig, ...] = ()
    tables: tuple[Mapping[Work, GemmConfig], ...] = ()


class Entry(NamedTuple):
    """What was measured for a problem: the best configuration, its time, and that of the heuristic's choice."""

    work: Work
    config: GemmConfig
    seconds: float
    heuristic_seconds: float


def choose(target: Target, work: Work) -> GemmConfig:
    """The configuration for a product, its splits always a number. UnsupportedError says why there is none."""
    found = next((config for config in target.explicit if config.kind == work.kind and work.takes(config.tiles)), None)
    if found is not None:
        reason = found.fits(target.capability)
        if reason:
            raise UnsupportedError(f"gemm of {work.kind} with gemm_config {found.tiles} on compute capability "
                                   f"{_dotted(target.capability)}: {reason}")
    else:
        found = _listed(target.tables, work)
    if found is None:
        reasons = {tiles: GemmConfig(tiles).fits(target.capability) for tiles in candidates(work)}
        fitting = [tiles for tiles, reason in reasons.items() if not reason]
        if not fitting:
            raise UnsupportedError(f"gemm of {work.kind} on compute capability {_dotted(target.capability)}: "
                                   + "; ".join(dict.fromkeys(str(reason) for reason in reasons.values())))
        return heuristic(work, fitting, target.multiprocessors)
    if not work.cuttable:
        return GemmConfig(found.tiles, 1)
    return found if found.splits else heuristic(work, (found.tiles,), target.multiprocessors)


def _listed(tables: Iterable[Mapping[Work, GemmConfig]], work: Work) -> GemmConfig | None:
    key = work._replace(whole=False)
    for table in tables:
        found = table.get(key) or table.get(_rounded(key))
        if found is not None and work.takes(found.tiles):
            return found
    return None


def _rounded(work: Work) -> Work:
    m, n, k = (-(-extent // _SAME_TILES) * _SAME_TILES for extent in (work.m, work.n, work.k))
    return work._replace(m=m, n=n, k=k)


def _dotted(capability: tuple) -> str:
    return ".".join(map(str, capability))


def explicit(given: Any, capability: tuple) -> tuple[GemmConfig, ...]:
    """The argument gemm_config of a context: a configuration, tiles alone, or several of different kinds."""
    wanted = "a GemmConfig, SimtConfig, SkinnyConfig, MmaConfig or WgmmaConfig, or a sequence of them"
    if given is None:
        return ()
    alone = isinstance(given, (GemmConfig, Tiles))
    if not alone and not isinstance(given, (list, tuple)):
        raise ArgumentError("Context", None, "gemm_config", repr(given), wanted)
    found: list[GemmConfig] = []
    for item in (given,) if alone else given:
        if not isinstance(item, (GemmConfig, Tiles)) or (
                isinstance(item, GemmConfig) and not isinstance(item.tiles, Tiles)):
            raise ArgumentError("Context", None, "gemm_config", repr(item), wanted)
        config = item if isinstance(item, GemmConfig) else GemmConfig(item)  # type: ignore[arg-type]
        reason = config.fits(capability)
        if reason:
            raise ArgumentError("Context", None, "gemm_config", f"{config} ({reason})",
                                f"what fits compute capability {_dotted(capability)}")
        if any((config.kind, type(config.tiles)) == (other.kind, type(other.tiles)) for other in found):
            raise ArgumentError("Context", None, "gemm_config", f"two configurations of kind {config.kind!r}",
                                "one of each kind")
        found.append(config)
    return tuple(found)


_lock = threading.RLock()
_targets: dict[tuple, Target] = {}
_tables: dict[tuple, tuple[Mapping[Work, GemmConfig], ...]] = {}


def target(device: Any, named: tuple[GemmConfig, ...] = ()) -> Target:
    """What decides on a device, with what a context names; tables are read once a process."""
    key = (device.model, device.capability, device.multiprocessors, named)
    found = _targets.get(key)
    if found is not None:
        return found
    with _lock:
        if key[:2] not in _tables:
            _tables[key[:2]] = (_usable(user_file(device), device, True), _usable(shipped_file(device), device, False))
        return _targets.setdefault(key, Target(device.capability, device.multiprocessors, named, _tables[key[:2]]))


def typical(capability: tuple) -> Target:
    """The heuristic alone, on a typical device of a compute capability."""
    with _lock:
        return _targets.setdefault(("typical", capability), Target(capability, typical_multiprocessors(capability)))


def folder() -> Path:
    """Where the user's tables lie: GPUBLAS_TUNED_DIR, else `tuned` in the user's configuration folder for gpublas."""
    chosen = os.environ.get("GPUBLAS_TUNED_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_config_dir("gpublas", appauthor=False)) / "tuned"


def user_file(device: Any) -> Path:
    """The user's table for a device."""
    return folder() / _file_name(device)


def shipped_file(device: Any) -> Path:
    """The table that comes with the library for a device, if there is one."""
    return Path(__file__).parent / "tuned" / _file_name(device)


def _file_name(device):
    return re.sub(r"[^a-z0-9]+", "-", device.model.lower()).strip("-") + ".json"


def _driver(device):
    """The CUDA version that the driver supports, as text."""
    return f"{device.driver_version // 1000}.{device.driver_version % 1000 // 10}"


def _usable(path: Path, device: Any, own: bool) -> dict[Work, GemmConfig]:
    """A table's configurations by problem; own: it is the user's. One warning says what is left out, and why."""
    entries, reason = read(path, device, own)
    if reason:
        warnings.warn(f"gpublas: {path}: {reason}", RuntimeWarning, stacklevel=2)
    table: dict[Work, GemmConfig] = {}
    for entry in entries:
        table.setdefault(_rounded(entry.work), entry.config)
    return {**table, **{entry.work: entry.config for entry in entries}}


def read(path: Path, device: Any, own: bool = True) -> tuple[list[Entry], str]:
    """A table's entries that may be used on a device, and what is left out and why ("" where nothing is)."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [], ""
    except (OSError, UnicodeDecodeError) as error:
        return [], f"ignored, since it cannot be read: {error}"
    try:
        content = json.loads(text)
        head = {name: content[name] for name in ("library", "driver", "device")}
        rows = list(content["entries"])
    except (ValueError, TypeError, KeyError) as error:
        return [], f"ignored, since it is no table: {type(error).__name__}: {error}"
    wanted = {"library": __version__, "device": device.model}
    if own:
        wanted["driver"] = _driver(device)
    for name, value in wanted.items():
        if head[name] != value:
            return [], f"ignored, since its {name} is {head[name]!r}; here it is {value!r}. " \
                       "`python -m gpublas tune` measures anew"
    entries, wrong = [], []
    for number, row in enumerate(rows, 1):
        try:
            entry = _entry(row)
            reason = entry.config.fits(device.capability)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
        if reason:
            wrong.append(f"entry {number}: {reason}")
        else:
            entries.append(entry)
    return entries, f"{len(wrong)} of {len(rows)} entries ignored; {wrong[0]}" if wrong else ""


def _entry(row):
    """An entry of a table; an exception says what is wrong with it."""
    problem = row["problem"]
    kind, m, n, k, batch = (problem[name] for name in ("kind", "m", "n", "k", "batch"))
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is none of {', '.join(map(repr, KINDS))}")
    if not all(type(number) is int and number >= 0 for number in (m, n, k, batch)):
        raise ValueError("m, n, k and batch must be whole numbers")
    config = dict(row["config"])
    tiles = FAMILIES[config.pop("family")](kind, **config)
    return Entry(Work(kind, str(problem["layout"]), m, n, k, batch, False), GemmConfig(tiles, row["splits"]),
                 float(row["seconds"]), float(row["heuristic_seconds"]))


def write(path: Path, device: Any, entries: Iterable[Entry]) -> None:
    """Write a table, an entry a line; readers see the old file or the new one, whole."""
    rows = [json.dumps(_row(entry)) for entry in entries]
    head = {"library": __version__, "driver": _driver(device), "device": device.model}
    lines = "".join(f"{json.dumps(name)}: {json.dumps(value)}, " for name, value in head.items())
    text = "{" + lines + '"entries": [\n ' + ",\n ".join(rows) + "\n]}\n"
    diskcache.replace(path, text.encode())


def _row(entry):
    work, (tiles, splits) = entry.work, entry.config
    family = next(name for name, made in FAMILIES.items() if isinstance(tiles, made))
    config = {"family": family, **dataclasses.asdict(tiles)}
    config.pop("precision" if hasattr(tiles, "precision") else "kind")  # the problem says it
    problem = {"kind": work.kind, "layout": work.layout, "m": work.m, "n": work.n, "k": work.k, "batch": work.products}
    return {"problem": problem, "config": config, "splits": splits, "seconds": _four_digits(entry.seconds),
            "heuristic_seconds": _four_digits(entry.heuristic_seconds)}


def _four_digits(seconds):
    return float(f"{seconds:.4g}")
