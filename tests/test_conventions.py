"""The project as a whole: files stay small, modules say what they are, semantics touch no files."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tdb_dap"
LARGEST = 500
"""Lines of a file."""

GENERATED = {
    "tdb_dap/adapter/protocol/types.py",
    "tdb_dap/engine/bmodel/bmodel_generated.py",
    "vscode-extension/src/protocol/generated.ts",
}


def test_semantics_and_families_touch_no_files():
    for folder in ("semantics", "families"):
        for path in (PACKAGE / "targets" / folder).rglob("*.py"):
            imported = {
                alias.name if isinstance(node, ast.Import) else node.module
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            assert imported.isdisjoint({"io", "os", "pathlib", "socket", "subprocess"}), path


def test_no_file_is_longer_than_a_reader_s_patience():
    folders = (
        "tdb_dap",
        "tests",
        "scripts",
        "benchmarks",
        "examples",
        "vscode-extension/src",
        "vscode-extension/pages",
    )
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if "node_modules" not in path.parts]
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines())
        for path in files
        if path.suffix in (".py", ".ts", ".mjs", ".c", ".h")
    }
    assert len(lengths) > 400
    assert {name for name, length in lengths.items() if length > LARGEST} == GENERATED


def test_files_that_are_longer_say_that_they_are_generated():
    for name in GENERATED:
        assert "generated" in (ROOT / name).read_text("utf-8").split("\n")[0].lower()


def test_every_module_says_what_it_is():
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in [*PACKAGE.rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
        if path.relative_to(ROOT).as_posix() not in GENERATED
        and not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert silent == []


def test_docstrings_say_what_a_thing_is_or_does():
    """``Map from values to where they live``, not ``What ...`` or ``Where ...``; ``Whether`` is a yes or no."""
    asking = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(ROOT).as_posix() in GENERATED:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if text.split(" ")[0] in ("What", "Whose", "Where", "Which", "Who", "How"):
                    asking.append(f"{path.relative_to(ROOT)}: {text[:60]}")
    assert asking == []
