"""Models of CV18xx: what ``tdb-dap info`` reads of them, and what damaged ones are answered with."""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdb_dap.cli.main import main
from tdb_dap.engine.cvimodel import Cvimodel
from tdb_dap.engine.cvimodel.commands import read_commands
from tdb_dap.engine.cvimodel.file import COMMANDS, HEADING, WEIGHTS
from tdb_dap.errors import BadInput
from tdb_dap.tools.info.cvimodel import cvimodel_lines
from tests.samples import DATA

MODELS = sorted((DATA / "cv18xx").glob("*.cvimodel.xz"))
INT8 = DATA / "cv18xx" / "toy_cv181x_int8.cvimodel.xz"
TOY = lzma.decompress(INT8.read_bytes())
DESCRIPTION = HEADING.size + int.from_bytes(TOY[8:12], "little")

LAYERS = ("conv", "pool.max", "conv", "arith.lut", "pool.avg")
"""The layers of the group in final.mlir of an INT8 model, in order."""


def commands_of(model: Cvimodel) -> list[list]:  # type: ignore[type-arg]
    sections = [section for section in model.sections if section.kind == COMMANDS]
    return [read_commands(model.bytes_of(section), model.chip, "the toy") for section in sections]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name.split(".")[0])
def test_commands_of_each_engine_are_numbered_from_one_and_wait_for_earlier_ones(path: Path) -> None:
    [stream] = commands_of(Cvimodel(path))
    done = {"tiu": 0, "tdma": 0}
    for command in stream:
        other = "tdma" if command.engine == "tiu" else "tiu"
        done[command.engine] += 1
        assert command.id == done[command.engine]
        assert command.wait <= done[other]
        assert "unknown" not in command.name
    assert min(done.values()) > 20
    assert sum(command.wait > 0 for command in stream) > len(stream) // 3
    assert [command.layer for command in stream] == sorted(command.layer for command in stream)


@pytest.mark.parametrize("path", [path for path in MODELS if "int8" in path.name], ids=lambda path: path.name[4:10])
def test_operations_are_those_of_the_layers(path: Path) -> None:
    [stream] = commands_of(Cvimodel(path))
    found = [(command.layer, command.name) for command in stream if command.engine == "tiu"]
    assert tuple(name for layer, name in found if layer <= 10) == LAYERS
    assert [name for layer, name in found if layer == 13] == ["matrix"]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name.split(".")[0])
def test_sections_fill_the_file_and_weights_lie_in_theirs(path: Path) -> None:
    model = Cvimodel(path)
    assert model.is_intact
    assert sum(section.size for section in model.sections) == len(model.data) - model.sections_start
    [weights] = [section for section in model.sections if section.kind == WEIGHTS]
    for tensor in model.weights:
        size = tensor.dtype.itemsize
        for extent in tensor.shape:
            size *= extent
        assert tensor.address >> 40 == 1
        assert (tensor.address & (1 << 40) - 1) + size <= weights.size


def test_info_shows_tensors_routines_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(INT8)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "chip       CV181X, format 1.4" in lines
    assert "input      x f32[1,3,32,32]" in lines
    assert "output     softmax16_Softmax_f32 f32[1,10,1,1]" in lines
    assert "memory     shared 64 bytes, neurons 0 bytes, private 3,072 bytes" in lines
    assert "routine 0  on the host, quant: x -> xrelu4_Relu_si8" in lines
    assert any("58 commands (32 TDMA, 26 TIU): 2 arith.copy, " in line for line in lines)
    assert "section    weight: weights, 8,288 bytes, 11 tensors" in lines
    assert not any(line.startswith("problem") for line in lines)


def test_what_was_changed_after_compiling_is_said(tmp_path: Path) -> None:
    changed = bytearray(TOY)
    changed[DESCRIPTION + 5] ^= 1
    model = Cvimodel(written(tmp_path, changed))
    assert [line for line in cvimodel_lines(model) if "checksum" in line]


@pytest.mark.parametrize("verb", ["dis", "run", "check", "sanitize", "profile", "graph"])
def test_other_verbs_say_what_can_be_done(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = written(tmp_path, TOY)
    assert main([verb, str(model)]) == 2
    error = capsys.readouterr().err
    assert "a model of CV18xx, whose commands are neither listed nor simulated; `tdb-dap info` shows" in error
    assert main([verb, str(tmp_path)]) == 2
    assert f"only a model of CV18xx; try tdb-dap info {model}" in capsys.readouterr().err


def test_a_directory_and_options_of_bmodels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = written(tmp_path, TOY)
    assert main(["info", str(tmp_path)]) == 2
    assert "try tdb-dap info" in capsys.readouterr().err
    assert main(["info", str(model), "--net", "toy"]) == 2
    assert "leave --net and --stage out" in capsys.readouterr().err


def test_an_unknown_chip_is_named(tmp_path: Path) -> None:
    other = TOY.replace(b"cv181x\0", b"cv199x\0", 1)
    with pytest.raises(BadInput, match="command streams of 'cv199x' are not known; known are cv180x, cv181x"):
        list(cvimodel_lines(Cvimodel(written(tmp_path, other))))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "not a cvimodel"),
        (TOY[:40], "not a cvimodel"),
        (b"CviModle" + TOY[8:], "not a cvimodel"),
        (TOY[: DESCRIPTION - 1], "truncated cvimodel: its heading announces 3,224 bytes and the file has 3,223"),
        (TOY[:-1], "section subfunc_1 should be 5,424 bytes"),
        (TOY[: HEADING.size] + b"\xff" * 8 + TOY[HEADING.size + 8 :], "the model description is damaged"),
        (TOY[:-5424] + b"\0" + TOY[-5423:], "no command at byte 0 of 5,424: the packet begins with 00 40 02"),
        (TOY[:-40] + b"\xa7" * 40, None),
    ],
)
def test_damage_is_one_line(data: bytes, error: str | None, tmp_path: Path) -> None:
    path = written(tmp_path, data)
    if error is None:
        assert list(cvimodel_lines(Cvimodel(path)))
        return
    with pytest.raises(BadInput, match=error) as found:
        list(cvimodel_lines(Cvimodel(path)))
    assert "\n" not in str(found.value)


def test_a_stream_that_ends_within_a_command() -> None:
    [stream] = [Cvimodel(INT8).bytes_of(section) for section in Cvimodel(INT8).sections if section.kind == COMMANDS]
    for size in range(1, 200):
        ends = {0, 72, 144}  # three moves of 8 + 64 bytes
        if size in ends:
            assert len(read_commands(stream[:size], "cv181x", "x")) == size // 72
        else:
            with pytest.raises(BadInput, match="no command at byte"):
                read_commands(stream[:size], "cv181x", "x")


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


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.one_of(EDITS, HEADING_EDITS))
def test_any_changed_bytes_are_shown_or_explained(edits: list[tuple[int, int]], tmp_path: Path) -> None:
    data = bytearray(TOY)
    for place, value in edits:
        data[place] = value
    lines = shown_or_explained(written(tmp_path, data))
    assert len(lines) >= 5 or (len(lines) == 1 and "\n" not in lines[0] and len(lines[0]) < 600)


def shown_or_explained(path: Path) -> list[str]:
    try:
        return list(cvimodel_lines(Cvimodel(path)))
    except BadInput as error:
        return [str(error)]


def written(folder: Path, data: bytes | bytearray) -> Path:
    path = folder / "toy.cvimodel"
    path.write_bytes(data)
    return path
