"""What chips of one instruction set do differently: lengths of linear moves, limits and signs of sums."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.targets.commands import chip_named, command, empty, encoded
from tests.targets.test_legality import BYTES, BYTES_CONV, CHOICE, CONV, SUM


@pytest.mark.parametrize(
    ("name", "width", "with_steps"),
    [
        ("BM1684X", {"src_wsize": 3}, 5),
        ("BM1690", {"src_wsize": 3}, 5),
        ("BM1690E", {"src_wsize": 3}, 42),
        ("CV184X", {"src_wsize": 3}, 42),
        ("BM1684X2", {"src_wsize_l16": 3}, 42),
        ("BM1684X2", {"src_wsize_h16": 1}, 14 << 16),
    ],
)
def test_a_linear_move_with_steps_is_as_long_as_its_sizes_on_some_chips(
    name: str, width: Mapping[str, int], with_steps: int
) -> None:
    chip = chip_named(name)
    sizes = {"src_nsize": 2, "src_csize": 7, "src_hsize": 1, **width, "src_cstride": 5}
    for steps, elements in ((0, 5), (1, with_steps)):
        kind, descriptor = encoded(chip, "dma.general", **sizes, stride_enable=steps)
        (result,) = chip.describe(kind, descriptor, 0, {}).results
        assert isinstance(result, View)
        assert result.shape == (elements,)


@pytest.mark.parametrize(("name", "width"), [("BM1690E", "src_wsize"), ("BM1684X2", "src_wsize_l16")])
def test_a_linear_broadcast_with_steps_leaves_out_its_channels(name: str, width: str) -> None:
    chip = chip_named(name)
    sizes = {"src_nsize": 2, "src_csize": 7, "src_hsize": 1, width: 3, "dst_csize": 4, "stride_enable": 1}
    kind, descriptor = encoded(chip, "dma.general.broadcast", **sizes)
    (result,) = chip.describe(kind, descriptor, 0, {}).results
    assert isinstance(result, View)
    assert result.shape == (1, 4, 1, 6)


@pytest.mark.parametrize("mnemonic", ["dma.nonzero", "dma.masked_select"])
@pytest.mark.parametrize(("name", "rows"), [("BM1690E", 65538), ("BM1690", 2)])
def test_a_choice_of_elements_has_the_upper_halves_of_its_sizes_in_its_destination_on_one_chip(
    name: str, rows: int, mnemonic: str
) -> None:
    chip = chip_named(name)
    kind, descriptor = encoded(chip, mnemonic, **CHOICE, dst_hsize=1)
    source = chip.describe(kind, descriptor, 0, {}).binding.operands["source"]
    assert isinstance(source, View)
    assert source.shape == (1, 1, rows, 8)


@pytest.mark.parametrize(("name", "sign"), [("BM1684X2", 1), ("BM1690", 0), ("CV184X", 0), ("BM1688", 0)])
def test_the_bias_of_a_convolution_needs_a_sign_on_one_chip(name: str, sign: int) -> None:
    chip = chip_named(name)
    assert chip.illegal(command(chip, "conv.normal", **{**CONV, **BYTES_CONV, "opd2_sign": sign})) == ""


@pytest.mark.parametrize("mnemonic", ["conv.normal", "pord.depthwise"])
@pytest.mark.parametrize("requantises", [0, 1])
@pytest.mark.parametrize(("name", "least"), [("BM1684X2", -128), ("BM1690", -127), ("BM1688", -127), ("CV184X", -127)])
def test_a_symmetric_range_limits_sums_over_windows_but_on_one_chip(
    name: str, least: int, requantises: int, mnemonic: str
) -> None:
    one = {"res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1, "opd1_w": 1}
    signs = {"opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1}
    fields = {**CONV, **BYTES_CONV, **one, **signs, "sym_range": 1, "rq": requantises, "opd5_const": 1}
    chip, memory = chip_named(name), empty(chip_named(name))
    kind, descriptor = encoded(chip, mnemonic, **fields)
    described = chip.describe(kind, descriptor, 0, {6: 1})
    for role, number in (("input", -128), ("weight" if mnemonic == "conv.normal" else "kernel", 1)):
        view = described.binding.operands[role]
        assert isinstance(view, View)
        memory.write(view, np.full(view.shape, number & 255, np.uint8))
    chip.execute(described, memory)
    (result,) = described.results
    assert isinstance(result, View)
    assert memory.read(result).view(np.int8).item() == least


@pytest.mark.parametrize(("name", "has_it"), [("CV184X", False), ("SGTPUV8", False), ("BM1684X", True)])
def test_the_high_half_of_a_product_is_not_there_on_some_chips(name: str, has_it: bool) -> None:
    chip = chip_named(name)
    described = command(chip, "arith.mulDHR", **{**SUM, **BYTES, "tsk_opd_num": 3, "opd2_const": 1, "opd0_sign": 1})
    if has_it:
        chip.execute(described, empty(chip))
        return
    with pytest.raises(NotSimulated, match="mulDHR"):
        chip.execute(described, empty(chip))
