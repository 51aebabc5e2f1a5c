"""Expressions at every place of a kind over a whole run: a table, past and future, without moving the session."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tdb_dap.engine.control.breakpoint_conditions import is_access
from tdb_dap.engine.control.breakpoint_specs import (
    BreakpointLocation,
    resolve,
    spans_of_commands,
    spans_of_records,
)
from tdb_dap.engine.expressions.evaluator import NotYetComputed
from tdb_dap.engine.expressions.scope import Scope
from tdb_dap.engine.questions.cells import Cell
from tdb_dap.engine.questions.passes import Pass, Progress, ignore
from tdb_dap.engine.questions.trace_points import TracePoint
from tdb_dap.engine.rendering.tables import Table
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import BadExpression, TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.program.program import Program

MOST_HITS = 1_000_000
"""Rows of one trace."""

PLACE_COLUMNS = ("moment", "command", "line", "op", "name", "core", "slice", "launch", "token")
"""What a row says of its place, before the values."""


class Place(Struct, frozen=True):
    """Place that a row belongs to. ``moment``: commands executed when its values were read; ``focus``: the command that
    it is about. ``line`` and ``op`` are 0 and empty for commands of no op, ``launch`` and ``token`` None without any.
    """

    moment: int
    focus: int
    command: str
    line: int
    op: str
    name: str
    core: int
    slice: str
    launch: int | None
    token: int | None

    @classmethod
    def of(cls, program: Program, moment: int, focus: int) -> Place:
        """The place of a command, seen at a moment; of a network without commands its only moment."""
        command = program.commands[focus] if len(program.commands) else None
        records = program.source.records_of(focus)
        record = records[0] if records else None
        launch = program.launch_at(focus) if program.launches else None
        return cls(
            moment,
            focus,
            command.token if command is not None else "",
            record.line if record is not None else 0,
            record.opcode if record is not None else command.name if command is not None else "",
            name_of(record) if record is not None else "",
            command.core if command is not None else 0,
            record.slice_text if record is not None else "",
            launch.number if launch is not None else None,
            launch.token if launch is not None else None,
        )

    @classmethod
    def of_span(cls, program: Program, moment: int, first: int, last: int, is_left: bool) -> Place:
        """The place of commands ``first`` to ``last``: a launch as a whole, else that of its first or last command."""
        place = cls.of(program, moment, last if is_left else first)
        launch = program.launch_at(first) if program.launches else None
        if launch is None or (launch.start, launch.stop - 1) != (first, last):
            return place
        return replace(place, command="", line=0, op="launch", name=launch.net, slice="")

    @property
    def columns(self) -> tuple[Any, ...]:
        """In the order of ``PLACE_COLUMNS``."""
        return tuple(getattr(self, name) for name in PLACE_COLUMNS)


class Hit(Struct, frozen=True):
    """One row: a place, and a cell for each expression."""

    place: Place
    cells: tuple[Cell, ...]


class Trace(Struct):
    """``message``: a remark on where the place is; ``stopped``: why the run did not reach all of it, empty if it did;
    ``undecided``: hits left out because their condition could not be evaluated, the reason -> how many.
    """

    point: TracePoint
    hits: list[Hit] = field(default_factory=list[Hit])
    places: int = 0
    message: str = ""
    stopped: str = ""
    undecided: Counter[str] = field(default_factory=Counter[str])

    def require_some(self) -> None:
        """BadExpression if an expression gave the same error at every place: it is wrong, and not the moments."""
        if not self.hits and len(self.undecided) == 1 and self.undecided.total() > 1:
            raise BadExpression(next(iter(self.undecided)))
        for index in range(len(self.point.expressions) if len(self.hits) > 1 else 0):
            cells = [hit.cells[index] for hit in self.hits]
            if len({one.absence for one in cells}) == 1 and cells[0].absence and not cells[0].pending:
                raise BadExpression(cells[0].absence)

    @property
    def remarks(self) -> list[str]:
        """Remarks beyond the table, a line each."""
        remarks = [self.message] if self.message else []
        remarks += [
            f"the condition was not decided at {count:,} places: {why}" for why, count in self.undecided.items()
        ]
        if self.stopped:
            remarks.append(f"the run ends early, at {self.stopped}")
        return remarks

    @property
    def table(self) -> Table:
        """A row for each hit; single numbers as such, all else as text."""
        rows = (
            dict(
                zip(
                    (*PLACE_COLUMNS, *self.point.expressions),
                    (*hit.place.columns, *map(_plain, hit.cells)),
                    strict=True,
                )
            )
            for hit in self.hits
        )
        return Table(rows, "\n".join([f"{len(self.hits):,} hits: {self.point.text}", *self.remarks]))

    @property
    def array(self) -> Array:
        """The rows as a NumPy record array, which ``pandas.DataFrame`` takes as it is.

        A field for each of ``PLACE_COLUMNS`` (-1: no launch, no token) and for each expression (float64, NaN where
        there is not a single number), and ``absence``, which says why there is none.
        """
        places: list[tuple[str, Any]] = [
            (name, "O" if name in ("command", "op", "name", "slice") else np.int64) for name in PLACE_COLUMNS
        ]
        values: list[tuple[str, Any]] = [(expression, np.float64) for expression in self.point.expressions]
        rows = [
            (
                *(-1 if column is None else column for column in hit.place.columns),
                *(one.as_float for one in hit.cells),
                "; ".join(dict.fromkeys(one.absence for one in hit.cells if one.absence)),
            )
            for hit in self.hits
        ]
        return np.array(rows, dtype=np.dtype([*places, *values, ("absence", "O")])).view(np.recarray)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def __len__(self) -> int:
        return len(self.hits)


def _plain(one: Cell) -> Any:
    return one.number if one.number is not None and not one.absence else one.text


class _Visit(Struct, frozen=True):
    """A place to look at: from before command ``first`` until after command ``last``."""

    trace: int
    first: int
    last: int


def trace(inspector: Inspector, point: TracePoint, progress: Progress = ignore) -> Trace:
    """Evaluate the expressions of a trace point at each of its places, in one pass over the run.

    An expression is evaluated when its place is reached; one whose numbers are not computed by then is evaluated when
    the last command of the place has been executed. The same holds for the condition.
    """
    return traces(inspector, [point], progress)[0]


def traces(inspector: Inspector, points: Sequence[TracePoint], progress: Progress = ignore) -> list[Trace]:
    """``trace`` of several points, all in one pass. BadExpression for a place that nothing has, or too many rows."""
    locations = [_location(inspector, point) for point in points]
    answers = [
        Trace(point, places=len(location.spans), message=location.message)
        for point, location in zip(points, locations, strict=True)
    ]
    if sum(answer.places for answer in answers) > MOST_HITS:
        raise BadExpression(f"more than {MOST_HITS:,} places; choose fewer with `at`")
    changes = any(one.watched is not None and one.watched.access == "change" for one in locations)
    going = Pass(inspector, progress)
    with going.beside(changes):
        _Tracer(inspector, answers, locations).walk(going)
    for answer in answers:
        answer.require_some()
        answer.stopped = going.stopped
        answer.hits.sort(key=lambda hit: (hit.place.focus, hit.place.moment))
    return answers


def _location(inspector: Inspector, point: TracePoint) -> BreakpointLocation:
    program = inspector.program
    if not point.place:
        spans = spans_of_records(program.source.records)
        if spans:
            return BreakpointLocation(spans)
        return BreakpointLocation(spans_of_commands(program, lambda command: True), level="command")
    location = resolve(program, point.place)
    if location.watched is not None:
        touching = location.watched.touching(inspector.machine.accesses)
        location = replace(location, spans=tuple((ordinal, ordinal) for ordinal in touching))
    if not location.spans:
        raise BadExpression(location.message or f"{point.place}: no command of this program is there")
    return location


class _Tracer:
    """Fills traces on the way over the run."""

    def __init__(self, inspector: Inspector, answers: list[Trace], locations: list[BreakpointLocation]) -> None:
        self._inspector = inspector
        self._answers = answers
        self._locations = locations
        self._open: dict[_Visit, _Row] = {}

    def walk(self, going: Pass) -> None:
        begin: dict[int, list[_Visit]] = defaultdict(list)
        end: dict[int, list[_Visit]] = defaultdict(list)
        for number, location in enumerate(self._locations):
            for first, last in location.spans:
                visit = _Visit(number, first, last)
                if location.watched is None:
                    begin[first].append(visit)
                end[last + 1].append(visit)
        for moment in going.moments(sorted({*begin, *end})):
            if visits := end.get(moment):
                with going.as_left():
                    for visit in visits:
                        self._leave(visit)
            for visit in begin.get(moment, ()):
                self._arrive(visit)

    def _arrive(self, visit: _Visit) -> None:
        if not self._inspector.machine.passes_over(visit.first):
            row = self._open[visit] = _Row(self._answers[visit.trace].point)
            row.read(self._inspector, visit.first, self._locations[visit.trace])

    def _leave(self, visit: _Visit) -> None:
        location, answer = self._locations[visit.trace], self._answers[visit.trace]
        machine = self._inspector.machine
        if location.watched is not None:
            if machine.passes_over(visit.last) or not is_access(location.watched, machine):
                return
            row = _Row(answer.point)
        else:
            known = self._open.pop(visit, None)
            if known is None:
                return
            row = known
        if row.misses:
            row.read(self._inspector, visit.last, location, is_last=True)
        if row.verdict is None:
            answer.undecided[row.why] += 1
        elif row.verdict:
            place = Place.of_span(self._inspector.program, row.moment, visit.first, visit.last, row.is_after)
            answer.hits.append(Hit(place, tuple(row.cells[index] for index in range(len(answer.point.expressions)))))


class _OneMoment(Scope, frozen=True):
    """Names at one moment: the numbers of each operand and result are read once for all expressions."""

    kept: dict[str, Sequence[Value]] = field(default_factory=dict[str, "Sequence[Value]"])

    def values(self, kind: str) -> Sequence[Value]:
        if kind not in self.kept:
            self.kept[kind] = super().values(kind)
        return self.kept[kind]


class _Row:
    """A hit in the making. ``verdict``: of the condition, None while it is not decided, and ``why`` it is not."""

    def __init__(self, point: TracePoint) -> None:
        self._point = point
        self.cells: dict[int, Cell] = {}
        self.verdict: bool | None = None if point.condition else True
        self.why = ""
        self.moment = 0
        self.is_after = False

    @property
    def misses(self) -> bool:
        """Whether something is still to be evaluated."""
        if self.verdict is False:
            return False
        return self.verdict is None or len(self.cells) < len(self._point.expressions)

    def read(self, inspector: Inspector, focus: int, location: BreakpointLocation, is_last: bool = False) -> None:
        """Evaluate what is missing, now; at the last moment what is not computed is a cell that says so."""
        self.moment, self.is_after = inspector.ordinal, is_last
        scope = _OneMoment(inspector.machine, inspector.reference, focus, location.level)
        if self.verdict is None:
            try:
                value = inspector.evaluate_computed(self._point.condition, scope)
                self.verdict = bool(value.array.any())
            except TdbError as error:
                self.why = str(error)
            if self.verdict is False:
                return
        for index, expression in enumerate(self._point.expressions):
            if index not in self.cells:
                try:
                    self.cells[index] = Cell.of(inspector.evaluate_computed(expression, scope))
                except NotYetComputed as error:
                    if is_last:
                        self.cells[index] = Cell(absence=str(error), pending=True)
                except TdbError as error:
                    self.cells[index] = Cell(absence=str(error))
