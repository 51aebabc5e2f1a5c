"""Our disassembly: one line per command, results to the left, roles and types spelt out.

B1: R1 f32[1,16,32,32] = conv.normal input=R0 f32[1,3,32,32] weight=R3 f32[16,3,3,3] ... {kernel=[3, 3]} wait D3
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence


class Listing:
    """The text of a whole program: a heading, then per subnet a title line and its commands, one per line.

    Lines are 1-based. Text is made when asked for.
    """

    def __init__(self, name: str, heading: str, sections: Sequence[tuple[str, int, int]], line: Callable[[int], str]):
        """``sections``: (title, first ordinal, ordinal after the last); ``line``: text of one command."""
        self.name = f"{name}.tdbasm"
        self._heading = heading.split("\n")
        self._sections = sections
        self._line = line
        self._starts: list[int] = []
        first = len(self._heading) + 1
        for _, start, stop in sections:
            self._starts.append(first)
            first += 1 + stop - start
        self.line_count = first - 1

    @property
    def text(self) -> str:
        """The whole listing."""
        lines = list(self._heading)
        for title, start, stop in self._sections:
            lines.append(title)
            lines.extend(f"  {self._line(ordinal)}" for ordinal in range(start, stop))
        return "\n".join(lines) + "\n"

    def line_of(self, ordinal: int) -> int:
        """The line of a command; the end of the listing for an ordinal after the last one."""
        for first, (_, start, stop) in zip(self._starts, self._sections, strict=True):
            if start <= ordinal < stop:
                return first + 1 + ordinal - start
        return self.line_count

    def ordinal_at(self, line: int) -> int | None:
        """The command on a line, if there is one."""
        index = bisect_right(self._starts, line) - 1
        if index < 0:
            return None
        _, start, stop = self._sections[index]
        ordinal = start + line - self._starts[index] - 1
        return ordinal if start <= ordinal < stop else None

    def next_line_with_command(self, line: int) -> int | None:
        """The first line from ``line`` on that holds a command."""
        for candidate in range(max(1, line), self.line_count + 1):
            if self.ordinal_at(candidate) is not None:
                return candidate
        return None
