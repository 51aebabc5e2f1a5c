"""Steps of every size, forwards and backwards, pause, and what is answered while the program runs."""

from __future__ import annotations

import pytest

from tdb_dap.engine.control.debugger import Debugger
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import case

SLOW = {"name": "*", "condition": "sum(sqrt(abs(sin(R0:f32[64,65536])))) < 0"}
"""A breakpoint whose condition takes long and never holds: a run that lasts long enough to be interrupted."""


@pytest.mark.capability("supportsStepBack")
def test_next_goes_from_op_to_op_and_back(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    seen = [stop.frame("op").line]
    for _ in range(5):
        client.next()
        seen.append(client.expect_stopped("step").frame("op").line)
    assert seen == [17, 18, 19, 22, 23, 20]
    for line in (23, 22, 19):
        client.step_back()
        assert client.expect_stopped("step").frame("op").line == line
    client.disconnect()


def test_step_out_leaves_the_group(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.step_out()
    assert client.expect_stopped("step").frame("op").line == toy.line_of('"tpu.MatMul"')
    client.step_out()
    assert client.expect_stopped("step").top.name == "main (finished)"
    client.disconnect()


def test_a_breakpoint_on_the_way_ends_a_step(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, breakpoints={toy.mlir: [line]}, **toy.data)
    client.expect_stopped("entry")
    client.step_out()
    assert client.expect_stopped("breakpoint").frame("op").line == line
    client.disconnect()


def test_reverse_continue_finds_the_breakpoint_before(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.step_out()
    client.expect_stopped("step")
    client.set_breakpoints(toy.mlir, [line])
    client.reverse()
    assert client.expect_stopped("breakpoint").frame("op").line == line
    client.reverse()
    assert client.expect_stopped("entry").ordinal == 0
    client.disconnect()


def test_memory_is_as_it_was_after_going_back(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    reference = {"memoryReference": "R1", "offset": 0, "count": 4096}
    before = client.request("readMemory", **reference)
    client.step_out()
    client.expect_stopped("step")
    assert client.request("readMemory", **reference) != before
    client.reverse()
    assert client.expect_stopped("entry").ordinal == stop.ordinal
    assert client.request("readMemory", **reference) == before
    client.disconnect()


def test_a_run_is_paused_and_breakpoints_are_set_while_it_lasts(
    client: DapClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused_at: list[int] = []

    def pause(debugger: Debugger) -> None:
        paused_at.append(debugger.ordinal)
        debugger._pause.set()

    monkeypatch.setattr(Debugger, "pause", pause)
    model = case("attention_bm1684x_int8").path
    client.launch(model, inputs=str(model / "input.npz"))
    client.expect_stopped("entry")
    client.request("setFunctionBreakpoints", breakpoints=[SLOW])
    client.resume()
    answer = client.request("setBreakpoints", source={"path": str(model / "final.mlir")}, breakpoints=[{"line": 1}])
    assert answer["breakpoints"][0]["verified"]
    assert client.refusal("stackTrace", threadId=1) == "notStopped"
    client.request("pause", threadId=1)
    stop = client.expect_stopped("pause")
    assert stop.ordinal - paused_at[0] <= 1, "at most the command in progress is executed"
    client.resume()
    client.disconnect()


@pytest.mark.capability("supportsTerminateRequest")
def test_terminate_ends_a_run_in_progress(client: DapClient) -> None:
    model = case("attention_bm1684x_int8").path
    client.launch(model, inputs=str(model / "input.npz"))
    client.expect_stopped("entry")
    client.request("setFunctionBreakpoints", breakpoints=[SLOW])
    client.resume()
    client.request("terminate")
    client.expect_end()
    client.disconnect()


def test_pausing_a_stopped_program_changes_nothing(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.request("pause", threadId=1)
    client.next()
    assert client.expect_stopped("step").ordinal == 1
    client.disconnect()


@pytest.mark.parametrize("name", ["toy_bm1684x_f32", "toy_bm1684_int8", "toy_bm1688_int8c2", "toy_bm1690_f16c8"])
def test_stepping_goes_by_what_is_on_the_screen(client: DapClient, name: str) -> None:
    """Down to the command without executing it, along the listing, and out: of the op, then of its group."""
    model = case(name)
    client.launch(model.path)
    stop = client.expect_stopped("entry")
    while stop.top.source != "final.mlir":
        client.next()
        stop = client.expect_stopped("step")
    at_op = stop.top.line
    client.step_in()
    down = client.expect_stopped("step")
    assert (down.ordinal, down.thread) == (stop.ordinal, stop.thread)
    assert down.top.source.endswith(".tdbasm")
    assert down.frame("op").line == at_op
    for step in (client.next, client.step_in):
        step()
        along = client.expect_stopped("step")
        assert along.top.source.endswith(".tdbasm")
        assert along.ordinal > down.ordinal
        client.step_back()
        assert client.expect_stopped("step").ordinal == down.ordinal
    client.step_out()
    out = client.expect_stopped("step")
    assert out.ordinal > down.ordinal
    ops = [frame for frame in out.frames if frame.name.startswith("tpu.")]
    assert out.top.source == ("final.mlir" if ops else "") or not ops
    client.step_out()
    assert client.expect_stopped("step").ordinal > out.ordinal
    client.disconnect()


def test_who_travels_from_the_listing_stays_in_it(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    for looks_at in ("final.mlir", "toy.tdbasm"):
        for ordinal in (7, 20, 3):
            client.request("tdb/travel", ordinal=ordinal)
            stop = client.expect_stopped("goto")
            assert (stop.ordinal, stop.top.source) == (ordinal, looks_at)
        client.step_in()
        client.expect_stopped("step")
    client.disconnect()


def test_breakpoints_edits_and_ops_that_differ_are_marks_on_the_way(client: DapClient, toy: Toy) -> None:
    pool = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [pool]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    (mark,) = client.request("tdb/marks", compare=True)["marks"]
    assert (mark["ordinal"], mark["kind"]) == (stop.ordinal, "breakpoint")
    client.console("set in[0] = in[0] * 0")
    client.next()
    client.expect_stopped("step")
    body = client.request("tdb/marks", compare=True)
    assert body["isComplete"]
    kinds = {(found["ordinal"], found["kind"]) for found in body["marks"]}
    assert {(stop.ordinal, kind) for kind in ("breakpoint", "edit", "failing")} <= kinds
    assert all(ordinal <= stop.ordinal for ordinal, kind in kinds if kind != "breakpoint")
    assert "failing" not in {found["kind"] for found in client.request("tdb/marks")["marks"]}, "not asked for"
