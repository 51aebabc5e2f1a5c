"""Convolutions and windows of each channel: a plan does what the command does, for windows of every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.contents import Random
from scripts.robustness.fuzz_simulator.seeds import Case
from tdb_dap.engine.hardware.dtypes import F16, Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tests.targets.commands import chip_named, encoded
from tests.targets.test_plans import NAMES, Bench

CASES = 120
"""Windows that are drawn for each chip."""
KINDS = ("conv.normal", "pord.depthwise", "pord.avgpooling", "pord.maxpooling")
NUMBERS = ("finite", "subnormal", "extreme", "special")
LARGEST = 1 << 15
NO_INDEX = 0xFFFFFFFF
WITHOUT_WINDOWS = {"BM1684", "CV180X", "CV181X", "CV182X", "CV183X"}
"""Chips whose windows are commands of other forms, see test_cv18xx_plans."""

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="plans call the C kernel")


def window(chip: Chip, random: Random, mnemonic: str) -> Case:
    """A command with windows of any shape, padding, steps and formats, on tensors that begin in any lane."""

    def any_of(*values: int) -> int:
        return values[random.integers(len(values))]

    size, steps = (any_of(1, 2, 3, 5), any_of(1, 2, 3)), (any_of(1, 1, 2, 3), any_of(1, 1, 2, 3))
    inserted, dilation = (any_of(0, 0, 0, 1), any_of(0, 0, 0, 2)), (any_of(0, 0, 1), any_of(0, 0, 1))
    pads = [any_of(0, 0, 1, 2) for _ in range(4)]
    image = any_of(1, 4, 7, 12, 19), any_of(1, 3, 8, 14, 35)
    result = [
        ((extent - 1) * (more + 1) + 1 + before + after - (taps - 1) * (wide + 1) - 1) // step + 1
        for extent, more, before, after, taps, wide, step in zip(
            image, inserted, pads[::2], pads[1::2], size, dilation, steps, strict=True
        )
    ]
    channels = any_of(1, 3, 8, 31, 33, 64, 65, 70)
    outputs = any_of(1, 5, 16, 63, 64, 66) if mnemonic == "conv.normal" else channels
    precision = any_of(0, 0, 1, 2, 2, 5)
    is_whole, sign = precision == 0, any_of(0, 1)
    result_precision = (
        any_of(0, 3, 4) if is_whole and mnemonic != "pord.maxpooling" else any_of(precision, precision, 2)
    )
    lane = chip.geometry.lane_bytes
    values = {
        "res0_n": any_of(1, 1, 2),
        "res0_c": outputs,
        "res0_h": max(1, result[0]),
        "res0_w": max(1, result[1]),
        "opd0_c": channels,
        "opd0_h": image[0],
        "opd0_w": image[1],
        "opd1_h": size[0],
        "opd1_w": size[1],
        "opd0_y_ins0": inserted[0],
        "opd0_x_ins0": inserted[1],
        "opd1_y_ins0": dilation[0],
        "opd1_x_ins0": dilation[1],
        "res_op_y_str": steps[0],
        "res_op_x_str": steps[1],
        "opd0_up_pad": pads[0],
        "opd0_dn_pad": pads[1],
        "opd0_lf_pad": pads[2],
        "opd0_rt_pad": pads[3],
        "opd0_prec": precision,
        "opd1_prec": precision,
        "res0_prec": result_precision,
        "opd0_sign": sign,
        "opd1_sign": any_of(0, 1),
        "opd2_sign": any_of(0, 1),
        "res0_sign": any_of(0, 1),
        "opd2_prec": any_of(2, precision),
        "kernel_rotate": any_of(0, 0, 1),
        "res_add": any_of(0, 0, 1),
        "opd1_const": any_of(0, 0, 0, 0, 0, 1),
        "opd2_const": any_of(0, 1),
        "opd3_const": any_of(0, 1, 1, 1, 1, 1, 1),
        "opd2_n_str": any_of(0, 1, 2, 3, 4),
        "opd4_const": 1,
        "opd5_const": 1,
    }
    if precision in (1, 5) and chip.rules is not None and chip.rules.halves_by_sign:  # both formats have one code
        values |= {name: 1 for name, code in values.items() if name.endswith("_prec") and code == 5}
        values |= dict.fromkeys(("opd0_sign", "opd1_sign", "opd2_sign", "res0_sign"), int(precision == 5))
    lanes = [any_of(0, 0, 0, 1, chip.geometry.lanes - 1) for _ in range(4)]
    for number, name in enumerate(("opd0", "opd1", "res0")):
        values[f"{name}_addr"] = lanes[number] * lane + number * (lane // 4)
    values["opd2_addr"] = 0 if values["opd2_const"] and random.integers(2) else 3 * (lane // 4)
    one = {0: 1, 1: 0x3C00, 2: 0x3F800000, 5: 0x3F80}[precision]
    values["opd3_addr"] = any_of(0, 0, one) if values["opd3_const"] else 3 * (lane // 4) + lane // 8
    values["res1_addr"] = any_of(values["opd3_addr"], values["opd3_addr"], values["opd3_addr"], 0xFE)
    if values["opd1_const"]:
        values["opd1_addr"] = any_of(one, 3)
    if mnemonic == "pord.avgpooling":
        values |= {"opd1_const": 1, "opd1_addr": one, "opd2_addr": any_of(0, 3)}
    if mnemonic == "pord.maxpooling":  # no position is stored
        values |= {"opd2_const": 1, "opd2_addr": NO_INDEX, "relu": 0}
    return Case(chip, *encoded(chip, mnemonic, **values))


def drawn(name: str) -> Iterator[tuple[Case, Random]]:
    random, chip = np.random.default_rng(0), chip_named(name)
    known = {instruction.mnemonic for instruction in chip.instruction_set.instructions}
    kinds = [kind for kind in KINDS if kind in known]
    for number in range(CASES):
        try:
            yield window(chip, random, kinds[number % len(kinds)]), random
        except (TdbError, KeyError, ValueError, OverflowError):
            continue


def walk(name: str) -> Counter[str]:
    """Execute each command, and carry it out by its plan from the same bytes; how often that was done."""
    bench, seen = Bench(chip_named(name)), Counter[str]()
    for case, random in drawn(name):
        chip = case.chip
        try:
            views = [each for each in (*case.description.reads, *case.description.results) if isinstance(each, View)]
            if max(each.size for each in views) > LARGEST:
                continue
            for numbers in NUMBERS:
                bench.fill(case.description, random, numbers)
                before = bench.kept()
                with kernel.switched(False):  # NumPy's results are the definition
                    chip.execute(case.description, bench.memory)
                expected = bench.kept()
                bench.restore(before)
                if not chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers):
                    seen[f"left {case.name}"] += 1
                    assert is_same(bench.all(), before), case.description
                    break
                seen[case.name] += 1
                assert is_same(bench.all(), expected), (name, case.name, numbers, case.description)
        except (TdbError, AttributeError, KeyError, ValueError):
            seen["refused"] += 1
    return seen


def test_subnormals_of_a_bias_are_zeros_where_those_of_f16_are() -> None:
    """Sums around the smallest normal number differ by them."""
    chip, random = chip_named("BM1684X2"), np.random.default_rng(1)
    size = {"res0_n": 1, "res0_c": 5, "res0_h": 6, "res0_w": 6, "opd0_c": 5, "opd0_h": 8, "opd0_w": 8}
    steps = {"opd1_h": 3, "opd1_w": 3, "res_op_y_str": 1, "res_op_x_str": 1, "opd3_const": 1}
    steps |= {"opd4_const": 1, "opd5_const": 1}
    formats = dict.fromkeys(("opd0_prec", "opd1_prec", "opd2_prec", "res0_prec"), 1)
    addresses = {"opd1_addr": 0x10000, "opd2_addr": 0x20000, "res0_addr": 0x30000}
    case = Case(chip, *encoded(chip, "pord.depthwise", **size, **steps, **formats, **addresses))
    bench, operands = Bench(chip), case.description.binding.operands
    for role, exponent in (("input", -7), ("kernel", -7), ("bias", -17)):
        view = operands[role]
        assert isinstance(view, View)
        bench.memory.write(view, F16.encode(random.standard_normal(view.shape) * 2.0**exponent))
    before = bench.kept()
    with kernel.switched(False):
        chip.execute(case.description, bench.memory)
    expected = bench.kept()
    bench.restore(before)
    assert chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers)
    assert is_same(bench.all(), expected)


def is_same(memories: Sequence[Array], others: Sequence[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(memories, others, strict=True))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_WINDOWS])
def test_windows_of_every_kind(name: str) -> None:
    seen = walk(name)
    assert sum(seen[kind] for kind in KINDS) > 3, seen


@pytest.mark.parametrize("name", ["BM1684X", "BM1690"])
def test_windows_in_parts(name: str) -> None:
    with kernel.shared(3, worth=1):
        seen = walk(name)
    assert sum(seen[kind] for kind in KINDS) > 3, seen


@pytest.mark.parametrize("name", ["BM1684X", "BM1690"])
def test_windows_that_can_be_interrupted(name: str) -> None:
    with kernel.shared(3, worth=1, part=1):
        seen = walk(name)
    assert sum(seen[kind] for kind in KINDS) > 3, seen
