"""Origin of wrong numbers that a launch is given: which other numbers of the completion they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from tdb_dap.engine.hardware.dtypes import Array

_NAMES = ("keys", "values")

Lines = tuple[int, Array, Array]
"""The first position, and keys and values from there on, (positions, line)."""


class Origins(Struct):
    """States and lines of the cache that launches have made, to find wrong inputs among them.

    ``lines``: by layer; ``states``: a title such as ``block_1 at token 2`` -> position of the first row, and the rows;
    ``rest``: layer and cache -> the line of the next position, as it was before a launch wrote it.
    """

    lines: dict[int, list[Lines]] = field(default_factory=dict[int, "list[Lines]"])
    states: dict[str, tuple[int, Array]] = field(default_factory=dict[str, tuple[int, Array]])
    rest: dict[tuple[int, int], Array] = field(default_factory=dict[tuple[int, int], Array])

    def of_history(self, layer: int, which: int, wanted: Array, history: Array) -> str:
        """Origin of the first wrong line of a cache; empty if unknown.

        ``which``: 0 for keys, 1 for values; ``wanted``: (positions, line); ``history``: the cache, (room, line).
        """
        count = len(wanted)
        wrong = np.flatnonzero((wanted != history[:count]).any(axis=1))
        if not wrong.size:
            return ""
        first = int(wrong[0])
        line = history[first]
        elsewhere = _matches(history, wanted[first])
        if elsewhere:
            return f"its line is at position {elsewhere[0]}"
        if own := self._line_of(layer, which, line):
            return own
        before = self.rest.get((layer, which))
        if before is not None and first == count - 1 and np.array_equal(before, line):
            return "the line is not written: it is as it was before"
        return "" if line.any() else "the line is not written: it is zero"

    def _line_of(self, layer: int, which: int, line: Array) -> str:
        """Position, cache and layer of a line, as they differ from the given ones."""
        if not line.any():
            return ""
        for other in sorted(self.lines, key=lambda number: number != layer):
            for cache in (which, 1 - which):
                for first, *pair in self.lines[other]:
                    if places := _matches(pair[cache], line):
                        of_layer = f" of layer {other}" if other != layer else ""
                        kind = "the line" if cache == which else f"the {_NAMES[cache]}"
                        return f"it holds {kind} of position {first + places[0]}{of_layer}"
        return ""

    def of_states(self, own: str, row: Array) -> str:
        """Origin of a wrong row of states of the launch titled ``own``, empty if unknown: another row, or zeros."""
        if not row.any():
            return "they are not written: all are zero"
        for title in sorted(self.states, key=lambda title: title != own):
            first, rows = self.states[title]
            if places := _matches(rows, row):
                return f"they are the states of {title}, position {first + places[0]}"
        return ""


def of_token(fed: int, position: int, ids: Sequence[int], prompt: int) -> str:
    """Origin of a wrong token that is fed at a position.

    ``ids``: the ``prompt`` tokens of the prompt, then those of the completion.
    """
    places = [place for place, one in enumerate(ids[:position]) if one == fed]
    if not places:
        return "it is no token before that position"
    last = places[-1]
    return f"it is the token of position {last}, {'in the prompt' if last < prompt else f'token {last - prompt}'}"


def _matches(rows: Array, row: Array) -> list[int]:
    """Numbers of the rows that are equal to one."""
    return [int(place) for place in np.flatnonzero((rows == row).all(axis=1))] if row.any() else []
