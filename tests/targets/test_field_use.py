"""Every field of every form: used, of no effect, or refused by its name."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.field_use import unused_fields, used_fields
from scripts.robustness.fuzz_simulator.without_effect import reason_of
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.errors import NotSimulated, TdbError
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.declaration.field_evidence import recorded, refused_fields
from tdb_dap.targets.families import FAMILIES
from tests.targets.commands import chip_named, command, ddr_start, empty

TABLES = sorted({chip.table for chip in chips().values() if chip.rules is not None and isinstance(chip.table, str)})


def simulated_forms(chip: Chip) -> list[int]:
    found = []
    for kind, form in enumerate(chip.instruction_set.instructions):
        family = FAMILIES.get(form.register)
        if family is not None and (family.name, form.sub) in chip.semantics and not form.is_unproven:
            found.append(kind)
    return found


def chip_of(table: str) -> Chip:
    return next(c for c in chips().values() if isinstance(c, Chip) and c.table == table)


@pytest.mark.parametrize("table", TABLES)
def test_every_field_is_used_or_known_to_have_no_effect_or_refused(table: str) -> None:
    chip = chip_of(table)
    for kind in simulated_forms(chip):
        form = chip.instruction_set.instructions[kind]
        entry = recorded()[table][form.register][str(form.sub)]
        refused, idle = set(entry["refused"]), set(entry["without effect"])
        unused = set(unused_fields(chip, kind))
        assert not refused & idle
        # A field that the code has come to use stays in the record until it is written again: nothing is lost.
        assert unused <= refused | idle, (form.register, form.mnemonic, unused - refused - idle)


@pytest.mark.parametrize("table", TABLES)
def test_a_refused_field_is_named(table: str) -> None:
    chip = chip_of(table)
    tried = 0
    for kind in simulated_forms(chip):
        form = chip.instruction_set.instructions[kind]
        names = {shared: name for name, shared, _ in chip.named_fields(kind)}
        for field in refused_fields(table, form):
            descriptor = chip.encode(kind, chip.instruction_set.blank(kind), {names[field]: 1})
            try:
                description = chip.describe(kind, descriptor, 0, {})
            except TdbError:
                continue
            try:
                chip._refuse(description.name, description.binding)
            except NotSimulated as error:
                tried += "is not simulated" in str(error) and f"field {field} = 1 of {form.mnemonic}" in str(error)
    assert tried > 20


def test_watched_fields_see_what_views_and_semantics_read() -> None:
    chip = chip_named("BM1690")
    kind = next(k for k, i in enumerate(chip.instruction_set.instructions) if i.mnemonic == "dma.tensor")
    used = used_fields(chip, kind)
    assert {"all_reduce_code", "src_nstride", "constant_value", "nchw_copy", "stride_enable"} <= used
    assert "cmd_id_dep" not in used
    assert reason_of("cmd_id_dep") == "order of commands"


def test_the_long_form_that_no_simulator_executes_is_refused() -> None:
    chip = chip_named("BM1684X")
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "res0_addr": 4096}
    with pytest.raises(NotSimulated, match=r"tsbc\.l_copy: its long form"):
        chip.execute(command(chip, "tsbc.l_copy", long=True, **sizes), empty(chip))


MUL, MAX, MIN, ADD = 1, 2, 3, 4
REDUCED = [
    # format, operation, moved, old, result: as on the vendor's simulator
    (2, ADD, 0x40E00000, 0x40A00000, 0x41400000),
    (2, MUL, 0x40E00000, 0x40A00000, 0x420C0000),
    (2, MAX, 0xFFC00007, 0x7F800003, 0x7F800003),
    (2, MAX, 0x7FC00001, 0x3F800000, 0x3F800000),
    (2, MIN, 0x3F800000, 0x7FC00001, 0x3F800000),
    (2, MIN, 0xFF800009, 0x3F800000, 0xFF800009),
    (2, ADD, 0xFFC00007, 0x3F800000, 0x7FFFFFFF),
    (2, MUL, 0x7F800000, 0x80000000, 0x7FFFFFFF),
    (2, ADD, 0x805163B6, 0x00CAABDC, 0x00CAABDC),
    (2, MAX, 0x8012B681, 0x834B2FC0, 0x80000000),
    (2, MUL, 0x309EDBC6, 0x06AC69C4, 0x00000000),
    (1, ADD, 0x7C00, 0xFC00, 0x7FFF),
    (1, MAX, 0xFE07, 0x7C03, 0x7C03),
    (5, MUL, 0x1359, 0xAC6B, 0x8000),
    (5, MIN, 0x800B, 0x01A6, 0x8000),
    (3, ADD, 0xFFFF, 0xFFF9, 0xFFF8),
    (4, MIN, 0xFFFFFFFF, 0x00000005, 0xFFFFFFFF),
]


def reduce(code: int, data_format: int, moved: int, old: int, to_l2: bool = True) -> int:
    """What one element in L2 (or DDR) becomes."""
    chip = chip_named("BM1690")
    memory = empty(chip)
    dtype = {1: np.uint16, 2: np.uint32, 3: np.uint16, 4: np.uint32, 5: np.uint16, 0: np.uint8}[data_format]
    memory.local(0)[0].view(dtype)[0] = moved
    target = chip.geometry.device_address(Space.L2 if to_l2 else Space.GLOBAL, 0 if to_l2 else ddr_start(chip))
    place = memory.l2() if to_l2 else memory.global_(target, 64)
    place.view(dtype)[0] = old
    source = 31 << 40
    addresses = {
        "src_start_addr_l32": source & 0xFFFFFFFF,
        "src_start_addr_h13": source >> 32,
        "dst_start_addr_l32": target & 0xFFFFFFFF,
        "dst_start_addr_h13": target >> 32,
    }
    sizes = dict.fromkeys(("src_nsize", "src_csize", "src_hsize", "src_wsize", "nchw_copy"), 1)
    masks = {"localmem_mask_l32": 0xFFFFFFFF, "localmem_mask_h32": 0xFFFFFFFF}
    values = {**addresses, **sizes, **masks, "src_data_format": data_format, "all_reduce_code": code}
    chip.execute(command(chip, "dma.tensor", **values), memory)
    return int(place.view(dtype)[0])


@pytest.mark.parametrize(("data_format", "operation", "moved", "old", "result"), REDUCED)
def test_a_reduction_into_l2(data_format: int, operation: int, moved: int, old: int, result: int) -> None:
    assert reduce(0x100 | operation << 4, data_format, moved, old) == result


def test_a_reduction_counts_only_where_it_is_asked_for_and_in_l2() -> None:
    seven, five = 0x40E00000, 0x40A00000
    assert reduce(ADD << 4, 2, seven, five) == seven
    assert reduce(0x100, 2, seven, five) == seven
    assert reduce(0x100 | ADD << 4, 2, seven, five, to_l2=False) == seven
    # The other bits mean nothing.
    assert reduce(0xF30F | ADD << 4, 2, seven, five) == 0x41400000
    with pytest.raises(NotSimulated, match="all-reduce operation 5"):
        reduce(0x150, 2, seven, five)
    with pytest.raises(NotSimulated, match="mul of i32"):
        reduce(0x100 | MUL << 4, 4, 7, 5)
    with pytest.raises(NotSimulated, match="add of i8"):
        reduce(0x100 | ADD << 4, 0, 7, 5)


def test_a_reduction_is_in_our_listing_and_not_in_the_vendors() -> None:
    chip = chip_named("BM1690")
    target = chip.geometry.device_address(Space.L2, 0)
    values = {"dst_start_addr_l32": target & 0xFFFFFFFF, "dst_start_addr_h13": target >> 32, "src_data_format": 2}
    described = command(chip, "dma.tensor", all_reduce_code=0x140, **values)
    assert described.attributes["all_reduce"] == "add"
    assert "all_reduce" not in chip.vendor_text(described, "dma", (1, 0))
