"""Commands on 8-bit floats: what the vendor's simulator made of them, recorded in float8.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.loops import each
from tests.targets.commands import chip_named, command, empty, form

RECORDS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "float8.json").read_text())
CHIP = "BM1690"
FLOAT8 = 7


@dataclass(frozen=True)
class Made:
    computed: Any
    recorded: Any
    dtype: DType


def executed(record: dict[str, Any]) -> Made:
    """A recorded command, executed on the operands that it was recorded with."""
    chip = chip_named(CHIP)
    descriptor = bytes.fromhex(record["descriptor"])
    kinds = [kind for kind, i in enumerate(chip.instruction_set.instructions) if i.mnemonic == record["name"]]
    kind = next(k for k in kinds if chip.instruction_set.instructions[k].size == len(descriptor))
    registers = {int(number): value for number, value in record["registers"].items()}
    description = chip.describe(kind, descriptor, 0, registers)
    memory = empty(chip)
    operands = dict(zip(description.operand_roles, description.operands, strict=True))
    for role, words in record["operands"]:
        view = operands[role]
        assert isinstance(view, View), role
        stored = np.frombuffer(bytes.fromhex(words), view.dtype.bits_dtype)
        memory.write(view, stored.reshape(memory.read(view).shape))
    chip.execute(description, memory)
    (result,) = description.results
    assert isinstance(result, View)
    computed = memory.read(result)
    recorded = np.frombuffer(bytes.fromhex(record["result"]), computed.dtype).reshape(computed.shape)
    return Made(computed, recorded, result.dtype)


@each("record", RECORDS)
def test_the_result_is_the_vendors_bit_by_bit_but_for_the_payload_of_nans(record: dict[str, Any], sums: str) -> None:
    made = executed(record)
    numbers = made.dtype.widen(made.recorded)
    assert np.array_equal(np.isnan(made.dtype.widen(made.computed)), np.isnan(numbers))
    same = (made.computed == made.recorded) | np.isnan(numbers)
    assert same.all(), f"{np.count_nonzero(~same)} of {same.size} differ"


def test_the_records_hold_both_formats_scales_and_every_result() -> None:
    chip = chip_named(CHIP)
    seen = set()
    for record in RECORDS:
        descriptor = bytes.fromhex(record["descriptor"])
        kinds = [k for k, i in enumerate(chip.instruction_set.instructions) if i.mnemonic == record["name"]]
        kind = next(k for k in kinds if chip.instruction_set.instructions[k].size == len(descriptor))
        f = chip.fields_of(kind, descriptor, 0, {})
        seen |= {(record["name"], "left", f.opd0_sign), (record["name"], "result", f.res0_prec)}
        if f.is_fused:
            seen |= {(record["name"], "scaled", f.rq)}
    for name in ("conv.normal", "pord.avgpooling", "pord.depthwise"):
        assert {(name, "left", sign) for sign in (0, 1)} <= seen
        assert {(name, "result", code) for code in (FLOAT8, 1, 2)} <= seen
        assert (name, "scaled", 1) in seen


SIZES = {
    "res0_n": 1, "res0_c": 2, "res0_h": 1, "res0_w": 1, "opd0_n": 1, "opd0_c": 2, "opd0_h": 1, "opd0_w": 1,
    "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1, "opd0_prec": FLOAT8, "opd1_prec": FLOAT8,
    "opd2_const": 1, "opd3_const": 1, "res0_addr": 4096, "opd1_addr": 8192, "tsk_opd_num": 2,
}  # fmt: skip


def made(name: str, **values: int) -> Any:
    chip = chip_named(CHIP)
    known = {shared for _, shared, _ in chip.named_fields(form(chip, name))}
    return command(chip, name, **{k: v for k, v in {**SIZES, **values}.items() if k in known})


@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        ("conv.normal", {"res0_prec": 5}, "sums of 8-bit floats as bf16 are not known"),
        ("pord.depthwise", {"res0_prec": FLOAT8}, "without a scale is not known"),
        ("arith.mul", {"res0_prec": FLOAT8, "opd1_prec": 1}, "it mixes 8-bit floats with f16"),
    ],
)
def test_what_the_vendors_simulator_does_otherwise_is_refused_by_name(
    name: str, fields: dict[str, int], text: str
) -> None:
    chip = chip_named(CHIP)
    with pytest.raises(NotSimulated, match=text):
        chip.execute(made(name, **fields), empty(chip))


@pytest.mark.parametrize("chip", ["BM1688", "BM1690"])
def test_moves_of_less_than_a_byte_are_refused_by_name(chip: str) -> None:
    target = chip_named(chip)
    address = {"src_start_addr_l32": 0, "dst_start_addr_l32": 4096}
    shape = {"src_nsize": 1, "src_csize": 1, "src_hsize": 1, "src_wsize": 4, "nchw_copy": 1}
    described = command(target, "dma.tensor", src_data_format=6, **shape, **address)
    with pytest.raises(NotSimulated, match="data format 6"):
        target.execute(described, empty(target))


def test_an_average_lists_its_weight_in_the_format_of_the_data() -> None:
    described = made("pord.avgpooling", opd0_sign=1, opd1_sign=1, opd1_const=1, opd1_addr=0x20, res0_prec=2)
    kernel = described.operands[1]
    assert (str(kernel.dtype), kernel.value) == ("f8e4m3", 0.125)
    assert "(%R0, %C32, %C0, %D0C0)" in chip_named(CHIP).vendor_text(described, "tiu", (1, 0))
