"""Commands that the chip does not have: each rule with a command that breaks it, and one that just does not.

Source: what the vendor's simulators assert; ``scripts.robustness.fuzz_simulator --mutants`` compares many more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadAccess, NotSimulated
from tdb_dap.targets import kernel
from tests.samples import DATA
from tests.targets.commands import chip_named, command, empty, encoded, form

SHAPE = {"res0_n": 1, "res0_c": 4, "res0_h": 2, "res0_w": 8}
SUM = {"tsk_opd_num": 2, "opd0_prec": 2, "opd1_prec": 2, "res0_prec": 2, **SHAPE}
SUM |= {"opd0_addr": 0, "opd1_addr": 1024, "res0_addr": 2048}
BYTES = {"opd0_prec": 0, "opd1_prec": 0, "res0_prec": 0}
WINDOW = {"opd0_prec": 2, "res0_prec": 2, "res0_n": 1, "res0_c": 4, "res0_h": 3, "res0_w": 3, "res0_addr": 4096}
WINDOW |= {"opd0_h": 5, "opd0_w": 5, "opd1_h": 3, "opd1_w": 3, "res_op_x_str": 1, "res_op_y_str": 1}
CONV = {**WINDOW, "opd0_c": 4, "opd1_addr": 8192, "opd2_const": 1}
DEPTHWISE = {**WINDOW, "opd1_addr": 8192, "opd2_const": 1}
LINEAR = {**SHAPE, "res0_prec": 2, "opd1_addr": 1024, "opd2_addr": 3072, "res0_addr": 2048}
PRODUCT = {"opd0_prec": 1, "res0_prec": 1, "res0_c": 4, "res0_w": 8, "opd1_c": 16, "opd1_w": 8}
PRODUCT |= {"opd1_addr": 4096, "res0_addr": 8192, "opd2_const": 1}
QUANT = {**SHAPE, "opd0_prec": 0, "res0_prec": 2, "opd1_const": 1, "res0_addr": 2048}
GATHER = {"res0_n": 1, "res0_c": 4, "res0_h": 1, "res0_w": 16, "opd0_h": 1, "opd0_w": 64, "opd1_w": 16, "res0_prec": 2}
GATHER |= {"opd0_prec": 2, "opd1_c": 4, "opd1_addr": 1024, "res0_addr": 2048, "opd1_prec": 3}
LOCAL, DDR, DDR_OF_BM1688 = 0x8000000, 1, 0x81
MOVE = {"src_nsize": 1, "src_csize": 4, "src_hsize": 2, "src_wsize": 8, "src_data_format": 2, "nchw_copy": 1}
MOVE |= {
    "localmem_mask_l32": 0xFFFFFFFF,
    "localmem_mask_h32": 0xFFFFFFFF,
    "src_start_addr_h8": DDR,
    "dst_start_addr_l32": LOCAL,
}
WITHIN = {**MOVE, "src_start_addr_l32": 4096, "dst_start_addr_h8": DDR, "dst_start_addr_l32": 4096}
"""A move within DDR."""
WITHIN_LANES = {name: value for name, value in MOVE.items() if "start" not in name}
STRIDES = {
    "stride_enable": 1,
    "src_cstride": 16,
    "dst_cstride": 16,
    "src_hstride": 8,
    "dst_hstride": 8,
    "src_wstride": 1,
    "dst_wstride": 1,
}

OF_BM1684 = {**SHAPE, "res0_h": 16, "opd0_prec": 2, "opd1_prec": 2, "opd2_prec": 2, "res0_prec": 2, "tsk_opd_num": 2}
OF_BM1684 |= {"opd0_addr": LOCAL, "opd1_addr": LOCAL + 4096, "res0_addr": LOCAL + 8192, "tsk_lane_num": (1 << 64) - 1}

ONE_TAP = {"opd0_h": 16, "opd0_w": 8, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1}
REDUCED = {"opd0_n": 1, "opd0_c": 4, "opd0_h": 2, "opd0_w": 8, "opd0_prec": 2, "res0_prec": 2, "res0_addr": 4096}
IDLE = dict.fromkeys(("src_nsize", "src_csize", "src_hsize", "src_wsize"), 0)
"""A move without any size."""
ONE_COLUMN = {**MOVE, **STRIDES, "src_wsize": 1}
BYTES_CONV = {"opd0_prec": 0, "opd1_prec": 0, "res0_prec": 0, "opd4_const": 1, "opd2_const": 1}

RULES: list[tuple[str, dict[str, int], dict[str, int], str, dict[str, int]]] = [
    # command, its fields, what breaks the rule, what is said, and a change that keeps it
    (
        "arith.add",
        SUM,
        {"res0_addr": 2050},
        "its result is at R0.2050, which is no multiple of 4 bytes",
        {"res0_addr": 2052},
    ),
    ("arith.add", SUM, {"opd1_addr": 1}, "its right is at R0.1, which is no multiple of 4 bytes", {"opd1_addr": 4}),
    ("arith.add", SUM, {"res0_n": 4096}, "leaves its lane: R0.1024, memref<4096x4x2x8xf32", {"res0_n": 512}),
    ("arith.add", SUM, {"opd0_addr": 1 << 24}, "its left is in", {"opd0_addr": (1 << 24) - 65536}),
    (
        "arith.add",
        SUM,
        {"opd1_prec": 3},
        "it mixes f32 with 16-bit integers",
        {"opd0_prec": 4, "opd1_prec": 3, "res0_prec": 0},
    ),
    ("arith.add", SUM, {"opd1_prec": 1}, "it mixes f32 with f16", {"opd0_prec": 1, "opd1_prec": 1, "res0_prec": 1}),
    ("arith.max", {**SUM, **BYTES}, {"res0_prec": 3}, "it mixes 8-bit integers with 16-bit integers", {}),
    (
        "arith.max",
        {**SUM, **BYTES},
        {"opd1_sign": 1},
        "it mixes signed with unsigned numbers",
        {"opd0_sign": 1, "opd1_sign": 1},
    ),
    ("arith.and", {**SUM, **BYTES}, {"opd0_prec": 2}, "it takes no f32", {}),
    ("arith.div", SUM, {"opd0_prec": 4, "opd1_prec": 4, "res0_prec": 4}, "it takes no 32-bit integers", {}),
    ("conv.normal", CONV, {"res0_h": 4}, "its windows give 3 rows, and its result has 4", {"opd0_h": 6, "res0_h": 4}),
    (
        "conv.normal",
        CONV,
        {"opd0_lf_pad": 1},
        "its windows give 4 columns, and its result has 3",
        {"opd0_lf_pad": 1, "res0_w": 4},
    ),
    ("conv.normal", CONV, {"opd0_x_ins0": 1}, "its windows give 7 columns", {"opd0_x_ins0": 1, "res0_w": 7}),
    ("conv.normal", CONV, {"res_op_y_str": 0}, "the step of its windows is 0", {"res_op_y_str": 2, "res0_h": 2}),
    ("conv.normal", CONV, {"res0_prec": 0}, "its result cannot be 8-bit integers", {}),
    ("pord.maxpooling", WINDOW, {"res0_prec": 1}, "it mixes f32 with f16", {}),
    ("mm2.nn", PRODUCT, {"opd1_w": 7}, "its right matrix gives 7 columns, and its result has 8", {}),
    ("mm2.nt", PRODUCT, {"opd1_w": 16}, "its right matrix gives 16 columns", {"opd1_c": 8, "opd1_w": 16}),
    ("mm2.nn", PRODUCT, {"opd0_prec": 2}, "its left matrix cannot be f32", {}),
    ("quant.dq0", QUANT, {"res0_prec": 1}, "its result cannot be f16", {}),
    ("quant.dq0", QUANT, {"opd0_prec": 2}, "its input cannot be f32", {"opd0_prec": 3}),
    ("quant.dq0", QUANT, {"opd0_prec": 6}, "its input cannot be 4-bit integers", {}),
    ("sg.pe_s_gather_d1coor", GATHER, {"opd1_w": 15}, "it has 15 indices for 16 results", {}),
    ("sg.pl_gather_d1coor", {**GATHER, "opd1_c": 16}, {"opd1_c": 15}, "it has 15 indices for 1 rows of 16 results", {}),
    (
        "sg.pl_gather_d1coor",
        {**GATHER, "opd1_c": 16},
        {"opd0_str": 1},
        "its data has storage code 1, and only 0 is known",
        {},
    ),
    ("sg.pl_gather_d2coor", {**GATHER, "opd1_c": 16}, {"opd1_prec": 4}, "its indices cannot be 32-bit integers", {}),
    ("arith.cast", {**SUM, "tsk_opd_num": 1, "res0_prec": 3}, {"opd2_n_str": 5}, "its rounding has the code 5", {}),
    ("arith.cast", {**SUM, "tsk_opd_num": 1}, {"res0_prec": 6}, "it takes no 4-bit integers", {}),
    ("lin.mac", LINEAR, {"res0_prec": 0}, "its numbers cannot be 8-bit integers", {"res0_prec": 1}),
    (
        "pord.depthwise",
        {**DEPTHWISE, "opd0_prec": 0, "res0_prec": 0},
        {"res1_addr": 32 << 8},
        "it shifts by 32 bits",
        {"res1_addr": 31 << 8},
    ),
    (
        "tsbc.l_copy",
        {**SHAPE, "res0_prec": 2, "res0_addr": 1024},
        {"res0_prec": 6},
        "its numbers cannot be 4-bit integers",
        {},
    ),
    (
        "tsbc.s_bc",
        {**SHAPE, "res0_prec": 2, "res0_addr": 1024},
        {},
        "its input is not in static memory",
        {"opd0_addr": 0x9000000},
    ),
    (
        "dma.tensor",
        MOVE,
        {"src_hsize": 0},
        "its source has no elements",
        {"src_hsize": 1},
    ),
    ("dma.tensor", ONE_COLUMN, {"src_wstride": 0}, "from column to column of its source is 0", {"dst_wstride": 0}),
    (
        "dma.tensor.transpose",
        {**MOVE, **STRIDES, "src_nsize": 2, "dst_nstride": 16, "dst_cstride": 16},
        {"dst_hstride": 7},
        "elements of its destination overlap",
        {"dst_hstride": 9, "dst_nstride": 32},
    ),
    ("dma.tensor.broadcast", {**MOVE, "dst_csize": 4}, {"dst_csize": 0}, "its destination has no elements", {}),
    ("arith.div", {**SUM, "opd2_n_str": 1}, {"opd0_prec": 1, "opd1_prec": 1, "res0_prec": 1}, "it takes no f16", {}),
    ("arith.max", {**SUM, **BYTES, "tsk_opd_num": 1}, {"opd1_prec": 3}, "8-bit integers with 16-bit integers", {}),
    ("mm2.nn", PRODUCT, {"opd0_prec": 6, "res0_prec": 4}, "its left matrix cannot be 4-bit integers", {}),
    (
        "quant.rq0",
        {**QUANT, "res0_prec": 0},
        {"opd2_n_str": 5 << 3},
        "its rounding has the code 5",
        {"opd2_n_str": 4 << 3},
    ),
    (
        "dma.tensor",
        MOVE,
        {"dst_start_addr_l32": LOCAL + 2},
        "is at R0.2, which is no multiple of 4",
        {"src_data_format": 1},
    ),
    ("dma.tensor", WITHIN, {"dst_start_addr_l32": 4160}, "elements of which come later", {"dst_start_addr_l32": 4032}),
    ("dma.tensor", {**MOVE, **STRIDES}, {"dst_hstride": 4}, "elements of its destination overlap", {"dst_hstride": 16}),
    ("dma.cw_transpose", WITHIN, {}, "its destination overlaps its source", {"dst_start_addr_l32": 8192}),
    ("dma.tensor.transpose", WITHIN, {}, "its destination overlaps its source", {"dst_start_addr_l32": 8192}),
    (
        "dma.tensor",
        {**MOVE, **STRIDES},
        {"dst_hstride": 65536},
        "its destination leaves its lane",
        {"dst_hstride": 65528},
    ),
    ("dma.tensor.broadcast", {**MOVE, "dst_csize": 64}, {"dst_csize": 65}, "it goes to 65 lanes from lane 0 on", {}),
    (
        "dma.tensor",
        MOVE,
        {"nchw_copy": 0, "dst_nsize": 1, "dst_csize": 1, "dst_hsize": 1, "dst_wsize": 63},
        "64 elements",
        {},
    ),
]


@pytest.mark.parametrize(("name", "fields", "breaks", "text", "keeps"), RULES)
def test_a_rule_and_a_command_that_just_keeps_it(
    name: str, fields: Mapping[str, int], breaks: Mapping[str, int], text: str, keeps: Mapping[str, int]
) -> None:
    chip = chip_named("BM1684X")
    if name.startswith("dma.tensor.broadcast"):
        fields = {**fields, "dst_nsize": 1, "dst_hsize": 2, "dst_wsize": 8}
    broken = command(chip, name, **{**fields, **breaks})
    assert text in chip.illegal(broken)
    with pytest.raises(NotSimulated, match=f"{name} is illegal: "):
        chip.execute(broken, empty(chip))
    if breaks != keeps:
        assert chip.illegal(command(chip, name, **{**fields, **keeps})) == ""


EXPONENTIAL = {**SHAPE, "opd0_prec": 1, "res0_prec": 1, "opd1_const": 1, "opd1_n": 35}
EXPONENTIAL |= {"opd2_addr": 1024, "res0_addr": 2048, "res1_addr": 4096, "opd3_addr": 8192}
SERIES = {**SHAPE, "opd0_prec": 1, "res0_prec": 1, "opd1_n": 3, "opd1_addr": 1024, "res0_addr": 2048}
OF_BLOCKS = {"src_hsize": 1, "src_wsize": 3, "src_hstride": 3, "dst_nsize": 1, "dst_csize": 1, "dst_wsize": 3}
OF_BLOCKS |= {"dst_nstride": 4, "dst_cstride": 4, "src_data_format": 4, "src_start_addr_h13": 1 << 8}
OF_BLOCKS |= {"dst_start_addr_h13": 31 << 8, "localmem_mask_l32": 0xFFFFFFFF}
CHOICE = {"src_nsize": 1, "src_csize": 1, "src_hsize": 2, "src_wsize": 8, "src_data_format": 2, "index_data_format": 3}
CHOICE |= {"src_start_addr_h13": 1 << 8, "dst_start_addr_h13": 1 << 8, "dst_start_addr_l32": 4096}
CHOICE |= {"localmem_mask_l32": 0xFFFFFFFF, "localmem_mask_h32": 0xFFFFFFFF}
L2 = 0x80000000
OF_ROWS = {"stride_enable": 1, "src_data_format": 1, "src_csize": 1, "src_hsize": 3, "src_wsize": 8, "dst_hsize": 12}
OF_ROWS |= {"src_cstride": 24, "src_hstride": 8, "dst_cstride": 96, "dst_hstride": 8, "index_csize": 1}
OF_ROWS |= {"index_hsize": 3, "index_cstride": 3, "src_start_addr_l32": L2, "dst_start_addr_l32": L2 + 4096}
OF_ROWS |= {"src_start_addr_h13": 7785, "dst_start_addr_h13": 7785, "index_start_addr_h13": 7785}
OF_ROWS |= {"index_start_addr_l32": L2 + 8192, "localmem_mask_l32": 0xFFFFFFFF, "localmem_mask_h32": 0xFFFFFFFF}
TO_ROWS = {"src_csize": 1, "src_hsize": 16, "src_wsize": 8, "index_csize": 1, "index_hsize": 3, "dst_hsize": 3}
TO_ROWS |= {f"{side}_start_addr_h8": DDR_OF_BM1688 for side in ("src", "dst", "index")}
TO_ROWS |= {"src_data_format": 1}
TO_ROWS |= {"dst_start_addr_l32": 4096, "index_start_addr_l32": 8192, "localmem_mask_l32": 0xFFFFFFFF}
OF_MATRICES = {"opd0_prec": 2, "opd1_prec": 2, "res0_prec": 2, "res0_c": 4, "res0_w": 8, "opd1_c": 4, "opd1_w": 8}
OF_MATRICES |= {"opd0_n": 1, "opd0_c": 4, "opd0_w": 8, "opd1_n": 32, "res0_n": 1, "tsk_opd_num": 2}
OF_MATRICES |= {"opd0_addr": LOCAL, "opd1_addr": LOCAL + 4096, "opd2_addr": LOCAL + 8192, "res0_addr": LOCAL + 12288}
OF_MOVES = {"pio_gdma_enable": 1, "src_nsize": 1, "src_csize": 4, "src_hsize": 1, "src_wsize": 8, "dst_nsize": 1}
OF_MOVES |= {
    "dst_csize": 8,
    "dst_hsize": 1,
    "dst_wsize": 4,
    "src_start_addr_l32": LOCAL,
    "dst_start_addr_l32": LOCAL + 4096,
}
SWAPPED = {**OF_MOVES, "chw_copy": 1}
COPIED = {**OF_MOVES, "direction": 2, "chw_copy": 1, "src_start_addr_l32": 4096, "dst_start_addr_l32": 4032, **STRIDES}


@pytest.mark.parametrize(
    ("name", "mnemonic", "fields", "breaks", "text"),
    [
        ("BM1684", "arith.mac", {**OF_BM1684, **BYTES}, {"left_shift": 17}, "it shifts what it adds to by 17 bits"),
        ("BM1684", "arith.shift", {**OF_BM1684, **BYTES}, {"opd1_prec": 3}, "it shifts numbers of one width"),
        ("BM1684", "mm.mul", OF_MATRICES, {"opd1_prec": 4}, "it mixes f32 with 32-bit integers"),
        (
            "BM1684",
            "pord.maxpooling",
            {**OF_BM1684, **BYTES, **ONE_TAP},
            {"right_shift": 3},
            "it shifts a maximum by 3 bits",
        ),
        ("BM1684X2", "quant.dq0", QUANT, {"opd0_prec": 6}, "its input cannot be 4-bit integers"),
        ("BM1684X2", "reduce.sum", REDUCED, {"res0_str": 3}, "the steps of its result are not in the command"),
        ("BM1684", "mm.mul", OF_MATRICES, {"tsk_opd_num": 3}, "its bias is 8-bit integers, and not f32"),
        (
            "BM1684",
            "dma.cw_trans",
            {**OF_MOVES, **STRIDES},
            {"dst_cstride": 3},
            "its step from channel to channel is 3",
        ),
        (
            "BM1684",
            "dma.constant",
            OF_MOVES,
            {"src_start_addr_l32": 0, "dst_csize": 0},
            "its destination has no elements",
        ),
        (
            "BM1688",
            "arith.mac",
            {**SUM, "tsk_opd_num": 2},
            {"opd0_prec": 1, "opd1_prec": 1, "res0_prec": 1},
            "it takes no f16",
        ),
        ("BM1684", "dma.cw_trans", SWAPPED, {"dst_start_addr_l32": LOCAL + 16}, "its destination overlaps its source"),
        ("BM1684", "dma", COPIED, {"dst_start_addr_l32": 4160}, "elements of which come later"),
        ("BM1684X", "dma.masked_select", {**IDLE}, {}, "its source has no elements"),
        ("BM1690", "dma.nonzero", CHOICE, {"index_data_format": 5}, "its indices cannot be bf16"),
        (
            "BM1690",
            "dma.general",
            {"dst_start_addr_h13": 31 << 8, "src_cstride": 4},
            {"src_cstride": 0},
            "its source has no elements",
        ),
        ("BM1688", "arith.logic_shift", {**SUM, **BYTES, "opd1_sign": 1}, {"opd1_sign": 0}, "its amount has no sign"),
        ("BM1684X", "arith.cshift", {**SUM, **BYTES}, {"opd1_prec": 3}, "it rotates 8-bit integers by 16-bit integers"),
        ("CV184X", "arith.add", SUM, {"opd0_prec": 1, "opd1_prec": 1, "res0_prec": 1}, "it takes no f16"),
        ("CV184X", "pord.maxpooling", WINDOW, {"opd0_prec": 1, "res0_prec": 1}, "it takes no f16"),
        (
            "BM1690",
            "arith.sub",
            {**SUM, "opd0_prec": 7, "opd1_prec": 7},
            {"opd1_prec": 2},
            "it mixes 8-bit floats with f32",
        ),
        ("BM1690", "arith.mul", {**SUM, "opd0_prec": 7}, {"res0_prec": 1}, "it mixes 8-bit floats with f32 with f16"),
        ("BM1688", "conv.normal", {**CONV, **BYTES_CONV}, {"opd1_prec": 3}, "8-bit integers with 16-bit integers"),
        (
            "BM1688",
            "mm2.nn",
            {**PRODUCT, "opd0_prec": 0, "opd1_prec": 0, "rq": 1, "res0_prec": 0},
            {"res0_prec": 4},
            "to 32 bits",
        ),
        (
            "BM1690",
            "conv.normal",
            {**CONV, **BYTES_CONV},
            {"opd0_prec": 6, "opd1_prec": 6},
            "its image cannot be 4-bit",
        ),
        ("BM1688", "pord.depthwise", {**DEPTHWISE, "res0_prec": 2}, {"opd0_prec": 1}, "it mixes f16 with f32"),
        (
            "BM1684X2",
            "sfu.exp",
            EXPONENTIAL,
            {"opd3_addr": 8192 + 32},
            "its powers is at R0.0x2020, which is no multiple",
        ),
        ("BM1684X2", "sfu.exp", {**EXPONENTIAL, "res1_addr": 8192 + 64}, {"res1_addr": 4096 + 2}, "no multiple of 64"),
        ("BM1684X2", "sfu.exp", {**EXPONENTIAL, "opd2_addr": 32}, {"opd2_addr": 16}, "its series is at"),
        ("BM1684X2", "sfu.exp", EXPONENTIAL, {"res1_addr": 1 << 20}, "its exponents begin in lane 4"),
        ("BM1684X2", "sfu.taylor_4x", SERIES, {"opd1_n": 2}, "2 coefficients, and 3 are the least"),
        ("BM1684X2", "sfu.taylor", SERIES, {"opd1_n": 2}, "2 coefficients, and 3 are the least"),
        ("BM1690", "sfu.taylor_4x", {**SERIES, "opd1_n": 2}, {"opd1_n": 1}, "1 coefficients, and 2 are the least"),
        ("SG2380", "dma.matrix", OF_BLOCKS, {"dst_wsize": 32771}, "its rows leave their lanes: 1 of 4 numbers"),
        ("BM1690E", "dma.scatter.inplace", OF_ROWS, {"src_csize": 257}, "its destination overlaps its source"),
        ("BM1690E", "dma.scatter.inplace", OF_ROWS, {"index_start_addr_l32": L2 + 4096}, "overlaps its index"),
        ("BM1688", "gdma.gather", TO_ROWS, {"src_hsize": 257}, "its destination overlaps its source"),
        (
            "BM1684X2",
            "sfu.exp",
            {**EXPONENTIAL, "opd2_addr": 1 << 20},
            {"opd3_addr": 1 << 20},
            "its powers begin in lane 4",
        ),
    ],
)
def test_a_rule_of_a_chip(
    name: str, mnemonic: str, fields: Mapping[str, int], breaks: Mapping[str, int], text: str
) -> None:
    chip = chip_named(name)
    assert text in chip.illegal(command(chip, mnemonic, **{**fields, **breaks}))
    assert not breaks or text not in chip.illegal(command(chip, mnemonic, **fields))


@pytest.mark.parametrize(("name", "passes"), [("BM1684X", True), ("BM1688", True), ("BM1690", False)])
def test_a_move_without_any_size_to_nowhere_passes_time_on_some_chips(name: str, passes: bool) -> None:
    """The firmware executes such ones, with a number of elements that it has counted before."""
    chip = chip_named(name)
    known = {shared for _, shared, _ in chip.named_fields(form(chip, "dma.tensor"))}
    idle = {field: value for field, value in {**MOVE, **IDLE}.items() if field in known}
    idle |= {"src_start_addr_h8": DDR_OF_BM1688, "dst_start_addr_l32": 0} if name == "BM1688" else {}
    assert "its source has no elements" in chip.illegal(command(chip, "dma.tensor", **idle))
    nowhere = {"dst_start_addr_h8": 255} if "dst_start_addr_h8" in known else {"dst_start_addr_h13": 255}
    fields = {**idle, **nowhere}
    text = chip.illegal(command(chip, "dma.tensor", **fields))
    assert ("its source has no elements" in text) is not passes
    assert passes == (text == "")
    assert "its source has no elements" in chip.illegal(command(chip, "dma.tensor", **{**fields, "stride_enable": 1}))


@pytest.mark.parametrize(("image", "zero", "legal"), [(0, 255, 1), (0, 256, 0), (0, -128, 1), (6, 15, 1), (6, -9, 0)])
def test_a_zero_point_of_a_kernel_is_one_of_its_numbers(image: int, zero: int, legal: int) -> None:
    """It is in a register; its limits are those of the kernel's format, with or without a sign."""
    chip = chip_named("BM1688")
    kind, descriptor = encoded(chip, "conv.normal", **{**CONV, **BYTES_CONV, "opd0_prec": image, "opd1_prec": image})
    text = chip.illegal(chip.describe(kind, descriptor, 0, {5: zero & 0xFFFFFFFF}))
    assert text == (
        "" if legal else f"the zero point of its kernel is {zero}, beyond {'-128 to 255' if not image else '-8 to 15'}"
    )


@pytest.mark.parametrize("zero", [255, 256])
def test_zero_points_of_a_table_are_looked_at_when_they_are_used(zero: int) -> None:
    chip, memory = chip_named("BM1688"), empty(chip_named("BM1688"))
    kind, descriptor = encoded(chip, "conv.normal", **{**CONV, **BYTES_CONV, "opd4_const": 0})
    described = chip.describe(kind, descriptor, 0, {5: 16384})
    table = described.binding.operands["kernel_zero"]
    assert isinstance(table, View)
    memory.write(table, np.full(table.shape, zero, np.uint16))
    if zero < 256:
        chip.execute(described, memory)
        return
    with pytest.raises(NotSimulated, match="a zero point of its kernel is not from -128 to 255"):
        chip.execute(described, memory)


@pytest.mark.parametrize(("long", "rule"), [(False, ""), (True, "its bias cannot be 8-bit integers")])
def test_a_short_depthwise_convolution_does_not_say_the_format_of_its_bias(long: bool, rule: str) -> None:
    chip = chip_named("BM1690")
    bytes_ = {**DEPTHWISE, "opd0_prec": 0, "res0_prec": 0, "opd2_const": 0, "opd2_addr": 16384, "rq": 1}
    described = command(chip, "pord.depthwise", long, cmd_short=int(not long), opd5_const=1, opd3_const=1, **bytes_)
    bias = described.binding.operands["bias"]
    assert isinstance(bias, View)
    assert bias.dtype.name == "si32"
    assert chip.illegal(described) == rule


@pytest.mark.parametrize("precision", [1, 2, 5])
def test_the_bias_of_a_convolution_of_float32_is_float32(precision: int) -> None:
    described = command(
        chip_named("BM1690"), "conv.normal", **{**CONV, "opd2_prec": precision, "opd2_const": 0, "opd1_prec": 2}
    )
    assert described.binding.operands["bias"].dtype.name == "f32"


def test_floats_of_8_bits_are_there_on_some_chips_only() -> None:
    floats = {**SUM, "opd0_prec": 7, "opd1_prec": 2}
    assert chip_named("BM1690").illegal(command(chip_named("BM1690"), "arith.mul", **floats)) == ""
    with pytest.raises(NotSimulated, match="precision code 7 is not defined"):
        command(chip_named("BM1684X"), "arith.mul", **floats)


def test_an_illegal_command_is_listed_found_refused_and_computed_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, inputs = (
        DATA / "bm1684x" / "toy_bm1684x_int8",
        ["--inputs", str(DATA / "bm1684x/toy_bm1684x_int8/input.npz")],
    )
    changed = str(tmp_path / "changed.bmodel")
    assert main(["patch", str(model), "-o", changed, "--set", "B2.res0_addr=2"]) == 0
    said = "its result is at R0.2, which is no multiple of 4 bytes"
    assert main(["dis", changed]) == 0
    assert capsys.readouterr().out.count(f"illegal: {said}") == 1
    assert main(["run", changed, *inputs]) == 2
    told = f"(B2 arith.cast): arith.cast is illegal: {said}; --lenient computes it all the same"
    assert f"error: command 2 {told}" in capsys.readouterr().err
    assert main(["sanitize", changed, *inputs]) == 2
    assert f"error: B2 arith.cast: {said} [legal]" in capsys.readouterr().out
    assert main(["run", changed, *inputs, "--lenient"]) == 0
    assert "computed by illegal commands (--lenient)" in capsys.readouterr().out
    assert main(["run", str(model), "--lenient"]) == 0
    assert "illegal" not in capsys.readouterr().out


def test_one_of_several_commands_of_a_form_that_is_misaligned(tmp_path: Path) -> None:
    """What is known of the others must not let it pass."""
    model = DATA / "bm1684x" / "toy_bm1684x_int8"
    commands = tdb_dap.open(model).program.commands
    moves = [each for each in commands if each.name == "dma.tensor" and each.results[0].dtype.itemsize == 4]
    changed = tmp_path / "changed.bmodel"
    field = next(name for name in ("dst_start_addr_l32", "dst_start_addr_h32") if name in dict(moves[-1].fields))
    value = dict(moves[-1].fields)[field] + 2
    assert main(["patch", str(model), "-o", str(changed), "--set", f"{moves[-1].token}.{field}={value}"]) == 0
    debugger = tdb_dap.open(changed)
    assert [ordinal for ordinal, _ in debugger.program.access_rows.illegal] == [moves[-1].ordinal]
    assert "is illegal: " in debugger.run().text
    assert debugger.ordinal == moves[-1].ordinal


KNOWN: list[tuple[str, str, dict[str, int], dict[str, int]]] = [
    ("BM1684X", "arith.copy", {**SUM, "tsk_opd_num": 1, "opd0_const": 1, "res0_h": 8}, {"res0_addr": (256 << 10) - 64}),
    ("BM1684X", "dma.tensor", {**MOVE, "src_hsize": 16}, {"dst_start_addr_l32": LOCAL + (256 << 10) - 64}),
    ("BM1684X", "dma.tensor", {**WITHIN, "dst_start_addr_l32": 8192}, {"dst_start_addr_l32": 4160}),
    ("BM1684", "arith.add", OF_BM1684, {"opd0_addr": 0}),
    ("BM1684", "arith.add", OF_BM1684, {"res0_addr": LOCAL + (512 << 10) - 128}),
    ("BM1688", "dma.tensor", {**WITHIN_LANES, "dst_start_addr_l32": 4096}, {"src_start_addr_l32": 1 << 24}),
    ("BM1690", "tsbc.s_bc", {**SHAPE, "res0_prec": 2, "res0_addr": 1024}, {"opd0_addr": 1 << 16}),
]
"""Chip, command, its fields, and another address that makes it illegal."""


@pytest.mark.parametrize(("name", "mnemonic", "fields", "other"), KNOWN)
def test_what_is_known_of_a_form_lets_no_illegal_command_pass(
    name: str, mnemonic: str, fields: Mapping[str, int], other: Mapping[str, int]
) -> None:
    """The plan that one command was made, and executed, with is not that of one at an address that it cannot have."""
    chip = chip_named(name)
    memory = empty(chip)
    kind, legal = encoded(chip, mnemonic, **fields)
    assert chip.carry_out(kind, legal, 0, memory) == kernel.is_active()
    _, illegal = encoded(chip, mnemonic, **{**fields, **other})
    before = memory.local().copy()
    assert not chip.carry_out(kind, illegal, 0, memory)
    with pytest.raises((NotSimulated, BadAccess)):
        chip.execute(chip.describe(kind, illegal, 0, {}), memory)
    assert np.array_equal(memory.local(), before)
