"""Sessions with recorded runs: from launch to launch and op by op, forward and back, as a client sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tdb_dap.engine.recording.format import Event, event
from tdb_dap.engine.recording.payloads import Mark, Name
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.recording.writer import Writer
from tests.dap_client import EVERYTHING, DapClient
from tests.samples import DATA

RECORDINGS = DATA / "recordings"
PIPELINE = RECORDINGS / "pipeline_bm1684x.tdbrec"
TOYS = [RECORDINGS / f"toy_{chip}.tdbrec" for chip in ("bm1684", "bm1684x", "bm1688", "bm1690")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))


def names(client: DapClient) -> list[str]:
    return [frame["name"] for frame in client.request("stackTrace", threadId=1)["stackFrames"]]


def test_from_launch_to_launch_and_back(client: DapClient) -> None:
    client.launch(PIPELINE)
    client.expect_stopped("entry")
    client.console("goto launch 7")
    stop = client.expect_stopped("goto")
    assert [frame.name for frame in stop.frames] == [
        "tpu.MatMul a_MatMul",
        "dma.matrix D1",
        "dec.subfunc_0",
        "launch 7 of dec (2×12)",
        "main",
        "layer a_MatMul",
    ]
    assert client.request("tdb/time")["launch"] == "launch 7 of dec (2×12)"
    assert client.request("tdb/time", at=5)["launch"] == "launch 0 of enc (1×16)"
    assert stop.variable("Operands", "y").value.startswith("f32 2×12")
    assert "breakpoint 1: net:dec (5 places)" in client.console("b net:dec")
    client.reverse()
    assert "launch 5 of dec (7×12)" in [frame.name for frame in client.expect_stopped("breakpoint").frames]
    client.console("goto launch 3")
    client.expect_stopped("goto")
    assert "line 16" in client.console("who in[0]"), "the launch before has made it"
    assert "there is no launch 10; there are 0 to 9" in client.refusal(
        "evaluate", expression="goto launch 10", context="repl"
    )


def test_a_stop_in_another_launch_names_it_and_all_are_listed(client: DapClient) -> None:
    client.launch(PIPELINE)
    client.expect_stopped("entry")
    client.console("n launch")
    assert client.expect_stopped("step").description == "Paused on step, launch 1 of dec (1×12)"
    assert client.console("status").startswith("in launch 1 of dec (1×12); ")
    client.console("si")
    assert client.expect_stopped("step").description == "", "it is the same launch"
    listed = client.console("info launches").splitlines()
    assert len(listed) == 10
    assert [line.split() for line in listed if line.startswith("=>")] == [
        ["=>", "1", "dec", "(1×12)", "17", "to", "71"]
    ]
    client.console("goto launch 0")
    assert client.expect_stopped("goto").description.endswith("launch 0 of enc (1×16)")


def test_tracks_of_the_timeline_have_names_in_chinese(new_client: Callable[..., DapClient]) -> None:
    client = new_client({**EVERYTHING, "locale": "zh-cn"})
    client.launch(PIPELINE)
    client.expect_stopped("entry")
    assert [track["engine"] for track in client.request("tdb/timeline")["tracks"]] == ["TIU", "DMA", "主机"]
    assert client.request("tdb/time")["launch"] == "第 0 次启动：enc (1×16)"


def test_launches_have_names_in_chinese(new_client: Callable[..., DapClient]) -> None:
    client = new_client({**EVERYTHING, "locale": "zh-cn"})
    client.launch(PIPELINE)
    client.expect_stopped("entry")
    client.console("n launch")
    assert client.expect_stopped("step").description == "已暂停：单步，第 1 次启动：dec (1×12)"
    assert client.console("status").startswith("位于第 1 次启动：dec (1×12)；info launches 列出全部")


def test_a_breakpoint_in_a_dynamic_function_stops_in_every_launch(client: DapClient) -> None:
    client.launch(PIPELINE)
    client.expect_stopped("entry")
    sources = client.request("loadedSources")["sources"]
    source = Path(next(source["path"] for source in sources if source["name"] == "final.mlir"))
    line = next(n for n, text in enumerate(source.read_text().split("\n"), 1) if '"tpu.Softmax"' in text)
    [placed] = client.set_breakpoints(source, [line])
    assert placed["verified"]
    assert placed["line"] == line
    for launch in ("1 of dec (1×12)", "3 of dec (4×12)", "5 of dec (7×12)"):
        client.resume()
        stop = client.expect_stopped("breakpoint")
        assert stop.frame("op").line == line
        assert f"launch {launch}" in [frame.name for frame in stop.frames]
    client.request("restartFrame", frameId=next(f.id for f in stop.frames if f.name.startswith("launch")))
    assert "launch 5 of dec (7×12)" in [frame.name for frame in client.expect_stopped("goto").frames]


@pytest.mark.parametrize("file", TOYS, ids=lambda file: file.stem)
def test_a_dynamic_model_is_stepped_op_by_op_forward_and_back(client: DapClient, file: Path) -> None:
    client.launch(file, stopOnExit=True)
    client.expect_stopped("entry")
    there = names(client)[:1]
    while there[-1] != "main (finished)":
        client.next()
        client.expect_stopped("step")
        there.append(names(client)[0])
    ops = there[:-1]
    assert all(name.startswith("tpu.") for name in ops), "the host's copies are passed over"
    assert ops[0].startswith("tpu.Load")
    assert len({name for name in ops if name.startswith("tpu.Conv2D")}) == 2
    assert ops[-1].split()[0] in ("tpu.Softmax", "tpu.Cast")
    back: list[str] = []
    reason = "step"
    while reason == "step":
        client.step_back()
        reason = client.raw.event("stopped")["body"]["reason"]
        back.append(names(client)[0])
    assert reason == "entry"
    assert [name for name in back if name.startswith("tpu.")] == ops[::-1]


def test_an_op_whose_commands_are_not_certain_says_so(client: DapClient, tmp_path: Path) -> None:
    """Of the calls that begin a group one is missing: what follows may be of another op than it seems."""
    recording = Recording.read(TOYS[1])
    names_of = {
        name.number: name.text
        for name in (recording.parsed(index, Name.parse) for index in recording.of(Event.NAME).tolist())
    }
    begins = [
        index
        for index in recording.of(Event.MARK).tolist()
        if names_of[recording.parsed(index, Mark.parse).name] == "dynamic_context_group_begin"
    ]
    file = tmp_path / "doubtful.tdbrec"
    with Writer(file, recording.head) as writer:
        for index, (kind, flags, core, _, _) in enumerate(recording.events.tolist()):
            payload = recording.payload(index)
            if index == begins[-1]:
                other = next(number for number, name in names_of.items() if name.endswith("next_group"))
                payload = replace(Mark.parse(payload), name=other).pack()
            writer.events(event(kind, payload, flags=flags, core=core))
        for name, content in recording.files.items():
            writer.attach(name, content)
        writer.done({})
    client.launch(file)
    client.expect_stopped("entry")
    client.next()
    client.expect_stopped("step")
    assert names(client)[0] == "tpu.Load load_w1 (not certain)"


def test_a_recording_needs_no_inputs_and_says_what_it_is(client: DapClient) -> None:
    client.launch(TOYS[1])
    client.expect_stopped("entry")
    printed = client.printed()
    assert "toy_bm1684x.tdbrec" in printed
    assert "inputs are zero" not in printed
    assert "final.mlir" not in printed


def test_what_a_recording_cannot_be_launched_with(client: DapClient) -> None:
    message = client.failed_launch(program=str(TOYS[1]), backend="lockstep")
    assert "a recording is replayed by the built-in simulator; leave the backend lockstep out" in message
