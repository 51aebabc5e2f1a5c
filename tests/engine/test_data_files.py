"""Inputs and references next to a model: one search for every front end, and no verdict on other inputs."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.data_files import DataFiles, data_of
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.system.notices import heard_by
from tdb_dap.tools.golden.files.compilation import find
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.zoo.cases import find_cases
from tests import command_line
from tests.dap_client import DapClient
from tests.samples import case, without_data
from tests.triage_case import Compiled

TOY = case("toy_bm1684x_f32")


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """A compilation without test data of model_deploy: the compiler's inputs and tensors are around the context."""
    shutil.copy(TOY.inputs, tmp_path / "toy_in_f32.npz")
    shutil.copy(TOY.reference, tmp_path / "toy_bm1684x_f32_tpu_outputs.npz")
    return without_data(TOY.path, tmp_path / "toy_f32")


def test_the_reference_of_a_compilation_comes_with_its_inputs(context: Path) -> None:
    around = context.parent
    expected = DataFiles(around / "toy_in_f32.npz", around / "toy_bm1684x_f32_tpu_outputs.npz")
    assert data_of(context) == expected


def test_the_compilers_list_comes_before_all_names(context: Path) -> None:
    shutil.copy(TOY.inputs, context / "input.npz")
    (context.parent / "toy_in_f32.npz").rename(context.parent / "mine.npz")
    assert data_of(context).inputs == context / "input.npz"
    notes = {"files": {"mlir_input": {"path": "../mine.npz"}}}
    (context / "ref_files.json").write_text(json.dumps(notes))
    assert data_of(context).inputs == context.parent / "mine.npz"
    (context / "input_ref_data.dat").write_bytes(b"")
    assert data_of(context).inputs == context / "input_ref_data.dat"


def test_of_several_inputs_around_a_context_that_of_its_model_is_taken(context: Path) -> None:
    shutil.copy(TOY.inputs, context.parent / "other_in_f32.npz")
    assert data_of(context).inputs == context.parent / "toy_in_f32.npz"
    (context.parent / "toy_in_f32.npz").rename(context.parent / "third_in_f32.npz")
    assert data_of(context).inputs is None


def test_every_front_end_finds_the_same_files(context: Path, client: DapClient) -> None:
    data = data_of(context)
    assert data == DataFiles(Context.find(context).inputs, Context.find(context).reference)
    [found] = find_cases([context])
    assert DataFiles(found.inputs, found.reference) == data
    assert found.asks == ("check", "sanitize")
    listed = find(context)
    assert DataFiles(listed.get("mlir_input"), listed.get("tpu_output")) == data
    done = command_line.tdb_dap("check", context)
    assert done.returncode == 0, done.stderr
    assert f"using inputs {data.inputs} and reference {data.reference}" in done.stderr
    client.launch(context)
    client.expect_stopped("entry")
    assert f"Using inputs {data.inputs} and reference {data.reference}" in client.printed()


def test_inputs_that_do_not_fit_are_named_and_not_used(context: Path) -> None:
    write_npz(context.parent / "toy_in_f32.npz", {"x": np.zeros((1, 3, 16, 16), np.float32)})
    said: list[str] = []
    with heard_by(said.append), closing(open_debugger(context)) as debugger:
        assert not debugger.machine.inputs
        assert debugger.reference is None
    assert any(text.startswith("not used as the inputs: ") and "toy_in_f32.npz" in text for text in said)


# A reference without its inputs


@pytest.fixture
def alone(context: Path) -> Path:
    """The compiler's tensors without the inputs they were made with."""
    (context.parent / "toy_in_f32.npz").unlink()
    return context


def test_a_reference_without_its_inputs_accuses_no_op(alone: Path) -> None:
    with tdb_dap.open(alone) as debugger:
        assert debugger.reference is None
        assert debugger.withheld.startswith("all inputs are zero, and toy_bm1684x_f32_tpu_outputs.npz was made with")
    done = command_line.tdb_dap("check", alone)
    assert done.returncode == 2
    assert "nothing to compare with" in done.stderr
    assert "was made with other numbers: give --inputs" in done.stderr


def test_a_reference_that_does_not_hold_its_inputs_accuses_no_op(alone: Path) -> None:
    path = alone.parent / "toy_bm1684x_f32_tpu_outputs.npz"
    arrays = read_npz(path)
    del arrays["x"]
    write_npz(path, arrays)
    with tdb_dap.open(alone) as debugger:
        assert debugger.reference is None
        assert "are not given" in debugger.withheld


def test_a_session_says_what_is_missing_where_its_verdicts_would_be(alone: Path, client: DapClient) -> None:
    client.launch(alone, stop_on_entry=False, filters=["mismatch"], stopOnExit=True)
    client.expect_stopped("step")
    assert "Nothing is compared: all inputs are zero" in client.printed()
    results = client.request("tdb/results")
    assert (results["rows"], results["first"]) == ([], None)
    assert "all inputs are zero" in results["withheld"]
    [answer] = client.request("setExceptionBreakpoints", filters=["mismatch"])["breakpoints"]
    assert not answer["verified"]
    assert "reload input FILE gives them" in answer["message"]
    client.console(f'reload input "{TOY.inputs}"')
    client.expect_stopped("entry")
    client.console("goto 40")
    client.expect_stopped("goto")
    results = client.request("tdb/results")
    assert results["withheld"] == ""
    verdicts = {row["verdict"] for row in results["rows"]}
    assert "pass" in verdicts
    assert "fail" not in verdicts


def test_a_reference_that_the_user_names_accuses_no_op_in_a_session_on_other_inputs(
    context: Path, client: DapClient, tmp_path: Path
) -> None:
    other = tmp_path / "other.npz"
    write_npz(other, {"x": read_npz(TOY.inputs)["x"] * 2})
    client.launch(context, inputs=str(other), reference=str(TOY.reference))
    client.expect_stopped("entry")
    assert "x: ref.npz was made with other numbers" in client.printed()
    assert "ref.npz was made with other numbers" in client.request("tdb/results")["withheld"]


def test_a_reference_that_is_computed_needs_no_inputs(tmp_path: Path) -> None:
    compiled = Compiled.into(tmp_path)
    for path in compiled.folder.glob("*.npz"):
        if path.name.endswith(("_in_f32.npz", "_outputs.npz")):
            path.unlink()
    with tdb_dap.open(compiled.context, reference=compiled.context) as debugger:
        assert not debugger.machine.inputs
        assert debugger.withheld == ""
        assert debugger.reference is not None


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_a_quantised_input_is_compared_in_numbers(factor: float, tmp_path: Path) -> None:
    """The scale of an input leads from numbers to words, that of an output from words to numbers."""
    model = case("toy_bm1684x_int8qio").path
    numbers = np.random.default_rng(3).standard_normal((1, 3, 32, 32)).astype(np.float32).clip(-1, 1)
    np.savez(tmp_path / "input.npz", x=numbers)
    np.savez(tmp_path / "reference.npz", x=np.float32(factor) * numbers, **np.load(model / "runtime.npz"))
    with tdb_dap.open(model, inputs=tmp_path / "input.npz", reference=tmp_path / "reference.npz") as debugger:
        tensor = debugger.program.inputs[0]
        assert tensor.scale > 1
        assert debugger.reference is not None
        assert debugger.reference.other_inputs(debugger.machine) == ([] if factor == 1 else ["x"])
