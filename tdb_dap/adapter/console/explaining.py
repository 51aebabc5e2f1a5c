"""Console verbs that put the model into words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import verb
from tdb_dap.engine.control.breakpoint_specs import COMMAND, commands_named
from tdb_dap.engine.program.op_lookup import records_named
from tdb_dap.errors import BadExpression, BadInput

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session


@verb(
    "explain",
    usage="[LINE | LOCATION | B12]",
    help="explain an op through all levels of compilation, or a command; by default the command in focus",
)
def _explain(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.tools.explain.command import explain_command
    from tdb_dap.tools.explain.op import explain_op

    program = session.debugger.program
    if not rest:
        if not len(program.commands):
            raise BadExpression("the model has no commands; explain LINE explains an op")
        focus = frame.focus if frame is not None else session.debugger.last_stop.focus
        return "\n".join(explain_command(program, min(focus, len(program.commands) - 1)))
    if re.fullmatch(COMMAND, rest):
        return "\n\n".join("\n".join(explain_command(program, n)) for n in commands_named(program, rest))
    try:
        lines = {record.line for record in records_named(program.source, rest)}
    except BadInput as error:
        raise BadExpression(str(error)) from None
    return "\n".join(text for line in sorted(lines) for text in explain_op(program, line))


@verb("profile", usage="[all]", help="estimate times: engines, ops by share, memory in use")
def _profile(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.tools.profile.profiling import Profile
    from tdb_dap.tools.profile.report import report_of
    from tdb_dap.tools.profile.text import lines

    report = report_of(Profile(session.debugger.program))
    return "\n".join(lines(report, limit=None if rest == "all" else 20))
