"""The disassembly of a model: a file that ``tdb-dap dis`` wrote next to it, or what a session shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tdb_dap.engine.commands.listing import Listing
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.rendering.printable import code, code_block
from tdb_dap.errors import NotSimulated
from tdb_dap.language import problems
from tdb_dap.language.documents import Document, Documents
from tdb_dap.language.models import Model
from tdb_dap.language.outline import Entry
from tdb_dap.language.text_ranges import TextRange, uri_of
from tdb_dap.language.tokens import Token

_TOKEN = re.compile(
    r"\bwait (?P<wait>(?:c\d+\.)?[BD]\d+)"
    r"|^\s*(?P<command>(?:c\d+\.)?[A-Z]\w*)(?=:)"
    r"|(?P<place>%[A-Z]\w*(?:\.\d+)?) \w+\[[\d,]*\]"
    r"|(?P<mnemonic>\b[a-z]\w*(?:\.\w+)+)(?=[({ ]|$)"
)
_MOST = 1000
"""Places that a question is answered with."""


class ListingDocument(Document):
    """Our own listing; without the model that it was made of it is only text."""

    def __init__(self, uri: str, text: str, documents: Documents) -> None:
        super().__init__(uri, text, documents)
        self._lines = text.split("\n")

    @property
    def lines(self) -> list[str]:
        return self._lines

    def find_model(self) -> Model | None:
        bound = self.documents.bound(self.uri)
        model = self.documents.models.at(bound) if bound is not None else self.documents.models.next_to(self.path)
        if model is None or model.program is None:
            return model
        if model.program.listing.text == self.text:
            return model
        if bound is not None:  # of a session that runs another net, or all of them for a prompt
            return None
        return Model(None, "the text differs from the disassembly of the model next to it")

    def hover(self, line: int, column: int) -> tuple[str, Token] | None:
        at = self._at(line, column)
        if at is None:
            return None
        program, ordinal, token = at
        if token.kind == "address":
            lines = _about(program, ordinal, self._view(program, ordinal, line, token))
        else:
            from tdb_dap.tools.explain.command import explain_command

            target = ordinal if token.kind != "value" else _waited_for(program, ordinal, token.text)
            lines = [code_block(list(explain_command(program, target)))] if target is not None else []
        return ("\n".join(lines), token) if lines else None

    def definitions(self, line: int, column: int) -> list[TextRange]:
        """Of a place in memory its last writer, of a command its op in final.mlir, of a wait the command waited for."""
        at = self._at(line, column)
        if at is None:
            return []
        program, ordinal, token = at
        if token.kind == "value":
            return self._ranges_of(program, [_waited_for(program, ordinal, token.text)])
        view = self._view(program, ordinal, line, token) if token.kind == "address" else None
        if view is not None and not any(view is result for result in program.commands[ordinal].description.results):
            return self._ranges_of(
                program, [program.accesses.last_writer(ByteRanges.of(view), ordinal, lambda _: False)]
            )
        return list(_in_mlir(program, ordinal))

    def references(self, line: int, column: int, with_definition: bool) -> list[TextRange]:
        """Of a place in memory its readers up to the next writer."""
        at = self._at(line, column)
        if at is None or at[2].kind != "address":
            return []
        program, ordinal, token = at
        view = self._view(program, ordinal, line, token)
        if view is None:
            return []
        place = ByteRanges.of(view)
        is_result = any(view is result for result in program.commands[ordinal].description.results)
        writer = ordinal if is_result else program.accesses.last_writer(place, ordinal, lambda _: False)
        first = 0 if writer is None else writer + 1
        until = next(program.accesses.touching(place, reads=False, writes=True, start=first), len(program.commands))
        readers = (r for r in program.accesses.touching(place, reads=True, writes=False, start=first) if r <= until)
        own = [writer] if with_definition else []
        return self._ranges_of(program, [*own, *readers])

    def commands_of(self, line: int) -> list[TextRange]:
        """The commands of the op on a line of final.mlir, from 1."""
        program = self.program
        if program is None:
            return []
        return self._ranges_of(program, [n for record in program.source.records_at(line) for n in record.ordinals])

    def touching(self, address: int) -> list[TextRange]:
        """The commands that read or write the byte at an address of the bmodel."""
        program = self.program
        if program is None:
            return []
        space, offset = program.target.geometry.locate(address)
        place = ByteRanges.range(space, 0, offset, 1)
        return self._ranges_of(program, program.accesses.touching(place, reads=True, writes=True))

    def outline(self) -> list[Entry]:
        """Subnets, in them ops."""
        program = self.program
        if program is None:
            return []
        listing = program.listing
        entries: list[Entry] = []
        for title, first, last in _sections(self.lines):
            section = Entry(title.rstrip(":"), "", "function", first, last)
            for start, stop, line in _ops(program, listing, first, last):
                op = program.source.op_at(line)
                name, location = (op.name, op.location) if op is not None else (f"line {line}", "")
                section.children.append(Entry(name, location, "op", start, stop))
            entries.append(section)
        return entries

    def folds(self) -> Iterator[tuple[int, int]]:
        for section in self.outline():
            yield section.line, section.end_line
            yield from ((op.line, op.end_line) for op in section.children if op.end_line > op.line)

    def lenses(self) -> Iterator[tuple[int, str]]:
        """Above the first command of an op: its name."""
        for section in self.outline():
            yield from ((op.line, f"{op.name} {op.detail}") for op in section.children)

    def hints(self, line: int) -> Iterable[tuple[int, str]]:
        return ()

    def tokens(self, line: int) -> list[Token]:
        kinds = {"wait": "value", "command": "function", "place": "address", "mnemonic": "op"}
        tokens: list[Token] = []
        for match in _TOKEN.finditer(self.lines[line]):
            assert match.lastgroup is not None
            start, end = match.span(match.lastgroup)
            tokens.append(Token(kinds[match.lastgroup], match[match.lastgroup], start, end))  # type: ignore[arg-type]
        return tokens

    def problems(self) -> list[problems.Problem]:
        program = self.program
        if program is None:
            return [problems.Problem(0, self.reason, "information")] if self.reason else []
        listing = program.listing
        return [
            problems.problem_of(finding, listing.line_of(finding.command.ordinal) - 1)
            for finding in problems.findings(program)
        ]

    def _at(self, line: int, column: int) -> tuple[Program, int, Token] | None:
        """The model, the command on a line, and what stands at the column."""
        program = self.program
        if program is None or not 0 <= line < len(self.lines):
            return None
        ordinal = program.listing.ordinal_at(line + 1)
        token = next((token for token in self.tokens(line) if token.start <= column <= token.end), None)
        return (program, ordinal, token) if ordinal is not None and token is not None else None

    def _view(self, program: Program, ordinal: int, line: int, token: Token) -> View | None:
        """The operand or result that a name of the line stands for: they are listed in their order."""
        try:
            description = program.commands[ordinal].description
        except NotSimulated:
            return None
        views = [operand for operand in (*description.results, *description.operands) if isinstance(operand, View)]
        names = [other.start for other in self.tokens(line) if other.kind == "address"]
        return views[names.index(token.start)] if len(names) == len(views) else None

    def _ranges_of(self, program: Program, ordinals: Iterable[int | None]) -> list[TextRange]:
        ranges: list[TextRange] = []
        for ordinal in ordinals:
            if ordinal is None or len(ranges) == _MOST:
                continue
            line = program.listing.line_of(ordinal) - 1
            text = self.lines[line]
            ranges.append(TextRange(self.uri, line, len(text) - len(text.lstrip()), len(text)))
        return ranges


def _waited_for(program: Program, ordinal: int, token: str) -> int | None:
    """The command that a dependency names: the last one before with that id on the same core."""
    command = program.commands[ordinal]
    for before in range(ordinal - 1, -1, -1):
        other = program.commands[before]
        if other.core == command.core and other.subnet == command.subnet and other.token == token:
            return before
    return None


def _about(program: Program, ordinal: int, view: View | None) -> list[str]:
    """Type, address and writer of an operand."""
    if view is None:
        return []
    lines = [f"`{view.name}` `{view.memref}`", f"{view.space.title}, byte {view.address:,}, layout {view.layout.value}"]
    is_result = any(view is result for result in program.commands[ordinal].description.results)
    names = {
        value.name
        for record in program.source.records_of(ordinal)
        for value in (*record.results, *record.operands)
        if value.view is not None and value.view.address == view.address and value.view.space is view.space
    }
    if names:
        lines.append("tensor " + ", ".join(map(code, sorted(names))))
    if not is_result:
        writer = program.accesses.last_writer(ByteRanges.of(view), ordinal, lambda _: False)
        lines.append(f"written by `{program.commands[writer].asm}`" if writer is not None else "there from the start")
    return ["\n\n".join(lines)]


def _in_mlir(program: Program, ordinal: int) -> Iterator[TextRange]:
    path = program.context.mlir
    mlir = program.source.mlir
    if path is None or mlir is None or path.suffix == ".xz":
        return
    for line in program.commands[ordinal].mlir_lines:
        text = mlir.lines[line - 1]
        yield TextRange(uri_of(path), line - 1, len(text) - len(text.lstrip()), len(text))


def _sections(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """Title, its line and the last line of each section."""
    starts = [n for n, line in enumerate(lines) if line and line[0] not in " /"]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = stop - 1
        while last > start and not lines[last].strip():
            last -= 1
        yield lines[start], start, last


def _ops(program: Program, listing: Listing, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """First and last line, from 0, and the line of final.mlir, of commands of one op that follow each other."""
    begin, owner = first + 1, -1
    for number in range(first + 1, last + 2):
        ordinal = listing.ordinal_at(number + 1) if number <= last else None
        lines = program.source.lines_of(ordinal) if ordinal is not None else ()
        line = lines[0] if lines else -1
        if line != owner or number > last:
            if owner > 0:
                yield begin, number - 1, owner
            begin, owner = number, line
