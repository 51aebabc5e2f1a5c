"""Bits of operands that have no effect: undefined ones are no fault, those next to them are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.sanitizers.shadow import Shadow
from tdb_dap.engine.sanitizers.uninitialized import Uninitialized
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.families import FAMILIES
from tdb_dap.tools.opening import open_debugger
from tests.samples import case

MODELS = ("act_sigmoid_tanh_bm1684_int8", "toy_bm1684_int8", "softmax_bm1684_f32")


def reading() -> Iterator[tuple[str, Command]]:
    """The commands of models that have operands with such bits."""
    for model in MODELS:
        for command in open_debugger(case(model).path).program.commands:
            if not command.is_system and command.description.unread:
                yield model, command


def operand(command: Command) -> tuple[View, int]:
    ((role, unread),) = command.description.unread.items()
    view = dict(zip(command.description.operand_roles, command.description.operands, strict=True))[role]
    assert isinstance(view, View)
    return view, unread


def test_every_family_with_such_bits_is_seen_here() -> None:
    seen = {command.description.family for _, command in reading()}
    assert all(chip.instruction_set.instructions for chip in chips().values())  # the families of all are loaded
    assert {family.name for family in FAMILIES.values() if family.unread} == seen


@pytest.mark.parametrize("model", MODELS)
def test_they_have_no_effect_and_the_others_have(model: str) -> None:
    debugger = open_debugger(case(model).path)
    memory, random = debugger.machine.memory, np.random.default_rng(5)

    def computed(command: Command, words: Array, view: View) -> Array:
        memory.write(view, words)
        command.target.execute(command.description, memory)
        (result,) = command.description.results
        assert isinstance(result, View)
        return memory.read(result)

    for command in debugger.program.commands:
        if command.is_system or not command.description.unread:
            continue
        view, unread = operand(command)
        for table in command.description.operands:
            if isinstance(table, View):
                memory.write(table, random.integers(0, 1 << 30, table.shape, np.uint32))
        words = random.integers(0, 1 << 32, view.shape, np.uint32)
        noise = random.integers(0, 1 << 32, view.shape, np.uint32)
        expected = computed(command, words, view)
        np.testing.assert_array_equal(computed(command, words ^ (noise & np.uint32(unread)), view), expected)
        assert (computed(command, words ^ np.uint32(~unread & 0xFFFFFFFF), view) != expected).any()


def test_marks_in_them_are_passed_and_marks_next_to_them_are_followed() -> None:
    debugger = open_debugger(case(MODELS[0]).path, history_limit=0)
    shadow, (_, command) = Shadow(debugger.program, keeps_history=False), next(reading())
    view, unread = operand(command)
    observer = Uninitialized()
    observer.next_look(debugger.inspector)
    for other in command.description.reads:
        if isinstance(other, View):
            shadow.put(other, None)
    for mark, passes in ((0x00000000, True), (0xFEFEFE00, True), (0xFE000000, True), (0x000000FE, False)):
        assert passes == (mark & ~unread == 0)
        shadow.put(view, np.full(view.shape, mark, np.uint32))
        assert observer._carry_ahead(debugger.inspector, shadow, command.ordinal)[0] == passes
