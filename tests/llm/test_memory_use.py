"""Memory of an answer: what is read is not copied, what is over is given back, and nothing else changes."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.commands import commands
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, give_back, zeros
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.targets.declaration.instruction_set import InstructionSet
from tdb_dap.targets.semantics import execute, matrix
from tdb_dap.tools.llm.running import Answering, run_to
from tests.llm.models import PROMPT, QWEN, STATIC, program


class Watched:
    """A memory that takes down which views are copied, by those who want a copy and for want of anything else."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.copied: list[View] = []

    def read(self, view: View) -> Array:
        self.copied.append(view)
        return self.memory.read(view)

    def peek(self, view: View) -> Array:
        words = self.memory.peek(view)
        if not np.shares_memory(words, self.memory.bytes_at(view.space, view.address, 1, view.core)):
            self.copied.append(view)
        return words

    def write(self, view: View, bits: Array) -> None:
        self.memory.write(view, bits)


def opened(made: LinkedProgram) -> Debugger:
    return Debugger(made, Machine(made, history_limit=0), None)


def test_the_table_of_embeddings_is_not_copied() -> None:
    _, made = program(QWEN)
    debugger = opened(made)
    found = next(command for command in made.commands if command.name == "gdma.gather")
    run_to(debugger, found.ordinal)
    memory = Watched(debugger.machine.memory)
    made.commands.target_at(0, found.ordinal).execute(found.description, memory)
    table, _ = (view for view in found.operands if isinstance(view, View))
    assert table not in memory.copied
    rows = debugger.machine.read(table).reshape(-1, 64)
    taken = debugger.machine.read(next(view for view in found.results if isinstance(view, View)))
    assert np.array_equal(taken.reshape(-1, 64)[: len(PROMPT)], rows[list(PROMPT)])


@pytest.mark.parametrize("folder", STATIC, ids=lambda folder: folder.name)
def test_computing_in_pieces_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[list[bytes]] = []
    for at_once in (None, 37):
        for module in (execute, matrix) if at_once else ():
            monkeypatch.setattr(module, "_AT_ONCE", at_once)
        _, made = program(folder, 2)
        debugger = opened(made)
        found: list[bytes] = []
        for launch in made.launches:
            run_to(debugger, launch.stop)
            found += [debugger.machine.memory.read(one.view).tobytes() for one in made.borders_of(launch)[1]]
        outputs.append(found)
    assert outputs[0] == outputs[1]


def test_memory_of_nets_that_are_over_is_given_back() -> None:
    model, made = program(QWEN)
    first = {launch.net: launch for launch in reversed(made.launches)}
    moments = dict(made.unused_from())
    assert list(moments) == sorted(moments)
    assert [title.title for title in moments.values()] == ["activations"] * len(moments)
    # The states of block_0 are copied by a row that belongs to block_1.
    assert any(first["block_0"].stop < moment <= made.first_own(first["block_1"]) for moment in moments)
    plain, lean = opened(made), opened(made)
    answers = [token.id for token in Answering(plain, model, PROMPT).tokens()]
    assert [token.id for token in Answering(lean, model, PROMPT, gives_back=True).tokens()] == answers
    for _, place in made.unused_from():
        assert lean.machine.memory.region(Space.GLOBAL, place.start, place.stop).data.size == place.size


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is known to take pages back at once")
def test_pages_that_are_given_back_are_zeros() -> None:
    data = zeros(1 << 20)
    data[:] = 3
    give_back(data)
    assert not data.any()
    data[5] = 1
    small = zeros(100)
    small[:] = 3
    give_back(small)
    assert small.all()


def test_what_is_looked_at_later_is_kept() -> None:
    _, made = program(QWEN)
    given_back = {place.start for _, place in made.unused_from()}
    last = made.borders_of(made.launches[-1])[1][0].view.address
    places = [place for _, place in made.unused_from()]
    assert given_back
    assert not any(place.start <= last < place.stop for place in places)


def test_a_long_program_keeps_few_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_CACHED", 8)
    monkeypatch.setattr(commands, "_CACHED_OF_MORE", 4)
    _, made = program(QWEN)
    first = weakref.ref(made.commands[0])
    assert made.commands[0] is first()
    for ordinal in range(6):
        assert made.commands[ordinal].ordinal == ordinal
    assert first() is None


def test_instructions_share_their_fields() -> None:
    assert InstructionSet.load("bm1684x") is InstructionSet.load("bm1684x")
    instructions = InstructionSet.load("bm1684x").instructions
    assert len({id(instruction.fields) for instruction in instructions}) < len(instructions) // 2
