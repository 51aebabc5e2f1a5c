"""The language server: requests of the Language Server Protocol to the questions that the other modules answer.

It takes three more notifications, described in docs/editor.md: ``tdb/program``, ``tdb/verdicts`` and ``tdb/current``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tdb_dap.language.document_kinds import document_of
from tdb_dap.language.documents import Bound, Document, Documents
from tdb_dap.language.outline import Entry
from tdb_dap.language.problems import Problem
from tdb_dap.language.text_ranges import TextRange, path_of, uri_of
from tdb_dap.language.verdicts import Current, Judged
from tdb_dap.system.localisation import localised
from tdb_dap.version import __version__

_KINDS = {"function": lsp.SymbolKind.Function, "group": lsp.SymbolKind.Namespace, "op": lsp.SymbolKind.Method}
TOKEN_TYPES = ("variable", "method", "string", "function", "number")
_TYPES = {"value": 0, "op": 1, "location": 2, "alias": 2, "function": 3, "address": 4}
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
}


def make_server() -> LanguageServer:
    """A server with all its handlers; ``start_io`` or ``start_tcp`` runs it."""
    server = LanguageServer("tdb-dap", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    documents = Documents(document_of)
    problems = _Problems(server, documents)
    _synchronise(server, documents, problems)
    _listen(server, documents, problems)
    _look(server, documents)
    _decorate(server, documents)
    return server


class _Problems:
    """Publishes what is wrong with documents: found in a thread, so that questions are answered meanwhile."""

    def __init__(self, server: LanguageServer, documents: Documents) -> None:
        self._server = server
        self._documents = documents
        self._running: set[asyncio.Task[None]] = set()

    def publish(self, document: Document) -> None:
        """Soon; not if the text has changed by then."""
        task = asyncio.get_running_loop().create_task(self._publish(document))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _publish(self, document: Document) -> None:
        listed = await asyncio.to_thread(document.problems)
        if self._documents.get(document.uri) is document:
            made = [_diagnostic(document, problem, self._documents.locale) for problem in listed]
            self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(document.uri, made))

    async def refresh(self, changed: list[Document]) -> None:
        """More is known of these documents: what stands above their lines, and their problems, are no longer right."""
        for document in changed:
            self.publish(document)
        if changed:
            await self.refresh_lenses()

    async def refresh_lenses(self) -> None:
        """The lenses are no longer right."""
        workspace = self._server.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            await self._server.workspace_code_lens_refresh_async(None)


def _synchronise(server: LanguageServer, documents: Documents, problems: _Problems) -> None:
    @server.feature(lsp.INITIALIZE)
    def began(parameters: lsp.InitializeParams) -> None:
        documents.locale = parameters.locale or ""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(parameters: lsp.DidOpenTextDocumentParams) -> None:
        problems.publish(documents.put(parameters.text_document.uri, parameters.text_document.text))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(parameters: lsp.DidChangeTextDocumentParams) -> None:
        problems.publish(documents.put(parameters.text_document.uri, parameters.content_changes[-1].text))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: lsp.DidCloseTextDocumentParams) -> None:
        documents.close(parameters.text_document.uri)


def _listen(server: LanguageServer, documents: Documents, problems: _Problems) -> None:
    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(parameters: lsp.DidChangeWatchedFilesParams) -> None:
        directories = {path_of(change.uri).parent for change in parameters.changes}
        await problems.refresh([document for directory in directories for document in documents.reread(directory)])

    @server.feature("tdb/program")
    def bound(parameters: Any) -> None:
        body = Bound.model_validate(parameters)
        documents.bind(body.uri, Path(body.program))

    @server.feature("tdb/verdicts")
    async def judged(parameters: Any) -> None:
        body = Judged.model_validate(parameters)
        document = documents.get(body.uri)
        if document is not None:
            document.verdicts = body.verdicts
            await problems.refresh([document])

    @server.feature("tdb/current")
    async def moved(parameters: Any) -> None:
        body = Current.model_validate(parameters)
        document = documents.get(body.uri)
        if document is not None and document.current != body.line:
            document.current = body.line
            await problems.refresh_lenses()


def _diagnostic(document: Document, problem: Problem, locale: str) -> lsp.Diagnostic:
    mlir = document.program.context.mlir if document.program is not None else None
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri_of(mlir), _range(place.line - 1, 0, 0)), text)
        for place, text in problem.related
        if place.line and mlir is not None
    ]
    return lsp.Diagnostic(
        _range(problem.line, 0, len(document.lines[problem.line])),
        localised(problem.text, locale),
        _SEVERITIES[problem.severity],
        problem.code or None,
        source="tdb",
        related_information=related,
        data=None if problem.ordinal is None else {"ordinal": problem.ordinal},
    )


def _look(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(parameters: lsp.HoverParams) -> lsp.Hover | None:
        document = documents.get(parameters.text_document.uri)
        place = parameters.position
        hover = document.hover(place.line, place.character) if document else None
        if hover is None:
            return None
        text, token = hover
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, localised(text, documents.locale))
        return lsp.Hover(content, _range(place.line, token.start, token.end))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(parameters: lsp.DefinitionParams) -> list[lsp.Location]:
        document = documents.get(parameters.text_document.uri)
        place = parameters.position
        return (
            [_location(text_range) for text_range in document.definitions(place.line, place.character)]
            if document
            else []
        )

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def used(parameters: lsp.ReferenceParams) -> list[lsp.Location]:
        document = documents.get(parameters.text_document.uri)
        if document is None:
            return []
        place, with_declaration = parameters.position, parameters.context.include_declaration
        return [
            _location(text_range) for text_range in document.references(place.line, place.character, with_declaration)
        ]


def _decorate(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(parameters: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = documents.get(parameters.text_document.uri)
        return [_symbol(entry, document) for entry in document.outline()] if document else []

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(parameters: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        document = documents.get(parameters.text_document.uri)
        return [lsp.FoldingRange(first, last) for first, last in document.folds()] if document else []

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def lensed(parameters: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        document = documents.get(parameters.text_document.uri)
        lenses = document.lenses() if document else ()
        return [lsp.CodeLens(_range(line, 0, 0), lsp.Command(_lens(text, documents), "")) for line, text in lenses]

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hinted(parameters: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = documents.get(parameters.text_document.uri)
        if document is None:
            return []
        hints: list[lsp.InlayHint] = []
        for line in range(parameters.range.start.line, parameters.range.end.line + 1):
            for column, text in document.hints(line):
                hints.append(lsp.InlayHint(lsp.Position(line, column), text, lsp.InlayHintKind.Type))
        return hints

    legend = lsp.SemanticTokensLegend(list(TOKEN_TYPES), [])

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, legend)
    def coloured(parameters: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        document = documents.get(parameters.text_document.uri)
        span = parameters.range
        return lsp.SemanticTokens(_colours(document, span.start.line, span.end.line) if document else [])


def _lens(text: str, documents: Documents) -> str:
    """The name of a layer comes first, and is nobody's text."""
    first, *rest = text.split(" · ")
    return " · ".join(
        [first if rest else localised(first, documents.locale), *(localised(part, documents.locale) for part in rest)]
    )


def _colours(document: Document, first: int, last: int) -> list[int]:
    """Each token as five numbers, places relative to the one before."""
    data: list[int] = []
    before_line, before_column = 0, 0
    for line in range(first, min(last + 1, len(document.lines))):
        for token in document.tokens(line):
            column = token.start - (before_column if line == before_line else 0)
            data += [line - before_line, column, token.end - token.start, _TYPES[token.kind], 0]
            before_line, before_column = line, token.start
    return data


def _symbol(entry: Entry, document: Document) -> lsp.DocumentSymbol:
    end = len(document.lines[entry.end_line])
    extent = lsp.Range(lsp.Position(entry.line, 0), lsp.Position(entry.end_line, end))
    chosen = _range(entry.line, 0, len(document.lines[entry.line]))
    children = [_symbol(child, document) for child in entry.children]
    return lsp.DocumentSymbol(entry.name, _KINDS[entry.kind], extent, chosen, entry.detail, children=children)


def _location(text_range: TextRange) -> lsp.Location:
    return lsp.Location(text_range.uri, _range(text_range.line, text_range.start, text_range.end))


def _range(line: int, start: int, end: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, start), lsp.Position(line, end))
