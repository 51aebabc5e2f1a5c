"""Console verbs that look: where we are, values, bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.breakpoints import listed
from tdb_dap.adapter.console.verbs import Act, count, verb
from tdb_dap.adapter.requests.scopes import memory_nodes, names_at
from tdb_dap.engine.expressions.values import SMALL, array_text
from tdb_dap.engine.hardware.addresses import parse_address
from tdb_dap.engine.rendering.printable import aligned
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session


@verb(
    "info",
    "list",
    "l",
    usage="[asm [K | FROM TO] | mlir | loc | reg | buf | mem | b | watch | display | edits | locals | args | "
    "stack | frame | threads | launches [all] | progress | version]",
    help="show commands, source, registers, memory, breakpoints ...",
    takes="topic",
    only_looks=True,
)
def _info(session: Session, rest: str, frame: Frame | None) -> str:
    topic, _, more = (f"asm {rest}" if rest.isdigit() else rest or "asm").partition(" ")
    if topic not in TOPICS:
        raise BadExpression(f"info knows {', '.join(TOPICS)}")
    return TOPICS[topic](session, more.strip(), frame)


def _info_asm(session: Session, rest: str, frame: Frame | None) -> str:
    names = names_at(session, frame)
    commands = session.debugger.program.commands
    if len(bounds := rest.split()) == 2:
        first, last = (min(count(bound), len(commands)) for bound in bounds)
    else:
        around = count(rest) if rest else 5
        first, last = max(0, names.focus - around), min(len(commands), names.focus + around + 1)
    return "\n".join(f"{'=>' if o == names.focus else '  '} {o:5}  {commands[o].asm}" for o in range(first, last))


def _info_mlir(session: Session, rest: str, frame: Frame | None) -> str:
    record = names_at(session, frame).record
    mlir = session.debugger.program.source.mlir
    if record is None or mlir is None:
        return "this command belongs to no line of final.mlir"
    _, number = mlir.place_of(record.line)
    return f"{number}: {mlir.lines[record.line - 1].strip()}"


def _info_loc(session: Session, rest: str, frame: Frame | None) -> str:
    record = names_at(session, frame).record
    if record is None:
        return "this command belongs to no layer"
    return "\n".join(f"{value.name}  {value.type_text}" for value in record.results)


def _info_reg(session: Session, rest: str, frame: Frame | None) -> str:
    command = names_at(session, frame).command
    return "\n".join(f"{name} = {number} ({number:#x})" for name, number in command.fields.items()) if command else ""


def _info_buf(session: Session, rest: str, frame: Frame | None) -> str:
    command = names_at(session, frame).command
    return command.descriptor.hex(" ", 4) if command else ""


_MOST_LAUNCHES = 40


def _info_launches(session: Session, rest: str, frame: Frame | None) -> str:
    """Those of the token at hand, or of all tokens; of many the ones around the one at hand."""
    program = session.debugger.program
    here = program.launch_at(names_at(session, frame).focus)
    shown = [one for one in program.launches if rest == "all" or here is None or one.token == here.token]
    if rest != "all":
        middle = shown.index(here) if here is not None else len(shown)
        shown = shown[max(0, middle - _MOST_LAUNCHES // 2) :][:_MOST_LAUNCHES]
    rows = [
        (
            "=>" if one == here else "  ",
            str(one.number),
            f"{one.net} ({one.shapes})",
            "" if one.token is None else f"token {one.token}",
            f"{one.start:,} to {one.stop - 1:,}",
        )
        for one in shown
    ]
    left = len(program.launches) - len(shown)
    more = [f"... {left:,} more; info launches all lists them"] if left else []
    return "\n".join([*aligned(rows), *more]) if rows else "this program has no launches"


def _info_watch(session: Session, rest: str, frame: Frame | None) -> str:
    return listed(session, lambda text: text.startswith("data:")) or "no watches"


def _info_mem(session: Session, rest: str, frame: Frame | None) -> str:
    return "\n".join(f"{node.name}: {node.value}" for node in memory_nodes(session))


TOPICS: dict[str, Act] = {
    "asm": _info_asm,
    "mlir": _info_mlir,
    "loc": _info_loc,
    "reg": _info_reg,
    "buf": _info_buf,
    "mem": _info_mem,
    "b": lambda session, rest, frame: listed(session) or "no breakpoints",
    "watch": _info_watch,
    "w": _info_watch,
    "launches": _info_launches,
}
"""What ``info`` knows."""


def indexed(text: str) -> str:
    """``in 0`` as ``in[0]``: how users of the vendor's debugger write it."""
    kind, _, number = text.partition(" ")
    return f"{kind}[{number.strip()}]" if kind in ("in", "out") and number.strip().isdigit() else text


_LISTED = ("in", "out", "next", "op", "pre")


@verb(
    "p",
    "print",
    usage="EXPRESSION | in | out | next | pre",
    help="print the value of an expression, all operands or results, this command or the last one",
    takes="expression",
    only_looks=True,
    opens=lambda rest: "" if rest in _LISTED else indexed(rest),
)
def _print(session: Session, rest: str, frame: Frame | None) -> str:
    names = names_at(session, frame)
    if rest in ("in", "out"):
        values = names.operands() if rest == "in" else names.results()
        return "\n".join(f"{rest}[{i}] {value.title} = {value.text()}" for i, value in enumerate(values)) or "none"
    if rest in _LISTED:
        ordinal = session.debugger.ordinal - (rest == "pre")
        commands = session.debugger.program.commands
        return commands[ordinal].asm if 0 <= ordinal < len(commands) else "there is none"
    value = session.debugger.evaluate(indexed(rest), names)
    if not value.absence and SMALL < value.array.size <= 256:
        return f"{value.text()}\n{array_text(value.array)}"
    return value.text()


@verb("x", usage="ADDRESS [COUNT]", help="print bytes of memory: x R4.64 32, x G4096", only_looks=True)
def _bytes(session: Session, rest: str, frame: Frame | None) -> str:
    place, _, number = rest.partition(" ")
    space, start = parse_address(place, session.debugger.program.target.geometry)
    command = names_at(session, frame).command
    size = count(number.strip()) if number.strip() else 64
    data = session.debugger.machine.memory.read_bytes(space, start, size, command.core if command else 0)
    rows = range(0, len(data), 16)
    return "\n".join(f"{space.value}{start + row:<10} {data[row : row + 16].hex(' ')}" for row in rows)
