"""The frozen program: tdb-dap with its Python and all it needs, as a folder that runs where no Python is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = "tdb-dap.exe" if os.name == "nt" else "tdb-dap"


class CannotFreeze(Exception):
    """The program was not made; the message says why."""


def freeze(wheel: Path, recipe: Path, scratch: Path, environment: Mapping[str, str]) -> Path:
    """Freeze what a wheel holds, and return the folder: PROGRAM beside ``lib``.

    ``recipe``: the folder with the specification and the requirements; ``scratch``: an empty folder;
    ``environment``: variables of the environment, SOURCE_DATE_EPOCH among them. CannotFreeze if it cannot be done.
    """
    # Hashes decide the order of what PyInstaller collects.
    environment = {**environment, "PYTHONHASHSEED": "1"}
    _run([sys.executable, "-m", "venv", str(scratch / "venv")], scratch, environment)
    python = str(scratch / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    _run([*pip, "-r", str(recipe / "requirements.txt")], scratch, environment)
    _run([*pip, "--no-deps", str(wheel)], scratch, environment)
    command = [python, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(scratch / "frozen"), "--workpath", str(scratch / "work")]
    _run([*command, str(recipe / "tdb-dap.spec")], scratch, environment)
    folder = scratch / "frozen" / "tdb-dap"
    _run([str(folder / PROGRAM), "--version"], scratch, environment)
    return folder


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CannotFreeze(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
