"""Backends that compute in another process: what happens to it never happens to the session. No library is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tdb_dap
from tdb_dap.backends.cmodel import Lockstep, VendorBackend
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.machine.backend import InProcess
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.programs import open_program
from tests.samples import SAMPLE

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="child processes share memory on Linux")

CHIP = chips()["BM1684X"]
FAKE = Path(__file__).with_name("fake_child.py")
Open = Callable[..., Debugger]


@pytest.fixture
def lockstep() -> Iterator[Open]:
    """Opens the sample in lockstep with a stand-in that behaves as told."""
    opened: list[Debugger] = []

    def open_with(behaviour: str, moment: int = 0, timeout: float | None = 60) -> Debugger:
        program = open_program(SAMPLE)
        child = [sys.executable, str(FAKE), behaviour, str(moment)]
        backend = Lockstep(InProcess(CHIP), VendorBackend(CHIP, Path("fake.so"), timeout, child))
        machine = Machine(program, backend=backend)
        machine.load_inputs(load_inputs(SAMPLE / "input.npz", program.inputs))
        opened.append(Debugger(program, machine))
        return opened[-1]

    yield open_with
    for debugger in opened:
        debugger.close()


def outputs(debugger: Debugger) -> list[bytes]:
    return [array.tobytes() for array in debugger.outputs().values()]


@pytest.fixture(scope="module")
def expected() -> list[bytes]:
    debugger = tdb_dap.open(SAMPLE, SAMPLE / "input.npz")
    debugger.run()
    return outputs(debugger)


def test_a_run_in_lockstep_computes_what_numpy_computes(lockstep: Open, expected: list[bytes]) -> None:
    debugger = lockstep("agree")
    assert debugger.run().reason == "end"
    assert outputs(debugger) == expected
    debugger.travel(0)
    debugger.step(3)
    assert debugger.ordinal == 3


def test_a_library_that_aborts_stops_the_run_and_numpy_goes_on(lockstep: Open, expected: list[bytes]) -> None:
    debugger = lockstep("die", 7)
    stop = debugger.run()
    assert stop.reason == "exception"
    assert stop.finding is not None
    assert stop.finding.filter == "backend"
    assert "command 6 (" in stop.text
    assert "has died (SIGABRT); its last line: ASSERT: shape is illegal" in stop.text
    assert "the built-in simulator" in stop.text
    assert debugger.machine.backend.name == "numpy"
    assert debugger.run().reason == "end"
    assert outputs(debugger) == expected


def test_time_travels_across_the_death_of_a_library(lockstep: Open, expected: list[bytes]) -> None:
    debugger = lockstep("die", 7)
    debugger.run()
    start = tdb_dap.open(SAMPLE, SAMPLE / "input.npz")
    debugger.travel(0)
    assert debugger.machine.memory.local().tobytes() == start.memory.local().tobytes()
    assert debugger.machine.memory.neuron().tobytes() == start.memory.neuron().tobytes()
    assert debugger.run().reason == "end"
    assert outputs(debugger) == expected


def test_a_library_that_hangs_is_ended(lockstep: Open) -> None:
    stop = lockstep("hang", 2, timeout=0.5).run()
    assert "did not finish within 0.5 seconds" in stop.text


def test_a_library_that_does_not_load_is_refused_before_anything_runs(lockstep: Open) -> None:
    with pytest.raises(BadInput, match=r"fake.so: cannot be loaded: undefined symbol.*tdb-dap backends fetch"):
        lockstep("refuse")


def test_bytes_outside_of_every_result_are_a_divergence_and_are_undone(lockstep: Open) -> None:
    debugger = lockstep("wrong", 3)
    debugger.set_checks(filters_named({"divergence": None}))
    before = debugger.machine.memory.l2()[5]
    stop = debugger.run()
    assert stop.finding is not None
    assert stop.finding.filter == "divergence"
    assert "1 bytes outside of the results differ: %L5 0x00 here, 0xab there" in stop.text
    assert debugger.machine.memory.l2()[5] == 0xAB
    debugger.step(-1)
    assert debugger.machine.memory.l2()[5] == before
