"""Requantised matrix products: what becomes of sums beyond 32 bits. Source: the vendor's simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.targets.commands import chip_named, empty, form

ZERO_POINT = 55
MOST, LEAST = (1 << 31) - 1, -(1 << 31)
REGISTERS = {5: 0, 6: 1 << 20, 32: -20 & 0xFF, 33: ZERO_POINT}


def product(left: int, right: int, bias: int, **flags: int) -> int:
    """One number times one number plus a bias, rounded to 8 bits."""
    chip = chip_named("BM1688")
    kind = form(chip, "mm.normal")
    sizes = {"res0_c": 1, "res0_w": 1, "opd0_n": 1, "opd0_c": 1, "opd0_w": 1, "opd1_w": 1, "opd1_n": 1, "opd1_c": 1}
    places = {"res0_addr": 4096, "opd1_addr": 8192, "opd2_addr": 12288}
    signs = {"opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1, "rq": 1, "opd4_const": 1, "opd5_const": 1}
    values = {**sizes, **places, **signs, **flags}
    names = {shared: name for name, shared, _ in chip.named_fields(kind)}
    fields = {names[name]: value for name, value in values.items() if name in names}
    descriptor = chip.encode(kind, chip.instruction_set.blank(kind), fields)
    description = chip.describe(kind, descriptor, 0, REGISTERS)
    memory = empty(chip)
    for role, number in (("left", left), ("right", right), ("bias", bias)):
        view = dict(zip(description.operand_roles, description.operands, strict=True))[role]
        assert isinstance(view, View)
        memory.write(view, np.full(memory.read(view).shape, number & ((1 << 8 * view.dtype.itemsize) - 1)))
    chip.execute(description, memory)
    (result,) = description.results
    assert isinstance(result, View)
    return int(memory.read(result).view(np.int8).reshape(-1)[0])


@pytest.mark.parametrize(
    ("left", "bias", "relu", "wanted"),
    [
        (1, 3, 0, ZERO_POINT + 4),
        (-5, 1, 1, ZERO_POINT),
        (-5, LEAST, 0, 127),  # wraps to a large number
        (-5, LEAST, 1, ZERO_POINT),  # is rectified before it wraps
        (5, MOST, 0, -128),  # wraps to a negative number
        (5, MOST, 1, ZERO_POINT),  # which is rectified after
    ],
)
def test_a_sum_is_rectified_before_and_after_it_is_held_in_32_bits(
    left: int, bias: int, relu: int, wanted: int
) -> None:
    assert product(left, 1, bias, relu=relu) == wanted


def test_an_unsigned_sum_is_held_without_a_sign() -> None:
    assert product(1, 1, 1 << 31, opd0_sign=0, opd1_sign=0, opd2_sign=0) == 127


def test_what_is_not_known_of_an_unsigned_bias_is_refused() -> None:
    with pytest.raises(NotSimulated, match="unsigned bias"):
        product(5, 1, MOST, relu=1, opd2_sign=0)


@pytest.mark.parametrize("name", ["vc.and", "vc.or", "vc.xor"])
def test_bit_operations_of_vectors_of_floats_are_refused(name: str) -> None:
    chip = chip_named("BM1688")
    kind = form(chip, name)
    sizes = {"res0_c": 4, "res0_w": 4, "opd0_c": 1, "opd0_w": 4, "opd1_w": 4, "res0_addr": 4096, "opd1_addr": 8192}
    values = {**sizes, "opd0_prec": 2, "opd1_prec": 2, "res0_prec": 2}
    names = {shared: n for n, shared, _ in chip.named_fields(kind)}
    fields = {names[n]: value for n, value in values.items() if n in names}
    described = chip.describe(kind, chip.encode(kind, chip.instruction_set.blank(kind), fields), 0, {})
    with pytest.raises(NotSimulated, match="operation on the bits of integers with f32 numbers"):
        chip.execute(described, empty(chip))
