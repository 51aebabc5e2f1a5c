"""Compressed tensors and reversed axes. Written from the fields; the vendor's tools show no operands here."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import UI8
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.views import Layout, Operand, View, strides_of
from tdb_dap.targets.declaration.family import Bound, Row, VendorView, family
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import (
    Shape4,
    data_type,
    default_strides,
    has_elements,
    is_apart_from_source,
    lane_mask,
    located,
    side,
)


def _shape(f: Fields) -> Shape4:
    return f.src_nsize, f.src_csize, f.src_hsize, f.src_wsize


def _plain(name: str, is_result: bool) -> Row:
    """The uncompressed side: three strides, columns adjacent."""

    def strides(f: Fields) -> Shape4:
        if f.stride_enable:
            return f.number(f"{name}_nstride"), f.number(f"{name}_cstride"), f.number(f"{name}_hstride"), 1
        return default_strides(f, *located(f, name), _shape(f), data_type(f))

    mask = lane_mask if is_result else None
    return side(name, _shape, is_result, storage=Layout.STRIDE, strides=strides, lane_mask=mask)


RANDOM_ACCESS = 1


def _longest(f: Fields) -> tuple[int, ...]:
    """Bytes of a stream that could not be compressed: a heading, a byte per block of 16 bytes, and the data."""
    n, c, h, w = _shape(f)
    blocks = -(-n * c * h * w * data_type(f).itemsize // 16)
    return (16 + -(-blocks // 16) * 16 + 16 * blocks,)


def _stream(name: str, is_result: bool, **details: Any) -> Row:
    """A compressed stream, whose length depends on the data: at most the bytes of the view."""
    return side(name, _longest, is_result, storage=Layout.STREAM, dtype=UI8, strides=lambda f: (1,), **details)


def _lengths(is_result: bool) -> Row:
    """Start of the table of lengths by which parts of a stream are found."""
    byte = (1, 1, 1, 1)
    return side(
        "meta",
        byte,
        is_result,
        storage=Layout.STRIDE,
        dtype=UI8,
        strides=lambda f: byte,
        when=lambda f: f.sub == RANDOM_ACCESS,
    )


def _source_as_listed(f: Fields, view: Operand) -> Operand:
    return _aligned_as_listed(view, _shape(f))


def _destination_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing gives the result the axes of a transpose."""
    n, c, h, w = _shape(f)
    return _aligned_as_listed(view, (n, h, w, c))


def _aligned_as_listed(view: Operand, shape: Shape4) -> Operand:
    """The vendor's listing does not look at the strides."""
    if not isinstance(view, View):
        return view
    is_local = view.space is Space.LOCAL
    strides = contiguous(shape)
    if is_local:
        strides = strides_of(view.geometry, Layout.ALIGN_EU, view.address, shape, view.dtype)
    layout = Layout.ALIGN_EU if is_local else Layout.CONTIGUOUS
    return replace(view, shape=shape, layout=layout, strides=strides)


def _whole(name: str, is_result: bool, vendor: VendorView | None = None) -> Row:
    """All four strides are given."""

    def strides(f: Fields) -> Shape4:
        if f.stride_enable:
            n, c, h, w = (f.number(f"{name}_{axis}stride") for axis in "nchw")
            return n, c, h, w
        return default_strides(f, *located(f, name), _shape(f), data_type(f))

    return replace(side(name, _shape, is_result, storage=Layout.STRIDE, strides=strides), vendor=vendor)


@family("dma.decompress", registers=("DMA_decompress",))
class Decompress:
    """A compressed tensor (payload and table of lengths) to a plain one."""

    payload = _stream("racu", is_result=False)
    lengths = _lengths(is_result=False)
    destination = _plain("dst", is_result=True)
    vendor_text = "DMA decompress"

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"bias0": f.bias0, "bias1": f.bias1, "signed": bool(f.is_sign), "zero_guard": bool(f.zguard)}


@family("dma.compress", registers=("DMA_compress",))
class Compress:
    """A plain tensor to a compressed one (payload and table of lengths)."""

    source = _plain("src", is_result=False)
    payload = _stream("racu", is_result=True)
    lengths = _lengths(is_result=True)
    vendor_text = "DMA compress"
    attributes = Decompress.attributes


def _has_one_shape(bound: Bound) -> str:
    source, result = bound.fields.four("src", "size"), bound.fields.four("dst", "size")
    return "" if source == result else f"its source is {source} and its destination {result}"


_OF_CHANNELS = 2


def _reverses_lanes(bound: Bound) -> str:
    """Out of local memory only channels are reversed."""
    source = bound.operands["source"]
    is_within = isinstance(source, View) and source.space is Space.LOCAL and bound.fields.sub != _OF_CHANNELS
    return "it reverses another axis of local memory than the channels" if is_within else ""


@family("dma.reverse", registers=("DMA_reverse",))
class Reverse:
    """A copy with one axis reversed: sub types w, h, c, n."""

    source = _whole("src", is_result=False, vendor=_source_as_listed)
    destination = _whole("dst", is_result=True, vendor=_destination_as_listed)
    rules = (has_elements, _has_one_shape, is_apart_from_source, _reverses_lanes)

    @staticmethod
    def vendor_text(f: Fields) -> str:
        return "DMA reverse" if f.has("cmd_id") else ""

    @staticmethod
    def vendor_attributes(f: Fields) -> dict[str, Any]:
        return {"base": f.number("dst_nstride")}
