"""Models of CV18xx: their container, what is read of it, and what damaged ones are answered with."""

from __future__ import annotations

import hashlib
import lzma
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import force_setattr, replace

from tdb_dap.cli.main import main
from tdb_dap.engine.cvimodel import Cvimodel, read_cvimodel
from tdb_dap.engine.cvimodel.arguments import read_arguments
from tdb_dap.engine.cvimodel.file import HEADING, WEIGHTS, CviSection
from tdb_dap.engine.cvimodel.lz4_block import unpack_block
from tdb_dap.errors import BadInput
from tdb_dap.tools.info.describing import info
from tdb_dap.tools.programs import open_program
from tests.samples import DATA

FOLDERS = sorted((DATA / "chips").glob("cv18[0-3]x/*"))
FOLDER = DATA / "chips" / "cv181x" / "toy_cv181x_int8"
TOY = lzma.decompress((FOLDER / "model.cvimodel.xz").read_bytes())
DESCRIPTION = HEADING.size + int.from_bytes(TOY[8:12], "little")

SHAPE = struct.pack("<4q", 1, 3, 32, 32)
"""Of the input, in the description."""

LAYERS = ("conv", "pool.max", "conv", "arith.lut", "pool.avg")
"""The TIU's operations of the group in final.mlir, in order."""


def written(folder: Path, data: bytes | bytearray) -> Path:
    path = folder / "toy.cvimodel"
    path.write_bytes(data)
    return path


def test_commands_of_each_engine_are_numbered_from_one_and_wait_for_earlier_ones() -> None:
    for folder in FOLDERS:
        done = {"tiu": 0, "dma": 0}
        for command in open_program(folder).commands:
            if not command.has_descriptor:
                continue
            done[command.engine] += 1
            assert command.id == done[command.engine]
            assert command.dep <= done["dma" if command.engine == "tiu" else "tiu"]
        assert min(done.values()) > 0, folder


def test_encoding_the_fields_gives_the_same_bytes() -> None:
    for folder in FOLDERS:
        program = open_program(folder)
        for command in program.commands:
            if command.has_descriptor:
                blank = program.target.instruction_set.blank(command.kind)  # type: ignore[attr-defined]
                assert program.target.encode(command.kind, blank, command.fields) == command.descriptor


def test_layers_have_the_operations_of_their_ops() -> None:
    program = open_program(FOLDER)
    group = [command.name for command in program.commands if command.engine == "tiu" and command.ordinal < 16]
    assert tuple(group[:5]) == LAYERS
    assert program.source.op_at(program.commands[4].mlir_lines[0]).name == "tpu.Conv2D"  # type: ignore[union-attr]


def test_sections_fill_the_file_and_weights_lie_in_theirs() -> None:
    for folder in FOLDERS:
        model = Cvimodel(folder / "model.cvimodel.xz")
        assert model.is_intact
        assert sum(section.size for section in model.description.sections) == model.payload.size - model.sections_start
        [weights] = [section for section in model.description.sections if section.kind == WEIGHTS]
        for tensor in model.description.weights:
            assert tensor.address >> 40 == 1
            assert (tensor.address & (1 << 40) - 1) + tensor.size <= weights.size


def test_info_shows_tensors_subnets_and_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(FOLDER)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "chip       CV181X, 1 core" in lines
    assert "input      x f32[1,3,32,32] at %G3.0" in lines
    assert "output     softmax16_Softmax_f32 f32[1,10,1,1] at %G4.0" in lines
    assert "DDR        private memory: 3,072 bytes at %G2.0" in lines
    assert "subnet 1   TPU_STATIC: 58 commands (32 DMA, 26 TIU)" in lines
    assert "section    weight: weights, 8,288 bytes, 11 tensors" in lines
    assert not any(line.startswith("problem") for line in lines)


def test_a_file_that_was_changed_after_compiling_is_reported(tmp_path: Path) -> None:
    changed = bytearray(TOY)
    changed[DESCRIPTION + 5] ^= 1
    assert any("checksum" in line for line in info(written(tmp_path, changed)))
    assert not any("checksum" in line for line in info(written(tmp_path, TOY)))


def test_a_lone_model_is_listed_by_layer(tmp_path: Path) -> None:
    text = open_program(written(tmp_path, TOY)).listing.text
    assert "layer 3, relu4_Relu" not in text  # the container keeps no name of it
    assert "\nlayer 3:\n  B1: %R0 si8[1,16,32,32] = conv(" in text


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "not a cvimodel"),
        (TOY[:40], "not a cvimodel"),
        (b"CviModle" + TOY[8:], "not a cvimodel"),
        (TOY[: DESCRIPTION - 1], "truncated cvimodel: its heading announces 3,224 bytes and the file has 3,223"),
        (TOY[:-1], "section subfunc_1 should be 5,424 bytes"),
        (TOY.replace(SHAPE, struct.pack("<4q", 1, 3, -32, 32)), "tensor 'x' has the impossible shape [1, 3, -32, 32]"),
        (TOY.replace(SHAPE, struct.pack("<4q", 1 << 24, 3, 32, 32)), "tensor 'x' has the impossible shape [16777216,"),
        (
            TOY.replace(SHAPE, struct.pack("<4q", 1, 0, 1 << 60, 32)),
            "tensor 'x' has the impossible shape [1, 0, 115292",
        ),
        (TOY[: HEADING.size] + b"\xff" * 8 + TOY[HEADING.size + 8 :], "the model description is damaged"),
        (TOY[:-5424] + b"\0" + TOY[-5423:], "no command at byte 0 of 5,424: the packet begins with 00 40 02"),
        (TOY[:-72] + b"\xa7" * 72, "no command at byte 5,352"),
        (TOY[:-64] + b"\xff" * 64, "unknown DMA command head ff"),
        (TOY.replace(b"cv181x\0", b"cv199x\0", 1), "for the chip 'CV199X', which is not supported yet"),
        (TOY.replace(b"cv181x\0", b"cv180x\0", 1), "begins with a7 40 02, this chip has a8 70 00"),
    ],
)
def test_damage_is_one_line(data: bytes, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, data)
    for verb in ("info", "dis", "run", "sanitize"):
        assert main([verb, str(path)]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert error in line


def changed_section(name: str, change: Callable[[CviSection], CviSection], folder: Path) -> Cvimodel:
    """A model in whose description a section says something else."""
    model = Cvimodel(written(folder, TOY))
    sections = tuple(change(each) if each.name == name else each for each in model.description.sections)
    force_setattr(model.description, "sections", sections)
    return model


def test_an_encrypted_section_is_named(tmp_path: Path) -> None:
    from tdb_dap.engine.cvimodel.metadata import metadata_of

    model = changed_section("subfunc_1", lambda section: replace(section, is_encrypted=True), tmp_path)
    with pytest.raises(BadInput, match="section subfunc_1 is encrypted"):
        metadata_of(model)


def literals(data: bytes) -> bytes:
    """An LZ4 block of literals alone."""
    head = bytes([0xF0]) + b"\xff" * ((len(data) - 15) // 255) + bytes([(len(data) - 15) % 255])
    return head + data


def test_a_compressed_section_is_unpacked_and_bounded(tmp_path: Path) -> None:
    model = Cvimodel(written(tmp_path, TOY))
    [plain] = [each for each in model.description.sections if each.kind == WEIGHTS]
    weights = model.bytes_of(model.span_of(plain), "the weights").tobytes()
    packed = literals(weights)
    model.payload = np.frombuffer(TOY + packed, np.uint8)
    section = replace(
        plain, start=len(TOY) - model.sections_start, size=len(packed), is_compressed=True, unpacked_size=len(weights)
    )
    assert model.bytes_of(model.span_of(section), "the weights").tobytes() == weights
    with pytest.raises(BadInput, match="is damaged"):
        model.span_of(replace(section, unpacked_size=len(weights) + 1))
    with pytest.raises(BadInput, match="announces 1,099,511,627,776 bytes"):
        model.span_of(replace(section, unpacked_size=1 << 40))


def test_matches_of_a_block_repeat_what_is_there_and_nothing_else() -> None:
    assert unpack_block(b"\x32abc\x03\x00", 9) == b"abcabcabc"
    assert unpack_block(b"\x1fa\x01\x00\x03", 23) == b"a" * 23
    for block in (b"\x32abc\x04\x00", b"\x32abc\x00\x00", b"\xf0", b"\x50abc", b"\x32abc\x03\x00\x10"):
        with pytest.raises(ValueError, match=r"fit|ends|holds"):
            unpack_block(block, 9)


def test_arguments_of_a_host_function() -> None:
    model = read_cvimodel(FOLDER / "model.cvimodel.xz")
    [operation] = model.metadata.nets[0].stages[0].subnets[0].cpu_operations
    assert operation.function == "quant"
    assert dict(operation.arguments) == {"from": "FP32", "to": "INT8", "scale": pytest.approx(34.4667625)}
    assert read_arguments(b"") == {}


def test_a_description_that_names_one_list_again_and_again_ends_soon(tmp_path: Path) -> None:
    """A list of thousands of programs that are one table, whose list of tensors is that list again."""
    count = 5_000
    slots = struct.pack("<9H", 18, 8, 0, 0, 0, 0, 4, 0, 4)  # slots 4 and 6 of a table of 8 bytes: an offset after 4
    block = bytearray(struct.pack("<I", 24) + slots + bytes(2))
    block += struct.pack("<iI", 20, 4)  # the table, and 4 bytes after its field the list
    block += struct.pack("<I", count)
    for number in range(count):
        block += struct.pack("<I", 4 * (count - number))
    start = len(block)
    block += struct.pack("<iI", start - 4, 4)  # a program; offsets lead only forward, so its list is another one
    block += struct.pack("<I", count)
    for number in range(count):
        block += struct.pack("<I", 4 * (count - number))
    block += struct.pack("<iI", len(block) - 4, 0)
    data = HEADING.pack(b"CviModel", len(block), 1, 4, bytes(16), b"cv181x") + block
    with pytest.raises(BadInput, match="its parts are more than 16 times"):
        Cvimodel(written(tmp_path, data))


EDITS = st.lists(st.tuples(st.integers(0, len(TOY) - 1), st.integers(0, 255)), min_size=1, max_size=8)
HEADING_EDITS = st.lists(st.tuples(st.integers(0, DESCRIPTION - 1), st.integers(0, 255)), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.one_of(EDITS, HEADING_EDITS))
def test_any_changed_bytes_are_shown_or_explained(edits: list[tuple[int, int]], tmp_path: Path) -> None:
    data = bytearray(TOY)
    for place, value in edits:
        data[place] = value
    lines = shown_or_explained(written(tmp_path, data))
    assert len(lines) >= 5 or (len(lines) == 1 and "\n" not in lines[0] and len(lines[0]) < 700)


def shown_or_explained(path: Path) -> list[str]:
    try:
        return list(info(path))
    except BadInput as error:
        return [str(error)]


def test_the_checksum_is_that_of_the_heading() -> None:
    assert hashlib.md5(TOY[HEADING.size :], usedforsecurity=False).digest() == TOY[14:30]
