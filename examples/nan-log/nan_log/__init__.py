"""An observer for tdb-dap: how many NaNs each result holds, as CSV.

``NAN_LOG=nans.csv tdb-dap run CONTEXT --inputs X.npz`` writes a line per result of every op that is executed.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdb_dap.api import Observer

if TYPE_CHECKING:
    from tdb_dap.api import Inspector

VARIABLE = "NAN_LOG"
"""Environment variable with the name of the file; without it nothing is written."""


class NanLog(Observer):
    """Counts when an op has ended."""

    def __init__(self) -> None:
        self._path = os.environ.get(VARIABLE)

    def loaded(self, inspector: Inspector) -> None:
        """Begin the file."""
        if self._path:
            self._write("w", [("ordinal", "line", "op", "tensor", "elements", "NaNs")])

    def after_op(self, inspector: Inspector, record: Any) -> None:
        """A line for each result."""
        if not self._path:
            return
        rows = []
        for value in record.results:
            if value.view is not None and value.view.dtype.is_float:
                numbers = inspector.read(value.view)
                nans = int(np.count_nonzero(np.isnan(numbers)))
                rows.append((inspector.ordinal, record.line, record.opcode, value.name, numbers.size, nans))
        self._write("a", rows)

    def _write(self, mode: str, rows: list[tuple[Any, ...]]) -> None:
        assert self._path is not None
        with Path(self._path).open(mode, newline="") as file:
            csv.writer(file).writerows(rows)
