"""Operands as they are stored, and their formats in the kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.targets.arithmetic.halves import FLUSHED_F16
from tdb_dap.targets.kernel.constants import Format

Array = NDArray[Any]

FLOATS = {"f32": Format.F32, "f16": Format.F16, "bf16": Format.BF16}
INTEGERS = {
    "si8": Format.SI8,
    "ui8": Format.UI8,
    "i8": Format.UI8,
    "si16": Format.SI16,
    "ui16": Format.UI16,
    "i16": Format.UI16,
    "si32": Format.SI32,
    "ui32": Format.UI32,
    "i32": Format.UI32,
}
"""Formats of the kernel, by their names here; those of words that are only moved, by their bytes:"""
OF_SIZE = {1: Format.UI8, 2: Format.UI16, 4: Format.UI32, 8: Format.SI64}


def calculated_format(dtype: DType) -> Format | None:
    """The format that floats are calculated in; None: the kernel has none."""
    return Format.FLUSHED_F16 if dtype is FLUSHED_F16 else FLOATS.get(dtype.name)


AXES = 4
"""Axes that the kernel takes at most."""

CONSTANT = -1
"""Source of an operand that is no tensor of a plan: it holds the same words in every command of the plan."""


class Stored(NamedTuple):
    """An operand: stored words and their format."""

    bits: Array
    dtype: DType
    source: int = CONSTANT
    """The tensor of a plan that it is; its words are not to be looked at then, only where they are."""

    def part(self, dtype: DType, first: int) -> Stored:
        """Bytes of each word from ``first`` on, as numbers of ``dtype``."""
        form = {"names": ["part"], "formats": [dtype.bits_dtype], "offsets": [first], "itemsize": self.bits.itemsize}
        return Stored(self.bits.view(np.dtype(form))["part"], dtype, self.source)  # type: ignore[call-overload]


def aligned(words: Array) -> Array:
    """The words at addresses, and in steps, that are multiples of their size: a copy where they are not."""
    is_aligned = words.flags.aligned and not any(stride % words.itemsize for stride in words.strides)
    return words if is_aligned else words.copy()


class Unplanned(Exception):
    """A command needs more than its form and its addresses say: it has no plan."""


class Value:
    """One operand: stored words and their format. A constant has shape (1, 1, 1, 1)."""

    def __init__(self, bits: Array, dtype: DType, is_constant: bool = False) -> None:
        self._bits = bits
        self.dtype = dtype
        self.is_constant = is_constant

    @property
    def bits(self) -> Array:
        """Stored words."""
        return self._bits

    @property
    def shape(self) -> tuple[int, ...]:
        """Their shape; to be asked for where the words themselves do not matter."""
        return self._bits.shape

    @property
    def stored(self) -> Stored:
        """The same for the kernel."""
        return Stored(self._bits, self.dtype)

    @cached_property
    def numbers(self) -> Array:
        """Decoded numbers; 16-bit floats widened to float32."""
        return self.dtype.widen(self.bits)

    def of(self, dtype: DType) -> Value:
        """The same words in another format of their size."""
        return Value(self._bits, dtype, self.is_constant)


class Place(Value):
    """An operand of a plan: it is known where its words are, and not what they are.

    ``source``: its number among the tensors of the plan.
    """

    def __init__(self, where: Array, dtype: DType, source: int) -> None:
        super().__init__(where, dtype)
        self._source = source

    @property
    def bits(self) -> Array:
        """No plan can be made of a function that looks at them."""
        raise Unplanned("words that are not known yet")

    @property
    def stored(self) -> Stored:
        return Stored(self._bits, self.dtype, self._source)

    def of(self, dtype: DType) -> Place:
        return Place(self._bits, dtype, self._source)
