"""Figures in pages of the documentation that a command writes: what stands between two marks is its output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "hardening.md"

BEGIN = "<!-- {}: written by `{}`; what stands between these marks is overwritten -->"
END = "<!-- {}: end -->"


def write(name: str, command: str, lines: Sequence[str], page: Path = PAGE) -> None:
    """Put lines between the marks of a part; ValueError if the page has no such part."""
    begin, end = BEGIN.format(name, command), END.format(name)
    before, rest = page.read_text("utf-8").split(begin, 1)
    after = rest.split(end, 1)[1]
    page.write_text(before + "\n".join([begin, "", *lines, "", end]) + after, "utf-8")
