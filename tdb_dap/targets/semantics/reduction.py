"""Reduction of rows and of channels. Source: probing and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.halves import calculated
from tdb_dap.targets.families import reduction as op
from tdb_dap.targets.semantics.finish import finite_half
from tdb_dap.targets.semantics.registry import Operation, semantics


@semantics("reduce", op.MAXIMUM)
def largest(x: Operation) -> Array:
    """The largest number of each row or channel.

    Which of two equal zeros it is, and where a NaN is lost, follows from the order: a new number replaces that of an
    accumulator if it is larger; the accumulator used last replaces the other if it is larger; of two units the left
    one is taken if it is larger. The last group of numbers is filled up with its first one.
    """
    source = x["input"]
    if source.dtype != x.dtype:
        raise NotSimulated(f"the largest of {source.dtype} numbers as {x.dtype} is not known")
    rows = _rows(x, "the largest")
    numbers = source.numbers.reshape(rows)
    units = x.fields.geometry.eu_bytes // x.dtype.itemsize
    places = np.arange(-(-rows[3] // units) * units)
    places[rows[3] :] = places[-1] // units * units
    groups = np.broadcast_to(places.reshape(-1, units), (*rows[:3], places.size // units, units))

    def larger(a: Array, b: Array) -> Array:
        """Place of the number at ``a`` where it is larger, else ``b``."""
        at_a, at_b = (np.take_along_axis(numbers, place, axis=3) for place in (a, b))
        return np.where(at_a > at_b, a, b)

    used = [groups[..., number, :] for number in range(min(2, groups.shape[3]))]
    for number in range(2, groups.shape[3]):
        used[number % 2] = larger(groups[..., number, :], used[number % 2])
    last = (groups.shape[3] - 1) % 2
    chosen = larger(used[last], used[1 - last]) if len(used) == 2 else used[0]
    while chosen.shape[3] > 1:
        chosen = larger(chosen[..., ::2], chosen[..., 1::2])
    largest_bits: Array = np.take_along_axis(source.bits.reshape(rows), chosen, axis=3)
    return largest_bits.reshape(x.shape)


@semantics("reduce", op.SUM, op.SUM_OF_POWERS)
def total(x: Operation) -> Array:
    """Sum of the numbers of a row or channel, or of their squares, in the format of the result.

    Execution unit i of u (as many numbers as it takes at once) adds the numbers i, i + u, i + 2u ... in two
    accumulators by turns, then both; the units' sums are added in pairs: 0 + 1, 2 + 3 ..., then pairs of pairs.
    ``sym_range`` makes infinities finite and NaNs zero; nothing is rectified.
    """
    dtype = x.dtype
    rows = _rows(x, "the sum")
    numbers = float32.operand(x["input"].numbers, x["input"].dtype).reshape(rows)
    if x.fields.sub == op.SUM_OF_POWERS:
        numbers = float32.product_in(numbers, numbers, dtype)
    units = x.fields.geometry.eu_bytes // dtype.itemsize
    rounds = -(-rows[3] // (2 * units))
    padded = np.zeros((*rows[:3], 2 * units * rounds), np.float32)
    padded[..., : rows[3]] = numbers
    turns = padded.reshape(*rows[:3], rounds, 2 * units)
    sums = float32.round_to(turns[..., 0, :], dtype)
    for turn in range(1, rounds):
        sums = _add(sums, turns[..., turn, :], x)
    sums = _add(sums[..., :units], sums[..., units:], x)
    while sums.shape[3] > 1:
        sums = _add(sums[..., ::2], sums[..., 1::2], x)
    words = calculated(sums.reshape(x.shape), dtype)
    return finite_half(words, dtype) if x.fields.sym_range else words


def _add(a: Array, b: Array, x: Operation) -> Array:
    return float32.round_to(float32.add(np.ascontiguousarray(a), np.ascontiguousarray(b)), x.dtype)


def _rows(x: Operation, what: str) -> tuple[int, int, int, int]:
    """Batches, channels, rows and numbers in a row; a channel that is reduced as a whole is one row."""
    f, source, dtype = x.fields, x["input"], x.dtype
    if not source.dtype.is_float or not dtype.is_float:
        raise NotSimulated(f"{what} of {source.dtype} numbers as {dtype} is not known")
    n, c, h, w = source.bits.shape
    return (n, c, 1, h * w) if f.opd0_str == op.WHOLE else (n, c, h, w)
