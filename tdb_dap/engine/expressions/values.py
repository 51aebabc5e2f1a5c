"""Numbers for people: a tensor with the place it comes from, its statistics and its text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.rendering import html
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.errors import BadExpression

SMALL = 8
"""Tensors of at most this many elements are shown whole."""


NOT_COMPUTED = "(not yet computed)"

OVERWRITTEN = "overwritten by"
"""What stands before the command that has written over a tensor."""

FIRST = 3
"""Numbers of a larger one that a row begins with."""

PASSED, FAILED = "✓", "✗"
"""Marks of a tensor that was compared with the reference."""

STANDS_FOR = "→"
"""Between a stored number and the real one that it stands for."""


class Statistics(Struct, frozen=True):
    """Summary of a tensor; ``minimum``, ``maximum`` and ``mean`` leave NaN and infinity out (None if all are)."""

    minimum: float | int | None
    maximum: float | int | None
    mean: float | None
    nan: int = 0
    inf: int = 0

    @classmethod
    def of(cls, array: Array) -> Statistics:
        """Statistics of a non-empty array of any shape."""
        lowest, highest = array.min(), array.max()
        if array.dtype.kind != "f" or (np.isfinite(lowest) and np.isfinite(highest)):
            return cls(lowest.item(), highest.item(), float(array.mean(dtype=np.float64)))
        nan = int(np.isnan(array).sum())
        inf = int(np.isinf(array).sum())
        finite = array[np.isfinite(array)]
        if finite.size == 0:
            return cls(None, None, None, nan, inf)
        return cls(finite.min().item(), finite.max().item(), float(finite.mean(dtype=np.float64)), nan, inf)

    @property
    def text(self) -> str:
        """``min -3.1 max 4 mean 0.12 NaN 2``; NaN and Inf only where there are any."""
        return self.shown(None)

    def brief(self, named: MappedTensor | None) -> str:
        """``NaN 2 min 0 max 253``: what is alarming first, each number short."""
        extremes = (("min", self.minimum, 4), ("max", self.maximum, 4))
        return " ".join([*self._counts(), *_titled(extremes, named, brief_number)])

    def shown(self, named: MappedTensor | None) -> str:
        """The text, with what stored numbers stand for next to them: ``min -128 → -3.4 max 127 → 3.37``."""
        numbers = (("min", self.minimum, 5), ("max", self.maximum, 5), ("mean", self.mean, 4))
        return " ".join([*_titled(numbers, named, lambda number, digits: f"{number:.{digits}g}"), *self._counts()])

    def _counts(self) -> list[str]:
        return [f"{title} {count}" for title, count in (("NaN", self.nan), ("Inf", self.inf)) if count]


def _titled(
    numbers: Sequence[tuple[str, float | None, int]],
    named: MappedTensor | None,
    text: Callable[[float, int], str],
) -> list[str]:
    """Each number that there is after its title, with what it stands for, in as many digits as are next to it."""
    return [
        f"{title} {text(number, digits)}{_meant(number, named, digits)}"
        for title, number, digits in numbers
        if number is not None
    ]


def number_text(number: Any) -> str:
    """Shortest text that reads back as the same number of the same width."""
    return str(number) if isinstance(number, (np.generic, int)) else repr(number)


def array_text(array: Array) -> str:
    """``[1.0, 2.5]`` for a small array, nested like its shape."""
    if array.ndim == 0:
        return number_text(array[()])
    return "[" + ", ".join(array_text(part) for part in array) + "]"


def quantised(named: MappedTensor | None) -> MappedTensor | None:
    """The record of a tensor whose stored numbers stand for others; None for one that they stand for themselves."""
    return None if named is None or (named.scale == 1 and named.zero_point == 0) else named


def real_numbers(stored: Array, named: MappedTensor) -> Array:
    """(stored - zero point) * scale, float32."""
    return ((stored.astype(np.float32) - named.zero_point) * np.float32(named.scale)).astype(np.float32)


def _meant(number: Any, named: MappedTensor | None, digits: int = 6) -> str:
    if quantised(named) is None or named is None:
        return ""
    return f" {STANDS_FOR} {(float(number) - named.zero_point) * named.scale:.{digits}g}"


def shown_number(number: Any, named: MappedTensor | None) -> str:
    """A stored number, and what it stands for where that is another: ``200 → 6.08``."""
    return number_text(number) + _meant(number, named)


def shown_numbers(numbers: Sequence[Any], named: MappedTensor | None) -> list[str]:
    """``shown_number`` of each; there may be thousands."""
    if quantised(named) is None:
        return [number_text(number) for number in numbers]
    return [shown_number(number, named) for number in numbers]


def shown_array(array: Array, named: MappedTensor | None) -> str:
    """A small array of stored numbers, and what they stand for: ``[200, 0] → [6.08, 0.0]``."""
    if quantised(named) is None or named is None:
        return array_text(array)
    return f"{array_text(array)} {STANDS_FOR} [{', '.join(f'{x:.6g}' for x in real_numbers(array, named).reshape(-1))}]"


def brief_number(number: Any, digits: int = 4) -> str:
    """Most significant digits of a number with a fraction."""
    return f"{number:.{digits}g}" if isinstance(number, (float, np.floating)) else str(number)


def shape_text(shape: tuple[int, ...]) -> str:
    """``1×24×7×8``."""
    return "×".join(map(str, shape))


def _listed(numbers: Array) -> str:
    return f"[{' '.join(brief_number(number, 6) for number in numbers)}]"


def numbers_row(array: Array, named: MappedTensor | None, statistics: Statistics | None = None) -> str:
    """``[200 12 0 …]  min 0 max 253``; all numbers of a small array, and what they stand for where that is another."""
    brief = brief_text(array, named, statistics)
    if array.size <= SMALL:
        return brief
    return f"[{' '.join(map(brief_number, array.reshape(-1)[:FIRST]))} …]  {brief}"


def brief_text(array: Array, named: MappedTensor | None, statistics: Statistics | None = None) -> str:
    """``min 0 max 253``: the row of numbers without the first ones of a larger array."""
    if not array.size:
        return "empty"
    if array.size > SMALL:
        return (statistics or Statistics.of(array)).brief(named)
    numbers = array.reshape(-1)
    if quantised(named) is None or named is None:
        return _listed(numbers)
    return f"{_listed(numbers)} {STANDS_FOR} {_listed(real_numbers(numbers, named))}"


def bits_text(array: Array, dtype: DType | None) -> str:
    """The words that numbers are stored as, in hexadecimal, nested like the shape; ``dtype``: None for NumPy's own."""
    if array.ndim:
        return "[" + ", ".join(bits_text(part, dtype) for part in array) + "]"
    if dtype is None and array.dtype.kind not in "fiu":
        return number_text(array[()])
    digits = (dtype.bits if dtype is not None else 8 * array.dtype.itemsize) // 4
    return f"0x{int(words_of(np.reshape(array, (1,)), dtype)[0]):0{digits}x}"


def words_of(numbers: Array, dtype: DType | None) -> Array:
    """The words that numbers are stored as, unsigned; ``dtype``: None for NumPy's own."""
    if dtype is not None:
        return dtype.bits_of(numbers)
    return np.ascontiguousarray(numbers).view(f"u{numbers.dtype.itemsize}")


class Value(Struct, frozen=True, eq=False, dict=True):
    """Something with a number or tensor in it.

    ``title``: how the user knows it (``%16 relu4_Relu``); ``load``: reads the stored numbers, narrow floats widened;
    ``view``: where it is; ``named``: the compiler's record of it, which holds scale and zero point; ``pending``: what
    computes it has not been executed, so the numbers are what happens to be there; ``overwriter``: says who has
    written over it since it was computed, empty if none has. ``is_real``: the numbers are what stored ones stand for,
    as a reference has them.
    """

    title: str
    load: Callable[[], Array]
    view: View | Constant | None = None
    named: MappedTensor | None = None
    pending: bool = False
    is_real: bool = False
    overwriter: Callable[[], str] = str

    @cached_property
    def absence(self) -> str:
        """Why memory does not hold the tensor now, in brackets; empty if it does."""
        if self.pending:
            return NOT_COMPUTED
        who = self.overwriter()
        return f"({OVERWRITTEN} {who})" if who else ""

    @property
    def is_overwritten(self) -> bool:
        """Whether another tensor is where this one was computed."""
        return not self.pending and bool(self.absence)

    @property
    def is_quantised(self) -> bool:
        """Whether the numbers stand for others: (stored - zero point) * scale."""
        return not self.is_real and quantised(self.named) is not None

    @cached_property
    def array(self) -> Array:
        """The stored numbers; BadExpression if another tensor is there now.

        Of what is not yet computed it is what is there before: who shows it has to say so.
        """
        if self.is_overwritten:
            raise BadExpression(f"{self.title}: {self.absence[1:-1]}")
        return self.in_memory

    @property
    def computed(self) -> Array:
        """The stored numbers; BadExpression also if the tensor is not yet computed."""
        if self.pending:
            raise BadExpression(f"{self.title} is not yet computed")
        return self.array

    @cached_property
    def in_memory(self) -> Array:
        """The stored numbers that are where the tensor belongs, whoever has written them."""
        return np.asarray(self.load())

    @cached_property
    def statistics(self) -> Statistics | None:
        """None for an empty tensor."""
        return Statistics.of(self.array) if self.array.size else None

    def forget(self) -> None:
        """Drop the numbers that were read."""
        for name in ("array", "in_memory", "statistics", "absence"):
            self.__dict__.pop(name, None)

    @property
    def real(self) -> Array:
        """(stored - zero point) * scale where the type is quantised; else the stored numbers."""
        named = quantised(self.named)
        return self.array if named is None or self.is_real else real_numbers(self.array, named)

    @property
    def shape(self) -> tuple[int, ...]:
        """Known without reading where the value is in memory."""
        return self.view.shape if isinstance(self.view, View) else self.array.shape

    @property
    def dtype_name(self) -> str:
        """Number format: f32, bf16, si8."""
        if self.view is not None:
            return self.view.dtype.name
        kind = {"f": "f", "i": "si", "u": "ui", "b": "bool"}.get(self.array.dtype.kind, self.array.dtype.name)
        return kind if kind == "bool" else f"{kind}{8 * self.array.dtype.itemsize}"

    def __repr__(self) -> str:
        return f"{self.title} = {self.text()}"

    def _repr_html_(self) -> str:
        return value_html(self)

    def text(self) -> str:
        """``f32[1,16,30,30] min -3.1 max 4 mean 0.12``; small ones with their numbers, scalars just the number."""
        named = self.named if self.is_quantised else None
        if self.absence and self.shape:
            return f"{self.dtype_name}[{','.join(map(str, self.shape))}] {self.absence}"
        if self.absence:
            return self.absence
        if not self.shape:
            return shown_number(self.array[()], named)
        head = f"{self.dtype_name}[{','.join(map(str, self.shape))}]"
        if self.array.size <= SMALL:
            return f"{head} {shown_array(self.array.reshape(-1), named)}"
        return f"{head} {self.statistics.shown(named)}" if self.statistics else head

    def row(self, mark: str = "", label: str = "") -> str:
        """``ui8 1×24×7×8  ✓  [200 12 0 …]  min 0 max 253``: a line that fits into a narrow pane.

        ``mark``: what a comparison says; ``label``: stands before the numbers. There are none of what is not there now:
        others are there.
        """
        named = self.named if self.is_quantised else None
        if not self.shape:
            return "  ".join(filter(None, (mark, label, self.text())))
        numbers = self.absence or numbers_row(self.array, named, self.statistics)
        return "  ".join(filter(None, (f"{self.dtype_name} {shape_text(self.shape)}", mark, label, numbers)))

    def hex_text(self) -> str:
        """As ``text``, with the stored bits instead of numbers; of a large tensor those of the first elements."""
        dtype = self.view.dtype if self.view is not None else None
        if self.absence:
            return self.text()
        if not self.shape:
            return bits_text(self.array, dtype)
        first = self.array.reshape(-1)[:SMALL]
        more = ", ..." if self.array.size > SMALL else ""
        head = f"{self.dtype_name}[{','.join(map(str, self.shape))}]"
        return f"{head} {bits_text(first, dtype)[:-1]}{more}]"


_MOST = 8
"""Rows and columns of numbers that are shown."""


def value_html(value: Value) -> str:
    """Title, type and place, statistics, and a corner of the numbers."""
    parts = [html.title(f"{value.title} = {value.text()}")]
    where = value.view.name if value.view is not None and hasattr(value.view, "space") else None
    named = value.named
    scaled = f"scale {named.scale:g}, zero point {named.zero_point}" if named is not None and named.scale != 1 else None
    parts.append(html.fields({"address": f"%{where}" if where else None, "quantised": scaled}))
    if not value.absence and value.array.size:
        parts.append(_corner(value.array))
    return html.block(*parts)


def _corner(array: Array) -> str:
    """The first rows and columns of the last two axes, at the start of all others."""
    plane = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    rows = array.shape[-2] if array.ndim > 1 else 1
    shown = plane[: min(rows, _MOST), :_MOST]
    reach = float(np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0.0))
    body = [html.element("tr", [_number(number, reach) for number in row]) for row in shown]
    index = ", ".join(["0"] * max(0, array.ndim - 2) + ["..."] * min(2, array.ndim))
    note = "" if shown.size == array.size else f"[{index}]: {shown.size:,} of {array.size:,} elements"
    return html.block(html.element("table", body, {"border-collapse": "collapse"}), html.element("p", note))


def _number(number: np.generic, reach: float) -> str:
    plain = float(number)
    strength = abs(plain) / reach if reach and math.isfinite(plain) else 0.0
    colour = "255, 80, 60" if plain > 0 else "60, 120, 255"
    style = {
        "padding": "1px 6px",
        "text-align": "right",
        "font-family": "monospace",
        "background": f"rgba({colour}, {0.6 * strength:.2f})" if math.isfinite(plain) else "#d0f",
    }
    return html.element("td", html.text_of(number.item() if hasattr(number, "item") else number), style)
