"""Moves between memories: tensors, matrices and linear blocks."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.byte_ranges import are_overwritten, has_overlaps, share_a_byte
from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.views import Layout, Operand, View, strides_of
from tdb_dap.errors import Undefined
from tdb_dap.targets.declaration.family import Bound, Row, Shape, VendorView, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields

COPY, TRANSPOSE, COLLECT, BROADCAST, DISTRIBUTE, BANK_COPY, BANK_BROADCAST = 0, 1, 2, 3, 4, 5, 6
Shape4 = tuple[int, int, int, int]


def data_type(f: Fields) -> DType:
    return f.dma_dtype(f.src_data_format)


def address(f: Fields, name: str) -> int:
    """A device address of two fields."""
    return f.device_address(name)


def lane_mask(f: Fields) -> int | None:
    """Lanes that take part; None if all do, or if the chip cannot leave any out."""
    if not f.has("localmem_mask_l32"):
        return None
    lanes = f.geometry.lanes
    mask = f.localmem_mask_h32 << 32 | f.localmem_mask_l32
    everything = (1 << lanes) - 1
    return None if mask & everything == everything else mask


def default_strides(f: Fields, space: Space, offset: int, shape: Shape4, dtype: DType) -> Shape4:
    """Strides when the command gives none: aligned in local memory, dense elsewhere."""
    if space is Space.LOCAL:
        return strides_of(f.geometry, Layout.ALIGN_EU, offset, shape, dtype)
    n, c, h, w = contiguous(shape)
    return n, c, h, w


def located(f: Fields, name: str) -> tuple[Space, int]:
    """Space and offset of one side: ``name`` is the start of its address fields."""
    return f.located(name)


def side(name: str, shape: Shape, is_result: bool = False, **details: Any) -> Row:
    """A row for one side of a move, wherever its address is; a source may be filled with a constant if it says so."""

    def number(f: Fields) -> int:
        return f.constant_value if details.get("constant") is filled and filled(f) else 0

    details.setdefault("dtype", data_type)
    if is_result:
        return result_(name, shape, side=name, **details)
    details.setdefault("constant", False)
    return operand(name, shape, number=number, side=name, **details)


def transfer(name: str, shape: Shape, **details: Any) -> Row:
    """A row for the source (``src``) or destination (``dst``) of a move."""
    return side(name, shape, is_result=name == "dst", **details)


def filled(f: Fields) -> bool:
    """The source is a constant of the command."""
    return bool(f.fill_constant_en)


def _given_strides(f: Fields, side: str, shape: Shape4, last: int | None) -> Shape4:
    if not f.stride_enable:
        space, offset = located(f, side)
        return default_strides(f, space, offset, shape, data_type(f))
    n, c, h, w = _four(f, side, "stride")
    return n, c, h, w if last is None else last


def _four(f: Fields, side: str, what: str) -> Shape4:
    return (
        getattr(f, f"{side}_n{what}"),
        getattr(f, f"{side}_c{what}"),
        getattr(f, f"{side}_h{what}"),
        getattr(f, f"{side}_w{what}"),
    )


def _source_shape(f: Fields) -> Shape4:
    n, c, h, w = _four(f, "src", "size")
    return (n, 1, h, w) if f.sub == BROADCAST else (n, c, h, w)


def _destination_shape(f: Fields) -> Shape4:
    n, c, h, w = _four(f, "src", "size")
    if f.sub == TRANSPOSE:
        return c, n, h, w
    if f.sub in (COLLECT, DISTRIBUTE) and f.conventions.distributes:
        return n, w, h, c
    if f.sub == BROADCAST:
        return n, f.dst_csize, h, w
    return (n, c, h, w) if f.nchw_copy else _four(f, "dst", "size")


def _is_strided(f: Fields) -> int | None:
    """Only the plain copy has a column stride; elsewhere it is 1."""
    return None if f.sub == COPY else 1


def _as_listed(side: str) -> VendorView:
    """The vendor's listing prints the stride fields even where the command does not use them."""

    def listed(f: Fields, view: Operand) -> Operand:
        if not isinstance(view, View):
            return view
        n, c, h, w = _four(f, side, "stride")
        shape = view.shape
        if f.sub == BROADCAST and side == "dst" and not f.has("decompress_enable"):
            shape = (shape[0], f.src_csize, *shape[2:])
        return replace(view, shape=shape, strides=(n, c, h, 1 if f.sub != COPY else w), lane_mask=None)

    return listed


def move_attributes(f: Fields) -> dict[str, Any]:
    """Decompression and the lanes that take part, where they are not the usual ones."""
    attributes: dict[str, Any] = {}
    if f.has("decompress_enable") and not filled(f):
        attributes["decompress"] = bool(f.decompress_enable)
    mask = lane_mask(f)
    if mask is not None:
        attributes["lane_mask"] = hex(mask)
    return attributes


def _goes_to_banks(f: Fields) -> bool:
    return f.sub in (BANK_COPY, BANK_BROADCAST) and is_local(f, "dst")


def _destination_mask(f: Fields) -> int | None:
    """The mask acts on a local destination; a broadcast goes to all its lanes."""
    return None if f.sub == BROADCAST else lane_mask(f)


REDUCE_MUL, REDUCE_MAX, REDUCE_MIN, REDUCE_ADD = 1, 2, 3, 4
REDUCTIONS = {REDUCE_MUL: "mul", REDUCE_MAX: "max", REDUCE_MIN: "min", REDUCE_ADD: "add"}


def reduction(f: Fields) -> int:
    """The operation that combines what is moved with what the destination holds; 0: it is replaced.

    all_reduce_code: the operation in bits 4 to 7, whether the old value counts in bits 8 to 11; the others mean
    nothing. Only L2 has the unit that does it: elsewhere the code means nothing.
    """
    code = f.all_reduce_code if f.has("all_reduce_code") else 0
    operation = code >> 4 & 15
    if not (operation and code >> 8 & 15) or located(f, "dst")[0] is not Space.L2:
        return 0
    if operation not in REDUCTIONS:
        raise Undefined(f"the all-reduce operation {operation} is not defined")
    return operation


def _tensor_attributes(f: Fields) -> dict[str, Any]:
    attributes = move_attributes(f)
    operation = reduction(f)
    if operation:
        attributes["all_reduce"] = REDUCTIONS[operation]
    elif f.has("all_reduce_code") and f.all_reduce_code:
        attributes["all_reduce_code"] = hex(f.all_reduce_code)
    return attributes


def has_elements(bound: Bound) -> str:
    """No extent of a move is zero."""
    views = {role: view for role, view in (*bound.operands.items(), *bound.results.items()) if isinstance(view, View)}
    return next((f"its {role} has no elements: {view.memref}" for role, view in views.items() if 0 in view.shape), "")


def takes_every_lane(bound: Bound) -> str:
    """Not every chip looks at the mask of lanes."""
    f = bound.fields
    is_masked = not f.conventions.masks_lanes and lane_mask(f) is not None
    return "its mask leaves lanes out, which this chip does not" if is_masked else ""


_NOWHERE = 0xFF
"""The top byte of the address to which such moves go."""


def _has_some_elements(bound: Bound) -> str:
    """A move has elements; on some chips the firmware passes time with moves without any size, to nowhere."""
    f, views = bound.fields, (*bound.operands.values(), *bound.results.values())
    has_no_size = not any(any(view.shape) for view in views if isinstance(view, View))
    goes_nowhere = f.has("dst_start_addr_h8") and f.dst_start_addr_h8 == _NOWHERE
    is_idle = has_no_size and goes_nowhere and not f.stride_enable
    return "" if is_idle and f.conventions.idles_by_moves else has_elements(bound)


def has_rows_apart(bound: Bound) -> str:
    """In which order elements are written that share bytes is not known."""
    result = bound.results["destination"]
    overlaps = bound.fields.stride_enable and isinstance(result, View) and has_overlaps(result)
    return "elements of its destination overlap" if overlaps else ""


def _has_steps(bound: Bound) -> str:
    """The step from column to column, which only a plain copy has, is not zero where there are several columns.

    Nor is it for one column outside of local memory, on chips that divide by it.
    """
    f = bound.fields
    if not f.stride_enable or _is_strided(f) is not None:
        return ""
    for role, step in (("source", f.src_wstride), ("destination", f.dst_wstride)):
        view = bound.operands.get(role) or bound.results.get(role)
        if step or not isinstance(view, View):
            continue
        if view.shape[3] > 1 or (f.conventions.divides_by_steps and view.space is not Space.LOCAL):
            return f"the step from column to column of its {role} is 0"
    return ""


def is_apart_from_source(bound: Bound) -> str:
    """In which order elements move that change their places is not known."""
    source = bound.operands.get("source")
    overlaps = source is not None and share_a_byte(source, bound.results["destination"])
    return "its destination overlaps its source" if overlaps else ""


def copies_in_turn(bound: Bound) -> str:
    """Elements of a copy move one after the other: each is read before it is overwritten."""
    source, destination = bound.operands.get("source"), bound.results["destination"]
    if not isinstance(source, View) or not isinstance(destination, View) or source.size != destination.size:
        return is_apart_from_source(bound)
    is_late = share_a_byte(source, destination) and are_overwritten(source, destination, not reduction(bound.fields))
    return "its destination overlaps its source, elements of which come later" if is_late else ""


def _moves_in_turn(bound: Bound) -> str:
    f = bound.fields
    is_copy = f.sub in (COPY, BANK_COPY) or (f.sub in (COLLECT, DISTRIBUTE) and not f.conventions.distributes)
    return copies_in_turn(bound) if is_copy else is_apart_from_source(bound)


def _sizes_fit(bound: Bound) -> str:
    """As many elements arrive as leave; one channel becomes many in local memory only."""
    f = bound.fields
    source, result = bound.operands.get("source"), bound.results["destination"]
    if f.sub == BROADCAST and not is_local(f, "dst"):
        return "its destination is no local memory, and only there one channel becomes many"
    given = _four(f, "dst", "size")
    if f.sub == COLLECT and f.conventions.distributes and not is_local(f, "src"):
        return "its source is no local memory"
    if f.sub == DISTRIBUTE and f.conventions.distributes and not is_local(f, "dst"):
        return "its destination is no local memory"
    if f.sub == BROADCAST and isinstance(result, View):
        lane = result.address // f.geometry.lane_bytes
        if lane + result.shape[1] > f.geometry.lanes:
            return f"it goes to {result.shape[1]} lanes from lane {lane} on, and there are {f.geometry.lanes}"
    if f.sub == BROADCAST and f.has("dst_nsize") and 0 in given:
        return f"its destination has no elements: {'x'.join(map(str, given))}"
    if f.sub == TRANSPOSE and not f.nchw_copy and math.prod(given) != math.prod(_four(f, "src", "size")):
        return "its source and its destination have other numbers of elements"
    if f.sub != BROADCAST and isinstance(source, View) and isinstance(result, View) and source.size != result.size:
        return f"its source has {source.size} elements and its destination {result.size}"
    return ""


@family("dma.tensor", registers=("DMA_tensor",))
class TensorMove:
    """Copy of a tensor, element by element in n, c, h, w order; the shapes of source and destination may differ.

    transpose: (n,c,h,w) to (c,n,h,w); collect, distribute: to (n,w,h,c), or a copy on some chips; broadcast: one
    channel to many; 4bank: the same in four banks. all_reduce: what arrives is added to, multiplied with, ... what the
    destination in L2 holds.
    """

    source = transfer(
        "src",
        _source_shape,
        storage=lambda f: _side_layout(f, "src"),
        constant=filled,
        strides=lambda f: _given_strides(f, "src", _source_shape(f), _is_strided(f)),
        vendor=_as_listed("src"),
    )
    old = side(
        "dst",
        _destination_shape,
        storage=lambda f: _side_layout(f, "dst"),
        strides=lambda f: _given_strides(f, "dst", _destination_shape(f), _is_strided(f)),
        hidden=True,
        when=reduction,
    )
    destination = transfer(
        "dst",
        _destination_shape,
        storage=lambda f: Layout.DMA_4BANK if _goes_to_banks(f) else _side_layout(f, "dst"),
        strides=lambda f: _given_strides(f, "dst", _destination_shape(f), _is_strided(f)),
        lane_mask=_destination_mask,
        vendor=_as_listed("dst"),
    )
    attributes = staticmethod(_tensor_attributes)
    vendor_attributes = staticmethod(move_attributes)
    rules = (
        _has_some_elements,
        _sizes_fit,
        _has_steps,
        has_rows_apart,
        takes_every_lane,
        _moves_in_turn,
    )


def _side_layout(f: Fields, side: str) -> Layout:
    space, _ = located(f, side)
    return Layout.STRIDE if space is Space.LOCAL else Layout.DMA_STRIDE


def is_local(f: Fields, side: str) -> bool:
    return located(f, side)[0] is Space.LOCAL


def is_store(f: Fields) -> bool:
    return is_local(f, "src")


def _matrix_shape(f: Fields, side: str) -> tuple[int, ...]:
    """Rows and columns; the side in DDR gives them, the local side is transposed if the command says so."""
    dense = "dst" if is_store(f) else "src"
    height, width = getattr(f, f"{dense}_hsize"), getattr(f, f"{dense}_wsize")
    if not is_local(f, side):
        return 1, 1, height, width
    return (width, height) if f.sub == TRANSPOSE else (height, width)


def _matrix_strides(f: Fields, side: str) -> tuple[int, ...]:
    if is_local(f, side):
        return getattr(f, f"{side}_nstride"), getattr(f, f"{side}_cstride"), 0, 1
    return 0, 0, getattr(f, f"{side}_hstride"), 1


def _matrix_as_listed(side: str) -> VendorView:
    """On chips with 45-bit addresses the vendor's listing takes every store for a load."""

    def listed(f: Fields, view: Operand) -> Operand:
        if not isinstance(view, View) or f.geometry.tag_shift < 40 or not is_store(f):
            return view
        shape = (f.src_hsize, f.src_wsize)
        if side == "src":
            return replace(view, shape=(1, 1, *shape), strides=(0, 0, f.src_hstride, 1))
        return replace(view, shape=shape, strides=(f.dst_nstride, f.dst_cstride, 0, 1))

    return listed


def _matrix_row(side: str) -> Row:
    return transfer(
        side,
        lambda f: _matrix_shape(f, side),
        storage=lambda f: Layout.DMA_MATRIX if is_local(f, side) else Layout.DMA_STRIDE,
        strides=lambda f: _matrix_strides(f, side),
        width=lambda f: getattr(f, f"{side}_wsize") if is_local(f, side) else 0,
        lane_mask=lambda f: lane_mask(f) if side == "dst" else None,
        vendor=_matrix_as_listed(side),
        **({"constant": filled} if side == "src" else {}),
    )


_MOST_BYTES = 1 << 33
"""Of a matrix outside of local memory, with the gaps between its rows."""


def _has_blocks(bound: Bound) -> str:
    """The sizes of the local side are those that follow from the other one."""
    f = bound.fields
    local, dense = ("src", "dst") if is_store(f) else ("dst", "src")
    if not is_local(f, local) or is_local(f, dense):
        return "it is between two memories of one kind"
    rows, columns = _matrix_shape(f, local)
    width, given = f.number(f"{local}_wsize"), (f.number(f"{local}_nsize"), f.number(f"{local}_csize"))
    if not width or (rows, -(-columns // width)) != given:
        return f"a matrix of {rows}x{columns} in blocks of {width} columns, and it says {given[0]}x{given[1]} blocks"
    step = f.number(f"{dense}_hstride")
    if step * f.number(f"{dense}_hsize") * data_type(f).itemsize > _MOST_BYTES:
        return f"its rows are {step} numbers from each other"
    _, offset = located(f, local)
    row = f.number(f"{local}_nstride")
    extent = ((rows - 1) * row + max(row, width)) * data_type(f).itemsize
    if offset % f.geometry.lane_bytes + extent > f.geometry.lane_bytes:
        return f"its rows leave their lanes: {rows} of {row} numbers, in blocks of {width}"
    return ""


@family("dma.matrix", registers=("DMA_matrix",))
class MatrixMove:
    """Copy between a dense matrix in DDR and one cut into blocks of ``wsize`` columns, one lane each."""

    source = _matrix_row("src")
    destination = _matrix_row("dst")
    attributes = staticmethod(move_attributes)
    rules = (has_elements, _has_blocks, takes_every_lane)


def _count(f: Fields) -> int:
    if not (f.conventions.strided_by_sizes and f.stride_enable):
        return f.src_cstride
    width = f.src_wsize_h16 << 16 | f.src_wsize_l16 if f.has("src_wsize_l16") else f.src_wsize
    return f.src_nsize * (1 if f.sub == 1 else f.src_csize) * f.src_hsize * width


def _linear_shape(f: Fields) -> tuple[int, ...]:
    return (_count(f),)


def _linear_destination(f: Fields) -> tuple[int, ...]:
    return (1, f.dst_csize, 1, _count(f)) if f.sub == 1 else (_count(f),)


def _goes_to_lanes(bound: Bound) -> str:
    f = bound.fields
    return "its destination is no local memory" if f.sub == 1 and not is_local(f, "dst") else ""


@family("dma.general", registers=("DMA_general", "sDMA_general"))
class LinearMove:
    """Copy of consecutive elements; broadcast: to the same offset of ``dst_csize`` lanes."""

    source = transfer("src", _linear_shape, storage=Layout.DMA_LINEAR, constant=filled, strides=lambda f: (1,))
    destination = transfer(
        "dst",
        _linear_destination,
        storage=Layout.DMA_LINEAR,
        strides=lambda f: (0, 0, 0, 1) if f.sub == 1 else (1,),
    )
    attributes = staticmethod(move_attributes)
    rules = (_has_some_elements, _goes_to_lanes)


def _swapped(f: Fields) -> Shape4:
    n, c, h, w = _four(f, "src", "size")
    return n, w, h, c


@family("dma.cw_transpose", registers=("DMA_cw_transpose",))
class ChannelColumnSwap:
    """(n, c, h, w) to (n, w, h, c)."""

    source = transfer(
        "src",
        lambda f: _four(f, "src", "size"),
        storage=lambda f: _side_layout(f, "src"),
        constant=filled,
        strides=lambda f: _given_strides(f, "src", _four(f, "src", "size"), 1),
    )
    destination = transfer(
        "dst",
        _swapped,
        storage=lambda f: _side_layout(f, "dst"),
        strides=lambda f: _given_strides(f, "dst", _swapped(f), 1),
        lane_mask=lane_mask,
    )
    attributes = staticmethod(move_attributes)
    rules = (has_elements, has_rows_apart, takes_every_lane, is_apart_from_source)
