"""Editors on this machine that can debug with this package: which, their versions, and VS Code's extension."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tdb_dap.system.child_processes import outside_environment
from tdb_dap.tools.doctor.findings import Check
from tdb_dap.version import __version__

EXTENSION = "bmodel.tdb-dap"
"""The extension's name in VS Code."""

PATIENCE = 15.0
"""Seconds that an editor may take to say its version."""

_LONGEST = 80


@dataclass(frozen=True)
class Editor:
    """One editor."""

    program: str
    """The command that starts it."""

    title: str
    """Its name."""

    has_extension: bool = False
    """Whether it takes VS Code's extensions."""


EDITORS = (
    Editor("code", "VS Code", True),
    Editor("code-insiders", "VS Code Insiders", True),
    Editor("codium", "VSCodium", True),
    Editor("cursor", "Cursor", True),
    Editor("code-server", "code-server", True),
    Editor("nvim", "Neovim"),
    Editor("emacs", "Emacs"),
    Editor("hx", "Helix"),
    Editor("helix", "Helix"),
    Editor("zed", "Zed"),
    Editor("kate", "Kate"),
)


def clients(patience: float = PATIENCE) -> Iterator[Check]:
    """A check per editor that is on the PATH, all asked at the same time; without one, one check says so."""
    present = [(editor, path) for editor in EDITORS if (path := _where(editor.program)) is not None]
    with ThreadPoolExecutor(len(EDITORS)) as asking:
        results = list(asking.map(lambda entry: _look(entry[0], entry[1], patience), present))
    yield from results or [Check("clients", "ok", "none found on the PATH; `tdb-dap debug` needs none")]


def _where(program: str) -> str | None:
    """Path of a program; not in the working directory, which may be an untrusted model's."""
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it has been removed
        here = ""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    path = shutil.which(program, path=os.pathsep.join(folders))
    return path if path is not None and os.path.dirname(path) != here else None


def _look(editor: Editor, path: str, patience: float) -> Check:
    name = f"client:{editor.program}"
    output = _ask(path, ["--version"], patience)
    if output is None:
        text = f"{editor.title} does not report its version within {patience:g} seconds"
        return Check(name, "note", text, f"{editor.program} --version")
    version = re.search(r"\d+(\.\d+)+[\w.+-]*", output)
    text = f"{editor.title} {version[0] if version else output.strip()[:_LONGEST]}".rstrip()
    if not editor.has_extension:
        return Check(name, "ok", text)
    listed = _ask(path, ["--list-extensions", "--show-versions"], patience)
    mend = f"{editor.program} --install-extension tdb-dap.vsix --force"
    if listed is None:
        return Check(name, "note", f"{text}; it does not list its extensions", f"{editor.program} --list-extensions")
    installed = re.search(rf"^{re.escape(EXTENSION)}@(\S+)", listed, re.MULTILINE | re.IGNORECASE)
    if installed is None:
        return Check(name, "note", f"{text}, without the extension {EXTENSION}", mend)
    if installed[1] != __version__:
        return Check(name, "note", f"{text}, extension {installed[1]}; tdb-dap is {__version__}", mend)
    return Check(name, "ok", f"{text}, extension {installed[1]}")


def _ask(path: str, options: Sequence[str], patience: float) -> str | None:
    """Text that a program prints; None if it fails or takes too long."""
    environment = {**outside_environment(), "QT_QPA_PLATFORM": "offscreen"}  # Kate asks for a screen to say its version
    try:
        done = subprocess.run(
            [path, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=patience,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
