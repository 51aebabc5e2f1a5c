"""Records of the ops of a dynamic subnet: operands and results in every type that the compiler prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program import recorded_source
from tdb_dap.engine.source.dynamic_mapping import (
    GROUP_BEGIN,
    GROUP_END,
    LOCAL_RESULT,
    Boundary,
    MappedOp,
    map_commands,
)
from tdb_dap.engine.source.dynamic_records import Argument, records_of
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.targets.chips.bm1684x import BM1684X
from tdb_dap.tools.programs import open_program
from tests.samples import DATA

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command

TEXT = """module @net {
  func.func @subfunc_1(%arg0: TYPE) -> TYPE {
    %1 = "tpu.Relu"(%arg0) {relu_limit = 0.0 : f64} : (TYPE) -> TYPE loc(#loc1)
    return %1 : TYPE loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("r")
"""


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("f32", "f32"),
        ("!quant.calibrated<f32<-3.8994217:3.8994217>>", "f32"),
        ("!quant.uniform<u8:f32, 0.011:128>", "ui8"),
        ("!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3}>", "si8"),
        ("!quant.uniform<u8:bf16, 0.25>", "ui8"),
        ("si32", "si32"),
    ],
)
def test_a_tensor_of_any_element_has_its_place_and_its_storage(element: str, expected: str) -> None:
    mlir = MlirFile(TEXT.replace("TYPE", f"tensor<2x3x{element}, 4295000064 : i64>"), Path("final.mlir"))
    op = next(op for op in mlir.ops.values() if op.name == "tpu.Relu")
    [record] = records_of([MappedOp(op, [0])], [Argument("x", (2, 3))])
    for entry in (*record.list_of("operands"), *record.list_of("results")):
        assert entry["address"] == 4295000064
        assert entry["shape"] == [2, 3]
        assert entry["memory_type"] == f"<2x3x{expected}>"


def test_what_the_processor_keeps_has_no_place_in_memory_and_what_it_hands_over_has() -> None:
    """Shapes are given addresses by the compiler, where the runtime has put nothing."""
    text = """module @net {
  func.func @subfunc_0(%arg0: tensor<2x3xf32, 4096 : i64>) -> tensor<1xi32, 8192 : i64> {
    %1 = "tpu.Shape"(%arg0) : (tensor<2x3xf32, 4096 : i64>) -> tensor<2xi32, 8192 : i64> loc(#loc1)
    %2 = "tpu.ShapeSlice"(%1) {axes = [0]} : (tensor<2xi32, 8192 : i64>) -> tensor<1xi32, 12288 : i64> loc(#loc2)
    %3 = "tpu.Host2Device"(%2) : (tensor<1xi32, 12288 : i64>) -> tensor<1xi32, 8192 : i64> loc(#loc3)
    return %3 : tensor<1xi32, 8192 : i64> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("s")
#loc2 = loc("g")
#loc3 = loc("h")
"""
    ops = [op for op in MlirFile(text, Path("final.mlir")).ops.values() if op.name.startswith("tpu.")]
    records = records_of([MappedOp(op, [number]) for number, op in enumerate(ops)], [Argument("x", (2, 3))])
    placed = [[entry.get("address") for key in ("operands", "results") for entry in r.list_of(key)] for r in records]
    assert placed == [[4096, None], [None, None], [None, 8192]]


GROUP = """module @net {
  func.func @subfunc_0(%arg0: INPUT) -> OUTPUT {
    %0 = "top.Weight"() : () -> FIRST loc(#loc1)
    %1 = "top.Weight"() : () -> SECOND loc(#loc2)
    %2 = "tpu.Group"(%arg0) ({
      %3 = "tpu.Load"(%arg0) {PLACE<out_addr = 0, out_size = 4096, id = 0>} : (INPUT) -> WIDE loc(#loc3)
      %4 = "tpu.Load"(%0) {PLACE<out_addr = 1024, out_size = 4, id = 1>} : (FIRST) -> NARROW loc(#loc4)
      %5 = "tpu.Scale"(%3, %4) {PLACE<out_addr = 8192, out_size = 32, id = 2>} : (WIDE, NARROW) -> WIDE loc(#loc5)
      %6 = "tpu.Load"(%1) {PLACE<out_addr = 1024, out_size = 4, id = 3>} : (SECOND) -> NARROW loc(#loc6)
      %7 = "tpu.Scale"(%5, %6) {PLACE<out_addr = 12288, out_size = 32, id = 4>} : (WIDE, NARROW) -> WIDE loc(#loc7)
      "tpu.Yield"(%7) : (WIDE) -> () loc(#loc)
    }) {flow = [0, 3, 1, 2, 4]} : (INPUT) -> OUTPUT loc(#loc8)
    return %2 : OUTPUT loc(#loc)
  } loc(#loc)
} loc(#loc)
"""
for name, text in {
    "PLACE": "ginfo = #tpu.lg",
    "WIDE": "tensor<1x4x1x8xf32>",
    "NARROW": "tensor<1x4x1x1xf32>",
    "INPUT": "tensor<1x4x1x8xf32, 4295098368 : i64>",
    "OUTPUT": "tensor<1x4x1x8xf32, 4295102464 : i64>",
    "FIRST": "tensor<1x4x1x1xf32, 4294967296 : i64>",
    "SECOND": "tensor<1x4x1x1xf32, 4294971392 : i64>",
}.items():
    GROUP = GROUP.replace(name, text)
# Two weights take turns in one place, where the input has been; the flow names the second one first.


class Moving(NamedTuple):
    """What the mapping asks of a command."""

    ordinal: int
    engine: str
    operands: tuple[View, ...]
    results: tuple[View, ...]


def tensor(space: Space, address: int, channels: int = 4) -> View:
    return View(space, address, (1, channels, 1, 1), F32, Layout.STRIDE, (1, 1, 1, 1), BM1684X.geometry)


def mapping_of(
    mlir: MlirFile, moves: Sequence[tuple[int | None, int]], queued: Mapping[int, int], channels: int = 4
) -> Sequence[MappedOp]:
    """Commands that move from DDR to these places in local memory; None: one that computes."""
    commands = [
        Moving(number, "tiu", (tensor(Space.LOCAL, 0),), (tensor(Space.LOCAL, to),))
        if source is None
        else Moving(number, "dma", (tensor(Space.GLOBAL, source, channels),), (tensor(Space.LOCAL, to, channels),))
        for number, (source, to) in enumerate(moves)
    ]
    ends = [(GROUP_BEGIN, 1), (LOCAL_RESULT, 10), (LOCAL_RESULT, 20), (GROUP_END, 30)]
    boundaries = [Boundary(name, number) for name, number in ends]
    return map_commands(mlir, "subfunc_0", cast("list[Command]", commands), boundaries, queued)


@pytest.mark.parametrize("weights_at", [4096, 0x20000])
@pytest.mark.parametrize(
    ("known", "text"),
    [
        (True, GROUP),
        (True, GROUP.replace("top.Weight", "top.Input")),
        (False, GROUP.replace(", 4294967296 : i64", "").replace(", 4294971392 : i64", "")),
    ],
)
def test_what_is_read_tells_loads_into_one_place_apart(weights_at: int, known: bool, text: str) -> None:
    mlir = MlirFile(text, Path("final.mlir"))
    sources = [(0x80000, 0), (weights_at, 1024), (None, 8192), (weights_at + 4096, 1024), (None, 12288)]
    mapped = mapping_of(mlir, sources, {0: 2, 1: 3, 2: 4, 3: 11, 4: 12})
    values = {ordinal: entry.op.results[0] for entry in mapped for ordinal in entry.ordinals}
    loaded = [values[ordinal] for ordinal in (0, 1, 3)]
    # Where nobody knows what they read, the order of the flow has to do.
    assert loaded == (["%3", "%4", "%6"] if known else ["%3", "%6", "%4"])


def test_a_load_in_parts_is_one_load_whatever_is_executed_meanwhile() -> None:
    """Engines run at the same time: the order of their commands differs from run to run."""
    lane = BM1684X.geometry.lane_bytes
    parts = [(0x80000, 0), (0x80100, lane), (None, 8192), (0x80200, 2 * lane), (0x80300, 16), (0x80400, 0)]
    mapped = mapping_of(MlirFile(GROUP, Path("final.mlir")), parts, {0: 2, 1: 2, 2: 4, 3: 2, 4: 2, 5: 3})
    first, *others = [entry for entry in mapped if entry.op.results[0] == "%3"]
    assert not others
    assert first.ordinals == [0, 1, 3, 4], "and what begins anew is another's"


def test_what_reads_a_weight_is_no_load_of_anything_else() -> None:
    moves = [(0x80000, 0), (4096, 1024), (None, 8192), (8192, 1024), (4096, 16)]
    mapped = mapping_of(MlirFile(GROUP, Path("final.mlir")), moves, {0: 2, 1: 3, 2: 4, 3: 11, 4: 12})
    owners = {ordinal: entry.op.results[0] for entry in mapped for ordinal in entry.ordinals}
    assert owners == {0: "%3", 1: "%4", 2: "%5", 3: "%6", 4: "%7"}, "the last one is a command of the op"


@pytest.mark.parametrize(("channels", "is_certain"), [(2, True), (3, False), (1, False)])
def test_no_slice_is_certain_where_the_firmware_has_cut_elsewhere(channels: int, is_certain: bool) -> None:
    cut = GROUP.replace("out_size = 4096, id", "out_size = 4096, c_idx = [0, 2], c_slice = [2, 2], id")
    cut = cut.replace("{flow =", "{csecs = 2 : i64, flow =")
    moves = [(0x80000, 0), (None, 8192), (0x80100, 0)]
    mapped = mapping_of(MlirFile(cut, Path("final.mlir")), moves, {0: 2, 1: 3, 2: 4}, channels)
    loads = [entry for entry in mapped if entry.op.results[0] == "%3"]
    assert [entry.is_certain for entry in loads] == [is_certain, is_certain]


@pytest.mark.parametrize("name", ["toy_bm1684x", "toy_bm1690", "pipeline_bm1684x", "shapes_bm1688"])
def test_an_output_is_where_the_run_has_it_however_many_ops_are_before_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored() -> list[tuple[str, View]]:
        program = open_program(DATA / "recordings" / f"{name}.tdbrec")
        outputs = {tensor.name for tensor in program.outputs}
        values = [value for record in program.source.records for value in record.results if value.name in outputs]
        return [(value.name, value.view) for value in values if value.view is not None and value.view.space.is_shared]

    expected = stored()
    assert expected
    monkeypatch.setattr(recorded_source, "_MOST_COUNTED", 1)
    assert stored() == expected
