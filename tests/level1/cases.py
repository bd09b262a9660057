"""Every Level 1 routine as a row: its names, arguments in order, what it writes and returns."""

from dataclasses import dataclass

import numpy as np

from gpublas.precision import PRECISIONS, Precision

_BY_PREFIX = {precision.prefix: precision for precision in PRECISIONS}


@dataclass(frozen=True)
class Case:
    """One routine.

    name: what users call. operation: the generic name, under which reference.py has the oracle. precision: of its
    vectors. arguments: names in order; x and y are vectors. outputs: vectors that are written. result: element type
    of the scalar it returns, or None. real_scalars: alpha or c and s are real though the vectors are complex.
    """

    name: str
    operation: str
    precision: Precision
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    result: np.dtype | None
    real_scalars: bool

    def __str__(self) -> str:
        return self.name


def _rows(operation, names, arguments, outputs="", result=None, real_scalars=False):
    """The cases of an operation; names: "prefix:name" for each type."""
    for entry in names.split():
        prefix, name = entry.split(":")
        precision = _BY_PREFIX[prefix]
        kind = {"same": precision.dtype, "real": precision.real, None: None}.get(result, result)
        yield Case(name, operation, precision, tuple(arguments.split()), tuple(outputs.split()),
                   None if kind is None else np.dtype(kind), real_scalars)


VECTOR_CASES = (
    *_rows("axpy", "s:saxpy d:daxpy c:caxpy z:zaxpy", "alpha x y", "y"),
    *_rows("axpby", "s:saxpby d:daxpby c:caxpby z:zaxpby", "alpha x beta y", "y"),
    *_rows("scal", "s:sscal d:dscal c:cscal z:zscal", "alpha x", "x"),
    *_rows("scal", "c:csscal z:zdscal", "alpha x", "x", real_scalars=True),
    *_rows("copy", "s:scopy d:dcopy c:ccopy z:zcopy", "x y", "y"),
    *_rows("swap", "s:sswap d:dswap c:cswap z:zswap", "x y", "x y"),
    *_rows("dot", "s:sdot d:ddot", "x y", result="same"),
    *_rows("dotu", "c:cdotu z:zdotu", "x y", result="same"),
    *_rows("dotc", "c:cdotc z:zdotc", "x y", result="same"),
    *_rows("dsdot", "s:dsdot", "x y", result=np.float64),
    *_rows("sdsdot", "s:sdsdot", "sb x y", result="same"),
    *_rows("nrm2", "s:snrm2 d:dnrm2 c:scnrm2 z:dznrm2", "x", result="real"),
    *_rows("asum", "s:sasum d:dasum c:scasum z:dzasum", "x", result="real"),
    *_rows("iamax", "s:isamax d:idamax c:icamax z:izamax", "x", result=np.int64),
    *_rows("iamin", "s:isamin d:idamin c:icamin z:izamin", "x", result=np.int64),
    *_rows("rot", "s:srot d:drot c:crot z:zrot", "x y c s", "x y"),
    *_rows("rot", "c:csrot z:zdrot", "x y c s", "x y", real_scalars=True),
    *_rows("rotm", "s:srotm d:drotm", "x y param", "x y"),
)
NUMBER_CASES = (
    *_rows("rotg", "s:srotg d:drotg c:crotg z:zrotg", "a b"),
    *_rows("rotmg", "s:srotmg d:drotmg", "d1 d2 x1 y1"),
)
CASES = VECTOR_CASES + NUMBER_CASES
REDUCTIONS = tuple(case for case in VECTOR_CASES if case.result is not None)
BY_NAME = {case.name: case for case in CASES}
GENERIC = tuple(dict.fromkeys(case.operation for case in CASES if case.operation not in ("dsdot", "sdsdot")))


def scalar_choices(case: Case) -> list[dict]:
    """Values of the scalar arguments to go through: 0, 1 and general ones; flags and general matrices for rotm."""
    general = 0.75, -1.25
    if case.precision.is_complex and not case.real_scalars:
        general = 0.75 - 0.5j, -1.25 + 0.25j
    if "beta" in case.arguments:
        return [{"alpha": alpha, "beta": beta} for alpha in (0, 1, general[0]) for beta in (0, 1, general[1])]
    if "alpha" in case.arguments:
        return [{"alpha": alpha} for alpha in (0, 1, -1, *general)]
    if "c" in case.arguments:
        return [{"c": 0.6, "s": general[0]}, {"c": 0, "s": 1}, {"c": 1, "s": 0}, {"c": 0, "s": 0}]
    if "param" in case.arguments:
        return [{"param": [flag, 0.5, -0.25, 1.5, -2]} for flag in (-2, -1, 0, 1)]
    if "sb" in case.arguments:
        return [{"sb": 0}, {"sb": 1e4}]
    return [{}]
