"""Value ids of final.mlir are unique in a region, not in a function; each means what its frame means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

import tdb_dap
from tdb_dap.adapter.requests.provenance import written_by
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.expressions.assignment import Part
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_graph import OpGraph
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import BadExpression
from tests.heard import Heard
from tests.known import known, view_of
from tests.samples import Case, case, cases, typical

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session

MODELS = [found for found in cases() if found.mlir.exists()]
TWO_BODIES = "gather_elem_bm1688_f16c2"
"""Three tpu.CoreParallel side by side: each has its own %9, %10, %11 and %12."""

_IN_FOCUS = 40
"""Op instances of a model that are looked at: the first of each line."""


def opened(model: Case) -> Debugger:
    return tdb_dap.open(model.path)


def one_record_per_line(debugger: Debugger) -> Iterator[OpRecord]:
    seen: dict[int, OpRecord] = {}
    for record in debugger.program.source.records:
        if record.ordinals:
            seen.setdefault(record.line, record)
    yield from list(seen.values())[:_IN_FOCUS]


@pytest.mark.parametrize("model", typical(MODELS), ids=lambda model: model.name)
def test_every_edge_of_the_graph_goes_forward_in_the_text(model: Case) -> None:
    graph = OpGraph.of(MlirFile.read(model.mlir), weights=True)
    lines = {node.id: node.line for node in graph.nodes}
    assert [edge for edge in graph.edges if lines[edge.tail] >= lines[edge.head]] == []


@pytest.mark.parametrize("model", typical(MODELS), ids=lambda model: model.name)
def test_every_value_id_of_an_op_s_line_is_the_op_s_own_operand(model: Case) -> None:
    debugger = opened(model)
    mlir = debugger.program.source.mlir
    assert mlir is not None
    for record in one_record_per_line(debugger):
        op = mlir.op_at(record.line)
        assert op is not None
        entries = record.raw.list_of("operands")
        if len(entries) != len(op.operands):
            continue
        own = iter(record.operands)
        for name, entry in zip(op.operands, entries, strict=True):
            if not entry:
                continue
            named = next(own)
            if named.view is None:
                continue
            for level in ("op", "command"):
                value = debugger.evaluate(name, debugger.scope(record.first, level))
                assert value.view == named.view, f"line {record.line}: {name}"


@pytest.mark.parametrize("model", typical(MODELS), ids=lambda model: model.name)
def test_a_name_with_its_moment_means_the_same_from_everywhere(model: Case) -> None:
    debugger = opened(model)
    for record in one_record_per_line(debugger):
        here = debugger.scope(record.first, "op")
        for kind, values in (("in", here.operands()), ("out", here.results())):
            for number, value in enumerate(values):
                if value.view is None:
                    continue
                for elsewhere in (0, len(debugger.program.commands) // 2, len(debugger.program.commands)):
                    for level in ("op", "command"):
                        scope = debugger.scope(elsewhere, level)
                        assert debugger.evaluate(f"{kind}[{number}]@op{record.first}", scope).view == value.view


def test_two_bodies_with_the_same_ids_are_told_apart() -> None:
    debugger = opened(case(TWO_BODIES))
    mlir = debugger.program.source.mlir
    assert mlir is not None
    casts = [op for op in mlir.ops.values() if op.name == "tpu.Cast" and op.results == ("%10",)]
    assert len(casts) == 3
    addresses = set()
    for op in casts:
        [record] = debugger.program.source.records_at(op.line)
        value = debugger.evaluate("%10", debugger.scope(record.first, "op"))
        view = view_of(value.view)
        addresses.add(view.address)
        assert view == record.results[0].view
        assert debugger.evaluate("%10", debugger.scope(0, "op", op.line)).view == value.view, "as the mouse over it"
    assert len(addresses) == 3


def test_what_could_be_two_values_is_refused_where_no_frame_decides() -> None:
    debugger = opened(case(TWO_BODIES))
    debugger.run()
    with pytest.raises(BadExpression, match=r"%10 stands for 3 values \(line \d+, line \d+, line \d+\)") as refused:
        debugger.read("%10")
    [(pinned, ordinal)] = re.findall(r"write (%10@op(\d+)) for", str(refused.value))
    [record] = debugger.program.source.records_of(int(ordinal))
    assert debugger.evaluate(pinned).view == record.results[0].view


def test_a_name_for_several_results_is_refused_without_its_number() -> None:
    debugger = opened(case(TWO_BODIES))
    call = next(op for op in known(debugger.program.source.mlir).ops.values() if op.name == "call")
    main = debugger.scope(0, "op", call.line)
    with pytest.raises(BadExpression, match="%1 stands for 2 values; write %1#0 to #1"):
        debugger.evaluate("%1", main)
    outputs = [tensor.view.address for tensor in debugger.program.outputs]
    assert [view_of(debugger.evaluate(f"%1#{i}", main).view).address for i in (0, 1)] == outputs


def test_a_frame_of_main_sees_the_values_of_main() -> None:
    """There %1 is what the call gives; in the subnet it is a weight."""
    debugger = opened(case("toy_bm1684x_f32"))
    call = next(op for op in known(debugger.program.source.mlir).ops.values() if op.name == "call")
    debugger.run()
    value = debugger.evaluate(call.results[0], debugger.scope(None, "op", call.line))
    assert view_of(value.view).address == debugger.program.outputs[0].view.address
    np.testing.assert_array_equal(value.array.ravel(), next(iter(debugger.outputs().values())).ravel())


def test_a_moment_that_does_not_exist_is_refused() -> None:
    debugger = opened(case("toy_bm1684x_f32"))
    with pytest.raises(BadExpression, match="@99999: there is no such command"):
        debugger.read("in[0]@99999")


@pytest.mark.parametrize(
    "place", ["tpu.Pool2D", "conv.normal", "B5", "asm:7", "mlir:23", "loc:maxpool5_MaxPool", "R0x0+4"]
)
@pytest.mark.parametrize("model", ["toy_bm1684x_f32", "toy_bm1684x_int8"])
def test_in_means_the_same_in_a_condition_a_log_point_and_at_the_stop(model: str, place: str) -> None:
    debugger = tdb_dap.open(case(model).path, inputs=case(model).inputs)
    said: list[str] = []
    debugger.listener = Heard(said)
    debugger.breakpoints.add(place, log="{in[0]} {out[0]}")
    debugger.breakpoints.add(place)
    assert debugger.run().reason == "breakpoint"
    assert said[-1] == f"{debugger.evaluate('in[0]').text()} {debugger.evaluate('out[0]').text()}"
    largest, shape = debugger.read("max(in[0])"), debugger.evaluate("in[0]").shape
    here = debugger.ordinal
    debugger.breakpoints.clear()
    debugger.restart()
    debugger.breakpoints.add(place, condition=f"max(in[0]) == {largest} and len(shape(in[0])) == {len(shape)}")
    assert (debugger.run().reason, debugger.ordinal) == ("breakpoint", here)


def test_a_condition_on_a_model_without_ops_means_the_command(tmp_path: Path) -> None:
    alone = tmp_path / "alone.bmodel.xz"
    alone.write_bytes(opened(case("toy_bm1684x_f32")).program.context.bmodel.read_bytes())
    debugger = tdb_dap.open(alone)
    debugger.breakpoints.add("core:0", condition="len(shape(out[0])) > 0")
    said: list[str] = []
    debugger.listener = Heard(said)
    assert debugger.run().reason == "breakpoint"
    assert said == []


def test_a_breakpoint_on_a_name_of_several_values_says_so() -> None:
    debugger = opened(case(TWO_BODIES))
    placed = debugger.breakpoints.add("%10")
    assert placed.message.startswith("%10 stands for 3 values (lines ")
    assert placed.message.endswith("it stops at each")
    assert len(placed.stops) == 3
    assert "stands for" not in debugger.breakpoints.add("%1").message


def test_to_show_a_tensor_does_not_ask_what_all_commands_access() -> None:
    """Who wrote it is found when the user opens that row."""
    debugger = opened(case("toy_bm1684x_f32"))
    debugger.step(5)
    view = debugger.evaluate("in[0]").view
    row = written_by(cast("Session", SimpleNamespace(debugger=debugger)), Part("in[0]", view_of(view)))
    assert row.is_lazy
    assert "accesses" not in vars(debugger.program)
    [found] = known(row.named)()
    assert found.value.startswith("command ")
    assert "accesses" in vars(debugger.program)
