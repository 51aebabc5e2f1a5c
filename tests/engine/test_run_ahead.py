"""Many commands executed at once, where nobody sees each of them: stops, pauses and memories are as one by one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pytest

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.target import Watched
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.targets import kernel
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Operation
from tdb_dap.tools.opening import open_debugger
from tests.conftest import Toy

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="commands are executed at once by the C kernel")


class Ahead:
    """How many commands were executed at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands = 0
        original = Machine.run_ahead

        def counted(machine: Machine, ordinal: int, watched: Watched | None = None) -> None:
            before = machine.ordinal
            original(machine, ordinal, watched)
            assert machine.ordinal <= ordinal
            self.commands += machine.ordinal - before

        monkeypatch.setattr(Machine, "run_ahead", counted)


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    return Ahead(monkeypatch)


@pytest.fixture
def debugger(toy: Toy) -> Debugger:
    """A run without history whose forms are known: it has been to the end twice."""
    opened = open_debugger(str(toy.directory), str(toy.inputs), history_limit=0)
    for _ in range(2):
        opened.run()
        opened.restart()
    return opened


@contextmanager
def one_by_one() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Machine, "can_run_ahead", property(lambda machine: False))
        yield


def memories(debugger: Debugger) -> list[int]:
    """Checksums of all memories."""
    memory = debugger.machine.memory
    every = [memory.local(core) for core in range(memory.cores)]
    return [zlib.crc32(part.data) for part in (*every, memory.l2(), memory.neuron())]


def visited(debugger: Debugger) -> list[tuple[int, str, list[int]]]:
    """Where a run from the start stops, and what the memories hold there."""
    debugger.restart()
    found: list[tuple[int, str, list[int]]] = []
    while not found or found[-1][1] != "end":
        stop = debugger.run()
        found.append((debugger.ordinal, stop.reason, memories(debugger)))
    return found


@pytest.mark.parametrize("places", [[], ["pord.*"], ["*"], ["%1", "%2", "%40"], ["tpu.Conv2D"]], ids=str)
def test_stops_are_where_they_are_one_by_one(debugger: Debugger, ahead: Ahead, places: list[str]) -> None:
    for place in places:
        debugger.breakpoints.add(place)
    found = visited(debugger)
    assert ahead.commands > 0
    with one_by_one():
        assert found == visited(debugger)


def test_a_breakpoint_that_is_off_or_gone_stops_nothing(debugger: Debugger, ahead: Ahead) -> None:
    debugger.breakpoints.remove(debugger.breakpoints.add("*"))
    debugger.breakpoints.add("pord.*").enabled = False
    assert [reason for _, reason, _ in visited(debugger)] == ["end"]
    assert ahead.commands > 0


def test_steps_end_where_they_end_one_by_one(debugger: Debugger, ahead: Ahead) -> None:
    def walk() -> list[tuple[int, list[int]]]:
        debugger.restart()
        found: list[tuple[int, list[int]]] = []
        while not debugger.at_end:
            debugger.step(unit="op")
            found.append((debugger.ordinal, memories(debugger)))
        return found

    found = walk()
    assert ahead.commands > 0
    with one_by_one():
        assert found == walk()


def test_a_pause_between_two_commands_ends_the_run(debugger: Debugger, ahead: Ahead) -> None:
    class Pausing(Listener):
        def between_commands(self) -> None:
            debugger.pause()

    debugger.listener = Pausing()
    found: list[int] = []
    while debugger.run().reason == "pause":
        found.append(debugger.ordinal)
    assert found
    assert ahead.commands > 0
    done = memories(debugger)
    debugger.listener = Listener()
    with one_by_one():
        assert done == visited(debugger)[-1][2]


def test_an_observer_sees_every_command(debugger: Debugger, ahead: Ahead) -> None:
    class Seeing(Observer):
        def __init__(self) -> None:
            self.seen: list[int] = []

        def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
            self.seen.append(command.ordinal)
            return None

    seeing = Seeing()
    debugger.observers.append(seeing)
    debugger.run()
    assert seeing.seen == list(range(len(debugger.program.commands)))
    assert not ahead.commands


def test_what_is_kept_for_going_back_is_kept_of_every_command(toy: Toy, ahead: Ahead) -> None:
    debugger = open_debugger(str(toy.directory), str(toy.inputs))
    for _ in range(2):
        debugger.restart()
        debugger.run()
    assert not ahead.commands
    assert debugger.machine.oldest_kept == 0


def test_edits_are_obeyed(debugger: Debugger, ahead: Ahead) -> None:
    debugger.skip_to(4)
    debugger.run()
    skipped = memories(debugger)
    assert not ahead.commands
    debugger.restart()
    debugger.run()
    assert ahead.commands
    assert memories(debugger) != skipped


def test_without_the_kernel_there_is_nothing_at_once(debugger: Debugger, ahead: Ahead) -> None:
    found = visited(debugger)
    before = ahead.commands
    with kernel.switched(False):
        assert found == visited(debugger)
    assert ahead.commands == before


def test_a_function_that_takes_the_place_of_another_is_called(
    debugger: Debugger, monkeypatch: pytest.MonkeyPatch
) -> None:
    sub = ("pord", 4)
    original, called = SEMANTICS[sub], []

    def other(x: Operation) -> np.ndarray:
        called.append(x)
        return original(x)  # type: ignore[return-value]

    monkeypatch.setitem(SEMANTICS, sub, other)
    debugger.run()
    assert called


def test_sessions_in_several_threads_share_the_forms_of_a_chip(toy: Toy) -> None:
    opened = [open_debugger(str(toy.directory), str(toy.inputs), history_limit=0) for _ in range(2)]
    with one_by_one():
        opened[0].run()
        expected = memories(opened[0])
    opened[0].program.target.__dict__.pop("_plans", None)  # nothing is known of any form
    found: list[list[int]] = []

    def run(debugger: Debugger) -> None:
        for _ in range(2):
            debugger.restart()
            debugger.run()
            found.append(memories(debugger))

    threads = [Thread(target=run, args=(debugger,)) for debugger in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
