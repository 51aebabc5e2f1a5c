"""Requantisation and dequantisation. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import SI8, SI16, SI32, UI16, UI32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import elements, float32
from tdb_dap.targets.arithmetic.halves import calculated
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.rounding import to_integral
from tdb_dap.targets.arithmetic.shifts import requantised
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.families import quantize as op
from tdb_dap.targets.kernel.constants import Operator
from tdb_dap.targets.semantics.registry import Operation, semantics


def _operand_of(x: Operation, *roles: str) -> Value:
    """The first of these operands that the command has."""
    for role in roles:
        value = x.get(role)
        if value is not None:
            return value
    raise KeyError(roles)


def _first_of(x: Operation, *roles: str) -> Array:
    """Numbers of the first of these operands that the command has: broadcastable to (n, c, h, w)."""
    return _operand_of(x, *roles).numbers


def _low_byte(words: Array) -> Array:
    """The low byte as a signed number."""
    return SI8.decode(words.astype(np.int64).astype(np.uint8)).astype(np.int64)


def _low_half(words: Array, signed: int) -> Array:
    """The low half as a signed or unsigned number."""
    return (SI16 if signed else UI16).decode(words.astype(np.int64).astype(np.uint16)).astype(np.int64)


def _shift_and_zero(x: Operation, prefix: str, zero: str, signed: int) -> tuple[Array, Array]:
    """Shift and zero point: from a word that holds both, from a table, or from the command."""
    packed = x.get(f"{prefix}shift_zero_packed")
    if packed is not None:
        return _low_byte(packed.numbers), packed.numbers.astype(np.int64) >> 16
    table = x.get(f"{prefix}shift_table")
    if table is not None:
        zero_table = x["input_zero_table" if prefix else "zero_point_table"]
        return _low_byte(table.numbers), _low_half(zero_table.numbers, signed)
    amount = _first_of(x, f"{prefix}shift", f"{prefix}shift_of_word").astype(np.int64)
    return amount, _first_of(x, zero, f"{zero}_of_word").astype(np.int64)


def _integer_format(x: Operation) -> DType:
    """The integers that a result of rq0, rq1 or dq1 is, whatever its code: of 32 bits where that is one of floats."""
    return x.dtype if not x.dtype.is_float else SI32 if op.result_sign(x.fields) else UI32


def _limits(x: Operation) -> tuple[int, int]:
    """Least and greatest result; those of the older chip have 16 bits at most."""
    dtype = _integer_format(x)
    if dtype.itemsize == 4 and not op.is_packed(x.fields):
        dtype = SI16 if op.result_sign(x.fields) else UI16
    is_symmetric = x.fields.sub == op.RQ1 and x.fields.sym_range and dtype.kind == "i"
    return (-dtype.maximum if is_symmetric else dtype.minimum, dtype.maximum)


def _steps(x: Operation, multiplier: Array | int = 1, amount: Array | int = 0, zero: Array | int = 0) -> Steps:
    """The steps after a product; a shift to the left on the older chip wraps."""
    packed = op.is_packed(x.fields)
    return Steps(x.fields.opd2_n_str, multiplier, amount, zero, limits=_limits(x), keeps_sign=packed)


def _stored(x: Operation, integers: Array) -> Array:
    """Words of integers; a 16-bit float's code keeps their low half."""
    return _integer_format(x).encode(integers).astype(x.dtype.bits_dtype)


def _integers(x: Operation) -> Array:
    """The input of rq0 and rq1: what is not an integer counts as 0, on the older chip bytes, too."""
    value = x["input"]
    dtype = _read_as(x, value.dtype)
    return np.zeros(value.shape, np.int64) if dtype is None else value.of(dtype).numbers


def _read_as(x: Operation, dtype: DType) -> DType | None:
    """The integers that rq0 and rq1 read; None where what they read counts as 0."""
    if dtype.is_float or dtype.per_byte > 1 or (dtype.itemsize == 1 and not op.is_packed(x.fields)):
        return None
    return SI32 if x.fields.sub == op.RQ1 and dtype.itemsize == 4 and not x.rules.unsigned_words else dtype


@semantics("quant", op.RQ0)
def requantize_float(x: Operation) -> Array:
    """round(input as f32 * scale + offset), saturated; NaN gives 0. Bit 3 of the mode: half away, else half even."""
    numbers = _integers(x).astype(np.float32)
    scale = _first_of(x, "scale", "scale_table", "scale_packed")
    offset = _first_of(x, "offset", "offset_table", "offset_packed")
    moved = float32.add(float32.multiply(float32.flush(numbers), float32.flush(scale)), float32.flush(offset))
    rounded = to_integral(moved.astype(np.float64), x.fields.opd2_n_str >> 3)
    integers = np.clip(np.where(np.isnan(rounded), 0, rounded), SI32.minimum, SI32.maximum)
    return _stored(x, np.clip(integers.astype(np.int64), *_limits(x)))


@semantics("quant", op.RQ1)
def requantize_integer(x: Operation) -> Array:
    """saturate(shift(input * multiplier) + zero point); what is shifted has 32 bits at most.

    The zero point is unsigned if the result is (BM1684X; later chips: always signed).
    """
    f = x.fields
    words = _requantized_at_once(x)
    if words is not None:
        return words
    multiplier = _first_of(x, *_MULTIPLIERS).astype(np.int64)
    amount, zero = _shift_and_zero(x, "", "zero_point", op.result_sign(f))
    numbers = _integers(x)
    if x.dtype.itemsize < 4 and not x.dtype.is_float:
        return requantised(numbers, _steps(x, multiplier, amount, zero), x.dtype)
    steps = replace(_steps(x, multiplier, amount), limits=(SI32.minimum, SI32.maximum))
    shifted = SI32.decode(requantised(numbers, steps, SI32)).astype(np.int64)
    return _stored(x, np.clip(shifted + zero, *_limits(x)))


_MULTIPLIERS = ("multiplier", "multiplier_table", "multiplier_packed")


def _requantized_at_once(x: Operation) -> Array | None:
    """rq1 in one pass from the words as they are stored; None where the kernel does not do that."""
    value, f = x["input"], x.fields
    dtype = _read_as(x, value.dtype)
    if dtype is None or x.dtype.itemsize == 4 or x.dtype.is_float:
        return None
    packed, table = x.get("shift_zero_packed"), x.get("shift_table")
    if packed is not None:
        amount, zero = packed.stored.part(SI8, 0), packed.stored.part(SI16, 2)
    elif table is not None:
        amount = table.stored.part(SI8, 0)
        zero = x["zero_point_table"].stored.part(SI16 if op.result_sign(f) else UI16, 0)
    else:
        amount = _operand_of(x, "shift", "shift_of_word").stored
        zero = _operand_of(x, "zero_point", "zero_point_of_word").stored
    steps, stored = _steps(x), value.of(dtype).stored
    numbers = {"multiplier": _operand_of(x, *_MULTIPLIERS).stored, "amount": amount, "zero": zero}
    return elements.integers(Operator.FIRST, stored, stored, steps, x.dtype.itemsize, **numbers)


@semantics("quant", op.DQ0)
def dequantize_float(x: Operation) -> Array:
    """(input - zero point) as f32 * scale; the zero point has 16 bits, unsigned if the input is (BM1684X)."""
    f = x.fields
    middle = _operand_of(x, "input_zero", "input_zero_of_word", "input_zero_table", "input_zero_packed")
    scales = _operand_of(x, "input_scale", "input_scale_of_word", "input_scale_table", "input_scale_packed")
    if middle.is_constant and scales.is_constant and not middle.numbers.any() and np.isfinite(scales.numbers).all():
        words = elements.scaled(x["input"].stored, scales.stored, x.dtype)
        if words is not None:
            return words
    zero = middle.numbers
    if not f.opd1_const:
        zero = _low_half(zero, f.opd0_sign or f.has("sym_range"))
    scale = scales.numbers
    centred = (x["input"].numbers.astype(np.int64) - zero.astype(np.int64)).astype(np.float32)
    return x.dtype.encode(float32.multiply(centred, float32.flush(scale)))


@semantics("quant", op.DQ1)
def dequantize_integer(x: Operation) -> Array:
    """saturate(shift((input - zero point) * multiplier)); words of the older chip are signed, whatever they say."""
    f = x.fields
    if x["input"].dtype.is_float:
        raise NotSimulated(f"{x['input'].dtype} numbers as integers: undefined on the chip")
    roles = ("input_multiplier", "input_multiplier_of_word", "input_multiplier_table", "input_multiplier_packed")
    multiplier = _first_of(x, *roles).astype(np.int64)
    amount, zero = _shift_and_zero(x, "input_", "input_zero_point", f.opd0_sign)
    centred = x["input"].numbers.astype(np.int64) - zero
    is_word = x.dtype.itemsize == 4 and not x.dtype.is_float and not op.is_packed(f)
    limits = (SI32.minimum, SI32.maximum) if is_word else _limits(x)
    words = requantised(centred, replace(_steps(x, multiplier, amount), limits=limits), _integer_format(x))
    return words.astype(x.dtype.bits_dtype)


@semantics("quant", op.DQ2)
def dequantize_groups(x: Operation) -> Array:
    """round(round(input - zero point) * scale) in the format of the result, f16 or bf16, both numbers of a group."""
    dtype = x.dtype
    if dtype.itemsize != 2 or not dtype.is_float:
        raise NotSimulated(f"quant.dq2 into {dtype} is not known")
    if not op.is_packed(x.fields):
        raise NotSimulated("quant.dq2 is not known on this chip: no compiler emits it")
    words = x["group_table"].bits
    zero, scale = (
        float32.operand(dtype.widen((words >> np.uint32(shift) & np.uint32(0xFFFF)).astype(np.uint16)), dtype)
        for shift in (0, 16)
    )
    if words.shape[3] > 1:
        zero, scale = (np.repeat(part, op.group_size(x.fields), 3)[..., : x.shape[3]] for part in (zero, scale))
    numbers = x["input"].numbers.astype(np.float32)
    numbers, zero, scale = np.broadcast_arrays(numbers, zero, scale)
    centred = float32.round_to(float32.subtract(float32.round_to(numbers, dtype), zero), dtype)
    return calculated(float32.product_in(centred, scale, dtype), dtype)
