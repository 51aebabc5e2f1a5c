"""Elements at the border of a format: zeros, subnormals, infinities. Source: the answers of the vendor's simulators."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tests.targets.commands import chip_named, empty, form

HALF, FLOAT, BFLOAT = 1, 2, 5
ROW = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "cmd_short": 1, "opd1_addr": 4096, "res0_addr": 8192, "tsk_opd_num": 2}


def words(chip: str, mnemonic: str, code: int, given: dict[str, list[int]], **values: int) -> list[int]:
    """The words of a result, of words of operands by role."""
    target = chip_named(chip)
    kind = form(target, mnemonic)
    names = {shared: name for name, shared, _ in target.named_fields(kind)}
    precisions = {"opd0_prec": code, "opd1_prec": code, "res0_prec": code}
    length = {"res0_w": max(map(len, given.values()))}
    fields = {names[n]: v for n, v in {**ROW, **precisions, **length, **values}.items() if n in names}
    described = target.describe(kind, target.encode(kind, target.instruction_set.blank(kind), fields), 0, {})
    memory = empty(target)
    for role, view in described.binding.operands.items():
        if role in given and isinstance(view, View):
            memory.write(view, np.array(given[role], view.dtype.bits_dtype).reshape(view.shape))
    target.execute(described, memory)
    result = described.results[0]
    assert isinstance(result, View)
    found: Array = memory.read(result).reshape(-1)
    return [int(word) for word in found]


def test_a_subnormal_divided_by_zero_is_infinite_where_subnormals_of_divisors_count() -> None:
    given = {"left": [1, 0x7FFFFF, 0x807FFFFF, 0x3F800000], "right": [0, 0x80000000, 0, 0]}
    infinities = [0x7F800000, 0xFF800000, 0xFF800000, 0x7F800000]
    assert words("BM1688", "arith.div", FLOAT, given) == infinities
    found = np.array(words("BM1690", "arith.div", FLOAT, given), np.uint32).view(np.float32)
    assert np.isnan(found[:3]).all()
    assert found[3] == np.inf


@pytest.mark.parametrize("chip", ["BM1688", "BM1690", "SG2380"])
def test_a_quotient_of_bf16_is_tiny_by_its_own_rounding(chip: str) -> None:
    """0x81 divided by one is a little below the smallest normal number as float32, and that number as bf16."""
    assert words(chip, "arith.div", BFLOAT, {"left": [0x81, 0x81], "right": [0x3F80, 0xBF80]}) == [0x80, 0x8080]


def test_the_sign_of_a_distance_of_bf16_is_dropped_before_it_is_flushed() -> None:
    assert words("BM1688", "arith.fsub_abs", BFLOAT, {"left": [0x81, 0x8080], "right": [0x80, 0x8081]}) == [0, 0]


@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690"])
def test_an_absolute_value_changes_nothing_of_a_nan_but_its_sign(chip: str) -> None:
    for switch in {kernel.is_active(), False}:
        with kernel.switched(switch):
            assert words(chip, "arith.abs", HALF, {"left": [0xFE00, 0xFC03, 0x8001]}) == [0x7E00, 0x7C03, 1]
            least = 0 if chip == "BM1690" else 1
            assert words(chip, "arith.abs", BFLOAT, {"left": [0xFFC0, 0xFF83, 0x8001]}) == [0x7FC0, 0x7F83, least]


def test_subnormals_of_bf16_are_rectified() -> None:
    window = {"res_op_x_str": 1, "res_op_y_str": 1, "opd0_h": 1, "opd0_w": 2, "opd1_h": 1, "opd1_w": 2, "opd3_const": 1}
    places = {"opd2_addr": 0xFFFFFFFF, "res0_w": 1}
    given = {"input": [0x7F, 0x3F80]}
    assert words("BM1688", "pord.minpooling", BFLOAT, given, **window, **places, relu=1) == [0]
    assert words("BM1688", "pord.minpooling", BFLOAT, given, **window, **places) == [0x7F]


@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690", "CV184X", "SG2380"])
@pytest.mark.parametrize("mnemonic", ["pord.maxpooling", "pord.avgpooling"])
def test_what_stands_between_the_elements_of_a_window_is_a_number_of_the_command(chip: str, mnemonic: str) -> None:
    window = {"res_op_x_str": 1, "res_op_y_str": 1, "opd0_h": 1, "opd0_w": 2, "opd1_h": 1, "opd1_w": 2, "opd3_const": 1}
    places = {"opd1_const": 1, "opd1_addr": 1, "opd2_addr": 0xFFFFFFFF, "opd0_x_ins0": 1, "res0_w": 2}
    if mnemonic == "pord.avgpooling":
        places |= {"opd2_const": 1, "opd2_addr": 0}
    expected = [0x50, 0x50] if mnemonic == "pord.maxpooling" else [0x52, 0x53]
    assert words(chip, mnemonic, 0, {"input": [2, 3]}, **window, **places, res1_addr=0x1250) == expected


@pytest.mark.parametrize(("code", "nan", "expected"), [(FLOAT, 0x7FC00000, 0), (BFLOAT, 0xFFC0, 0x7FC0)])
def test_a_rectified_depthwise_sum_that_is_nan_stays_so_in_16_bits_alone(code: int, nan: int, expected: int) -> None:
    one = 0x3F800000 if code == FLOAT else 0x3F80
    window = {"res_op_x_str": 1, "res_op_y_str": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1, "opd1_w": 1, "opd3_const": 1}
    constants = {"opd1_const": 1, "opd1_addr": one, "opd2_const": 1, "opd2_prec": FLOAT, "opd2_addr": 0, "relu": 1}
    (found,) = words("BM1688", "pord.depthwise", code, {"input": [nan]}, **window, **constants)
    assert found & expected == expected
    assert bool(found) == bool(expected)


def test_an_operand_that_is_not_announced_may_have_any_format_beside_floats() -> None:
    given = {"left": [0x40400000]}
    assert words("BM1688", "arith.max", FLOAT, given, tsk_opd_num=1, opd1_prec=0) == [0x40400000]
    for chip, code in (("BM1690", FLOAT), ("BM1688", 4)):
        with pytest.raises(NotSimulated, match=r"it mixes .* with 8-bit integers"):
            words(chip, "arith.max", code, given, tsk_opd_num=1, opd1_prec=0)
