"""From a kernel in Python to PTX, and from PTX to machine code, without needing a GPU.

A kernel is made by a *factory*: a top-level function of a kernel module that takes plain values (text,
numbers, tuples of them), builds the device code as closures over them, and returns a `KernelSource`. The
plain values and the text of the factory's module, and of every module of this project it uses, determine the
kernel; together with the versions of the compilers they are the key of the disk cache. So a warm start runs
no factory, and no edit is ever served by a stale entry.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import re
import sys
import threading
import types as python_types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import diskcache
from ..errors import UnsupportedError

_PACKAGES = ("gpublas", "gpudnn")
_COMPILERS = ("numba-cuda", "numba", "llvmlite", "nvidia-nvvm", "nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink",
              "nvidia-nvjitlink-cu12")

# How a kernel parameter is passed: one character each in Kernel.parameters.
_CONVERTERS: dict[str, Callable] = {
    "p": int,  # address
    "i": np.int32, "l": np.int64, "I": np.uint32, "L": np.uint64, "f": np.float32, "d": np.float64,
}


@dataclass(frozen=True)
class KernelSource:
    """What a factory returns.

    function: the kernel, a plain Python function. parameters: one character a parameter: "p"
    an address (int64), "i"/"l" int32/int64, "I"/"L" unsigned, "f"/"d" float32/float64.
    threads: threads a block, the launch bound. min_blocks: blocks that shall fit on a multiprocessor.
    shared_bytes: dynamic shared memory.
    pointers: the numba element type of each "p", in order; the kernel sees `types.CPointer` of it.
    """

    function: Callable
    parameters: str
    pointers: tuple
    threads: int
    min_blocks: int = 1
    shared_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled kernel: PTX (what the executor runs) that `cubin()` turns into machine code (what a GPU runs)."""

    name: str
    texts: tuple[str, ...]
    parameters: str
    threads: int
    shared_bytes: int
    capability: tuple

    @functools.cached_property
    def converters(self) -> tuple[Callable, ...]:
        """For each parameter the function that gives a value its exact type."""
        return tuple(_CONVERTERS[code] for code in self.parameters)

    def cubin(self) -> bytes:
        """Machine code for the kernel's compute capability (nvJitLink; cached on disk)."""
        return _assemble(self)


def build(factory: Callable[..., KernelSource], *parameters, capability: tuple) -> Kernel:
    """The kernel `factory(*parameters)` for a compute capability, from memory, disk, or the compiler.

    parameters: plain values whose repr is faithful. capability: (major, minor) or (9, 0, "a").
    Raises UnsupportedError when the compiler is not installed.
    """
    return _build(factory, parameters, tuple(capability))


_locks: dict[tuple, threading.Lock] = {}
_locks_guard = threading.Lock()


def _build(factory, parameters, capability):
    name = (factory.__module__, factory.__qualname__, parameters, capability)
    kernel = _built.get(name)
    if kernel is None:
        with _locks_guard:
            lock = _locks.setdefault(name, threading.Lock())
        with lock:  # two threads that want the same kernel compile it once
            kernel = _built.get(name)
            if kernel is None:
                kernel = _built[name] = _load_or_compile(factory, parameters, capability)
    return kernel


_built: dict[tuple, Kernel] = {}


def _load_or_compile(factory, parameters, capability):
    entry = diskcache.key("kernel", factory.__module__, factory.__qualname__, parameters, capability,
                          source_digest(sys.modules[factory.__module__]), _versions())
    stored = diskcache.read("kernels", entry)
    if stored is not None:
        fields = json.loads(stored)
        return Kernel(fields["name"], tuple(fields["texts"]), fields["parameters"], fields["threads"],
                      fields["shared_bytes"], capability)
    kernel = _compile(factory, parameters, capability)
    fields = {"name": kernel.name, "texts": kernel.texts, "parameters": kernel.parameters, "threads": kernel.threads,
              "shared_bytes": kernel.shared_bytes}
    diskcache.write("kernels", entry, json.dumps(fields).encode())
    return kernel


def _compile(factory, parameters, capability):
    try:
        from numba.cuda import types
    except ImportError as error:
        raise UnsupportedError(f"compiling GPU kernels needs numba-cuda ({error}); "
                               'pip install "gpublas[cuda13]" adds it') from error
    from .frontend import compile_ptx

    source = factory(*parameters)
    kinds = {"i": types.int32, "l": types.int64, "I": types.uint32, "L": types.uint64, "f": types.float32,
             "d": types.float64}
    pointers = iter(source.pointers)
    signature = types.void(*(types.CPointer(next(pointers)) if code == "p" else kinds[code]
                             for code in source.parameters))
    texts = compile_ptx(source.function, signature, capability, launch_bounds=(source.threads, source.min_blocks))
    name = re.sub(r"\W+", "_", "_".join([factory.__name__, *map(str, parameters)]))
    return Kernel(name, _renamed(texts, name), source.parameters, source.threads, source.shared_bytes, capability)


def _renamed(texts, name):
    """The PTX with a kernel name that a profiler's reader knows, and the same text for the same source each time.

    Numba's mangled names count the functions that the process has compiled before, and for each it leaves a variable
    that nothing reads.
    """
    entry = next(found.group(1) for text in texts if (found := re.search(r"\.visible \.entry (\w+)\(", text)))
    return tuple(re.sub(r"\.common \.global .*_ZN08NumbaEnv\w+;\n", "", text).replace(entry, name) for text in texts)


def source_digest(module: python_types.ModuleType) -> str:
    """Hash of the source text of a module and of all modules of this project that it uses, directly or not."""
    texts: dict[str, str] = {}
    _collect_sources(module, texts)
    return diskcache.key(*sorted(texts.items()))


def _collect_sources(module, texts):
    if module.__name__ in texts or not getattr(module, "__file__", None):
        return
    texts[module.__name__] = Path(module.__file__).read_text(encoding="utf-8")
    for value in vars(module).values():
        owner = value if isinstance(value, python_types.ModuleType) else sys.modules.get(
            getattr(value, "__module__", None) or "")
        if owner is not None and owner.__name__.partition(".")[0] in _PACKAGES:
            _collect_sources(owner, texts)


@functools.cache
def _versions():
    found = []
    for package in _COMPILERS:
        try:
            found.append((package, importlib.metadata.version(package)))
        except importlib.metadata.PackageNotFoundError:
            continue
    return tuple(found)


def architecture(capability: tuple) -> str:
    """The assembler's name of a compute capability: (9, 0, "a") is sm_90a."""
    return "sm_" + "".join(str(part) for part in capability)


def _assemble(kernel):
    entry = diskcache.key("cubin", kernel.texts, kernel.capability, _versions())
    stored = diskcache.read("cubins", entry)
    if stored is None:
        stored = _link(kernel.texts, kernel.capability)
        diskcache.write("cubins", entry, stored)
    return stored


def _link(texts, capability):
    """PTX to machine code with nvJitLink, which knows the PTX version of its own release; the driver may not."""
    try:
        from cuda.bindings import nvjitlink
    except ImportError as error:
        raise UnsupportedError(f"assembling GPU kernels needs cuda-bindings with nvJitLink ({error})") from error
    options = [f"-arch={architecture(capability)}", "-O3"]
    linker = nvjitlink.create(len(options), options)
    try:
        for number, text in enumerate(texts):
            data = text.encode()
            nvjitlink.add_data(linker, nvjitlink.InputType.PTX, data, len(data), f"kernel{number}.ptx")
        nvjitlink.complete(linker)
        machine_code = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, machine_code)
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(nvjitlink.get_error_log_size(linker))
        nvjitlink.get_error_log(linker, log)
        message = bytes(log).rstrip(b"\0").decode(errors="replace")
        raise UnsupportedError(f"nvJitLink cannot assemble for {options[0]}: {message or error}") from error
    finally:
        nvjitlink.destroy(linker)
    return bytes(machine_code)
