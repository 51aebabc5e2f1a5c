"""To any moment: goto, restart of frames and of the program, in what a client sees of it."""

from __future__ import annotations

from typing import Any

import pytest

from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Program
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import case


def all_local(client: DapClient) -> str:
    return client.request("readMemory", memoryReference="R0", count=1 << 20)["data"]


@pytest.mark.capability("supportsGotoTargetsRequest")
def test_a_line_has_two_targets_travel_and_skip(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    source = {"path": str(toy.mlir)}
    travel, skip = client.request("gotoTargets", source=source, line=line)["targets"]
    assert travel["label"].startswith("travel here")
    assert skip["label"].startswith("skip to here")
    client.request("goto", threadId=1, targetId=travel["id"])
    stop = client.expect_stopped("goto")
    assert stop.frame("op").line == line
    assert stop.variable("Compare", "relu4_Relu").value.startswith("pass")
    there = all_local(client)
    client.reverse()
    client.expect_stopped("entry")
    before = all_local(client)
    client.request("goto", threadId=1, targetId=skip["id"])
    stop = client.expect_stopped("goto")
    assert stop.frame("op").line == line
    assert all_local(client) == before != there
    assert "edited run" in stop.description
    assert client.console("info edits") == "at     0  commands 0 to 4 skipped"
    client.step_back()
    client.expect_stopped("step")
    client.reverse()
    assert "edited run" not in client.expect_stopped("entry").description
    client.disconnect()


def test_a_line_without_commands_has_no_targets(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    answer = client.request("gotoTargets", source={"path": str(toy.mlir)}, line=toy.line_of('"tpu.Reshape"'))
    assert answer["targets"] == []
    assert "no target" in client.refusal("goto", threadId=1, targetId=4711)
    client.disconnect()


@pytest.mark.capability("supportsLoadedSourcesRequest")
def test_skipping_back_keeps_what_has_been_computed(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, breakpoints={toy.mlir: [toy.line_of('"tpu.Pool2D"')]}, **toy.data)
    client.expect_stopped("entry")
    client.resume()
    client.expect_stopped("breakpoint")
    there = all_local(client)
    listing = client.request("loadedSources")["sources"][1]
    line = 4
    skip = client.request("gotoTargets", source=listing, line=line)["targets"][1]
    client.request("goto", threadId=1, targetId=skip["id"])
    stop = client.expect_stopped("goto")
    assert stop.ordinal < 5
    assert all_local(client) == there
    client.console("si 1")
    client.expect_stopped("step")
    client.console("undo")
    assert client.expect_stopped("goto").ordinal == 5, "undo returns to where the skip was made"
    assert all_local(client) == there
    client.disconnect()


def test_undo_of_a_skip_returns_to_where_it_was_made_with_the_edits_of_then(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, breakpoints={toy.mlir: [toy.line_of('"tpu.Pool2D"')]}, **toy.data)
    client.expect_stopped("entry")
    client.console("si 3")
    client.expect_stopped("step")
    client.console("set R15:f32[2] = 4711")
    client.resume()
    client.expect_stopped("breakpoint")
    listing = client.request("loadedSources")["sources"][1]
    back = client.request("gotoTargets", source=listing, line=4)["targets"][1]
    client.request("goto", threadId=1, targetId=back["id"])
    client.expect_stopped("goto")
    client.console("undo")
    assert client.expect_stopped("goto").ordinal == 5
    assert "4711" in client.console("p R15:f32[2]")
    assert "4711" in client.console("info edits")
    onwards = client.request("gotoTargets", source={"path": str(toy.mlir)}, line=toy.line_of('"tpu.MatMul"'))["targets"]
    client.request("goto", threadId=1, targetId=onwards[1]["id"])
    assert client.expect_stopped("goto").ordinal > 5
    client.console("si 2")
    client.expect_stopped("step")
    client.console("undo")
    assert client.expect_stopped("goto").ordinal == 5
    client.disconnect()


@pytest.mark.capability("supportsRestartFrame")
def test_every_frame_goes_back_to_its_own_start(client: DapClient) -> None:
    toy = case("toy_bm1684x_f32")
    client.launch(toy.path, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    lines = toy.mlir.read_text().split("\n")
    softmax = next(n for n, text in enumerate(lines, 1) if '"tpu.Softmax"' in text)
    client.set_breakpoints(toy.mlir, [softmax])
    client.resume()
    stop = client.expect_stopped("breakpoint")
    first_of_softmax = stop.ordinal
    for _ in range(3):
        client.next("instruction")
        stop = client.expect_stopped("step")
    assert stop.ordinal == first_of_softmax + 3
    here = all_local(client)
    frames = {}
    for level in ("op", "subnet", "main"):
        client.request("restartFrame", frameId=stop.frame(level).id)
        # The way is a journey: no breakpoint ends it.
        frames[level] = client.expect_stopped("goto").ordinal
        client.console(f"goto {first_of_softmax + 3}")
        stop = client.expect_stopped("goto")
        assert all_local(client) == here
    assert frames == {"op": first_of_softmax, "subnet": 0, "main": 0}
    assert not any(frame.raw.get("canRestart") for frame in stop.frames if frame.name.startswith("layer"))
    client.disconnect()


def test_frames_of_a_group_and_of_a_command_that_is_done(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    lines = [{"line": line, "mode": "after"}]
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: lines}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert stop.ordinal == 5
    assert "(not yet computed)" not in stop.variable("Results", "maxpool5_MaxPool").value
    client.request("restartFrame", frameId=stop.frame("command").id)
    stop = client.expect_stopped("goto")
    assert stop.ordinal == 5
    assert "(not yet computed)" in stop.variable("Results", "maxpool5_MaxPool").value
    client.request("restartFrame", frameId=stop.frame("group").id)
    assert client.expect_stopped("goto").frame("op").line == toy.line_of('"tpu.Load"')
    client.disconnect()


def test_restart_is_immediate_and_undoes_edits(client: DapClient, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    before = all_local(client)
    client.step_out()
    client.expect_stopped("step")
    client.console("set R0:f32[64] = 1")
    done: list[str] = []

    def noting(of: type, method: str) -> None:
        original = getattr(of, method)

        def noted(*arguments: Any, **options: Any) -> Any:
            done.append(f"{of.__name__}.{method}")
            return original(*arguments, **options)

        monkeypatch.setattr(of, method, noted)

    noting(Program, "__init__")
    noting(Machine, "__init__")
    noting(Machine, "step")
    for _ in range(5):
        client.request("restart")
        stop = client.expect_stopped("entry")
    assert stop.ordinal == 0
    assert all_local(client) == before
    assert client.console("info edits") == "no edits"
    assert done == [], "nothing is opened again, and nothing executed"
    client.next()
    client.expect_stopped("step")
    assert set(done) == {"Machine.step"}
    client.disconnect()


def test_without_history_the_client_is_told_what_goes(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, historyLimit=0, **toy.data)
    [told] = client.raw.events("capabilities")
    assert told["capabilities"] == {"supportsStepBack": False, "supportsRestartFrame": False}
    assert not client.expect_stopped("entry").frame("op").raw["canRestart"]
    client.disconnect()


def test_a_slider_knows_what_lies_at_each_moment_and_travels_there(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    line = toy.line_of('"tpu.Pool2D"')
    now = client.request("tdb/time")
    assert (now["ordinal"], now["at"]) == (0, 0)
    there = client.request("tdb/time", at=5)
    assert (there["ordinal"], there["op"], there["line"]) == (0, "tpu.Pool2D", line)
    assert there["location"] == "maxpool5_MaxPool"
    assert "pool" in there["command"]
    for ordinal in (5, now["commands"], 2):
        client.request("tdb/travel", ordinal=ordinal)
        client.expect_stopped("goto")
        assert client.request("tdb/time")["ordinal"] == ordinal
    assert "command" not in client.request("tdb/time", at=now["commands"])
    assert "0 to" in client.refusal("tdb/travel", ordinal=now["commands"] + 1)
    client.disconnect()
