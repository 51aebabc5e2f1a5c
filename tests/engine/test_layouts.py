"""Logical index to address, against the formulas of the manual computed one element at a time."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from tdb_dap.engine.bmodel import TensorInfo
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.hardware import byte_ranges, int4, views
from tdb_dap.engine.hardware import memory as memory_module
from tdb_dap.engine.hardware.byte_ranges import element_offsets, has_overlaps
from tdb_dap.engine.hardware.dtypes import BY_NAME, F8E4M3, F8E5M2, F16, F32, SI4, SI8, SI16, UI8, DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.rectangles import rectangles
from tdb_dap.engine.hardware.strides import align
from tdb_dap.engine.hardware.views import Layout, View, strides_of
from tdb_dap.errors import BadAccess
from tdb_dap.targets.chips.bm1684 import BM1684
from tdb_dap.targets.chips.bm1684x import BM1684X
from tests.known import known

GEOMETRY = BM1684X.geometry
LANE = GEOMETRY.lane_bytes
PACKING = BM1684.geometry
PACKED_LANE = PACKING.lane_bytes


def view(
    shape: tuple[int, ...],
    dtype: DType,
    layout: Layout,
    address: int = 0,
    width: int = 0,
    strides: tuple[int, ...] | None = None,
    mask: int | None = None,
) -> View:
    if strides is None and len(shape) == 4 and layout is not Layout.ALIGN_IC:
        n, c, h, w = shape
        strides = strides_of(GEOMETRY, layout, address, (n, c, h, w), dtype)
    return View(Space.LOCAL, address, shape, dtype, layout, strides, GEOMETRY, width=width, lane_mask=mask)


def byte_of(v: View, index: tuple[int, ...]) -> int:
    """The formula of the layout for one element: lane * lane bytes + byte in the lane."""
    size = v.dtype.itemsize
    units = GEOMETRY.eu_bytes // size
    first, start = divmod(v.address, LANE)
    lanes = GEOMETRY.lanes
    if v.layout is Layout.ALIGN_IC:
        oc, ic, y, x = index
        k = {1: 64, 2: 32, 4: 1}[size]
        _, channels, height, width = v.shape
        lane, row = (first + oc) % lanes, (first + oc) // lanes
        inner = (ic // k) * k * height * width + (y * width + x) * k + ic % k
        return lane * LANE + start + size * (row * align(channels, k) * height * width + inner)
    if v.layout is Layout.MATRIX:
        r, c = index
        blocks = -(-v.shape[1] // v.width)
        step = align(v.width, units)
        per_row = -(-(blocks + first) // lanes) * step
        lane, row = (first + c // v.width) % lanes, (first + c // v.width) // lanes
        return lane * LANE + start + size * (r * per_row + row * step + c % v.width)
    if v.layout is Layout.MATRIX2:
        r, c = index
        lane, row = (first + r) % lanes, (first + r) // lanes
        return lane * LANE + start + size * (row * align(v.shape[1], units) + c)
    n, c, h, w = index
    lane, row = (first + c) % lanes, (first + c) // lanes
    ns, cs, hs, ws = known(v.strides)
    return lane * LANE + start + size * (n * ns + row * cs + h * hs + w * ws)


CASES = [
    view((2, 70, 3, 5), F32, Layout.ALIGN_EU, address=3 * LANE + 128),
    view((2, 70, 3, 5), F16, Layout.COMPACT, address=63 * LANE),
    view((1, 130, 2, 9), SI8, Layout.ALIGN_LINE),
    view((70, 70, 3, 2), F16, Layout.ALIGN_IC, address=5 * LANE + 64),
    view((3, 40, 3, 3), SI8, Layout.ALIGN_IC),
    view((4, 3, 2, 2), F32, Layout.ALIGN_IC),
    view((5, 23), F32, Layout.MATRIX, address=62 * LANE, width=4),
    view((3, 64), F16, Layout.MATRIX, width=32),
    view((80, 7), F16, Layout.MATRIX2, address=60 * LANE),
    view((1, 9, 2, 4), SI8, Layout.STRIDE, strides=(0, 64, 1, 8)),
]


@pytest.mark.parametrize("v", CASES, ids=lambda v: f"{v.layout.value}-{v.dtype}-{v.shape}")
def test_every_element_is_where_the_formula_says(v: View) -> None:
    memory = Memory(GEOMETRY, 1, [])
    numbers = np.arange(1, v.size + 1).reshape(v.shape) % 250 + 1
    bits = numbers.astype(v.dtype.bits_dtype)
    memory.write(v, bits)
    flat = memory.local().reshape(-1)
    for index in np.ndindex(*v.shape):
        place = byte_of(v, index)
        assert flat[place : place + v.dtype.itemsize].view(v.dtype.bits_dtype)[0] == bits[index], index
    assert (memory.read(v) == bits).all()
    assert np.count_nonzero(flat.view(np.uint8)) == np.count_nonzero(bits.view(np.uint8)), "nothing else is written"


@pytest.mark.parametrize("v", CASES, ids=lambda v: f"{v.layout.value}-{v.dtype}-{v.shape}")
def test_byte_ranges_enclose_every_element(v: View) -> None:
    ranges = v.byte_ranges()
    for index in np.ndindex(*v.shape):
        place = byte_of(v, index)
        assert any(start <= place and place + v.dtype.itemsize <= stop for start, stop in ranges)


@pytest.mark.parametrize("v", [*CASES, view((2, 70, 3, 5), F32, Layout.ALIGN_EU, mask=0b1011)], ids=repr)
def test_a_rectangle_has_its_first_byte_in_each_of_its_lanes(v: View) -> None:
    memory = Memory(GEOMETRY, 1, [])
    memory.write(v, np.full(v.shape, -1).astype(v.dtype.bits_dtype))
    for start, stop, lane, lane_stop in rectangles(v):
        assert memory.local()[lane:lane_stop, start].all()
        assert memory.local()[lane:lane_stop, stop - 1].all()


def packed_view(
    shape: tuple[int, int, int, int],
    dtype: DType,
    layout: Layout,
    address: int = 0,
    strides: tuple[int, ...] | None = None,
    width: int = 0,
) -> View:
    if strides is None:
        strides = strides_of(PACKING, layout, address, shape, dtype)
    return View(Space.LOCAL, address, shape, dtype, layout, strides, PACKING, width=width)


def byte_of_packed(v: View, index: tuple[int, ...]) -> int:
    """The formulas for words of 4 bytes that hold x batches, and for weights in units of input channels."""
    size = v.dtype.itemsize
    x = 4 // size
    first, start = divmod(v.address, PACKED_LANE)
    if v.layout is Layout.CHANNEL_UNITS:
        oc, ic, kh, kw = index
        unit, cs, hs, ws = known(v.strides)
        lane, row = (first + oc) % 64, (first + oc) // 64
        inner = ic // v.width * unit + kh * hs + kw * ws + ic % v.width
        return lane * PACKED_LANE + start + size * (row * cs + inner)
    n, c, h, w = index
    _, channels, height, width = v.shape
    if v.layout is Layout.STRIDE_XN:
        ns, cs, hs, ws = (stride // x for stride in known(v.strides))
    else:
        cs = align(height * width, 32) if v.layout is Layout.ALIGN_XN else height * width
        ns, hs, ws = -(-(channels + first) // 64) * cs, width, 1
    lane, row = (first + c) % 64, (first + c) // 64
    return lane * PACKED_LANE + start + 4 * (n // x * ns + row * cs + h * hs + w * ws) + n % x * size


PACKED_CASES = [
    packed_view((6, 70, 3, 5), SI8, Layout.ALIGN_XN, address=3 * PACKED_LANE + 128),
    packed_view((5, 9, 4, 4), SI16, Layout.ALIGN_XN, address=60 * PACKED_LANE),
    packed_view((3, 66, 2, 3), UI8, Layout.COMPACT_XN),
    packed_view((2, 5, 2, 3), SI16, Layout.COMPACT_XN, address=64),
    packed_view((9, 3, 2, 4), SI8, Layout.STRIDE_XN, strides=(400, 160, 64, 8)),
    packed_view((70, 7, 3, 2), SI8, Layout.CHANNEL_UNITS, 5 * PACKED_LANE + 64, (4, 64, 16, 8), width=4),
    packed_view((4, 5, 3, 3), F32, Layout.CHANNEL_UNITS, 0, (2, 54, 18, 6), width=2),
]


@pytest.mark.parametrize("v", PACKED_CASES, ids=lambda v: f"{v.layout.value}-{v.dtype}-{v.shape}")
def test_every_packed_element_is_where_the_formula_says(v: View) -> None:
    memory = Memory(PACKING, 1, [])
    bits = (np.arange(v.size).reshape(v.shape) % 250 + 1).astype(v.dtype.bits_dtype)
    memory.write(v, bits)
    flat, ranges = memory.local().reshape(-1), v.byte_ranges()
    for index in np.ndindex(*v.shape):
        place = byte_of_packed(v, index)
        assert flat[place : place + v.dtype.itemsize].view(v.dtype.bits_dtype)[0] == bits[index], index
        assert any(start <= place and place + v.dtype.itemsize <= stop for start, stop in ranges), index
    assert (memory.read(v) == bits).all()
    assert np.count_nonzero(flat) == np.count_nonzero(bits.view(np.uint8)), "nothing else is written"


def test_a_packed_tensor_in_ddr_keeps_four_batches_in_a_word() -> None:
    info = TensorInfo("x", SI8, (5, 2, 3), 0x100000000, 48, 1.0, 0, memory_mode=2)
    tensor = Tensor.of(info, PACKING)
    memory = Memory(PACKING, 1, [Region(0, np.zeros(48, np.uint8), "input")])
    numbers = np.arange(30).reshape(5, 2, 3)
    memory.write(tensor.view, tensor.lower(numbers, "test"))
    stored = memory.global_(0x100000000, 48).reshape(2, 6, 4)
    assert (stored[0] == numbers[:4].reshape(4, 6).T).all()
    assert (stored[1, :, 0] == numbers[4].reshape(6)).all()
    assert (stored[1, :, 1:] == 0).all()
    assert (memory.read(tensor.view) == numbers).all()


def test_masked_lanes_keep_what_they_hold() -> None:
    memory = Memory(GEOMETRY, 1, [])
    v = view((1, 8, 1, 4), SI8, Layout.ALIGN_EU, mask=0b10101010)
    memory.write(v, np.full((1, 8, 1, 4), 7, np.uint8))
    written = memory.local()[:8, :4]
    assert (written[1::2] == 7).all()
    assert (written[0::2] == 0).all()


def test_addresses_read_as_bank_offset_and_lane() -> None:
    assert view((1, 1, 1, 1), F32, Layout.COMPACT, address=49792).name == "R3.640"
    assert view((1, 1, 1, 1), F32, Layout.COMPACT, address=18 * LANE + 16384).name == "R1.L18"


def test_reading_beyond_a_memory_says_what_there_is() -> None:
    memory = Memory(GEOMETRY, 1, [])
    with pytest.raises(BadAccess, match="static memory has no bytes 16,384 to 16,387; it holds 0 to 16,383"):
        memory.read_bytes(Space.STATIC, 16384, 4)


def test_numbers_survive_their_stored_form() -> None:
    for dtype in BY_NAME.values():
        words = np.arange(1 << min(8, dtype.bits), dtype=np.uint64).astype(dtype.bits_dtype)
        numbers = dtype.decode(words)
        same = dtype.encode(numbers) == words
        assert (same | (numbers != numbers)).all(), dtype


def test_a_tensor_for_four_banks_lies_in_each_of_them() -> None:
    memory = Memory(GEOMETRY, 1, [])
    banks = view((1, 3, 1, 4), F32, Layout.DMA_4BANK, address=256, strides=(16, 16, 4, 1))
    numbers = np.arange(12, dtype=np.uint32).reshape(1, 3, 1, 4)
    memory.write(banks, numbers)
    for bank in range(4):
        start = bank * GEOMETRY.bank_bytes + 256
        assert memory.local()[2, start : start + 16].view(np.uint32).tolist() == [8, 9, 10, 11]
    assert (memory.read(banks) == numbers).all()
    assert len(banks.byte_ranges()) == 12


def test_numbers_of_four_bits_lie_two_in_a_byte_the_first_in_the_low_half() -> None:
    memory = Memory(GEOMETRY, 1, [])
    four = view((1, 3, 2, 5), SI4, Layout.ALIGN_EU, address=16, strides=(64, 64, 5, 1))
    numbers = np.arange(30).reshape(1, 3, 2, 5) % 16 - 8
    memory.write(four, four.dtype.encode(numbers))
    assert (four.dtype.decode(memory.read(four)) == numbers).all()
    lane = memory.local()[1]
    for index, number in enumerate(numbers[0, 1].reshape(-1)):
        assert lane[16 + index // 2] >> 4 * (index % 2) & 15 == number & 15
    assert four.byte_ranges()[0] == (16, 21)
    assert four.nbytes == 15


@pytest.mark.parametrize(
    ("dtype", "number", "word"),
    [
        (F8E4M3, 448.0, 0x7E),
        (F8E4M3, 480.0, 0x7F),
        (F8E4M3, 1.0625, 0x38),  # a tie goes to the even word
        (F8E4M3, -(2.0**-9), 0x81),
        (F8E5M2, 57344.0, 0x7B),
        (F8E5M2, 61440.0, 0x7C),
        (F8E5M2, -0.0, 0x80),
    ],
)
def test_floats_of_eight_bits_round_to_the_nearest(dtype: DType, number: float, word: int) -> None:
    assert dtype.encode(np.array([number], np.float32)).tolist() == [word]


def test_rows_that_all_lanes_share_lie_behind_each_other() -> None:
    """One row after another, each at the next border of the execution units; elements side by side."""
    for dtype, row in ((F32, 32), (F16, 32), (SI8, 64)):
        assert strides_of(GEOMETRY, Layout.SHARED_ROWS, 0, (1, 1, 3, 20), dtype)[:3] == (
            0,
            0,
            align(20, 64 // dtype.itemsize),
        )
        assert align(20, 64 // dtype.itemsize) == row
        assert strides_of(GEOMETRY, Layout.SHARED_ROWS, 0, (1, 1, 3, 20), dtype)[3] == 1


@pytest.mark.parametrize("at_once", [1, 7, 40])
@pytest.mark.parametrize("strides", [(64, 64, 5, 1), (3, 64, 2, 1), (1, 1, 1, 1)])
def test_numbers_of_four_bits_are_read_and_stored_in_parts_as_at_once(
    at_once: int, strides: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements that share a place are stored in their order."""
    numbers = np.random.default_rng(1).integers(0, 16, (3, 3, 4, 5), np.uint8)
    four = view(numbers.shape, SI4, Layout.STRIDE, address=16, strides=strides)
    whole, parts = Memory(GEOMETRY, 1, []), Memory(GEOMETRY, 1, [])
    whole.write(four, numbers)
    expected = whole.read(four)
    monkeypatch.setattr(int4, "_AT_ONCE", at_once)
    parts.write(four, numbers)
    np.testing.assert_array_equal(parts.read(four), expected)
    np.testing.assert_array_equal(parts.bytes_at(Space.LOCAL, 0, 4096), whole.bytes_at(Space.LOCAL, 0, 4096))


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_words_that_share_bytes_are_stored_in_parts_as_at_once(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one stays, whichever part it is in."""
    words = np.random.default_rng(1).integers(0, 1 << 32, (3, 3, 4, 5), np.uint32)
    over = view(words.shape, F32, Layout.STRIDE, address=16, strides=(1, 16, 2, 1))
    memories = [Memory(GEOMETRY, 1, []) for _ in range(2)]
    memories[0].write(over, words)
    monkeypatch.setattr(memory_module, "_ELEMENTS_AT_ONCE", at_once)
    memories[1].write(over, words)
    one, other = (memory.bytes_at(Space.LOCAL, 0, 4096) for memory in memories)
    np.testing.assert_array_equal(one, other)


def test_an_operand_that_repeats_a_few_bytes_a_billion_times_is_refused() -> None:
    """A command of a damaged model may say so; it must not fill the memory of this machine."""
    memory = Memory(GEOMETRY, 1, [])
    repeated = view((1, 1, 30_000, 30_000), F32, Layout.STRIDE, strides=(0, 0, 0, 0))
    with pytest.raises(BadAccess, match="bytes that repeat fewer of the memory; more than 256 MiB"):
        memory.read(repeated)
    assert memory.read(view((1, 1, 300, 300), F32, Layout.STRIDE, strides=(0, 0, 0, 0))).shape == (1, 1, 300, 300)
    shifted = view((38_145, 12_304, 1, 1), F32, Layout.STRIDE, strides=(1, 1, 1, 1))
    with pytest.raises(BadAccess, match="1,877,344,320 bytes that repeat fewer"):
        memory.read(shifted)  # each round of lanes begins four bytes after the one before


def test_an_empty_tensor_of_an_impossible_shape_is_refused() -> None:
    memory = Memory(GEOMETRY, 1, [Region(0, np.zeros(4096, np.uint8), "nothing")])
    with pytest.raises(BadAccess, match=r"an empty tensor of the impossible shape \[1, 10, 288230376151711744, 0\]"):
        memory.read(View(Space.GLOBAL, 0, (1, 10, 1 << 58, 0), F32, Layout.CONTIGUOUS, None, GEOMETRY))
    assert memory.read(View(Space.GLOBAL, 0, (1, 10, 4, 0), F32, Layout.CONTIGUOUS, None, GEOMETRY)).size == 0


@pytest.mark.parametrize("dtype", [UI8, F32, SI4], ids=lambda dtype: dtype.name)
def test_what_ends_beyond_all_offsets_has_no_place(dtype: DType) -> None:
    """A table of accesses holds offsets of 64 bits; compressed data of a damaged model were longer."""
    fits = ((1 << 63) - 1 - 4096) // 4

    def of(size: int) -> View:
        return View(Space.GLOBAL, 4096, (size,), dtype, Layout.CONTIGUOUS, None, GEOMETRY)

    ((start, stop, _, _),) = rectangles(of(fits))
    assert (start, stop) == (4096, 4096 + -(-fits * dtype.itemsize // dtype.per_byte))
    with pytest.raises(BadAccess, match="ends beyond any memory"):
        rectangles(of(4 * (fits + 1) * dtype.per_byte))


def test_what_is_remembered_of_tensors_does_not_grow_with_their_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """One server opens many models, and damaged ones have tensors of thousands of pieces."""
    monkeypatch.setattr(views, "_MOST_SEGMENTS", 2000)
    for channels in range(64_000, 64_300, 10):
        views.template(view((1, channels, 1, 1), F32, Layout.ALIGN_EU))
        assert sum(len(known.segments) for known in views._templates.values()) < 2000 + 2 * 1010
    before = len(views._templates)
    views.template(view((1, 64_290, 1, 1), F32, Layout.ALIGN_EU))
    assert len(views._templates) == before, "the last one is known"


def test_a_tensor_of_nibbles_beyond_the_memory_takes_no_memory_to_be_refused() -> None:
    """A command from elsewhere has any extents; the offsets of its elements took seconds and gigabytes."""
    memory = Memory(GEOMETRY, 1, [Region(0, np.zeros(4096, np.uint8), "nothing")])
    shape = (60_000, 60_000, 1, 1)
    strides = (60_000, 1, 1, 1)
    beyond = View(Space.GLOBAL, 0, shape, SI4, Layout.STRIDE, strides, GEOMETRY)
    tracemalloc.start()
    try:
        with pytest.raises(BadAccess):
            memory.read(beyond)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize("marks", [1 << 27, 0], ids=["by marks", "by sorted places"])
def test_elements_overlap_where_two_of_them_have_a_byte_in_common(marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_ranges, "_MOST_MARKS", marks)
    views._templates.clear()  # which remember it
    choose = random.Random(5)
    seen = {False: 0, True: 0}
    for _ in range(600):
        shape = tuple(choose.choice([1, 2, 3, choose.randrange(1, 70)]) for _ in range(4))
        strides = tuple(choose.choice([0, 1, 2, 3, 5, choose.randrange(300)]) for _ in range(4))
        mask = choose.choice([None, choose.getrandbits(64)])
        dtype = choose.choice([F32, F16, SI8, SI4])
        one = view(shape, dtype, Layout.STRIDE, choose.randrange(64) * LANE, strides=strides, mask=mask)
        offsets = element_offsets(one)
        places = [place + byte for place in offsets[offsets >= 0].tolist() for byte in range(dtype.itemsize)]
        expected = len(set(places)) < len(places)
        seen[expected] += 1
        assert has_overlaps(one) is expected, one
    assert min(seen.values()) > 100


def test_a_large_tensor_with_a_byte_in_common_takes_no_memory_for_each_element() -> None:
    """One command of fifty million elements took 0.8 GB and eight seconds to be refused."""
    wide = view((1, 64, 640, 340), SI8, Layout.STRIDE, strides=(0, 0, 341, 1))
    narrow = view((1, 64, 640, 340), SI8, Layout.STRIDE, strides=(0, 0, 339, 1))
    tracemalloc.start()
    try:
        assert not has_overlaps(wide)
        assert has_overlaps(narrow)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 25
