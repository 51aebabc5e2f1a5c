"""Convolution. Accumulation orders: lockstep with the vendor's simulator."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, UI8, UI32, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.system.interruption import between_parts
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.dot import exact_product, group_size, grouped, inexact, interleaved, summed
from tdb_dap.targets.arithmetic.elements import encoded
from tdb_dap.targets.arithmetic.products import Products
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.shifts import DOWN, requantised, signed
from tdb_dap.targets.arithmetic.stored import Unplanned, Value
from tdb_dap.targets.arithmetic.sums import Group
from tdb_dap.targets.arithmetic.windows import border, offsets, padded, windows
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.convolution import ZERO_POINTS, ZERO_REGISTER
from tdb_dap.targets.semantics.finish import channel_scale, limited, rectified, requantisation, scaled, table_of
from tdb_dap.targets.semantics.registry import Convolved, Operation, multiplies, semantics

# Numbers held at once in columns of integers.
_BLOCK = 1 << 23


def _convolved(x: Operation) -> Convolved:
    """The products of ``convolve``, of bytes, float32 and 16-bit floats."""
    f, dtype, bias = x.fields, x["input"].dtype, x["bias"]
    old = ("old",) if "old" in x else ()
    if x["weight"].is_constant or x["weight"].dtype.itemsize != dtype.itemsize or x.rules.fast:
        raise Unplanned("one weight, weights of another size, or sums in another order")
    fill = border(f, x.get("pad_value"), f.res1_addr, dtype.bits_dtype)
    starts: tuple[str | Array, ...] = old
    group = steps = table = None
    if dtype.is_float:
        if dtype.itemsize == 1 or (x.rules.symmetric_sums and f.sym_range):
            raise Unplanned("sums of 8-bit floats, or limits")
        first = x.rules.first_bias("conv", _bias_column(bias), True) if bias.is_constant else "bias"
        starts = (first, *old)
        if dtype is not F32:
            size = group_size(x.rules.channel_group, dtype)
            group = Group(size, x.rules.nan_wins, x.rules.drops_bits and dtype is F16)
            starts = (_bias_column(bias) if bias.is_constant else "bias", *old)
    elif dtype.itemsize > 1 or "kernel_zero" in x or _kernel_zero(x).any() or _is_unsigned(x):
        raise Unplanned("words, a zero point, or sums without a sign")
    elif f.is_fused:
        if old:
            raise Unplanned("two starts of whole numbers")
        starts = (bias.numbers.astype(np.int64).reshape(1, 1) if bias.is_constant else "bias",)
        limits, table = x.rules.limits_window_sums, table_of(x)
        steps = requantisation(x, wraps=True, limits_sums=limits, saturates_words=True, without_table=True)
    else:
        steps = _steps(x)
    is_rotated = bool(f.kernel_rotate and x.rules.rotates)
    is_image_first = x.rules.image_nan_first
    is_rectified = bool(dtype.is_float and f.is_fused and f.relu)
    how = x.rules.first_zero, is_image_first, steps, group, is_rectified
    return Convolved("input", "weight", is_rotated, fill, starts, *how, table=table)


@multiplies(_convolved)
@semantics("conv", 0)
def convolve(x: Operation) -> Array:
    """``conv.normal``: result = bias + old + sum of input * weight over input channels and taps.

    f32: two interleaved accumulators, order ic, ky, kx. f16, bf16: per group of channels and tap an exact sum, added
    in float32 to bias + old, groups outermost. 8 bit: exact; the weight less its kernel zero point; wrapped into
    32 bits, or saturated into 8 and 16.
    """
    f = x.fields
    dtype = x["input"].dtype
    image = dtype.widen(padded(x["input"].bits, f, x.get("pad_value"), f.res1_addr))
    weight = _weights(x)
    n, oc, height, width = f.four("res0")
    old = x.get("old")
    before = None if old is None else old.numbers.transpose(1, 0, 2, 3).reshape(oc, -1)
    if not dtype.is_float:
        words = _integers(x, weight, image, before)
        return words.reshape(oc, n, height, width).transpose(1, 0, 2, 3)
    if dtype.itemsize == 1 and x.dtype is BF16:
        raise NotSimulated(f"sums of 8-bit floats as bf16 are not known: a convolution of {dtype}")
    image, weight = float32.operand(image, dtype), float32.operand(weight, dtype)
    total = (_float32_sum if dtype is F32 else _grouped_sum)(x, weight, image, before)
    sums = total.reshape(oc, n, height, width).transpose(1, 0, 2, 3)
    if dtype.itemsize == 1:
        return scaled(x, sums, channel_scale(x))
    by_sign = not x.rules.keeps_nan or (dtype is F32 and x.rules.rectifies_nan)
    words = encoded(rectified(x, sums, nan_by_sign=by_sign), x.dtype)
    return limited(x, words, "conv" in x.rules.keeps_sum_nan)


def _weights(x: Operation) -> Array:
    """Weights (oc, ic, kh, kw), rotated by half a turn if the command says so."""
    f, weight = x.fields, x["weight"]
    shape = (f.res0_c, f.opd0_c, f.opd1_h, f.opd1_w)
    numbers = np.broadcast_to(weight.numbers.reshape(1, 1, 1, 1), shape) if weight.is_constant else weight.numbers
    return numbers[:, :, ::-1, ::-1] if f.kernel_rotate and x.rules.rotates else numbers


def _bias_column(bias: Value) -> Array:
    return float32.flush(bias.numbers.reshape(-1, 1))


def by_channels(weight: Array, image: Array, f: Fields) -> Products:
    """The products of a convolution in the order channel, kernel row, kernel column; columns are batches x results.

    ``weight``: (oc, ic, kh, kw), ``image``: padded, (n, ic, h, w).
    """
    in_channel, places = offsets(image, f)
    batches, channels, height, width = image.shape
    plane = height * width
    taps = (np.arange(channels, dtype=np.int64) * plane)[:, None] + in_channel.reshape(-1)
    return Products(
        np.ascontiguousarray(weight.reshape(weight.shape[0], -1)),
        np.ascontiguousarray(image).reshape(-1),
        taps.reshape(-1),
        ((np.arange(batches, dtype=np.int64) * channels * plane)[:, None] + places).reshape(-1),
    )


def by_groups(weight: Array, image: Array, f: Fields, size: int) -> tuple[Products, int]:
    """As ``by_channels`` in the order group of channels, tap, channel; with the products per group and tap.

    If the last group is not full, products with zeros fill it up.
    """
    plain = by_channels(weight, image, f)
    channels = weight.shape[1]
    size = min(size, channels)
    missing = -channels % size

    def arranged(numbers: Array, fill: int) -> Array:
        blank = ((0, 0), (0, missing), (0, 0))
        full = np.pad(numbers.reshape(-1, channels, f.opd1_h * f.opd1_w), blank, constant_values=fill)
        return full.reshape(full.shape[0], -1, size, full.shape[2]).transpose(0, 1, 3, 2).reshape(full.shape[0], -1)

    left, taps = arranged(plain.left, 0), arranged(plain.taps, -1)
    return Products(np.ascontiguousarray(left), plain.image, np.ascontiguousarray(taps[0]), plain.places), size


def _float32_sum(x: Operation, weight: Array, image: Array, old: Array | None) -> Array:
    start = x.rules.first_bias("conv", _bias_column(x["bias"]), x["bias"].is_constant)
    before = None if old is None else float32.flush(old)
    products = replace(by_channels(weight, image, x.fields), swapped=x.rules.image_nan_first)
    if x.rules.fast:
        return inexact((start, before), products)
    total = interleaved(start, before, products, zero=x.rules.first_zero)
    return _with_second_nan(total, before, products) if np.isnan(total).any() else total


def _with_second_nan(total: Array, old: Array | None, products: Products) -> Array:
    """``total`` with the NaNs of the second accumulator: it is the first operand of the last addition."""
    position = np.arange(products.taps.size) + (1 if old is None else 2)
    is_second = position % 2 == 1
    part = replace(
        products,
        left=np.ascontiguousarray(np.where(is_second, products.left, np.float32(0))),
        taps=np.where(is_second, products.taps, -1),
    )
    second = interleaved(np.zeros((1, 1), np.float32), old, part, normal=False)
    return np.where(np.isnan(second), second, total)


def _grouped_sum(x: Operation, weight: Array, image: Array, old: Array | None) -> Array:
    products, size = by_groups(weight, image, x.fields, group_size(x.rules.channel_group, x["input"].dtype))
    if x.rules.fast:
        return inexact((_bias_column(x["bias"]), old), products)
    total = np.broadcast_to(_bias_column(x["bias"]), products.shape)
    if old is not None:
        total = float32.add(total, float32.flush(old))
    return grouped(total, products, size, x.rules.nan_wins, x.rules.drops_bits and x["input"].dtype is F16)


def _integers(x: Operation, weight: Array, image: Array, old: Array | None) -> Array:
    """Bits of the results (oc, n x height x width)."""
    zero = _kernel_zero(x)
    centred = weight.astype(np.int32) - zero.astype(np.int32) if zero.any() else weight
    start = old
    if x.fields.is_fused:
        bias = x["bias"].numbers.astype(np.int64).reshape(-1, 1)
        start = bias if old is None else bias + old
    steps = _steps(x)
    words = None if _is_unsigned(x) else summed(by_channels(centred, image, x.fields), start, steps, x.dtype)
    if words is not None:
        return words
    total = integer_products(centred, image, x.fields)
    total = total if start is None else total + start
    if _is_unsigned(x):
        return requantised(total & UI32.maximum, replace(steps, held=False), x.dtype)
    return requantised(total, steps, x.dtype)


def _is_unsigned(x: Operation) -> bool:
    """Whether the 32 bits that hold a sum before it is requantised have no sign: no operand has one."""
    f = x.fields
    return bool(f.is_fused and f.rq and not (f.opd0_sign or f.opd1_sign or f.opd2_sign))


def _steps(x: Operation) -> Steps:
    """Steps after the sum, for results (oc, places)."""
    if x.fields.is_fused:
        steps = requantisation(x, wraps=True, limits_sums=x.rules.limits_window_sums, saturates_words=True)
        return replace(
            steps,
            multiplier=_column(steps.multiplier),
            amount=_column(steps.amount),
            zero=_column(steps.zero),
        )
    return Steps(DOWN, limits=UNLIMITED if x.dtype.itemsize == 4 else (x.dtype.minimum, x.dtype.maximum))


def _column(numbers: Array | int) -> Array | int:
    """Numbers of channels, (1, c, 1, 1), as a column; a number as it is."""
    return numbers.reshape(-1, 1) if isinstance(numbers, np.ndarray) else numbers


def integer_products(weight: Array, image: Array, f: Fields) -> Array:
    """Exact sums of integer products, int64 (oc, batches x results)."""
    total = summed(by_channels(weight, image, f), None, Steps(DOWN), None)
    return _products_by_blocks(weight, image, f) if total is None else total


def _products_by_blocks(weight: Array, image: Array, f: Fields) -> Array:
    met = windows(image, f)
    n, channels, kh, kw, height, width = met.shape
    step = max(1, _BLOCK // max(1, n * channels * kh * kw * width))
    total = np.empty((weight.shape[0], n, height, width), np.int64)
    flat = weight.reshape(weight.shape[0], -1)
    for first in range(0, height, step):
        between_parts()
        part = met[..., first : first + step, :].transpose(1, 2, 3, 0, 4, 5)
        product = exact_product(flat, part.reshape(flat.shape[1], -1))
        total[:, :, first : first + step] = product.reshape(-1, n, part.shape[4], width)
    return total.reshape(weight.shape[0], -1)


def _kernel_zero(x: Operation) -> Array:
    """Kernel zero points (oc, 1, 1, 1) or one for all: the third operand, or a register or table where fused."""
    f = x.fields
    if not f.is_fused:
        zero = x["bias"]
        if zero.dtype not in (SI8, UI8):
            raise NotSimulated(f"a kernel zero point of type {zero.dtype} is not known")
        return zero.numbers.astype(np.int64).reshape(-1, 1, 1, 1)
    if not x.rules.convolution_zero:
        return np.zeros((1, 1, 1, 1), np.int64)
    table = x.get("kernel_zero")
    if table is not None:
        numbers = table.numbers.astype(np.int64)
        least, most = ZERO_POINTS.get(f.opd0_prec, (numbers.min(), numbers.max()))
        if numbers.min() < least or numbers.max() > most:
            raise NotSimulated(f"a zero point of its kernel is not from {least} to {most}")
        return numbers.reshape(-1, 1, 1, 1)
    return np.array(signed(f.register(ZERO_REGISTER), 16)).reshape(1, 1, 1, 1)
