"""Moves of CV18xx: words in order, conversions, indices and bases of table look-ups, compressed weights."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import elements, truncating
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.cv18xx import move as op
from tdb_dap.targets.semantics.cv18xx.common import refuse
from tdb_dap.targets.semantics.cv18xx.unpacking import unpacked, unpacked_words
from tdb_dap.targets.semantics.registry import Operation, moves, semantics, unpacks

_BIAS = 63
"""Index of the numbers from 1 to 2 in a table of exponents."""
_BASE = np.uint16(0xFF80)
"""Sign and exponent of a bfloat16."""


def _computes(f: Fields) -> bool:
    """Whether words become others."""
    _refuse_unknown(f)
    return bool(f.mv_lut_base or f.mv_lut_idx or (f.src_fmt == 2) != (f.dst_fmt == 2))


@unpacks(unpacked_words)
@moves(in_order=True, unless=_computes)
@semantics("cvi.dma", op.COPY)
def copy(x: Operation) -> Array:
    """The words of the source, converted, in the order of the destination."""
    _refuse_unknown(x.fields)
    if op.is_packed(x.fields):
        return unpacked(x["packed"].bits, op.numbers_moved(x.fields), x.dtype is BF16).reshape(x.shape)
    source = x["source"]
    if source.dtype is not x.dtype and source.shape == x.shape:
        planned = _in_one_pass(x)
        if planned is not None:
            return planned
    return _converted(x, source.bits)


@moves(in_order=False, unless=_computes)
@semantics("cvi.dma", op.TRANSPOSE)
def transpose(x: Operation) -> Array:
    """The same with batches and channels exchanged."""
    _refuse_unknown(x.fields)
    return _converted(x, x["source"].bits.transpose(1, 0, 2, 3))


@semantics("cvi.dma", op.FILL)
def fill(x: Operation) -> Array:
    """One word everywhere."""
    _refuse_unknown(x.fields)
    return x["source"].bits.astype(x.dtype.bits_dtype)


def _in_one_pass(x: Operation) -> Array | None:
    """Bytes as bfloat16, or the other way round, where the kernel does it all at once."""
    source, f = x["source"], x.fields
    if x.dtype is BF16:
        return elements.converted(source.stored, BF16, 0)
    limits = (-128, 127) if f.int8_sign else (0, 255)
    return elements.truncating_bytes(source.stored, bool(f.int8_rnd_mode), x.rules.drops_large_casts, limits)


def _converted(x: Operation, bits: Array) -> Array:
    f, source, shape = x.fields, x["source"], x.shape
    if bits.size != np.prod(shape):
        raise NotSimulated(f"a move of {bits.size:,} elements to {int(np.prod(shape)):,}: undefined on the chip")
    if f.mv_lut_base:
        bits = bits & _BASE
    elif f.mv_lut_idx:
        bits = _index(bits)
    elif source.dtype is BF16 and x.dtype is not BF16:
        bits = _to_bytes(x, bits)
    elif x.dtype is BF16 and source.dtype is not BF16:
        bits = truncating.encode(source.dtype.decode(np.ascontiguousarray(bits)).astype(np.float32))
    return bits.reshape(shape)


def _refuse_unknown(f: Fields) -> None:
    is_within = f.trans_dir in (op.GLOBAL_COPY, op.LOCAL_COPY)
    refuse(is_within and f.sub != op.COPY, "anything but a copy within one memory")
    refuse(f.trans_fmt, "a move of a plain run of bytes")
    refuse(f.transpose_md or (f.sub == op.TRANSPOSE and op.is_matrix(f)), "this transpose")
    refuse(op.is_matrix(f) and f.trans_dir not in (op.LOAD, op.STORE), "a matrix within one memory")
    refuse(op.is_matrix(f) and f.sub == op.FILL, "a matrix of a constant")
    refuse(op.is_packed(f) and (f.trans_dir != op.LOAD or f.sub != op.COPY), "compression")
    special = f.mv_lut_idx or f.mv_lut_base
    refuse(special and f.trans_dir != op.LOCAL_COPY, "an index or base of numbers outside of the local memory")
    refuse(special and (f.src_fmt != 2 or f.dst_fmt != 2), "an index or base of other numbers than bfloat16")
    refuse(f.trans_dir == op.GLOBAL_COPY and f.src_fmt != f.dst_fmt, "a conversion from DDR to DDR")
    refuse(op.is_packed(f) and (special or f.src_fmt != f.dst_fmt), "a conversion of compressed numbers")


def _index(bits: Array) -> Array:
    """The exponent as an index, in both bytes: negative numbers from 128 on, 0 for 0."""
    numbers = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if np.isnan(numbers).any():
        raise NotSimulated("an index of NaN: undefined on the chip")
    _, exponents = np.frexp(np.abs(numbers).astype(np.float64))
    exponents = np.where(np.isinf(numbers), 1, exponents) - 1  # the emulator takes infinity for a number of size 1
    index = np.where(numbers == 0, 0, exponents + _BIAS + 128 * (bits >> np.uint16(15)).astype(np.int64)) & 0xFF
    return (index << 8 | index).astype(np.uint16)


def _to_bytes(x: Operation, bits: Array) -> Array:
    """Half to even or toward zero, limited; NaN and infinity go to the ends, by their sign."""
    numbers = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    is_special = (bits & np.uint16(0x7F80)) == 0x7F80
    numbers = np.where(is_special, np.where(bits >> np.uint16(15), np.float32(-1e9), np.float32(1e9)), numbers)
    if x.rules.drops_large_casts:
        sizes = bits & np.uint16(0x7FFF)
        numbers = np.where((sizes >= 0x5F80) & (sizes <= 0x7F80), np.float32(0), numbers)
    rounded = np.trunc(numbers) if x.fields.int8_rnd_mode else np.rint(numbers)
    low, high = (-128, 127) if x.fields.int8_sign else (0, 255)
    return (np.clip(rounded, low, high).astype(np.int64) & 0xFF).astype(np.uint8)
