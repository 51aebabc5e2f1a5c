"""Functions that a .cvimodel names for the host; the expected words are those of the vendor's runtime."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BF16, F32, SI8, DType
from tdb_dap.engine.host.functions import FUNCTIONS, HostTensor, Room, call
from tdb_dap.errors import NotSimulated


def quantised(numbers: list[float], target: DType, **arguments: object) -> list[int]:
    bits = F32.encode(np.array(numbers, np.float32))
    (words,) = call("quant", [HostTensor(bits, F32)], [Room(bits.shape, target)], {"from": "FP32", **arguments})
    stored: list[int] = target.widen(words).tolist() if target is SI8 else words.tolist()
    return stored


def test_quant_rounds_half_away_from_zero() -> None:
    numbers = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.5, -128.5, 0.49999997, -0.49999997]
    assert quantised(numbers, SI8, to="INT8", scale=1.0) == [1, 2, 3, -1, -2, -3, 127, 127, -128, 0, 0]
    assert quantised([1.0, -1.0, 300.0, -300.0], SI8, to="INT8", scale=63.5) == [64, -64, 127, -128]


def test_quant_to_bfloat16_multiplies_and_cuts_off() -> None:
    """1.001957 is a little more than 1 + 2^-9, half of the last place of the smallest of a binade."""
    numbers = [1.0, 1.00390625, 1.99609375, -1.00390625, 0.0, 3.0e38]
    assert quantised(numbers, BF16, to="BF16") == [0x3F80, 0x3F80, 0x4000, 0xBF80, 0x0000, 0x7F62]


def test_a_function_that_is_not_computed_is_named_with_its_arguments() -> None:
    with pytest.raises(NotSimulated, match=r"the host function yolo_detection\(classes = 80\) is not simulated"):
        call("yolo_detection", [], [], {"classes": 80})


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(("inputs", "outputs"), [(0, 0), (1, 0), (0, 1)])
def test_what_a_damaged_model_leaves_out_is_counted(name: str, inputs: int, outputs: int) -> None:
    """No phrase of Python's, such as "list index out of range"."""
    given = [HostTensor(F32.encode(np.ones(4, np.float32)), F32)] * inputs
    with pytest.raises(NotSimulated) as found:
        call(name, given, [Room((4,), SI8)] * outputs, {"to": "INT8", "from": "FP32", "scale": 1.0})
    assert "index" not in str(found.value)
