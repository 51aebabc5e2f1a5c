"""Writing the compared tensors into an npz file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.check.results import Looked
from tdb_dap.errors import BadInput


def write(path: Path, found: Iterable[Looked]) -> int:
    """Each tensor as ``<name>@<line>.<role><index>.actual`` and ``.expected``, float32; returns how many tensors."""
    arrays: dict[str, Any] = {}
    for looked in found:
        row = looked.row
        if looked.actual is not None and looked.expected is not None:
            stem = f"{row.name}@{row.line}.{row.role}{row.index}"
            arrays[f"{stem}.actual"], arrays[f"{stem}.expected"] = looked.actual, looked.expected
    try:
        with path.open("wb") as file:
            np.savez(file, **arrays)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
    return len(arrays) // 2
