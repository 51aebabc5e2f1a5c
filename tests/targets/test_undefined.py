"""What the chip leaves undefined is refused by name: the vendor's simulator answers with what its memory holds."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI32, UI8, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families import arithmetic
from tdb_dap.targets.semantics.registry import SEMANTICS, Operation
from tests.loops import each

BITS_OF_INTEGERS = (
    arithmetic.NOT,
    arithmetic.AND,
    arithmetic.OR,
    arithmetic.XOR,
    arithmetic.LEADING_ZEROS,
    arithmetic.LEADING_ONES,
    arithmetic.LOGIC_SHIFT,
    arithmetic.ARITHMETIC_SHIFT,
    arithmetic.ROTATE,
    arithmetic.MUL_HIGH,
)


def operation(sub: int, left: DType, right: DType, result: DType) -> Operation:
    def value(dtype: DType) -> Value:
        return Value(np.ones((1, 1, 1, 4), dtype.bits_dtype), dtype)

    rules = chips()["BM1684X"].rules
    assert rules is not None
    shape: dict[str, tuple[int, ...]] = {"result": (1, 1, 1, 4)}
    fields = Fields({"opd2_n_str": 0}, sub, chips()["BM1684X"].geometry, 0, {})
    return Operation({"left": value(left), "right": value(right)}, {"result": result}, shape, fields, rules)


@each("sub", BITS_OF_INTEGERS)
@each("dtype", [F32, F16, BF16])
def test_bits_of_floats_are_undefined(sub: int, dtype: DType) -> None:
    compute = SEMANTICS["arith", sub]
    with pytest.raises(NotSimulated, match=f"with {dtype} numbers: undefined on the chip"):
        compute(operation(sub, dtype, SI32, SI32))
    with pytest.raises(NotSimulated, match=f"with {dtype} numbers: undefined on the chip"):
        compute(operation(sub, UI8, UI8, dtype))
