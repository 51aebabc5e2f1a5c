"""Commands that write over a tensor between its op and the moment at which it is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.tools.check.schema import Blame, Row

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.views import View
    from tdb_dap.engine.program.program import Program

_MOST = 1000
"""Commands that are counted."""


class Writers:
    """Answers which commands of a program write over a tensor."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def of_operand(self, row: Row, after: int) -> str:
        """Commands that write over an operand after ordinal ``after`` and before its op reads it; empty if none."""
        views = (
            value.view
            for record in self._program.source.records_at(row.line)
            for value in record.operands
            if value.name == row.name and value.view is not None
        )
        return self._named(next(views, None), after, row.first)

    def of_input(self, row: Row) -> str:
        """Commands that write over an input of the net before an op reads it; empty if none does."""
        return self._named(self._border(row.name), -1, row.first)

    def with_overwriters(self, rows: Sequence[Row]) -> list[Row]:
        """The rows; tensors that were right when their op ended and are not when they are read say who wrote over them.

        That is where another op reads them, or for outputs of the net the end.
        """
        made: dict[str, Row] = {}
        judged: list[Row] = []
        for row in rows:
            maker = made.get(row.name)
            judged.append(self._output(row, maker) if row.role == "output" else self._operand(row, maker))
            if row.role == "result":
                made[row.name] = row
        return judged

    def _operand(self, row: Row, maker: Row | None) -> Row:
        is_lost = row.role == "operand" and row.verdict == "fail" and maker is not None and maker.verdict == "pass"
        who = self.of_operand(row, maker.last) if is_lost and maker is not None and maker.last < row.first else ""
        if maker is None or not who:
            return row
        text = f"{row.name} is right when line {maker.line} has computed it; {who} overwrites it before {row.title}"
        return replace(row, blame=Blame(kind="overwritten", line=row.line, text=f"{text} reads it"))

    def _output(self, row: Row, maker: Row | None) -> Row:
        if row.verdict != "fail" or maker is None or maker.verdict != "pass":
            return row
        who = self._named(self._border(row.name), maker.last, len(self._program.commands))
        text = f"output {row.name} is right when line {maker.line} has computed it; "
        text += f"{who} overwrites it" if who else "no command writes over it, and it is wrong at the end"
        return replace(row, blame=Blame(kind="overwritten", line=maker.line, text=text))

    def _border(self, name: str) -> View | None:
        borders = (*self._program.inputs, *self._program.outputs)
        return next((tensor.view for tensor in borders if tensor.name == name), None)

    def _named(self, view: View | None, after: int, stop: int) -> str:
        """``D9 (line 26)``, ``D9 (line 26) and 2 more commands``."""
        if view is None:
            return ""
        place = ByteRanges.of(view)
        writers = self._program.accesses.touching(place, reads=False, writes=True, start=after + 1, stop=stop)
        ordinals = list(islice(writers, _MOST))
        if not ordinals:
            return ""
        command = self._program.commands[ordinals[0]]
        lines = ", ".join(map(str, command.mlir_lines))
        text = command.token + (f" (line {lines})" if lines else "")
        if len(ordinals) > 1:
            text += f" and {len(ordinals) - 1} more command{'s' * (len(ordinals) > 2)}"
        return text
