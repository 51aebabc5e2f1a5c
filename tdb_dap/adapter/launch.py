"""Launch and attach: what happens from the launch configuration to the first stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.console.verbs import execute
from tdb_dap.adapter.requests.exception_breakpoints import ExceptionFilters
from tdb_dap.adapter.requests.loading import open_program, read_configuration, take_over
from tdb_dap.adapter.requests.sanitizers import Sanitizing, announce
from tdb_dap.adapter.requests.stepping import run
from tdb_dap.adapter.requests.stopped_event import end, thread_id
from tdb_dap.adapter.session.handlers import DEFERRED, request
from tdb_dap.adapter.session.launch_configuration import (
    AttachArguments,
    Configuration,
    LaunchArguments,
    files_of,
)
from tdb_dap.adapter.session.session import Body, Session
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


@request("launch")
def launch(session: Session, arguments: Mapping[str, Any]) -> Body:
    """Load the program; answered when the client has set its breakpoints. Through a port it needs the token."""
    session.admit(arguments.get("token"))
    return _launch(session, LaunchArguments, arguments)


@request("attach")
def attach(session: Session, arguments: Mapping[str, Any]) -> Body:
    """As launch, to an adapter that listens on a port."""
    session.admit(arguments.get("token"))
    return _launch(session, AttachArguments, arguments)


def _launch(session: Session, model: type[Configuration], arguments: Mapping[str, Any]) -> Body:
    if session.has_program:
        raise TdbError("a program is loaded already; disconnect first")
    session.ended = False
    try:
        configuration = read_configuration(session, model, arguments)
        debugger = open_program(session, configuration)
    except Exception:
        session.after(lambda: end(session, 2))
        raise
    session.configuration = configuration
    take_over(session, debugger, configuration)
    session.event("initialized")
    if session.configured:
        session.after(lambda: start(session, session.debugger))
        return None
    session.waiting = session.request
    return DEFERRED


def begin(session: Session) -> None:
    """Configuration is done: answer the launch that waits for it, and start."""
    if session.waiting is not None and session.has_program:
        request, session.waiting = session.waiting, None
        session.respond(request)
        start(session, session.debugger)


def start(session: Session, debugger: Debugger) -> None:
    """Stop on entry, or run to the first stop."""
    configuration = session.configuration
    for core in range(debugger.program.core_count):
        session.event("thread", {"reason": "started", "threadId": thread_id(core)})
    _run_commands(session, configuration.commands)
    if not session.has_program:
        return
    no_debug = configuration.without_debugging
    if no_debug:
        debugger.breakpoints.clear()
        debugger.set_checks({})
        session.feature(Sanitizing).forget()
    announce(session)
    if configuration.stopOnEntry and not no_debug:
        run(session, debugger, lambda d: d.begin())
        return
    run(session, debugger, lambda d: d.run(), configuration.stopOnExit and not no_debug)


def reload(session: Session, arguments: Mapping[str, Any] | None) -> None:
    """Back to the first command; load again where ``arguments`` name other files."""
    configuration = session.configuration
    if arguments:
        changed = read_configuration(session, type(configuration), arguments)
        if files_of(changed) != files_of(configuration):
            debugger = open_program(session, changed)
            take_over(session, debugger, changed)
        configuration = session.configuration = changed
        session.feature(Sanitizing).begin(changed.sanitizers)
        session.feature(ExceptionFilters).apply(session)
    debugger = session.debugger
    debugger.restart()
    session.handles.clear()
    session.after(lambda: start(session, debugger))


def _run_commands(session: Session, commands: list[str]) -> None:
    """Console commands of the launch configuration; one that fails is reported and the rest goes on."""
    if not commands:
        return
    for text in commands:
        try:
            session.output(f"> {text}\n{session.traits.localised(execute(session, text))}")
        except TdbError as error:
            session.output(f"> {text}\n{session.traits.localised(str(error))}", "stderr")
