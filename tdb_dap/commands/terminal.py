"""Drawing in a terminal: colours where there are any, source lines, tensors as blocks."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

_SHADES = " .:-=+*#%@"
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "36", "arrow": "1;33"}
_HEAT = (17, 18, 19, 25, 31, 37, 72, 107, 142, 178, 208, 202, 196)
"""Colours of the 256-colour palette from cold to hot."""


class Terminal:
    """Writes to ``stream``; without a terminal behind it: no colours, no pauses, plain characters."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._is_terminal = self._stream.isatty()
        self._colours = self._is_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self.width = min(shutil.get_terminal_size((100, 24)).columns, 120)

    def style(self, text: str, style: str) -> str:
        """``text`` in a style, where the terminal has styles."""
        return f"\033[{_STYLES[style]}m{text}\033[0m" if self._colours else text

    def line(self, text: str = "", style: str | None = None) -> None:
        """Write one line, cut at the right edge."""
        text = text if len(text) <= self.width else text[: self.width - 3] + "..."
        print(self.style(text, style) if style else text, file=self._stream, flush=True)

    def paragraph(self, text: str, style: str | None = None, indent: int = 4) -> None:
        """Write text of any length, wrapped and indented."""
        for line in textwrap.wrap(text, self.width - indent, break_long_words=False) or [""]:
            self.line(" " * indent + line, style)

    def wait(self, seconds: float) -> None:
        """Give a reader time; not in a pipe."""
        if self._is_terminal:
            time.sleep(seconds)

    def source(self, path: Path, line: int, around: int = 2) -> None:
        """Lines of a file around ``line``, which gets an arrow."""
        lines = path.read_text("utf-8").split("\n")
        for number in range(max(1, line - around), min(len(lines), line + around) + 1):
            mark = "->" if number == line else "  "
            self.line(f"{mark} {number:4}  {lines[number - 1].strip()}", "arrow" if number == line else "dim")

    def heat(self, rows: Sequence[Sequence[float]], indent: int = 4) -> None:
        """A matrix as blocks, from cold to hot; two rows share a line of text."""
        numbers = [number for row in rows for number in row]
        low, high = min(numbers), max(numbers)
        span = (high - low) or 1.0
        lower = [*rows[1::2]] if len(rows) % 2 == 0 else [*rows[1::2], rows[-1]]
        for top, bottom in zip(rows[::2], lower, strict=True):
            levels = [((a - low) / span, (b - low) / span) for a, b in zip(top, bottom, strict=True)]
            print(" " * indent + "".join(self._block(a, b) for a, b in levels), file=self._stream)
        print(" " * indent + self.style(f"{low:.4g} (cold) to {high:.4g} (hot)", "dim"), file=self._stream, flush=True)

    def _block(self, top: float, bottom: float) -> str:
        if not self._colours:
            return _SHADES[int((top + bottom) / 2 * (len(_SHADES) - 1) + 0.5)]
        upper, lower = (_HEAT[int(level * (len(_HEAT) - 1) + 0.5)] for level in (top, bottom))
        return f"\033[38;5;{upper};48;5;{lower}m▀\033[0m"
