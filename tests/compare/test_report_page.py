"""The HTML report: what it opens with, how large it is, and what its script makes of it."""

from __future__ import annotations

import html as html_library
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest

from tdb_dap.tools.check.html import html
from tdb_dap.tools.check.schema import Blame, BlameKind, Numbers, Picture, Report, Row
from tdb_dap.tools.check.text import ACCUMULATED, headline

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
LARGEST = 5_000_000


def numbers(error: float) -> Numbers:
    return Numbers(
        cosine=1 - error / 3,
        euclidean=1 - error,
        sqnr=31.4159,
        max_abs=error * 7.123456,
        max_rel=error,
        max_ulp=round(error * 1e7),
        size=16384,
        bad_count=round(16384 * error),
        bad_share=error,
        first_bad=(0, 3, 17, 11),
        first_bad_per_axis=(0, 3, 17, 11),
        worst=(0, 5, 2, 1),
        worst_actual=1.2345678,
        worst_expected=1.3456789,
        channel_axis=1,
        worst_channel=5,
        channel=1 - error,
        nan_count=0,
        nan_expected=0,
        inf_count=0,
        inf_expected=0,
    )


def row(line: int, error: float, blame: BlameKind | None = None, name: str = "", last: int = 0, **more: Any) -> Row:
    wrong = error > 0.01
    text = {"at fault": "is at fault: wrong with the reference's operands, too"}.get(blame or "", f"{blame} of line 1")
    given: dict[str, Any] = {
        "line": line,
        "opcode": "tpu.MatMul",
        "name": name or f"/model/layers.{line // 40}/self_attn/attn/MatMul_output_{line}_MatMul",
        "role": "result",
        "index": 0,
        "dtype": "f16",
        "first": last,
        "last": last,
        "pieces": 1,
        "covered": 1.0,
        "verdict": "fail" if wrong else "pass",
        "complaints": ("cosine similarity 0.971234 (limit 0.99)", "Euclidean 0.85 (limit 0.99)") if wrong else (),
        "numbers": numbers(error),
        "blame": Blame(kind=blame, line=line, text=text) if blame else None,
    }
    return Row(**{**given, **more})


def report(rows: list[Row], commands: int = 100, mode: Literal["cascade", "standalone"] = "cascade") -> Report:
    culprit = next((r for r in rows if r.blame is not None and r.blame.kind == "at fault"), None)
    return Report(
        tool="tdb-dap",
        model="m.bmodel",
        net="net",
        chip="BM1684X",
        mode=mode,
        profile="default",
        references=("r.npz",),
        commands=commands,
        seconds=1.0,
        rows=tuple(rows),
        culprit=culprit,
    )


def data_of(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert match
    found: dict[str, Any] = json.loads(match[1])
    return found


def test_rounding_that_adds_up_is_the_first_sentence() -> None:
    drift = report([row(1, 0.001), row(2, 0.02, "accumulates"), row(3, 0.03, "accumulates")])
    assert drift.is_accumulated
    assert headline(drift).startswith(f"{ACCUMULATED}: ")
    assert ACCUMULATED == "differs by accumulated rounding; no op at fault"
    body = html(drift, "").split("<body>")[1]
    assert body.startswith(
        f'<p class="head drift">{html_library.escape(headline(drift))}</p><figure class="plot"><svg class="depth"'
    )


@pytest.mark.parametrize("kind", ["at fault", "overwritten", "input", "unclear", None])
def test_one_result_that_rounding_does_not_explain_is_enough(kind: BlameKind | None) -> None:
    found = report([row(2, 0.02, "accumulates"), row(3, 0.03, kind)])
    assert not found.is_accumulated
    assert headline(found).startswith("fail: ")
    assert not report([row(1, 0.0)]).is_accumulated


def test_every_op_is_a_dot_of_its_height_and_those_at_fault_are_red() -> None:
    rows = [row(n, error, last=n) for n, error in ((1, 0.0), (2, 1e-5), (5, 0.5))]
    rows.insert(2, row(4, 0.3, "at fault", last=4, name='<b>"x"'))
    rows.append(row(4, 0.2, last=3, role="operand"))
    picture = html(report(rows), "").split("<figure")[1].split("</svg>")[0]
    dots = re.findall(r'<circle(?: class="(\w+)")? cx="([\d.]+)" cy="(\d+)"><title>([^<]*)', picture)
    assert [kind for kind, *_ in dots] == ["", "", "fault", "fail"]
    assert sorted(float(x) for _, x, *_ in dots) == [float(x) for _, x, *_ in dots]
    heights = [int(y) for *_, y, _ in dots]
    assert heights[0] > heights[1] > heights[2] > heights[3]
    assert html_library.unescape(dots[2][3]) == '<b>"x": 0.3'
    assert "http" not in picture


def test_a_model_of_15000_commands_stays_under_5_megabytes() -> None:
    """Three tensors for each of 5,000 ops, half of the results wrong and drawn, in a text of 6,000 long lines."""
    picture = Picture(heat=((1.234e-5, 0.0) * 24,) * 24, histogram=(123456,) * 11)
    rows = []
    for op in range(5000):
        before = row(op, 0.0).name
        rows += [row(op + 1, 0.02 * (op % 2), role="operand", name=before, last=3 * op)]
        rows += [row(op + 1, 0, role="operand", name=f"w{op}", verdict="unknown", numbers=None, reason="weight")]
        rows += [row(op + 1, 0.02, "accumulates", last=3 * op, picture=picture) if op % 2 else row(op + 1, 1e-5)]
    source = "\n".join(f'  %{n} = "tpu.MatMul"(%{n - 1}, %w{n}) ' + "x = 1, " * 35 for n in range(6000))
    page = html(report(rows, 15000), source)
    assert len(page.encode()) < LARGEST
    data = data_of(page)
    assert len(data["tables"]["tensors"]["rows"]) == 15000
    assert len(data["pictures"]) == 200
    assert "2,300 more" in page


def test_a_source_too_long_for_a_page_is_cut_and_the_page_says_so() -> None:
    page = html(report([row(1, 0.0)]), "\n".join(["x" * 5000] * 3000))
    assert len(page.encode()) < LARGEST
    assert "Lines are cut after 400 characters." in page
    assert page.count('<div id="L') == 3000


NASTY = "</script><script>document.title='evil'</script><!--<img src=x onerror=document.title='evil'>"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_the_script_shows_sorts_and_filters_and_obeys_no_name(tmp_path: Path) -> None:
    picture = Picture(heat=((1e-3, 0.0), (0.5, 2.0)), histogram=(3, 1))
    rows = [row(n, error, last=n) for n, error in ((10, 0.0), (9, 1e-5), (200, 0.002))]
    rows.append(row(30, 0.3, "at fault", name=NASTY, last=30, picture=picture))
    test = """<script>
      const said = [], texts = () => [...document.querySelectorAll("tbody tr")].map((tr) => tr.children[0].textContent);
      said.push(texts());
      document.querySelector("th").click(); said.push(texts());
      document.querySelector("th").click(); said.push(texts());
      const choice = document.querySelector("select");
      choice.value = "fail"; choice.dispatchEvent(new Event("change")); said.push(texts());
      said.push([document.querySelector("td.wide").textContent]);
      choice.value = "all"; choice.dispatchEvent(new Event("change"));
      const field = document.querySelector("input");
      field.value = "output_9_"; field.dispatchEvent(new Event("input")); said.push(texts());
      document.title = JSON.stringify(said);
    </script></body>"""
    (tmp_path / "page.html").write_text(html(report(rows), "").replace("</body>", test), "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [str(CHROMIUM), *options, (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    title = re.search("<title>(.*?)</title>", done.stdout, re.S)
    assert title, done.stderr[-500:]
    assert json.loads(html_library.unescape(title[1])) == [
        ["10", "9", "200", "30"],
        ["9", "10", "30", "200"],
        ["200", "30", "10", "9"],
        ["30"],
        [NASTY],
        ["9"],
    ]
