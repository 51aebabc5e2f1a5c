"""A profile as a trace that chrome://tracing and Perfetto open (the Trace Event Format of Chrome, JSON).

A process per core, in it a thread per engine; on each thread the ops, in them their commands, and counters of the
memory in use. Times are microseconds at the chip's clock, or cycles where the clock is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.source.op_records import name_of
from tdb_dap.tools.profile.report import timelines

if TYPE_CHECKING:
    from tdb_dap.tools.profile.profiling import Profile, Timed

Event = dict[str, Any]
THREADS = {"tiu": 1, "dma": 2, "cdma": 3, "cpu": 4, "dynamic": 4, "sdma": 5, "hau": 6, "gde": 7, "host": 8}
TRACKS = {1: "TIU", 2: "DMA", 3: "CDMA", 4: "subnets that run elsewhere", 5: "SDMA", 6: "HAU", 7: "GDE", 8: "host"}


def trace(profile: Profile) -> dict[str, Any]:
    """The trace as JSON data; ``otherData`` says what was traced and how the times were found."""
    program = profile.program
    unit = 1 / profile.clock if profile.clock else 1.0  # microseconds of a cycle
    events = [*_names(profile), *_slices(profile, unit), *_counters(profile, unit)]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "model": str(program.context.bmodel),
            "chip": program.chip,
            "clockMHz": profile.clock,
            "timeUnit": "microseconds" if profile.clock else "cycles",
            "source": program.target.timing_source,
            "compilerFigures": profile.has_compiler_figures,
        },
    }


def _names(profile: Profile) -> Iterator[Event]:
    for core in range(profile.program.core_count):
        yield {"ph": "M", "name": "process_name", "pid": core, "args": {"name": f"{profile.program.chip} core {core}"}}
        used = {THREADS[t.command.engine] for t in profile.commands if t.command.core == core}
        for thread in sorted(used):
            arguments = {"name": TRACKS[thread]}
            yield {"ph": "M", "name": "thread_name", "pid": core, "tid": thread, "args": arguments}
            order = {"sort_index": thread}
            yield {"ph": "M", "name": "thread_sort_index", "pid": core, "tid": thread, "args": order}


def _slices(profile: Profile, unit: float) -> Iterator[Event]:
    by_track: dict[tuple[int, int], list[Timed]] = {}
    for timed in profile.commands:
        by_track.setdefault((timed.command.core, THREADS[timed.command.engine]), []).append(timed)
    for (core, thread), commands in by_track.items():
        place = {"pid": core, "tid": thread}
        for group in _runs(commands):
            record = group[0].record
            if record is not None:
                start, stop = group[0].span.start, group[-1].span.stop
                yield {
                    **_slice(f"{record.opcode} {name_of(record)}".strip(), start, stop, unit),
                    **place,
                    "cat": "op",
                    "args": {"line": record.line, "slice": record.slice_text},
                }
            for timed in group:
                yield {
                    **_slice(timed.command.name, timed.span.start, timed.span.stop, unit),
                    **place,
                    **_details(timed),
                }


def _slice(name: str, start: float, stop: float, unit: float) -> Event:
    """A complete event; begin and end are rounded alike, so that what is nested stays so."""
    begin, end = round(start * unit, 6), round(stop * unit, 6)
    return {"ph": "X", "name": name, "ts": begin, "dur": round(end - begin, 6)}


def _details(timed: Timed) -> Event:
    command = timed.command
    arguments: dict[str, Any] = {
        "ordinal": command.ordinal,
        "id": command.token,
        "cycles": timed.cycles,
        "from": timed.origin,
    }
    if timed.origin == "measured":
        arguments["expected"] = timed.expected
    for name in ("operations", "read", "written"):
        if value := getattr(timed.cost, name):
            arguments[name] = value
    return {"cat": "command", "args": arguments}


def _runs(commands: list[Timed]) -> Iterator[list[Timed]]:
    """Neighbours of the same op instance."""
    group: list[Timed] = []
    for timed in commands:
        if group and timed.record is not group[0].record:
            yield group
            group = []
        group.append(timed)
    if group:
        yield group


def _counters(profile: Profile, unit: float) -> Iterator[Event]:
    spans = [timed.span for timed in profile.commands]
    for name, (_, timeline) in timelines(profile.program).items():
        core = timeline.residents[0].core
        levels: dict[float, int] = {}
        last = 0.0
        for ordinal, level in zip(timeline.ordinals, timeline.bytes, strict=True):
            when = spans[ordinal].start if ordinal < len(spans) else profile.total
            last = round(max(when, last / unit) * unit, 6)
            levels[last] = level
        for when, level in levels.items():
            yield {"ph": "C", "name": name, "pid": core, "ts": when, "args": {"bytes": level}}
