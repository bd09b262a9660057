"""Every algorithm x direction x device against the oracle, within its own error bound."""

import numpy as np
import pytest

import gpudnn
from gpublas.testing.bounds import assert_within
from gpublas.testing.buffers import LAYOUTS as MEMORY
from gpublas.testing.buffers import Guarded
from gpudnn import select

from . import reference
from .cases import CASES, EMPTY_CASES, Case

ALGORITHMS = [algorithm.NAME for algorithm in select.ALGORITHMS]
DIRECTIONS = ["forward", "backward_data", "backward_filter"]
LAYOUTS = ["NCHW", "NHWC"]
ALPHA, BETA = 0.75, -1.5


class Run:
    """One case in one direction: random operands, the call, the exact result and its bound."""

    def __init__(self, case, direction, layout="NCHW", dtype="float32", flip=False, memory=("C", "C", "C"), seed=1):
        self.case, self.direction, self.layout, self.flip = case, direction, layout, flip
        self.dtype = np.dtype(dtype)
        rng = np.random.default_rng(seed)
        shapes = {"x": case.x, "w": case.w, "y": case.y}
        first, second, self.result = {"forward": ("x", "w", "y"), "backward_data": ("y", "w", "x"),
                                      "backward_filter": ("x", "y", "w")}[direction]
        self.a = rng.standard_normal(shapes[first]).astype(dtype)
        self.b = rng.standard_normal(shapes[second]).astype(dtype)
        self.bias = rng.standard_normal(case.w[0]).astype(dtype)
        self.old = rng.standard_normal(shapes[self.result]).astype(dtype)
        self.shape = shapes[self.result]
        self.memory = memory
        self.inputs = [Guarded(self.outward(values), kind) for values, kind in zip((self.a, self.b), memory,
                                                                                  strict=False)]

    def outward(self, values):
        """As the layout indexes it."""
        return values if self.layout == "NCHW" else reference.to_channels_last(values)

    def inward(self, values):
        return values if self.layout == "NCHW" else reference.to_channels_first(values)

    def compute(self, algo, alpha=1.0, beta=0.0, bias=False, out=True, **options):
        """The result, channels first; the output is poisoned and its surroundings are checked."""
        case = self.case
        old = self.outward(self.old if beta else np.full(self.shape, np.nan, self.dtype))
        guarded = Guarded(old, self.memory[2])
        options.update(stride=case.stride, padding=case.padding, dilation=case.dilation, groups=case.groups,
                       layout=self.layout, mode="convolution" if self.flip else "cross_correlation", algo=algo,
                       alpha=alpha, beta=beta, out=guarded.array if out else None)
        a, b = (one.array for one in self.inputs)
        if self.direction == "forward":
            result = gpudnn.conv2d(a, b, self.bias if bias else None, **options)
        else:
            call = getattr(gpudnn, f"conv2d_{self.direction}")
            result = call(a, b, old.shape, **options)
        for one in (*self.inputs, guarded):
            one.assert_intact()
        for one, values in zip(self.inputs, (self.a, self.b), strict=True):
            assert np.array_equal(self.inward(one.array), values, equal_nan=True)
        assert result.dtype == self.dtype and (not out or result is guarded.array)
        return self.inward(result)

    def exact(self, a, b):
        case = self.case
        geometry = (case.stride, case.padding, case.dilation, case.groups, self.flip)
        if self.direction == "forward":
            return reference.conv_forward(a, b, *geometry)
        if self.direction == "backward_data":
            return reference.conv_backward_data(a, b, case.x, *geometry)
        return reference.conv_backward_filter(a, b, case.w, *geometry)

    def check(self, algo, alpha=1.0, beta=0.0, bias=False, **options):
        bias = bias and self.direction == "forward"
        computed = self.compute(algo, alpha, beta, bias, **options)
        exact = alpha * self.exact(self.a, self.b)
        size = abs(alpha) * self.exact(np.abs(self.a), np.abs(self.b))
        if beta:
            exact, size = exact + beta * reference.wide(self.old), size + abs(beta) * np.abs(self.old)
        if bias:
            shift = reference.wide(self.bias)[:, None, None]
            exact, size = exact + shift, size + np.abs(shift)
        assert_within(computed, exact, self.factor(algo) * size, f"{self.case} {self.direction} {algo}")
        return computed

    def factor(self, algo):
        """The algorithm's own bound; a few roundings more for scaling and bias."""
        case = self.case
        problem = gpudnn.ConvProblem.from_shapes(case.x, case.w, stride=case.stride, padding=case.padding,
                                                 dilation=case.dilation, groups=case.groups, dtype=self.dtype)
        bounds = [one.error_bound(problem, self.direction) for one in select.ALGORITHMS if algo in ("auto", one.NAME)]
        return max(bounds) + 2 * problem.eps


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(device, case, layout, algo, direction):
    Run(case, direction, layout).check(algo, bias=True)
    assert gpudnn.last_choice().algorithm == algo and gpudnn.last_choice().direction == direction


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scales_float64_and_flip(device, layout, algo, direction):
    """alpha, beta, a bias, a flipped kernel, float64; every kind of geometry at once."""
    case = next(case for case in CASES if case.name == "dilation_and_stride")
    Run(case, direction, layout, "float64", flip=True).check(algo, ALPHA, BETA, bias=True)
    grouped = next(case for case in CASES if case.name == "groups_strided")
    Run(grouped, direction, layout, "float64", flip=True).check(algo, ALPHA, BETA)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("name", ["same", "one_by_one", "groups"])
def test_any_strides(device, name, memory, layout, algo, direction):
    """Each operand in turn lies in an unusual way; the layout argument alone says what is what."""
    case = next(case for case in CASES if case.name == name)
    for operand in range(3):
        kinds = ["C"] * 3
        kinds[operand] = memory
        Run(case, direction, layout, memory=kinds).check(algo, 1.0, BETA if operand == 2 else 0.0)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ["auto", *ALGORITHMS])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", EMPTY_CASES, ids=str)
def test_empty(device, case, layout, algo, direction):
    """d16: no images, channels, filters or rows: zeros, or beta * out, or the bias."""
    Run(case, direction, layout).check(algo, bias=True)
    Run(case, direction, layout).check(algo, ALPHA, BETA, bias=True)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_alpha_zero_reads_nothing(device, direction):
    case = CASES[3]
    run = Run(case, direction)
    for one in run.inputs:
        one.array[...] = np.nan
    run.a[...] = np.nan
    run.b[...] = np.nan
    assert not np.any(run.compute("auto", alpha=0.0))
    scaled = run.compute("auto", alpha=0.0, beta=2.0)
    assert np.array_equal(scaled, 2 * run.old)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_new_output(device, layout, direction):
    """Without `out` the result is a new C-order array."""
    run = Run(CASES[4], direction, layout)
    result = run.outward(run.check("auto", out=False))
    assert result.flags.c_contiguous


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["same", "stride", "dilation", "groups", "one_by_one_strided", "stride_beyond_kernel"])
def test_slices(device, name, layout, direction):
    """im2col in slices, from the least workspace up: never more than the limit, the same result."""
    from gpudnn.algorithms import im2col

    case = next(case for case in CASES if case.name == name)
    problem = gpudnn.ConvProblem.from_shapes(
        *([case.x, case.w] if layout == "NCHW" else
          [(case.x[0], *case.x[2:], case.x[1]), (case.w[0], *case.w[2:], case.w[1])]),
        stride=case.stride, padding=case.padding, dilation=case.dilation, groups=case.groups, layout=layout)
    least = im2col.workspace_bytes(problem, direction, 0)
    free = im2col.workspace_bytes(problem, direction)
    assert 0 < least <= free
    for limit in sorted({least, (least + free) // 2, free, 4 * free}):
        assert im2col.workspace_bytes(problem, direction, limit) <= limit
        Run(case, direction, layout).check("im2col", 1.0, BETA, workspace_limit=limit)
        assert gpudnn.last_choice().workspace_bytes <= limit
    # A filter that is no matrix as it lies takes a packed copy, or the limit refuses.
    packed = free + case.w[0] * case.w[1] * case.w[2] * case.w[3] * 4 + 256
    Run(case, direction, layout, memory=("C", "C reversed", "C")).check("im2col", workspace_limit=packed)
    with pytest.raises(gpudnn.UnsupportedError, match=f"limit is {least - 1}"):
        Run(case, direction, layout).compute("im2col", workspace_limit=least - 1)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ["auto", "direct"])
def test_d2_no_workspace(device, direction, algo, monkeypatch):
    """d2: workspace_limit = 0 always succeeds, and takes none."""
    monkeypatch.setattr("gpublas.context.WorkspacePool.lend", None)
    Run(CASES[4], direction).check(algo, workspace_limit=0)
    choice = gpudnn.last_choice()
    assert choice.algorithm == "direct" and choice.workspace_bytes == 0
    if algo == "auto":
        assert choice.passed_over[0][0] == "im2col" and "limit is 0" in choice.passed_over[0][1]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_d3_allocator_fails(device, direction, monkeypatch, caplog):
    """d3: no memory for the chosen algorithm's workspace: the next one that fits, logged, same result."""
    def refuse(self, device, stream, nbytes):
        raise gpudnn.OutOfMemoryError(nbytes)

    monkeypatch.setattr("gpublas.context.WorkspacePool.lend", refuse)
    Run(CASES[4], direction).check("auto", ALPHA, BETA)
    assert gpudnn.last_choice().algorithm == "direct"
    assert "cannot allocate" in gpudnn.last_choice().passed_over[0][1]
    assert any("im2col cannot serve" in record.message and "taking direct" in record.message
               for record in caplog.records)
    with pytest.raises(gpudnn.OutOfMemoryError):
        Run(CASES[4], direction).compute("im2col")


@pytest.mark.parametrize("failure", [gpudnn.UnsupportedError("not here"), gpudnn.OutOfMemoryError(7)])
def test_d8_every_candidate_fails(device, failure, monkeypatch):
    """d8: direct's result when all others fail; direct's own error when it fails too; a fault is never hidden."""
    from gpudnn.algorithms import direct, im2col

    def fail(*arguments):
        raise failure

    run = Run(CASES[4], "forward")
    monkeypatch.setattr(im2col, "forward", fail)
    run.check("auto")
    assert gpudnn.last_choice().algorithm == "direct"

    def other_fail(*arguments):
        raise gpudnn.UnsupportedError("direct's own")

    monkeypatch.setattr(direct, "forward", other_fail)
    with pytest.raises(gpudnn.UnsupportedError, match="direct's own"):
        run.compute("auto")

    def fault(*arguments):
        raise ZeroDivisionError

    gpudnn.fallback_log(clear=True)  # im2col is tried again
    monkeypatch.setattr(im2col, "forward", fault)
    with pytest.raises(ZeroDivisionError):
        run.compute("auto")


def test_d15_untouched_rows(device):
    """d15: 9 -> 3 channels, 32x32, k5 s3 p1: input rows and columns that no window touches have gradient zero."""
    case = next(case for case in CASES if case.name == "d15_skipped_rows")
    touched = {p * 3 - 1 + tap for p in range(case.output[0]) for tap in range(5)}
    untouched = [row for row in range(32) if row not in touched]
    assert untouched
    for algo in ALGORITHMS:
        dx = Run(case, "backward_data").check(algo)
        assert not np.any(dx[:, :, untouched]) and not np.any(dx[..., untouched])
        assert np.all(dx[:, :, 0:29, 0:29] != 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_d21_no_reduced_precision(device, algo, direction):
    """d21: float32 has float32-grade error by default: relative L2 below 2e-7 (TF32 has about 3e-4)."""
    case = Case("d21", (2, 16, 8, 8), (16, 16, 3, 3), padding=((1, 1), (1, 1)))
    run = Run(case, direction)
    for one, values in zip(run.inputs, (run.a, run.b), strict=True):
        np.maximum(values, 0, out=values) if one is run.inputs[0] else None
        one.array[...] = values
    exact = run.exact(run.a, run.b)
    error = np.linalg.norm(run.compute(algo) - exact) / np.linalg.norm(exact)
    assert error < 2e-7 * (3 if direction == "backward_filter" else 1)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_d22_nan_weight(device, algo):
    """d22: outputs (and input gradients) that use a NaN weight are NaN; other filters stay finite."""
    case = Case("d22", (2, 3, 6, 6), (4, 3, 3, 3))
    run = Run(case, "forward")
    run.b[2, 1, 0, 2] = run.inputs[1].array[2, 1, 0, 2] = np.nan
    y = run.compute(algo)
    assert np.all(np.isnan(y[:, 2])) and np.all(np.isfinite(np.delete(y, 2, 1)))
    run = Run(case, "backward_data")
    run.b[2, 1, 0, 2] = run.inputs[1].array[2, 1, 0, 2] = np.nan
    dx = run.compute(algo)
    assert np.all(np.isnan(dx[:, 1, :4, 2:])) and np.all(np.isfinite(dx[:, (0, 2)]))


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_nan_weight_that_meets_only_padding(device, algo):
    """As conv2d documents: direct skips the padding, im2col multiplies it."""
    w = np.ones((1, 1, 3, 3))
    w[0, 0, 0, 0] = np.nan
    y = gpudnn.conv2d(np.ones((1, 1, 4, 4)), w, padding=1, algo=algo)[0, 0]
    assert np.isnan(y[1:, 1:]).all()
    assert np.isnan(y[0]).all() == np.isnan(y[:, 0]).all() == (algo == "im2col")


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_nan_pixel_stays_in_its_windows(device, algo):
    run = Run(Case("nan", (2, 2, 7, 7), (2, 2, 3, 3), padding=((1, 1), (1, 1))), "forward")
    run.a[1, 0, 3, 3] = run.inputs[0].array[1, 0, 3, 3] = np.nan
    y = run.compute(algo)
    wanted = np.zeros(y.shape, bool)
    wanted[1, :, 2:5, 2:5] = True
    assert np.array_equal(np.isnan(y), wanted)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_d23_layout_is_what_the_argument_says(device, algo):
    """d23: one channel, or 1x1 images: NHWC memory with the strides of NCHW, and the other way round."""
    rng = np.random.default_rng(2)
    for shape in [(2, 1, 5, 4), (3, 4, 1, 1)]:
        batch, channels, height, width = shape
        x, w = rng.standard_normal(shape), rng.standard_normal((2, channels, 1, 1))
        wanted = reference.conv_forward(x, w, (1, 1), ((0, 0), (0, 0)), (1, 1), 1).astype(float)
        for order in "CF":
            memory = np.array(x.reshape(batch, channels, height * width), order=order)
            first = memory.reshape(shape)
            last = np.moveaxis(first, 1, -1)
            y = gpudnn.conv2d(first, w, algo=algo)
            assert np.allclose(y, wanted)
            y = gpudnn.conv2d(last, np.moveaxis(w, 1, -1), layout="NHWC", algo=algo)
            assert y.shape == (batch, height, width, 2) and np.allclose(np.moveaxis(y, -1, 1), wanted)


def test_bias_gradient(device, rng):
    for shape in [(2, 3, 5, 4), (1, 1, 1, 1), (3, 5, 40, 41), (0, 2, 3, 3), (2, 0, 3, 3), (2, 3, 0, 4)]:
        dy = rng.standard_normal(shape).astype(np.float32)
        exact, size = reference.wide(dy).sum((0, 2, 3)), np.abs(dy).sum((0, 2, 3), dtype=np.float64)
        bound = (shape[0] * shape[2] * shape[3] + 2) * np.finfo(np.float32).eps * size
        for layout, memory in [("NCHW", "C"), ("NHWC", "C"), ("NHWC", "no unit stride"), ("NCHW", "C reversed")]:
            guarded = Guarded(dy if layout == "NCHW" else reference.to_channels_last(dy), memory)
            old = Guarded(np.full(shape[1], np.nan, np.float32), "no unit stride")
            db = gpudnn.conv2d_backward_bias(guarded.array, layout=layout, out=old.array)
            old.assert_intact()
            assert_within(db, exact, bound, f"{shape} {layout}")
        db = gpudnn.conv2d_backward_bias(dy, alpha=0.5, beta=2.0, out=np.ones(shape[1], np.float32))
        assert_within(db, 0.5 * exact + 2, bound + 1e-6, f"{shape} scaled")
    assert not np.any(gpudnn.conv2d_backward_bias(np.full((1, 2, 3, 3), np.nan), alpha=0))


def test_bias_gradient_in_two_steps(executor, rng, monkeypatch):
    """Long sums are cut into chunks that are summed again."""
    monkeypatch.setattr("gpudnn.gpu._CHUNK", 50)
    dy = rng.standard_normal((3, 4, 9, 10))
    assert np.allclose(gpudnn.conv2d_backward_bias(dy), dy.sum((0, 2, 3)), rtol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wide_indices(executor, layout, monkeypatch):
    """The kernels for more than 2**31 threads, on a problem that is small enough to run."""
    monkeypatch.setattr("gpudnn.gpu.LIMIT", 1)
    monkeypatch.setattr("gpudnn.gpu._geometry", _unlimited(__import__("gpudnn.gpu", fromlist=["gpu"])._geometry))
    for case in CASES[4], CASES[15]:
        for direction in DIRECTIONS:
            for algo in ALGORITHMS:
                Run(case, direction, layout).check(algo, ALPHA, BETA, bias=True)


def _unlimited(geometry):
    """The geometry without the check of extents, whose limit the test lowers."""
    def unlimited(problem):
        import gpudnn.gpu as gpu

        low, gpu.LIMIT = gpu.LIMIT, 2**31
        try:
            return geometry(problem)
        finally:
            gpu.LIMIT = low

    return unlimited


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("direction", ["backward_data", "backward_filter"])
def test_gradient_is_the_derivative(device, direction, algo):
    """Central differences of the forward call, in float64."""
    case = Case("difference", (2, 4, 5, 4), (4, 2, 3, 2), stride=(2, 1), padding=((1, 0), (1, 1)), groups=2)
    rng = np.random.default_rng(3)
    x, w, dy = rng.standard_normal(case.x), rng.standard_normal(case.w), rng.standard_normal(case.y)
    options = {"stride": case.stride, "padding": case.padding, "groups": 2, "algo": algo}
    step = 1e-3  # the map is linear in each operand: any step is exact up to rounding
    if direction == "backward_data":
        gradient, operand, other = gpudnn.conv2d_backward_data(dy, w, case.x, **options), x, w
    else:
        gradient, operand, other = gpudnn.conv2d_backward_filter(x, dy, case.w, **options), w, x
    for index in [tuple(rng.integers(0, extent) for extent in operand.shape) for _ in range(6)]:
        values = []
        for sign in (1, -1):
            moved = operand.copy()
            moved[index] += sign * step
            pair = (moved, other) if operand is x else (other, moved)
            values.append(float((gpudnn.conv2d(*pair, **options) * dy).sum()))
        assert abs((values[0] - values[1]) / (2 * step) - gradient[index]) < 1e-9


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_same_bits_every_time(device, algo, direction):
    """Also while the executor steps threads in another order."""
    case = Case("bits", (3, 4, 9, 9), (5, 4, 3, 3), padding=((1, 1), (1, 1)))
    results = [Run(case, direction).compute(algo).tobytes() for _ in range(3)]
    assert len(set(results)) == 1


def test_explain():
    problem = gpudnn.ConvProblem.from_shapes((8, 16, 32, 32), (32, 16, 3, 3))
    choice = gpudnn.explain(problem)
    assert choice.algorithm == "im2col" and 0 < choice.workspace_bytes <= 16 << 20
    assert "im2col" in str(choice)
    depthwise = gpudnn.ConvProblem.from_shapes((8, 16, 32, 32), (16, 1, 3, 3), groups=16)
    assert gpudnn.explain(depthwise, "backward_filter").algorithm == "direct"
    with pytest.raises(gpudnn.UnsupportedError, match=r"im2col cannot do .*limit is 10"):
        gpudnn.explain(problem, algo="im2col", workspace_limit=10)
    for argument, options in [("direction", {"direction": "sideways"}), ("algo", {"algo": "fastest"})]:
        with pytest.raises(gpudnn.ArgumentError) as caught:
            gpudnn.explain(problem, **options)
        assert caught.value.argument == argument
