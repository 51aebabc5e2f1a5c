"""Decompression of weights.

A stream begins with 16 bytes whose first three hold the size of the data, then one byte per block of 16 numbers
(rounded up to 16 bytes): bits 7..5 the order k, bits 4..0 how many bits more than 16 the unary part has. k = 7: the 16
bytes follow as they are. Else k planes of 16 bits, the low bits of the numbers, then the unary part, in which number
i is followed by a one: number = zeros before it * 2^k + low bits. Bits are taken from the low end of each byte.
Source: the format that the maker published for its CV18xx chips; here only the size is in the heading, the other
parameters are in the command. Results compared with recorded memory.
"""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.semantics.registry import Operation, semantics

_BLOCK, _HEADING = 16, 16
_PLAIN = 7


@semantics("dma.decompress", 0)
def decompress(x: Operation) -> Array:
    """The numbers of a stream in n, c, h, w order; 8 bit only."""
    f = x.fields
    if x.dtype.itemsize != 1:
        raise NotSimulated(f"decompression of {x.dtype} data is not simulated yet")
    count = int(np.prod(x.shape))
    numbers = unpacked(x["payload"].bits.reshape(-1), count)
    if f.is_sign:
        numbers = signed(numbers, f.bias0, f.bias1)
    return numbers.reshape(x.shape)


def unpacked(stream: Array, count: int) -> Array:
    """The first ``count`` numbers of a stream, uint8; NotSimulated if it is damaged."""
    blocks = -(-count // _BLOCK)
    data = _HEADING + -(-blocks // 16) * 16
    codes = stream[_HEADING : _HEADING + blocks].astype(np.int64)
    order = codes >> 5
    plain = order == _PLAIN
    planes = np.where(plain, 0, order)
    unary = np.where(plain, 0, (codes & 31) + 16)
    size = np.where(plain, 8 * _BLOCK, 16 * planes + unary)
    start = np.concatenate([[0], np.cumsum(size)])
    bits = np.unpackbits(stream[data:], bitorder="little")
    if start[-1] > bits.size:
        raise NotSimulated(f"the compressed stream announces {start[-1]:,} bits and {bits.size:,} are there")
    result = np.zeros((blocks, _BLOCK), np.int64)
    for bit in range(_PLAIN):
        chosen = np.flatnonzero(planes > bit)
        places = start[chosen][:, None] + 16 * bit + np.arange(_BLOCK)
        result[chosen] |= bits[places].astype(np.int64) << bit
    result[~plain] += _unary(bits, start[:-1][~plain] + 16 * planes[~plain], unary[~plain]) << order[~plain][:, None]
    places = start[:-1][plain][:, None] + np.arange(8 * _BLOCK)
    result[plain] = np.packbits(bits[places], axis=1, bitorder="little")
    return result.reshape(-1)[:count].astype(np.uint8)


def _unary(bits: Array, start: Array, length: Array) -> Array:
    """Zeros before each of the 16 ones of every unary part, (blocks, 16)."""
    steps = np.arange(int(length.max(initial=0)))
    within = steps < length[:, None]
    ones = np.zeros(within.shape, np.bool_)
    ones[within] = bits[(start[:, None] + steps)[within]] == 1
    if (ones.sum(1) != _BLOCK).any():
        raise NotSimulated("the compressed stream is damaged: a block does not hold 16 numbers")
    ends = np.nonzero(ones)[1].reshape(-1, _BLOCK)
    return np.diff(ends, axis=1, prepend=-1) - 1


def signed(codes: Array, bias0: int, bias1: int) -> Array:
    """Signed bytes that codes stand for 0, 1, 2, .. = 0, -1, 1, ..; their magnitudes turned by the bias of their sign.

    magnitude + bias1 (negative) or bias0 (positive), less 128 or 127 where it goes beyond that; zero stays zero.
    """
    wide = codes.astype(np.int64)
    negative = wide & 1 == 1
    magnitude = (wide + 1) >> 1
    most = np.where(negative, 128, 127)
    turned = magnitude + np.where(negative, bias1, bias0)
    turned = np.where(turned > most, turned - most, turned) & 0xFF
    turned = np.where(magnitude == 0, 0, turned)
    return (np.where(negative, -turned, turned) & 0xFF).astype(np.uint8)
