"""Blame: is a wrong result the op's own fault, or that of an op before it?

The question is answered by substitution: the same program runs again with each op given the reference's operands
instead of the computed ones. What is still wrong then is made by the op itself; what is right then was inherited, and
the way back leads over the operands that were wrong in the first run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tdb_dap.engine.compare.dataflow import Producers
from tdb_dap.tools.check.causes.overwriting import Writers
from tdb_dap.tools.check.schema import ORIGINS, Blame, Row

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program


_MOST_LISTED = 6


def with_blame(
    cascade: Sequence[Row], standalone: Sequence[Row], producers: Producers, writers: Writers | None = None
) -> list[Row]:
    """The rows of the cascade; those of wrong results and of wrong inputs say whose fault it is.

    ``writers``: names the commands that write over a tensor. What a row says already stays.
    """
    judge = _Judge(cascade, standalone, producers, writers)
    return [replace(row, blame=blame) if row.blame is None and (blame := judge.of(row)) else row for row in cascade]


def with_other_inputs(rows: Sequence[Row], program: Program) -> list[Row] | None:
    """The rows where the run had other inputs than the reference; None where none of the net's inputs differs.

    Then nothing is known of any op: all that differs inherits from the input. An input that a command of the program
    has written over before it was read is no such input.
    """
    names = {tensor.name for tensor in program.inputs}
    made = {row.name for row in rows if row.role == "result"}
    writers = Writers(program)
    other: dict[str, Row] = {}
    for row in rows:
        is_input = row.role == "operand" and row.name in names - made - other.keys()
        if is_input and row.verdict == "fail" and not writers.of_input(row):
            other[row.name] = row
    if not other:
        return None
    return [replace(row, blame=_of_other_input(row, other)) if row.verdict == "fail" else row for row in rows]


def _of_other_input(row: Row, other: Mapping[str, Row]) -> Blame:
    if row.role == "operand" and row.name in other:
        cosine = f" (cosine {row.numbers.cosine:.6f})" if row.numbers is not None else ""
        text = f"{row.name} is not the input that the reference was made with{cosine}: no op is judged"
        return Blame(kind="input", line=row.line, text=text)
    return Blame(kind="inherits", line=0, text=f"inherits from {', '.join(other)}")


def first_culprit(rows: Sequence[Row]) -> Row | None:
    """The earliest tensor that an error begins with; where blame was not asked for, the earliest wrong result."""
    blamed = [row for row in rows if row.blame is not None and row.blame.kind in ORIGINS]
    wrong = blamed or [row for row in rows if _is_wrong(row)]
    return min(wrong, key=lambda row: (row.last, row.first), default=None)


def _is_wrong(row: Row) -> bool:
    return row.verdict == "fail" and row.role != "operand"


class _Judge:
    def __init__(
        self, cascade: Sequence[Row], standalone: Sequence[Row], producers: Producers, writers: Writers | None
    ) -> None:
        self._writers = writers
        self._alone = {row.key: row for row in standalone}
        self._producers = producers
        self._results: dict[int, list[Row]] = {}
        self._operands: dict[int, list[Row]] = {}
        self._made: dict[str, list[Row]] = {}
        for row in cascade:
            (self._operands if row.role == "operand" else self._results).setdefault(row.line, []).append(row)
            if row.role != "operand":
                self._made.setdefault(row.name, []).append(row)

    def of(self, row: Row) -> Blame | None:
        """Blame of a tensor; None if it is right, or an operand that an op of the program has computed."""
        if row.verdict != "fail":
            return None
        if row.role == "operand":
            return self._of_input(row)
        alone = self._alone.get(row.key)
        if row.line == 0 or alone is None or alone.verdict != "fail":
            return self._inherited(row)
        for operand in self._operands.get(row.line, ()):
            blame = self._overwritten(row, operand)
            if blame is not None:
                return blame
        if not self._producers.is_certain(row.line):
            text = f"{row.title} is not judged: in the recording it is not certain which commands compute it"
            return Blame(kind="unclear", line=0, text=text)
        suspects = self._unknown_before(row.line)
        text = f"{row.title} is at fault: wrong with the reference's operands, too"
        if suspects:
            lines = _lines(suspects)
            text = f"{row.title} is at fault, or {lines} before it: the reference does not hold their results"
        return Blame(kind="at fault", line=row.line, suspects=suspects, text=text)

    def _of_input(self, row: Row) -> Blame | None:
        made = any(made.last < row.last for made in self._made.get(row.name, ()))
        if made or self._producers.lines(row.line, {row.name}):
            return None
        who = self._writers.of_input(row) if self._writers is not None else ""
        if who:
            text = f"input {row.name} is overwritten by {who} before {row.title} reads it"
            return Blame(kind="overwritten", line=row.line, text=text)
        text = f"{row.name} goes into the net with other numbers than the reference was made with"
        return Blame(kind="input", line=row.line, text=text)

    def _overwritten(self, row: Row, operand: Row) -> Blame | None:
        """An operand that was right after its op and is not when it is read, in both runs."""
        alone = self._alone.get(operand.key)
        makers = [made for made in self._made.get(operand.name, ()) if made.line != row.line and made.last < row.last]
        if operand.verdict != "fail" or alone is None or alone.verdict != "fail" or not makers:
            return None
        maker = max(makers, key=lambda made: made.last)
        if maker.verdict != "pass":
            return None
        who = self._writers.of_operand(operand, maker.last) if self._writers is not None else ""
        text = (
            f"{operand.name} is right when line {maker.line} has computed it and wrong when {row.title} reads it: "
            f"{who or 'something'} overwrites it in between"
        )
        return Blame(kind="overwritten", line=row.line, text=text)

    def _inherited(self, row: Row) -> Blame:
        """Walk back over wrong operands to an op that is wrong by itself."""
        if row.line == 0:
            makers = [made for made in self._made.get(row.name, ()) if made.line and made.verdict == "fail"]
            if not makers:
                return Blame(kind="unclear", line=0, text=f"{row.title}: no op of final.mlir is known to compute it")
            maker = max(makers, key=lambda made: made.last)
            if not self._is_at_fault(maker.line):
                return self._inherited(maker)
            return Blame(kind="inherits", line=maker.line, text=f"inherits from line {maker.line}")
        through: list[int] = []
        queue = [row.line]
        while queue:
            line = queue.pop(0)
            if line in through:
                continue
            if line != row.line and self._is_at_fault(line):
                text = f"inherits from line {line}" + (f", through {_lines(through[1:])}" if through[1:] else "")
                return Blame(kind="inherits", line=line, through=tuple(through[1:]), text=text)
            through.append(line)
            wrong = next((o for o in self._operands.get(line, ()) if o.verdict == "fail" and self._of_input(o)), None)
            if wrong is not None:
                return Blame(kind="inherits", line=line, through=tuple(through[1:]), text=f"inherits from {wrong.name}")
            queue.extend(self._producers.lines(line, self._names(line, ("fail", "unknown"))))
        if any(operand.verdict == "fail" for operand in self._operands.get(row.line, ())):
            text = "no op is wrong by itself: errors within the tolerance of each op add up"
            return Blame(kind="accumulates", line=0, through=tuple(through[1:]), text=text)
        # What is loaded of the weights no op has computed.
        if any(
            operand.verdict == "unknown" and operand.reason != "weight" for operand in self._operands.get(row.line, ())
        ):
            alone = self._alone.get(row.key)
            if alone is not None and alone.verdict == "pass":
                text = "right if the ops that lead to it have the reference's operands: errors add up"
                return Blame(kind="accumulates", line=0, text=text)
            text = "right with the reference's operands where the reference holds them; it does not hold all of them"
            return Blame(kind="unclear", line=0, text=text)
        text = "right with the reference's operands; its own are within tolerance: errors add up"
        return Blame(kind="accumulates", line=0, text=text)

    def _is_at_fault(self, line: int) -> bool:
        wrong = (row for row in self._results.get(line, ()) if row.verdict == "fail")
        alone = [self._alone.get(row.key) for row in wrong]
        return self._producers.is_certain(line) and any(row is not None and row.verdict == "fail" for row in alone)

    def _names(self, line: int, verdicts: tuple[str, ...]) -> set[str]:
        return {row.name for row in self._operands.get(line, ()) if row.verdict in verdicts}

    def _unknown_before(self, line: int) -> tuple[int, ...]:
        """Ops that computed what the op reads and that cannot be judged themselves; loading is not computing."""
        unknown: list[int] = []
        queue = [line]
        seen = {line}
        while queue:
            for before in self._producers.lines(queue[0], self._names(queue[0], ("unknown",))):
                results = self._results.get(before, ())
                if before not in seen and results and all(row.verdict == "unknown" for row in results):
                    seen.add(before)
                    queue.append(before)
                    if results[0].opcode not in ("tpu.Load", "tpu.Store"):
                        unknown.append(before)
            queue.pop(0)
        return tuple(unknown)


def _lines(lines: Sequence[int]) -> str:
    listed = ", ".join(map(str, lines[:_MOST_LISTED]))
    more = f" and {len(lines) - _MOST_LISTED} more" if len(lines) > _MOST_LISTED else ""
    return f"line{'s' if len(lines) > 1 else ''} {listed}{more}"
