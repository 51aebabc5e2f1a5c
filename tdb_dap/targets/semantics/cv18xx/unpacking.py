"""Compressed data of CV18xx.

A heading of 16 bytes: bits 0 to 23 bytes of the stream, 28 signed, 29 bfloat16, 32 to 39 and 40 to 46 biases, 47 zeros
apart. A byte for each block of 16 symbols, padded to 16: bits 0 to 4 the length of its unary part less 16, 5 to 7 its
order, 7 for a raw block. Then the stream, lowest bit first, a block after the other: bit planes as many as the order;
for bfloat16 with zeros apart 4 bits that count these; 16 unary numbers, ended by a 1. Symbols are bytes, or the
exponents of bfloat16, whose signs and fractions follow as bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.families.cv18xx.move import BLOCK

_HEADING = 16
_RAW = 7
_MOST_UNARY = 31 + BLOCK
"""Bits of the unary part of a block, at most."""
_MOST_KEPT = 1 << 8
"""Loads whose numbers are kept: each is at most what local memory holds, so all together are tens of megabytes."""
_ENDS = "compressed data that end within a block; is the model damaged?"


class _Heading(NamedTuple):
    size: int
    is_signed: bool
    is_float: bool
    first_bias: int
    second_bias: int
    has_zeros_apart: bool


def unpacked(data: Array, count: int, is_float: bool) -> Array:
    """``count`` numbers, bytes or stored bfloat16; NotSimulated where the data are damaged or of another format."""
    heading = _heading(data)
    if heading.is_float != is_float:
        raise NotSimulated("compressed data with a heading of another format than the command's")
    blocks = -(-count // BLOCK)
    start = _start(count)
    if start + heading.size > data.size:
        raise NotSimulated(f"compressed data of {start + heading.size} bytes in {data.size}; is the model damaged?")
    if kernel.is_active():
        used = data[: start + heading.size].tobytes()
        return _unpacked_by_kernel(used, count, blocks, start)
    codes = data[_HEADING : _HEADING + blocks].tolist()
    bits = np.unpackbits(np.ascontiguousarray(data[start : start + heading.size]), bitorder="little")
    if not is_float:
        symbols = _symbols_of_bytes(bits, np.array(codes, np.int64))
        return (_unfolded(symbols, heading) if heading.is_signed else symbols.astype(np.uint8)).reshape(-1)[:count]
    out = np.zeros(blocks * BLOCK, np.uint16)
    at = 0
    for block, code in enumerate(codes):
        symbols, at = _symbols(bits, at, code, heading.has_zeros_apart)
        place = slice(block * BLOCK, (block + 1) * BLOCK)
        exponents = _exponents(symbols, heading)
        out[place], at = _with_fractions(bits, at, exponents, heading, min(BLOCK, count - place.start))
    return out[:count]


def unpacked_words(data: Array, count: int, size: int) -> tuple[Array, int]:
    """``count`` numbers of ``size`` bytes, and of how many bytes of the data they are made."""
    return unpacked(data, count, size == 2), _start(count) + _heading(data).size


def _start(count: int) -> int:
    """Bytes before the stream of so many numbers."""
    blocks = -(-count // BLOCK)
    return _HEADING + -(-blocks // BLOCK) * BLOCK


@lru_cache(maxsize=_MOST_KEPT)
def _unpacked_by_kernel(data: bytes, count: int, blocks: int, start: int) -> Array:
    """The numbers of data that were unpacked before are known: weights are the same in every run."""
    heading = _heading(np.frombuffer(data[:_HEADING], np.uint8))
    out: Array = np.empty(count, np.uint16 if heading.is_float else np.uint8)
    if not kernel.unpack(data[_HEADING : _HEADING + blocks], data[start:], out, *heading[1:]):
        raise NotSimulated(_ENDS)
    out.flags.writeable = False
    return out


def _symbols_of_bytes(bits: Array, codes: Array) -> Array:
    """The symbols of all blocks, (blocks, 16): their lengths are known, so that all are read at once."""
    orders, lengths = codes >> 5, (codes & 31) + BLOCK
    is_raw = orders == _RAW
    planes = np.where(is_raw, 8, orders) * BLOCK
    extents = planes + np.where(is_raw, 0, lengths)
    starts = np.cumsum(extents) - extents
    if codes.size and starts[-1] + extents[-1] > bits.size:
        raise NotSimulated(_ENDS)
    padded = np.concatenate([bits, np.zeros(_MOST_UNARY, bits.dtype)])
    symbols: Array = np.zeros((codes.size, BLOCK), np.int64)
    raw = np.flatnonzero(is_raw)
    of_raw = padded[starts[raw, None] + np.arange(8 * BLOCK)].reshape(-1, BLOCK, 8)
    symbols[raw] = np.packbits(of_raw, axis=2, bitorder="little")[:, :, 0]
    coded = np.flatnonzero(~is_raw)
    window = padded[(starts + planes)[coded, None] + np.arange(_MOST_UNARY)]
    is_end = (window == 1) & (np.arange(_MOST_UNARY) < lengths[coded, None])
    is_end &= np.cumsum(is_end, axis=1) <= BLOCK
    ends = np.nonzero(is_end)[1]
    if ends.size != BLOCK * coded.size:
        raise NotSimulated(_ENDS)
    symbols[coded] = (np.diff(ends.reshape(-1, BLOCK), axis=1, prepend=-1) - 1) << orders[coded, None]
    for order in range(_RAW):
        chosen = coded[orders[coded] > order]
        symbols[chosen] += padded[starts[chosen, None] + order * BLOCK + np.arange(BLOCK)].astype(np.int64) << order
    return symbols


def _heading(data: Array) -> _Heading:
    word = int.from_bytes(data[:6].tobytes(), "little")
    return _Heading(
        word & 0xFFFFFF,
        bool(word >> 28 & 1),
        bool(word >> 29 & 1),
        word >> 32 & 0xFF,
        word >> 40 & 0x7F,
        bool(word >> 47 & 1),
    )


def _bytes(bits: Array, at: int, count: int) -> tuple[Array, int]:
    """Bytes from a bit on, and the bit after them."""
    if at + 8 * count > bits.size:
        raise NotSimulated(_ENDS)
    taken = np.packbits(bits[at : at + 8 * count], bitorder="little").astype(np.int64)
    return taken, at + 8 * count


def _symbols(bits: Array, at: int, code: int, counts_zeros: bool) -> tuple[Array, int]:
    order, length = code >> 5, (code & 31) + BLOCK
    if order == _RAW:
        return _bytes(bits, at, BLOCK)
    planes = bits[at : at + BLOCK * order]
    at += BLOCK * order + (4 if counts_zeros and order else 0)
    ends = np.flatnonzero(bits[at : at + length])[:BLOCK]
    if ends.size < BLOCK:
        raise NotSimulated(_ENDS)
    unary = np.diff(ends, prepend=-1) - 1
    low = (planes.reshape(order, BLOCK).astype(np.int64) << np.arange(order)[:, None]).sum(0)
    return (unary << order) + low, at + length


def _unfolded(symbols: Array, heading: _Heading) -> Array:
    """Signed bytes: odd symbols are negative; numbers are moved away from zero by a bias of their sign."""
    numbers = np.where(symbols & 1, -(symbols + 1 >> 1), symbols + 1 >> 1)
    numbers = (numbers + 128 & 255) - 128
    is_negative = numbers < 0
    sizes = np.abs(numbers) + np.where(is_negative, heading.second_bias, heading.first_bias)
    most = 127 + is_negative
    sizes = np.where(sizes <= most, sizes, sizes - most) & 255
    return (np.where(numbers == 0, 0, np.where(is_negative, -sizes, sizes)) & 255).astype(np.uint8)


def _exponents(symbols: Array, heading: _Heading) -> Array:
    """Exponents, folded around the bias as far as both sides reach."""
    bias, zeros = heading.first_bias, int(heading.has_zeros_apart)
    folded = symbols - zeros & 255
    distance = np.where(folded & 1, -(folded + 1 >> 1), folded + 1 >> 1)
    if bias <= 128:
        exponents = np.where(symbols >= 2 * bias, symbols, distance + bias)
    else:
        reach = 255 - bias
        exponents = np.where(folded > 2 * reach, reach + bias - symbols + zeros, distance + bias)
    return np.where((symbols == 0) & bool(zeros), 0, exponents) & 255


def _with_fractions(bits: Array, at: int, exponents: Array, heading: _Heading, count: int) -> tuple[Array, int]:
    """bfloat16 of exponents and the bytes that follow; zeros have none where they are apart."""
    has_byte = (exponents != 0) | (not heading.has_zeros_apart)
    has_byte[count:] = False
    rest = np.zeros(BLOCK, np.int64)
    rest[has_byte], at = _bytes(bits, at, int(has_byte.sum()))
    return (rest >> 7 << 15 | exponents << 7 | rest & 127).astype(np.uint16), at
