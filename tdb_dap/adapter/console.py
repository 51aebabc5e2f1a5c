"""The console's verbs. Each is a function with a line of help; names that users of the vendor debugger know keep
their meaning. A verb that moves in time does so when its answer is out, like any other request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdb_dap.adapter.contents import names_at
from tdb_dap.engine.stepping import Unit
from tdb_dap.engine.values import SMALL, array_text
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.handles import Frame
    from tdb_dap.adapter.session import Session
    from tdb_dap.engine.debugger import Debugger
    from tdb_dap.engine.stops import Stop

Act = Callable[["Session", str, "Frame | None"], str]


@dataclass(frozen=True)
class Verb:
    """``usage``: how it is written; ``help``: what it does."""

    names: tuple[str, ...]
    usage: str
    help: str
    act: Act


_VERBS: dict[str, Verb] = {}


def verb(*names: str, usage: str = "", help: str) -> Callable[[Act], Act]:
    """Declare a console verb under all its names."""

    def declare(act: Act) -> Act:
        declared = Verb(names, f"{'/'.join(names)} {usage}".strip(), help, act)
        _VERBS.update(dict.fromkeys(names, declared))
        return act

    return declare


def is_verb(text: str) -> bool:
    """Whether a console line begins with a verb rather than being an expression."""
    first, _, rest = text.partition(" ")
    return first in _VERBS and not rest.lstrip().startswith(("=", "["))


def verbs() -> list[Verb]:
    """Every verb once, in the order of declaration."""
    return list(dict.fromkeys(_VERBS.values()))


@contextmanager
def expression_of_console(text: str) -> Iterator[None]:
    """What is neither an expression nor a verb may have been meant as either: the error names both."""
    try:
        yield
    except BadExpression as error:
        first = text.split(maxsplit=1)[0]
        if not first.isalpha():
            raise
        raise BadExpression(f"{error}; nor is {first!r} a verb: help lists them") from None


def execute(session: Session, text: str, frame: Frame | None = None) -> str:
    """Carry out one console line and return what to print; BadExpression if it is no verb."""
    first, _, rest = text.strip().partition(" ")
    if not first:
        return ""
    if first not in _VERBS:
        with expression_of_console(text):
            return session.debugger.evaluate(text, names_at(session, frame)).text()
    return _VERBS[first].act(session, rest.strip(), frame)


@verb("help", "?", usage="[VERB]", help="this list, or one verb")
def _help(session: Session, rest: str, frame: Frame | None) -> str:
    if rest:
        if rest not in _VERBS:
            raise BadExpression(f"there is no verb {rest!r}; help lists them")
        return f"{_VERBS[rest].usage}\n  {_VERBS[rest].help}"
    width = max(len(known.usage) for known in verbs())
    lines = [f"{known.usage:{width}}  {known.help}" for known in verbs()]
    lines.append('Anything else is an expression: %16, in[0], max(abs(out[0] - ref[0])), #loc("x"), R0:f32[64]')
    return "\n".join(lines)


def resume_quietly(
    session: Session, go: Callable[[Debugger], Stop], by_instruction: bool = False, stay: bool = True
) -> str:
    """Run when the answer to the console line is out; the answer is empty."""
    session.after(lambda: session.event("continued", {"threadId": 1, "allThreadsContinued": True}))
    session.resume(go, by_instruction=by_instruction, stay=stay)
    return ""


def _count(rest: str) -> int:
    if not rest:
        return 1
    if not rest.isdigit() or int(rest) < 1:
        raise BadExpression(f"{rest!r} is not a number of steps")
    return int(rest)


@verb("s", "start", help="back to the first command")
def _start(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.restart())


@verb("r", "run", help="from the first command to the next stop or the end")
def _run(session: Session, rest: str, frame: Frame | None) -> str:
    def again(debugger: Debugger) -> Stop:
        debugger.restart()
        return debugger.run()

    return resume_quietly(session, again, stay=session.configuration.stopOnExit)


@verb("c", "continue", help="run to the next stop or the end")
def _continue(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.run(), stay=session.configuration.stopOnExit)


@verb("rc", "reverse-continue", help="back to the previous stop or the start")
def _reverse(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.reverse())


@verb("n", "next", usage="[K|slice|group]", help="K ops on, or to the end of the slice or group")
def _next(session: Session, rest: str, frame: Frame | None) -> str:
    return _step_ops(session, rest, 1)


def _step_ops(session: Session, rest: str, direction: int) -> str:
    units: dict[str, Unit] = {"slice": "slice", "group": "group"}
    unit: Unit = units.get(rest, "op")
    count = direction * (1 if rest in units else _count(rest))
    return resume_quietly(session, lambda d: d.step(count, unit))


@verb("rn", "reverse-next", usage="[K|slice|group]", help="the same, back")
def _previous(session: Session, rest: str, frame: Frame | None) -> str:
    return _step_ops(session, rest, -1)


@verb("si", "stepi", usage="[K]", help="K commands on")
def _step(session: Session, rest: str, frame: Frame | None) -> str:
    count = _count(rest)
    return resume_quietly(session, lambda d: d.step(count), by_instruction=True)


@verb("sb", "reverse-stepi", usage="[K]", help="K commands back")
def _back(session: Session, rest: str, frame: Frame | None) -> str:
    count = _count(rest)
    return resume_quietly(session, lambda d: d.step(-count), by_instruction=True)


@verb("goto", usage="ORDINAL", help="to the moment when so many commands have been executed")
def _goto(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest.isdigit():
        raise BadExpression("goto takes an ordinal, the number of commands executed")
    count = len(session.debugger.program.commands)
    if int(rest) > count:
        raise BadExpression(f"ordinal {rest} is not in this program: 0 to {count}")
    return resume_quietly(session, lambda d: d.travel(int(rest)))


@verb("b", "break", usage="[PLACE]", help="stop at conv.normal, tpu.Load, B23, R4.64, %173, mlir:31 ...; or list all")
def _break(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest:
        return _breakpoints(session)
    return add_breakpoint(session, rest, temporary=False)


@verb("tb", usage="PLACE", help="as b, for one stop only")
def _temporary(session: Session, rest: str, frame: Frame | None) -> str:
    return add_breakpoint(session, rest, temporary=True)


def add_breakpoint(session: Session, text: str, temporary: bool) -> str:
    """Set a breakpoint and say where it came to lie."""
    added = session.debugger.breakpoints.add(text, temporary=temporary)
    places = len(added.stops)
    return added.message or f"breakpoint {added.id}: {text} ({places} place{'s' if places != 1 else ''})"


def _breakpoints(session: Session) -> str:
    lines: list[str] = []
    for b in session.debugger.breakpoints:
        condition = f"  if {b.condition}" if b.condition else ""
        hits = b.hits_until(session.debugger.ordinal)
        lines.append(f"{b.id:3}  {'on ' if b.enabled else 'off'}  {b.text}  hits {hits}{condition}")
    return "\n".join(lines) or "no breakpoints"


def _chosen(session: Session, rest: str) -> list[int]:
    if not rest.replace(",", " ").replace(" ", "").isdigit():
        raise BadExpression("give the numbers of breakpoints; b lists them")
    return [int(number) for number in rest.replace(",", " ").split()]


@verb("delete", usage="N ...", help="remove breakpoints")
def _delete(session: Session, rest: str, frame: Frame | None) -> str:
    for number in _chosen(session, rest):
        session.debugger.breakpoints.remove(session.debugger.breakpoints[number])
    return _breakpoints(session)


@verb("enable", usage="N ...", help="switch breakpoints on")
def _enable(session: Session, rest: str, frame: Frame | None) -> str:
    for number in _chosen(session, rest):
        session.debugger.breakpoints[number].enabled = True
    return _breakpoints(session)


@verb("disable", usage="N ...", help="switch breakpoints off")
def _disable(session: Session, rest: str, frame: Frame | None) -> str:
    for number in _chosen(session, rest):
        session.debugger.breakpoints[number].enabled = False
    return _breakpoints(session)


@verb("info", usage="asm [K] | mlir | loc | reg | mem | b | edits", help="where we are, from every side")
def _info(session: Session, rest: str, frame: Frame | None) -> str:
    topic, _, more = (rest or "asm").partition(" ")
    if topic not in TOPICS:
        raise BadExpression(f"info knows {', '.join(TOPICS)}")
    return TOPICS[topic](session, more.strip(), frame)


def _info_asm(session: Session, rest: str, frame: Frame | None) -> str:
    around = _count(rest) if rest else 5
    names = names_at(session, frame)
    commands = session.debugger.program.commands
    first, last = max(0, names.focus - around), min(len(commands), names.focus + around + 1)
    return "\n".join(f"{'=>' if o == names.focus else '  '} {o:5}  {commands[o].asm}" for o in range(first, last))


def _info_mlir(session: Session, rest: str, frame: Frame | None) -> str:
    record = names_at(session, frame).record
    mlir = session.debugger.program.source.mlir
    if record is None or mlir is None:
        return "this command belongs to no line of final.mlir"
    return f"{record.line}: {mlir.lines[record.line - 1].strip()}"


def _info_loc(session: Session, rest: str, frame: Frame | None) -> str:
    record = names_at(session, frame).record
    if record is None:
        return "this command belongs to no layer"
    return "\n".join(f"{value.name}  {value.type_text}" for value in record.results)


def _info_reg(session: Session, rest: str, frame: Frame | None) -> str:
    command = names_at(session, frame).command
    return "\n".join(f"{name} = {number} ({number:#x})" for name, number in command.fields.items()) if command else ""


def _info_mem(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.adapter.contents import memory_nodes

    return "\n".join(f"{node.name}: {node.value}" for node in memory_nodes(session))


TOPICS: dict[str, Act] = {
    "asm": _info_asm,
    "mlir": _info_mlir,
    "loc": _info_loc,
    "reg": _info_reg,
    "mem": _info_mem,
    "b": lambda session, rest, frame: _breakpoints(session),
}
"""What ``info`` knows."""


@verb("p", "print", usage="EXPRESSION", help="value of an expression, with its numbers if it is small")
def _print(session: Session, rest: str, frame: Frame | None) -> str:
    value = session.debugger.evaluate(rest, names_at(session, frame))
    if SMALL < value.array.size <= 256:
        return f"{value.text()}\n{array_text(value.array)}"
    return value.text()


@verb("x", usage="ADDRESS [COUNT]", help="bytes of memory: x R4.64 32, x G4096")
def _bytes(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.engine.addresses import parse_address

    place, _, count = rest.partition(" ")
    space, start = parse_address(place, session.debugger.program.target.geometry)
    command = names_at(session, frame).command
    size = _count(count.strip()) if count.strip() else 64
    data = session.debugger.memory.read_bytes(space, start, size, command.core if command else 0)
    rows = range(0, len(data), 16)
    return "\n".join(f"{space.value}{start + row:<10} {data[row : row + 16].hex(' ')}" for row in rows)


@verb("q", "quit", help="end the session")
def _quit(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.adapter.stopping import end

    session.after(lambda: end(session, 0))
    return ""
