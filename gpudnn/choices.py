"""What was measured: kept in memory, and in one readable JSON file for each device in the user's cache folder.

An entry is known by the whole problem and by what the call allowed (direction, workspace limit, flags), and holds
algorithms by name. Files of another version, driver or device, and damaged ones, are ignored with one warning and
written anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from gpublas import diskcache
from gpublas.context import current
from gpublas.errors import UnsupportedError
from gpublas.version import __version__

from .problem import DIRECTIONS, ConvProblem
from .settings import Flags

_CAPACITY = 10_000  # problems kept in memory
_FIELDS = {field.name for field in fields(ConvProblem)}


class Measured(NamedTuple):
    """One algorithm's median time."""

    algorithm: str
    seconds: float


class Key(NamedTuple):
    """What decides which algorithm is the fastest, beside the device."""

    problem: ConvProblem
    direction: str
    workspace_limit: int | None
    deterministic: bool
    allow_tf32: bool
    max_error: float | None

    @classmethod
    def of(cls, problem: ConvProblem, direction: str, workspace_limit: int | None, flags: Flags) -> Key:
        """The key of a call."""
        return cls(problem, direction, workspace_limit, flags.deterministic, flags.allow_tf32, flags.max_error)


Results = tuple[Measured, ...]  # the fastest first
_lock = threading.Lock()
_known: OrderedDict[tuple[str, Key], Results] = OrderedDict()
_read: set[Path] = set()


def find(device: Any, key: Key) -> Results | None:
    """What is known of a problem on a device; the device's file is read the first time."""
    path, model = place(device), _model(device)
    with _lock:
        if path not in _read:
            _read.add(path)
            for found, stored in _load(path, device).items():
                _known.setdefault((model, found), stored)
        results = _known.get((model, key))
        if results is not None:
            _known.move_to_end((model, key))
        _trim()
        return results


def keep(device: Any, key: Key, results: Results) -> None:
    """Remember in memory and on disk, beside what other processes have written meanwhile."""
    path = place(device)
    with _lock:
        _known[_model(device), key] = results
        _trim()
        with contextlib.suppress(OSError):  # a folder that cannot be written to costs time, not the call
            _write(path, device, {**_load(path, device, quiet=True), key: results})


def _trim():
    while len(_known) > _CAPACITY:
        _known.popitem(last=False)


def place(device: Any) -> Path:
    """The file of a device."""
    return diskcache.folder() / "choices" / f"{re.sub(r'[^A-Za-z0-9]+', '-', _model(device)).strip('-').lower()}.json"


def _model(device):
    return str(getattr(device, "model", device.name))


def _driver(device):
    return int(getattr(device, "driver_version", 0))


def export_choices(path: str | os.PathLike[str]) -> int:
    """Write what is known of the current device to a file, which `import_choices` reads; returns how many problems.

    So an application can ship what was measured where it was built, and run with `gpudnn.flags(frozen=True)`.
    Raises OSError where the file cannot be written.

    >>> import tempfile, gpudnn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gpudnn.export_choices(folder + "/choices.json") == gpudnn.import_choices(folder + "/choices.json")
    True
    """
    device = current().device
    key = _model(device)
    place_of = place(device)
    with _lock:
        entries = _load(place_of, device, quiet=True)
        entries.update({found: results for (model, found), results in _known.items() if model == key})
        _write(Path(path), device, entries)
    return len(entries)


def import_choices(path: str | os.PathLike[str]) -> int:
    """Take over what another process measured on the same device, driver and version; returns how many problems.

    Raises OSError where the file cannot be read, UnsupportedError where it is of another device, driver or version, or
    is no such file. See `export_choices`.

    >>> import gpudnn
    >>> gpudnn.import_choices("no such file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    device = current().device
    entries, reason = _parse(Path(path).read_text(encoding="utf-8"), device)
    if reason:
        raise UnsupportedError(f"import_choices: {path}: {reason}")
    with _lock:
        for key, results in entries.items():
            _known[_model(device), key] = results
        _trim()
    return len(entries)


def _load(path: Path, device: Any, quiet: bool = False) -> dict[Key, Results]:
    """The entries of a file; what is wrong with it is told once."""
    entries: dict[Key, Results] = {}
    try:
        entries, reason = _parse(path.read_text(encoding="utf-8"), device)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = str(error)
    if reason and not quiet:
        warnings.warn(f"gpudnn: {path}: {reason}", RuntimeWarning, stacklevel=5)
    return entries


def _parse(text: str, device: Any) -> tuple[dict[Key, Results], str]:
    """(entries, what is wrong with the text)."""
    try:
        content = json.loads(text)
        head = {name: content[name] for name in ("library", "driver", "device")}
        rows = list(content["entries"])
    except (ValueError, TypeError, KeyError) as error:
        return {}, f"ignored, since it is no list of choices: {type(error).__name__}: {error}"
    for name, wanted in (("library", __version__), ("driver", _driver(device)), ("device", _model(device))):
        if head[name] != wanted:
            return {}, f"ignored, since its {name} is {head[name]!r}; here it is {wanted!r}"
    entries: dict[Key, Results] = {}
    wrong = []
    for number, row in enumerate(rows, 1):
        try:
            key, results = _entry(row)
        except (ValueError, TypeError, KeyError) as error:
            wrong.append(f"entry {number}: {type(error).__name__}: {error}")
        else:
            entries[key] = results
    return entries, f"{len(wrong)} of {len(rows)} entries ignored; {wrong[0]}" if wrong else ""


def _entry(row):
    if set(row["problem"]) != _FIELDS:
        raise ValueError(f"a problem has the fields {', '.join(sorted(_FIELDS))}")
    problem = ConvProblem(**{name: _tuples(value) for name, value in row["problem"].items()})
    if row["direction"] not in DIRECTIONS:
        raise ValueError(f"direction {row['direction']!r}")
    from .select import ALGORITHMS

    known = {algorithm.NAME for algorithm in ALGORITHMS}
    results = tuple(Measured(found["algorithm"], float(found["seconds"])) for found in row["results"])
    if not results or not known.issuperset(result.algorithm for result in results):
        raise ValueError(f"algorithms {[result.algorithm for result in results]}, of {sorted(known)}")
    options = {name: row[name] for name in Key._fields[1:]}
    return Key(problem, **options), tuple(sorted(results, key=lambda result: result.seconds))


def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _write(path: Path, device: Any, entries: dict[Key, Results]) -> None:
    """An entry a line; readers see the old file or the new one, whole."""
    lines = ",\n ".join(json.dumps(_row(key, results)) for key, results in entries.items())
    head = {"library": __version__, "driver": _driver(device), "device": _model(device)}
    text = json.dumps(head)[:-1] + ', "entries": [\n ' + lines + "\n]}\n"
    diskcache.replace(path, text.encode())


def _row(key: Key, results: Iterable[Measured]) -> dict[str, Any]:
    options = {name: value for name, value in key._asdict().items() if name != "problem"}
    return {"problem": asdict(key.problem), **options,
            "results": [{"algorithm": name, "seconds": float(f"{seconds:.4g}")} for name, seconds in results]}
