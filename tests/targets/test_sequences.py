"""Commands that follow each other: together they leave what each one by itself does, whatever lies over whatever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.contents import Random
from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tests.targets.commands import chip_named, form
from tests.targets.test_planned_windows import window
from tests.targets.test_plans import Bench

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())

COUNT = 80
"""Sequences that are drawn for each chip."""
KINDS = ("arith.adds", "arith.adds", "arith.add", "arith.muls", "quant.rq1", "quant.rq0", "quant.rq0")

Command = tuple[int, bytes]


def encoded(chip: Chip, mnemonic: str, **values: int) -> Command:
    """Kind and descriptor of a command; fields by the names that chips share, the others are 0."""
    kind = form(chip, mnemonic)
    names = {shared: own for own, shared, _ in chip.named_fields(kind)}
    own = {names[name]: value for name, value in values.items() if name in names}
    return kind, chip.encode(kind, chip.instruction_set.blank(kind), own)


def following(chip: Chip, random: Random, shape: tuple[int, ...], places: list[int]) -> Command:
    """A command of elements on a tensor of this shape, which begins, as its result does, at one of some places."""

    def any_of(*among: Any) -> Any:
        return among[random.integers(len(among))]

    known = {i.mnemonic for i in chip.instruction_set.instructions}
    mnemonic = any_of(*[kind for kind in KINDS if kind in known])
    narrow = any_of(0, 0, 3)
    values = dict(zip(("res0_n", "res0_c", "res0_h", "res0_w"), shape, strict=True))
    values |= {
        "opd0_addr": any_of(*places),
        "res0_addr": any_of(*places),
        "opd0_sign": 1,
        "opd1_sign": 1,
        "opd0_prec": 4,
    }
    values |= {"opd2_n_str": any_of(0, 1, 2, 4, 5), "res0_sign": any_of(0, 1), "sym_range": any_of(0, 1)}
    if mnemonic == "quant.rq1":
        values |= {"opd1_addr": any_of(*places), "res0_prec": narrow}
    elif mnemonic == "quant.rq0":  # a number, shift and zero point for all
        values |= {"opd1_const": 1, "opd1_addr": any_of(0, 1, 3, 0x1234, 0x7FFFFFFF, 0xFFFFFFF0), "res0_prec": narrow}
        values |= {"opd2_addr": any_of(0, 5) << 8 | any_of(0, 0xFF, 0xF8, 0xF0, 0xE2, 0xDF), "opd2_const": 1}
    else:
        values |= {"opd1_prec": 4, "res0_prec": 4, "opd1_addr": any_of(*places), "tsk_opd_num": 2}
        if any_of(0, 1):  # one number of each channel
            values |= {"opd0_str": 3, "opd0_c_str": 1}
    return encoded(chip, mnemonic, **values)


def drawn(chip: Chip) -> Iterator[tuple[list[Command], Random]]:
    """Sums with a result of 32 bits, or none, and then commands of elements."""
    random = np.random.default_rng(7)
    lane = chip.geometry.lane_bytes
    for number in range(COUNT):
        commands: list[Command] = []
        # Of the largest ones a lane holds several channels, and blocks are some channels each.
        channels, width = (1, 5, 70, 130)[random.integers(4)], (1, 7, 40, 600)[random.integers(4)]
        shape: tuple[int, ...] = (1, channels, 1 if width == 1 else 3, width)
        places = [number * (lane // 8) for number in range(4)]
        if number % 3:
            case = window(chip, random, ("conv.normal", "pord.depthwise")[random.integers(2)])
            names = {shared: own for own, shared, _ in chip.named_fields(case.kind)}
            changes = {"res0_n": 1, "opd0_prec": 0, "opd1_prec": 0, "res0_prec": 4, "res_add": 0}
            at = (lane // 2, lane // 2, 0, 64)[random.integers(4)]  # or over the image
            changes |= {"res0_addr": at}
            descriptor = chip.encode(
                case.kind, case.descriptor, {names[name]: v for name, v in changes.items() if name in names}
            )
            commands.append((case.kind, descriptor))
            (result,) = chip.describe(case.kind, descriptor, 0, {}).results
            assert isinstance(result, View)
            shape, places = result.shape, [at, at, 0, lane // 4, 3 * (lane // 4)]
        stride = -(-shape[2] * shape[3] * 4 // 64) * 64  # from one channel of a lane to the next one
        places += [places[0] + 64 * int(random.integers(1, 8)), places[1] + stride, places[1] + lane // 16]
        commands += [following(chip, random, shape, places) for _ in range(random.integers(2, 7))]
        yield commands, random


def walk(name: str) -> Counter[str]:
    bench, seen = Bench(chip_named(name)), Counter[str]()
    chip = bench.chip
    for commands, random in drawn(chip):
        sizes = [len(descriptor) for _, descriptor in commands]
        payload = np.frombuffer(b"".join(descriptor for _, descriptor in commands), np.uint8)
        starts = np.cumsum([0, *sizes[:-1]])
        kinds = np.array([kind for kind, _ in commands], np.int32)
        every = EncodedCommands(kinds, starts.astype(np.int64), np.zeros(len(commands), np.int16), payload)
        lanes = bench.memory.local(0)
        lanes.reshape(-1)[...] = random.integers(0, 256, lanes.size, np.uint8)
        before, descriptions = bench.kept(), [chip.describe(kind, own, 0, {}) for kind, own in commands]
        try:
            for description in descriptions:
                chip.execute(description, bench.memory)
        except (TdbError, AttributeError, KeyError, ValueError):
            seen["refused"] += 1
            continue
        expected = bench.kept()
        for description, (_, descriptor) in zip(descriptions, commands, strict=True):
            for _ in range(2):
                chip.learn(description, descriptor)
        bench.restore(before)
        reached, steps = 0, 0
        while reached < len(commands):
            done = chip.carry_out_some(every, reached, len(commands), bench.memory)
            if done == reached:  # by itself
                chip.execute(descriptions[reached], bench.memory)
                seen["alone"] += 1
                done += 1
            else:
                seen["together"] += done - reached
            reached, steps = done, steps + 1
        for own, found in zip(expected, bench.all(), strict=True):
            assert np.array_equal(own, found), (name, descriptions)
    return seen


@pytest.mark.parametrize("name", ["BM1684X", "BM1688", "BM1690"])
def test_what_follows_each_other_leaves_what_each_one_does(name: str) -> None:
    seen = walk(name)
    assert min(seen["together"], seen["alone"]) > 50, seen


@pytest.mark.parametrize("name", ["BM1684X", "BM1688", "BM1690"])
def test_so_it_does_in_parts(name: str) -> None:
    with kernel.shared(3, worth=1):
        seen = walk(name)
    assert min(seen["together"], seen["alone"]) > 50, seen
