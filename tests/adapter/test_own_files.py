"""Breakpoints in the user's own final.mlir: of recorded runs, and of models whose dynamic subnets were recorded.

The text comes with the recording. The editor shows the file that the compiler left, and frames have to name that one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.engine.recording.recording import Recording
from tests.dap_client import DapClient
from tests.samples import DATA

RECORDINGS = DATA / "recordings"
TOY = RECORDINGS / "toy_bm1684x.tdbrec"
PIPELINE = RECORDINGS / "pipeline_bm1684x.tdbrec"
DYNAMIC = DATA / "bm1684x" / "toy_bm1684x_f32dyn"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))


def own_copy(recording: Path, number: int, folder: Path) -> Path:
    """The final.mlir of a recorded model as a user has it in a folder."""
    folder.mkdir()
    file = folder / "final.mlir"
    file.write_bytes(Recording.read(recording).files[f"models/{number}/final.mlir"])
    return file


def line_of(file: Path, op: str) -> int:
    return next(n for n, text in enumerate(file.read_text("utf-8").split("\n"), 1) if f'"{op}"' in text)


def stops_in(client: DapClient, file: Path, op: str) -> None:
    """A click into the gutter of a file binds, the run stops there, and the frames name the file."""
    line = line_of(file, op)
    [placed] = client.set_breakpoints(file, [line])
    assert placed["verified"], placed.get("message")
    assert (placed["source"]["path"], placed["line"]) == (str(file), line)
    client.request("continue", threadId=1)
    stop = client.expect_stopped("breakpoint")
    frame = next(frame for frame in client.request("stackTrace", threadId=1)["stackFrames"] if "source" in frame)
    assert (frame["source"]["path"], frame["line"]) == (str(file), line)
    assert stop.frames[0].name.startswith(op)


def test_in_a_recording(client: DapClient, tmp_path: Path) -> None:
    file = own_copy(TOY, 0, tmp_path / "mine")
    client.launch(TOY)
    client.expect_stopped("entry")
    stops_in(client, file, "tpu.Softmax")


def test_in_a_model_with_dynamic_subnets(client: DapClient, tmp_path: Path) -> None:
    """The context's own file, nothing to be found by its content."""
    context = tmp_path / "context"
    file = own_copy(TOY, 0, context)
    (context / "compilation.bmodel.xz").write_bytes((DYNAMIC / "compilation.bmodel.xz").read_bytes())
    client.launch(context, recording=str(TOY))
    stop = client.expect_stopped("entry")
    paths = {frame.raw["source"].get("path") for frame in stop.frames if "source" in frame.raw} - {None}
    assert paths <= {str(file)}
    stops_in(client, file, "tpu.Softmax")


@pytest.mark.parametrize("number", [0, 1])
def test_in_each_of_the_models_of_a_pipeline(client: DapClient, tmp_path: Path, number: int) -> None:
    """Both are one text with other names for functions and locations, and other numbers of lines."""
    file = own_copy(PIPELINE, number, tmp_path / "mine")
    client.launch(PIPELINE)
    client.expect_stopped("entry")
    stops_in(client, file, "tpu.MatMul")


def test_another_file_of_that_name_is_refused(client: DapClient, tmp_path: Path) -> None:
    """Near miss: one character is another, so lines may be others."""
    file = own_copy(TOY, 0, tmp_path / "mine")
    file.write_bytes(file.read_bytes().replace(b"tpu.Softmax", b"tpu.Softmin"))
    client.launch(TOY)
    client.expect_stopped("entry")
    [placed] = client.set_breakpoints(file, [line_of(file, "tpu.Softmin")])
    assert not placed["verified"]
    assert "not part of the program" in placed["message"]
