"""Passes over the whole run for a request: with progress, and ended when nobody waits for them any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tdb_dap.adapter.session.progress import Progress

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session


@contextmanager
def passing(session: Session, title: str) -> Iterator[Callable[[int], None]]:
    """Gives what receives the number of commands done; it raises Cancelled where the request is withdrawn.

    Values that were read before are read again after it.
    """
    total = len(session.debugger.program.commands)
    bar = Progress(session.event, session.traits.localised(title), total) if session.traits.progress else None

    def done(ordinal: int) -> None:
        session.check_withdrawn()
        if bar is not None:
            bar.update(ordinal)

    try:
        yield done
    finally:
        session.handles.forget_values()
        if bar is not None:
            bar.end()
