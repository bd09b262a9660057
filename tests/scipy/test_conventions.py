"""What f2py's wrappers do around a routine: errors, conversions, copies; and where the drop-in departs from it."""

import numpy as np
import pytest
import scipy.linalg.blas
from scipy.linalg import _fblas

import gpublas
from gpublas import scipy_blas

X, Y = np.arange(3.0), np.ones(3)
A, B, SQUARE = np.arange(12.0).reshape(3, 4), np.ones((5, 4)), np.ones((3, 3))

# (function, positional arguments, keywords): each fails one of f2py's checks.
BAD = [
    ("daxpy", (X, Y), {"n": 7}), ("daxpy", (X, Y), {"incx": 0}), ("daxpy", (X, Y), {"incy": 0}),
    ("daxpy", (X, Y), {"offx": 3}), ("daxpy", (X, Y), {"offy": -1}), ("daxpy", (X, Y[:2]), {}),
    ("daxpy", ([], []), {}), ("dscal", (2, X), {"incx": 2, "n": 3}), ("zdscal", (2, X), {"offx": 9}),
    ("dnrm2", (X,), {"incx": -1}), ("dnrm2", (X, 5, 3, -1), {}), ("dznrm2", (X,), {"incx": 0}),
    ("idamax", ([],), {}), ("dasum", (X,), {"incx": 0}), ("ddot", (X, Y), {"n": 4}), ("zdotc", (X, Y), {"offy": 3}),
    ("drot", (X, Y, 0, 1), {"n": 4}), ("drotm", (X, Y, np.zeros(5)), {"incx": 0}), ("dswap", (X, Y[:1]), {}),
    ("dcopy", (X, Y), {"offx": -2}), ("daxpy", (X, np.ones(9)), {"n": 3, "offx": 1}),
    ("daxpy", (np.ones(9), Y), {"n": 3, "offy": 1}), ("dasum", (X,), {"n": 3, "offx": 1}),
    ("dscal", (2, X), {"n": 3, "incx": -2}),
    ("dgemv", (1, A, X), {}), ("dgemv", (1, A, X), {"trans": 3}), ("dgemv", (1, A, X), {"trans": 1, "incx": 2}),
    ("dgemv", (1, A, X), {"trans": 1, "incx": -2}), ("dgemv", (1, A, np.ones(4)), {"incy": 0}),
    ("dgemv", (1, A, np.ones(4)), {"y": X, "incy": 2}),
    ("dgemv", (1, A, np.ones(4)), {"y": X, "offy": 3}), ("dgemv", (1, np.ones((0, 3)), X), {}),
    ("dgbmv", (2, 4, 1, 1, 1, A, np.ones(4)), {}), ("dgbmv", (3, 3, 1, 1, 1, A, np.ones(4)), {}),
    ("dgbmv", (3, 4, -1, 1, 1, A, np.ones(4)), {}), ("dgbmv", (3, 4, 1, -1, 1, A, np.ones(4)), {}),
    ("dgbmv", (3, 4, 1, 1, 1, A, X), {}), ("dgbmv", (3, 4, 1, 1, 1, A, np.ones(4), 1, 0, 1, X[:2]), {}),
    ("dgbmv", (3, 4, 1, 1, 1, A, np.ones(4)), {"trans": 4}),
    ("dsymv", (1, A, X), {}), ("dsymv", (1, SQUARE, X[:2]), {}), ("dsymv", (1, SQUARE, X), {"lower": 2}),
    ("zhemv", (1, SQUARE, X), {"lower": -1}), ("dsbmv", (3, 1, A, np.ones(4)), {}),
    ("dsbmv", (-1, 1, A, np.ones(4)), {}), ("zhbmv", (1, 1, A, X), {}), ("dspmv", (3, 1, np.ones(5), X), {}),
    ("dspmv", (-1, 1, np.ones(5), X), {}), ("zhpmv", (3, 1, np.ones(6), X), {"y": X[:2]}),
    ("dtrmv", (A, X), {}), ("dtrmv", (SQUARE, X), {"offx": 1}), ("dtrmv", (SQUARE, X), {"offx": 5}),
    ("dtrmv", (SQUARE, X), {"diag": 5}), ("dtrmv", (SQUARE, X), {"trans": 5}), ("dtrmv", (SQUARE, X), {"incx": 0}),
    ("dtrsv", (A, X), {}), ("dtrsv", (SQUARE, X), {"lower": 3}), ("dtrsv", (SQUARE, X), {"diag": 3}),
    ("dtbmv", (3, A, np.ones(4)), {}), ("dtbsv", (1, A, X), {}), ("dtpmv", (3, X, X), {}), ("dtpsv", (-2, X, X), {}),
    ("dger", (1, X, Y), {"incx": 2}), ("dger", (1, X, Y), {"incy": 0}), ("dsyr", (1, X), {"n": 4}),
    ("dsyr", (1, X), {"n": -1}), ("dsyr", (1, X), {"offx": 3}), ("dsyr", (1, X), {"incx": 0}),
    ("zher", (1, X), {"lower": 2}), ("dsyr2", (1, X, Y), {"n": 4}), ("dsyr2", (1, X, Y), {"n": -1}),
    ("dsyr2", (1, X, Y), {"offy": 3}), ("dsyr2", (1, X, np.ones(9)), {"n": 5}), ("dspr", (3, 1, X, X), {}),
    ("dsyr2", (1, np.ones(9), X), {"n": 5}), ("zhpr", (3, 1, X[:2], X), {}), ("dspr2", (3, 1, X, X[:2], X), {}),
    ("dspr2", (3, 1, X, X, X), {}),
    ("dgemm", (1, A, A), {}), ("dgemm", (1, A, A), {"trans_a": 3}), ("dgemm", (1, A, A), {"trans_b": -1}),
    ("dsymm", (1, SQUARE, A), {"side": 1}), ("dsymm", (1, SQUARE, A), {"side": 2}), ("dsymm", (1, A, A), {}),
    ("zhemm", (1, SQUARE, A), {"lower": 2}), ("dsyrk", (1, A), {"trans": 3}), ("dsyrk", (1, A), {"lower": 3}),
    ("dsyr2k", (1, A, SQUARE), {}), ("dsyr2k", (1, A, B), {"trans": 1}), ("dtrmm", (1, A, SQUARE), {}),
    ("dtrmm", (1, SQUARE, B), {}), ("dtrmm", (1, SQUARE, A), {"diag": 2}), ("dtrmm", (1, SQUARE, A), {"side": 3}),
    ("dtrsm", (1, A, A), {}), ("dtrsm", (1, SQUARE, B), {}), ("dtrsm", (1, SQUARE, A), {"trans_a": 3}),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_failed_checks(number):
    """The same class of error with the same words; f2py puts spaces into some of them."""
    name, positional, keywords = BAD[number]
    with pytest.raises(_fblas.__fblas_error) as theirs:
        getattr(scipy.linalg.blas, name)(*positional, **keywords)
    before = [np.array(value) for value in positional]
    with pytest.raises(scipy_blas.error) as ours:
        getattr(scipy_blas, name)(*positional, **keywords)
    assert str(ours.value).replace(" ", "") == str(theirs.value).replace(" ", "")
    assert all(np.array_equal(old, new) for old, new in zip(before, positional, strict=True))


# Errors of Python or NumPy rather than of a check; f2py's words are not repeated everywhere.
WRONG = [
    ("daxpy", (X,), {}, TypeError), ("daxpy", (X, Y), {"foo": 1}, TypeError), ("daxpy", (X, Y) * 5, {}, TypeError),
    ("daxpy", (X, Y), {"a": "a"}, ValueError), ("daxpy", (X, Y), {"n": "a"}, ValueError),
    ("daxpy", (X, Y), {"n": float("nan")}, ValueError), ("daxpy", ("abc", Y), {}, ValueError),
    ("daxpy", ([1j], [1]), {}, TypeError), ("daxpy", ([[1, 2], [3]], [1]), {}, ValueError),
    ("dgemm", (None, A, A), {"trans_b": 1}, TypeError), ("dgemm", ([], A, A), {"trans_b": 1}, IndexError),
    ("zgemm", ("2", A, A), {"trans_b": 1}, TypeError), ("dgemm", (1, A, A), {"trans_b": 1, "c": X[:2]}, ValueError),
    ("dgemm", (1, A, A), {"trans_b": 1, "c": np.ones((3, 1))}, ValueError), ("drotm", (X, Y, [1, 2]), {}, ValueError),
    ("dsyrk", (1, A), {"c": B}, ValueError), ("dsyrk", (1, A), {"c": np.ones(9)}, ValueError),
    ("dger", (1, X, Y), {"a": np.ones((2, 2))}, ValueError), ("dsyr", (1, X), {"a": np.ones((2, 2))}, ValueError),
    ("dsyr2", (1, X, Y), {"a": np.ones((3, 2))}, ValueError),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_other_errors(number):
    name, positional, keywords, kind = WRONG[number]
    for module in (scipy.linalg.blas, scipy_blas):
        with pytest.raises(kind):
            getattr(module, name)(*positional, **keywords)


def test_messages_name_the_argument():
    with pytest.raises(ValueError, match=r"dgemm\(\) 1st argument alpha can't be converted to float"):
        scipy_blas.dgemm("a", A, A, trans_b=1)
    with pytest.raises(ValueError, match=r"dsyrk: .* 2nd keyword c -- 0-th dimension must be fixed to 3 but got 5"):
        scipy_blas.dsyrk(1, A, c=B)
    with pytest.raises(ValueError, match=r"drotm: .* 3rd argument param -- 0-th dimension must be fixed to 5 but"):
        scipy_blas.drotm(X, Y, [1, 2])
    with pytest.raises(scipy_blas.error, match="4th keyword incx"):
        scipy_blas.daxpy(X, Y, incx=0)


# What f2py takes for an array or a number; the results, and what became of the arguments, are SciPy's.
CONVERSIONS = [
    ("dgemm", lambda: ((1, np.ones((2, 3, 2)), np.ones((6, 2))), {})),
    ("dgemm", lambda: ((1, np.ones((1, 2, 1, 3)), np.ones((3, 2))), {})),
    ("dgemm", lambda: ((1, 3, 4), {})), ("dgemm", lambda: ((3, [3], [-4], 3, [5]), {})),
    ("dgemm", lambda: ((1, np.ones((3, 0)), np.ones((0, 3))), {"c": np.ones((3, 3)), "beta": 2})),
    ("dgemm", lambda: (([2.0], A, A), {"trans_b": 1, "beta": None, "c": None})),
    ("dgemm", lambda: ((2j, A, A), {"trans_b": 1})), ("dgemm", lambda: (("2", A, A), {"trans_b": 1})),
    ("zgemm", lambda: ((np.array([[3]]), A, A), {"trans_b": 1})), ("zgemm", lambda: (([3j], A, A), {"trans_b": 1})),
    ("daxpy", lambda: ((X, np.ones(3)), {"incx": True, "n": "2"})),
    ("daxpy", lambda: ((X, np.ones(3)), {"n": 2 + 3j})), ("daxpy", lambda: ((X, np.ones(3)), {"n": np.array([2])})),
    ("daxpy", lambda: ((X, np.ones(3)), {"n": 2.9})), ("daxpy", lambda: ((X, np.ones(3)), {"n": -3})),
    ("daxpy", lambda: ((3, 4), {})), ("daxpy", lambda: ((np.ones((2, 3)), np.ones(6)), {})),
    ("daxpy", lambda: ((X * 1j, np.ones(3)), {})), ("daxpy", lambda: ((X, np.zeros(3, np.float32)), {})),
    ("daxpy", lambda: ((X, np.zeros(3, np.int64)), {})), ("daxpy", lambda: ((X, np.zeros(6)[::2]), {})),
    ("daxpy", lambda: ((X, np.zeros(3, ">f8")), {})),
    ("daxpy", lambda: ((X, np.frombuffer(bytearray(25), np.uint8)[1:].view("f8")), {})),
    ("dscal", lambda: ((2, np.ones(3)), {})), ("dscal", lambda: ((2, [1, 2]), {})),
    ("dscal", lambda: ((2, np.ones((3, 1))), {})), ("dscal", lambda: ((2, np.ones((3, 2))), {"n": 4})),
    ("dscal", lambda: ((2, np.arange(6.0).reshape(3, 2)), {"n": 4})),
    ("dscal", lambda: ((2, np.arange(6.0).reshape(3, 2, order="F")), {"n": 4})),
    ("dscal", lambda: ((2, np.array(3.0)), {})), ("dscal", lambda: ((2, np.array([True])), {})),
    ("dscal", lambda: ((2, np.array([1, 2], object)), {})), ("dscal", lambda: ((2, ["1", "2"]), {})),
    ("dscal", lambda: ((2, np.ones(3)), {"incx": -1})), ("dasum", lambda: ((X,), {"incx": -1})),
    ("idamax", lambda: ((X,), {"incx": -1})), ("idamax", lambda: ((X,), {"n": 0})),
    ("dnrm2", lambda: ((X,), {"n": 0})),
    ("dgemv", lambda: ((1, A, np.ones(4)), {"y": np.ones((3, 1)), "beta": 1})),
    ("dgemv", lambda: ((1, A, np.ones(4)), {"offy": 2, "incy": -2, "beta": 5})),
    ("dtrsv", lambda: ((np.triu(SQUARE) + np.eye(3), X), {"trans": 5})), ("drot", lambda: ((X, Y, 2j, [2]), {})),
    ("zher", lambda: ((2 + 3j, X * (1 + 1j)), {})), ("zherk", lambda: ((2 + 3j, A * (1 + 1j)), {})),
    ("zher2k", lambda: ((2 + 3j, A * (1 + 1j), A), {"beta": 1j, "c": np.eye(3)})),
    ("zhpr", lambda: ((3, 2 + 3j, X * (1 + 1j), np.zeros(6)), {})),
    ("dsyr", lambda: ((1, X), {"n": 0})), ("dsyr2", lambda: ((1, X, X), {"n": 0})),
    ("dspr", lambda: ((0, 1, X, X), {})), ("dtpmv", lambda: ((0, X, X), {})),
    ("dspmv", lambda: ((0, 1, X, X), {"y": np.ones(2)})),
    ("dsyr2k", lambda: ((1, A, np.arange(20.0).reshape(5, 4)), {})),
    ("dsyr2k", lambda: ((1, A, np.arange(18.0).reshape(3, 6)), {"trans": 1})),
]


@pytest.mark.filterwarnings("ignore:Casting complex", "ignore:Conversion of an array")
@pytest.mark.parametrize("number", range(len(CONVERSIONS)))
def test_conversions(number):
    name, arguments = CONVERSIONS[number]
    outcomes = []
    for module in (scipy.linalg.blas, scipy_blas):
        positional, keywords = arguments()
        result = getattr(module, name)(*positional, **keywords)
        results = result if isinstance(result, tuple) else (result,)
        outcomes.append((results, positional, [[one is value for value in positional] for one in results]))
    (wanted, their_arguments, their_memory), (found, our_arguments, our_memory) = outcomes
    for one, other in zip((*found, *our_arguments), (*wanted, *their_arguments), strict=True):
        assert type(one) is type(other)
        assert np.array_equal(one, other) and np.shape(one) == np.shape(other)
    assert our_memory == their_memory


@pytest.mark.parametrize("name", ["daxpy", "dcopy", "dscal", "dswap"])
def test_in_place_routines_work_in_the_array_of_the_caller(device, name):
    y = np.array([1.0, 2.0])
    result = getattr(scipy_blas, name)(*((2, y) if name == "dscal" else (np.array([3.0, 4.0]), y)))
    assert (result[1] if name == "dswap" else result) is y
    assert y.tolist() == {"daxpy": [4, 6], "dcopy": [3, 4], "dscal": [2, 4], "dswap": [3, 4]}[name]


def fortran(shape):
    return np.asfortranarray(np.arange(1.0, 1 + np.prod(shape)).reshape(shape))


# What is overwritten on request: function, the argument that is, its shape, the others.
OVERWRITES = [
    ("zdscal", "x", 3, {"a": 2}), ("drot", "x", 3, {"y": Y, "c": 0, "s": 1}),
    ("drot", "y", 3, {"x": X, "c": 0, "s": 1}),
    ("drotm", "x", 3, {"y": Y, "param": [-1, 1, 2, 3, 4]}), ("drotm", "y", 3, {"x": X, "param": [-1, 1, 2, 3, 4]}),
    ("dgemv", "y", 3, {"alpha": 1, "a": SQUARE, "x": X}),
    ("dgbmv", "y", 3, {"m": 3, "n": 3, "kl": 0, "ku": 0, "alpha": 1, "a": SQUARE, "x": X}),
    ("dsymv", "y", 3, {"alpha": 1, "a": SQUARE, "x": X}), ("dsbmv", "y", 3, {"k": 0, "alpha": 1, "a": SQUARE, "x": X}),
    ("dspmv", "y", 3, {"n": 3, "alpha": 1, "ap": np.ones(6), "x": X}), ("dtrmv", "x", 3, {"a": 2 * SQUARE}),
    ("dtrsv", "x", 3, {"a": 2 * SQUARE}), ("dtbmv", "x", 3, {"k": 0, "a": 2 * SQUARE}),
    ("dtbsv", "x", 3, {"k": 0, "a": 2 * SQUARE}), ("dtpmv", "x", 3, {"n": 3, "ap": 2 * np.ones(6)}),
    ("dtpsv", "x", 3, {"n": 3, "ap": 2 * np.ones(6)}), ("dger", "a", (3, 3), {"alpha": 1, "x": Y, "y": Y}),
    ("dsyr", "a", (3, 3), {"alpha": 1, "x": Y}), ("dsyr2", "a", (3, 3), {"alpha": 1, "x": Y, "y": Y}),
    ("dspr", "ap", 6, {"n": 3, "alpha": 1, "x": Y}), ("dspr2", "ap", 6, {"n": 3, "alpha": 1, "x": Y, "y": Y}),
    ("dgemm", "c", (3, 3), {"alpha": 1, "a": SQUARE, "b": SQUARE}),
    ("dsymm", "c", (3, 3), {"alpha": 1, "a": SQUARE, "b": SQUARE}), ("dsyrk", "c", (3, 3), {"alpha": 1, "a": SQUARE}),
    ("dsyr2k", "c", (3, 3), {"alpha": 1, "a": SQUARE, "b": SQUARE}),
    ("dtrmm", "b", (3, 3), {"alpha": 2, "a": SQUARE}), ("dtrsm", "b", (3, 3), {"alpha": 2, "a": SQUARE}),
]


@pytest.mark.parametrize("number", range(len(OVERWRITES)))
def test_overwrite_flags(device, number):
    """Memory is the caller's if the flag is set and type, order and permission allow it; else the argument stays."""
    name, argument, shape, others = OVERWRITES[number]
    function, place = getattr(scipy_blas, name), 1 if argument == "y" and name in ("drot", "drotm") else 0
    initial = fortran(shape).astype(function.dtype)

    def called(array, flag):
        result = function(**others, **{argument: array, f"overwrite_{argument}": flag})
        return result[place] if isinstance(result, tuple) else result

    wanted = called(initial.copy(order="F"), 0)
    assert not np.array_equal(wanted, initial)
    own = initial.copy(order="F")
    assert called(own, 1) is own and np.array_equal(own, wanted)
    read_only = initial.copy(order="F")
    read_only.flags.writeable = False
    other_type = initial.astype(np.complex64 if function.dtype.kind == "c" else np.float32)
    not_used = [(initial.copy(order="F"), 0), (other_type, 1), (initial.tolist(), 1), (read_only, 1)]
    if initial.ndim == 2:
        not_used.append((np.ascontiguousarray(initial), 1))
    for array, flag in not_used:
        result = called(array, flag)
        assert np.array_equal(result, wanted) and not np.may_share_memory(result, array)
        assert np.array_equal(array, initial)


@pytest.mark.parametrize("number", range(len(OVERWRITES)))
def test_any_input_may_share_memory_with_the_result(number):
    """It is as if the input had been copied before."""
    name, argument, shape, others = OVERWRITES[number]
    function = getattr(scipy_blas, name)
    inputs = {key: value for key, value in others.items() if isinstance(value, np.ndarray)}

    def called(key, copied):
        room = np.arange(1.0, 10.0).astype(function.dtype)
        result, source = (room[:np.prod(extent)].reshape(extent, order="F")
                          for extent in (shape, np.shape(inputs[key])))
        arguments = {**others, key: source.copy() if copied else source, argument: result}
        found = function(**arguments, **{f"overwrite_{argument}": 1})
        assert any(one is result for one in (found if isinstance(found, tuple) else (found,)))
        return result.copy()

    assert inputs or name == "zdscal"
    for key in inputs:
        assert np.array_equal(called(key, False), called(key, True)), key


def test_results_of_other_places_in_the_same_memory(device):
    x = np.array([1.0, 2.0, 3.0])
    assert scipy_blas.daxpy(x, x).tolist() == [2, 4, 6]
    x = np.arange(6.0)
    assert scipy_blas.dcopy(x, x, n=4, offy=2).tolist() == [0, 1, 0, 1, 2, 3]
    c = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    assert scipy_blas.dgemm(1, c, c, c=c, overwrite_c=1) is c
    assert c.tolist() == [[7, 10], [15, 22]]
    y = np.array([1.0, 2.0])
    assert scipy_blas.dgemv(1, [[1, 1], [1, 1]], y, 1, y, overwrite_y=1).tolist() == [4, 5]
    a = np.asfortranarray([[2.0, 1.0], [0.0, 2.0]])
    assert scipy_blas.dtrmv(a, a[:, 1], overwrite_x=1).tolist() == [4, 4]
    a = np.asfortranarray(np.ones((2, 2)))
    assert scipy_blas.dger(1, a[:, 0], a[:, 1], a=a, overwrite_a=1).tolist() == [[2, 2], [2, 2]]


def test_two_results_that_share_elements_are_an_error():
    x = np.arange(6.0)
    assert scipy_blas.dswap(x, x, n=3, offy=3)[0].tolist() == [3, 4, 5, 0, 1, 2]
    with pytest.raises(gpublas.ArgumentError, match="overlaps"):
        scipy_blas.dswap(x, x, n=3, offy=2)
    with pytest.raises(gpublas.ArgumentError, match="overlaps"):
        scipy_blas.drot(x, x, 0, 1, overwrite_x=1, overwrite_y=1)


def test_arrays_that_are_read_only_are_copied():
    """f2py writes to them."""
    y = np.ones(3)
    y.flags.writeable = False
    assert scipy_blas.daxpy(X, y).tolist() == [1, 2, 3]
    assert y.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("name", "positional", "keywords"), [
    ("zherk", (1, A), {"trans": 1}), ("zsyrk", (1, A), {"trans": 2}), ("zher2k", (1, A, A), {"trans": 1}),
    ("zsyr2k", (1, A, A), {"trans": 2}), ("dgbmv", (4, 4, 1, 1, 1, np.ones((2, 4)), np.ones(4)), {}),
    ("dsyr2k", (1, A, np.ones((2, 4))), {}), ("dsymm", (1, A, np.ones((4, 3))), {}),
    ("drotm", (X, Y, [5, 1, 2, 3, 4]), {}),
])
def test_what_reference_blas_only_reports_is_an_error(name, positional, keywords):
    """SciPy prints "On entry to ZHERK ...", and returns the result as it was; or BLAS reads beyond the array."""
    with pytest.raises(gpublas.ArgumentError):
        getattr(scipy_blas, name)(*positional, **keywords)


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("name", ["cspr", "zspr"])
def test_complex_spr_goes_backwards(device, name, lower):
    """OpenBLAS, and so SciPy, reads before x when the increment is negative."""
    function, x = getattr(scipy_blas, name), np.array([1 + 1j, 2, 3j])
    backwards = function(3, 1j, x, np.zeros(6), incx=-1, lower=lower)
    assert backwards.tolist() == function(3, 1j, x[::-1], np.zeros(6), lower=lower).tolist()
    assert np.array_equal(backwards[0], 1j * x[2] * x[2])


def test_empty_inner_dimension_scales_y(device):
    """As gpublas.gemv: y becomes beta y. SciPy's BLAS returns y as it is."""
    assert scipy_blas.dgemv(1, np.ones((3, 0)), [1], y=[1, 2, 3], beta=2).tolist() == [2, 4, 6]


def test_matrices_of_no_and_of_many_axes():
    assert scipy_blas.dgemm(1, [], np.ones((0, 2))).tolist() == [[0, 0]]
    assert scipy_blas.dgemm(2, np.full((1, 1, 1), 3.0), [[4]]).tolist() == [[24]]


def test_no_nan_survives_beta_zero(device):
    c = np.full((2, 2), np.nan, order="F")
    assert scipy_blas.dgemm(1, np.eye(2), np.eye(2), c=c, overwrite_c=1).tolist() == [[1, 0], [0, 1]]


def test_the_device_is_the_current_one(executor):
    launched = []
    launch = type(executor).launch
    try:
        type(executor).launch = lambda self, *arguments: (launched.append(arguments), launch(self, *arguments))
        scipy_blas.dgemm(1, np.eye(2), np.eye(2))
    finally:
        type(executor).launch = launch
    assert launched
