"""Where addresses of models and commands are, and the moves that reverse an axis or gather rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.backends.shared import ddr_index, placement
from tdb_dap.cli.main import main
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.addresses import parse_address
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Region
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.placement import misplaced
from tdb_dap.errors import BadExpression, NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.tools.info.describing import describe
from tests.samples import DATA, case
from tests.targets.commands import chip_named, command, ddr_start, empty


def test_inputs_of_their_own_lie_where_commands_look_for_them() -> None:
    geometry = chip_named("BM1688").geometry
    by_model = geometry.locate(0x1_0000_0000)
    by_command = geometry.locate(0x80_0000_0000 | 0x1_0000_0000)
    assert by_model == by_command == (Space.GLOBAL, 0x81_0000_0000)
    assert geometry.name(*by_model) == "G0.4294967296"
    assert geometry.locate(geometry.device_address(*by_model)) == by_model


def test_a_move_from_a_lane_that_is_not_there_is_illegal_and_reads_lane_0_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the compiler's LSTM of more than 128 numbers a lane has it on BM1688; other commands of its form are legal."""
    model = DATA / "bm1688" / "toy_bm1688_f16"
    stores = [each for each in tdb_dap.open(model).program.commands if each.name == "dma.tensor" and is_store(each)]
    store = stores[-1]
    name, address = store.operands[0].name, store.fields["src_start_addr_l32"]
    changed = tmp_path / "changed.bmodel"
    field = f"{store.token}.src_start_addr_l32={address + (128 * 128 << 10)}"
    assert main(["patch", str(model), "-o", str(changed), "--set", field]) == 0
    capsys.readouterr()
    debugger = tdb_dap.open(changed, inputs=model / "input.npz")
    said = f"its source begins in lane 128 of 32, for which the chip takes {name}"
    assert list(debugger.program.access_rows.illegal) == [(store.ordinal, said)]
    assert f"dma.tensor is illegal: {said}" in debugger.run().text
    assert debugger.ordinal == store.ordinal
    inputs = ["--inputs", str(model / "input.npz")]
    for path, options in ((changed, ["--lenient"]), (model, [])):
        assert main(["run", str(path), *inputs, *options, "-o", str(tmp_path / f"{path.name}.npz")]) == 0
    asked, legal = np.load(tmp_path / "changed.bmodel.npz"), np.load(tmp_path / f"{model.name}.npz")
    assert all(np.array_equal(asked[name], legal[name]) for name in legal.files)


def is_store(command: Command) -> bool:
    places = [view.space for view in (command.operands[0], command.results[0]) if isinstance(view, View)]
    return places == [Space.LOCAL, Space.GLOBAL]


@pytest.mark.parametrize("chip", chips().values(), ids=chips())
def test_what_listings_call_a_place_is_its_address(chip: Chip) -> None:
    random = np.random.default_rng(1)
    runs = chip.geometry.with_bases({0: 0x1000, 1: 0x10_0000, 2: 0x20_0000})
    for geometry in (chip.geometry, runs, chip.geometry.linked(((0, 4096, 0),))):
        for window in geometry.windows:
            last = (
                min(window.stop, window.base + (geometry.local_bytes if window.space is Space.LOCAL else 1 << 60)) - 1
            )
            for address in (window.start, last, *random.integers(window.start, last, 20).tolist()):
                place = geometry.locate(address)
                if place[0] is not Space.LOCAL or place[1] < geometry.local_bytes:
                    assert parse_address(f"%{geometry.name(*place)}", geometry) == place


def test_an_address_that_is_none_is_refused_by_its_name() -> None:
    for name, text in (("BM1684X", "G1.64"), ("BM1688", "G8.64"), ("BM1688", "S1.64"), ("BM1690", "G1.0x10000000000")):
        with pytest.raises(BadExpression, match=f"'{text}' is not an address of this chip; write {text[0]}<offset>"):
            parse_address(text, chip_named(name).geometry)
    with pytest.raises(BadExpression, match="only local memory \\(R\\) has lanes"):
        parse_address("G1.64.L2", chip_named("BM1688").geometry)


@pytest.mark.parametrize(
    ("chip", "ddr_start", "first"),
    [
        ("BM1688", 0x1_0000_0000, 0x81_0000_0000),
        # The base of a tag is below zero where its first address is beyond all of the library's memory.
        ("BM1684X2", 1 << 36, 1 << 40 | 1 << 39),
        ("BM1690", 0, 1 << 40 | 1 << 39),
    ],
)
def test_what_lies_below_a_tags_lowest_address_takes_no_memory(chip: str, ddr_start: int, first: int) -> None:
    geometry = chip_named(chip).geometry
    library = VendorLibrary("any.so", ddr_start=ddr_start)
    regions = [Region(first, np.zeros(4096, np.uint8), "inputs and outputs")]
    bases, size = placement(geometry, regions, library)
    assert size < 1 << 21
    assert 0 < ddr_index(geometry, bases, first, library) < size


@pytest.mark.parametrize("chip", ["BM1684", "BM1688"])
def test_beyond_the_last_tensor_there_is_room_for_one_more(chip: str) -> None:
    """The library asserts room for a whole step after the last element, however short that is."""
    geometry = chip_named(chip).geometry
    regions = [Region(0, np.zeros(4 << 20, np.uint8), "activations")]
    _, size = placement(geometry, regions, VendorLibrary("any.so", ddr_start=0))
    assert size >= 8 << 20


def test_no_address_of_a_recorded_model_is_misplaced_and_one_that_is_gets_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tdb_dap.open(case("toy_bm1688_f16").path).program
    assert misplaced(program) == []
    assert not any(line.startswith("problem") for line in describe(program))
    without_activations = program.ddr_regions()[:1]
    monkeypatch.setattr(type(program), "ddr_regions", lambda self, to_write=False: without_activations)
    found = misplaced(program)
    assert found
    assert all(text.startswith("command ") and "is in no part of DDR that the model has" in text for text in found)
    assert any(line.startswith("problem    command ") for line in describe(program))


def reversal(chip: str, name: str, is_stored: bool) -> Description:
    """A move between DDR and local memory that reverses an axis."""
    target = chip_named(chip)
    local = max(window.start for window in target.geometry.windows if window.space is Space.LOCAL)
    ddr = target.geometry.device_address(Space.GLOBAL, ddr_start(target))
    places = {"src": local, "dst": ddr} if is_stored else {"src": ddr, "dst": local}
    high = "h8" if chip == "BM1688" else "h13"
    fields = {"localmem_mask_l32": 0xFFFFFFFF, "localmem_mask_h32": 0xFFFFFFFF, "src_data_format": 2}
    for side, address in places.items():
        fields |= {f"{side}_start_addr_l32": address & 0xFFFFFFFF, f"{side}_start_addr_{high}": address >> 32}
        fields |= {f"{side}_nsize": 2, f"{side}_csize": 3, f"{side}_hsize": 4, f"{side}_wsize": 5}
    return command(target, f"dma.reverse.{name}", **fields)


@pytest.mark.parametrize(("name", "axis"), [("w", 3), ("h", 2), ("c", 1), ("n", 0)])
@pytest.mark.parametrize("chip", ["BM1688", "BM1690"])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_move_that_reverses_an_axis(chip: str, name: str, axis: int, is_stored: bool) -> None:
    """Of local memory only the channels, as the vendor's simulators do."""
    target = chip_named(chip)
    memory = empty(target)
    described = reversal(chip, name, is_stored)
    source, result = described.operands[0], described.results[0]
    assert isinstance(source, View)
    assert isinstance(result, View)
    numbers = np.arange(120, dtype=np.uint32).reshape(2, 3, 4, 5)
    memory.write(source, numbers)
    if is_stored and name != "c":
        with pytest.raises(NotSimulated, match="it reverses another axis of local memory than the channels"):
            target.execute(described, memory)
    else:
        target.execute(described, memory)
        assert np.array_equal(memory.read(result), np.flip(numbers, axis))


@pytest.mark.parametrize("requantised", [0, 1])
def test_the_vendors_listing_shows_a_kernels_zero_point_only_with_requantisation(requantised: int) -> None:
    target = chip_named("BM1688")
    described = command(target, "conv.normal", rq=requantised, opd4_const=1, opd5_const=1, opd1_h=1, opd1_w=1)
    assert described.attributes["kzp"] == 0
    assert ("kzp" in target.vendor_text(described, "tiu", (1, 0))) == bool(requantised)
