"""Pooling and depthwise convolution of CV18xx."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import truncating
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.arithmetic.windows import padded, taps
from tdb_dap.targets.families.cv18xx.rows import is_float
from tdb_dap.targets.families.cv18xx.windows import (
    AVERAGE,
    DEPTHWISE,
    MAXIMUM,
    MINIMUM,
    fill_bits,
    is_filled,
    is_inserted,
)
from tdb_dap.targets.semantics.cv18xx import common
from tdb_dap.targets.semantics.cv18xx.common import refuse, tiu
from tdb_dap.targets.semantics.registry import Operation


def image_of(x: Operation) -> Array:
    """The input with what is inserted and around it: float32, or integers of its format."""
    refuse("input_high" in x, "windows over integers of 16 bits")
    value, f = x["input"], x.fields
    fill = fill_bits(f)
    bits = padded(value.bits, f, Value(_fill_word(x), value.dtype, is_constant=True), fill)
    last = f.opd0_y_ins0_last, f.opd0_x_ins0_last
    if any(last):
        bits = np.pad(bits, ((0, 0), (0, 0), (0, last[0]), (0, last[1])), constant_values=fill)
    return truncating.operand(bits) if is_float(f) else value.dtype.decode(bits)


def _fill_word(x: Operation) -> Array:
    return np.full((1, 1, 1, 1), fill_bits(x.fields), x["input"].dtype.bits_dtype)


def refuse_filled_floats(x: Operation) -> None:
    """Sums of floats over anything inserted but zeros: the vendor's simulator takes the bits for an integer."""
    if is_float(x.fields):
        refuse(is_filled(x.fields) and fill_bits(x.fields), "a sum of floats over a border that is not zero")


def _refuse_dilation(x: Operation) -> None:
    refuse(x.fields.opd1_y_ins0 or x.fields.opd1_x_ins0, "pooling over a dilated window")


@tiu("cvi.pool", MAXIMUM, MINIMUM)
def extremum(x: Operation) -> Array | tuple[Array, ...]:
    """The largest or smallest number of each window, the padding in it included; never rectified.

    Of integers the search starts from the padding, wherever the window is; of floats NaN if one is.
    """
    f, dtype = x.fields, x["input"].dtype
    _refuse_dilation(x)
    refuse(is_inserted(f), "the largest or smallest of numbers that are inserted")
    choose = np.maximum if f.sub == MAXIMUM else np.minimum
    kept: Array | None = None if is_float(f) else np.broadcast_to(dtype.decode(_fill_word(x)), x.shape)
    for _, _, tap in taps(image_of(x), f):
        kept = tap if kept is None else choose(kept, tap)
    assert kept is not None
    return truncating.encode(kept) if is_float(f) else common.words(x, kept.astype(np.int64))


@tiu("cvi.pool", AVERAGE)
def average(x: Operation) -> Array | tuple[Array, ...]:
    """The sum of each window times one number; bfloat16: each element times it, added in the order of rows."""
    _refuse_dilation(x)
    refuse_filled_floats(x)
    image, weight = image_of(x), x["weight"]
    if is_float(x.fields):
        factor = truncating.operand(weight.bits)
        return truncating.encode(_sum_of_taps(x, ((tap, factor) for _, _, tap in taps(image, x.fields))))
    total = np.zeros(x.shape, np.int64)
    for _, _, tap in taps(image, x.fields):
        total = total + tap
    return common.finished(x, total * weight.numbers.astype(np.int64), rectifies=False)


@tiu("cvi.depthwise", DEPTHWISE)
def depthwise(x: Operation) -> Array | tuple[Array, ...]:
    """The sum of tap * weight of each channel, plus the bias; bfloat16 in the order of rows, the bias last."""
    f = x.fields
    refuse_filled_floats(x)
    image, weight = image_of(x), x["weight"]
    numbers = np.broadcast_to(weight.bits, (1, f.res0_c, f.opd1_h, f.opd1_w))
    factors: Array = truncating.operand(numbers) if is_float(f) else weight.dtype.decode(numbers)
    pairs = ((tap, factors[:, :, y : y + 1, x_ : x_ + 1]) for y, x_, tap in taps(image, f))
    if is_float(f):
        total = _sum_of_taps(x, pairs)
        addend = common.bias(x)
        return common.encoded(x, total if addend is None else truncating.add(total, addend))
    sums = np.zeros(x.shape, np.int64)
    for tap, factor in pairs:
        sums = sums + tap.astype(np.int64) * factor.astype(np.int64)
    if f.chl_quan:
        return common.requantised_by_channel(x, sums)
    refuse(f.tsk_opd_num == 3, "a bias of integers that are not multiplied per channel")
    return common.finished(x, sums)


def _sum_of_taps(x: Operation, pairs: Iterator[tuple[Array, Array]]) -> Array:
    total = np.zeros(x.shape, np.float32)
    for tap, factor in pairs:
        total = truncating.add(total, truncating.multiply(tap, factor))
    return total
