"""``tdb-dap trace``: the whole run as a table, printed and written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tdb_dap.cli.main import main
from tests.samples import case

TOY = case("toy_bm1684x_f32")
DATA = ("--inputs", str(TOY.inputs), "--quiet")


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> list[str]:
    assert main(["trace", str(TOY.path), *words, *DATA]) == code
    return capsys.readouterr().out.splitlines()


def test_a_table_of_values_at_each_op(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "max(out[0]), min(in[0]) at tpu.Conv2D")
    assert lines[0] == "max(out[0]), min(in[0]) at tpu.Conv2D: 2 hits at 2 places"
    assert lines[1].split() == ["moment", "command", "line", "op", "name", "max(out[0])", "min(in[0])"]
    assert [line.split()[:5] for line in lines[2:]] == [
        ["5", "B2", "22", "tpu.Conv2D", "relu4_Relu"],
        ["9", "B4", "24", "tpu.Conv2D", "conv8_Conv"],
    ]


def test_files_hold_every_row_and_numbers_that_read_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for suffix in ("csv", "parquet", "html"):
        printed(capsys, "max(out[0]), out[0][0] if max(out[0]) > 0.5", "-o", str(tmp_path / f"t.{suffix}"))
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    frame = pandas.read_parquet(tmp_path / "t.parquet")
    assert len(frame) == len(rows) > 3
    assert [float(row["max(out[0])"]) for row in rows] == frame["max(out[0])"].tolist()
    page = (tmp_path / "t.html").read_text()
    assert page.count("<tr") == len(rows) + 1
    assert "default-src 'none'" in page


def test_names_are_text_in_every_file(tmp_path: Path) -> None:
    """A formula or a tag in a name is neither in a spreadsheet nor on a page."""
    from tdb_dap.engine.questions.cells import Cell
    from tdb_dap.engine.questions.trace_points import TracePoint
    from tdb_dap.engine.questions.tracing import Hit, Place, Trace
    from tdb_dap.tools.trace.files import csv_text, html_text

    name = "=HYPERLINK(1)<script>x</script>"
    place = Place(1, 0, "B1", 3, "tpu.X", name, 0, "", None, None)
    trace = Trace(TracePoint(("1",)), [Hit(place, (Cell(-1.5),))], 1)
    assert ",'=HYPERLINK" in csv_text(trace)
    assert csv_text(trace).rstrip().endswith(",-1.5")
    assert "<script" not in html_text(trace)


def test_when_where_and_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--when", "max(out[0]) > 1e9")[0].startswith("never: ")
    lines = printed(capsys, "--when", "max(out[0]) > 3")
    assert lines[1].startswith("first: moment ")
    assert "line 22 tpu.Conv2D relu4_Relu" in "\n".join(printed(capsys, "--where", "max(x) > 3.5"))
    lines = printed(capsys, "--history", "R0x0:f32[4]")
    assert lines[0] == "R0x0:f32[4]: 4 versions of 4 elements"
    assert lines[1] == "at the start: no command has written it"
    assert lines[3] == "command 2, line 19 tpu.Load: load_0"


def test_one_question_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(TOY.path), "max(out[0])", "--when", "1"]) == 2
    assert "give one question" in capsys.readouterr().err
