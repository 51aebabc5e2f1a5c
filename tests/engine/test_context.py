"""What the compiler's tools leave behind opens with its source, whichever part of it the user names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tdb_dap.cli.main import main
from tdb_dap.engine.files.context import Context
from tdb_dap.errors import BadInput
from tdb_dap.tools.programs import open_program
from tests.samples import case

TOY = case("toy_bm1684x_f16")


def leave(folder: Path, name: str, notes: object = None) -> Path:
    """What ``model_deploy --debug`` without test data leaves: the bmodel, and a directory beside it."""
    sources = folder / name
    sources.mkdir(parents=True)
    for file in ("final.mlir", "tensor_location.json.xz"):
        shutil.copy(TOY.path / file, sources)
    shutil.copy(TOY.path / "compilation.bmodel.xz", folder / f"{name}.bmodel.xz")
    for more in (f"{name}.bmodel.json", f"{name}.bmodel.net_0.profile", f"{name}_final.mlir"):
        (folder / more).write_text("{}")
    files = {"bmodel": {"path": f"../{name}.bmodel"}, "tensor_location": {"path": f"../{name}.bmodel.json"}}
    (sources / "ref_files.json").write_text(json.dumps({"files": files} if notes is None else notes))
    return folder


@pytest.mark.parametrize("given", ["", "net", "net.bmodel.xz"])
def test_any_part_of_it_opens_with_source_and_locations(tmp_path: Path, given: str) -> None:
    leave(tmp_path, "net")
    program = open_program(tmp_path / given)
    assert program.source.mlir is not None
    assert program.context.bmodel.resolve() == (tmp_path / "net.bmodel.xz").resolve()
    assert any(program.source.lines_of(command.ordinal) for command in program.commands)


def test_relative_names_are_found_from_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(tmp_path, "net")
    for here, given in ((tmp_path, "net"), (tmp_path / "net", "."), (tmp_path, "."), (tmp_path / "net", "../net")):
        monkeypatch.chdir(here)
        assert Context.find(given).mlir is not None


def test_several_models_are_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("block_0", "block_1", "lm_head"):
        leave(tmp_path, name)
    assert main(["info", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "3 models are here (block_0.bmodel.xz, block_1.bmodel.xz, lm_head.bmodel.xz); give one of them" in said
    assert "json" not in said
    for name in ("block_0", "block_1", "lm_head"):
        assert Context.find(tmp_path / f"{name}.bmodel.xz").directory == tmp_path / name
        assert Context.find(tmp_path / name).bmodel.resolve() == (tmp_path / f"{name}.bmodel.xz").resolve()


def test_a_directory_of_context_directories(tmp_path: Path) -> None:
    shutil.copytree(TOY.path, tmp_path / "one")
    assert Context.find(tmp_path).directory == tmp_path / "one"
    shutil.copytree(TOY.path, tmp_path / "two")
    with pytest.raises(BadInput, match=r"2 models are here \(one, two\); give one of them, such as .*one"):
        Context.find(tmp_path)


def test_a_model_whose_source_nobody_names_opens_without_it(tmp_path: Path) -> None:
    leave(tmp_path, "net", notes={"files": {"bmodel": {"path": "../another.bmodel"}}})
    assert Context.find(tmp_path / "net.bmodel.xz").mlir is None
    with pytest.raises(BadInput, match=r"no compilation\.bmodel"):
        Context.find(tmp_path / "net")


@pytest.mark.parametrize(
    "notes",
    [
        [],
        {"files": []},
        {"files": {"bmodel": {"path": 3}}},
        {"files": {"bmodel": {"path": "/etc/passwd"}}},
        {"files": {"bmodel": {"path": "../../elsewhere/net.bmodel/.."}}},
        {"files": {"bmodel": {"path": "\0.bmodel"}}},
    ],
)
def test_notes_of_strangers_lead_nowhere_else(tmp_path: Path, notes: object) -> None:
    leave(tmp_path, "net", notes)
    with pytest.raises(BadInput, match=r"no compilation\.bmodel"):
        Context.find(tmp_path / "net")
    (tmp_path / "net" / "ref_files.json").write_bytes(b"\xff{" * 100)
    assert Context.find(tmp_path / "net.bmodel.xz").mlir is None
