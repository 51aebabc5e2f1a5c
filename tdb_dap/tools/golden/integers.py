"""Goldens of quantised arithmetic: what an op computes of stored numbers, before its last rounding.

A multiplier of m and a shift of s stand for m / 2**s, in the mode QDM for m / 2**(s + 31). Results are numbers, not
stored words: they can be compared with what other levels of the compilation have.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden
from tdb_dap.tools.golden.elementwise import compare_constant as compare_numbers
from tdb_dap.tools.golden.formats import rounded
from tdb_dap.tools.golden.matrices import product
from tdb_dap.tools.golden.shapes import pad as padded
from tdb_dap.tools.golden.windows import convolved, pooled, transposed, with_bias


def _factors(call: Call, multiplier: str, shift: str, axis: int, rank: int) -> Array:
    """Factors of the requantisation, one number or one for each channel of ``axis``."""
    shifts = np.asarray(call.numbers(shift) or call.number(shift), np.float64).reshape(-1)
    multipliers = np.asarray(call.numbers(multiplier) or call.number(multiplier, 1), np.float64).reshape(-1)
    if call.get("quant_mode") == "OnlyShift":
        multipliers = np.ones(1)
    if call.get("quant_mode") == "QDM":
        multipliers = multipliers * 2.0**-31
    factors = multipliers * np.exp2(-shifts)
    if factors.size == 1:
        return factors.reshape(())
    shape = [1] * rank
    shape[axis] = factors.size
    return factors.reshape(shape)


def _numbers(call: Call, words: Array) -> Array:
    """Numbers of stored words that have no zero point yet; the merged activation is applied to words."""
    result = call.result
    if result is None:
        raise NoGolden("no type of the result")
    return call.relu(words * result.scale)


def _zero(call: Call, index: int) -> int:
    kind = call.operand_types[index] if index < len(call.operand_types) else None
    return kind.zero_point if kind is not None else 0


@golden("tpu.Conv2D", "tpu.Conv1D", "tpu.Conv3D", integer=True)
def convolve(call: Call) -> Array:
    """Sums of stored products, plus bias, requantised by channel. The bias holds what the zero point adds."""
    zero = _zero(call, 0)
    weight = call[1] - call.number("kernel_zp")
    x = call.words(0)
    sums = convolved(call, x, weight)
    bias = call.optional(2)
    if zero and bias is not None:  # the compiler has taken the zero point times the weights off the bias
        weight_sums = weight.reshape(weight.shape[0], -1).sum(axis=1)
        bias = bias.reshape(-1) + zero * weight_sums
    sums = with_bias(sums, bias)
    if call.result is not None and not call.result.is_quantised:
        return call.relu(sums)  # another op requantises
    return _numbers(call, sums * _factors(call, "multiplier", "rshift", 1, sums.ndim))


@golden("tpu.Deconv", integer=True)
def deconvolve(call: Call) -> Array:
    """Transposed convolution of stored numbers, requantised by channel. The bias as for a convolution."""
    zero, bias = _zero(call, 0), call.optional(2)
    if zero and call.number("group", 1) != 1:
        raise NoGolden("a zero point and groups")
    if zero and bias is not None:
        bias = bias.reshape(-1) + zero * call[1].reshape(call[1].shape[0], -1).sum(axis=1)
    sums = with_bias(transposed(call, call.words(0), call[1]), bias)
    if call.result is not None and not call.result.is_quantised:
        return call.relu(sums)
    return _numbers(call, sums * _factors(call, "multiplier", "rshift", 1, sums.ndim))


@golden("tpu.MatMul", integer=True)
def matrix_product(call: Call) -> Array:
    """Product of stored numbers, plus bias, requantised by one factor or one for each column."""
    if _zero(call, 1) or call.number("right_zp") or call.number("input_zp"):
        raise NoGolden("zero points of both operands")
    if call.flag("fuse_rq"):
        raise NoGolden("requantisation in an operand")
    # What the zero point of the first operand adds is in the bias.
    sums = product(call, call.words(0) + _zero(call, 0), call.words(1))
    bias = call.optional(2)
    if bias is not None:
        sums = sums + bias.reshape(bias.shape or (1,))
    if call.result is not None and not call.result.is_quantised:
        return call.relu(sums)
    return _numbers(call, sums * _factors(call, "multipliers", "rshifts", sums.ndim - 1, sums.ndim))


def _each(call: Call) -> list[Array]:
    """Stored operands, each times its own factor; one shift is that of all."""
    shifts, multipliers = call.numbers("rshifts"), call.numbers("multipliers")
    arrays = [call.words(i) for i, array in enumerate(call.inputs) if array is not None]
    shifts = shifts * len(arrays) if len(shifts) == 1 else shifts
    if len(shifts) != len(arrays) or len(multipliers) != len(arrays):
        raise NoGolden("factors of another number than operands")
    return [x * (m * 2.0**-s) for x, m, s in zip(arrays, multipliers, shifts, strict=True)]


def rounded_each(call: Call) -> Array | None:
    """A sum or difference of operands that are each rounded after their factor; None for other ops.

    Those with one shift for all are rounded once.

    That is how it is done, half of a step upwards. The goldens do not round: two roundings are what the format costs.
    """
    if not call.is_integer or call.name not in ("tpu.Add", "tpu.Sub") or len(call.numbers("rshifts")) == 1:
        return None
    first, *others = (rounded(array, "HalfUp") for array in _each(call))
    sign = 1 if call.name == "tpu.Add" else -1
    if sign < 0 and call.flag("is_reverse"):
        first, others = -first, [-array for array in others]
    for array in others:
        first = first + sign * array
    return _numbers(call, first)


@golden("tpu.Add", integer=True)
def add(call: Call) -> Array:
    """Sum of operands that are requantised each."""
    total, *others = _each(call)
    for array in others:
        total = total + array
    return _numbers(call, total)


@golden("tpu.Sub", integer=True)
def subtract(call: Call) -> Array:
    """Difference of operands that are requantised each."""
    first, second = _each(call)
    return _numbers(call, second - first if call.flag("is_reverse") else first - second)


@golden("tpu.Mul", integer=True)
def multiply(call: Call) -> Array:
    """Product of stored operands, requantised."""
    arrays = [call.words(i) for i, array in enumerate(call.inputs) if array is not None]
    total = arrays[0]
    for array in arrays[1:]:
        total = total * array
    return _numbers(call, total * _factors(call, "multiplier", "rshift", 0, 0))


@golden("tpu.Max", integer=True)
def maximum(call: Call) -> Array:
    """Greatest of the stored operands, each times its factor if the op has some, whatever their scales."""
    return _numbers(call, np.maximum(*_scaled(call)))


@golden("tpu.Min", integer=True)
def minimum(call: Call) -> Array:
    """Least of the stored operands, each times its factor if the op has some, whatever their scales."""
    return _numbers(call, np.minimum(*_scaled(call)))


def _scaled(call: Call) -> tuple[Array, Array]:
    first, second = _each(call) if call.numbers("multipliers") else (call.words(0), call.words(1))
    return first, second


@golden("tpu.CompareConst", integer=True)
def compare_constant(call: Call) -> Array:
    """1 where the comparison of stored numbers with ``const_val``, which is a stored one, too, holds."""
    return compare_numbers(replace(call, inputs=(call.words(0),)))


@golden("tpu.Scale", integer=True)
def scale(call: Call) -> Array:
    """Stored numbers times the stored factor of their channel, plus its bias, shifted.

    Operands: numbers, factor, bias, shift to the left.
    """
    shape = (1, -1, *[1] * (call[0].ndim - 2))
    words = call.words(0) * call[1].reshape(shape) + call[2].reshape(shape)
    # The shift drops what is behind the point; the compiler has put the half that rounds into the bias.
    return _numbers(call, words * np.exp2(call[3].reshape(shape)) - 0.5)


@golden("tpu.AddConst", integer=True)
def add_constant(call: Call) -> Array:
    """Stored numbers times ``multiplier``, plus ``const_val``, all shifted."""
    words = call.words(0) * call.number("multiplier", 1) + call.number("const_val")
    return _numbers(call, words * 2.0 ** -call.number("rshift"))


@golden("tpu.SubConst", integer=True)
def subtract_constant(call: Call) -> Array:
    """Stored numbers times ``multiplier`` less ``const_val``, all shifted; the other way round with ``is_reverse``.

    ``const_val`` holds what the zero point of the operand adds.
    """
    if call.result is not None and call.result.zero_point:
        raise NoGolden("a zero point")
    words = (call.words(0) + _zero(call, 0)) * call.number("multiplier", 1) - call.number("const_val")
    return _numbers(call, (-words if call.flag("is_reverse") else words) * 2.0 ** -call.number("rshift"))


@golden("tpu.MulConst", integer=True)
def multiply_constant(call: Call) -> Array:
    """Stored numbers times ``const_val``, which is a stored one, requantised."""
    words = call.words(0) * call.number("const_val", 1)
    return _numbers(call, words * _factors(call, "multiplier", "rshift", 0, 0))


@golden("tpu.MulShift", integer=True)
def requantise(call: Call) -> Array:
    """Stored numbers times one factor."""
    return _numbers(call, call.words(0) * _factors(call, "multiplier", "rshift", 0, 0))


@golden("tpu.RequantInt")
def requantise_sums(call: Call) -> Array:
    """Sums, or stored numbers, times one factor."""
    return _numbers(call, call.words(0) * _factors(call, "multiplier", "rshift", 0, 0))


@golden("tpu.RequantIntAxis")
def requantise_channels(call: Call) -> Array:
    """Sums times the factor of their channel. Second operand: multiplier, shift and zero point of each."""
    parts = call[1].reshape(-1, 3)
    if parts[:, 2].any():
        raise NoGolden("zero points")
    axis = int(call.number("rq_axis", 1))
    shape = [parts.shape[0] if i == axis else 1 for i in range(call[0].ndim)]
    return _numbers(call, call.words(0) * (parts[:, 0] * np.exp2(-np.abs(parts[:, 1]))).reshape(shape))


@golden("tpu.LeakyRelu", integer=True)
def leaky_relu(call: Call) -> Array:
    """Stored numbers; those below 0 times a factor. With ``multiplier_neg`` both signs have one."""
    x = call.words(0)
    factor = _factors(call, "multiplier", "rshift", 0, 0)
    if "multiplier_neg" not in call.attributes:
        return _numbers(call, np.where(x > 0, x, x * factor))
    return _numbers(call, x * np.where(x > 0, factor, _factors(call, "multiplier_neg", "rshift_neg", 0, 0)))


@golden("tpu.PReluOp", "tpu.PRelu", integer=True)
def prelu(call: Call) -> Array:
    """Stored numbers, with ``multiplier_pos`` times a factor; those below 0 times their channel's slope, shifted."""
    x, slope = call.words(0), call[1].reshape(1, -1, *[1] * (call[0].ndim - 2))
    factor = _factors(call, "multiplier_pos", "rshift_pos", 0, 0)
    return _numbers(call, x * np.where(x > 0, factor, slope * 2.0 ** -call.number("rshift")))


@golden("tpu.Pad", integer=True)
def pad(call: Call) -> Array:
    """As without scales, but ``val`` is a stored number."""
    kind = call.operand_types[0]
    scale, zero = (kind.scale, kind.zero_point) if kind is not None else (1.0, 0)
    value = (call.number("val") - zero) * scale
    return padded(replace(call, attributes={**call.attributes, "val": value}))


@golden("tpu.Pool2D", "tpu.Pool1D", "tpu.Pool3D", integer=True)
def pool(call: Call) -> Array:
    """Greatest stored number, or the sum of each window times a factor."""
    mode = str(call.get("pool_mode", "Max"))
    if mode == "Max":
        return call.relu(pooled(call, "Max"))
    kind, result = call.operand_types[0], call.result
    if "offset" in call.attributes and kind is not None and result is not None:
        raw = replace(call, inputs=(call.words(0) + kind.zero_point,))
        words = pooled(raw, "Sum") * call.number("scale", 1) + call.number("offset")
        return call.relu((words - result.zero_point) * result.scale)
    if _zero(call, 0) or (result is not None and result.zero_point):
        raise NoGolden("zero points")
    sums = pooled(call, "Sum") / (kind.scale if kind is not None else 1)
    if mode == "Avg" and not call.flag("count_include_pad"):
        kernel = call.numbers("kernel_shape") or list(call[0].shape[2:])
        inside = pooled(replace(call, inputs=(np.ones_like(call[0]),)), "Sum")
        sums = sums * math.prod(kernel) / inside
    if "multiplier" not in call.attributes:
        kernel = call.numbers("kernel_shape") or list(call[0].shape[2:])
        return _numbers(call, sums / (1 if mode == "Sum" else math.prod(kernel)))
    return _numbers(call, sums * _factors(call, "multiplier", "rshift", 0, 0))
