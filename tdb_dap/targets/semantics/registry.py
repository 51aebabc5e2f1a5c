"""Registry of semantic functions by instruction, and their arguments.

A semantic function is pure: it takes the operands of one command by role and returns the stored words (bits) of each
result, broadcastable to the result's shape. It knows neither memory nor addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic.halves import flushed
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.arithmetic.sums import Group
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.rules import Rules


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
            values = {role: value.of(flushed(value.dtype)) for role, value in values.items()}
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
            values[role] = Value(value.bits[(slice(None),) * axis + (here,)], value.dtype, value.is_constant)
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


MOVES: dict[Semantic, bool] = {}
"""Functions whose result is the words of their only tensor, whatever these are; whether in their order."""

COPIES: set[Semantic] = set()
"""Functions whose result is the words of their only tensor, element by element, and which plans take as elements."""


CHOICES: set[Semantic] = set()
"""Functions whose result is words of a tensor that is a table, which the words of another one choose."""


def semantics(family: str, *subs: int) -> Callable[[F], F]:
    """Declare that a function computes the given sub types of a family."""

    def declare(function: F) -> F:
        for sub in subs:
            SEMANTICS[family, sub] = function
        return function

    return declare


class MatrixProduct(Struct, frozen=True):
    """A product of matrices that a command is, without its numbers: starts + left x right, then the steps."""

    left: str
    """The role of the left factors."""
    right: str
    is_left_turned: bool
    """Whether they are stored as columns and rows."""
    is_right_turned: bool
    starts: tuple[str | Array, ...]
    """Sums start from these, in this order: a role, of (1, columns) or (rows, columns), or one number (1, 1).

    A role of four axes, (1, lanes, 1, columns), is a row that all lanes that are used must have; or (1, rows, 1, 1).
    """
    zero: float
    """Sums of float32 start from this zero otherwise."""
    steps: Steps | None
    """After sums of integers; their numbers are one for all."""
    group: Group | None = None
    """Of 16-bit floats."""
    rectifies: bool = False
    """Whether sums of floats that are not positive become zero."""
    adds_last: bool = False
    """Whether starts of float32 are added to the sums, one after the other."""
    is_zero_positive: bool = False
    """Whether a first start of -0 counts as 0, of floats."""


class Convolved(Struct, frozen=True):
    """A convolution that a command is, without its numbers: starts + weights x windows of an image, then the steps."""

    image: str
    """The role of (n, channels, h, w)."""
    weight: str
    """The role of (rows, channels, kernel h, kernel w)."""
    is_rotated: bool
    """Whether the weights are taken rotated by half a turn."""
    fill: Array
    """The stored word around the image and between its elements, (1, 1, 1, 1)."""
    starts: tuple[str | Array, ...]
    """As in ``MatrixProduct``; roles of (1, rows, 1, 1) or of the result's shape."""
    zero: float
    is_image_first: bool
    """Whether the image's number is the first factor of each product, which shows in NaNs."""
    steps: Steps | None
    group: Group | None
    """Of 16-bit floats."""
    rectifies: bool = False
    """Whether sums of floats that are not positive become zero."""
    adds_last: bool = False
    """As in ``MatrixProduct``."""
    table: str | None = None
    """The role of the multipliers, shifts and zero points of channels, (1, rows, 1, 2); else the steps have them."""
    by_parity: bool = False
    """Whether even and odd input channels, those of a tap together, are summed up apart and then added, of float32."""


class Pooled(Struct, frozen=True):
    """Windows of each channel of an image that a command sums up, or takes the largest number of, without numbers."""

    image: str
    """The role of (n, channels, h, w)."""
    weight: str | Array | None
    """The role of (1, channels, kernel h, kernel w), or one number for all, (1, 1, 1, 1); None: the largest number."""
    is_rotated: bool
    """Whether the weights are taken rotated by half a turn."""
    fill: Array
    """The stored word around the image and between its elements, (1, 1, 1, 1)."""
    start: str | Array | None
    """Sums start from it: a role of (1, channels, 1, 1), or one number (1, 1). The largest number is at least that."""
    is_zero_positive: bool
    """Whether a start of -0 counts as 0."""
    zero: float
    """Sums of floats start from this zero otherwise."""
    is_last: bool
    """Whether the last one of equal numbers is the largest."""
    steps: Steps | None
    """After sums of integers; their numbers are one for all."""
    adds_last: bool = False
    """As in ``MatrixProduct``."""
    table: str | None = None
    """As in ``Convolved``."""
    by_parity: bool = False
    """Whether even and odd taps are two chains, see ``rules.Extremum``, of the largest number."""


Described = MatrixProduct | Convolved | Pooled

PRODUCTS: dict[Semantic, Callable[[Operation], Described]] = {}
"""Functions that sum up products, and which ones where that follows from the form of the command."""


def multiplies(describe: Callable[[Operation], Described]) -> Callable[[F], F]:
    """Declare that a function sums up products; ``describe`` raises Unplanned where it depends on numbers."""

    def declare(function: F) -> F:
        PRODUCTS[function] = describe
        return function

    return declare


COMPUTES: dict[Semantic, Callable[[Fields], bool]] = {}
"""Which commands of a function that moves words compute others; it raises NotSimulated where none of both is known."""


UNPACKS: dict[Semantic, Callable[[Array, int, int], tuple[Array, int]]] = {}
"""Functions that move the numbers of compressed data.

Of the data, how many numbers, and bytes of each: their stored words, and of how many bytes of the data they are made.
"""


def unpacks(words: Callable[[Array, int, int], tuple[Array, int]]) -> Callable[[F], F]:
    """Declare that a function moves, in order, the numbers that are unpacked from an operand of the layout STREAM."""

    def declare(function: F) -> F:
        UNPACKS[function] = words
        return function

    return declare


def chooses(function: F) -> F:
    """Declare that a function is one of ``CHOICES``."""
    CHOICES.add(function)
    return function


def copies(function: F) -> F:
    """Declare that a function is one of ``COPIES``."""
    COPIES.add(function)
    return function


def is_move(function: Semantic, fields: Fields) -> bool:
    """Whether a command of a function moves words, or repeats them, and looks at none of them."""
    computes = COMPUTES.get(function)
    return function in COPIES or (function in MOVES and not (computes is not None and computes(fields)))


def moves(in_order: bool, unless: Callable[[Fields], bool] | None = None) -> Callable[[F], F]:
    """Declare that a function moves the words of its only tensor, or repeats them, and looks at none of them.

    ``in_order``: as if both shapes were one row; ``unless``: see ``COMPUTES``.
    """

    def declare(function: F) -> F:
        MOVES[function] = in_order
        if unless is not None:
            COMPUTES[function] = unless
        return function

    return declare
