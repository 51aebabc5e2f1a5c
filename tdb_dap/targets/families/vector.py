"""Outer operations of two vectors."""

from __future__ import annotations

from typing import Any

from tdb_dap.targets.declaration.family import Bound, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.formats import WORDS, named

MUL_HIGH = 23


def length(f: Fields) -> int:
    """Elements of the left vector: its last lane holds opd1_w of them instead of opd0_w."""
    return (f.opd0_c - 1) * f.opd0_w + f.opd1_w


def _formats(bound: Bound) -> str:
    """Floats of one format, or integers."""
    f = bound.fields
    codes = (f.opd0_prec, f.opd1_prec, f.res0_prec)
    are_alike = len(set(codes)) == 1 or WORDS.issuperset(codes)
    return "" if are_alike else f"it mixes {' with '.join(named(code) for code in dict.fromkeys(codes))}"


@family("vc", registers=("sVC", "VC"))
class VectorOperation:
    """result[i, j] = left[i] (operation) right[j]; vectors are cut into blocks of columns, one lane each."""

    left = operand("opd0", (1, "opd0_c", 1, "opd0_w"), constant=False)
    right = operand("opd1", (1, "res0_c", 1, "res0_w"), constant=False)
    result = result_("res0", lambda f: (length(f), f.res0_c, 1, f.res0_w), sign=lambda f: f.opd0_sign or f.opd1_sign)
    rules = (_formats,)

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"round_mode": f.opd2_n_str} if f.sub == MUL_HIGH else {}
