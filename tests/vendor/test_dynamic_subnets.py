"""Models with dynamic subnets in ordinary sessions: run once by the vendor's runtime, then like static ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tests.command_line import tdb_dap as tdb_dap_command
from tests.samples import DATA, Case, cases

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


@pytest.mark.parametrize("case", [case for case in cases() if case.is_dynamic], ids=lambda case: case.name)
def test_the_dynamic_toys_end_with_the_outputs_of_the_runtime(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    assert isinstance(debugger.program, RecordedProgram)
    debugger.set_checks(filters_named({"divergence": None}))
    assert debugger.run().reason == "end"
    count = debugger.ordinal
    with np.load(case.path / "runtime.npz") as truth:
        outputs = debugger.outputs()
        assert truth.files
        assert all(np.array_equal(outputs[name].ravel(), truth[name].ravel()) for name in truth.files)
        debugger.travel(count // 2)
        debugger.run()
        assert debugger.ordinal == count
        again = debugger.outputs()
    assert all(np.array_equal(outputs[name], again[name]) for name in outputs)


def test_beside_the_vendors_debugger_the_model_stays_as_it_was_compiled() -> None:
    """It executes no dynamic subnets, and its listing has one line for each of them."""
    program = tdb_dap.open(MIXED, inputs=MIXED / "input.npz", static_tables="tdb").program
    assert not isinstance(program, RecordedProgram)


def test_the_activations_of_a_run_are_where_the_runtime_has_put_them() -> None:
    case = next(case for case in cases() if case.is_dynamic and case.name == "nonzero_bm1684x_f32")
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    assert isinstance(debugger.program, RecordedProgram)
    neuron = debugger.memory.neuron()
    assert not neuron[4096:8192].any()
    debugger.run()
    with np.load(case.inputs) as given:
        x = given["x"]
    # final.mlir has the result of the Relu 4,096 bytes behind the start of the activations.
    assert np.array_equal(neuron[4096 : 4096 + x.nbytes].view(np.float32), np.maximum(x, 0).ravel())


def test_record_takes_a_model_in_place_of_a_program(tmp_path: Path) -> None:
    said = tdb_dap_command("record", "--inputs", MIXED / "input.npz", "-o", tmp_path / "it.tdbrec", "--", MIXED)
    assert said.returncode == 0, said.stderr
    debugger = tdb_dap.open(tmp_path / "it.tdbrec")
    assert debugger.run().reason == "end"
    with np.load(MIXED / "runtime.npz") as truth:
        outputs = debugger.outputs()
        assert all(np.array_equal(outputs[name].ravel(), truth[name].ravel()) for name in truth.files)


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
