"""Committed files of the root that no release knows: the release would fail on them after minutes."""

from __future__ import annotations

import subprocess
from pathlib import Path

PACKED = ("MANIFEST.in", "README.md", "pyproject.toml", "setup.py")
"""Files of the root that setuptools takes by itself."""


def strays(root: Path) -> list[str]:
    """A line for each committed file of the root that the source distribution leaves out; none outside a repository."""
    done = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    taken = {*(root / "MANIFEST.in").read_text("utf-8").split(), *PACKED}
    return [f"{name}: not in MANIFEST.in" for name in done.stdout.splitlines() if "/" not in name and name not in taken]
