"""Tile configurations of the gemm kernels: one frozen record for each family, its validity stated once."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import NamedTuple

WARP_ROWS, WARP_COLUMNS = 4, 8  # how the 32 lanes of a warp share its tile
ALONG_K, ACROSS = "k", "mn"  # how an operand lies: contiguous along k, or across it, in whole vectors of 16 bytes
ANY, TRIANGLE = "any", "triangle"  # any strides; of a symmetric or Hermitian matrix only one triangle
ELEMENTS = {"s": 4, "d": 8, "c": 8, "z": 16}  # bytes of an element, by BLAS prefix
SKINNY_COLUMNS = (4, 8, 16)  # columns for which there is a kernel of its own
SKINNY_THREADS, SKINNY_CHUNKS = 128, 32  # of a block; vectors of steps along k in a slab of the narrow operand
_STATIC_SHARED_LIMIT = 48 * 1024
_REGISTERS = 255
_MOST_THREADS = 1024  # of a block
_VECTOR_BYTES = 16
_DEPTH = 8  # the kernel writes out its k-steps, since Numba would not unroll them


@dataclass(frozen=True)
class SimtConfig:
    """Tiles of the SIMT kernel.

    precision: BLAS prefix letter. block_rows x block_columns: tile of C that a thread block computes.
    block_depth: steps along k between barriers. thread_rows x thread_columns: tile of C that a thread keeps in
    registers. min_blocks: blocks that shall fit on a multiprocessor, which bounds registers.
    """

    precision: str
    block_rows: int
    block_columns: int
    block_depth: int
    thread_rows: int
    thread_columns: int
    min_blocks: int

    @property
    def threads(self) -> int:
        return self.block_rows // self.thread_rows * (self.block_columns // self.thread_columns)

    @property
    def warp_rows(self) -> int:
        """Rows of C that a warp computes."""
        return WARP_ROWS * self.thread_rows

    @property
    def warp_columns(self) -> int:
        return WARP_COLUMNS * self.thread_columns

    def element_bytes(self) -> int:
        return ELEMENTS[self.precision]

    @property
    def vector(self) -> int:
        """Elements in one 128-bit access."""
        return _VECTOR_BYTES // self.element_bytes()

    @property
    def row_pad(self) -> int:
        """Elements between rows of a tile in shared memory beyond its width: one vector, against bank conflicts."""
        return self.vector

    @property
    def stage(self) -> int:
        """Elements of one stage of shared memory: block_depth rows of A's tile, then of B's."""
        return self.block_depth * (self.block_rows + self.block_columns + 2 * self.row_pad)

    def moves_vectors(self) -> bool:
        """Whether a slab's tiles divide evenly into one or more vectors for each thread, as operands that lie in whole
        vectors want them."""
        return all(extent * self.block_depth // self.vector % self.threads == 0 and
                   all(self.threads % lanes == 0 for lanes in (self.block_depth // self.vector, extent // self.vector))
                   for extent in (self.block_rows, self.block_columns))

    def fits(self) -> str | None:
        """Why no kernel can be made with these tiles, or None."""
        if self.precision not in ELEMENTS:
            return f"precision {self.precision!r} is none of 's', 'd', 'c', 'z'"
        wrong = _not_positive(self)
        if wrong:
            return wrong
        accumulators = self.thread_rows * self.thread_columns * self.element_bytes() // 4
        if 2 * self.stage * self.element_bytes() > _STATIC_SHARED_LIMIT:
            return f"two stages need {2 * self.stage * self.element_bytes()} bytes of shared memory"
        if accumulators > _REGISTERS - 64:
            return f"{accumulators} registers of accumulators leave none for the rest"
        if self.thread_rows % self.vector or self.thread_columns % self.vector:
            return f"thread tiles must be multiples of the vector width {self.vector}"
        if self.block_rows % self.warp_rows or self.block_columns % self.warp_columns:
            return "block tiles must be multiples of the warp tile"
        if self.block_depth != _DEPTH:
            return f"block_depth must be {_DEPTH}"
        if self.threads > _MOST_THREADS:
            return f"{self.threads} threads, of {_MOST_THREADS}"
        for extent in (self.block_rows, self.block_columns):
            if extent * self.block_depth % self.threads or self.threads % self.block_depth or self.threads % extent:
                return "threads must share each operand's tile evenly"
        return None


@dataclass(frozen=True)
class SkinnyConfig:
    """Tiles of the kernel for products with few columns (or rows, seen the other way).

    precision: BLAS prefix letter. thread_rows x thread_columns: sums that a thread keeps in registers; thread_columns
    is all columns that C may have. along: threads that share a row's k. min_blocks: blocks that shall fit on a
    multiprocessor, which bounds registers.
    """

    precision: str
    thread_rows: int
    thread_columns: int
    along: int
    min_blocks: int

    @property
    def threads(self) -> int:
        return SKINNY_THREADS

    @property
    def block_rows(self) -> int:
        return SKINNY_THREADS // self.along * self.thread_rows

    @property
    def block_columns(self) -> int:
        return self.thread_columns

    @property
    def block_depth(self) -> int:
        """Steps along k that a block takes at a time: a vector of each thread."""
        return self.along * self.vector

    def element_bytes(self) -> int:
        return ELEMENTS[self.precision]

    @property
    def vector(self) -> int:
        """Elements in one 128-bit access."""
        return _VECTOR_BYTES // self.element_bytes()

    @property
    def group(self) -> int:
        """Columns whose sums are added up over the threads at a time."""
        return self.thread_columns // 4

    @property
    def shared_bytes(self) -> int:
        """Of shared memory: a slab of the narrow operand, each thread's vector of steps a vector apart from the next
        one, against bank conflicts; in the end sums of a group of columns, padded likewise."""
        slab = SKINNY_CHUNKS * (self.thread_columns + 1) * _VECTOR_BYTES
        return max(slab, self.along * (self.group * self.block_rows * self.element_bytes() + _VECTOR_BYTES))

    def fits(self) -> str | None:
        """Why no kernel can be made with these tiles, or None."""
        if self.precision not in ELEMENTS:
            return f"precision {self.precision!r} is none of 's', 'd', 'c', 'z'"
        wrong = _not_positive(self)
        if wrong:
            return wrong
        if self.thread_columns not in SKINNY_COLUMNS:
            return f"thread_columns must be one of {SKINNY_COLUMNS}"
        if self.along not in (2, 4, 8):
            return "along must be 2, 4 or 8"
        if self.thread_rows % self.vector:
            return f"thread_rows must be a multiple of the vector width {self.vector}"
        sums = self.thread_rows * self.thread_columns * self.element_bytes() // 4
        if sums > _REGISTERS - 64:
            return f"{sums} registers of sums leave none for the rest"
        if self.shared_bytes > _STATIC_SHARED_LIMIT:
            return f"{self.shared_bytes} bytes of shared memory, of {_STATIC_SHARED_LIMIT}"
        return None


CHUNK = 16  # bytes of an asynchronous copy, and of a row of an 8x8 matrix of 16 bits
PANEL = 64  # elements of 16 bits in a row of a slab across k
ROW_BYTES = 128  # of a slab in shared memory along k: eight chunks of 16, which XOR with the row permutes
_DYNAMIC_SHARED_LIMIT = 227 * 1024  # sm_90; sm_80 has 163 KiB, see fits()
_SHARED_LIMITS = {8: 163 * 1024}  # by major capability, where it is less
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "s8": 1, "tf32": 4, "tf32x3": 4, "bf16x9": 4, "dmma": 8,
                 "e4m3_e4m3": 1, "e4m3_e5m2": 1, "e5m2_e4m3": 1, "e5m2_e5m2": 1}
FLOAT8_KINDS = tuple(kind for kind in ELEMENT_BYTES if "_" in kind)  # by the types of A and B


@dataclass(frozen=True)
class MmaConfig:
    """Tiles of the tensor-core kernel.

    kind: of arithmetic, a key of ELEMENT_BYTES. block_rows x block_columns: tile of C that a thread block computes.
    warp_rows x warp_columns: tile of C that a warp keeps in registers. stages: slabs of shared memory, of which all but
    one are on their way. min_blocks: blocks that shall fit on a multiprocessor, which bounds registers.
    """

    kind: str
    block_rows: int
    block_columns: int
    warp_rows: int
    warp_columns: int
    stages: int
    min_blocks: int

    @property
    def element_bytes(self) -> int:
        return ELEMENT_BYTES[self.kind]

    @property
    def block_depth(self) -> int:
        """Steps along k of a slab: 128 bytes of them."""
        return ROW_BYTES // self.element_bytes

    @property
    def threads(self) -> int:
        return 32 * (self.block_rows // self.warp_rows) * (self.block_columns // self.warp_columns)

    @property
    def stage_bytes(self) -> int:
        return (self.block_rows + self.block_columns) * ROW_BYTES

    @property
    def result_pitch(self) -> int:
        """Elements from row to row of the tile of results in shared memory: against bank conflicts."""
        return self.block_columns + 8

    @property
    def shared_bytes(self) -> int:
        return max(self.stages * self.stage_bytes, self.block_rows * self.result_pitch * self.sum_bytes)

    @property
    def sum_bytes(self) -> int:
        """Bytes of a sum: float32, int32, or float64 for float64 operands."""
        return 8 if self.kind == "dmma" else 4

    def fits(self, capability: tuple) -> str | None:
        """Why the kernel cannot be made with these tiles for a compute capability, or None."""
        if self.kind not in ELEMENT_BYTES:
            return f"kind {self.kind!r} is none of {', '.join(map(repr, ELEMENT_BYTES))}"
        wrong = _not_positive(self)
        if wrong:
            return wrong
        if tuple(capability[:2]) < (8, 0):
            return "asynchronous copies and these matrix instructions need compute capability 8.0"
        limit = _SHARED_LIMITS.get(capability[0], _DYNAMIC_SHARED_LIMIT)
        if capability[0] == 8 and capability[1] not in (0, 7):
            limit = 99 * 1024
        if self.shared_bytes > limit:
            return f"{self.shared_bytes} bytes of shared memory, of {limit}"
        if self.warp_rows % 16 or self.warp_columns % 16:
            return "warp tiles must be multiples of 16 x 16"
        if self.warp_rows // 16 not in (1, 2, 4) or self.warp_columns // 16 not in (1, 2, 4):
            return "warp tiles must be 16, 32 or 64 each way"
        if self.block_rows % self.warp_rows or self.block_columns % self.warp_columns:
            return "block tiles must be multiples of the warp tile"
        sums = self.warp_rows * self.warp_columns // 32 * self.sum_bytes // 4
        if sums > _REGISTERS - 64:
            return f"{sums} registers of sums leave none for the rest"
        if self.stages < 2:
            return "at least two stages"
        if self.threads > _MOST_THREADS:
            return f"{self.threads} threads, of {_MOST_THREADS}"
        for extent in (self.block_rows, self.block_columns):
            if extent * 8 % self.threads or (extent * self.element_bytes // 16) > self.threads:
                return "threads must share each operand's tile evenly"
        return None


@dataclass(frozen=True)
class WgmmaConfig:
    """Tiles of Hopper's kernel.

    kind: of arithmetic, "f16" or "bf16". block_rows x block_columns: tile of C that a thread block computes, 64 rows
    for each warpgroup that multiplies. stages: slabs of shared memory.
    """

    kind: str
    block_rows: int
    block_columns: int
    stages: int
    min_blocks = 1

    @property
    def block_depth(self) -> int:
        """Steps along k of a slab: 128 bytes of them."""
        return ROW_BYTES // ELEMENT_BYTES[self.kind]

    @property
    def consumers(self) -> int:
        """Warpgroups that multiply; one more brings slabs."""
        return self.block_rows // 64

    @property
    def threads(self) -> int:
        return 128 * (1 + self.consumers)

    @property
    def stage_bytes(self) -> int:
        return (self.block_rows + self.block_columns) * ROW_BYTES

    @property
    def barrier_bytes(self) -> int:
        """Two mbarriers for each stage; what follows them begins at a multiple of 128 bytes."""
        return -(-2 * 8 * self.stages // 128) * 128

    @property
    def shared_bytes(self) -> int:
        results = self.block_rows * (32 + 8) * 4  # float32: 32 columns of the tile at once, and padding
        return self.stages * self.stage_bytes + self.barrier_bytes + results

    def fits(self, capability: tuple) -> str | None:
        """Why the kernel cannot be made with these tiles for a compute capability, or None."""
        if self.kind not in WGMMA_KINDS:
            return f"kind {self.kind!r} is none of {', '.join(map(repr, WGMMA_KINDS))}"
        wrong = _not_positive(self)
        if wrong:
            return wrong
        if tuple(capability[:2]) != (9, 0):
            return "warpgroups multiply on compute capability 9.0"
        if self.block_rows not in (64, 128) or self.block_columns % 64 or self.block_columns > 256:
            return "block tiles must have 64 or 128 rows, and a multiple of 64 columns up to 256"
        if self.shared_bytes > _DYNAMIC_SHARED_LIMIT:
            return f"{self.shared_bytes} bytes of shared memory, of {_DYNAMIC_SHARED_LIMIT}"
        return None if self.stages > 1 else "at least two stages"


WGMMA_KINDS = ("f16", "bf16")


Tiles = SimtConfig | SkinnyConfig | MmaConfig | WgmmaConfig
FAMILIES = {"simt": SimtConfig, "skinny": SkinnyConfig, "mma": MmaConfig, "wgmma": WgmmaConfig}


def _not_positive(tiles: Tiles) -> str | None:
    """What is said of a configuration one of whose numbers is none to count with: a table may hold anything."""
    _, *numbers = astuple(tiles)
    return None if all(type(number) is int and number > 0 for number in numbers) else "all numbers must be positive"


class GemmConfig(NamedTuple):
    """How a gemm is computed: its tiles, and into how many parts k is cut (None: as many as the heuristic says)."""

    tiles: Tiles
    splits: int | None = None

    @property
    def kind(self) -> str:
        """Of arithmetic: a BLAS prefix, or a kind of tensor cores."""
        return self.tiles.kind if isinstance(self.tiles, (MmaConfig, WgmmaConfig)) else self.tiles.precision

    def fits(self, capability: tuple) -> str | None:
        """Why no kernel can be made of this for a compute capability, or None."""
        if self.splits is not None and (type(self.splits) is not int or self.splits < 1):
            return f"{self.splits!r} splits, of at least 1"
        if isinstance(self.tiles, (MmaConfig, WgmmaConfig)):
            return self.tiles.fits(capability)
        return self.tiles.fits()


# Tiles by kind, the largest first. tf32x3 holds every fragment twice, dmma has sums of twice the size, bf16x9 twice the
# sums, which leaves registers for smaller warp tiles.
_TILES = ((128, 256, 64, 64, 3, 1), (128, 128, 64, 32, 3, 1), (64, 64, 32, 32, 3, 2))
_TILES_OF = {"tf32x3": _TILES[1:], "dmma": _TILES[1:], "bf16x9": ((128, 64, 32, 32, 3, 1), _TILES[2])}
MMA_CONFIGS = {kind: tuple(MmaConfig(kind, *tiles) for tiles in _TILES_OF.get(kind, _TILES)) for kind in ELEMENT_BYTES}


# Tiles of Hopper's kernel.
WGMMA_CONFIGS = {kind: (WgmmaConfig(kind, 128, 256, 4), WgmmaConfig(kind, 128, 128, 6)) for kind in WGMMA_KINDS}


# Tiles for operands that can be read in whole vectors, the largest first.
WIDE = {
    "s": (SimtConfig("s", 128, 256, 8, 8, 16, 1), SimtConfig("s", 128, 128, 8, 8, 8, 2),
          SimtConfig("s", 64, 64, 8, 8, 4, 4)),
    "d": (SimtConfig("d", 128, 128, 8, 8, 8, 1), SimtConfig("d", 64, 64, 8, 4, 4, 2)),
    "c": (SimtConfig("c", 128, 128, 8, 8, 8, 1), SimtConfig("c", 64, 64, 8, 4, 4, 2)),
    "z": (SimtConfig("z", 64, 64, 8, 4, 4, 1),),
}
# Tiles where elements come one by one, likewise: more blocks at once would leave too few registers.
STRIDED = {
    "s": (SimtConfig("s", 128, 128, 8, 8, 8, 1), SimtConfig("s", 64, 64, 8, 4, 4, 2)),
    "d": WIDE["d"],
    "c": WIDE["c"],
    "z": WIDE["z"],
}
TRIANGLES = {**STRIDED, "c": STRIDED["c"][1:]}  # the larger tile of "c" would spill on sm_100
# Tiles for few columns. Many threads along k where there are few rows; few of them where there are many, for each
# block reads the narrow operand once. Sums of 16 columns leave registers for fewer rows, or fewer threads.
_SKINNY = {"s": ((8, 4, 3), (4, 8, 3), (4, 16, 2)), "d": ((4, 4, 3), (2, 8, 3), (2, 16, 3)),
           "c": ((4, 4, 3), (2, 8, 3), (2, 16, 2)), "z": ((4, 4, 3), (2, 8, 3), (2, 16, 2))}
SKINNY = {prefix: tuple(SkinnyConfig(prefix, rows, columns, along, blocks) for rows, columns, blocks in found
                        for along in (2, 8)) for prefix, found in _SKINNY.items()}
