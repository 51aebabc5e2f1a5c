"""Dynamic models of one operation, many of them on shapes: what the runtime gives, also for inputs of other shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tdb_dap.errors import BadInput
from tests.samples import DATA

pytestmark = pytest.mark.vendor

OPERATORS = sorted((DATA / "memory" / "operators").iterdir())
CONVOLUTIONS = sorted((DATA / "memory").glob("dynamic_conv_*"))


@pytest.mark.parametrize("model", OPERATORS, ids=lambda path: path.name)
def test_an_operator_gives_what_the_runtime_gives(model: Path) -> None:
    debugger = tdb_dap.open(model, inputs=model / "input.npz")
    assert isinstance(debugger.program, RecordedProgram)
    debugger.set_checks(filters_named({"divergence": None}))
    stop = debugger.run()
    assert stop.reason == "end", stop.text
    outputs = debugger.outputs()
    with np.load(model / "runtime.npz") as truth:
        assert truth.files
        for name in truth.files:
            assert outputs[name].shape == truth[name].shape, name
            assert outputs[name].astype(np.float32).tobytes() == truth[name].astype(np.float32).tobytes(), name


def outputs_of(model: Path, image: np.ndarray, folder: Path) -> np.ndarray:
    np.savez(folder / "in.npz", x=image)
    debugger = tdb_dap.open(model, inputs=folder / "in.npz")
    debugger.set_checks(filters_named({"divergence": None}))
    assert debugger.run().reason == "end"
    [output] = debugger.outputs().values()
    return np.asarray(output)


@pytest.mark.parametrize("model", CONVOLUTIONS, ids=lambda path: path.name)
def test_a_dynamic_model_takes_smaller_inputs(model: Path, tmp_path: Path) -> None:
    """Of an image of 12 x 12 the upper part alone gives the upper part of the result, but for its last row."""
    with np.load(model / "input.npz") as archive:
        image = archive["x"]
    assert image.shape == (2, 3, 12, 12)
    whole = outputs_of(model, image, tmp_path)
    assert whole.shape == (2, 4, 6, 6)
    assert np.array_equal(outputs_of(model, image[:1], tmp_path), whole[:1])
    upper = outputs_of(model, image[:, :, :8], tmp_path)
    assert upper.shape == (2, 4, 4, 6)
    assert np.array_equal(upper[:, :, :3], whole[:, :, :3])


def test_larger_inputs_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros((2, 3, 12, 16), np.float32))
    with pytest.raises(BadInput, match=r"shape \[2, 3, 12, 16\] does not fit input x of shape \[2, 3, 12, 12\]"):
        tdb_dap.open(CONVOLUTIONS[0], inputs=tmp_path / "in.npz")


def test_the_runtime_takes_the_stage_that_was_chosen(tmp_path: Path) -> None:
    with np.load(CONVOLUTIONS[0] / "input.npz") as archive:
        images = np.concatenate([archive["x"], archive["x"][:1]])
    model = DATA / "memory" / "dynamic_stages_bm1684x.bmodel.xz"
    three = outputs_of(model, images, tmp_path)
    assert three.shape == (3, 4, 6, 6)
    assert np.array_equal(three[:2], outputs_of(model, images[:2], tmp_path))
    assert np.array_equal(three[2], three[0])
