"""Programs kept in memory and on disk."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from texts import COUNTER, HEADER, add_constant, run

from gpublas import diskcache
from gpublas.testing.ptx import Program, PTXError, objectcode
from gpublas.testing.ptx.native import numba_cache


@pytest.fixture
def builds(monkeypatch, tmp_path):
    """An empty disk cache and an empty memory; the arguments of every build from here on."""
    made = []
    build = objectcode.build

    def counted(*arguments):
        made.append(arguments)
        return build(*arguments)

    monkeypatch.setenv("GPUBLAS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(objectcode, "build", counted)
    forget(monkeypatch)
    return made


def forget(monkeypatch):
    """What a new process starts with."""
    monkeypatch.setattr(Program, "_cache", type(Program._cache)())


def entries():
    return [path for path in (diskcache.folder() / objectcode.KIND).iterdir() if path.is_file()]


SCRIPT = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from texts import add_constant, run
from gpublas.testing.ptx import Program, objectcode, schedule
import llvmlite.binding as llvm

calls = []
parse_assembly = llvm.parse_assembly
def parsed(text, *rest):
    calls.append(text)
    return parse_assembly(text, *rest)
objectcode.llvm.parse_assembly = parsed

program = Program.compile((add_constant(7),))
print(sum(bool(text) for text in calls), run(program, np.ones(1, np.uint32))[0],
      sum(schedule.run_blocks().stats.cache_hits.values()))
"""


def test_a_fresh_process_compiles_nothing(tmp_path):
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    results = []
    for _ in range(2):
        process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300,
                                 env=os.environ | {"GPUBLAS_CACHE_DIR": str(tmp_path)})
        assert process.returncode == 0, process.stderr
        results.append(process.stdout.split())
    assert results == [["1", "8", "0"], ["0", "8", "1"]]  # IR compiled, result, scheduler found in the cache


def test_import_needs_no_cuda_package():
    script = ("import sys, gpublas.testing.ptx\n"
              "print([name for name in sys.modules if name.startswith(('cuda.', 'numba.cuda.'))])")
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (process.stdout.strip(), process.returncode) == ("[]", 0), process.stderr


def test_second_process_reads_the_entry(builds, monkeypatch):
    first = Program.compile((add_constant(1),))
    forget(monkeypatch)
    second = Program.compile((add_constant(1),))
    assert len(builds) == 1 and second is not first
    assert run(first, np.zeros(1, np.uint32))[0] == run(second, np.zeros(1, np.uint32))[0] == 1


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_corrupt_entry_is_rebuilt(builds, monkeypatch, damage):
    Program.compile((add_constant(2),))
    (entry,) = entries()
    whole = entry.read_bytes()
    if damage is None:  # one bit of the object code
        damage = whole[:-1] + bytes([whole[-1] ^ 1])
    entry.write_bytes(damage)
    forget(monkeypatch)
    assert run(Program.compile((add_constant(2),)), np.zeros(1, np.uint32))[0] == 2
    assert len(builds) == 2 and entry.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"something else entirely", b"\0" * 16 + b"{}", b"\xff" * 64])
def test_entry_of_another_kind_is_rebuilt(builds, monkeypatch, content):
    Program.compile((add_constant(2),))
    (entry,) = entries()
    diskcache.write(objectcode.KIND, entry.name, content)
    forget(monkeypatch)
    assert run(Program.compile((add_constant(2),)), np.zeros(1, np.uint32))[0] == 2
    assert len(builds) == 2


def test_everything_that_changes_the_code_is_in_the_key(builds, monkeypatch):
    texts = (add_constant(3),)
    variants = [{}, {"checked": False}, {"counters": True}, {"opt": 1}, {"name": "add_constant"}]
    for options in variants:
        Program.compile(texts, **options)
    Program.compile((add_constant(4),))
    assert len(builds) == len(entries()) == len(variants) + 1
    forget(monkeypatch)
    monkeypatch.setattr(objectcode, "source_hash", lambda: "edited")
    Program.compile(texts)
    assert len(builds) == len(variants) + 2


def test_sources_are_hashed():
    folder = Path(objectcode.__file__).parent
    assert len(list(folder.glob("*.py"))) > 20 and len(objectcode.source_hash()) == 64


def test_variables_belong_to_each_loaded_program(builds, monkeypatch):
    first = Program.compile((COUNTER,))
    assert run(first, np.zeros(2, np.uint32))[0] == 5
    forget(monkeypatch)
    second = Program.compile((COUNTER,))
    np.testing.assert_array_equal(run(second, np.zeros(2, np.uint32)), [5, 0x3F800000])
    assert run(first, np.zeros(2, np.uint32))[0] == 6 and len(builds) == 1


def test_folder_that_cannot_be_written_to(builds, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUBLAS_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert run(Program.compile((add_constant(5),)), np.zeros(1, np.uint32))[0] == 5
    with numba_cache() as usable:
        assert not usable


def test_memory_is_bounded_by_last_use(builds, monkeypatch):
    monkeypatch.setattr(Program, "capacity", 3)
    programs = [Program.compile((add_constant(10 + index),)) for index in range(3)]
    assert Program.compile((add_constant(10),)) is programs[0]  # now the most recently used
    Program.compile((add_constant(13),))
    assert len(Program._cache) == 3
    assert Program.compile((add_constant(10),)) is programs[0]
    assert Program.compile((add_constant(11),)) is not programs[1]
    assert len(Program._cache) == 3
    assert run(programs[1], np.zeros(1, np.uint32))[0] == 11  # dropped, not destroyed


def test_threads_share_one_compilation(builds, monkeypatch):
    started, build = threading.Barrier(4), objectcode.build
    released = threading.Event()

    def slow(*arguments):
        released.wait(10)
        return build(*arguments)

    monkeypatch.setattr(objectcode, "build", slow)
    results = []

    def compile_and_run():
        started.wait()
        program = Program.compile((add_constant(20),))
        results.append((program, run(program, np.full(1, 2, np.uint32))[0]))

    threads = [threading.Thread(target=compile_and_run) for _ in range(4)]
    for thread in threads:
        thread.start()
    released.set()
    for thread in threads:
        thread.join()
    assert len(builds) == 1 and len({id(program) for program, _ in results}) == 1
    assert [value for _, value in results] == [22] * 4


def test_failed_compilation_is_not_remembered(builds):
    text = HEADER + ".visible .entry stop() { .reg .b32 %r<2>; tex.1d %r1; ret; }"
    for _ in range(2):
        with pytest.raises(PTXError, match=r"tex\.1d is not supported"):
            Program.compile((text,))
    assert len(builds) == 2 and not Program._cache
    with pytest.raises(PTXError, match="expected one kernel, found"):
        Program.compile((add_constant(1),), name="other")
