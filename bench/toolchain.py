"""NVIDIA's tools that show what machine code a kernel became: cuobjdump and nvdisasm, from their pip packages."""

from __future__ import annotations

import importlib.metadata
import subprocess
import tempfile
from pathlib import Path

_PACKAGES = {"cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"}


def find(tool: str) -> Path:
    """The path of a tool in its installed package; FileNotFoundError says what to install."""
    package = _PACKAGES[tool]
    for name in (package, f"{package}-cu12"):
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == tool:
                return Path(str(file.locate()))
    raise FileNotFoundError(f"{tool} is not installed; pip install {package} adds it")


def missing() -> str | None:
    """Why machine code cannot be read here, or None when it can."""
    try:
        for tool in _PACKAGES:
            find(tool)
    except FileNotFoundError as error:
        return str(error)
    return None


def _run(tool: str, option: str, cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([find(tool), option, file.name], check=True, capture_output=True, text=True).stdout


def listing(cubin: bytes) -> str:
    """The instructions of a cubin, as nvdisasm prints them."""
    return _run("nvdisasm", "-c", cubin)


def resources(cubin: bytes) -> str:
    """Registers, stack and shared memory of a cubin's kernels, as cuobjdump prints them."""
    return _run("cuobjdump", "-res-usage", cubin)
