"""Chips whose emulators were driven later: they load, and what the project says of them is what they do."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.backends.choice import vendor_backend
from tdb_dap.backends.messages import Execute
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Region
from tdb_dap.targets.chips.registry import chips

pytestmark = pytest.mark.vendor

NAMES = ("BM1684X2", "CV184X", "SG2380", "SGTPUV8")


@pytest.mark.parametrize("name", NAMES)
def test_the_emulator_loads_although_functions_are_missing_and_keeps_what_it_is_given(name: str) -> None:
    """SG2380's lacks two that no command calls; BM1684X2 has DDR at an address that no memory could hold."""
    chip = chips()[name]
    assert chip.vendor_library is not None
    backend = vendor_backend(chip)
    window = next(window for window in chip.geometry.windows if window.space is Space.GLOBAL)
    first = window.start - window.base | 1 << chip.geometry.tag_shift | 1 << 39
    memory = backend.open_memories(chip.vendor_library.cores, [Region(first, np.arange(4096, dtype=np.uint8), "data")])
    try:
        for core in range(memory.cores):
            memory.local(core)[:] = core + 1
            memory.static(core)[:] = core + 101
        backend.edited()
        backend.refresh()
        assert backend._process.execute(Execute(0, ())) == ()
    finally:
        backend.close()
