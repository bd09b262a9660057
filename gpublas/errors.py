"""The errors of both packages.

"Invalid" (ArgumentError, DTypeError) means that no device could serve the call: the caller has to change
it. "Unsupported" (UnsupportedError) means that this device, algorithm or installation cannot: another may.
"""


class ArgumentError(ValueError):
    """An argument is wrong: names the routine, the argument, its position, what was found and what is wanted.

    routine: name of the public function. position: 1-based place in its signature, or None for keyword-only
    arguments. argument: the parameter's name.
    """

    def __init__(self, routine: str, position: int | None, argument: str, found: object, wanted: str):
        self.routine, self.position, self.argument = routine, position, argument
        self.found, self.wanted = found, wanted
        place = f"argument {position}, {argument}" if position is not None else f"argument {argument}"
        super().__init__(f"{routine}: {place}: found {found}, wanted {wanted}")

    def __reduce__(self):
        return type(self), (self.routine, self.position, self.argument, self.found, self.wanted)


class DTypeError(ArgumentError, TypeError):
    """An argument has the wrong element type: nothing is cast silently."""


class UnsupportedError(RuntimeError):
    """The call is valid, but this device, algorithm or installation cannot serve it; the message says why."""


class DeviceError(RuntimeError):
    """The device or its driver reported a fault, or the chosen device is not there."""


class OutOfMemoryError(DeviceError, MemoryError):
    """The device could not allocate: names the bytes asked for."""

    def __init__(self, requested: int, detail: str = ""):
        self.requested = requested
        super().__init__(f"cannot allocate {requested} bytes on the device{': ' + detail if detail else ''}")
