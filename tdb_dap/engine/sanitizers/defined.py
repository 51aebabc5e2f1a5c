"""Commands that read defined bytes only, as most do: what they do to the marks does not depend on any number."""

from __future__ import annotations

from tdb_dap.engine.program.access_table import AccessRows, Place
from tdb_dap.engine.sanitizers.shadow import Shadow

_AT_ONCE = 1 << 10
"""Commands whose accesses are taken out of the table at once."""

Access = tuple[bool, Place, int]
"""Whether it writes, what encloses it, and the number of its view."""


class Defined:
    """Brings the marks past such commands; none of them need be described."""

    def __init__(self, rows: AccessRows) -> None:
        self._rows = rows
        self._first = 0
        self._accesses: list[list[Access]] = []
        """Of the commands from ``_first`` on."""

    def carry(self, shadow: Shadow, ordinal: int) -> bool:
        """Bring the marks past a command; False, and nothing is done, where it may read a byte that is not defined."""
        rows = self._rows
        if ordinal in rows.irregular:
            return False
        accesses = self._of(ordinal)
        for is_write, place, _ in accesses:
            if not is_write and not shadow.is_clear(place):
                return False
        for view in {view: None for is_write, place, view in accesses if is_write and not shadow.is_clear(place)}:
            shadow.put(rows.views[view], None)
        return True

    def _of(self, ordinal: int) -> list[Access]:
        if not 0 <= ordinal - self._first < len(self._accesses):
            self._first, self._accesses = ordinal, self._taken(ordinal)
        return self._accesses[ordinal - self._first]

    def _taken(self, first: int) -> list[list[Access]]:
        rows = self._rows
        each = [rows.of_command(ordinal) for ordinal in range(first, first + _AT_ONCE)]
        begin = next((mine.start for mine in each if mine), 0)
        part = slice(begin, max((mine.stop for mine in each if mine), default=begin))
        columns = (rows.space, rows.core, rows.start, rows.stop, rows.lane, rows.lane_stop)
        places = zip(*[column[part].tolist() for column in columns], strict=True)
        found = list(zip(rows.is_write[part].tolist(), places, rows.view[part].tolist(), strict=True))
        return [found[mine.start - begin : mine.stop - begin] if mine else [] for mine in each]
