"""The rules that a command keeps, or the chip has no such command.

Source: what the vendor's simulators assert, and where they read beyond their buffers; ``scripts.robustness.
fuzz_simulator --mutants`` compares them with damaged commands. Rules of one family stand beside its declaration.
"""

from __future__ import annotations

from collections.abc import Iterator

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.targets.declaration.family import Bound

_PACKED = (Layout.ALIGN_XN, Layout.COMPACT_XN, Layout.STRIDE_XN, Layout.CHANNEL_UNITS)
"""Layouts with several numbers in one word."""
_WORD = 4
_TAGGED_LOCALLY = 40
"""Bits of an offset from which on the DMA finds local memory by its tag alone."""


def broken_rule(bound: Bound, engine: str) -> str:
    """The first rule that a command breaks, as what is wrong with it; empty if it is legal."""
    return next(_broken(bound, engine), "")


def _broken(bound: Bound, engine: str) -> Iterator[str]:
    rows = (*bound.family.operands, *bound.family.results)
    for role, row in rows:
        view = bound.results.get(role) if row.is_result else bound.operands.get(role)
        if not isinstance(view, View):
            continue
        title = role.replace("_", " ")
        if engine == "tiu":
            if 0 in view.shape:
                yield f"its {title} has no elements: {view.memref}"
            if row.from_static is not None and row.from_static(bound.fields):
                if view.space is not Space.STATIC:
                    yield f"its {title} is not in static memory: {view.name}"
            elif view.space is not Space.LOCAL and not row.is_elsewhere(bound.fields):
                yield f"its {title} is in {view.space.title}: {view.name}"
            elif view.space is Space.LOCAL and bound.fields.conventions.absolute_addresses:
                address = row.named_address(bound.fields)
                if address < bound.fields.geometry.device_address(Space.LOCAL, 0):
                    yield f"its {title} is at {address:#x}, which is no address of local memory"
        elif row.side and bound.fields.geometry.tag_shift >= _TAGGED_LOCALLY and view.space is Space.LOCAL:
            address = bound.fields.device_address(f"{row.side}_start_addr")
            if address < bound.fields.geometry.local_bytes:
                yield f"its {title} is at {address:#x}, an address of no memory of the DMA"
        yield from _misplaced(title, view, row.alignment(bound.fields) if row.alignment is not None else 1)
    for rule in bound.family.rules:
        broken = rule(bound)
        if broken:
            yield broken


def _misplaced(title: str, view: View, alignment: int) -> Iterator[str]:
    itemsize = view.dtype.itemsize
    alignment = max(alignment, _WORD if view.layout in _PACKED else itemsize)
    if view.dtype.per_byte == 1 and view.address % alignment:
        yield f"its {title} is at {view.name}, which is no multiple of {alignment} bytes"
    if view.space is not Space.LOCAL or 0 in view.shape:
        return
    lane_bytes = view.geometry.lane_bytes
    if view.address >= view.geometry.local_bytes:
        yield f"its {title} begins in lane {view.address // lane_bytes} of {view.geometry.lanes}: {view.name}"
        return
    for part in view.segments:
        first, last = part.offset % lane_bytes, 0
        for axis, (extent, stride) in enumerate(zip(part.shape, part.strides, strict=True)):
            if axis == part.lane_axis:
                continue
            last += max(0, (extent - 1) * stride)
            first += min(0, (extent - 1) * stride)
        share = view.dtype.per_byte
        if first < 0 or (first + last) // share + itemsize > lane_bytes:
            yield f"its {title} leaves its lane: {view.name}, {view.memref}"
            return
