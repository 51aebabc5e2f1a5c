"""An editor in a few words: pygls' own client at the other end of the language server."""

from __future__ import annotations

import asyncio
import functools
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.io_ import run_async
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

from tdb_dap.language.server import make_server

_converter = functools.cache(default_converter)
"""Between messages and objects; slow with what it has not met yet."""


class Editor:
    """The client, and what the server has published."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self._diagnostics: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(parameters: lsp.PublishDiagnosticsParams) -> None:
            self._diagnostics.put_nowait(parameters)

    async def open(self, path: Path, text: str | None = None, language: str = "mlir") -> OpenText:
        """Open a file. ``text``: what the editor shows if that is not what the file holds."""
        shown = path.read_text() if text is None else text
        return await self.open_uri(path.absolute().as_uri(), shown, language)

    async def open_uri(self, uri: str, text: str, language: str = "mlir") -> OpenText:
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
        return OpenText(self, uri, text)

    def notify(self, method: str, **parameters: Any) -> None:
        self.client.protocol.notify(method, parameters)

    def files_changed(self, *paths: Path) -> None:
        changes = [lsp.FileEvent(path.absolute().as_uri(), lsp.FileChangeType.Changed) for path in paths]
        self.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(changes))

    async def expect_diagnostics(self, of: OpenText) -> list[lsp.Diagnostic]:
        """The next ones that are published for a text."""
        while True:
            published = await asyncio.wait_for(self._diagnostics.get(), 20)
            if published.uri == of.uri:
                return list(published.diagnostics)


class OpenText:
    """A text in the editor. Lines count from 1, as people do."""

    def __init__(self, editor: Editor, uri: str, text: str) -> None:
        self.editor = editor
        self.uri = uri
        self.lines = text.split("\n")
        self.identifier = lsp.TextDocumentIdentifier(uri)

    @property
    def range(self) -> lsp.Range:
        return lsp.Range(lsp.Position(0, 0), lsp.Position(len(self.lines), 0))

    def line_of(self, text: str) -> int:
        return next(number for number, line in enumerate(self.lines, 1) if text in line)

    def at(self, line: int, text: str) -> lsp.Position:
        """The place of a text in a line."""
        return lsp.Position(line - 1, self.lines[line - 1].index(text) + 1)

    async def expect_hover(self, line: int, text: str, *wanted: str) -> str:
        request = lsp.HoverParams(self.identifier, self.at(line, text))
        found = await self.editor.client.text_document_hover_async(request)
        assert found is not None, f"nothing over {text} in line {line}"
        assert isinstance(found.contents, lsp.MarkupContent)
        for part in wanted:
            assert part in found.contents.value, f"{part!r} is not in {found.contents.value!r}"
        return found.contents.value

    async def expect_definition(self, line: int, text: str, *expected: tuple[OpenText, int]) -> None:
        request = lsp.DefinitionParams(self.identifier, self.at(line, text))
        found = await self.editor.client.text_document_definition_async(request)
        assert isinstance(found, list)
        places = [(place.uri, place.range.start.line + 1) for place in found if isinstance(place, lsp.Location)]
        assert places == [(document.uri, number) for document, number in expected], places

    async def expect_references(self, line: int, text: str, *expected: tuple[OpenText, int]) -> None:
        request = lsp.ReferenceParams(
            lsp.ReferenceContext(include_declaration=False), self.identifier, self.at(line, text)
        )
        found = await self.editor.client.text_document_references_async(request)
        places = [(place.uri, place.range.start.line + 1) for place in found or ()]
        assert places == [(document.uri, number) for document, number in expected], places

    async def outline(self) -> Any:
        return await self.editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(self.identifier))

    async def lenses(self) -> dict[int, str]:
        """What stands above which line."""
        found = await self.editor.client.text_document_code_lens_async(lsp.CodeLensParams(self.identifier))
        return {lens.range.start.line + 1: lens.command.title for lens in found or () if lens.command}


def session(
    scenario: Callable[[Editor], Awaitable[None]], process: bool = False, locale: str | None = None, **capabilities: Any
) -> None:
    """Start the server, run the scenario, end. ``process``: with a server that is a process of its own."""

    async def run() -> None:
        client = LanguageClient("editor", "1", converter_factory=_converter)
        editor = Editor(client)
        async with _process(client) if process else _thread(client):
            asked = lsp.InitializeParams(lsp.ClientCapabilities(**capabilities), locale=locale)
            answer = await client.initialize_async(asked)
            assert answer.capabilities.hover_provider
            client.initialized(lsp.InitializedParams())
            await scenario(editor)
            await client.shutdown_async(None)
            client.exit(None)

    asyncio.run(asyncio.wait_for(run(), 60))


@asynccontextmanager
async def _process(client: LanguageClient) -> AsyncIterator[None]:
    """A server at standard input and output."""
    await client.start_io(sys.executable, "-m", "tdb_dap", "lsp")
    try:
        yield
    except BaseException:
        assert client._server is not None
        client._server.kill()  # else stopping waits for it
        raise
    finally:
        await client.stop()


@asynccontextmanager
async def _thread(client: LanguageClient) -> AsyncIterator[None]:
    """A server on a thread of this process, at the other end of a socket."""
    near, far = socket.socketpair()
    serving = threading.Thread(target=_serve, args=(far,), daemon=True)
    serving.start()
    reader, writer = await asyncio.open_connection(sock=near)
    client.protocol.set_writer(writer)
    ended = threading.Event()
    reading = asyncio.create_task(run_async(ended, reader, client.protocol))
    try:
        yield
    finally:
        writer.write_eof()
        await reading  # the server has closed its end
        ended.set()
        writer.close()
        serving.join(30)
        assert not serving.is_alive()


def _serve(far: socket.socket) -> None:
    with far, far.makefile("rb") as read, far.makefile("wb") as write:
        make_server().start_io(read, write)
