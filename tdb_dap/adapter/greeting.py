"""Coming and going: initialize, cancel, disconnect. They are answered before anything large is imported."""

from __future__ import annotations

import sys
import threading
from typing import Any

from tdb_dap.adapter.areas import load_ahead
from tdb_dap.adapter.protocol.capabilities_generated import CAPABILITIES
from tdb_dap.adapter.protocol.types import CancelArguments, DisconnectArguments, InitializeRequestArguments
from tdb_dap.adapter.session.client_info import Traits
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.session import Request, Session
from tdb_dap.system.localisation import localised_capabilities


@request("initialize")
def initialize(session: Session, arguments: InitializeRequestArguments) -> dict[str, Any]:
    """Learn what the client can do; the answer is the set of what this adapter can do."""
    session.traits = Traits.of(arguments)
    session.configured = session.has_program and session.configured  # a client that starts over configures again
    session.after(load_ahead)
    made: dict[str, Any] = localised_capabilities(CAPABILITIES, session.traits.locale)
    return made


_PATIENCE = 2.0
"""Seconds that a busy session is given to answer ``disconnect`` before the connection is closed."""


def _leave(session: Session, request: Request) -> None:
    """End what is in progress; if that takes too long, answer from here."""
    session.withdrawn.set()
    if sys.platform == "emscripten":  # has no threads; whoever has started the worker ends it
        return
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
