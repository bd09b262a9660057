"""Tile configurations of the gemm kernels: one frozen record, its validity stated once."""

from __future__ import annotations

from dataclasses import dataclass

from ...precision import Precision

WARP_ROWS, WARP_COLUMNS = 4, 8  # how the 32 lanes of a warp share its tile
_STATIC_SHARED_LIMIT = 48 * 1024
_REGISTERS = 255
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
        return {"s": 4, "d": 8, "c": 8, "z": 16}[self.precision]

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

    def fits(self) -> str | None:
        """Why the kernel cannot be made with these tiles, or None."""
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
        for extent in (self.block_rows, self.block_columns):
            if extent * self.block_depth % self.threads or self.threads % self.block_depth or (
                    self.threads % extent and extent % self.threads):
                return "threads must share each operand's tile evenly"
        return None


LARGE = {
    "s": SimtConfig("s", 128, 128, 8, 8, 8, 2),
    "d": SimtConfig("d", 64, 64, 8, 4, 4, 2),
    "c": SimtConfig("c", 64, 64, 8, 4, 4, 2),
    "z": SimtConfig("z", 64, 64, 8, 4, 4, 1),
}
SMALL = {**LARGE, "s": SimtConfig("s", 64, 64, 8, 4, 4, 3)}
_FEW_TILES = 64  # below this many large tiles most multiprocessors would idle


def choose(precision: Precision, m: int, n: int, batch: int = 1) -> SimtConfig:
    """The configuration for a batch of m x n products: large tiles when enough of them fill a GPU."""
    large = LARGE[precision.prefix]
    tiles = -(-m // large.block_rows) * -(-n // large.block_columns) * batch
    return large if tiles >= _FEW_TILES else SMALL[precision.prefix]
