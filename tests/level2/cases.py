"""Every Level 2 routine as a row: its name, what it does, and in which storage its matrix is."""

from dataclasses import dataclass

import numpy as np

from gpublas.precision import PRECISIONS, Precision

_BY_PREFIX = {precision.prefix: precision for precision in PRECISIONS}
_MATRIX = {"full": "A", "band": "AB", "packed": "AP"}


@dataclass(frozen=True)
class Case:
    """One routine.

    name: what users call. operation: the generic name. family: "general", "symmetric" (a product with a matrix of which
    one triangle is stored), "product", "solve" (with a triangle), "outer" (an update of a whole matrix), "update" (of
    one triangle). storage: "full", "band", "packed". conjugate: Hermitian, or gerc. vectors: in a family "update", how
    many there are. precision: of everything.
    """

    name: str
    operation: str
    family: str
    storage: str
    conjugate: bool
    vectors: int
    precision: Precision

    def __str__(self) -> str:
        return self.name

    @property
    def dtype(self) -> np.dtype:
        return self.precision.dtype

    @property
    def matrix(self) -> str:
        """The name of the matrix argument."""
        return _MATRIX[self.storage]

    @property
    def real_alpha(self) -> bool:
        """Whether alpha is real though the vectors are complex: a Hermitian update by one vector."""
        return self.family == "update" and self.conjugate and self.vectors == 1

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names in order."""
        a = self.matrix
        text = {"general": f"op m kl ku alpha {a} x beta y" if self.storage == "band" else f"op alpha {a} x beta y",
                "symmetric": f"uplo alpha {a} x beta y", "product": f"uplo op diag {a} x",
                "solve": f"uplo op diag {a} x", "outer": f"alpha x y {a}",
                "update": f"uplo alpha x {a}" if self.vectors == 1 else f"uplo alpha x y {a}"}[self.family]
        return tuple(text.split())


def _rows(family, storage, operation, prefixes, conjugate=False, vectors=1):
    for prefix in prefixes:
        yield Case(prefix + operation, operation, family, storage, conjugate, vectors, _BY_PREFIX[prefix])


CASES = (
    *_rows("general", "full", "gemv", "sdcz"),
    *_rows("general", "band", "gbmv", "sdcz"),
    *_rows("symmetric", "full", "symv", "sdcz"),
    *_rows("symmetric", "full", "hemv", "cz", True),
    *_rows("symmetric", "band", "sbmv", "sd"),
    *_rows("symmetric", "band", "hbmv", "cz", True),
    *_rows("symmetric", "packed", "spmv", "sdcz"),
    *_rows("symmetric", "packed", "hpmv", "cz", True),
    *_rows("product", "full", "trmv", "sdcz"),
    *_rows("product", "band", "tbmv", "sdcz"),
    *_rows("product", "packed", "tpmv", "sdcz"),
    *_rows("solve", "full", "trsv", "sdcz"),
    *_rows("solve", "band", "tbsv", "sdcz"),
    *_rows("solve", "packed", "tpsv", "sdcz"),
    *_rows("outer", "full", "ger", "sd"),
    *_rows("outer", "full", "geru", "cz"),
    *_rows("outer", "full", "gerc", "cz", True),
    *_rows("update", "full", "syr", "sdcz"),
    *_rows("update", "full", "her", "cz", True),
    *_rows("update", "packed", "spr", "sdcz"),
    *_rows("update", "packed", "hpr", "cz", True),
    *_rows("update", "full", "syr2", "sdcz", vectors=2),
    *_rows("update", "full", "her2", "cz", True, 2),
    *_rows("update", "packed", "spr2", "sd", vectors=2),
    *_rows("update", "packed", "hpr2", "cz", True, 2),
)
BY_NAME = {case.name: case for case in CASES}
GENERIC = tuple(dict.fromkeys(case.operation for case in CASES))


def of_family(*families):
    """The cases of some families."""
    return [case for case in CASES if case.family in families]


def flag_choices(case):
    """All combinations of the characters that the routine takes."""
    ops, triangles = [{"op": op} for op in "NTC"], [{"uplo": uplo} for uplo in "UL"]
    if case.family == "general":
        return ops
    if case.family in ("product", "solve"):
        return [{**uplo, **op, "diag": diag} for uplo in triangles for op in ops for diag in "NU"]
    return [{}] if case.family == "outer" else triangles


def scalar_choices(case):
    """alpha and beta: 0, 1 and general ones."""
    alpha, beta = 0.75, -1.25
    if case.precision.is_complex:
        alpha, beta = (0.75 if case.real_alpha else 0.75 - 0.5j), -1.25 + 0.25j
    if "beta" in case.arguments:
        return [{"alpha": a, "beta": b} for a, b in ((0, 0), (1, 0), (0, 1), (1, 1), (0, beta), (alpha, beta))]
    return [{"alpha": a} for a in (0, 1, alpha)] if "alpha" in case.arguments else [{}]
