"""A line on a terminal that says how far a run is; silent in a pipe."""

from __future__ import annotations

import sys
import time

from tdb_dap.engine.rendering.printable import direct


class Bar:
    """Progress of a run, of ``total`` commands if that is known; ``quiet``: not even on a terminal."""

    def __init__(self, total: int | None, quiet: bool) -> None:
        self._of = "" if total is None else f" of {total:,}"
        self._shown = sys.stderr.isatty() and not quiet
        self._next = time.monotonic() + 0.5

    def update(self, done: int) -> None:
        """So many commands are done."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.1
            print(f"\r{done:,}{self._of} commands compared", end="", file=direct(sys.stderr), flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            print("\r\033[K", end="", file=direct(sys.stderr), flush=True)
