"""Memory layout and codes shared by generated code and the scheduler."""

# Thread context: 32-bit words, then saved registers, pending copies and local memory.
RESUME = 0  # 0 at the start, otherwise 1 + the site to resume after
TID = 1  # x, y, z
LINEAR_TID = 4
FAULT_KIND = 5
FAULT_LINE = 6
COPY_COUNT = 7
FAULT_ADDRESS = 8  # two words
COPY_GROUP = 10
BULK_GROUP = 11
EXCHANGE = 16  # operands and results of synchronising instructions
EXCHANGE_WORDS = 48
WGMMA_EXCHANGE_WORDS = 160

LATE_CAPACITY = 64  # pending bulk and tensor copies of a block; beyond it the first ones are done at once
LATE_WORDS = 15  # exchange words of one: up to 11 operands, then
LATE_CHECKSUM = 11  # of what it reads from shared memory, two words
LATE_FAULT = 13  # the address that a fault is about, two words
COPY_CAPACITY = 512  # pending cp.async copies per thread
COPY_BYTES = 24  # source address i64, shared offset i32, group i32, size i32, source size i32

# Block record: 64-bit words.
SHARED = 0
SHARED_SIZE = 1
PARAMS = 2
RANGES = 3
RANGE_COUNT = 4  # rows (address, bytes) of the sorted table of memory the launch may touch
COUNTERS = 5
NTID = 6  # x, y, z
CTAID = 9
NCTAID = 12
DYNAMIC_SHARED = 15
HINTS = 16  # one row (address, bytes) per checked access: the range it hit last
CONTEXTS = 17  # the worker's thread contexts, which hold local memory
CONTEXTS_SIZE = 18
VARIABLES = 19  # module variables in global and constant memory
BLOCK_WORDS = 20

# What a step returns when it does not stop at a site (a site number >= 0).
EXITED = -1
READY = -2
FAULTED = -3
YIELDED = -4

# Site table columns.
KIND = 0
LINE = 1
ARGS = 2
SITE_COLUMNS = 10

# Site kinds.
(
    BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_REDUCE, WARP_SYNC, SHUFFLE, VOTE, MATCH, REDUX, ELECT, ACTIVE_MASK, ACCESS,
    YIELD, MMA, LOAD_MATRIX, STORE_MATRIX, MOVE_MATRIX, WGMMA, TENSOR_COPY, BULK_COPY, BULK_WAIT,
) = range(20)
SITE_KINDS = 20

SHUFFLE_MODES = {"up": 0, "down": 1, "bfly": 2, "idx": 3}
VOTE_MODES = {"all": 0, "any": 1, "uni": 2, "ballot": 3}
REDUCTIONS = {"add": 0, "min": 1, "max": 2, "and": 3, "or": 4, "xor": 5}
BARRIER_REDUCTIONS = {"popc": 0, "and": 1, "or": 2}
MATRIX_TYPES = {"f16": 0, "bf16": 1, "tf32": 2, "s8": 3, "u8": 4, "f64": 5, "f32": 6, "s32": 7, "e4m3": 8, "e5m2": 9}

# Fault kinds.
FAULTS = {
    1: "out-of-bounds global access", 2: "out-of-bounds shared access", 3: "misaligned access", 4: "trap",
    5: "deadlock", 6: "divergent barrier", 7: "too many pending cp.async copies", 8: "local stack overflow",
    9: "warp-wide instruction without all its lanes", 10: "executing lane is not in its own member mask",
    11: "not a tensor map of the executor's, or one for another rank",
    12: "shared memory changed before what reads it was waited for", 13: "copy still on its way when its block ends",
}
(
    OUT_OF_BOUNDS, SHARED_OUT_OF_BOUNDS, MISALIGNED, TRAP, DEADLOCK, DIVERGENT_BARRIER, COPY_OVERFLOW, STACK_OVERFLOW,
    PARTIAL_WARP, NOT_IN_MASK, NO_TENSOR_MAP, CHANGED_SOURCE, COPY_AT_END,
) = FAULTS
