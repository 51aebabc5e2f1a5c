"""Edits: of variables, expressions, memory and registers; recorded, listed, undone; and what would follow."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


def reference_of(stop: Stop, scope: str, level: str = "op") -> int:
    return next(s["variablesReference"] for s in stop._scopes(level) if s["name"] == scope)


@pytest.mark.capability("supportsSetVariable")
def test_an_element_is_set_in_the_variables_pane(pooling: Stop) -> None:
    client = pooling.client
    operand = pooling.variable("Operands", "relu4_Relu")
    row = operand.children(filter="indexed")[3].children(filter="indexed")[0]
    before = pooling.evaluate("in[0][0,3,0,2]")
    answer = client.request(
        "setVariable", variablesReference=row.raw["variablesReference"], name="[1]", value="2 * 3.25"
    )
    assert answer["value"] == "6.5"
    assert pooling.evaluate("in[0][0,3,0,1]") == "6.5"
    assert pooling.evaluate("in[0][0,3,0,2]") == before
    assert [child.value for child in row.children(filter="indexed")][1] == "6.5"
    [memory] = client.raw.events("memory")
    assert memory["count"] == 4
    assert client.raw.events("invalidated") == [{"areas": ["variables"]}]
    assert client.console("info edits").endswith("= 6.5")
    client.disconnect()


@pytest.mark.capability("supportsSetExpression")
def test_a_tensor_and_a_slice_are_set_by_expression(pooling: Stop) -> None:
    client, frame = pooling.client, pooling.frame("op").id
    client.request("setExpression", expression="in[0][0, 2]", value="7", frameId=frame)
    assert pooling.evaluate("min(in[0][0,2])") == "7.0"
    assert pooling.evaluate("max(in[0][0,1])") != "7.0"
    answer = client.request("setExpression", expression="in[0]", value="in[0] * 0", frameId=frame)
    assert "min 0 max 0" in answer["value"]
    refused = client.refusal("setExpression", expression="in[0] + 1", value="1", frameId=frame)
    assert "not a place in memory" in refused
    assert "does not fit" in client.refusal("setExpression", expression="in[0]", value="in[0][0,0,:3]", frameId=frame)
    assert "no such part" in client.refusal("setExpression", expression="in[0][9]", value="1", frameId=frame)
    client.disconnect()


@pytest.mark.capability("supportsWriteMemoryRequest")
def test_memory_is_written_and_going_back_undoes_it(pooling: Stop) -> None:
    client = pooling.client
    operand = pooling.variable("Operands", "relu4_Relu")
    data = base64.b64encode(np.array([1.5, 2.5], np.float32).tobytes()).decode()
    reference = operand.raw["memoryReference"]
    assert client.request("writeMemory", memoryReference=reference, offset=4, data=data) == {"bytesWritten": 8}
    assert [pooling.evaluate(f"in[0][0,0,0,{i}]") for i in (1, 2)] == ["1.5", "2.5"]
    [memory] = client.raw.events("memory")
    assert (memory["count"], memory["offset"]) == (8, 0)
    assert "has no bytes" in client.refusal("writeMemory", memoryReference="L0", offset=0x1FB000 - 4, data=data)
    partial = {"memoryReference": "L0", "offset": 0x1FB000 - 4, "data": data, "allowPartial": True}
    assert client.request("writeMemory", **partial) == {"bytesWritten": 4}
    assert "not base64" in client.refusal("writeMemory", memoryReference=reference, data="?")
    assert len(client.console("info edits").split("\n")) == 2
    client.step_back()
    client.expect_stopped("step")
    assert client.console("info edits") == "no edits"
    client.disconnect()


def test_what_if_the_next_command_were_another_one(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    assert "nothing has been changed" in client.refusal("evaluate", expression="whatif", context="repl")
    listing = client.console("info reg")
    assert "opd1_h = 2" in listing
    shown = client.console("whatif opd1_h = 1")
    assert shown.startswith("was ")
    assert "now " in shown
    assert "opd1_h = 1 instead of 2" in client.console("info edits")
    consequences = client.console("whatif").split("\n")
    assert "commands have other results" in consequences[0]
    assert consequences[1].startswith("  command 5 pord.maxpooling: ")
    client.request("setExceptionBreakpoints", filters=["mismatch"])
    client.resume()
    stop = client.expect_stopped("exception")
    assert stop.text.startswith("maxpool5_MaxPool")
    assert "edited run" in stop.description
    assert client.console("undo").startswith("undone: command 5")
    client.expect_stopped("goto")
    client.resume()
    client.expect_end()
    client.disconnect()


def test_registers_are_set_in_the_variables_pane(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    registers = reference_of(pooling, "Registers", "command")
    answer = client.request("setVariable", variablesReference=registers, name="opd1_h", value="1")
    assert answer["value"] == "1 (0x1)"
    attributes = reference_of(pooling, "Attributes", "command")
    refused = client.refusal("setVariable", variablesReference=attributes, name="kernel", value="1")
    assert "set those" in refused
    for name, value, why in (
        ("opd1_h", "1 << 99", "not a whole number"),
        ("opd1_h", "99999999", "does not fit"),
        ("tsk_typ", "2", "what kind of command"),
    ):
        assert why in client.refusal("setVariable", variablesReference=registers, name=name, value=value)
    client.next("instruction")
    client.expect_stopped("step")
    client.set_breakpoints(toy.mlir, [{"line": toy.line_of('"tpu.Pool2D"'), "mode": "after"}])
    client.step_back("instruction")
    client.expect_stopped("step")
    client.resume()
    stop = client.expect_stopped("breakpoint")
    registers = reference_of(stop, "Registers", "command")
    refused = client.refusal("setVariable", variablesReference=registers, name="opd1_h", value="2")
    assert "has been executed; go back first: goto 5" in refused
    client.disconnect()


def test_a_value_tells_who_wrote_it(pooling: Stop) -> None:
    client = pooling.client
    operand = pooling.variable("Operands", "relu4_Relu")
    there = client.request("locations", locationReference=operand.raw["valueLocationReference"])
    assert there["source"]["name"] == "toy.tdbasm"
    text = client.request("source", source=there["source"], sourceReference=there["source"]["sourceReference"])
    assert "arith.max" in text["content"].split("\n")[there["line"] - 1]
    writer = operand.child("about").child("written by")
    assert writer.value.startswith("command 4, line 22: ")
    producer = next(child for child in writer.children() if "f32" in child.value).child("written by")
    assert producer.value.startswith("command 3, line 22: ")
    roles = {child.name.split()[0]: child for child in producer.children()}
    load = roles["weight"].child("written by")
    assert "dma" in load.value
    [stored] = load.children()
    assert stored.child("written by").value == "nobody: as it was at the start"
    readers = [child.name for child in operand.child("about").child("read by").children()]
    assert readers == ["command 5"]
    client.disconnect()


def test_who_tells_the_whole_story(pooling: Stop) -> None:
    client = pooling.client
    assert client.console("who in[0]").startswith("command 4, line 22: ")
    chain = client.console("who in[0] : 3")
    assert [f"command {n}" in chain for n in (4, 3, 2)] == [True] * 3
    assert chain.endswith("read by 5")
    client.console("set in[0][0,0] = 1")
    assert client.console("who in[0]").startswith("command 5: edited: in[0][0,0] = 1")
    assert client.console("who in[0][0,1]").startswith("command 4, line 22: ")
    assert client.console("who G0:f32[4]").startswith("no command has written it")
    client.disconnect()
