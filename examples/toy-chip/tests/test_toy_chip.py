"""A new chip is a page of data: it decodes, prints, runs, steps back, checks itself, and serves a debug session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from toy_chip import chip, model

from tdb_dap.api import CompiledProgram, Context, Debugger, Machine
from tdb_dap.api import self_check as check


def test_a_page_of_data_is_a_chip(tmp_path: Path) -> None:
    page = Path(chip.__file__).read_text()
    assert len(page.splitlines()) < 150
    assert "\n    def " not in page, "no methods: data only"
    file = model.write(tmp_path / "toy.bmodel")

    program = CompiledProgram(Context.find(file), lambda name, file: chip.TOY4)
    assert [command.token for command in program.commands] == ["D1", "D2", "B1", "B2", "D3"]
    assert "B1: %R2 f32[1,6,2,3] = arith.add(left = %R0 f32[1,6,2,3], right = %R1 f32" in program.commands[2].asm
    assert check(chip.TOY4).problems == ()

    machine = Machine(program)
    rng = np.random.default_rng(1)
    given = {name: rng.standard_normal(model.SHAPE).astype(np.float32) for name in "ab"}
    machine.load_inputs({name: numbers.view(np.uint32) for name, numbers in given.items()})
    debugger = Debugger(program, machine, None)
    debugger.breakpoints.add("arith.mul")
    assert debugger.run().ordinal == 3
    assert debugger.run().reason == "end"
    expected = (given["a"] + given["b"]) * given["a"]
    assert np.array_equal(debugger.outputs()["y"], expected)
    debugger.travel(3)
    assert np.array_equal(debugger.read("in[0]"), given["a"] + given["b"])


def test_an_installed_chip_serves_a_debug_session(installed: dict[str, str], tmp_path: Path) -> None:
    file = model.write(tmp_path / "toy.bmodel")
    script = ["-c", "b arith.mul", "-c", "c", "-c", "p in[0]", "-c", "sb", "-c", "status"]
    done = subprocess.run(
        [sys.executable, "-m", "tdb_dap", "debug", str(file), *script], capture_output=True, text=True, env=installed
    )
    assert done.returncode == 0, done.stderr
    assert "breakpoint 1: arith.mul" in done.stdout
    listed = subprocess.run(
        [sys.executable, "-m", "tdb_dap", "targets"], capture_output=True, text=True, env=installed
    ).stdout
    assert any(line.startswith("TOY4") and line.endswith("ok") for line in listed.splitlines())
