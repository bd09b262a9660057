"""Special registers: where the context, the block record or a constant holds each."""

from __future__ import annotations

from collections.abc import Mapping

from . import layout
from .parse import PTXError

_CONTEXT_WORDS = {f"%tid.{axis}": layout.TID + index for index, axis in enumerate("xyz")}  # 32 bits each
_BLOCK_WORDS = {  # 64 bits each
    **{
        f"%{name}.{axis}": base + index
        for name, base in (("ntid", layout.NTID), ("ctaid", layout.CTAID), ("nctaid", layout.NCTAID))
        for index, axis in enumerate("xyz")
    },
    "%dynamic_smem_size": layout.DYNAMIC_SHARED,
    "%total_smem_size": layout.SHARED_SIZE,
}
CONSTANTS = {
    "WARP_SZ": 32,
    "%smid": 0,
    "%nsmid": 1,
    "%gridid": 0,
    "%cluster_ctarank": 0,
    "%cluster_nctarank": 1,
    "%clusterid.x": 0,
    "%clusterid.y": 0,
    "%clusterid.z": 0,
    "%is_explicit_cluster": 0,
    **{f"%cluster_ctaid.{axis}": 0 for axis in "xyz"},
    **{f"%cluster_nctaid.{axis}": 1 for axis in "xyz"},
}
CLOCKS = ("%clock", "%clock64", "%globaltimer", "%clock_hi", "%globaltimer_lo")


def special_loads(specials: Mapping[str, str]) -> list[str]:
    """IR that defines the value named for each special register."""
    lines: list[str] = []
    for name, value in specials.items():
        if name in _CONTEXT_WORDS:
            lines.append(f"  {value}.p = getelementptr i32, ptr %ctx, i64 {_CONTEXT_WORDS[name]}")
            lines.append(f"  {value} = load i32, ptr {value}.p")
        elif name in ("%laneid", "%warpid") or name.startswith("%lanemask"):
            lines.append(f"  {value}.p = getelementptr i32, ptr %ctx, i64 {layout.LINEAR_TID}")
            lines.append(f"  {value}.t = load i32, ptr {value}.p")
            if name == "%warpid":
                lines.append(f"  {value} = lshr i32 {value}.t, 5")
            elif name == "%laneid":
                lines.append(f"  {value} = and i32 {value}.t, 31")
            else:
                lines += _lane_mask(name, value)
        elif name in _BLOCK_WORDS:
            lines.append(f"  {value}.p = getelementptr i64, ptr %block, i64 {_BLOCK_WORDS[name]}")
            lines.append(f"  {value} = load i32, ptr {value}.p")
        else:
            raise PTXError(f"special register {name} is not supported")
    return lines


def _lane_mask(name: str, value: str) -> list[str]:
    final = {
        "eq": f"{value} = or i32 {value}.bit, 0", "lt": f"{value} = sub i32 {value}.bit, 1",
        "ge": f"{value} = sub i32 0, {value}.bit", "le": f"{value} = or i32 {value}.bit, {value}.below",
        "gt": f"{value} = xor i32 {value}.upto, -1",
    }[name[-2:]]
    return [
        f"  {value}.lane = and i32 {value}.t, 31", f"  {value}.bit = shl i32 1, {value}.lane",
        f"  {value}.below = sub i32 {value}.bit, 1", f"  {value}.upto = or i32 {value}.bit, {value}.below",
        f"  {final}",
    ]
