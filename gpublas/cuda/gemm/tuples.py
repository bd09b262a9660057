"""Tuples in kernels: made, or gone through, entry by entry, written out rather than looped over."""

from __future__ import annotations

from numba import cuda

device = cuda.jit(device=True)


def tuple_of(count: int, entry):
    """Device function (given): the tuple of entry(given, i) for i below count."""
    if count == 1:
        return device(lambda given: (entry(given, 0),))
    first = count // 2
    low, high = tuple_of(first, entry), tuple_of(count - first, _later(entry, first))
    return device(lambda given: low(given) + high(given))


def for_each(count: int, action):
    """Device function (given): action(given, i) for i below count, in order."""
    return in_order([_at(action, number) for number in range(count)])


def in_order(actions: list):
    """Device function (given): each action(given) after the other."""
    if len(actions) == 1:
        return actions[0]
    middle = len(actions) // 2
    low, high = in_order(actions[:middle]), in_order(actions[middle:])

    @device
    def both(given):
        low(given)
        high(given)
    return both


def _at(action, number):
    @device
    def act(given):
        action(given, number)
    return act


def _later(function, first):
    return device(lambda given, number: function(given, number + first))
