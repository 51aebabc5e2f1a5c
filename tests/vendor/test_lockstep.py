"""The vendor's simulator as backend: alone, beside our own, and when it does not survive."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Operation
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import open_program
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import DATA, Case, cases

pytestmark = pytest.mark.vendor

STATIC = [case for case in cases() if not case.is_dynamic]
ONE_OF_EACH_CHIP = [case for case in STATIC if case.name in ("toy_bm1684_int8", "toy_bm1684x_bf16", "toy_bm1690_int8")]
ONE_OF_EACH_CHIP += [case for case in STATIC if case.name == "toy_bm1688_int8c2"]


def all_memories(debugger: Debugger) -> list[bytes]:
    memory = debugger.machine.memory
    locals_ = [memory.local(core).tobytes() for core in range(memory.cores)]
    return [*locals_, memory.neuron().tobytes()]


@pytest.mark.parametrize("case", STATIC, ids=lambda case: case.name)
def test_no_command_of_a_recorded_model_diverges(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, backend="lockstep")
    debugger.set_checks(filters_named({"divergence": None}))
    stop = debugger.run()
    debugger.close()
    assert stop.reason == "end", stop.text


@pytest.mark.parametrize("inputs", ["exact", "rounded"])
def test_no_command_of_a_fused_mlp_diverges(inputs: str) -> None:
    """Eight cores that add to the same bytes of L2, and their system DMAs."""
    model = DATA / "contexts" / "fused_mlp"
    debugger = tdb_dap.open(model, inputs=model / f"input_{inputs}.npz", backend="lockstep")
    debugger.set_filters({"divergence": None})
    stop = debugger.run()
    debugger.close()
    assert (stop.reason, debugger.ordinal) == ("end", 760), stop.text


@pytest.mark.parametrize("case", ONE_OF_EACH_CHIP, ids=lambda case: case.name)
def test_the_vendor_s_simulator_alone_computes_the_recorded_outputs(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, backend="cmodel")
    assert debugger.run().reason == "end"
    outputs = debugger.outputs()
    debugger.close()
    for name, expected in case.truth.items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)


@pytest.mark.parametrize("case", ONE_OF_EACH_CHIP, ids=lambda case: case.name)
def test_time_goes_back_byte_by_byte_and_forward_again(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, backend="cmodel")
    start = all_memories(debugger)
    middle = len(debugger.program.commands) // 2
    debugger.travel(middle)
    at_middle = all_memories(debugger)
    debugger.run()
    debugger.travel(middle)
    assert all_memories(debugger) == at_middle
    debugger.travel(0)
    assert all_memories(debugger) == start
    debugger.travel(middle)
    assert all_memories(debugger) == at_middle
    debugger.close()


@pytest.mark.parametrize("backend", ["cmodel", "lockstep"])
@pytest.mark.parametrize("case", ONE_OF_EACH_CHIP, ids=lambda case: case.name)
def test_checkpoints_and_edits_serve_the_vendor_s_simulator_as_well(case: Case, backend: str) -> None:
    """Nothing can be undone: every way back is from a checkpoint, and edits are made again on the way."""
    debugger = open_debugger(case.path, case.inputs, backend=backend, history_limit=400 << 20)
    machine, count = debugger.machine, min(60, len(debugger.program.commands))
    machine.checkpoints.every, machine.checkpoints.share = 0, 1e9
    machine._history.limit = 1
    output = debugger.program.outputs[0].view
    debugger.travel(count // 3)
    machine.write(output, np.ones(output.shape))
    debugger.travel(count // 2)
    at_middle = all_memories(debugger)
    debugger.travel(count)
    at_end = all_memories(debugger)
    for ordinal, expected in ((count // 2, at_middle), (count, at_end), (count // 2, at_middle)):
        debugger.travel(ordinal)
        assert all_memories(debugger) == expected
    with machine.excursion():
        machine.travel(1)
    assert all_memories(debugger) == at_middle
    debugger.skip_to(count)
    assert all_memories(debugger) == at_middle
    debugger.close()


def test_an_edit_reaches_the_vendor_s_simulator(toy: Toy) -> None:
    outputs = []
    for backend in ("numpy", "cmodel"):
        debugger = tdb_dap.open(toy.directory, inputs=toy.inputs, backend=backend)
        debugger.step(20)
        view = next(o for o in debugger.program.commands[20].operands if isinstance(o, View))
        debugger.write(view, 3.25 if view.dtype.is_float else 3)
        debugger.run()
        outputs.append({name: array.tobytes() for name, array in debugger.outputs().items()})
        debugger.close()
    assert outputs[0] == outputs[1]


def test_a_wrong_formula_is_a_divergence_with_both_numbers(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    debugger = tdb_dap.open(toy.directory, inputs=toy.inputs, backend="lockstep")
    command = next(c for c in debugger.program.commands if c.name == "arith.max")
    bound = command.description.binding
    key = (bound.family.name, bound.fields.sub)
    right = SEMANTICS[key]

    def off_by_one(operation: Operation) -> Array:
        words = np.array(right(operation))
        words.reshape(-1)[7] += 1
        return words

    monkeypatch.setitem(SEMANTICS, key, off_by_one)
    debugger.set_checks(filters_named({"divergence": None}))
    stop = debugger.run()
    assert stop.finding is not None
    assert stop.finding.filter == "divergence"
    assert stop.finding.focus == command.ordinal
    assert "1 of " in stop.text
    assert " here, " in stop.text
    monkeypatch.undo()
    debugger.step(-1)
    assert debugger.step().reason == "step"  # with the right formula the same command agrees
    debugger.close()


def test_a_command_in_place_agrees_after_an_edit(toy: Toy) -> None:
    debugger = tdb_dap.open(toy.directory, inputs=toy.inputs, backend="lockstep")

    def in_place(command: Command) -> bool:
        views = [o for o in command.description.operands if isinstance(o, View)]
        result = command.results[0]
        assert isinstance(result, View)
        return command.engine == "tiu" and any(v.address == result.address for v in views)

    command = next(c for c in debugger.program.commands if not c.is_system and c.results and in_place(c))
    debugger.travel(command.ordinal)
    result = command.results[0]
    assert isinstance(result, View)
    debugger.write(result, 0.75)
    debugger.set_checks(filters_named({"divergence": None}))
    assert debugger.step().reason == "step"
    debugger.close()


@pytest.fixture
def illegal_model(toy: Toy, tmp_path: Path) -> tuple[Path, int]:
    """The sample with one command changed into what the vendor's simulator does not survive, and its ordinal."""
    program = open_program(toy.directory)
    command = next(c for c in program.commands if c.name == "arith.max")
    instruction = chips()["BM1684X"].instruction_set.instructions[command.kind]
    # A maximum of 8-bit integers that is stored as float32.
    prefix = "opt_" if "opt_opd0_prec" in instruction.by_name else ""
    values = {f"{prefix}opd0_prec": 0, f"{prefix}opd1_prec": 0, f"{prefix}res0_prec": 2}
    changed = instruction.encode(command.descriptor, **values)
    with lzma.open(toy.directory / "compilation.bmodel.xz") as packed:
        data = packed.read()
    assert data.count(command.descriptor) == 1
    for file in ("final.mlir", "tensor_location.json.xz"):
        shutil.copy(toy.directory / file, tmp_path)
    (tmp_path / "compilation.bmodel").write_bytes(data.replace(command.descriptor, changed))
    return tmp_path, command.ordinal


def test_a_session_survives_the_vendor_s_simulator(
    client: DapClient, toy: Toy, illegal_model: tuple[Path, int]
) -> None:
    directory, ordinal = illegal_model
    client.launch(directory, stop_on_entry=False, inputs=str(toy.inputs), backend="cmodel", stopOnExit=True)
    stop = client.expect_stopped("exception")
    assert stop.ordinal == ordinal
    assert "the vendor's simulator has died (exit code 255); its last line: ERROR: ASSERT" in stop.text
    assert "p_param->A_prec == p_param->R_prec" in stop.text
    assert "the built-in simulator executes" in stop.text
    client.step_back()
    assert client.expect_stopped("step").ordinal < ordinal
    client.disconnect()


def test_numpy_goes_on_where_the_vendor_s_simulator_was_killed(toy: Toy) -> None:
    debugger = tdb_dap.open(toy.directory, inputs=toy.inputs, backend="lockstep")
    debugger.step(10)
    backend: Any = debugger.machine.backend
    backend._vendor._process._process.kill()  # as the system does when memory runs out
    stop = debugger.run()
    assert "command 10 (" in stop.text
    assert "has died (SIGKILL)" in stop.text
    assert debugger.run().reason == "end"
    expected = tdb_dap.open(toy.directory, inputs=toy.inputs)
    expected.run()
    for name, array in expected.outputs().items():
        np.testing.assert_array_equal(debugger.outputs()[name], array)
