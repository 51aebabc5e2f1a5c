"""Element-wise arithmetic of BM1684."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import family, operand
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.bm1684.rows import has_words_apart, itemsize, of_one_kind, old_words, word_result, words
from tdb_dap.targets.families.convolution import is_float

MUL, MAC, ADD, SUB, MAX, MIN, SHIFT, AND, OR, XOR = range(10)
SELECT_GREATER, SELECT_EQUAL, DIVIDE, COPY = 10, 11, 12, 19


def _shape(prefix: str) -> Callable[[Fields], tuple[int, ...]]:
    """Shape of an operand: one batch for all where packed numbers are marked so."""

    def shape(f: Fields) -> tuple[int, ...]:
        once = f.number(f"{prefix}_neq1") and itemsize(f, prefix) < 4
        return 1 if once else f.res0_n, f.res0_c, f.res0_h, f.res0_w

    return shape


def _right_shape(f: Fields) -> tuple[int, ...]:
    """Shape of the second operand: of 32-bit numbers without gaps, an axis whose stride is 0 has one element."""
    n, c, h, w = _shape("opd1")(f)
    if f.opd1_str or itemsize(f, "opd1") < 4:
        return n, c, h, w
    return n if f.opd1_n_str else 1, c, h if f.opd1_h_str else 1, w if f.opd1_w_str else 1


def _selects(f: Fields) -> bool:
    return f.sub in (SELECT_GREATER, SELECT_EQUAL)


def _has_right(f: Fields) -> bool:
    return f.sub != COPY


def _adds_to_old(f: Fields) -> bool:
    return bool(f.sub == MAC or f.res_add)


def _result_sign(f: Fields) -> int:
    return 1 if f.sub == SUB else f.opd0_sign or f.opd1_sign


def _attributes(f: Fields) -> dict[str, Any]:
    if is_float(f):
        return {"res_add": bool(f.res_add)}
    attributes: dict[str, Any] = {"right_shift": f.right_shift, "left_shift": f.left_shift}
    return {"arithmetic": bool(f.shift_typ)} if f.sub == SHIFT else attributes


@family("bm1684.arith", registers=("ar_op",))
class Arithmetic:
    """One operation per element of one or two operands; a stride of zero repeats an element.

    select: the third operand, always a number, where the condition holds, else zero; mac adds the product to the old
    result, which is first shifted left; integer results are shifted right.
    """

    left = words("opd0", _shape("opd0"), stored=True)
    right = words("opd1", _right_shape, stored=True, when=_has_right)
    third = operand("opd2", (1, "res0_c", 1, 1), Layout.COMPACT, dtype=F32, constant=_selects, when=_selects)
    old = old_words(stored=True, when=_adds_to_old)
    result = word_result(stored=True, sign=_result_sign)
    attributes = staticmethod(_attributes)
    rules = (of_one_kind, has_words_apart)
    vendor_text = "tensor arithmetic"


@family("bm1684.scalar", registers=("md_scalar_op",))
class ScalarArithmetic:
    """One operation per element of two aligned operands; ``res_add``: added to the old result."""

    left = words("opd0")
    right = words("opd1", when=_has_right)
    old = old_words(when=_adds_to_old)
    result = word_result(sign=_result_sign)
    attributes = staticmethod(_attributes)
    rules = (of_one_kind,)
    vendor_text = "md scalar"
