"""Blame: is a wrong result the op's own fault, or that of an op before it?

The question is answered by substitution: the same program runs again with each op given the reference's operands
instead of the computed ones. What is still wrong then is made by the op itself; what is right then was inherited, and
the way back leads over the operands that were wrong in the first run.
"""

from __future__ import annotations

from collections.abc import Sequence

from tdb_dap.engine.compare.dataflow import Producers
from tdb_dap.tools.check.schema import ORIGINS, Blame, Row


def with_blame(cascade: Sequence[Row], standalone: Sequence[Row], producers: Producers) -> list[Row]:
    """The rows of the cascade; those of wrong results and of wrong inputs say whose fault it is."""
    judge = _Judge(cascade, standalone, producers)
    return [row.model_copy(update={"blame": blame}) if (blame := judge.of(row)) else row for row in cascade]


def first_culprit(rows: Sequence[Row]) -> Row | None:
    """The earliest tensor that an error begins with; where blame was not asked for, the earliest wrong result."""
    blamed = [row for row in rows if row.blame is not None and row.blame.kind in ORIGINS]
    wrong = blamed or [row for row in rows if _is_wrong(row)]
    return min(wrong, key=lambda row: (row.last, row.first), default=None)


def _is_wrong(row: Row) -> bool:
    return row.verdict == "fail" and row.role != "operand"


class _Judge:
    def __init__(self, cascade: Sequence[Row], standalone: Sequence[Row], producers: Producers) -> None:
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
        suspects = self._unknown_before(row.line)
        text = f"{row.title} is at fault: wrong with the reference's operands, too"
        if suspects:
            text += f"; or {_lines(suspects)} before it, whose results the reference does not hold"
        return Blame(kind="at fault", line=row.line, suspects=suspects, text=text)

    def _of_input(self, row: Row) -> Blame | None:
        made = any(made.last < row.last for made in self._made.get(row.name, ()))
        if made or self._producers.lines(row.line, {row.name}):
            return None
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
        text = (
            f"{operand.name} is right when line {maker.line} has computed it and wrong when {row.title} reads it: "
            "something overwrites it in between"
        )
        return Blame(kind="overwritten", line=row.line, text=text)

    def _inherited(self, row: Row) -> Blame:
        """Walk back over wrong operands to an op that is wrong by itself."""
        if row.line == 0:
            return Blame(kind="unclear", line=0, text=f"{row.title}: no op of final.mlir is known to compute it")
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
        if any(operand.verdict == "unknown" for operand in self._operands.get(row.line, ())):
            text = "right with the reference's operands where the reference holds them; it does not hold all of them"
            return Blame(kind="unclear", line=0, text=text)
        text = "right with the reference's operands; its own are within tolerance: errors add up"
        return Blame(kind="accumulates", line=0, text=text)

    def _is_at_fault(self, line: int) -> bool:
        wrong = (row for row in self._results.get(line, ()) if row.verdict == "fail")
        return any((alone := self._alone.get(row.key)) is not None and alone.verdict == "fail" for row in wrong)

    def _names(self, line: int, verdicts: tuple[str, ...]) -> set[str]:
        return {row.name for row in self._operands.get(line, ()) if row.verdict in verdicts}

    def _unknown_before(self, line: int) -> tuple[int, ...]:
        """Ops that computed what the op reads and that cannot be judged themselves; loading is not computing."""
        found: list[int] = []
        queue = [line]
        seen = {line}
        while queue:
            for before in self._producers.lines(queue[0], self._names(queue[0], ("unknown",))):
                results = self._results.get(before, ())
                if before not in seen and results and all(row.verdict == "unknown" for row in results):
                    seen.add(before)
                    queue.append(before)
                    if results[0].opcode not in ("tpu.Load", "tpu.Store"):
                        found.append(before)
            queue.pop(0)
        return tuple(found)


def _lines(lines: Sequence[int]) -> str:
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
