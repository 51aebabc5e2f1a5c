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
