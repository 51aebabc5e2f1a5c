"""From final.mlir back to the layers of the original model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tdb_dap.errors import BadInput
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap
from tests.dap_client import DapClient
from tests.samples import DATA, Case, case

TOY = "toy_bm1684x_int8"


@pytest.fixture
def staged(tmp_path: Path) -> Case:
    """The toy with the files of the compilation before final.mlir beside its context directory."""
    of = case(TOY)
    context = tmp_path / "context"
    shutil.copytree(of.path, context)
    stages = DATA / "stages"
    for name in ("toy.mlir", "toy_origin.mlir"):
        shutil.copy(stages / name, tmp_path / name)
    shutil.copy(stages / "ref_files.json", context)
    return Case(context)


def test_every_op_that_computes_knows_its_layer(staged: Case) -> None:
    program = open_program(staged.path)
    assert [(stage.title, stage.path.name) for stage in program.compile_stages.stages] == [
        ("as imported", "toy_origin.mlir"),
        ("top", "toy.mlir"),
    ]
    mlir = program.source.mlir
    assert mlir is not None
    found = {}
    for op in mlir.ops.values():
        layer = program.compile_stages.layer_of(op) if op.name.startswith("tpu.") else None
        if layer is not None:
            found[op.location] = (layer.opcode, layer.nodes)
    assert found["relu4_Relu"] == ("top.Conv", ("conv3 (Conv)", "relu4 (Relu)")), "what was merged is named"
    assert found["mul10_Mul"] == ("top.SiLU", ("sigmoid9 (Sigmoid)", "mul10 (Mul)"))
    assert found["softmax16_Softmax__softmax"] == ("top.Softmax", ("softmax16 (Softmax)",)), "taken apart"


def test_the_stack_leads_to_the_original_layer(client: DapClient, staged: Case) -> None:
    client.launch(staged.path, stop_on_entry=False, breakpoints={staged.mlir: [line_of(staged, '"tpu.Lut"')]})
    stop = client.expect_stopped("breakpoint")
    frames = {frame.name: frame.raw for frame in stop.frames}
    top = frames["top.SiLU (top)"]
    text = Path(top["source"]["path"]).read_text().split("\n")[top["line"] - 1]
    assert '"top.SiLU"' in text
    assert top["presentationHint"] == "subtle"
    assert client.request("scopes", frameId=top["id"])["scopes"] == []
    assert '"top.Mul"' in Path(frames["top.Mul (as imported)"]["source"]["path"]).read_text()


def line_of(of: Case, text: str) -> int:
    return next(n for n, line in enumerate(of.mlir.read_text().split("\n"), 1) if text in line)


def test_a_check_sums_up_by_layer(staged: Case, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ["--inputs", staged.inputs, "--reference", staged.reference, "--report", report]
    done = tdb_dap("check", staged.path, *options, "--report", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    layers = {layer["name"]: layer for layer in json.loads(report.read_text())["layers"]}
    assert layers["relu4_Relu"]["nodes"] == ["conv3 (Conv)", "relu4 (Relu)"]
    assert layers["relu4_Relu"]["verdict"] == "pass"
    assert "By layer of the original model" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("text", ["nothing", "[]", '{"files": []}', '{"files": {"top_mlir": 3}}'])
def test_a_damaged_list_of_files_is_named_and_the_rest_works(staged: Case, text: str) -> None:
    (staged.path / "ref_files.json").write_text(text)
    program = open_program(staged.path)
    assert program.compile_stages.stages == ()
    assert program.compile_stages.reason.startswith(
        f"{staged.path / 'ref_files.json'}: the layers of the original model"
    )


def test_a_breakpoint_in_an_earlier_stage_stops_at_the_op_made_for_its_line(client: DapClient, staged: Case) -> None:
    client.launch(staged.path, inputs=str(staged.inputs))
    client.expect_stopped("entry")
    top = staged.path.parent / "toy.mlir"
    line = next(n for n, text in enumerate(top.read_text().splitlines(), 1) if "top.MaxPool" in text)
    [location] = client.request("breakpointLocations", source={"path": str(top)}, line=line)["breakpoints"]
    assert location == {"line": line}
    [placed, none] = client.set_breakpoints(top, [line, 1000])
    assert (placed["verified"], placed["line"]) == (True, line)
    assert "source" not in placed  # the client keeps the file in which it was set
    assert (none["verified"], none["line"]) == (False, 1000)
    client.resume()
    stop = client.expect_stopped("breakpoint")
    origin = next(frame for frame in stop.frames if frame.source.endswith("toy.mlir"))
    assert origin.line == line


@pytest.mark.parametrize("name", ["final.mlir", "../toy.mlir", "../toy_origin.mlir", "ref_files.json"])
def test_a_text_of_the_compilation_opens_its_context(staged: Case, name: str) -> None:
    assert open_program(staged.path / name).context.directory.samefile(staged.path)


def test_a_text_of_two_compilations_or_of_none_is_refused(staged: Case) -> None:
    shutil.copytree(staged.path, staged.path.parent / "other")
    with pytest.raises(BadInput, match=r"toy.mlir: 2 models are compiled from it \(context, other\)"):
        open_program(staged.path.parent / "toy.mlir")
    lonely = staged.path.parent / "lonely.mlir"
    lonely.write_text("module {}")
    with pytest.raises(BadInput, match=r"lonely.mlir: no compiled model belongs to it; give the context directory"):
        open_program(lonely)
