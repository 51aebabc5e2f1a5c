"""The encoding table: disjoint fields, declared lengths, decode and encode as inverses."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

import tdb_dap
from tdb_dap.engine.bmodel.writing import Model, Stream
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadAccess, BadInput, NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.declaration.instruction_set import Instruction, InstructionSet, column
from tdb_dap.targets.families import FAMILIES
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.validation.evidence import Evidence, evidence
from tdb_dap.targets.validation.self_check import check
from tdb_dap.tools.programs import open_program
from tests.samples import SAMPLE, Case, cases, typical


def instructions_of(program: Program) -> Sequence[Instruction]:
    """The rows of the table of a program's chip."""
    assert isinstance(program.target, Chip)
    return program.target.instruction_set.instructions


@pytest.mark.parametrize("name", chips())
def test_the_table_contradicts_itself_only_where_the_makers_does(name: str) -> None:
    chip = chips()[name]
    assert check(chip).problems == chip.known_problems


def test_the_check_sees_overlaps_and_ambiguous_mnemonics() -> None:
    broken = replace(chips()["BM1684X"], name="BROKEN")
    own = copy(broken.instruction_set)
    instructions = own.instructions
    place = next(n for n, i in enumerate(instructions) if i.register == "DMA_cw_transpose")
    fields = instructions[place].fields
    overlapping = (*fields[:3], ("extra", 2, 4), *fields[3:])
    wrong = replace(instructions[place], fields=overlapping, mnemonic="dma.tensor")
    own.instructions = (*instructions[:place], wrong, *instructions[place + 1 :])
    broken.__dict__["instruction_set"] = own
    found = check(broken).problems
    assert any("extra starts at bit 2" in problem for problem in found)
    assert any("dma.tensor stands for 2 operations" in problem for problem in found)


@pytest.mark.parametrize("case", typical(cases()), ids=lambda case: case.name)
def test_decode_then_encode_is_the_identity(case: Case) -> None:
    program = open_program(case.path)
    for command in program.commands:
        if command.has_descriptor:
            instruction = instructions_of(program)[command.kind]
            assert instruction.encode(command.descriptor, **command.fields) == command.descriptor
            cleared = instruction.encode(bytes(instruction.size), **command.fields)
            assert instruction.decode(cleared) == command.fields


def test_a_column_of_fields_equals_decoding_one_by_one() -> None:
    program = open_program(cases("toy_bm1684x_f16")[0].path)
    for kind in set(program.commands.columns.kind.tolist()):
        chosen = [c for c in program.commands if c.kind == kind]
        instruction = instructions_of(program)[kind]
        data = np.frombuffer(b"".join(c.descriptor for c in chosen) + bytes(8), np.uint8)
        offsets = np.arange(len(chosen)) * instruction.size
        for name, bit, width in instruction.fields:
            if name in chosen[0].fields and width <= 57:
                expected = [(int.from_bytes(c.descriptor, "little") >> bit) & ((1 << width) - 1) for c in chosen]
                assert column(data, offsets, (name, bit, width)).tolist() == expected


@pytest.mark.parametrize("name", chips())
def test_every_form_that_moves_data_has_a_declaration(name: str) -> None:
    assert check(chips()[name]).undescribed == ()


@pytest.mark.parametrize("name", chips())
def test_every_form_describes_whatever_its_fields_hold(name: str) -> None:
    """Views, attributes and both texts, or one sentence that says what is undefined; never another error."""
    chip, random = chips()[name], Random(name)
    described = 0
    for kind, instruction in enumerate(chip.instruction_set.instructions):
        if instruction.bits < sum(width for _, _, width in instruction.fields):
            continue  # one of the table's known contradictions
        for _ in range(4):
            values = {
                field: random.randrange(min(1 << width, random.choice((2, 4, 9))))
                for field, _, width in instruction.fields
            }
            descriptor = instruction.encode(bytes(instruction.size), **values)
            try:
                found = chip.describe(kind, descriptor, 0, {})
                assert chip.vendor_text(found, instruction.engine, (1, 0))
                for view in found.results:
                    assert isinstance(view, View)
                    assert view.memref
                    assert view.byte_ranges() is not None
            except (NotSimulated, BadAccess):
                continue
            described += 1
    assert described > len(chip.instruction_set.instructions) // 3


def test_what_views_rest_on_is_told() -> None:
    forms = {(i.register, i.sub): i for i in chips()["BM1684X"].instruction_set.instructions}
    assert evidence("BM1684X", forms["sCONV", 0]) is Evidence.MODELS
    assert evidence("BM1684X", forms["CONV", 0]) is Evidence.SISTER
    assert evidence("BM1684X", forms["LAR", 3]) is Evidence.FIELDS


def test_every_semantic_function_belongs_to_a_declared_family() -> None:
    names = {family.name for family in FAMILIES.values()}
    assert {family for family, _ in SEMANTICS} <= names


def test_an_unknown_head_names_the_byte() -> None:
    table = InstructionSet.load("bm1684x")
    stream = np.frombuffer(bytes([1, 0, 0, 0, 0, 0x10, 0, 0]) * 8, np.uint8)
    with pytest.raises(BadInput, match=r"unknown TIU command head 0100000000100000 at byte 0 of 64 \(command 1 of 1\)"):
        table.split("tiu", stream, 1, "toy")


def test_a_stream_that_ends_early_says_how_far_it_got() -> None:
    program = open_program(cases("toy_bm1684x_f32")[0].path)
    first = next(c for c in program.commands if c.engine == "dma")
    stream = np.frombuffer(first.descriptor, np.uint8)
    with pytest.raises(BadInput, match="ends at byte 96 after 1 of 2 commands"):
        InstructionSet.load("bm1684x").split("dma", stream, 2, "toy")


def test_a_form_without_semantics_is_listed_and_refused(tmp_path: Path) -> None:
    """Four LAR commands in place of the first convolution: they are listed, nothing runs them."""
    model = bytearray(lzma.decompress((SAMPLE / "compilation.bmodel.xz").read_bytes()))
    program = open_program(SAMPLE)
    group = program.stage.subnets[0].groups[0][0]
    first = next(c for c in program.commands if c.engine == "tiu")
    lar = next(i for i in instructions_of(program) if i.register == "LAR" and i.sub == 3)
    # Bit 0 is the form's mark of being short.
    descriptor = lar.encode(b"\x01" + bytes(15), tsk_typ=lar.kind, tsk_eu_typ=lar.sub)
    start = 64 + int.from_bytes(model[8:12], "little") + int(program.commands.columns.offset[first.ordinal])
    model[start : start + 64] = descriptor * 4
    counts, more = (np.array([n, group.dma_count], np.uint32).tobytes() for n in (group.tiu_count, group.tiu_count + 3))
    assert counts in model
    model = model.replace(counts, more)
    (tmp_path / "lar.bmodel").write_bytes(model)

    debugger = tdb_dap.open(tmp_path / "lar.bmodel")
    command = next(c for c in debugger.program.commands if c.engine == "tiu")
    assert "= lar.3(left = %R0" in command.asm
    stop = debugger.run()
    assert stop.ordinal == command.ordinal
    assert f"command {command.ordinal} (B1 lar.3): lar.3 is not simulated yet" in stop.text


def test_moves_between_chips_are_listed_and_refused(tmp_path: Path) -> None:
    instructions = {i.mnemonic: i for i in chips()["BM1690"].instruction_set.instructions if i.engine == "cdma"}
    send, end = instructions["cdma.send"], instructions["cdma.chain_end"]
    sizes = {"src_nsize": 1, "src_csize": 2, "src_hsize": 3, "src_wsize": 4, "src_data_format": 2}
    stream = send.encode(bytes(send.size), cmd_type=send.kind, src_start_addr_h13=256, **sizes)
    stream += end.encode(bytes(end.size), cmd_type=end.kind) + bytes(64)
    file = Model("BM1690", Stream(b"", 0), Stream(b"", 0), chip_to_chip=stream).write(tmp_path / "send.bmodel")
    debugger = tdb_dap.open(file)
    assert [command.engine for command in debugger.program.commands] == ["cdma", "cdma"]
    assert "C1: cdma.send(source = %G1.0x0 f32[1,2,3,4])" in debugger.program.commands[0].asm
    assert "command 0 (C1 cdma.send): cdma.send is not simulated yet" in debugger.run().text


def test_what_the_sorting_engine_would_do_stops_before_anything_is_computed(tmp_path: Path) -> None:
    file = Model("BM1690", Stream(b"", 0), Stream(b"", 0), hau=bytes(256)).write(tmp_path / "sort.bmodel")
    debugger = tdb_dap.open(file)
    assert [command.asm for command in debugger.program.commands] == [
        "HAU0 (streams of 256 bytes that are not decoded)"
    ]
    stop = debugger.run()
    assert (stop.reason, stop.text) == ("exception", "command 0: HAU0: the 256 bytes of HAU streams are not simulated")


def test_a_system_dma_of_a_chip_that_is_not_known_to_have_one_is_refused(tmp_path: Path) -> None:
    file = Model("BM1688", Stream(b"", 0), Stream(b"", 0), system_dma=bytes(256)).write(tmp_path / "sdma.bmodel")
    with pytest.raises(BadInput, match=r"core 0, SDMA stream: this chip has no SDMA engine \(decoded as bm1688\)"):
        tdb_dap.open(file)


@pytest.mark.parametrize("name", sorted(chips()))
def test_system_commands_are_known_whatever_stands_in_place_of_the_short_bit(name: str) -> None:
    """They have no short form: the bit belongs to other data."""
    chip = chips()[name]
    for instruction in chip.instruction_set.instructions:
        if "SYS" not in instruction.register.upper() or instruction.engine != "tiu":
            continue
        fields = {"tsk_typ": instruction.kind, "tsk_eu_typ": instruction.sub}
        descriptor = bytearray(instruction.encode(bytes(instruction.size), **fields))
        found = set()
        for _ in range(2):
            descriptor[0] ^= 1
            kind = chip.kind_of("tiu", bytes(descriptor))
            found.add(None if kind is None else chip.instruction_set.instructions[kind].mnemonic)
        assert found == {instruction.mnemonic}
