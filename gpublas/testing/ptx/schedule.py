"""Compiled scheduler: runs blocks by stepping threads between synchronisation sites.

Only one thread of a block runs at a time. Warp-wide instructions execute when all
their lanes wait at them, barriers open when every remaining thread has arrived, and a
block in which nothing can move ends with a deadlock fault.
"""

import functools

import numpy as np
from numba import njit

from .layout import (
    ACCESS,
    ACTIVE_MASK,
    ARGS,
    BARRIER_ARRIVE,
    BARRIER_REDUCE,
    BARRIER_SYNC,
    BULK_COPY,
    BULK_GROUP,
    BULK_WAIT,
    COPY_AT_END,
    COPY_COUNT,
    COPY_GROUP,
    CTAID,
    DEADLOCK,
    DIVERGENT_BARRIER,
    EXCHANGE,
    EXITED,
    FAULT_ADDRESS,
    FAULT_KIND,
    FAULT_LINE,
    FAULTED,
    KIND,
    LATE_CAPACITY,
    LATE_CHECKSUM,
    LATE_FAULT,
    LATE_WORDS,
    LINE,
    LINEAR_TID,
    MMA,
    NCTAID,
    NOT_IN_MASK,
    NTID,
    PARTIAL_WARP,
    READY,
    RESUME,
    TENSOR_COPY,
    TID,
    WGMMA,
    YIELD,
    YIELDED,
)
from .native import call_collective, call_step, fetch_add, helper, numba_cache

FORWARD, REVERSE, RANDOM = range(3)
SPIN_LIMIT = 20000  # sweeps in which threads only poll before a block may count as deadlocked

# State shared by the workers of a launch.
NEXT_BLOCK, BUSY = range(2)  # BUSY counts workers that are neither finished nor only polling

# Report fields filled in by a fault.
REPORT_KIND, REPORT_BLOCK, REPORT_THREAD, REPORT_LINE, REPORT_ADDRESS, REPORT_OTHER, REPORT_OTHER_LINE = range(7)
REPORT_FIELDS = 7


@helper
def report_fault(report, kind, block, thread, line, address):
    """Record a worker's fault."""
    report[REPORT_KIND] = kind
    report[REPORT_BLOCK] = block[CTAID] + block[NCTAID] * (block[CTAID + 1] + block[NCTAID + 1] * block[CTAID + 2])
    report[REPORT_THREAD] = thread
    report[REPORT_LINE] = line
    report[REPORT_ADDRESS] = address


@helper
def next_random(state):
    """Advance an xorshift generator kept in state[0]."""
    x = state[0]
    x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
    x ^= x >> 7
    x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
    state[0] = x
    return x


@helper
def block_random(seed, number):
    """State of a block's generator, so that a seed gives the same order whichever worker runs the block."""
    return (seed * 2654435761 + number * 40503 + 88172645463325252) & 0x3FFFFFFFFFFFFFFF | 1


@helper
def arrange(sequence, order, random_state):
    """Fill sequence with 0..n-1 in the chosen order."""
    count = sequence.size
    for index in range(count):
        sequence[index] = count - 1 - index if order == REVERSE else index
    if order == RANDOM:
        for index in range(count - 1, 0, -1):
            other = next_random(random_state) % (index + 1)
            sequence[index], sequence[other] = sequence[other], sequence[index]


@helper
def lanes_at(status, base, lanes, site):
    """Mask of lanes stopped at a site."""
    mask = np.int64(0)
    for lane in range(lanes):
        if status[base + lane] == site:
            mask |= np.int64(1) << lane
    return mask


@helper
def exchanged(words, thread, index):
    """An exchange word of a thread."""
    return np.int64(words[thread, EXCHANGE + index])


@helper
def release(status, base, active):
    """Let lanes go on."""
    for lane in range(32):
        if active >> lane & 1:
            status[base + lane] = READY


@helper
def execute(words, base, active, site, sites, collectives, block, counts, report):
    """Run one collective for the active lanes of a warp; returns False on a fault."""
    code = call_collective(
        collectives[sites[site, KIND]], words.ctypes.data + base * words.strides[0], words.shape[1], active,
        sites.ctypes.data + site * sites.strides[0] + 8 * ARGS, block.ctypes.data,
        counts.ctypes.data + site * counts.strides[0],
    )
    if code:
        thread = base + (code >> 8)
        report_fault(report, code & 255, block, thread, sites[site, LINE], exchanged(words, thread, 1))
        return False
    return True


@helper
def resolve_warp(words, status, base, lanes, sites, collectives, block, counts, report):
    """Execute collectives whose lanes have all arrived. Returns 1 on progress, 0 if stuck, -1 on a fault."""
    progress = 0
    first_converging = np.int64(-1)
    for lane in range(lanes):
        site = status[base + lane]
        if site < 0:
            continue
        kind = sites[site, KIND]
        if kind in (ACCESS, ACTIVE_MASK):
            if first_converging < 0 or site < first_converging:
                first_converging = site
            continue
        if kind in (BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_REDUCE, YIELD, WGMMA, BULK_WAIT):
            continue
        mask = exchanged(words, base + lane, 0)
        if not mask >> lane & 1:
            report_fault(report, NOT_IN_MASK, block, base + lane, sites[site, LINE], mask)
            return -1
        active = np.int64(0)
        complete = True
        for other in range(32):
            if not mask >> other & 1:
                continue
            if other >= lanes or status[base + other] == EXITED:
                if kind >= MMA:
                    report_fault(report, PARTIAL_WARP, block, base + lane, sites[site, LINE], mask)
                    return -1
                continue
            if status[base + other] != site or exchanged(words, base + other, 0) != mask:
                complete = False
                break
            active |= np.int64(1) << other
        if complete:
            if not execute(words, base, active, site, sites, collectives, block, counts, report):
                return -1
            release(status, base, active)
            progress = 1
    if progress == 0 and first_converging >= 0:
        active = lanes_at(status, base, lanes, first_converging)
        execute(words, base, active, first_converging, sites, collectives, block, counts, report)
        release(status, base, active)
        progress = 1
    return progress


@helper
def queue_copy(late, queue, words, thread, site, sites, collectives, block, counts, report):
    """Notice a bulk or tensor copy that a thread issues; a full queue does its first one. Returns False on a fault.

    late: how many wait (in row 0), then each one's thread, site and group (-1 if none); queue: their exchange words.
    """
    if late[0, 0] == LATE_CAPACITY and not do_copy(late, queue, 0, sites, collectives, block, counts, report):
        return False
    last = late[0, 0]
    late[0, 0] += 1
    late[1 + last, 0], late[1 + last, 1] = thread, site
    late[1 + last, 2] = np.int64(words[thread, BULK_GROUP]) if sites[site, ARGS] else -1
    queue[last, EXCHANGE : EXCHANGE + LATE_CHECKSUM] = words[thread, EXCHANGE : EXCHANGE + LATE_CHECKSUM]
    return run_copy(late, queue, last, False, sites, collectives, block, counts, report)


@helper
def run_copy(late, queue, index, is_due, sites, collectives, block, counts, report):
    """Let the collective notice or do a copy; returns False on a fault."""
    thread, site = late[1 + index, 0], late[1 + index, 1]
    code = call_collective(
        collectives[sites[site, KIND]], queue.ctypes.data + index * queue.strides[0], queue.shape[1],
        np.int64(is_due), sites.ctypes.data + site * sites.strides[0] + 8 * ARGS, block.ctypes.data,
        counts.ctypes.data + site * counts.strides[0],
    )
    if code:
        address = exchanged(queue, index, LATE_FAULT) | exchanged(queue, index, LATE_FAULT + 1) << 32
        report_fault(report, code & 255, block, thread, sites[site, LINE], address)
    return code == 0


@helper
def do_copy(late, queue, index, sites, collectives, block, counts, report):
    """Do one late copy, and close the gap that it leaves. Returns False on a fault."""
    if not run_copy(late, queue, index, True, sites, collectives, block, counts, report):
        return False
    late[0, 0] -= 1
    for place in range(index, late[0, 0]):
        late[1 + place], queue[place] = late[2 + place], queue[place + 1]
    return True


@helper
def do_late_copy(late, queue, is_stuck, order, random_state, sites, collectives, block, counts, report):
    """Do a late copy if nothing else can go on, or in random order now and then. Returns as resolve_warp.

    The first one that was issued, in reverse order the last one.
    """
    place = np.int64(0) if order == FORWARD else late[0, 0] - 1
    if order == RANDOM and late[0, 0]:
        place = next_random(random_state) % late[0, 0]
        is_stuck = is_stuck or next_random(random_state) & 192 == 0
    if not is_stuck or late[0, 0] == 0:
        return 0
    return 1 if do_copy(late, queue, place, sites, collectives, block, counts, report) else -1


@helper
def release_copy_waits(words, status, sites, late):
    """Let threads go on whose groups of copies are done; returns whether there were any."""
    progress = 0
    for thread in range(status.size):
        site = status[thread]
        if site < 0 or sites[site, KIND] != BULK_WAIT:
            continue
        done, limit = True, np.int64(np.int32(words[thread, EXCHANGE]))
        for index in range(1, late[0, 0] + 1):
            done = done and not (late[index, 0] == thread and 0 <= late[index, 2] < limit)
        if done:
            status[thread] = READY
            progress = 1
    return progress


@helper
def run_warp(
    step, words, status, base, lanes, sequence, sites, collectives, block, counts, report, late, queue
):
    """Run a warp until all its lanes exited or wait for other warps. Returns progress as resolve_warp."""
    progress = 0
    while True:
        for index in range(32):
            lane = sequence[index]
            if lane >= lanes or status[base + lane] != READY:
                continue
            thread = base + lane
            code = call_step(step, words.ctypes.data + thread * words.strides[0], block.ctypes.data)
            status[thread] = code
            if code == FAULTED:
                address = np.int64(words[thread, FAULT_ADDRESS]) | np.int64(words[thread, FAULT_ADDRESS + 1]) << 32
                report_fault(
                    report, np.int64(words[thread, FAULT_KIND]), block, thread, np.int64(words[thread, FAULT_LINE]),
                    address,
                )
                return -1
            if code >= 0 and sites[code, KIND] in (TENSOR_COPY, BULK_COPY):
                if not queue_copy(late, queue, words, thread, code, sites, collectives, block, counts, report):
                    return -1
                status[thread] = READY
            if code >= 0 and sites[code, KIND] == YIELD:
                status[thread] = YIELDED
            else:
                progress = 1
        resolved = resolve_warp(words, status, base, lanes, sites, collectives, block, counts, report)
        if resolved < 0:
            return -1
        if resolved == 0:
            return progress


@helper
def is_barrier(kind):
    """Whether a kind of site waits for a block's barrier."""
    return kind in (BARRIER_SYNC, BARRIER_REDUCE, BARRIER_ARRIVE)


@helper
def check_convergence(words, status, sites, identifier, block, report):
    """Aligned barriers must be reached by all threads of a warp at the same instruction."""
    for base in range(0, status.size, 32):
        here = np.int64(-1)
        for thread in range(base, min(base + 32, status.size)):
            site = status[thread]
            if site < 0 or not is_barrier(sites[site, KIND]) or exchanged(words, thread, 0) != identifier:
                continue
            if here < 0:
                here = site
            elif site != here and sites[site, ARGS + 1]:
                report_fault(report, DIVERGENT_BARRIER, block, thread, sites[site, LINE], 0)
                report[REPORT_OTHER_LINE] = sites[here, LINE]
                return False
    return True


@helper
def release_barriers(words, status, sites, arrivals, block, report):
    """Open the barriers all expected threads have reached. Returns 1, 0 or -1 as resolve_warp."""
    waiting = np.zeros(16, np.int64)
    expected = np.zeros(16, np.int64)
    total = np.zeros(16, np.int64)
    remaining = np.int64(0)
    progress = 0
    for thread in range(status.size):
        site = status[thread]
        remaining += site != EXITED
        if site >= 0 and is_barrier(sites[site, KIND]):
            identifier = exchanged(words, thread, 0) & 15
            expected[identifier] = exchanged(words, thread, 1)
            if sites[site, KIND] == BARRIER_ARRIVE:
                arrivals[identifier] += 1
                status[thread] = READY
                progress = 1
            else:
                waiting[identifier] += 1
                if sites[site, KIND] == BARRIER_REDUCE:
                    total[identifier] += exchanged(words, thread, 2)
    for identifier in range(16):
        if waiting[identifier] == 0:
            continue
        needed = expected[identifier] if expected[identifier] else remaining
        if waiting[identifier] + arrivals[identifier] < needed:
            continue
        if not check_convergence(words, status, sites, identifier, block, report):
            return -1
        for thread in range(status.size):
            site = status[thread]
            if site >= 0 and is_barrier(sites[site, KIND]) and exchanged(words, thread, 0) & 15 == identifier:
                if sites[site, KIND] == BARRIER_REDUCE:
                    operation = sites[site, ARGS]
                    value = total[identifier]
                    if operation == 1:
                        value = np.int64(value == waiting[identifier])
                    elif operation == 2:
                        value = np.int64(value != 0)
                    words[thread, EXCHANGE + 2] = np.uint32(value)
                status[thread] = READY
        arrivals[identifier] = 0
        progress = 1
    return progress


@helper
def release_warpgroups(words, status, sites, collectives, block, counts, report):
    """Execute wgmma for groups of four warps that have all arrived at one."""
    progress = 0
    for base in range(0, status.size - 127, 128):
        site = status[base]
        if site < 0 or sites[site, KIND] != WGMMA:
            continue
        together = True
        for thread in range(base, base + 128):
            together = together and status[thread] == site
        if together:
            if not execute(words, base, 0, site, sites, collectives, block, counts, report):
                return -1
            status[base : base + 128] = READY
            progress = 1
    return progress


@helper
def report_deadlock(words, status, sites, block, report):
    """Name a waiting thread and, if there is one, a thread waiting elsewhere."""
    first = np.int64(-1)
    for thread in range(status.size):
        site = status[thread]
        if site == EXITED:
            continue
        if site < 0:
            site = np.int64(words[thread, RESUME]) - 1
        if first < 0:
            first = site
            report_fault(report, DEADLOCK, block, thread, sites[site, LINE], 0)
        elif site != first:
            report[REPORT_OTHER], report[REPORT_OTHER_LINE] = thread, sites[site, LINE]
            return


@helper
def run_block(step, words, status, block, sites, collectives, state, order, random_state, counts, report):
    """Run one block to completion; returns False on a fault."""
    threads = status.size
    warps = (threads + 31) // 32
    warp_sequence = np.empty(warps, np.int64)
    lane_sequence = np.empty(32, np.int64)
    arrivals = np.zeros(16, np.int64)
    late = np.zeros((1 + LATE_CAPACITY, 3), np.int64)
    queue = np.empty((LATE_CAPACITY, EXCHANGE + LATE_WORDS), np.uint32)
    status[:] = READY
    for thread in range(threads):
        words[thread, RESUME] = 0
        words[thread, COPY_COUNT] = 0
        words[thread, COPY_GROUP] = 0
        words[thread, BULK_GROUP] = 0
    spins = 0
    while True:
        arrange(warp_sequence, order, random_state)
        progress = 0
        for index in range(warps):
            base = warp_sequence[index] * 32
            arrange(lane_sequence, order, random_state)
            resolved = run_warp(
                step, words, status, base, min(np.int64(32), threads - base), lane_sequence, sites, collectives, block,
                counts, report, late, queue,
            )
            if resolved < 0:
                return False
            progress |= resolved
        polling = False
        finished = True
        for thread in range(threads):
            if status[thread] == YIELDED:
                status[thread] = READY
                polling = True
            finished = finished and status[thread] == EXITED
        if finished:
            if late[0, 0]:
                report_fault(report, COPY_AT_END, block, late[1, 0], sites[late[1, 1], LINE], 0)
                return False
            if spins:
                fetch_add(state.ctypes.data + 8 * BUSY, 1)
            return True
        opened = release_barriers(words, status, sites, arrivals, block, report)
        if opened < 0:
            return False
        multiplied = release_warpgroups(words, status, sites, collectives, block, counts, report)
        if multiplied < 0:
            return False
        moved = progress or opened or multiplied
        copied = do_late_copy(
            late, queue, not moved, order, random_state, sites, collectives, block, counts, report
        )
        if copied < 0:
            return False
        waited = release_copy_waits(words, status, sites, late)
        if moved or copied or waited:
            if spins:
                fetch_add(state.ctypes.data + 8 * BUSY, 1)
            spins = 0
            continue
        if spins == 0:
            fetch_add(state.ctypes.data + 8 * BUSY, -1)
        spins += 1
        if not polling or (spins > SPIN_LIMIT and state[BUSY] <= 0):
            report_deadlock(words, status, sites, block, report)
            return False


def _run_blocks(step, words, shared, block, sites, collectives, local_words, state, order, seed, counts, report):
    """Claim and run blocks of the grid until none are left or a worker reports a fault."""
    threads = words.shape[0]
    status = np.empty(threads, np.int64)
    for thread in range(threads):
        rest = thread // block[NTID]
        words[thread, TID] = thread % block[NTID]
        words[thread, TID + 1] = rest % block[NTID + 1]
        words[thread, TID + 2] = rest // block[NTID + 1]
        words[thread, LINEAR_TID] = thread
    total = block[NCTAID] * block[NCTAID + 1] * block[NCTAID + 2]
    random_state = np.empty(1, np.int64)
    while True:
        number = fetch_add(state.ctypes.data + 8 * NEXT_BLOCK, 1)
        if number >= total:
            fetch_add(state.ctypes.data + 8 * BUSY, -1)
            return
        block[CTAID] = number % block[NCTAID]
        block[CTAID + 1] = number // block[NCTAID] % block[NCTAID + 1]
        block[CTAID + 2] = number // (block[NCTAID] * block[NCTAID + 1])
        random_state[0] = block_random(seed, number)
        shared[:] = 255
        words[:, local_words[0] : local_words[1]] = 0xFFFFFFFF
        if not run_block(step, words, status, block, sites, collectives, state, order, random_state, counts, report):
            state[NEXT_BLOCK] = total


@functools.cache
def run_blocks():
    """The compiled scheduler."""
    with numba_cache() as usable:
        return njit(nogil=True, cache=usable)(_run_blocks)
