"""Forms with 8-bit floats that no compiled model holds, on BM1690. Source: the answers of the vendor's simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.targets.commands import chip_named, empty, form

CHIP = chip_named("BM1690")
E5M2, E4M3 = {"opd0_sign": 0, "opd1_sign": 0}, {"opd0_sign": 1, "opd1_sign": 1}
HALF, FLOAT, BFLOAT, FLOAT8 = 1, 2, 5, 7
FACTORS = {"opd0_prec": FLOAT8, "opd1_prec": FLOAT8, "opd2_prec": FLOAT, "cmd_short": 1}
PLACES = {"opd0_addr": 0, "opd1_addr": 4096, "opd2_addr": 8192, "res0_addr": 12288}
TABLE = 6


def words(mnemonic: str, given: Mapping[str, Array], registers: Mapping[int, int], **values: int) -> Array:
    """The words of all results of a command, one after another, of numbers by role."""
    kind = form(CHIP, mnemonic)
    names = {shared: name for name, shared, _ in CHIP.named_fields(kind)}
    fields = {names[name]: value for name, value in {**FACTORS, **PLACES, **values}.items() if name in names}
    described = CHIP.describe(kind, CHIP.encode(kind, CHIP.instruction_set.blank(kind), fields), 0, registers)
    memory = empty(CHIP)
    for role, view in described.binding.operands.items():
        if role in given and isinstance(view, View):
            memory.write(view, view.dtype.encode(np.broadcast_to(np.asarray(given[role], np.float32), view.shape)))
    CHIP.execute(described, memory)
    return np.concatenate([memory.read(view).reshape(-1) for view in described.results if isinstance(view, View)])


def scale(number: float) -> dict[int, int]:
    return {TABLE: int(np.float32(number).view(np.uint32))}


MATRICES = {"left": np.array([[1, 2], [3, 4]]), "right": np.array([[1, 0.5], [2, 4]])}
EXTENTS = {"res0_c": 2, "res0_w": 2, "opd1_c": 2, "opd1_w": 2, "opd2_const": 1, "opd2_addr": 0, "res0_prec": FLOAT}


@pytest.mark.parametrize(
    ("mnemonic", "expected"),
    [("mm2.nn", [[5, 8.5], [11, 17.5]]), ("mm2.nt", [[2, 10], [5, 22]]), ("mm2.tt", [[2.5, 4], [14, 20]])],
)
def test_every_product_of_matrices_takes_8_bit_floats(mnemonic: str, expected: list[list[float]]) -> None:
    found = words(mnemonic, MATRICES, {}, **EXTENTS, **E4M3).view(np.float32).reshape(2, 2)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("mnemonic", "expected"), [("mm2.nn", [[10, 85], [22, 175]]), ("mm2.tt", [[5, 8], [140, 200]])]
)
def test_a_table_scales_the_columns_of_a_product_and_the_rows_of_a_transposed_one(
    mnemonic: str, expected: list[list[float]]
) -> None:
    table = np.array([2, 10]).reshape((1, 2, 1, 1) if mnemonic == "mm2.tt" else (1, 1, 1, 2))
    given = {**MATRICES, "column_scale": table}
    found = words(mnemonic, given, {TABLE: 16384}, **EXTENTS, **E4M3, rq=1)
    assert found.view(np.float32).reshape(2, 2).tolist() == expected


def test_a_product_of_matrices_may_be_bf16() -> None:
    found = words("mm2.nn", MATRICES, {}, **{**EXTENTS, "res0_prec": BFLOAT}, **E5M2)
    assert (found.astype(np.uint32) << 16).view(np.float32).tolist() == [5, 8.5, 11, 17.5]


ROW = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 2, "opd0_h": 1, "opd0_w": 2, "opd1_h": 1, "opd1_w": 1}
WINDOW = {**ROW, "res_op_x_str": 1, "res_op_y_str": 1, "opd2_const": 1, "opd2_addr": 0, "opd3_const": 1}


def test_a_depthwise_sum_without_a_scale_is_f16_in_the_place_of_bf16() -> None:
    given = {"input": np.array([1.5, 240]), "kernel": np.array([240])}
    assert words("pord.depthwise", given, {}, **WINDOW, **E4M3, res0_prec=BFLOAT).tolist() == [0x5DA0, 0x7B08]


@pytest.mark.parametrize(("mode", "expected"), [(0, 0x7C00), (2, 0x7BFF), (3, 0x7BFF), (4, 0x7C00), (5, 0x7C00)])
def test_an_average_below_2_to_the_16th_is_infinite_as_its_rounding_says(mode: int, expected: int) -> None:
    average = {**WINDOW, "opd1_const": 1, "opd1_addr": 0x3C, "rq": 1, "opd5_const": 1, "res0_prec": HALF}
    given = {"input": np.array([1, -1])}
    below = words("pord.avgpooling", given, scale(65520), **average, **E5M2, opd2_n_str=mode)
    assert below[0] == expected
    beyond = words("pord.avgpooling", given, scale(65536), **average, **E5M2, opd2_n_str=mode)
    assert beyond.tolist() == [0x7C00, 0xFC00]
    limited = words("pord.avgpooling", given, scale(1e6), **average, **E5M2, opd2_n_str=mode, sym_range=1)
    assert limited.tolist() == [0x7BFF, 0xFBFF]


def test_an_average_half_way_is_rounded_away_from_zero_where_the_mode_is_half_up() -> None:
    average = {**WINDOW, "opd1_const": 1, "opd1_addr": 0x38, "res0_prec": FLOAT8, "rq": 1, "opd5_const": 1}
    found = words(
        "pord.avgpooling", {"input": np.array([-1, 1])}, scale(1.0625), **average, **E4M3, res0_sign=1, opd2_n_str=5
    )
    assert found.tolist() == [0xB9, 0x39]


def test_the_first_of_equal_taps_is_the_largest_one() -> None:
    """Of float32 it is the last one."""
    found = words(
        "pord.maxpooling",
        {"input": np.array([2, 2])},
        {},
        **{**WINDOW, "res0_w": 1, "opd1_w": 2, "opd2_const": 0},
        **E4M3,
        res0_prec=FLOAT8,
        res0_sign=1,
    )
    assert found.tolist() == [0x40, 0]


def test_the_smallest_tap_is_known() -> None:
    places = {**WINDOW, "res0_w": 1, "opd1_w": 2, "opd2_const": 0, "opd2_addr": 0xFFFFFFFF}
    found = words("pord.minpooling", {"input": np.array([2, -3])}, {}, **places, **E4M3, res0_prec=FLOAT8, res0_sign=1)
    assert found.tolist() == [0xC4]


SUM = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 2, "tsk_opd_num": 2, "res0_prec": FLOAT8, "res0_sign": 1}


@pytest.mark.parametrize(("limits", "expected"), [(0, [0x7F, 0xFF]), (1, [0x7E, 0xFE])])
def test_a_sum_beyond_the_largest_number_is_limited_if_the_command_says_so(limits: int, expected: list[int]) -> None:
    given = {"left": np.array([448, -448]), "right": np.array([448, -448])}
    assert words("arith.add", given, {}, **SUM, **E4M3, sym_range=limits).tolist() == expected


def test_a_convolution_into_bf16_is_refused() -> None:
    with pytest.raises(NotSimulated, match="bf16"):
        words("conv.normal", {}, {}, **WINDOW, **E4M3, opd0_c=1, res0_prec=BFLOAT)


def test_the_larger_of_two_kinds_is_refused() -> None:
    with pytest.raises(NotSimulated, match="f8e5m2 and f8e4m3"):
        words("arith.max", {}, {}, **SUM, opd0_sign=0, opd1_sign=1)
