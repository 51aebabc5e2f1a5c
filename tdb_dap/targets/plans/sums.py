"""Sums of products as the kernel takes them in a plan: the parts of their operands, and where these belong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.targets.kernel.integers import LARGEST_SHIFT, UNLIMITED, Steps
from tdb_dap.targets.kernel.stored import AXES, CONSTANT, FLOATS, WHOLE
from tdb_dap.targets.plans.tensors import Tensor
from tdb_dap.targets.semantics.registry import Group, Unplanned

LEFT, RIGHT, FIRST_START = 0, 1, 2
"""Owners of a part: left or right factors, or the first of what sums start from."""
IN_CHAINS, IN_GROUPS, EXACTLY, WINDOWS_OF_FLOATS, WINDOWS_EXACTLY, LARGEST = range(6)
"""Ways to add products, as the kernel numbers them."""
WORDS, FLOATS_OF_IMAGE = 2, 3
BYTES = {"si8": 0, "ui8": 1, "i8": 1}
"""Types of an image as the kernel numbers them: bytes by their formats, and words of 16 bits."""
MOST_PRODUCTS = (1 << 31) // (1 << 16)
"""Products of two bytes whose sum 32 bits hold."""
_FORMATS = {**FLOATS, **WHOLE}

Part = tuple[Any, ...]
Pair = tuple[int, int]


class Size(NamedTuple):
    """Rows and columns of a matrix of sums, and the products of each."""

    rows: int
    products: int
    columns: int


class Image(NamedTuple):
    """Right factors: product k of column j has number taps[k] + places[j] of an image; see ``kernel.products``."""

    dtype: DType
    taps: Array
    places: Array
    size: int
    """Numbers of the image."""
    fill: float | None
    """The number that the image holds where nothing is put; None: something is put everywhere."""


class Window(NamedTuple):
    """Windows of each channel, beside their products; see ``Pooled``."""

    rounding: DType
    """Format that products and sums of floats are rounded to."""
    is_last: bool
    is_zero_positive: bool
    size: tuple[int, int, int, int]
    """Rows and columns of results, and numbers of the image between both."""


@dataclass(frozen=True)
class Sums:
    """Sums of products, or the largest numbers, of a plan."""

    how: int
    size: Size
    left: DType
    """Format of the left factors."""
    image: Image
    result: DType
    gathered: list[Part]
    """The parts of operands: tensor, what they belong to, and the part."""
    to: tuple[Part, ...]
    """The parts of the result."""
    starts: list[Pair] = field(default_factory=list)
    """Shape of each start: (rows or 1, columns or 1)."""
    zero: float = 0.0
    """Sums of floats start from this zero otherwise."""
    is_image_first: bool = False
    """Whether the right factor is the first one of each product."""
    group: Group | None = None
    steps: Steps | None = None
    window: Window | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """In the order of ``parsed_product`` in product_plans.h."""
        image, group, window = self.image, self.group or Group(1, False, False), self.window
        image_type = FLOATS_OF_IMAGE if image.dtype.is_float else BYTES.get(image.dtype.name, WORDS)
        left_type = BYTES.get(self.left.name, WORDS)
        of = image.taps, image.places, image.size, image_type, left_type, image.fill is not None, image.fill or 0.0
        form = FLOATS.get(self.result.name, 0)
        rounding = 0 if window is None else FLOATS.get(window.rounding.name, 0)
        rules = group.size, group.nan_wins, group.drops_bits, form, rounding
        windows: tuple[int, ...] = (False, False, 1, 1, 1, 1)
        if window is not None:
            windows = (window.is_last, window.is_zero_positive, *window.size)
        shapes = (*self.starts, *[(1, 1)] * (2 - len(self.starts)))
        end = len(self.starts), _steps(self.steps, self.result), tuple(self.gathered), self.to
        return self.how, self.is_image_first, self.zero, tuple(self.size), of, (*rules, *windows), shapes, *end


def _steps(steps: Steps | None, dtype: DType) -> tuple[int, ...]:
    """Multiplier, amount, zero point, mode, held, rectified, limits and bytes."""
    if steps is None:
        return 1, 0, 0, 0, 0, 0, *UNLIMITED, dtype.itemsize
    if any(not isinstance(part, int) for part in (steps.multiplier, steps.amount, steps.zero)):
        raise Unplanned("numbers of each row")
    if abs(int(steps.amount)) > LARGEST_SHIFT:
        raise Unplanned("a shift beyond 64 bits")
    how = (steps.mode, int(steps.held), int(steps.rectified), *steps.limits, dtype.itemsize)
    return int(steps.multiplier), int(steps.amount), int(steps.zero), *how


def format_of(dtype: DType) -> int:
    """The kernel's number of a format."""
    if dtype.name not in _FORMATS:
        raise Unplanned(f"sums of {dtype}")
    return _FORMATS[dtype.name]


def part(piece: Array, form: int, first: int, steps: tuple[int, ...]) -> Part:
    """Words and where they belong: number ``first``, and others ``steps`` further on along each axis."""
    if piece.ndim > AXES:
        raise Unplanned("more than four axes")
    missing = AXES - piece.ndim
    return (form, piece), (1,) * missing + piece.shape, first, (0,) * missing + steps


def four_axes(tensor: Tensor, source: int, which: int, steps: tuple[int, ...], corner: int = 0) -> Iterator[Part]:
    """The parts of a tensor of four axes: ``steps`` between its numbers, from ``corner`` on."""
    form = format_of(tensor.view.dtype)
    for index, piece in tensor.pieces:
        if piece.shape != tuple(own.stop - own.start for own in index):
            raise Unplanned("a layout of more axes")
        first = corner + sum(own.start * step for own, step in zip(index, steps, strict=True))
        yield source, which, part(piece, form, first, steps)


def constant(number: Array, which: int, count: int = 1) -> Part:
    """One number ``count`` times, float32 or a whole one of 32 bits."""
    form, dtype = (_FORMATS["f32"], np.float32) if number.dtype == np.float32 else (_FORMATS["si32"], np.int32)
    if number.size != 1 or (number.dtype != np.float32 and number != number.astype(np.int32)):
        raise Unplanned("a start of several numbers, or of more than 32 bits")
    words = number.astype(dtype).reshape(1, 1, 1, 1).view(np.uint32)
    return CONSTANT, which, part(np.broadcast_to(words, (1, 1, 1, count)), form, 0, (0, 0, 0, 1))


def number_of(word: Array, dtype: DType) -> float:
    """The number of a stored word, as arithmetic takes it."""
    number = float(dtype.widen(word).reshape(-1)[0])
    is_subnormal = dtype.is_float and 0 < abs(number) < 2.0**-126
    if number != number or (is_subnormal and dtype.name != "f16"):
        raise Unplanned("a word that is no common number")
    return number
