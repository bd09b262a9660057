"""The executor's tensor maps: 128 bytes that say what a tensor copy (TMA) brings, as cuTensorMapEncodeTiled makes them.

What a GPU's own maps look like is not documented, so a map is made by the device that it is for. Rules and names are
those of the CUDA driver API, "Tensor Map Object Management".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BYTES, ALIGNMENT = 128, 64
MAGIC = 0x70616D74  # "tmap"
WORDS = BYTES // 8
HEADER, ADDRESS, EXTENTS, STRIDES, BOX = 0, 1, 2, 7, 11  # places of 64-bit words: 5 extents, 4 strides, 5 box extents
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}  # bytes of a swizzled row: how the map, and a wgmma descriptor, say it
FILL_NAN = 0x10  # beside the swizzle
STEP = 16  # bits of a box's extent in its word, before the step between elements
_MOST_BOX, _MOST_STEP, _CHUNK = 256, 8, 16


def encode(address: int, itemsize: int, extents: Sequence[int], strides: Sequence[int], box: Sequence[int],
           swizzle: int = 0, steps: Sequence[int] | None = None, fill_nan: bool = False) -> np.ndarray:
    """The map of a tensor, as 128 bytes, which a kernel wants at a multiple of 64 bytes.

    address: of its first element. extents: along each axis, the fastest first, of which there are 1 to 5. strides:
    bytes from one element to the next along the axes after the first. box: extents of what one copy spans; elements
    outside the tensor become zero, or NaN with fill_nan, and are left out on the way back. swizzle: bytes of rows whose
    16-byte chunks are exchanged: 0 (none), 32, 64 or 128. steps: along each axis, how many elements of the tensor on
    the next one of the box is (the driver's element strides), by default 1; that of the first axis is ignored.
    ValueError says which of the driver's rules is broken.
    """
    rank = len(extents)
    steps = [1] * rank if steps is None else list(steps)
    if not 1 <= rank <= 5 or len(strides) != rank - 1 or len(box) != rank or len(steps) != rank:
        raise ValueError(f"{rank} extents, {len(strides)} strides, {len(box)} of a box, {len(steps)} steps: "
                         "wanted n, n - 1, n, n up to 5")
    if itemsize not in (1, 2, 4, 8):
        raise ValueError(f"elements of {itemsize} bytes, wanted 1, 2, 4 or 8")
    if address % _CHUNK:
        raise ValueError(f"address {address:#x} is no multiple of {_CHUNK}")
    if not all(1 <= extent <= 2**32 for extent in extents):
        raise ValueError(f"extents {tuple(extents)}, wanted 1 to 2**32")
    if not all(0 < stride < 2**40 and stride % _CHUNK == 0 for stride in strides):
        raise ValueError(f"strides {tuple(strides)}, wanted multiples of {_CHUNK} below 2**40")
    if not all(1 <= extent <= _MOST_BOX for extent in box):
        raise ValueError(f"box {tuple(box)}, wanted 1 to {_MOST_BOX}")
    if not all(1 <= step <= _MOST_STEP for step in steps):
        raise ValueError(f"steps {tuple(steps)}, wanted 1 to {_MOST_STEP}")
    if swizzle not in SWIZZLES:
        raise ValueError(f"swizzle {swizzle}, wanted 0, 32, 64 or 128")
    if fill_nan and itemsize == 1:
        raise ValueError("elements of 1 byte have no NaN to fill with")
    if box[0] * itemsize % _CHUNK or (swizzle and box[0] * itemsize > swizzle):
        raise ValueError(f"rows of {box[0] * itemsize} bytes in a box, wanted multiples of {_CHUNK}"
                         + (f" up to {swizzle}" if swizzle else ""))
    words = np.zeros(WORDS, np.uint64)
    words[HEADER] = MAGIC << 32 | rank << 16 | itemsize << 8 | SWIZZLES[swizzle] | (FILL_NAN if fill_nan else 0)
    words[ADDRESS] = address
    words[EXTENTS:EXTENTS + rank], words[STRIDES:STRIDES + rank - 1] = extents, strides
    steps[0] = 1
    words[BOX:BOX + rank] = [-(-extent // step) | step << STEP for extent, step in zip(box, steps, strict=True)]
    return words.view(np.uint8)
