"""The debugger in Python and in notebooks: with, loops over ops, tables for pandas, and HTML that holds only text."""

from __future__ import annotations

import lzma
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.program.ops import command_table
from tdb_dap.engine.rendering.tables import Table
from tdb_dap.errors import BadInput
from tdb_dap.notebook import InteractiveDebugger
from tests.conftest import Toy
from tests.samples import without_data

EVIL = "<script>alert(1)</script>&\"'"
VOID = {"br", "hr", "img"}


class Html(HTMLParser):
    """The elements of a text, and whether each that begins also ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.said = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def shown(thing: Any) -> Html:
    """How a notebook shows it."""
    page = Html(thing._repr_html_())
    assert page.tags <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"style"}
    return page


@pytest.fixture
def dbg(toy: Toy) -> InteractiveDebugger:
    return tdb_dap.open(toy.directory, toy.inputs, toy.reference)


def test_with_closes_what_runs_elsewhere(toy: Toy) -> None:
    closed: list[bool] = []

    dbg = tdb_dap.open(toy.directory)

    def fails() -> None:
        with dbg:
            raise ZeroDivisionError

    dbg.machine.backend.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        fails()
    assert closed == [True]
    assert dbg.memory.neuron().size  # what has been computed can still be looked at


def test_ops_are_there_to_loop_over(dbg: InteractiveDebugger, toy: Toy) -> None:
    ops = dbg.program.ops
    assert [op.opcode for op in ops][:5] == ["tpu.Load", "tpu.Load", "tpu.Load", "tpu.Conv2D", "tpu.Pool2D"]
    assert [op.first for op in ops] == sorted(op.first for op in ops)
    owned = [ordinal for op in ops for ordinal in op.ordinals]
    assert sorted(owned) == [c.ordinal for c in dbg.program.commands if c.mlir_lines]
    pooling = next(op for op in ops if op.opcode == "tpu.Pool2D")
    assert (pooling.name, pooling.line) == ("maxpool5_MaxPool", toy.line_of('"tpu.Pool2D"'))
    assert '"tpu.Pool2D"' in pooling.text
    assert [command.name for command in pooling.commands] == ["pord.maxpooling"]
    assert ops.named("maxpool*") == [pooling]
    assert ops[3:5][1] is pooling
    with pytest.raises(BadInput, match="no op of that location"):
        ops.named("no_such_layer")


def test_a_slice_of_an_op_does_not_make_it_another_op() -> None:
    context = Path(__file__).parent / "data" / "contexts" / "sliced_int8"
    program = tdb_dap.open(context).program
    lines = [op.line for op in program.ops]
    assert len(lines) == len(set(lines))
    assert any(len(op.records) > 1 for op in program.ops)
    assert sum(len(op.records) for op in program.ops) == sum(1 for r in program.source.records if r.ordinals)


def test_a_model_without_locations_has_no_ops(toy: Toy, tmp_path: Path) -> None:
    shutil.copy(toy.directory / "compilation.bmodel.xz", tmp_path)
    dbg = tdb_dap.open(tmp_path / "compilation.bmodel.xz")
    assert len(dbg.program.ops) == 0
    assert repr(dbg.program.ops) == "(no rows)"
    assert "(no rows)" in shown(dbg.program.ops).said
    assert dbg.run().reason == "end"


def test_walking_stops_at_every_op_and_at_breakpoints_between(dbg: InteractiveDebugger) -> None:
    dbg.breakpoints.add("B12")
    stops = list(dbg.walk())
    assert [stop.reason for stop in stops].count("breakpoint") == 1
    assert stops[-1].reason == "end"
    by_op = [stop.ordinal for stop in stops if stop.reason == "step"]
    assert set(by_op) <= {op.first for op in dbg.program.ops}
    dbg.travel(50)
    assert [stop.ordinal for stop in dbg.walk("command")] == [51, 52, 53, 54, 55, 56, 57, 58]


def test_walking_ends_where_nothing_goes_on(tmp_path: Path) -> None:
    context = without_data(Path(__file__).parent / "data" / "contexts" / "dynamic_subnet", tmp_path / "model")
    stops = list(tdb_dap.open(context).walk())
    assert [stop.reason for stop in stops] == ["step", "exception"]
    assert "is dynamic" in shown(stops[-1]).said


def test_tables_go_into_pandas_as_they_are(dbg: InteractiveDebugger) -> None:
    pandas = pytest.importorskip("pandas")
    dbg.run()
    checked = pandas.DataFrame(dbg.check())
    assert list(checked.columns) == list(dbg.check().columns)
    assert checked[checked.verdict == "pass"].cosine.min() > 0.999
    ops = pandas.DataFrame(dbg.program.ops.table())
    assert ops.commands.sum() <= len(dbg.program.commands)
    assert pandas.DataFrame(dbg.profile()).share.sum() == pytest.approx(1)
    assert len(pandas.DataFrame(command_table(dbg.program.commands[10:20]))) == 10


def test_a_table_is_a_list_of_rows_that_can_be_chosen_from(dbg: InteractiveDebugger) -> None:
    table = dbg.program.ops.table()
    assert table.column("op")[3] == "tpu.Conv2D"
    assert {row["op"] for row in table.where(op="tpu.Load")} == {"tpu.Load"}
    assert Table().columns == ()
    long = Table({"n": n} for n in range(500))
    assert "... and 300 more rows" in shown(long).said
    assert len(long) == 500


def test_check_compares_what_has_been_executed_and_changes_nothing(
    dbg: InteractiveDebugger, toy: Toy, bare: Path, tmp_path: Path
) -> None:
    assert len(dbg.check()) == 0
    dbg.travel(9)
    some = dbg.check()
    assert dbg.ordinal == 9
    dbg.run()
    everything = dbg.check()
    assert len(some) < len(everything)
    assert len(everything.failures) == 0
    with np.load(toy.reference) as archive:
        data = {name: archive[name] for name in archive.files}
    data["maxpool5_MaxPool"] = 1 - 2 * data["maxpool5_MaxPool"]
    np.savez(tmp_path / "wrong.npz", **data)
    wrong = tdb_dap.open(toy.directory, toy.inputs, tmp_path / "wrong.npz")
    wrong.run()
    assert {row["tensor"] for row in wrong.check().failures} == {"maxpool5_MaxPool"}
    assert "2 fail" in shown(wrong.check()).said
    with pytest.raises(BadInput, match="nothing to compare with"):
        tdb_dap.open(bare, toy.inputs).check()


def test_a_notebook_shows_what_there_is_to_know(dbg: InteractiveDebugger) -> None:
    assert "BM1684X" in shown(dbg.program).said
    dbg.breakpoints.add("tpu.Pool2D")
    stop = dbg.run()
    assert "breakpoint" in shown(stop).said
    assert "tpu.Pool2D" in shown(stop).said
    assert "tpu.Pool2D maxpool5_MaxPool, line 23" in shown(dbg).said
    value = dbg.evaluate("in[0]")
    assert "f32[1,16,32,32]" in shown(value).said
    assert "64 of 16,384 elements" in shown(value).said
    assert repr(value) == f"{value.title} = {value.text()}"
    assert "relu4_Relu" in shown(dbg.program.ops[3]).said


@pytest.mark.parametrize("expression", ["3", "in[0][0,0]", "in[0] * nan", "in[0][0,0,0,0]", "in[0][:0]", "in[0] > 0"])
def test_numbers_of_every_shape_can_be_shown(dbg: InteractiveDebugger, expression: str) -> None:
    dbg.breakpoints.add("tpu.Pool2D")
    dbg.run()
    assert shown(dbg.evaluate(expression)).said


@pytest.fixture
def evil(toy: Toy, tmp_path: Path) -> Path:
    """The sample with a tensor whose name is markup."""
    name = "maxpool5_MaxPool"
    for file in ("final.mlir", "tensor_location.json"):
        packed = toy.directory / f"{file}.xz"
        text = lzma.decompress(packed.read_bytes()).decode() if packed.exists() else (toy.directory / file).read_text()
        quoted = EVIL.replace('"', '\\"') if file.endswith("json") else EVIL.replace('"', "")
        (tmp_path / file).write_text(text.replace(name, quoted))
    shutil.copy(toy.directory / "compilation.bmodel.xz", tmp_path)
    with np.load(toy.reference) as archive:
        np.savez(tmp_path / "ref.npz", **{k.replace(name, EVIL): archive[k] for k in archive.files})
    return tmp_path


def test_what_a_model_calls_its_tensors_is_only_text(evil: Path, toy: Toy) -> None:
    dbg = tdb_dap.open(evil, toy.inputs, evil / "ref.npz")
    dbg.breakpoints.add("tpu.Pool2D")
    stop = dbg.run()
    pooling = next(op for op in dbg.program.ops if op.opcode == "tpu.Pool2D")
    assert pooling.name == EVIL
    for thing in (dbg.program.ops, pooling, dbg):
        assert "<script>" in shown(thing).said  # as text; `shown` admits no such element
    dbg.run()
    dbg.travel(dbg.program.ops[4].last + 1)
    things: tuple[object, ...] = (dbg, stop, dbg.program, dbg.profile(), dbg.check(), dbg.evaluate("out[0]"))
    for other in (*things, dbg.last_stop):
        shown(other)
    assert "<script>" in shown(dbg.check()).said
    assert "<script>" in shown(dbg.profile()).said
