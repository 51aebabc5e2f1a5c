"""Drawing in the terminal. In a pipe: the same lines without colours, uncut, and no progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.terminal import highlight

_WIDTH_OF_A_PIPE = 120


class View:
    """Draws on ``stream`` (default: standard output). ``columns``: numbers that fit side by side.

    ``quiet``: without progress and without remarks of the adapter.
    """

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._is_quiet = quiet
        self._console = Console(file=stream, theme=highlight.THEME, highlight=False, emoji=False, markup=False)
        self.is_terminal = self._console.is_terminal
        if not self.is_terminal:
            self._console = Console(
                file=stream, highlight=False, emoji=False, markup=False, color_system=None, width=_WIDTH_OF_A_PIPE
            )
        self.columns = max(2, min(8, (self._console.width - 6) // 13))
        self._progress = False

    def text(self, text: str | Text, style: str = "") -> None:
        """Text of any length; the terminal wraps it."""
        self._clear_progress()
        self._console.print(visible(text) if isinstance(text, str) else text, style=style, soft_wrap=True)

    def notice(self, text: str) -> None:
        """Print a remark of the adapter while it loads a model."""
        if not self._is_quiet:
            self.text(text)

    def row(self, text: Text) -> None:
        """One line, cut at the edge of a terminal."""
        self._clear_progress()
        if self.is_terminal:
            self._console.print(text, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            self._console.print(text, soft_wrap=True)

    def answer(self, text: str) -> None:
        """Print the answer of a verb."""
        self.text(highlight.answer(text))

    def error(self, text: str) -> None:
        """Print why a line failed."""
        self.text(text, "red" if self.is_terminal else "")

    def stop(self, why: str, mlir: str, listing: str, values: Sequence[tuple[str, str]]) -> None:
        """Print a stop: the op, the commands around, operands and results of the op."""
        self.text(why, "bold yellow" if self.is_terminal else "")
        if mlir:
            self.row(highlight.mlir(mlir))
        for line in listing.split("\n"):
            self.row(highlight.listing(line))
        width = max((len(name) for name, _ in values), default=0)
        for name, value in values:
            self.row(Text.assemble((f"   {visible(name):{width}}  ", "green"), highlight.answer(value)))

    def tensor(self, title: str, rows: Sequence[Sequence[str]], more_rows: bool, more_columns: bool) -> None:
        """A small table of numbers; ``more_...``: there are more than are shown."""
        table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 1, 0, 0))
        for row in rows:
            table.add_row(*row, *(["..."] if more_columns else []))
        if more_rows:
            table.add_row("...")
        for column in table.columns:
            column.justify = "right"
        self._clear_progress()
        self._console.print(table)

    def progress(self, text: str) -> None:
        """Print the progress of a run, in a line that the next output overwrites; only on a terminal."""
        if self.is_terminal and not self._is_quiet:
            self._console.file.write(f"\r\033[K{visible(text)}")
            self._console.file.flush()
            self._progress = True

    def _clear_progress(self) -> None:
        if self._progress:
            self._progress = False
            self._console.file.write("\r\033[K")
