"""Models with dynamic subnets in ordinary sessions: run once by the vendor's runtime, then like static ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tests.samples import DATA

MIXED = DATA / "contexts" / "dynamic_subnet"

pytestmark = pytest.mark.vendor


def test_a_dynamic_subnet_is_executed_command_by_command(monkeypatch: pytest.MonkeyPatch) -> None:
    # No Python of the vendor's is asked: the runtime's libraries are enough.
    monkeypatch.setattr("tdb_dap.backends.runtime.find", lambda given=None: None)
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz")
    program = debugger.program
    assert isinstance(program, RecordedProgram)
    assert program.context.directory == MIXED
    dynamic = next(subnet for subnet in program.subnets if subnet.function == "subfunc_1")
    assert dynamic.stop - dynamic.start > 5
    debugger.set_checks(filters_named({"divergence": None}))
    debugger.breakpoints.add("tpu.*")
    assert debugger.run().reason == "breakpoint"
    assert debugger.run().reason == "end"
    with np.load(MIXED / "runtime.npz") as truth:
        outputs = debugger.outputs()
        assert all(np.array_equal(outputs[name].ravel(), truth[name].ravel()) for name in truth.files)
    debugger.travel(dynamic.start)
    assert debugger.ordinal == dynamic.start


def test_other_inputs_are_another_run(tmp_path: Path) -> None:
    with np.load(MIXED / "input.npz") as given:
        np.savez(tmp_path / "twice.npz", **{name: 2 * given[name] for name in given.files})
    results = []
    for inputs in (MIXED / "input.npz", tmp_path / "twice.npz"):
        debugger = tdb_dap.open(MIXED, inputs=inputs)
        assert debugger.run().reason == "end"
        results.append(debugger.outputs())
    for name in results[0]:
        assert np.array_equal(2 * results[0][name], results[1][name])
