"""The frozen program: tdb-dap with its Python and all it needs, as a folder that runs where no Python is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.release.steps import run

PROGRAM = "tdb-dap.exe" if os.name == "nt" else "tdb-dap"


def freeze(wheel: Path, recipe: Path, scratch: Path, environment: Mapping[str, str]) -> Path:
    """Freeze what a wheel holds, and return the folder: PROGRAM next to ``lib``.

    ``recipe``: the folder with the specification and the requirements; ``scratch``: an empty folder;
    ``environment``: variables of the environment, SOURCE_DATE_EPOCH among them. BadBuild if it cannot be done.
    """
    # Hashes decide the order of what PyInstaller collects.
    environment = {**environment, "PYTHONHASHSEED": "1"}
    run([sys.executable, "-m", "venv", str(scratch / "venv")], scratch, environment)
    python = str(scratch / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    run([*pip, "-r", str(recipe / "requirements.txt")], scratch, environment)
    run([*pip, "--no-deps", str(wheel)], scratch, environment)
    command = [python, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(scratch / "frozen"), "--workpath", str(scratch / "work")]
    run([*command, str(recipe / "tdb-dap.spec")], scratch, environment)
    folder = scratch / "frozen" / "tdb-dap"
    run([str(folder / PROGRAM), "--version"], scratch, environment)
    return folder
