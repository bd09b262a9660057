"""Tensor maps: 128 bytes on a device that say what a copy engine brings at a time. The device makes them; here they are
kept, since making and uploading one costs more than a launch."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

BYTES = 128
_SLOTS = 1024  # maps that a device keeps


class Boxes(NamedTuple):
    """What a map says beside the address: element size, extents along each axis (the fastest first), strides in bytes
    along the axes after the first, and the extents of a box. Rows of a box are swizzled in 128 bytes."""

    itemsize: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]


class TensorMaps:
    """A device's maps, by address and form. A slot is used anew only when nothing that runs can still read it."""

    def __init__(self, device: Any):
        self._device = device
        self._lock = threading.Lock()
        self._places: dict[tuple[int, Boxes], int] = {}
        self._room: Any = None

    def place(self, address: int, boxes: Boxes, stream: Any) -> int:
        """The device address of the map of a tensor at an address."""
        with self._lock:
            found = self._places.get((address, boxes))
            if found is None:
                if self._room is None:
                    self._room = self._device.allocate(_SLOTS * BYTES, stream)
                if len(self._places) == _SLOTS:
                    self._device.drain()
                    self._places.clear()
                found = self._room.pointer + len(self._places) * BYTES
                self._device.upload(np.asarray(self._device.encode_map(address, boxes)), found, stream)
                self._places[address, boxes] = found
            return found
