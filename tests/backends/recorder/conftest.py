"""The runtime and the program of these tests, compiled once."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tdb_dap.backends.recorder.record import LIBRARY
from tests.backends.recorder.recorded import Fake

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with ``program`` and ``vendor.so``."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64" or not compiler:
        pytest.skip("the recorder is for Linux x86-64, and its tests need a C compiler")
    assert LIBRARY.exists(), "make setup builds the recorder"
    folder = tmp_path_factory.mktemp("vendor")
    for output, options in {
        "vendor.so": ["-shared", "-fPIC", str(HERE / "vendor.c"), "-lpthread"],
        "program": [str(HERE / "program.c"), "-ldl"],
    }.items():
        subprocess.run([compiler, "-O1", "-w", "-o", str(folder / output), *options], check=True)
    return folder


@pytest.fixture
def fake(built: Path, tmp_path: Path) -> Fake:
    """The program, ready to be recorded."""
    return Fake(built, tmp_path)
