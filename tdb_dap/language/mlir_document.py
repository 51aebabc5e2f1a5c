"""A file of MLIR, the compiler's last one or one of an earlier stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.language import hover, lenses, navigation, outline, problems
from tdb_dap.language.documents import Document, Documents
from tdb_dap.language.listing_document import ListingDocument
from tdb_dap.language.models import Model, checked
from tdb_dap.language.text_ranges import TextRange
from tdb_dap.language.tokens import Token, token_at, tokens
from tdb_dap.language.verdicts import Verdict, by_op


class MlirDocument(Document):
    """``mlir``: the text, indexed."""

    def __init__(self, uri: str, text: str, documents: Documents) -> None:
        super().__init__(uri, text, documents)
        self.mlir = MlirFile(text, self.path)
        self.mlir.prepare()

    @property
    def lines(self) -> list[str]:
        return self.mlir.lines

    def find_model(self) -> Model | None:
        model = self.documents.models.next_to(self.path) if self.path.name == "final.mlir" else None
        if model is None or model.program is None:
            return model
        compiled = model.program.source.mlir
        if compiled is not None and compiled.lines == self.lines:
            return model
        return Model(None, "the text differs from the file that the model was compiled with")

    def hover(self, line: int, column: int) -> tuple[str, Token] | None:
        return hover.hover(self.mlir, lambda: self.model, line, column)

    def definitions(self, line: int, column: int) -> list[TextRange]:
        return navigation.definitions(self.mlir, lambda: self.program, line, column)

    def references(self, line: int, column: int, with_definition: bool) -> list[TextRange]:
        ranges = navigation.references(self.mlir, lambda: self.program, line, column, with_definition)
        token = token_at(self.lines[line], column) if 0 <= line < len(self.lines) else None
        return [*ranges, *self._in_disassembly(token, line)] if token is not None else ranges

    def _in_disassembly(self, token: Token, line: int) -> Iterator[TextRange]:
        """The commands of an op, or those that touch an address, where the disassembly is open."""
        if token.kind not in ("op", "address") or self.program is None:
            return
        for document in self.documents.of(self.program):
            if isinstance(document, ListingDocument):
                if token.kind == "op":
                    yield from document.commands_of(line + 1)
                else:
                    yield from document.touching(int(token.text))

    def outline(self) -> list[outline.Entry]:
        return outline.outline(self.mlir)

    def folds(self) -> Iterator[tuple[int, int]]:
        return outline.folds(self.mlir)

    def lenses(self) -> Iterator[tuple[int, str]]:
        return lenses.lenses(self.program, self._judged(), self.current) if self.program is not None else iter(())

    def hints(self, line: int) -> Iterable[tuple[int, str]]:
        op = self.mlir.op_at(line + 1)
        return [(column, f": {text}") for column, text in outline.shapes(op)] if op is not None else ()

    def tokens(self, line: int) -> list[Token]:
        return tokens(self.lines[line])

    def problems(self) -> list[problems.Problem]:
        program = self.program
        if program is None:
            return [problems.Problem(0, self.reason, "warning")] if self.reason else []
        rows = [
            problems.problem_of(finding, finding.command.line - 1)
            for finding in problems.findings(program)
            if finding.command.line
        ]
        return [*rows, *problems.wrong(self._judged())]

    def _judged(self) -> tuple[Verdict, ...]:
        """By the session that has reported its own, else by the report of a check."""
        if self.verdicts is not None:
            return tuple(verdict for verdict in self.verdicts if verdict.line <= len(self.lines))
        return by_op(checked(self.program)) if self.program is not None else ()
