"""Plans of commands that no model has: with other switches, and sums that start from two numbers."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.contents import Random
from scripts.robustness.fuzz_simulator.seeds import Case
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.targets import kernel
from tests.targets.test_plans import CASES, NAMES, Bench, seed_of, walk

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="plans call the C kernel")

_TRIES = 12
_SWITCHED = 0.12
"""Share of the small fields of a command that get another number."""


def switched(case: Case, random: Random) -> Case:
    """The same command with other numbers in some of the fields that have few; itself where no try is legal."""
    chip, instruction = case.chip, case.instruction
    ids = {*chip.id_fields, *chip.dependency_fields}
    known = {name for name, _, width in chip.named_fields(case.kind) if width <= 3} - ids
    for _ in range(_TRIES):
        numbers = {name: int(random.integers(8)) for name in sorted(known) if random.random() < _SWITCHED}
        widths = {name: width for name, _, width in instruction.fields if name in numbers}
        masked = {name: number & ((1 << widths[name]) - 1) for name, number in numbers.items()}
        other = Case(chip, case.kind, instruction.encode(case.descriptor, **masked), case.registers)
        with suppress(TdbError, AttributeError, KeyError, ValueError):
            if chip.kind_of(other.engine, other.descriptor) == case.kind and not chip.illegal(other.description):
                return other
    return case


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_does_what_a_command_with_other_switches_does(name: str) -> None:
    seen = walk(name, CASES, seed=3, by_kernel=False, change=switched)
    assert seen["done"] > 2, seen


@pytest.mark.parametrize("bits", [8, 16])
def test_a_sum_of_integers_that_goes_on_from_an_earlier_one_and_a_bias(bits: int) -> None:
    """Of BM1684. Plans of integers start from one number."""
    fields = {"res_add": 1, "res0_prec": 0 if bits == 8 else 3, "right_shift": 0}
    case = seed_of("BM1684", "mm.mul", "si8", most=9, **fields)
    bench, operands = Bench(case.chip), case.description.binding.operands
    views = {role: view for role, view in operands.items() if isinstance(view, View)}
    for _ in range(2):
        for role, view in views.items():
            number = {"bias": 3, "old": 5}.get(role, 1)
            bench.memory.write(view, np.full(view.shape, number, view.dtype.bits_dtype))
        if not case.chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers):
            case.chip.execute(case.description, bench.memory)
        (result,) = case.description.results
        assert isinstance(result, View)
        inner = views["left"].shape[1]
        assert set(bench.memory.read(result).reshape(-1).tolist()) == {inner + 3 + 5}
