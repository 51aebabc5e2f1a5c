"""What is wrong with a model, shown in its text: with nothing run, from reports, and from a session."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tdb_dap.cli.main import main
from tdb_dap.tools.programs import open_program
from tests.language.editor import Editor, session
from tests.samples import DATA, case

TOY = case("toy_bm1684x_f32")
RACE = DATA / "findings" / "act_misc_bm1684_f32"
REFRESH = lsp.WorkspaceClientCapabilities(code_lens=lsp.CodeLensWorkspaceClientCapabilities(refresh_support=True))


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A context directory of its own, in which reports may be put."""
    context = tmp_path / "toy"
    shutil.copytree(TOY.path, context)
    return context


def check(context: Path, reference: Path) -> None:
    """As a user has it checked who wants to see the verdicts in the editor."""
    main(["check", str(context), "--input", str(TOY.inputs), "--reference", str(reference), "--report",
          str(context / "check.json")])  # fmt: skip


def spoilt(reference: Path, name: str, to: Path) -> Path:
    import numpy as np

    with np.load(reference) as file:
        tensors = {key: file[key] for key in file.files}
    tensors[name] = 1 - 2 * tensors[name]
    np.savez(to, **tensors)
    return to


@pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])
def test_a_race_is_a_diagnostic_without_running_anything(process: bool) -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(RACE / "final.mlir")
        found = await editor.expect_diagnostics(mlir)
        first = found[0]
        assert first.range.start.line + 1 == 15
        assert (first.source, first.code, first.severity) == ("tdb", "hazard", lsp.DiagnosticSeverity.Error)
        assert "nothing orders them" in first.message
        [reader] = [command for command in open_program(RACE).commands if command.token == "D2"]
        assert first.message.startswith("D2 ")
        assert first.data == {"ordinal": reader.ordinal}
        assert first.related_information
        assert first.related_information[0].message.startswith("B22 ")
        assert first.related_information[0].location.uri == mlir.uri

    session(scenario, process)


def test_the_same_race_in_the_disassembly_stands_at_its_command(tmp_path: Path) -> None:
    context = tmp_path / "model"
    shutil.copytree(RACE, context)
    text = open_program(context).listing.text
    path = context / "model.tdbasm"
    path.write_text(text)

    async def scenario(editor: Editor) -> None:
        asm = await editor.open(path, language="tdb-asm")
        found = await editor.expect_diagnostics(asm)
        assert {asm.lines[d.range.start.line].split(":")[0].strip() for d in found} == {"D2"}

    session(scenario)


def test_a_sound_model_has_no_problems() -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.expect_diagnostics(await editor.open(TOY.mlir)) == []

    session(scenario)


def test_a_report_of_check_marks_the_ops_and_the_first_wrong_one_is_the_error(toy: Path, tmp_path: Path) -> None:
    check(toy, spoilt(TOY.reference, "maxpool5_MaxPool", tmp_path / "bad.npz"))

    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(toy / "final.mlir")
        (wrong,) = [d for d in await editor.expect_diagnostics(mlir) if d.code == "mismatch"]
        pooling = mlir.line_of('"tpu.Pool2D"')
        assert wrong.range.start.line + 1 == pooling
        assert wrong.severity == lsp.DiagnosticSeverity.Error
        lenses = await mlir.lenses()
        assert lenses[pooling].startswith("✗ ")
        assert lenses[mlir.line_of('"tpu.Conv2D"')].startswith("✓ relu4_Relu as expected · 2 commands")

    session(scenario)


def test_a_report_that_comes_while_the_text_is_open_is_seen(toy: Path, tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        asked: list[bool] = []

        @editor.client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
        def refresh(_: None) -> None:
            asked.append(True)

        mlir = await editor.open(toy / "final.mlir")
        assert await editor.expect_diagnostics(mlir) == []
        check(toy, spoilt(TOY.reference, "maxpool5_MaxPool", tmp_path / "bad.npz"))
        editor.files_changed(toy / "check.json")
        assert [d.code for d in await editor.expect_diagnostics(mlir)] == ["mismatch"]
        assert (await mlir.lenses())[mlir.line_of('"tpu.Pool2D"')].startswith("✗ ")
        assert asked

    session(scenario, workspace=REFRESH)


@pytest.mark.parametrize("report", ["[]", '{"rows": 3}', "\x00", None])
def test_a_report_that_is_not_ours_or_older_than_the_model_says_nothing(
    toy: Path, tmp_path: Path, report: str | None
) -> None:
    path = toy / "check.json"
    if report is None:
        check(toy, spoilt(TOY.reference, "maxpool5_MaxPool", tmp_path / "bad.npz"))
        assert json.loads(path.read_text())["rows"]
        before = time.time() - 3600
        os.utime(path, (before, before))
        for file in toy.glob("compilation.bmodel*"):
            os.utime(file)
    else:
        path.write_text(report)

    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(toy / "final.mlir")
        assert await editor.expect_diagnostics(mlir) == []
        assert not any(lens[0] in "✓✗" for lens in (await mlir.lenses()).values())

    session(scenario)


def test_verdicts_of_a_session_go_before_those_of_a_report_until_it_takes_them_back() -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        assert await editor.expect_diagnostics(mlir) == []
        pooling = mlir.line_of('"tpu.Pool2D"')
        verdict = {"line": pooling, "verdict": "fail", "text": "cosine 0.5 below 0.99"}
        editor.notify("tdb/verdicts", uri=mlir.uri, verdicts=[verdict])
        (wrong,) = await editor.expect_diagnostics(mlir)
        assert (wrong.range.start.line + 1, wrong.code) == (pooling, "mismatch")
        assert wrong.message == "differs from the reference: cosine 0.5 below 0.99"
        assert (await mlir.lenses())[pooling].startswith("✗ cosine 0.5 below 0.99 · ")
        editor.notify("tdb/verdicts", uri=mlir.uri, verdicts=None)
        assert await editor.expect_diagnostics(mlir) == []

    session(scenario)


@pytest.mark.parametrize(
    "verdicts", [[3], "all", [{"line": "x"}], [{"line": -5, "verdict": "fail"}], [{"line": 10**6, "verdict": "fail"}]]
)
def test_nonsense_verdicts_do_no_harm(verdicts: object) -> None:
    async def scenario(editor: Editor) -> None:
        mlir = await editor.open(TOY.mlir)
        editor.notify("tdb/verdicts", uri=mlir.uri, verdicts=verdicts)
        editor.notify("tdb/program", uri=5)
        await mlir.expect_hover(mlir.line_of('"tpu.Pool2D"'), "%16", "**tpu.Conv2D**")
        assert not any(lens[0] in "✓✗" for lens in (await mlir.lenses()).values())

    session(scenario)
