"""The rooms of the package: imports lead down, in no circle, and every room is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.structure import rooms, traced
from scripts.structure.c_sources import KERNEL, CSources
from scripts.structure.imports import MOST_FILES, Structure
from scripts.structure.strays import strays
from scripts.structure.typescript import TypeScript

ROOT = Path(__file__).parent.parent
PACKAGE = Structure(ROOT)
C_SOURCES = CSources(ROOT)
EXTENSION = TypeScript(ROOT / "vscode-extension")


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert PACKAGE.circles() == []


def test_imports_lead_down() -> None:
    assert PACKAGE.wrong_ways() == []


def test_every_module_is_in_a_room_and_every_room_holds_something() -> None:
    assert PACKAGE.homeless() == []


def test_no_folder_is_too_full() -> None:
    assert {folder: count for folder, count in PACKAGE.folders().items() if count > MOST_FILES} == {}


def test_imports_inside_functions_have_a_reason() -> None:
    assert [f"{found.path}:{found.line}" for found in PACKAGE.inside_functions().get("", ())] == []


def test_no_file_of_the_root_is_left_out_of_the_source_distribution() -> None:
    assert strays(ROOT) == []


def test_a_committed_file_that_no_release_knows_is_named(tmp_path: Path) -> None:
    (tmp_path / "MANIFEST.in").write_text("include LICENSE\n")
    for name in ("LICENSE", "setup.py", "x.bmodel"):
        (tmp_path / name).touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    assert strays(tmp_path) == ["x.bmodel: not in MANIFEST.in"]


def test_units_of_the_kernel_need_those_below_them_and_no_circle() -> None:
    graph = C_SOURCES.graph
    assert f"{KERNEL}/plan/product.c" in graph[f"{KERNEL}/plan/run.c"], "by a call"
    assert f"{KERNEL}/simd/panels.h" in graph[f"{KERNEL}/simd/gemm_int.h"], "by an include"
    assert C_SOURCES.circles() == []
    assert C_SOURCES.wrong_ways() == []


def test_no_folder_of_c_is_too_full() -> None:
    assert {folder: count for folder, count in C_SOURCES.folders().items() if count > MOST_FILES} == {}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("header", C_SOURCES.headers())
def test_every_header_compiles_alone(header: str, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    options = ["-x", "c", "-std=gnu11", "-Wall", "-Wextra", "-Wno-psabi", "-Wno-unused-function", "-fsyntax-only"]
    done = subprocess.run([compiler, *options, header], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_files_of_the_extension_import_each_other_in_a_circle() -> None:
    known = EXTENSION.imports
    assert "pages/graph/measures.ts" in known["pages/graph/layers.ts"]
    assert {target for targets in known.values() for target in targets if target.endswith(".ts")} <= known.keys()
    assert EXTENSION.circles() == []


def test_no_file_of_the_extension_is_too_long() -> None:
    assert EXTENSION.long_files() == {}


def test_a_circle_of_types_and_a_long_file_are_named(tmp_path: Path) -> None:
    for name, text in {
        "src/ask.ts": 'import type {\n  Installation,\n} from "./install/installation";\n',
        "src/install/installation.ts": 'import { ask } from "../ask";\n' * 301,
        "src/protocol/generated.ts": "\n" * 1000,
        "pages/main.ts": 'import "./main.css";\nexport type { A } from "../src/ask";\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    extension = TypeScript(tmp_path)
    assert extension.circles() == [["src/ask.ts", "src/install/installation.ts"]]
    assert extension.long_files() == {"src/install/installation.ts": 301}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of three rooms, the upper ones importing the lower ones."""
    levels = {"__init__": 9, "ground": 0, "engine.files": 1, "tools": 2}
    monkeypatch.setattr("scripts.structure.imports.LEVELS", levels)
    monkeypatch.setattr(rooms, "LEVELS", levels)
    for name, text in {
        "__init__": "from tdb_dap import tools\nprint(tools)",
        "ground": "",
        "engine/__init__": "",
        "engine/files/__init__": "",
        "engine/files/read": "from tdb_dap import ground",
        "tools/__init__": "",
        "tools/check": "from tdb_dap.engine.files.read import x",
    }.items():
        path = tmp_path / "tdb_dap" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tdb_dap"


def test_a_sound_package_is_found_sound(package: Path) -> None:
    structure = Structure(package.parent)
    assert structure.circles() == []
    assert structure.wrong_ways() == []
    assert structure.homeless() == []


def test_a_type_only_import_counts(package: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tdb_dap.tools.check import Job\n"
    (package / "engine" / "files" / "read.py").write_text(text)
    structure = Structure(package.parent)
    assert structure.circles() == [["tdb_dap.engine.files.read", "tdb_dap.tools.check"]]
    assert structure.wrong_ways() == ["tdb_dap/engine/files/read.py:3 imports tdb_dap.tools.check"]


def test_a_room_that_is_empty_or_missing_is_named(package: Path) -> None:
    (package / "engine" / "files" / "read.py").unlink()
    (package / "ground.py").unlink()
    (package / "attic.py").write_text("")
    found = Structure(package.parent).homeless()
    assert "the room engine.files is missing or empty" in found
    assert "the room ground is missing or empty" in found
    assert "tdb_dap.attic is in no room" in found


def test_an_import_inside_a_function_without_a_reason_is_found(package: Path) -> None:
    (package / "ground.py").write_text("def f():\n    from tdb_dap.engine.files import read\n    return read\n")
    [found] = Structure(package.parent).inside_functions()[""]
    assert (found.path, found.line) == ("tdb_dap/ground.py", 2)


def test_a_tensor_is_reached_through_few_files() -> None:
    files = traced.measured()
    assert set(files) == {"setBreakpoints", "one step", "one expanded tensor"}
    assert "adapter/requests/breakpoints.py" in files["setBreakpoints"]
    for name, most in traced.MOST.items():
        assert len(files[name]) <= most, files[name]
