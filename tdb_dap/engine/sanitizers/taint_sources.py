"""Sources of undefined bytes: the command that took them up first, numbered so that a mark can name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.sanitizers.finding_text import title_of
from tdb_dap.engine.sanitizers.shadow import LEFT_OVER, MANY, UNWRITTEN

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command

_STORIES = {
    UNWRITTEN: "they are uninitialised",
    LEFT_OVER: "they are stale, written by an op that has ended",
    MANY: "where they come from is not kept, there are too many such places",
}


class TaintSource(Struct, frozen=True):
    """``ordinal``: of the command; ``text``: what it took from where."""

    ordinal: int
    text: str


_BLOCK = 1 << 17
"""Marks that are looked at at once."""


class TaintSources:
    """The origins of one run; number 1 is the first."""

    def __init__(self) -> None:
        self._known: list[TaintSource] = []

    def of(self, command: Command, marks: Mapping[View, Array], roles: Mapping[View, str]) -> int:
        """The mark of what a command computes from marked operands: their oldest origin, or a new one."""
        numbers = {mark for words in marks.values() for mark in _marks_in(words)}
        old = [mark for mark in numbers if mark <= MANY]
        if old:
            return min(old)
        view, words = next(iter(marks.items()))
        why = "that are stale, written by an op that has ended" if LEFT_OVER in numbers else "that are uninitialised"
        text = f"{title_of(command)} takes {byte_count(words)} from {view.name} {why} as {roles[view]}"
        origin = TaintSource(command.ordinal, text)
        if origin not in self._known:
            self._known.append(origin)
        return min(self._known.index(origin) + 1, MANY)

    def story(self, marks: Array, mark: int | None = None) -> tuple[str, int | None]:
        """Text about the source of marked bytes, and the command that took them up."""
        mark = min(_marks_in(marks)) if mark is None else mark
        if mark < MANY:
            origin = self._known[mark - 1]
            return origin.text, origin.ordinal
        return _STORIES[mark], None

    def holds(self, words: Array, mark: int) -> bool:
        """Whether a mark is among those of a view."""
        return mark in _marks_in(words)


def marked_words(depends: Array, view: View, mark: int) -> Array:
    """The words of ``Dependence`` with a mark in every byte that is set."""
    # Of numbers of 4 bits a mark is all there is room for.
    value = mark if view.dtype.per_byte == 1 else 15
    return depends & view.dtype.bits_dtype.type(int.from_bytes(bytes([value]) * view.dtype.itemsize, "little"))


def byte_count(words: Array) -> str:
    """``14 of 16 bytes``."""
    return f"{int(np.count_nonzero(_bytes(words))):,} of {words.nbytes:,} bytes"


def _marks_in(words: Array) -> list[int]:
    """The marks of words, ascending; looked at in blocks that stay in the caches of a processor."""
    data, marks = _bytes(words), set[int]()
    for start in range(0, data.size, _BLOCK):
        block = data[start : start + _BLOCK]
        largest = int(block.max())
        # Mostly there is one mark, and to count all numbers of many takes longer.
        if ((block != 0) & (block != largest)).any():
            marks.update(np.flatnonzero(np.bincount(block)).tolist())
        marks.add(largest)
    return sorted(marks - {0})


def _bytes(words: Array) -> Array:
    return np.ascontiguousarray(words).view(np.uint8).reshape(-1)
