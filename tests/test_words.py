"""The words of the project: plain English of the field, one word for one thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tdb_dap

PACKAGE = Path(tdb_dap.__file__).parent
ROOT = PACKAGE.parent

PHRASES = {
    r"in what two compiled models differ": "compare two compiled models",
    r"which simulators can execute commands here": "list simulators",
    r"the chips known and a self-check": "list supported chips",
    r"no remarks\b": "no notices",
    r"sanitizers look on\b|observers that look on\b": "also run all sanitizers",
    r"write there all that is found": "write all findings",
    r"as far as there are processors and work": "capped by CPUs and work",
    r"says what mends": "run `tdb-dap doctor` for the fix",
    r"command that mends": "command that fixes",
    r"mend with:": "fix with:",
    r"believed in nothing": "untrusted",
    r"never obeyed": "escaped",
    r"carried out": "executed, run",
    r"held against": "checked against, compared with",
    r"what it says is nothing": "malformed",
    r"no answer but that it is done": "answered by Done",
    r"nobody has written|nobody wrote": "uninitialised",
    r"left over from": "stale",
    r"\b(?:is|are) born\b|\bnever born\b": "origin",
    r"\bmet[_ ]forms\b": "observed forms",
    r"\bcrews?\b": "executor",
    r"\bleash\b": "parent watchdog",
    r"\blies\b": "is",
}
"""Pattern -> the field's words."""

NAMES = {"found", "beside", "said", "told", "asked", "whole", "apart", "spot", "spots"}
"""Names that say nothing of the thing that they hold."""


def texts() -> Iterator[tuple[str, str]]:
    """Python and C of the package, the scripts, and the pages of docs in English."""
    for folder, pattern in (
        (PACKAGE, "*.py"),
        (PACKAGE, "*.[ch]"),
        (ROOT / "scripts", "*.py"),
        (ROOT / "docs", "*.md"),
    ):
        for path in sorted(folder.rglob(pattern)):
            if not path.name.endswith(".zh.md"):
                yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


@pytest.mark.parametrize("pattern", PHRASES)
def test_the_glossary_is_kept(pattern: str) -> None:
    wanted = re.compile(r"\s+".join(pattern.split(" ")))
    kept = [f"{name}:{text[: m.start()].count(chr(10)) + 1}" for name, text in texts() for m in wanted.finditer(text)]
    assert kept == [], f"write: {PHRASES[pattern]}"


def assigned(tree: ast.Module) -> Iterator[str]:
    """Names that a module binds: variables, parameters, fields, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_variables_are_named_after_what_they_hold() -> None:
    bound = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for name in NAMES.intersection(assigned(ast.parse(path.read_text("utf-8"))))
    }
    assert sorted(bound) == []
