"""The graph of a model's ops."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tdb_dap.cli.main import main
from tdb_dap.engine.source.op_graph import OpGraph
from tdb_dap.engine.source.value_flow import RETURNS, Definition, ValueFlow
from tdb_dap.tools.graph.layout import NODE_HEIGHT, NODE_WIDTH, layout
from tdb_dap.tools.programs import open_program
from tests.pages import data_of, needs_browser, seen
from tests.samples import case, cases, typical

TOY = case("toy_bm1684x_f32")


def graph_of(name: str, weights: bool = False) -> OpGraph:
    mlir = open_program(case(name).path).source.mlir
    assert mlir is not None
    return OpGraph.of(mlir, weights)


def edges_by_name(graph: OpGraph) -> set[tuple[str, str]]:
    names = {node.id: node.name for node in graph.nodes}
    return {(names[edge.tail], names[edge.head]) for edge in graph.edges}


def test_edges_lead_into_groups_and_out_of_them() -> None:
    graph = graph_of(TOY.name)
    edges = edges_by_name(graph)
    assert ("%arg0", "load_0") in edges, "from outside into the group"
    assert ("relu4_Relu", "maxpool5_MaxPool") in edges, "within the group"
    assert ("globalaveragepool11_GlobalAveragePool", "flatten12_Flatten") in edges, "out of it"
    node = next(node for node in graph.nodes if node.name == "relu4_Relu")
    assert (node.opcode, node.shape, node.dtype, node.subnet) == ("tpu.Conv2D", (1, 16, 32, 32), "f32", "subfunc_0")
    assert node.group is not None


def test_edges_lead_from_one_subnet_to_the_next() -> None:
    graph = graph_of("nonzero_bm1684x_f32")
    assert {node.subnet for node in graph.nodes} > {"subfunc_0"}
    subnets = {node.id: node.subnet for node in graph.nodes}
    assert any(subnets[edge.tail] != subnets[edge.head] for edge in graph.edges)
    assert sum(node.opcode == "input" for node in graph.nodes) == 1, "what one subnet computes is no input of the next"


def test_weights_are_shown_when_asked_for() -> None:
    assert not any(node.opcode == "top.Weight" for node in graph_of(TOY.name).nodes)
    assert ("w1", "load_w1") in edges_by_name(graph_of(TOY.name, weights=True))


def test_quantised_types_show_what_is_stored() -> None:
    node = next(node for node in graph_of("toy_bm1684x_int8").nodes if node.name == "maxpool5_MaxPool")
    assert node.dtype in ("i8", "u8")


@pytest.mark.parametrize("color", ["dtype", "time"])
def test_the_picture_has_every_op_and_says_why_it_has_its_colour(color: str, tmp_path: Path) -> None:
    page = tmp_path / "graph.html"
    assert main(["graph", str(TOY.path), "-o", str(page), "--color", color]) == 0
    data = data_of(page.read_text("utf-8"))
    assert [node["id"] for node in data["nodes"]] == [node.id for node in graph_of(TOY.name).nodes]
    assert data["colouring"] == color
    assert any("cycles" in node["note"] for node in data["nodes"]) == (color == "time")


@pytest.mark.browser
@needs_browser
def test_the_page_is_searched_and_walked_with_the_keyboard(tmp_path: Path) -> None:
    page = tmp_path / "graph.html"
    assert main(["graph", str(TOY.path), "-o", str(page)]) == 0
    graph = graph_of(TOY.name)
    pool = next(node for node in graph.nodes if node.name == "maxpool5_MaxPool")
    reader = next(edge.head for edge in graph.edges if edge.tail == pool.id)
    boxes, weights, matches, *walked = seen(
        page.read_text("utf-8"),
        f"""
        said.push(page.querySelectorAll(".node").length);
        said.push([...page.querySelectorAll(".badge text")].map((text) => text.textContent));
        const key = (target, name) =>
          target.dispatchEvent(new frames[0].KeyboardEvent("keydown", {{ key: name, bubbles: true }}));
        const field = page.querySelector("input[type=search]"), picture = page.querySelector("svg[role=application]");
        field.value = "{pool.id}";
        field.dispatchEvent(new Event("input"));
        said.push(page.querySelector(".matches").textContent);
        const chosen = () => said.push([
          page.querySelector(".node.selected").dataset.id, page.querySelector(".properties h2").textContent]);
        key(field, "Enter"); chosen();
        key(picture, "ArrowDown"); chosen();
        key(picture, "ArrowUp"); chosen();
        """,
        tmp_path,
    )
    read = {edge.head for edge in graph.edges}
    loads = {node.id for node in graph.nodes if node.opcode == "tpu.Load" and node.id not in read}
    assert loads
    assert (boxes, matches) == (len(graph.nodes) - len(loads), "1 match"), "loads of weights are badges"
    assert sum(int(text.removeprefix("W") or 1) for text in weights) == sum(edge.tail in loads for edge in graph.edges)
    assert [id for id, _ in walked] == [pool.id, reader, pool.id]
    assert walked[0][1] == pool.opcode


def test_the_colours_of_a_check(tmp_path: Path) -> None:
    report = tmp_path / "check.json"
    rows = [
        {"line": 22, "verdict": "pass"},
        {"line": 23, "verdict": "fail", "blame": {"text": "tpu.Pool2D at line 23 is at fault"}},
    ]
    report.write_text(json.dumps({"rows": rows}))
    dot = tmp_path / "graph.dot"
    assert main(["graph", str(TOY.path), "-o", str(dot), "--check", str(report)]) == 0
    lines = {line.split()[0]: line for line in dot.read_text().splitlines() if "fillcolor" in line}
    assert "#c9ecc3" in lines["L22"]
    assert "#f28b82" in lines["L23"]
    assert "is at fault" in lines["L23"]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", ["toy_bm1684x_f32", "nonzero_bm1684x_f32", "lstm_bm1684x_f32"])
def test_every_op_lies_below_what_it_reads_and_none_on_another(name: str, weights: bool) -> None:
    graph = graph_of(name, weights)
    placed = layout(graph)
    assert set(placed.nodes) == {node.id for node in graph.nodes}
    for edge in graph.edges:
        assert placed.nodes[edge.tail][1] + NODE_HEIGHT < placed.nodes[edge.head][1]
    for (x1, y1), (x2, y2) in combinations(placed.nodes.values(), 2):
        assert y1 != y2 or abs(x1 - x2) > NODE_WIDTH - 1
    for x, y in placed.nodes.values():
        assert NODE_WIDTH / 2 <= x <= placed.width - NODE_WIDTH / 2
        assert NODE_HEIGHT / 2 <= y <= placed.height - NODE_HEIGHT / 2


def test_a_layer_group_is_framed_with_its_ops_alone() -> None:
    graph = graph_of(TOY.name)
    placed = layout(graph)
    [frame] = [frame for frame in placed.frames if frame.is_group]
    left, top, width, height = frame.box
    inside = {id for id, (x, y) in placed.nodes.items() if left < x < left + width and top < y < top + height}
    assert inside == {node.id for node in graph.nodes if node.group is not None}


def test_pictures_need_no_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for end in ("svg", "html", "dot"):
        assert main(["graph", str(TOY.path), "-o", str(tmp_path / f"graph.{end}")]) == 0
    picture = ElementTree.fromstring((tmp_path / "graph.svg").read_text("utf-8"))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    nodes = [part for part in picture.iter() if part.get("class") == "node"]
    assert len(nodes) == len(graph_of(TOY.name).nodes)


def test_a_file_that_is_no_report_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "check.json"
    path.write_text("[]")
    assert main(["graph", str(TOY.path), "--check", str(path)]) == 2
    assert "not a report of tdb-dap check" in capsys.readouterr().err


@pytest.mark.parametrize("name", typical(of.name for of in cases() if (of.path / "final.mlir").exists()))
def test_no_chain_breaks_at_a_layer_group_or_a_subnet(name: str) -> None:
    """What computes something that another op reads has an edge to it, wherever the two stand."""
    mlir = open_program(case(name).path).source.mlir
    assert mlir is not None
    graph, flow = OpGraph.of(mlir), ValueFlow(mlir)
    returns = [op for op in mlir.ops.values() if op.name in RETURNS]
    leaves = [leaf for op in returns for value in op.operands for leaf in flow.leaves(value, op.region)]
    returned = {f"L{leaf.op.line}" for leaf in leaves if isinstance(leaf, Definition)}
    tails, heads = {edge.tail for edge in graph.edges}, {edge.head for edge in graph.edges}
    ends = [node for node in graph.nodes if node.id not in tails | returned and node.opcode != "input"]
    assert ends == [], "computed, and neither read nor returned"
    for node in graph.nodes:
        op = mlir.ops.get(node.line)
        if op is None or node.opcode == "input":
            continue
        written = [mlir.op_visible_in(op.region, value) for value in op.operands]
        if any(found is not None and found.name not in ("top.Weight", "top.None") for found in written):
            assert node.id in heads, f"{node.opcode} {node.name} reads what no node computes"
