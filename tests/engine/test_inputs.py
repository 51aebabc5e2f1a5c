"""Numbers that an input cannot hold are refused, not changed without a word."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput
from tdb_dap.tools.opening import open_program
from tests.samples import DATA


@pytest.mark.parametrize(
    ("model", "number", "problem"),
    [
        ("toy_bm1684x_f32", 1e300, "numbers are too large for input x of type f32, the first is 1e+300"),
        ("toy_bm1684x_f32", -1e39, "the first is -1e+39"),
        ("toy_bm1684x_f32", np.inf, ""),
        ("toy_bm1684x_f32", np.nan, ""),
        ("toy_bm1684x_int8qio", np.nan, "holds NaN, which input x"),
        ("toy_bm1684x_int8qio", 1e300, ""),  # of quantised inputs what is too large is the largest
        ("toy_bm1684x_int8qio", -np.inf, ""),
    ],
)
def test_a_number_fits_or_is_refused(model: str, number: float, problem: str, tmp_path: Path) -> None:
    tensors = open_program(DATA / "bm1684x" / model).inputs
    arrays = {tensor.name: np.zeros(tensor.shape) for tensor in tensors}
    arrays[tensors[0].name].flat[3] = number
    write_npz(tmp_path / "in.npz", arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if problem:
            with pytest.raises(BadInput) as refused:
                load_inputs(tmp_path / "in.npz", tensors)
            assert problem in str(refused.value)
        else:
            load_inputs(tmp_path / "in.npz", tensors)


@pytest.mark.parametrize(
    "limit", ["cosine=nan", "cosine=1.1", "0.99,nan", "f16:ulp=-1", "x*:badShare=2", "relative=-inf", "sqnr=nan"]
)
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(BadInput, match="is a number from"):
        Tolerances.parse([limit])
