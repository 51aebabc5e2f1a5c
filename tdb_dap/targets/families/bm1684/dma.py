"""Moves of BM1684: one form for everything, told apart by its special function and its matrix mode."""

from __future__ import annotations

import math
from typing import Any

from tdb_dap.engine.hardware.dtypes import F32, I8, I16, UI8, DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.family import Bound, Row, family, flag, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import (
    Shape4,
    copies_in_turn,
    default_strides,
    has_rows_apart,
    is_apart_from_source,
    lane_mask,
)

COPY, TRANSPOSE, SHIFT, CONSTANT, SWAP = 0, 1, 2, 4, 5

# Packed words of 8-bit numbers are moved as float32.
_FORMATS = {0: F32, 1: I16, 2: UI8, 3: I8}


def _dtype(f: Fields) -> DType:
    dtype = _FORMATS.get(f.src_data_format)
    if dtype is None:
        raise NotSimulated(f"DMA data of format code {f.src_data_format} are not known on this chip")
    return dtype


def _place(f: Fields, side: str) -> tuple[Space, int]:
    return f.located(side)


def _is_local(f: Fields, side: str) -> bool:
    return _place(f, side)[0] is Space.LOCAL


def is_matrix(f: Fields) -> bool:
    """One side is a dense matrix in DDR, the other is cut into blocks of columns, one lane each."""
    return bool(f.sys_mem_type)


def is_between_memories(f: Fields) -> bool:
    """Local memory on one side only."""
    return _is_local(f, "src") != _is_local(f, "dst")


def is_within_local(f: Fields) -> bool:
    """From local memory to local memory."""
    return _is_local(f, "src") and _is_local(f, "dst")


def is_linear(f: Fields) -> bool:
    """A run of numbers of the source's format, which the field of the first stride counts, and no tensor."""
    return bool(f.common_mode)


def _matrix_shape(f: Fields, side: str) -> tuple[int, ...]:
    """Rows and columns; the side in DDR gives them, the local side is transposed if the command says so."""
    _, _, height, width = f.four("dst" if _is_local(f, "src") else "src", "size")
    if not _is_local(f, side):
        return 1, 1, height, width
    return (width, height) if f.sub == TRANSPOSE else (height, width)


def _tensor_shape(f: Fields, side: str) -> Shape4:
    if is_linear(f):
        return 1, 1, 1, f.src_nstride
    n, c, h, w = f.four("src", "size")
    if f.sub == SWAP and _is_local(f, "src") and _is_local(f, "dst"):
        n, h = 1, 1  # of more batches or rows the first one is moved
    if side == "src" or f.sub == SHIFT:
        return n, c, h, w
    if f.sub == TRANSPOSE:
        return c, n, h, w
    if f.sub == SWAP:
        return n, w, h, c
    return (n, c, h, w) if f.chw_copy else f.four("dst", "size")


def _strides(f: Fields, side: str) -> tuple[int, ...]:
    if is_linear(f):
        return f.src_nstride, f.src_nstride, f.src_nstride, 1
    if is_matrix(f):
        return _matrix_strides(f, side)
    if f.sub == SHIFT:
        side = "src"  # of the destination, too
    n, c, h, w = f.four(side, "stride")
    if f.stride_enable:
        return n, c, h, w
    if f.sub == SWAP and is_within_local(f):
        _, _, h, w = _tensor_shape(f, side)
        return 0, f.src_hsize * w, w, 1  # no line is begun for a channel beyond the last lane
    return default_strides(f, *_place(f, side), _tensor_shape(f, side), _dtype(f))


def _matrix_strides(f: Fields, side: str) -> tuple[int, ...]:
    """Rows of a block start at a line of their own, those of the dense side follow each other, if nothing is said."""
    n, c, h, w = f.four(side, "stride")
    if _is_local(f, side):
        in_line = f.geometry.eu_bytes // _dtype(f).itemsize
        return (n, c, 0, w) if f.stride_enable else (-(-_block(f, side) // in_line) * in_line, c, 0, 1)
    return 0, 0, h if f.stride_enable else f.four(side, "size")[3], 1


def _layout(f: Fields, side: str) -> Layout:
    if not _is_local(f, side):
        return Layout.DMA_STRIDE
    return Layout.DMA_MATRIX if is_matrix(f) else Layout.STRIDE


def _block(f: Fields, side: str) -> int:
    """Columns per lane."""
    return f.four(side, "size")[3] if is_matrix(f) and _is_local(f, side) else 0


def _row(side: str, *, is_read: bool = False, **details: Any) -> Row:
    make, constant = (operand, lambda f: f.sub == CONSTANT) if side == "src" else (result_, False)
    return (operand if is_read else make)(
        side,
        lambda f: _matrix_shape(f, side) if is_matrix(f) else _tensor_shape(f, side),
        lambda f: _layout(f, side),
        dtype=_dtype,
        constant=constant,
        number=lambda f: f.constant_value,
        side=side,
        strides=lambda f: _strides(f, side),
        width=lambda f: _block(f, side),
        **details,
    )


_MOST_COLUMNS = 1 << 15
"""Of a step from column to column."""
_MOST_READ = (1 << 12) - 1
"""The same of a tensor that is read, and of one that is filled."""


def _is_enabled(bound: Bound) -> str:
    return "" if bound.fields.pio_gdma_enable else "its enabling bit is not set"


def _is_constant(bound: Bound) -> str:
    """A constant comes from no address, and fills something."""
    f = bound.fields
    if f.sub != CONSTANT:
        return ""
    if f.device_address("src_start_addr"):
        return "it writes a constant, and has a source"
    destination = bound.results["destination"]
    is_empty = isinstance(destination, View) and 0 in destination.shape
    return "it writes a constant, and its destination has no elements" if is_empty else ""


_FROM_DDR = 2
"""Direction of moves between memories that are not in the lanes."""


def _has_steps(bound: Bound) -> str:
    """Tensors outside of the lanes have steps, and within them columns that are swapped have lines of their own."""
    f = bound.fields
    if f.direction == _FROM_DDR and not (f.stride_enable or is_linear(f) or is_matrix(f)):
        return "it is between memories beyond the lanes, and has no steps"
    if f.sub == SWAP and is_within_local(f) and f.stride_enable and f.dst_csize > 1 and f.dst_cstride < f.dst_wsize:
        return f"its step from channel to channel is {f.dst_cstride}, and each has {f.dst_wsize} columns"
    return ""


def _sizes_fit(bound: Bound) -> str:
    """As many elements arrive as leave."""
    f = bound.fields
    if is_matrix(f) or is_linear(f) or f.sub == CONSTANT or f.chw_copy:
        return ""
    counts = [math.prod(f.four(side, "size")) for side in ("src", "dst")]
    return "" if counts[0] == counts[1] else f"its source has {counts[0]} elements and its destination {counts[1]}"


def _steps_by_one(bound: Bound) -> str:
    f = bound.fields
    if max(f.src_wstride, f.dst_wstride) > _MOST_COLUMNS:
        return f"its step from column to column is {max(f.src_wstride, f.dst_wstride)}"
    if f.src_wstride > _MOST_READ and f.stride_enable and not is_matrix(f) and not is_linear(f):
        return f"the step from column to column of its source is {f.src_wstride}, and {_MOST_READ} is the most"
    wrong = f.sub == SWAP and f.stride_enable and (f.src_wstride, f.dst_wstride) != (1, 1)
    return "its step from column to column is not 1" if wrong else ""


_WITHIN_LANES = 3
"""Direction of moves from local memory to local memory."""


def _shifts_apart(bound: Bound) -> str:
    """Channels are shifted within local memory, from bytes of the lanes that are not those they go to."""
    f = bound.fields
    if f.sub != SHIFT:
        return ""
    if f.direction != _WITHIN_LANES or not is_within_local(f):
        return "it shifts channels, and not within local memory"
    source, destination = (_place(f, side)[1] % f.geometry.lane_bytes for side in ("src", "dst"))
    size = f.src_nsize * _strides(f, "src")[0] * _dtype(f).itemsize
    is_apart = source + size <= destination or destination + size <= source
    return (
        "" if is_apart else f"it shifts channels between bytes {source} and {destination} of lanes, by {size} of each"
    )


def _moves_in_turn(bound: Bound) -> str:
    return is_apart_from_source(bound) if bound.fields.sub in (TRANSPOSE, SWAP) else copies_in_turn(bound)


def _is_within_lanes(bound: Bound) -> str:
    """The batches of a local side, with their step, are in its lanes."""
    f = bound.fields
    for side in ("src", "dst"):
        space, offset = _place(f, side)
        (batches, channels, _, _), (step, lane_step, _, _) = f.four(side, "size"), f.four(side, "stride")
        if space is not Space.LOCAL or not f.stride_enable or is_linear(f) or (side == "src" and f.sub == CONSTANT):
            continue
        lane, place = divmod(offset, f.geometry.lane_bytes)
        extent = max(batches * step, -(-(lane + channels) // f.geometry.lanes) * lane_step) * _dtype(f).itemsize
        if place + extent > f.geometry.lane_bytes:
            return f"its {'source' if side == 'src' else 'destination'} leaves its lanes with {extent} bytes"
    return ""


@family("bm1684.dma", registers=("dma_tensor",))
class Move:
    """Copy of a tensor in n, c, h, w order, of a matrix or of a run of numbers; transposed, added, or a constant."""

    source = _row("src")
    old = _row("dst", is_read=True, hidden=True, when=flag("acc_write_enable"))
    destination = _row("dst")

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        mask = lane_mask(f)
        return {"matrix": is_matrix(f), **({} if mask is None else {"lane_mask": hex(mask)})}

    rules = (
        _is_enabled,
        _is_constant,
        _sizes_fit,
        _steps_by_one,
        _shifts_apart,
        _has_steps,
        _is_within_lanes,
        has_rows_apart,
        _moves_in_turn,
    )
    vendor_text = "DMA tensor"
