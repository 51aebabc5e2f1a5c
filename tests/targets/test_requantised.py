"""The steps after an integer sum: in the kernel, in NumPy, and as whole numbers of any size."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tdb_dap.engine.hardware.dtypes import SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import elements
from tdb_dap.targets.arithmetic.elements import finished
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.shifts import requantised, shift
from tdb_dap.targets.arithmetic.stored import Stored
from tdb_dap.targets.kernel.constants import Operator

MODES = range(8)
"""Of the last no chip has a meaning; it rounds down."""

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
SUMS = st.one_of(INT64, st.integers(-(1 << 34), 1 << 34), st.integers(-300, 300))


def rounded(exact: Fraction, mode: int) -> int:
    down = floor(exact)
    rest = exact - down
    half = Fraction(1, 2)
    up = {
        0: rest > half or (rest == half and down % 2 == 1),
        1: rest > half or (rest == half and exact >= 0),
        2: exact < 0 and rest > 0,
        4: ceil(exact) > down,
        5: rest >= half,
        6: rest > half,
    }
    return down + up.get(mode, False)


def wrapped(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


@pytest.mark.parametrize("mode", MODES)
@given(numbers=st.lists(st.integers(-(1 << 62), 1 << 62), min_size=1, max_size=40), amount=st.integers(-62, 0))
@example(numbers=[-1, 0, 1, -2, 2, -3, 3, 5, -5, 6, -6], amount=-1)
@example(numbers=[-(1 << 62), 1 << 62, (1 << 61) + 1], amount=-62)
def test_a_right_shift_rounds_the_exact_quotient(mode: int, numbers: list[int], amount: int) -> None:
    expected = [rounded(Fraction(number, 1 << -amount), mode) for number in numbers]
    for on in {False, kernel.is_built}:
        with kernel.switched(on):
            assert shift(np.array(numbers, np.int64), amount, mode).tolist() == expected


SHAPES = [((2, 3, 5, 7), (1, 3, 1, 1)), ((2, 3, 5, 7), (2, 3, 1, 1)), ((1, 4, 1, 1), (1, 4, 1, 1)), ((9, 1100), ())]
SHAPES += [
    ((3, 4), (4,)),
    ((5,), ()),
    ((1, 3, 2, 2), (1, 1, 2, 2)),
    ((2, 2, 0, 3), (1, 2, 1, 1)),
    ((2, 4, 3, 3), (2, 1, 1, 1)),
    ((2, 3, 5, 7), (2, 3, 5, 7)),
    ((2, 3, 40, 30), (1, 3, 1, 1)),
    ((1, 2, 2, 1300), (1, 1, 2, 1)),
    ((70,), (70,)),
    ((3, 4), (2, 3, 4)),
]


@st.composite
def steps_and_sums(draw: st.DrawFn) -> tuple[Array, Steps, DType]:
    shape, along = draw(st.sampled_from(SHAPES))
    seed = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    pool = np.array(draw(st.lists(SUMS, min_size=1, max_size=20)), np.int64)
    dtype = draw(st.sampled_from([SI8, UI8, SI16, UI16, SI32, UI32]))
    low, high = (dtype.minimum, dtype.maximum) if draw(st.booleans()) else UNLIMITED

    def parameter(least: int, most: int) -> Array | int:
        found = seed.integers(least, most, along, endpoint=True)
        return found if draw(st.booleans()) else int(np.asarray(found).reshape(-1)[0])

    reach = draw(st.sampled_from([8, 31, 62, 127]))
    steps = Steps(
        draw(st.sampled_from(list(MODES))),
        parameter(-(1 << 31), 1 << 31),
        parameter(-reach - 1, reach),
        parameter(-(1 << 15), 1 << 15),
        draw(st.booleans()),
        draw(st.booleans()),
        (low, high),
        keeps_sign=draw(st.booleans()),
    )
    return seed.choice(pool, shape), steps, dtype


@given(steps_and_sums())
def test_the_kernel_finishes_sums_like_numpy(given_: tuple[Array, Steps, DType]) -> None:
    sums, steps, dtype = given_
    if not kernel.is_built:
        pytest.skip(kernel.describe())
    with kernel.switched(False):
        assert finished(sums, steps, dtype.itemsize) is None
        expected = requantised(sums, steps, dtype)
    with kernel.switched(True):
        found = requantised(sums, steps, dtype)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(found, expected)


WORD = st.integers(-(1 << 31), (1 << 31) - 1)


@st.composite
def long_rows(draw: st.DrawFn) -> tuple[Array, Steps, DType]:
    """Words of 32 bits next to where results reach their limits."""
    right, dtype = draw(st.integers(0, 34)), draw(st.sampled_from([SI8, UI8, SI16, SI32]))
    multiplier = draw(
        st.one_of(
            st.integers(1, max(1, (1 << right) - 1)),
            st.sampled_from([1, 1 << min(right, 31)]),
            st.integers(1 << right, 2 << right),  # results of more than 32 bits
            WORD,
        )
    )
    multiplier = wrapped(multiplier, 32)
    ends = st.sampled_from([-(1 << 31), 1 - (1 << 31), (1 << 31) - 1])
    zero = draw(st.one_of(st.just(0), st.integers(-300, 300), WORD, ends))
    within = draw(st.sampled_from([(dtype.minimum, dtype.maximum), (-3, 100), (7, 7), (-9, -3)]))
    limits = max(within[0], dtype.minimum), within[1]
    seed = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    edges = [-(1 << 31), (1 << 31) - 1]
    edges += [(limit - zero + more) * (1 << right) // (multiplier or 1) for limit in limits for more in (0, 1)]
    edges += [edge - (1 << right >> 1) // (multiplier or 1) for edge in edges]
    pool = np.array([wrapped(edge + near, 32) for edge in (*edges, 0, 1 << 31) for near in range(-3, 4)])
    words = np.where(
        seed.integers(0, 4, (2, 1300)) > 0, seed.choice(pool, (2, 1300)), seed.integers(-(1 << 31), 1 << 31, (2, 1300))
    )
    steps = Steps(
        draw(st.sampled_from(list(MODES))), multiplier, -right, zero, rectified=draw(st.booleans()), limits=limits
    )
    return words.astype(np.int32), steps, dtype


@given(long_rows())
def test_words_that_are_shifted_once(given_: tuple[Array, Steps, DType]) -> None:
    words, steps, dtype = given_
    if not kernel.is_built:
        pytest.skip(kernel.describe())
    with kernel.switched(False):
        expected = requantised(words.astype(np.int64), steps, dtype)
    with kernel.switched(True):
        stored = Stored(words.view(np.uint32), SI32)
        found = elements.integers(Operator.FIRST, stored, stored, steps, dtype.itemsize)
    assert found is not None
    assert np.array_equal(found, expected)


@pytest.mark.skipif(not kernel.is_built, reason=kernel.describe())
@pytest.mark.parametrize("limits", [(-128, 127), (-9, -3), (7, 7)])
@pytest.mark.parametrize("zero", [-(1 << 31), 3 - (1 << 31), (1 << 31) - 4, (1 << 31) - 1])
def test_zero_points_that_leave_no_number_within_the_limits(zero: int, limits: tuple[int, int]) -> None:
    words = np.array([[-(1 << 31), -1, 0, 1, (1 << 31) - 1] * 20], np.int32)
    for right in (0, 1, 31, 32):
        for multiplier in {0, 1, min(1 << right, (1 << 31) - 1)}:
            steps = Steps(5, multiplier, -right, zero, limits=limits)
            with kernel.switched(False):
                expected = requantised(words.astype(np.int64), steps, SI8)
            with kernel.switched(True):
                stored = Stored(words.view(np.uint32), SI32)
                found = elements.integers(Operator.FIRST, stored, stored, steps, 1)
            assert found is not None
            assert np.array_equal(found, expected), (right, multiplier)


@given(
    WORD, WORD, st.integers(-128, 127), st.integers(-(1 << 15), (1 << 15) - 1), st.booleans(), st.sampled_from(MODES)
)
@example(-47616, 6297088, 65, -26056, True, 5)  # what is moved ends at -2^63: the zero point must not wrap it
@example(13312, 114688, 39, -838, False, 5)
@example(2, -175, -63, 0, True, 2)
def test_one_result_is_what_whole_numbers_give(
    total: int, multiplier: int, amount: int, zero: int, keeps_sign: bool, mode: int
) -> None:
    product = total * multiplier
    moved = wrapped(product << amount % 64, 64) if amount >= 0 else rounded(Fraction(product, 1 << -amount), mode)
    if keeps_sign and amount >= 0:
        moved = (moved & (1 << 63) - 1) - ((1 << 63) if product < 0 else 0)
    expected = min(max(moved + zero, -128), 127) & 0xFF
    steps = Steps(mode, multiplier, amount, zero, held=True, limits=(SI8.minimum, SI8.maximum), keeps_sign=keeps_sign)
    for on in {False, kernel.is_built}:
        with kernel.switched(on):
            assert requantised(np.array([total], np.int64), steps, SI8).tolist() == [expected]


def test_what_the_kernel_cannot_do_is_left_to_numpy() -> None:
    sums = np.arange(12).reshape(3, 4)
    assert finished(sums, Steps(0, amount=63), 8) is None
    assert finished(sums, Steps(0, amount=np.array([0, 1, 2, -63])), 8) is None
    assert finished(sums.reshape(1, 1, 1, 3, 4), Steps(0), 8) is None, "five axes"
