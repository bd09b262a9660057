"""Native code of lowered kernels: made by LLVM, kept on disk between processes, loaded.

The code holds no host addresses: it reaches shared memory, parameters, ranges and module variables through the
block record (layout.py), so that an entry serves every process with the same processor and the same libraries.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numba

from ... import diskcache
from .lower import ModuleLowering
from .lowered import LoweredKernel
from .parse import PTXError, parse

KIND = "executor"  # of disk cache entries


def compiled_kernel(
    texts: tuple[str, ...], name: str | None, checked: bool, counters: bool, opt: int
) -> tuple[LoweredKernel, bytes]:
    """A kernel's record and object code, from the disk cache when it was built before."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    entry = diskcache.key("object", texts, name, checked, counters, opt, *_host(), source_hash())
    content = diskcache.read(KIND, entry)
    if content is not None:
        with contextlib.suppress(ValueError):  # not a kernel: rebuilt and overwritten
            return LoweredKernel.unpacked(content)
    kernel, code = build(texts, name, checked, counters, opt)
    diskcache.write(KIND, entry, kernel.packed(code))
    return kernel, code


def build(
    texts: tuple[str, ...], name: str | None, checked: bool, counters: bool, opt: int
) -> tuple[LoweredKernel, bytes]:
    """Parse, lower and compile a kernel."""
    module = parse(*texts)
    kernels = [kernel for kernel in module.kernels if name is None or kernel.name == name]
    if len(kernels) != 1:
        raise PTXError(f"expected one kernel, found {[kernel.name for kernel in kernels]}")
    lowering = ModuleLowering(module, checked, counters)
    kernel = lowering.lower_kernel(kernels[0])
    return kernel, object_code(lowering.ir(), opt)


def object_code(ir: str, opt: int) -> bytes:
    """LLVM IR optimised and compiled for this machine."""
    machine = _target_machine()
    module = llvm.parse_assembly(ir)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=opt)
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


class NativeCode:
    """Object code loaded into this process, for as long as this object lives."""

    def __init__(self, code: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Where a function lies."""
        return self._engine.get_function_address(symbol)


def _target_machine() -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    _, cpu, features = _host()[:3]
    return target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True)


@functools.cache
def _host() -> tuple[str, ...]:
    """What the object code depends on besides the kernel: target and libraries."""
    return (
        llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(),
        llvmlite.__version__, numba.__version__, ".".join(map(str, sys.version_info[:2])),
    )


@functools.cache
def source_hash() -> str:
    """Hash of the executor's own sources: whatever they produced is stale when they change."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
