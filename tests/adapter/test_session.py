"""A user's first session, from launch to the end, as an editor carries it out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient


@pytest.mark.capability("supportsConfigurationDoneRequest")
def test_launch_stops_on_entry_before_the_first_command(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    assert stop.ordinal == 0
    assert stop.top.source == "final.mlir"
    assert stop.top.line == toy.line_of('"tpu.Load"')
    client.disconnect()


def test_breakpoint_in_final_mlir_stops_before_the_pooling(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    placed = client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert placed[0]["verified"]
    assert stop.hit == [placed[0]["id"]]
    assert stop.frame("op").line == line
    assert stop.variable("Operands", "relu4_Relu").value.startswith(
        "f32 1×16×32×32  ✓  relu4_Relu  [0.2818 0 1.966 …]  min 0 max"
    )
    client.step_back("instruction")
    assert client.expect_stopped("step").ordinal == stop.ordinal - 1
    client.disconnect()


@pytest.mark.capability("supportsSteppingGranularity")
def test_editors_go_to_the_op_and_to_the_listing_when_stepping_by_instruction(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    assert client.expect_stopped("entry").top.source == "final.mlir"
    client.step_in()
    assert client.expect_stopped("step").top.source == "toy.tdbasm"
    client.step_out()
    assert client.expect_stopped("step").top.source == "final.mlir"
    client.next("instruction")
    assert client.expect_stopped("step").top.source == "toy.tdbasm"
    client.resume()
    client.expect_end()
    client.disconnect()


def test_call_stack_shows_every_level_of_the_compiler(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert stop.frame("command").name == "pord.maxpooling B3"
    assert stop.frame("op").name == "tpu.Pool2D maxpool5_MaxPool"
    assert stop.frame("group").line == toy.line_of('"tpu.Group"')
    assert stop.frame("subnet").line == toy.line_of("func.func @subfunc_0")
    assert stop.frame("main").line == toy.line_of("call @subfunc_0")
    assert stop.frame("layer").name == "layer maxpool5_MaxPool"
    client.disconnect()


def test_running_to_the_end_prints_the_outputs_and_ends_the_session(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stop_on_entry=False, **toy.data)
    client.expect_end()
    assert "softmax16_Softmax = f32[1,10] min 0.032428 max 0.16387" in client.printed()
    client.disconnect()


def test_stepping_over_the_last_op_stops_once_more_with_the_outputs(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Softmax"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    client.expect_stopped("breakpoint")
    client.next()
    stop = client.expect_stopped("step")
    assert stop.top.name == "main (finished)"
    output = stop.variable("Outputs", "softmax16_Softmax", level="main")
    with np.load(toy.reference) as reference:
        expected = reference["softmax16_Softmax"][0]
    row = output.children(filter="indexed")
    assert np.allclose([float(v.value) for v in row], expected, rtol=1e-5)
    client.next()
    client.expect_end()
    client.disconnect()


@pytest.mark.capability("supportsRestartRequest")
def test_restart_goes_back_to_the_first_command(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.MatMul"')
    client.launch(toy.directory, breakpoints={toy.mlir: [line]}, **toy.data)
    client.expect_stopped("entry")
    client.resume()
    client.expect_stopped("breakpoint")
    client.raw.events("continued")
    client.request("restart")
    assert client.expect_stopped("entry").ordinal == 0
    (event,) = client.raw.events("continued")
    assert event["allThreadsContinued"], "else clients go on showing why it stopped before"
    client.resume()
    client.expect_stopped("breakpoint")
    client.request("terminate")
    client.expect_end()
    client.disconnect()


def test_without_final_mlir_the_listing_takes_its_place(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    model = tmp_path / "lonely" / "compilation.bmodel.xz"
    model.parent.mkdir()
    model.write_bytes((toy.directory / model.name).read_bytes())
    client.launch(model, inputs=str(toy.inputs))
    stop = client.expect_stopped("entry")
    assert [(frame.source, frame.line) for frame in stop.frames] == [("toy.tdbasm", line) for line in (3, 2, 1)]
    assert stop.variable("Operands", "%G0", level="command").value.startswith("f32 1×16×1×1  [")
    client.next()
    assert client.expect_stopped("step").ordinal == 1
    client.disconnect()


def test_a_dynamic_model_says_so_and_ends_in_order(client: DapClient) -> None:
    from tests.samples import case

    client.launch(case("toy_bm1684x_f32dyn").path)
    client.expect_stopped("entry")
    assert "Subnet 0 is dynamic, its commands are made while it runs: the run will stop there" in client.printed()
    for _ in range(2):
        client.resume()
        stop = client.expect_stopped("exception")
        assert "is dynamic" in stop.text
    assert stop.evaluate("input('x')", level="command").startswith("f32 1×3×32×32  "), "the session is all there"
    client.request("terminate")
    client.expect_end()
    client.disconnect()


def test_a_run_without_debugging_ends_where_it_cannot_go_on(client: DapClient) -> None:
    from tests.samples import case

    client.launch(case("toy_bm1684x_f32dyn").path, noDebug=True)
    client.expect_end(exit_code=1)
    assert "is dynamic" in client.printed()
    client.disconnect()


def test_a_second_launch_ends_like_the_first(client: DapClient, toy: Toy) -> None:
    """Restart by launch, after the program has run to its end."""
    client.launch(toy.directory, stop_on_entry=False, **toy.data)
    client.expect_end()
    for _ in range(2):
        again = client.raw.send("launch", program=str(toy.directory), stopOnEntry=False, stopOnExit=False, **toy.data)
        client.raw.event("initialized")
        client.raw.answer(again)
        client.expect_end()
    client.disconnect()


def test_a_client_that_starts_over_can_end_again(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.request("terminate")
    client.expect_end()
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.request("terminate")
    client.expect_end()
    client.disconnect()


def test_a_launch_that_is_ended_before_it_is_configured_is_answered(client: DapClient, toy: Toy) -> None:
    client.raw.initialize()
    launch = client.raw.send("launch", program=str(toy.directory), **toy.data)
    client.raw.event("initialized")
    client.request("terminate")
    assert "ended before its configuration was done" in client.raw.response(launch)["message"]
    client.expect_end()
    client.request("configurationDone")
    client.disconnect()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("continue", {"threadId": 1}),
        ("restart", {}),
        ("restart", {"arguments": {"program": "x"}}),
        ("next", {"threadId": 1}),
        ("stepBack", {"threadId": 1}),
        ("reverseContinue", {"threadId": 1}),
        ("goto", {"threadId": 1, "targetId": 1}),
        ("evaluate", {"expression": "c", "context": "repl"}),
        ("evaluate", {"expression": "reload", "context": "repl"}),
        ("evaluate", {"expression": "py 1", "context": "repl"}),
    ],
)
def test_before_a_launch_there_is_no_program(client: DapClient, command: str, arguments: dict[str, Any]) -> None:
    client.raw.initialize()
    assert client.refusal(command, **arguments) == "no program is loaded"
    client.disconnect()


@pytest.mark.parametrize(
    ("impossible", "title"),
    [
        ("opd1_h = 255", "The chip has no such command"),
        ("opd0_prec = 7", "Not simulated"),
        ("res0_n = 65535", "Not simulated"),
        ("opd0_str = 7", "Not simulated"),
    ],
)
def test_a_command_that_an_edit_has_made_impossible_stops_and_can_be_undone(
    client: DapClient, toy: Toy, impossible: str, title: str
) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.console("si 3")
    client.expect_stopped("step")
    client.console("set R15:f32[2] = 7")
    client.console(f"whatif {impossible}")
    for _ in range(2):
        client.request("next", threadId=1, granularity="instruction")
        stop = client.expect_stopped("exception")
        assert stop.description == f"{title} (edited run)"
        assert stop.ordinal == 3
    assert "7" in client.console("p R15:f32[2]")
    assert len(client.console("info edits").split("\n")) == 2
    client.console("undo")
    client.expect_stopped("goto")
    client.request("next", threadId=1, granularity="instruction")
    assert client.expect_stopped("step").ordinal == 4
    client.disconnect()
