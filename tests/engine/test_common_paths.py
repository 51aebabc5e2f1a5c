"""Names of ops without what most names of their function begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.engine.source.common_paths import common_path, without_path
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_graph import OpGraph
from tdb_dap.engine.source.source_map import SourceMap
from tdb_dap.tools.graph.colours import by_dtype
from tdb_dap.tools.graph.page import nodes

BLOCK = [f"load_model.layers.7.{name}" for name in ("mlp.up.weight", "mlp.down.weight")]
BLOCK += [f"model.layers.7.{name}" for name in ("mlp.up", "norm", "attn.q", "attn.k")]


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (BLOCK, "model.layers.7."),
        ([*BLOCK, "rotary_cos", "k_cache", "q_proj"], "model.layers.7."),
        ([*BLOCK, *(f"model.layers.{layer}.mlp.up" for layer in range(8, 15))], "model.layers."),
        ([f"/model.{layer}/conv/Conv_output_0" for layer in range(9)], ""),  # too short to be worth it
        (BLOCK[:3], ""),
        ([], ""),
    ],
)
def test_most_names_begin_with_it(names: list[str], path: str) -> None:
    assert common_path(names) == path


def test_other_names_are_left_alone() -> None:
    assert without_path(BLOCK[0], "model.layers.7.") == "…mlp.up.weight"
    assert without_path("load_rotary_cos", "model.layers.7.") == "load_rotary_cos"
    assert without_path("model.layers.7.", "model.layers.7.") == "model.layers.7."


def module(names: list[str]) -> MlirFile:
    """A function with an op of each name."""
    ops = [f'    %{i} = "tpu.Cast"(%0) : (f32) -> f32 loc("{name}")' for i, name in enumerate(names, 1)]
    return MlirFile("\n".join(["func.func @main(%0: f32) -> f32 {", *ops, "}"]), Path("final.mlir"))


def test_a_long_name_keeps_what_tells_it_from_others_of_its_function() -> None:
    source = SourceMap.empty(module(BLOCK), 0)
    assert source.label_of(BLOCK[0], 2, 20) == "…mlp.up.weight"
    assert source.label_of(BLOCK[0], 2, 40) == BLOCK[0]
    assert source.label_of(BLOCK[0], 0, 20) == "load_model.la…weight"


def test_boxes_of_a_graph_have_names_without_the_path_of_their_subnet() -> None:
    graph = OpGraph.of(module([*BLOCK, "rotary_cos"]))
    labels = {node["name"]: node["label"] for node in nodes(graph, by_dtype)}
    assert labels["model.layers.7.attn.q"] == "…attn.q"
    assert labels["rotary_cos"] == "rotary_cos"
