"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; bars in cells are escaped."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def prose(docstring: str) -> str:
    """A docstring as Markdown: code has one backtick."""
    return re.sub(r"``(.+?)``", r"`\1`", docstring, flags=re.DOTALL)


def folded(title: str, text: str) -> str:
    """A part that is closed until it is wanted."""
    inner = "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
    return f'??? note "{title}"\n\n{inner}'
