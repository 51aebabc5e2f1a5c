"""The rules that a command keeps, or the chip has no such command.

Source: what the vendor's simulators assert, and where they read beyond their buffers; ``scripts.robustness.
fuzz_simulator --mutants`` compares them with damaged commands. Rules of one family stand beside its declaration.
"""

from __future__ import annotations

from collections.abc import Iterator

from tdb_dap.engine.hardware.apart import parts_of
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.targets.declaration.family import Bound

_PACKED = (Layout.ALIGN_XN, Layout.COMPACT_XN, Layout.STRIDE_XN, Layout.CHANNEL_UNITS)
"""Layouts with several numbers in one word."""
_WORD = 4


def broken_rule(bound: Bound, engine: str) -> str:
    """The first rule that a command breaks, as what is wrong with it; empty if it is legal."""
    return next(_broken(bound, engine), "")


def _broken(bound: Bound, engine: str) -> Iterator[str]:
    for role, row in bound.family.rows.items():
        view = bound.results.get(role) if row.is_result else bound.operands.get(role)
        if not isinstance(view, View):
            continue
        title = bound.family.titles[role]
        if engine == "tiu":
            if min(view.shape, default=1) < 1:
                yield f"its {title} has no elements: {view.memref}"
            if row.from_static is not None and row.from_static(bound.fields):
                if view.space is not Space.STATIC:
                    yield f"its {title} is not in static memory: {view.name}"
            elif view.space is not Space.LOCAL and not row.is_elsewhere(bound.fields):
                yield f"its {title} is in {view.space.title}: {view.name}"
        elif row.side:
            yield from _repeated(title, view, bound.fields.device_address(f"{row.side}_start_addr"))
        yield from _misplaced(title, view, row.alignment(bound.fields) if row.alignment is not None else 1)
    for rule in bound.family.rules:
        broken = rule(bound)
        if broken:
            yield broken


def _repeated(title: str, view: View, address: int) -> Iterator[str]:
    geometry = view.geometry
    if geometry.is_repeated(address):
        lane = address // geometry.lane_bytes
        yield f"its {title} begins in lane {lane} of {geometry.lanes}, for which the chip takes {view.name}"


def _misplaced(title: str, view: View, alignment: int) -> Iterator[str]:
    itemsize = view.dtype.itemsize
    alignment = max(alignment, _WORD if view.layout in _PACKED else itemsize)
    if view.dtype.per_byte == 1 and view.address % alignment:
        yield f"its {title} is at {view.name}, which is no multiple of {alignment} bytes"
    if view.space is not Space.LOCAL or min(view.shape, default=1) < 1:
        return
    if view.address >= view.geometry.local_bytes:
        lane = view.address // view.geometry.lane_bytes
        yield f"its {title} begins in lane {lane} of {view.geometry.lanes}: {view.name}"
    elif not _stays_in_lanes(view):
        yield f"its {title} leaves its lane: {view.name}, {view.memref}"


_BY_STEPS = (
    Layout.ALIGN_EU,
    Layout.COMPACT,
    Layout.STRIDE,
    Layout.PER_CHANNEL,
    Layout.ALIGN_LINE,
    Layout.SHARED_ROWS,
)
"""Layouts whose places in a lane follow from the steps alone."""


def _stays_in_lanes(view: View) -> bool:
    """Whether every element is in the lane that its channel is in."""
    lane_bytes, itemsize = view.geometry.lane_bytes, view.dtype.itemsize
    if view.layout in _BY_STEPS and view.strides is not None and len(view.shape) == 4 and view.dtype.per_byte == 1:
        (n, c, h, w), (batch, channel, row, column) = view.shape, view.strides
        lane, start = divmod(view.address, lane_bytes)
        rounds = (lane % view.geometry.lanes + c - 1) // view.geometry.lanes
        last = (n - 1) * batch + rounds * channel + (h - 1) * row + (w - 1) * column
        return start + (last + 1) * itemsize <= lane_bytes
    share = view.dtype.per_byte
    places = [part.ranges(itemsize)[0] for part in parts_of(view)]  # in the first lane of each piece
    return all(start // share % lane_bytes + -((start - stop) // share) <= lane_bytes for start, stop in places)
