"""Registry of semantic functions by instruction, and their arguments.

A semantic function is pure: it takes the operands of one command by role and returns the stored words (bits) of each
result, broadcastable to the result's shape. It knows neither memory nor addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.kernel.elements import Stored
from tdb_dap.targets.semantics.numerics.halves import flushed
from tdb_dap.targets.semantics.rules import Rules


@dataclass(eq=False)
class Value:
    """One operand: stored words and their format. A constant has shape (1, 1, 1, 1)."""

    bits: Array
    dtype: DType
    is_constant: bool = False

    @property
    def stored(self) -> Stored:
        """The same for the kernel."""
        return Stored(self.bits, self.dtype)

    @cached_property
    def numbers(self) -> Array:
        """Decoded numbers; 16-bit floats widened to float32."""
        return self.dtype.widen(self.bits)


class Operation:
    """One command as a semantic function sees it: operands by role, the result formats, fields and chip rules."""

    __slots__ = ("_values", "fields", "result_dtypes", "result_shapes", "rules")

    def __init__(
        self,
        values: dict[str, Value],
        result_dtypes: dict[str, DType],
        result_shapes: dict[str, tuple[int, ...]],
        fields: Fields,
        rules: Rules,
    ) -> None:
        if rules.flushes_halves:
            values = {role: replace(value, dtype=flushed(value.dtype)) for role, value in values.items()}
            result_dtypes = {role: flushed(dtype) for role, dtype in result_dtypes.items()}
        self._values = values
        self.result_dtypes = result_dtypes
        self.result_shapes = result_shapes
        self.fields = fields
        self.rules = rules

    def __getitem__(self, role: str) -> Value:
        return self._values[role]

    def __contains__(self, role: str) -> bool:
        return role in self._values

    def get(self, role: str) -> Value | None:
        return self._values.get(role)

    def require_integers(self, *roles: str) -> None:
        """NotSimulated where the result or one of these operands has a format of floats: the chip leaves it undefined.

        The vendor's simulator then gives what its own memory happens to hold.
        """
        for dtype in (self.dtype, *(self[role].dtype for role in roles)):
            if dtype.is_float:
                raise NotSimulated(f"an operation on the bits of integers with {dtype} numbers: undefined on the chip")

    def part(self, axis: int, piece: slice) -> Operation | None:
        """A piece of all operands and of the result; None where these are not of one shape but for extents of 1."""
        shape = self.shape
        values: dict[str, Value] = {}
        for role, value in self._values.items():
            if value.bits.ndim != len(shape) or value.bits.shape[axis] not in (1, shape[axis]):
                return None
            here = piece if value.bits.shape[axis] > 1 else slice(None)
            values[role] = replace(value, bits=value.bits[(slice(None),) * axis + (here,)])
        extent = len(range(*piece.indices(shape[axis])))
        shapes = dict.fromkeys(self.result_shapes, (*shape[:axis], extent, *shape[axis + 1 :]))
        return Operation(values, self.result_dtypes, shapes, self.fields, self.rules)

    @property
    def dtype(self) -> DType:
        """Format of the first result."""
        return next(iter(self.result_dtypes.values()))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return next(iter(self.result_shapes.values()))


Semantic = Callable[[Operation], "Array | tuple[Array, ...]"]
F = TypeVar("F", bound=Semantic)

SEMANTICS: dict[tuple[str, int], Semantic] = {}
"""Semantic functions by family name and sub type."""


def semantics(family: str, *subs: int) -> Callable[[F], F]:
    """Declare that a function computes the given sub types of a family."""

    def declare(function: F) -> F:
        for sub in subs:
            SEMANTICS[family, sub] = function
        return function

    return declare
