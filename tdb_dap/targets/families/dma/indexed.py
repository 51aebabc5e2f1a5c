"""Moves whose elements are chosen by an index, a mask or their value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.byte_ranges import share_a_byte
from tdb_dap.engine.hardware.dtypes import UI32, DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, Operand, View
from tdb_dap.targets.declaration.family import Bound, Row, VendorView, constant, family
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import (
    Shape4,
    data_type,
    default_strides,
    has_elements,
    has_rows_apart,
    lane_mask,
    located,
    move_attributes,
    side,
)
from tdb_dap.targets.families.formats import WORDS, among


def _channels(f: Fields) -> int:
    """A source or index of one channel is used for all."""
    return max(f.src_csize, f.index_csize)


def _source(f: Fields) -> Shape4:
    return 1, f.src_csize, f.src_hsize, f.src_wsize


def _gathered(f: Fields) -> Shape4:
    return 1, _channels(f), f.src_hsize if f.nchw_copy else f.dst_hsize, f.src_wsize


def _gather_index(f: Fields) -> Shape4:
    return 1, f.index_csize, _gathered(f)[2], 1


def _scattered(f: Fields) -> Shape4:
    return 1, _channels(f), f.dst_hsize, f.src_wsize


def _scatter_index(f: Fields) -> Shape4:
    return 1, f.index_csize, f.src_hsize, 1


def _row_step(f: Fields, name: str) -> int:
    """Elements from row to row; later chips have no such field for the index, whose rows are adjacent."""
    return f.number(f"{name}_hstride") if f.has(f"{name}_hstride") else 1


def _row(name: str, shape: Any, is_result: bool = False, **details: Any) -> Row:
    """Source, destination, index or mask: strides of channel and row; dense or aligned if the command gives none."""

    def strides(f: Fields) -> Shape4:
        if f.stride_enable:
            return 0, f.number(f"{name}_cstride"), _row_step(f, name), 1
        space, offset = located(f, name)
        return default_strides(f, space, offset, shape(f), UI32 if name == "index" else data_type(f))

    details.setdefault("dtype", UI32 if name == "index" else data_type)
    details.setdefault("strides", strides)
    return side(name, shape, is_result, storage=Layout.STRIDE, **details)


def _listed(name: str, shape: Callable[[Fields], Shape4] | None = None) -> VendorView:
    """The vendor's listing prints the stride fields even where the command does not use them.

    ``shape``: what it prints for the shape, where that is wrong, too.
    """

    def listed(f: Fields, view: Operand) -> Operand:
        if not isinstance(view, View):
            return view
        strides = (0, f.number(f"{name}_cstride"), _row_step(f, name), 1)
        return replace(view, shape=shape(f) if shape else view.shape, strides=strides)

    return listed


def _has_an_index_for_each_row(bound: Bound) -> str:
    f = bound.fields
    if located(f, "dst")[0] is Space.L2 and not f.geometry.tag_shift:
        return "what it gathers into L2 is not known"
    rows, count = _gathered(f)[2], f.index_hsize if f.has("index_hsize") else f.dst_hsize
    return "" if rows == count else f"it has {count} indices for {rows} rows"


def _takes_every_lane(bound: Bound) -> str:
    mask = lane_mask(bound.fields)
    return "" if mask is None else f"what it does with the mask of lanes {mask:#x} is not known"


def _keeps_what_it_reads(bound: Bound) -> str:
    """Rows move one after the other: a row that was overwritten before its turn is not the one to move."""
    destination = bound.results["destination"]
    reads = ((role, view) for role, view in bound.operands.items() if role != "old")
    overlapping = next((role for role, view in reads if share_a_byte(view, destination)), "")
    return f"its destination overlaps its {overlapping}" if overlapping else ""


@family("dma.gather", registers=("DMA_gather",))
class IndexedLoad:
    """destination[c, i, :] = source[c, index[c, i] - start, :], or the constant where the index is out of range."""

    source = _row("src", _source, vendor=_listed("src"))
    index = _row("index", _gather_index, vendor=_listed("index"))
    destination = _row("dst", _gathered, True, vendor=_listed("dst"))

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"const": constant(f.constant_value, data_type(f)).value}

    rules = (
        has_elements,
        _takes_every_lane,
        _has_an_index_for_each_row,
        has_rows_apart,
        _keeps_what_it_reads,
    )


@family("dma.scatter", registers=("DMA_scatter",))
class IndexedStore:
    """destination[c, index[c, i] - start, :] = source[c, i, :]; an index out of range is ignored."""

    source = _row("src", _source, vendor=_listed("src"))
    index = _row("index", _scatter_index, vendor=_listed("index", lambda f: (1, f.index_csize, f.dst_hsize, 1)))
    old = _row("dst", _scattered, hidden=True)
    destination = _row("dst", _scattered, True, vendor=_listed("dst"))
    rules = (has_elements, _takes_every_lane, has_rows_apart, _keeps_what_it_reads)


def _whole(f: Fields) -> Shape4:
    """Some chips keep the upper halves of rows and columns in fields of their own, or in those of the destination."""
    height, width = (f.number(f"src_{name}") | _upper_half(f, name) << 16 for name in ("hsize", "wsize"))
    return f.src_nsize, f.src_csize, height, width


def _upper_half(f: Fields, name: str) -> int:
    own = f"dst_{name}" if f.conventions.extends_sizes else f"src_{name}_h16"
    return f.number(own) if f.has(own) else 0


def _default(name: str) -> Any:
    """Dense or aligned: these commands do not look at their stride fields."""

    def strides(f: Fields) -> Shape4:
        space, offset = located(f, name)
        dtype = data_type(f) if name == "src" else f.dma_dtype(f.mask_data_format)
        return default_strides(f, space, offset, _whole(f), dtype)

    return strides


def _compacted(f: Fields) -> tuple[int, ...]:
    """At most every element is written, one after another."""
    n, c, h, w = _whole(f)
    return (n * c * h * w,)


def _index_type(f: Fields) -> DType:
    return f.dma_dtype(f.index_data_format)


def _chooses_from_something(bound: Bound) -> str:
    source = bound.operands["source"]
    return f"its source has no elements: {source.memref}" if isinstance(source, View) and 0 in source.shape else ""


def _leaves_local_memory(bound: Bound) -> str:
    f = bound.fields
    return "its destination is local memory" if located(f, "dst")[0] is Space.LOCAL else ""


@family("dma.masked_select", registers=("DMA_masked_select", "sDMA_masked_select"))
class MaskedSelect:
    """The elements of the source whose mask is not zero, one after another in n, c, h, w order."""

    source = _row("src", _whole, strides=_default("src"))
    mask = _row("mask", _whole, strides=_default("mask"), dtype=lambda f: f.dma_dtype(f.mask_data_format))
    old = _row("dst", _compacted, strides=lambda f: (1,), hidden=True)
    destination = _row("dst", _compacted, True, strides=lambda f: (1,))
    rules = (_chooses_from_something, _takes_every_lane, _leaves_local_memory, _keeps_what_it_reads)


@family("dma.nonzero", registers=("DMA_nonzero", "sDMA_nonzero"))
class NonZero:
    """Linear indices of the non-zero elements plus a base, one after another."""

    source = _row("src", _whole, strides=_default("src"))
    old = _row("dst", _compacted, strides=lambda f: (1,), hidden=True, dtype=_index_type)
    destination = _row("dst", _compacted, True, strides=lambda f: (1,), dtype=_index_type)
    rules = (
        _chooses_from_something,
        _takes_every_lane,
        _leaves_local_memory,
        _keeps_what_it_reads,
        among("index_data_format", WORDS, "indices"),
    )

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {**move_attributes(f), "base": f.base_i if f.has("base_i") else f.dst_nstride}
