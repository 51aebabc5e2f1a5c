"""Filters of convolutions, and the factors and biases in front of them, in the order in which the bmodel holds them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array

_WIDTHS = (64, 32, 16, 8, 4, 2, 1)
"""Inputs that the chips multiply at a time; channels are padded to them."""

_STRIDES = (64, 32, 16, 8)
"""Bytes from the factors of one output to those of the next in the same lane."""

_MOST_SHIFT = 64


class Factors(Struct, frozen=True):
    """Factor and zero point of each output's results, and its bias as it is stored."""

    scales: Array
    zeros: Array
    biases: Array


def filters(stored: Array, shape: Sequence[int], has_header: bool) -> Iterator[tuple[Array, Array]]:
    """Readings of a filter: what its lanes begin with, and a matrix (outputs, inputs and kernel in the layer's order).

    ``stored``: (lanes, words), output i in lane i % lanes; ``shape``: outputs, inputs, extents of the kernel;
    ``has_header``: each lane begins with factors and biases. Inputs are padded and innermost; kernels of few inputs
    have axes of the kernel merged into them (``use_3ic_optimize``).
    """
    outputs, inputs, *kernel = shape
    if len(kernel) not in (1, 2) or not len(stored):
        return
    height, width = (1, kernel[0]) if len(kernel) == 1 else kernel
    lanes, slots = len(stored), -(-outputs // len(stored))
    for merged_height, merged_width in dict.fromkeys(((1, 1), (height, 1), (1, width), (height, width))):
        inner = inputs * merged_height * merged_width
        outer_height, outer_width = height // merged_height, width // merged_width
        for multiple in _WIDTHS:
            groups = -(-inner // multiple)
            size = groups * outer_height * outer_width * multiple
            header = stored.shape[1] - slots * size
            if (header > 0) is not has_header or header < 0 or header > slots * _STRIDES[0] + _STRIDES[0]:
                continue
            each = stored[:, header:].reshape(lanes, slots, size).transpose(1, 0, 2).reshape(-1, size)[:outputs]
            grid = each.reshape(outputs, groups, outer_height, outer_width, multiple)
            rows = grid.transpose(0, 1, 4, 2, 3).reshape(outputs, groups * multiple, outer_height, outer_width)
            split = rows[:, :inner].reshape(outputs, inputs, merged_height, merged_width, outer_height, outer_width)
            order = split.transpose(0, 1, 2, 4, 3, 5)
            yield stored[:, :header], order.reshape(outputs, inputs * height * width)


def own_block(matrix: Array, groups: int) -> Array:
    """Of a filter over all inputs the part over those of each output's group: elsewhere are zeros."""
    if groups == 1:
        return matrix
    outputs = len(matrix)
    blocks = matrix.reshape(groups, outputs // groups, groups, -1)
    own: Array = np.stack([blocks[group, :, group] for group in range(groups)])
    return own.reshape(outputs, -1)


def integer_factors(header: Array, outputs: int) -> Factors | None:
    """Factors of integers: multiplier, negative shift and zero point of each output, then all biases; None if not so.

    Later chips have the shift in one byte and the zero point in the two bytes above the next.
    """
    best: tuple[float, Factors] | None = None
    for size, stride in itertools.product((12, 8), _STRIDES):
        words = _slots(header, outputs, size, stride)
        biases = _biases(header, outputs, size, stride)
        if stride < size or words is None or biases is None:
            continue
        if size == 12:
            shifts, zeros = words[:, 4:8].copy().view("<i4")[:, 0], words[:, 8:12].copy().view("<i4")[:, 0]
        else:
            shifts, zeros = words[:, 4:5].copy().view("i1")[:, 0], words[:, 6:8].copy().view("<i2")[:, 0]
        multipliers = words[:, :4].copy().view("<i4")[:, 0]
        usual = float(((shifts >= -_MOST_SHIFT) & (shifts <= 0) & (multipliers > 0)).mean())
        scales = multipliers * 2.0 ** np.clip(shifts, -_MOST_SHIFT, _MOST_SHIFT).astype(np.float64)
        if usual >= _LEAST_USUAL and (best is None or usual > best[0]):
            best = usual, Factors(scales, zeros.astype(np.int64), biases.view("<i4").astype(np.float64))
    return best[1] if best is not None else None


def float_factors(header: Array, outputs: int) -> Factors | None:
    """Factors of floats of 8 bits: a factor of each output, then all biases; None if not so."""
    best: tuple[float, Factors] | None = None
    for stride in (*_STRIDES, 4):
        words = _slots(header, outputs, 4, stride)
        biases = _biases(header, outputs, 4, stride)
        if words is None or biases is None:
            continue
        scales = words.copy().view("<f4")[:, 0].astype(np.float64)
        usual = float(((scales > _LEAST_SCALE) & (scales < 1 / _LEAST_SCALE)).mean())
        if usual >= _LEAST_USUAL and (best is None or usual > best[0]):
            best = usual, Factors(scales, np.zeros(outputs), biases.view("<f4").astype(np.float64))
    return best[1] if best is not None else None


_LEAST_SCALE = 1e-9
_LEAST_USUAL = 0.5
"""Share of outputs with a usual factor: some may be damaged."""


def _slots(header: Array, outputs: int, size: int, stride: int) -> Array | None:
    """The bytes of each output's factors, (outputs, size)."""
    slots = -(-outputs // len(header))
    if (slots - 1) * stride + size > header.shape[1]:
        return None
    parts: Array = np.stack([header[:, slot * stride : slot * stride + size] for slot in range(slots)])
    return parts.reshape(-1, size)[:outputs]


def _biases(header: Array, outputs: int, size: int, stride: int) -> Array | None:
    """The words of all biases, behind the last factors."""
    slots = -(-outputs // len(header))
    start = (slots - 1) * stride + size
    if start + 4 * slots > header.shape[1]:
        return None
    words = header[:, start : start + 4 * slots].copy().view("<u4")
    held: Array = words.T.reshape(-1)[:outputs].copy()
    return held
