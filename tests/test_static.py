"""Machine code of the shipped gemm kernels, read without a GPU: what it must not fall back from."""

from collections import Counter
from pathlib import Path

import pytest

from bench import sass, static, toolchain
from bench import shipped as shipped_kernels
from bench.shipped import kernels

LISTING = """
//--------------------- .text.other --------------------------
.text.other:
        /*0000*/                   FFMA R1, R2, R3, R1 ;
//--------------------- .text.mine --------------------------
.text.mine:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 BRA `(.L_x_2) ;
.L_x_1:
        /*0020*/                   LDG.E.128 R4, [R2.64] ;
        /*0030*/                   LDS.128 R8, [R1] ;
        /*0040*/              @P1  FFMA R12, R4, R8, R12 ;
        /*0050*/                   FFMA R13, R5.reuse, R8, R13 ;
        /*0060*/                   LDSM.16.MT88.4 R16, [R1] ;
        /*0070*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*0080*/                   FFMA R14, R4, R8, R14 ;
        /*0090*/                   EXIT ;
.L_x_3:
        /*00a0*/                   BRA `(.L_x_3);
"""
USAGE = """ Function mine:
  REG:40 STACK:8 SHARED:1024 LOCAL:0 CONSTANT[0]:528 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def test_reading_a_listing():
    opcodes, loops = sass.opcodes_and_loops(LISTING, "mine")
    assert opcodes["FFMA"] == 3 and opcodes["BRA"] == 3
    (loop,) = loops
    assert loop.opcodes == Counter({"FFMA": 2, "LDG.E.128": 1, "LDS.128": 1, "LDSM.16.MT88.4": 1, "BRA": 1})
    assert (loop.length, loop.arithmetic) == (6, ("FFMA", 2))
    assert loop.memory_widths() == {"LDG.128": 1, "LDS.128": 1, "LDSM.x4": 1}
    assert sass.main_loop(loops) is loop and sass.main_loop([]) is None
    assert sass.usage(USAGE, "mine") == sass.Usage(40, 8, 0, 1024)
    with pytest.raises(ValueError, match="no kernel absent"):
        sass.usage(USAGE, "absent")


def test_the_main_loop_is_one_that_is_fed():
    fed = sass.Loop(Counter({"LDGSTS.E.128": 1, "HMMA.16816.F32": 32}))
    tail = sass.Loop(Counter({"HMMA.16816.F32": 128}))
    assert sass.main_loop([tail, fed]) is fed and sass.main_loop([tail]) is tail


def test_the_main_loop_of_warpgroups_is_the_innermost():
    """Whatever else the loop over tiles around it does."""
    inner = sass.Loop(Counter({"HGMMA.64x256x16.F32": 4, "IADD3": 3}))
    outer = sass.Loop(inner.opcodes + Counter({"FFMA": 64, "LDG.E": 2}))
    assert sass.main_loop([outer, inner]) is inner and inner.arithmetic == ("HGMMA", 4) == outer.arithmetic


def test_occupancy_by_hand():
    """128 registers and 256 threads: two blocks by registers on sm_80; one by 100 KB of shared memory."""
    from types import SimpleNamespace

    used = sass.Usage(128, 0, 0, 0)
    assert static.blocks_at_once((8, 0), SimpleNamespace(threads=256, shared_bytes=1024), used) == 2
    assert static.blocks_at_once((8, 0), SimpleNamespace(threads=256, shared_bytes=100 * 1024), used) == 1
    assert static.blocks_at_once((9, 0), SimpleNamespace(threads=1024, shared_bytes=0), sass.Usage(32, 0, 0, 1024)) == 2


# Least share of the arithmetic in the main loop, of kernels whose figures are quoted; none may spill.
SHARES = {"sgemm 128x256x8 k,mn": 0.91, "sgemm 128x128x8 k,mn": 0.88, "dgemm 128x128x8 k,mn": 0.80,
          "f16 128x256x64 k,mn": 0.50, "f16 128x256x64 k,k": 0.50, "s8 128x256x128 k,k": 0.50}



@pytest.mark.skipif(bool(toolchain.missing()), reason=str(toolchain.missing()))
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
@pytest.mark.parametrize("name", SHARES)
def test_machine_code(name, capability):
    shipped = next(found for found in kernels() if found.name == name)
    figures = static.examine(shipped, capability)
    assert figures["share"] >= SHARES[name]
    assert figures["spills"] == figures["stack"] == 0


@pytest.mark.skipif(bool(toolchain.missing()), reason=str(toolchain.missing()))
@pytest.mark.parametrize("ways", ["k,k", "k,mn", "mn,mn"])
def test_machine_code_of_warpgroups(ways):
    """A slab is four wgmma of 64 x 256 x 16 that nothing makes wait for each other: one arrival, one wait."""
    shipped = next(found for found in kernels() if found.name == f"f16 128x256x64 {ways} wgmma")
    (target,) = shipped.targets
    figures = static.examine(shipped, target)
    loop = figures["main_loop"]
    assert loop["HGMMA.64x256x16.F32"] == 4 and figures["loop"] <= 60
    assert loop["WARPGROUP.ARRIVE"] == loop["WARPGROUP.DEPBAR.LE"] == 1
    assert figures["spills"] == figures["stack"] == 0


def test_what_no_gpu_has_run_is_marked(monkeypatch, capsys):
    first = next(kernels())
    monkeypatch.setattr(shipped_kernels, "SEEN", {})
    row = {"kernel": first.name, "target": "sm_90", "registers": 1, "stack": 0, "spills": 0, "dynamic_shared": 0,
           "shared": 0, "occupancy": 1, "loop": 1, "count": 1, "operation": "FFMA", "share": 1, "memory": {}}
    static.report([{**row, "seen": first.seen}])
    assert "never run on a GPU" in capsys.readouterr().out
    monkeypatch.setattr(shipped_kernels, "SEEN", {("simt", "sgemm"): (("Some GPU", "some.json"),)})
    static.report([{**row, "seen": first.seen}])
    printed = capsys.readouterr().out
    assert "Some GPU" in printed and "never" not in printed


def test_what_a_gpu_has_run_is_shown_by_a_result():
    """Every mark that is left out names kernels that there are, and a result of that GPU."""
    known = {(found.family, found.name.partition(" ")[0]) for found in kernels()}
    results = Path(static.__file__).parent / "results"
    unfounded = {key: shown for key, shown in shipped_kernels.SEEN.items() if key not in known or not all(
        gpu in (results / file).read_text(encoding="utf-8") for gpu, file in shown)}
    assert not unfounded
    assert {found.seen for found in kernels() if (found.family, found.name.partition(" ")[0]) not in
            shipped_kernels.SEEN} <= {shipped_kernels.UNSEEN}


def test_a_missing_tool_is_told(monkeypatch, capsys):
    from bench import __main__ as bench

    monkeypatch.setattr(toolchain, "_PACKAGES", {"cuobjdump": "nvidia-no-such-package"})
    assert bench.main(["static"]) == 1
    assert "pip install nvidia-no-such-package" in capsys.readouterr().out
