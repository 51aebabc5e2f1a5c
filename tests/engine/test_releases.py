"""Models made by earlier releases of the compiler: other record keys, another schema version, the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tests.known import known
from tests.samples import DATA

RELEASES = sorted((DATA / "contexts").glob("release_*"))


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.name)
def test_an_earlier_release_opens_maps_and_runs_bit_exactly(path: Path) -> None:
    debugger = tdb_dap.open(path)
    records = debugger.program.source.records
    mlir = known(debugger.program.source.mlir)
    assert {known(mlir.op_at(record.line)).name for record in records} >= {"tpu.Conv2D", "tpu.Softmax"}
    assert all(value.view is not None for record in records for value in (*record.operands, *record.results))
    assert debugger.run().reason == "end"
    with np.load(path / "runtime.npz") as truth:
        np.testing.assert_array_equal(
            debugger.outputs()["softmax16_Softmax_f32"].ravel(), truth["softmax16_Softmax_f32"].ravel()
        )


def test_the_raw_input_file_of_the_compiler_is_found() -> None:
    (path,) = [path for path in RELEASES if path.name.endswith("1.15")]
    debugger = tdb_dap.open(path)
    words = np.frombuffer((path / "input_ref_data.dat").read_bytes(), np.float32)
    np.testing.assert_array_equal(debugger.read(debugger.program.inputs[0].view).ravel(), words)
