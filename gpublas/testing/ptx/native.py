"""Numba code of the executor: how it is compiled and cached, calls into generated code, bits as numbers."""

import contextlib
import tempfile
import threading
from typing import Any

from llvmlite import ir
from numba import config, extending, njit, types

from ... import diskcache
from .objectcode import KIND, source_hash

compiled: Any = njit  # the type hints of numba's decorators cover neither these options nor calls of intrinsics
intrinsic: Any = extending.intrinsic
numba_config: Any = config
helper = compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True)
_cache_lock = threading.Lock()


@contextlib.contextmanager
def numba_cache():
    """Functions decorated inside keep their code below the disk cache; yields whether that folder can be used.

    Numba looks for edits only in the file of a cached function, not in those of the helpers it calls, so the folder
    is named after the sources of the whole executor.
    """
    folder = diskcache.folder() / KIND / f"numba-{source_hash()[:20]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        yield False
        return
    with _cache_lock:
        before, numba_config.CACHE_DIR = numba_config.CACHE_DIR, str(folder)
        try:
            yield True
        finally:
            numba_config.CACHE_DIR = before


@intrinsic
def call_step(typing_context, function, context, block):
    """Call the i32 (i64, i64) function at an address."""

    def generate(cgctx, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(64)] * 2)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int32(types.int64, types.int64, types.int64), generate


@intrinsic
def call_collective(typing_context, function, words, stride, active, arguments, block, counts):
    """Call a collective compiled with collectives.SIGNATURE; all arguments are integers."""

    def generate(cgctx, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(64)
        kinds = [pointer, number, number, pointer, pointer, pointer]
        function = builder.inttoptr(arguments[0], ir.FunctionType(number, kinds).as_pointer())
        return builder.call(
            function,
            [
                builder.inttoptr(value, kind) if kind is pointer else value
                for value, kind in zip(arguments[1:], kinds, strict=True)
            ],
        )

    return types.int64(*[types.int64] * 7), generate


@intrinsic
def bytes_at(typing_context, address):
    """Pointer to the bytes at an address."""

    def generate(cgctx, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.CPointer(types.uint8)(types.int64), generate


@intrinsic
def words_at(typing_context, address):
    """Pointer to the 64-bit words at an address."""

    def generate(cgctx, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def fetch_add(typing_context, address, amount):
    """Atomically add to the int64 at an address; returns the old value."""

    def generate(cgctx, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, arguments[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def float_of_bits(typing_context, bits):
    """The f32 with the low 32 bits of an integer."""

    def generate(cgctx, builder, signature, arguments):
        return builder.bitcast(builder.trunc(arguments[0], ir.IntType(32)), ir.FloatType())

    return types.float32(types.int64), generate


@intrinsic
def bits_of_float(typing_context, value):
    """The bits of an f32."""

    def generate(cgctx, builder, signature, arguments):
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(32)), ir.IntType(64))

    return types.int64(types.float32), generate


@intrinsic
def double_of_bits(typing_context, bits):
    """The f64 with an integer's bits."""

    def generate(cgctx, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def bits_of_double(typing_context, value):
    """The bits of an f64."""

    def generate(cgctx, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def float_of_half(typing_context, bits):
    """The f16 with the low 16 bits of an integer, widened."""

    def generate(cgctx, builder, signature, arguments):
        half = builder.bitcast(builder.trunc(arguments[0], ir.IntType(16)), ir.HalfType())
        return builder.fpext(half, ir.FloatType())

    return types.float32(types.int64), generate


@intrinsic
def half_of_float(typing_context, value):
    """The bits of an f32 rounded to f16."""

    def generate(cgctx, builder, signature, arguments):
        half = builder.fptrunc(arguments[0], ir.HalfType())
        return builder.zext(builder.bitcast(half, ir.IntType(16)), ir.IntType(64))

    return types.int64(types.float32), generate
