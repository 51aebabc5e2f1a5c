"""Forms that no compiled model holds, as the vendor's simulators execute them. Source: their answers, word by word."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.families.convolution import TABLE_REGISTER
from tests.loops import each
from tests.samples import DATA
from tests.targets.commands import chip_named, ddr_start, empty, form

NAN, INF = float("nan"), float("inf")
PLACES = {"opd0_addr": 0, "opd1_addr": 4096, "opd2_addr": 8192, "res0_addr": 12288}
MINUS_ZERO = 0x80000000


def words(chip: Chip, mnemonic: str, given: Mapping[str, Array], **values: int) -> list[Array]:
    """The words of all results of a command, of operands' words by role."""
    return words_in(empty(chip), chip, mnemonic, given, values)


def words_in(
    memory: Memory, chip: Chip, mnemonic: str, given: Mapping[str, Array], values: Mapping[str, int]
) -> list[Array]:
    """The same, with memories that hold something else."""
    kind = form(chip, mnemonic)
    names = {shared: name for name, shared, _ in chip.named_fields(kind)}
    fields = {names[name]: value for name, value in values.items() if name in names}
    described = chip.describe(kind, chip.encode(kind, chip.instruction_set.blank(kind), fields), 0, {})
    for role, view in described.binding.operands.items():
        if role in given and isinstance(view, View):
            memory.write(view, np.asarray(given[role]).astype(view.dtype.bits_dtype).reshape(view.shape))
    chip.execute(described, memory)
    return [memory.read(view).reshape(-1) for view in described.results if isinstance(view, View)]


def row(chip: str, mnemonic: str, given: Mapping[str, Array], **values: int) -> list[int]:
    """The first result of a command on a row of numbers."""
    length = max(np.asarray(part).size for part in given.values())
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": length}
    found: list[int] = words(chip_named(chip), mnemonic, given, **{**sizes, **PLACES, **values})[0].tolist()
    return found


def f32(*numbers: float) -> Array:
    return np.array(numbers, np.float32).view(np.uint32)


FLOATS = {"opd0_prec": 2, "opd1_prec": 2, "opd2_prec": 2, "res0_prec": 2}


@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690", "SG2380"])
def test_an_operand_that_is_not_announced_is_zero(chip: str) -> None:
    left = f32(-3, 0, 2)
    assert row(chip, "arith.sub", {"left": left, "right": f32(5, 5, 5)}, tsk_opd_num=1, **FLOATS) == left.tolist()
    assert row(chip, "arith.max", {"left": left}, tsk_opd_num=1, **FLOATS) == f32(0, 0, 2).tolist()


@pytest.mark.parametrize(("chip", "name"), [("BM1684X", "arith.selectGreat"), ("BM1690", "arith.select_great")])
def test_what_a_selection_chooses_is_a_number_where_it_is_not_announced(chip: str, name: str) -> None:
    given = {"left": f32(-1, 1, 9), "right": f32(0, 0, 20)}
    assert row(chip, name, given, tsk_opd_num=2, **FLOATS) == [0, PLACES["opd2_addr"], 0]


def test_limits_are_numbers_whatever_their_flags_say() -> None:
    numbers = {"opd0_prec": 4, "opd1_prec": 4, "opd2_prec": 4, "res0_prec": 4, "opd0_sign": 1}
    limited = row("BM1684X2", "arith.clamp", {"left": np.array([5, 5000, 50000])}, tsk_opd_num=3, **numbers)
    assert limited == [4096, 5000, 8192]


LATER = ["BM1688", "BM1690", "BM1684X2", "CV184X", "SG2380"]
_TO_WORDS = {"opd1_const": 1, "opd0_sign": 1}


@each(
    ("chip", "code", "signed", "expected"),
    [
        *((chip, 2, 0, [0, 0x11E1A307, 0x80000006]) for chip in LATER),
        *((chip, 2, 1, [0xCA5B1707, 0x11E1A307, 0x7FFFFFFF]) for chip in LATER),
        *((chip, 1, 0, [0, 0xA307, 6]) for chip in LATER),
        *((chip, 1, 1, [0x1707, 0xA307, 0xFFFF]) for chip in LATER),
        *((chip, 4, 0, [0, 0x11E1A307, 0x80000006]) for chip in LATER),
        ("BM1684X", 2, 0, [0, 0xFFFF, 0xFFFF]),
        ("BM1684X", 2, 1, [0xFFFF8000, 0x7FFF, 0x7FFF]),
        ("BM1684X", 1, 1, [0x8000, 0x7FFF, 0x7FFF]),
    ],
)
def test_requantised_integers_stay_integers_where_the_format_is_one_of_floats(
    chip: str, code: int, signed: int, expected: list[int]
) -> None:
    """What is shifted is limited to 32 bits, then the zero point is added; f16 and bf16 keep the low half."""
    values = {**_TO_WORDS, "opd1_addr": 300_000_000, "opd2_addr": 7 << 16, "res0_prec": code}
    signs = {"opd2_sign": signed, "res0_sign": signed}
    given = {"input": np.array([-3, 1, 15]) & 0xFFFFFFFF}
    assert row(chip, "quant.rq1", given, opd0_prec=4, **values, **signs) == expected


@pytest.mark.parametrize("chip", LATER)
def test_what_is_no_integer_counts_as_zero_when_it_is_requantised(chip: str) -> None:
    values = {**_TO_WORDS, "opd1_addr": 300_000_000, "opd2_addr": 7 << 16, "opd2_sign": 1, "res0_sign": 1}
    assert row(chip, "quant.rq1", {"input": f32(1, -2)}, opd0_prec=2, res0_prec=4, **values) == [7, 7]


@each(
    ("chip", "sign", "one", "expected"),
    [
        ("BM1684X2", 0, 0x3C00, [0x7BFF, 0xFBFF, 0]),
        ("BM1684X2", 1, 0x3F80, [0x7F80, 0xFF80, 0x7FFF]),
        ("CV184X", 0, 0x3F80, [0x7F7F, 0xFF7F, 0x7FFF]),
    ],
)
def test_infinite_matrix_products_in_a_symmetric_range(chip: str, sign: int, one: int, expected: list[int]) -> None:
    """f16 by the sign of the formats on BM1684X2, where bf16 has no such range."""
    infinity = 0x7C00 if one == 0x3C00 else 0x7F80
    left = np.array([infinity, infinity | 0x8000, infinity | 1])
    format_ = 1 if chip == "BM1684X2" else 5
    codes = {"opd0_prec": format_, "opd1_prec": format_, "res0_prec": format_, "opd2_prec": 2, "opd2_const": 1}
    signs = {"opd0_sign": sign, "opd1_sign": sign, "res0_sign": sign}
    sizes = {"res0_c": 3, "res0_w": 1, "opd1_c": 1, "opd1_w": 1}
    values = {**PLACES, **codes, **signs, **sizes, "opd2_addr": 0, "sym_range": 1, "opd5_const": 1}
    result = words(chip_named(chip), "mm2.nn", {"left": left, "right": np.array([one])}, **values)[0]
    assert result.tolist() == expected


BYTES = {"tsk_opd_num": 2, "opd0_sign": 1, "opd1_sign": 1, "opd0_prec": 0, "opd1_prec": 0, "res0_prec": 0}


@pytest.mark.parametrize("chip", ["BM1684X2", "SG2380"])
def test_integers_beyond_f16_are_finite_in_a_symmetric_range(chip: str) -> None:
    values = {"tsk_opd_num": 1, "opd0_prec": 4, "opd0_sign": 1, "res0_prec": 1, "sym_range": 1, "opd2_n_str": 1}
    given = {"left": np.array([1 << 30, -(1 << 30), 2]) & 0xFFFFFFFF}
    assert row(chip, "arith.cast", given, **values) == [0x7BFF, 0xFBFF, 0x4000]
    assert row(chip, "arith.cast", given, **{**values, "sym_range": 0}) == [0x7C00, 0xFC00, 0x4000]


@each(
    ("chip", "expected"),
    [
        *((chip, [64, 166, 239, 224]) for chip in ("BM1688", "BM1690", "BM1690E")),
        *((chip, [0, 0, 239, 0]) for chip in ("BM1684X2", "CV184X", "SGTPUV8", "SG2380")),
    ],
)
def test_a_shift_to_the_left_by_a_word_or_more(chip: str, expected: list[int]) -> None:
    given = {"left": np.array([-67, 83, -67, 127]) & 0xFF, "right": np.array([70, 97, -2, 37]) & 0xFF}
    assert row(chip, "arith.arith_shift", given, **BYTES) == expected


def test_the_older_chip_takes_amounts_without_a_sign_for_signed_ones() -> None:
    given = {"left": np.array([162, 33, 5]), "right": np.array([251, 128, 33])}
    values = {**BYTES, "opd0_sign": 0, "opd1_sign": 0, "opd2_n_str": 2}
    assert row("BM1684X", "arith.ashift", given, **values) == [5, 0, 10]


@each(("chip", "name"), [("BM1684X", "arith.muls"), *((chip, "arith.mul_satu") for chip in ("BM1688", "SG2380"))])
def test_a_product_that_saturates_keeps_its_sign_when_it_is_shifted(chip: str, name: str) -> None:
    given = {
        "left": np.array([1_500_000_000, -1_500_000_000]) & 0xFFFFFFFF,
        "right": np.array([1_400_000_000] * 2),
        "third": np.array([3]),
    }
    values = {**BYTES, "tsk_opd_num": 3, "opd2_sign": 1, "opd0_prec": 4, "opd1_prec": 4, "res0_prec": 4}
    assert row(chip, name, given, **values) == [0x7FFFFFFF, 0x80000000]
    with pytest.raises(NotSimulated, match="shifted to the left by 40 bits"):
        row(chip, name, {**given, "third": np.array([40])}, **values)


def test_the_older_chip_requantises_no_bytes() -> None:
    values = {**_TO_WORDS, "opd1_addr": 30_000, "opd2_addr": 7 << 16, "opd2_sign": 1}
    assert row("BM1684X", "quant.rq1", {"input": np.array([1, 2])}, opd0_prec=0, res0_prec=3, **values) == [7, 7]


@pytest.mark.parametrize("chip", ["BM1688", "BM1690", "BM1684X2"])
def test_a_scaled_integer_is_limited_to_32_bits_with_a_sign(chip: str) -> None:
    values = {"opd1_const": 1, "opd0_sign": 1, "opd0_prec": 4, "opd1_addr": 0x4AF00000, "opd2_addr": 0x3E000000}
    given = {"input": np.array([-1, 1, 100_000]) & 0xFFFFFFFF}
    assert row(chip, "quant.rq0", given, res0_prec=2, **values) == [0, 0x780000, 0x7FFFFFFF]
    assert row(chip, "quant.rq0", given, res0_prec=4, **values) == [0, 0x780000, 0x7FFFFFFF]


@pytest.mark.parametrize(
    ("chip", "expected"), [("BM1690", [0x94B62E00, 0x80000000]), ("SG2380", [0x94B62E00, 0x80000000])]
)
def test_nibbles_become_words(chip: str, expected: list[int]) -> None:
    values = {**_TO_WORDS, "opd1_addr": 300_000_000, "opd2_addr": 7 << 16, "opd2_sign": 1, "res0_sign": 1}
    assert row(chip, "quant.dq1", {"input": np.array([1, 8])}, opd0_prec=6, res0_prec=4, **values) == expected


def pooled(chip: str, mnemonic: str, taps: list[list[float]], **values: int) -> list[list[int]]:
    """Largest or smallest numbers of rows, and their positions."""
    given = np.array(taps, np.float32)
    rows, count = given.shape
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": rows, "res0_w": 1, "opd0_h": rows, "opd0_w": count}
    window = {"opd1_h": 1, "opd1_w": count, "res_op_x_str": 1, "res_op_y_str": 1, "opd3_const": 1}
    fields = {**sizes, **window, **PLACES, "opd0_prec": 2, "res0_prec": 2, "opd2_prec": 4, **values}
    codes = {1: np.float16, 2: np.float32}
    stored = given.astype(codes[fields["opd0_prec"]])
    unsigned = stored.view(np.uint16 if stored.itemsize == 2 else np.uint32)
    return [part.tolist() for part in words(chip_named(chip), mnemonic, {"input": unsigned}, **fields)]


TIES = [[1.0, 1.0, 1.0], [3.0, 1.0, 3.0], [0.0, -0.0, 0.0], [1.0, 2.0, 3.0], [NAN, NAN, NAN]]


@pytest.mark.parametrize(("chip", "bits"), [("BM1690", 32), ("SG2380", 16), ("CV184X", 16)])
def test_of_equal_float32_taps_the_last_one_has_the_index(chip: str, bits: int) -> None:
    _, index = pooled(chip, "pord.maxpooling", TIES)
    assert index == [2, 2, 2, 2, 2]
    _, index = pooled(chip, "pord.minpooling", TIES[:4])
    assert index == [2, 1, 2, 0]
    (view,) = [v for v in described_index(chip) if isinstance(v, View)]
    assert 8 * view.dtype.itemsize == bits


def described_index(chip: str) -> list[object]:
    target = chip_named(chip)
    kind = form(target, "pord.maxpooling")
    names = {shared: name for name, shared, _ in target.named_fields(kind)}
    values = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1, "opd1_w": 1}
    fields = {names[n]: v for n, v in {**values, **PLACES, "opd2_prec": 4, "opd3_const": 1}.items() if n in names}
    described = target.describe(kind, target.encode(kind, target.instruction_set.blank(kind), fields), 0, {})
    return list(described.results[1:])


@pytest.mark.parametrize(
    ("chip", "expected"), [("BM1690", [0, 0]), ("BM1688", [0, 0]), ("SG2380", [0, 0]), ("BM1684X2", [1, 0])]
)
def test_of_equal_f16_taps_the_first_one_has_the_index(chip: str, expected: list[int]) -> None:
    """BM1684X2 has a chain for the even taps and one for the odd ones, of which the latter is asked first."""
    _, index = pooled(chip, "pord.maxpooling", TIES[:2], opd0_prec=1, res0_prec=1)
    assert index == expected


def test_the_smallest_tap_is_rectified_at_last_on_bm1688() -> None:
    numbers, index = pooled(
        "BM1688", "pord.minpooling", [[NAN, 1, 2], [1, NAN, 2], [-1, 3, 5]], opd0_prec=1, res0_prec=1, relu=1
    )
    assert (numbers, index) == ([0x3C00, 0x4000, 0], [1, 2, 0])


@pytest.mark.parametrize("name", ["cmp.sel_gt", "cmp.sel_eq"])
def test_of_floats_but_bf16_nothing_is_greater_or_equal_on_sgtpuv8(name: str) -> None:
    given = {"left": f32(5, 1), "right": f32(1, 1), "when_true": np.array([1, 2]), "when_false": np.array([65, 66])}
    values = {"opd0_prec": 2, "opd1_prec": 2, "opd2_prec": 4, "opd0_sign": 1, "opd3_addr": 16384 - 2048}
    assert row("SGTPUV8", name, given, **values) == [65, 66]


def product(chip: str, left: int, right: int, bias: int | None, old: int | None = None) -> int:
    """left x right + bias + old as words of float32; no bias: the constant 0."""
    sizes = {"res0_c": 1, "res0_w": 1, "opd0_n": 1, "opd0_c": 1, "opd0_w": 1, "opd1_w": 1}
    constant = {"opd2_const": 1, "opd2_addr": 0} if bias is None else {}
    given = {
        "left": np.array([left]),
        "right": np.array([right]),
        "bias": np.array([bias or 0]),
        "old": np.array([old or 0]),
    }
    fields = {**sizes, **FLOATS, **PLACES, **constant, "res_add": int(old is not None)}
    (total,) = words(chip_named(chip), "mm.normal", given, **fields)[0]
    return int(total)


def test_the_sign_of_a_zero_sum_tells_what_sums_begin_with() -> None:
    """With -0 the first summand stays what it is; a second accumulator that is never used is 0 on the older chips."""
    assert product("BM1690", 0, MINUS_ZERO, bias=MINUS_ZERO) == MINUS_ZERO
    assert product("BM1684X", 0, MINUS_ZERO, bias=MINUS_ZERO) == 0
    assert product("BM1684X", 0, MINUS_ZERO, bias=MINUS_ZERO, old=MINUS_ZERO) == MINUS_ZERO
    assert product("BM1684X", 0, MINUS_ZERO, bias=MINUS_ZERO, old=0) == 0
    assert product("BM1690", 0, MINUS_ZERO, bias=None) == 0
    assert product("SG2380", 0, MINUS_ZERO, bias=None) == MINUS_ZERO


@pytest.mark.parametrize(
    ("chip", "expected"), [("BM1690", MINUS_ZERO), ("BM1684X2", MINUS_ZERO), ("BM1684X", 0), ("BM1688", 0)]
)
def test_a_convolution_leaves_out_a_bias_that_is_the_constant_zero(chip: str, expected: int) -> None:
    sizes = {f"{tensor}_{axis}": 1 for tensor in ("opd0", "opd1", "res0") for axis in "nchw"}
    values = {**sizes, **FLOATS, **PLACES, "opd2_const": 1, "opd2_addr": 0, "opd3_const": 1}
    given = {"input": f32(-0.0), "weight": f32(1)}
    (total,) = words(chip_named(chip), "conv.normal", given, **values, res_op_x_str=1, res_op_y_str=1)[0]
    assert total == expected


def test_a_reduction_has_a_result_for_each_row_or_channel_whatever_its_sizes_say() -> None:
    sizes = {"res0_n": 2, "res0_c": 3, "res0_h": 5, "res0_w": 7, "opd0_n": 1, "opd0_c": 1, "opd0_h": 2, "opd0_w": 2}
    given = {"input": f32(1, 2, INF, 5)}
    fields = {**sizes, **PLACES, "opd0_prec": 2, "res0_prec": 2, "opd0_str": 1, "tsk_lane_num": (1 << 64) - 1}
    chip = chip_named("BM1684X2")
    assert words(chip, "reduce.max", given, **fields)[0].tolist() == f32(2, INF).tolist()
    assert words(chip, "reduce.sum", given, **fields, sym_range=1, relu=1)[0].tolist() == [0x40400000, 0x7F7FFFFF]


def moved(chip: str, mnemonic: str, source: Array, size: int, **values: int) -> Array:
    """Words that a move from DDR to DDR leaves, of words; they were -1."""
    target = chip_named(chip)
    memory, start = empty(target), ddr_start(target)
    memory.bytes_at(Space.GLOBAL, start, source.nbytes)[...] = source.view(np.uint8)
    memory.bytes_at(Space.GLOBAL, start + 4096, 4 * size)[...] = 0xFF
    addresses: dict[str, int] = {}
    for side, offset in (("src", 0), ("dst", 4096)):
        address = target.geometry.device_address(Space.GLOBAL, start + offset)
        addresses |= {f"{side}_start_addr_l32": address & 0xFFFFFFFF, f"{side}_start_addr_h13": address >> 32}
        addresses |= {f"{side}_start_addr_h8": address >> 32}
    lanes = {"localmem_mask_l32": 0xFFFFFFFF, "localmem_mask_h32": 0xFFFFFFFF}
    words_in(memory, target, mnemonic, {}, {**addresses, **lanes, **values})
    return memory.bytes_at(Space.GLOBAL, start + 4096, source.itemsize * size).view(source.dtype)


@pytest.mark.parametrize(
    ("chip", "format_", "expected"),
    [
        ("BM1690", 2, [2, 3]),
        ("BM1690", 1, [2, 3]),
        ("SGTPUV8", 5, [2, 3]),
        ("BM1688", 2, [3, -1]),
        ("BM1688", 1, [1, 2]),
    ],
)
def test_zeros_are_numbers_or_words(chip: str, format_: int, expected: list[int]) -> None:
    """-0, a subnormal and a normal number, behind a zero."""
    one: dict[int, Array] = {
        1: np.array([0, 0x8000, 1, 0x3C00], np.uint16),
        2: np.array([0, MINUS_ZERO, 1, 0x3F800000], np.uint32),
    }
    one[5] = np.array([0, 0x8000, 1, 0x3F80], np.uint16)
    sizes = {"src_nsize": 1, "src_csize": 1, "src_hsize": 1, "src_wsize": 4}
    fields = {**sizes, "src_data_format": format_, "index_data_format": 4, "nchw_copy": 1}
    found = moved(chip, "dma.nonzero", one[format_], 8, **fields).view(np.int32)
    assert found[:2].tolist() == expected


def test_lanes_are_not_distributed_but_copied() -> None:
    source = np.arange(24, dtype=np.uint32)
    sizes = {"src_nsize": 1, "src_csize": 3, "src_hsize": 2, "src_wsize": 4}
    shape = {"dst_nsize": 1, "dst_csize": 4, "dst_hsize": 2, "dst_wsize": 3, "src_data_format": 4}
    assert moved("BM1690", "dma.tensor.distribute", source, 24, **sizes, **shape).tolist() == source.tolist()


@pytest.mark.parametrize(("strided", "length"), [(0, 5), (1, 12)])
def test_a_linear_move_with_strides_is_as_long_as_its_sizes(strided: int, length: int) -> None:
    source = np.arange(24, dtype=np.uint32)
    sizes = {"src_nsize": 1, "src_csize": 2, "src_hsize": 2, "src_wsize": 3, "src_cstride": 5}
    found = moved("SG2380", "dma.general", source, 24, **sizes, src_data_format=4, stride_enable=strided)
    assert found.view(np.int32).tolist() == [*range(length), *([-1] * (24 - length))]


def test_a_reciprocal_root_is_a_float_in_a_word_of_integers() -> None:
    chip = chip_named("BM1684")
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_prec": 2, "tsk_lane_num": (1 << 64) - 1}
    places = {"opd0_addr": 0x8000000, "res0_addr": 0x8001000}
    as_float, as_word = (
        words(chip, "mdsfu.rsqrt", {"input": f32(2)}, **sizes, **places, res0_prec=code)[0].tolist() for code in (2, 4)
    )
    assert as_float == as_word


@pytest.mark.parametrize("space", [Space.STATIC, Space.L2])
def test_a_table_that_a_register_puts_elsewhere_is_refused(space: Space) -> None:
    """The vendor's simulator reads zeros there; no compiler puts a table into another memory than the local one."""
    chip = chip_named("BM1684X2")
    kind = form(chip, "conv.normal")
    names = {shared: name for name, shared, _ in chip.named_fields(kind)}
    sizes = {f"{side}_{axis}": 1 for side in ("res0", "opd0", "opd1") for axis in "nchw"}
    values = {**sizes, "rq": 1, "res_op_x_str": 1, "res_op_y_str": 1, "opd2_sign": 1, "opd3_const": 1, **PLACES}
    fields = {names[name]: value for name, value in values.items() if name in names}
    descriptor = chip.encode(kind, chip.instruction_set.blank(kind), fields)
    for address, is_refused in ((16384, False), (chip.geometry.device_address(space, 4096), True)):
        described = chip.describe(kind, descriptor, 0, {TABLE_REGISTER: address})
        table = described.binding.operands["requantisation"]
        assert (table.space is Space.LOCAL) is not is_refused
        if is_refused:
            with pytest.raises(NotSimulated, match="its requantisation outside of the local memory"):
                chip.execute(described, empty(chip))
        else:
            chip.execute(described, empty(chip))


def test_products_of_nibbles_are_those_of_the_vendors_runtime() -> None:
    """A matrix product of 4-bit numbers with requantisation to 4 bits, as the compiler makes it for INT4."""
    folder = DATA / "contexts" / "linear3d_bm1688_int4"
    with closing(tdb_dap.open(folder, inputs=folder / "input.npz")) as debugger:
        assert any(c.name == "mm2.nn" and "si4" in c.asm for c in debugger.program.commands)
        assert debugger.run().reason == "end"
        with np.load(folder / "runtime.npz") as truth:
            for name, array in debugger.outputs().items():
                assert np.array_equal(array.reshape(-1), truth[name].reshape(-1))
