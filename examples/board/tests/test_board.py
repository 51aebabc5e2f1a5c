"""The backends as they are when the package is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import board
import pytest
from board.emulator import Emulator

import tdb_dap
from tdb_dap.api import Client, Debugger, Machine, View, load_inputs, open_program

SAMPLE = Path(tdb_dap.__file__).parent / "sample"
INPUTS = SAMPLE / "input.npz"


def debugger_with(make: Callable[..., object]) -> Debugger:
    program = open_program(SAMPLE)
    machine = Machine(program, backend=make(program))  # type: ignore[arg-type]
    machine.load_inputs(load_inputs(INPUTS, program.inputs))
    return Debugger(program, machine)


def memories(debugger: Debugger) -> list[bytes]:
    return [debugger.machine.memory.local().tobytes(), debugger.machine.memory.neuron().tobytes()]


@pytest.mark.parametrize("backend", ["board", "emulator"])
def test_a_run_prints_what_the_built_in_simulator_prints(installed: dict[str, str], backend: str) -> None:
    command = [sys.executable, "-m", "tdb_dap", "run", str(SAMPLE), "--inputs", str(INPUTS), "--quiet", "--backend"]
    done = subprocess.run([*command, backend], capture_output=True, text=True, env=installed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == subprocess.run([*command, "numpy"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("make", [board.attach, Emulator], ids=["board", "emulator"])
def test_every_moment_is_what_it_was_and_edits_count(make: Callable[..., object]) -> None:
    debugger, expected = debugger_with(make), tdb_dap.open(SAMPLE, INPUTS)
    for ordinal in (30, 12, 58, 0, 40, 39):
        debugger.travel(ordinal)
        expected.travel(ordinal)
        assert debugger.ordinal == ordinal, debugger.last_stop.text
        assert memories(debugger) == memories(expected), ordinal
    for one in (debugger, expected):
        one.travel(20)
        operand = one.program.commands[20].operands[0]
        assert isinstance(operand, View)
        one.write(operand, 3)
        one.run()
    assert memories(debugger) == memories(expected)
    debugger.step(-1)
    expected.step(-1)
    assert memories(debugger) == memories(expected)
    debugger.restart()
    debugger.run()
    expected.restart()
    expected.run()
    assert memories(debugger) == memories(expected)


@pytest.mark.parametrize(("backend", "goes_back"), [("board", True), ("emulator", False)])
def test_an_editor_is_told_whether_there_is_a_way_back(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch, backend: str, goes_back: bool
) -> None:
    monkeypatch.setenv("PYTHONPATH", installed["PYTHONPATH"])
    client = Client.spawn()
    client.initialize()
    launch = client.launch(program=str(SAMPLE), inputs=str(INPUTS), backend=backend)
    client.request("configurationDone")
    client.answer(launch)
    client.event("stopped")
    told = [body["capabilities"] for body in client.events("capabilities")]
    assert told == ([] if goes_back else [{"supportsStepBack": False, "supportsRestartFrame": False}])
    client.request("next", threadId=1)
    client.event("stopped")
    client.request("stepBack", threadId=1)  # of clients that do not listen
    assert client.event("stopped", "terminated")["event"] == "stopped"
    client.request("disconnect")
    client.close()


def test_what_is_no_backend_is_named_with_what_it_lacks(tmp_path: Path, installed: dict[str, str]) -> None:
    site = tmp_path / "half" / "half-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: half\nVersion: 1.0\n")
    (site / "entry_points.txt").write_text("[tdb_dap.backends]\nhalf = half:Half\n")
    (site.parent / "half.py").write_text("class Half:\n    name = 'half'\n    def __init__(self, program): pass\n")
    environment = {**installed, "PYTHONPATH": f"{site.parent}:{installed['PYTHONPATH']}"}
    command = [sys.executable, "-m", "tdb_dap", "run", str(SAMPLE), "--backend", "half"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert "plugin 'half' (half:Half, half 1.0) gives no backend: a Half has no compares, reversible" in done.stderr
    assert done.stderr.count("\n") == 1
