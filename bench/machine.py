"""What a measurement was made on, and where its figures are kept."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

import gpublas

RESULTS = Path(__file__).parent / "results"


def describe() -> dict[str, Any]:
    """Processor, Python, versions and date."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "numba")}
    versions["gpublas"] = gpublas.__version__
    return {"date": datetime.date.today().isoformat(), "processor": processor, "cores": os.cpu_count(),
            "python": platform.python_version(), "versions": versions}


def save(name: str, figures: Any) -> Path:
    """Store figures with the machine's description as readable JSON."""
    RESULTS.mkdir(exist_ok=True)
    found = describe()
    path = RESULTS / f"{name}-{found['date']}.json"
    path.write_text(json.dumps({"machine": found, "figures": figures}, indent=1) + "\n", encoding="utf-8")
    return path
