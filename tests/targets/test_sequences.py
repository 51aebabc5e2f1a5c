"""Commands that follow each other: together they leave what each one by itself does, however their operands overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.contents import Random
from tdb_dap.engine.hardware.dtypes import F32, Array
from tdb_dap.engine.hardware.target import Description, EncodedCommands, Watched
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tests.targets.commands import chip_named, encoded
from tests.targets.test_planned_windows import window
from tests.targets.test_plans import Bench

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())

COUNT = 120
"""Sequences that are drawn for each chip."""
WHOLE = ("adds", "adds", "add_satu", "add_satu", "subs", "sub_satu", "add", "muls", "max", "rq1", "rq0", "rq0")
FLOATS = ("add", "sub", "mul", "max", "min", "copy")
"""Operations on words of 32 bits, the usual ones more often; each chip has some of them."""
SUMS = ("conv.normal", "pord.depthwise")
FLOAT_SUMS = (*SUMS, "pord.avgpooling", "pord.maxpooling")

Command = tuple[int, bytes]


def following(chip: Chip, random: Random, shape: tuple[int, ...], places: list[int], precision: int) -> Command:
    """A command of elements on a tensor of this shape, which begins, as its result does, at one of some places.

    ``precision``: of words of 32 bits, 4: whole numbers, 2: floats.
    """

    def any_of(*among: Any) -> Any:
        return among[random.integers(len(among))]

    known = {i.mnemonic for i in chip.instruction_set.instructions}
    operations = [f"{'quant' if name[0] == 'r' else 'arith'}.{name}" for name in (WHOLE if precision == 4 else FLOATS)]
    mnemonic = any_of(*[operation for operation in operations if operation in known])
    narrow = any_of(0, 0, 3)
    values = dict(zip(("res0_n", "res0_c", "res0_h", "res0_w"), shape, strict=True))
    values |= {"opd0_addr": any_of(*places), "res0_addr": any_of(*places), "opd0_sign": 1, "opd1_sign": 1}
    values |= {"opd0_prec": precision, "opd1_prec": precision, "res0_prec": precision}
    values |= {"opd2_n_str": any_of(0, 1, 2, 4, 5), "res0_sign": any_of(0, 1), "sym_range": any_of(0, 1)}
    if mnemonic == "quant.rq1":
        values |= {"opd1_addr": any_of(*places), "res0_prec": narrow}
    elif mnemonic == "quant.rq0":  # a number, shift and zero point for all
        values |= {"opd1_const": 1, "opd1_addr": any_of(0, 1, 3, 0x1234, 0x7FFFFFFF, 0xFFFFFFF0), "res0_prec": narrow}
        values |= {"opd2_addr": any_of(0, 5) << 8 | any_of(0, 0xFF, 0xF8, 0xF0, 0xE2, 0xDF), "opd2_const": 1}
    else:
        values |= {"opd1_addr": any_of(*places), "tsk_opd_num": 2}
        if any_of(0, 1):  # one number of each channel
            values |= {"opd0_str": 3, "opd0_c_str": 1}
    return encoded(chip, mnemonic, **values)


def summing(chip: Chip, random: Random, precision: int, at: int) -> Command:
    """Sums of bytes with a result of 32 bits, or of floats."""
    names = SUMS if precision == 4 else FLOAT_SUMS
    case = window(chip, random, names[random.integers(len(names))])
    own = {shared: own for own, shared, _ in chip.named_fields(case.kind)}
    factors = 0 if precision == 4 else precision
    changes = {"res0_n": 1, "opd0_prec": factors, "opd1_prec": factors, "res0_prec": precision, "res_add": 0}
    if precision == 2 and chip.fields(case.kind, case.descriptor).get(own.get("opd1_const", "")):
        changes |= {"opd1_addr": 0x3F800000}
    changes = {own[name]: value for name, value in (changes | {"res0_addr": at}).items() if name in own}
    return case.kind, chip.encode(case.kind, case.descriptor, changes)


def drawn(chip: Chip) -> Iterator[tuple[list[Command], Random]]:
    """Sums with a result of 32 bits, or none, and then commands of elements."""
    random = np.random.default_rng(7)
    lane = chip.geometry.lane_bytes
    for number in range(COUNT):
        commands: list[Command] = []
        precision = (4, 4, 2)[random.integers(3)]
        # Of the largest ones a lane holds several channels, and blocks are some channels each.
        channels, width = (1, 5, 70, 130)[random.integers(4)], (1, 7, 40, 600)[random.integers(4)]
        shape: tuple[int, ...] = (1, channels, 1 if width == 1 else 3, width)
        places = [number * (lane // 8) for number in range(4)]
        if number % 3:
            at = (lane // 2, lane // 2, 0, 64)[random.integers(4)]  # or over the image
            commands.append(summing(chip, random, precision, at))
            (result,) = chip.describe(*commands[0], 0, {}).results
            assert isinstance(result, View)
            shape, places = result.shape, [at, at, 0, lane // 4, 3 * (lane // 4)]
        stride = -(-shape[2] * shape[3] * 4 // 64) * 64  # from one channel of a lane to the next one
        places += [places[0] + 64 * int(random.integers(1, 8)), places[1] + stride, places[1] + lane // 16]
        commands += [following(chip, random, shape, places, precision) for _ in range(random.integers(2, 7))]
        yield commands, random


_SHIFTS = 1 << 18
"""Beginnings of what is taken of a pool, in words."""


@cache
def pool(kind: str, count: int) -> Array:
    """Words of 32 bits, more than ``count`` of them: drawing as many for each sequence would take most of the time."""
    random, size = np.random.default_rng(11), count + _SHIFTS
    if kind == "bytes":
        return random.integers(0, 256, 4 * size, np.uint8).view(np.int32)
    if kind == "floats":
        return random.standard_normal(size, np.float32).view(np.int32)
    if kind == "steps":  # a multiplier, and a shift to the right
        steps = np.empty((size // 2, 2), np.int32)
        steps[:, 0], steps[:, 1] = random.integers(1, 1 << 31, len(steps)), random.integers(220, 256, len(steps))
        return steps.reshape(-1)
    near = random.choice([0, (1 << 31) - 1, -(1 << 31)], size, p=[0.9, 0.05, 0.05])
    near = near - np.sign(near) * random.integers(0, 1 << 18, size)
    return (near + random.integers(-9, 9, size) * (near == 0)).astype(np.int32)


def taken(kind: str, count: int, random: Random) -> Array:
    """So many words of a pool, from anywhere on."""
    first = 2 * int(random.integers(_SHIFTS // 2))
    return pool(kind, count)[first : first + count]


def filled(lanes: Array, random: Random) -> None:
    """Any bytes, or floats whose sums are finite but for a few of them."""
    words = lanes.reshape(-1).view(np.int32)
    if random.integers(2):
        words[...] = taken("bytes", words.size, random)
        return
    words[...] = taken("floats", words.size, random)
    if random.integers(4) == 0:
        words.view(np.float32)[random.integers(0, words.size, 50)] = np.float32("nan")


def one_by_one(bench: Bench, commands: list[Command], made: list[bool] | None = None) -> list[Description]:
    """Execute each command by itself. ``made`` receives whether it has left a NaN in a result of float32."""
    descriptions = [bench.chip.describe(kind, own, 0, {}) for kind, own in commands]
    for description in descriptions:
        bench.chip.execute(description, bench.memory)
        (result,) = description.results
        if made is not None and isinstance(result, View):
            made.append(result.dtype is F32 and bool(np.isnan(F32.decode(bench.memory.read(result))).any()))
    return descriptions


def joined(commands: list[Command]) -> EncodedCommands:
    sizes = [len(descriptor) for _, descriptor in commands]
    payload = np.frombuffer(b"".join(descriptor for _, descriptor in commands), np.uint8)
    starts = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    kinds = np.array([kind for kind, _ in commands], np.int32)
    return EncodedCommands(kinds, starts, np.zeros(len(commands), np.int16), payload)


def carried_out(
    bench: Bench, commands: list[Command], descriptions: list[Description], before: list[Array]
) -> Counter[str]:
    """How many commands ran together, or alone: they leave what was left by each one by itself.

    ``before``: the memories as they were then.
    """
    chip, expected, seen, every = bench.chip, bench.kept(), Counter[str](), joined(commands)
    bench.restore(before)
    reached = 0
    while reached < len(commands):
        done = chip.carry_out_some(every, reached, len(commands), bench.memory)
        seen["together"] += done - reached
        if done == reached:  # by itself
            chip.execute(descriptions[reached], bench.memory)
            seen["alone"] += 1
            done += 1
        reached = done
    for own, found in zip(expected, bench.all(), strict=True):
        assert np.array_equal(own, found), (chip.name, descriptions)
    return seen


def walk(name: str) -> Counter[str]:
    bench, seen = Bench(chip_named(name)), Counter[str]()
    for commands, random in drawn(bench.chip):
        filled(bench.memory.local(0), random)
        before = bench.kept()
        try:
            descriptions = one_by_one(bench, commands)
        except (TdbError, AttributeError, KeyError, ValueError):
            seen["refused"] += 1
            continue
        seen += carried_out(bench, commands, descriptions, before)
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


@pytest.mark.parametrize("name", ["BM1684X", "BM1688", "BM1690"])
def test_a_run_ends_after_the_first_command_that_leaves_a_nan_where_it_is_watched(name: str) -> None:
    bench, seen = Bench(chip_named(name)), Counter[str]()
    for commands, random in drawn(bench.chip):
        filled(bench.memory.local(0), random)
        words = bench.memory.local(0).reshape(-1).view(np.float32)
        words[random.integers(0, words.size, words.size // 2000)] = np.float32("nan")
        before, made = bench.kept(), list[bool]()
        try:
            descriptions = one_by_one(bench, commands, made)
        except (TdbError, AttributeError, KeyError, ValueError):
            continue
        chip, expected, every = bench.chip, bench.kept(), joined(commands)
        results = [description.results[0] for description in descriptions]
        is_float = [isinstance(view, View) and view.dtype is F32 for view in results]
        watched = Watched((np.array(is_float) & (random.integers(4, size=len(results)) > 0)).astype(np.int8))
        bench.restore(before)
        reached = 0
        while reached < len(commands):
            done = chip.carry_out_watched(every, reached, len(commands), bench.memory, watched)
            hits = [number for number in range(reached, done) if watched.formats[number] and made[number]]
            assert hits == ([done - 1] if watched.is_found else []), (name, descriptions)
            seen["found" if hits else "clean" if done > reached else "alone"] += 1
            if done == reached:
                chip.execute(descriptions[reached], bench.memory)
                done += 1
            reached = done
        for own, found in zip(expected, bench.all(), strict=True):
            assert np.array_equal(own, found), (name, descriptions)
    assert min(seen["found"], seen["clean"]) > 20, seen


def test_shifts_that_the_command_before_computes() -> None:
    """Whether they are too large for 64 bits is known when they are there."""
    bench = Bench(chip_named("BM1684X"))
    chip, lanes = bench.chip, bench.chip.geometry.lanes
    words = bench.memory.local(0).view(np.int32).reshape(lanes, -1)
    one, other, steps, numbers, result = (4096 * place for place in range(1, 6))
    words[:, one // 4] = 100
    words[:, steps // 4] = 3  # multiplier; the shift, a byte after it, is 0 so far
    words[:, numbers // 4] = 0x1234
    alike = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_sign": 1, "res0_prec": 0}
    places = {"tsk_opd_num": 2, "opd0_addr": one, "opd1_addr": other, "res0_addr": steps + 4}
    commands = [encoded(chip, "arith.add", **alike, **places)]  # of bytes
    scaled = {"opd0_prec": 4, "opd0_addr": numbers, "opd1_addr": steps, "res0_addr": result}
    commands.append(encoded(chip, "quant.rq1", **alike, **scaled))
    before = bench.kept()
    descriptions = one_by_one(bench, commands)
    assert words[0, steps // 4 + 1] & 0xFF == 100
    assert carried_out(bench, commands, descriptions, before)["alone"] == 1


def biased(chip: Chip, random: Random) -> list[Command]:
    """A convolution, biases added to its sums where they are, or something like that, and a cut to bytes."""

    def usually(this: Any, *others: Any) -> Any:
        return this if random.integers(6) else others[random.integers(len(others))]

    lane = chip.geometry.lane_bytes
    sums, numbers = lane // 2, 3 * (lane // 4)
    where = usually(sums, sums + 64)
    channels, height, width = (
        int(random.choice([1, 5, 16, 40, 70])),
        int(random.integers(1, 9)),
        int(random.integers(1, 40)),
    )
    shape = {"res0_n": 1, "res0_c": channels, "res0_h": height, "res0_w": width}
    signs = {"opd0_sign": int(random.integers(2)), "opd1_sign": int(random.integers(2))}
    kernel_, inner = int(random.choice([1, 3])), int(random.choice([1, 3, 17]))
    image = {"opd0_c": inner, "opd0_h": height, "opd0_w": width, "opd1_h": kernel_, "opd1_w": kernel_}
    pads = dict.fromkeys(("opd0_up_pad", "opd0_dn_pad", "opd0_lf_pad", "opd0_rt_pad"), kernel_ // 2)
    steps = {
        "opd2_const": 1,
        "opd3_const": 1,
        "res_op_x_str": 1,
        "res_op_y_str": 1,
        "opd1_addr": lane // 4,
        "res0_addr": sums,
    }
    summed = encoded(
        chip, "conv.normal", **shape, **signs, **image, **pads, **steps, res0_prec=4, res_add=usually(0, 1)
    )
    words = dict.fromkeys(("opd0_prec", "opd1_prec", "res0_prec"), 4) | {"opd0_sign": 1, "opd1_sign": 1}
    places = {"opd0_addr": numbers, "opd1_addr": usually(sums, numbers + lane // 16), "res0_addr": where}
    by_channel = {"tsk_opd_num": 2, "opd0_str": 3, "opd0_c_str": 1}
    name = usually(("arith.adds", "arith.add")[random.integers(2)], "arith.subs", "arith.max", "arith.muls")
    added = encoded(chip, name, **shape, **words, **places, **by_channel)
    cut = {"opd0_prec": 4, "opd0_sign": 1, "opd2_n_str": int(random.integers(6)), "res0_sign": int(random.integers(2))}
    cut |= {"opd1_addr": numbers + lane // 8, "opd0_addr": where}
    return [summed, added, encoded(chip, "quant.rq1", **shape, **cut, res0_addr=0)]


def test_a_number_is_added_to_the_sums_of_each_channel_where_they_are() -> None:
    """As the compiler adds biases; some sums leave 32 bits, and wrap, or stop at the last number that these hold."""
    bench, random, seen = Bench(chip_named("BM1684X")), np.random.default_rng(3), Counter[str]()
    lanes = bench.memory.local(0)
    words = lanes.view(np.int32)[:, 3 * bench.chip.geometry.lane_bytes // 16 :]
    steps = words[:, bench.chip.geometry.lane_bytes // 32 :].reshape(len(words), -1, 2)
    for _ in range(200):
        commands = biased(bench.chip, random)
        lanes[...] = taken("bytes", lanes.size // 4, random).view(np.uint8).reshape(lanes.shape)
        words[...] = taken("near the ends", words.size, random).reshape(words.shape)
        steps[...] = taken("steps", steps.size, random).reshape(steps.shape)
        before = bench.kept()
        with kernel.shared(3, worth=1):
            seen += carried_out(bench, commands, one_by_one(bench, commands), before)
    assert seen["together"] > 500, seen


def test_what_goes_beside_sums_that_are_not_known_is_done_once() -> None:
    """Which NaN comes out is not known to a plan: the convolution is executed again, the concurrent sum is not."""
    bench = Bench(chip_named("BM1684X"))
    chip, lane = bench.chip, bench.chip.geometry.lane_bytes
    numbers = bench.memory.local(0).view(np.float32)
    shape = {"res0_n": 1, "res0_c": 40, "res0_h": 8, "res0_w": 40}
    floats = dict.fromkeys(("opd0_prec", "opd1_prec", "res0_prec"), 2)
    image = {"opd0_c": 3, "opd0_h": 8, "opd0_w": 40, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1}
    constants = {"opd1_addr": lane // 8, "opd2_const": 1, "opd3_const": 1}
    summed = encoded(chip, "conv.normal", **shape, **floats, **image, **constants, res0_addr=lane // 4)
    places = {"opd0_addr": lane // 2, "opd1_addr": 3 * (lane // 4), "res0_addr": lane // 2, "tsk_opd_num": 2}
    commands = [summed, encoded(chip, "arith.add", **shape | {"res0_c": 39}, **floats, **places)]
    numbers[...] = 1.0
    numbers[:, 5] = np.float32("nan")
    before = bench.kept()
    with kernel.shared(2, worth=1):
        seen = carried_out(bench, commands, one_by_one(bench, commands), before)
    assert numbers[0, lane // 8] == 2.0
    assert seen == {"together": 1, "alone": 1}


def test_sums_of_windows_over_their_own_image_read_all_of_it_first() -> None:
    """A lane holds two channels: what the first one sums up is where the second one's image is."""
    bench, random = Bench(chip_named("BM1684X")), np.random.default_rng(4)
    chip, lanes = bench.chip, bench.memory.local(0)
    lane = chip.geometry.lane_bytes
    size = {"res0_n": 1, "res0_c": 70, "res0_h": 40, "res0_w": 100, "opd0_c": 70, "opd0_h": 40, "opd0_w": 100}
    size |= {"opd1_h": 3, "opd1_w": 3, "res_op_x_str": 1, "res_op_y_str": 1, "res0_prec": 4}
    size |= dict.fromkeys(("opd0_up_pad", "opd0_dn_pad", "opd0_lf_pad", "opd0_rt_pad"), 1)
    places = {"opd0_addr": 0, "opd1_addr": lane // 2, "res0_addr": 0, "opd2_const": 1, "opd3_const": 1}
    commands = [encoded(chip, "pord.depthwise", **size, **places, opd0_sign=1, opd1_sign=1)]
    lanes[...] = random.integers(0, 256, lanes.shape, np.uint8)
    before = bench.kept()
    for threads in (1, 3):
        bench.restore(before)
        descriptions = one_by_one(bench, commands)
        with kernel.shared(threads, worth=1):
            assert carried_out(bench, commands, descriptions, before) == {"together": 1}
