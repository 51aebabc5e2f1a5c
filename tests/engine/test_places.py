"""Sets of bytes of a memory, against sets of numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.hardware.byte_ranges import ByteRanges, parse, ranges_name, share_a_byte
from tdb_dap.engine.hardware.dtypes import F16, F32, SI4, UI8
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.runs import merged
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.views import Constant, Layout, View, strides_of
from tdb_dap.errors import BadExpression
from tdb_dap.targets.chips.bm1684x import BM1684X
from tdb_dap.targets.chips.bm1688 import BM1688

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=6)


def place(ranges: list[tuple[int, int]], space: Space = Space.LOCAL, core: int = 0) -> ByteRanges:
    return ByteRanges(space, core, merged(np.array([(a, a + n) for a, n in ranges], np.int64).reshape(-1, 2)))


def numbers(of: ByteRanges | None) -> set[int]:
    return {byte for start, stop in (of.runs.tolist() if of is not None else ()) for byte in range(start, stop)}


@given(RANGES)
def test_merged_ranges_are_the_same_bytes_sorted_and_apart(ranges: list[tuple[int, int]]) -> None:
    found = place(ranges)
    assert numbers(found) == {byte for start, size in ranges for byte in range(start, start + size)}
    assert found.size == len(numbers(found))
    runs = found.runs.tolist()
    assert all(before[1] < after[0] for before, after in pairwise(runs))
    if runs:
        assert found.start == min(numbers(found))


@given(RANGES, RANGES)
def test_what_two_places_share(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    a, b = place(one), place(two)
    assert a.overlaps(b) == bool(numbers(a) & numbers(b))
    assert numbers(a.intersection(b)) == numbers(a) & numbers(b)
    assert numbers(a.without(b)) == numbers(a) - numbers(b)
    assert not a.overlaps(place(two, core=1))
    assert not a.overlaps(place(two, space=Space.GLOBAL))


def test_views_between_each_other_share_no_byte() -> None:
    """What encloses them does: every second element is the one's, the others are the other's."""
    every_second = View(Space.GLOBAL, 0, (1, 1, 1, 8), F32, Layout.STRIDE, (16, 16, 16, 2), BM1684X.geometry)
    between = replace(every_second, address=4)
    assert every_second.byte_ranges()[0][1] > between.byte_ranges()[0][0]
    assert not share_a_byte(every_second, between)
    assert share_a_byte(every_second, replace(between, address=5))
    assert share_a_byte(every_second, replace(between, address=8, core=1)), "all cores share DDR"
    mine = replace(every_second, space=Space.LOCAL)
    assert share_a_byte(mine, mine)
    assert not share_a_byte(mine, replace(mine, core=1))
    assert not share_a_byte(every_second, mine)
    assert not share_a_byte(every_second, Constant(0, 0.0, F32))


@given(RANGES.filter(bool), st.integers(0, 3))
def test_the_text_of_a_place_names_it(ranges: list[tuple[int, int]], core: int) -> None:
    written = place(ranges, core=core)
    found = parse(written.text)
    assert (found.space, found.core, numbers(found)) == (Space.LOCAL, core, numbers(written))


def test_equal_distances_are_one_part() -> None:
    rows = place([(64 * i, 4) for i in range(8)])
    assert rows.text == "R0x0+4*8/0x40"
    assert place([(0, 4), (64, 4), (100, 4)]).text == "R0x0+4*2/0x40,0x64+4"
    assert place([(0, 4), (64, 8)], core=2).text == "R0x0+4,0x40+8@core2"


def test_the_name_of_a_place() -> None:
    assert ranges_name(ByteRanges.range(Space.GLOBAL, 3, 64, 8), BM1684X.geometry).startswith("G64")
    assert ByteRanges.range(Space.GLOBAL, 3, 64, 8).core == 0
    assert ByteRanges.range(Space.LOCAL, 3, 64, 8).core == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "R",
        "R0",
        "Q0+4",
        "R0+0",
        "R0x10+4*99999999/4",
        "R0+99999999999999999999",
        "R0xffffffffffffffff+4",
        "R0+4@core",
    ],
)
def test_what_is_no_place_is_one_line(text: str) -> None:
    with pytest.raises(BadExpression) as refusal:
        parse(text)
    assert "\n" not in str(refusal.value)


@st.composite
def small_views(draw: st.DrawFn) -> View:
    """A tensor of BM1688 in local memory or DDR, of nibbles, bytes or words, at any address that its format has."""
    dtype = draw(st.sampled_from([SI4, UI8, F16, F32]))
    shape = draw(st.tuples(st.integers(1, 2), st.integers(1, 40), st.integers(1, 3), st.integers(1, 9)))
    geometry, address = BM1688.geometry, 64 * draw(st.integers(0, 40))
    layout = draw(st.sampled_from([Layout.ALIGN_EU, Layout.COMPACT, Layout.ALIGN_LINE, Layout.CONTIGUOUS]))
    if layout is Layout.CONTIGUOUS:
        return View(Space.L2, address, shape, dtype, layout, contiguous(shape), geometry)
    strides = strides_of(geometry, layout, address, shape, dtype)
    return View(Space.LOCAL, address, shape, dtype, layout, strides, geometry)


@given(small_views(), st.data())
def test_the_bytes_of_an_element_are_those_that_change_with_it(view: View, data: st.DataObject) -> None:
    memory = Memory(BM1688.geometry, 1, [])
    everything = memory.regions(view.space)
    memory.write(view, np.zeros(view.shape, view.dtype.bits_dtype))
    index = tuple(data.draw(st.integers(0, extent - 1)) for extent in view.shape)
    words = memory.read(view)
    words[index] = (1 << view.dtype.bits) - 1
    memory.write(view, words)
    changed = {r.start + int(at) for r in everything for at in np.flatnonzero(r.data)}
    assert numbers(ByteRanges.of(view, (index,))) == changed
