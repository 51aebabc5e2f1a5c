"""Both ways to form sums of products: the C kernel and NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tdb_dap.targets import kernel


@pytest.fixture(params=["kernel", "numpy"])
def sums(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a test twice: with the kernel (skipped if it is not built) and without."""
    wanted = request.param == "kernel"
    if wanted and not kernel.is_built:
        pytest.skip(kernel.describe())
    with kernel.switched(wanted):
        yield request.param
