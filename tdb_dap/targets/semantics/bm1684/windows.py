"""Convolution and pooling of BM1684. Source of every rule: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, SI8, UI8, Array, DType
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.dot import inexact, interleaved
from tdb_dap.targets.arithmetic.products import Products
from tdb_dap.targets.arithmetic.stored import Unplanned, Value
from tdb_dap.targets.arithmetic.windows import border, padded, taps
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.bm1684 import windows as op
from tdb_dap.targets.semantics.bm1684.common import (
    refuse,
    refuse_rare,
    shift_steps,
    shifted,
    sum_of_products,
    tiu,
)
from tdb_dap.targets.semantics.convolution import by_channels, integer_products
from tdb_dap.targets.semantics.registry import Convolved, Operation, Pooled, multiplies

LOWEST = np.float32(-3.4028234663852886e38)


def _check_convolution(x: Operation) -> None:
    f, is_float = x.fields, x["input"].dtype is F32
    formats = {operand.dtype.itemsize for operand in (x["input"], x["weight"])} | {x.dtype.itemsize}
    refuse(formats != {4 if is_float else 1}, f"a convolution of {x['input'].dtype} into {x.dtype}")
    refuse(f.res_add and not is_float, "a convolution of 8-bit numbers that adds to the old result")
    refuse("bias" in x and x["bias"].dtype.itemsize != (4 if is_float else 2), "a bias of this width")


def _starts(x: Operation) -> tuple[str | Array, ...]:
    """Bias and old result, as far as there are such."""
    starts: list[str | Array] = [role for role in ("bias", "old") if role in x]
    if "bias" in x and x["bias"].is_constant:
        starts[0] = x["bias"].numbers.reshape(1, 1)
    return tuple(starts)


def _convolved(x: Operation) -> Convolved:
    """The products of ``convolve``."""
    refuse_rare(x.fields)
    _check_convolution(x)
    is_float = x["input"].dtype is F32
    if x["weight"].is_constant or x.rules.fast or (is_float and x.dtype is not F32):
        raise Unplanned("one weight, or sums in another order")
    fill, is_rotated = border(x.fields, None, 0, x["input"].dtype.bits_dtype), bool(x.fields.kernel_rotate)
    steps = None if is_float else shift_steps(x)
    how = 0.0, False, steps, None, False
    return Convolved("input", "weight", is_rotated, fill, _starts(x), *how, adds_last=is_float, by_parity=is_float)


@multiplies(_convolved)
@tiu("bm1684.conv", 0)
def convolve(x: Operation) -> Array:
    """result = bias + old + sum of input * weight over input channels and taps.

    f32: even and odd input channels apart, each in two interleaved accumulators in the order ky, kx, channel; then
    ((even + odd) + bias) + old. 8 bit: exact sum + bias, shifted right half up, saturated.
    """
    f, is_float = x.fields, x["input"].dtype is F32
    _check_convolution(x)
    image = x["input"].dtype.widen(padded(x["input"].bits, f, None))
    weight = _weights(x)
    n, oc, height, width = f.four("res0")
    total = _float_sum(weight, image, x) if is_float else integer_products(weight, image, f)
    sums = total.reshape(oc, n, height, width).transpose(1, 0, 2, 3)
    return x.dtype.encode(_with_bias_and_old(x, sums)) if is_float else shifted(x, sums + _integer_bias(x))


def _weights(x: Operation) -> Array:
    """Weights (oc, ic, kh, kw), rotated by half a turn if the command says so."""
    f, weight = x.fields, x["weight"]
    shape = (f.res0_c, f.opd0_c, f.opd1_h, f.opd1_w)
    numbers = np.broadcast_to(weight.numbers, shape)
    return numbers[:, :, ::-1, ::-1] if f.kernel_rotate else numbers


def _float_sum(weight: Array, image: Array, x: Operation) -> Array:
    """Sum of the even plus sum of the odd channels; an odd number of channels is filled up with one of zeros."""
    f, weight, image = x.fields, float32.flush(weight), float32.flush(image)
    if x.rules.fast:
        return inexact((), by_channels(weight, image, f))
    odd = weight.shape[1] % 2
    weight = np.pad(weight, ((0, 0), (0, odd), (0, 0), (0, 0)))
    image = np.pad(image, ((0, 0), (0, odd), (0, 0), (0, 0)))
    even = interleaved(None, None, _by_taps(weight, image, f, 0))
    return float32.add(even, interleaved(None, None, _by_taps(weight, image, f, 1)))


def _by_taps(weight: Array, image: Array, f: Fields, first: int) -> Products:
    """The products of every second channel in the order kernel row, kernel column, channel."""
    chosen = weight[:, first::2]
    plain = by_channels(chosen, image[:, first::2], f)

    def arranged(numbers: Array) -> Array:
        taps = numbers.reshape(-1, chosen.shape[1], f.opd1_h * f.opd1_w)
        return np.ascontiguousarray(taps.transpose(0, 2, 1)).reshape(taps.shape[0], -1)

    return replace(plain, left=arranged(plain.left), taps=arranged(plain.taps)[0])


def _with_bias_and_old(x: Operation, total: Array) -> Array:
    bias, old = x.get("bias"), x.get("old")
    if bias is not None:
        total = float32.add(total, float32.flush(bias.numbers).reshape(1, -1, 1, 1))
    return total if old is None else float32.add(total, float32.flush(old.numbers))


def _integer_bias(x: Operation) -> Array | int:
    bias = x.get("bias")
    return 0 if bias is None else bias.numbers.astype(np.int64).reshape(1, -1, 1, 1)


def _lowest(dtype: DType) -> Array:
    return np.array([LOWEST if dtype is F32 else dtype.minimum], dtype.numpy)


def _check_maximum(x: Operation) -> None:
    dtype = x["input"].dtype
    refuse(x.dtype.itemsize != dtype.itemsize or dtype.itemsize == 2, f"the maximum of {dtype} as {x.dtype}")
    refuse(x.fields.res_add, "pooling that adds to the old result")
    refuse(x.fields.opd0_x_ins0 or x.fields.opd0_y_ins0, "the maximum over inserted zeros")


def _largest(x: Operation) -> Pooled:
    """The windows of ``maximum``."""
    refuse_rare(x.fields)
    _check_maximum(x)
    dtype = x["input"].dtype
    if dtype.name != x.dtype.name or (x.fields.relu and dtype is not F32):
        raise Unplanned("numbers that become others")
    fill = _lowest(dtype).view(dtype.bits_dtype).reshape(1, 1, 1, 1)
    start = _lowest(dtype).reshape(1, 1) if dtype is F32 else None
    border(x.fields, None, 0, dtype.bits_dtype)
    return Pooled("input", None, False, fill, start, False, 0.0, False, None)


@multiplies(_largest)
@tiu("bm1684.pord", op.MAXIMUM)
def maximum(x: Operation) -> Array:
    """The largest tap, starting at the lowest number: tap > kept ? tap : kept, so that NaN is ignored; flushed.

    Bytes are rectified as signed ones, floats are not.
    """
    dtype = x["input"].dtype
    _check_maximum(x)
    around = np.append(_lowest(dtype), dtype.numpy.type(0)).view(dtype.bits_dtype)
    image = dtype.widen(padded(x["input"].bits, x.fields, Value(around.reshape(1, 1, 1, 2), dtype)))
    image = float32.flush(image) if dtype is F32 else image
    kept = np.broadcast_to(_lowest(dtype), x.shape)
    for _, _, tap in taps(image, x.fields):
        kept = np.where(tap > kept, tap, kept)
    if x.fields.relu and dtype is not F32:  # a byte without a sign, too, has one here
        kept = np.where(kept > SI8.maximum if dtype.kind == "u" else kept < 0, kept.dtype.type(0), kept)
    return x.dtype.encode(kept)


def _check_sum(x: Operation) -> None:
    f, dtype, constant = x.fields, x["input"].dtype, x["kernel"].is_constant
    refuse(x.dtype.itemsize != dtype.itemsize or dtype.itemsize == 2, f"a sum of {dtype} as {x.dtype}")
    refuse(x["kernel"].dtype.itemsize != dtype.itemsize, f"a kernel of {x['kernel'].dtype} for {dtype}")
    refuse(f.res_add or f.kernel_rotate, "pooling with a rotated kernel or added to the old result")
    refuse(constant and dtype is not F32 and f.relu, "an average of integers that is rectified")
    refuse("bias" in x and (constant or x["bias"].is_constant), "an average with a bias")


def _summed(x: Operation) -> Pooled:
    """The windows of ``weighted``."""
    refuse_rare(x.fields)
    _check_sum(x)
    f, dtype, kernel = x.fields, x["input"].dtype, x["kernel"]
    area, is_float = f.opd1_h * f.opd1_w, dtype is F32
    if is_float and not kernel.dtype is x.dtype is F32:
        raise Unplanned("sums as another format")
    weight: str | Array = "kernel"
    if kernel.is_constant:
        number = average_weight(area, bool(f.opd1_sign))
        weight = float32.flush(kernel.numbers) if is_float else np.full((1, 1, 1, 1), number, np.int64)
    steps = None if is_float else replace(shift_steps(x), held=True)
    fill = border(f, None, 0, dtype.bits_dtype)
    start = "bias" if "bias" in x else None
    zero = -0.0 if area == 1 else 0.0
    return Pooled("input", weight, False, fill, start, False, zero, False, steps, adds_last=is_float)


@multiplies(_summed)
@tiu("bm1684.pord", op.WEIGHTED)
def weighted(x: Operation) -> Array:
    """Sum of tap * weight (+ bias), per channel.

    f32: two accumulators by turns. 8 bit: exact, shifted right half up, saturated; see ``average_weight``.
    """
    f, dtype = x.fields, x["input"].dtype
    constant = x["kernel"].is_constant
    _check_sum(x)
    image = dtype.widen(padded(x["input"].bits, f, None))
    met = [tap for _, _, tap in taps(float32.flush(image) if dtype is F32 else image, f)]
    if dtype is F32:
        kernel = np.broadcast_to(x["kernel"].numbers, (1, f.res0_c, f.opd1_h, f.opd1_w))
        pairs = [(tap, float32.flush(w)) for tap, w in zip(met, _per_tap(kernel), strict=True)]
        return x.dtype.encode(_with_bias_and_old(x, sum_of_products(pairs, x.shape)))
    kernel = np.broadcast_to(x["kernel"].numbers.astype(np.int64), (1, f.res0_c, f.opd1_h, f.opd1_w))
    if constant:
        kernel = np.full_like(kernel, average_weight(len(met), bool(f.opd1_sign)))
    total = np.zeros(x.shape, np.int64)
    for tap, weight in zip(met, _per_tap(kernel), strict=True):
        total = total + tap.astype(np.int64) * weight
    return shifted(x, total + _integer_bias(x))


def _per_tap(kernel: Array) -> list[Array]:
    """Weights (1, c, kh, kw) as one array (1, c, 1, 1) per tap."""
    flat = kernel.reshape(1, kernel.shape[1], -1)
    return [flat[:, :, i][:, :, None, None] for i in range(flat.shape[2])]


def average_weight(area: int, signed: bool) -> int:
    """round(2^(7 + ceil(log2 area)) / area) without trailing zero bits, as a byte: what the chip multiplies by."""
    weight = round(2 ** (7 + (area - 1).bit_length()) / area)
    while weight % 2 == 0:
        weight //= 2
    return int((SI8 if signed else UI8).decode(np.array([weight], np.uint8))[0])
