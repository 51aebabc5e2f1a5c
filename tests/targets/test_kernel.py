"""The C kernel and the sources beside it: what was built before a checkout moved on must not compute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from ctypes import Structure, sizeof
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import UI8, Array
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.elements import moved
from tdb_dap.targets.arithmetic.stored import Stored
from tdb_dap.targets.kernel.constants import MOST_ADDRESSES, Format, Function
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
def test_records_that_contradict_each_other_are_refused() -> None:
    """A field that only one side has would move all that follow; so would an offset beyond the block."""
    words = np.zeros((1, 1, 1, 4), np.uint8)
    call = moved(Stored(words, UI8)).record(words, [words], [0])
    pointer = words.ctypes.data
    block = kernel.block(1, [(pointer, 0, 4, 0, 0, 0), (pointer, 0, 4, 0, 0, 1)], [call])
    assert kernel.plan(block)

    def refused(reason: str, part: type[Structure], at: int, **fields: Any) -> None:
        changed = bytearray(block)
        record = part.from_buffer(changed, at)
        for name, value in fields.items():
            setattr(record, name, value)
        with pytest.raises(ValueError, match=reason):
            kernel.plan(bytes(changed))

    first = PlanRecord.from_buffer_copy(block)
    for number, size in enumerate(kernel._SIZES):
        other = (*kernel._SIZES[:number], size + 8, *kernel._SIZES[number + 1 :])
        refused("records of other sizes", PlanRecord, 0, sizes=other)
    with pytest.raises(ValueError, match="records of other sizes"):
        kernel.plan(block[: sizeof(PlanRecord) - 8])
    with pytest.raises(ValueError, match="records beyond its block"):
        kernel.plan(block[:-8])
    for name in ("tensor", "element", "product"):
        for offset in (4, len(block), len(block) + 8, (1 << 64) - 8):
            refused("records beyond its block", PlanRecord, 0, **{name: offset})
    refused("records beyond its block", PlanRecord, 0, elements=1 << 60)
    refused("too many tensors, or none", PlanRecord, 0, tensors=0)
    refused("nothing to compute", PlanRecord, 0, elements=0)
    refused("an operand of no tensor", TensorRecord, first.tensor, address=MOST_ADDRESSES)
    refused("a function that is not known", ElementsRecord, first.element, function=max(Function) + 1)
    refused("an operand of no tensor", StoredRecord, first.element + ElementsRecord.operand.offset, source=1)
    refused("an operand of no tensor", StoredRecord, first.element + ElementsRecord.to.offset, format=max(Format) + 1)


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
