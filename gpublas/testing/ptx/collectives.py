"""Warp-wide instructions as the scheduler calls them: one compiled function per kind of site."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import carray, cfunc, types

from . import layout
from .bulk import bulk_copy
from .lanes import elect, match, put, reduce, shuffle, vote
from .matrices import load_matrix, matrix_fault, mma, move_matrix, store_matrix
from .native import bytes_at, numba_cache
from .tensors import tensor_copy
from .traffic import trace_access, trace_matrix
from .warpgroups import warpgroup_mma

# Collectives as the scheduler calls them: (words, words per context, active lanes, site
# arguments, block record, access counts of the site) -> 0 or a fault code from fault_at.

SIGNATURE = types.int64(
    types.CPointer(types.uint32), types.int64, types.int64, types.CPointer(types.int64), types.CPointer(types.int64),
    types.CPointer(types.int64),
)


def _shuffle(words, stride, active, arguments, block, counts):
    shuffle(carray(words, (32, stride)), active, arguments[0])
    return 0


def _vote(words, stride, active, arguments, block, counts):
    vote(carray(words, (32, stride)), active, arguments[0])
    return 0


def _match(words, stride, active, arguments, block, counts):
    match(carray(words, (32, stride)), active, arguments[0])
    return 0


def _redux(words, stride, active, arguments, block, counts):
    reduce(carray(words, (32, stride)), active, arguments[0], arguments[1], arguments[2])
    return 0


def _elect(words, stride, active, arguments, block, counts):
    elect(carray(words, (32, stride)), active)
    return 0


def _active_mask(words, stride, active, arguments, block, counts):
    lanes = carray(words, (32, stride))
    for lane in range(32):
        if active >> lane & 1:
            put(lanes, lane, 1, active)
    return 0


def _warp_sync(words, stride, active, arguments, block, counts):
    return 0


def _mma(words, stride, active, arguments, block, counts):
    mma(
        carray(words, (32, stride)), arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
        arguments[6], arguments[7],
    )
    return 0


def _move_matrix(words, stride, active, arguments, block, counts):
    move_matrix(carray(words, (32, stride)))
    return 0


def _load_matrix(words, stride, active, arguments, block, counts):
    lanes = carray(words, (32, stride))
    fault = matrix_fault(lanes, arguments[0], block[layout.SHARED_SIZE])
    if not fault:
        if arguments[2]:
            trace_matrix(lanes, arguments[0], counts)
        shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
        load_matrix(lanes, shared, arguments[0], arguments[1])
    return fault


def _store_matrix(words, stride, active, arguments, block, counts):
    lanes = carray(words, (32, stride))
    fault = matrix_fault(lanes, arguments[0], block[layout.SHARED_SIZE])
    if not fault:
        if arguments[2]:
            trace_matrix(lanes, arguments[0], counts)
        shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
        store_matrix(lanes, shared, arguments[0], arguments[1])
    return fault


def _warpgroup_mma(words, stride, active, arguments, block, counts):
    shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
    return warpgroup_mma(
        carray(words, (128, stride)), shared, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
        arguments[5], arguments[6],
    )


def _tensor_copy(words, stride, active, arguments, block, counts):
    """One entry of the block's pending copies: noticed (active 0), or done (1)."""
    shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
    return tensor_copy(
        carray(words, (1, stride)), shared, block, arguments[0], arguments[1], arguments[2], active, counts
    )


def _bulk_copy(words, stride, active, arguments, block, counts):
    """As _tensor_copy."""
    shared = carray(bytes_at(block[layout.SHARED]), block[layout.SHARED_SIZE])
    return bulk_copy(
        carray(words, (1, stride)), shared, block, arguments[0], arguments[1], arguments[2], arguments[3], active,
        counts,
    )


def _access(words, stride, active, arguments, block, counts):
    trace_access(carray(words, (32, stride)), active, arguments[0], arguments[1], block, counts)
    return 0


_FUNCTIONS = {
    layout.SHUFFLE: _shuffle, layout.VOTE: _vote, layout.MATCH: _match, layout.REDUX: _redux, layout.ELECT: _elect,
    layout.ACTIVE_MASK: _active_mask, layout.WARP_SYNC: _warp_sync, layout.MMA: _mma, layout.MOVE_MATRIX: _move_matrix,
    layout.LOAD_MATRIX: _load_matrix, layout.STORE_MATRIX: _store_matrix, layout.ACCESS: _access,
    layout.WGMMA: _warpgroup_mma, layout.TENSOR_COPY: _tensor_copy, layout.BULK_COPY: _bulk_copy,
}
_compiled: dict[int, Any] = {}
_lock = threading.Lock()


def addresses(kinds: np.ndarray) -> np.ndarray:
    """Host addresses of the collectives for some site kinds, compiled on first use and cached on disk."""
    table = np.zeros(layout.SITE_KINDS, np.int64)
    with _lock:
        for kind in kinds:
            if kind in _FUNCTIONS:
                if kind not in _compiled:
                    with numba_cache() as usable:
                        _compiled[kind] = cfunc(SIGNATURE, cache=usable)(_FUNCTIONS[kind])
                table[kind] = _compiled[kind].address
    return table
