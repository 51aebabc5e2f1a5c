"""Weights in 4 bits unpacked in one pass: what five commands leave together is what each one by itself leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.contents import Random
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tests.targets.commands import chip_named, encoded
from tests.targets.test_plans import Bench
from tests.targets.test_sequences import Command, carried_out, filled, one_by_one

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())

PACKED, HALVES, NUMBERS, SCALES, ZEROS = 16384, 114688, 131072, 98432, 98496
BF16 = 5
NAMES = ("arith.and", "arith.ashift", "arith.subs", "arith.cast", "arith.mul")


def unpacking(chip: Chip, rows: int, groups: int, group: int, **changes: dict[str, int]) -> list[Command]:
    """Commands with which a matrix product unpacks its weights. ``changes``: other fields, by the command's name."""
    columns = groups * group
    lanes = -(-rows // chip.geometry.lanes)
    shape = {"res0_n": 1, "res0_c": rows, "cmd_id_en": 1}
    halves = {**shape, "res0_h": columns // 2, "res0_w": 1, "opd0_str": 3, "res0_str": 3, "opd0_addr": PACKED}
    halves |= {"res0_c_str": columns, "res0_n_str": columns * lanes, "res0_h_str": 2, "res0_w_str": 1}
    halves |= {"opd0_c_str": columns // 2, "opd0_n_str": columns // 2 * lanes, "opd0_h_str": 1, "opd0_w_str": 1}
    halves |= {"tsk_opd_num": 2, "opd1_const": 1}
    grouped = {**shape, "res0_h": groups, "res0_w": group, "tsk_opd_num": 2}
    own: list[dict[str, int]] = [
        {**halves, "res0_addr": HALVES, "opd1_addr": 15},
        {**halves, "res0_addr": HALVES + 1, "opd1_addr": 252, "opd1_sign": 1, "opd2_n_str": 2},
        {
            **grouped,
            "res0_addr": NUMBERS,
            "opd0_addr": HALVES,
            "opd1_addr": ZEROS,
            "opd1_str": 3,
            "opd1_n_str": groups * lanes,
            "opd1_c_str": groups,
            "opd1_h_str": 1,
        },
        {
            **shape,
            "res0_h": columns,
            "res0_w": 1,
            "res0_prec": BF16,
            "opd0_sign": 1,
            "opd2_sign": 1,
            "tsk_opd_num": 1,
            "res0_addr": HALVES,
            "opd0_addr": NUMBERS,
        },
        {
            **grouped,
            **dict.fromkeys(("res0_prec", "opd0_prec", "opd1_prec"), BF16),
            "opd0_sign": 1,
            "opd1_sign": 1,
            "opd0_str": 3,
            "opd0_addr": SCALES,
            "opd1_addr": HALVES,
            "res0_addr": NUMBERS,
            "opd0_n_str": groups * lanes,
            "opd0_c_str": groups,
            "opd0_h_str": 1,
        },
    ]
    return [
        encoded(chip, name, **{**values, **changes.get(name.partition(".")[2], {})})
        for name, values in zip(NAMES, own, strict=True)
    ]


def compare(commands: list[Command], bench: Bench, random: Random) -> None:
    lanes = bench.memory.local(0)
    filled(lanes, random)
    # Scales of all kinds: normal ones, zeros, subnormals, infinities and NaN.
    scales = lanes[:, SCALES : SCALES + 64].view(np.uint16)
    scales[...] = random.choice([0x3C00, 0x3D12, 0xBE01, 0, 0x8000, 0x0040, 0x7F80, 0x7FC1, 0xFF91], scales.shape)
    before = bench.kept()
    seen = carried_out(bench, commands, one_by_one(bench, commands), before)
    assert seen["together"] == len(commands), seen


SHAPES = ((128, 2, 64), (64, 1, 64), (64, 2, 32), (200, 3, 64), (5, 2, 64), (1, 2, 64), (70, 1, 34), (130, 40, 2))


def test_all_shapes_leave_what_the_commands_leave() -> None:
    random, bench = np.random.default_rng(3), Bench(chip_named("BM1684X"))
    for shape in SHAPES:
        compare(unpacking(bench.chip, *shape), bench, random)
        with kernel.shared(3, worth=1):
            compare(unpacking(bench.chip, *shape), bench, random)


@pytest.mark.parametrize(
    "changes",
    [
        {"and": {"opd1_addr": 7}},
        {"ashift": {"opd1_addr": 253}},
        {"ashift": {"opd2_n_str": 1}},
        {"ashift": {"res0_addr": HALVES}},
        {"subs": {"opd1_addr": NUMBERS + 64}},
        {"subs": {"opd1_addr": HALVES + 256}},
        {"cast": {"res0_addr": HALVES + 4096}, "mul": {"opd1_addr": HALVES + 4096}},
        {"mul": {"res0_addr": NUMBERS + 8192}},
        {"mul": {"opd0_addr": HALVES + 64}},
        {"mul": {"opd1_addr": HALVES + 128}},
        {"cast": {"res0_addr": NUMBERS, "opd0_addr": NUMBERS}},
    ],
)
def test_commands_that_differ_in_one_field_compute_as_before(changes: dict[str, Any]) -> None:
    """Near misses: another mask, shift or rounding; operands and results that overlap, or are elsewhere."""
    random, bench = np.random.default_rng(4), Bench(chip_named("BM1684X"))
    commands = unpacking(bench.chip, 128, 2, 64, **changes)
    filled(bench.memory.local(0), random)
    before = bench.kept()
    carried_out(bench, commands, one_by_one(bench, commands), before)
