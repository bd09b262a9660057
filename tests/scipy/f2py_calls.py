"""Random calls of every function of scipy.linalg.blas, over all keywords, with arguments in every form f2py takes.

Values are small integers (complex numbers of them) and triangular matrices have powers of two on their diagonals, so
that all results but those of nrm2 and rotg are exact, whatever the order of operations.
"""

from typing import Any

import numpy as np


class Draw:
    """One random call: `arguments` holds it by parameter name. hermitian: the matrix that is updated is Hermitian."""

    def __init__(self, function: Any, seed: int):
        self.rng = np.random.default_rng(seed)
        self.function, self.dtype = function, function.dtype
        self.arguments: dict[str, Any] = {}
        BUILDERS[function.generic.__name__.strip("_")](self)

    def call(self) -> tuple[list, dict]:
        """The arguments, some of them by position."""
        names = list(self.function.__signature__.parameters)
        leading = 0
        while leading < len(names) and names[leading] in self.arguments:
            leading += 1
        by_position = names[:self.rng.integers(leading + 1)]
        return ([self.arguments[name] for name in by_position],
                {name: value for name, value in self.arguments.items() if name not in by_position})

    def chance(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def pick(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def size(self) -> int:
        return int(self.rng.integers(1, 7))

    def values(self, shape: Any, most: int = 3) -> np.ndarray:
        found = self.rng.integers(-most, most + 1, shape).astype(np.complex128)
        if self.dtype.kind == "c":
            found += 1j * self.rng.integers(-most, most + 1, shape)
        return found if self.dtype.kind == "c" else found.real

    def number(self, real: bool = False) -> Any:
        value = self.values(())[()]
        value = value.real if real else value
        return self.pick(value, value.item(), self.dtype.type(value.real), int(value.real), [value], np.array([value]))

    def optional(self, name: str, *values: Any) -> Any:
        """A keyword that is left out, or None, as often as it is given; the value that counts."""
        default = self.function.__signature__.parameters[name].default
        if self.chance():
            self.arguments[name] = self.pick(*values)
            return self.arguments[name]
        if self.chance(0.1):
            self.arguments[name] = None
        return default

    def dressed(self, values: np.ndarray) -> Any:
        """Values in one of the forms that f2py takes an array in."""
        kind = self.rng.integers(8)
        typed = values.astype(self.dtype)
        if kind == 0:
            return values.tolist()
        if kind == 1:  # another type; real where that says all
            real = values.real.copy() if not values.imag.any() else values
            return real.astype(self.pick("i8", "f4", "i2")) if real.dtype.kind == "f" else real.astype("c16")
        if kind == 2:  # a view with steps
            room = np.zeros([2 * extent + 1 for extent in values.shape], self.dtype)
            view = room[tuple(slice(1, None, 2) for _ in values.shape)]
            view[...] = typed
            return view
        if kind == 3:  # columns of a larger matrix
            room = np.zeros([extent + 2 for extent in values.shape], self.dtype, order="F")
            view = room[tuple(slice(1, -1) for _ in values.shape)]
            view[...] = typed
            return view
        if kind == 4:
            return typed.astype(self.dtype.newbyteorder())
        if kind == 5 and values.ndim == 1:
            return typed[:, None]
        return np.array(typed, order=self.pick("C", "F"))

    def vector(self, name: str, count: int, default_count: bool = False) -> None:
        """A vector and its offset and increment. default_count: it is as long as its n says by default."""
        step = self.optional(f"inc{name}", 1, -1, 2, -2, 3)
        offset = self.optional(f"off{name}", 0, 1, 2)
        extra = 0 if default_count else self.pick(0, 0, 1, 2)
        self.arguments[name] = self.dressed(self.values(offset + max(count - 1, 0) * abs(step) + 1 + extra))

    def overwrites(self, *names: str) -> None:
        for name in names:
            if self.chance():
                self.arguments[f"overwrite_{name}"] = self.pick(0, 1, True)

    def triangle(self, order: int) -> np.ndarray:
        """A square matrix whose triangles have inverses of few digits."""
        found = self.values((order, order), most=1)
        found[np.diag_indices(order)] = self.rng.choice([1, -1, 2, -2], order)
        if self.dtype.kind == "c":
            found[np.diag_indices(order)] *= self.rng.choice([1, 1j], order)
        return found

    def hermitian(self, order: int) -> np.ndarray:
        found = self.values((order, order))
        found[np.diag_indices(order)] = found.diagonal().real
        return found


def _first(draw: Draw, *names: str) -> None:
    """Numbers that stand before the arrays."""
    for name in names:
        draw.arguments[name] = draw.number()


def _pair(draw: Draw) -> None:
    count = draw.pick(0, 1, 2, 3, 4, 5, 6)
    draw.vector("x", count)
    draw.vector("y", count)
    draw.arguments["n"] = draw.pick(count, float(count), np.int32(count))


def _defaults(draw: Draw) -> None:
    """n by default, which x decides."""
    step = draw.optional("incx", 1, 2, -2)
    offset = draw.optional("offx", 0, 1)
    draw.arguments["x"] = draw.dressed(draw.values(int(draw.rng.integers(offset + 1, 9))))
    if "incy" in draw.function.__signature__.parameters:
        draw.arguments["y"] = draw.dressed(draw.values(9))
    if draw.arguments.get("incx") is not None and step != 1 and draw.function.generic.__name__ == "_nrm2":
        draw.arguments["incx"] = abs(step)


def _vectors(draw: Draw) -> None:
    if draw.chance(0.3):
        _defaults(draw)
    else:
        _pair(draw)


def _axpy(draw: Draw) -> None:
    _vectors(draw)
    draw.optional("a", draw.number())


def _one(draw: Draw) -> None:
    if draw.chance(0.3):
        return _defaults(draw)
    count = draw.pick(0, 1, 2, 3, 6)
    draw.vector("x", count)
    draw.arguments["n"] = count
    if draw.function.generic.__name__ == "_nrm2" and draw.arguments.get("incx"):
        draw.arguments["incx"] = abs(draw.arguments["incx"])


def _scal(draw: Draw) -> None:
    draw.arguments["a"] = draw.number()
    _one(draw)


def _scal_real(draw: Draw) -> None:
    draw.arguments["a"] = draw.number(real=True)
    _one(draw)
    draw.overwrites("x")


def _rot(draw: Draw) -> None:
    _vectors(draw)
    draw.arguments["c"], draw.arguments["s"] = draw.number(real=True), draw.number(real=True)
    draw.overwrites("x", "y")


def _rotm(draw: Draw) -> None:
    _vectors(draw)
    draw.arguments["param"] = draw.dressed(np.r_[draw.pick(-2.0, -1.0, 0.0, 1.0), draw.values(4)])
    draw.overwrites("x", "y")


def _rotg(draw: Draw) -> None:
    _first(draw, "a", "b")


def _rotmg(draw: Draw) -> None:
    for name in ("d1", "d2", "x1", "y1"):
        draw.arguments[name] = float(draw.pick(1, 2, 4, 8))


def _result(draw: Draw, name: str, values: np.ndarray) -> None:
    """A result that may be given, with its overwrite flag."""
    if draw.chance(0.7):
        draw.arguments[name] = draw.dressed(values)
    elif draw.chance(0.3):
        draw.arguments[name] = None
    draw.overwrites(name)


def _y(draw: Draw, count: int) -> None:
    if draw.chance(0.7):
        draw.vector("y", count)
    else:
        draw.optional("incy", 1, 2, -2)
        draw.optional("offy", 0, 2)
    draw.overwrites("y")
    draw.optional("beta", draw.number(), 0, 1)


def _gemv(draw: Draw) -> None:
    m, n = draw.size(), draw.size()
    rows, columns = (n, m) if draw.optional("trans", 0, 1, 2) else (m, n)
    _first(draw, "alpha")
    draw.arguments["a"] = draw.dressed(draw.values((m, n)))
    draw.vector("x", columns)
    _y(draw, rows)


def _gbmv(draw: Draw) -> None:
    kl, ku = int(draw.rng.integers(3)), int(draw.rng.integers(3))
    m, n = kl + ku + draw.size(), draw.size()
    rows, columns = (n, m) if draw.optional("trans", 0, 1, 2) else (m, n)
    _first(draw, "alpha")
    draw.arguments.update(m=m, n=n, kl=kl, ku=ku, a=draw.dressed(draw.values((kl + ku + 1 + draw.pick(0, 0, 2), n))))
    draw.vector("x", columns)
    _y(draw, rows)


def _symv(draw: Draw) -> None:
    n = draw.size()
    _first(draw, "alpha")
    draw.optional("lower", 0, 1, True)
    draw.arguments["a"] = draw.dressed(draw.values((n, n)))
    draw.vector("x", n)
    _y(draw, n)


def _sbmv(draw: Draw) -> None:
    n, k = draw.size(), int(draw.rng.integers(4))
    _first(draw, "alpha")
    draw.optional("lower", 0, 1, True)
    draw.arguments.update(k=k, a=draw.dressed(draw.values((k + 1 + draw.pick(0, 0, 1), n))))
    draw.vector("x", n)
    _y(draw, n)


def _spmv(draw: Draw) -> None:
    n = draw.size()
    _first(draw, "alpha")
    draw.optional("lower", 0, 1, True)
    draw.arguments.update(n=n, ap=draw.dressed(draw.values(n * (n + 1) // 2 + draw.pick(0, 0, 2))))
    draw.vector("x", n)
    _y(draw, n)


def _flags(draw: Draw, trans: str = "trans") -> None:
    draw.optional("lower", 0, 1, True)
    draw.optional(trans, 0, 1, 2)
    draw.optional("diag", 0, 1)


def _trmv(draw: Draw) -> None:
    n = draw.size()
    _flags(draw)
    draw.arguments["a"] = draw.dressed(draw.triangle(n))
    draw.vector("x", n)
    draw.overwrites("x")


def _tbmv(draw: Draw) -> None:
    n, k = draw.size(), int(draw.rng.integers(4))
    lower = draw.optional("lower", 0, 1)
    draw.optional("trans", 0, 1, 2)
    draw.optional("diag", 0, 1)
    band = draw.values((k + 1 + draw.pick(0, 0, 1), n), most=1)
    band[0 if lower else k] = draw.triangle(n).diagonal()
    draw.arguments.update(k=k, a=draw.dressed(band))
    draw.vector("x", n)
    draw.overwrites("x")


def _tpmv(draw: Draw) -> None:
    n = draw.size()
    lower = draw.optional("lower", 0, 1)
    draw.optional("trans", 0, 1, 2)
    draw.optional("diag", 0, 1)
    full = draw.triangle(n)
    columns = [full[j:, j] if lower else full[:j + 1, j] for j in range(n)]
    draw.arguments.update(n=n, ap=draw.dressed(np.concatenate([*columns, draw.values(draw.pick(0, 2))])))
    draw.vector("x", n)
    draw.overwrites("x")


def _ger(draw: Draw) -> None:
    m, n = draw.size(), draw.size()
    _first(draw, "alpha")
    draw.arguments.update(x=draw.dressed(draw.values(m)), y=draw.dressed(draw.values(n)))
    draw.optional("incx", 1, -1)
    draw.optional("incy", 1, -1)
    _result(draw, "a", draw.values((m, n)))


def _rank(draw: Draw, *vectors: str) -> None:
    n = draw.size()
    _first(draw, "alpha")
    for name in vectors:
        draw.vector(name, n)
    if draw.chance(0.8) or "a" in draw.arguments:
        draw.arguments["n"] = n
        _result(draw, "a", draw.hermitian(n))
    draw.optional("lower", 0, 1, True)


def _syr(draw: Draw) -> None:
    _rank(draw, "x")


def _syr2(draw: Draw) -> None:
    _rank(draw, "x", "y")


def _packed_rank(draw: Draw, *vectors: str) -> None:
    n = draw.size()
    lower = draw.optional("lower", 0, 1)
    full = draw.hermitian(n)
    columns = [full[j:, j] if lower else full[:j + 1, j] for j in range(n)]
    draw.arguments.update(n=n, alpha=draw.number(real=draw.function.generic.__name__ == "_hpr"),
                          ap=draw.dressed(np.concatenate([*columns, draw.values(draw.pick(0, 2))])))
    for name in vectors:
        draw.vector(name, n)
    draw.overwrites("ap")


def _spr(draw: Draw) -> None:
    _packed_rank(draw, "x")
    if draw.dtype.kind == "c" and draw.arguments.get("incx"):  # OpenBLAS reads before x when the increment is negative
        draw.arguments["incx"] = abs(draw.arguments["incx"])


def _spr2(draw: Draw) -> None:
    _packed_rank(draw, "x", "y")


def _gemm(draw: Draw) -> None:
    m, n, k = draw.size(), draw.size(), draw.size()
    _first(draw, "alpha")
    draw.arguments["a"] = draw.dressed(draw.values((k, m) if draw.optional("trans_a", 0, 1, 2) else (m, k)))
    draw.arguments["b"] = draw.dressed(draw.values((n, k) if draw.optional("trans_b", 0, 1, 2) else (k, n)))
    draw.optional("beta", draw.number(), 0, 1)
    _result(draw, "c", draw.values((m, n)))


def _symm(draw: Draw) -> None:
    m, n = draw.size(), draw.size()
    order = n if draw.optional("side", 0, 1) else m
    _first(draw, "alpha")
    draw.optional("lower", 0, 1, True)
    draw.arguments.update(a=draw.dressed(draw.values((order, order))), b=draw.dressed(draw.values((m, n))))
    draw.optional("beta", draw.number(), 0, 1)
    _result(draw, "c", draw.values((m, n)))


def _update(draw: Draw, *operands: str) -> None:
    n, k = draw.size(), draw.size()
    hermitian = draw.function.generic.__name__.startswith("_her")
    # What reference BLAS takes: T is no op of a Hermitian update, C none of a complex symmetric one.
    trans = draw.optional("trans", 0, *((2,) if hermitian else (1,) if draw.dtype.kind == "c" else (1, 2)))
    _first(draw, "alpha")
    for name in operands:
        draw.arguments[name] = draw.dressed(draw.values((k, n) if trans else (n, k)))
    draw.optional("lower", 0, 1, True)
    draw.optional("beta", draw.number(), 0, 1)
    _result(draw, "c", draw.hermitian(n))


def _syrk(draw: Draw) -> None:
    _update(draw, "a")


def _syr2k(draw: Draw) -> None:
    _update(draw, "a", "b")


def _triangular(draw: Draw, room: int) -> None:
    m, n = draw.size(), draw.size()
    order = n if draw.optional("side", 0, 1) else m
    _flags(draw, "trans_a")
    _first(draw, "alpha")
    draw.arguments.update(a=draw.dressed(draw.triangle(order + room)), b=draw.dressed(draw.values((m, n))))
    draw.overwrites("b")


def _trmm(draw: Draw) -> None:
    _triangular(draw, draw.pick(0, 0, 2))


def _trsm(draw: Draw) -> None:
    _triangular(draw, 0)


BUILDERS = {
    "axpy": _axpy, "copy": _vectors, "swap": _vectors, "scal": _scal, "scal_real": _scal_real, "dot": _vectors,
    "dotu": _vectors, "dotc": _vectors, "nrm2": _one, "asum": _one, "iamax": _one, "rot": _rot, "rotm": _rotm,
    "rotg": _rotg, "rotmg": _rotmg, "gemv": _gemv, "gbmv": _gbmv, "symv": _symv, "hemv": _symv, "sbmv": _sbmv,
    "hbmv": _sbmv, "spmv": _spmv, "hpmv": _spmv, "trmv": _trmv, "trsv": _trmv, "tbmv": _tbmv, "tbsv": _tbmv,
    "tpmv": _tpmv, "tpsv": _tpmv, "ger": _ger, "geru": _ger, "gerc": _ger, "syr": _syr, "her": _syr, "syr2": _syr2,
    "her2": _syr2, "spr": _spr, "hpr": _spr, "spr2": _spr2, "hpr2": _spr2, "gemm": _gemm, "symm": _symm,
    "hemm": _symm, "syrk": _syrk, "herk": _syrk, "syr2k": _syr2k, "her2k": _syr2k, "trmm": _trmm, "trsm": _trsm,
}
