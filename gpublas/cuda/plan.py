"""Plans: what a problem comes down to, made once and run often."""

from __future__ import annotations

from typing import Any, NamedTuple

from .compile import Kernel


class At(NamedTuple):
    """An address that each call brings, plus a number of bytes that the plan knows."""

    name: str
    offset: int


class Launch(NamedTuple):
    """One kernel launch: its grid, and for each parameter a number of the right type, or the name of a value that
    each call brings (an address, alpha ...), or an At."""

    kernel: Kernel
    grid: tuple[int, int, int]
    arguments: tuple

    @classmethod
    def of(cls, kernel: Kernel, grid: int | tuple[int, ...], *arguments: Any) -> Launch:
        """Convert the numbers once, here; names (text) stay."""
        x, y, z = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
        converted = tuple(value if isinstance(value, (str, At)) else convert(value)
                          for convert, value in zip(kernel.converters, arguments, strict=True))
        return cls(kernel, (x, y, z), converted)


class Plan(NamedTuple):
    """The launches of a problem, in order, and the workspace they need (the value named "workspace")."""

    launches: tuple[Launch, ...]
    workspace_bytes: int = 0

    def run(self, call: Any, values: dict[str, Any]) -> None:
        """Launch everything for one call; values: by name, addresses and scalars."""
        if self.workspace_bytes:
            with call.workspace(self.workspace_bytes) as address:
                self._launch(call, {**values, "workspace": address})
        else:
            self._launch(call, values)

    def _launch(self, call, values):
        for kernel, grid, arguments in self.launches:
            call.device.launch(kernel, grid, tuple(
                convert(values[value]) if type(value) is str
                else values[value.name] + value.offset if type(value) is At else value
                for convert, value in zip(kernel.converters, arguments, strict=True)), call.stream, call.memory)
