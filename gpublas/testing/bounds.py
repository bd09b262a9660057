"""Error bounds that tests take their tolerances from (N. Higham, "Accuracy and Stability of Numerical Algorithms",
chapter 3): nobody picks a tolerance by hand."""

from __future__ import annotations

import numpy as np

_COMPLEX_FACTOR = 4  # a complex multiply-add is four real ones, and |z| <= |Re z| + |Im z| <= sqrt(2) |z|


def product_bound(alpha, A, B, beta, C, k: int, dtype: np.dtype) -> np.ndarray:
    """Element by element: (k + 2) eps (|alpha| |A| |B| + |beta| |C|) for alpha A B + beta C of the given dtype.

    A, B, C: arrays of any wider type (op already applied); C may be None when beta is 0. The underflow of a sum of
    k products adds at most (k + 2) times the smallest subnormal.
    """
    info = np.finfo(dtype)
    wide = np.longdouble
    size = abs(alpha) * (np.abs(A).astype(wide) @ np.abs(B).astype(wide))
    if C is not None and beta != 0:
        size = size + abs(beta) * np.abs(C).astype(wide)
    factor = _COMPLEX_FACTOR if np.dtype(dtype).kind == "c" else 1
    return factor * (k + 2) * (float(info.eps) * size + float(info.smallest_subnormal))


def three_product_bound(alpha, A, B, beta, C, k: int, dtype: np.dtype) -> np.ndarray:
    """As product_bound, for a complex product by three real ones (Higham, chapter 23): what |A| |B| is there is S =
    (|Re A| + |Im A|) (|Re B| + |Im B|). The sums of parts round once more each, and the three products, of which none
    exceeds S and two together do not either, are added up with two more roundings.
    """
    left, right = (np.abs(np.real(x).astype(np.longdouble)) + np.abs(np.imag(x)) for x in (A, B))
    return product_bound(alpha, left, right, beta, C, k + 4, dtype)


def assert_within(computed, exact, bound, context: str = "") -> None:
    """|computed - exact| <= bound everywhere, and NaN exactly where it should be."""
    computed, exact = np.asarray(computed), np.asarray(exact)
    assert computed.shape == exact.shape, f"{context}: shape {computed.shape}, wanted {exact.shape}"
    bound = np.broadcast_to(bound, exact.shape)
    misplaced = np.argwhere(np.isnan(computed) != np.isnan(exact))
    assert not len(misplaced), f"{context}: NaN where none should be, or none where one should: {misplaced[:5]}"
    with np.errstate(invalid="ignore"):
        error = np.where((computed == exact) | np.isnan(exact), 0, np.abs(computed - exact))
    excess = np.argwhere(error > bound)
    if len(excess):
        at = max(map(tuple, excess), key=lambda index: error[index])
        raise AssertionError(f"{context}: {len(excess)} elements beyond the bound, worst at {tuple(map(int, at))}: "
                             f"computed {computed[at]}, exact {exact[at]}, error {error[at]}, bound {bound[at]}")
