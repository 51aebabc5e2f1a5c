"""Scopes, tensors and their pages, memory, and how clients that can do less are served."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import EVERYTHING, DapClient, Stop


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


def test_each_frame_has_its_scopes(pooling: Stop) -> None:
    assert pooling.scopes("command") == ["Operands", "Results", "Attributes", "Registers", "Sync"]
    assert pooling.scopes("op") == ["Operands", "Results", "Attributes", "Layout", "Compare"]
    assert pooling.scopes("group") == ["Inputs", "Outputs", "Weights", "Memory"]
    assert pooling.scopes("main") == ["Inputs", "Outputs", "Weights", "Memory"]
    assert pooling.scopes("layer") == []


def test_without_a_reference_there_is_nothing_to_compare(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, inputs=str(toy.inputs))
    assert "Compare" not in client.expect_stopped("entry").scopes("op")
    client.disconnect()


def test_operands_are_exact_and_results_are_marked_until_they_are_there(pooling: Stop, toy: Toy) -> None:
    with np.load(toy.reference) as reference:
        expected = reference["relu4_Relu"]
    operand = pooling.variable("Operands", "relu4_Relu")
    assert operand.raw["type"] == "memref<1x16x32x32xf32, strides: [1024, 1024, 32, 1]>"
    assert operand.raw["indexedVariables"] == 1
    [image] = operand.children(filter="indexed")
    channel = image.children(filter="indexed", start=3, count=1)[0]
    assert channel.name == "[3]"
    rows = channel.children(filter="indexed")
    values = [[float(v.value) for v in row.children(filter="indexed")] for row in rows[:2]]
    assert np.allclose(values, expected[0, 3, :2], atol=1e-5)
    assert "(not yet computed)" in pooling.variable("Results", "maxpool5_MaxPool").value


@pytest.mark.capability("supportsClipboardContext")
def test_numbers_read_back_as_the_same_float32(pooling: Stop) -> None:
    text = pooling.evaluate("in[0][0,3]", "clipboard")
    numbers = np.array(eval(text, {}), np.float32)
    row = pooling.evaluate("in[0][0,3,0,0]")
    assert np.float32(float(row)) == numbers[0, 0]


def test_details_of_a_tensor(pooling: Stop) -> None:
    operand = pooling.variable("Operands", "relu4_Relu")
    details = {child.name: child for child in operand.children(filter="named")}
    assert list(details) == ["shape", "layout", "stats", "compare", "written by", "read by"]
    assert details["shape"].value == "[1, 16, 32, 32]"
    assert details["layout"].value == "%R1 alignEU"
    assert details["compare"].value.startswith("pass: cosine 1.000000")
    assert details["compare"].child("verdict").value == "pass"
    assert {c.name for c in details["stats"].children()} == {"min", "max", "mean", "NaN", "Inf"}


def test_pages_of_a_long_axis(pooling: Stop) -> None:
    operand = pooling.variable("Operands", "relu4_Relu")
    [image] = operand.children(filter="indexed", start=0, count=0)
    names = [child.name for child in image.children(filter="indexed", start=10, count=100)]
    assert names == [f"[{i}]" for i in range(10, 16)]
    assert len(image.children(filter="indexed", count=0)) == 16


def test_attributes_registers_and_dependencies_of_a_command(pooling: Stop) -> None:
    assert pooling.variable("Attributes", "kernel", "command").value == "[2, 2]"
    assert pooling.variable("Registers", "res0_c", "command").value == "16 (0x10)"
    sync = {v.name: v.value for v in pooling.scope("Sync", "command")}
    assert sync["id"] == "B3"
    assert sync["waits for"] == "D3 (dma.tensor, command 2)"
    assert pooling.variable("Attributes", "kernel_shape").value == "[2, 2]"


def test_weights_by_name_and_memories_with_references(pooling: Stop) -> None:
    weight = pooling.variable("Weights", "w1", "group")
    assert weight.value.startswith("f32[1,16,3,9] min")
    memories = {v.name: v for v in pooling.scope("Memory", "main")}
    assert list(memories) == ["G weights", "G activations", "L L2", "R local memory", "S static memory"]
    data = pooling.client.request("readMemory", memoryReference=memories["G weights"].raw["memoryReference"], count=16)
    assert len(base64.b64decode(data["data"])) == 16


@pytest.mark.capability("supportsReadMemoryRequest")
def test_memory_of_a_tensor(pooling: Stop) -> None:
    operand = pooling.variable("Operands", "relu4_Relu")
    answer = pooling.client.request("readMemory", memoryReference=operand.raw["memoryReference"], offset=4, count=8)
    words = np.frombuffer(base64.b64decode(answer["data"]), np.float32)
    assert [str(w) for w in words] == [pooling.evaluate(f"in[0][0,0,0,{i}]") for i in (1, 2)]


def test_memory_outside_of_a_space_is_unreadable(pooling: Stop) -> None:
    read = pooling.client.request
    end = read("readMemory", memoryReference="L0", offset=(0x1FB000 - 8), count=16)
    assert len(base64.b64decode(end["data"])) == 8
    assert end["unreadableBytes"] == 8
    assert read("readMemory", memoryReference="G0", offset=-16, count=4) == {
        "address": "0x1000000000000",
        "unreadableBytes": 4,
    }
    assert "not a memory reference" in pooling.client.refusal("readMemory", memoryReference="0xffffffffffffff", count=1)


def test_variables_of_an_earlier_stop_are_gone(pooling: Stop) -> None:
    frame, operand = pooling.top, pooling.variable("Operands", "relu4_Relu")
    pooling.client.next()
    pooling.client.expect_stopped("step")
    reference = operand.raw["variablesReference"]
    assert "moved on" in pooling.client.refusal("variables", variablesReference=reference)
    assert "moved on" in pooling.client.refusal("scopes", frameId=frame.id)


def test_a_client_that_can_do_little(new_client: Callable[..., DapClient], toy: Toy) -> None:
    client = new_client({"clientID": "old", "linesStartAt1": False, "columnsStartAt1": False, "pathFormat": "uri"})
    line = toy.line_of('"tpu.Pool2D"')
    client.raw.initialize(**client.traits)
    launch = client.raw.send("launch", program=str(toy.directory), stopOnEntry=False, **toy.data)
    client.raw.event("initialized")
    [placed] = client.request("setBreakpoints", source={"path": toy.mlir.as_uri()}, lines=[line - 1])["breakpoints"]
    assert placed["line"] == line - 1
    client.request("configurationDone")
    client.raw.answer(launch)
    stop = client.expect_stopped("breakpoint")
    assert stop.top.raw["source"]["path"] == toy.mlir.as_uri()
    assert (stop.top.line, stop.top.raw["column"]) == (line - 1, 0)
    operand = stop.variable("Operands", "relu4_Relu")
    assert "type" not in operand.raw
    assert "memoryReference" not in operand.raw
    assert [child.name for child in operand.children()] == [
        "shape",
        "layout",
        "stats",
        "compare",
        "written by",
        "read by",
        "[0]",
    ]
    client.disconnect()


def test_everything_is_what_a_full_client_announces() -> None:
    assert all(value for value in EVERYTHING.values())


def test_a_filter_means_nothing_where_there_is_only_one_kind_of_children(pooling: Stop) -> None:
    """Theia asks for the indexed children of a scope."""
    operands = next(s["variablesReference"] for s in pooling._scopes("op") if s["name"] == "Operands")
    names = [v.name for v in pooling.client.variables(operands)]
    assert [v.name for v in pooling.client.variables(operands, filter="indexed", start=0)] == names != []
    assert [v.name for v in pooling.client.variables(operands, filter="named")] == names


def test_no_more_than_a_thousand_children_unless_more_are_asked_for(pooling: Stop) -> None:
    """A client gets less than a megabyte that it has not asked for."""
    answer = pooling.client.request("evaluate", expression="R0:f32[65536]", context="watch", frameId=pooling.top.id)
    reference = answer["variablesReference"]
    unasked = pooling.client.variables(reference, filter="indexed")
    assert [v.name for v in unasked[:2] + unasked[-2:]] == ["[0]", "[1]", "[999]", "..."]
    assert unasked[-1].value.startswith("64,536 more")
    assert len(pooling.client.variables(reference, filter="indexed", start=10, count=5000)) == 5000
    assert len(str(pooling.client.request("variables", variablesReference=reference))) < 1 << 20
