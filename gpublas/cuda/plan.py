"""Plans: what a problem comes down to, made once and run often."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..checks import ZERO, Scalar
from . import scalars
from .compile import Kernel
from .tensormaps import BYTES, Boxes


class At(NamedTuple):
    """An address that each call brings, plus a number of bytes that the plan knows."""

    name: str
    offset: int


class MapAt(NamedTuple):
    """The address of the tensor map (see tensormaps.py) of what lies at an address that each call brings."""

    at: At
    boxes: Boxes


class Launch:
    """One kernel launch: its grid, and for each parameter a number of the right type, or the name of a value that
    each call brings (an address, alpha ...), or an At or a MapAt."""

    __slots__ = ("arguments", "brought", "grid", "kernel", "maps")

    def __init__(self, kernel: Kernel, grid: tuple[int, int, int], arguments: tuple):
        self.kernel, self.grid, self.arguments = kernel, grid, arguments
        # What each call fills in: place, name, bytes to add, and how the value gets its type.
        self.brought = tuple(
            (place, *(value if isinstance(value, At) else (value, 0)), convert)
            for place, (convert, value) in enumerate(zip(kernel.converters, arguments, strict=True))
            if isinstance(value, (str, At)))
        self.maps = tuple((place, value) for place, value in enumerate(arguments) if isinstance(value, MapAt))

    @classmethod
    def of(cls, kernel: Kernel, grid: int | tuple[int, ...], *arguments: Any) -> Launch:
        """Convert the numbers once, here; names (text) stay."""
        x, y, z = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
        converted = tuple(value if isinstance(value, (str, At, MapAt)) else convert(value)
                          for convert, value in zip(kernel.converters, arguments, strict=True))
        return cls(kernel, (x, y, z), converted)

    def run(self, call: Any, values: dict[str, Any]) -> None:
        """Launch for one call."""
        filled = list(self.arguments)
        for place, name, offset, convert in self.brought:
            value = values[name]
            filled[place] = convert(value + offset) if offset else convert(value)
        memory = call.memory
        for place, (at, boxes) in self.maps:
            address = call.device.maps.place(values[at.name] + at.offset, boxes, call.stream)
            filled[place] = self.kernel.converters[place](address)
            memory = [*memory, (address, BYTES)]
        call.device.launch(self.kernel, self.grid, filled, call.stream, memory)


class Plan(NamedTuple):
    """The launches of a problem, in order, and the workspace they need (the value named "workspace")."""

    launches: tuple[Launch, ...]
    workspace_bytes: int = 0

    def serve(self, run: Any, pointers: dict[str, int], alpha: Scalar = ZERO, beta: Scalar = ZERO,
              conjugate_alpha: bool = False) -> None:
        """Launch everything, as all that a call comes to: it depends on nothing but these addresses and scalars.

        So a later call of the same form needs only this again (see repeats.py).
        """
        given = scalars.values(alpha, beta, conjugate_alpha)
        self.run(run, {**pointers, **given})
        if run.recorder is not None:
            run.recorder.serve(run, self, pointers, given, alpha, beta)

    def run(self, call: Any, values: dict[str, Any]) -> None:
        """Launch everything for one call; values: by name, addresses and scalars."""
        call.plans_run += 1
        if self.workspace_bytes:
            with call.workspace(self.workspace_bytes) as address:
                for launch in self.launches:
                    launch.run(call, {**values, "workspace": address})
        else:
            for launch in self.launches:
                launch.run(call, values)
