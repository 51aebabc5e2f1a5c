"""Our disassembly: one line per command, results to the left, roles and types spelt out.

B1: R1 f32[1,16,32,32] = conv.normal input=R0 f32[1,3,32,32] weight=R3 f32[16,3,3,3] ... {kernel=[3, 3]} wait D3
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.hardware.views import Operand, View
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command


def operand_text(operand: Operand) -> str:
    """``R0 f32[1,3,32,32]`` for a tensor, ``0.5 f32`` for a constant."""
    if isinstance(operand, View):
        return f"%{operand.name} {operand.dtype}[{','.join(map(str, operand.shape))}]"
    return f"{operand.value} {operand.dtype}"


def command_text(command: Command) -> str:
    """One line of the listing."""
    other = "D" if command.engine == "tiu" else "B"
    wait = f"  wait {other}{command.dep}" if command.dep else ""
    try:
        description = command.description
    except NotSimulated:
        return f"{command.token}: {command.name} (operands not known){wait}"
    results = ", ".join(operand_text(r) for r in description.results)
    operands = ", ".join(
        f"{role} = {operand_text(operand)}"
        for role, operand in zip(description.operand_roles, description.operands, strict=True)
    )
    body = f"{command.name}({operands})" if description.results or operands else command.name
    return f"{command.token}: {results + ' = ' if results else ''}{body}{_attributes(description.attributes)}{wait}"


def _attributes(attributes: Mapping[str, Any]) -> str:
    """Attributes that say something: zero, false and all-zero lists are left out."""
    shown = {name: value for name, value in attributes.items() if _says_something(value)}
    return f" {{{', '.join(f'{name} = {value}' for name, value in shown.items())}}}" if shown else ""


def _says_something(value: Any) -> bool:
    return any(value) if isinstance(value, list) else bool(value)


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
        """The line of a command; the end of the listing for an ordinal behind the last one."""
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
