"""Random variants of a command: sub operation, number formats, flags, constants, shapes and places.

Field names are those that all chips share. A variant need not be legal: what the vendor's simulator refuses by
aborting is counted as undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scripts.fuzz_simulator.contents import Random, one
from scripts.fuzz_simulator.seeds import Case
from tdb_dap.engine.geometry import Space
from tdb_dap.engine.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families.arithmetic import ARITHMETIC_SHIFT, CAST, LOGIC_SHIFT, ROTATE
from tdb_dap.targets.families.fields import Fields, shared_name
from tdb_dap.targets.families.pooling import AVERAGE, MAXIMUM, MINIMUM
from tdb_dap.targets.semantics import SEMANTICS

_FLOATS, _INTEGERS = (1, 2, 5), (0, 3, 4)
_FORBIDDEN_FLAGS = {"bm1684": ("res_add", "kernel_rotate")}
"""Flags that only the forms in the models have: elsewhere what they do is not known, and we say so."""
_FLAGS = ("kernel_rotate", "relu", "sym_range", "opd0_sign", "opd1_sign", "opd2_sign", "res0_sign", "res_add")
_CHANGING = ("arith", "cmp", "conv", "mm2", "pord", "lin", "vc")
"""Families whose number formats are changed."""
SELECTIONS = (10, 11, 13)
_SHIFTS = (LOGIC_SHIFT, ARITHMETIC_SHIFT, ROTATE)
_SAME_WIDTH = (1, 4, 5, 7, 8, 9, 18, 19, 22, 26, 29, 30, *SELECTIONS)
_INTEGER_ONLY = (1, 6, 7, 8, 9, 15, 16, 20, 21, 22, 23, 29, 30)
_ROUNDING = ("arith", "quant", "pord", "conv", "mm", "mm2")
_WITHOUT_SHAPE = ("sg", "sgl", "tsbc", "mm", "vc", "bm1684.mm", "bm1684.lut")
BENCH_BYTES = 4 << 20
"""DDR that addresses are moved into."""


class Variant:
    """The fields of a case, to be changed by their shared names."""

    def __init__(self, case: Case, random: Random, kind: str, ddr_start: int) -> None:
        self.case = case
        self.random = random
        self.data_kind = kind
        self.geometry = case.chip.geometry
        self.ddr_start = ddr_start
        self.fields = case.instruction.decode(case.descriptor)
        self.in_memory = _in_local_memory(case)
        self._names = {shared_name(name): name for name in self.fields}

    def has(self, name: str) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> int:
        return self.fields[self._names[name]]

    def set(self, **values: int) -> None:
        """Set the fields that this form has; the others are left out."""
        for name, value in values.items():
            if name in self._names:
                self.fields[self._names[name]] = value

    def pick(self, *choices: int) -> int:
        return choices[int(self.random.integers(len(choices)))]

    def between(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def place(self, area: int, lane: int = 0) -> int:
        """Address of one of 16 areas of a lane, as TIU fields hold it."""
        address = lane * self.geometry.lane_bytes + area * (self.geometry.lane_bytes // 16)
        return address if self.case.engine == "dma" or self._local_is_offset else self._local_base + address

    @property
    def _local_base(self) -> int:
        return self.geometry.device_address(Space.LOCAL, 0)

    @property
    def _local_is_offset(self) -> bool:
        """TIU fields hold offsets, except where every form has absolute addresses."""
        return self.case.chip.table != "bm1684"

    def finished(self, kind: int) -> Case:
        """The case with the fields as they are now."""
        instruction = self.case.chip.instruction_set.instructions[kind]
        descriptor = instruction.encode(self.case.descriptor, **self.fields)
        return replace(self.case, kind=kind, descriptor=descriptor)


def _in_local_memory(case: Case) -> set[str]:
    """Prefixes of the operands that a command reads from local memory."""
    bound = case.description.binding
    return {
        row.prefix
        for role, row in bound.family.operands
        if isinstance(view := bound.operands.get(role), View) and view.space is Space.LOCAL and not row.hidden
    }


def mutate(case: Case, random: Random, kind: str, ddr_start: int, stay: bool) -> Case:
    """A random variant. ``stay``: keep the sub operation."""
    v = Variant(case, random, kind, ddr_start)
    chosen = case.kind if stay or v.chance(0.6) else _another_operation(v)
    if v.chance(0.5):
        _formats(v, case.chip.instruction_set.instructions[chosen].sub)
    if v.chance(0.6):
        _flags(v)
    if v.chance(0.7):
        _shape(v)
    _constants(v, case.chip.instruction_set.instructions[chosen].sub)
    _move_into_bench(v)
    return with_registers(v.finished(chosen), random)


_UNARY, _BINARY_FLOAT = (14, 19, 26), (0, 2, 3, 4, 5, 12, 27)
_UNARY_INTEGER, _BINARY_INTEGER = (1, 14, 19, 26, 29, 30), (0, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 20, 21, 22, 23)


def _another_operation(v: Variant) -> int:
    """Another sub operation of the same form that has semantics and takes such numbers."""
    case = v.case
    if case.family not in ("arith", "cmp", "lin", "vc", "sfu", "pord", "mm2"):
        return case.kind
    if case.family == "arith":
        is_float = v["opd0_prec"] in _FLOATS
        unary, binary = (_UNARY, _BINARY_FLOAT) if is_float else (_UNARY_INTEGER, _BINARY_INTEGER)
        wanted = {**dict.fromkeys(unary, 1), **dict.fromkeys(binary, 2), **dict.fromkeys(SELECTIONS, 3)}
    else:
        wanted = {sub: 0 for family, sub in SEMANTICS if family == case.family}
    kinds = [
        kind
        for kind, other in enumerate(case.chip.instruction_set.instructions)
        if other.register == case.instruction.register and other.sub in wanted and (case.family, other.sub) in SEMANTICS
    ]
    kind = v.pick(*kinds) if kinds else case.kind
    other = case.chip.instruction_set.instructions[kind]
    v.set(tsk_eu_typ=other.sub)
    if case.family == "pord" and other.sub == AVERAGE:
        v.set(opd1_const=1, opd2_const=1)
    if case.family == "pord" and other.sub in (MAXIMUM, MINIMUM) and v.has("rq"):
        v.set(opd2_const=0, opd2_addr=0xFFFFFFFF, rq=0, relu=0)
    if case.family == "sfu" and other.sub != case.instruction.sub:
        v.set(res0_prec=v["opd0_prec"])
    if case.family == "mm2" and other.sub != case.instruction.sub:
        _shape(v)
    if case.family == "arith":
        _operands(v, case.instruction.sub, other.sub, wanted[other.sub])
    return kind


def _operands(v: Variant, before: int, sub: int, count: int) -> None:
    """As many operands as an arithmetic operation takes: those that are new are tensors, the third is a constant."""
    if sub == before:
        return
    if count > 1 and v["tsk_opd_num"] < 2:
        v.set(opd1_const=0, opd1_addr=v.place(6), opd1_prec=v["opd0_prec"])
    if count == 3:
        v.set(opd2_const=1, opd2_addr=1, opd2_prec=v["opd0_prec"])
    v.set(tsk_opd_num=count, res0_prec=v["opd0_prec"], opd2_n_str=v.between(0, 3))


def _formats(v: Variant, sub: int) -> None:
    """Other number formats, of the kind that compilers use: one kind of float throughout, integers of other widths.

    A cast is between any two. The vendor's simulator does not check the rest: it takes the bits for what they are not.
    """
    family = v.case.family
    if v.case.engine == "dma":
        if v.case.chip.table != "bm1684":  # its codes are others
            v.set(src_data_format=v.pick(0, 1, 2, 3, 4, 5))
    elif family == "arith" and sub == CAST:
        v.set(opd0_prec=v.pick(*_FLOATS, *_INTEGERS), res0_prec=v.pick(*_FLOATS, *_INTEGERS))
    elif family in _CHANGING and v.has("opd0_prec"):
        is_float = v["opd0_prec"] in _FLOATS
        if family == "cmp":
            is_float = v.chance(0.5)
            v.set(opd2_prec=v.pick(*_FLOATS, *_INTEGERS))
        if not is_float and family not in ("arith", "cmp"):
            return
        chosen = v.pick(*(_FLOATS if is_float else _INTEGERS))
        if sub in _INTEGER_ONLY and family == "arith" and is_float:
            return
        if family == "mm2" and chosen == 2:
            return
        wide = family in ("conv", "mm2") and v.chance(0.5)
        v.set(opd0_prec=chosen, opd1_prec=chosen, res0_prec=2 if wide else chosen)
        if family == "arith" and not is_float and v.chance(0.4):
            v.set(res0_prec=v.pick(*_INTEGERS))
        if family == "arith" and sub in SELECTIONS:
            v.set(opd2_prec=chosen)
        if family == "arith" and sub in _SAME_WIDTH:
            v.set(res0_prec=chosen)


def _flags(v: Variant) -> None:
    for name in _FLAGS:
        if name in _FORBIDDEN_FLAGS.get(v.case.chip.table, ()):
            continue
        if name == "res_add" and v.has("res0_prec") and v["res0_prec"] not in (2, 4):
            continue
        if v.has(name) and v.chance(0.2):
            v.set(**{name: v.between(0, 1)})
    if v.has("opd2_n_str") and v.chance(0.3):
        v.set(opd2_n_str=v.between(0, 5) if v.case.family in _ROUNDING else v.between(0, 3))
    if v.has("pad_mode") and v.chance(0.15):
        v.set(pad_mode=v.between(0, 3))
    # The weight of an average and its shift belong together.
    if v.has("right_shift") and v.chance(0.3) and v.case.family in ("bm1684.conv", "bm1684.mm"):
        v.set(right_shift=v.between(0, 10))


def _constants(v: Variant, sub: int) -> None:
    """New constants, and now and then a tensor in place of a constant."""
    if v.has("fill_constant_en") and v["fill_constant_en"]:
        v.set(constant_value=int(v.random.integers(1 << 32)))
    if v.case.engine == "dma" or not v.has("res0_addr"):
        return
    for index in (0, 1, 2, 3):
        name = f"opd{index}_const"
        if not v.has(name) or not v[name] or not v.has(f"opd{index}_addr"):
            continue
        may_be_tensor = (
            v.case.chip.table != "bm1684"
            and v.case.family in ("arith", "cmp", "lin")
            and not (v.case.family == "arith" and index == 2)
        )
        if v.chance(0.25) and may_be_tensor:
            v.set(**{name: 0, f"opd{index}_addr": v.place(2 + 2 * index)})
        elif v.case.family == "arith" and sub in _SHIFTS and index == 1:
            v.set(opd1_addr=v.between(-9, 9) & 0xFF)
            v.set(opd1_prec=0, opd1_sign=1)
        elif v.case.family == "bm1684.arith" and sub == LOGIC_SHIFT:
            v.set(opd1_addr=v.between(-7, 7) & 0xFFFF, opd1_sign=1)
        elif v.case.family == "pord" and index == 2:
            continue
        elif v.chance(0.6) and not (v.case.family == "quant" or (v.case.family == "arith" and index == 2)):
            v.set(**{f"opd{index}_addr": one(v.random, _constant_dtype(v, index), v.data_kind)})


def _constant_dtype(v: Variant, index: int):  # type: ignore[no-untyped-def]
    name = f"opd{index}_prec"
    fields = Fields({}, 0, v.geometry, 0, {})
    code = v[name] if v.has(name) else v["opd0_prec"] if v.has("opd0_prec") else 2
    try:
        return fields.tiu_dtype(code, 1)
    except NotSimulated:
        return fields.tiu_dtype(2, 1)


# Shapes


def _shape(v: Variant) -> None:
    """Another shape, in places where nothing overlaps."""
    family = v.case.family
    if v.case.engine == "dma":
        if v.has("src_nsize") and family.endswith("tensor"):
            _tensor_move(v)
        return
    if family in _WITHOUT_SHAPE or not v.has("res0_c"):
        return
    if v.case.chip.table == "bm1684" and any(v[f"opd{i}_str"] == 3 for i in (0, 1)) and family != "bm1684.conv":
        return  # strides of its own, some of which repeat elements
    reshape = _SHAPES.get(family.removeprefix("bm1684."), _element_wise)
    reshape(v)
    lane = v.between(0, v.geometry.lanes - 1) if reshape is _element_wise and v.chance(0.4) else 0
    v.set(res0_addr=v.place(11, lane))
    if v.has("res1_addr") and family in ("cmp", "bm1684.cmp"):
        v.set(res1_addr=v.place(13, lane))
    for index, area in enumerate((0, 4, 6, 8)):
        if f"opd{index}" in v.in_memory:
            v.set(**{f"opd{index}_addr": v.place(area, lane)})
    for prefix in ("opd0", "opd1", "opd2", "res0"):
        if v.has(f"{prefix}_str") and v[f"{prefix}_str"] == 3 and family != "bm1684.conv":
            v.set(**{f"{prefix}_str": 0})


def _element_wise(v: Variant) -> None:
    channels = v.pick(v.between(1, 12), v.between(1, v.geometry.lanes + 8))
    h, w = v.between(1, 4), v.between(1, 20)
    v.set(res0_n=v.between(1, 2), res0_c=channels, res0_h=h, res0_w=w)
    if v.case.family == "bm1684.cmp":
        step = -(-h * w // 32) * 32
        v.set(opd0_n_str=-(-channels // v.geometry.lanes) * step, opd0_c_str=step, opd0_h_str=w, opd0_w_str=1)


def _window(v: Variant) -> None:
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
        channels = v.between(1, 40)
        v.set(opd0_c=channels)
        unit = 2 if v["opd0_prec"] == 2 else 4
        units, area = -(-channels // unit), kernel[0] * kernel[1]
        if v.case.chip.table == "bm1684":
            v.set(opd1_n_str=1, opd1_c_str=area * units, opd1_h_str=kernel[1] * units, opd1_w_str=units)


def _matrix(v: Variant) -> None:
    """Rows, inner size and columns of a product of two matrices."""
    rows, inner, columns = v.between(1, 40), v.between(1, 60), v.between(1, 60)
    plain = v["tsk_eu_typ"] == 4
    v.set(res0_c=rows, res0_w=columns, opd1_c=inner if plain else columns, opd1_w=columns if plain else inner)


_SHAPES: dict[str, Callable[[Variant], None]] = {"conv": _window, "pord": _window, "mm2": _matrix}


def _tensor_move(v: Variant) -> None:
    """Sizes and strides of a plain copy or a transposition."""
    n, c, h, w = v.between(1, 3), v.between(1, 70), v.between(1, 5), v.between(1, 20)
    v.set(src_nsize=n, src_csize=c, src_hsize=h, src_wsize=w, dst_nsize=n, dst_csize=c, dst_hsize=h, dst_wsize=w)
    sub = v.case.instruction.sub
    v.set(nchw_copy=int(sub == 0), chw_copy=int(sub == 0), stride_enable=0)


# Places


def _move_into_bench(v: Variant) -> None:
    """Addresses of DDR into the memory that there is."""
    mask = (1 << 32) - 1
    for side in ("src", "dst", "index", "mask"):
        for low, high in (("l32", "h8"), ("l32", "h13"), ("h32", "l8")):
            names = f"{side}_start_addr_{low}", f"{side}_start_addr_{high}"
            if not (v.has(names[0]) and v.has(names[1])):
                continue
            space, _ = v.geometry.locate(v[names[1]] << 32 | v[names[0]])
            if space is Space.GLOBAL:
                quarter = BENCH_BYTES // 4
                start = ("src", "dst", "index", "mask").index(side) * quarter
                offset = self_aligned(start + v.between(0, quarter // 8))
                address = v.geometry.device_address(Space.GLOBAL, v.ddr_start + offset)
                v.set(**{names[0]: address & mask, names[1]: address >> 32})


def self_aligned(offset: int) -> int:
    """To a whole number of words."""
    return offset & ~63


# Registers


def with_registers(case: Case, random: Random) -> Case:
    """The case with configuration registers of its own, where the chip has them: the library keeps what was last."""
    writers = [i for i in enumerate(case.chip.instruction_set.instructions) if i[1].writes_registers]
    if not writers:
        return case
    kind, writer = writers[0]
    registers = {
        5: int(random.integers(-100, 100)) & 0xFFFFFFFF,
        6: int(random.integers(1, 1 << 30)),
        32: -int(random.integers(0, 40)) & 0xFF,
        33: int(random.integers(-100, 100)) & 0xFFFF,
    }
    numbers = list(registers)
    names = {shared_name(name): name for name, _, _ in writer.fields}
    setup = []
    for first, second in (numbers[:2], numbers[2:]):
        values = {"reg_idx0": first, "imm0": registers[first], "reg_idx1": second, "imm1": registers[second]}
        values["reg_idx2"] = 127
        blank = _blank(case, kind)
        setup.append(writer.encode(blank, **{names[name]: value for name, value in values.items()}))
    return replace(case, registers=registers, register_setup=tuple(setup))


def _blank(case: Case, kind: int) -> bytes:
    """A register write that sets nothing yet."""
    writer = case.chip.instruction_set.instructions[kind]
    values = {"tsk_typ": writer.kind, "tsk_eu_typ": writer.sub, "cmd_short": 1}
    names = {shared_name(name): name for name, _, _ in writer.fields}
    return writer.encode(bytes(writer.size), **{names[n]: value for n, value in values.items() if n in names})
