"""Notices about implicit choices of a command, passed on once each to the caller."""

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
    """Report files that are used implicitly: kind -> file, None for a kind that is not picked up."""
    listener = _LISTENER.get()
    named = [f"{kind.replace('_', ' ')} {file}" for kind, file in files.items() if file is not None]
    if named and listener is not None:
        listener(f"using {' and '.join(named)}, next to the model")


def sources_missing(bmodel: Path, mlir: Path | None, locations: Path | None) -> None:
    """Report the files a model compiled without ``--debug`` lacks, and what they enable; nothing if it has all."""
    listener = _LISTENER.get()
    absent = [name for name, file in (("final.mlir", mlir), ("tensor_location.json", locations)) if file is None]
    if not absent or listener is None:
        return
    gains = "lines of final.mlir" if locations else "breakpoints in final.mlir, steps by op, comparing every op"
    listener(
        f"no {' and no '.join(absent)} with {bmodel.name}: add --debug to model_deploy and open the directory that it "
        f"leaves; then these work: {gains}"
    )


def notice(text: str) -> None:
    """Report something the user has to know about the opened model."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)
