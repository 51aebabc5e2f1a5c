"""Loading a program: the launch configuration, and what happens from there to the first stop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tdb_dap.adapter.progress import Progress
from tdb_dap.adapter.protocol.types import BreakpointEventBody
from tdb_dap.adapter.registry import DEFERRED, Body, request
from tdb_dap.adapter.stopping import end, thread_id
from tdb_dap.errors import BadExpression, BadInput, TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session import Session
    from tdb_dap.engine.debugger import Debugger


class Tolerance(BaseModel):
    """When a tensor counts as equal to the reference."""

    model_config = ConfigDict(defer_build=True, extra="forbid")

    cosine: float | None = Field(None, ge=0, le=1, description="Least cosine similarity.")
    euclidean: float | None = Field(None, ge=0, le=1, description="Least euclidean similarity.")
    maxAbs: float | None = Field(None, ge=0, description="Largest absolute difference of an element.")
    ulp: int | None = Field(None, ge=0, description="Largest difference of an element in units in the last place.")


class Configuration(BaseModel):
    """What a launch and an attach configuration have in common."""

    model_config = ConfigDict(defer_build=True, extra="allow", populate_by_name=True)

    program: str = Field(
        min_length=1,
        description="The context directory that the compiler left behind (compilation.bmodel, final.mlir, "
        "tensor_location.json), or a .bmodel file.",
    )
    inputs: str | None = Field(
        None,
        description="Input data: an .npz by input name, or raw bytes as the device gets them. Default: "
        "input_ref_data.dat of the context directory, else zeros.",
    )
    reference: str | list[str] | None = Field(
        None,
        description="Expected data: one or several .npz by tensor name, or another context directory, which is run on "
        "the same inputs. Switches comparing on.",
    )
    backend: str = Field(
        "numpy",
        description="Who executes: numpy (the built-in simulator), cmodel (the vendor's library), lockstep (both), "
        "remote:HOST:PORT (what `tdb-dap backends serve` offers there), or a backend that an installed package brings.",
        examples=["numpy", "cmodel", "lockstep", "remote:127.0.0.1:4712"],
    )
    backendToken: str | None = Field(
        None,
        description="The word that a backend elsewhere was started with. Default: TDB_DAP_BACKEND_TOKEN of the "
        "environment.",
    )
    cmodelPath: str | None = Field(
        None, description="The directory of the vendor's libraries. Default: where `tdb-dap backends` finds them."
    )
    net: str | None = Field(None, description="Which net of a file with several. Default: the first.")
    stage: int = Field(0, ge=0, description="Which stage of a net that was compiled for several input shapes.")
    stopOnEntry: bool = Field(True, description="Stop before the first command.")
    stopOnExit: bool = Field(False, description="Stop behind the last command, to look at the outputs.")
    tolerance: Tolerance | None = Field(None, description="When a tensor counts as equal to the reference.")
    historyLimit: int | None = Field(
        None, ge=0, description="Bytes of memory to spend on going back in time without running again."
    )
    threads: Literal["core", "engine"] = Field("core", description="What is shown as a thread.")
    sanitizers: list[str] = Field(
        default_factory=list,
        description="Sanitizers that look along: all, bounds, uninitialized, hazard, decode, unused, nan, inf, "
        'denormal, saturate; with a condition behind a colon ("saturate: 5%", "hazard: conv1*" leaves out that place).',
    )
    except_: list[str] = Field(
        default_factory=list, alias="except", description="Names of tensors that are not compared."
    )
    commands: list[str] = Field(default_factory=list, description="Console commands to run after loading.")
    allowPython: bool = Field(False, description="Let the console command `py` evaluate Python.")


class LaunchArguments(Configuration):
    """A configuration with `"request": "launch"`: the adapter is started for it."""

    noDebug: bool = Field(False, description="Run without breakpoints.")


class AttachArguments(Configuration):
    """A configuration with `"request": "attach"`: the adapter listens already (tdb-dap adapter --listen)."""

    host: str = Field("127.0.0.1", description="Where the adapter listens.")
    port: int | None = Field(None, ge=1, le=65535, description="The port it listens on.")
    token: str | None = Field(None, description="The word it was started with, if any.")


_EDITOR_KEYS = frozenset(
    """type name request preLaunchTask postDebugTask internalConsoleOptions debugServer presentation restart noDebug
    serverReadyAction suppressMultipleSessionWarning console cwd env windows linux osx adapterID order group hidden
    debugAdapter""".split()  # noqa: SIM905
)
"""Keys of a launch configuration that belong to the editor."""


@request("launch")
def launch(session: Session, arguments: Mapping[str, Any]) -> Body:
    """Load the program; answered when the client has set its breakpoints."""
    return _launch(session, LaunchArguments, arguments)


@request("attach")
def attach(session: Session, arguments: Mapping[str, Any]) -> Body:
    """As launch, to an adapter that listens on a port."""
    session.admit(arguments.get("token"))
    return _launch(session, AttachArguments, arguments)


def _launch(session: Session, model: type[Configuration], arguments: Mapping[str, Any]) -> Body:
    if session.has_program:
        raise TdbError("a program is loaded already; disconnect first")
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
    if session.waiting is not None:
        request, session.waiting = session.waiting, None
        session.respond(request)
        start(session, session.debugger)


def start(session: Session, debugger: Debugger) -> None:
    """Stop on entry, or run to the first stop."""
    from tdb_dap.adapter.sanitizing import announce
    from tdb_dap.adapter.stopping import stopped

    configuration = session.configuration
    for core in range(debugger.program.core_count):
        session.event("thread", {"reason": "started", "threadId": thread_id(core)})
    _run_commands(session, configuration.commands)
    if not session.has_program:
        return
    no_debug = isinstance(configuration, LaunchArguments) and configuration.noDebug
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
        if _files(changed) != _files(configuration):
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
    from tdb_dap.adapter.stopping import stopped

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


def _files(configuration: Configuration) -> tuple[object, ...]:
    of = configuration
    return of.program, of.net, of.stage, of.inputs, of.reference, of.backend, of.backendToken, of.cmodelPath


def _validated(session: Session, model: type[Configuration], arguments: Mapping[str, Any]) -> Configuration:
    """The configuration; BadInput names every field that is wrong, and what does not exist yet."""
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        configuration = model.model_validate(given)
    except ValidationError as error:
        raise BadInput(f"launch configuration: {_problems(error)}") from None
    try:
        from tdb_dap.engine.sanitizers import chosen

        chosen(configuration.sanitizers)
    except BadExpression as error:
        raise BadInput(f"launch configuration: sanitizers: {error}") from None
    if configuration.threads != "core":
        raise BadInput('launch configuration: threads: "engine" is not available yet in this version; use "core"')
    from difflib import get_close_matches

    known = [field.alias or name for name, field in model.model_fields.items()]
    for key in configuration.model_extra or {}:
        if key not in _EDITOR_KEYS and not key.startswith("_"):
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            session.output(f"launch configuration: {key!r} is not known and has no effect{hint}", "important")
    return configuration


def _problems(error: ValidationError) -> str:
    parts: list[str] = []
    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"] if part not in ("str", "list[str]"))
        text = "is missing" if problem["type"] == "missing" else problem["msg"].lower()
        if f"{field}: {text}" not in parts:
            parts.append(f"{field}: {text}")
    return "; ".join(parts)


def _open(session: Session, configuration: Configuration) -> Debugger:
    """Load program, inputs and reference; shows progress, and stops loading where the client cancels."""
    from tdb_dap.engine.history import DEFAULT_LIMIT
    from tdb_dap.engine.reference import Tolerance as EngineTolerance
    from tdb_dap.opening import open_debugger

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
    from tdb_dap.adapter.breakpoints import describe
    from tdb_dap.plugins import add_observers

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
        if subnet.run_mode not in ("TPU_STATIC", "CPU") and subnet.stop > subnet.start:
            origins = " or ".join(source.origin for source in debugger.machine.sources)
            what = f"its outputs will be taken from {origins}" if origins else "the run will stop there"
            session.output(f"Subnet {subnet.id} is dynamic, its commands are made while it runs: {what}.", "important")


_NEED_HISTORY = ("supportsStepBack", "supportsRestartFrame")
"""Capabilities that go when nothing is kept for going back."""


def _run_commands(session: Session, commands: list[str]) -> None:
    """Console commands of the launch configuration; one that fails is reported and the rest goes on."""
    if not commands:
        return
    from tdb_dap.adapter.console import execute

    for text in commands:
        try:
            session.output(f"> {text}\n{execute(session, text)}")
        except TdbError as error:
            session.output(f"> {text}\n{error}", "stderr")
