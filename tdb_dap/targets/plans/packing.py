"""Packing steps of plans: the parts of tensors, and where their numbers belong in a matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.targets.arithmetic.stored import CONSTANT, FLOATS, INTEGERS, Unplanned
from tdb_dap.targets.arithmetic.sums import Step
from tdb_dap.targets.kernel.constants import Format, Part
from tdb_dap.targets.plans.tensors import Tensor

_FORMATS = {**FLOATS, **INTEGERS}
MOST_PRODUCTS = (1 << 31) // (1 << 16)
"""Products of two bytes whose sum 32 bits hold."""


def format_of(dtype: DType) -> Format:
    """The kernel's number of a format."""
    if dtype.name not in _FORMATS:
        raise Unplanned(f"sums of {dtype}")
    return _FORMATS[dtype.name]


def four_axes(tensor: Tensor, source: int, part: Part, steps: tuple[int, ...], corner: int = 0) -> Iterator[Step]:
    """The parts of a tensor of four axes: ``steps`` between its numbers, from ``corner`` on."""
    form = format_of(tensor.view.dtype)
    for index, piece in tensor.pieces:
        if piece.shape != tuple(own.stop - own.start for own in index):
            raise Unplanned("a layout of more axes")
        first = corner + sum(own.start * step for own, step in zip(index, steps, strict=True))
        yield Step(piece, form, first, steps, part, source)


def constant(number: Array, part: Part, count: int = 1) -> Step:
    """One number ``count`` times, float32 or a whole one of 32 bits."""
    form, dtype = (Format.F32, np.float32) if number.dtype == np.float32 else (Format.SI32, np.int32)
    if number.size != 1 or (number.dtype != np.float32 and number != number.astype(np.int32)):
        raise Unplanned("a start of several numbers, or of more than 32 bits")
    words = number.astype(dtype).reshape(1, 1, 1, 1).view(np.uint32)
    return Step(np.broadcast_to(words, (1, 1, 1, count)), form, 0, (0, 0, 0, 1), part, CONSTANT)


def number_of(word: Array, dtype: DType) -> float:
    """The number of a stored word, as arithmetic takes it."""
    number = float(dtype.widen(word).reshape(-1)[0])
    is_subnormal = dtype.is_float and 0 < abs(number) < 2.0**-126
    if number != number or (is_subnormal and dtype.name != "f16"):
        raise Unplanned("a word that is no common number")
    return number
