"""Every exception filter by its name."""

from __future__ import annotations

from tdb_dap.engine.checks.reference_checks import CHECKS
from tdb_dap.engine.control.exception_filter import Filter
from tdb_dap.engine.sanitizers import SANITIZERS

FILTERS: dict[str, Filter] = {known.name: known for known in (*CHECKS, *SANITIZERS)}
