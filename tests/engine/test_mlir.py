"""The scanner of final.mlir."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tdb_dap.engine.source.mlir_attributes import parse_attributes, split_top
from tdb_dap.engine.source.mlir_file import MlirFile
from tests.known import known
from tests.samples import SAMPLE, cases, typical

TEXT = """#loc = loc(unknown)
#loc1 = loc("x")
module @m attributes {module.chip = "bm1684x"} {
  module @m {
    func.func @main(%arg0: tensor<1xf32> loc(unknown)) -> tensor<1xf32> {
      %0 = call @subfunc_0(%arg0) : (tensor<1xf32>) -> tensor<1xf32> loc(#loc)
      return %0 : tensor<1xf32> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1xf32> loc("x")) -> tensor<1xf32> attributes {id = 0 : i64} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1:2 = "tpu.Group"(%arg0) ({
        %3 = "tpu.Load"(%arg0) {ginfo = #tpu.lg<out_addr = 0, n_idx = [0]>, do_bcast = false} : (f32) -> f32 loc(#loc3)
        strange_op %3 !!!
        "tpu.Yield"(%3) : (tensor<1xf32>) -> () loc(#loc2)
      }) {flow = [-1, 0], nsecs = 1 : i64} : (tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) loc(#loc4)
      %2 = "tpu.Add"(%1#0, %1#1) {name = "a, } b", relu_limit = -1.000000e+00 : f64} : (f32, f32) -> f32 loc("y")
      return %2 : tensor<1xf32> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("p")
#loc3 = loc("load_0")
#loc4 = loc(fused[#loc2, #loc5])
#loc5 = loc("q")
"""


@pytest.fixture
def file() -> MlirFile:
    return MlirFile(TEXT, Path("final.mlir"))


def test_operations_are_found_with_their_group_and_function(file: MlirFile) -> None:
    load, group, add = known(file.op_at(12)), known(file.op_at(11)), known(file.op_at(16))
    assert (load.name, load.results, load.operands) == ("tpu.Load", ("%3",), ("%arg0",))
    assert (load.function, load.group_line) == ("subfunc_0", 11)
    assert (group.line, group.end_line, group.group_line) == (11, 15, None)
    assert add.operands == ("%1#0", "%1#1")
    assert [f.name for f in file.functions] == ["main", "subfunc_0"]


def test_locations_are_resolved_fused_ones_in_order(file: MlirFile) -> None:
    assert known(file.op_at(12)).location == "load_0"
    assert known(file.op_at(11)).locations == ("p", "q"), "the location of a region is on its closing line"
    assert known(file.op_at(16)).locations == ("y",)
    assert known(file.op_at(10)).locations == ()
    assert [op.line for op in file.by_location["q"]] == [11]


def test_attributes_are_parsed_when_asked_for(file: MlirFile) -> None:
    assert known(file.op_at(16)).attributes == {"name": "a, } b", "relu_limit": -1.0}
    assert known(file.op_at(11)).attributes == {"flow": [-1, 0], "nsecs": 1}
    assert known(file.op_at(12)).attributes["do_bcast"] is False
    assert known(file.op_at(16)).types == "(f32, f32) -> f32"


def test_value_ids_belong_to_their_function(file: MlirFile) -> None:
    assert known(file.op_defining("%0", 6)).line == 6
    assert known(file.op_defining("%0", 12)).line == 10
    assert known(file.op_defining("%1#1", 16)).line == 11


def test_a_line_that_is_not_understood_is_no_error(file: MlirFile) -> None:
    assert file.op_at(13) is None
    assert MlirFile('\x00\n}}}}\n%% = "(\n#loc1 = loc(#loc1)\n', Path("x")).op_at(1) is None


def test_brackets_and_strings_do_not_split() -> None:
    assert split_top('a = [1, 2], b = "x, y", c = #t<p, q>') == ["a = [1, 2]", 'b = "x, y"', "c = #t<p, q>"]
    assert parse_attributes('{k, s = "a\\"b", f = 1.5e-3 : f64}', 0) == {"k": True, "s": 'a\\"b', "f": 0.0015}


@pytest.mark.parametrize("path", typical([SAMPLE, *(case.path for case in cases())]), ids=lambda p: p.name)
def test_every_line_with_an_operation_is_indexed(path: Path) -> None:
    file = MlirFile.read(path / "final.mlir")
    quoted = [n for n, line in enumerate(file.lines, 1) if '= "' in line.split("{")[0] or line.lstrip().startswith('"')]
    assert [n for n in quoted if file.op_at(n) is None and not file.lines[n - 1].startswith("#")] == []


def with_operations(count: int) -> MlirFile:
    line = TEXT.split("\n")[11]
    return MlirFile("\n".join([*TEXT.split("\n")[:11], *[line] * count, *TEXT.split("\n")[14:]]), Path("final.mlir"))


def lines_executed(count: int) -> int:
    """Lines of Python that indexing so many operations takes."""
    executed = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        nonlocal executed
        executed += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with_operations(count)
    finally:
        sys.settrace(before)
    return executed


def test_the_work_of_indexing_grows_with_the_operations_and_no_faster() -> None:
    few, more, most = map(lines_executed, (100, 200, 1000))
    assert most - more < 9 * (more - few)  # not exact: the interpreter may collect garbage in between
    assert len(with_operations(20000).ops) > 20000


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n", "a\nb", "a\r\nb\r\n", "ä\n\x0b\x0c\u2028b\n", "a\n\n"])
def test_the_lines_of_a_file_are_those_of_its_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / "final.mlir"
    path.write_bytes(text.encode())
    file = MlirFile.read(path)
    assert file.lines == text.replace("\r\n", "\n").split("\n")
    assert file.sha256 == hashlib.sha256(text.encode()).hexdigest()
