"""Rules that commands of CV18xx keep. Source: the assertions of the maker's emulator."""

from __future__ import annotations

from collections.abc import Callable

from tdb_dap.targets.declaration.family import Bound, Rule
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.convolution import window_fits
from tdb_dap.targets.families.cv18xx.rows import GIVEN, is_float

_ALIGNED = 0
"""Storage code of rows that begin at whole units."""


def fields_are(when: Callable[[Fields], bool] = lambda f: True, **values: int | tuple[int, ...]) -> Rule:
    """Fields have one of these numbers where the condition holds; a field that is not there counts for nothing."""

    def rule(bound: Bound) -> str:
        f = bound.fields
        if not when(f):
            return ""
        for name, allowed in values.items():
            numbers = allowed if isinstance(allowed, tuple) else (allowed,)
            if f.has(name) and f.number(name) not in numbers:
                return f"its field {name} is {f.number(name)}, and not {' or '.join(map(str, numbers))}"
        return ""

    return rule


def fields_agree(when: Callable[[Fields], bool], *pairs: tuple[str, str]) -> Rule:
    """Two fields each have one number where the condition holds."""

    def rule(bound: Bound) -> str:
        f = bound.fields
        for one, other in pairs if when(f) else ():
            if f.has(one) and f.has(other) and f.number(one) != f.number(other):
                return f"its fields {one} and {other} are {f.number(one)} and {f.number(other)}"
        return ""

    return rule


def sign_follows(bound: Bound) -> str:
    """The result is signed where one of the operands is; of floats signs say nothing, and compilers set any."""
    f = bound.fields
    if not 1 <= f.tsk_opd_num <= 3:
        return f"it has {f.tsk_opd_num} operands"
    signed = any(f.number(f"opd{index}_sign") for index in range(f.tsk_opd_num) if f.has(f"opd{index}_sign"))
    if is_float(f) or not f.has("res0_sign") or bool(f.res0_sign) == signed:
        return ""
    return f"its result is {'un' if signed else ''}signed, and its operands are not"


def _sign_of_elements(bound: Bound) -> str:
    """A difference is signed whatever its operands are."""
    return sign_follows(bound) if bound.fields.sub != _SUBTRACT else ""


_SUBTRACT = 3


def has_extents(bound: Bound) -> str:
    """No extent of an operand or result is zero."""
    f = bound.fields
    for prefix in ("res0", "opd0"):
        if 0 in f.four(prefix):
            return f"its extents {'x'.join(map(str, f.four(prefix)))} ({prefix}) have no elements"
    return ""


def _has_planes_apart(bound: Bound) -> str:
    """The high bytes of integers of 16 bits are not where the low ones are."""
    f = bound.fields
    for prefix in ("opd0", "res0"):
        is_wide = not is_float(f) and not f.number(f"{prefix}_seg") and not (prefix == "opd0" and f.opd0_const)
        if is_wide and f.has(f"{prefix}_b_str") and not f.number(f"{prefix}_b_str"):
            return f"its field {prefix}_b_str is 0"
    return ""


def _has_a_table_for_each_lane(bound: Bound) -> str:
    f = bound.fields
    return "" if f.opd1_c == f.geometry.lanes else f"it has tables for {f.opd1_c} lanes of {f.geometry.lanes}"


def _fit_together(bound: Bound) -> str:
    """The right matrix has a row for each column of the left one, and the lanes of the result.

    Its width is that of the left matrix in its last lane; of its own columns a lane has as many as of the result.
    """
    f = bound.fields
    columns = (f.opd0_c - 1) * f.opd0_w + f.opd1_w
    if columns != f.opd1_n:
        return f"its left matrix has {columns} columns and its right one {f.opd1_n} rows"
    if f.opd1_c != f.res0_c:
        return f"its right matrix has {f.opd1_c} lanes and its result {f.res0_c}"
    return "" if f.opd0_n == f.res0_n else f"its left matrix has {f.opd0_n} rows and its result {f.res0_n}"


COMMON = (fields_are(cmd_en=1), has_extents)
ELEMENTS = (
    *COMMON,
    _sign_of_elements,
    fields_are(res0_str=GIVEN),
    fields_are(lambda f: not f.opd0_const, opd0_str=GIVEN),
    fields_are(lambda f: f.tsk_opd_num > 1 and not f.opd1_const, opd1_str=GIVEN),
    fields_are(lambda f: f.sub == 0, opd0_seg=1, opd1_seg=1),
    fields_are(lambda f: f.sub == 1, res_add=1),
    fields_are(lambda f: f.sub != 10, tsk_opd_num=2),
    fields_are(lambda f: f.sub in (4, 5), opd0_seg=1, res0_seg=1),
    fields_are(is_float, chl_quan=0),
    _has_planes_apart,
    fields_agree(lambda f: f.sub in (4, 5) and not is_float(f), ("opd1_sign", "res0_sign")),
    fields_agree(lambda f: f.sub in (7, 8, 9), ("res0_seg", "opd0_seg")),
    fields_are(lambda f: f.sub in (7, 8, 9), relu=0),
    fields_are(lambda f: f.sub == 10, res0_seg=1, tsk_opd_num=1),
)
"""Of operations per element: the numbers of sub types are those of ``elements``."""
LOOK_UPS = (
    *COMMON,
    fields_are(opd0_seg=1, res0_seg=1, opd1_n=1, tsk_opd_num=2),
    fields_are(is_float, opd0_sign=1, opd1_sign=1, opd2_sign=1, opd2_seg=1, res0_sign=1, opd1_w=8, chl_quan=0),
    _has_a_table_for_each_lane,
    fields_agree(lambda f: True, *((f"opd0_{axis}", f"res0_{axis}") for axis in "nchw")),
)
POOLS = (
    *COMMON,
    fields_are(opd0_str=(_ALIGNED, GIVEN), res0_str=(_ALIGNED, GIVEN)),
    fields_are(lambda f: f.sub != 1, tsk_opd_num=1),
    fields_agree(lambda f: f.sub != 1, ("res0_sign", "opd0_sign")),
    fields_are(lambda f: f.sub == 1, opd1_sign=0, opd2_sign=1),
    fields_agree(lambda f: True, ("opd0_n", "res0_n"), ("opd0_c", "res0_c"), ("opd0_str", "res0_str")),
    window_fits,
)
WINDOWS_APART = (
    *COMMON,
    sign_follows,
    fields_are(opd0_str=(_ALIGNED, GIVEN), opd1_n=1, opd1_sign=1),
    fields_are(is_float, chl_quan=0),
    fields_agree(
        lambda f: True, ("opd0_n", "res0_n"), ("opd0_str", "res0_str"), ("opd1_c", "res0_c"), ("opd0_c", "res0_c")
    ),
    window_fits,
)
CONVOLUTIONS = (
    *COMMON,
    sign_follows,
    fields_are(lambda f: not is_float(f), opd0_str=_ALIGNED, opd1_seg=1, rshift_typ=1),
    fields_are(is_float, chl_quan=0),
    fields_agree(lambda f: True, ("opd1_n", "opd0_c"), ("opd0_n", "res0_n")),
    window_fits,
)
MATRICES = (
    *COMMON,
    fields_are(opd0_str=_ALIGNED, res0_str=_ALIGNED, res0_h=1, opd1_h=1, opd2_n=1),
    fields_are(is_float, chl_quan=0),
    _fit_together,
    fields_are(lambda f: not is_float(f) and not f.ps32_md, res0_seg=1),
)
