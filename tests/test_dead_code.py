"""The check for dead code sees what it is for, and its exceptions are all needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import dead_code

VISITOR = """import ast

class Finder(ast.NodeVisitor):
    def visit_Name(self, node): print(node)
    def visitNameList(self, node): print(node)

Finder().visit(ast.parse(""))
"""


def test_nothing_is_dead_and_no_exception_is_idle() -> None:
    assert dead_code.findings() == ([], [])


def test_a_method_that_no_visitor_calls_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tdb_dap").mkdir()
    (tmp_path / "tdb_dap" / "finder.py").write_text(VISITOR)
    monkeypatch.setattr(dead_code, "ROOT", tmp_path)
    monkeypatch.setattr(dead_code, "RULES", ())
    dead, _ = dead_code.findings()
    assert dead == ["tdb_dap/finder.py:5: nobody uses the method 'visitNameList'"]
