"""Exception filters: the engine's checks, switched on and off by the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.protocol.model import plain
from tdb_dap.adapter.protocol.types import (
    Breakpoint,
    ExceptionBreakpointsFilter,
    ExceptionDetails,
    ExceptionInfoArguments,
    ExceptionInfoResponseBody,
    SetBreakpointsResponseBody,
    SetExceptionBreakpointsArguments,
)
from tdb_dap.adapter.requests.sanitizers import Sanitizing
from tdb_dap.adapter.session.answering import Answering
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.adapter.session.verdicts import missing_for_verdicts
from tdb_dap.engine.checks.exception_filters import FILTERS, filters_named
from tdb_dap.engine.checks.reference_checks import ALL, BIRTH, CHECKS, MISMATCH, Difference
from tdb_dap.engine.checks.wrong_elements import texts
from tdb_dap.engine.sanitizers import BY_NAME, chosen
from tdb_dap.errors import BadExpression, TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session


_GROUP = ExceptionBreakpointsFilter(
    filter="sanitizers",
    label="Faults that show no wrong number",
    description="Sanitizers: accesses out of bounds, uninitialised reads, races, malformed commands, unused "
    "results, the first NaN. The condition chooses some of them.",
    default=False,
    supportsCondition=True,
    conditionDescription=f"names, default all: {', '.join(BY_NAME)}; with places not to report: hazard: gemm15*; nan",
)
"""One filter for all sanitizers: ten of them would push the user's own breakpoints out of the pane."""


_MOST_COMMANDS = 200_000
"""Of a program in which the writer of an element is found at once; clients ask at each stop."""


class ExceptionFilters:
    """The filters that are switched on; name -> condition or None. They outlive a reload.

    ``are_initial``: the client has set them before the program started.
    """

    def __init__(self) -> None:
        self.wanted: dict[str, str | None] = {}
        self.are_initial = True

    def in_force(self, session: Session) -> dict[str, str | None]:
        """Those of ``wanted`` that the launch configuration does not leave to the user."""
        without = MISMATCH if self.are_initial and not session.configuration.stopOnDifference else ""
        return {name: condition for name, condition in self.wanted.items() if name != without}

    def apply(self, session: Session) -> None:
        """Hand them to the engine, if there is one already."""
        if session.has_program:
            session.debugger.set_checks(filters_named({**session.feature(Sanitizing).wanted, **self.in_force(session)}))


@provides("exceptionBreakpointFilters")
def filters() -> list[dict[str, Any]]:
    """One filter for each check against something, and one for the sanitizers; each of these is known by name, too."""
    checks = [
        ExceptionBreakpointsFilter(
            filter=known.name,
            label=known.label,
            description=known.description,
            default=known.default,
            supportsCondition=known.condition is not None,
            conditionDescription=known.condition,
        )
        for known in CHECKS
    ]
    return [plain(known) for known in (*checks, _GROUP)]


@request("setExceptionBreakpoints", capability="supportsExceptionFilterOptions", while_running="answer")
def set_exception_breakpoints(
    session: Session, arguments: SetExceptionBreakpointsArguments
) -> SetBreakpointsResponseBody:
    """Switch on exactly these filters."""
    filters: list[tuple[str, str | None]] = [(name, None) for name in arguments.filters]
    filters += [(option.filterId, option.condition) for option in arguments.filterOptions or ()]
    wanted: dict[str, str | None] = {}
    answers: list[Breakpoint] = []
    for name, condition in filters:
        answer = _answer(session, name)
        try:
            wanted |= _meant(name, condition)
        except BadExpression as error:
            answer = Breakpoint(verified=False, message=str(error), reason="failed")
        answers.append(answer)
    session.feature(ExceptionFilters).wanted = wanted
    session.feature(ExceptionFilters).are_initial = not session.configured
    session.feature(ExceptionFilters).apply(session)
    return SetBreakpointsResponseBody(breakpoints=answers)


def _meant(name: str, condition: str | None) -> dict[str, str | None]:
    """Filters by name, with their conditions: of the group those that its condition names, else all.

    Results that differ because an operand does are passed over: the user wants to see where something goes wrong.
    """
    if name == MISMATCH:
        words = [word.strip() for word in (condition or "").split(",")]
        return {name: condition if ALL in words else ", ".join(filter(None, (condition, BIRTH)))}
    if name != _GROUP.filter:
        return {name: condition} if name in FILTERS else {}
    entries = [entry for part in (condition or "").split(";") for entry in ([part] if ":" in part else part.split(","))]
    return chosen([entry.strip() for entry in entries if entry.strip()] or ["all"])


def _compares(session: Session) -> bool:
    """Whether there is a reference, or the float model of an answer."""
    float_reference = session.feature(Answering).float_reference
    return session.debugger.reference is not None or (float_reference is not None and float_reference.compares)


def _answer(session: Session, name: str) -> Breakpoint:
    if name == _GROUP.filter:
        return Breakpoint(verified=True)
    if name not in FILTERS:
        return Breakpoint(
            verified=False, message=session.traits.localised("there is no filter {!r}", name), reason="failed"
        )
    if FILTERS[name].needs_reference and session.has_program and not _compares(session):
        message = session.traits.localised(missing_for_verdicts(session))
        return Breakpoint(verified=False, message=message, reason="failed")
    if FILTERS[name].needs_lockstep and session.has_program and not session.debugger.machine.compares:
        message = session.traits.localised(
            'nothing to compare with; set `backend` to "lockstep" in the launch configuration'
        )
        return Breakpoint(verified=False, message=message, reason="failed")
    return Breakpoint(verified=True)


@request("exceptionInfo", capability="supportsExceptionInfoRequest")
def exception_info(session: Session, arguments: ExceptionInfoArguments) -> ExceptionInfoResponseBody:
    """The finding of the last stop; of a wrong result also its first wrong element, who wrote that, and why."""
    finding = session.debugger.last_stop.finding
    if finding is None:
        raise TdbError("the program has not stopped because of an exception")
    details, description = list(finding.details), finding.text
    if isinstance(finding, Difference) and len(session.debugger.program.commands) <= _MOST_COMMANDS:
        wrong = list(texts(session.debugger.scope(finding.focus, "op")))
        details[:0] = [*wrong, *session.feature(Sanitizing).causes(session.debugger, finding.focus)]
        description = finding.brief if wrong else finding.text
    say = session.traits.localised
    return ExceptionInfoResponseBody(
        exceptionId=finding.filter,
        description=say(description),
        breakMode="always",
        details=ExceptionDetails(
            message=say(finding.title), typeName=finding.filter, stackTrace=say("\n".join(details)) or None
        ),
    )
