"""What if a command were another one: fields of commands are changed for one run, and the program stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.machine.what_if import change_field, consequences
from tdb_dap.errors import BadExpression
from tests.conftest import Toy
from tests.known import view_of

POOLING = 5


@pytest.fixture
def debugger(toy: Toy) -> Debugger:
    opened = tdb_dap.open(toy.directory, inputs=toy.inputs, reference=toy.reference)
    opened.travel(POOLING)
    return opened


def test_another_address_is_written_and_known_to_who_and_to_watches(debugger: Debugger) -> None:
    machine = debugger.machine
    command = debugger.program.commands[POOLING]
    result = view_of(*command.results)
    debugger.run()
    expected = debugger.outputs()
    debugger.travel(POOLING)
    moved = command.fields["res0_addr"] + 0x4000
    change_field(machine, POOLING, "res0_addr", moved)
    elsewhere = view_of(*machine.command_at(POOLING).results)
    assert elsewhere.address == result.address + 0x4000
    assert debugger.program.commands[POOLING].results == (result,)
    watch = debugger.breakpoints.add(f"data:{ByteRanges.of(elsewhere).text}:write", hit="1")
    before = debugger.read(result)
    stop = debugger.run()
    assert (stop.reason, stop.ordinal, stop.breakpoints) == ("breakpoint", POOLING + 1, (watch,))
    assert np.array_equal(debugger.read(result), before)
    assert debugger.inspector.who_wrote(elsewhere) == POOLING
    assert debugger.inspector.who_wrote(result) != POOLING
    debugger.breakpoints.remove(watch)
    debugger.run()
    assert any(not np.array_equal(debugger.outputs()[name], array) for name, array in expected.items())
    debugger.undo_edit()
    assert (debugger.ordinal, machine.edits) == (POOLING, ())
    debugger.run()
    for name, array in expected.items():
        assert np.array_equal(debugger.outputs()[name], array)


def test_what_follows_is_told_without_going_anywhere(debugger: Debugger) -> None:
    machine = debugger.machine
    memory = machine.memory.local().copy()
    with pytest.raises(BadExpression, match="nothing has been changed"):
        consequences(machine, 10)
    field = next(name for name in debugger.program.commands[POOLING].fields if name == "opd1_h")
    change_field(machine, POOLING, field, 1)
    found = consequences(machine, len(debugger.program.commands))
    assert found[0].ordinal == POOLING
    assert 0 < found[0].different <= found[0].size
    assert found[-1].ordinal == len(debugger.program.commands) - 1
    assert machine.ordinal == POOLING
    assert np.array_equal(machine.memory.local(), memory)
    assert len(machine.edits) == 1


def test_a_field_changed_to_what_it_is_changes_nothing(debugger: Debugger) -> None:
    change_field(debugger.machine, POOLING, "opd1_h", 2)
    assert consequences(debugger.machine, 20) == []


def test_a_changed_command_ahead_waits_for_its_turn_and_goes_with_its_moment(debugger: Debugger) -> None:
    machine = debugger.machine
    change_field(machine, 8, "res0_addr", debugger.program.commands[8].fields["res0_addr"] + 64)
    debugger.travel(20)
    assert machine.command_at(8).descriptor != debugger.program.commands[8].descriptor
    debugger.travel(POOLING)
    assert machine.changed_commands == {8}
    debugger.travel(POOLING - 1)
    assert machine.changed_commands == frozenset()
    with pytest.raises(BadExpression, match="has been executed"):
        change_field(machine, 0, "res0_addr", 0)
    with pytest.raises(BadExpression, match="no field 'res0_adr'; it has res0_addr"):
        change_field(machine, POOLING, "res0_adr", 0)
