"""A program's way from start to end: configurationDone, restart, terminate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdb_dap.adapter.launch import begin, reload
from tdb_dap.adapter.protocol.types import TerminateArguments
from tdb_dap.adapter.requests.stopped_event import end
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.session import Session
from tdb_dap.errors import BadInput


@request("configurationDone", capability="supportsConfigurationDoneRequest")
def configuration_done(session: Session) -> None:
    """Breakpoints are set: answer the launch and start."""
    session.configured = True
    session.after(lambda: begin(session))


@request("restart", capability="supportsRestartRequest", while_running="wait")
def restart(session: Session, arguments: Mapping[str, Any]) -> None:
    """Back to the first command, or a new load where the launch configuration has changed.

    The event ``continued`` ends the stop before: clients go on showing its description otherwise.
    """
    changed = arguments.get("arguments")
    if changed is not None and not isinstance(changed, Mapping):
        raise BadInput(f"restart: arguments must be a launch configuration, not {type(changed).__name__}")
    session.after(lambda: session.event("continued", {"threadId": 1, "allThreadsContinued": True}))
    reload(session, changed)


@request("terminate", capability="supportsTerminateRequest", while_running="wait")
def terminate(session: Session, arguments: TerminateArguments) -> None:
    """End the program; the client disconnects afterwards."""
    session.after(lambda: end(session, 0))
