"""Writing reports to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tdb_dap.errors import BadInput


def refuse(paths: Sequence[Path], formats: Sequence[str]) -> None:
    """BadInput, before anything runs, if a report cannot be written there or has another format than ``formats``."""
    for path in paths:
        if path.suffix not in formats:
            raise BadInput(f"{path}: a report is one of {', '.join(formats)}")
        if not path.absolute().parent.is_dir():
            raise BadInput(f"{path}: cannot be written: there is no directory {path.parent}")


def write(path: Path, text: str) -> None:
    """Write a report; BadInput if that is not possible."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
