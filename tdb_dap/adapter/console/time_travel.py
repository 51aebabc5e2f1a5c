"""Console verbs of time travel: who wrote what, watches, edits and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.breakpoints import add_breakpoint
from tdb_dap.adapter.console.inspecting import TOPICS, indexed
from tdb_dap.adapter.console.verbs import execute, resume_quietly, verb
from tdb_dap.adapter.requests.provenance import readers, writer_text
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.set_variable import announce, set_part
from tdb_dap.engine.expressions.assignment import Part, part_named
from tdb_dap.engine.machine.provenance import provenance_of, sources_of
from tdb_dap.engine.machine.what_if import change_field, consequences
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session

_MOST_LISTED = 12


@verb(
    "set",
    usage="PLACE = EXPRESSION",
    help="overwrite a tensor, a slice or an element; undo reverts it",
    takes="expression",
)
def _set(session: Session, rest: str, frame: Frame | None) -> str:
    place, equals, text = rest.partition("=")
    if not equals:
        raise BadExpression("write set PLACE = EXPRESSION")
    names = names_at(session, frame)
    set_part(session, part_named(place, names), text, frame)
    return session.debugger.evaluate(place, names).text()


@verb(
    "who",
    usage="EXPRESSION [: LEVELS]",
    help="find the last command that wrote it, and the writers of its operands",
    takes="expression",
)
def _who(session: Session, rest: str, frame: Frame | None) -> str:
    text, depth = rest, 1
    head, colon, tail = rest.rpartition(":")
    if colon and tail.strip().isdigit():
        text, depth = head, int(tail)
    part = part_named(text, names_at(session, frame))
    lines = [f"{part.title} {part.absence}; who wrote what is there now:"] if part.absence else []
    lines += _chain(session, part, None, depth, "")
    reading = readers(session, part.ranges)
    if reading:
        more = ", ..." if len(reading) > _MOST_LISTED else ""
        lines.append(f"read by {', '.join(map(str, reading[:_MOST_LISTED]))}{more}")
    return "\n".join(lines)


def _chain(session: Session, part: Part, before: int | None, depth: int, indent: str) -> list[str]:
    """The writer of a part, and ``depth`` - 1 writers of what each of them read."""
    origin = provenance_of(session.debugger.machine, part.ranges, before)
    if origin is None and before is None:
        return ["no command has written it"]
    lines = [indent + writer_text(session, origin)]
    if origin is None or origin.edit is not None or depth <= 1:
        return lines
    for role, view in sources_of(session.debugger.machine, origin.ordinal):
        source = Part(f"{role} %{view.name}".strip(), view)
        lines.append(f"{indent}  {source.title}: {view.memref}")
        lines += _chain(session, source, origin.ordinal, depth - 1, indent + "    ")
    return lines


@verb(
    "watch",
    "w",
    usage="[EXPRESSION [: read|write|readWrite|change]]",
    help="stop after commands that access it",
    takes="expression",
)
def _watch(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest:
        return execute(session, "info watch", frame)
    text, access = rest, "write"
    head, colon, tail = rest.rpartition(":")
    if colon and tail.strip() in ("read", "write", "readWrite", "change"):
        text, access = head, tail.strip()
    place = part_named(indexed(text.strip()), names_at(session, frame)).ranges
    return add_breakpoint(session, f"data:{place.text}:{access}", temporary=False)


@verb("undo", help="go back to the moment of the last edit, and revert it")
def _undo(session: Session, rest: str, frame: Frame | None) -> str:
    edits = session.debugger.machine.edits
    if not edits:
        raise BadExpression("there is no edit to undo")
    resume_quietly(session, lambda d: d.undo_edit())
    return f"undone: {edits[-1].text}"


@verb("skip", usage="N", help="continue at command N with the memories unchanged")
def _skip(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest.isdigit():
        raise BadExpression("skip takes the number of the command to continue at")
    return resume_quietly(session, lambda d: d.skip_to(int(rest)))


@verb("whatif", usage="[FIELD = NUMBER | N]", help="change the next command; show the effects up to command N")
def _what_if(session: Session, rest: str, frame: Frame | None) -> str:
    field, equals, number = rest.partition("=")
    if equals:
        return _change(session, field.strip(), number.strip(), frame)
    machine = session.debugger.machine
    until = len(machine.program.commands) if not rest else int(rest) if rest.isdigit() else -1
    if not machine.ordinal < until <= len(machine.program.commands):
        raise BadExpression(f"whatif takes FIELD = NUMBER, or the number of a command after {machine.ordinal}")
    try:
        changes = consequences(machine, until)
    finally:
        session.handles.forget_values()
    if not changes:
        return f"no result differs up to command {until}"
    lines = [f"{len(changes)} of {until - machine.ordinal} commands have other results:"]
    for one in changes[:_MOST_LISTED]:
        name = machine.program.commands[one.ordinal].name
        lines.append(
            f"  command {one.ordinal} {name}: {one.different:,} of {one.size:,} differ, by up to {one.largest:.6g}"
        )
    if len(changes) > _MOST_LISTED:
        last = changes[-1]
        lines.append(f"  ... the last: command {last.ordinal}: {last.different:,} differ, by up to {last.largest:.6g}")
    return "\n".join(lines)


def _change(session: Session, field: str, text: str, frame: Frame | None) -> str:
    names = names_at(session, frame)
    try:
        value = int(text, 0)
    except ValueError:
        raise BadExpression(f"{quoted(text)} is not a whole number; fields hold the bits of a command") from None
    machine = session.debugger.machine
    change_field(machine, names.focus, field, value)
    announce(session)
    try:
        now = machine.command_at(names.focus).asm
    except NotSimulated as error:
        now = str(error)
    return f"was {machine.program.commands[names.focus].asm}\nnow {now}"


def _edits(session: Session, rest: str, frame: Frame | None) -> str:
    edits = session.debugger.machine.edits
    return "\n".join(f"at {edit.made_at:5}  {edit.text}" for edit in edits) or "no edits"


TOPICS["edits"] = _edits
