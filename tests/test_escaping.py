"""Names in a model may hold anything; nobody to whom they are shown obeys them."""

from __future__ import annotations

import lzma
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.engine.rendering.printable import code, code_block, field_path, first_of, table_row, visible
from tdb_dap.language.document_kinds import document_of
from tdb_dap.language.documents import Documents
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.pages import data_of, needs_browser, seen
from tests.samples import SAMPLE

OLD = "relu4_Relu"
"""A tensor of the sample; what replaces it has any length."""

NASTY = (
    "<script>alert(1)</script>",
    "x' onload='alert(1)",
    "]]><img src=x onerror=alert(1)>",
    "</title></style><svg/onload=alert(1)>",
    "a`](http://evil/)![x](http://evil/x.png)|",
)
OBEYED = "\x1b]0;evil\x07\x1b[2J\x9b31m\u202eevil\u2066\r"
"""Sets the title, clears the screen, sets a colour, turns the direction of writing, goes to the start of the line."""


def renamed(folder: Path, name: str) -> Path:
    """The sample with a tensor and its net called otherwise, wherever a name is free text."""
    for file in ("final.mlir", "tensor_location.json.xz", "compilation.bmodel.xz"):
        shutil.copy(SAMPLE / file, folder / file)
    mlir = (SAMPLE / "final.mlir").read_text()
    assert f'"{OLD}"' in mlir
    (folder / "final.mlir").write_text(mlir.replace(f'"{OLD}"', f'"{name}"'), "utf-8")
    records = lzma.decompress((SAMPLE / "tensor_location.json.xz").read_bytes()).decode()
    assert f'loc(\\"{OLD}\\")' in records or OLD in records
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(c if c >= " " and not "\x7f" <= c <= "\x9f" else f"\\u{ord(c):04x}" for c in escaped)
    (folder / "tensor_location.json").write_text(records.replace(OLD, escaped), "utf-8")
    (folder / "tensor_location.json.xz").unlink()
    return folder


class Page(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes.update(name for name, _ in attrs)


def expect_harmless(text: str, plain: str) -> None:
    """``text`` has exactly the kinds of elements and attributes of ``plain``, the page of the sample as it is."""
    ours, theirs = Page(text), Page(plain)
    assert set(ours.elements) == set(theirs.elements)
    assert ours.elements.count("script") == theirs.elements.count("script")
    assert ours.attributes == theirs.attributes


def checked(context: Path, report: Path) -> str:
    """The report of a check that finds something, so that names stand in all of its parts."""
    reference = str(SAMPLE / "ref.npz")
    main(
        [
            "check",
            str(context),
            "--inputs",
            str(SAMPLE / "input.npz"),
            "--reference",
            reference,
            "--report",
            str(report),
        ]
    )
    return report.read_text("utf-8")


@pytest.mark.parametrize("name", NASTY)
def test_the_report_of_a_check_holds_names_as_text(name: str, tmp_path: Path) -> None:
    plain = checked(SAMPLE, tmp_path / "plain.html")
    text = checked(renamed(tmp_path, name), tmp_path / "report.html")
    expect_harmless(text, plain)
    assert "<" not in name or name not in text
    assert name in data_of(text)["tensors"]["texts"]


@pytest.mark.parametrize("name", NASTY)
def test_the_graph_holds_names_as_text(name: str, tmp_path: Path) -> None:
    pages = []
    for context, file in ((SAMPLE, "plain.html"), (renamed(tmp_path, name), "graph.html")):
        assert main(["graph", str(context), "-o", str(tmp_path / file)]) == 0
        pages.append((tmp_path / file).read_text("utf-8"))
    expect_harmless(pages[1], pages[0])
    assert name in [node["name"] for node in data_of(pages[1])["nodes"]]


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("name", NASTY)
def test_the_graph_shows_names_without_obeying_them(name: str, tmp_path: Path) -> None:
    assert main(["graph", str(renamed(tmp_path, name)), "-o", str(tmp_path / "graph.html")]) == 0
    page = (tmp_path / "graph.html").read_text("utf-8")
    kinds, titles = seen(
        page,
        """
        said.push([...new Set([...page.querySelectorAll("main *")].map((one) => one.localName))]);
        said.push([...page.querySelectorAll(".node title")].map((one) => one.textContent));
        """,
        tmp_path,
    )
    assert not {"script", "img", "iframe"} & set(kinds)
    assert any(name in title for title in titles)


@pytest.mark.parametrize("name", NASTY)
def test_notebooks_are_shown_names_as_text(name: str, tmp_path: Path) -> None:
    pages = []
    for context in (SAMPLE, renamed(tmp_path, name)):
        with tdb_dap.open(context, inputs=SAMPLE / "input.npz", reference=SAMPLE / "ref.npz") as dbg:
            dbg.breakpoints.add("tpu.Pool2D")
            dbg.run()
            shown: list[Any] = [
                dbg.program,
                dbg,
                dbg.last_stop,
                dbg.check(),
                dbg.profile(),
                dbg.program.ops,
                dbg.evaluate(f'#loc("{OLD if context is SAMPLE else name}")'),
            ]
            pages.append("".join(part._repr_html_() for part in shown))
    expect_harmless(pages[1], pages[0])


@pytest.mark.parametrize("name", NASTY)
def test_a_table_in_markdown_keeps_its_columns(name: str, tmp_path: Path) -> None:
    plain = checked(SAMPLE, tmp_path / "plain.md").split("\n")
    text = checked(renamed(tmp_path, name), tmp_path / "report.md").split("\n")
    assert [columns(line) for line in text] == [columns(line) for line in plain]
    assert not any(re.search(r"(?<!\\)<(script|img|svg)|(?<!\\)\]\(http", line) for line in text)


def columns(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line.replace("\\\\", "")))


def test_markdown_that_is_shown_as_it_is() -> None:
    assert code("a") == "`a`"
    assert code("a`b``c") == "```a`b``c```"
    assert code("`") == "`` ` ``"
    assert code_block(["a", "```", "b"]) == "````\na\n```\nb\n````"
    assert table_row("a|b", "c\\|", "[x](y)", "<b>") == r"| a\|b | c\\\| | [x\](y) | \<b> |"


@pytest.mark.parametrize("name", NASTY)
def test_what_is_shown_over_a_name_is_no_markdown(name: str, tmp_path: Path) -> None:
    folder = renamed(tmp_path, name)
    text = (folder / "final.mlir").read_text("utf-8")
    document = Documents(document_of).put((folder / "final.mlir").as_uri(), text)
    spot = next((i, line.index(name)) for i, line in enumerate(document.lines) if name in line)
    found = document.hover(*spot)
    assert found is not None
    assert code(name) in found[0]


def test_a_terminal_is_not_obeyed_by_accident() -> None:
    assert visible(OBEYED) == r"\x1b]0;evil\x07\x1b[2J\x9b31m\u202eevil\u2066\r"
    assert visible("a\tb\nü 漢字 é") == "a\tb\nü 漢字 é"


def lines_with_evil(text: str) -> Iterator[str]:
    found = [line for line in text.split("\n") if "evil" in line]
    assert found, text
    for line in found:
        assert visible(line) == line
        yield line


@pytest.mark.parametrize("command", ["check", "dis", "explain", "profile", "run"])
def test_commands_print_names_without_obeying_them(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = str(renamed(tmp_path, OBEYED))
    data = ["--inputs", str(SAMPLE / "input.npz")]
    more = {
        "check": [*data, "--reference", str(SAMPLE / "ref.npz"), "--all"],
        "explain": ["tpu.Conv2D"],
        "run": data,
    }.get(command, [])
    main([command, folder, *more])
    said = capfd.readouterr()
    assert visible(said.out + said.err) == said.out + said.err


def test_an_error_names_a_file_without_obeying_its_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evil\x1b[2J.bmodel"
    path.write_bytes(b"x")
    assert main(["info", str(path)]) == 2
    assert list(lines_with_evil(capfd.readouterr().err)) == [
        f"tdb-dap: error: {tmp_path}/evil\\x1b[2J.bmodel: not a bmodel: 1 bytes are less than its 64-byte header"
    ]


def test_the_console_shows_names_without_obeying_them(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    folder = renamed(tmp_path, OBEYED)
    client.launch(folder, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    line = toy.line_of("loc(#loc12)")
    for text in (f"explain {line}", f"b mlir:{line}"):
        answer = client.request("evaluate", expression=text, context="repl")["result"]
        assert visible(answer) == answer
    stops = client.request("evaluate", expression=f"explain {line}", context="repl")["result"]
    assert "evil" in stops


def test_names_of_fields_are_in_one_line() -> None:
    assert field_path(("tolerance", "a\nb", 3)) == r"tolerance.'a\nb'.3"
    assert len(field_path(["a" * 1000])) == 60


def test_few_of_many_problems_are_listed() -> None:
    assert first_of(["a", "b", "a"]) == "a; b"
    assert first_of("abcdefg") == "a; b; c; d; e; 2 more"
