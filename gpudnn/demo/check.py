"""An independent check of the network: float64 NumPy, written from the definitions, with an error bound.

Every quantity is a pair (value, error): its float64 value, and a bound on how far the network's float32 value may be
from it, element by element. A sum of n products in float32 has an error of at most (n + 4) * eps times the sum of
the absolute products (Higham, "Accuracy and stability of numerical algorithms", 2002, section 3.1), to which the
errors of its operands add. ReLU and max-pooling choose: a choice may differ from float64's only where the values it
chose between are closer than their errors; the backward pass then follows the network's choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .network import Activations, Network


@dataclass(frozen=True)
class Finding:
    """One tensor: its error and bound where it uses most of the bound, and that share."""

    name: str
    error: float
    bound: float
    share: float

    @property
    def passed(self) -> bool:
        return self.share <= 1  # false for NaN


class Bounded:
    """A float64 array and the bound on the error of its float32 counterpart."""

    def __init__(self, value: np.ndarray, error: np.ndarray | float = 0.0):
        self.value = np.asarray(value, np.float64)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)

    def reshape(self, *shape: int) -> Bounded:
        return Bounded(self.value.reshape(*shape), self.error.reshape(*shape))


def product(left: Bounded, right: Bounded, terms: int, eps: float, multiply) -> Bounded:
    """A bilinear map, `terms` products in each sum."""
    a, b = np.abs(left.value), np.abs(right.value)
    size = multiply(a, b)
    inherited = multiply(left.error, b) + multiply(a, right.error) + multiply(left.error, right.error)
    return Bounded(multiply(left.value, right.value), inherited + (terms + 4) * eps * (size + inherited))


def plus(x: Bounded, shift: Bounded, eps: float) -> Bounded:
    """A sum, as of a bias."""
    error = x.error + shift.error
    return Bounded(x.value + shift.value, error + eps * (np.abs(x.value) + np.abs(shift.value) + error))


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """3x3 cross-correlation with a border of zeros."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))
    return np.einsum("nchwij,kcij->nkhw", windows, w, optimize=True)


def convolve_back(dy: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The adjoint of convolve in x: for this padding, a convolution with the flipped, transposed filters."""
    return convolve(dy, w[:, :, ::-1, ::-1].swapaxes(0, 1))


def filter_gradient(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """The adjoint of convolve in w."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,nkhw->kcij", windows, dy, optimize=True)


class WrongChoice(Exception):
    """ReLU or max-pooling chose a value that cannot be the right one."""


def only(x: Bounded, passed: np.ndarray) -> Bounded:
    """x where it passed, else 0."""
    return Bounded(np.where(passed, x.value, 0), np.where(passed, x.error, 0))


def sums(x: Bounded, axes: tuple[int, ...], eps: float) -> Bounded:
    """Sums over axes, as of a bias gradient."""
    count = int(np.prod([x.value.shape[axis] for axis in axes]))
    inherited = x.error.sum(axes)
    return Bounded(x.value.sum(axes), inherited + (count + 2) * eps * (np.abs(x.value).sum(axes) + inherited))


def relu(x: Bounded, chosen: np.ndarray) -> Bounded:
    """x where the network let it pass."""
    if np.any((chosen != (x.value > 0)) & (np.abs(x.value) > x.error)):
        raise WrongChoice("relu passed or stopped a value whose sign is certain")
    return Bounded(np.maximum(x.value, 0), x.error)


def quarters(x: np.ndarray) -> np.ndarray:
    """The four pixels of each 2x2 window, along a last axis."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)


def unquarter(x: np.ndarray) -> np.ndarray:
    """The inverse of quarters."""
    n, c, h, w, _ = x.shape
    return x.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)


def max_pool(x: Bounded, winners: np.ndarray) -> tuple[Bounded, np.ndarray]:
    """(largest value of each 2x2 window, which of the four the network chose)."""
    values, errors = quarters(x.value), quarters(x.error)
    places = quarters(np.broadcast_to(np.arange(x.value[0, 0].size).reshape(x.value.shape[2:]), x.value.shape))
    chosen = places == winners[..., None]
    if not np.all(chosen.sum(-1) == 1):
        raise WrongChoice("max_pool2d chose a pixel outside its window")
    at, top = np.where(chosen, values, 0).sum(-1), values.max(-1)
    if np.any(top - at > np.where(chosen, errors, 0).sum(-1) + errors.max(-1)):
        raise WrongChoice("max_pool2d chose a value that is certainly not the largest")
    return Bounded(top, errors.max(-1)), chosen


def softmax_gradient(logits: Bounded, target: np.ndarray, eps: float) -> tuple[Bounded, Bounded]:
    """(mean cross-entropy, its gradient by the logits)."""
    z = logits.value - logits.value.max(1, keepdims=True)
    exponentials = np.exp(z)
    sums = exponentials.sum(1, keepdims=True)
    p = exponentials / sums
    count, classes = p.shape
    rows = np.arange(count)
    losses = np.log(sums[:, 0]) - z[rows, target]
    # A shift of all logits by at most e changes log-softmax by at most 2e; exp rounds its argument.
    shift = 2 * logits.error.max(1, keepdims=True) + (classes + 3 * np.abs(z).max(1, keepdims=True) + 12) * eps
    gradient = p.copy()
    gradient[rows, target] -= 1
    loss_error = np.mean(shift) + (count + 2) * eps * np.abs(losses).mean()
    return (Bounded(losses.mean(), loss_error),
            Bounded(gradient / count, (p * np.expm1(2 * shift) + 4 * eps * np.abs(gradient)) / count))


def check(network: Network, activations: Activations, gradients: dict[str, np.ndarray], loss: float,
          target: np.ndarray, *, alone: bool) -> list[Finding]:
    """Every output and gradient of one batch against float64.

    alone: each layer is given the network's own float32 operands, so that the bound is that of one operation; else
    float64 runs through the whole network, and bounds grow from layer to layer. gradients: `backward` with
    everything=True. Raises WrongChoice.
    """
    a, eps = activations, float(np.finfo(activations.logits.dtype).eps)
    p = {name: Bounded(value) for name, value in network.parameters.items()}
    findings = []

    def found(name: str, computed: np.ndarray, exact: Bounded) -> Bounded:
        findings.append(_compare(name, computed, exact))
        return Bounded(computed) if alone else exact

    # Forward.
    x, count = Bounded(a.x), len(target)
    conv1 = plus(product(x, p["conv1.w"], 9, eps, convolve), p["conv1.bias"].reshape(-1, 1, 1), eps)
    relu1 = relu(found("conv1", a.conv1, conv1), a.relu1 > 0)
    terms = 9 * a.relu1.shape[1]
    conv2 = plus(product(relu1, p["conv2.w"], terms, eps, convolve), p["conv2.bias"].reshape(-1, 1, 1), eps)
    relu2 = relu(found("conv2", a.conv2, conv2), a.relu2 > 0)
    pool, chosen = max_pool(relu2, a.winners)
    features = found("pool", a.pool, pool).reshape(count, -1)
    logits = plus(product(features, p["linear.w"], features.value.shape[1], eps, lambda f, w: f @ w.T),
                  p["linear.bias"], eps)
    mean, by_logits = softmax_gradient(found("logits", a.logits, logits), target, eps)
    found("loss", np.asarray(loss), mean)

    # Backward, through the network's own choices.
    by_logits = found("by logits", gradients["logits"], by_logits)
    found("by linear.w", gradients["linear.w"], product(by_logits, features, count, eps, lambda d, f: d.T @ f))
    found("by linear.bias", gradients["linear.bias"], sums(by_logits, (0,), eps))
    by_features = product(by_logits, p["linear.w"], by_logits.value.shape[1], eps, lambda d, w: d @ w)
    by_pool = found("by pool", gradients["pool"], by_features.reshape(*a.pool.shape))
    spread = Bounded(*(unquarter(chosen * part[..., None]) for part in (by_pool.value, by_pool.error)))
    by_conv2 = found("by conv2", gradients["conv2"], only(spread, a.relu2 > 0))
    pixels = count * a.conv2[0, 0].size
    found("by conv2.w", gradients["conv2.w"], product(relu1, by_conv2, pixels, eps, filter_gradient))
    found("by conv2.bias", gradients["conv2.bias"], sums(by_conv2, (0, 2, 3), eps))
    by_relu1 = product(by_conv2, p["conv2.w"], 9 * a.conv2.shape[1], eps, convolve_back)
    by_relu1 = found("by relu1", gradients["relu1"], by_relu1)
    by_conv1 = found("by conv1", gradients["conv1"], only(by_relu1, a.relu1 > 0))
    found("by conv1.w", gradients["conv1.w"], product(x, by_conv1, pixels, eps, filter_gradient))
    found("by conv1.bias", gradients["conv1.bias"], sums(by_conv1, (0, 2, 3), eps))
    found("by x", gradients["x"], product(by_conv1, p["conv1.w"], 9 * a.conv1.shape[1], eps, convolve_back))
    return findings


def _compare(name: str, computed: np.ndarray, exact: Bounded) -> Finding:
    """How a computed tensor keeps to its bound, where it comes nearest to it."""
    error = np.abs(np.asarray(computed, np.float64) - exact.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(error == 0, 0.0, error / exact.error)
    worst = np.unravel_index(np.argmax(shares), shares.shape)  # argmax finds a NaN first
    return Finding(name, float(error[worst]), float(exact.error[worst]), float(shares[worst]))
