"""Pooling and depthwise convolution. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

from functools import reduce

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.halves import calculated
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_UP, requantised, signed
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.arithmetic.sums import weighted as weighted_windows
from tdb_dap.targets.arithmetic.sums import window_sums
from tdb_dap.targets.arithmetic.windows import Windows, border, offsets, padded, taps
from tdb_dap.targets.families import pooling as op
from tdb_dap.targets.rules import Extremum
from tdb_dap.targets.semantics.finish import channel_scale, finite_half, rectified, requantisation, scaled, table_of
from tdb_dap.targets.semantics.registry import Operation, Pooled, multiplies, semantics

_HIGHEST = {
    "f32": np.float32(3.4028234663852886e38),
    "f16": np.float32(65504),
    "bf16": np.float32(3.3895313892515355e38),
}


def _met(x: Operation) -> list[Array]:
    image = x["input"].dtype.widen(padded(x["input"].bits, x.fields, x.get("pad_value"), x.fields.res1_addr))
    return [tap for _, _, tap in taps(image, x.fields)]


class _Tap(Struct, frozen=True):
    """One tap of a window, or the one that was kept so far."""

    numbers: Array
    index: Array | None = None
    """Its position in the window, row by row; None where nobody asks for it."""

    def unless(self, is_other: Array, other: _Tap) -> _Tap:
        """``other`` where that is so."""
        numbers = np.where(is_other, other.numbers, self.numbers)
        if self.index is None or other.index is None:
            return _Tap(numbers)
        return _Tap(numbers, np.where(is_other, other.index, self.index))


def _largest(x: Operation) -> Pooled:
    """The windows of ``extremum`` whose largest number is stored as it is, or flushed."""
    dtype, rule = x["input"].dtype, x.rules.extremum
    if x.fields.sub != op.MAXIMUM or "index" in x.result_dtypes or _rectifies(x) or x.dtype.name != dtype.name:
        raise Unplanned("the smallest number, a position, or numbers that become others")
    start: Array | None = None
    if dtype.is_float:
        flushes = dtype is F32 or (dtype is BF16 and x.rules.flushes_bf16_extremum)
        if (not flushes and dtype.name != F16.name) or (x.fields.sym_range and dtype.name in x.rules.symmetric_halves):
            raise Unplanned("numbers that are compared otherwise than they are stored, or NaNs that become zero")
        if rule not in (Extremum.FIRST_TAP, Extremum.TWO_CHAINS):
            start = np.full((1, 1), -_HIGHEST[dtype.name], np.float32)
    is_last = dtype.is_float and rule is Extremum.REPLACES_NAN
    fill = border(x.fields, x.get("pad_value"), x.fields.res1_addr, dtype.bits_dtype)
    by_parity = dtype.is_float and rule is Extremum.TWO_CHAINS
    return Pooled("input", None, False, fill, start, False, 0.0, is_last, None, by_parity=by_parity)


@multiplies(_largest)
@semantics("pord", op.MAXIMUM, op.MINIMUM)
def extremum(x: Operation) -> Array | tuple[Array, Array]:
    """Largest or smallest tap, and its position where the command stores that; for floats see ``rules.Extremum``.

    Floats are compared with subnormals as zero (not f16) and returned unchanged; float32 results are flushed.
    """
    met = [
        _Tap(numbers, np.full((1, 1, 1, 1), index) if "index" in x.result_dtypes else None)
        for index, numbers in enumerate(_met(x))
    ]
    if x["input"].dtype.is_float:
        kept = _float_extremum(x, met)
        words = _stored_extremum(x, kept.numbers)
    else:
        kept = _integer_extremum(x, met)
        words = x.dtype.encode(np.maximum(kept.numbers, 0) if _rectifies(x) else kept.numbers)
    return words if kept.index is None else (words, x.result_dtypes["index"].encode(kept.index))


def _integer_extremum(x: Operation, met: list[_Tap]) -> _Tap:
    largest = x.fields.sub == op.MAXIMUM
    if met[0].index is None:
        return _Tap(reduce(np.maximum if largest else np.minimum, [tap.numbers for tap in met]))
    return reduce(lambda t, y: t.unless(y.numbers > t.numbers if largest else y.numbers < t.numbers, y), met)


def _float_extremum(x: Operation, met: list[_Tap]) -> _Tap:
    largest, dtype, rule = x.fields.sub == op.MAXIMUM, x["input"].dtype, x.rules.extremum
    if rule is Extremum.TWO_CHAINS:
        return _two_chains(largest, dtype, met)
    if rule is Extremum.REPLACES_NAN and not largest:
        raise NotSimulated("the smallest tap of floats is not defined on this chip")
    if rule is Extremum.FIRST_TAP:
        kept, met = replace(met[0], numbers=np.array(met[0].numbers, np.float32)), met[1:]
    else:
        first = np.full(x.shape, -_HIGHEST[dtype.name] if largest else _HIGHEST[dtype.name], np.float32)
        kept = replace(met[0], numbers=first)
    for tap in met:
        kept = _followed(rule, dtype, kept, tap, ~_keeps(rule, largest, dtype, kept.numbers, tap.numbers))
        # After every tap: a negative NaN that was kept so far gives way to what follows.
        if _rectifies(x) and rule is not Extremum.IGNORES_NAN:
            kept = replace(kept, numbers=_positive(x, kept.numbers))
    return kept


def _followed(rule: Extremum, dtype: DType, kept: _Tap, tap: _Tap, is_tap: Array) -> _Tap:
    """The tap that is kept after one more. Of taps with the same bits the first has the index.

    But with FIRST_TAP the last, for float32 and bf16.
    """
    numbers = np.where(is_tap, tap.numbers, kept.numbers)
    if kept.index is None or tap.index is None:
        return _Tap(numbers)
    result = _words(float32.compared(numbers, dtype))
    if rule is Extremum.FIRST_TAP and dtype in (F32, BF16):
        return _Tap(numbers, np.where(result == _words(tap.numbers), tap.index, kept.index))
    return _Tap(numbers, np.where(result != _words(float32.compared(kept.numbers, dtype)), tap.index, kept.index))


def _words(numbers: Array) -> Array:
    return numbers.astype(np.float32).view(np.uint32)


def _stored_extremum(x: Operation, kept: Array) -> Array:
    dtype = x["input"].dtype
    flushes = dtype is F32 or (dtype is BF16 and x.rules.flushes_bf16_extremum)
    if _rectifies(x):
        kept = _positive(x, kept)
    if x.fields.sym_range and dtype.name in x.rules.symmetric_halves:
        kept = np.where(np.isnan(kept), np.float32(0), kept)
    return x.dtype.encode(float32.flush(kept) if flushes else kept)


def _two_chains(largest: bool, dtype: DType, met: list[_Tap]) -> _Tap:
    """See ``Extremum.TWO_CHAINS``."""

    def chosen(y: _Tap, t: _Tap) -> _Tap:
        a, b = float32.compared(y.numbers, dtype), float32.compared(t.numbers, dtype)
        return _followed(Extremum.TWO_CHAINS, dtype, t, y, a > b if largest else ~(a >= b))

    chains = [reduce(lambda t, y: chosen(y, t), taps) for taps in (met[::2], met[1::2]) if taps]
    return reduce(chosen, chains if len(met) % 2 or len(met) == 2 else chains[::-1])


def _positive(x: Operation, numbers: Array) -> Array:
    """Zero in place of what is not positive; subnormals of float32 and bf16 are not, but where NaNs are kept."""
    positive = ~np.signbit(numbers) if x.rules.keeps_nan else float32.compared(numbers, x["input"].dtype) > 0
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
    weights = _kernels(x)
    return [weights[None, :, tap, None, None] for tap in range(weights.shape[1])]


def _kernels(x: Operation, channels: int | None = None) -> Array:
    """Weights (channels, taps); None: of as many channels as the command has, 1 if it has a single weight."""
    f, kernel = x.fields, x["kernel"]
    count = f.opd1_h * f.opd1_w
    if kernel.is_constant:
        return np.full((channels or 1, count), kernel.numbers.reshape(-1)[0])
    numbers = kernel.numbers[:, :, ::-1, ::-1] if f.kernel_rotate and x.rules.rotates else kernel.numbers
    flat = numbers.reshape(-1, count)
    return flat if channels is None else np.broadcast_to(flat, (channels, count))


def _summed(x: Operation) -> Pooled:
    """The windows of ``weighted``, of bytes, float32 and 16-bit floats."""
    f, dtype, kernel_value = x.fields, x["input"].dtype, x["kernel"]
    if f.is_fused and dtype.is_float and (f.relu or f.rq):
        raise Unplanned("steps after the sum")
    if kernel_value.dtype.name != dtype.name and (dtype.is_float or kernel_value.dtype.itemsize > 1):
        raise Unplanned("weights of another format")
    weight: str | Array = "kernel"
    if kernel_value.is_constant:
        numbers = kernel_value.numbers
        weight = float32.operand(numbers, dtype) if dtype.is_float else numbers
    has_bias = f.sub != op.AVERAGE
    start: str | Array | None = None
    steps = table = None
    if dtype.is_float:
        is_limited = f.sym_range and x.dtype.name in x.rules.symmetric_halves
        if dtype.itemsize == 1 or is_limited:
            raise Unplanned("8-bit floats, or limits")
        if has_bias and x.rules.halves_by_sign and dtype.itemsize == 2 and x["bias"].dtype is F32:
            raise Unplanned("a bias of another format")
        if has_bias:
            start = _float_bias(x).reshape(1, 1) if x["bias"].is_constant else "bias"
    elif f.is_fused:
        is_signed = bool(f.opd0_sign or f.opd1_sign or (has_bias and f.opd2_sign))
        is_small = not f.rq and _fits_in_31_bits(x)
        if dtype.itemsize > 1 or x.dtype.per_byte > 1 or not (is_signed or is_small):
            raise Unplanned("sums without a sign, or of words")
        how = {"limits_sums": x.rules.limits_window_sums, "saturates_words": True}
        steps, table = requantisation(x, wraps=True, **how, without_table=True), table_of(x)
        steps = replace(steps, held=True)
        if has_bias:
            start = _bias(x).reshape(1, 1) if x["bias"].is_constant else "bias"
    else:
        steps = _integer_steps(x)
        if dtype.itemsize > 1 or not (steps.held or _fits_in_31_bits(x)):
            raise Unplanned("sums without a sign, or of words")
        steps = replace(steps, held=True)
        if has_bias:
            start = _bias(x).reshape(1, 1) if x["bias"].is_constant else "bias"
    if has_bias and not dtype.is_float and x["bias"].dtype is not UI32 and not f.opd2_sign and x.rules.unsigned_words:
        raise Unplanned("a bias of another sign")
    fill = border(f, x.get("pad_value"), f.res1_addr, dtype.bits_dtype)
    is_rotated = bool(f.kernel_rotate and x.rules.rotates) and isinstance(weight, str)
    is_zero_positive = dtype.is_float and not x.rules.negative_zero_start
    return Pooled("input", weight, is_rotated, fill, start, is_zero_positive, _start(x), False, steps, table=table)


def _fits_in_31_bits(x: Operation) -> bool:
    """Whether a sum of bytes without signs is the same with a sign."""
    f, start = x.fields, 0
    if f.sub != op.AVERAGE:
        if not x["bias"].is_constant:
            return False
        start = int(_bias(x).max())
    return start >= 0 and bool(start + f.opd1_h * f.opd1_w * 255 * 255 <= SI32.maximum)


@multiplies(_summed)
@semantics("pord", op.AVERAGE, op.DEPTHWISE, op.DEPTHWISE_RELU)
def weighted(x: Operation) -> Array:
    """Sum of tap * weight (+ bias), per channel.

    Floats: two accumulators by turns, every product and addition rounded to the format; depthwise: the bias takes the
    first place. average: nothing does, the first product starts the sum. 8 bit: exact; average shifts right by opd2
    half up; depthwise adds a 32-bit bias and shifts right by the second byte of res1 by round mode; saturated. The
    form that rectifies does so with integers, not with floats.
    """
    if x["input"].dtype.is_float:
        total = _float_sum(x)
        is_average = x.fields.sub == op.AVERAGE
        if x["input"].dtype.itemsize == 1 and _rounding(x) is F16 and not is_average:
            return calculated(rectified(x, total), F16)
        if x["input"].dtype.itemsize == 1 and _rounding(x) is F32:
            return scaled(x, total, channel_scale(x), by_mode=is_average, halves_by_mode=is_average)
        keeps_nan = x["input"].dtype.itemsize == 2 and not is_average
        words = calculated(rectified(x, total, keeps_nan=keeps_nan), x.dtype)
        return finite_half(words, x.dtype) if x.fields.sym_range and x.dtype.name in x.rules.symmetric_halves else words
    if x.fields.is_fused:
        return _requantised(x)
    return _integer_sum(x)


def _float_sum(x: Operation) -> Array:
    bias = None
    if x["input"].dtype.itemsize == x.dtype.itemsize == 1 and x.fields.sub != op.AVERAGE and not x.fields.rq:
        raise NotSimulated(
            f"the depthwise convolution of {x['input'].dtype} into {x.dtype} without a scale is not known"
        )
    if x.rules.halves_by_sign and x["input"].dtype.itemsize == 2 and x.get("bias") and x["bias"].dtype is F32:
        raise NotSimulated("the depthwise convolution of 16-bit floats with a float32 bias is not known on this chip")
    if x.fields.sub != op.AVERAGE:
        bias = _float_bias(x)
    return _in_numpy(x, bias) if not kernel.is_active() else _in_kernel(x, bias)


def _float_bias(x: Operation) -> Array:
    """The numbers that sums of floats start from."""
    stored = x["bias"]
    # Of 8-bit floats the bias is f16, as their sum is, where the result is bf16.
    is_half = x["input"].dtype.itemsize == 1 and stored.dtype is BF16
    bias: Array = F16.widen(stored.bits) if is_half else float32.operand(stored.numbers, stored.dtype)
    if not x.rules.negative_zero_start:
        return bias + np.float32(0)  # -0 becomes 0
    return np.full_like(bias, -0.0) if stored.is_constant and not bias.any() else bias


def _rounding(x: Operation) -> DType:
    """The format that products and sums are rounded to: that of the input.

    Of 8-bit floats: float32, but f16 where the result is f16 and not scaled. Depthwise sums that are not scaled are f16
    in the place of bf16, too.
    """
    dtype = x["input"].dtype
    if dtype.itemsize > 1:
        return dtype
    is_half = x.dtype is F16 or (x.dtype is BF16 and x.fields.sub != op.AVERAGE)
    return F16 if is_half and not x.fields.rq else F32


def _start(x: Operation) -> float:
    """Zero that sums start at, apart from a bias: -0 leaves the first product as it is."""
    return -0.0 if x.fields.sub == op.AVERAGE or x.rules.negative_zero_start else 0.0


def _in_kernel(x: Operation, bias: Array | None) -> Array:
    dtype = _rounding(x)
    stored = padded(x["input"].bits, x.fields, x.get("pad_value"), x.fields.res1_addr)
    image = float32.operand(x["input"].dtype.widen(stored), dtype)
    n, c, _, _ = image.shape
    weights = np.tile(float32.operand(_kernels(x, c), dtype), (n, 1))
    starts = None if bias is None else np.tile(np.broadcast_to(bias.reshape(-1), c), n)
    sums = weighted_windows(windows_of(x, image), weights, starts, dtype, _start(x))
    return sums.reshape(x.shape)


def windows_of(x: Operation, image: Array) -> Windows:
    """The windows of a command over a padded image (n, c, h, w)."""
    f = x.fields
    n, c, height, width = image.shape
    taps, _ = offsets(image, f)
    _, _, rows, columns = f.four("res0")
    planes = np.ascontiguousarray(image).reshape(n * c, height * width)
    return Windows(planes, taps.reshape(-1), (rows, columns), (f.res_op_y_str * width, f.res_op_x_str))


def _in_numpy(x: Operation, bias: Array | None) -> Array:
    dtype = _rounding(x)
    accumulators: list[Array] = [np.full(x.shape, _start(x), np.float32) for _ in range(2)]
    position = 0
    if bias is not None:
        accumulators[0] = np.broadcast_to(bias, x.shape).astype(np.float32)
        position = 1
    for tap, weight in zip(_met(x), _kernel(x), strict=True):
        product = float32.product_in(float32.operand(tap, dtype), float32.operand(weight, dtype), dtype)
        side = accumulators[position & 1]
        accumulators[position & 1] = float32.round_to(float32.add(side, product), dtype)
        position += 1
    return accumulators[0] if position < 2 else float32.add(*accumulators)


def _range(itemsize: int, signed: bool) -> DType:
    return ({1: SI8, 2: SI16, 4: SI32} if signed else {1: UI8, 2: UI16, 4: UI32})[itemsize]


def _sum_in_kernel(x: Operation, steps: Steps, size: int) -> Array | None:
    """The exact sum after ``steps``, its low ``size`` bytes; None where NumPy has to form it."""
    f, value = x.fields, x["input"]
    image = value.dtype.widen(padded(value.bits, f, x.get("pad_value"), f.res1_addr))
    n, c, _, _ = image.shape
    weights = _kernels(x, c)
    start: Array = np.zeros(1, np.int64) if f.sub == op.AVERAGE else _bias(x).reshape(-1)
    multiplier, amount, zero = (_per_plane(part, n, c) for part in (steps.multiplier, steps.amount, steps.zero))
    if start.size not in (1, c) or multiplier is None or amount is None or zero is None:
        return None
    spread = replace(steps, multiplier=multiplier, amount=amount, zero=zero)
    starts = np.tile(np.broadcast_to(start, c), n)
    sums = window_sums(windows_of(x, image), np.tile(weights, (n, 1)), starts, spread, size)
    return None if sums is None else sums.reshape(n, c, *sums.shape[1:])


def _per_plane(numbers: Array | int, batches: int, channels: int) -> Array | None:
    """Numbers of channels, (1, c, 1, 1) or a single one, for each plane; None if they are others."""
    flat = np.asarray(numbers)
    if flat.size == 1:
        return flat.reshape(1)
    return np.tile(flat.reshape(-1), batches) if flat.shape == (1, channels, 1, 1) else None


def _exact_sum(x: Operation) -> Array:
    """In int64."""
    sums = _sum_in_kernel(x, Steps(DOWN), 8)
    if sums is not None:
        return sums
    total: Array = np.zeros(x.shape, np.int64)
    for tap, weight in zip(_met(x), _kernel(x), strict=True):
        total = total + tap.astype(np.int64) * weight.astype(np.int64)
    return total if x.fields.sub == op.AVERAGE else total + _bias(x)


def _requantised(x: Operation) -> Array:
    """Bits of an integer sum. It is held in 32 bits, unsigned if no operand is signed."""
    f, size = x.fields, x.dtype.itemsize
    is_signed = bool(f.opd0_sign or f.opd1_sign or (f.sub != op.AVERAGE and f.opd2_sign))
    steps = requantisation(
        x,
        wraps=True,
        holds_32_bits=is_signed,
        limits_sums=x.rules.limits_window_sums,
        saturates_words=True,
    )
    steps = replace(steps, held=is_signed)
    is_held_unsigned = not is_signed
    if not is_held_unsigned and size in (1, 2, 4) and x.dtype.per_byte == 1:
        sums = _sum_in_kernel(x, steps, size)
        if sums is not None:
            return sums
    total = _exact_sum(x)
    return requantised(total & UI32.maximum if is_held_unsigned else total, steps, x.dtype)


def _integer_sum(x: Operation) -> Array:
    """Words of the result of the form that is not fused."""
    steps = _integer_steps(x)
    words = _sum_in_kernel(x, steps, x.dtype.itemsize) if steps.held else None
    if words is not None:
        return words
    held = SI32 if steps.held else UI32
    total = held.decode(held.encode(_exact_sum(x))).astype(np.int64)
    return requantised(total, replace(steps, held=False), x.dtype)


def _integer_steps(x: Operation) -> Steps:
    """The steps after an integer sum of the form that is not fused; ``held``: 32 bits hold it with a sign."""
    f = x.fields
    is_signed = bool(f.opd0_sign or f.opd1_sign or (f.sub != op.AVERAGE and f.opd2_sign))
    if f.sub == op.AVERAGE:
        mode, amount = int(HALF_UP), int(np.clip(-signed(f.opd2_addr, 32), -62, 62))
        limits = _range(x.dtype.itemsize, bool(f.opd0_sign))
    else:
        mode, amount = f.opd2_n_str, -op.right_shift(f)
        limits = _range(x.dtype.itemsize, is_signed and f.sub != op.DEPTHWISE_RELU)
    rectifies = f.sub == op.DEPTHWISE_RELU
    return Steps(mode, 1, amount, 0, is_signed, rectifies, (limits.minimum, limits.maximum))


def _bias(x: Operation) -> Array:
    """The bias of integers: signed, but where ``unsigned_words`` and the command says otherwise."""
    bias = x["bias"]
    return (bias.numbers if x.fields.opd2_sign or not x.rules.unsigned_words else bias.bits).astype(np.int64)
