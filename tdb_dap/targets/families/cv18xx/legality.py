"""Rules that commands of CV18xx keep. Source: the assertions of the maker's emulator."""

from __future__ import annotations

from collections.abc import Callable

from tdb_dap.targets.declaration.family import Bound, Rule
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.convolution import window_fits
from tdb_dap.targets.families.cv18xx.rows import GIVEN, is_float

_ALIGNED = 0
"""Storage code of rows that begin at whole units."""
_KERNELS, _BIASES = 1, 2
"""Those of the weights and of the bias of a convolution."""
_FILL = 4
"""Special function of a move: a constant is its source."""
_BYTE, _BF16 = 1, 2
"""Formats of a move."""


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
    """A result of integers is signed where one of the operands is, unless it is rectified; of floats no sign counts."""
    f = bound.fields
    if is_float(f):
        return ""
    if not 1 <= f.tsk_opd_num <= 3:
        return f"it has {f.tsk_opd_num} operands"
    signed = _is_signed(f)
    if not f.has("res0_sign") or bool(f.res0_sign) == signed or (signed and f.relu):
        return ""
    return f"its result is {'un' if signed else ''}signed, and its operands are not"


def shift_follows(when: Callable[[Fields], bool] = lambda f: True) -> Rule:
    """Sums of integers with signs are shifted with their signs, and others without."""

    def rule(bound: Bound) -> str:
        f = bound.fields
        if is_float(f) or f.relu or f.ps32_md or not when(f) or bool(f.shift_typ) == _is_signed(f):
            return ""
        return (
            f"its field shift_typ is {f.shift_typ}, and {'one' if _is_signed(f) else 'none'} of its operands has signs"
        )

    return rule


def _is_signed(f: Fields) -> bool:
    signs = [f"opd{index}_sign" for index in range(f.tsk_opd_num)]
    return any(f.number(name) for name in signs if f.has(name))


def has_extents(bound: Bound) -> str:
    """No extent of an operand or result is zero."""
    f = bound.fields
    for prefix in ("res0", "opd0"):
        if 0 in f.four(prefix):
            return f"its extents {'x'.join(map(str, f.four(prefix)))} ({prefix}) have no elements"
    return ""


def _has_planes_apart(bound: Bound) -> str:
    """The high bytes of numbers that are no bytes are not where the low ones are."""
    f = bound.fields
    for prefix in ("opd0", "opd1", "res0") if f.tsk_opd_num > 1 else ("opd0", "res0"):
        is_constant = prefix != "res0" and f.number(f"{prefix}_const")
        if is_constant or f.number(f"{prefix}_seg") or not f.has(f"{prefix}_b_str"):
            continue
        if not f.number(f"{prefix}_b_str"):
            return f"its field {prefix}_b_str is 0"
    return ""


def _has_whole_batches(bound: Bound) -> str:
    f = bound.fields
    if is_float(f) or f.res0_n_str % f.geometry.eu_bytes == 0:
        return ""
    return f"its field res0_n_str is {f.res0_n_str}, no multiple of {f.geometry.eu_bytes}"


def _has_halves_apart(bound: Bound) -> str:
    """The lower half of a bias is not where the upper one is."""
    f = bound.fields
    if f.tsk_opd_num != 3 or f.opd2_const:
        return ""
    if 0 in f.four("opd2"):
        return f"its bias has no elements: {'x'.join(map(str, f.four('opd2')))}"
    return "" if f.opd2_seg or f.opd2_b_str else "its field opd2_b_str is 0"


def _has_whole_rows_apart(bound: Bound) -> str:
    """The lower half of a matrix' bias begins at a whole unit."""
    f = bound.fields
    if f.tsk_opd_num != 3 or f.opd2_b_str % f.geometry.eu_bytes == 0:
        return ""
    return f"its field opd2_b_str is {f.opd2_b_str}, no multiple of {f.geometry.eu_bytes}"


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


def _sign_of_averages(bound: Bound) -> str:
    return sign_follows(bound) if bound.fields.sub == 1 else ""


def _sign_of_sums(bound: Bound) -> str:
    """Partial sums have a sign of their own."""
    return sign_follows(bound) if not bound.fields.ps32_md else ""


def _moves_something(bound: Bound) -> str:
    f = bound.fields
    names = [f"dst_{axis}" for axis in "chw"]
    if not (f.sub == _FILL or f.compress_en or f.sys_dtype):
        names += [f"src_{axis}" for axis in "nchw"]
    return next((f"its field {name} is 0" for name in names if not f.number(name)), "")


def _formats_fit(bound: Bound) -> str:
    """On the way into local memory bytes become bfloat16, and not the other way round; a constant has one format."""
    f = bound.fields
    narrows = f.trans_dir == 0 and not f.compress_en and f.src_fmt == _BF16
    differ = f.src_fmt != f.dst_fmt and (f.sub == _FILL or narrows)
    return f"its formats are {f.src_fmt} and {f.dst_fmt}" if differ else ""


def _rows_fit(bound: Bound) -> str:
    """A matrix in local memory has a batch for each row, of one line."""
    f = bound.fields
    if f.trans_dir != 0 or not f.sys_dtype:
        return ""
    if f.src_n != f.src_c or f.dst_h != 1:
        return f"its matrix of {f.src_c} rows goes into {f.src_n}x{f.dst_h}"
    if f.dst_c * f.dst_w < f.src_w:
        return f"its matrix of {f.src_w} columns goes into {f.dst_c}x{f.dst_w}"
    return ""


COMMON = (fields_are(cmd_en=1), has_extents)
ELEMENTS = (
    *COMMON,
    sign_follows,
    fields_are(res0_str=GIVEN),
    fields_are(lambda f: not f.opd0_const, opd0_str=GIVEN),
    fields_are(lambda f: f.tsk_opd_num > 1 and not f.opd1_const, opd1_str=GIVEN),
    fields_are(lambda f: f.sub == 0, opd0_seg=1, opd1_seg=1),
    fields_are(lambda f: f.sub == 1, res_add=1, opd0_seg=1, opd1_seg=1),
    fields_are(lambda f: f.sub == 2 and not is_float(f), opd0_seg=0),
    fields_are(lambda f: f.sub != 10, tsk_opd_num=2),
    fields_are(lambda f: f.sub in (4, 5) and is_float(f), relu=0),
    fields_are(lambda f: bool(f.relu) and not is_float(f), res0_seg=1),
    fields_are(lambda f: f.sub in (4, 5), opd0_seg=1, opd1_seg=1, res0_seg=1),
    fields_are(is_float, chl_quan=0),
    _has_planes_apart,
    fields_agree(lambda f: f.sub in (4, 5) and not is_float(f), ("opd1_sign", "res0_sign"), ("opd0_sign", "res0_sign")),
    shift_follows(lambda f: f.sub in (0, 1)),
    fields_are(lambda f: f.sub in (7, 8, 9), opd0_sign=0, opd1_sign=0),
    fields_agree(lambda f: f.sub in (7, 8, 9), ("res0_seg", "opd0_seg"), ("res0_seg", "opd1_seg")),
    fields_are(lambda f: f.sub in (7, 8, 9, 10), relu=0),
    fields_are(lambda f: f.sub == 10, opd0_seg=1, res0_seg=1, tsk_opd_num=1),
)
"""Of operations per element: the numbers of sub types are those of ``elements``."""
LOOK_UPS = (
    *COMMON,
    sign_follows,
    fields_are(opd0_seg=1, res0_seg=1, opd1_seg=1, opd1_n=1, tsk_opd_num=2, relu=0),
    fields_are(opd0_str=_ALIGNED, res0_str=_ALIGNED),
    fields_are(lambda f: not is_float(f), opd1_h=16, opd1_w=16),
    fields_are(is_float, opd1_h=32),
    fields_are(is_float, opd0_sign=1, opd1_sign=1, opd2_sign=1, opd2_seg=1, res0_sign=1, opd1_w=8, chl_quan=0),
    _has_a_table_for_each_lane,
    fields_agree(lambda f: True, *((f"opd0_{axis}", f"res0_{axis}") for axis in "nchw")),
)


MOVES = (
    fields_are(src_fmt=(_BYTE, _BF16), dst_fmt=(_BYTE, _BF16)),
    _moves_something,
    _formats_fit,
    _rows_fit,
)
POOLS = (
    *COMMON,
    fields_are(opd0_str=(_ALIGNED, GIVEN), res0_str=(_ALIGNED, GIVEN)),
    fields_are(lambda f: f.sub != 1, tsk_opd_num=1),
    fields_agree(lambda f: f.sub != 1, ("res0_sign", "opd0_sign")),
    fields_are(lambda f: f.sub == 1, opd1_sign=0, rshift_typ=1),
    fields_are(opd2_sign=1, res0_seg=1),
    _sign_of_averages,
    shift_follows(lambda f: f.sub == 1),
    fields_agree(lambda f: True, ("opd0_n", "res0_n"), ("opd0_c", "res0_c"), ("opd0_str", "res0_str")),
    window_fits,
)
WINDOWS_APART = (
    *COMMON,
    sign_follows,
    fields_are(
        opd0_str=(_ALIGNED, GIVEN), opd1_str=_ALIGNED, opd1_n=1, opd1_sign=1, opd2_sign=1, opd1_seg=1, rshift_typ=1
    ),
    shift_follows(lambda f: not f.chl_quan),
    fields_are(lambda f: f.tsk_opd_num == 3, opd2_str=_BIASES),
    fields_are(is_float, chl_quan=0),
    _has_halves_apart,
    fields_agree(
        lambda f: True, ("opd0_n", "res0_n"), ("opd0_str", "res0_str"), ("opd1_c", "res0_c"), ("opd0_c", "res0_c")
    ),
    window_fits,
)
CONVOLUTIONS = (
    *COMMON,
    sign_follows,
    fields_are(opd0_str=_ALIGNED, opd1_str=_KERNELS, res0_str=(_ALIGNED, GIVEN)),
    fields_are(lambda f: not is_float(f), opd1_seg=1, rshift_typ=1),
    fields_are(lambda f: f.tsk_opd_num == 3, opd2_str=_BIASES),
    fields_are(lambda f: f.tsk_opd_num == 3 and is_float(f), opd2_seg=0),
    fields_are(is_float, chl_quan=0),
    fields_are(lambda f: bool(f.chl_quan), ps32_md=(0, 1), res0_seg=1),
    fields_are(is_float, double_conv=0),
    _has_whole_batches,
    _has_halves_apart,
    fields_agree(lambda f: True, ("opd1_n", "opd0_c"), ("opd0_n", "res0_n"), ("opd1_c", "res0_c")),
    window_fits,
)
MATRICES = (
    *COMMON,
    fields_are(
        opd0_str=_ALIGNED, opd1_str=_ALIGNED, res0_str=_ALIGNED, res0_h=1, opd1_h=1, opd2_n=1, opd0_seg=1, opd1_seg=1
    ),
    fields_are(opd2_str=(0, 1, 2)),
    fields_are(lambda f: f.tsk_opd_num == 3, opd2_str=_ALIGNED, opd2_seg=0),
    fields_are(is_float, chl_quan=0),
    _has_halves_apart,
    _has_whole_rows_apart,
    _fit_together,
    _sign_of_sums,
    shift_follows(lambda f: bool(f.chl_quan)),
    fields_are(lambda f: not is_float(f) and not f.ps32_md, res0_seg=1),
)
