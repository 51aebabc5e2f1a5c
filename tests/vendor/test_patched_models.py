"""The vendor's runtime loads and runs changed models, and computes what we compute."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.cli import main
from tests.samples import case

pytestmark = [
    pytest.mark.vendor,
    pytest.mark.skipif(shutil.which("model_runner") is None, reason="the vendor's model_runner is not on PATH"),
]
TOY = case("toy_bm1684x_f32")


@pytest.mark.parametrize(
    "options",
    [
        ["--set", "B1.opd0_up_pad=0", "--set", "B1.opd0_dn_pad=2", "--weight", "w1=0.25"],
        ["--until", "maxpool5_MaxPool"],
        ["--until", "globalaveragepool11_GlobalAveragePool"],
    ],
    ids=["patched", "cut in a group", "cut"],
)
def test_a_changed_model_runs_on_the_vendors_runtime(options: list[str], tmp_path: Path):
    model = tmp_path / "changed.bmodel"
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    assert main(["patch", str(TOY.path), "-o", str(model), *options]) == 0
    assert main(["run", str(model), "--inputs", str(TOY.inputs), "--outputs", str(ours), "--quiet"]) == 0
    command = ["model_runner", "--input", str(TOY.inputs), "--model", str(model), "--output", str(theirs)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=100)
    with np.load(ours) as a, np.load(theirs) as b:
        for name in a.files:
            assert np.array_equal(a[name], b[name], equal_nan=True), name
            assert not np.array_equal(a[name], TOY.truth[name]), "the change shows"
