"""Picks the module that serves a call: `cpu` or `cuda`; both have the same function names."""

from __future__ import annotations

from typing import Any

from .context import Call


def of(call: Call) -> Any:
    """The backend for a call's device, imported when first used."""
    if call.on_host:
        from . import cpu

        return cpu
    from . import cuda

    return cuda
