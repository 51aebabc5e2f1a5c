"""The C kernel and the sources beside it: what was built before a checkout moved on must not compute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from ctypes import addressof, sizeof
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import UI8, Array
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.elements import moved
from tdb_dap.targets.arithmetic.stored import Stored
from tdb_dap.targets.kernel.constants import Format, Function
from tdb_dap.targets.kernel.records import ElementsRecord, PlanRecord, StoredRecord, TensorRecord

needs_kernel = pytest.mark.skipif(not kernel.is_built, reason="the C kernel is not built")

PACKAGE = Path(kernel.__file__).parents[2]
REPORT = "from tdb_dap.targets import kernel; print(kernel.is_built, kernel.is_active(), kernel.describe())"


@needs_kernel
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


@needs_kernel
def test_records_of_other_sizes_are_refused() -> None:
    """A field that only one side has would move all that follow."""
    words = np.zeros((1, 1, 1, 4), np.uint8)
    record = moved(Stored(words, UI8)).record(words, [words], [0])
    calls = (ElementsRecord * 1)(record)
    tensors = (TensorRecord * 2)()

    def made(**changed: Any) -> object:
        fields = {"sizes": kernel._SIZES, "lane_bytes": 1, "tensors": 2, "elements": 1} | changed
        plan = PlanRecord(**fields, tensor=addressof(tensors), element=addressof(calls))
        return kernel._kernel.plan(addressof(plan), sizeof(plan))

    assert made()
    for number, size in enumerate(kernel._SIZES):
        other = (*kernel._SIZES[:number], size + 8, *kernel._SIZES[number + 1 :])
        with pytest.raises(ValueError, match="records of other sizes"):
            made(sizes=other)
    with pytest.raises(ValueError, match="records of other sizes"):
        kernel._kernel.plan(addressof(PlanRecord()), sizeof(PlanRecord) - 8)
    with pytest.raises(ValueError, match="too many tensors, or none"):
        made(tensors=0)
    with pytest.raises(ValueError, match="nothing to compute"):
        made(elements=0)
    calls[0].function = max(Function) + 1
    with pytest.raises(ValueError, match="a function that is not known"):
        made()


@needs_kernel
@pytest.mark.parametrize(
    ("words", "form", "shape"),
    [
        (np.zeros(4, np.uint16), Format.UI8, (1, 1, 1, 4)),
        (np.zeros(4, np.uint8), Format.UI8, (1, 1, 1, 5)),
        (np.zeros(9, np.uint8)[1:].view(np.uint16), Format.UI16, (1, 1, 1, 4)),
        (np.zeros((1, 1, 1, 1, 4), np.uint8), Format.UI8, (1, 1, 1, 4)),
        (np.zeros(4, np.uint8), max(Format) + 1, (1, 1, 1, 4)),
    ],
    ids=["another size", "another shape", "an odd address", "five axes", "no format"],
)
def test_words_that_a_record_cannot_describe_are_refused(words: Array, form: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(BufferError):
        kernel.fill_stored(StoredRecord(), words, form, 0, shape)
