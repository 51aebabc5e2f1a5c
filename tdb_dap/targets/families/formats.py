"""Rules on the number formats of one command, by the codes of its fields. Source: see ``declaration.legality``."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tdb_dap.targets.declaration.family import Bound, Rule
from tdb_dap.targets.declaration.fields import FLOAT8, Fields

FLOATS = frozenset({1, 2, 5, FLOAT8})
INT4 = 6
WORDS = frozenset({0, 3, 4})
"""Integers of whole bytes."""
_NAMES = {0: "8-bit integers", 1: "f16", 2: "f32", 3: "16-bit integers", 4: "32-bit integers", 5: "bf16"}
_NAMES |= {6: "4-bit integers", FLOAT8: "8-bit floats"}


def named(code: int) -> str:
    """A number format by its code, in words."""
    return _NAMES.get(code, f"format {code}")


def same(*fields: str, sub: Collection[int] = ()) -> Rule:
    """The fields hold one code; ``sub``: in these operations only."""

    def rule(bound: Bound) -> str:
        f = bound.fields
        if sub and f.sub not in sub:
            return ""
        codes = [f.number(name) for name in fields]
        return "" if len(set(codes)) == 1 else f"it mixes {' with '.join(named(code) for code in dict.fromkeys(codes))}"

    return rule


def among(field: str, allowed: Collection[int] | Callable[[Fields], Collection[int]], what: str) -> Rule:
    """The code of a field is one of those; ``what``: of what it is the format."""

    def rule(bound: Bound) -> str:
        code = bound.fields.number(field)
        codes = allowed(bound.fields) if callable(allowed) else allowed
        return "" if code in codes else f"its {what} cannot be {named(code)}"

    return rule


def of_one_format(bound: Bound) -> str:
    """Both factors of a product have one format, where a command names both."""
    f = bound.fields
    is_mixed = f.has("opd1_prec") and f.opd1_prec != f.opd0_prec
    return f"it mixes {named(f.opd0_prec)} with {named(f.opd1_prec)}" if is_mixed else ""


def takes_f16(bound: Bound) -> str:
    """Not every chip computes windows of f16."""
    is_lacking = bound.fields.opd0_prec == 1 and not bound.fields.conventions.computes_f16
    return f"it takes no {named(1)}" if is_lacking else ""


def moved_as_they_are(f: Fields) -> frozenset[int]:
    """Formats of numbers that are not interpreted; where the sign tells bf16 it has no code."""
    codes = frozenset({0, 1, 2, 3, 4}) if f.conventions.halves_by_sign else frozenset({0, 1, 2, 3, 4, 5})
    return codes | {FLOAT8} if f.conventions.has_float8 else codes


def of_one_half(bound: Bound) -> str:
    """Of f16 and bf16 there is one in a sum of products, where the sign tells which."""
    views = (*bound.operands.values(), *bound.results.values())
    halves = {view.dtype.name for view in views if view.dtype.is_float and view.dtype.itemsize == 2}
    is_mixed = bound.fields.conventions.halves_by_sign and len(halves) > 1
    return f"it mixes {' with '.join(sorted(halves))}" if is_mixed else ""


def adds_to_wide_sums(bound: Bound) -> str:
    """Sums go on from sums: not from results of 8 or 16 bits that were made of them."""
    f = bound.fields
    return f"it adds to {named(f.res0_prec)}" if f.res_add and f.res0_prec in (0, 3) else ""


def sums(f: Fields) -> frozenset[int]:
    """Formats of the result of a sum of products, by that of its operands."""
    if f.opd0_prec == FLOAT8:
        return frozenset({1, 2, 5, FLOAT8})
    return frozenset({f.opd0_prec, 2}) if f.opd0_prec in FLOATS else WORDS
