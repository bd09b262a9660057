"""What was found on this machine: devices, versions, cache folders, and what is missing with the command to add it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

from . import context, diskcache, tuning
from .cuda import driver, trust
from .version import __version__

# Distribution, what it is for, and the pip command that adds it.
_GPU = 'pip install "gpublas[cuda13]"'
_PACKAGES = (
    ("numpy", "arrays", "pip install numpy"),
    ("scipy", "BLAS of the cpu device", "pip install scipy"),
    ("numba", "loops of gpudnn's cpu device", "pip install numba"),
    ("numba-cuda", "compiler of GPU kernels: devices cuda and executor", _GPU),
    ("cuda-core", "CUDA driver: device cuda", _GPU),
    ("cuda-bindings", "nvJitLink and the driver's functions: device cuda", _GPU),
    ("scikit-learn", "digits of the demo", 'pip install "gpublas[demo]"'),
    ("matplotlib", "picture of the demo", 'pip install "gpublas[demo]"'),
    ("rich", "progress bars", 'pip install "gpublas[demo]"'),
)


def version_of(distribution: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _device_rows() -> list[tuple[str, str]]:
    rows = [("cpu", f"{os.cpu_count()} cores, {platform.machine()}")]
    compiler = version_of("numba-cuda")
    rows.append(("executor", "compiled GPU kernels, run on the CPU" if compiler
                 else f"not available: numba-cuda is not installed; {_GPU} adds it"))
    reason = driver.why_unusable()
    if reason:
        rows.append(("cuda", f"not available: {reason}"))
    else:
        for number in range(driver.device_count()):
            device = context._device(f"cuda:{number}")
            rows.append((device.place, f"{device.name}, compute capability {'.'.join(map(str, device.capability))}"))
    return rows


def _cache_rows() -> list[tuple[str, str]]:
    rows = [("folder", f"{diskcache.folder()}  (GPUBLAS_CACHE_DIR chooses another)")]
    for kind in ("kernels", "cubins", "executor"):
        entries = list((diskcache.folder() / kind).glob("*")) if (diskcache.folder() / kind).is_dir() else []
        size = sum(entry.stat().st_size for entry in entries if entry.is_file())
        rows.append((kind, f"{len(entries)} entries, {size / 1e6:.1f} MB"))
    return rows


def _tuned_rows() -> list[tuple[str, str]]:
    folder = tuning.folder()
    names = sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []
    return [("folder", f"{folder}  (GPUBLAS_TUNED_DIR chooses another)"),
            ("tables", ", ".join(names) or "none; `python -m gpublas tune` makes one for a GPU")]


def report() -> str:
    """The whole report as text."""
    default = context.current().device
    packages = [(name, f"{version_of(name) or 'missing'}  ({purpose})") for name, purpose, _ in _PACKAGES]
    missing = {command: None for name, _, command in _PACKAGES if version_of(name) is None}
    sections = [
        ("gpublas", [("version", __version__), ("Python", f"{platform.python_version()} ({sys.platform})"),
                     ("default device", default.name)]),
        ("Devices", _device_rows()),
        ("Packages", packages),
        ("Disk cache", _cache_rows()),
        ("Tuned configurations of gemm", _tuned_rows()),
    ]
    checks = [(f"{kind} on {device}", reason or "passed") for device, kind, reason in trust.kept()]
    if checks:
        sections.append(("Checks of tensor cores", checks))
    if missing:
        sections.append(("To add what is missing", [("run", command) for command in missing]))
    lines = []
    for title, rows in sections:
        lines.append(title)
        width = max(len(name) for name, _ in rows)
        lines += [f"  {name:<{width}}  {value}" for name, value in rows]
    return "\n".join(lines)
