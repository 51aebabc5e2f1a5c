"""A line on a terminal that shows how far a run is; silent in a pipe."""

from __future__ import annotations

import sys
import time

from tdb_dap.engine.rendering.printable import direct
from tdb_dap.system.progress import Progress


class Bar(Progress):
    """``quiet``: no line even on a terminal; ``what``: what is done to the commands."""

    def __init__(self, quiet: bool, what: str = " compared") -> None:
        self._of = ""
        self._what = what
        self._shown = sys.stderr.isatty() and not quiet
        self._next = time.monotonic() + 0.5

    def start(self, total: int | None) -> None:
        self._of = "" if total is None else f" of {total:,}"

    def update(self, done: int) -> None:
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.1
            print(f"\r{done:,}{self._of} commands{self._what}", end="", file=direct(sys.stderr), flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=direct(sys.stderr), flush=True)

    def note(self, text: str) -> None:
        print(f"tdb-dap: {text}", file=sys.stderr)
