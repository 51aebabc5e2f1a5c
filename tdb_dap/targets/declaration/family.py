"""Declaration of an instruction family: rows of operands and results, and attributes.

A family is a class whose class attributes are rows::

    @family("conv", registers=("sCONV", "CONV"))
    class Convolution:
        input = operand("opd0", shape=("res0_n", "opd0_c", "opd0_h", "opd0_w"), storage="opd0_str")
        result = result_("res0", shape=RESULT_SHAPE)
        attributes = {"kernel": ("opd1_h", "opd1_w")}

Rows are kept in the order of declaration, which is the order of the listing. From the rows follow the operand and
result views, the text, and the arrays that the semantic function is given, each under its role (the attribute's name).

What the vendor debugger prints differently is said in the row (``vendor=...``) and used for its listing only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import cleandoc
from typing import Any, TypeVar

from msgspec import Struct

from tdb_dap.engine.hardware.views import Operand
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.declaration.rows import (
    RESULT_SHAPE,
    Condition,
    Dim,
    Precision,
    Row,
    Shape,
    Storage,
    VendorView,
    constant,
    number,
    operand,
    result_,
)

__all__ = [
    "FAMILIES",
    "RESULT_SHAPE",
    "AttributeValue",
    "Bound",
    "Condition",
    "Dim",
    "Family",
    "Precision",
    "Row",
    "Shape",
    "Storage",
    "VendorView",
    "attributes_by_name",
    "constant",
    "family",
    "flag",
    "message_of",
    "number",
    "operand",
    "result_",
]

Rule = Callable[["Bound"], str]
"""Says what is wrong with a command; empty: nothing."""

AttributeValue = str | tuple[str, ...] | Callable[[Fields], Any]


class Family(Struct, frozen=True, dict=True):
    """A declared family; ``operands`` and ``results`` are (role, row) in order of declaration."""

    name: str
    doc: str
    """The docstring of its declaration."""
    operands: tuple[tuple[str, Row], ...]
    results: tuple[tuple[str, Row], ...]
    attributes: Mapping[str, AttributeValue] | Callable[[Fields], Mapping[str, Any]]
    vendor_attributes: Callable[[Fields], Mapping[str, Any]] | None = None
    vendor_text: str | Callable[[Fields], str] = ""
    """What the vendor's listing prints for all its commands, where it knows no operands."""
    rules: tuple[Rule, ...] = ()
    """What its commands keep beyond the rules of all; see ``legality``."""
    evidence: str = "models"
    """``models`` if compiled models show its commands, ``fields`` if the views are read from the names of the fields
    only.
    """

    @cached_property
    def text(self) -> str:
        """A sentence on its commands, and what there is to know besides."""
        return cleandoc(self.doc)

    @property
    def summary(self) -> str:
        """One sentence on its commands."""
        return self.text.split("\n")[0]

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        """Operands and results by role."""
        return dict((*self.operands, *self.results))

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Roles as sentences name them."""
        return {role: role.replace("_", " ") for role in self.rows}

    @cached_property
    def hidden(self) -> frozenset[str]:
        """Roles that the listing leaves out."""
        return frozenset(role for role, row in self.operands if row.hidden)

    @cached_property
    def unread(self) -> Mapping[str, int]:
        """Bits of the words of operands, by role, that have no effect."""
        return {role: row.unread for role, row in self.operands if row.unread}

    def bind(self, f: Fields, kind: int = -1) -> Bound:
        """Views of all rows in one command. ``kind``: its instruction form, if it has one."""
        operands = {role: bound for role, row in self.operands if (bound := row.bind(f)) is not None}
        results = {role: bound for role, row in self.results if (bound := row.bind(f)) is not None}
        return Bound(self, f, operands, results, kind)

    def attributes_of(self, f: Fields) -> dict[str, Any]:
        if callable(self.attributes):
            return dict(self.attributes(f))
        return attributes_by_name(f, self.attributes)


def attributes_by_name(f: Fields, attributes: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """The values of declared attributes in one command."""
    return {name: _attribute(f, value) for name, value in attributes.items()}


def _attribute(f: Fields, value: AttributeValue) -> Any:
    if callable(value):
        return value(f)
    return getattr(f, value) if isinstance(value, str) else [getattr(f, name) for name in value]


def flag(name: str) -> Callable[[Fields], bool]:
    """An attribute that is a truth value."""
    return lambda f: bool(getattr(f, name))


class Bound(Struct, frozen=True):
    """A family applied to one command: operands and results by role. ``kind``: its instruction form, if it has one."""

    family: Family
    fields: Fields
    operands: dict[str, Operand]
    results: dict[str, Operand]
    kind: int = -1

    @property
    def attributes(self) -> dict[str, Any]:
        return self.family.attributes_of(self.fields)

    @property
    def message(self) -> tuple[int, int] | None:
        """Number and count of the message that a send or wait is about."""
        return message_of(self.fields) if self.family.name == "system" else None

    @property
    def vendor_text(self) -> str:
        """All that the vendor's listing shows of the command; empty if it shows it like others."""
        text = self.family.vendor_text
        return text if isinstance(text, str) else text(self.fields)

    def vendor_attributes(self, decompress: bool) -> dict[str, Any]:
        """Attributes as the vendor's listing shows them; moves print ``decompress`` only on some chips."""
        shown = self.family.vendor_attributes
        attributes = dict(shown(self.fields)) if shown else self.attributes
        if not decompress:
            attributes.pop("decompress", None)
        return attributes

    def shown(self) -> tuple[list[str], list[Operand]]:
        """Roles and operands that belong to the listing."""
        hidden = self.family.hidden
        roles = [role for role in self.operands if role not in hidden]
        return roles, [self.operands[role] for role in roles]

    def vendor_operands(self) -> list[Operand]:
        """Operands as the vendor's listing shows them."""
        return self._vendor(self.family.operands, self.operands)

    def vendor_results(self) -> list[Operand]:
        return self._vendor(self.family.results, self.results)

    def _vendor(self, rows: tuple[tuple[str, Row], ...], bound: dict[str, Operand]) -> list[Operand]:
        shown: list[Operand] = []
        for role, row in rows:
            if role not in bound or row.hidden:
                continue
            view = row.vendor(self.fields, bound[role]) if row.vendor else bound[role]
            shown += view if isinstance(view, tuple) else () if view is None else (view,)
        return shown


def message_of(f: Fields) -> tuple[int, int] | None:
    """(message id, count) of a send or wait; the widths differ between the two generations of chips."""
    bits = f.geometry.message_bits
    if (
        not bits
        or not (f.has("constant_value") or f.has("imm"))
        or f.sub not in ((3, 4) if f.has("constant_value") else (8, 9))
    ):
        return None
    if f.has("constant_value"):
        count_bit = f.geometry.message_count_bit or max(8, bits)
        return f.constant_value & ((1 << bits) - 1), f.constant_value >> count_bit & 0x7F
    count_bits = 3 if bits == 7 else 7
    return f.imm & ((1 << bits) - 1), f.imm >> 16 & ((1 << count_bits) - 1)


def _plain(member: Any) -> Any:
    """A static method of the class body as the function it wraps."""
    return member.__func__ if isinstance(member, staticmethod) else member


C = TypeVar("C", bound=type)

FAMILIES: dict[str, Family] = {}
"""Families by register name."""


def family(name: str, registers: tuple[str, ...], evidence: str = "models") -> Callable[[C], C]:
    """Class decorator: collect the rows of a declaration and make it the family of ``registers``."""

    def declare(cls: C) -> C:
        rows = [(role, row) for role, row in vars(cls).items() if isinstance(row, Row)]
        made = Family(
            name,
            cls.__doc__ or "",
            tuple((role, row) for role, row in rows if not row.is_result),
            tuple((role, row) for role, row in rows if row.is_result),
            _plain(vars(cls).get("attributes", {})),
            _plain(vars(cls).get("vendor_attributes")),
            _plain(vars(cls).get("vendor_text")) or "",
            vars(cls).get("rules", ()),
            evidence,
        )
        for register in registers:
            FAMILIES[register] = made
        return cls

    return declare
