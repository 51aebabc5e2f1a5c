"""Tables that commands write into the documentation: each has its marks, and nothing else is changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import figures
from scripts.generated import ROOT

PAGES = sorted({part.page for part in figures.PARTS.values()})


@pytest.mark.parametrize("page", PAGES)
def test_every_mark_of_a_page_is_that_of_a_part(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    names = [name for name, part in figures.PARTS.items() if part.page == page]
    marks = [mark for name in names for mark in (figures.begin(name), figures.end(name))]
    assert sorted(re.findall(r"<!-- .*? -->", text)) == sorted(marks)


@pytest.mark.parametrize("name", figures.PARTS)
def test_a_part_is_replaced_and_the_rest_of_the_page_is_kept(name: str, tmp_path: Path) -> None:
    page = tmp_path / figures.PARTS[name].page
    page.parent.mkdir()
    text = (ROOT / figures.PARTS[name].page).read_text("utf-8")
    page.write_text(text, "utf-8")
    figures.write(name, ["a new table \\1"], tmp_path)
    before, after = text.split(figures.begin(name))[0], text.split(figures.end(name))[1]
    wanted = [figures.begin(name), "", "a new table \\1", "", figures.end(name)]
    assert page.read_text("utf-8") == before + "\n".join(wanted) + after


def test_a_page_without_the_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / figures.PARTS["timing"].page
    page.parent.mkdir()
    page.write_text("no marks", "utf-8")
    with pytest.raises(ValueError, match="0 parts between the marks of timing"):
        figures.write("timing", ["a table"], tmp_path)
    assert page.read_text("utf-8") == "no marks"


@pytest.mark.parametrize("name", figures.PARTS)
def test_the_command_of_a_part_exists(name: str) -> None:
    command = figures.PARTS[name].command.split()
    assert command[0] == "python"
    script = command[2].replace(".", "/") if command[1] == "-m" else command[1].removesuffix(".py")
    assert (ROOT / f"{script}.py").exists() or (ROOT / script / "__main__.py").exists()
