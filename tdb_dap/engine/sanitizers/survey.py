"""Everything that sanitizers find in one run of the whole program, instead of a stop at each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.control.observers import Announcer, Heard, Observer
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.sanitizers.static_analysis import Known
from tdb_dap.engine.sanitizers.suppression import Suppressing
from tdb_dap.errors import BackendFailed, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


class Survey(Struct, frozen=True):
    """``findings``: in the order of execution; ``stopped``: why the run did not reach the end, empty if it did."""

    findings: tuple[Finding, ...]
    stopped: str = ""


def survey(
    debugger: Debugger, sanitizers: Mapping[str, Observer], progress: Callable[[int], None], comes_back: bool = True
) -> Survey:
    """Look at the program, and run it from the start to the end where that is needed; time is then what it was.

    ``progress`` receives the number of commands done; ``comes_back``: if not, time stays where the run has ended.
    """
    findings = known_ahead(debugger, sanitizers.values())
    running = [observer for observer in sanitizers.values() if _known(observer) is None]
    stopped = ""
    if running:
        with debugger.machine.excursion() if comes_back else nullcontext():
            stopped = _run(debugger, running, findings, progress)
    return Survey(tuple(sorted(findings, key=lambda finding: finding.focus)), stopped)


class Companions:
    """Sanitizers that observe a run that another tool makes from start to end.

    ``observers``: those that are to be called then.
    """

    def __init__(self, debugger: Debugger, sanitizers: Mapping[str, Observer]) -> None:
        self._found = known_ahead(debugger, sanitizers.values())
        running = [observer for observer in sanitizers.values() if _known(observer) is None]
        self.observers = [Heard(observer, self._found) for observer in running]

    def survey(self, stopped: str) -> Survey:
        """All that they have found. ``stopped``: why the run did not reach the end."""
        return Survey(tuple(sorted(self._found, key=lambda finding: finding.focus)), stopped)


def known_ahead(debugger: Debugger, sanitizers: Iterable[Observer]) -> list[Finding]:
    """Findings that need no run of the program, in the order of execution."""
    reported: list[Finding] = []
    for observer in sanitizers:
        known = _known(observer)
        for findings in known.findings(debugger.program).values() if known is not None else ():
            reported += [
                f for f in findings if not isinstance(observer, Suppressing) or observer.keeps(debugger.inspector, f)
            ]
    return sorted(reported, key=lambda finding: finding.focus)


def known_causes(debugger: Debugger, sanitizers: Iterable[Observer], focus: int) -> list[Finding]:
    """Findings ahead of the run about the op of a command, or about writes to its operands since these were made."""
    concerned: set[int] = set()
    records = [record for record in debugger.program.source.records if record.ordinals]
    for record in debugger.program.source.records_of(focus):
        concerned.update(record.ordinals)
        for value in record.operands:
            makers = [r for r in records if r.first < record.first and any(v.name == value.name for v in r.results)]
            if value.view is None or not makers:
                continue
            start, place = max(r.first for r in makers), ByteRanges.of(value.view)
            concerned.update(
                debugger.machine.accesses.touching(place, reads=False, writes=True, start=start, stop=record.last)
            )
    return [f for f in known_ahead(debugger, sanitizers) if concerned & {f.focus, *f.related}]


def _known(observer: Observer) -> Known | None:
    inner = observer.inner if isinstance(observer, Suppressing) else observer
    return inner if isinstance(inner, Known) else None


def _run(debugger: Debugger, running: list[Observer], findings: list[Finding], progress: Callable[[int], None]) -> str:
    announcer = Announcer(debugger.inspector, running)
    debugger.machine.travel(0)
    try:
        while not debugger.at_end:
            before = debugger.ordinal
            announcer.run_ahead()
            if debugger.ordinal == before:
                announcer.execute()
            findings += announcer.heard
            progress(debugger.ordinal)
        for observer in running:
            observer.finished(debugger.inspector)
    except (NotSimulated, BackendFailed) as error:
        return str(error)
    return ""
