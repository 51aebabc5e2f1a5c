"""Reports that subcommands write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tdb_dap.engine.files.atomic_files import refuse_unwritable
from tdb_dap.errors import BadInput


def refuse(paths: Sequence[Path], formats: Sequence[str]) -> None:
    """BadInput, before anything runs, if a report cannot be written there or has another format than ``formats``."""
    for path in paths:
        if path.suffix not in formats:
            raise BadInput(f"{path}: a report is one of {', '.join(formats)}")
        refuse_unwritable(path)
