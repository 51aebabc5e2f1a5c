"""Progress of long work, for clients that show it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

_DELAY = 0.5
"""Seconds of work before anything is shown, so that short work does not flicker."""

_INTERVAL = 0.2
_ids = itertools.count(1)


class Progress:
    """One bar.

    ``event``: sends an event to the client; ``total``: the count at which the work is complete, 0 if not known.
    """

    def __init__(self, event: Callable[[str, Mapping[str, Any]], None], title: str, total: int) -> None:
        self._event = event
        self._title = title
        self._total = total
        self._id = f"progress-{next(_ids)}"
        self._next = time.monotonic() + _DELAY
        self._shown = False

    def update(self, done: int, message: str = "") -> None:
        """Report that ``done`` of the total is complete; cheap when it is too early to show anything."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL
        share = {"percentage": min(100, 100 * done // self._total)} if self._total else {}
        text = message or (f"{done:,} of {self._total:,}" if self._total else f"{done:,}")
        if not self._shown:
            self._shown = True
            self._event(
                "progressStart",
                {
                    "progressId": self._id,
                    "title": self._title,
                    "cancellable": True,
                    "message": text,
                    **share,
                },
            )
        else:
            self._event("progressUpdate", {"progressId": self._id, "message": text, **share})

    def end(self) -> None:
        """Take the bar away, if it was ever shown."""
        if self._shown:
            self._event("progressEnd", {"progressId": self._id})
