"""Moves of the DMA: words, and numbers only where L2 reduces them. Source: lockstep and fuzzing against the vendor's
simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.declaration.fields import FLOAT8
from tdb_dap.targets.families.dma import tensors as op
from tdb_dap.targets.semantics.registry import Operation, moves, semantics

_NOT_A_NUMBER = 0x7FFFFFFF
"""What a reduction makes of an undefined sum or product; 16-bit formats keep the low half's bits 0x7fff."""


def reduces(move: Callable[[Operation], Array]) -> Callable[[Operation], Array]:
    """A move whose words are combined with those of the destination where the command reduces."""

    @wraps(move)  # exported code imports it by the name of the move
    def moved(x: Operation) -> Array:
        words = move(x)
        return _reduced(x, np.broadcast_to(words, x.shape), x["old"].bits) if "old" in x else words

    return moved


def _reduced(x: Operation, new: Array, old: Array) -> Array:
    """Floats: one operation in float32, rounded; maximum new > old ? new : old, minimum old <= new ? old : new."""
    operation, dtype = op.reduction(x.fields), x.dtype
    if not dtype.is_float:
        return _reduced_integers(operation, dtype, new, old)
    a, b = (float32.operand(dtype.widen(words), dtype) for words in (new, old))
    if operation in (op.REDUCE_MAX, op.REDUCE_MIN):
        chosen = np.where(a > b, new, old) if operation == op.REDUCE_MAX else np.where(b <= a, old, new)
        numbers = np.where(a > b, a, b) if operation == op.REDUCE_MAX else np.where(b <= a, b, a)
        return np.where(np.isnan(numbers), chosen, dtype.encode(numbers))
    numbers = float32.add(a, b) if operation == op.REDUCE_ADD else float32.product_in(a, b, dtype)
    undefined = _NOT_A_NUMBER if dtype is F32 else _NOT_A_NUMBER >> 16
    return np.where(np.isnan(numbers), np.array(undefined, dtype.bits_dtype), dtype.encode(numbers))


def _reduced_integers(operation: int, dtype: DType, new: Array, old: Array) -> Array:
    if operation == op.REDUCE_MUL or dtype.itemsize < 2 or dtype.per_byte > 1:
        raise NotSimulated(f"the reduction {op.REDUCTIONS[operation]} of {dtype} is not defined")
    bits = 8 * dtype.itemsize
    a, b = (((words.astype(np.int64)) ^ (1 << (bits - 1))) - (1 << (bits - 1)) for words in (new, old))
    results = {op.REDUCE_ADD: a + b, op.REDUCE_MAX: np.maximum(a, b), op.REDUCE_MIN: np.minimum(a, b)}[operation]
    return dtype.encode(results)


@moves(in_order=True)
@semantics("dma.tensor", op.COPY)
@reduces
def copy(x: Operation) -> Array:
    """Elements in n, c, h, w order; the destination may have another shape of the same size."""
    return copied(x)


def copied(x: Operation) -> Array:
    """The words of the source in the destination's shape."""
    source = x["source"]
    if source.is_constant:
        return source.bits
    if source.bits.size != int(np.prod(x.shape)):
        raise NotSimulated(f"a copy of {source.bits.size:,} elements into {int(np.prod(x.shape)):,} is not defined")
    return source.bits.reshape(x.shape)


@moves(in_order=False)
@semantics("dma.tensor", op.TRANSPOSE)
@reduces
def transpose(x: Operation) -> Array:
    """(n, c, h, w) to (c, n, h, w)."""
    return x["source"].bits.transpose(1, 0, 2, 3)


@moves(in_order=False)
@semantics("dma.tensor", op.COLLECT, op.DISTRIBUTE)
@reduces
def lanes_to_columns(x: Operation) -> Array:
    """(n, c, h, w) to (n, w, h, c); a copy where the chip does not swap."""
    if not x.rules.distributes:
        return copied(x)
    return x["source"].bits.transpose(0, 3, 2, 1)


@moves(in_order=True)
@semantics("dma.tensor", op.BROADCAST)
@reduces
def broadcast(x: Operation) -> Array:
    """One channel to many."""
    return x["source"].bits


@moves(in_order=True)
@semantics("dma.matrix", op.COPY)
def matrix(x: Operation) -> Array:
    """Rows and columns."""
    return _matrix(x).reshape(x.shape)


@moves(in_order=False)
@semantics("dma.matrix", op.TRANSPOSE)
def matrix_transpose(x: Operation) -> Array:
    """Columns and rows."""
    return _matrix(x).T.reshape(x.shape)


def _matrix(x: Operation) -> Array:
    source = x["source"]
    if source.is_constant:
        raise NotSimulated("a matrix filled with a constant is not known")
    return source.bits.reshape(source.shape[-2:])


@moves(in_order=True)
@semantics("dma.general", 0, 1)
def linear(x: Operation) -> Array:
    """Consecutive elements; sub type 1: to every lane."""
    bits = x["source"].bits
    return bits.reshape(-1) if bits.size > 1 else np.broadcast_to(bits.reshape(-1), x.shape)


@moves(in_order=False)
@semantics("dma.cw_transpose", 0)
def swap(x: Operation) -> Array:
    """(n, c, h, w) to (n, w, h, c)."""
    return x["source"].bits if x["source"].is_constant else x["source"].bits.transpose(0, 3, 2, 1)


@moves(in_order=False)
@semantics("dma.reverse", 0, 1, 2, 3)
def reverse(x: Operation) -> Array:
    """One axis backwards: sub types w, h, c, n."""
    return np.flip(x["source"].bits, 3 - x.fields.sub)


def _in_range(index: Array, start: int, size: int) -> tuple[Array, Array]:
    """Index without its start, and whether it is inside."""
    place = index.astype(np.int64) - start
    return place, (place >= 0) & (place < size)


@semantics("dma.gather", 0)
def gather(x: Operation) -> Array:
    """destination[c, i, :] = source[c, index[c, i] - start, :], else the constant."""
    f = x.fields
    _, channels, count, width = x.shape
    height = f.src_hsize
    source = np.broadcast_to(x["source"].bits[0], (channels, height, width))
    index = np.broadcast_to(x["index"].bits[0, :, :, 0], (channels, count))
    place, inside = _in_range(index, f.start_pos, height)
    taken = np.take_along_axis(source, np.clip(place, 0, height - 1)[:, :, None], 1)
    word = f.constant_value & ((1 << (8 * x.dtype.itemsize)) - 1)
    return np.where(inside[:, :, None], taken, np.array(word, x.dtype.bits_dtype))[None]


@semantics("dma.scatter", 0)
def scatter(x: Operation) -> Array:
    """destination[c, index[c, i] - start, :] = source[c, i, :]; a later i wins."""
    f = x.fields
    _, channels, rows, width = x.shape
    source = np.broadcast_to(x["source"].bits[0], (channels, f.src_hsize, width))
    index = np.broadcast_to(x["index"].bits[0, :, :, 0], (channels, f.src_hsize))
    place, inside = _in_range(index, f.start_pos, rows)
    result = x["old"].bits
    lanes = np.arange(channels)
    for i in range(f.src_hsize):
        at, keep = np.clip(place[:, i], 0, rows - 1), inside[:, i][:, None]
        result[0, lanes, at] = np.where(keep, source[:, i], result[0, lanes, at])
    return result


@semantics("dma.masked_select", 0)
def masked_select(x: Operation) -> Array:
    """Elements whose mask is not zero, one after another; what is after them stays."""
    chosen = x["source"].bits.reshape(-1)[x["mask"].bits.reshape(-1) != 0]
    result = x["old"].bits
    result[: chosen.size] = chosen
    return result


@semantics("dma.nonzero", 0)
def nonzero(x: Operation) -> Array:
    """Linear indices of the non-zero elements plus the base, one after another; what is after them stays."""
    source = x["source"]
    if x.fields.src_data_format >= FLOAT8:
        raise NotSimulated("dma.nonzero of 8-bit floats is not known")
    words = float32.flush(source.numbers) if x.rules.counts_numbers and source.dtype is F32 else source.bits
    if x.rules.skips_negative_zero and source.dtype.is_float:
        words = source.numbers
    first = x.fields.base_i if x.fields.has("base_i") else x.fields.dst_nstride
    positions = np.flatnonzero(words.reshape(-1)) + first
    result = x["old"].bits
    result[: positions.size] = x.dtype.encode(positions)
    return result
