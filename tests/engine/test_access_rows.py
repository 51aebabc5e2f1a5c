"""The table of all accesses: what is derived from other commands of a form is what the description says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.target import Moving
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program import access_table
from tdb_dap.engine.program.access_table import CHOSEN, MOVED, AccessRows
from tdb_dap.engine.program.program import Program
from tdb_dap.tools.programs import open_program
from tests.samples import Case, case, cases, typical

COLUMNS = ("ordinal", "space", "core", "start", "stop", "lane", "lane_stop", "is_write")


class _Nobody:
    """No chip is one of these: every command is described."""


def views(rows: AccessRows) -> list[View]:
    return [rows.views[view] for view in rows.view.tolist()]


def is_idle(command: Command) -> bool:
    """Whether a command that moves words moves one element onto itself."""
    description = command.description
    operands = [operand for operand in (*description.reads, *description.results) if isinstance(operand, View)]
    places = {(view.space, view.core, view.address, view.dtype) for view in operands if view.size == 1}
    return len(operands) == 2 and len(places) == 1 and all(view.size == 1 for view in operands)


def is_move(command: Command) -> bool:
    if not command.has_descriptor or command.is_system:
        return False
    target = command.target
    return isinstance(target, Moving) and target.is_move(command.description)


def test_commands_that_pass_time_are_idle() -> None:
    program = open_program(case("toy_bm1688_f16").path)
    assert len(program.access_rows.idle) == 4
    assert all(program.commands[ordinal].name == "arith.copy" for ordinal in program.access_rows.idle)


def test_words_of_a_table_are_chosen_and_others_computed() -> None:
    program = open_program(case("softmax_bm1684_f32").path)
    words = program.access_rows.words
    assert sum(command.name == "lut" for command in program.commands) == 4
    for command in program.commands:
        if command.has_descriptor and command.engine == "tiu":
            chosen, moved = command.name == "lut", is_move(command)
            assert words[command.ordinal] == (CHOSEN if chosen else MOVED if moved else 0), command.asm


@pytest.mark.parametrize("of", typical(cases()), ids=lambda c: c.name)
def test_rows_by_form_are_those_by_description(of: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    program: Program = open_program(of.path)
    # Twice: all forms are known the second time, and every command that has one is described by another.
    AccessRows.of(program.commands)
    derived: Any = AccessRows.of(program.commands)
    monkeypatch.setattr(access_table, "Forming", _Nobody)
    described: Any = AccessRows.of(program.commands)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(derived, column), getattr(described, column))
    assert derived.undefined == described.undefined
    moves = [command for command in program.commands if is_move(command)]
    for rows in (derived, described):
        assert np.flatnonzero(rows.words == MOVED).tolist() == [command.ordinal for command in moves]
        assert rows.idle == {command.ordinal for command in moves if is_idle(command)}
    assert views(derived) == views(described)
    assert [view.core for view in views(derived)] == [view.core for view in views(described)]
    for ordinal in np.unique(derived.ordinal).tolist():
        mine = derived.of_command(ordinal)
        assert set(derived.ordinal[mine.start : mine.stop].tolist()) == {ordinal}
        keys = [derived.views.key(int(derived.view[row])) for row in mine]
        same = [derived.views[int(derived.view[row])] for row in mine]
        assert [[a == b for b in keys] for a in keys] == [[a == b for b in same] for a in same]
