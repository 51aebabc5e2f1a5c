"""The registry of semantic functions: what is in it now computes, whatever was computed before."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from msgspec.structs import replace

import tdb_dap
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.execute import execute
from tdb_dap.targets.semantics.registry import Operation
from tests.conftest import Toy


def test_a_function_that_takes_another_one_s_place_is_used(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    with tdb_dap.open(toy.directory, inputs=toy.inputs) as debugger:
        debugger.run()
        command = next(c for c in debugger.program.commands if c.name == "arith.max")
        debugger.machine.travel(command.ordinal + 1)
        result = command.results[0]
        assert isinstance(result, View)
        before = debugger.memory.read(result)
        key = command.description.binding.family.name, command.description.binding.fields.sub
        right = SEMANTICS[key]

        def other(operation: Operation) -> Array:
            return np.array(right(operation)) ^ 1

        monkeypatch.setitem(SEMANTICS, key, other)
        debugger.machine.travel(command.ordinal)
        debugger.machine.step()
        np.testing.assert_array_equal(debugger.memory.read(result), before ^ 1)
        monkeypatch.delitem(SEMANTICS, key)
        debugger.machine.travel(command.ordinal)
        with pytest.raises(NotSimulated, match=r"arith\.max is not simulated yet"):
            debugger.machine.step()


def test_what_one_chip_may_compute_another_one_may_not(toy: Toy) -> None:
    """Their rules may agree in all that views depend on."""
    with tdb_dap.open(toy.directory, inputs=toy.inputs) as debugger:
        debugger.run()
        command = next(c for c in debugger.program.commands if c.name == "arith.max")
        assert isinstance(debugger.program.target, Chip)
        rules = debugger.program.target.rules
        assert rules is not None
        lacking = replace(rules, lacks=(command.description.binding.family.name,))
        assert lacking != rules
        execute(command.name, command.description.binding, debugger.memory, rules)
        with pytest.raises(NotSimulated, match=r"arith\.max is not simulated yet"):
            execute(command.name, command.description.binding, debugger.memory, lacking)


def test_a_model_imports_the_page_of_its_chip_alone(toy: Toy) -> None:
    program = (
        "import sys; from tdb_dap.cli.main import main; main(['run', sys.argv[1]]);"
        "print([name for name in sys.modules if name.startswith('tdb_dap.targets.')])"
    )
    done = subprocess.run([sys.executable, "-c", program, toy.directory], capture_output=True, text=True, check=True)
    assert "tdb_dap.targets.chips.bm1684x'" in done.stdout
    assert not re.search("bm1690|cv18xx|bm1684[.']", done.stdout)


def test_every_chip_is_on_the_page_that_is_named() -> None:
    names = {name: chip.name for name, chip in chips().items()}
    assert {name for name in names if names[name] != name} == {"CV186X"}
