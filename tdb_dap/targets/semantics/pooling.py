"""Pooling and depthwise convolution. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F32, SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.families import pooling as op
from tdb_dap.targets.semantics.numerics import float32
from tdb_dap.targets.semantics.numerics.finish import rectified, requantized, scaled
from tdb_dap.targets.semantics.numerics.halves import calculated
from tdb_dap.targets.semantics.numerics.integers import HALF_UP, saturate, shift
from tdb_dap.targets.semantics.numerics.windows import offsets, padded, taps
from tdb_dap.targets.semantics.registry import Operation, semantics
from tdb_dap.targets.semantics.rules import Extremum

_HIGHEST = {
    "f32": np.float32(3.4028234663852886e38),
    "f16": np.float32(65504),
    "bf16": np.float32(3.3895313892515355e38),
}


_NO_INDEX = 0xFFFFFFFF
"""In the place of the address for indices: none are stored."""


def _met(x: Operation) -> list[Array]:
    image = x["input"].dtype.widen(padded(x["input"].bits, x.fields, x.get("pad_value")))
    return [tap for _, _, tap in taps(image, x.fields)]


@semantics("pord", op.MAXIMUM, op.MINIMUM)
def extremum(x: Operation) -> Array:
    """Largest or smallest tap; for floats see ``rules.Extremum``.

    Floats are compared with subnormals as zero (not f16) and returned unchanged; float32 results are flushed.
    """
    largest, dtype = x.fields.sub == op.MAXIMUM, x["input"].dtype
    if x.fields.is_fused and x.fields.opd2_addr != _NO_INDEX:
        raise NotSimulated("pooling that also stores the index of the tap is not simulated yet")
    if not dtype.is_float:
        chosen = (np.maximum if largest else np.minimum).reduce(_met(x))
        return x.dtype.encode(np.maximum(chosen, 0) if _rectifies(x) else chosen)
    rule, met = x.rules.extremum, _met(x)
    if rule is Extremum.REPLACES_NAN and not largest:
        raise NotSimulated("the smallest tap of floats is not defined on this chip")
    if rule is Extremum.FIRST_TAP:
        kept, met = np.array(met[0], np.float32), met[1:]
    else:
        kept = np.full(x.shape, -_HIGHEST[dtype.name] if largest else _HIGHEST[dtype.name], np.float32)
    for tap in met:
        kept = np.where(_keeps(rule, largest, dtype, kept, tap), kept, tap)
        if _rectifies(x):  # after every tap: a negative NaN that was kept so far gives way to what follows
            kept = _positive(x, kept)
    flushes = dtype is F32 or (dtype is BF16 and x.rules.flushes_bf16_extremum)
    if _rectifies(x):
        kept = _positive(x, kept)
    return x.dtype.encode(float32.flush(kept) if flushes else kept)


def _positive(x: Operation, numbers: Array) -> Array:
    """Zero in place of what is not positive."""
    positive = ~np.signbit(numbers) if x.rules.keeps_nan else numbers > 0
    return np.where(positive, numbers, np.float32(0))


def _rectifies(x: Operation) -> bool:
    """Whether numbers that are not positive become zero."""
    return bool(x.fields.is_fused and x.fields.relu)


def _keeps(rule: Extremum, largest: bool, dtype: DType, kept: Array, tap: Array) -> Array:
    """Whether what was kept so far stays."""
    t, y = float32.compared(kept, dtype), float32.compared(tap, dtype)
    if largest:
        return t > y if rule is Extremum.REPLACES_NAN else ~(y > t)
    return ~(y < t) if rule is Extremum.IGNORES_NAN and dtype is F32 else t <= y


def _kernel(x: Operation) -> list[Array]:
    """One weight per tap, broadcastable to the result."""
    f, kernel = x.fields, x["kernel"]
    count = f.opd1_h * f.opd1_w
    if kernel.is_constant:
        return [kernel.numbers.reshape(1, 1, 1, 1)] * count
    numbers = kernel.numbers[:, :, ::-1, ::-1] if f.kernel_rotate else kernel.numbers
    flat = numbers.reshape(1, numbers.shape[1], count)
    return [flat[:, :, i][:, :, None, None] for i in range(count)]


@semantics("pord", op.AVERAGE, op.DEPTHWISE, op.DEPTHWISE_RELU)
def weighted(x: Operation) -> Array:
    """Sum of tap * weight (+ bias), per channel.

    Floats: two accumulators by turns, every product and addition rounded to the format; depthwise: the bias takes the
    first place. average: nothing does, the first product starts the sum. 8 bit: exact; average shifts right by opd2
    half up; depthwise adds a 32-bit bias and shifts right by the low byte of res1 by round mode; saturated.
    """
    if x["input"].dtype.is_float:
        total = _float_sum(x)
        if x["input"].dtype.itemsize == 1 and _rounding(x) is F32:
            is_average = x.fields.sub == op.AVERAGE
            return scaled(x, total, by_mode=is_average, halves_by_mode=is_average)
        return calculated(rectified(x, total), x.dtype)
    if x.fields.is_fused:
        return requantized(x, _exact_sum(x), wraps=True)
    return x.dtype.encode(_integer_sum(x))


def _float_sum(x: Operation) -> Array:
    if x.fields.sub == op.DEPTHWISE_RELU and not x.fields.is_fused:
        raise NotSimulated("the rectified depthwise convolution of floats is not known on this chip")
    bias = None
    if x["input"].dtype.itemsize == x.dtype.itemsize == 1 and x.fields.sub != op.AVERAGE and not x.fields.rq:
        raise NotSimulated(
            f"the depthwise convolution of {x['input'].dtype} into {x.dtype} without a scale is not known"
        )
    if x.rules.halves_by_sign and x["input"].dtype.itemsize == 2 and x.get("bias") and x["bias"].dtype is F32:
        raise NotSimulated("the depthwise convolution of 16-bit floats with a float32 bias is not known on this chip")
    if x.fields.sub != op.AVERAGE:
        bias = float32.operand(x["bias"].numbers, x["bias"].dtype)
        if x.rules.negative_zero_start and x["bias"].is_constant and not bias.any():
            bias = np.full_like(bias, -0.0)
    total = _in_numpy(x, bias) if not kernel.is_active() or x.rules.flushes_halves else _in_kernel(x, bias)
    if x.fields.sub == op.DEPTHWISE_RELU:
        total = np.where(total > 0, total, np.float32(0))
    return total


def _rounding(x: Operation) -> DType:
    """The format that products and sums are rounded to: that of the input.

    Of 8-bit floats: float32, but f16 where the result is f16 and not scaled.
    """
    dtype = x["input"].dtype
    if dtype.itemsize > 1:
        return dtype
    return x.dtype if x.dtype.name == "f16" and not x.fields.rq else F32


def _in_kernel(x: Operation, bias: Array | None) -> Array:
    dtype = _rounding(x)
    stored = padded(x["input"].bits, x.fields, x.get("pad_value"))
    image = float32.operand(x["input"].dtype.widen(stored), dtype)
    n, c, height, width = image.shape
    weights = np.stack([np.broadcast_to(w.reshape(-1), c) for w in _kernel(x)], 1)
    weights = np.tile(float32.operand(weights, dtype), (n, 1))
    starts = None if bias is None else np.tile(np.broadcast_to(bias.reshape(-1), c), n)
    in_plane, places = offsets(image, x.fields)
    image = np.ascontiguousarray(image).reshape(n * c, height * width)
    return kernel.weighted(image, weights, starts, (in_plane.reshape(-1), places), dtype.name).reshape(x.shape)


def _in_numpy(x: Operation, bias: Array | None) -> Array:
    dtype = _rounding(x)
    accumulators: list[Array | None] = [None, None]
    position = 0
    if bias is not None:
        accumulators[0] = np.broadcast_to(bias, x.shape).astype(np.float32)
        position = 1
    for tap, weight in zip(_met(x), _kernel(x), strict=True):
        product = float32.product_in(float32.operand(tap, dtype), float32.operand(weight, dtype), dtype)
        side = accumulators[position & 1]
        accumulators[position & 1] = product if side is None else float32.round_to(float32.add(side, product), dtype)
        position += 1
    first, second = accumulators
    assert first is not None
    return first if second is None else float32.add(first, second)


def _range(itemsize: int, signed: bool) -> DType:
    return ({1: SI8, 2: SI16, 4: SI32} if signed else {1: UI8, 2: UI16, 4: UI32})[itemsize]


def _exact_sum(x: Operation) -> Array:
    total: Array = np.zeros(x.shape, np.int64)
    for tap, weight in zip(_met(x), _kernel(x), strict=True):
        total = total + tap.astype(np.int64) * weight.astype(np.int64)
    return total if x.fields.sub == op.AVERAGE else total + _bias(x)


def _integer_sum(x: Operation) -> Array:
    f = x.fields
    # The sum is held in 32 bits.
    total = SI32.decode(SI32.encode(_exact_sum(x))).astype(np.int64)
    if f.sub == op.AVERAGE:
        total = shift(total, -op.signed_byte(f.opd2_addr), HALF_UP)
        return saturate(total, _range(x.dtype.itemsize, bool(f.opd0_sign)))
    if f.sub == op.DEPTHWISE_RELU:
        total = np.maximum(total, 0)
    total = shift(total, -op.signed_byte(f.res1_addr), f.opd2_n_str)
    return saturate(total, _range(x.dtype.itemsize, bool(f.opd0_sign or f.opd1_sign)))


def _bias(x: Operation) -> Array:
    """The bias of integers: signed, but where ``unsigned_words`` and the command says otherwise."""
    bias = x["bias"]
    return (bias.numbers if x.fields.opd2_sign or not x.rules.unsigned_words else bias.bits).astype(np.int64)
