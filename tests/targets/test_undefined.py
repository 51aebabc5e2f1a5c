"""What the chip leaves undefined is refused by name: the vendor's simulator answers with what its memory holds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI32, UI8, DType
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families import arithmetic
from tdb_dap.targets.semantics.registry import SEMANTICS, Operation
from tests.loops import each
from tests.samples import DATA
from tests.targets.commands import chip_named, computed

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


@pytest.mark.parametrize("model", ["bm1684/toy_bm1684_int8", "bm1684x/toy_bm1684x_int8", "bm1688/toy_bm1688_int8"])
@pytest.mark.parametrize("field", ["res0_c", "res0_h"])
def test_a_computation_without_elements_is_refused_by_name(model: str, field: str, tmp_path: Path) -> None:
    """The vendor's emulators end with an assertion or a division by zero."""
    program = tdb_dap.open(DATA / model).program
    assert isinstance(program.target, Chip)
    done, empty = set[str](), set[str]()
    for command in program.commands:
        names = {shared: name for name, shared, _ in program.target.named_fields(command.kind)}
        if command.engine != "tiu" or command.name in done or field not in names or command.is_system:
            continue
        if not any(isinstance(view, View) for view in command.results):
            continue
        done.add(command.name)
        changed = tmp_path / f"{len(done)}.bmodel"
        assert main(["patch", str(DATA / model), "-o", str(changed), "--set", f"{command.token}.{names[field]}=0"]) == 0
        debugger = tdb_dap.open(changed)
        other = debugger.program.commands[command.ordinal]
        if any(isinstance(view, View) and not view.size for view in (*other.description.reads, *other.results)):
            empty.add(command.name)
            text = debugger.run().text
            assert re.search(rf"{re.escape(command.name)}.* (has no elements|is not simulated)", text), command.token
    assert len(empty) > 3, empty


def test_an_input_that_would_fill_the_memory_when_it_is_padded_is_refused() -> None:
    """1,024 x 96 numbers with 15 zeros between them, in 64 channels."""
    sizes = {"res0_n": 1, "res0_c": 64, "res0_h": 1092, "res0_w": 102, "opd0_h": 1024, "opd0_w": 96}
    window = {
        "opd1_h": 1,
        "opd1_w": 1,
        "res_op_x_str": 15,
        "res_op_y_str": 15,
        "opd0_x_ins0": 15,
        "opd0_y_ins0": 15,
        "opd3_const": 1,
    }
    given = {"input": np.zeros((1, 64, 1024, 96), np.uint8)}
    with pytest.raises(NotSimulated, match=r"its padded input has 1,593,423,936 numbers"):
        computed(chip_named("BM1684X"), "pord.maxpooling", given, **sizes, **window, res0_addr=100 << 10)
