"""The disassembly in an editor: a file beside the model, or what a debug session shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tdb_dap.tools.programs import open_program
from tests.language.editor import Editor, session
from tests.samples import case

TOY = case("toy_bm1684x_f32")


@pytest.fixture(scope="module")
def text() -> str:
    return open_program(TOY.path).listing.text


@pytest.fixture
def listing(text: str, tmp_path: Path) -> Path:
    """As ``tdb-dap dis -o`` leaves it in a context directory."""
    for file in TOY.path.iterdir():
        if file.name.startswith(("compilation", "final", "tensor_location")):
            shutil.copy(file, tmp_path)
    path = tmp_path / "toy.tdbasm"
    path.write_text(text)
    return path


def test_what_stands_over_places_commands_and_waits(listing: Path) -> None:
    async def scenario(editor: Editor) -> None:
        asm = await editor.open(listing, language="tdb-asm")
        convolution, pooling = asm.line_of("  B1: "), asm.line_of("  B3: ")
        await asm.expect_hover(convolution, "%R3", "written by `D2", "tensor `load_w1`", "local memory")
        await asm.expect_hover(pooling, "%R0.4096", "`R0.4096`", "byte 4,096")
        await asm.expect_hover(convolution, "conv.normal", "B1", "tpu.Conv2D")
        await asm.expect_hover(convolution, "D3", "dma.tensor", "%G40960")

    session(scenario)


def test_from_a_place_to_its_writer_from_a_wait_to_the_command_and_from_a_command_to_its_op(listing: Path) -> None:
    async def scenario(editor: Editor) -> None:
        asm = await editor.open(listing, language="tdb-asm")
        mlir = await editor.open(listing.parent / "final.mlir")
        convolution, relu, pooling = (asm.line_of(f"  {token}: ") for token in ("B1", "B2", "B3"))
        await asm.expect_definition(pooling, "%R1 ", (asm, relu))
        await asm.expect_definition(convolution, "%R3 ", (asm, asm.line_of("  D2: ")))
        await asm.expect_definition(convolution, "D3", (asm, asm.line_of("  D3: ")))
        await asm.expect_definition(convolution, "conv.normal", (mlir, mlir.line_of('"tpu.Conv2D"')))
        await asm.expect_references(convolution, "%R1 ", (asm, relu))
        await asm.expect_references(relu, "%R1 ", (asm, pooling))

    session(scenario)


def test_from_an_op_and_an_address_of_the_mlir_to_commands(listing: Path) -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(listing.parent / "final.mlir")
        asm = await editor.open(listing, language="tdb-asm")
        convolution = mlir.line_of('"tpu.Conv2D"')
        await mlir.expect_references(
            convolution, "tpu.Conv2D", (asm, asm.line_of("  B1: ")), (asm, asm.line_of("  B2: "))
        )
        weight = mlir.line_of("4294971392 : i64")
        load = mlir.line_of('"tpu.Load"(%2)')
        await mlir.expect_references(weight, "4294971392", (mlir, weight), (mlir, load), (asm, asm.line_of("  D2: ")))

    session(scenario)


def test_subnets_and_ops_are_its_outline(listing: Path) -> None:
    async def scenario(editor: Editor) -> None:
        asm = await editor.open(listing, language="tdb-asm")
        (subnet,) = await asm.outline()
        assert subnet.name == "subnet 0 TPU_STATIC"
        pooling = next(op for op in subnet.children if op.name == "tpu.Pool2D")
        assert asm.lines[pooling.range.start.line].startswith("  B3: ")
        lenses = await asm.lenses()
        assert lenses[asm.line_of("  B1: ")] == "tpu.Conv2D relu4_Relu"
        folds = await editor.client.text_document_folding_range_async(lsp.FoldingRangeParams(asm.identifier))
        assert folds is not None
        assert (subnet.range.start.line, subnet.range.end.line) in [(fold.start_line, fold.end_line) for fold in folds]

    session(scenario)


def test_what_a_session_shows_is_no_file_and_belongs_to_the_model_the_editor_names(text: str) -> None:
    uri = "debug:toy.tdbasm?session=1&ref=1000"

    async def scenario(editor: Editor) -> None:
        editor.notify("tdb/program", uri=uri, program=str(TOY.path))
        asm = await editor.open_uri(uri, text, "tdb-asm")
        mlir = await editor.open(TOY.mlir)
        await asm.expect_definition(asm.line_of("  B3: "), "%R1 ", (asm, asm.line_of("  B2: ")))
        await mlir.expect_references(mlir.line_of('"tpu.Pool2D"'), "tpu.Pool2D", (asm, asm.line_of("  B3: ")))

    session(scenario)


def test_a_listing_of_another_model_is_only_text(listing: Path, text: str) -> None:
    async def scenario(editor: Editor) -> None:
        asm = await editor.open(listing, text.replace("B3", "B4"), "tdb-asm")
        (told,) = await editor.expect_diagnostics(asm)
        assert told.message == "the text differs from the disassembly of the model next to it"
        assert told.severity == lsp.DiagnosticSeverity.Information
        assert await asm.outline() == []

    session(scenario)


def test_the_listing_of_a_session_is_never_called_wrong(text: str) -> None:
    """A session may run another net of the model, or all of them as the answer to a prompt."""
    uri = "debug:toy.tdbasm?session=1&ref=1000"

    async def scenario(editor: Editor) -> None:
        editor.notify("tdb/program", uri=uri, program=str(TOY.path))
        asm = await editor.open_uri(uri, text.replace("B3", "B4"), "tdb-asm")
        assert await editor.expect_diagnostics(asm) == []
        assert await asm.outline() == []

    session(scenario)


def test_names_of_several_cores_lead_to_the_command_of_their_core(tmp_path: Path) -> None:
    model = case("toy_bm1688_f16c2").path
    for file in model.iterdir():
        if file.name.startswith(("compilation", "final", "tensor_location")):
            shutil.copy(file, tmp_path)
    listing = tmp_path / "toy.tdbasm"
    listing.write_text(open_program(model).listing.text)

    async def scenario(editor: Editor) -> None:
        asm = await editor.open(listing, language="tdb-asm")
        waiting = asm.line_of("  c1.B2: ")
        await asm.expect_definition(waiting, "c1.D1", (asm, asm.line_of("  c1.D1: ")))
        await asm.expect_hover(waiting, "c1.D1", "c1.D1, command")
        await asm.expect_hover(waiting, "c1.B2", "c1.B2, command 90")

    session(scenario)
