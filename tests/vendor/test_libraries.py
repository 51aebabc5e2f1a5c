"""What ``backends fetch`` brings loads with nothing else beside it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tdb_dap.backends.discovery import library_of, supported
from tdb_dap.targets.chips.chip import Chip

pytestmark = pytest.mark.vendor

_LOADED = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_LAZY)"


@pytest.mark.parametrize("chip", supported(), ids=lambda chip: chip.name)
def test_every_library_of_a_chip_finds_what_it_needs(chip: Chip) -> None:
    library = chip.vendor_library
    assert library is not None
    folder = library_of(chip).parent
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{folder / 'third_party'}"}
    assert not library.kernel_module or (folder / library.kernel_module).is_file()
    for name in (library.file, *library.runtime, *library.runtime_needs):
        done = subprocess.run(
            [sys.executable, "-c", _LOADED, str(folder / name)], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{name}: {done.stderr.strip().splitlines()[-1:]}"
