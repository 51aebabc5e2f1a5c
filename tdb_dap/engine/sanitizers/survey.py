"""Everything that sanitizers find in one run of the whole program, instead of a stop at each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdb_dap.engine.observers import Announcer, Observer
from tdb_dap.engine.sanitizers.known import Known
from tdb_dap.engine.sanitizers.suppression import Suppressing
from tdb_dap.engine.stops import Finding
from tdb_dap.errors import BackendFailed, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.debugger import Debugger


@dataclass(frozen=True)
class Survey:
    """``findings``: in the order of execution; ``stopped``: why the run did not reach the end, empty if it did."""

    findings: tuple[Finding, ...]
    stopped: str = ""


def survey(debugger: Debugger, sanitizers: Mapping[str, Observer], progress: Callable[[int], None]) -> Survey:
    """Look at the program, and run it from the start to the end where that is needed; time is then what it was.

    ``progress`` is told how many commands are done.
    """
    found: list[Finding] = []
    running: list[Observer] = []
    for observer in sanitizers.values():
        inner = observer.inner if isinstance(observer, Suppressing) else observer
        if isinstance(inner, Known):
            for findings in inner.findings(debugger.program).values():
                found += [f for f in findings if not isinstance(observer, Suppressing) or observer.keeps(debugger, f)]
        else:
            running.append(observer)
    stopped = ""
    if running:
        with debugger.machine.excursion():
            stopped = _run(debugger, running, found, progress)
    return Survey(tuple(sorted(found, key=lambda finding: finding.focus)), stopped)


def _run(debugger: Debugger, running: list[Observer], found: list[Finding], progress: Callable[[int], None]) -> str:
    announcer = Announcer(debugger, running)
    debugger.machine.travel(0)
    try:
        while not debugger.at_end:
            announcer.execute()
            found += announcer.heard
            progress(debugger.ordinal)
    except (NotSimulated, BackendFailed) as trouble:
        return str(trouble)
    return ""
