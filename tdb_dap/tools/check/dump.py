"""Writing the compared tensors into an npz file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.tools.check.results import Looked


def write(path: Path, found: Iterable[Looked]) -> int:
    """Each tensor as ``<name>@<line>.<role><index>.actual`` and ``.expected``, float32; returns how many tensors."""
    arrays: dict[str, Any] = {}
    for looked in found:
        row = looked.row
        if looked.actual is not None and looked.expected is not None:
            stem = f"{row.name}@{row.line}.{row.role}{row.index}"
            arrays[f"{stem}.actual"], arrays[f"{stem}.expected"] = looked.actual, looked.expected
    write_npz(path, arrays)
    return len(arrays) // 2
