"""The vendor's libraries, where they are; without them these tests are skipped and say why."""

from __future__ import annotations

import pytest

from tdb_dap.backends.discovery import library_of
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import chips


@pytest.fixture(autouse=True)
def vendor_libraries(request: pytest.FixtureRequest) -> None:
    """Skip a test without the library of the chip that its case is for (default BM1684X)."""
    if request.node.get_closest_marker("vendor") is None:
        return
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    chip = case.path.parent.name.upper() if case is not None else "BM1684X"
    try:
        library_of(chips()[chip])
    except BadInput as error:
        pytest.skip(str(error))
