"""Sums whose right factors are in runs of places, the short forms of the steps after them, and windows of many taps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import dot
from tdb_dap.targets.arithmetic.products import Products
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.shifts import requantised
from tdb_dap.targets.arithmetic.sums import window_sums
from tdb_dap.targets.arithmetic.windows import Windows

pytestmark = pytest.mark.skipif(not kernel.is_built, reason="the C kernel is not built")

every_width = pytest.mark.parametrize("lanes", kernel.widths() or [1])
"""What is drawn is the same on every run, and not evenly spread: widths and formats are gone through."""
FORMATS = [SI8, UI8, SI16, UI16, SI32, UI32]
STEPS = st.sampled_from([0, 1, 2, 3, 5])


@contextmanager
def kernel_of(lanes: int) -> Iterator[None]:
    kernel.choose_width(lanes)
    try:
        with kernel.switched(True):
            yield
    finally:
        kernel.choose_width(kernel.widths()[-1])


def drawn_places(random: np.random.Generator, columns: int, step: int) -> Array:
    """Runs of places, any number of them long, one ``step`` apart (0: each run has its own), some of them backwards."""
    found: list[int] = []
    longest = int(random.integers(1, 40))
    while len(found) < columns:
        apart = step or int(random.integers(-2, 4))
        found += (int(random.integers(0, 200)) + apart * np.arange(random.integers(1, longest + 1))).tolist()
    places = np.array(found[:columns], np.int64)
    return places - places.min()


def drawn_right(
    random: np.random.Generator, count: int, columns: int, step: int
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]], int]:
    """Taps, some of them zeros, places, and the size of the smallest image that has them all."""
    places = drawn_places(random, columns, step)
    taps = np.where(random.random(count) < 0.2, -1, random.integers(0, 60, count))
    return taps.astype(np.int64), places, max(0, int(taps.max())) + int(places.max()) + 1


def whole_numbers(random: np.random.Generator, size: Any, dtype: Any) -> Array:
    """Numbers of a format, a third of them its least and its greatest one."""
    held = np.iinfo(dtype)
    found = random.integers(held.min, held.max, size, dtype, endpoint=True)
    return np.where(random.random(size) < 0.3, random.choice(np.array([held.min, held.max], dtype), size), found)


@every_width
@pytest.mark.parametrize("right_type", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("left_type", [np.int8, np.uint8, np.int16])
@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.tuples(st.integers(1, 20), st.integers(1, 40), st.integers(16, 110)),
    STEPS,
    st.booleans(),
)
def test_whole_sums_over_runs_are_numpys(
    lanes: int, left_type: Any, right_type: Any, seed: int, shape: tuple[int, int, int], step: int, is_started: bool
) -> None:
    random = np.random.default_rng(seed)
    rows, count, columns = shape
    taps, places, size = drawn_right(random, count, columns, step)
    left, image = whole_numbers(random, (rows, count), left_type), whole_numbers(random, size, right_type)
    if left_type is np.int16 and right_type is np.int16:
        left >>= 6  # or 32 bits do not hold the sums
    products = Products(left, image, taps, places)
    start = random.integers(-(1 << 30), 1 << 30, (rows, 1)) if is_started else None
    expected = left.astype(np.int64) @ products.right(slice(None), slice(None)).astype(np.int64)
    expected = expected if start is None else expected + start
    with kernel_of(lanes):
        wide = dot.summed(products, start, Steps(3), None)
        narrow = dot.summed(products, start, Steps(3), SI32)
    assert wide is not None
    assert narrow is not None
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(narrow, expected.astype(np.uint32))


EXTREMES = [0, 1, -1, 127, 128, -128, -129, (1 << 31) - 1, -(1 << 31), 1 << 31, (1 << 32) - 1, -(1 << 32), 1 << 40]
ENDS = [(1 << 63) - (1 << 20), -(1 << 63) + (1 << 20)]
"""Sums that start here do not wrap, but leave 64 bits when something is added to them."""


@every_width
@pytest.mark.parametrize("mode", range(7))
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.sampled_from(
        [1, -1, 0, 3, 1 << 20, (1 << 29) - 1, 1 << 29, -(1 << 29) - 1, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 40]
    ),
    st.one_of(st.sampled_from([0, -1, -61, -62]), st.integers(-62, 3)),
    st.sampled_from([0, 1, -3, 1 << 20, -(1 << 62)]),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(
        [UNLIMITED, (-128, 127), (0, 255), (-(1 << 31), (1 << 31) - 1), (5, 5), (1 << 33, 1 << 34), (-9, 1 << 40)]
    ),
    st.sampled_from(FORMATS),
    st.sampled_from(["none", "rows", "columns", "all"]),
)
def test_steps_after_sums_are_numpys_at_their_limits(
    lanes: int,
    mode: int,
    seed: int,
    multiplier: int,
    amount: int,
    zero: int,
    flags: tuple[bool, bool],
    limits: tuple[int, int],
    dtype: DType,
    start: str,
) -> None:
    """Sums of 1 to 3 products of bytes, plus numbers that leave 32 bits, or do so with the multiplier."""
    random = np.random.default_rng(seed)
    rows, columns = 9, 37
    count = int(random.integers(1, 4))
    left, right = (whole_numbers(random, shape, np.int8) for shape in ((rows, count), (count, columns)))
    taps, places = np.arange(count, dtype=np.int64) * columns, np.arange(columns, dtype=np.int64)
    products = Products(left, right.reshape(-1), taps, places)
    shape = {"rows": (rows, 1), "columns": (1, columns), "all": (rows, columns)}.get(start)
    first = None if shape is None else random.choice(np.array(EXTREMES + ENDS, np.int64), shape)
    by_row = np.full((rows, 1), multiplier, np.int64)
    by_row[::2] = 1
    amounts = np.full((rows, 1), amount, np.int64)
    amounts[::4] = 0
    steps = Steps(mode, by_row, amounts, zero, *flags, limits)
    total = left.astype(np.int64) @ right.astype(np.int64) + (0 if first is None else first)
    with kernel.switched(False), np.errstate(over="ignore"):
        wanted = requantised(total, steps, dtype)
    with kernel_of(lanes):
        found = dot.summed(products, first, steps, dtype)
    assert found is not None
    np.testing.assert_array_equal(found, wanted)


@every_width
@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.tuples(st.integers(1, 20), st.integers(1, 40), st.integers(16, 150)),
    STEPS,
    st.sampled_from(["none", "rows", "columns", "all"]),
    st.booleans(),
)
def test_chains_over_runs_are_numpys(
    lanes: int, seed: int, shape: tuple[int, int, int], step: int, start: str, normal: bool
) -> None:
    """Bit for bit, with zeros of both signs among starts and factors, and NaNs in some."""
    random = np.random.default_rng(seed)
    rows, count, columns = shape
    taps, places, size = drawn_right(random, count, columns, step)
    numbers = np.array([0.0, -0.0, 1.0, -1.5, 3.25, 1e10], np.float32)
    if seed % 4 == 0:
        numbers = np.append(numbers, np.float32(np.nan))
    left, image = random.choice(numbers, (rows, count)), random.choice(numbers, size)
    if seed % 3 == 0:
        left[...] = -0.0
    shapes = {"rows": (rows, 1), "columns": (1, columns), "all": (rows, columns)}
    first = random.choice(numbers[:3], shapes[start]) if start in shapes else None
    products = Products(left, image, taps, places)
    zero = float(random.choice([0.0, -0.0]))
    with kernel_of(lanes):
        found = dot.interleaved(first, None, products, normal, zero)
    with kernel.switched(False):
        wanted = dot.interleaved(first, None, products, normal, zero)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


@every_width
@pytest.mark.parametrize("kind", ["halves", "small", "tiny", "bf16", "not finite"])
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.tuples(st.integers(1, 20), st.integers(1, 300), st.integers(16, 70)),
    STEPS,
    st.sampled_from([1, 8, 15, 16, 32, 64]),
    st.tuples(st.booleans(), st.booleans()),
)
def test_groups_over_runs_are_numpys(
    lanes: int, kind: str, seed: int, shape: tuple[int, int, int], step: int, size: int, rules: tuple[bool, bool]
) -> None:
    """Bit for bit: with subnormals of f16, whose products lose bits, and with exponents that float32 hardly holds."""
    random = np.random.default_rng(seed)
    rows, count, columns = shape
    taps, places, extent = drawn_right(random, count, columns, step)

    def numbers(shape: Any) -> Array:
        spread = {"small": 12, "bf16": 70}.get(kind, 3)
        found = random.standard_normal(shape) * np.exp2(random.integers(-spread, spread + 1, shape))
        found[random.random(shape) < 0.1] = 0
        if kind == "small":
            found = np.where(random.random(shape) < 0.3, np.exp2(-24.0) * random.integers(-1500, 1500, shape), found)
        if kind == "tiny":
            found = np.exp2(-24.0) * np.trunc(random.uniform(-1, 1, shape) * np.exp2(random.integers(0, 12, shape)))
        if kind == "not finite":
            found[random.random(shape) < 0.01] = random.choice([np.inf, -np.inf, np.nan])
        if kind == "bf16":
            return (found.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
        return found.astype(np.float16).astype(np.float32)

    products = Products(numbers((rows, count)), numbers(extent), taps, places)
    totals = random.standard_normal((rows, columns)).astype(np.float32)
    totals[0, 0] = np.float32(np.nan) if seed % 2 else np.float32(-0.0)
    nan_wins, drops_bits = rules[0], rules[1] and kind != "bf16"
    with kernel_of(lanes):
        found = dot.grouped(totals, products, size, nan_wins, drops_bits)
    with kernel.switched(False), np.errstate(invalid="ignore", over="ignore"):
        wanted = dot.grouped(totals, products, size, nan_wins, drops_bits)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


@every_width
@pytest.mark.parametrize("is_turned", [True, False], ids=["by column", "by product"])
@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.tuples(st.integers(1, 20), st.integers(1, 70), st.integers(1, 70)),
    st.integers(0, 3),
)
def test_dense_right_factors_are_numpys(
    lanes: int, is_turned: bool, seed: int, shape: tuple[int, int, int], gap: int
) -> None:
    """Products of each column one after the other, as in a transposed matrix, or columns; a gap between the others."""
    random = np.random.default_rng(seed)
    rows, count, columns = shape
    inner, outer = (count, columns) if is_turned else (columns, count)
    steps = np.arange(inner), np.arange(outer) * (inner + gap)
    taps, places = steps if is_turned else steps[::-1]

    def numbers(shape: Any) -> Array:
        found = random.standard_normal(shape).astype(np.float32)
        return (found.view(np.uint32) & 0xFFFF0000).view(np.float32)

    products = Products(numbers((rows, count)), numbers(int(taps.max() + places.max()) + 1), taps, places)
    totals = random.standard_normal((rows, columns)).astype(np.float32)
    with kernel_of(lanes):
        found = dot.grouped(totals, products, 32, False, False)
    with kernel.switched(False):
        wanted = dot.grouped(totals, products, 32, False, False)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


@every_width
@pytest.mark.parametrize("weights_in", [(-128, 127), (0, 255), (-5, 200), (0, 127), (-128, 0), (-200, 5)])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.tuples(st.integers(1, 17), st.integers(1, 9)),
    st.tuples(st.integers(1, 3), st.integers(1, 6)),
    st.tuples(st.integers(1, 2), st.integers(1, 3)),
    st.tuples(st.integers(1, 20), st.one_of(st.integers(1, 40), st.just(700))),
    st.sampled_from(FORMATS),
    st.integers(0, 6),
)
def test_windows_of_any_taps_are_numpys(
    lanes: int,
    kind: Any,
    weights_in: tuple[int, int],
    seed: int,
    taps: tuple[int, int],
    steps: tuple[int, int],
    apart: tuple[int, int],
    size: tuple[int, int],
    dtype: DType,
    mode: int,
) -> None:
    """Taps side by side and apart, more of them than are held at once, weights of bytes with signs and without."""
    random = np.random.default_rng(seed)
    planes = 3
    rows, columns = ((size[i] - 1) * steps[i] + (taps[i] - 1) * apart[i] + 1 for i in range(2))
    columns += int(random.integers(0, 3))
    image = whole_numbers(random, (planes, rows * columns), kind)
    weights = random.integers(*weights_in, (planes, taps[0] * taps[1]), endpoint=True)
    weights[random.random(weights.shape) < 0.2] = random.choice(weights_in)
    offsets = (np.arange(taps[0])[:, None] * apart[0] * columns + np.arange(taps[1]) * apart[1]).reshape(-1)
    places = np.arange(size[0])[:, None] * steps[0] * columns + np.arange(size[1]) * steps[1]
    starts = random.choice(np.array(EXTREMES, np.int64), planes)
    after = Steps(mode, int(random.choice([1, 1 << 19])), int(random.choice([0, -9])), 0, seed % 2 == 0, seed % 3 == 0)
    after = replace(after, limits=UNLIMITED if dtype.itemsize == 4 else (dtype.minimum, dtype.maximum))
    with kernel_of(lanes):
        words = window_sums(
            Windows(image, offsets, size, (steps[0] * columns, steps[1])), weights, starts, after, dtype.itemsize
        )
    assert words is not None
    met = image.astype(np.int64)[:, offsets[:, None, None] + places]
    total = (met * weights[:, :, None, None]).sum(1) + starts[:, None, None]
    with kernel.switched(False):
        wanted = requantised(total, after, dtype)
    np.testing.assert_array_equal(words, wanted)


@every_width
@pytest.mark.parametrize("mode", range(7))
@pytest.mark.parametrize("sign", [1, -1])
def test_largest_sums_with_largest_multipliers_do_not_leave_64_bits(lanes: int, mode: int, sign: int) -> None:
    """A sum of 33 bits times 31 bits is above 2^62: what rounds it would go past the sign."""
    products = Products(
        np.full((8, 3), 127, np.int8), np.full(96, sign * 127, np.int8), np.arange(3) * 32, np.arange(32)
    )
    first = np.full((8, 1), sign * ((1 << 31) - 1), np.int64)
    steps = Steps(mode, (1 << 31) - 1, -62)
    with kernel_of(lanes):
        found = dot.summed(products, first, steps, SI32)
    with kernel.switched(False):
        wanted = requantised(np.full((8, 32), sign * (3 * 127 * 127 + (1 << 31) - 1), np.int64), steps, SI32)
    np.testing.assert_array_equal(found, wanted)
