"""Every exception filter by its name."""

from __future__ import annotations

from collections.abc import Mapping

from tdb_dap.engine.checks.reference_checks import CHECKS
from tdb_dap.engine.control.exception_filter import Filter
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.engine.sanitizers import SANITIZERS
from tdb_dap.errors import BadExpression

FILTERS: dict[str, Filter] = {known.name: known for known in (*CHECKS, *SANITIZERS)}


def filters_named(wanted: Mapping[str, str | None]) -> dict[Filter, str | None]:
    """The filters of these names, with their conditions; BadExpression for a name that there is not."""
    for name in wanted:
        if name not in FILTERS:
            raise BadExpression(f"there is no exception filter {quoted(name)}; there are {', '.join(FILTERS)}")
    return {FILTERS[name]: condition for name, condition in wanted.items()}
