"""All goldens: importing the families registers their functions."""

from __future__ import annotations

from tdb_dap.tools.golden import (
    activations,
    elementwise,
    indexing,
    integers,
    matrices,
    recurrent,
    resizing,
    shapes,
    statistics,
    windows,
)
from tdb_dap.tools.golden.calls import GOLDENS, INTEGER, LINEAR, Call, NoGolden, compute

FAMILIES = (
    activations,
    elementwise,
    indexing,
    integers,
    matrices,
    recurrent,
    resizing,
    shapes,
    statistics,
    windows,
)

__all__ = ["FAMILIES", "GOLDENS", "INTEGER", "LINEAR", "Call", "NoGolden", "compute"]
