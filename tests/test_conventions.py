"""The project as a whole: files stay small, modules say what they are, semantics touch no files."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tdb_dap"
LARGEST = 500
"""Lines of a file."""

GENERATED = {
    "tdb_dap/adapter/protocol/types.py",
    "vscode-extension/src/protocol/generated.ts",
}


def test_semantics_and_families_touch_no_files() -> None:
    for folder in ("semantics", "families"):
        for path in (PACKAGE / "targets" / folder).rglob("*.py"):
            imported = {
                alias.name if isinstance(node, ast.Import) else node.module
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            assert imported.isdisjoint({"io", "os", "pathlib", "socket", "subprocess"}), path


def test_no_file_is_longer_than_a_reader_s_patience() -> None:
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


def test_files_that_are_longer_say_that_they_are_generated() -> None:
    for name in GENERATED:
        assert "generated" in (ROOT / name).read_text("utf-8").split("\n")[0].lower()


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def documented() -> dict[str, list[Documented]]:
    """Modules, classes and functions of each file of the package."""
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    return {name: [node for node in ast.walk(tree) if isinstance(node, Documented)] for name, tree in trees.items()}


def test_every_module_says_what_it_is(documented: dict[str, list[Documented]]) -> None:
    silent = [
        name for name, (module, *_) in documented.items() if name not in GENERATED and not ast.get_docstring(module)
    ]
    silent += [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "scripts").rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert silent == []


def test_docstrings_say_what_a_thing_is_or_does(documented: dict[str, list[Documented]]) -> None:
    """``Map from values to where they live``, not ``What ...`` or ``Where ...``; ``Whether`` is a yes or no."""
    texts = [
        (name, ast.get_docstring(node) or "")
        for name, nodes in documented.items()
        for node in nodes
        if name not in GENERATED
    ]
    asking = ("What", "Whose", "Where", "Which", "Who", "How")
    assert [f"{name}: {text[:60]}" for name, text in texts if text.split(" ")[0] in asking] == []


CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}

WITH_A_CLOCK = {
    "tests/adapter/test_fuzz.py": "a hunt lasts a minute, and its seeds are new ones",
    "tests/cli/test_debug.py": "a terminal that hangs ends the test",
    "tests/language/test_problems.py": "a report is made older than the model",
}
"""Tests that read a clock, and to what end; none of them judges by it."""


def reads_a_clock(source: str) -> bool:
    tree = ast.parse(source)
    bare = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for alias in node.names
        if alias.name in CLOCKS
    }
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(
        (isinstance(call, ast.Attribute) and call.attr in CLOCKS and ast.unparse(call.value) == "time")
        or (isinstance(call, ast.Name) and call.id in bare)
        for call in calls
    )


def test_no_test_judges_by_a_clock() -> None:
    """How long something takes depends on what else the machine does: count what is done, or hand in a clock."""
    assert reads_a_clock("import time\nassert time.perf_counter() - start < 2")
    assert reads_a_clock("from time import monotonic as now\nnow()")
    assert not reads_a_clock("client.time(); clock.monotonic(); time.sleep(1)")
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "examples").rglob("test_*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in files if reads_a_clock(path.read_text("utf-8"))}
    assert found == set(WITH_A_CLOCK)


def test_no_two_fields_have_the_same_text(documented: dict[str, list[Documented]]) -> None:
    """A text for two fields says of neither which it is."""
    shared = []
    for name, nodes in documented.items():
        for node in nodes:
            body = node.body if isinstance(node, ast.ClassDef) else []
            texts = [
                text.value.value
                for field, text in itertools.pairwise(body)
                if isinstance(field, ast.AnnAssign)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ]
            shared += [f"{name}: {text!r}" for text in set(texts) if texts.count(text) > 1]
    assert shared == []


def test_every_slow_test_exists() -> None:
    names = (ROOT / "tests" / "slow.txt").read_text("utf-8").split()
    assert names == sorted(set(names))
    for path, name in (line.split("::") for line in names):
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path}::{name}"
