"""Environments of their own below build/, for scripts that test what is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from scripts.generated import ROOT

_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")


def install_extra(name: str) -> None:
    """Install an extra of pyproject.toml into the environment of this interpreter."""
    subprocess.run([sys.executable, *_PIP, "-e", f".[{name}]"], cwd=ROOT, check=True)


def fresh(name: str, packages: Sequence[str]) -> Path:
    """Make ``build/NAME`` anew and install packages into it, paths relative to the project; returns its Python."""
    folder = ROOT / "build" / name
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([str(python), *_PIP, *packages], cwd=ROOT, check=True)
    return python
