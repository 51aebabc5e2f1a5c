"""Breakpoints of the protocol: lines, conditions, hit counts, log points, function and instruction breakpoints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient


def test_a_line_without_commands_moves_to_the_next_one_that_has_some(client: DapClient, toy: Toy) -> None:
    reshape = toy.line_of('"tpu.Reshape"')
    matmul = toy.line_of('"tpu.MatMul"')
    [placed] = client.launch(toy.directory, breakpoints={toy.mlir: [reshape]}, **toy.data)
    assert placed["verified"]
    assert placed["line"] == matmul
    assert placed["message"] == f"line {reshape} has no commands; moved to line {matmul}"
    client.expect_stopped("entry")
    client.resume()
    assert client.expect_stopped("breakpoint").frame("op").line == matmul
    client.disconnect()


def test_a_line_behind_the_last_op_is_refused_in_words(client: DapClient, toy: Toy) -> None:
    [placed] = client.launch(toy.directory, breakpoints={toy.mlir: [9000]}, **toy.data)
    assert not placed["verified"]
    assert placed["message"] == "no line from 9000 on has commands"
    client.expect_stopped("entry")
    client.disconnect()


def test_a_breakpoint_on_the_first_line_is_not_run_over(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Load"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    assert client.expect_stopped("breakpoint").ordinal == 0
    client.disconnect()


def test_another_file_is_not_part_of_the_program(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    [placed] = client.launch(toy.directory, breakpoints={tmp_path / "other.mlir": [3]}, **toy.data)
    assert not placed["verified"]
    assert "not part of the program" in placed["message"]
    client.expect_stopped("entry")
    client.disconnect()


def test_breakpoints_in_the_listing(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    source = client.expect_stopped("entry").frame("command").raw["source"]
    text = client.request("source", source=source, sourceReference=source["sourceReference"])["content"]
    line = next(n for n, text in enumerate(text.split("\n"), 1) if "pord.maxpooling" in text)
    client.request("setBreakpoints", source=source, breakpoints=[{"line": line}])
    client.resume()
    stop = client.expect_stopped("breakpoint")
    assert stop.top.source == "toy.tdbasm"
    assert stop.top.line == line
    client.disconnect()


@pytest.mark.capability("supportsConditionalBreakpoints")
def test_conditions_see_the_op_of_the_line(client: DapClient, toy: Toy) -> None:
    pool = toy.line_of('"tpu.Pool2D"')
    softmax = toy.line_of('"tpu.Softmax"')
    lines = [{"line": pool, "condition": "max(in[0]) > 100"}, {"line": softmax, "condition": "max(in[0]) < 100"}]
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: lines}, **toy.data)
    assert client.expect_stopped("breakpoint").frame("op").line == softmax
    client.disconnect()


def test_a_condition_that_cannot_be_understood_is_refused_when_it_is_set(client: DapClient, toy: Toy) -> None:
    lines = [{"line": toy.line_of('"tpu.Pool2D"'), "condition": "in[0] +"}]
    [placed] = client.launch(toy.directory, breakpoints={toy.mlir: lines}, **toy.data)
    client.expect_stopped("entry")
    assert not placed["verified"]
    assert placed["message"] == "cannot understand 'in[0] +'"
    assert "cannot understand" in client.refusal("evaluate", expression="b tpu.Load if 1 +", context="repl")
    client.disconnect()


def test_a_condition_that_fails_stops_and_says_why(client: DapClient, toy: Toy) -> None:
    lines = [{"line": toy.line_of('"tpu.Pool2D"'), "condition": "nonsense > 3"}]
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: lines}, **toy.data)
    client.expect_stopped("breakpoint")
    assert "condition: there is no tensor named 'nonsense'" in client.printed()
    client.disconnect()


@pytest.mark.capability("supportsHitConditionalBreakpoints")
def test_hit_conditions_count(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "tpu.Load", "hitCondition": "% 2"}])
    stops = []
    for _ in range(2):
        client.resume()
        stops.append(client.expect_stopped("function breakpoint").frame("op").line)
    lines = [n for n, text in enumerate(toy.mlir.read_text().split("\n"), 1) if '"tpu.Load"' in text]
    assert stops == [lines[1], lines[3]]
    client.disconnect()


@pytest.mark.capability("supportsLogPoints")
def test_log_points_speak_and_do_not_stop(client: DapClient, toy: Toy) -> None:
    lines = [{"line": toy.line_of('"tpu.Pool2D"'), "logMessage": "largest {max(in[0])}, {nonsense}"}]
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: lines}, **toy.data)
    client.expect_end()
    assert "largest 3.9359858, <there is no tensor named 'nonsense'>" in client.printed()
    client.disconnect()


def test_log_points_have_formats_and_their_tensors_can_be_opened(client: DapClient, toy: Toy) -> None:
    message = "largest {max(in[0]):.2f} of {in[0][0,3,0,:3]:+.1e} and R1 {R1:f32[2]:.1f}"
    lines = [{"line": toy.line_of('"tpu.Pool2D"'), "logMessage": message}]
    client.launch(toy.directory, stop_on_entry=True, breakpoints={toy.mlir: lines}, **toy.data)
    client.expect_stopped("entry")
    client.printed()
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "tpu.MatMul"}])
    client.resume()
    stop = client.expect_stopped("function breakpoint")
    [said] = client.raw.events("output")
    assert re.fullmatch(
        r"largest 3\.94 of \[([+-]\d\.\de[+-]\d\d(, )?){3}\] and R1 \[\d\.\d, \d\.\d\]\n", said["output"]
    )
    assert said["line"] == toy.line_of('"tpu.Pool2D"')
    [text] = client.variables(said["variablesReference"])
    assert text.value == said["output"].strip()
    part = text.children()[1]
    assert len(part.children()) == 3
    assert stop.evaluate("R1:f32[2]", level="command") != text.children()[2].value  # the tensor as it was then
    client.disconnect()


def test_a_log_message_that_cannot_be_understood_is_refused(client: DapClient, toy: Toy) -> None:
    lines = [{"line": toy.line_of('"tpu.Pool2D"'), "logMessage": "so {in[0] +} much"}]
    [placed] = client.launch(toy.directory, breakpoints={toy.mlir: lines}, **toy.data)
    assert placed["message"] == "cannot understand 'in[0] +'"
    client.expect_stopped("entry")
    client.disconnect()


@pytest.mark.capability("supportsFunctionBreakpoints")
def test_function_breakpoints_take_every_form(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    forms = ["pord.*", "tpu.MatMul", "B46", "G53248", "%19", '#loc("gemm15_Gemm")', "#loc(14)", "subnet:0", "huh?!"]
    answer = client.request("setFunctionBreakpoints", breakpoints=[{"name": name} for name in forms])["breakpoints"]
    assert [b["verified"] for b in answer] == [True] * 8 + [False]
    assert "is not a breakpoint; write one of" in answer[-1]["message"]
    client.disconnect()


@pytest.mark.capability("supportsInstructionBreakpoints")
def test_instruction_breakpoints_of_the_disassembly(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    start = client.expect_stopped("entry").frame("command").raw["instructionPointerReference"]
    answer = client.request("disassemble", memoryReference=start, instructionOffset=-2, instructionCount=12)
    rows = answer["instructions"]
    assert [row.get("presentationHint") for row in rows[:3]] == ["invalid", "invalid", None]
    pool = next(row for row in rows if "pord.maxpooling" in row["instruction"])
    assert pool["line"] == toy.line_of('"tpu.Pool2D"')
    client.request("setInstructionBreakpoints", breakpoints=[{"instructionReference": pool["address"]}])
    client.resume()
    stop = client.expect_stopped("instruction breakpoint")
    assert stop.frame("command").raw["instructionPointerReference"] == pool["address"]
    client.disconnect()


@pytest.mark.capability("breakpointModes")
def test_stopping_after_the_command_shows_its_results(client: DapClient, toy: Toy) -> None:
    lines = [{"line": toy.line_of('"tpu.Pool2D"'), "mode": "after"}]
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: lines}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert stop.frame("op").name == "tpu.Pool2D maxpool5_MaxPool"
    assert (
        stop.variable("Results", "maxpool5_MaxPool").value
        == "f32 1×16×16×16  ✓  maxpool5_MaxPool  [1.121 1.966 1.793 …]  min 0 max 3.936"
    )
    assert stop.variable("Compare", "maxpool5_MaxPool").value.startswith("pass")
    client.next()
    assert client.expect_stopped("step").frame("op").line == toy.line_of("id = 3, stage")
    client.disconnect()


def test_a_function_breakpoint_after_its_place_has_results_in_its_condition(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    wanted = {"name": "after tpu.*", "condition": "max(out[0]) > 3"}
    [placed] = client.request("setFunctionBreakpoints", breakpoints=[wanted])["breakpoints"]
    assert placed["verified"]
    rows = client.request("tdb/trace", text="max(out[0]) at tpu.* if max(out[0]) > 3")["rows"]
    client.resume()
    client.expect_stopped("function breakpoint")
    assert client.request("tdb/time")["ordinal"] == rows[0]["moment"]
    assert rows[0]["isAfter"]
    client.disconnect()


@pytest.mark.capability("supportsBreakpointLocationsRequest")
def test_breakpoint_locations_are_the_lines_with_commands(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    reshape, softmax = toy.line_of('"tpu.Reshape"'), toy.line_of('"tpu.Softmax"')
    answer = client.request("breakpointLocations", source={"path": str(toy.mlir)}, line=reshape, endLine=softmax)
    assert [b["line"] for b in answer["breakpoints"]] == [toy.line_of('"tpu.MatMul"'), softmax]
    client.disconnect()


def test_breakpoints_set_before_the_launch_are_placed_with_it(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.raw.initialize(**client.traits)
    [early] = client.set_breakpoints(toy.mlir, [line])
    assert not early["verified"]
    launch = client.raw.send("launch", program=str(toy.directory), stopOnEntry=False, **toy.data)
    client.raw.event("initialized")
    [changed] = client.raw.events("breakpoint")
    assert changed["breakpoint"]["id"] == early["id"]
    assert changed["breakpoint"]["verified"]
    client.request("configurationDone")
    client.raw.answer(launch)
    assert client.expect_stopped("breakpoint").hit == [early["id"]]
    client.disconnect()


def test_setting_another_breakpoint_keeps_the_hits_of_the_first(client: DapClient, toy: Toy) -> None:
    pool, matmul = toy.line_of('"tpu.Pool2D"'), toy.line_of('"tpu.MatMul"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [pool]}, **toy.data)
    client.expect_stopped("breakpoint")
    client.set_breakpoints(toy.mlir, [pool, matmul])
    assert "mlir:23  hits 1" in client.console("b")
    client.disconnect()
