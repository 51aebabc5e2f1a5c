"""Times of commands for an editor's timeline: ``tdb/timeline``, ``tdb/times`` and ``tdb/profile`` of docs/requests.md.

The order of the commands is known at once, their times are estimated a part per request.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.session.handlers import request
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.tools.report_schema import json_form

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.responses import ProfileBody
    from tdb_dap.adapter.protocol.timeline_responses import CommandOrder, CommandTimes, MemoryLevels
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program
    from tdb_dap.tools.profile.profiling import Costs

_DIGITS = 6
"""Decimals of a time in an answer."""


class ProfileArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/profile`. ``trace``: also the time line, as Trace Events."""

    trace: bool = False
    estimate: bool = False


class TimelineArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/timeline`: none."""


class TimesArguments(ProtocolModel, kw_only=True):
    """``milliseconds``: to spend on further estimates before answering; less where another request arrives."""

    milliseconds: int = 0


class Estimates:
    """Estimates of the session's program made so far, and what a board took."""

    def __init__(self) -> None:
        self._costs: Costs | None = None
        self._program: Program | None = None

    def of(self, session: Session) -> Costs:
        """The estimates of the session's program; none are left of another one, loaded before."""
        from tdb_dap.tools.profile.measured import measured_times
        from tdb_dap.tools.profile.profiling import Costs

        program, folder = session.debugger.program, session.configuration.measured
        if self._costs is None or self._program is not program:
            measured = measured_times(program, Path(folder)) if folder is not None else None
            self._costs, self._program = Costs(program, measured), program
        return self._costs


@request("tdb/timeline", while_running="answer")
def timeline(session: Session, arguments: TimelineArguments) -> CommandOrder:
    """The commands in their order, one entry for each in every list, and what waits for what."""
    from tdb_dap.tools.profile.schedule import waits
    from tdb_dap.tools.profile.trace import THREADS, TRACKS

    program = session.debugger.program
    commands, source = program.commands, program.source
    tracks: dict[tuple[int, int], int] = {}
    keys = [(command.core, THREADS[command.engine]) for command in commands]
    for key in sorted(set(keys)):
        tracks[key] = len(tracks)
    names: dict[str, int] = {}
    op = [-1] * len(commands)
    for index, record in enumerate(source.records):
        for ordinal in record.ordinals:
            op[ordinal] = index
    return {
        "chip": program.chip,
        "clockMHz": program.target.clock,
        "timeUnit": "microseconds" if program.target.clock else "cycles",
        "tracks": [{"core": core, "engine": session.traits.localised(TRACKS[thread])} for core, thread in tracks],
        "track": [tracks[key] for key in keys],
        "name": [names.setdefault(command.name, len(names)) for command in commands],
        "names": list(names),
        "op": op,
        "ops": [
            {
                "line": record.line,
                "opcode": record.opcode,
                "name": name_of(record),
                "slice": record.slice_text,
            }
            for record in source.records
        ],
        "waits": waits(program),
    }


@request("tdb/times", while_running="wait")
def times(session: Session, arguments: TimesArguments) -> CommandTimes:
    """Start and duration of every command, by what is estimated up to now; of the others like their kind's mean."""
    from tdb_dap.tools.profile.estimating import likely_cycles
    from tdb_dap.tools.profile.schedule import measured_schedule, schedule

    program = session.debugger.program
    costs = session.feature(Estimates).of(session)
    end = monotonic() + arguments.milliseconds / 1000
    costs.extend(lambda done: session.others_wait() or monotonic() >= end)
    session.check_withdrawn()
    expected, measured = likely_cycles(program, costs), costs.measured
    spans = schedule(program, expected) if measured is None else measured_schedule(program, measured.spans)
    unit = 1 / program.target.clock if program.target.clock else 1.0
    body: CommandTimes = {
        "estimated": len(costs.known),
        "commands": len(program.commands),
        "start": [round(span.start * unit, _DIGITS) for span in spans],
        "duration": [round((span.stop - span.start) * unit, _DIGITS) for span in spans],
        "bytes": [cost.read + cost.written for cost in costs.known],
        "cyclesPerUnit": 1 / unit,
    }
    if measured is not None:
        body["expected"] = [round(cycles * unit, _DIGITS) for cycles in expected]
    if costs.is_complete:
        body["memories"] = _levels(program)
    return body


def _levels(program: Program) -> list[MemoryLevels]:
    from tdb_dap.tools.profile.report import timelines

    return [
        {
            "title": title,
            "core": timeline.residents[0].core,
            "ordinals": list(timeline.ordinals),
            "bytes": list(timeline.bytes),
        }
        for title, (_, timeline) in timelines(program).items()
    ]


@request("tdb/profile", while_running="wait")
def profile(session: Session, arguments: ProfileArguments) -> ProfileBody:
    """The report of ``tdb-dap profile``."""
    from tdb_dap.tools.profile.profiling import Profile
    from tdb_dap.tools.profile.report import report_of
    from tdb_dap.tools.profile.trace import trace

    program = session.debugger.program
    costs = session.feature(Estimates).of(session)
    measured = Profile(program, not arguments.estimate, lambda done: session.check_withdrawn(), costs)
    body: ProfileBody = {"report": json_form(report_of(measured))}
    if arguments.trace:
        body["trace"] = trace(measured)
    return body
