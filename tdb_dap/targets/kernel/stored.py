"""Operands of the functions over elements as they are stored, and results that are planned instead of computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import DType

Array = NDArray[Any]

FLOATS = {"f32": 0, "f16": 1, "bf16": 2}
WHOLE = {"si8": 3, "ui8": 4, "i8": 4, "si16": 5, "ui16": 6, "i16": 6, "si32": 7, "ui32": 8, "i32": 8}
INT64 = 9
"""Formats of the kernel, by their names here; those of words that are only moved, by their bytes:"""
OF_SIZE = {1: WHOLE["i8"], 2: WHOLE["i16"], 4: WHOLE["i32"], 8: INT64}

AXES = 4
"""Axes that the kernel takes at most."""

CONSTANT = -1
"""Source of an operand that is no tensor of a plan: it holds the same words in every command of the plan."""


class Stored(NamedTuple):
    """An operand: stored words and their format."""

    bits: Array
    dtype: DType
    source: int = CONSTANT
    """The tensor of a plan that it is; its words are not to be looked at then, only where they lie."""

    def part(self, dtype: DType, first: int) -> Stored:
        """Bytes of each word from ``first`` on, as numbers of ``dtype``."""
        form = {"names": ["part"], "formats": [dtype.bits_dtype], "offsets": [first], "itemsize": self.bits.itemsize}
        return Stored(self.bits.view(np.dtype(form))["part"], dtype, self.source)  # type: ignore[call-overload]


@dataclass(frozen=True, eq=False)
class Planned:
    """One function over elements that a plan calls: it stands for the words that the function would give."""

    function: str
    grid: tuple[Any, ...]
    """Shape, and format and array of each operand."""
    how: tuple[Any, ...]
    """Further arguments."""
    sources: tuple[int, ...]
    """Tensor of each operand, or CONSTANT."""
    shape: tuple[int, ...]
    itemsize: int

    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """There are no words yet that NumPy could do anything with."""
        raise TypeError("planned words have no values")
