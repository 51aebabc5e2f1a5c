"""Rules that commands of CV18xx keep. Source: the assertions of the maker's emulator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from tdb_dap.engine.hardware.byte_ranges import has_overlaps, share_a_byte
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.targets.declaration.family import Bound, Rule
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.convolution import window_fits
from tdb_dap.targets.families.cv18xx.rows import GIVEN, is_float, writes_partial

_ALIGNED = 0
"""Storage code of rows that begin at whole units."""
_KERNELS, _BIASES = 1, 2
"""Those of the weights and of the bias of a convolution."""


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


_GIVEN = (Layout.STRIDE, Layout.DMA_STRIDE)
"""Layouts whose steps are in the command."""


def has_results_apart(bound: Bound) -> str:
    """In which order numbers are written that share bytes is not known."""
    views = {role: view for role, view in bound.results.items() if isinstance(view, View)}
    for role, view in views.items():
        if view.layout in _GIVEN and has_overlaps(view):
            return f"elements of its {role} overlap"
    for one, other in combinations(views, 2):
        if share_a_byte(views[one], views[other]):
            return f"its {one} and {other} overlap".replace("_", " ")
    return ""


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
    if f.res0_n_str % f.geometry.eu_bytes == 0:
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


def _bias_fits(bound: Bound) -> str:
    """A bias has a number for each column."""
    f = bound.fields
    columns, numbers = f.res0_c * f.res0_w, f.opd2_c * f.opd2_w
    differ = f.tsk_opd_num == 3 and columns != numbers
    return f"its result has {columns} columns and its bias {numbers} numbers" if differ else ""


def _sign_of_averages(bound: Bound) -> str:
    return sign_follows(bound) if bound.fields.sub == 1 else ""


def _sign_of_sums(bound: Bound) -> str:
    """Partial sums have a sign of their own."""
    return sign_follows(bound) if not bound.fields.ps32_md else ""


def _pairs_fit(bound: Bound) -> str:
    """Two pairs of input channels are added at once: there are so many, and they begin at an even byte."""
    f = bound.fields
    if f.double_conv and f.opd0_c < 4:
        return f"it adds two pairs of channels at once, and its input has {f.opd0_c}"
    return f"its field opd0_addr is {f.opd0_addr}, which is odd" if f.double_conv and f.opd0_addr % 2 else ""


COMMON = (fields_are(cmd_en=1, cmd_pre_exe=0), has_extents)
_NO_STEPS_GIVEN = fields_are(opd2_str=(_ALIGNED, _KERNELS, _BIASES))
_SUMS_GO_ON = fields_are(writes_partial, relu=0, res_shift=0)
ELEMENTS = (
    *COMMON,
    sign_follows,
    fields_are(res0_str=GIVEN),
    fields_are(lambda f: not f.opd0_const, opd0_str=GIVEN),
    fields_are(lambda f: f.tsk_opd_num > 1 and not f.opd1_const, opd1_str=GIVEN),
    fields_are(lambda f: f.sub == 0, opd0_seg=1, opd1_seg=1),
    fields_are(lambda f: f.sub == 1, res_add=1, opd0_seg=1, opd1_seg=1),
    fields_are(lambda f: f.sub in (2, 3) and not is_float(f), opd0_seg=0),
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
    fields_are(lambda f: f.sub == 11, res0_seg=1),
    has_results_apart,
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
    has_results_apart,
)

POOLS = (
    *COMMON,
    _NO_STEPS_GIVEN,
    fields_are(opd0_str=(_ALIGNED, GIVEN), res0_str=(_ALIGNED, GIVEN)),
    fields_are(lambda f: f.sub != 1, tsk_opd_num=1),
    fields_agree(lambda f: f.sub != 1, ("res0_sign", "opd0_sign")),
    fields_are(lambda f: f.sub == 1, opd1_sign=0, rshift_typ=1),
    fields_are(opd2_sign=1, res0_seg=1),
    _sign_of_averages,
    shift_follows(lambda f: f.sub == 1),
    fields_agree(lambda f: True, ("opd0_n", "res0_n"), ("opd0_c", "res0_c"), ("opd0_str", "res0_str")),
    window_fits,
    has_results_apart,
)
WINDOWS_APART = (
    *COMMON,
    _NO_STEPS_GIVEN,
    sign_follows,
    fields_are(
        opd0_str=(_ALIGNED, GIVEN), opd1_str=_ALIGNED, opd1_n=1, opd1_sign=1, opd2_sign=1, opd1_seg=1, rshift_typ=1
    ),
    shift_follows(lambda f: not f.chl_quan),
    fields_are(lambda f: f.tsk_opd_num == 3 or bool(f.chl_quan), opd2_str=_BIASES),
    fields_are(is_float, chl_quan=0),
    fields_are(opd1_x_ins0=tuple(range(15)), opd1_y_ins0=tuple(range(15))),
    _has_whole_batches,
    _has_halves_apart,
    fields_agree(
        lambda f: True, ("opd0_n", "res0_n"), ("opd0_str", "res0_str"), ("opd1_c", "res0_c"), ("opd0_c", "res0_c")
    ),
    window_fits,
    has_results_apart,
)
CONVOLUTIONS = (
    *COMMON,
    _NO_STEPS_GIVEN,
    _SUMS_GO_ON,
    fields_are(writes_partial, tsk_opd_num=2),
    _pairs_fit,
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
    has_results_apart,
)
MATRICES = (
    *COMMON,
    _SUMS_GO_ON,
    fields_are(writes_partial, chl_quan=0),
    fields_are(
        opd0_str=_ALIGNED, opd1_str=_ALIGNED, res0_str=_ALIGNED, res0_h=1, opd1_h=1, opd2_n=1, opd0_seg=1, opd1_seg=1
    ),
    _NO_STEPS_GIVEN,
    fields_are(opd2_seg=0),
    fields_are(lambda f: f.tsk_opd_num == 3, opd2_str=_ALIGNED),
    fields_are(is_float, chl_quan=0),
    _has_halves_apart,
    _has_whole_rows_apart,
    _fit_together,
    _bias_fits,
    _sign_of_sums,
    shift_follows(lambda f: bool(f.chl_quan)),
    fields_are(lambda f: not is_float(f) and not f.ps32_md, res0_seg=1),
    has_results_apart,
)
