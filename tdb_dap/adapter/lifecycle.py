"""Coming and going: initialize, configurationDone, restart, terminate, disconnect, cancel."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from typing import Any

from tdb_dap.adapter.launch import begin, reload
from tdb_dap.adapter.protocol.types import (
    CancelArguments,
    DisconnectArguments,
    InitializeRequestArguments,
    TerminateArguments,
)
from tdb_dap.adapter.requests.stopped_event import end
from tdb_dap.adapter.session.client_info import Traits
from tdb_dap.adapter.session.handlers import capabilities, request
from tdb_dap.adapter.session.session import Request, Session
from tdb_dap.errors import BadInput


@request("initialize")
def initialize(session: Session, arguments: InitializeRequestArguments) -> dict[str, Any]:
    """Learn what the client can do; the answer is the set of what this adapter can do."""
    session.traits = Traits.of(arguments)
    session.configured = session.has_program and session.configured  # a client that starts over configures again
    session.after(lambda: threading.Thread(target=_warm_up, daemon=True).start())
    return capabilities()


def _warm_up() -> None:
    """Import what launching needs while the client still talks."""
    importlib.import_module("tdb_dap.tools.opening")


@request("configurationDone", capability="supportsConfigurationDoneRequest")
def configuration_done(session: Session) -> None:
    """Breakpoints are set: answer the launch and start."""
    session.configured = True
    session.after(lambda: begin(session))


@request("restart", capability="supportsRestartRequest", while_running="wait")
def restart(session: Session, arguments: Mapping[str, Any]) -> None:
    """Back to the first command, or a new load where the launch configuration has changed."""
    changed = arguments.get("arguments")
    if changed is not None and not isinstance(changed, Mapping):
        raise BadInput(f"restart: arguments must be a launch configuration, not {type(changed).__name__}")
    reload(session, changed)


@request("terminate", capability="supportsTerminateRequest", while_running="wait")
def terminate(session: Session, arguments: TerminateArguments) -> None:
    """End the program; the client disconnects afterwards."""
    session.after(lambda: end(session, 0))


_PATIENCE = 2.0
"""Seconds that a busy session is given to answer ``disconnect`` before the connection is closed."""


def _leave(session: Session, request: Request) -> None:
    """End what is in progress; if that takes too long, answer from here."""
    session.withdrawn.set()
    threading.Thread(target=_watch_departure, args=(session, request), daemon=True).start()


def _watch_departure(session: Session, request: Request) -> None:
    if not session.over.wait(_PATIENCE):
        session.respond(request)
        session.hang_up()
        session.abandon()


@request("disconnect", while_running="wait", arrival=_leave)
def disconnect(session: Session, arguments: DisconnectArguments) -> None:
    """End the session."""
    session.unload()
    session.after(session.over.set)


def _withdraw(session: Session, request: Request) -> None:
    """Mark a request as cancelled before its turn comes, or end the work that a progress bar shows.

    Only one that has been sent: what comes later is not to be cancelled by a number.
    """
    target = request.arguments.get("requestId")
    if isinstance(target, int) and target < request.seq:
        session.cancelled.add(target)
    if request.arguments.get("progressId") is not None:
        session.give_up()


@request("cancel", capability="supportsCancelRequest", while_running="answer", arrival=_withdraw)
def cancel(session: Session, arguments: CancelArguments) -> None:
    """All is done on arrival; the cancelled request is answered on its own."""
