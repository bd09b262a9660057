"""The network and its optimiser: every layer and every gradient is a gpudnn call, parameters are NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import gpudnn

FIRST_FILTERS, SECOND_FILTERS, CLASSES, SIDE = 16, 32, 10, 8
_FEATURES = SECOND_FILTERS * (SIDE // 2) ** 2


@dataclass
class Activations:
    """What the forward pass computed and the backward pass needs; names as in `Network.forward`."""

    x: np.ndarray
    conv1: np.ndarray
    relu1: np.ndarray
    conv2: np.ndarray
    relu2: np.ndarray
    pool: np.ndarray
    winners: np.ndarray
    logits: np.ndarray


@dataclass
class Network:
    """conv 3x3, relu, conv 3x3, relu, max-pool 2x2, linear: images (N, 1, 8, 8) to logits (N, 10).

    parameters: arrays by name. algorithms: which convolution algorithm served which layer and direction last.
    """

    parameters: dict[str, np.ndarray]
    algorithms: dict[str, str] = field(default_factory=dict)

    @classmethod
    def random(cls, rng: np.random.Generator, dtype: str = "float32") -> Network:
        """Initial weights after He et al., "Delving deep into rectifiers" (2015): deviation sqrt(2 / inputs)."""
        shapes = {"conv1": (FIRST_FILTERS, 1, 3, 3), "conv2": (SECOND_FILTERS, FIRST_FILTERS, 3, 3),
                  "linear": (CLASSES, _FEATURES)}
        parameters = {}
        for name, shape in shapes.items():
            deviation = np.sqrt(2 / np.prod(shape[1:]))
            parameters[f"{name}.w"] = (deviation * rng.standard_normal(shape)).astype(dtype)
            parameters[f"{name}.bias"] = np.zeros(shape[0], dtype)
        return cls(parameters)

    def forward(self, x: np.ndarray) -> Activations:
        p = self.parameters
        conv1 = gpudnn.conv2d(x, p["conv1.w"], p["conv1.bias"], padding=1)
        self._note("conv1")
        relu1 = gpudnn.relu(conv1)
        conv2 = gpudnn.conv2d(relu1, p["conv2.w"], p["conv2.bias"], padding=1)
        self._note("conv2")
        relu2 = gpudnn.relu(conv2)
        pool, winners = gpudnn.max_pool2d(relu2, 2, return_indices=True)
        logits = gpudnn.linear(pool.reshape(len(x), -1), p["linear.w"], p["linear.bias"])
        return Activations(x, conv1, relu1, conv2, relu2, pool, winners, logits)

    def backward(self, a: Activations, target: np.ndarray, *, everything: bool = False) -> dict[str, np.ndarray]:
        """The mean loss's gradients by all parameters; with everything=True also by the layers' results and by x."""
        p = self.parameters
        gradients = {}
        by_logits = gpudnn.cross_entropy_backward(a.logits, target)
        by_features, gradients["linear.w"], gradients["linear.bias"] = gpudnn.linear_backward(
            by_logits, a.pool.reshape(len(target), -1), p["linear.w"])
        by_pool = by_features.reshape(a.pool.shape)
        by_relu2 = gpudnn.max_pool2d_backward(by_pool, a.winners, a.relu2.shape, 2)
        by_conv2 = gpudnn.relu_backward(by_relu2, a.conv2)
        gradients["conv2.w"] = gpudnn.conv2d_backward_filter(a.relu1, by_conv2, p["conv2.w"].shape, padding=1)
        self._note("conv2")
        gradients["conv2.bias"] = gpudnn.conv2d_backward_bias(by_conv2)
        by_relu1 = gpudnn.conv2d_backward_data(by_conv2, p["conv2.w"], a.relu1.shape, padding=1)
        self._note("conv2")
        by_conv1 = gpudnn.relu_backward(by_relu1, a.conv1)
        gradients["conv1.w"] = gpudnn.conv2d_backward_filter(a.x, by_conv1, p["conv1.w"].shape, padding=1)
        self._note("conv1")
        gradients["conv1.bias"] = gpudnn.conv2d_backward_bias(by_conv1)
        if everything:
            gradients.update(logits=by_logits, pool=by_pool, conv2=by_conv2, relu1=by_relu1, conv1=by_conv1)
            gradients["x"] = gpudnn.conv2d_backward_data(by_conv1, p["conv1.w"], a.x.shape, padding=1)
            self._note("conv1")
        return gradients

    def predict(self, x: np.ndarray, batch: int = 256) -> np.ndarray:
        """The class of each image."""
        parts = [self.forward(x[first:first + batch]).logits.argmax(1) for first in range(0, len(x), batch)]
        return np.concatenate(parts)

    def _note(self, layer: str) -> None:
        choice = gpudnn.last_choice()
        if choice:
            self.algorithms[f"{layer} {choice.direction}"] = choice.algorithm


class Momentum:
    """Stochastic gradient descent with momentum: v = momentum*v + gradient, parameter -= rate*v.

    Polyak, "Some methods of speeding up the convergence of iteration methods" (1964).
    """

    def __init__(self, parameters: dict[str, np.ndarray], rate: float, momentum: float = 0.9):
        self.parameters, self.rate, self.momentum = parameters, rate, momentum
        self.velocity = {name: np.zeros_like(value) for name, value in parameters.items()}

    def step(self, gradients: dict[str, np.ndarray]) -> None:
        """Update the parameters in place."""
        for name, value in self.parameters.items():
            velocity = self.velocity[name]
            velocity *= self.momentum
            velocity += gradients[name]
            value -= self.rate * velocity
