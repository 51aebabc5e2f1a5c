"""The debugger as Python code and notebooks use it: what ``tdb_dap.open`` gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.stepping import Unit
from tdb_dap.engine.control.stops import Stop
from tdb_dap.engine.expressions.assignment import part_named
from tdb_dap.engine.program.ops import Op
from tdb_dap.engine.rendering import html
from tdb_dap.engine.rendering.tables import Table
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.memory import Memory
    from tdb_dap.engine.hardware.views import View
    from tdb_dap.engine.questions.search import Match
    from tdb_dap.engine.questions.tracing import Trace
    from tdb_dap.engine.questions.turning import Stretch
    from tdb_dap.engine.questions.versions import Version
    from tdb_dap.tools.check.schema import Row
    from tdb_dap.tools.profile.schema import OpTime

_COLOURS = {"pass": "rgba(60, 180, 75, 0.15)", "fail": "rgba(255, 80, 60, 0.3)", "unknown": "rgba(200, 200, 0, 0.15)"}


class InteractiveDebugger(Debugger):
    """A debugger that closes itself at the end of a ``with``, and whose answers are tables.

    It has all that ``Debugger`` has; everything that it returns shows itself in a notebook.
    """

    def __enter__(self) -> InteractiveDebugger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def walk(self, unit: Unit = "op") -> Iterator[Stop]:
        """Step through the rest of the program: a stop for each op (``unit="command"``: command), up to the end.

        It also ends before a command that cannot be executed. Breakpoints and findings are stops on the way.
        """
        while not self.at_end:
            before = self.ordinal, self.last_stop.focus
            stop = self.step(1, unit)
            yield stop
            if (self.ordinal, stop.focus) == before:
                return

    @property
    def op(self) -> Op | None:
        """The op that the last stop is about; None at the end, and for commands that belong to no op."""
        focus = self.last_stop.focus
        lines = self.program.commands[focus].mlir_lines if focus < len(self.program.commands) else ()
        return next((op for op in self.program.ops if op.line in lines), None)

    @property
    def memory(self) -> Memory:
        """The machine's memories, live."""
        return self.machine.memory

    def who_wrote(self, what: View | str) -> int | None:
        """Ordinal of the last executed command that wrote any byte of a place, or None."""
        return self.inspector.who_wrote(what)

    def set_filters(self, wanted: Mapping[str, str | None]) -> None:
        """Switch on exactly these exception filters; name -> condition or None. BadExpression lists the names."""
        self.set_checks(filters_named(wanted))

    def check(self) -> CheckTable:
        """Every operand and result of what has been executed so far, compared with the reference.

        A row for each; columns: line, op, tensor, role, dtype, verdict (pass, fail, unknown, excepted), cosine,
        euclidean, max_abs, max_ulp, bad (how many elements), size, first_bad (its index), first and last (ordinals),
        note. The way up to this moment is replayed. BadInput where there is no reference.
        """
        from tdb_dap.tools.check.runner import compared_so_far

        if self.reference is None:
            raise BadInput('nothing to compare with; open the model with reference="..._tpu_outputs.npz"')
        rows = [_check_row(row) for row in compared_so_far(self)]
        counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("pass", "fail", "unknown")}
        heading = f"{len(rows):,} tensors so far: " + ", ".join(f"{count} {name}" for name, count in counts.items())
        return CheckTable(rows, heading)

    def trace(self, *expressions: str, at: str = "", where: str = "") -> Trace:
        """Expressions at every place of a kind over the whole run, past and future; the session stays where it is.

        ``at``: a place of a breakpoint (``tpu.Conv2D``, ``B23``, ``22``, ``net:lm_head``), every op by default;
        ``where``: a condition that must hold there. ``.array`` of the answer is a NumPy record array, which
        ``pandas.DataFrame`` takes; ``.table`` has the texts. A value is read when its place is reached, and what is not
        computed by then when the place is left.
        """
        from tdb_dap.engine.questions.trace_points import TracePoint
        from tdb_dap.engine.questions.tracing import trace

        return trace(self.inspector, TracePoint(expressions, at, where), self._going)

    def when(self, condition: str) -> Table:
        """The stretches of time of the whole run in which a condition is true, a row for each.

        Columns: since and until (moments to travel to; until None: to the end), line, op, name, core, slice, why (it
        does not hold any more).
        """
        from tdb_dap.engine.questions.turning import turns

        answer = turns(self.inspector, condition, self._going)
        heading = f"{condition}: true {len(answer.stretches):,} times" + _early(answer.stopped)
        return Table(map(_stretch_row, answer.stretches), heading)

    def where(self, condition: str) -> Table:
        """The tensors of the whole run for which a condition on ``x`` holds: ``max(abs(x)) > 6e4``.

        ``x``: the whole tensor, real numbers. Columns: moment, line, op, name, shape, count (elements of what the
        condition gives that are true), first (index), channels.
        """
        from tdb_dap.engine.questions.search import search

        answer = search(self.inspector, condition, self._going)
        skipped = "".join(f", {count:,} not looked at ({why})" for why, count in answer.skipped.items())
        heading = f"{condition}: {len(answer.matches):,} of {answer.looked:,} tensors{skipped}"
        return Table(map(_match_row, answer.matches), heading + _early(answer.stopped))

    def history(self, what: str) -> Table:
        """All that a tensor, slice or address ever held, a row for each version; the first is that of the start.

        Columns: moment, first and last (the commands that wrote it), line, op, tensor (whose bytes they are), minimum,
        maximum, mean, changed (elements), largest (change), readers (commands), covers (all bytes), edit.
        """
        from tdb_dap.engine.questions.versions import history

        answer = history(self.inspector, part_named(what, self.inspector.scope()), self._going)
        cut = "; there are more versions" if answer.is_cut else ""
        heading = f"{answer.title}: {len(answer.versions):,} versions{cut}" + _early(answer.stopped)
        return Table(map(_version_row, answer.versions), heading)

    def _going(self, ordinal: int) -> None:
        self.listener.between_commands()

    def profile(self, measured: str | PathLike[str] | None = None) -> Table:
        """Time of the whole program by op, as far as it is known: a row for each op, the longest first.

        ``measured``: folder ``bmprofile_data-N`` of a run on a board, whose times these are then.
        Columns: line, op, name, commands, tiu and dma (cycles), share (of all), operations, read and written (bytes),
        and with ``measured`` expected (cycles).
        """
        from tdb_dap.tools.profile.report import profiled

        _, report = profiled(self.program, measured=Path(measured) if measured is not None else None)
        time = "" if report.milliseconds is None else f", {report.milliseconds:.4g} ms"
        ops = sorted(report.ops, key=lambda op: -op.share)
        return Table((_time_row(op) for op in ops), f"{report.chip}: {report.cycles:,.0f} cycles{time}")

    def __repr__(self) -> str:
        return f"<Debugger of {self.program.net.name}: {self.ordinal:,} of {len(self.program.commands):,} commands>"

    def _repr_html_(self) -> str:
        focus = self.last_stop.focus
        at_command = focus < len(self.program.commands)
        about = {
            "program": f"{self.program.net.name}, {self.program.chip}",
            "backend": self.machine.backend.name,
            "executed": f"{self.ordinal:,} of {len(self.program.commands):,} commands",
            "command": self.program.commands[focus].asm if at_command else None,
            "op": f"{self.op.opcode} {self.op.name}, line {self.op.line}" if self.op else None,
        }
        return html.block(html.fields(about), self.last_stop._repr_html_())


class CheckTable(Table):
    """Rows of a comparison. ``failures``: the rows that differ."""

    @property
    def failures(self) -> Table:
        return self.where(verdict="fail")

    def style(self, row: dict[str, Any]) -> html.Style:
        colour = _COLOURS.get(row["verdict"])
        return {"background": colour} if colour else {}


def _early(stopped: str) -> str:
    return f"; the run ends early, at {stopped}" if stopped else ""


def _stretch_row(stretch: Stretch) -> dict[str, Any]:
    place = stretch.place
    return {
        "since": place.moment,
        "until": stretch.until.moment if stretch.until is not None else None,
        "line": place.line,
        "op": place.op,
        "name": place.name,
        "core": place.core,
        "slice": place.slice,
        "why": stretch.why,
    }


def _match_row(match: Match) -> dict[str, Any]:
    return {
        "moment": match.place.moment,
        "line": match.place.line,
        "op": match.place.op,
        "name": match.name,
        "shape": match.shape,
        "count": match.count,
        "first": match.first,
        "channels": match.channels,
    }


def _version_row(version: Version) -> dict[str, Any]:
    first, last = version.writers or (None, None)
    numbers = version.statistics
    return {
        "moment": version.place.moment,
        "first": first,
        "last": last,
        "line": version.place.line,
        "op": version.place.op,
        "tensor": version.tenant,
        "minimum": numbers.minimum if numbers is not None else None,
        "maximum": numbers.maximum if numbers is not None else None,
        "mean": numbers.mean if numbers is not None else None,
        "changed": version.changed,
        "largest": version.largest,
        "readers": version.readers,
        "covers": version.covers,
        "edit": version.edit,
    }


def _check_row(row: Row) -> dict[str, Any]:
    numbers = row.numbers
    return {
        "line": row.line,
        "op": row.opcode,
        "tensor": row.name,
        "role": row.role,
        "dtype": row.dtype,
        "verdict": row.verdict,
        "cosine": numbers.cosine if numbers else None,
        "euclidean": numbers.euclidean if numbers else None,
        "max_abs": numbers.max_abs if numbers else None,
        "max_ulp": numbers.max_ulp if numbers else None,
        "bad": numbers.bad_count if numbers else None,
        "size": numbers.size if numbers else None,
        "first_bad": numbers.first_bad if numbers else None,
        "first": row.first,
        "last": row.last,
        "note": row.note,
    }


def _time_row(op: OpTime) -> dict[str, Any]:
    return {
        "line": op.line,
        "op": op.opcode,
        "name": op.name,
        "commands": op.commands,
        "tiu": op.tiu,
        "dma": op.dma,
        "share": op.share,
        "operations": op.operations,
        "read": op.read,
        "written": op.written,
        **({} if op.expected is None else {"expected": op.expected}),
    }
