"""One line tells the version; everything that shows one agrees with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from scripts.generate_release_files import wrong_headings
from tests.conftest import Toy
from tests.dap_client import DapClient

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.findall(r'^__version__ = "(.+)"$', (ROOT / "tdb_dap" / "version.py").read_text(), re.MULTILINE)


def test_a_single_line_is_the_source() -> None:
    assert len(VERSION) == 1
    assert "\nversion = " not in (ROOT / "pyproject.toml").read_text().partition("[project.scripts]")[0]


def test_the_command_tells_it() -> None:
    told = subprocess.run([sys.executable, "-m", "tdb_dap", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"tdb-dap {VERSION[0]}\n"


def test_the_adapter_tells_it(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    assert client.console("info version").startswith(f"tdb-dap {VERSION[0]}, Python 3.")
    client.disconnect()


def test_the_installed_package_has_it() -> None:
    assert version("tdb-dap") == VERSION[0]


def test_the_newest_changes_are_of_it() -> None:
    assert wrong_headings((ROOT / "CHANGELOG.md").read_text("utf-8")) == ""
    newest = f"## Unreleased\n\n## {VERSION[0]} - 2026-01-31\n\n## 0.0.1 - 2026-01-30\n"
    assert wrong_headings(newest) == ""
    assert wrong_headings(newest.replace("## Unreleased\n", "")) == "the first heading must be `## Unreleased`"
    assert wrong_headings(newest.replace("31", "9")).startswith("headings of released versions must be ")
    other = f"the newest released version must be {VERSION[0]} (tdb_dap/version.py)"
    assert wrong_headings(newest.replace(VERSION[0], "9.9")) == other


def test_the_extension_has_version_changes_and_license_of_the_project() -> None:
    extension = ROOT / "vscode-extension"
    assert json.loads((extension / "package.json").read_text("utf-8"))["version"] == VERSION[0]
    lock = json.loads((extension / "package-lock.json").read_text("utf-8"))
    assert [lock["version"], lock["packages"][""]["version"]] == VERSION * 2
    for name in ("CHANGELOG.md", "LICENSE"):
        assert (extension / name).read_bytes() == (ROOT / name).read_bytes()
