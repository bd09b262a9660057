"""Oracles of Level 1 in extended precision, from the definitions: independent of gpublas and of any BLAS.

Each takes the arguments of the routine by name and gives, for every output and for the result, (exact, bound): the
error that rounding in the routine's precision allows (N. Higham, "Accuracy and Stability of Numerical Algorithms",
chapters 3 and 4).
"""

import numpy as np

_WIDE = {"f": np.longdouble, "c": np.clongdouble, "i": np.longdouble}
EPS64 = np.finfo(np.float64).eps


def wide(values):
    values = np.asarray(values)
    return values.astype(_WIDE[values.dtype.kind])


def _rounding(dtype):
    """eps, and what underflow may add to an operation; complex arithmetic has four real operations for one."""
    info = np.finfo(dtype)
    factor = 4 if np.dtype(dtype).kind == "c" else 1
    return factor * float(info.eps), factor * float(info.smallest_subnormal)


def _combination(dtype, *terms):
    """Sum of (scalar, vector) and its bound; what a zero multiplies is not read."""
    eps, least = _rounding(dtype)
    shape = terms[0][1].shape
    total = np.zeros(shape, _WIDE[np.dtype(dtype).kind])
    size = np.zeros(shape, np.longdouble)
    for scalar, vector in terms:
        if scalar != 0:
            total = total + wide(scalar) * wide(vector)
            size = size + abs(scalar) * np.abs(wide(vector))
    return total, 2 * (eps * size + least)


def axpy(dtype, alpha, x, y):
    return {"y": (wide(y), 0) if alpha == 0 else _combination(dtype, (alpha, x), (1, y))}


def axpby(dtype, alpha, x, beta, y):
    return {"y": _combination(dtype, (alpha, x), (beta, y))}


def scal(dtype, alpha, x):
    return {"x": _combination(dtype, (alpha, x))}


def copy(dtype, x, y):
    return {"y": (wide(x), 0)}


def swap(dtype, x, y):
    return {"x": (wide(y), 0), "y": (wide(x), 0)}


def _sum(dtype, products, result=None):
    """A sum of n terms. Single precision is added up in double and rounded once."""
    n = len(products)
    exact, size = products.sum(), np.abs(products).sum()
    factor = 4 if np.dtype(dtype).kind == "c" else 1
    bound = factor * n * EPS64 * size
    least = float(np.finfo(dtype).smallest_subnormal)
    if np.finfo(dtype).eps > EPS64 and result != np.float64:
        bound = bound + np.finfo(dtype).eps * abs(exact)
    return {"result": (exact, bound + factor * (n + 1) * least)}


def dot(dtype, x, y):
    return _sum(dtype, wide(x) * wide(y))


dotu = dot


def dotc(dtype, x, y):
    return _sum(dtype, wide(x).conj() * wide(y))


def dsdot(dtype, x, y):
    return _sum(dtype, wide(x) * wide(y), np.float64)


def sdsdot(dtype, sb, x, y):
    return _sum(dtype, np.append(wide(x) * wide(y), np.longdouble(np.float32(sb))))


def _parts(x):
    """Real and imaginary parts side by side."""
    x = wide(x)
    return np.concatenate([x.real, x.imag]) if x.dtype.kind == "c" else x


def asum(dtype, x):
    return _sum(np.finfo(dtype).dtype, np.abs(_parts(x)))


def nrm2(dtype, x):
    parts = _parts(x)
    largest = np.abs(parts).max(initial=0)
    scaled = parts / largest if largest > 0 and np.isfinite(largest) else parts
    exact = np.sqrt((scaled**2).sum()) * (largest if scaled is not parts else 1)
    real = np.finfo(dtype)
    steps = EPS64 * (len(parts) + 2) + (real.eps if real.eps > EPS64 else 0)
    return {"result": (exact, steps * exact + float(real.smallest_subnormal))}


def magnitudes(x):
    """|Re| + |Im| in x's own precision."""
    x = np.asarray(x)
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _first(x, better):
    place, best = -1, None
    for i, value in enumerate(magnitudes(x)):
        if np.isnan(value):
            return i
        if best is None or better(value, best):
            place, best = i, value
    return place


def iamax(dtype, x):
    return {"result": (_first(x, lambda value, best: value > best), 0)}


def iamin(dtype, x):
    return {"result": (_first(x, lambda value, best: value < best), 0)}


def rot(dtype, x, y, c, s):
    return {"x": _combination(dtype, (c, x), (s, y)), "y": _combination(dtype, (c, y), (-np.conj(s), x))}


def rotm(dtype, x, y, param):
    flag, h11, h21, h12, h22 = param
    if flag == -2:
        return {"x": (wide(x), 0), "y": (wide(y), 0)}
    if flag == 0:
        h11 = h22 = 1
    elif flag == 1:
        h12, h21 = 1, -1
    return {"x": _combination(dtype, (h11, x), (h12, y)), "y": _combination(dtype, (h21, x), (h22, y))}
