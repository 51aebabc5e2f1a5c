"""Where BM1684X2, CV184X, SGTPUV8 and SG2380 differ from their relatives; all numbers are the vendor's emulators'."""

from __future__ import annotations

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.loops import each
from tests.samples import Case, of_more_chips
from tests.targets.commands import chip_named, command, empty


@pytest.mark.parametrize("case", of_more_chips(), ids=lambda case: case.name)
def test_a_compiled_model_has_the_outputs_of_the_vendor(case: Case) -> None:
    """By the runtime; of SG2380, which it does not know, by the emulator."""
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    assert debugger.run().reason == "end"
    outputs = debugger.outputs()
    assert outputs.keys() == case.truth.keys()
    for name, expected in case.truth.items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)


def results(chip: str, described: Description, **words: object) -> list[object]:
    """What a command computes of the words of its operands, by role."""
    target = chip_named(chip)
    memory = empty(target)
    operands = dict(described.binding.operands)
    for role, given in words.items():
        view = operands[role]
        assert isinstance(view, View)
        memory.write(view, np.broadcast_to(np.asarray(given, view.dtype.bits_dtype), view.shape))
    target.execute(described, memory)
    result = described.results[0]
    assert isinstance(result, View)
    found: list[object] = memory.read(result).reshape(-1).tolist()
    return found


ONE_BY_ONE = {"res0_n": 1, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1, "opd3_const": 1}


@pytest.mark.parametrize(
    ("chip", "sums"), [("CV184X", [1010, 1020]), ("BM1684X2", [1010, 1020]), ("SG2380", [1007, 1014])]
)
def test_a_convolution_has_zero_points_of_its_weights_or_has_not(chip: str, sums: list[int]) -> None:
    shape = {"res0_c": 1, "res0_h": 1, "res0_w": 2, "opd0_c": 1, "opd0_h": 1, "opd0_w": 2}
    formats = {"res0_prec": 4, "res0_sign": 1, "opd1_sign": 1, "opd2_sign": 1}
    places = {"opd0_addr": 4096, "opd1_addr": 8192, "opd2_addr": 16384, "res0_addr": 24576}
    described = command(chip_named(chip), "conv.normal", **ONE_BY_ONE, **shape, **formats, **places)
    words = {"input": [[[[1, 2]]]], "weight": 10, "bias": 1000}
    if "kernel_zero" in described.binding.operands:
        words["kernel_zero"] = 3
    assert results(chip, described, **words) == sums
    assert ("kzp" in described.attributes) is False


def matrix(chip: str, **values: int) -> Description:
    """A product of 1 x 2 and 2 x 3 8-bit numbers with a bias."""
    shape = {"res0_c": 1, "res0_w": 3, "opd1_c": 2, "opd1_w": 3}
    places = {"opd0_addr": 4096, "opd1_addr": 8192, "opd2_addr": 12288, "res0_addr": 20480}
    signs = {"opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1}
    return command(chip_named(chip), "mm2.nn", **{"res0_prec": 4} | shape | places | signs | values)


@pytest.mark.parametrize(("chip", "sums"), [("CV184X", [1081, 2111, 3141]), ("BM1684X2", [1090, 2120, 3150])])
def test_a_matrix_has_zero_points_or_has_not(chip: str, sums: list[int]) -> None:
    described = matrix(chip)
    words: dict[str, object] = {"left": [[1, 2]], "right": [[10, 20, 30], [40, 50, 60]]}
    words["bias"] = np.array([1000, 2000, 3000]).reshape(1, 1, 1, 3)
    if "zero_points" in described.binding.operands:
        words["zero_points"] = 3
    assert results(chip, described, **words) == sums


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0, [0, 2, -2]), (1, [1, 2, -2]), (2, [0, 1, -1]), (3, [0, 1, -2]), (4, [1, 2, -1]), (5, [1, 2, -1])],
)
def test_sums_of_a_matrix_are_requantised_by_a_float_on_bm1684x2(mode: int, expected: list[int]) -> None:
    described = matrix("BM1684X2", rq=1, res0_prec=0, opd2_n_str=mode)
    assert "requantisation" not in described.binding.operands
    scale = described.binding.operands["column_scale"]
    assert isinstance(scale, View)
    assert (scale.dtype, scale.shape) == (F32, (1, 16, 1, 3))
    words = {"left": 0, "right": 0, "bias": np.array([1, 3, -3]).reshape(1, 1, 1, 3)}
    # Bias and scales are where the registers say: at zero, which none has written.
    half = F32.encode(np.array([0.5], np.float32))[0]
    found = results("BM1684X2", described, **words, column_scale=half)
    assert SI8.decode(np.array(found, np.uint8)).tolist() == expected


def arithmetic(name: str, left: int, right: int, **values: int) -> int:
    """The word that an operation of BM1684X2 gives for two words of f16."""
    formats = {"opd0_prec": 1, "opd1_prec": 1, "res0_prec": 1, "tsk_opd_num": 2}
    places = {"opd1_addr": 4096, "res0_addr": 8192, "res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1}
    described = command(chip_named("BM1684X2"), f"arith.{name}", **formats | places | values)
    words = {role: word for role, word in (("left", left), ("right", right)) if role in described.binding.operands}
    (found,) = results("BM1684X2", described, **words)
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("add", 0x0000, 0x0001, 0x0000),
        ("add", 0x8B9A, 0x09CF, 0x8000),
        ("sub", 0x07C9, 0x07A4, 0x0000),
        ("mul", 0x8001, 0x3C00, 0x8000),
        ("mul", 0x049D, 0x39C5, 0x0000),
        ("fsub_abs", 0x0001, 0x8400, 0x0400),
        ("max", 0x0000, 0x0001, 0x0001),
        ("min", 0x0000, 0x8001, 0x8001),
        ("max", 0x0000, 0x8001, 0x0000),
    ],
)
def test_bm1684x2_calculates_without_subnormals_of_f16_and_chooses_among_them(
    name: str, left: int, right: int, expected: int
) -> None:
    assert arithmetic(name, left, right) == expected


def test_bm1684x2_tells_bf16_from_f16_by_the_sign() -> None:
    signs = {"opd0_sign": 1, "opd1_sign": 1, "res0_sign": 1}
    described = command(chip_named("BM1684X2"), "arith.add", opd0_prec=1, opd1_prec=1, res0_prec=1, tsk_opd_num=2)
    assert described.results[0].dtype is F16
    words = [int(word) for word in BF16.encode(np.array([1.5, 2.25], np.float32))]
    total = BF16.decode(np.array([arithmetic("add", *words, **signs)], np.uint16))
    assert total.tolist() == [3.75]
    with pytest.raises(NotSimulated, match="the precision code 5 is not defined"):
        command(chip_named("BM1684X2"), "arith.add", opd0_prec=5, opd1_prec=5, res0_prec=5, tsk_opd_num=2).results  # noqa: B018


@pytest.mark.parametrize(("chip", "together"), [("BM1688", 16), ("SG2380", 32), ("BM1684X2", 16)])
def test_weights_of_16_bits_lie_in_units_of_the_channels_that_the_cube_takes(chip: str, together: int) -> None:
    shape = {"res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_c": 64, "opd0_h": 1, "opd0_w": 2}
    described = command(
        chip_named(chip), "conv.normal", **ONE_BY_ONE | {"opd1_w": 2} | shape, opd0_prec=1, opd1_prec=1, res0_prec=1
    )
    weight = described.binding.operands["weight"]
    assert isinstance(weight, View)
    memory = empty(chip_named(chip))
    memory.local(0)[0, : 128 * 2].view(np.uint16)[:] = np.arange(128)
    first_tap = memory.read(weight)[0, :, 0, 0]
    assert first_tap[:together].tolist() == list(range(together))
    assert first_tap[together] == 2 * together


# Later chips: words, sums, groups

INTEGERS = {"opd0_prec": 4, "opd1_prec": 4, "res0_prec": 4, "opd0_sign": 1, "opd1_sign": 1}
ONE = {"opd1_addr": 4096, "res0_addr": 8192, "res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1}


@pytest.mark.parametrize(
    ("chip", "least"),
    [("BM1690", -0x7FFFFFFF), ("CV184X", -0x80000000), ("SG2380", -0x80000000), ("BM1684X2", -0x80000000)],
)
def test_a_symmetric_range_leaves_words_of_32_bits_alone_or_does_not(chip: str, least: int) -> None:
    described = command(chip_named(chip), "arith.add_satu", tsk_opd_num=2, sym_range=1, **INTEGERS, **ONE)
    (found,) = results(chip, described, left=0x80000000, right=0)
    assert np.array([found], np.uint32).view(np.int32).tolist() == [least]


@pytest.mark.parametrize(("chip", "least"), [("BM1684X2", -128), ("CV184X", -127), ("SG2380", -127)])
def test_a_symmetric_range_counts_for_casts_or_does_not(chip: str, least: int) -> None:
    formats = {"opd0_prec": 4, "opd0_sign": 1, "opd2_sign": 1, "tsk_opd_num": 1, "sym_range": 1}
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "res0_addr": 8192}
    found = results(chip, command(chip_named(chip), "arith.cast", **formats, **sizes), left=0xFFFFFF00)
    assert SI8.decode(np.array(found, np.uint8)).tolist() == [least]


@pytest.mark.parametrize(("chip", "ends_at"), [("CV184X", 127), ("SG2380", 127)])
def test_the_input_of_a_requantisation_is_unsigned_where_the_command_says_so(chip: str, ends_at: int) -> None:
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "res0_addr": 8192}
    numbers = {"opd1_const": 1, "opd1_addr": 1 << 20, "opd2_sign": 1, "opd0_prec": 4}
    described = command(chip_named(chip), "quant.rq1", **sizes, **numbers)
    assert SI8.decode(np.array(results(chip, described, input=0xFFFFF000), np.uint8)).tolist() == [ends_at]


@pytest.mark.parametrize(("chip", "total"), [("CV184X", 0), ("SG2380", 0)])
def test_an_unsigned_sum_of_32_bits_ends_at_zero(chip: str, total: int) -> None:
    shape = {"res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": 1, "opd4_const": 1}
    formats = {"res0_prec": 4, "opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1}
    places = {"opd1_addr": 8192, "opd2_addr": 16384, "res0_addr": 24576}
    described = command(chip_named(chip), "conv.normal", **ONE_BY_ONE, **shape, **formats, **places)
    assert results(chip, described, input=10, weight=0xF6, bias=0) == [total]


@pytest.mark.parametrize("name", ["abs", "max", "min", "fsub_abs"])
@pytest.mark.parametrize("precision", [1, 2])
def test_cv184x_compares_bf16_and_refuses_other_floats(name: str, precision: int) -> None:
    formats = {"opd0_prec": precision, "opd1_prec": precision, "res0_prec": precision, "tsk_opd_num": 2}
    described = command(chip_named("CV184X"), f"arith.{name}", **formats, **ONE)
    with pytest.raises(NotSimulated, match=rf"arith\.{name} of f(16|32) numbers: of floats this chip compares bf16"):
        results("CV184X", described)


def test_cv184x_refuses_operations_of_vectors() -> None:
    """Its emulator gives what its memory happens to hold."""
    described = command(chip_named("CV184X"), "vc.add", opd0_prec=4, opd1_prec=4, res0_prec=4, opd0_c=1, opd0_w=1)
    with pytest.raises(NotSimulated, match=r"vc\.add is not simulated yet"):
        results("CV184X", described)


def test_f16_and_bf16_in_one_command_are_refused() -> None:
    with pytest.raises(NotSimulated, match=r"arith\.add of f16 and bf16 numbers at once is not known"):
        arithmetic("add", 0x3C00, 0x3F80, opd1_sign=1)


def rows(values: list[float], **fields: int) -> float:
    """The sum that BM1684X2 forms of a row of float32."""
    sizes = {"opd0_n": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": len(values), "res0_addr": 8192}
    sizes |= {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1}
    described = command(chip_named("BM1684X2"), "reduce.sum", opd0_prec=2, res0_prec=2, **sizes, **fields)
    words = F32.encode(np.array(values, np.float32)).reshape(1, 1, 1, -1)
    found = results("BM1684X2", described, input=words)
    return float(np.array(found, np.uint32).view(np.float32)[0])


@pytest.mark.parametrize(
    ("count", "second", "left"),
    [(16, 8, 14), (16, 1, 12), (16, 2, 8), (16, 4, 0), (20, 16, 18), (20, 8, 17), (20, 1, 14)],
)
def test_a_row_is_added_by_units_in_two_turns_and_then_in_pairs(count: int, second: int, left: int) -> None:
    """A huge number and its opposite swallow what is added before they meet: the ones that are left tell the order."""
    values = [1.0] * count
    values[0], values[second] = 2.0**60, -(2.0**60)
    assert rows(values) == left


def test_limits_of_a_clamp_are_kept_and_a_nan_becomes_the_lower_one() -> None:
    low, high = (int(F32.encode(np.array([x], np.float32))[0]) for x in (-0.5, 0.75))
    floats = {"opd0_prec": 2, "opd1_prec": 2, "opd2_prec": 2, "res0_prec": 2, "tsk_opd_num": 3}
    constants = {"opd1_const": 1, "opd2_const": 1, "opd1_addr": low, "opd2_addr": high}
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 6, "res0_addr": 8192}
    described = command(chip_named("BM1684X2"), "arith.clamp", **floats, **constants, **sizes)
    values = np.array([np.nan, -np.inf, np.inf, -0.25, 2, 0.75], np.float32)
    found = results("BM1684X2", described, left=F32.encode(values).reshape(1, 1, 1, -1))
    assert np.array(found, np.uint32).view(np.float32).tolist() == [-0.5, -0.5, 0.75, -0.25, 0.75, 0.75]


@pytest.mark.parametrize(("sign", "exponent"), [(0, 2), (1, 16)])
def test_the_sign_of_the_result_tells_of_which_format_the_exponent_is(sign: int, exponent: int) -> None:
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "res0_addr": 8192}
    formats = {"opd0_prec": 1, "opd0_sign": 1, "res0_prec": 3, "res0_sign": sign}
    described = command(chip_named("BM1684X2"), "sfu.normalize", **formats, **sizes)
    assert results("BM1684X2", described, input=16 << 7) == [exponent]


@pytest.mark.parametrize(("mode", "columns"), [(0, 32), (1, 64)])
def test_a_group_of_columns_shares_scale_and_zero_point(mode: int, columns: int) -> None:
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 2 * columns, "res0_addr": 8192, "opd1_addr": 4096}
    described = command(chip_named("CV184X"), "quant.dq2", res0_prec=5, opd2_n_str=mode, **sizes)
    words = np.zeros(2 * columns, np.uint8)
    words[:3], words[columns : columns + 3] = (9, 0, 10), (8, 0, 9)
    table = np.array([0x3CF74110, 0x3CE84100]).reshape(1, 1, 1, 2)
    found = results("CV184X", described, input=words.reshape(1, 1, 1, -1), group_table=table)
    numbers = BF16.decode(np.array(found, np.uint16))
    assert numbers[:3].tolist() == [0.0, -0.271484375, 0.0301513671875]
    assert numbers[columns : columns + 3].tolist() == [0.0, -0.2265625, 0.0283203125]


ROWS = {"res0_n": 1, "res0_c": 1, "opd0_n": 1, "opd0_c": 1, "res0_addr": 65536}


def largest_of(row: list[float], storage: int, sign: int = 0) -> str:
    """The largest of a row of f32 numbers, in hexadecimal."""
    shape = {"opd0_h": 1, "opd0_w": len(row), "res0_h": 1, "res0_w": 1}
    chip = chip_named("BM1684X2")
    described = command(chip, "reduce.max", **ROWS, **shape, opd0_prec=2, res0_prec=2, opd0_str=storage, res0_sign=sign)
    words = np.array(row, np.float32).view(np.uint32).reshape(1, 1, 1, -1)
    [found] = results("BM1684X2", described, input=words)
    assert isinstance(found, int)
    return f"{found:08x}"


@each("storage", [0, 1, 6])
@each(
    ("count", "winner"),
    [
        (1, 0),
        (2, 0),
        (7, 0),
        (8, 7),
        (9, 7),
        (16, 7),
        (17, 15),
        (24, 15),
        (25, 7),
        (32, 7),
        (33, 15),
        (64, 7),
        (100, 15),
    ],
)
def test_which_of_equal_zeros_is_the_largest(count: int, winner: int, storage: int) -> None:
    zeros = [0.0] * count
    zeros[winner] = -0.0
    assert largest_of(zeros, storage) == "80000000"
    assert largest_of([-zero if index == winner else -0.0 for index, zero in enumerate(zeros)], storage) == "00000000"


@pytest.mark.parametrize(
    ("place", "expected"), [(0, 7.0), (1, 6.0), (2, 8.0), (3, 4.0), (4, 8.0), (5, 8.0), (6, 8.0), (7, np.nan)]
)
def test_a_nan_hides_what_was_compared_with_it(place: int, expected: float) -> None:
    row = [float(8 - index) for index in range(8)]
    row[place] = np.nan
    found = np.array(int(largest_of(row, 6), 16), np.uint32).view(np.float32)
    np.testing.assert_array_equal(found, np.float32(expected))


@pytest.mark.parametrize(("storage", "rows"), [(0, [[31.0]]), (1, [[6.0], [22.0]]), (6, [[6.0], [26.0]])])
def test_the_storage_of_the_operand_says_what_is_reduced(storage: int, rows: list[list[float]]) -> None:
    """Words of a lane are 0, 1, 2 ...: of 2 x 4 numbers, compact or in rows of 32 bytes, all or each row is added."""
    chip = chip_named("BM1684X2")
    shape = {"opd0_h": 2, "opd0_w": 4, "res0_h": len(rows), "res0_w": 1}
    described = command(chip, "reduce.sum", **ROWS, **shape, opd0_prec=2, res0_prec=2, opd0_str=storage)
    memory = empty(chip)
    memory.local(0)[0, :256].view(np.float32)[:] = [0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8, *[0] * 52]
    if storage == 0:
        memory.local(0)[0, :4].view(np.float32)[:] = 3
    chip.execute(described, memory)
    [result] = described.results
    assert isinstance(result, View)
    np.testing.assert_array_equal(F32.decode(memory.read(result)).reshape(-1, 1), rows)


EXPONENTIAL = {
    0x0000: 0x3C00,
    0x8001: 0x3C00,
    0xBD51: 0x343D,
    0xB550: 0x39BD,
    0xC030: 0x2FE4,
    0x4990: 0x7C00,
    0x7C00: 0x7C00,
    0xFC00: 0x0000,
    0x7E00: 0x0000,
    0xFE00: 0x0000,
    0xCAFF: 0x0000,
}
"""Words of f16 -> words of e^x, by the vendor's emulator."""


def exponential(**values: int) -> Description:
    """e^x of one number in each of two channels."""
    places = {"opd0_addr": 4096, "opd2_addr": 128, "res0_addr": 8192, "res1_addr": 16384, "opd3_addr": 24576}
    shape = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 11, "opd1_n": 35, "opd1_const": 1}
    return command(chip_named("BM1684X2"), "sfu.exp", **{"opd0_prec": 1, "res0_prec": 1} | places | shape | values)


def test_the_fused_exponential() -> None:
    series = np.array([1, 0.6934, 0.2402], np.float16).view(np.uint16)
    table = np.exp2(np.arange(16) / 16).astype(np.float16).view(np.uint16)
    words = np.array(list(EXPONENTIAL), np.uint16).reshape(1, 1, 1, -1)
    assert results("BM1684X2", exponential(), input=words, series=series, table=table) == list(EXPONENTIAL.values())


def test_the_scratch_of_the_exponential_belongs_to_the_last_channel_of_a_lane() -> None:
    """-1.329 is 2^(-2 + 1/16 + 0.0205); blocks are as wide as the execution units."""
    chip = chip_named("BM1684X2")
    described = exponential(res0_c=18, res0_w=1, opd0_addr=4096 + 3 * chip.geometry.lane_bytes)
    memory = empty(chip)
    operands, found = described.binding.operands, described.binding.results
    for role, given in (
        ("input", np.where(np.arange(18) == 16, 0xBD51, 0).reshape(1, 18, 1, 1)),
        ("series", np.array([1, 0.6934, 0.2402], np.float16).view(np.uint16)),
        ("table", np.exp2(np.arange(16) / 16).astype(np.float16).view(np.uint16)),
    ):
        view = operands[role]
        assert isinstance(view, View)
        memory.write(view, np.broadcast_to(given, view.shape).astype(np.uint16))
    chip.execute(described, memory)
    exponents, powers = found["exponents"], found["powers"]
    assert isinstance(exponents, View)
    assert isinstance(powers, View)
    first, second = memory.read(exponents)[0, :, 0], memory.read(powers)[0, :, 0]
    assert first.shape == (16, 48)
    assert first[3, [0, 16]].tolist() == [0xC000, 0xBFAB]
    assert second[3, [0, 16]].tolist() == [0x342D, 0x2540]
    assert first[4, [0, 16]].tolist() == [0, 0]
    assert second[4, [0, 16]].tolist() == [0x3C00, 0]


@pytest.mark.parametrize("values", [{"opd1_n": 34}, {"opd0_prec": 2, "res0_prec": 2}, {"opd1_const": 0}])
def test_other_exponentials_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(NotSimulated, match=r"sfu\.exp"):
        results("BM1684X2", exponential(**values), input=0)


def test_an_exponential_with_another_table_is_refused() -> None:
    with pytest.raises(NotSimulated, match=r"numbers other than 1 to 2 in its table"):
        results("BM1684X2", exponential(), input=0, table=0x4000)


@pytest.mark.parametrize("chip", ["CV184X", "SGTPUV8", "SG2380"])
@pytest.mark.parametrize(
    ("limited", "expected"), [(0, [0x7F80, 0xFF80, 0x7FFF, 0x3F80]), (1, [0x7F7F, 0xFF7F, 0, 0x3F80])]
)
def test_the_symmetric_range_makes_bf16_finite(chip: str, limited: int, expected: list[int]) -> None:
    """Infinities become the largest numbers, and NaN zero; without it they stay what they are."""
    shape = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 4, "opd0_addr": 4096, "opd1_addr": 8192}
    formats = {"opd0_prec": 5, "opd1_prec": 5, "res0_prec": 5}
    described = command(chip_named(chip), "arith.add", tsk_opd_num=2, sym_range=limited, **shape, **formats)
    words = np.array([0x7F80, 0xFF80, 0x7FC0, 0x3F80]).reshape(1, 1, 1, 4)
    found = results(chip, described, left=words, right=0)
    assert found == expected


@pytest.mark.parametrize("chip", ["CV184X", "SGTPUV8"])
def test_a_matrix_that_is_transposed_on_its_way_is_refused_by_name(chip: str) -> None:
    """The emulators disagree with themselves on 20 of 21 such commands, and with the chips' relatives on the other."""
    target = chip_named(chip)
    local, ddr = 31 << 40, 1 << 40
    places = {"src_start_addr_h13": local >> 32, "dst_start_addr_h13": ddr >> 32, "dst_hsize": 3, "dst_wsize": 3}
    sizes = {"src_nsize": 3, "src_csize": 3, "src_wsize": 1, "src_data_format": 2, "stride_enable": 1, "dst_hstride": 3}
    described = command(target, "dma.matrix.transpose", **places, **sizes)
    with pytest.raises(NotSimulated, match=r"dma\.matrix\.transpose is not simulated yet"):
        target.execute(described, empty(target))
