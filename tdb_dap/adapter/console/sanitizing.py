"""The console verb ``sanitize``: a whole run with sanitizers, from the moment that the session is at and back to it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import verb
from tdb_dap.adapter.requests.sanitizers import Sanitizing
from tdb_dap.adapter.session.passing import passing
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session


@verb(
    "sanitize",
    usage="[NAME ...]",
    help='run everything with sanitizers: all, hazard, "saturate: 5%" ...; then come back',
)
def _sanitize(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.engine.sanitizers.survey import survey
    from tdb_dap.tools.sanitize.report import report_of
    from tdb_dap.tools.sanitize.text import lines

    debugger = session.debugger
    try:
        wanted = chosen(shlex.split(rest) or ["all"])
    except ValueError as error:
        raise BadExpression(f"sanitize: {error}") from None
    with passing(session, "Sanitizing") as progress:
        result = survey(debugger, made(wanted), progress)
    for finding in result.findings:
        session.feature(Sanitizing).note(finding)
    report = list(lines(report_of(debugger.program, wanted, result)))
    return "\n".join([*report, *([f"the run stopped: {result.stopped}"] if result.stopped else [])])
