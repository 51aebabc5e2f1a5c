"""Convolution and pooling of BM1684."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.views import Layout
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.family import Bound, attributes_by_name, family, flag, operand
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.bm1684.rows import any_sign, has_whole_bias, itemsize, old_words, word_result, words
from tdb_dap.targets.families.convolution import WINDOW, is_float, window_fits, windows_suffice
from tdb_dap.targets.families.formats import among, same

WEIGHTED, MAXIMUM = 1, 4


def _unit(f: Fields) -> int:
    """Input channels stored together: units of 8 bytes for float32, of 4 bytes for integers."""
    return 2 if itemsize(f, "opd1") == 4 else 4 // itemsize(f, "opd1")


def _weight_strides(f: Fields) -> tuple[int, ...]:
    if f.opd1_str != 3:
        raise NotSimulated(f"weights of storage code {f.opd1_str} are not known")
    unit, lane, row, tap = f.four("opd1", "_str")
    return tuple(stride * _unit(f) for stride in (unit, lane, row, tap))


def _attributes(f: Fields) -> dict[str, Any]:
    attributes = attributes_by_name(f, {name: value for name, value in WINDOW.items() if name != "pad_mode"})
    return attributes if is_float(f) else {**attributes, "right_shift": f.right_shift}


def _has_third(f: Fields) -> bool:
    return f.tsk_opd_num > 2


def _sums(f: Fields) -> frozenset[int]:
    """Formats of results: float32, or integers of 8 and 16 bits."""
    return frozenset({2}) if is_float(f) else frozenset({0, 3})


@family("bm1684.conv", registers=("conv_op",))
class Convolution:
    """Two-dimensional convolution.

    result[n, oc, y, x] = bias[oc] + old + sum over ic, ky, kx of
        input[n, ic, y*sy + ky*dy - top, x*sx + kx*dx - left] * weight[oc, ic, ky, kx]
    """

    input = words("opd0", ("res0_n", "opd0_c", "opd0_h", "opd0_w"), stored=True, constant=False)
    weight = operand(
        "opd1",
        ("res0_c", "opd0_c", "opd1_h", "opd1_w"),
        Layout.CHANNEL_UNITS,
        width=_unit,
        strides=_weight_strides,
    )
    bias = operand("opd2", (1, "res0_c", 1, 1), Layout.COMPACT, constant=False, when=_has_third)
    old = old_words(when=flag("res_add"))
    result = word_result(sign=lambda f: 0 if f.relu else any_sign(f))

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {**_attributes(f), "res_add": bool(f.res_add)}

    rules = (same("opd0_prec", "opd1_prec"), among("res0_prec", _sums, "result"), has_whole_bias, window_fits)
    vendor_text = "convolution neuron"


def _pooling_sign(f: Fields) -> int:
    if f.sub == MAXIMUM:
        return f.opd0_sign
    if f.opd1_const:
        return f.opd0_sign
    return 0 if f.relu else any_sign(f)


def _has_whole_bias(bound: Bound) -> str:
    return has_whole_bias(bound) if bound.fields.sub == WEIGHTED else ""


def _has_one_format(bound: Bound) -> str:
    f = bound.fields
    return "it mixes formats" if f.sub == WEIGHTED and f.opd0_prec != f.opd1_prec else ""


def _shifts_no_maximum(bound: Bound) -> str:
    f = bound.fields
    is_shifted = f.sub == MAXIMUM and not is_float(f) and f.right_shift
    return f"it shifts a maximum by {f.right_shift} bits" if is_shifted else ""


@family("bm1684.pord", registers=("pord_op",))
class Pooling:
    """Window functions per channel: maximum; sum of input * kernel, with one constant weight for the average.

    Kernel and bias are stored without gaps. 8-bit averages do not use the constant but round(2^k / area).
    """

    input = words("opd0", ("res0_n", "res0_c", "opd0_h", "opd0_w"), constant=False)
    kernel = operand("opd1", (1, "res0_c", "opd1_h", "opd1_w"), Layout.COMPACT, when=lambda f: f.sub == WEIGHTED)
    bias = operand("opd2", (1, "res0_c", 1, 1), Layout.COMPACT, when=lambda f: f.sub == WEIGHTED and _has_third(f))
    result = word_result(sign=_pooling_sign)
    attributes = staticmethod(_attributes)
    rules = (
        _has_one_format,
        among("res0_prec", _sums, "result"),
        _has_whole_bias,
        windows_suffice,
        _shifts_no_maximum,
    )
    vendor_text = "depthwise or pooling"
