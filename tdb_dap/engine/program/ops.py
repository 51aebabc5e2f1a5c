"""The ops of a program as Python code walks through them: a line of final.mlir with all its commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from msgspec import Struct

from tdb_dap.engine.program.op_lookup import records_named
from tdb_dap.engine.rendering import html
from tdb_dap.engine.rendering.tables import Table

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command, Commands
    from tdb_dap.engine.source.op_records import OpRecord
    from tdb_dap.engine.source.source_map import SourceMap


class Op(Struct, frozen=True, eq=False, dict=True):
    """An op that has commands. ``records``: its instances, one for each slice and core that it is cut into."""

    source: SourceMap
    all_commands: Commands
    line: int
    opcode: str
    records: tuple[OpRecord, ...]

    @property
    def name(self) -> str:
        """The location of its first result; empty if it has none."""
        return next((value.name for record in self.records for value in record.results), "")

    @cached_property
    def ordinals(self) -> tuple[int, ...]:
        """Its commands by their ordinals, ascending; those of other ops may be between them."""
        return tuple(sorted(ordinal for record in self.records for ordinal in record.ordinals))

    @property
    def commands(self) -> list[Command]:
        """Its commands in the order of execution."""
        return [self.all_commands[ordinal] for ordinal in self.ordinals]

    @property
    def first(self) -> int:
        """Ordinal of its first command."""
        return self.ordinals[0]

    @property
    def last(self) -> int:
        """Ordinal of its last command; its results are there when ``last + 1`` commands have been executed."""
        return self.ordinals[-1]

    @property
    def text(self) -> str:
        """The op as final.mlir has it; empty where that is missing."""
        op = self.source.op_at(self.line)
        return op.text.strip() if op else ""

    @property
    def row(self) -> dict[str, Any]:
        """Row of the op in a table."""
        result = next((value for record in self.records for value in record.results), None)
        return {
            "line": self.line,
            "op": self.opcode,
            "name": self.name,
            "type": result.type_text if result else "",
            "subnet": self.records[0].subnet,
            "cores": len({record.core for record in self.records}),
            "instances": len(self.records),
            "commands": len(self.ordinals),
            "first": self.first,
            "last": self.last,
        }

    def __repr__(self) -> str:
        return f"<Op {self.opcode} {self.name}, line {self.line}, commands {self.first} to {self.last}>"

    def _repr_html_(self) -> str:
        commands = Table(command_row(command) for command in self.commands)
        return html.block(html.title(f"{self.opcode} {self.name}, line {self.line}"), commands._repr_html_())


class Ops(Sequence[Op]):
    """The ops of a program in the order in which they begin."""

    def __init__(self, source: SourceMap, commands: Commands) -> None:
        by_line: dict[tuple[int, str], list[OpRecord]] = {}
        for record in source.records:
            if record.ordinals:
                by_line.setdefault((record.line, record.opcode), []).append(record)
        ops = [Op(source, commands, line, opcode, tuple(records)) for (line, opcode), records in by_line.items()]
        self._source = source
        self._ops = sorted(ops, key=lambda op: op.first)

    def __len__(self) -> int:
        return len(self._ops)

    @overload
    def __getitem__(self, index: int) -> Op: ...
    @overload
    def __getitem__(self, index: slice) -> list[Op]: ...
    def __getitem__(self, index: int | slice) -> Op | list[Op]:
        return self._ops[index]

    def named(self, text: str) -> list[Op]:
        """The ops that ``22``, ``20-30``, ``conv1*`` or ``#loc("conv1")`` names; BadInput lists what is near."""
        lines = {record.line for record in records_named(self._source, text)}
        return [op for op in self if op.line in lines]

    def table(self) -> Table:
        """A row for each op."""
        return Table(op.row for op in self)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def command_row(command: Command) -> dict[str, Any]:
    """Row of a command in a table."""
    return {
        "ordinal": command.ordinal,
        "core": command.core,
        "engine": command.engine,
        "id": command.token,
        "name": command.name,
        "line": next(iter(command.mlir_lines), None),
        "text": command.asm,
    }


def command_table(commands: Iterable[Command]) -> Table:
    """A row for each command; ``command_table(program.commands[10:20])``."""
    return Table(command_row(command) for command in commands)
