"""Operands of BM1684: how its storage codes and number formats become layouts.

Addresses are absolute. Strides count words of 4 bytes: a word holds one number of 32 bits, two batches of 16-bit or
four of 8-bit numbers. Tensor arithmetic and the input of a convolution have a storage code. 0: rows of a lane aligned,
3: strides given; what the other codes mean is not known. All other tensors are aligned, biases and depthwise kernels
without gaps, whatever their code says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdb_dap.engine.hardware.byte_ranges import has_overlaps
from tdb_dap.engine.hardware.views import Constant, Layout, View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.family import RESULT_SHAPE, Bound, Row, Shape, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.convolution import is_float
from tdb_dap.targets.families.formats import named

_PLAIN = {0: Layout.ALIGN_EU, 3: Layout.STRIDE}
_PACKED = {0: Layout.ALIGN_XN, 3: Layout.STRIDE_XN}


def itemsize(f: Fields, prefix: str) -> int:
    """Bytes of an operand's numbers."""
    return f.tiu_dtype(f.number(f"{prefix}_prec"), 0).itemsize


def storage(prefix: str) -> Callable[[Fields], Layout]:
    """The layout that the storage code of an operand means for its number format."""

    def layout(f: Fields) -> Layout:
        code = f.number(f"{prefix}_str")
        strides = (_PLAIN if itemsize(f, prefix) == 4 else _PACKED).get(code)
        if strides is None:
            raise NotSimulated(f"operands of storage code {code} are not known")
        return strides

    return layout


def aligned(prefix: str) -> Callable[[Fields], Layout]:
    """The aligned layout of an operand's number format."""
    return lambda f: Layout.ALIGN_EU if itemsize(f, prefix) == 4 else Layout.ALIGN_XN


def words(prefix: str, shape: Shape = RESULT_SHAPE, *, stored: bool = False, **details: Any) -> Row:
    """An operand in packed words. ``stored``: as its storage code says."""
    return operand(prefix, shape, (storage if stored else aligned)(prefix), **details)


def old_words(**details: Any) -> Row:
    """Type of the result before the command: signed if one of the first two operands is."""
    return words("res0", sign=lambda f: f.opd0_sign or f.opd1_sign, constant=False, hidden=True, **details)


def word_result(*, stored: bool = False, **details: Any) -> Row:
    """The result in packed words; see ``words``."""
    return result_("res0", RESULT_SHAPE, (storage if stored else aligned)("res0"), **details)


_ADDED, _SHIFT = 1, 6
_MOST_LEFT = 16
"""Bits by which an old result of 16 bits is shifted at most."""
_EXTREMES = (4, 5)
"""Operations: maximum and minimum."""


def of_one_kind(bound: Bound) -> str:
    """Float32 throughout, integers of 8 and 16 bits, or of 32."""
    f = bound.fields
    if f.sub == _SHIFT and isinstance(bound.operands["left"], Constant):
        return "it shifts a number of the command"
    if f.sub == _SHIFT and f.opd0_prec != f.opd1_prec:
        return "it shifts numbers of one width by numbers of another"
    if f.sub == _ADDED and not is_float(f) and f.left_shift > _MOST_LEFT:
        return f"it shifts what it adds to by {f.left_shift} bits, beyond 32"
    codes = {f.opd0_prec, f.res0_prec} | ({f.opd1_prec} if "right" in bound.operands else set())
    if codes in ({2}, {4}) or codes <= {0, 3}:
        is_mixed = f.sub in _EXTREMES and 2 not in codes and "right" in bound.operands and f.opd0_sign != f.opd1_sign
        return "it mixes signed with unsigned numbers" if is_mixed else ""
    return f"it takes no {' with '.join(named(code) for code in sorted(codes))}"


def has_whole_bias(bound: Bound) -> str:
    """A bias is float32, or of integers of 16 bits."""
    f = bound.fields
    code = 2 if is_float(f) else 3
    if f.tsk_opd_num < 3 or f.opd2_prec == code:
        return ""
    return f"its bias is {named(f.opd2_prec)}, and not {named(code)}"


_GIVEN = (Layout.STRIDE, Layout.STRIDE_XN)
"""Layouts whose steps are in the command."""


def has_words_apart(bound: Bound) -> str:
    """In which order numbers are written that share words is not known."""
    for view in bound.results.values():
        if isinstance(view, View) and view.layout in _GIVEN and has_overlaps(view):
            return "elements of its result overlap"
    return ""


def any_sign(f: Fields) -> int:
    """Signed if an operand of the command is."""
    return f.opd0_sign or f.opd1_sign or (f.opd2_sign if f.tsk_opd_num > 2 else 0)
