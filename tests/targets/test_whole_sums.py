"""Sums of whole numbers with the steps after them, and how work is split: drawn over shapes, formats and places."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import dot
from tdb_dap.targets.arithmetic.products import Products, of_matrices
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.shifts import requantised
from tdb_dap.targets.arithmetic.sums import window_sums
from tdb_dap.targets.arithmetic.windows import Windows

pytestmark = pytest.mark.skipif(not kernel.is_built, reason="the C kernel is not built")

LEFT = [np.int8, np.uint8, np.int16, np.int32]
RIGHT = [np.int8, np.uint8, np.int16, np.int32]


def drawn(
    random: np.random.Generator, shape: tuple[int, ...], dtype: type[np.signedinteger | np.unsignedinteger]
) -> Array:
    """Numbers of a format, its least and greatest among them; of 32 bits such as 16 hold."""
    held = np.iinfo(np.int16 if dtype is np.int32 else dtype)
    found = random.integers(held.min + (dtype is np.int32), held.max, shape, dtype, endpoint=True)
    found[random.random(shape) < 0.2] = held.min + (dtype is np.int32)
    return found


def drawn_steps(random: np.random.Generator, shape: tuple[int, ...], dtype: DType | None) -> Steps:
    """Steps with numbers of a shape, limited as ``dtype`` is."""
    return Steps(
        int(random.integers(0, 7)),
        random.integers(-(1 << 20), 1 << 20, shape),
        random.integers(-40, 3, shape),
        random.integers(-200, 200, shape),
        bool(random.integers(0, 2)),
        bool(random.integers(0, 2)),
        UNLIMITED if dtype is None or dtype.itemsize == 4 else (dtype.minimum, dtype.maximum),
    )


def right_of(products: Products) -> Array:
    return products.right(slice(None), slice(None)).astype(np.int64)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.integers(1, 40),
    st.integers(1, 90),
    st.integers(1, 80),
    st.sampled_from(LEFT),
    st.sampled_from(RIGHT),
    st.sampled_from([SI8, UI8, SI16, UI16, SI32, UI32, None]),
    st.sampled_from(["none", "rows", "columns", "all"]),
    st.booleans(),
    st.sampled_from(kernel.widths() or [1]),
    st.integers(1, 5),
)
def test_sums_after_their_steps_are_numpys(
    seed: int,
    rows: int,
    count: int,
    columns: int,
    left_type: type[np.signedinteger],
    right_type: type[np.signedinteger],
    dtype: DType | None,
    start: str,
    by_row: bool,
    lanes: int,
    threads: int,
) -> None:
    random = np.random.default_rng(seed)
    products = of_matrices(drawn(random, (rows, count), left_type), drawn(random, (count, columns), right_type))
    if seed % 2:
        half = max(1, products.image.size // 2)
        taps, places = random.integers(-1, half, count), random.integers(0, half, columns)
        products = replace(products, taps=taps, places=places)
    shapes = {"rows": (rows, 1), "columns": (1, columns), "all": (rows, columns)}
    first = random.integers(-(1 << 31), 1 << 31, shapes[start]) if start in shapes else None
    one = (rows, 1) if by_row else (1, 1)
    steps = drawn_steps(random, one, dtype)
    expected = products.left.astype(np.int64) @ right_of(products) + (0 if first is None else first)
    kernel.choose_width(lanes)
    try:
        with kernel.switched(True), kernel.shared(threads, worth=1, part=1 << int(random.integers(4, 20))):
            words = dot.summed(products, first, steps, dtype)
    finally:
        kernel.choose_width(kernel.widths()[-1])
    with kernel.switched(False):
        wanted = requantised(expected, steps, dtype if dtype is not None else SI32)
    if words is None:
        # Columns that became rows have steps of their own along them; factors of 16 bits may be too large for 32.
        assert (by_row and columns < 16) or np.int16 in (left_type, right_type) or np.int32 in (left_type, right_type)
        return
    np.testing.assert_array_equal(words if dtype is not None else words.astype(np.uint32), wanted)


@pytest.mark.parametrize("right_type", RIGHT)
@pytest.mark.parametrize("left_type", LEFT)
def test_rows_and_columns_change_places_with_their_own_formats(
    left_type: type[np.signedinteger], right_type: type[np.signedinteger]
) -> None:
    """Few columns are exchanged with the rows: factors once took the other side's format, and lost their signs."""
    random = np.random.default_rng(3)
    products = of_matrices(drawn(random, (40, 9), left_type), drawn(random, (9, 3), right_type))
    expected = products.left.astype(np.int64) @ right_of(products)
    turned = products.transposed()
    np.testing.assert_array_equal(turned.left.astype(np.int64) @ right_of(turned), expected.T)
    with kernel.switched(True):
        words = dot.summed(products, None, Steps(0), None)
    if words is not None:  # factors of 16 bits may be too large for sums of 32
        np.testing.assert_array_equal(words, expected)


@pytest.mark.parametrize("shape", [(500, 64, 20), (9, 700, 33), (8, 8, 4000), (257, 3, 63), (1, 1, 1)], ids=str)
def test_parts_of_rows_and_of_columns_are_all_that_there_is(shape: tuple[int, int, int]) -> None:
    rows, count, columns = shape
    random = np.random.default_rng(1)
    left, right = random.standard_normal((rows, count)), random.standard_normal((count, columns))
    products = of_matrices(left.astype(np.float32), right.astype(np.float32))
    totals = random.standard_normal((rows, columns)).astype(np.float32)
    with kernel.switched(True):
        wanted = dot.interleaved(totals, None, products, True), dot.grouped(totals, products, 16)
        for threads, part in itertools.product((1, 2, 3, 8), (1, 1 << 12, 1 << 30)):
            with kernel.shared(threads, worth=1, part=part):
                found = dot.interleaved(totals, None, products, True), dot.grouped(totals, products, 16)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


@settings(max_examples=200)
@given(
    st.integers(0, 1 << 32),
    st.integers(1, 5),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 9), st.one_of(st.integers(1, 40), st.just(600))),
    st.sampled_from([np.int8, np.uint8, np.int16, np.uint16, np.int32]),
    st.sampled_from([np.int8, np.uint8, np.int16, np.int32]),
    st.sampled_from([SI8, UI8, SI16, UI16, SI32, UI32, None]),
    st.booleans(),
    st.sampled_from(kernel.widths() or [1]),
)
def test_sums_over_windows_are_numpys(
    seed: int,
    planes: int,
    taps: tuple[int, int],
    steps: tuple[int, int],
    size: tuple[int, int],
    kind: type[np.signedinteger],
    weight: type[np.signedinteger],
    dtype: DType | None,
    by_plane: bool,
    lanes: int,
) -> None:
    random = np.random.default_rng(seed)
    rows, columns = ((size[i] - 1) * steps[i] + taps[i] for i in range(2))
    image, weights = drawn(random, (planes, rows * columns), kind), drawn(random, (planes, taps[0] * taps[1]), weight)
    offsets = (np.arange(taps[0])[:, None] * columns + np.arange(taps[1])).reshape(-1)
    places = np.arange(size[0])[:, None] * steps[0] * columns + np.arange(size[1]) * steps[1]
    starts = random.integers(-(1 << 33), 1 << 33, planes)
    one = (planes,) if by_plane else (1,)
    after = drawn_steps(random, one, dtype)
    found = Windows(image, offsets, size, (steps[0] * columns, steps[1]))
    kernel.choose_width(lanes)
    try:
        with kernel.switched(True):
            words = window_sums(found, weights, starts, after, 8 if dtype is None else dtype.itemsize)
    finally:
        kernel.choose_width(kernel.widths()[-1])
    if words is None:
        assert np.int32 in (kind, weight) or weight is np.int16, "sums of these fit into 32 bits"
        return
    met = image.astype(np.int64)[:, offsets[:, None, None] + places]
    total = (met * weights.astype(np.int64)[:, :, None, None]).sum(1) + starts[:, None, None]
    multiplier, amount, zero = (
        np.asarray(part).reshape(-1, 1, 1) for part in (after.multiplier, after.amount, after.zero)
    )
    spread = replace(after, multiplier=multiplier, amount=amount, zero=zero)
    with kernel.switched(False):
        wanted = requantised(total, spread, SI32 if dtype is None else dtype)
    np.testing.assert_array_equal(words.astype(np.uint32) if dtype is None else words, wanted)


def test_sums_over_windows_that_32_bits_may_not_hold_are_left_to_numpy() -> None:
    image = np.full((1, 70_000), -32768, np.int16)
    windows = Windows(image, np.arange(70_000), (1, 1), (1, 1))
    assert window_sums(windows, np.ones((1, 70_000), np.int32), np.zeros(1, np.int64), Steps(0), 8) is None
    least = np.full((1, 4), -32768, np.int16)  # whose magnitude 16 bits do not hold
    assert window_sums(windows._replace(offsets=np.arange(4)), least, np.zeros(1, np.int64), Steps(0), 8) is None


def at_an_odd_address(numbers: Array) -> Array:
    memory = np.zeros(numbers.nbytes + 1, np.uint8)
    words = memory[1:].view(numbers.dtype).reshape(numbers.shape)
    words[...] = numbers
    assert not words.flags.aligned
    return words


def test_words_at_odd_addresses_are_summed() -> None:
    """A command may name any byte; words of 16 bits that start at an odd one are copied."""
    random = np.random.default_rng(5)
    left, image = drawn(random, (3, 4), np.int16) % 99, drawn(random, (64,), np.int16) % 99
    taps, places = np.arange(4), np.arange(32)
    odd = Products(at_an_odd_address(left), at_an_odd_address(image), taps, places)
    windows = Windows(at_an_odd_address(image.reshape(2, 32)), taps, (2, 6), (8, 1))
    with kernel.switched(True):
        sums = dot.summed(odd, None, Steps(3), None)
        window = window_sums(windows, np.ones((2, 4), np.int32), np.zeros(2, np.int64), Steps(3), 8)
    np.testing.assert_array_equal(sums, left.astype(np.int64) @ image[taps[:, None] + places])
    assert window is not None
    rows = np.arange(2)[:, None, None] * 8 + np.arange(6)[:, None] + taps
    np.testing.assert_array_equal(window, image.reshape(2, 32)[:, rows].astype(np.int64).sum(-1))
