"""Random variants of a command: sub operation, number formats, flags, constants, shapes and places.

Field names are those that all chips share. A variant need not be legal: what the vendor's simulator refuses by
aborting is counted as undefined.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from scripts.robustness.fuzz_simulator.contents import Random, one
from scripts.robustness.fuzz_simulator.cvi import mutate_cvi
from scripts.robustness.fuzz_simulator.seeds import Case
from scripts.robustness.fuzz_simulator.shapes import reshape
from scripts.robustness.fuzz_simulator.variant import Variant
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.fields import FLOAT8, Fields, shared_name
from tdb_dap.targets.declaration.instruction_set import InstructionSet
from tdb_dap.targets.families.arithmetic import ARITHMETIC_SHIFT, CAST, LOGIC_SHIFT, MUL, ROTATE
from tdb_dap.targets.families.pooling import AVERAGE, MAXIMUM, MINIMUM
from tdb_dap.targets.families.special import EXPONENTIAL

_FLOATS, _INTEGERS = (1, 2, 5), (0, 3, 4)
_HALF, _BFLOAT = 1, 5
_FORBIDDEN_FLAGS: dict[object, tuple[str, ...]] = {"bm1684": ("res_add", "kernel_rotate")}
"""Flags that only the forms in the models have: elsewhere what they do is not known, and we say so."""
_FLAGS = ("kernel_rotate", "relu", "sym_range", "opd0_sign", "opd1_sign", "opd2_sign", "res0_sign", "res_add")
_CHANGING = ("arith", "cmp", "conv", "mm2", "pord", "lin", "vc")
"""Families whose number formats are changed."""
SELECTIONS = (10, 11, 13)
_SHIFTS = (LOGIC_SHIFT, ARITHMETIC_SHIFT, ROTATE)
_SAME_WIDTH = (1, 4, 5, 7, 8, 9, 18, 19, 22, 26, 29, 30, *SELECTIONS)
_INTEGER_ONLY = (1, 6, 7, 8, 9, 15, 16, 20, 21, 22, 23, 29, 30)
_ROUNDING = ("arith", "quant", "pord", "conv", "mm", "mm2")
BENCH_BYTES = 4 << 20
"""DDR that addresses are moved into."""


def mutate(case: Case, random: Random, kind: str, ddr_start: int, stay: bool) -> Case:
    """A random variant. ``stay``: keep the sub operation."""
    if case.family.startswith("cvi."):
        return mutate_cvi(case, random, kind, ddr_start, stay)
    v = Variant(case, random, kind, ddr_start)
    chosen = case.kind if stay or v.chance(0.6) else _another_operation(v)
    if v.chance(0.5):
        _formats(v, case.chip.instruction_set.instructions[chosen].sub)
    if v.chance(0.6):
        _flags(v)
    if case.made or v.chance(0.7):
        reshape(v, case.chip.instruction_set.instructions[chosen].sub)
    _constants(v, case.chip.instruction_set.instructions[chosen].sub)
    if case.family == "pord" and v["tsk_eu_typ"] in (MAXIMUM, MINIMUM) and v.has("rq") and v.chance(0.2):
        v.set(opd2_addr=v.place(4), opd2_prec=v.pick(*_INTEGERS))  # where the index of the tap goes
    _one_kind_of_half(v)
    if case.family == "arith" and v["tsk_eu_typ"] in _SHIFTS and v.has("sym_range"):
        v.set(opd1_sign=1)  # chips after BM1684X take no other amounts
        v.set(opd1_prec=0 if v["opd1_const"] else v["opd1_prec"])
    if case.family == "sfu" and v["tsk_eu_typ"] == EXPONENTIAL:
        v.set(opd0_sign=0, res0_sign=0, opd1_addr=0)  # the exponential of f16; its coefficients are not there
    move_into_bench(v)
    return with_registers(v.finished(chosen), random)


def _one_kind_of_half(v: Variant) -> None:
    """Where the sign tells bf16 from f16: no command has both, but a cast."""
    rules = v.case.chip.rules
    if v.case.engine == "dma" or rules is None or not rules.halves_by_sign:
        return
    sign = v.between(0, 1)
    for name in ("opd0", "opd1", "opd2", "res0"):
        if v.has(f"{name}_sign") and (not v.has(f"{name}_prec") or v[f"{name}_prec"] == _HALF):
            v.set(**{f"{name}_sign": sign})


_UNARY, _BINARY_FLOAT = (14, 19, 26), (0, 2, 3, 4, 5, 12, 27)
_UNARY_INTEGER, _BINARY_INTEGER = (1, 14, 19, 26, 29, 30), (0, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 20, 21, 22, 23)


def _another_operation(v: Variant) -> int:
    """Another sub operation of the same form that has semantics and takes such numbers."""
    case, computed = v.case, v.case.chip.semantics
    if case.family not in ("arith", "cmp", "lin", "vc", "sfu", "pord", "mm2"):
        return case.kind
    if case.family == "arith":
        is_float = v["opd0_prec"] in _FLOATS
        unary, binary = (_UNARY, _BINARY_FLOAT) if is_float else (_UNARY_INTEGER, _BINARY_INTEGER)
        wanted = {**dict.fromkeys(unary, 1), **dict.fromkeys(binary, 2), **dict.fromkeys(SELECTIONS, 3)}
    else:
        wanted = {sub: 0 for family, sub in computed if family == case.family}
    kinds = [
        kind
        for kind, other in enumerate(case.chip.instruction_set.instructions)
        if other.register == case.instruction.register and other.sub in wanted and (case.family, other.sub) in computed
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
        reshape(v, other.sub)
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
        v.set(opd0_prec=v.pick(*_floats(v), *_INTEGERS), res0_prec=v.pick(*_floats(v), *_INTEGERS))
    elif family in _CHANGING and v.has("opd0_prec"):
        is_float = v["opd0_prec"] in _FLOATS
        if family == "cmp":
            is_float = v.chance(0.5)
            v.set(opd2_prec=v.pick(*_floats(v), *_INTEGERS))
        if not is_float and family not in ("arith", "cmp"):
            return
        if is_float and _float8_exists(v) and v.chance(0.4):
            _float8(v, sub)
            return
        chosen = v.pick(*(_floats(v) if is_float else _INTEGERS))
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


def _floats(v: Variant) -> tuple[int, ...]:
    """Codes of the floats that the chip calculates with: bf16 has none where the sign tells it from f16."""
    rules = v.case.chip.rules
    if rules is not None and rules.compares_bf16:
        return (_BFLOAT,)
    return tuple(code for code in _FLOATS if code != _BFLOAT or rules is None or not rules.halves_by_sign)


def _float8_exists(v: Variant) -> bool:
    forms = v.case.family in ("conv", "pord", "mm2") or (v.case.family == "arith" and v.case.instruction.sub == MUL)
    return v.case.chip.table == "bm1690" and forms


def _float8(v: Variant, sub: int) -> None:
    """8-bit floats of either kind, with a scale as it is where the form has one; the result also of 16 and 32 bits."""
    left, right = v.between(0, 1), v.between(0, 1)
    v.set(opd0_prec=FLOAT8, opd1_prec=FLOAT8, opd0_sign=left, opd1_sign=right, opd2_prec=v.pick(1, 2))
    v.set(res0_prec=v.pick(FLOAT8, FLOAT8, 1, 2), res0_sign=v.between(0, 1), opd5_const=v.between(0, 1))
    if v.case.family == "pord" and sub in (MAXIMUM, MINIMUM):
        v.set(res0_prec=FLOAT8, res0_sign=left)


def _flags(v: Variant) -> None:
    for name in _FLAGS:
        if name in _FORBIDDEN_FLAGS.get(v.case.chip.table, ()):
            continue
        if name == "res_add" and v.has("res0_prec") and v["res0_prec"] not in (1, 2, 4, 5):
            continue
        if v.has(name) and v.chance(0.2):
            v.set(**{name: v.between(0, 1)})
    if v.has("opd2_n_str") and v.chance(0.3):
        v.set(opd2_n_str=v.between(0, 5) if v.case.family in _ROUNDING else v.between(0, 3))
    is_shift = v.case.family == "pord" and not v.has("rq")
    if v.case.family in ("conv", "pord") and v.has("res1_addr") and not is_shift and v.chance(0.5):
        v.set(res1_addr=v.between(0, 0xFFFFFFFF))  # what stands between elements
    if is_shift and v.has("res1_addr") and v["opd0_prec"] == 0 and v.chance(0.5):
        v.set(res1_addr=v.between(0, 15) << 8 | v.between(0, 255))  # the shift, and what stands between elements
    if v.has("pad_mode") and v.chance(0.15):
        v.set(pad_mode=v.between(0, 3))
    # The weight of an average and its shift belong together.
    if v.has("right_shift") and v.chance(0.3) and v.case.family in ("bm1684.conv", "bm1684.mm"):
        v.set(right_shift=v.between(0, 10))
    # A sum of 8-bit products that goes on from an earlier one: so the models have it.
    if v.case.family == "bm1684.mm" and v["opd0_prec"] == 0 and v["tsk_opd_num"] > 2 and v.chance(0.6):
        v.set(res_add=1, left_shift=v.between(0, 12), res_add_sign=v.between(0, 1))
        if v.chance(0.3):
            v.set(res0_prec=v.pick(0, 3))


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


# Places


def move_into_bench(v: Variant) -> None:
    """Addresses of DDR into the memory that there is."""
    sides = ("src", "dst", "index", "mask")
    for number, side in enumerate(sides):
        if v.space_of(side) is Space.GLOBAL:
            quarter = BENCH_BYTES // len(sides)
            offset = number * quarter + v.between(0, quarter // 8)
            offset &= ~(63 if v.chance(0.5) else 3)
            v.set_address(side, v.geometry.device_address(Space.GLOBAL, v.ddr_start + offset))


# Registers


def with_registers(case: Case, random: Random) -> Case:
    """The case with configuration registers of its own, where the chip has them: the library keeps what was last.

    They hold numbers, or where the command takes those from tables, places of local memory.
    """
    kind = _register_writer(case.chip.instruction_set)
    if kind is None:
        return case
    writer = case.chip.instruction_set.instructions[kind]
    registers = {
        5: int(random.integers(-100, 100)) & 0xFFFFFFFF,
        6: int(random.integers(1, 1 << 30)),
        32: -int(random.integers(0, 40)) & 0xFF,
        33: int(random.integers(-100, 100)) & 0xFFFF,
    }
    own = {shared_name(name): value for name, value in case.instruction.decode(case.descriptor).items()}
    area = case.chip.geometry.lane_bytes // 16
    registers |= {register: number * area for register, flag, number in _TABLES if not own.get(flag, 1)}
    numbers = list(registers)
    names = {shared_name(name): name for name, _, _ in writer.fields}
    setup = []
    for first, second in (numbers[:2], numbers[2:]):
        values = {"reg_idx0": first, "imm0": registers[first], "reg_idx1": second, "imm1": registers[second]}
        values["reg_idx2"] = 127
        blank = _blank(case, kind)
        setup.append(writer.encode(blank, **{names[name]: value for name, value in values.items()}))
    return replace(case, registers=registers, register_setup=tuple(setup))


_TABLES = ((5, "opd4_const", 10), (6, "opd5_const", 12))
"""Registers of tables, the flag of numbers in their place, and the part of the lanes that a table is in."""


@cache
def _register_writer(instructions: InstructionSet) -> int | None:
    """Kind of the first form that writes configuration registers."""
    forms = enumerate(instructions.instructions)
    return next((kind for kind, form in forms if form.writes_registers), None)


def _blank(case: Case, kind: int) -> bytes:
    """A register write that sets nothing yet."""
    writer = case.chip.instruction_set.instructions[kind]
    values = {"tsk_typ": writer.kind, "tsk_eu_typ": writer.sub, "cmd_short": 1}
    names = {shared_name(name): name for name, _, _ in writer.fields}
    return writer.encode(bytes(writer.size), **{names[n]: value for n, value in values.items() if n in names})
