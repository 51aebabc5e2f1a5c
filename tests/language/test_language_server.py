"""The language server, asked by pygls' own client over its standard input and output."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from tests.samples import case

TOY = case("toy_bm1684x_f32")
LINES = (TOY.path / "final.mlir").read_text().split("\n")


class Editor:
    """An editor with one document open."""

    def __init__(self, client: LanguageClient, path: Path) -> None:
        self.client = client
        self.path = path
        self.document = lsp.TextDocumentIdentifier(path.absolute().as_uri())
        self.diagnostics: list[lsp.Diagnostic] | None = None

    async def open(self, text: str) -> None:
        self.client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(self.document.uri, "mlir", 1, text))
        )

    def at(self, line: int, text: str) -> lsp.Position:
        """The place of a text in a line (from 1)."""
        return lsp.Position(line - 1, self.path.read_text().split("\n")[line - 1].index(text) + 1)

    async def expect_hover(self, line: int, text: str, *wanted: str) -> str:
        found = await self.client.text_document_hover_async(lsp.HoverParams(self.document, self.at(line, text)))
        assert found is not None, f"nothing over {text} in line {line}"
        assert isinstance(found.contents, lsp.MarkupContent)
        for part in wanted:
            assert part in found.contents.value
        return found.contents.value

    async def expect_definition(self, line: int, text: str, to_line: int) -> None:
        found = await self.client.text_document_definition_async(
            lsp.DefinitionParams(self.document, self.at(line, text))
        )
        assert isinstance(found, list)
        assert [place.range.start.line + 1 for place in found if isinstance(place, lsp.Location)] == [to_line]


def session(
    scenario: Callable[[Editor], Awaitable[None]], path: Path = TOY.path / "final.mlir", edit: str = ""
) -> None:
    """Start the server, open the file, run the scenario, end. ``edit``: what the user has added to the text."""

    async def run() -> None:
        client = LanguageClient("editor", "1")
        editor = Editor(client, path)

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(parameters: lsp.PublishDiagnosticsParams) -> None:
            editor.diagnostics = list(parameters.diagnostics)

        await client.start_io(sys.executable, "-m", "tdb_dap", "lsp")
        try:
            answer = await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
            assert answer.capabilities.hover_provider
            client.initialized(lsp.InitializedParams())
            await editor.open(path.read_text() + edit)
            await scenario(editor)
            await client.shutdown_async(None)
            client.exit(None)
        except BaseException:
            assert client._server is not None
            client._server.kill()  # else stopping waits for it
            raise
        finally:
            await client.stop()

    asyncio.run(asyncio.wait_for(run(), 30))


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if text in line)


CONVOLUTION, POOLING = line_of('"tpu.Conv2D"'), line_of('"tpu.Pool2D"')


def test_what_stands_over_values_ops_locations_and_addresses():
    async def scenario(editor: Editor) -> None:
        await editor.expect_hover(POOLING, "%16", "**tpu.Conv2D** `relu4_Relu`", "tensor<1x16x32x32xf32", "at `R1`")
        await editor.expect_hover(CONVOLUTION, "tpu.Conv2D", "2 commands: B1 to B2", "`relu4_Relu`")
        await editor.expect_hover(line_of("#loc3 = "), "#loc3", "location `w1`", "<1x16x3x9xf32>")
        store = line_of('"tpu.Store"')
        address = re.findall(r"(\d{10}) : i64", LINES[store - 1])[-1]
        await editor.expect_hover(store, address, "in DDR", "of the activations")

    session(scenario)


def test_going_to_definitions_and_uses():
    async def scenario(editor: Editor) -> None:
        await editor.expect_definition(POOLING, "%16", CONVOLUTION)
        await editor.expect_definition(line_of("call @subfunc_0"), "@subfunc_0", line_of("func.func @subfunc_0"))
        parameters = lsp.ReferenceParams(
            lsp.ReferenceContext(include_declaration=False), editor.document, editor.at(CONVOLUTION, "%16")
        )
        found = await editor.client.text_document_references_async(parameters)
        assert found is not None
        assert [place.range.start.line + 1 for place in found] == [POOLING]

    session(scenario)


def names(symbols: Any) -> list[str]:
    return [symbol.name for symbol in symbols]


def test_the_outline_follows_functions_and_groups():
    async def scenario(editor: Editor) -> None:
        symbols: Any = await editor.client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(editor.document)
        )
        assert names(symbols) == ["@main", "@subfunc_0"]
        group = next(symbol for symbol in symbols[1].children if symbol.name == "tpu.Group")
        assert "tpu.Conv2D" in names(group.children)
        assert next(c for c in group.children if c.name == "tpu.Conv2D").detail == "relu4_Relu"
        folds = await editor.client.text_document_folding_range_async(lsp.FoldingRangeParams(editor.document))
        assert folds is not None
        assert (group.range.start.line, group.range.end.line) in [(fold.start_line, fold.end_line) for fold in folds]

    session(scenario)


def test_shapes_time_and_colours_stand_in_the_text():
    async def scenario(editor: Editor) -> None:
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(LINES), 0))
        hints = await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(editor.document, whole))
        assert hints is not None
        assert [h.label for h in hints if h.position.line == CONVOLUTION - 1][:2] == [
            ": 1x3x32x32 f32",
            ": 1x16x3x9 f32",
        ]
        lenses = await editor.client.text_document_code_lens_async(lsp.CodeLensParams(editor.document))
        assert lenses is not None
        titles = {lens.range.start.line + 1: lens.command.title for lens in lenses if lens.command}
        assert titles[CONVOLUTION].startswith("2 commands · ")
        assert "cycles" in titles[CONVOLUTION]
        tokens = await editor.client.text_document_semantic_tokens_range_async(
            lsp.SemanticTokensRangeParams(editor.document, whole)
        )
        assert tokens is not None
        assert len(tokens.data) > 500
        assert len(tokens.data) % 5 == 0

    session(scenario)


def test_a_text_that_the_model_was_not_compiled_with_is_named_and_still_served():
    async def scenario(editor: Editor) -> None:
        await editor.expect_hover(POOLING, "%16", "**tpu.Conv2D** `relu4_Relu`")
        assert editor.diagnostics is not None
        assert [d.message for d in editor.diagnostics] == [
            "the text differs from the file that the model was compiled with"
        ]

    session(scenario, edit="// edited")


@pytest.mark.parametrize("text", ["", "%0 = ", '%1 = "tpu.X"(%0', "}}}", "#loc1 = loc(#loc1)\n%2 loc(#loc1)"])
def test_broken_text_is_no_error(text: str, tmp_path: Path):
    path = tmp_path / "final.mlir"
    path.write_text(text)

    async def scenario(editor: Editor) -> None:
        for line, content in enumerate(text.split("\n")):
            for column in range(len(content) + 2):
                place = lsp.Position(line, column)
                await editor.client.text_document_hover_async(lsp.HoverParams(editor.document, place))
                await editor.client.text_document_definition_async(lsp.DefinitionParams(editor.document, place))
        await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(editor.document))

    session(scenario, path)
