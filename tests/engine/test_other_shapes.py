"""Inputs in other shapes than a dynamic model was compiled for, where no runtime makes a recording of the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.errors import BadInput
from tdb_dap.tools.opening import open_debugger, read_inputs
from tdb_dap.tools.programs import open_program
from tests.samples import DATA, case

MODEL = DATA / "memory" / "dynamic_conv_bm1684x_f32"


def image(path: Path, *shape: int) -> Path:
    np.savez(path / "in.npz", x=np.ones(shape, np.float32))
    return path / "in.npz"


def test_a_dynamic_model_takes_what_is_no_larger(tmp_path: Path) -> None:
    program = open_program(MODEL)
    for shape in ((2, 3, 12, 12), (1, 3, 12, 12), (2, 3, 5, 7)):
        assert read_inputs(image(tmp_path, *shape), program)["x"].shape == shape


@pytest.mark.parametrize("shape", [(2, 3, 13, 12), (2, 12, 12, 3), (3, 12, 12), (2, 3, 0, 12)], ids=str)
def test_what_is_larger_or_in_another_layout_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="does not fit input x"):
        read_inputs(image(tmp_path, *shape), open_program(MODEL))


def test_a_static_model_takes_its_own_shape_only(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not fit input x"):
        read_inputs(image(tmp_path, 1, 3, 16, 16), open_program(case("toy_bm1684x_f32").path))


def test_without_a_recording_of_the_run_another_shape_is_refused(tmp_path: Path) -> None:
    """With the vendor's debugger nothing is recorded; what was compiled would read other bytes."""
    with pytest.raises(BadInput, match=r"x has shape \[1, 3, 12, 12\], the model was compiled for \[2, 3, 12, 12\]"):
        open_debugger(MODEL, image(tmp_path, 1, 3, 12, 12), static_tables="tdb")
    open_debugger(MODEL, image(tmp_path, 2, 3, 12, 12), static_tables="tdb").close()


STAGES = DATA / "memory" / "dynamic_stages_bm1684x.bmodel.xz"
"""A dynamic net with stages for two and for four images."""


@pytest.mark.parametrize(("count", "stage"), [(1, 0), (2, 0), (3, 1), (4, 1)])
def test_the_first_stage_that_takes_the_shape_is_chosen(tmp_path: Path, count: int, stage: int) -> None:
    program = open_program(STAGES, inputs=image(tmp_path, count, 3, 12, 12))
    assert program.stage_index == stage
    assert read_inputs(tmp_path / "in.npz", program)["x"].shape == (count, 3, 12, 12)


def test_what_no_stage_takes_names_them(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"the stages take 0 \(x f32\[2,3,12,12\]\), 1 \(x f32\[4,3,12,12\]\)"):
        read_inputs(image(tmp_path, 5, 3, 12, 12), open_program(STAGES))
