"""Transposition, copies and broadcasts inside the local memory."""

from __future__ import annotations

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, Operand, View, strides_of
from tdb_dap.targets.declaration.family import family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.formats import among, moved_as_they_are

LANE_TO_WIDTH, WIDTH_TO_LANE, COPY, LANE_BROADCAST, STATIC_BROADCAST, STATIC_DISTRIBUTE = 0, 1, 2, 3, 4, 5


def _source_shape(f: Fields) -> tuple[int, int, int, int]:
    n, c, h, w = f.four("res0")
    if f.sub in (LANE_TO_WIDTH, WIDTH_TO_LANE):
        return n, w, h, c
    if f.sub == LANE_BROADCAST:
        return n, 1, h, w
    if f.sub == STATIC_BROADCAST:
        return 1, c, 1, w
    return (1, c, 1, 1) if f.sub == STATIC_DISTRIBUTE else (n, c, h, w)


def _is_static(f: Fields) -> bool:
    return f.geometry.static_by_offset and f.sub in (STATIC_BROADCAST, STATIC_DISTRIBUTE)


def _source_strides(f: Fields) -> tuple[int, ...] | None:
    return {STATIC_BROADCAST: (0, 0, 0, 1), STATIC_DISTRIBUTE: (0, 1, 0, 0)}.get(f.sub)


def _result_shape(f: Fields) -> tuple[int, int, int, int]:
    n, c, h, w = f.four("res0")
    return {STATIC_BROADCAST: (1, c, 1, w), STATIC_DISTRIBUTE: (1, c, 1, 1)}.get(f.sub, (n, c, h, w))


def _dtype(f: Fields) -> DType:
    return f.dma_dtype(f.res0_prec)


def _in_layout(view: View, layout: Layout) -> View:
    n, c, h, w = view.shape
    return replace(
        view, layout=layout, strides=strides_of(view.geometry, layout, view.address, (n, c, h, w), view.dtype)
    )


def _result_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing shows the rows of a transposed result side by side, though cw_ts aligns each of them."""
    return _in_layout(view, Layout.ALIGN_EU) if f.sub == LANE_TO_WIDTH and isinstance(view, View) else view


def _as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing shows aligned rows where cw_ts reads them side by side.

    It takes the address for one of local memory where static memory is named by its offset.
    """
    if not isinstance(view, View):
        return view
    if f.sub == LANE_TO_WIDTH:
        return _in_layout(view, Layout.ALIGN_LINE)
    if view.space is not Space.STATIC:
        return view
    if not f.geometry.static_by_offset:
        return replace(view, strides=None)
    return _in_layout(replace(view, space=Space.LOCAL, address=f.opd0_addr), Layout.ALIGN_EU)


@family("tsbc", registers=("sTRANS&sBC", "TRANS&BC", "sCW&sBC", "CW&BC"))
class TransposeBroadcast:
    """cw, wc: swap channels and columns; l_copy: copy; l_bc: one lane to all; s_bc, s_distribute: static memory.

    cw aligns every row of its result, wc does not; both read rows that are side by side. s_bc repeats one row of static
    memory on every lane; s_distribute gives lane i its word i.
    """

    input = operand(
        "opd0",
        _source_shape,
        Layout.ALIGN_EU,
        dtype=_dtype,
        constant=False,
        in_static=_is_static,
        from_static=lambda f: f.sub in (STATIC_BROADCAST, STATIC_DISTRIBUTE),
        strides=_source_strides,
        vendor=_as_listed,
    )
    result = result_(
        "res0",
        _result_shape,
        lambda f: {LANE_TO_WIDTH: Layout.ALIGN_LINE, STATIC_DISTRIBUTE: Layout.COMPACT}.get(f.sub, Layout.ALIGN_EU),
        dtype=_dtype,
        vendor=_result_as_listed,
    )
    rules = (among("res0_prec", moved_as_they_are, "numbers"),)
