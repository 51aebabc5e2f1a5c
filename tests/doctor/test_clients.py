"""Editors that are looked for on the PATH."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tdb_dap.tools.doctor.clients import EDITORS, EXTENSION, clients
from tdb_dap.tools.doctor.findings import Check
from tdb_dap.version import __version__
from tests.doctor.installations import only

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="editors are shell scripts here")

CODE = """case "$1" in --version) echo "1.96.2\nabcdef\nx64";; --list-extensions) echo "a.b@1.0\n{}";; esac"""


class Machine:
    """Programs on a PATH of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin-of-nobody")

    def has(self, name: str, script: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.folder / name).chmod(0o755)

    def found(self, patience: float = 60) -> dict[str, Check]:
        return {check.name.partition(":")[2]: check for check in clients(patience)}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "bin", monkeypatch)


def test_no_editor_is_no_error(here: Machine) -> None:
    found = only(clients())
    assert (found.name, found.status) == ("clients", "ok")


def test_each_editor_says_its_version(here: Machine) -> None:
    here.has("nvim", "echo NVIM v0.10.2; echo Build type: Release")
    here.has("emacs", "echo GNU Emacs 28.2")
    here.has("hx", "echo 'helix 24.7 (079f5442)'")
    here.has("zed", "echo Zed 0.165.4 /opt/zed")
    here.has("kate", 'test "$QT_QPA_PLATFORM" = offscreen && echo kate 22.12.3')
    texts = {name: (check.status, check.text) for name, check in here.found().items()}
    assert texts == {
        "nvim": ("ok", "Neovim 0.10.2"),
        "emacs": ("ok", "Emacs 28.2"),
        "hx": ("ok", "Helix 24.7"),
        "zed": ("ok", "Zed 0.165.4"),
        "kate": ("ok", "Kate 22.12.3"),
    }


def test_the_extension_of_vs_code_is_there_missing_or_of_another_version(here: Machine) -> None:
    mend = "--install-extension tdb-dap.vsix --force"
    here.has("code", CODE.format(f"{EXTENSION}@{__version__}"))
    here.has("code-server", CODE.format(f"{EXTENSION.title()}@0.0.7"))
    here.has("codium", CODE.format("other.tdb-dap@0.1.0"))
    here.has("cursor", 'test "$1" = --version && echo 0.42.3')
    found = here.found()
    assert (found["code"].status, found["code"].text) == ("ok", f"VS Code 1.96.2, extension {__version__}")
    assert (found["code-server"].status, found["code-server"].mend) == ("note", f"code-server {mend}")
    assert found["code-server"].text == f"code-server 1.96.2, extension 0.0.7; tdb-dap is {__version__}"
    assert (found["codium"].status, found["codium"].mend) == ("note", f"codium {mend}")
    assert found["codium"].text == f"VSCodium 1.96.2, without the extension {EXTENSION}"
    assert (found["cursor"].status, found["cursor"].mend) == ("note", "cursor --list-extensions")


def test_an_editor_that_hangs_or_fails_is_noted(here: Machine) -> None:
    here.has("nvim", "exec /bin/sleep 600")
    found = here.found(patience=0.5)["nvim"]
    assert (found.status, found.mend) == ("note", "nvim --version")
    here.has("nvim", "exit 3")
    assert here.found()["nvim"].status == "note"
    (here.folder / "nvim").write_bytes(b"\0no program")
    assert here.found()["nvim"].status == "note"


def test_editors_are_found_from_a_directory_that_is_gone(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    here.has("nvim", "echo NVIM v0.10.2")
    gone = here.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert here.found()["nvim"].text == "Neovim 0.10.2"


def test_a_program_in_the_working_directory_is_not_run(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for editor in EDITORS:
        here.has(editor.program, f"touch {here.folder}/ran")
    monkeypatch.chdir(here.folder)
    for path in (".", str(here.folder), f":{here.folder}"):
        monkeypatch.setenv("PATH", path)
        assert only(clients()).name == "clients"
    assert not (here.folder / "ran").exists()
