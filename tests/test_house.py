"""The house as a whole: imports lead one way, files stay small, modules say what they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tdb_dap"
LARGEST = 500
"""Lines of a file."""

GENERATED = {"tdb_dap/adapter/protocol/types.py", "tdb_dap/engine/bmodel/bmodel_generated.py"}

# What each part may import of the others, whole or one module; a part that is not here may import all but the ways in.
ALLOWED = {
    "backends": {"engine", "errors", "system", "targets"},
    "engine": {"errors", "system"},
    "errors": set(),
    "system": {"errors"},
    "targets": {"engine", "errors", "system"},
    "terminal": {"adapter.protocol", "engine.rendering", "errors"},
}
WAYS_IN = {"adapter", "cli", "language", "terminal"}
"""Parts that others start from: protocols and command lines. Nothing below them knows them."""

ON_TOP = {
    "adapter": {"cli"},  # python -m tdb_dap.adapter is a command line
    "cli": {"adapter", "language", "terminal"},
    "__main__": {"cli"},
}


def imports(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith("tdb_dap.") and name != "tdb_dap.__version__")


def test_imports_lead_one_way():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).with_suffix("").parts[0]
        allowed = ALLOWED.get(part)
        for name in imports(path):
            other = name.split(".")[1]
            known = {other, ".".join(name.split(".")[1:3])}
            refused = not known & allowed if allowed is not None else other in WAYS_IN - ON_TOP.get(part, set())
            if other != part and refused:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_semantics_and_families_touch_no_files():
    for folder in ("semantics", "families"):
        for path in (PACKAGE / "targets" / folder).glob("*.py"):
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
        "vscode-extension/webview",
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
