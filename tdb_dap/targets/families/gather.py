"""Gathering and scattering inside the local memory by index."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import SI16, DType
from tdb_dap.engine.hardware.strides import align
from tdb_dap.engine.hardware.views import Layout, Operand, View, strides_of
from tdb_dap.targets.declaration.family import RESULT_SHAPE, Bound, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.formats import among, moved_as_they_are, named

GATHER_1D, GATHER_2D, GATHER_BOX, SCATTER_1D, SCATTER_2D = 0, 1, 2, 3, 4
CHANNEL_GATHER, CHANNEL_SCATTER, MULTI_GATHER, MASK_SELECT, NONZERO = 5, 6, 7, 8, 9
CHANNEL_SCATTER_PLUS, GATHER_PER_COLUMN, SCATTER_PER_COLUMN = 10, 11, 12
CHANNEL_GATHER_HAZARD, CHANNEL_SCATTER_HAZARD, MASK_SELECT_HAZARD, NONZERO_HAZARD = 13, 14, 15, 16
LINE_GATHER, LINE_SCATTER = 17, 18

GATHERS = (CHANNEL_GATHER, CHANNEL_GATHER_HAZARD)
SCATTERS = (CHANNEL_SCATTER, CHANNEL_SCATTER_PLUS, CHANNEL_SCATTER_HAZARD)
SELECTS = (MASK_SELECT, MASK_SELECT_HAZARD, NONZERO, NONZERO_HAZARD)
_WRITES_PARTLY = (SCATTER_1D, SCATTER_2D, *SCATTERS, SCATTER_PER_COLUMN, *SELECTS)


def _data_shape(f: Fields) -> tuple[int, int, int, int]:
    n, c = f.res0_n, f.res0_c
    if f.sub == GATHER_1D:
        return n, c, 1, f.opd0_w
    if f.sub == MULTI_GATHER:
        return 4, c, 1, f.opd0_w
    if f.sub in (*GATHERS, *SCATTERS):
        return 1, c, f.opd0_h, f.opd0_w
    return n, c, f.opd0_h, f.opd0_w


def _data_layout(f: Fields) -> Layout:
    """Storage code 3 or 4: one row that all channels of a lane share."""
    return Layout.ALIGN_EU if f.opd0_str == 0 else Layout.SHARED_ROWS


def _index_shape(f: Fields) -> tuple[int, int, int, int]:
    if f.sub in (GATHER_1D, GATHER_2D, SCATTER_1D, SCATTER_2D, GATHER_PER_COLUMN, SCATTER_PER_COLUMN):
        return 1, f.opd1_c, 1, 1
    if f.sub == GATHER_BOX:
        return 1, f.opd1_c, 1, 4
    return f.res0_n, f.res0_c, 1, f.opd1_w


def _index_layout(f: Fields) -> Layout:
    return Layout.COMPACT if _index_shape(f)[0] == 1 and f.sub < CHANNEL_GATHER else Layout.ALIGN_EU


def _index_dtype(f: Fields) -> DType:
    """Two-dimensional coordinates are one 32-bit word: row in the upper, column in the lower half."""
    return f.tiu_dtype(4 if f.sub in (GATHER_2D, SCATTER_2D) else f.opd1_prec, 0)


def _index_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing prints the address of the data for the index, too."""
    if not isinstance(view, View):
        return view
    space, offset = f.geometry.locate_tiu(f.opd0_addr)
    return replace(view, space=space, address=offset, dtype=f.tiu_dtype(f.opd1_prec, 0))


def _data_dtype(f: Fields) -> DType:
    return f.dma_dtype(f.res0_prec)


def gather_attributes(f: Fields) -> dict[str, Any]:
    """``limit_enable``: indices are checked; ``fill_const``: out of range gives ``const_value``, else the last one."""
    return {
        "limit_enable": bool(f.opd3_const),
        "fill_const": bool(f.opd2_const),
        "const_value": f.opd2_addr,
    }


def _sizes_fit(bound: Bound) -> str:
    """The sizes that the chip looks at twice are the same."""
    f = bound.fields
    if f.sub in (GATHER_1D, GATHER_2D):
        if f.opd0_str:
            return f"its data has storage code {f.opd0_str}, and only 0 is known"
        if f.opd1_c != f.res0_w or f.res0_h != 1:
            return f"it has {f.opd1_c} indices for {f.res0_h} rows of {f.res0_w} results"
        if f.sub == GATHER_2D and f.opd1_prec != 3:
            return f"its indices cannot be {named(f.opd1_prec)}"
    if f.sub in (*GATHERS, *SCATTERS):
        if f.opd0_h != 1 or f.res0_h != 1:
            return f"its data has {f.opd0_h} rows and its result {f.res0_h}, and there is but one"
        count, what = (f.res0_w, "results") if f.sub in GATHERS else (f.opd0_w, "numbers")
        if f.opd1_w != count:
            return f"it has {f.opd1_w} indices for {count} {what}"
        if f.opd1_prec not in (0, 3):
            return f"its indices cannot be {named(f.opd1_prec)}"
    return ""


@family("sg", registers=("sSG", "SG"))
class ScatterGather:
    """result[n, c, i] = data[n, c, index[i]]; scatter the other way round.

    pl: one index for all channels; pe: an index per channel.
    """

    data = operand("opd0", _data_shape, _data_layout, dtype=_data_dtype, constant=False)
    index = operand("opd1", _index_shape, _index_layout, dtype=_index_dtype, constant=False, vendor=_index_as_listed)
    old = operand(
        "res0",
        RESULT_SHAPE,
        dtype=_data_dtype,
        constant=False,
        hidden=True,
        when=lambda f: f.sub in _WRITES_PARTLY,
    )
    result = result_("res0", RESULT_SHAPE, dtype=_data_dtype)
    count = result_(
        "res1",
        ("res0_n", "res0_c", 1, 1),
        Layout.COMPACT,
        dtype=SI16,
        when=lambda f: f.sub in SELECTS,
    )
    attributes = staticmethod(gather_attributes)
    rules = (_sizes_fit, among("res0_prec", moved_as_they_are, "numbers"))


def _row_index_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing shows one index after another, though every channel's start at a whole unit."""
    listed = _index_as_listed(f, view)
    if not isinstance(listed, View):
        return listed
    n, c, h, w = listed.shape
    strides = strides_of(f.geometry, Layout.COMPACT, listed.address, (n, c, h, w), listed.dtype)
    return replace(listed, layout=Layout.COMPACT, strides=strides)


def _line_strides(f: Fields) -> tuple[int, int, int, int]:
    row = align(f.res0_w, f.geometry.eu_bytes // _data_dtype(f).itemsize)
    return 0, 0, row, 1


@family("sgl", registers=("sSGL", "SGL"))
class ScatterGatherLine:
    """Rows by index: result[n, c, i, :] = data[c, index[n, c, i], :]; scatter the other way round."""

    data = operand(
        "opd0",
        (1, "res0_c", "opd0_h", "res0_w"),
        lambda f: Layout.ALIGN_LINE if f.opd0_str == 3 else Layout.SHARED_ROWS,
        dtype=_data_dtype,
        constant=False,
        strides=lambda f: None if f.opd0_str == 3 else _line_strides(f),
    )
    index = operand(
        "opd1",
        lambda f: (f.res0_n, f.res0_c, f.res0_h if f.sub == LINE_GATHER else f.opd0_h, 1),
        Layout.ALIGN_EU,
        sign=0,
        constant=False,
        vendor=_row_index_as_listed,
    )
    old = operand(
        "res0",
        RESULT_SHAPE,
        Layout.ALIGN_LINE,
        dtype=_data_dtype,
        constant=False,
        hidden=True,
        when=lambda f: f.sub == LINE_SCATTER,
    )
    result = result_("res0", RESULT_SHAPE, Layout.ALIGN_LINE, dtype=_data_dtype)
    attributes = staticmethod(gather_attributes)

    @staticmethod
    def vendor_text(f: Fields) -> str:
        """The vendor's tools for BM1684X cannot show a gather; its long form they cannot show at all."""
        return "short scatter_gather_line" if f.has("cmd_id_en") and f.sub == LINE_GATHER else ""
