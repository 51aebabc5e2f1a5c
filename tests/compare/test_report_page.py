"""The HTML report: what it opens with, how large it is, and what its script makes of it."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from tdb_dap.tools.check.html import html
from tdb_dap.tools.check.schema import Blame, BlameKind, Numbers, Picture, Report, Row
from tdb_dap.tools.check.text import ACCUMULATED, headline
from tests.pages import data_of, needs_browser, seen

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


def test_rounding_that_adds_up_is_the_first_sentence() -> None:
    drift = report([row(1, 0.001), row(2, 0.02, "accumulates"), row(3, 0.03, "accumulates")])
    assert drift.is_accumulated
    assert headline(drift).startswith(f"{ACCUMULATED}: ")
    assert ACCUMULATED == "differs by accumulated rounding; no op at fault"
    data = data_of(html(drift, ""))
    assert (data["headline"], data["outcome"]) == (headline(drift), "drift")
    assert data["tensors"]["culprit"] is None


@pytest.mark.parametrize("kind", ["at fault", "overwritten", "race", "input", "unclear", None])
def test_one_result_that_rounding_does_not_explain_is_enough(kind: BlameKind | None) -> None:
    found = report([row(2, 0.02, "accumulates"), row(3, 0.03, kind)])
    assert not found.is_accumulated
    assert headline(found).startswith("fail: ")
    assert not report([row(1, 0.0)]).is_accumulated


def test_metrics_are_rounded_and_what_is_not_finite_is_a_text() -> None:
    strange = replace(numbers(0.5), cosine=math.nan, sqnr=-math.inf, max_abs=math.inf)
    unknown = row(3, 0.0, name="w", verdict="unknown", numbers=None, reason="weight", note="of 3 bytes")
    data = data_of(html(report([row(1, 1 / 3, numbers=strange), row(2, 1e-5), unknown]), ""))["tensors"]
    metrics = data["metrics"]
    assert (metrics["cosine"][0], metrics["sqnr"][0], metrics["max_abs"][0]) == ("NaN", "-Infinity", "Infinity")
    assert metrics["max_abs"][1] == 7.123456e-5
    assert {name: values[2] for name, values in metrics.items()} == dict.fromkeys(metrics)
    assert [data["texts"][place] for place in data["verdict"]] == ["fail", "pass", "unknown"]
    assert data["texts"][data["blame"][2]] == "weight, of 3 bytes"


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
    assert len(data["tensors"]["line"]) == 15000
    assert sum(one["picture"] is not None for one in data["differing"]) == 200
    assert data["more"] == 2300


def test_a_source_too_long_for_a_page_is_cut_and_the_page_says_so() -> None:
    page = html(report([row(1, 0.0)]), "\n".join(["x" * 5000] * 3000))
    assert len(page.encode()) < LARGEST
    source = data_of(page)["source"]
    assert source["longest"] == 400
    assert source["text"].split("\n") == ["x" * 400 + " ..."] * 3000


NASTY = "</script><script>document.title='evil'</script><!--<img src=x onerror=document.title='evil'>"


def test_nothing_is_loaded_and_only_the_program_runs() -> None:
    page = html(report([row(1, 0.5, name=NASTY)]), NASTY)
    assert page.count("<script") == page.count("</script>") == 2
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    program, style = re.search(r"<script>(.*?)</script>", page, re.S), re.search(r"<style>(.*?)</style>", page, re.S)
    assert policy
    assert program
    assert style
    hashes = [base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode() for part in (style, program)]
    assert policy[1] == "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'".format(*hashes)
    assert not re.search(r"url\((?!#)|@import|\bfetch\(|XMLHttpRequest", page)


@pytest.mark.browser
@needs_browser
def test_the_program_shows_sorts_and_filters_and_obeys_no_name(tmp_path: Path) -> None:
    picture = Picture(heat=((1e-3, 0.0), (0.5, 2.0)), histogram=(3, 1))
    rows = [row(n, error, last=n) for n, error in ((10, 0.0), (9, 1e-5), (200, 0.002))]
    rows.append(row(30, 0.3, "at fault", name=NASTY, last=30, picture=picture))
    shown = seen(
        html(report(rows), f"{NASTY}\nsecond line"),
        """
        const texts = () => [...page.querySelectorAll(".table tbody tr")].map((tr) => tr.children[1].textContent);
        const press = () => page.querySelectorAll(".table th button")[1].click();
        const change = (selector, value, event) => {
          const field = page.querySelector(selector);
          field.value = value;
          field.dispatchEvent(new Event(event));
        };
        said.push(texts());
        press(); said.push(texts());
        press(); said.push(texts());
        press(); said.push(texts());
        change("select", "differs", "change"); said.push(texts());
        said.push([page.querySelector("td.name").title]);
        change("select", "", "change");
        change("input", "output_9_", "input"); said.push(texts());
        said.push([page.getElementById("L1").textContent, page.querySelector(".table td a").getAttribute("href")]);
        said.push(["figure canvas", "figure svg", "article.culprit"].map((x) => page.querySelectorAll(x).length));
        """,
        tmp_path,
    )
    assert shown == [
        ["10", "9", "200", "30"],
        ["9", "10", "30", "200"],
        ["200", "30", "10", "9"],
        ["10", "9", "200", "30"],
        ["30"],
        [NASTY],
        ["9"],
        [NASTY, "#L9"],
        [1, 1, 1],
    ]


@pytest.mark.browser
@needs_browser
def test_every_result_is_a_point_of_its_height_and_those_at_fault_are_marked(tmp_path: Path) -> None:
    rows = [row(n, error, last=n) for n, error in ((1, 0.0), (2, 1e-5), (5, 0.5))]
    rows.insert(2, row(4, 0.3, "at fault", last=4, name='<b>"x"'))
    rows.append(row(4, 0.2, last=3, role="operand"))
    curve, marks = seen(
        html(report(rows), ""),
        """
        said.push(page.querySelector(".plot .curve").getAttribute("d"));
        said.push([...page.querySelectorAll(".plot circle")].map((dot) =>
          [dot.getAttribute("class"), Number(dot.getAttribute("cx")), dot.textContent]));
        """,
        tmp_path,
    )
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", curve)]
    assert len(points) == 4
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert len({y for _, y in points}) == 4
    assert [(names, text) for names, _, text in marks] == [
        ("fail culprit", '<b>"x": 0.3'),
        ("fail", f"{row(5, 0).name}: 0.5"),
    ]
    assert [x for _, x, _ in marks] == pytest.approx([x for x, _ in points[2:]], abs=0.1)


@pytest.mark.browser
@needs_browser
def test_the_table_is_walked_with_the_keyboard(tmp_path: Path) -> None:
    selected = seen(
        html(report([row(n, 0.0, last=n) for n in range(1, 4)]), ""),
        """
        const table = page.querySelector(".table");
        const press = (key) => table.dispatchEvent(new frames[0].KeyboardEvent("keydown", { key }));
        for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) {
          press(key);
          said.push(page.querySelector("tr[aria-selected=true]").children[1].textContent);
        }
        said.push(table.tabIndex);
        """,
        tmp_path,
    )
    assert selected == ["1", "2", "1", 0]


@pytest.mark.browser
@needs_browser
def test_the_contents_lead_to_every_section(tmp_path: Path) -> None:
    found = seen(
        html(report([row(1, 0.3, last=1)]), "text"),
        """
        for (const link of page.querySelectorAll("nav a"))
          said.push([link.textContent, page.querySelector(link.getAttribute("href")).textContent]);
        """,
        tmp_path,
    )
    assert [name for name, _ in found][1:] == ["All tensors, in the order of execution", "final.mlir"]
    assert all(name == title for name, title in found)
