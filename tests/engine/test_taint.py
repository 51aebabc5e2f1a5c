"""What results depend on bytes that are undefined: not on numbers that are multiplied by zero."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.sanitizers.taint import Dependence, dependent
from tests.targets.commands import chip_named, empty, encoded


def multiplied(precision: int, constant: float) -> Dependence:
    """Dependence of ``x * constant`` where nobody defined x. ``precision``: 2 float32, 1 float16."""
    chip = chip_named("BM1684X")
    word = int(np.float32(constant).view(np.uint32)) if precision == 2 else int(np.float16(constant).view(np.uint16))
    values = {
        "opd0_addr": 0,
        "res0_addr": 12288,
        "opd1_addr": word,
        "opd1_const": 1,
        "tsk_opd_num": 2,
        "opd0_prec": precision,
        "opd1_prec": precision,
        "res0_prec": precision,
        "res0_n": 1,
        "res0_c": 4,
        "res0_h": 1,
        "res0_w": 8,
    }
    description = chip.describe(*encoded(chip, "arith.mul", **values), 0, {})
    (operand,) = (view for view in description.reads if isinstance(view, View))
    marks = np.full(operand.shape, np.iinfo(operand.dtype.bits_dtype).max, operand.dtype.bits_dtype)
    return dependent(chip, description, empty(chip), {operand: marks})


@pytest.mark.parametrize("precision", [1, 2])
def test_a_product_with_zero_depends_on_no_number_and_clears_no_nan(precision: int) -> None:
    depends = multiplied(precision, 0.0)
    assert not any(marked.any() for marked in depends.results.values())
    assert depends.clears


@pytest.mark.parametrize("precision", [1, 2])
@pytest.mark.parametrize("constant", [1.0, -0.5])
def test_a_product_with_another_number_depends_on_it(precision: int, constant: float) -> None:
    depends = multiplied(precision, constant)
    assert all(marked.all() for marked in depends.results.values())
    assert not depends.clears
