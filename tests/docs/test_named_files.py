"""Files and code that pages for contributors name exist and work."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from scripts import figures
from scripts.generated import ROOT
from tests.targets.commands import chip_named, command, empty

ROWS = ROOT / "tdb_dap" / "targets" / "isa" / "README.md"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "scripts").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
    ROWS,
]
SKIPPED = {"node_modules", ".venv", "build", "dist", "out", ".git"}


@cache
def files() -> frozenset[str]:
    """Every file and folder of the project, as ``/path``."""
    found: set[str] = set()
    folders = [ROOT]
    while folders:
        for path in folders.pop().iterdir():
            if path.name not in SKIPPED:
                found.add(f"/{path.relative_to(ROOT).as_posix()}")
                if path.is_dir():
                    folders.append(path)
    return frozenset(found)


def named(text: str) -> set[str]:
    """Source files in code marks; not CHIP.py or NAME/main.ts, nor those in tables that a command has written."""
    for name in figures.PARTS:
        text = re.sub(f"{re.escape(figures.begin(name))}.*?{re.escape(figures.end(name))}", "", text, flags=re.DOTALL)
    marked = " ".join(re.findall(r"`([^`\n]+)`", text))
    names = re.findall(r"(?<![\w/.<>*}-])[\w./-]*\w\.(?:py|ts|mjs|toml|yml)\b", marked)
    return {name for name in names if not re.search(r"\b[A-Z]{3,}\b", name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_source_files_that_a_page_names_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("tells what was")
    names = sorted(named(page.read_text("utf-8")))
    missing = [name for name in names if not any(path.endswith(f"/{name}") for path in files())]
    assert missing == []


def test_names_of_files_are_seen_and_generated_tables_are_not() -> None:
    assert named("`tests/conftest.py` and `python benchmarks/soak.py --write`, not `<chip>.py`, `CHIP.py` or x.py") == {
        "tests/conftest.py",
        "benchmarks/soak.py",
    }
    assert named(f"{figures.begin('soak')}\n`gone.py`\n{figures.end('soak')}\n`kept.py`") == {"kept.py"}


def test_the_row_that_is_explained_is_in_the_table() -> None:
    text = ROWS.read_text("utf-8")
    table = json.loads((ROWS.parent / "bm1684x.json").read_text("utf-8"))
    tiu = table["engines"]["tiu"]
    (row,) = [row for row in tiu["index"] if row[3:] == ["sLIN", "lin.mac"]]
    assert f"{json.dumps(row)}," in text
    assert table["index_columns"] == ["short", "type", "sub", "reg", "mnemonic"]
    for name in tiu["key"]:
        (field,) = [field for field in tiu["head"] if field[0] == name]
        assert json.dumps(field, separators=(",", ":")) in text
    register = table["regs"]["sLIN"]
    assert f'"sLIN": {json.dumps(register)}' in text
    assert f'"{register["layout"]}": [["cmd_short",0,1], ["cmd_id",1,20]]' in text
    assert table["layouts"][register["layout"]][:2] == [["cmd_short", 0, 1], ["cmd_id", 1, 20]]


def test_the_code_that_tests_a_row_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", ROWS.read_text("utf-8"), re.DOTALL)
    assert "assert" in code
    exec(compile(code, str(ROWS), "exec"), {"chip_named": chip_named, "command": command, "empty": empty, "np": np})
