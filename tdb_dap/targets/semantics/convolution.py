"""Convolution. Accumulation orders: lockstep with the vendor's simulator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdb_dap.engine.dtypes import F32, SI8, UI8, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families.convolution import ZERO_REGISTER
from tdb_dap.targets.semantics import float32
from tdb_dap.targets.semantics.dot import grouped, interleaved
from tdb_dap.targets.semantics.finish import rectified, requantized
from tdb_dap.targets.semantics.integers import exact_product, saturate, signed
from tdb_dap.targets.semantics.registry import Operation, Value, semantics
from tdb_dap.targets.semantics.windows import padded, taps

Taps = dict[tuple[int, int], Array]


@semantics("conv", 0)
def convolve(x: Operation) -> Array:
    """result = bias + old + sum of input * weight over input channels and taps.

    f32: two interleaved accumulators, order ic, ky, kx. f16, bf16: per group of channels and tap an exact sum, added
    in float32 to bias + old, groups outermost. 8 bit: exact; the weight less its kernel zero point; wrapped into
    32 bits, or saturated into 8 and 16.
    """
    f = x.fields
    image = x["input"].dtype.widen(padded(x["input"].bits, f, x.get("pad_value")))
    weight = _weights(x)
    n, oc, height, width = f.four("res0")
    old = x.get("old")
    result = np.empty((n, oc, height * width), np.float32 if x["input"].dtype.is_float else np.int64)
    for batch in range(n):
        met = {(ky, kx): tap[0].reshape(tap.shape[1], -1) for ky, kx, tap in taps(image[batch : batch + 1], f)}
        before = None if old is None else old.numbers[batch].reshape(oc, -1)
        if not x["input"].dtype.is_float:
            result[batch] = _integer_sum(x, weight, met, before)
        elif x["input"].dtype is F32:
            result[batch] = _float32_sum(x["bias"], weight, met, before)
        else:
            result[batch] = _grouped_sum(x, weight, met, before)
    whole = result.reshape(n, oc, height, width)
    if x["input"].dtype.is_float:
        return x.dtype.encode(rectified(x, whole))
    if f.is_fused:
        return requantized(x, whole, wraps=True)
    if x.dtype.itemsize == 4:
        return x.dtype.encode(whole)
    return x.dtype.encode(saturate(whole, x.dtype))


def _weights(x: Operation) -> Array:
    """Weights (oc, ic, kh, kw), rotated by half a turn if the command says so."""
    f, weight = x.fields, x["weight"]
    shape = (f.res0_c, f.opd0_c, f.opd1_h, f.opd1_w)
    numbers = np.broadcast_to(weight.numbers.reshape(1, 1, 1, 1), shape) if weight.is_constant else weight.numbers
    return numbers[:, :, ::-1, ::-1] if f.kernel_rotate else numbers


def _bias_column(bias: Value) -> Array:
    return float32.flush(bias.numbers.reshape(-1, 1))


def _float32_sum(bias: Value, weight: Array, met: Taps, old: Array | None) -> Array:
    oc, ic, kh, kw = weight.shape
    weight = float32.flush(weight)
    met = {place: float32.flush(tap) for place, tap in met.items()}
    before = None if old is None else float32.flush(old)
    start = _bias_column(bias)
    terms: list[tuple[Array, ...]] = [(weight, tap) for tap in met.values()] + [(start,)]
    normal = float32.stays_normal(*terms, *([(before,)] if before is not None else []))

    def factors() -> Iterator[tuple[Array, Array]]:
        for channel in range(ic):
            for ky in range(kh):
                for kx in range(kw):
                    yield weight[:, channel, ky, kx][:, None], met[ky, kx][channel][None]

    return interleaved(start, before, factors, (oc, met[0, 0].shape[1]), normal)


def _grouped_sum(x: Operation, weight: Array, met: Taps, old: Array | None) -> Array:
    oc, ic, kh, kw = weight.shape
    total = (
        np.repeat(_bias_column(x["bias"]), met[0, 0].shape[1], 1)
        if x["bias"].bits.size > 1
        else np.full((oc, met[0, 0].shape[1]), _bias_column(x["bias"])[0, 0], np.float32)
    )
    if old is not None:
        total = float32.add(total, old)
    group = x.rules.channel_group
    for first in range(0, ic, group):
        for ky in range(kh):
            for kx in range(kw):
                factors = weight[:, first : first + group, ky, kx].T
                part = grouped(factors, met[ky, kx][first : first + group], x.rules.nan_wins)
                total = float32.add(total, part)
    return total


def _integer_sum(x: Operation, weight: Array, met: Taps, old: Array | None) -> Array:
    oc, _, kh, kw = weight.shape
    centred = weight.astype(np.int64) - _kernel_zero(x)
    columns = np.stack([met[ky, kx] for ky in range(kh) for kx in range(kw)], 1).reshape(-1, met[0, 0].shape[1])
    total = exact_product(centred.reshape(oc, -1), columns)
    if x.fields.is_fused:
        total = total + x["bias"].numbers.astype(np.int64).reshape(-1, 1)
    return total if old is None else total + old.astype(np.int64)


def _kernel_zero(x: Operation) -> Array:
    """Kernel zero points (oc, 1, 1, 1) or one for all: the third operand, or a register or table where fused."""
    f = x.fields
    if not f.is_fused:
        zero = x["bias"]
        if zero.dtype not in (SI8, UI8):
            raise NotSimulated(f"a kernel zero point of type {zero.dtype} is not known")
        return zero.numbers.astype(np.int64).reshape(-1, 1, 1, 1)
    table = x.get("kernel_zero")
    if table is not None:
        return table.numbers.astype(np.int64).reshape(-1, 1, 1, 1)
    return np.array(signed(f.register(ZERO_REGISTER), 16)).reshape(1, 1, 1, 1)
