"""A long command is computed in parts; between two of them the user may ask to stop before it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Interrupted(Exception):
    """The user does not want to wait for the command in progress; nothing of it has been written."""


class _Listener(threading.local):
    ask: Callable[[], bool] | None = None


_listener = _Listener()


class asking:
    """Inside, on this thread: ``ask`` is called between parts, and where it returns true the command is given up."""

    __slots__ = ("_ask", "_before")

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask

    def __enter__(self) -> None:
        self._before, _listener.ask = _listener.ask, self._ask

    def __exit__(self, *_: object) -> None:
        _listener.ask = self._before


def between_parts() -> None:
    """To be called by long computations every few milliseconds, before they have written; Interrupted ends them."""
    if _listener.ask is not None and _listener.ask():
        raise Interrupted
