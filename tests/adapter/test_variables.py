"""Scopes, tensors and their pages, memory, and how clients that can do less are served."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import EVERYTHING, DapClient, Stop, Variable
from tests.samples import DATA


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


def test_without_a_view_of_memory_variables_refer_to_none(client: DapClient, toy: Toy) -> None:
    """VS Code shows an icon at each that does, which offers to install an extension."""
    client.launch(toy.directory, memoryReferences=False, **toy.data)
    stop = client.expect_stopped("entry")
    assert "memoryReference" not in stop.variable("Operands", "w2").raw
    assert client.request("tdb/tensor", expression="in[0]")["memory"]


def test_without_a_reference_there_is_nothing_to_compare(client: DapClient, bare: Path, toy: Toy) -> None:
    client.launch(bare, inputs=str(toy.inputs))
    assert "Compare" not in client.expect_stopped("entry").scopes("op")
    client.disconnect()


def test_operands_are_exact_and_results_are_marked_until_they_are_there(pooling: Stop, toy: Toy) -> None:
    with np.load(toy.reference) as reference:
        expected = reference["relu4_Relu"]
    operand = pooling.variable("Operands", "relu4_Relu")
    assert operand.raw["type"] == "memref<1x16x32x32xf32, strides: [1024, 1024, 32, 1]>"
    assert operand.raw["indexedVariables"] == 16
    channel = operand.children(filter="indexed", start=3, count=1)[0]
    assert channel.name == "[0,3]"
    assert channel.value.startswith("32×32  [")
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
    [about] = operand.children(filter="named")
    assert (about.name, about.value) == ("about", "type, layout, statistics, comparison, writer")
    details = {child.name: child for child in about.children()}
    assert list(details) == ["shape", "layout", "stats", "compare", "written by", "read by"]
    assert details["shape"].value == "[1, 16, 32, 32]"
    assert details["layout"].value == "%R1 alignEU"
    assert details["compare"].value.startswith("pass: cosine 1.000000")
    assert details["compare"].child("verdict").value == "pass"
    assert {c.name for c in details["stats"].children()} == {"min", "max", "mean", "NaN", "Inf"}


def test_pages_of_a_long_axis(pooling: Stop) -> None:
    operand = pooling.variable("Operands", "relu4_Relu")
    names = [child.name for child in operand.children(filter="indexed", start=10, count=100)]
    assert names == [f"[0,{i}]" for i in range(10, 16)]
    assert len(operand.children(filter="indexed", count=0)) == 16


def test_attributes_registers_and_dependencies_of_a_command(pooling: Stop) -> None:
    assert pooling.variable("Attributes", "kernel", "command").value == "[2, 2]"
    assert pooling.variable("Registers", "res0_c", "command").value == "16 (0x10)"
    sync = {v.name: v.value for v in pooling.scope("Sync", "command")}
    assert sync["id"] == "B3"
    assert sync["waits for"] == "D3 (dma.tensor, command 2)"
    assert pooling.variable("Attributes", "kernel_shape").value == "[2, 2]"


def test_weights_by_name_and_memories_with_references(pooling: Stop) -> None:
    weight = pooling.variable("Weights", "w1", "group")
    assert weight.value.startswith("f32 1×16×3×9  [-0.237 -0.1892 0.09858 …]  min")
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
    assert [child.name for child in operand.children()] == ["about", *(f"[0,{i}]" for i in range(16))]
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


SHAPES = ["1", "5", "1,1", "1,7", "7,1", "1,1,1,9", "2,1,3", "1,3,1,2", "1,4,1,1", "3,1,1,1", "2,3,2,2", "1,1,12"]


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_are_found_at_their_index_without_opening_axes_of_one(client: DapClient, toy: Toy, shape: str) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    sizes = [int(size) for size in shape.split(",")]
    name = f"L0:f32[{shape}]"
    client.console(f"set {name} = {(np.arange(np.prod(sizes)) + 0.5).reshape(sizes).tolist()}")

    def walk(row: Variable, depth: int) -> list[tuple[str, str, int, Variable]]:
        found: list[tuple[str, str, int, Variable]] = []
        for child in row.children(filter="indexed"):
            if child.raw["variablesReference"]:
                found += walk(child, depth + 1)
            else:
                found.append((child.raw["evaluateName"], child.value, depth, row))
        return found

    whole = client.request("evaluate", expression=name, context="watch", frameId=stop.top.id)
    leaves = walk(Variable(client, whole), 1)
    assert [float(value) for _, value, _, _ in leaves] == [i + 0.5 for i in range(int(np.prod(sizes)))]
    assert {depth for _, _, depth, _ in leaves} == {max(1, sum(size > 1 for size in sizes))}
    for evaluated, value, _, _ in leaves:
        assert stop.evaluate(evaluated) == value
    parent = leaves[-1][3]
    last = parent.children(filter="indexed")[-1]
    client.request("setVariable", variablesReference=parent.raw["variablesReference"], name=last.name, value="-8")
    assert float(stop.evaluate(f"sum({name})")) == sum(i + 0.5 for i in range(len(leaves) - 1)) - 8
    assert stop.evaluate(leaves[-1][0]) == "-8.0"
    for wrong in ("[99]", "[0,99]", "[-1]", "[]", "[0,0,0,0,0]", "[٣]"):
        assert "there is no" in client.refusal(
            "setVariable", variablesReference=parent.raw["variablesReference"], name=wrong, value="1"
        )
    client.disconnect()


def test_a_row_begins_with_what_matters(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    client.console("set R0:f32[4,8] = 1/3")
    client.console("set R0:f32[4] = nan")
    assert stop.evaluate("R0:f32[4,8]") == "f32 1×1×4×8  [nan nan nan …]  NaN 4 min 0.3333 max 0.3333"
    assert stop.evaluate("R0:f32[4,8][0,0,1,:3]") == "f32 3  [0.333333 0.333333 0.333333]"
    assert stop.evaluate("R0:ui8[1,16,4]") == "ui8 1×1×16×4  [0 0 192 …]  min 0 max 192"
    assert stop.evaluate("R0:f32[4,8][:0]") == "f32 0×1×4×8  empty"
    client.disconnect()


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        # Its first commands only wake the other core: the session begins after them.
        ("gather_elem_bm1688_f16c2", "Operands"),
        ("toy_bm1690_f16c8", "Operands"),
        ("toy_bm1684_int8", "Operands"),
        ("dynamic_subnet", "Operands"),
        ("cpu_subnet", "Operands"),
    ],
)
def test_the_first_stop_shows_tensors_in_the_scope_that_clients_open(client: DapClient, name: str, scope: str) -> None:
    client.launch(next(path for path in (DATA / "contexts" / name, *DATA.glob(f"bm*/{name}")) if path.exists()))
    stop = client.expect_stopped("entry")
    first = client.request("scopes", frameId=stop.top.id)["scopes"][0]
    assert first["name"] == scope
    assert any("×" in row.value and "[" in row.value for row in client.variables(first["variablesReference"]))
    client.disconnect()


def test_at_the_end_the_outputs_come_first(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stop_on_entry=False, stopOnExit=True, **toy.data)
    stop = client.expect_stopped("step")
    assert stop.scopes("main") == ["Outputs", "Inputs", "Weights", "Memory"]
    client.disconnect()


def test_long_names_in_the_call_stack_keep_their_ends(client: DapClient, toy: Toy) -> None:
    line = next(n for n, text in enumerate(toy.mlir.read_text().split("\n"), 1) if "%20 = " in text)
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    frames = client.request("stackTrace", threadId=stop.thread)["stackFrames"]
    assert frames[0]["name"] == "tpu.Pool2D globalaveragepoo…agePool"
    assert "layer globalaveragepool11…eragePool" in [frame["name"] for frame in frames]
    wanted = {"parameters": True}
    frames = client.request("stackTrace", threadId=stop.thread, format=wanted)["stackFrames"]
    assert frames[0]["name"].startswith("tpu.Pool2D globalaveragepool11_GlobalAveragePool("), "all of it if asked"
    client.disconnect()
