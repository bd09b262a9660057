"""The character flags of BLAS: operation, triangle, diagonal, side."""

from __future__ import annotations

from enum import Enum


class _Flag(Enum):
    """A flag is its upper-case character; parsing takes either case, as reference BLAS does."""

    @classmethod
    def parse(cls, value):
        """The flag for a character (either case) or for a flag itself; None when it is neither."""
        if type(value) is str:
            return cls.__members__.get(value) or cls.__members__.get(value.upper())
        return value if isinstance(value, cls) else None

    @classmethod
    def wanted(cls) -> str:
        """How an error message lists the legal characters."""
        return " or ".join(repr(flag.value) for flag in cls)

    def __str__(self) -> str:
        return self.value


class Op(_Flag):
    """What is done to a matrix before it is used: nothing, transpose, conjugate transpose."""

    N = "N"
    T = "T"
    C = "C"

    @property
    def transposes(self) -> bool:
        return self is not Op.N

    @property
    def conjugates(self) -> bool:
        return self is Op.C


class UpLo(_Flag):
    """Which triangle of a matrix is referenced."""

    U = "U"
    L = "L"

    @property
    def flipped(self) -> UpLo:
        return UpLo.L if self is UpLo.U else UpLo.U


class Diag(_Flag):
    """Whether a triangular matrix has ones on its diagonal, which are then not read."""

    N = "N"
    U = "U"


class Side(_Flag):
    """On which side of the product the structured matrix stands."""

    L = "L"
    R = "R"

    @property
    def flipped(self) -> Side:
        return Side.R if self is Side.L else Side.L
