"""Threads and call stacks: a thread is a core, a stack is one command seen from every level of the compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from tdb_dap.adapter.protocol.types import (
    Source,
    StackFrame,
    StackFrameFormat,
    StackTraceArguments,
    StackTraceResponseBody,
    Thread,
    ThreadsResponseBody,
)
from tdb_dap.adapter.requests.modules import module_id
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.sources import has_mlir, listing_source, mlir_place
from tdb_dap.adapter.requests.stopped_event import core_of, focus_of, thread_id
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.handles import Frame, Level
from tdb_dap.adapter.session.references import instruction_reference
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program, Subnet
    from tdb_dap.engine.source.compile_stages import Stage
    from tdb_dap.engine.source.mlir_file import MlirOp
    from tdb_dap.engine.source.source_map import OpRecord


_HINTS: dict[Level, Literal["label", "subtle"]] = {"location": "label", "origin": "subtle"}


@request("threads", while_running="answer")
def threads(session: Session) -> ThreadsResponseBody:
    """One thread for each core."""
    cores = session.debugger.program.core_count if session.has_program else 1
    name = session.traits.localised
    return ThreadsResponseBody(
        threads=[Thread(id=thread_id(core), name=name("core {}", core)) for core in range(cores)]
    )


@request("stackTrace", capability="supportsDelayedStackTraceLoading")
def stack_trace(session: Session, arguments: StackTraceArguments) -> StackTraceResponseBody:
    """Command, op, group, function, main, as a label the layer, and the op in the files of earlier compiler stages.

    The op comes before the command unless the user steps by instruction, so that editors go to the line of final.mlir.
    """
    core = core_of(arguments.threadId)
    if not 0 <= core < session.debugger.program.core_count:
        raise TdbError(f"there is no thread {arguments.threadId}")
    shown = [_formatted(session, frame, arguments.format) for frame in frames(session, core)]
    start = arguments.startFrame or 0
    stop = start + arguments.levels if arguments.levels else len(shown)
    return StackTraceResponseBody(stackFrames=shown[start:stop], totalFrames=len(shown))


_LETTERS, _FEWEST = 35, 16
"""Of a row of the call stack, more do not fit a side bar of usual width; of a name in it at least."""


def _formatted(session: Session, frame: StackFrame, wanted: StackFrameFormat | None) -> StackFrame:
    """The frame's name with what the client asks for besides: module, operands, line.

    Without a format, names of layers are elided: clients cut off the end of a row, which is what tells them apart.
    """
    if wanted is None:
        source, focus = session.debugger.program.source, session.handles.frame(frame.id).focus
        line = source.line_of(focus)
        words = frame.name.split(" ")
        room = max(_FEWEST, _LETTERS - len(words[0]) - 1)
        frame.name = " ".join([words[0], *(source.label_of(word, line, room) for word in words[1:])])
        return frame
    known = session.handles.frame(frame.id)
    everything = wanted.includeAll
    name = frame.name
    if (wanted.module or everything) and frame.moduleId is not None:
        name = f"{frame.moduleId}!{name}"
    if (wanted.parameters or everything) and known.level in ("command", "op"):
        name += f"({', '.join(_parameters(session, known, wanted))})"
    if (wanted.line or everything) and frame.line:
        name += f" line {frame.line}"
    frame.name = name
    return frame


def _parameters(session: Session, frame: Frame, wanted: StackFrameFormat) -> list[str]:
    parameters: list[str] = []
    for value in names_at(session, frame).operands():
        parts = [value.title] if wanted.parameterNames is not False else []
        if wanted.parameterTypes or wanted.includeAll:
            parts.append(f"{value.dtype_name}[{','.join(map(str, value.shape))}]")
        if wanted.parameterValues or wanted.includeAll:
            parts.append(f"= {value.hex_text() if wanted.hex else value.text()}")
        parameters.append(" ".join(parts))
    return parameters


def frames(session: Session, core: int) -> Iterator[StackFrame]:
    """The call stack of a core, innermost frame first."""
    program = session.debugger.program
    focus = focus_of(session, core)
    records = program.source.records_of(focus)
    record = records[0] if records else None
    listing = listing_source(session)
    file: Source | Literal["final.mlir"] | None = "final.mlir" if has_mlir(session) else None
    line_out = session.traits.line_out

    module = module_id(program.commands[focus].subnet) if focus < len(program.commands) else "model"

    def frame(
        level: Level, name: str, source: Source | Literal["final.mlir"] | None = None, line: int = 0
    ) -> StackFrame:
        id = session.handles.add_frame(Frame(level, core, focus, _names_line(program, level, line)))
        located = source is not None and line > 0
        place = mlir_place(session, line) if source == "final.mlir" else (source, line_out(line))
        return StackFrame(
            id=id,
            name=name,
            source=place[0] if located else None,
            line=place[1] if located else 0,
            column=session.traits.first_column if located else 0,
            presentationHint=_HINTS.get(level),
            moduleId=module,
            canRestart=level not in ("location", "origin") and session.debugger.machine.keeps_history,
        )

    if focus < len(program.commands):
        command = program.commands[focus]
        innermost = [frame("command", f"{command.name} {command.token}", listing, program.listing.line_of(focus))]
        if record is not None:
            innermost.append(frame("op", op_name(record), file, record.line))
            if file is not None and not session.by_instruction:
                innermost.reverse()  # clients show the place of the first frame
        for level in innermost:
            level.instructionPointerReference = instruction_reference(core, focus)
            yield level
        if record is not None and (group := _group(program, record)) is not None:
            yield frame("group", f"{group.name} {record.slice_text}".strip(), file, group.line)
        subnet = next((s for s in program.subnets if s.id == command.subnet), None)
        launch = program.launch_at(focus)
        is_known = subnet is not None and (launch is None or _function_line(program, subnet.function) > 0)
        if subnet is not None and is_known:
            origins = " or ".join(source.title for source in session.debugger.machine.sources)
            origin = f", outputs from {origins}" if command.engine == "dynamic" and origins else ""
            name = f"{subnet.function} ({subnet.run_mode}{origin})" if launch is None else subnet.function
            # Without final.mlir the listing has each subnet under a title, below the model's.
            title = program.listing.line_of(subnet.start) - 1
            yield frame("subnet", name, file or listing, _function_line(program, subnet.function) if file else title)
        if launch is not None and subnet is not None:
            name = launch.title if launch.token is None else launch.net
            yield frame("launch", name, listing, program.listing.line_of(subnet.start) - 1)
            if launch.token is not None:
                yield frame("token", f"token {launch.token}", listing, _line_of_token(program, launch.token))
        yield frame("main", "main", file or listing, _call_line(program, subnet) if file else 1)
        if record is not None and record.results:
            yield frame("location", f"layer {', '.join(v.name for v in record.results)}")
            for stage, op in _origins(program, record):
                source = Source(name=stage.path.name, path=session.traits.path_out(stage.path))
                yield frame(
                    "origin",
                    f"{op.name} ({stage.title}{', changed since' if stage.is_changed else ''})",
                    source,
                    op.line,
                )
    else:
        line = program.source.mlir.last_line_of_main if program.source.mlir is not None else None
        if line is None:
            yield frame("main", "main (finished)", listing, program.listing.line_count)
        else:
            yield frame("main", "main (finished)", file, line)


def _names_line(program: Program, level: Level, line: int) -> int | None:
    """Line at which a frame's value ids are looked up: in the body of its function; in a group as its op sees them."""
    if level not in ("subnet", "main") or not line or program.source.mlir is None:
        return None
    return line + 1 if program.source.mlir.op_at(line) is None else line  # the head of a function is outside of it


def _origins(program: Program, record: OpRecord) -> Iterator[tuple[Stage, MlirOp]]:
    """The op in the files of the compilation before final.mlir, where they are there."""
    op = program.source.op_of(record)
    if op is not None:
        yield from program.compile_stages.places(op)


def op_name(record: OpRecord) -> str:
    """``tpu.Conv2D relu4_Relu h[0:16]``; of a recording it says where it is not certain that this is the op."""
    doubt = "" if record.is_certain else "(not certain)"
    return " ".join(filter(None, [record.opcode, name_of(record), record.slice_text, doubt]))


def _group(program: Program, record: OpRecord) -> MlirOp | None:
    """The operation whose region the op is in."""
    op = program.source.op_of(record)
    return program.source.op_at(op.group_line) if op and op.group_line else None


def _function_line(program: Program, name: str) -> int:
    function = program.source.mlir.function_named(name) if program.source.mlir else None
    return function.line if function else 0


def _line_of_token(program: Program, token: int) -> int:
    """The line of the listing at which the launches for a token begin."""
    first = next(launch for launch in program.launches if launch.token == token)
    return program.listing.line_of(first.start) - 1


def _call_line(program: Program, subnet: Subnet | None) -> int:
    """The line of main that calls the subnet's function."""
    mlir = program.source.mlir
    if mlir is None:
        return 0
    called = f"@{subnet.function}(" if subnet else ""
    for op in mlir.ops.values():
        if called and op.name in ("call", "func.call") and called in op.text:
            return op.line
    return _function_line(program, "main")
