"""Vectors of any stride and offset inside guarded memory."""

import numpy as np

from gpublas.testing.buffers import Guarded


class Strided:
    """A vector with `step` elements from one to the next, `offset` elements into aligned memory.

    `array` is the view to pass to a routine; `assert_intact()` fails if anything between or around its elements has
    changed, `assert_unchanged()` if its elements have.
    """

    def __init__(self, values, step=1, offset=0):
        values = np.asarray(values)
        span = (len(values) - 1) * abs(step) + 1 if len(values) else 0
        gaps = np.full(offset + span, -77.5, values.dtype)
        self._memory = Guarded(gaps)
        window = self._memory.array[offset:]
        if step > 0:
            self.array = window[::step]
        elif step < 0:
            self.array = window[::-1][::-step]
        else:
            self.array = np.broadcast_to(window, values.shape)
            window[...] = values[:1]
        if step:
            self.array[...] = values
        self.values = self.array.copy()
        self._before = self._memory.array.copy()

    def assert_intact(self):
        """Nothing outside the vector has changed."""
        self._memory.assert_intact()
        after, self.array[...] = self.array.copy(), self.values
        np.testing.assert_array_equal(self._memory.array.view(np.uint8), self._before.view(np.uint8))
        self.array[...] = after

    def assert_unchanged(self):
        """Nothing at all has changed."""
        self._memory.assert_intact()
        np.testing.assert_array_equal(self._memory.array.view(np.uint8), self._before.view(np.uint8))
