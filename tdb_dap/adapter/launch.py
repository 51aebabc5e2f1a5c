"""Loading a program: what happens from the launch configuration to the first stop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.protocol.types import BreakpointEventBody
from tdb_dap.adapter.requests.stopped_event import end, thread_id
from tdb_dap.adapter.session.handlers import DEFERRED, Body, request
from tdb_dap.adapter.session.launch_configuration import (
    AttachArguments,
    Configuration,
    LaunchArguments,
    files_of,
    validated,
)
from tdb_dap.adapter.session.progress import Progress
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
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
        configuration = _validated(session, model, arguments)
        debugger = _open(session, configuration)
    except Exception:
        session.after(lambda: end(session, 2))
        raise
    session.configuration = configuration
    _take_over(session, debugger, configuration)
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
    from tdb_dap.adapter.requests.sanitizers import announce
    from tdb_dap.adapter.requests.stopped_event import stopped

    configuration = session.configuration
    for core in range(debugger.program.core_count):
        session.event("thread", {"reason": "started", "threadId": thread_id(core)})
    _run_commands(session, configuration.commands)
    if not session.has_program:
        return
    no_debug = configuration.without_debugging
    if no_debug:
        debugger.breakpoints.clear()
        debugger.set_filters({})
        session.sanitizing.forget()
    announce(session)
    if configuration.stopOnEntry and not no_debug:
        stopped(session, debugger.last_stop)
        return
    session.run(debugger, lambda d: d.run(), configuration.stopOnExit)


def reload(session: Session, arguments: Mapping[str, Any] | None) -> None:
    """Back to the first command; load again where ``arguments`` name other files."""
    configuration = session.configuration
    if arguments:
        changed = _validated(session, type(configuration), arguments)
        if files_of(changed) != files_of(configuration):
            debugger = _open(session, changed)
            _take_over(session, debugger, changed)
        configuration = session.configuration = changed
        session.sanitizing.begin(changed.sanitizers)
        session.exceptions.apply(session)
    debugger = session.debugger
    debugger.restart()
    session.handles.clear()
    session.after(lambda: start(session, debugger))


def load_again(session: Session, changes: Mapping[str, Any]) -> None:
    """Load the files as they are now, with changes of the configuration; when this is answered, stop at the start."""
    from tdb_dap.adapter.requests.stopped_event import stopped

    given = session.configuration.model_dump(by_alias=True, exclude_unset=True)
    changed = _validated(session, type(session.configuration), {**given, **changes})
    debugger = _open(session, changed)
    console = [(b.text, b.condition) for b in session.debugger.breakpoints if session.breakpoints.id_of(b) is None]
    _take_over(session, debugger, changed)
    for text, condition in console:
        debugger.breakpoints.add(text, condition)
    session.configuration = changed
    session.after(lambda: session.event("continued", {"threadId": 1, "allThreadsContinued": True}))
    session.after(lambda: stopped(session, debugger.last_stop))


def _validated(session: Session, model: type[Configuration], arguments: Mapping[str, Any]) -> Configuration:
    return validated(model, arguments, lambda text: session.output(text, "important"))


def _open(session: Session, configuration: Configuration) -> Debugger:
    """Load program, inputs and reference; shows progress, and stops loading where the client cancels."""
    from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
    from tdb_dap.engine.reference.reference import Tolerance as EngineTolerance
    from tdb_dap.tools.opening import open_debugger

    progress = Progress(session, f"Loading {Path(configuration.program).name}", 0) if session.traits.progress else None

    def loading(message: str) -> None:
        session.check_withdrawn()
        if progress:
            progress.update(0, message)

    wanted = configuration.tolerance
    limits: dict[str, float | None] = (
        {"cosine": wanted.cosine, "euclidean": wanted.euclidean, "max_abs": wanted.maxAbs, "ulp": wanted.ulp}
        if wanted
        else {}
    )
    limit = configuration.historyLimit
    try:
        return open_debugger(
            configuration.program,
            configuration.inputs,
            configuration.reference or (),
            configuration.backend,
            progress=loading,
            tolerance=EngineTolerance(**{name: value for name, value in limits.items() if value is not None}),
            history_limit=DEFAULT_LIMIT if limit is None else limit,
            cmodel_path=configuration.cmodelPath,
            net=configuration.net,
            stage=configuration.stage,
            backend_token=configuration.backendToken,
        )
    finally:
        if progress:
            progress.end()


def _take_over(session: Session, debugger: Debugger, configuration: Configuration) -> None:
    """Make a loaded program the session's, and place the breakpoints that are waiting for it."""
    from tdb_dap.adapter.requests.breakpoints import describe
    from tdb_dap.engine.control.plugin_observers import add_observers

    session.load(debugger)
    debugger.excepted = frozenset(configuration.except_)
    debugger.print = session.log_point
    debugger.say = lambda text: session.output(text, "important")
    add_observers(debugger)
    session.sanitizing.begin(configuration.sanitizers)
    session.exceptions.apply(session)
    for placed in session.breakpoints.place_all(session):
        session.event("breakpoint", BreakpointEventBody(reason="changed", breakpoint=describe(session, placed)))
    if not debugger.machine.keeps_history:
        session.event("capabilities", {"capabilities": dict.fromkeys(_NEED_HISTORY, False)})
    program = debugger.program
    session.output(
        f"{program.chip}, {program.context.bmodel.name}: {len(program.commands):,} commands, "
        f"{len(program.subnets)} subnet(s), {program.core_count} core(s)."
    )
    if configuration.inputs is None and program.context.inputs is None:
        session.output(
            "No inputs are given: all inputs are zero. Set `inputs` in the launch configuration.", "important"
        )
    for subnet in program.subnets:
        if subnet.run_mode not in ("TPU_STATIC", "CPU", "SWITCH", "MERGE") and subnet.stop > subnet.start:
            origins = " or ".join(source.origin for source in debugger.machine.sources)
            what = f"its outputs will be taken from {origins}" if origins else "the run will stop there"
            session.output(f"Subnet {subnet.id} is dynamic, its commands are made while it runs: {what}.", "important")


_NEED_HISTORY = ("supportsStepBack", "supportsRestartFrame")
"""Capabilities that go when nothing is kept for going back."""


def _run_commands(session: Session, commands: list[str]) -> None:
    """Console commands of the launch configuration; one that fails is reported and the rest goes on."""
    if not commands:
        return
    from tdb_dap.adapter.console.verbs import execute

    for text in commands:
        try:
            session.output(f"> {text}\n{execute(session, text)}")
        except TdbError as error:
            session.output(f"> {text}\n{error}", "stderr")
