"""Bytes kept on disk between processes: compiled kernels, executor code, tuning results.

An entry is a file named by the hash of everything that determines it. Writers make a temporary file and
rename it, so that readers, in any number of processes, see whole entries or none. The first 32 bytes are
the SHA-256 of the rest: an entry that does not match counts as absent and is written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs


def folder() -> Path:
    """The cache folder: GPUBLAS_CACHE_DIR, else the user's cache folder for gpublas."""
    chosen = os.environ.get("GPUBLAS_CACHE_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gpublas", appauthor=False))


def key(*parts: object) -> str:
    """A file name for an entry determined by parts, whose repr must be faithful (text, numbers, bytes, tuples)."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


def read(kind: str, name: str) -> bytes | None:
    """The entry's bytes; None when it is absent, unreadable or damaged."""
    try:
        whole = (folder() / kind / name).read_bytes()
    except OSError:
        return None
    digest, content = whole[:32], whole[32:]
    return content if hashlib.sha256(content).digest() == digest else None


def write(kind: str, name: str, content: bytes) -> None:
    """Store an entry. A folder that cannot be written to costs the next process time, never this one an error."""
    with contextlib.suppress(OSError):
        replace(folder() / kind / name, hashlib.sha256(content).digest() + content)


def replace(path: Path, content: bytes) -> None:
    """Write a file, whose readers see the old one or the new one, whole. OSError where that cannot be done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
