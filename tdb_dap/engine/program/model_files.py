"""Opening a compiled file, whichever container it is."""

from __future__ import annotations

from pathlib import Path

from tdb_dap.engine.bmodel import Bmodel, ModelFile
from tdb_dap.engine.cvimodel import is_cvimodel, read_cvimodel


def open_model_file(path: Path) -> ModelFile:
    """The file with its metadata; BadInput if it is none, or damaged."""
    return read_cvimodel(path) if is_cvimodel(path) else Bmodel(path)
