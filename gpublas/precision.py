"""The four precisions of BLAS, and which of them a routine's name says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True, eq=False)
class Precision:
    """One element type: its BLAS prefix letter, dtype, and the dtype of its real part.

    There are four objects, S, D, C, Z, compared and hashed by identity: they stand in the keys of plans.
    """

    prefix: str
    dtype: np.dtype
    real: np.dtype

    @property
    def is_complex(self) -> bool:
        return self.dtype != self.real

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number."""
        return float(np.finfo(self.real).eps)

    def __repr__(self) -> str:
        return f"Precision({self.prefix})"


def _precision(prefix: str, dtype: type, real: type) -> Precision:
    return Precision(prefix, np.dtype(dtype), np.dtype(real))


S = _precision("s", np.float32, np.float32)
D = _precision("d", np.float64, np.float64)
C = _precision("c", np.complex64, np.float32)
Z = _precision("z", np.complex128, np.float64)

PRECISIONS = (S, D, C, Z)
BY_DTYPE = {precision.dtype: precision for precision in PRECISIONS}


class Routine(NamedTuple):
    """A public routine as its generic function sees it: the name users call, and the precision that name says.

    precision is None for a name that picks it by the dtype of its first array. recorder: see repeats.py.
    """

    name: str
    precision: Precision | None
    recorder: Any = None
