"""Loading a program into a session: files, listener, breakpoints, sanitizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.protocol.model import plain
from tdb_dap.adapter.protocol.types import BreakpointEventBody
from tdb_dap.adapter.requests.breakpoints import BreakpointTable, describe
from tdb_dap.adapter.requests.exception_breakpoints import ExceptionFilters
from tdb_dap.adapter.requests.sanitizers import Sanitizing
from tdb_dap.adapter.requests.sources import mlir_place
from tdb_dap.adapter.requests.stopped_event import stopped
from tdb_dap.adapter.requests.variable_nodes import logged
from tdb_dap.adapter.session.answering import Answering
from tdb_dap.adapter.session.launch_configuration import Configuration, validated
from tdb_dap.adapter.session.progress import Progress
from tdb_dap.adapter.session.verdicts import missing_for_verdicts
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.breakpoints import Breakpoint
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.logpoints import Message
    from tdb_dap.engine.program.program import Program

_MOST_WEIGHTS = 5
"""Wrong weights of a language model that are reported when it is loaded."""

_NEED_HISTORY = ("supportsStepBack", "supportsRestartFrame")
"""Capabilities that go when nothing is kept for going back."""


class _ToClient(Listener):
    """Passes on to a client the notifications of its debugger."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def log_point(self, message: Message, breakpoint: Breakpoint) -> None:
        """Send the text of a log point, with its line and its tensors."""
        session = self._session
        where: dict[str, Any] = {}
        if breakpoint.line is not None and breakpoint.text.startswith("mlir:"):
            source, line = mlir_place(session, breakpoint.line)
            where = {"source": plain(source), "line": line} if source is not None else {}
        if any(value.shape for value in message.values):
            where["variablesReference"] = session.handles.add_logged(logged(session, message))
        session.output(message.text, **where)

    def note(self, text: str) -> None:
        self._session.output(text, "important")

    def between_commands(self) -> None:
        for act in tuple(self._session.between_commands):
            act()


def load_again(session: Session, changes: Mapping[str, Any]) -> None:
    """Load the files as they are now, with changes of the configuration; when this is answered, stop at the start."""
    given = session.configuration.model_dump(by_alias=True, exclude_unset=True)
    changed = read_configuration(session, type(session.configuration), {**given, **changes})
    debugger = open_program(session, changed)
    console = [
        (b.text, b.condition) for b in session.debugger.breakpoints if session.feature(BreakpointTable).id_of(b) is None
    ]
    take_over(session, debugger, changed)
    for text, condition in console:
        debugger.breakpoints.add(text, condition)
    session.configuration = changed
    session.after(lambda: session.event("continued", {"threadId": 1, "allThreadsContinued": True}))
    session.after(lambda: stopped(session, debugger.last_stop))


def read_configuration(session: Session, model: type[Configuration], arguments: Mapping[str, Any]) -> Configuration:
    """The launch configuration in ``arguments``; unknown keys are reported to the user."""
    return validated(model, arguments, lambda text: session.output(text, "important"))


def open_program(session: Session, configuration: Configuration) -> Debugger:
    """Load program, inputs and reference; shows progress, and stops loading where the client cancels."""
    from tdb_dap.engine.reference.reference import Tolerance as EngineTolerance
    from tdb_dap.tools.opening import open_debugger
    from tdb_dap.tools.profile.measured import measured_times

    title = session.traits.localised("Loading {}", Path(configuration.program).name)
    progress = Progress(session.event, title, 0) if session.traits.progress else None

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
    session.feature(Answering).begin(None)
    try:
        if configuration.prompt is not None:
            loading("reading the model")
            return _answering(session, configuration, DEFAULT_LIMIT if limit is None else limit)
        if configuration.pipeline is not None:
            loading("reading the model")
            return _in_order(configuration, DEFAULT_LIMIT if limit is None else limit)
        debugger = open_debugger(
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
            recording=configuration.recording,
        )
        reference = debugger.reference
        if reference is not None and (doubt := reference.doubt(debugger.machine)):
            debugger.withhold_reference(doubt)
        if configuration.measured is not None:
            measured_times(debugger.program, Path(configuration.measured))  # what is wrong with it is said at once
        return debugger
    finally:
        if progress:
            progress.end()


def _answering(session: Session, configuration: Configuration, history_limit: int) -> Debugger:
    """A language model before it answers a prompt; BadInput for settings that such a run has not."""
    from tdb_dap.engine.checks.reference_checks import MISMATCH
    from tdb_dap.tools.float_model.model import FloatModel
    from tdb_dap.tools.llm.adapter import Adapter
    from tdb_dap.tools.llm.judging.float_reference import FloatReference
    from tdb_dap.tools.llm.language_model import read_model
    from tdb_dap.tools.llm.opening import open_model
    from tdb_dap.tools.llm.pictures.reading import read_picture
    from tdb_dap.tools.llm.sampling import parse
    from tdb_dap.tools.llm.sources import weights_report
    from tdb_dap.tools.llm.words import prompt_ids

    of = configuration
    _require_none(of, "prompt", ("inputs", "recording", "net", "pipeline"))
    model = read_model(Path(of.program))
    assert of.prompt is not None
    references = of.reference if isinstance(of.reference, list) else [of.reference] if of.reference else []
    if len(references) > 1:
        raise BadInput("reference: with prompt it is one folder, that of the model before conversion")
    folder = model.context.bmodel.parent
    image, embeds = (Path(given).expanduser() if given is not None else None for given in (of.image, of.embeds))
    ids = prompt_ids(of.prompt, folder, of.chat, image is not None or embeds is not None)
    reference = Path(references[0]).expanduser() if references else None
    prompt, pictures = read_picture(model, ids, image, embeds, reference)
    adapter = Adapter(Path(of.lora).expanduser()) if of.lora is not None else None
    pairs = adapter.pairs if adapter is not None else {}
    float_model = FloatModel(reference, pairs, model.room) if reference is not None else None
    sampling = parse(of.sample) if of.sample is not None else None
    debugger = open_model(model, prompt, of.tokens, (), history_limit, sampling, adapter, pictures)
    report = weights_report(model, float_model) if float_model is not None else None
    for fault in report.faults[:_MOST_WEIGHTS] if report is not None else ():
        notice(f"wrong weight: {fault.tensor} in {fault.net}: {fault.summary}")
    filters = session.feature(ExceptionFilters)

    def stops() -> bool:
        return MISMATCH in filters.in_force(session)

    watch = FloatReference(debugger.program, model, prompt, (), float_model, stops, report, pictures)
    debugger.observers.append(watch)
    session.feature(Answering).begin(watch, [folder, *([float_model.folder] if float_model is not None else [])])
    return debugger


def _in_order(configuration: Configuration, history_limit: int) -> Debugger:
    """Several nets in the order of a file; BadInput for settings that such a run has not."""
    from tdb_dap.tools.llm.opening import open_pipeline

    assert configuration.pipeline is not None
    _require_none(configuration, "pipeline", ("inputs", "reference", "recording", "net"))
    return open_pipeline(Path(configuration.program), Path(configuration.pipeline).expanduser(), history_limit)


def _require_none(configuration: Configuration, option: str, others: Sequence[str]) -> None:
    """BadInput where one of the other settings is given, which are about single nets."""
    given = [name for name in others if getattr(configuration, name) is not None]
    given += ["backend"] if configuration.backend != "numpy" else []
    if given:
        raise BadInput(f"{', '.join(given)}: not with {option}; leave {'it' if len(given) == 1 else 'them'} out")


def take_over(session: Session, debugger: Debugger, configuration: Configuration) -> None:
    """Make a loaded program the session's, and place the breakpoints that are waiting for it."""
    from tdb_dap.engine.control.plugin_observers import add_observers
    from tdb_dap.tools.llm.language_model import is_language_model
    from tdb_dap.tools.programs import remark_sources

    session.load(debugger)
    debugger.inspector.excepted = frozenset(configuration.except_)
    debugger.listener = _ToClient(session)
    add_observers(debugger)
    session.feature(Sanitizing).begin(configuration.sanitizers)
    session.feature(ExceptionFilters).apply(session)
    for placed in session.feature(BreakpointTable).place_all(session):
        session.event("breakpoint", BreakpointEventBody(reason="changed", breakpoint=describe(session, placed)))
    if not debugger.machine.keeps_history:
        session.event("capabilities", {"capabilities": dict.fromkeys(_NEED_HISTORY, False)})
    program = debugger.program
    remark_sources(program)
    say = session.traits.localised
    counts = (counted(len(program.commands), "command"), _parts(program), counted(program.core_count, "core"))
    session.output(say("{}, {}: {}, {}, {}.", program.chip, program.context.bmodel.name, *map(say, counts)))
    if configuration.net is None and not program.launches and is_language_model(net.name for net in program.nets):
        session.output(
            f"This is net {program.net.name} of a language model: set `prompt` (--prompt, --ids) to run all its nets "
            "as one program.",
            "important",
        )
    if debugger.withheld:
        missing = missing_for_verdicts(session)
        session.output(f"{missing[0].upper()}{missing[1:]}.", "important")
    elif program.inputs and not debugger.machine.inputs and not program.brings_inputs:
        session.output("No inputs are given: all inputs are zero. reload input FILE gives them.", "important")
    for subnet in program.subnets:
        is_known = subnet.run_mode in ("TPU_STATIC", "CPU", "SWITCH", "MERGE") or program.is_computed(subnet)
        if not is_known and subnet.stop > subnet.start:
            origins = " or ".join(source.title for source in debugger.machine.sources)
            what = f"its outputs will be taken from {origins}" if origins else "the run will stop there"
            session.output(f"Subnet {subnet.id} is dynamic, its commands are made while it runs: {what}.", "important")


def _parts(program: Program) -> str:
    """``2 subnets``, or ``10 launches`` of a recording."""
    count = len(program.launches)
    return f"{count:,} launch{'es' * (count != 1)}" if count else counted(len(program.subnets), "subnet")
