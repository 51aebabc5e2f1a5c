"""The C kernel and the sources beside it: what was built before a checkout moved on must not compute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tdb_dap.targets import kernel

PACKAGE = Path(kernel.__file__).parents[2]
REPORT = "from tdb_dap.targets import kernel; print(kernel.is_built, kernel.is_active(), kernel.describe())"


@pytest.mark.skipif(not kernel.is_built, reason="the C kernel is not built")
def test_a_kernel_of_other_sources_is_not_used(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "tdb_dap", ignore=shutil.ignore_patterns("__pycache__", "sample"))
    assert described(tmp_path).startswith("True True C kernel")
    folder = tmp_path / "tdb_dap" / "targets" / "kernel"
    source = folder / "simd" / "panels.h"
    source.write_text(source.read_text() + "/* what a pull brings */\n")
    assert described(tmp_path).startswith("False False NumPy (the C kernel was built from other sources: install again")
    for left in folder.rglob("*.[ch]"):
        left.unlink()
    assert described(tmp_path).startswith("True True C kernel"), "an installed package has no sources"


def described(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", kernel.SWITCH: "1"}
    done = subprocess.run(
        [sys.executable, "-c", REPORT], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout
