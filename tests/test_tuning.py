"""The choice of a gemm's configuration: heuristic, tables, what a context names, and the command that measures."""

import doctest
import itertools
import json
import sys
import warnings

import numpy as np
import pytest
from conftest import random_values

import gpublas
from gpublas import __main__ as command
from gpublas import arrays, shapes, tune, tuning
from gpublas.cuda import level3, mixed
from gpublas.cuda.executor import ExecutorDevice
from gpublas.cuda.gemm import select
from gpublas.cuda.gemm.config import ANY, MMA_CONFIGS, STRIDED, WIDE, GemmConfig, MmaConfig, SimtConfig
from gpublas.cuda.gemm.select import Work
from gpublas.errors import ArgumentError, UnsupportedError
from gpublas.operands import GemmProblem, Matrix
from gpublas.testing.bounds import assert_within, product_bound
from gpublas.tuning import Entry

VECTORS = "A along m, B along k"
MULTIPROCESSORS = (40, 108, 132, 148)
SMALLEST = WIDE["s"][-1]  # 64 x 64
MIDDLE = WIDE["s"][1]  # 128 x 128


def chosen(work, multiprocessors=108):
    return select.heuristic(work, select.candidates(work), multiprocessors)


def works(*sizes, whole=False):
    """A product of every kind and size."""
    for kind, (m, n, k) in itertools.product(select.KINDS, sizes):
        yield Work(kind, VECTORS, m, n, k, 1, whole)


# The heuristic.


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_large_products_get_large_tiles_and_small_ones_small(multiprocessors):
    for work in works((8192, 8192, 8192), (16384, 4096, 4096)):
        assert chosen(work, multiprocessors) == GemmConfig(select.candidates(work)[0], 1), work
    for work in works((1, 1, 1), (64, 64, 64), (200, 100, 300), (256, 512, 128)):
        assert chosen(work, multiprocessors) == GemmConfig(select.candidates(work)[-1], 1), work


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_tiles_keep_the_device_busy(multiprocessors):
    """As long as the smallest tiles do not fill the device, larger ones would only leave more of it idle."""
    for work in works((320, 500, 2000), (40, 2500, 800), (2560, 64, 400), whole=True):
        assert chosen(work, multiprocessors).tiles == select.candidates(work)[-1], work


def test_more_multiprocessors_want_more_tiles():
    work = Work("s", VECTORS, 1024, 1024, 256, 1, False)
    blocks = [select.tiles(chosen(work, count).tiles, 1024, 1024) for count in (8, 32, 64, 128, 256)]
    assert blocks == sorted(blocks) and blocks[0] < blocks[-1]


def test_tile_quantisation_counts():
    """One tile more than multiprocessors is a second turn: the same work in smaller tiles is done sooner."""
    exact = Work("s", VECTORS, 128 * 12, 256 * 9, 4096, 1, True)
    assert chosen(exact, 108).tiles.block_columns == 256
    assert chosen(exact, 107).tiles.block_columns < 256


def test_products_of_a_batch_count():
    alone = Work("s", VECTORS, 256, 256, 256, 1, True)
    assert chosen(alone).tiles == SMALLEST
    assert chosen(alone._replace(products=2000)).tiles == WIDE["s"][0]


def test_traffic_counts():
    """As much arithmetic on each multiprocessor in tiles of any size: the ones that read least are taken."""
    work = Work("f16", VECTORS, 128 * 108, 256 * 8, 4096, 1, True)
    assert chosen(work).tiles == MMA_CONFIGS["f16"][0]


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_long_products_of_few_tiles_are_cut(multiprocessors):
    for work in works((64, 64, 100_000), (1, 40, 20_000), (130, 70, 50_000)):
        found = chosen(work, multiprocessors)
        assert found.splits > 1, work
        assert work.k // found.splits >= 512 and found.splits <= 32
        assert chosen(work._replace(whole=True), multiprocessors).splits == 1
    for work in works((8192, 8192, 8192), (64, 64, 1000), (4096, 4096, 2048)):
        assert chosen(work, multiprocessors).splits == 1, work


def test_a_cut_takes_clearly_less_time():
    for work in works(*((m, n, k) for m in (16, 700, 3000) for n in (64, 1000) for k in (1024, 4096, 60_000))):
        found, whole = chosen(work), chosen(work._replace(whole=True))
        if found.splits > 1:
            assert select.cycles(work, found, 108) < 0.875 * select.cycles(work, whole, 108)
        else:
            assert found == whole


def test_cycles_by_hand():
    """Five 128 x 128 tiles on four multiprocessors: two turns, in one wave of two blocks."""
    work = Work("s", VECTORS, 128, 600, 80, 1, False)
    block = 128 * 128 * 80 / 64 + ((128 + 128) * 80 * 4 + 128 * 128 * 4) / 32
    assert MIDDLE.min_blocks == 2
    assert select.cycles(work, GemmConfig(MIDDLE, 1), 4) == pytest.approx(2 * block + 2000)
    half = 128 * 128 * 40 / 64 + ((128 + 128) * 40 * 4 + 128 * 128 * 4) / 32
    memory = 2 * 2 * 128 * 600 * 4 / (13 * 4)
    assert select.cycles(work, GemmConfig(MIDDLE, 2), 4) == pytest.approx(3 * half + 2 * 2000 + 4000 + memory)


def test_the_choice_depends_on_nothing_else():
    sizes = [(m, n, k) for m in (1, 65, 2000) for n in (1, 130, 5000) for k in (0, 7, 3000)]
    first = [chosen(work) for work in works(*sizes)]
    assert first == [chosen(work) for work in works(*sizes)]
    select.typical_multiprocessors((9, 0))
    assert first == [chosen(work) for work in reversed(list(works(*sizes)))][::-1]


def test_the_model_of_the_executor():
    assert ExecutorDevice().multiprocessors == select.typical_multiprocessors((8, 0)) == 108
    assert ExecutorDevice(capability=(9, 0)).multiprocessors == 132
    assert ExecutorDevice(multiprocessors=7).multiprocessors == 7


def test_unfit_configurations_are_told():
    fit = SimtConfig("s", 128, 128, 8, 8, 8, 1)
    assert fit.fits() is None and fit.moves_vectors() and not STRIDED["s"][-1].moves_vectors()
    assert all(tiles.moves_vectors() for configs in WIDE.values() for tiles in configs)
    for change, message in (((0, 128, 8, 8, 8, 1), "positive"), ((128, 128, 8, 8, 8, -1), "positive"),
                            ((256, 256, 8, 8, 4, 1), "threads"), ((128, 128, 4, 8, 8, 1), "block_depth"),
                            ((128, True, 8, 8, 8, 1), "positive"), ((128, 128, 8, 3, 8, 1), "vector")):
        assert message in SimtConfig("s", *change).fits()
    assert "'q'" in SimtConfig("q", 128, 128, 8, 8, 8, 1).fits()
    assert "'f8'" in MmaConfig("f8", 64, 64, 32, 32, 3, 2).fits((8, 0))
    assert "positive" in MmaConfig("f16", 64, 64, 0, 32, 3, 2).fits((8, 0))
    assert "splits" in GemmConfig(fit, 0).fits((8, 0))


# What a context names.


def launches(device, call, **settings):
    """Kernels that a call launches on a counting device, and how many blocks of each."""
    seen = []
    launch = device.launch

    def watch(kernel, grid, *rest):
        seen.append((kernel.name.partition("_")[0], grid[0], kernel.threads))
        launch(kernel, grid, *rest)

    device.launch = watch
    with gpublas.use(gpublas.Context(device, **settings)):
        result = call()
    return seen, result


@pytest.fixture
def operands(rng):
    return np.asfortranarray(random_values(rng, (132, 1100), "f4")), np.asfortranarray(random_values(rng, (1100, 64),
                                                                                                       "f4"))


def test_a_named_configuration_is_used(operands):
    """64 x 64 tiles without splits, with two, and with as many as the heuristic says; other kinds keep theirs."""
    A, B = operands
    bound = product_bound(1, A, B, 0, None, 1100, A.dtype)

    def product():
        return gpublas.sgemm("N", "N", 1.0, A, B)

    for named, parts in ((GemmConfig(SMALLEST, 1), 1), (GemmConfig(SMALLEST, 3), 3), (SMALLEST, 2),
                         ([MMA_CONFIGS["f16"][-1], GemmConfig(SMALLEST, 1)], 1)):
        seen, C = launches(ExecutorDevice(), product, gemm_config=named)
        assert {threads for name, _, threads in seen if name == "gemm"} == {SMALLEST.threads}
        assert sum(blocks for name, blocks, _ in seen if name == "gemm") == 3 * parts
        assert ("fold" in {name for name, _, _ in seen}) == (parts > 1)
        assert_within(C, A.astype("f8") @ B.astype("f8"), bound)
    seen, _ = launches(ExecutorDevice(), product, gemm_config=GemmConfig(MIDDLE, 1))
    assert seen == [("gemm", 2, MIDDLE.threads)]
    seen, _ = launches(ExecutorDevice(), product, gemm_config=GemmConfig(SMALLEST, 3), batch_invariant=True)
    assert seen == [("gemm", 3, SMALLEST.threads)]  # k is never cut


def test_tiles_too_small_for_whole_vectors_go_to_the_general_kernel(operands):
    A, B = operands
    named = GemmConfig(STRIDED["s"][-1], 1)
    seen, C = launches(ExecutorDevice(), lambda: gpublas.sgemm("N", "N", 1.0, A, B), gemm_config=named)
    assert seen == [("gemm", 3, STRIDED["s"][-1].threads)]
    problem = GemmProblem.of(*(Matrix.of(arrays.describe(array)) for array in (A, B, C)))
    context = gpublas.Context(ExecutorDevice(), gemm_config=named)
    assert ANY not in select.ways(problem)
    assert level3.choose(tuning.target(ExecutorDevice(), context.gemm_config), problem).lies == (ANY, ANY)
    assert_within(C, A.astype("f8") @ B.astype("f8"), product_bound(1, A, B, 0, None, 1100, A.dtype))


def test_a_named_configuration_of_tensor_cores(rng):
    A, B = random_values(rng, (20, 600), "f2"), random_values(rng, (600, 70), "f2")
    for named, parts in ((GemmConfig(MMA_CONFIGS["f16"][-1], 2), 2), (GemmConfig(MMA_CONFIGS["f16"][-1], 1), 1)):
        seen, _ = launches(ExecutorDevice(), lambda: gpublas.gemm("N", "N", 1.0, A, B), gemm_config=named)
        assert sum(blocks for name, blocks, _ in seen if name == "mma") == 2 * parts


@pytest.mark.parametrize("named, message", [
    (SimtConfig("s", 128, 128, 8, 3, 8, 1), "vector width"), (GemmConfig(SMALLEST, 0), "splits"), (64, "GemmConfig"),
    ([SMALLEST, MIDDLE], "one of each kind"), (MmaConfig("f16", 256, 256, 64, 64, 3, 1), "shared memory"),
    ({"s": SMALLEST}, "GemmConfig"), ([SMALLEST, 3], "GemmConfig"), (GemmConfig("large"), "GemmConfig")])
def test_unfit_configurations_are_refused(named, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        gpublas.Context("executor", gemm_config=named)
    assert caught.value.argument == "gemm_config"


@pytest.mark.parametrize("documented", [gpublas.Context, shapes.parse], ids=lambda value: value.__name__)
def test_examples_run(documented):
    (example,) = doctest.DocTestFinder(recurse=False).find(documented, globs={"parse": shapes.parse})
    results = doctest.DocTestRunner(verbose=False).run(example)
    assert results.failed == 0 and results.attempted == len(example.examples) > 0


def test_the_cpu_has_none():
    with pytest.raises(UnsupportedError, match="gemm_config"):
        gpublas.Context("cpu", gemm_config=SMALLEST)


def test_a_configuration_that_does_not_fit_where_the_arrays_live_is_refused_there():
    other = tuning.Target((7, 5), 40, (GemmConfig(MMA_CONFIGS["f16"][-1]),))
    with pytest.raises(UnsupportedError, match=r"7\.5.*8\.0"):
        tuning.choose(other, Work("f16", VECTORS, 8, 8, 8, 1, False))


# Tables.


@pytest.fixture
def forgetful(tmp_path, monkeypatch):
    """The folder of an empty user, and no table known from before."""
    monkeypatch.setenv("GPUBLAS_TUNED_DIR", str(tmp_path))
    monkeypatch.setattr(tuning, "_tables", {})
    monkeypatch.setattr(tuning, "_targets", {})
    return tmp_path


WORK = Work("s", VECTORS, 1000, 2000, 3000, 1, False)


def entry(work=WORK, config=None):
    return Entry(work, config or GemmConfig(MIDDLE, 3), 1e-3, 2e-3)


def test_a_table_is_read_back(forgetful):
    device = ExecutorDevice()
    entries = [entry(), entry(WORK._replace(kind="f16"), GemmConfig(MMA_CONFIGS["f16"][0], 1))]
    path = tuning.user_file(device)
    tuning.write(path, device, entries)
    assert tuning.read(path, device) == (entries, "")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["library"], content["driver"], content["device"]) == (gpublas.__version__, "0.0", "executor")
    assert content["entries"][0]["config"]["block_rows"] == 128 and list(forgetful.iterdir()) == [path]


def test_order_of_the_choice(forgetful, monkeypatch):
    """The context, the user's table, the shipped one, the heuristic."""
    device = ExecutorDevice()
    shipped = forgetful / "shipped.json"
    monkeypatch.setattr(tuning, "shipped_file", lambda device: shipped)
    named = GemmConfig(SMALLEST, 7)

    def choose(*explicit):
        tuning._tables.clear()
        tuning._targets.clear()
        return tuning.choose(tuning.target(device, explicit), WORK)

    heuristic = chosen(WORK)
    assert choose() == heuristic
    tuning.write(shipped, device, [entry(config=GemmConfig(SMALLEST, 2))])
    assert choose() == GemmConfig(SMALLEST, 2)
    tuning.write(tuning.user_file(device), device, [entry()])
    assert choose() == GemmConfig(MIDDLE, 3)
    assert choose(named) == named
    assert choose(GemmConfig(MMA_CONFIGS["f16"][-1])) == GemmConfig(MIDDLE, 3)  # of another kind


def test_which_problems_an_entry_serves(forgetful):
    """Its own shape first, then what has as many tiles; not another layout, kind or batch; whole where it must be."""
    device = ExecutorDevice()
    exact, other = GemmConfig(MIDDLE, 3), GemmConfig(SMALLEST, 2)
    tuning.write(tuning.user_file(device), device, [entry(), entry(WORK._replace(m=1001), other)])
    target = tuning.target(device)
    for change, wanted in (({}, exact), ({"m": 1001}, other), ({"m": 1024, "n": 1985, "k": 2999}, exact),
                           ({"whole": True}, GemmConfig(MIDDLE, 1))):
        assert tuning.choose(target, WORK._replace(**change)) == wanted
    for change in ({"m": 1025}, {"layout": "any strides"}, {"kind": "d"}, {"products": 2}):
        work = WORK._replace(**change)
        assert tuning.choose(target, work) == chosen(work)


def test_a_table_decides_what_is_launched(forgetful, operands):
    A, B = operands
    device = ExecutorDevice()
    work = Work("s", VECTORS, 132, 64, 1100, 1, False)
    tuning.write(tuning.user_file(device), device, [entry(work, GemmConfig(MIDDLE, 1))])
    seen, _ = launches(device, lambda: gpublas.sgemm("N", "N", 1.0, A, B))
    assert seen == [("gemm", 2, MIDDLE.threads)]


def change_head(name, value):
    return lambda content: content.update({name: value})


def change_entry(*path, value):
    def change(content):
        place = content["entries"][0]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
    return change


BAD = {
    "stale": (change_head("library", "0.0.1"), "library is '0.0.1'"),
    "another device": (change_head("device", "NVIDIA H200"), "device is 'NVIDIA H200'"),
    "another driver": (change_head("driver", "13.0"), "driver is '13.0'"),
    "no head": (lambda content: content.pop("library"), "KeyError: 'library'"),
    "no entries": (change_head("entries", 7), "TypeError"),
    "unfit": (change_entry("config", "thread_rows", value=3), "1 of 2 entries ignored; entry 1: thread tiles"),
    "zero": (change_entry("config", "block_rows", value=0), "entry 1: all numbers must be positive"),
    "no number": (change_entry("config", "block_rows", value="128"), "entry 1: all numbers must be positive"),
    "no field": (lambda content: content["entries"][0]["config"].pop("block_rows"), "entry 1: TypeError"),
    "field too many": (change_entry("config", "colour", value=1), "entry 1: TypeError"),
    "unknown kind": (change_entry("problem", "kind", value="q"), "entry 1: ValueError: kind 'q'"),
    "bad shape": (change_entry("problem", "m", value=-1), "entry 1: ValueError: m, n, k"),
    "bad splits": (change_entry("splits", value=0), "entry 1: 0 splits"),
    "no dictionary": (lambda content: content["entries"].__setitem__(0, [1]), "entry 1: TypeError"),
    "shared memory": (lambda content: content["entries"].__setitem__(0, tuning._row(
        entry(WORK._replace(kind="f16"), GemmConfig(MmaConfig("f16", 128, 256, 64, 64, 9, 1), 1)))), "shared memory"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_ignored_with_one_warning(forgetful, name):
    device = ExecutorDevice()
    path = tuning.user_file(device)
    second = WORK._replace(m=64)
    tuning.write(path, device, [entry(), entry(second, GemmConfig(SMALLEST, 5))])
    content = json.loads(path.read_text(encoding="utf-8"))
    change, message = BAD[name]
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.warns(RuntimeWarning) as caught:
        assert tuning.choose(tuning.target(device), WORK) == chosen(WORK)
    assert len(caught) == 1 and message in str(caught[0].message) and str(path) in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a second one would be raised
        kept = tuning.choose(tuning.target(device, (GemmConfig(MMA_CONFIGS["f16"][-1]),)), second)
    assert kept == (GemmConfig(SMALLEST, 5) if "entr" in message or name == "shared memory" else chosen(second))


@pytest.mark.parametrize("content, message", [
    (b"{", "JSONDecodeError"), (b"", "JSONDecodeError"), (b"\xff\xfe\x00", "cannot be read"), (b"[]", "TypeError"),
    (b"7", "TypeError")])
def test_files_that_are_no_tables(forgetful, content, message):
    device = ExecutorDevice()
    tuning.user_file(device).write_bytes(content)
    with pytest.warns(RuntimeWarning, match=message):
        assert tuning.choose(tuning.target(device), WORK) == chosen(WORK)


def test_a_shipped_table_is_for_every_driver(forgetful):
    device = ExecutorDevice()
    path = forgetful / "shipped.json"
    tuning.write(path, device, [entry()])
    path.write_text(path.read_text(encoding="utf-8").replace('"driver": "0.0"', '"driver": "13.0"'), encoding="utf-8")
    assert tuning.read(path, device, own=False) == ([entry()], "")
    assert tuning.read(path, device)[0] == []


def test_files_are_named_by_device():
    class Gpu(ExecutorDevice):
        model = "NVIDIA H200 (NVL)"

    assert tuning.user_file(Gpu()).name == tuning.shipped_file(Gpu()).name == "nvidia-h200-nvl.json"


def test_a_table_that_cannot_be_written_leaves_the_old_one(forgetful, monkeypatch):
    device = ExecutorDevice()
    path = tuning.user_file(device)
    tuning.write(path, device, [entry()])
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        tuning.write(path, device, [])
    assert path.read_bytes() == before and list(forgetful.iterdir()) == [path]


# The command.


def run(*arguments):
    return command.main(["tune", "--device", "executor", *map(str, arguments)])


SHAPE = "64x68x300"


def test_tune_end_to_end(forgetful, capsys, monkeypatch):
    """Measures, writes a table that the device then uses, prints a summary; a second run adds to the file."""
    monkeypatch.setattr(tune, "_SPLITS", (2,))
    monkeypatch.setattr(select, "candidates", lambda work: WIDE["s"][-1:] if work.kind == "s" else
                        MMA_CONFIGS[work.kind][-1:])
    device = ExecutorDevice()
    path = tuning.user_file(device)
    assert run("--quick", "--output", path, "--shapes", SHAPE, "--kinds", "s") == 0
    text = capsys.readouterr().out
    assert "good for trying" in text and f"s NN {SHAPE}" in text and "gain" in text and str(path) in text
    (found,), reason = tuning.read(path, device)
    assert not reason and found.work == Work("s", VECTORS, 64, 68, 300, 1, False)
    assert found.config in (GemmConfig(SMALLEST, 1), GemmConfig(SMALLEST, 2))
    assert 0 < found.seconds <= found.heuristic_seconds
    assert run("--quick", "--output", path, "--shapes", "TN:64x64x64", "--kinds", "f16") == 0
    assert {entry.work.kind for entry in tuning.read(path, device)[0]} == {"s", "f16"}
    assert tuning.choose(tuning.target(device), found.work) == found.config


def test_the_fastest_right_configuration_wins(forgetful, monkeypatch, capsys):
    """Times are made up: two parts are much faster; then a little, which may be noise; then wrong."""
    device = ExecutorDevice()
    monkeypatch.setattr(tune, "_SPLITS", (2,))
    monkeypatch.setattr(tune.select, "candidates", lambda work: (SMALLEST,))
    path = forgetful / "table.json"
    for share, best in ((0.5, 2), (0.99, 1)):
        times = iter((1.0, share))
        monkeypatch.setattr(tune, "median", lambda *given, times=times, **more: next(times))
        assert run("--output", path, "--shapes", SHAPE, "--kinds", "s") == 0
        (found,), _ = tuning.read(path, device)
        assert found.config == GemmConfig(SMALLEST, best)
        assert (found.seconds, found.heuristic_seconds) == ((0.5, 1.0) if best == 2 else (1.0, 1.0))
    compute = tune.Product.compute
    results = iter((0, 1))

    def spoilt(self, launch):
        result = compute(self, launch)
        result[77] += next(results)
        return result

    monkeypatch.setattr(tune.Product, "compute", spoilt)
    monkeypatch.setattr(tune, "median", lambda *given, **more: 1.0)
    assert run("--output", path, "--shapes", SHAPE, "--kinds", "s") == 1
    assert "1 of 4352 elements differ" in capsys.readouterr().out
    assert tuning.read(path, device)[0][0].config == GemmConfig(SMALLEST, 1)


def test_an_interrupted_run_keeps_what_was_measured(forgetful, monkeypatch, capsys):
    path = forgetful / "table.json"
    measured = iter([tune.Measured(entry(), GemmConfig(SMALLEST, 1), "")])

    def measure(*given):
        try:
            return next(measured)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(tune, "measure", measure)
    assert run("--output", path, "--shapes", "1000x2000x3000", "64x64x64", "--kinds", "s") == 130
    assert tuning.read(path, ExecutorDevice()) == ([entry()], "")
    text = capsys.readouterr().out
    assert "interrupted" in text and "1 problems" in text


def test_a_place_that_cannot_be_written_to_is_told(forgetful, monkeypatch, capsys):
    (forgetful / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(tune, "measure", lambda *given: tune.Measured(entry(), GemmConfig(SMALLEST, 1), ""))
    assert run("--output", forgetful / "file" / "table.json", "--shapes", "3x4x5", "--kinds", "d") == 1
    assert "cannot be written" in capsys.readouterr().out


def test_progress_without_rich(forgetful, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(tune, "measure", lambda *given: tune.Measured(entry(), GemmConfig(SMALLEST, 1), ""))
    assert run("--output", forgetful / "table.json", "--shapes", "TN:3x4x5", "--kinds", "d") == 0
    assert "\nd TN 3x4x5\n" in capsys.readouterr().out


def test_where_nothing_can_be_tuned(forgetful, monkeypatch, capsys):
    from gpublas.cuda import driver

    assert run() == 1 and "--output" in capsys.readouterr().out
    assert command.main(["tune", "--device", "cpu"]) == 1 and "no kernels" in capsys.readouterr().out
    monkeypatch.setattr(driver, "why_unusable", lambda: "no NVIDIA driver")
    monkeypatch.setattr(gpublas.context, "_devices", {})
    assert command.main(["tune"]) == 1 and "no NVIDIA driver" in capsys.readouterr().out
    assert run("--output", "x", "--shapes", "64") == 1 and "MxNxK" in capsys.readouterr().out
    assert not list(forgetful.iterdir())


@pytest.mark.parametrize("kind", ["s", "z", "f16", "s8", "dmma"])
@pytest.mark.parametrize("text", ["TN:20x36x40", "NT:7x9x24"])
def test_every_kind_is_prepared_as_gemm_would(kind, text, monkeypatch):
    """The canonical problem is the public routine's, and the exact values give the product's one exact result."""
    from gpublas import context

    shape, sent = shapes.parse(text), []
    device = ExecutorDevice()
    upload = device.upload
    device.upload = lambda host, *rest: (sent.append(host.copy()), upload(host, *rest))
    with context.use(gpublas.Context(device)), context.Call("tune", {}, {}) as call:
        product = tune.Product(call, kind, shape)
        product.load(exact=True)
        found = product.compute(product.launcher(tuning.choose(tuning.typical((8, 0)), product.work)))
    A, B = (values.reshape(extents, order="F") for values, extents in zip(sent, (
        (shape.k, shape.m) if shape.op_a == "T" else (shape.m, shape.k),
        (shape.n, shape.k) if shape.op_b == "T" else (shape.k, shape.n)), strict=False))
    wide = "c16" if kind == "z" else "f8"
    left, right = (values.astype(wide).T if op == "T" else values.astype(wide) for values, op in
                   ((A, shape.op_a), (B, shape.op_b)))
    assert np.array_equal(found.reshape(shape.m, shape.n, order="F"), left @ right) and np.abs(left).max() > 1

    asked = []
    monkeypatch.setattr(tuning, "choose", lambda target, work, choose=tuning.choose: asked.append(work) or choose(
        target, work))
    level3.plan_gemm.cache_clear()
    mixed.plan_mixed.cache_clear()
    with gpublas.use(gpublas.Context(ExecutorDevice(multiprocessors=100))):
        gpublas.gemm(shape.op_a, shape.op_b, 1, A, B, compute="dmma" if kind == "dmma" else None)
    assert asked == [product.work]


def test_what_is_measured():
    quick, full = tune.problems(True, (), ()), tune.problems(False, ("s",), ())
    assert {kind for kind, _ in quick} == set(tune.QUICK_KINDS) and {shape.group for _, shape in quick} == {"square"}
    assert {shape.group for _, shape in full} > {"square", "training"} and len(full) > 100
    assert tune.problems(False, ("d",), [shapes.parse("3x4x5")]) == [("d", shapes.Shape("given", 3, 4, 5, "N", "N"))]
    work = Work("s", VECTORS, 64, 64, 4096, 1, False)
    found = list(tune.configurations(work, (8, 0), 108))
    assert {config.tiles for config in found} == set(WIDE["s"]) and len(set(found)) == len(found)
    assert {config.splits for config in found} == {1, *tune._SPLITS}
    assert {config.splits for config in tune.configurations(work._replace(whole=True), (8, 0), 108)} == {1}
    assert {config.splits for config in tune.configurations(work._replace(m=8192, n=8192), (8, 0), 108)} == {1}
