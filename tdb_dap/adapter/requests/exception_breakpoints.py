"""Exception filters: the engine's checks, switched on and off by the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.engine.checks.exception_filters import FILTERS, filters_named
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session


class ExceptionFilters:
    """The filters that are switched on; name -> condition or None. They outlive a reload."""

    def __init__(self) -> None:
        self.wanted: dict[str, str | None] = {}

    def apply(self, session: Session) -> None:
        """Hand them to the engine, if there is one already."""
        if session.has_program:
            session.debugger.set_checks(filters_named({**session.feature(Sanitizing).wanted, **self.wanted}))


@provides("exceptionBreakpointFilters")
def filters() -> list[dict[str, Any]]:
    """One filter for each check of the engine."""
    return [
        ExceptionBreakpointsFilter(
            filter=known.name,
            label=known.label,
            description=known.description,
            default=known.default,
            supportsCondition=known.condition is not None,
            conditionDescription=known.condition,
        ).model_dump(exclude_none=True)
        for known in FILTERS.values()
    ]


@request("setExceptionBreakpoints", capability="supportsExceptionFilterOptions", while_running="answer")
def set_exception_breakpoints(
    session: Session, arguments: SetExceptionBreakpointsArguments
) -> SetBreakpointsResponseBody:
    """Switch on exactly these filters."""
    asked: list[tuple[str, str | None]] = [(name, None) for name in arguments.filters]
    asked += [(option.filterId, option.condition) for option in arguments.filterOptions or ()]
    session.feature(ExceptionFilters).wanted = {name: condition for name, condition in asked if name in FILTERS}
    session.feature(ExceptionFilters).apply(session)
    return SetBreakpointsResponseBody(breakpoints=[_answer(session, name) for name, _ in asked])


def _answer(session: Session, name: str) -> Breakpoint:
    if name not in FILTERS:
        return Breakpoint(verified=False, message=f"there is no filter {name!r}", reason="failed")
    if FILTERS[name].needs_reference and session.has_program and session.debugger.reference is None:
        message = "nothing to compare with; set `reference` in the launch configuration"
        return Breakpoint(verified=False, message=message, reason="failed")
    if FILTERS[name].needs_lockstep and session.has_program and not session.debugger.machine.backend.compares:
        message = 'nothing to compare with; set `backend` to "lockstep" in the launch configuration'
        return Breakpoint(verified=False, message=message, reason="failed")
    return Breakpoint(verified=True)


@request("exceptionInfo", capability="supportsExceptionInfoRequest")
def exception_info(session: Session, arguments: ExceptionInfoArguments) -> ExceptionInfoResponseBody:
    """The finding of the last stop."""
    finding = session.debugger.last_stop.finding
    if finding is None:
        raise TdbError("the program has not stopped because of an exception")
    return ExceptionInfoResponseBody(
        exceptionId=finding.filter,
        description=finding.text,
        breakMode="always",
        details=ExceptionDetails(
            message=finding.title, typeName=finding.filter, stackTrace="\n".join(finding.details) or None
        ),
    )
