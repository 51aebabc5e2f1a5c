"""The vendor's runtime loads and runs changed models, and computes what we compute."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.cli.main import main
from tests.samples import case

pytestmark = [
    pytest.mark.vendor,
    pytest.mark.skipif(shutil.which("model_runner") is None, reason="the vendor's model_runner is not on PATH"),
]
X, X8 = "toy_bm1684x_f32", "toy_bm1688_f16c2"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (X, ["--set", "B1.opd0_up_pad=0", "--set", "B1.opd0_dn_pad=2", "--weight", "w1=0.25"]),
        (X, ["--until", "maxpool5_MaxPool"]),
        (X, ["--until", "globalaveragepool11_GlobalAveragePool"]),
        (X8, ["--until", "maxpool5_MaxPool"]),
    ],
    ids=["patched", "cut in a group", "cut", "cut on two cores"],
)
def test_a_changed_model_runs_on_the_vendors_runtime(name: str, options: list[str], tmp_path: Path) -> None:
    of = case(name)
    model = tmp_path / "changed.bmodel"
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    assert main(["patch", str(of.path), "-o", str(model), *options]) == 0
    assert main(["run", str(model), "--inputs", str(of.inputs), "--outputs", str(ours), "--quiet"]) == 0
    command = ["model_runner", "--input", str(of.inputs), "--model", str(model), "--output", str(theirs)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=100)
    with np.load(ours) as a, np.load(theirs) as b:
        for name in a.files:
            assert np.array_equal(a[name], b[name], equal_nan=True), name
            assert not np.array_equal(a[name], of.truth[name]), "the change shows"
