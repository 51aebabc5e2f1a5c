"""Integer sums at the border of 32 bits, where requantisation is fused. Source: the vendor's simulators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.targets.commands import chip_named, empty, form

WINDOW = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1}
WINDOW |= {"opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1, "opd0_addr": 0, "res0_addr": 8192, "cmd_short": 1}
CONSTANTS = {"opd1_const": 1, "opd2_const": 1, "opd3_const": 1, "opd4_const": 1, "opd5_const": 1, "opd2_prec": 4}
MULTIPLIER, ZERO = 6, 33
INT8, INT32 = 0, 4


def requantised(chip: str, mnemonic: str, bias: int, multiplier: int, zero: int = 0, **values: int) -> int:
    """The word of 3 * 200 + bias, times the multiplier, plus the zero point."""
    target = chip_named(chip)
    kind = form(target, mnemonic)
    names = {shared: name for name, shared, _ in target.named_fields(kind)}
    given: Mapping[str, int] = {**WINDOW, **CONSTANTS, "opd1_addr": 200, "opd2_addr": bias, "rq": 1, **values}
    fields = {names[name]: value for name, value in given.items() if name in names}
    registers = {MULTIPLIER: multiplier & 0xFFFFFFFF, ZERO: zero}
    described = target.describe(kind, target.encode(kind, target.instruction_set.blank(kind), fields), 0, registers)
    memory = empty(target)
    image = described.binding.operands["input"]
    assert isinstance(image, View)
    memory.write(image, np.full(image.shape, 3, np.uint8))
    target.execute(described, memory)
    (result,) = described.results
    assert isinstance(result, View)
    words: Array = memory.read(result).reshape(-1)
    return int(words[0])


CHIPS = ("BM1688", "BM1690", "BM1684X2", "CV184X", "SG2380")
FORMS = ("pord.depthwise", "conv.normal")


@pytest.mark.parametrize("mnemonic", FORMS)
@pytest.mark.parametrize("chip", CHIPS)
def test_a_sum_without_a_signed_operand_is_held_without_a_sign(chip: str, mnemonic: str) -> None:
    if (chip, mnemonic) == ("BM1684X2", "conv.normal"):
        with pytest.raises(NotSimulated, match="its bias has no sign"):
            requantised(chip, mnemonic, 0x7FFFFFFF, 1, res0_prec=INT8)
        return
    assert requantised(chip, mnemonic, 0x7FFFFFFF, 1, res0_prec=INT8) == 255
    assert requantised(chip, mnemonic, 0x7FFFFFFF, 1, res0_prec=INT8, opd2_sign=1) == 0
    assert requantised(chip, mnemonic, 0x7FFFFFFF, 1, res0_prec=INT8, res0_sign=1, relu=1) == 127


@pytest.mark.parametrize("mnemonic", FORMS)
@pytest.mark.parametrize("chip", CHIPS)
def test_a_requantised_word_is_limited_to_31_bits_and_to_zero_if_it_has_no_sign(chip: str, mnemonic: str) -> None:
    words = {"res0_prec": INT32, "opd2_sign": 1}
    assert requantised(chip, mnemonic, 0x7FFFFFFF, 1, **words) == 0
    assert requantised(chip, mnemonic, 0x7FFFFFFF, -3, **words) == 0x7FFFFFFF
    assert requantised(chip, mnemonic, 0x7FFFFFFF, -3, **words, res0_sign=1) == 0x7FFFFFFF
    assert requantised(chip, mnemonic, 0x70000000, -3, **words, res0_sign=1) == 0x80000000


@pytest.mark.parametrize("mnemonic", FORMS)
@pytest.mark.parametrize("chip", CHIPS)
def test_a_zero_point_of_words_is_refused_by_name(chip: str, mnemonic: str) -> None:
    with pytest.raises(NotSimulated, match="requantisation to 32 bits with a zero point is not simulated yet"):
        requantised(chip, mnemonic, 100, 1, zero=1, res0_prec=INT32, opd2_sign=1)
    assert requantised(chip, mnemonic, -590, 1, zero=1, res0_prec=INT8, opd2_sign=1) == 11
