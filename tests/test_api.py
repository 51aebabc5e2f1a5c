"""tdb_dap.api: the one module that plugins, examples and documentation import."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from scripts import record_api
from tdb_dap import api

ROOT = Path(__file__).parent.parent
ALLOWED = {"tdb_dap", "tdb_dap.api"}


def test_it_has_not_changed_unnoticed() -> None:
    recorded = json.loads(record_api.RECORD.read_text("utf-8"))
    assert record_api.offered() == recorded, "raise api.VERSION, then python -m scripts.record_api"


def test_a_change_needs_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "api.json"
    monkeypatch.setattr(record_api, "RECORD", record)
    monkeypatch.setattr("sys.argv", ["record_api"])
    assert record_api.main() == 0
    monkeypatch.setattr(api, "__all__", api.__all__[1:])
    assert record_api.main() == 1
    assert "raise api.VERSION" in capsys.readouterr().out
    monkeypatch.setattr(api, "VERSION", "99.0")
    assert record_api.main() == 0
    assert json.loads(record.read_text("utf-8"))["version"] == "99.0"


def test_everything_in_it_is_documented() -> None:
    for name in api.__all__:
        if name != "VERSION":
            assert re.search(rf"\b{name}\b", api.__doc__ or "") or getattr(api, name).__doc__, name


@pytest.mark.parametrize("path", [*(ROOT / "examples").rglob("*.py"), *(ROOT / "docs").rglob("*.md")], ids=str)
def test_examples_and_pages_import_nothing_else(path: Path) -> None:
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        found = re.findall(r"^\s*(?:from|import) (tdb_dap[\w.]*)", text, re.MULTILINE)
    else:
        nodes = ast.walk(ast.parse(text))
        found = [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
        found += [a.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import) for a in n.names]
    assert {name for name in found if name.split(".")[0] == "tdb_dap"} <= ALLOWED
