"""Forms of breakpoints: each form turns its text into the stretches of commands it stands for.

Programs are straight lines with static operands, so every form is resolved once, when the breakpoint is set; running
only looks up ordinals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.expressions.lexer import Level
from tdb_dap.engine.hardware import byte_ranges
from tdb_dap.engine.hardware.addresses import ADDRESS, parse_address, whole_number
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression, NotSimulated
from tdb_dap.system import patterns

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.machine.edited_accesses import EditedAccesses
    from tdb_dap.engine.program.accesses import Accesses
    from tdb_dap.engine.program.program import Launch, Program
    from tdb_dap.engine.source.mlir_file import SourceFile
    from tdb_dap.engine.source.source_map import OpRecord

Span = tuple[int, int]
"""First and last ordinal of a stretch that counts as one place: a command, or one slice of an op."""


Access = Literal["read", "write", "readWrite", "change"]


class Watched(Struct, frozen=True):
    """Memory that is watched, and for what: ``change`` is a write that gives some byte another value."""

    ranges: byte_ranges.ByteRanges
    access: Access
    first: int = 0
    last: int | None = None
    """Only commands ``first`` to ``last`` count; None: to the end."""

    @property
    def reads(self) -> bool:
        """Whether a command that reads there is looked at."""
        return self.access in ("read", "readWrite")

    @property
    def writes(self) -> bool:
        """Whether a command that writes there is looked at."""
        return self.access != "read"

    def touching(self, accesses: Accesses | EditedAccesses) -> Iterator[int]:
        """Ordinals of the commands that are looked at."""
        stop = None if self.last is None else self.last + 1
        return accesses.touching(self.ranges, self.reads, self.writes, self.first, stop)


class BreakpointLocation(Struct, frozen=True):
    """The commands a text names."""

    spans: tuple[Span, ...]
    line: int | None = None
    """Where the breakpoint was placed."""
    message: str = ""
    """What the user should know."""
    watched: Watched | None = None
    """Stop after each command, because of what it did to memory."""
    level: Level = "op"
    """Whether the text names hardware commands or ops, so whose operand ``in[0]`` is in conditions and messages and at
    the stop.
    """


COMMAND = r"(?:c(?P<core>\d+)\.)?(?P<id>[BTDCMH]\d+)(?:(?:@core|C)(?P<vendor_core>\d+))?"
"""Short name of a command: B23, or c1.B23 where there are several cores; as the vendor writes it, B23C1."""

Resolver = Callable[["Program", "re.Match[str]"], BreakpointLocation]


class Form(Struct, frozen=True):
    """One way to write a breakpoint."""

    title: str
    example: str
    pattern: re.Pattern[str]
    resolve: Resolver
    level: Level


_MOST_NAMED = 12
"""Names that a message lists."""

FORMS: list[Form] = []
"""Every form, in the order in which they are tried."""


def form(title: str, pattern: str, example: str, level: Level = "op") -> Callable[[Resolver], Resolver]:
    """Declare a form; ``pattern`` must match the whole text. ``level``: what it names, commands or ops."""

    def declare(resolve: Resolver) -> Resolver:
        FORMS.append(Form(title, example, patterns.pattern(pattern), resolve, level))
        return resolve

    return declare


def resolve(program: Program, text: str) -> BreakpointLocation:
    """The location that ``text`` names; BadExpression if no form fits."""
    text = text.strip()
    for known in FORMS:
        if match := known.pattern.fullmatch(text):
            location = replace(known.resolve(program, match), level=known.level)
            if location.spans or location.message:
                return location
            return replace(location, message=f"{text}: no command of this program matches ({known.title})")
    raise BadExpression(
        f"{quoted(text)} is not a breakpoint; write one of " + ", ".join(known.example for known in FORMS)
    )


def _one_of(spans: tuple[Span, ...], text: str, what: str, present: Iterable[str]) -> BreakpointLocation:
    """The place of the spans; where there are none, the message says what there is instead, nearest names first."""
    if spans:
        return BreakpointLocation(spans)
    names = sorted(set(present))
    from difflib import get_close_matches  # takes milliseconds to load, and few sessions need it

    near = get_close_matches(text, names, 3, 0.7)
    more = ", ..." if len(names) > _MOST_NAMED else ""
    if not names:
        return BreakpointLocation(
            (), message=f"{text}: no such {what} in this program; it has no {what}s with commands"
        )
    there = f"near are {', '.join(near)}" if near else f"it has {', '.join(names[:_MOST_NAMED])}{more}"
    return BreakpointLocation((), message=f"{text}: no such {what} in this program; {there}")


def spans_of_records(records: Iterable[OpRecord]) -> tuple[Span, ...]:
    return tuple(sorted({(r.first, r.last) for r in records if r.ordinals}))


def spans_of_commands(program: Program, wanted: Callable[[Command], bool]) -> tuple[Span, ...]:
    return tuple((c.ordinal, c.ordinal) for c in program.commands if wanted(c))


@form("line of final.mlir", r"(?:mlir)?:(\d+)", "mlir:312")
def _mlir_line(program: Program, match: re.Match[str]) -> BreakpointLocation:
    return _from_line(program, int(match[1]))


def _from_line(program: Program, wanted: int) -> BreakpointLocation:
    """The commands of a line, or of the next line of its file that has any."""
    mlir = program.source.mlir
    if mlir is None:
        return BreakpointLocation((), wanted, "this model has no final.mlir")
    file, number = mlir.place_of(wanted)
    line = program.source.next_line_with_commands(wanted)
    if line is None or line > mlir.last_line_of(file):
        return BreakpointLocation((), wanted, f"no line from {number} on has commands")
    here = line - file.before
    moved = f"line {number} has no commands; moved to line {here}" if line != wanted else ""
    return BreakpointLocation(spans_of_records(program.source.records_at(line)), line, moved)


@form("line of the final.mlir of a net", r"(?!mlir:|asm:)(\S+\.mlir):(\d+)", "block_1/final.mlir:312")
def _line_of_file(program: Program, match: re.Match[str]) -> BreakpointLocation:
    mlir, path = program.source.mlir, Path(match[1])
    files = mlir.files if mlir is not None else ()
    matching = [file for file in files if file.path.parts[-len(path.parts) :] == path.parts]
    if mlir is None or len(matching) != 1:
        many = f"{len(matching)} files are called so" if matching else "there is no such file"
        return BreakpointLocation((), message=f"{match[1]}: {many}; there are {_named(files)}")
    line = int(match[2])
    if not 1 <= line <= mlir.last_line_of(matching[0]) - matching[0].before:
        return BreakpointLocation((), message=f"{match[1]} has no line {line}")
    return _from_line(program, matching[0].before + line)


def _named(files: Sequence[SourceFile]) -> str:
    more = ", ..." if len(files) > _MOST_NAMED else ""
    return ", ".join(f"{file.path.parent.name}/{file.path.name}" for file in files[:_MOST_NAMED]) + more


@form("line of the listing", r"(?:asm|:):(\d+)", "asm:168", "command")
def _listing_line(program: Program, match: re.Match[str]) -> BreakpointLocation:
    number = int(match[1])
    line = program.listing.next_line_with_command(number)
    ordinal = program.listing.ordinal_at(line) if line is not None else None
    if line is None or ordinal is None:
        return BreakpointLocation((), number, f"no line from {number} on is a command")
    moved = f"line {number} is not a command; moved to line {line}" if line != number else ""
    return BreakpointLocation(((ordinal, ordinal),), line, moved)


@form("command id", COMMAND, "c1.B23", "command")
def _command_id(program: Program, match: re.Match[str]) -> BreakpointLocation:
    wanted = match["id"].replace("T", "B")
    core = match["core"] or match["vendor_core"]
    commands = [c for c in program.commands if c.short_token == wanted and (core is None or c.core == int(core))]
    names = list(dict.fromkeys(c.token for c in commands))
    message = f"{match[0]} names a command of {len(names)} cores; it stops at each: {', '.join(names)}"
    return BreakpointLocation(tuple((c.ordinal, c.ordinal) for c in commands), message=message if names[1:] else "")


def commands_named(program: Program, text: str) -> tuple[int, ...]:
    """Ordinals of the commands that ``COMMAND`` names; BadExpression if there are none."""
    location = resolve(program, text)
    if not location.spans:
        raise BadExpression(location.message)
    return tuple(first for first, _ in location.spans)


def command_named(program: Program, text: str) -> int:
    """The ordinal of the one command that ``COMMAND`` names; BadExpression lists them if there are several."""
    ordinals = commands_named(program, text)
    if len(ordinals) > 1:
        choices = ", ".join(f"{program.commands[ordinal].token} (command {ordinal})" for ordinal in ordinals)
        raise BadExpression(f"{text} names {len(ordinals)} commands: {choices}")
    return ordinals[0]


@form("address", rf"{ADDRESS}(?:\+(?P<size>0x[0-9a-fA-F]+|\d+))?(?P<access>[rw]{{0,2}})", "R4.64+4096", "command")
def _address(program: Program, match: re.Match[str]) -> BreakpointLocation:
    text = match.string[: match.start("access")].split("+")[0]
    space, start = parse_address(text, program.target.geometry)
    stop = start + max(1, whole_number(match["size"] or "1"))
    access = match["access"] or "rw"

    def touches(command: Command) -> bool:
        try:
            operands = command.operands if "r" in access else ()
            results = command.results if "w" in access else ()
        except NotSimulated:  # a form without a description has no known addresses
            return False
        return any(
            isinstance(view, View)
            and view.space is space
            and any(first < stop and start < last for first, last in view.byte_ranges())
            for view in (*operands, *results)
        )

    return BreakpointLocation(spans_of_commands(program, touches))


@form(
    "watched memory",
    rf"data:(?P<place>{byte_ranges.RANGES_TEXT})(?:!(?P<first>\d+)-(?P<last>\d+))?:(?P<access>{'|'.join(get_args(Access))})",
    "data:R0x0+4:write",
)
def _watched(program: Program, match: re.Match[str]) -> BreakpointLocation:
    ranges = byte_ranges.parse(match["place"])
    access: Access = next(known for known in get_args(Access) if known == match["access"])
    first, last = match["first"], match["last"]
    watched = Watched(ranges, access, int(first or 0), int(last) if last is not None else None)
    spans = tuple((ordinal, ordinal) for ordinal in watched.touching(program.accesses))
    what = {"read": "reads", "readWrite": "reads or writes"}.get(access, "writes")
    message = "" if spans else f"no command {what} {byte_ranges.ranges_name(ranges, program.target.geometry)}"
    return BreakpointLocation(spans, None, message, watched)


@form("value id", r"%(\w+)(?:#\d+)?", "%173")
def _value(program: Program, match: re.Match[str]) -> BreakpointLocation:
    value = f"%{match[1]}"
    records = [r for r in program.source.records if r.ordinals and value in _results(program, r)]
    if records or program.source.mlir is None:
        lines = sorted({record.line for record in records})
        first, more = ", ".join(map(str, lines[:4])), ", ..." if len(lines) > 4 else ""
        several = f"{value} stands for {len(lines)} values (lines {first}" if lines[1:] else ""
        return BreakpointLocation(
            spans_of_records(records), message=f"{several}{more}); it stops at each" if several else ""
        )
    return _used(program, value, [r for r in program.source.records if value in _operands(program, r)])


@form("location", r'#loc\("(?P<name>.+)"\)|#loc\(?(?P<alias>\d+)\)?|loc:(?P<glob>.+)', '#loc("conv1")')
def _location(program: Program, match: re.Match[str]) -> BreakpointLocation:
    mlir = program.source.mlir
    if match["alias"]:
        wanted = set(mlir.resolve(f"#loc{match['alias']}")) if mlir else set[str]()
        return _located(program, match[0], lambda name: name in wanted)
    if match["name"]:
        return _located(program, match[0], lambda name: name == match["name"])
    return _located(program, match[0], lambda name: fnmatchcase(name, match["glob"]))


def _located(program: Program, text: str, fits: Callable[[str], bool]) -> BreakpointLocation:
    """The ops whose location fits; where these have no commands of their own (weights, reshapes), those that use it."""
    spans = spans_of_records(r for r in program.source.records if any(map(fits, _names(program, r))))
    if spans:
        return BreakpointLocation(spans)
    return _used(program, text, [r for r in program.source.records if any(fits(v.name) for v in r.operands)])


def _used(program: Program, text: str, users: list[OpRecord]) -> BreakpointLocation:
    spans = spans_of_records(users)
    if not spans:
        return BreakpointLocation(())
    first = min((r for r in users if r.ordinals), key=lambda r: r.first)
    return BreakpointLocation(
        spans, message=f"{text} has no commands; stops where it is used, first at line {first.line}"
    )


@form("subnet", r"subnet:(\d+)", "subnet:2")
def _subnet(program: Program, match: re.Match[str]) -> BreakpointLocation:
    return BreakpointLocation(
        tuple((s.start, s.stop - 1) for s in program.subnets if s.id == int(match[1]) and s.stop > s.start)
    )


@form("launch", r"launch:(\d+)", "launch:7")
def _launch(program: Program, match: re.Match[str]) -> BreakpointLocation:
    launches = [launch for launch in program.launches if launch.number == int(match[1])]
    return _launched(launches, match[0], (f"launch:{launch.number}" for launch in program.launches))


@form("net", r"net:(.+)", "net:lm_head")
def _net(program: Program, match: re.Match[str]) -> BreakpointLocation:
    """Every launch of the nets of that name."""
    launches = [launch for launch in program.launches if fnmatchcase(launch.net, match[1])]
    return _launched(launches, match[0], (f"net:{launch.net}" for launch in program.launches))


@form("token", r"token:(\d+)(?: (.+))?", "token:7 block_cache_11")
def _token(program: Program, match: re.Match[str]) -> BreakpointLocation:
    """The launches for a token of a language model, or those of the nets of that name among them."""
    of_token = [launch for launch in program.launches if launch.token == int(match[1])]
    launches = [launch for launch in of_token if fnmatchcase(launch.net, match[2])] if match[2] else of_token[:1]
    if match[2] and of_token:
        return _launched(launches, match[0], (f"token:{match[1]} {launch.net}" for launch in of_token))
    return _launched(launches, match[0], (f"token:{launch.token}" for launch in program.launches))


def _launched(launches: list[Launch], text: str, present: Iterable[str]) -> BreakpointLocation:
    spans = tuple((launch.start, launch.stop - 1) for launch in launches if launch.stop > launch.start)
    return _one_of(spans, text, "launch", present)


@form("core", r"core:(\d+)", "core:1")
def _core(program: Program, match: re.Match[str]) -> BreakpointLocation:
    """First command of the core in each subnet."""
    core = int(match[1])
    starts: dict[int, int] = {}
    for command in program.commands:
        if command.core == core:
            starts.setdefault(command.subnet, command.ordinal)
    return BreakpointLocation(tuple((ordinal, ordinal) for ordinal in starts.values()))


@form("op name", r"(?:tpu|top|func)\.[\w*?\[\]]+", "tpu.Conv2D")
def _op_name(program: Program, match: re.Match[str]) -> BreakpointLocation:
    spans = spans_of_records(r for r in program.source.records if fnmatchcase(r.opcode, match[0]))
    return _one_of(spans, match[0], "op", (r.opcode for r in program.source.records))


@form("instruction", r"[a-z*?][\w*?\[\].&]*", "arith.*", "command")
def _mnemonic(program: Program, match: re.Match[str]) -> BreakpointLocation:
    spans = spans_of_commands(program, lambda c: fnmatchcase(c.name, match[0]))
    return _one_of(spans, match[0], "instruction", (c.name for c in program.commands))


def _results(program: Program, record: OpRecord) -> tuple[str, ...]:
    op = program.source.op_of(record)
    return op.results if op else ()


def _operands(program: Program, record: OpRecord) -> tuple[str, ...]:
    op = program.source.op_of(record)
    return op.operands if op else ()


def _names(program: Program, record: OpRecord) -> tuple[str, ...]:
    """Location names of the op, all parts of a fused location."""
    op = program.source.op_of(record)
    return op.locations if op and op.locations else tuple(value.name for value in record.results)
