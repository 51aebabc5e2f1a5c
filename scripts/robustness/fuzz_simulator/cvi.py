"""Random variants of commands of CV18xx, whose fields have no number formats and few options."""

from __future__ import annotations

from collections.abc import Callable

from scripts.robustness.fuzz_simulator.contents import Random
from scripts.robustness.fuzz_simulator.seeds import Case
from scripts.robustness.fuzz_simulator.variant import Variant
from tdb_dap.targets.families.cv18xx import elements, move, windows

_AXES = "nchw"
_MEMORY = 1
"""The memory that the bench is in."""


def mutate_cvi(case: Case, random: Random, kind: str, ddr_start: int, stay: bool) -> Case:
    """A random variant. ``stay``: keep the operation."""
    v = Variant(case, random, kind, ddr_start)
    chosen = case.kind
    if case.family == "cvi.arith" and not stay:
        chosen = _another_operation(v)
    instruction = case.chip.instruction_set.instructions[chosen]
    if case.family == "cvi.arith":
        v.set(res_add=int(instruction.sub == elements.MAC))
        if instruction.sub in (*elements.BITWISE, elements.SHIFT):
            v.set(opd_typ=0)
    _VARIANTS[case.family](v, instruction.sub)
    if case.engine == "tiu":
        _numbers(v, case.family, instruction.sub)
    return v.finished(chosen)


def _another_operation(v: Variant) -> int:
    table = v.case.chip.instruction_set.instructions
    kinds = [kind for kind, form in enumerate(table) if form.register == v.case.instruction.register]
    chosen = v.pick(*kinds)
    sub = table[chosen].sub
    v.set(tsk_eu_typ=sub, chl_quan=0)
    if sub != elements.COPY:
        v.set(tsk_opd_num=2, opd1_const=1, opd1_addr=1)
        v.set(**{f"opd1_{axis}": v[f"res0_{axis}"] for axis in _AXES})
    return chosen


def _numbers(v: Variant, family: str, sub: int) -> None:
    """Signs, widths, shifts, multipliers, rectification, as far as the simulator takes them."""
    is_float = bool(v["opd_typ"])
    is_calculated = family in ("cvi.conv", "cvi.matrix", "cvi.depthwise") or (
        family == "cvi.arith" and sub in (elements.MUL, elements.MAC)
    )
    v.set(relu=v.between(0, 1) if is_calculated and v.chance(0.5) else 0)
    if is_float:
        return
    if v.chance(0.5) and family != "cvi.lut":
        v.set(opd0_sign=v.between(0, 1), opd1_sign=v.between(0, 1))
        is_signed = v["opd0_sign"] or (v["opd1_sign"] and family != "cvi.pool")
        v.set(res0_sign=int(bool(is_signed) or (family == "cvi.arith" and sub == elements.SUB)))
    plane = v.geometry.lane_bytes // 32
    if is_calculated and v.chance(0.15):
        v.set(res0_seg=v.between(0, 1), res0_b_str=v["res0_b_str"] or plane)
    if v.chance(0.5) and (is_calculated or family == "cvi.pool"):
        v.set(res_shift=v.between(0, 14))
    if v.chance(0.2):
        v.set(rshift_typ=v.between(0, 1))
    if family == "cvi.arith" and sub in (elements.ADD, elements.SUB, elements.SHIFT):
        v.set(opd0_seg=0, opd1_seg=0, res0_seg=0, opd0_b_str=plane, opd1_b_str=plane, res0_b_str=plane)
    if family == "cvi.arith" and sub == elements.MAC:
        v.set(left_shift=v.between(0, 9), res0_b_str=v["res0_b_str"] or plane)
    if family == "cvi.arith" and sub == elements.MUL and v.chance(0.4):
        v.set(chl_quan=v.between(0, 1), quan_m=v.between(1 << 29, (1 << 31) - 1))
    if family == "cvi.matrix" and v["chl_quan"] and v.chance(0.5):
        v.set(quan_m=v.between(1 << 29, (1 << 31) - 1))


def _shape_of_elements(v: Variant, sub: int) -> None:
    if v.chance(0.6):
        shape = v.pick(1, 1, 2), v.between(1, 20), v.between(1, 5), v.between(1, 12)
        for prefix in ("res0", "opd0", "opd1"):
            _lay_out(v, prefix, shape)
        lane = v.between(0, v.geometry.lanes - 1) if v.chance(0.15) and v["opd1_const"] else 0
        v.set(res0_addr=v.place(0, lane), opd0_addr=v.place(4, lane), opd2_str=3)
        if not v["opd1_const"]:
            v.set(opd1_addr=v.place(8))
    if sub != elements.COPY and v.chance(0.3):
        v.set(opd1_const=v.between(0, 1))
        v.set(opd1_addr=v.between(0, 0xFFFF) if v["opd1_const"] else v.place(8))
        v.set(res0_addr=v["res0_addr"] % v.geometry.lane_bytes, opd0_addr=v["opd0_addr"] % v.geometry.lane_bytes)
        if not v["opd1_const"]:
            _lay_out(v, "opd1", tuple(v[f"res0_{axis}"] for axis in _AXES))
    elif v["opd1_const"] and v.chance(0.7):
        v.set(opd1_addr=v.between(0, 0xFFFF))


def _lay_out(v: Variant, prefix: str, shape: tuple[int, ...]) -> None:
    """A shape with steps of its own, some of which may repeat elements; of a look-up aligned."""
    _, c, h, w = shape
    size = 2 if v["opd_typ"] else 1
    v.set(**{f"{prefix}_{axis}": extent for axis, extent in zip(_AXES, shape, strict=True)})
    v.set(**{f"{prefix}_str": 0 if v.case.family == "cvi.lut" else 3})
    if v.case.family == "cvi.lut":
        return
    column = size * v.pick(1, 1, 1, 2)
    row = w * column + size * v.pick(0, 0, 3)
    channel = -(-h * row // 16) * 16
    rows = -(-c // v.geometry.lanes)
    steps = [rows * channel, channel, row, column]
    if prefix != "res0" and v.chance(0.25):
        steps[v.between(0, 3)] = 0
    v.set(**{f"{prefix}_{axis}_str": step for axis, step in zip(_AXES, steps, strict=True)})


def _windows(v: Variant, sub: int) -> None:
    """Another window over the image, and the result that it gives."""
    if v.chance(0.7):
        n, c, h, w = v.pick(1, 1, 2), v["opd0_c"], v.between(1, 12), v.between(1, 12)
        is_image = v.case.family != "cvi.conv"
        c = v.between(1, 20) if is_image or v.chance(0.5) else c
        kernel_h, kernel_w = v.between(1, 4), v.between(1, 4)
        pads = [v.between(0, 2) if v.chance(0.4) else 0 for _ in range(4)]
        inserted = [v.between(0, 2) if v.chance(0.2) else 0 for _ in range(4)]
        dilation = [v.between(0, 2) if v.chance(0.2) else 0 for _ in range(2)]
        if v.case.family == "cvi.pool":  # nobody inserts anything there, and the simulator does not take it
            inserted = inserted if sub == windows.AVERAGE else [0] * 4
            dilation = [0, 0]
        steps = v.between(1, 3), v.between(1, 3)
        height = h + (h - 1) * inserted[0] + inserted[2] + pads[0] + pads[1]
        width = w + (w - 1) * inserted[1] + inserted[3] + pads[2] + pads[3]
        rows = (height - (kernel_h - 1) * (dilation[0] + 1) - 1) // steps[0] + 1
        columns = (width - (kernel_w - 1) * (dilation[1] + 1) - 1) // steps[1] + 1
        if rows < 1 or columns < 1:
            return
        channels = v.between(1, 20) if not is_image else c
        v.set(opd0_y_ins0=inserted[0], opd0_x_ins0=inserted[1])
        v.set(opd0_y_ins0_last=inserted[2], opd0_x_ins0_last=inserted[3])
        v.set(opd0_up_pad=pads[0], opd0_dn_pad=pads[1], opd0_lf_pad=pads[2], opd0_rt_pad=pads[3])
        v.set(opd1_y_ins0=dilation[0], opd1_x_ins0=dilation[1], res_op_y_str=steps[0], res_op_x_str=steps[1])
        _place_windows(v, (n, c, h, w), (n, channels, rows, columns), (kernel_h, kernel_w))
    is_sum = v.case.family != "cvi.pool" or sub == windows.AVERAGE
    if is_sum and v["opd_typ"]:
        v.set(opd0_ins_val=0, opd0_ins_fp=0)
    elif v.chance(0.5):
        v.set(opd0_ins_val=v.between(0, 0xFFFF if not v.has("opd0_ins_fp") else 0xFF))
        v.set(opd0_ins_fp=v.between(0, 0xFFFF))
    if v.case.family == "cvi.pool" and sub == windows.AVERAGE and v.chance(0.5):
        v.set(opd1_addr=v.between(0, 0xFFFF))
    if v.case.family == "cvi.conv" and v.chance(0.15):
        v.set(ps32_md=v.between(0, 3), res0_b_str=v["res0_b_str"] or v.geometry.lane_bytes // 32)
    if v.case.family == "cvi.conv" and not v["opd_typ"] and v.chance(0.15):
        v.set(chl_quan=v.between(0, 1), tsk_opd_num=2)


def _place_windows(v: Variant, image: tuple[int, ...], result: tuple[int, ...], kernel: tuple[int, int]) -> None:
    v.set(opd1_h=kernel[0], opd1_w=kernel[1])
    if v.case.family == "cvi.pool":
        v.set(opd1_n=1, opd1_c=1)
    else:
        v.set(opd1_n=image[1] if v.case.family == "cvi.conv" else 1, opd1_c=result[1])
    size = 2 if v["opd_typ"] else 1
    for prefix, shape in (("opd0", image), ("res0", result)):
        v.set(**{f"{prefix}_{axis}": extent for axis, extent in zip(_AXES, shape, strict=True)})
        _, c, h, w = shape
        channel = -(-h * w * size // 16) * 16
        steps = -(-c // v.geometry.lanes) * channel, channel, w * size, size
        v.set(**{f"{prefix}_{axis}_str": step for axis, step in zip(_AXES, steps, strict=True)})
    v.set(res0_addr=v.place(0), opd0_addr=v.place(4))
    if not v["opd1_const"] and v.case.family != "cvi.pool":
        v.set(opd1_addr=v.place(8))
    v.set(opd2_addr=v.place(12), opd2_b_str=v.geometry.lane_bytes // 64)
    v.set(opd2_n=1, opd2_c=result[1], opd2_h=1, opd2_w=1)


def _matrix(v: Variant, sub: int) -> None:
    if v.chance(0.7):
        rows, inner = v.between(1, 12), v.between(1, 40)
        left_width, width = v.between(1, 16), v.between(1, 16)
        left_lanes, lanes = -(-inner // left_width), v.between(1, v.geometry.lanes)
        v.set(opd0_n=rows, opd0_c=left_lanes, opd0_h=1, opd0_w=left_width)
        v.set(opd1_n=inner, opd1_c=lanes, opd1_h=1, opd1_w=width)
        v.set(res0_n=rows, res0_c=lanes, res0_h=1, res0_w=width)
        v.set(res0_addr=v.place(0), opd0_addr=v.place(4), opd1_addr=v.place(8), opd2_addr=v.place(14))
        v.set(opd2_n=4 if v["chl_quan"] else 2, opd2_c=lanes, opd2_h=1, opd2_w=width)
    if v.chance(0.15):
        v.set(ps32_md=v.between(0, 3), res0_b_str=v["res0_b_str"] or v.geometry.lane_bytes // 32)
    if v["tsk_opd_num"] == 3 and v.chance(0.2):
        v.set(tsk_opd_num=2)


def _lookup(v: Variant, sub: int) -> None:
    if v.chance(0.6):
        shape = v.pick(1, 1, 2), v.between(1, 20), v.between(1, 5), v.between(1, 12)
        for prefix in ("res0", "opd0"):
            _lay_out(v, prefix, shape)
        v.set(res0_addr=v.place(0), opd0_addr=v.place(4), opd1_addr=v.place(8))


def _moves(v: Variant, sub: int) -> None:
    """Another shape, other steps, formats and roundings; both sides in the bench."""
    if v["compress_en"]:
        return
    if v.chance(0.4) and v["sys_dtype"] == 0 and sub != move.FILL:
        v.set(src_fmt=v.pick(1, 2), dst_fmt=v.pick(1, 2), mv_lut_idx=0, mv_lut_base=0)
        v.set(int8_sign=v.between(0, 1), int8_rnd_mode=v.between(0, 1))
        if v["trans_dir"] == move.GLOBAL_COPY:
            v.set(dst_fmt=v["src_fmt"])
        if v["src_fmt"] == v["dst_fmt"] == 2 and v["trans_dir"] == move.LOCAL_COPY and v.chance(0.3):
            v.set(mv_lut_idx=1)
    if v["sys_dtype"]:
        _matrix_move(v)
    else:
        _tensor_move(v, sub)
    for number, side in enumerate(("src", "dst")):
        _place_side(v, side, number)


def _matrix_move(v: Variant) -> None:
    if v.chance(0.3):
        return
    rows, columns, width = v.between(1, 10), v.between(1, 40), v.between(1, 12)
    dense, blocks = ("src", "dst") if v["trans_dir"] == move.LOAD else ("dst", "src")
    lanes = -(-columns // width)
    sizes = {side: 2 if v[f"{side}_fmt"] == 2 else 1 for side in ("src", "dst")}
    channel = -(-width * sizes[blocks] // 16) * 16
    v.set(src_n=rows if blocks == "src" else v["src_n"])
    v.set(**{f"{dense}_c": rows, f"{dense}_h": 1, f"{dense}_w": columns})
    v.set(**{f"{blocks}_c": lanes, f"{blocks}_h": 1, f"{blocks}_w": width})
    v.set(**{f"{dense}_c_stride_low": columns * sizes[dense], f"{dense}_c_stride_high": 0})
    v.set(**{f"{blocks}_c_stride_low": channel, f"{blocks}_c_stride_high": 0})
    v.set(**{f"{blocks}_n_stride": -(-lanes // v.geometry.lanes) * channel})


def _tensor_move(v: Variant, sub: int) -> None:
    if v.chance(0.3):
        _steps(v, "src", (v["src_n"], v["src_c"], v["src_h"], v["src_w"]))
        n = v["src_c"] if sub == move.TRANSPOSE else v["src_n"]
        _steps(v, "dst", (n, v["dst_c"], v["dst_h"], v["dst_w"]))
        return
    n, c, h, w = v.between(1, 3), v.between(1, 12), v.between(1, 6), v.between(1, 10)
    v.set(src_n=n, src_c=c, src_h=h, src_w=w)
    target = (c, n, h, w) if sub == move.TRANSPOSE else (n, c, h, w)
    if sub == move.COPY and v.chance(0.3):
        target = (n, *v.random.permutation([c, h, w]).tolist())
    v.set(dst_c=target[1], dst_h=target[2], dst_w=target[3])
    _steps(v, "src", (n, c, h, w))
    _steps(v, "dst", target)


def _steps(v: Variant, side: str, shape: tuple[int, ...]) -> None:
    _, c, h, w = shape
    size = 2 if v[f"{side}_fmt"] == 2 else 1
    is_local = v["trans_dir"] in ((move.STORE, move.LOCAL_COPY) if side == "src" else (move.LOAD, move.LOCAL_COPY))
    row = w * size + size * v.pick(0, 0, 2)
    channel = h * row
    if is_local:
        channel = -(-channel // 16) * 16
    batch = (-(-c // v.geometry.lanes) if is_local else c) * channel
    v.set(**{f"{side}_h_stride": row, f"{side}_n_stride": batch})
    v.set(**{f"{side}_c_stride_low": channel & 0xFFFF, f"{side}_c_stride_high": channel >> 16})


def _place_side(v: Variant, side: str, number: int) -> None:
    is_local = v["trans_dir"] in ((move.STORE, move.LOCAL_COPY) if side == "src" else (move.LOAD, move.LOCAL_COPY))
    if is_local:
        lane = v.between(0, v.geometry.lanes - 1) if v.chance(0.15) else 0
        v.set(**{f"{side}_base_addr_low": v.place(8 * number, lane), f"{side}_base_addr_high": 0})
        return
    first = number * (1 << 20) + v.between(0, 1 << 12)
    high = v[f"{side}_base_addr_high"]
    v.set(**{f"{side}_base_addr_low": first, f"{side}_base_addr_high": high, f"{side}_base_reg_sel": _MEMORY})


_VARIANTS: dict[str, Callable[[Variant, int], None]] = {
    "cvi.arith": _shape_of_elements,
    "cvi.lut": _lookup,
    "cvi.pool": _windows,
    "cvi.depthwise": _windows,
    "cvi.conv": _windows,
    "cvi.matrix": _matrix,
    "cvi.dma": _moves,
}
