"""One operand or result of an instruction family: from the fields of a command to a view of memory or a constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.strides import contiguous, in_words
from tdb_dap.engine.hardware.views import Constant, Layout, Operand, View, strides_of
from tdb_dap.errors import Undefined
from tdb_dap.targets.declaration.fields import Fields

Dim = int | str | Callable[[Fields], int]
Condition = Callable[[Fields], Any]
Shape = tuple[Dim, ...] | Callable[[Fields], tuple[int, ...]]
Storage = str | Layout | Callable[[Fields], Layout]
Precision = str | DType | Callable[[Fields], DType]
VendorView = Callable[[Fields, Operand], Operand | tuple[Operand, ...] | None]

RESULT_SHAPE = ("res0_n", "res0_c", "res0_h", "res0_w")

# Storage codes of the *_str fields.
_STORAGE = {0: Layout.ALIGN_EU, 1: Layout.COMPACT, 2: Layout.PER_CHANNEL, 3: Layout.STRIDE}


def number(f: Fields, value: Dim) -> int:
    """A dimension: a number, a field, or a formula over fields."""
    if isinstance(value, int):
        return value
    return getattr(f, value) if isinstance(value, str) else value(f)


class AddressParts(NamedTuple):
    """An address that is made of bits of several fields."""

    fields: tuple[tuple[str, int, int], ...]
    """Field, the bits of it that count, and how far they are shifted to the left."""
    space: Space | None
    """The address is an offset in this memory; None: it is a device address."""


class Row(Struct, frozen=True, dict=True):
    """One operand or result."""

    prefix: str
    """Start of its field names (``opd0`` for ``opd0_addr``, ``opd0_prec``, ...)."""
    shape: Shape
    storage: Storage = Layout.ALIGN_EU
    dtype: Precision = ""
    sign: str | Condition | int = ""
    when: Condition | None = None
    """Present only if true."""
    constant: str | Condition | bool = True
    """May be a number in the address field (decided by ``{prefix}_const``)."""
    address: Callable[[Fields], int | str] | str = ""
    """The field that holds its address, default: ``{prefix}_addr``; or which field, or what address, in a command."""
    first: Dim = 0
    """Bytes from there to its first element."""
    number: Callable[[Fields], int] | None = None
    """The word of a constant; default: what the field of the address holds."""
    side: str = ""
    """Name of a device address of two fields (``src`` or ``dst``), instead of a field."""
    local_only: bool = False
    """Compilers put it into local memory, and what the chip does with another address is not known."""
    in_static: Condition | None = None
    """Whether the address is an offset in static memory."""
    from_static: Condition | None = None
    """Whether it has to be in static memory, wherever its address says that it is."""
    alignment: Condition | None = None
    """Bytes that its address is a multiple of, where that is more than its numbers have."""
    register: int | None = None
    """The configuration register that holds its address."""
    in_l2: bool = False
    """The address is an offset in L2."""
    strides: Callable[[Fields], tuple[int, ...] | None] | None = None
    width: Dim = 0
    is_result: bool = False
    hidden: bool = False
    """Part of the computation but not of the listing (the old value of an accumulating result)."""
    vendor: VendorView | None = None
    """What the vendor's listing shows instead; None there leaves it out."""
    unread: int = 0
    """Bits of each of its words that have no effect."""
    space: Callable[[Fields], tuple[Space, int]] | None = None
    parts: Callable[[Fields], AddressParts] | None = None
    """The fields that its address is made of, if these are several, or only some bits of one."""
    lane_mask: Callable[[Fields], int | None] | None = None

    def bind(self, f: Fields) -> Operand | None:
        """The view or constant in one command, or None if the row does not apply."""
        return self.bind_at(f, None)

    def bind_at(self, f: Fields, place: tuple[Space, int] | None) -> Operand | None:
        """As ``bind``, a view at this place (space and offset), whatever the command says."""
        if self.when is not None and not self.when(f):
            return None
        dtype = self._dtype(f)
        if self._is_constant(f):
            return constant(self.number(f) if self.number is not None else self._raw(f), dtype)
        space, offset = self._place(f) if place is None else place
        shape = self.shape(f) if callable(self.shape) else tuple([number(f, d) for d in self.shape])
        layout = self._layout(f)
        strides = self._strides(f, space, offset, shape, layout, dtype)
        mask = self.lane_mask(f) if self.lane_mask and space is Space.LOCAL else None
        width = self.width if self.width == 0 else number(f, self.width)
        return View(space, offset, shape, dtype, layout, strides, f.geometry, width, mask, f.core)

    def is_elsewhere(self, f: Fields) -> bool:
        """Whether the TIU may find it outside of local memory."""
        conditions = [each for each in (self.in_static, self.from_static) if each is not None]
        return self.in_l2 or self.space is not None or any(is_so(f) for is_so in conditions)

    def address_field(self, f: Fields) -> str | None:
        """The field that alone says where it is in a command, if there is such a one."""
        if self.side or self.space is not None or self.parts is not None:
            return None
        address = self._address(f)
        return address if isinstance(address, str) else None

    def _address(self, f: Fields) -> int | str:
        """The address, or the field that holds it."""
        return (self.address or self._names.address) if isinstance(self.address, str) else self.address(f)

    def _raw(self, f: Fields) -> int:
        if self.register is not None:
            return f.register(self.register)
        address = self._address(f)
        number: int = getattr(f, address) if isinstance(address, str) else address
        return number

    def _place(self, f: Fields) -> tuple[Space, int]:
        if self.side:
            return f.located(self.side)
        first = number(f, self.first)
        if self.space is not None:
            return self.space(f)
        if self.parts is not None:
            parts = self.parts(f)
            raw = sum((f.number(name) & mask) << shift for name, mask, shift in parts.fields)
            return f.geometry.locate_move(raw) if parts.space is None else (parts.space, raw + first)
        if self.in_static is not None and self.in_static(f):
            return Space.STATIC, self._raw(f) + first
        if self.in_l2:
            return Space.L2, self._raw(f) + first
        return f.located_tiu(self._raw(f) + first)

    @cached_property
    def _names(self) -> _Names:
        return _Names(self.prefix)

    def _is_constant(self, f: Fields) -> bool:
        if self.is_result or self.constant is False:
            return False
        if self.constant is True:
            return bool(getattr(f, self._names.constant))
        return bool(getattr(f, self.constant) if isinstance(self.constant, str) else self.constant(f))

    def _dtype(self, f: Fields) -> DType:
        if isinstance(self.dtype, DType):
            return self.dtype
        if callable(self.dtype):
            return self.dtype(f)
        field = self.dtype or self._names.precision
        code = getattr(f, field)
        sign = self.sign
        if isinstance(sign, int) and f.sign_tells(code):
            sign = field.replace("_prec", "_sign")
        if not isinstance(sign, int):
            sign = sign(f) if callable(sign) else getattr(f, sign or self._names.sign)
        return f.tiu_dtype(code, sign)

    def _layout(self, f: Fields) -> Layout:
        if isinstance(self.storage, Layout):
            return self.storage
        if callable(self.storage):
            return self.storage(f)
        code = getattr(f, self.storage)
        if code not in _STORAGE:
            raise Undefined(f"operand storage code {code} is not defined")
        return _STORAGE[code]

    def _strides(
        self, f: Fields, space: Space, offset: int, shape: tuple[int, ...], layout: Layout, dtype: DType
    ) -> tuple[int, ...] | None:
        if self.strides is not None and (given := self.strides(f)) is not None:
            return given
        if layout is Layout.STRIDE:
            return f.four(self.prefix, "_str")
        if layout is Layout.STRIDE_XN:
            return in_words(f.four(self.prefix, "_str"), dtype)
        if layout in (Layout.ALIGN_IC, Layout.MATRIX, Layout.MATRIX2):
            return None
        if space is not Space.LOCAL or len(shape) != 4:
            return contiguous(shape)
        n, c, h, w = shape
        return strides_of(f.geometry, layout, offset, (n, c, h, w), dtype)


class _Names:
    """Names of the fields of an operand."""

    def __init__(self, prefix: str) -> None:
        self.address = f"{prefix}_addr"
        self.constant = f"{prefix}_const"
        self.precision = f"{prefix}_prec"
        self.sign = f"{prefix}_sign"


@lru_cache(maxsize=4096)
def constant(raw: int, dtype: DType) -> Constant:
    """A number held in an address field: its low ``itemsize`` bytes; the bits above are not defined."""
    word = np.array([raw & ((1 << (8 * dtype.itemsize)) - 1)], dtype.bits_dtype)
    value = dtype.decode(word)[0].item()
    return Constant(raw, value, dtype)


def operand(prefix: str, shape: Shape, storage: Storage = Layout.ALIGN_EU, **details: Any) -> Row:
    """An operand row."""
    return Row(prefix, shape, storage, **details)


def result_(
    prefix: str = "res0", shape: Shape = RESULT_SHAPE, storage: Storage = Layout.ALIGN_EU, **details: Any
) -> Row:
    """A result row; it is never a constant."""
    return Row(prefix, shape, storage, is_result=True, **details)
