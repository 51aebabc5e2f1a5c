"""Output on a terminal of 80 columns: no line is longer, no word and no number is broken."""

from __future__ import annotations

import io
import sys

import pytest

from tdb_dap.cli.main import main
from tdb_dap.engine.rendering.printable import aligned, fitted, wrapped
from tests.conftest import Toy

_NAME = "load_/model.6/m.1/cv2/conv/Conv_output_0_Conv_filter_reorderd"
_COLUMNS = 80


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, *words: object, columns: int = _COLUMNS, stream: io.StringIO) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", stream)
    main([*map(str, words), "--quiet"] if words[0] != "--help" else ["--help"])
    return stream.getvalue()


@pytest.mark.parametrize("words", ["check", "check --all", "sanitize", "info", "dis", "profile", "--help"])
def test_lines_fit_and_words_stay_whole(monkeypatch: pytest.MonkeyPatch, toy: Toy, words: str) -> None:
    verb, *options = words.split()
    given = [verb, toy.directory, *options] if not verb.startswith("--") else [verb]
    shown = printed(monkeypatch, *given, stream=_Terminal())
    assert [line for line in shown.splitlines() if len(line) >= _COLUMNS] == []
    wide = printed(monkeypatch, *given, stream=io.StringIO())
    if verb in ("sanitize", "info", "dis", "--help"):  # those without a table, of which some columns are left out
        assert shown.split() == wide.split()
    assert wide == printed(monkeypatch, *given, stream=_Terminal(), columns=400)


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_the_verdict_of_a_check_is_printed_once(monkeypatch: pytest.MonkeyPatch, toy: Toy, options: list[str]) -> None:
    shown = printed(monkeypatch, "check", toy.directory, *options, stream=io.StringIO())
    assert shown.count("16 tensors compared") == 1


def test_names_of_sixty_letters_lose_their_middle_and_numbers_nothing() -> None:
    rows = [("line", "op", "tensor", "cosine", "ULP"), ("242", "tpu.Conv2D", _NAME, "0.999871", "12")]
    rows.append(("243", "tpu.Conv2D", _NAME.replace("cv2", "cv3"), "0.5", "7"))
    head, first, second = aligned(fitted(rows, 60, ("tensor", "op"), ("ULP",)))
    assert max(len(head), len(first), len(second)) <= 60
    assert "0.999871" in first
    assert first.split()[2].startswith("load_/model.6/")
    assert first.split()[2].endswith("reorderd")
    assert "…" in first
    assert "ULP" in head, "a column is left out only where names do not fit"
    assert "ULP" not in aligned(fitted(rows, 46, ("tensor", "op"), ("ULP",)))[0]
    assert fitted(rows, None, ("tensor",), ("ULP",)) == rows


def test_a_line_goes_on_where_a_word_ends() -> None:
    assert wrapped("one two three", 8, "    ") == ["one two", "    three"]
    assert wrapped("  indented words", 8) == ["  indented", "words"]
    assert wrapped("运行到下一个停止点或终点，然后停止", 12) == ["运行到下一个", "停止点或终", "点，然后停止"]
