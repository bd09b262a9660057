"""Picks the module that serves a call: `cpu` or `cuda`; both have the same function names."""

from __future__ import annotations

import importlib
from typing import Any

from .context import Call

_loaded: dict[bool, Any] = {}  # by whether the call is on the host


def of(call: Call) -> Any:
    """The backend for a call's device, imported when first used."""
    on_host = call.device.kind == "cpu"
    found = _loaded.get(on_host)
    if found is None:
        found = _loaded[on_host] = importlib.import_module(".cpu" if on_host else ".cuda", __package__)
    return found
