"""Which commands CV18xx have: all of compiled models, and changed ones as the emulator takes or refuses them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tdb_dap.engine.commands.commands import Command
from tdb_dap.tools.programs import open_program
from tests.samples import DATA
from tests.targets.commands import chip_named

MODELS = sorted(path for chip in ("cv180x", "cv181x", "cv182x", "cv183x") for path in (DATA / "chips" / chip).iterdir())
SIGNS = ("opd0_sign", "opd1_sign", "opd2_sign", "res0_sign", "shift_typ")
INT8 = DATA / "chips" / "cv181x" / "toy_cv181x_int8"
RELU = DATA / "chips" / "cv181x" / "act_relu_cv181x_int8"
BF16 = DATA / "chips" / "cv182x" / "toy_cv182x_bf16"
SMALL = DATA / "chips" / "cv180x" / "toy_cv180x_int8"
BIG = DATA / "chips" / "cv183x" / "toy_cv183x_int8"


def first(model: Path, name: str) -> Command:
    """The first command of a mnemonic."""
    return next(command for command in open_program(model).commands if command.name == name)


def complaint(command: Command, **values: int) -> str:
    """What is wrong with a command when fields of it have other numbers; empty if nothing is."""
    chip = chip_named(str(command.target.name))
    instruction = chip.instruction_set.instructions[command.kind]
    prefixes = ("", "opt_", "short_")
    known = instruction.decode(command.descriptor)
    names = {name: next(p + name for p in prefixes if p + name in known) for name in values}
    descriptor = instruction.encode(command.descriptor, **{names[name]: value for name, value in values.items()})
    return chip.illegal(chip.describe(command.kind, descriptor, 0, {}))


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_every_command_of_a_compiled_model_is_one(model: Path) -> None:
    assert open_program(model).access_rows.illegal == ()


@pytest.mark.parametrize("name", ["arith.mul", "arith.sub", "arith.mac", "arith.copy", "conv", "matrix"])
def test_signs_of_floats_do_not_count(name: str) -> None:
    """Networks with clipped activations have constants with a sign and results without one; they were refused."""
    command = first(BF16, name)
    for signs in product((0, 1), repeat=len(SIGNS)):
        assert complaint(command, **dict(zip(SIGNS, signs, strict=True))) == ""


@pytest.mark.parametrize(
    ("model", "name", "values", "words"),
    [
        (INT8, "conv", {"res0_sign": 0, "relu": 0}, "its result is unsigned, and its operands are not"),
        (INT8, "conv", {"opd0_sign": 0, "opd1_sign": 0, "opd2_sign": 0, "res0_sign": 1}, "its result is signed"),
        (INT8, "conv", {"opd2_str": 1}, "its field opd2_str is 1, and not 2"),
        (INT8, "conv", {"opd1_str": 0}, "its field opd1_str is 0, and not 1"),
        (INT8, "conv", {"res0_str": 2}, "its field res0_str is 2, and not 0 or 3"),
        (INT8, "conv", {"opd1_c": 1}, "its fields opd1_c and res0_c are 1"),
        (INT8, "matrix", {"opd0_seg": 0}, "its field opd0_seg is 0, and not 1"),
        (INT8, "matrix", {"opd1_str": 3}, "its field opd1_str is 3, and not 0"),
        (RELU, "arith.mul", {"shift_typ": 0}, "its field shift_typ is 0, and one of its operands has signs"),
        (INT8, "pool.max", {"opd2_sign": 0}, "its field opd2_sign is 0, and not 1"),
        (BF16, "arith.lut", {"relu": 1}, "its field relu is 1, and not 0"),
        (BF16, "arith.lut", {"opd1_h": 16}, "its field opd1_h is 16, and not 32"),
        (BF16, "arith.copy", {"relu": 1}, "its field relu is 1, and not 0"),
        (BF16, "conv", {"opd2_seg": 1}, "its field opd2_seg is 1, and not 0"),
        (BF16, "dma.load", {"dst_w": 0}, "its field dst_w is 0"),
        (BF16, "dma.load", {"src_fmt": 0}, "its field src_fmt is 0, and not 1 or 2"),
        (BF16, "dma.load", {"dst_base_addr_low": 1 << 22}, "its destination begins in lane 128 of 8"),
        (BIG, "dma.load", {"src_base_addr_high": 0}, "its src is at byte "),
        (INT8, "dma.l2l", {"mv_lut_idx": 1, "mv_lut_base": 1}, "its field mv_lut_base is 1, and not 0"),
        (INT8, "conv", {"cmd_pre_exe": 2}, "its field cmd_pre_exe is 2, and not 0"),
        (
            INT8,
            "conv",
            {"opd2_str": 3, "tsk_opd_num": 2, "chl_quan": 0},
            "its field opd2_str is 3, and not 0 or 1 or 2",
        ),
        (INT8, "conv", {"double_conv": 1, "opd0_addr": 1}, "its field opd0_addr is 1, which is odd"),
        (
            INT8,
            "conv",
            {"ps32_md": 2, "chl_quan": 0, "tsk_opd_num": 2, "res_shift": 1, "relu": 0},
            "its field res_shift is 1",
        ),
        (BF16, "conv", {"ps32_md": 2, "tsk_opd_num": 3, "relu": 0, "res_shift": 0}, "its field tsk_opd_num is 3"),
        (BF16, "conv", {"res0_n_str": 4098}, "its field res0_n_str is 4098, no multiple of 16"),
        (INT8, "matrix", {"tsk_opd_num": 3, "opd2_str": 0, "opd2_w": 3}, "its result has 16 columns and its bias "),
        (BF16, "dma.load", {"dst_h_stride": 2}, "elements of its destination overlap"),
        (SMALL, "conv", {"double_conv": 1, "opd0_c": 3, "opd1_n": 3}, "it adds two pairs of channels at once"),
        (RELU, "conv.dw", {"res0_n_str": 100}, "its field res0_n_str is 100, no multiple of 16"),
        (RELU, "conv.dw", {"opd1_x_ins0": 15}, "its field opd1_x_ins0 is 15"),
        (RELU, "conv.dw", {"chl_quan": 1}, "its field opd2_str is 0, and not 2"),
        (RELU, "conv.dw", {"res0_w_str": 14}, "elements of its result overlap"),
        (INT8, "pool.max", {"opd2_str": 3}, "its field opd2_str is 3, and not 0 or 1 or 2"),
        (BF16, "matrix", {"opd2_seg": 1}, "its field opd2_seg is 1, and not 0"),
        (INT8, "matrix", {"ps32_md": 2, "relu": 1}, "its field relu is 1, and not 0"),
        (
            INT8,
            "matrix",
            {"ps32_md": 2, "res_shift": 0, "relu": 0, "chl_quan": 1},
            "its field chl_quan is 1, and not 0",
        ),
    ],
)
def test_a_command_that_the_emulator_ends_on_is_illegal(
    model: Path, name: str, values: dict[str, int], words: str
) -> None:
    command = first(model, name)
    assert complaint(command) == ""
    assert complaint(command, **values).startswith(words)


def test_a_rectified_result_has_no_sign() -> None:
    command = first(INT8, "conv")
    assert complaint(command, relu=1, res0_sign=0) == ""
    assert complaint(command, relu=1, res0_sign=1) == ""


def test_a_move_reads_what_it_overwrites_before_or_not_at_all() -> None:
    command = first(INT8, "dma.l2l")
    assert complaint(command) == ""
    fields = {
        "src_n": 1,
        "src_c": 1,
        "src_h": 1,
        "dst_c": 1,
        "dst_h": 1,
        "src_w": 8,
        "dst_w": 8,
        "src_fmt": 2,
        "dst_fmt": 2,
    }
    assert complaint(command, **fields, src_base_addr_low=64, dst_base_addr_low=64) == "", "onto itself"
    assert complaint(command, **fields, src_base_addr_low=66, dst_base_addr_low=64) == "", "toward the start"
    text = complaint(command, **fields, src_base_addr_low=64, dst_base_addr_low=66)
    assert text == "its destination overlaps its source, elements of which come later"


def test_an_operation_per_element_writes_tensors_whose_batches_interleave() -> None:
    """The rearrangement of depth to space: each element has bytes of its own, though no axis is inside another."""
    command = first(RELU, "arith.mul")
    shape = {f"{prefix}_{axis}": n for prefix in ("res0", "opd0") for axis, n in zip("nchw", (2, 1, 2, 4), strict=True)}
    apart = {"res0_n_str": 1, "res0_c_str": 16, "res0_h_str": 10, "res0_w_str": 2}
    assert complaint(command, **shape, **apart) == ""
    assert complaint(command, **shape, **{**apart, "res0_h_str": 6}) == "elements of its result overlap"
