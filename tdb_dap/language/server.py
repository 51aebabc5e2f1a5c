"""The language server: requests of the Language Server Protocol to the questions that the other modules answer."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tdb_dap import __version__
from tdb_dap.language.documents import Document, Documents
from tdb_dap.language.hover import hover
from tdb_dap.language.lenses import lenses
from tdb_dap.language.navigation import Spot, definitions, references
from tdb_dap.language.outline import Entry, folds, outline, shapes
from tdb_dap.language.tokens import tokens

_KINDS = {"function": lsp.SymbolKind.Function, "group": lsp.SymbolKind.Namespace, "op": lsp.SymbolKind.Method}
TOKEN_TYPES = ("variable", "method", "string", "function", "number")
_TYPES = {"value": 0, "op": 1, "location": 2, "alias": 2, "function": 3, "address": 4}


def make_server() -> LanguageServer:
    """A server with all its handlers; ``start_io`` or ``start_tcp`` runs it."""
    server = LanguageServer("tdb-dap", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    documents = Documents()
    _synchronise(server, documents)
    _look(server, documents)
    _decorate(server, documents)
    return server


def _synchronise(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: lsp.DidOpenTextDocumentParams) -> None:
        document = documents.put(parameters.text_document.uri, parameters.text_document.text)
        _publish(server, parameters.text_document.uri, document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(parameters: lsp.DidChangeTextDocumentParams) -> None:
        document = documents.put(parameters.text_document.uri, parameters.content_changes[-1].text)
        _publish(server, parameters.text_document.uri, document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: lsp.DidCloseTextDocumentParams) -> None:
        documents.close(parameters.text_document.uri)


def _publish(server: LanguageServer, uri: str, document: Document) -> None:
    """What is wrong with the model as a whole stands at the first line."""
    _ = document.program
    found = []
    if document.trouble:
        first = lsp.Range(lsp.Position(0, 0), lsp.Position(0, len(document.mlir.lines[0])))
        found.append(lsp.Diagnostic(first, document.trouble, lsp.DiagnosticSeverity.Warning, source="tdb-dap"))
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))


def _look(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(parameters: lsp.HoverParams) -> lsp.Hover | None:
        document = documents.get(parameters.text_document.uri)
        place = parameters.position
        found = hover(document, place.line, place.character) if document else None
        if found is None:
            return None
        text, token = found
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(content, _range(place.line, token.start, token.end))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(parameters: lsp.DefinitionParams) -> list[lsp.Location]:
        document = documents.get(parameters.text_document.uri)
        place = parameters.position
        return [_location(spot) for spot in definitions(document, place.line, place.character)] if document else []

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def used(parameters: lsp.ReferenceParams) -> list[lsp.Location]:
        document = documents.get(parameters.text_document.uri)
        if document is None:
            return []
        place, whole = parameters.position, parameters.context.include_declaration
        return [_location(spot) for spot in references(document, place.line, place.character, whole)]


def _decorate(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(parameters: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = documents.get(parameters.text_document.uri)
        return [_symbol(entry, document) for entry in outline(document.mlir)] if document else []

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(parameters: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        document = documents.get(parameters.text_document.uri)
        return [lsp.FoldingRange(first, last) for first, last in folds(document.mlir)] if document else []

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def lensed(parameters: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        document = documents.get(parameters.text_document.uri)
        program = document.program if document else None
        found = lenses(program) if program is not None else ()
        return [lsp.CodeLens(_range(line, 0, 0), lsp.Command(text, "")) for line, text in found]

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hinted(parameters: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = documents.get(parameters.text_document.uri)
        if document is None:
            return []
        found: list[lsp.InlayHint] = []
        for line in range(parameters.range.start.line, parameters.range.end.line + 1):
            op = document.mlir.op_at(line + 1)
            for column, text in shapes(op) if op is not None else ():
                found.append(lsp.InlayHint(lsp.Position(line, column), f": {text}", lsp.InlayHintKind.Type))
        return found

    legend = lsp.SemanticTokensLegend(list(TOKEN_TYPES), [])

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, legend)
    def coloured(parameters: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        document = documents.get(parameters.text_document.uri)
        span = parameters.range
        return lsp.SemanticTokens(_colours(document, span.start.line, span.end.line) if document else [])


def _colours(document: Document, first: int, last: int) -> list[int]:
    """Each token as five numbers, places relative to the one before."""
    found: list[int] = []
    before_line, before_column = 0, 0
    for line in range(first, min(last + 1, len(document.mlir.lines))):
        for token in tokens(document.mlir.lines[line]):
            column = token.start - (before_column if line == before_line else 0)
            found += [line - before_line, column, token.end - token.start, _TYPES[token.kind], 0]
            before_line, before_column = line, token.start
    return found


def _symbol(entry: Entry, document: Document) -> lsp.DocumentSymbol:
    end = len(document.mlir.lines[entry.end_line])
    whole = lsp.Range(lsp.Position(entry.line, 0), lsp.Position(entry.end_line, end))
    chosen = _range(entry.line, 0, len(document.mlir.lines[entry.line]))
    children = [_symbol(child, document) for child in entry.children]
    return lsp.DocumentSymbol(entry.name, _KINDS[entry.kind], whole, chosen, entry.detail, children=children)


def _location(spot: Spot) -> lsp.Location:
    return lsp.Location(spot.path.absolute().as_uri(), _range(spot.line, spot.start, spot.end))


def _range(line: int, start: int, end: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, start), lsp.Position(line, end))
