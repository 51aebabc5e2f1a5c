"""Records of the ops of a dynamic subnet: operands and results in every type that the compiler prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.engine.source.dynamic_records import Argument, MappedOp, records_of
from tdb_dap.engine.source.mlir_file import MlirFile

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
