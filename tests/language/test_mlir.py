"""final.mlir in an editor, without a debug session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from tests.language.editor import Editor, session
from tests.samples import case

TOY = case("toy_bm1684x_f32")


def test_what_stands_over_values_ops_locations_and_addresses() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        convolution, pooling = mlir.line_of('"tpu.Conv2D"'), mlir.line_of('"tpu.Pool2D"')
        await mlir.expect_hover(pooling, "%16", "**tpu.Conv2D** `relu4_Relu`", "tensor<1x16x32x32xf32", "at `R1`")
        await mlir.expect_hover(convolution, "tpu.Conv2D", "2 commands: B1 to B2", "`relu4_Relu`")
        await mlir.expect_hover(mlir.line_of("#loc3 = "), "#loc3", "location `w1`", "<1x16x3x9xf32>")
        store = mlir.line_of('"tpu.Store"')
        address = re.findall(r"(\d{10}) : i64", mlir.lines[store - 1])[-1]
        await mlir.expect_hover(store, address, "in DDR", "of the activations")

    session(scenario)


def test_going_to_definitions_and_uses() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        convolution, pooling = mlir.line_of('"tpu.Conv2D"'), mlir.line_of('"tpu.Pool2D"')
        await mlir.expect_definition(pooling, "%16", (mlir, convolution))
        call, function = mlir.line_of("call @subfunc_0"), mlir.line_of("func.func @subfunc_0")
        await mlir.expect_definition(call, "@subfunc_0", (mlir, function))
        await mlir.expect_references(convolution, "%16", (mlir, pooling))

    session(scenario)


def names(symbols: Any) -> list[str]:
    return [symbol.name for symbol in symbols]


def test_the_outline_follows_functions_and_groups() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        symbols = await mlir.outline()
        assert names(symbols) == ["@main", "@subfunc_0"]
        group = next(symbol for symbol in symbols[1].children if symbol.name == "tpu.Group")
        assert "tpu.Conv2D" in names(group.children)
        assert next(c for c in group.children if c.name == "tpu.Conv2D").detail == "relu4_Relu"
        folds = await editor.client.text_document_folding_range_async(lsp.FoldingRangeParams(mlir.identifier))
        assert folds is not None
        assert (group.range.start.line, group.range.end.line) in [(fold.start_line, fold.end_line) for fold in folds]

    session(scenario)


def test_only_ops_that_take_long_have_a_lens_and_the_others_a_hover() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        lenses = await mlir.lenses()
        assert len(lenses) == 10
        product = mlir.line_of('"tpu.MatMul"')
        assert product not in lenses
        await mlir.expect_hover(product, "tpu.MatMul", "5 commands · 191 cycles, 3.3%")

    session(scenario)


def test_the_op_at_which_a_session_stands_has_a_lens() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        product = mlir.line_of('"tpu.MatMul"')
        assert product not in await mlir.lenses()
        editor.notify("tdb/current", uri=mlir.uri, line=product)
        assert (await mlir.lenses())[product] == "gemm15_Gemm · here · 5 commands · 191 cycles, 3.3%"
        editor.notify("tdb/current", uri=mlir.uri, line=None)
        assert product not in await mlir.lenses()
        editor.notify("tdb/current", uri=mlir.uri, line=10**6)
        editor.notify("tdb/current", uri="file:///elsewhere", line=3)
        assert len(await mlir.lenses()) == 10

    session(scenario)


def test_lenses_are_in_the_language_of_the_editor() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        title = (await mlir.lenses())[mlir.line_of('"tpu.Conv2D"')]
        assert title == "relu4_Relu · 2 条命令 · 1,856 个周期，31.7%"

    session(scenario, locale="zh-cn")


def test_hovers_are_in_the_language_of_the_editor() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        await mlir.expect_hover(mlir.line_of('"tpu.MatMul"'), "tpu.MatMul", "5 条命令 · 191 个周期，3.3%")

    session(scenario, locale="zh-cn")


def test_shapes_time_and_colours_stand_in_the_text() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        convolution = mlir.line_of('"tpu.Conv2D"')
        hints = await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(mlir.identifier, mlir.range))
        assert hints is not None
        assert [h.label for h in hints if h.position.line == convolution - 1][:2] == [
            ": 1x3x32x32 f32",
            ": 1x16x3x9 f32",
        ]
        title = (await mlir.lenses())[convolution]
        assert title.startswith("relu4_Relu · 2 commands · ")
        assert "cycles" in title
        tokens = await editor.client.text_document_semantic_tokens_range_async(
            lsp.SemanticTokensRangeParams(mlir.identifier, mlir.range)
        )
        assert tokens is not None
        assert len(tokens.data) > 500
        assert len(tokens.data) % 5 == 0

    session(scenario)


def test_a_text_that_the_model_was_not_compiled_with_is_named_and_still_served() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir, TOY.mlir.read_text() + "// edited")
        await mlir.expect_hover(mlir.line_of('"tpu.Pool2D"'), "%16", "**tpu.Conv2D** `relu4_Relu`")
        assert [d.message for d in await editor.expect_diagnostics(mlir)] == [
            "the text differs from the file that the model was compiled with"
        ]

    session(scenario)


@pytest.mark.parametrize("text", ["", "%0 = ", '%1 = "tpu.X"(%0', "}}}", "#loc1 = loc(#loc1)\n%2 loc(#loc1)"])
@pytest.mark.parametrize("name", ["final.mlir", "origin.mlir", "listing.tdbasm"])
def test_broken_text_is_no_error(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)

    async def scenario(editor: Editor) -> None:
        broken = await editor.open(path)
        for line, content in enumerate(text.split("\n")):
            for column in range(len(content) + 2):
                place = lsp.Position(line, column)
                await editor.client.text_document_hover_async(lsp.HoverParams(broken.identifier, place))
                await editor.client.text_document_definition_async(lsp.DefinitionParams(broken.identifier, place))
        await broken.outline()
        assert await broken.lenses() == {}
        assert await editor.expect_diagnostics(broken) == []

    session(scenario)
