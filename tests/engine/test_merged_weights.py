"""Weights in which the compiler keeps the bias before the filter: their bytes are no numbers of one format."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tests.samples import case

TOY = case("toy_bm1684x_f32")


@pytest.mark.parametrize("is_merged", [False, True])
def test_bytes_of_merged_weights_are_no_nans(is_merged: bool, tmp_path: Path) -> None:
    for name in ("final.mlir", "tensor_location.json.xz"):
        shutil.copyfile(TOY.path / name, tmp_path / name)
    with Editor(open_program(TOY.path), tmp_path / "compilation.bmodel") as editor:
        editor.set_weight("w1", np.float32("nan"))
    text = (tmp_path / "final.mlir").read_text("utf-8")
    assert "coeff_merged = false" in text
    if is_merged:
        (tmp_path / "final.mlir").write_text(text.replace("coeff_merged = false", "coeff_merged = true"), "utf-8")
    debugger = open_debugger(tmp_path, TOY.inputs)
    debugger.set_checks(filters_named({"nan": None}))
    stop = debugger.run()
    assert ("takes from the weight w1" in stop.text) is not is_merged
