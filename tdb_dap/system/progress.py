"""Progress of a tool, for whoever has started it."""

from __future__ import annotations


class Progress:
    """Follower of a run; override what is of interest."""

    def start(self, total: int | None) -> None:
        """A run of ``total`` commands begins; None if their number is not known."""

    def update(self, done: int) -> None:
        """Number of commands that are executed."""

    def clear(self) -> None:
        """Nothing more runs, or something is going to be printed."""

    def note(self, text: str) -> None:
        """Something the user has to know of the run."""


SILENT = Progress()
"""Follows nothing."""
