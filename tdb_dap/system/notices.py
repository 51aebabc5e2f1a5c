"""Notices about implicit choices of a command, passed on once each to the caller."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
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


def links_out(files: Iterable[Path], directory: Path) -> None:
    """Report all files that lie outside of a model's directory and of the one in which each was found: links.

    They are read all the same: in a command line or an editor it is the user who sees what they hold. An agent's
    process is confined (``confinement.py``).
    """
    root = os.path.realpath(directory)
    out: dict[str, None] = {}
    for file in files:
        target = os.path.realpath(file)
        if not any(target.startswith(os.path.join(folder, "")) for folder in (root, os.path.realpath(file.parent))):
            out[f"{file.name} -> {target}"] = None
    if out:
        more = f" and {len(out) - _MOST_LINKS} more" if len(out) > _MOST_LINKS else ""
        notice(f"following links out of {directory}: {', '.join(list(out)[:_MOST_LINKS])}{more}")


_MOST_LINKS = 4


def sources_missing(bmodel: Path, mlir: Path | None, locations: Path | None) -> None:
    """Report the files a model compiled without ``--debug`` lacks, and what they enable; nothing if it has all."""
    listener = _LISTENER.get()
    names = ("final.mlir", "tensor_location.json")
    if ".cvimodel" in bmodel.suffixes:
        names = ("..._final.mlir", "..._tensor_info.txt")
    absent = [name for name, file in zip(names, (mlir, locations), strict=True) if file is None]
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
