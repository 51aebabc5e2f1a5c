"""Names that the adapter gives to variables mean the same tensor for the whole session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop, Variable
from tests.samples import case

_SCOPES = ("Operands", "Results", "Inputs", "Outputs", "Weights")


def named_tensors(stop: Stop) -> Iterator[Variable]:
    """Every variable of every frame that has a name to be evaluated by and is in memory."""
    for frame in stop.frames:
        for scope in stop.client.request("scopes", frameId=frame.id)["scopes"]:
            if scope["name"] in _SCOPES:
                for variable in stop.client.variables(scope["variablesReference"]):
                    if "evaluateName" in variable.raw and "memoryReference" in variable.raw:
                        yield variable


@pytest.mark.parametrize(
    "model", ["toy_bm1684x_int8", "gather_elem_bm1688_f16c2", "toy_bm1690_f16c8", "toy_bm1684_int8"]
)
def test_the_name_of_a_variable_means_it_for_the_whole_session(client: DapClient, model: str) -> None:
    client.launch(case(model).path)
    stop = client.expect_stopped("entry")
    total = int(client.console("status").split(" of ")[1].split(" ")[0].replace(",", ""))
    seen: dict[str, tuple[str, str]] = {}
    for ordinal in range(0, total, total // 6):
        client.console(f"goto {ordinal}")
        stop = client.expect_stopped("goto")
        for variable in named_tensors(stop):
            name = variable.raw["evaluateName"]
            place = (variable.raw["memoryReference"], variable.raw["type"])
            assert seen.setdefault(name, place) == place, f"{name} is one tensor"
    assert len(seen) > 8
    for frame in stop.frames[:2]:
        for name, place in seen.items():
            answer = client.request("evaluate", expression=name, context="watch", frameId=frame.id)
            assert (answer["memoryReference"], answer["type"]) == place, name
    client.disconnect()


def test_the_layer_stands_before_the_numbers(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    operand = client.expect_stopped("breakpoint").variable("Operands", "relu4_Relu")
    assert operand.name == "%16"
    assert operand.value.startswith("f32 1×16×32×32  ✓  relu4_Relu  [")
    client.disconnect()


def test_children_and_watches_have_names_that_last(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    names: list[tuple[str, str]] = []
    for expression in ("in[0]", "%16", "in[0] - ref(in[0])", "relu4_Relu"):
        whole = client.request("evaluate", expression=expression, context="watch", frameId=stop.top.id)
        part = Variable(client, whole)
        while part.raw.get("indexedVariables"):
            part = part.children(filter="indexed", start=0, count=1)[0]
        names.append((part.raw["evaluateName"], part.value))
    client.request("next", threadId=1)
    later = client.expect_stopped("step")
    assert [(name, later.evaluate(name)) for name, _ in names] == names
    client.disconnect()


def test_a_hover_means_the_value_of_the_line_under_the_mouse(client: DapClient) -> None:
    model = case("gather_elem_bm1688_f16c2")
    client.launch(model.path)
    stop = client.expect_stopped("entry")
    lines = model.mlir.read_text().split("\n")
    places = set()
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("%10 = "):
            source = {"path": str(model.mlir)}
            asked = {"expression": "%10", "context": "hover", "source": source, "line": number, "frameId": stop.top.id}
            places.add(client.request("evaluate", **asked)["memoryReference"])
    assert len(places) == 3
    client.disconnect()


@pytest.mark.parametrize("place", ["tpu.Pool2D", "arith.max", "B5", "loc:maxpool5_MaxPool", "R0x0+4"])
def test_in_means_the_same_with_and_without_the_first_frame(client: DapClient, toy: Toy, place: str) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.console(f"b {place}")
    client.resume()
    stop = client.expect_stopped("breakpoint")
    for expression in ("in[0]", "out[0]"):
        without = client.request("evaluate", expression=expression, context="watch")
        first = client.request("evaluate", expression=expression, context="watch", frameId=stop.top.id)
        assert (without["result"], without["memoryReference"]) == (first["result"], first["memoryReference"])
    client.disconnect()


def test_a_stored_number_is_shown_and_set_as_such(client: DapClient) -> None:
    model = case("toy_bm1684x_int8")
    client.launch(model.path, inputs=str(model.inputs))
    client.expect_stopped("entry")
    client.console("b tpu.Pool2D")
    client.resume()
    stop = client.expect_stopped("breakpoint")
    row = stop.scope("Operands")[0]
    assert " → " in row.value, "statistics in both"
    parent = row
    while parent.raw.get("indexedVariables"):
        first = parent.children(filter="indexed", start=0, count=1)[0]
        if not first.raw.get("indexedVariables"):
            break
        parent = first
    stored, real = first.value.split(" → ")
    assert float(real) != float(stored)

    def assign(value: str) -> str:
        return str(
            client.request(
                "setVariable", variablesReference=parent.raw["variablesReference"], name=first.name, value=value
            )["value"]
        )

    assert assign("7").startswith("7 → ")
    shown = assign("9")
    assert assign(shown.replace("9 →", "8 →")).startswith("8 → "), "as an editor that offers the whole text"
    refuse = {"variablesReference": parent.raw["variablesReference"], "name": first.name}
    assert "holds whole numbers from " in client.refusal("setVariable", **refuse, value="999")
    assert "holds whole numbers from " in client.refusal("setVariable", **refuse, value="1.5")
    assert "give the stored number alone" in client.refusal("setVariable", **refuse, value="8 → 1000")
    assert "holds whole numbers" in client.refusal("evaluate", expression="set in[0] = 999", context="repl")
    assert "real ones; write real(...)" in client.refusal("evaluate", expression="in[0] - real(in[0])", context="repl")
    client.disconnect()


def test_a_source_that_no_file_can_be_is_just_another_file(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    for name in ("\ud800", "a\0b", "x" * 5000, ""):
        for command in ("gotoTargets", "setBreakpoints", "breakpointLocations", "source"):
            given = {"source": {"path": name}, "line": 3, "sourceReference": 0, "breakpoints": [{"line": 3}]}
            answer = client.raw.response(client.raw.send(command, **given))
            assert "internal error" not in str(answer.get("message"))
            assert answer["success"] == (command != "source")
    client.disconnect()
