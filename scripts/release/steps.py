"""Running the programs that a build consists of."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class BadBuild(Exception):
    """What was not built, or must not be published; the message says why, and what to do."""


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Run a program in a folder, and return all that it prints; BadBuild if it fails."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode:
        raise BadBuild(f"{' '.join(command)} in {folder}: exit code {done.returncode}\n{said}")
    return said
