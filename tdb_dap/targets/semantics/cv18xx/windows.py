"""Pooling and depthwise convolution of CV18xx."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import truncating
from tdb_dap.targets.arithmetic.dot import truncated_windows
from tdb_dap.targets.arithmetic.stored import Unplanned, Value
from tdb_dap.targets.arithmetic.windows import padded, taps
from tdb_dap.targets.families.cv18xx.rows import is_float, is_wide
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
from tdb_dap.targets.semantics.pooling import windows_of
from tdb_dap.targets.semantics.registry import Operation, Pooled, multiplies


def image_of(x: Operation) -> Array:
    """The input with what is inserted and around it: float32, or integers of its format."""
    refuse("input_high" in x, "windows over integers of 16 bits")
    value, f = x["input"], x.fields
    fill = fill_bits(f)
    bits = padded(value.bits, f, Value(fill_word(x), value.dtype, is_constant=True), fill)
    last = f.opd0_y_ins0_last, f.opd0_x_ins0_last
    if any(last):
        bits = np.pad(bits, ((0, 0), (0, 0), (0, last[0]), (0, last[1])), constant_values=fill)
    return truncating.operand(bits) if is_float(f) else value.dtype.decode(bits)


def fill_word(x: Operation) -> Array:
    """The stored word around the image and between its elements."""
    return np.full((1, 1, 1, 1), fill_bits(x.fields), x["input"].dtype.bits_dtype)


def require_plain_integers(x: Operation) -> None:
    """Unplanned where windows are not over bytes, or results are no bytes, or something is inserted at the end."""
    f = x.fields
    if is_float(f) or "input_high" in x or is_wide(f, "res0"):
        raise Unplanned("windows over other numbers than bytes")
    if f.opd0_y_ins0_last or f.opd0_x_ins0_last:
        raise Unplanned("zeros after the last row or column")


def refuse_filled_floats(x: Operation) -> None:
    """Sums of floats over anything inserted but zeros: the vendor's simulator takes the bits for an integer."""
    if is_float(x.fields):
        refuse(is_filled(x.fields) and fill_bits(x.fields), "a sum of floats over a border that is not zero")


def _refuse_dilation(x: Operation) -> None:
    refuse(x.fields.opd1_y_ins0 or x.fields.opd1_x_ins0, "pooling over a dilated window")


def _largest(x: Operation) -> Pooled:
    """The windows of ``extremum``; the smallest number is not what the kernel looks for."""
    common.refuse_unused(x, "cvi.pool")
    require_plain_integers(x)
    _refuse_dilation(x)
    refuse(is_inserted(x.fields), "the largest or smallest of numbers that are inserted")
    word = fill_word(x)
    dtype = x["input"].dtype
    if x.fields.sub != MAXIMUM or dtype.decode(word).item() != dtype.minimum:
        raise Unplanned("the smallest number, or a start that may be larger than all")
    return Pooled("input", None, False, word, None, False, 0.0, False, None)


@multiplies(_largest)
@tiu("cvi.pool", MAXIMUM, MINIMUM)
def extremum(x: Operation) -> Array | tuple[Array, ...]:
    """The largest or smallest number of each window, the padding in it included; never rectified.

    Of integers the search starts from the padding, wherever the window is; of floats NaN if one is.
    """
    f, dtype = x.fields, x["input"].dtype
    _refuse_dilation(x)
    refuse(is_inserted(f), "the largest or smallest of numbers that are inserted")
    choose = np.maximum if f.sub == MAXIMUM else np.minimum
    kept: Array | None = None if is_float(f) else np.broadcast_to(dtype.decode(fill_word(x)), x.shape)
    for _, _, tap in taps(image_of(x), f):
        kept = tap if kept is None else choose(kept, tap)
    assert kept is not None
    return truncating.encode(kept) if is_float(f) else common.words(x, kept.astype(np.int64))


def _averaged(x: Operation) -> Pooled:
    """The windows of ``average``."""
    common.refuse_unused(x, "cvi.pool")
    require_plain_integers(x)
    _refuse_dilation(x)
    factor = x["weight"].numbers.astype(np.int64).reshape(1, 1, 1, 1)
    steps = common.shifting(x.fields, rectifies=False)
    return Pooled("input", factor, False, fill_word(x), None, False, 0.0, False, steps)


@multiplies(_averaged)
@tiu("cvi.pool", AVERAGE)
def average(x: Operation) -> Array | tuple[Array, ...]:
    """The sum of each window times one number; bfloat16: each element times it, added in the order of rows."""
    _refuse_dilation(x)
    refuse_filled_floats(x)
    image, weight = image_of(x), x["weight"]
    if is_float(x.fields):
        factor = truncating.operand(weight.bits)
        return truncating.encode(
            _sum_of_taps(x, image, np.broadcast_to(factor, (1, 1, x.fields.opd1_h, x.fields.opd1_w)))
        )
    total = np.zeros(x.shape, np.int64)
    for _, _, tap in taps(image, x.fields):
        total = total + tap
    return common.finished(x, total * weight.numbers.astype(np.int64), rectifies=False)


def _weighted(x: Operation) -> Pooled:
    """The windows of ``depthwise``."""
    f, weight = x.fields, x["weight"]
    common.refuse_unused(x, "cvi.depthwise")
    require_plain_integers(x)
    refuse(not f.chl_quan and f.tsk_opd_num == 3, "a bias of integers that are not multiplied per channel")
    steps = common.multiplying(f) if f.chl_quan else common.shifting(f)
    table = "requantisation" if f.chl_quan else None
    factor = weight.numbers.astype(np.int64).reshape(1, 1, 1, 1) if weight.is_constant else "weight"
    return Pooled("input", factor, False, fill_word(x), None, False, 0.0, False, steps, table=table)


@multiplies(_weighted)
@tiu("cvi.depthwise", DEPTHWISE)
def depthwise(x: Operation) -> Array | tuple[Array, ...]:
    """The sum of tap * weight of each channel, plus the bias; bfloat16 in the order of rows, the bias last."""
    f = x.fields
    refuse_filled_floats(x)
    image, weight = image_of(x), x["weight"]
    numbers = np.broadcast_to(weight.bits, (1, f.res0_c, f.opd1_h, f.opd1_w))
    factors: Array = truncating.operand(numbers) if is_float(f) else weight.dtype.decode(numbers)
    if is_float(f):
        total = _sum_of_taps(x, image, factors)
        addend = common.bias(x)
        return common.encoded(x, total if addend is None else truncating.add(total, addend))
    sums = np.zeros(x.shape, np.int64)
    for y, column, tap in taps(image, f):
        sums = sums + tap.astype(np.int64) * factors[:, :, y : y + 1, column : column + 1].astype(np.int64)
    if f.chl_quan:
        return common.requantised_by_channel(x, sums)
    refuse(f.tsk_opd_num == 3, "a bias of integers that are not multiplied per channel")
    return common.finished(x, sums)


def _sum_of_taps(x: Operation, image: Array, factors: Array) -> Array:
    """The sum of each tap times its factor, (1, channels or 1, rows, columns), in the order of rows."""
    n, channels, _, _ = x.shape
    weights = np.broadcast_to(factors, (n, channels, *factors.shape[2:])).reshape(n * channels, -1)
    return truncated_windows(windows_of(x, image), weights).reshape(x.shape)
