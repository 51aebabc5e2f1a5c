"""Numbers of CV18xx: planes of bytes, integer results, sums that go on, options that nobody sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import elements, truncating
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_AWAY, HALF_UP, requantised, stepped
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.cv18xx.rows import (
    adds_partial,
    is_float,
    is_wide,
    writes_partial,
)
from tdb_dap.targets.families.cv18xx.windows import BIAS_BYTES
from tdb_dap.targets.kernel.constants import Operator
from tdb_dap.targets.semantics.registry import Operation, Semantic, semantics

_MOST_SHIFT = 31
_LARGEST = np.uint32(0x7F7FFFFF)
"""The largest float32."""


def refuse(condition: Any, what: str) -> None:
    """NotSimulated if the condition holds."""
    if condition:
        raise NotSimulated(f"{what}: what the chip computes is not known")


def tiu(family: str, *subs: int) -> Callable[[Semantic], Semantic]:
    """As ``semantics``, for a function that takes none of the options which no compiler sets."""

    def declare(function: Semantic) -> Semantic:
        @wraps(function)
        def checked(x: Operation) -> Array | tuple[Array, ...]:
            refuse_unused(x, family)
            return function(x)

        return semantics(family, *subs)(checked)

    return declare


def refuse_unused(x: Operation, family: str) -> None:
    """NotSimulated for options that no compiler sets."""
    f = x.fields
    refuse(f.relu > 1, f"rectification of the kind {f.relu}")
    refuse(f.opd0_const or f.number("opd2_const"), "a first or third operand that is a constant")
    if family == "cvi.arith":
        _refuse_other_shapes(f)
        _refuse_other_lanes(x)
    if family == "cvi.depthwise":  # the emulator stores bytes and leaves the upper plane as it is
        refuse(not is_float(f) and is_wide(f, "res0"), "a depthwise convolution with results of 16 bits")
    if family in ("cvi.lut", "cvi.pool", "cvi.depthwise"):
        refuse(f.lane("opd0") != f.lane("res0"), "an operand that begins in another lane than the result")
    if family in ("cvi.conv", "cvi.matrix"):
        refuse(f.lane("res0"), "a result that begins in a lane beyond the first")
    refuse(family not in ("cvi.conv", "cvi.matrix") and f.ps32_md, "partial sums of this operation")


def _refuse_other_shapes(f: Fields) -> None:
    """The chip takes the shape of the result for all; elements are repeated by steps of zero."""
    for prefix in ("opd0", "opd1") if f.tsk_opd_num > 1 else ("opd0",):
        refuse(f.four(prefix) != f.four("res0"), f"an operand of the shape {f.four(prefix)}, not {f.four('res0')}")


def _refuse_other_lanes(x: Operation) -> None:
    """Compilers begin tensors in the first lane; where a second operand is otherwise is not known."""
    lane = x.fields.lane("res0")
    refuse(x.fields.lane("opd0") != lane, "an operand that begins in another lane than the result")
    second = x.get("right")
    refuse(lane and second is not None and not second.is_constant, "two operands that begin in a lane beyond the first")


def integers(x: Operation, role: str) -> Array:
    """Numbers of an operand of bytes, or of the low and the high bytes of 16-bit integers, int64."""
    low = x[role].numbers.astype(np.int64)
    high = x.get(f"{role}_high")
    return low if high is None else low + (high.numbers.astype(np.int64) << 8)


def words(x: Operation, total: Array) -> Array | tuple[Array, ...]:
    """Integer results as stored: bytes, or low and high bytes."""
    if not is_wide(x.fields, "res0"):
        return (total & 0xFF).astype(np.uint8)
    return (total & 0xFF).astype(np.uint8), (total >> 8 & 0xFF).astype(np.uint8)


def limits_of(f: Fields) -> tuple[int, int]:
    """Least and greatest integer result."""
    bits = 16 if is_wide(f, "res0") else 8
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if f.res0_sign else (0, (1 << bits) - 1)


def limited(x: Operation, total: Array) -> Array | tuple[Array, ...]:
    """Integers limited to the result format."""
    return words(x, np.clip(total, *limits_of(x.fields)))


def finished(x: Operation, total: Array, rectifies: bool = True) -> Array | tuple[Array, ...]:
    """Integer sums rectified, shifted right (half up, or cut off), limited."""
    return _requantised(x, total, shifting(x.fields, rectifies))


def shifting(f: Fields, rectifies: bool = True) -> Steps:
    """The steps after a sum of integers: rectified, shifted right, limited."""
    refuse(f.res_shift > _MOST_SHIFT, f"a right shift by {f.res_shift}")
    mode = HALF_UP if f.rshift_typ else DOWN
    return Steps(mode, amount=-f.res_shift, rectified=bool(rectifies and f.relu), limits=limits_of(f))


def multiplying(f: Fields) -> Steps:
    """The steps after a sum that is multiplied, but for the multiplier and the shift: each rounded half away from zero.

    The sum wraps to 32 bits first. A negative number stays one when it is rounded so: the limits rectify it.
    """
    low, high = limits_of(f)
    return Steps(HALF_AWAY, held=True, limits=(max(low, 0) if f.relu else low, high), is_high=True)


def _requantised(x: Operation, total: Array, steps: Steps) -> Array | tuple[Array, ...]:
    if not is_wide(x.fields, "res0"):
        return requantised(total, steps, x.dtype)
    return words(x, stepped(total, steps))


def in_one_pass(x: Operation, operator: Operator, steps: Steps) -> Array | tuple[Array, ...] | None:
    """The words of one operation on bytes, or on numbers, after the steps; None where NumPy has to do it."""
    if "left_high" in x or "right_high" in x:
        return None
    left = x["left"].stored
    right = x["right"].stored if "right" in x else left
    planes = [elements.plane_of_integers(operator, left, right, steps, number) for number in range(_planes(x))]
    return as_result(planes)


def _planes(x: Operation) -> int:
    return 1 + is_wide(x.fields, "res0")


def as_result(planes: Sequence[Array | None]) -> Array | tuple[Array, ...] | None:
    """Words of one plane, or of each; None if one is missing."""
    known = tuple([words for words in planes if words is not None])
    if len(known) < len(planes):
        return None
    return known if len(known) > 1 else known[0]


def multiplied(x: Operation, total: Array, multiplier: Array | int, amount: Array | int) -> Array | tuple[Array, ...]:
    """Sums times multiplier * 2^-31, then * 2^-amount, each rounded half away from zero; rectified; limited.

    Sums wrap to 32 bits first.
    """
    refuse(np.any(np.asarray(amount) > _MOST_SHIFT), "a channel's shift above 31")
    steps = replace(multiplying(x.fields), multiplier=multiplier, amount=-np.asarray(amount, np.int64))
    return _requantised(x, total, steps)


def channel_steps(table: Array) -> tuple[Array, Array, Array]:
    """Bias, multiplier and shift of each channel, (1, c, 1, 1) int64, of bytes (1, c, 1, 9), or 5 without a bias."""
    table = np.ascontiguousarray(table)
    first = table.shape[3] - 5
    bias = _words(table[..., :BIAS_BYTES]) if first else np.zeros((*table.shape[:3], 1), np.int64)
    return bias, _words(table[..., first : first + 4]), table[..., first + 4 :].astype(np.int64)


def _words(table: Array) -> Array:
    return np.ascontiguousarray(table).view("<i4").astype(np.int64)


def requantised_by_channel(x: Operation, total: Array) -> Array | tuple[Array, ...]:
    """Sums (n, c, h, w) plus the bias, by the multiplier and shift of their channel."""
    bias, multiplier, amount = channel_steps(x["requantisation"].bits)
    return multiplied(x, total + bias, multiplier, amount)


def encoded(x: Operation, numbers: Array) -> Array:
    """float32 as bfloat16 results, rectified if the command says so."""
    bits = truncating.encode(numbers)
    return truncating.rectified(bits) if x.fields.relu else bits


def float_of_halves(upper: Array, lower: Array) -> Array:
    """float32 of their halves."""
    return (upper.astype(np.uint32) << np.uint32(16) | lower).view(np.float32)


def bias(x: Operation) -> Array | None:
    """A float32 bias, subnormals as 0, in the shape of its halves; None if there is none."""
    return truncating.flush(float_of_halves(x["bias"].bits, x["bias_low"].bits)) if "bias" in x else None


def earlier_sums(x: Operation) -> Array | None:
    """Sums of an earlier command that go on, int64 or float32; None where they begin here."""
    if not adds_partial(x.fields):
        return None
    if is_float(x.fields):
        return float_of_halves(x["sum_upper"].bits, x["sum_lower"].bits)
    planes = [x[f"sum_{number}"].bits.astype(np.uint32) << np.uint32(8 * number) for number in range(4)]
    return (planes[0] | planes[1] | planes[2] | planes[3]).view(np.int32).astype(np.int64)


def later_sums(x: Operation, total: Array) -> tuple[Array, ...] | None:
    """Sums as planes, for a later command; None where they end here. An infinite one is stored as the largest."""
    if not writes_partial(x.fields):
        return None
    if is_float(x.fields):
        bits = np.ascontiguousarray(total, np.float32).view(np.uint32)
        bits = np.where(np.isfinite(total), bits, _LARGEST)
        return (bits >> np.uint32(16)).astype(np.uint16), (bits & np.uint32(0xFFFF)).astype(np.uint16)
    return tuple((total >> 8 * number & 0xFF).astype(np.uint8) for number in range(4))
