"""What damaged commands compute, or that they are refused. Source: the answers of the vendor's simulator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.families.convolution import SHIFT_REGISTER, TABLE_REGISTER
from tdb_dap.tools.programs import open_program
from tests.samples import DATA
from tests.targets.commands import chip_named, command, computed, empty, encoded
from tests.targets.test_legality import BYTES_CONV, CONV, DEPTHWISE, SUM

REQUANTISED = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 4, "opd0_prec": 4, "res0_prec": 4, "res0_addr": 4096}
REQUANTISED |= {"opd0_sign": 1, "res0_sign": 1, "opd2_sign": 1, "opd2_n_str": 1, "opd1_const": 1}
NUMBERS = np.array([1, 1 << 20, (1 << 31) - 1, -(1 << 31)])
MOST, LEAST = (1 << 31) - 1, -(1 << 31)


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("SG2380", 21, [MOST, MOST, MOST, LEAST]),
        ("BM1688", 43, [MOST, 0, MOST, LEAST]),
        ("BM1690", 63, [0, 0, 0, LEAST]),
        ("BM1684X2", 21, [MOST, MOST, MOST, LEAST]),
        ("CV184X", 21, [MOST, MOST, MOST, LEAST]),
        ("BM1684X", 21, [32767, 32767, -32768, 32767]),
    ],
)
def test_a_shift_to_the_left_keeps_the_sign_but_on_one_chip(
    name: str, amount: int, expected: list[int], built: bool
) -> None:
    with kernel.switched(built and kernel.is_built):
        fields = {**REQUANTISED, "opd1_addr": 3254561, "opd2_addr": amount}
        assert computed(chip_named(name), "quant.rq1", {"input": NUMBERS}, **fields).tolist() == expected


@pytest.mark.parametrize("built", [True, False])
def test_a_result_of_dq1_keeps_the_sign_too(built: bool) -> None:
    numbers = np.array([3, 1 << 14, (1 << 15) - 1, -12345])
    with kernel.switched(built and kernel.is_built):
        fields = {**REQUANTISED, "opd0_prec": 3, "res0_prec": 0, "opd1_addr": 3254561, "opd2_addr": 49}
        assert computed(chip_named("BM1688"), "quant.dq1", {"input": numbers}, **fields).tolist() == [127, 0, 127, -128]


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("name", ["BM1688", "BM1690", "SG2380", "CV184X"])
def test_requantised_sums_that_are_shifted_to_the_left_keep_their_sign(name: str, built: bool) -> None:
    """6 * (2^30 - 1) * 2^31 is beyond 63 bits, and its bit 63 is set."""
    chip, memory = chip_named(name), empty(chip_named(name))
    one = {"res0_c": 2, "res0_h": 1, "res0_w": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1, "opd1_w": 1}
    signs = {"opd0_sign": 1, "opd1_sign": 1, "res0_sign": 1, "rq": 1, "opd5_const": 1}
    kind, descriptor = encoded(chip, "conv.normal", **{**CONV, **BYTES_CONV, **one, **signs})
    described = chip.describe(kind, descriptor, 0, {TABLE_REGISTER: (1 << 30) - 1, SHIFT_REGISTER: 31})
    for role, words in (("input", [6]), ("weight", [1, 255])):
        view = described.binding.operands[role]
        assert isinstance(view, View)
        memory.write(view, np.broadcast_to(np.array(words, np.uint8).reshape(-1, 1, 1, 1), view.shape))
    with kernel.switched(built and kernel.is_built):
        chip.execute(described, memory)
    (result,) = described.results
    assert isinstance(result, View)
    assert memory.read(result).reshape(-1).tolist() == [127, 128]


ROWS = {"res0_n": 1, "res0_c": 1, "res0_h": 3, "res0_w": 4, "opd0_h": 3, "opd0_w": 4, "res0_prec": 0, "opd1_prec": 0}
ROWS |= {"opd0_str": 3, "opd1_addr": 4096, "res0_addr": 8192, "opd2_addr": 77}
TABLE = np.arange(1, 13).reshape(1, 1, 3, 4)


@pytest.mark.parametrize("flags", [{}, {"opd2_const": 1}, {"opd3_const": 1}])
@pytest.mark.parametrize(("mnemonic", "last"), [("sgl.pe_s_gather_line", [77] * 4), ("sgl.pe_s_scatter_line", [0] * 4)])
def test_a_row_beyond_is_none_or_the_constant(mnemonic: str, last: list[int], flags: Mapping[str, int]) -> None:
    """One chip has rows beyond, the emulators of others end, whatever the command says about limits and constants."""
    given: dict[str, Array] = {"data": TABLE, "index": np.array([1, 0, 3])}
    with pytest.raises(NotSimulated, match="index 3 is beyond the 3 rows"):
        computed(chip_named("BM1690"), mnemonic, given, **ROWS, **flags)
    numbers = computed(chip_named("BM1684X2"), mnemonic, given, **ROWS, **flags).tolist()
    assert numbers == [5, 6, 7, 8, 1, 2, 3, 4, *last]


def test_a_move_onto_its_own_source_is_met_among_others(tmp_path: Path) -> None:
    """Its form has a plan, which does not serve it."""
    model, changed = DATA / "bm1684x" / "scatter_nd_bm1684x_f32", tmp_path / "changed.bmodel"
    first = next(each for each in tdb_dap.open(model).program.commands if each.token == "D1")
    source, fields = first.operands[0], dict(first.fields)
    assert isinstance(source, View)
    field = next(name for name in ("dst_start_addr_l32", "dst_start_addr_h32") if name in fields)
    place = fields[field.replace("dst", "src")] + 64
    assert main(["patch", str(model), "-o", str(changed), "--set", f"D1.{field}={place}"]) == 0
    assert "its destination overlaps its source, elements of which come later" in tdb_dap.open(changed).run().text


def test_bytes_are_chosen_whatever_they_are() -> None:
    """Networks of 8-bit floats replace a NaN by the largest number."""
    assert open_program(DATA / "weights" / "lanes_bm1690_f8e4m3").access_rows.illegal == ()


def test_of_elements_that_overlap_the_last_one_stays() -> None:
    """In the order of n, c, h, w, whatever order is the fastest to write them in."""
    chip, memory = chip_named("BM1684X"), empty(chip_named("BM1684X"))
    fields = {
        **SUM,
        "tsk_opd_num": 1,
        "res0_n": 3,
        "res0_c": 1,
        "res0_h": 2,
        "res0_w": 2,
        "opd0_prec": 4,
        "res0_prec": 4,
    }
    steps = {"res0_str": 3, "res0_n_str": 1, "res0_c_str": 1, "res0_h_str": 2, "res0_w_str": 1}
    described = command(chip, "arith.copy", **{**fields, **steps})
    source = described.binding.operands["left"]
    assert isinstance(source, View)
    memory.write(source, np.arange(12, dtype=np.uint32).reshape(3, 1, 2, 2))
    chip.execute(described, memory)
    words = memory.local()[0, fields["res0_addr"] :][:24].view(np.uint32)
    assert words.tolist() == [0, 4, 8, 9, 10, 11]


def test_a_depthwise_sum_is_held_in_32_bits() -> None:
    """The bias that nearly fills them makes the sum negative; there is no requantisation that would limit it."""
    chip, memory = chip_named("BM1688"), empty(chip_named("BM1688"))
    one = {"res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1, "opd1_w": 1}
    signs = {"opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1}
    fields = {**DEPTHWISE, "opd0_prec": 0, "res0_prec": 0, **one, **signs, "opd2_addr": (1 << 31) - 1}
    described = command(chip, "pord.depthwise", **fields)
    for role in ("input", "kernel"):
        view = described.binding.operands[role]
        assert isinstance(view, View)
        memory.write(view, np.full(view.shape, 1, np.uint8))
    chip.execute(described, memory)
    (result,) = described.results
    assert isinstance(result, View)
    assert memory.read(result).item() == 0x80
