"""Differences of two executions of one command: numbers in its results, and bytes outside of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.undo_log import OverwrittenBytes

_SHOWN = 3
"""Elements and addresses named in a text."""


class Results:
    """The stored words of a command's results as they are now."""

    def __init__(self, description: Description, memory: Memory) -> None:
        pairs = zip(description.result_roles, description.results, strict=True)
        self.views = [(role, view) for role, view in pairs if isinstance(view, View)]
        self.words = [memory.read(view) for _, view in self.views]


class Comparison(Struct, frozen=True):
    """``elements``: numbers that differ; ``nan_only``: NaNs that differ in sign or payload only;

    ``stray``: bytes outside of every result that the other side has changed; ``text``: None if nothing counts.
    """

    elements: int
    nan_only: int
    stray: int
    text: str | None

    @property
    def exact(self) -> bool:
        return not (self.elements or self.nan_only or self.stray)


def compare(ours: Results, differing: Iterable[OverwrittenBytes], memory: Memory) -> Comparison:
    """Compare ``ours`` with what is in the memories now.

    ``differing``: all bytes that are not the same now as they were when ``ours`` was read, as they were then.
    """
    theirs = [memory.read(view) for _, view in ours.views]
    elements = nan_only = 0
    parts: list[str] = []
    for (role, view), own, other in zip(ours.views, ours.words, theirs, strict=True):
        different = own != other
        both_nan = different & _is_nan(view, own) & _is_nan(view, other)
        nan_only += int(both_nan.sum())
        wrong = different & ~both_nan
        count = int(wrong.sum())
        elements += count
        if count:
            parts.append(_text(role, view, own, other, wrong, count))
    stray = _stray(ours, theirs, differing, memory)
    if stray:
        parts.append(_stray_text(stray, memory))
    return Comparison(elements, nan_only, len(stray), "; ".join(parts) or None)


def _is_nan(view: View, words: Array) -> Array:
    if not view.dtype.is_float:
        return np.zeros(words.shape, np.bool_)
    with np.errstate(invalid="ignore"):
        return np.isnan(view.dtype.decode(words))


def _text(role: str, view: View, own: Array, other: Array, wrong: Array, count: int) -> str:
    places = np.argwhere(wrong)[:_SHOWN]
    shown = ", ".join(
        f"[{', '.join(map(str, place))}] {_number(view, own, place)} here, {_number(view, other, place)} there"
        for place in places.tolist()
    )
    more = ", ..." if count > _SHOWN else ""
    return f"{role} %{view.name}: {count:,} of {view.size:,} elements differ: {shown}{more}"


def _number(view: View, words: Array, place: list[int]) -> str:
    word = words[tuple(place)]
    number = view.dtype.decode(np.asarray(word).reshape(1))[0]
    return f"{number} (0x{int(word):0{2 * view.dtype.itemsize}x})"


Stray = list[tuple[OverwrittenBytes, int]]


def _stray(ours: Results, theirs: list[Array], differing: Iterable[OverwrittenBytes], memory: Memory) -> Stray:
    """Differing bytes that no result covers: those that stay when the results are put back."""
    for (_, view), own in zip(ours.views, ours.words, strict=True):
        memory.write(view, own)
    stray: Stray = []
    for change in differing:
        now = memory.bytes_at(change.space, change.start, change.old.size, change.core)
        stray += [(change, int(i)) for i in np.flatnonzero(now != change.old)]
    for (_, view), other in zip(ours.views, theirs, strict=True):
        memory.write(view, other)
    return stray


def _stray_text(stray: Stray, memory: Memory) -> str:
    names: list[str] = []
    for change, index in stray[:_SHOWN]:
        here = change.old[index]
        there = memory.bytes_at(change.space, change.start + index, 1, change.core)[0]
        place = memory.geometry.name(change.space, change.start + index)
        names.append(f"%{place} 0x{here:02x} here, 0x{there:02x} there")
    more = ", ..." if len(stray) > _SHOWN else ""
    return f"{len(stray):,} bytes outside of the results differ: {', '.join(names)}{more}"
