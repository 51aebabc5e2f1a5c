"""Other shapes of a command, in places where nothing overlaps: every extent, padded rows, first lanes other than 0."""

from __future__ import annotations

from collections.abc import Callable

from scripts.robustness.fuzz_simulator.variant import Variant
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.targets.families import transpose as tsbc
from tdb_dap.targets.families.dma import tensors as dma

Shape4 = tuple[int, int, int, int]


def reshape(v: Variant, sub: int) -> None:
    """Another shape for the operation ``sub`` of the form."""
    if v.case.engine == "dma":
        (_MOVES.get(v.case.family) or _unchanged)(v, sub)
        return
    family = v.case.family.removeprefix("bm1684.")
    if not v.has("res0_c") or v.case.family == "bm1684.lut":
        return
    packed = v.case.chip.table == "bm1684"
    if packed and family not in ("conv", "mm") and any(v[f"opd{i}_str"] == 3 for i in (0, 1)):
        return  # strides of its own, some of which repeat elements
    change = _SHAPES.get(family, _element_wise)
    change(v, sub)
    _place(v, first_lanes=change in (_element_wise, _swap_or_copy, _indexed, _indexed_rows))
    if v.case.family == "bm1684.arith":  # an axis without stride has one element
        v.set(**{f"opd1_{axis}_str": v.pick(0, 1, 1) for axis in "nhw"})
    for prefix in ("opd0", "opd1", "opd2", "res0"):
        if family != "conv" and v.has(f"{prefix}_str") and v[f"{prefix}_str"] == 3 and family not in ("sg", "sgl"):
            _strides(v, prefix)


def _place(v: Variant, first_lanes: bool) -> None:
    """An area for each operand; ``first_lanes``: now and then not from the first lane on."""
    lane = v.between(0, v.geometry.lanes - 1) if first_lanes and v.chance(0.4) else 0
    v.set(res0_addr=v.place(11, lane))
    if v.has("res1_addr") and v.case.family in ("cmp", "bm1684.cmp"):
        v.set(res1_addr=v.place(13, lane))
    for index, area in enumerate((0, 4, 6, 8)):
        if f"opd{index}" in v.in_memory:
            v.set(**{f"opd{index}_addr": v.place(area, lane)})


def _strides(v: Variant, prefix: str) -> None:
    """Explicit strides with gaps between rows and channels, or the aligned layout."""
    names = [f"{prefix}_{axis}_str" for axis in "nchw"]
    if v.case.chip.table == "bm1684" or not all(v.has(name) for name in names) or v.chance(0.3):
        v.set(**{f"{prefix}_str": 0})
        return
    _, channels, height, width = (v[f"res0_{axis}"] for axis in "nchw")
    row = width + v.pick(0, v.between(0, 7))
    step = height * row + v.pick(0, v.between(0, 40))
    lanes = v.geometry.lanes
    v.set(**dict(zip(names, ((channels // lanes + 2) * step, step, row, 1), strict=True)))


def _element_wise(v: Variant, sub: int) -> None:
    channels = v.pick(v.between(1, 12), v.between(1, v.geometry.lanes + 8))
    h, w = v.between(1, 4), v.between(1, 20)
    v.set(res0_n=v.between(1, 2), res0_c=channels, res0_h=h, res0_w=w)
    if v.case.family == "bm1684.cmp":
        step = -(-h * w // 32) * 32
        v.set(opd0_n_str=-(-channels // v.geometry.lanes) * step, opd0_c_str=step, opd0_h_str=w, opd0_w_str=1)


def _window(v: Variant, sub: int) -> None:
    """Kernel, strides, padding, dilation and inserted zeros, and the size of the result that follows."""
    kernel = v.between(1, 4), v.between(1, 4)
    stride = v.between(1, 3), v.between(1, 3)
    size = v.between(5, 10), v.between(5, 10)
    pads = [v.pick(0, 0, v.between(0, 2)) for _ in range(4)]
    is_convolution = v.case.family.removeprefix("bm1684.") == "conv"
    inserted = (v.pick(0, 0, 1), v.pick(0, 0, 1)) if v.chance(0.3) and v.case.family != "bm1684.pord" else (0, 0)
    dilation = (v.pick(0, 0, 1), v.pick(0, 0, 1)) if is_convolution else (0, 0)
    result = [
        (
            (size[i] - 1) * (inserted[i] + 1)
            + 1
            + pads[2 * i]
            + pads[2 * i + 1]
            - (kernel[i] - 1) * (dilation[i] + 1)
            - 1
        )
        // stride[i]
        + 1
        for i in (0, 1)
    ]
    if min(result) < 1:
        return
    v.set(opd1_h=kernel[0], opd1_w=kernel[1], res_op_y_str=stride[0], res_op_x_str=stride[1])
    v.set(opd0_h=size[0], opd0_w=size[1], res0_n=v.between(1, 2), res0_c=v.between(1, 40))
    v.set(opd0_up_pad=pads[0], opd0_dn_pad=pads[1], opd0_lf_pad=pads[2], opd0_rt_pad=pads[3])
    v.set(opd0_y_ins0=inserted[0], opd0_x_ins0=inserted[1], opd1_y_ins0=dilation[0], opd1_x_ins0=dilation[1])
    v.set(res0_h=result[0], res0_w=result[1])
    if is_convolution:
        channels = v.pick(v.between(1, 40), v.between(1, 40), v.between(41, 150))
        v.set(opd0_c=channels)
        unit = 2 if v["opd0_prec"] == 2 else 4
        units, area = -(-channels // unit), kernel[0] * kernel[1]
        if v.case.chip.table == "bm1684":
            v.set(opd1_n_str=1, opd1_c_str=area * units, opd1_h_str=kernel[1] * units, opd1_w_str=units)


def _matrix(v: Variant, sub: int) -> None:
    """Rows, inner size and columns of a product of two matrices."""
    rows, inner, columns = v.between(1, 40), v.between(1, 60), v.between(1, 60)
    plain = v["tsk_eu_typ"] == 4
    v.set(res0_c=rows, res0_w=columns, opd1_c=inner if plain else columns, opd1_w=columns if plain else inner)


def _blocks(v: Variant, sub: int) -> None:
    """Matrices cut into blocks of columns: rows, blocks, columns per lane, and those of the last lane."""
    width = v.between(1, 12)
    v.set(opd0_n=v.between(1, 12), opd0_c=v.between(1, 6), opd0_w=width, opd1_w=v.between(1, width))
    v.set(res0_c=v.between(1, v.geometry.lanes), res0_w=v.between(1, 12))
    inner = v["opd0_n"] if v.has("left_tran") and v["left_tran"] else width * (v["opd0_c"] - 1) + v["opd1_w"]
    v.set(opd1_n=inner, opd1_c=v["res0_c"])


def _vectors(v: Variant, sub: int) -> None:
    width = v.between(1, 5)
    v.set(opd0_c=v.between(1, 6), opd0_w=width, opd1_w=v.between(1, width))
    v.set(res0_c=v.between(1, v.geometry.lanes + 4), res0_w=v.between(1, 16))
    v.set(opd1_prec=v["opd0_prec"], res0_prec=v["opd0_prec"])


def _swap_or_copy(v: Variant, sub: int) -> None:
    """Extents of both sides: lanes and columns change places in the transpositions."""
    wide = v.geometry.lanes + 8
    n, h = v.between(1, 3), v.between(1, 4)
    c, w = v.pick(v.between(1, 12), v.between(1, wide)), v.pick(v.between(1, 20), v.between(1, wide))
    if sub == tsbc.STATIC_BROADCAST:
        n, h = 1, 1
    if sub == tsbc.STATIC_DISTRIBUTE:
        n, h, w = 1, 1, 1
    swapped = sub in (tsbc.LANE_TO_WIDTH, tsbc.WIDTH_TO_LANE)
    v.set(res0_n=n, res0_c=c, res0_h=h, res0_w=w)
    v.set(opd0_n=n, opd0_c=w if swapped else c, opd0_h=h, opd0_w=c if swapped else w)
    if sub == tsbc.LANE_BROADCAST:
        v.set(opd0_c=1)


def _indexed(v: Variant, sub: int) -> None:
    """Rows that are gathered from or scattered to, and indices: one list for all channels, or one for each."""
    n, c = v.between(1, 3), v.pick(v.between(1, 12), v.between(1, v.geometry.lanes + 8))
    h, w = v.between(1, 3), v.between(1, 40)
    rows, columns = v.between(1, 4), v.between(1, 40)
    if sub in (0, 1):  # one list for all channels
        v.set(res0_n=n, res0_c=c, res0_h=h, res0_w=w, opd1_c=h * w, opd1_w=1)
        v.set(opd0_h=rows if sub else 1, opd0_w=columns)
    elif sub in (5, 13):  # gathering
        v.set(res0_n=n, res0_c=c, res0_h=1, res0_w=w, opd0_h=rows, opd0_w=columns, opd1_c=c, opd1_w=w)
    else:
        v.set(res0_n=n, res0_c=c, res0_h=h, res0_w=w, opd0_h=1, opd0_w=columns, opd1_c=c, opd1_w=columns)


def _indexed_rows(v: Variant, sub: int) -> None:
    c = v.pick(v.between(1, 12), v.between(1, v.geometry.lanes + 8))
    v.set(res0_n=v.between(1, 2), res0_c=c, res0_h=v.between(1, 6), res0_w=v.between(1, 20), opd0_h=v.between(1, 6))
    v.set(opd0_str=v.pick(3, 4) if v.has("opd0_str") else 0)


_SHAPES: dict[str, Callable[[Variant, int], None]] = {
    "conv": _window,
    "pord": _window,
    "mm2": _matrix,
    "mm": _blocks,
    "vc": _vectors,
    "tsbc": _swap_or_copy,
    "sg": _indexed,
    "sgl": _indexed_rows,
}


# Moves


def _unchanged(v: Variant, sub: int) -> None:
    """Streams whose sizes belong to their contents."""


def _first_lane(v: Variant, side: str, area: int) -> int:
    """Move a side in local memory to an area, now and then not at the first lane; the lane that it starts at."""
    if v.space_of(side) is not Space.LOCAL:
        return 0
    lane = v.between(0, v.geometry.lanes - 1) if v.chance(0.4) else 0
    v.set_address(side, v.local_address(v.place(area, lane)))
    return lane


def _padded(v: Variant, side: str, shape: Shape4, lane: int, columns: int = 1) -> Shape4:
    """Strides of a tensor with gaps between columns, rows, channels and batches."""
    _, channels, height, width = shape
    row = width * columns + v.pick(0, v.between(0, 9))
    step = height * row + v.pick(0, v.between(0, 40))
    count = -(-(channels + lane) // v.geometry.lanes) if v.space_of(side) is Space.LOCAL else channels
    return count * step + v.pick(0, v.between(0, 40)), step, row, columns


def _set_four(v: Variant, start: str, end: str, values: Shape4) -> None:
    v.set(**{f"{start}_{axis}{end}": value for axis, value in zip("nchw", values, strict=True)})


def _tensor_move(v: Variant, sub: int) -> None:
    """Sizes and strides of both sides; a copy may end in another shape of the same size."""
    n, c, h, w = v.between(1, 3), v.between(1, 70), v.between(1, 5), v.between(1, 20)
    is_old = v.case.family == "bm1684.dma"
    _set_four(v, "src", "size", (n, c, h, w))
    if v.has("all_reduce_code") and v.chance(0.5):
        _reduce(v)
    swap = (is_old and sub == 5) or v.case.family == "dma.cw_transpose"
    across = swap or (not is_old and sub in (dma.COLLECT, dma.DISTRIBUTE))
    result = (n, w, h, c) if across else (c, n, h, w) if sub == dma.TRANSPOSE else (n, c, h, w)
    same = not across and sub != dma.TRANSPOSE
    plain = same and (is_old or sub == dma.COPY)
    source = (n, 1, h, w) if sub == dma.BROADCAST and not is_old else (n, c, h, w)
    if sub == dma.BROADCAST and not is_old:
        v.set(src_csize=1 if v.chance(0.5) else c, dst_csize=c)
    reshaped = plain and not is_old and v.chance(0.4)
    if reshaped:
        result = v.pick_shape((n, c, h, w))
    _set_four(v, "dst", "size", result)
    v.set(nchw_copy=int(plain and not reshaped), chw_copy=int(plain and not reshaped))
    lanes = {side: _first_lane(v, side, area) for side, area in (("src", 0), ("dst", 8))}
    given = v.chance(0.6)
    v.set(stride_enable=int(given))
    if given:
        columns = 2 if plain and not is_old and v.chance(0.2) else 1
        _set_four(v, "src", "stride", _padded(v, "src", source, lanes["src"], columns))
        _set_four(v, "dst", "stride", _padded(v, "dst", result, lanes["dst"]))


def _reduce(v: Variant) -> None:
    """Any code of the reduction, mostly in L2, where it counts."""
    v.set(all_reduce_code=v.between(0, 15) << 12 | v.between(0, 2) << 8 | v.between(0, 4) << 4 | v.between(0, 15))
    if v.chance(0.8):
        v.set_address("dst", v.geometry.device_address(Space.L2, v.between(0, 1 << 10) & ~3))


def _matrix_move(v: Variant, sub: int) -> None:
    """Rows and columns of the dense side, columns per lane and strides of the local one."""
    local = "dst" if v.space_of("dst") is Space.LOCAL else "src"
    dense = "src" if local == "dst" else "dst"
    if v.space_of(local) is not Space.LOCAL:
        return
    h, w, width = v.between(1, 12), v.between(1, 90), v.between(1, 20)
    rows, columns = (w, h) if sub == dma.TRANSPOSE else (h, w)
    width = max(1, min(width, columns))
    blocks = -(-columns // width)
    lane = _first_lane(v, local, 8)
    _, step, _, _ = _padded(v, local, (rows, blocks, 1, width), lane)
    batch = -(-(blocks + lane) // v.geometry.lanes) * step + v.pick(0, v.between(0, 9))
    v.set(**{f"{dense}_hsize": h, f"{dense}_wsize": w, f"{dense}_hstride": w + v.pick(0, v.between(0, 9))})
    v.set(**{f"{local}_nsize": rows, f"{local}_csize": blocks, f"{local}_wsize": width})
    v.set(**{f"{local}_nstride": batch, f"{local}_cstride": step, "stride_enable": 1})


def _linear_move(v: Variant, sub: int) -> None:
    count = v.between(1, 3000)
    v.set(src_cstride=count, dst_csize=v.between(1, v.geometry.lanes) if sub == 1 else 0)


def _indexed_move(v: Variant, sub: int) -> None:
    """Rows that are chosen, with an index for each channel or one for all."""
    c, rows, count, width = v.between(1, 40), v.between(1, 12), v.between(1, 12), v.between(1, 20)
    v.set(src_csize=v.pick(1, c), index_csize=v.pick(1, c), src_wsize=width, src_hsize=rows, dst_hsize=count)
    is_gather = v.case.family == "dma.gather"
    v.set(index_hsize=count if is_gather else rows, nchw_copy=0, stride_enable=1)
    v.set(start_pos=v.pick(0, v.between(0, 3)))
    for side, height, area in (("src", rows, 0), ("dst", count, 8)):
        lane = _first_lane(v, side, area)
        _, step, row, _ = _padded(v, side, (1, c, height, width), lane)
        v.set(**{f"{side}_cstride": step, f"{side}_hstride": row})
    v.set(index_hstride=1, index_cstride=v["index_hsize"] + v.pick(0, v.between(0, 5)))


def _chosen_move(v: Variant, sub: int) -> None:
    shape = v.between(1, 3), v.between(1, 20), v.between(1, 5), v.between(1, 20)
    _set_four(v, "src", "size", shape)
    lane = _first_lane(v, "src", 0)
    v.set(stride_enable=int(v.chance(0.5)))
    _set_four(v, "src", "stride", _padded(v, "src", shape, lane))


def _reversed_move(v: Variant, sub: int) -> None:
    shape = v.between(1, 3), v.between(1, 40), v.between(1, 5), v.between(1, 20)
    _set_four(v, "src", "size", shape)
    _set_four(v, "dst", "size", shape)
    for side, area in (("src", 0), ("dst", 8)):
        _set_four(v, side, "stride", _padded(v, side, shape, _first_lane(v, side, area)))
    v.set(stride_enable=1)


_MOVES: dict[str, Callable[[Variant, int], None]] = {
    "dma.tensor": _tensor_move,
    "bm1684.dma": _tensor_move,
    "dma.cw_transpose": _tensor_move,
    "dma.matrix": _matrix_move,
    "dma.general": _linear_move,
    "dma.gather": _indexed_move,
    "dma.scatter": _indexed_move,
    "dma.masked_select": _chosen_move,
    "dma.nonzero": _chosen_move,
    "dma.reverse": _reversed_move,
}
