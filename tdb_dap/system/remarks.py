"""Remarks about what a command does without having been asked, passed on once each to whoever started it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

Listener = Callable[[str], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Once:
    """A listener that passes each text on to ``show`` once."""

    def __init__(self, show: Listener) -> None:
        self._show = show
        self._known: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._known:
            self._known.add(text)
            self._show(text)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Inside, in this thread, remarks go to ``listener``; elsewhere to nobody."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def picked_up(**files: Path | None) -> None:
    """Name files that are used although nobody named them: kind -> file, None for a kind that is not picked up."""
    listener = _LISTENER.get()
    named = [f"{kind.replace('_', ' ')} {file}" for kind, file in files.items() if file is not None]
    if named and listener is not None:
        listener(f"using {' and '.join(named)}, found beside the model")
