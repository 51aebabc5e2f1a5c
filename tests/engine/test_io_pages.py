"""Parts of DDR: what is behind inputs and outputs with addresses of their own, and behind the weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, Region, zeros
from tdb_dap.engine.program.compiled_program import places_of
from tdb_dap.engine.program.placement import misplaced
from tdb_dap.engine.sanitizers.bounds import bounds
from tdb_dap.errors import BadAccess
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import open_program
from tests.samples import DATA

PAGE = 4096


def test_an_input_of_its_own_can_be_read_past_its_end_up_to_the_next_part_of_ddr() -> None:
    program = open_program(DATA / "chips" / "bm1684x2" / "act_relu_bm1684x2_bf16")
    stage = program.stage
    places = {place.title: place for place in places_of(stage, program.target.geometry)}
    regions = {region.title: region for region in program.ddr_regions()}
    own = [title for title in places if title.startswith("tensor ")]
    assert own
    for title in own:
        stop = regions[title].start + regions[title].data.size
        following = [place.start for place in places.values() if place.start >= places[title].stop]
        assert stop % PAGE == 0 or stop in following
        assert stop >= places[title].stop
    assert any(regions[title].data.size > places[title].size for title in own)
    starts = sorted((region.start, region.start + region.data.size) for region in regions.values())
    assert all(first[1] <= second[0] for first, second in pairwise(starts))


@pytest.mark.parametrize("address", [0, 1 << 40, (1 << 62) + 5, (1 << 63) - 4096, 1 << 63, (1 << 64) - 1])
def test_a_damaged_address_takes_no_memory_away(address: int) -> None:
    """A tensor at the end of all addresses got less than no room."""
    program = open_program(DATA / "chips" / "bm1684x2" / "act_relu_bm1684x2_bf16")
    first, *others = program.stage.inputs
    program.stage = replace(program.stage, inputs=(replace(first, address=address), *others))
    for place, region in zip(places_of(program.stage, program.target.geometry), program.ddr_regions(), strict=True):
        assert region.start == place.start
        assert place.size <= region.data.size < place.size + PAGE


SCATTER = DATA / "memory" / "scatternd_one_bm1684x_f32"
"""Its index is read in blocks of 64 x 16 words from the weights: past their end."""


def test_a_read_past_the_weights_goes_on_in_the_activations() -> None:
    debugger = open_debugger(SCATTER, SCATTER / "input.npz")
    weights, activations = debugger.machine.memory.regions(Space.GLOBAL)
    assert (weights.title, activations.title) == ("weights", "activations")
    both = debugger.machine.memory.read_bytes(Space.GLOBAL, weights.stop - 8, 16)
    assert both == weights.data[-8:].tobytes() + activations.data[:8].tobytes()
    debugger.run()
    with np.load(SCATTER / "runtime.npz") as truth:
        assert np.array_equal(debugger.outputs()["s_ScatterND"], truth["s_ScatterND"])


def test_time_travel_restores_what_lies_on_both_sides() -> None:
    debugger = open_debugger(SCATTER, SCATTER / "input.npz")
    before = [region.data.copy() for region in debugger.machine.memory.regions(Space.GLOBAL)]
    debugger.run()
    debugger.travel(0)
    after = [region.data for region in debugger.machine.memory.regions(Space.GLOBAL)]
    assert all(np.array_equal(first, second) for first, second in zip(before, after, strict=True))
    assert debugger.program.bmodel.bytes_of(debugger.program.stage.weights, "weights").tobytes() == after[0].tobytes()


def test_a_read_past_the_weights_is_a_warning_and_a_write_there_an_error() -> None:
    program = open_program(SCATTER)
    findings = [finding for finding in bounds(program) if "past the end of the weights" in finding.text]
    assert {finding.severity for finding in findings} == {"warning"}
    assert [program.commands[finding.focus].name for finding in findings] == ["dma.tensor"] * 3
    assert not misplaced(program)
    rows = program.access_rows
    rows.is_write[rows.ordinal == findings[0].focus] = True
    assert "error" in {f.severity for f in bounds(program) if f.focus == findings[0].focus}


def test_a_read_past_the_activations_is_refused_and_an_error() -> None:
    """Nothing of the model adjoins them."""
    program = open_program(SCATTER)
    regions = {region.title: region for region in program.ddr_regions()}
    memory = Memory(program.target.geometry, 1, regions.values())
    with pytest.raises(BadAccess, match="DDR has no bytes"):
        memory.read_bytes(Space.GLOBAL, regions["activations"].stop - 8, 16)
    rows = program.access_rows
    row = int(np.flatnonzero((rows.start == regions["activations"].start) & ~rows.is_write)[0])
    rows.stop[row] = regions["activations"].stop + 8
    assert [f.severity for f in bounds(program) if "no such bytes" in f.text] == ["error"]


def test_what_another_net_of_a_program_has_does_not_adjoin() -> None:
    regions = [
        Region(0, np.ones(4096, np.uint8), "weights", adjoins_next=True),
        Region(4096, zeros(4096), "activations"),
    ]
    apart = Memory(open_program(SCATTER).target.geometry, 1, [replace(one, adjoins_next=False) for one in regions])
    with pytest.raises(BadAccess):
        apart.read_bytes(Space.GLOBAL, 4090, 16)


def test_a_write_past_the_weights_is_refused() -> None:
    regions = [Region(0, zeros(4096), "weights", adjoins_next=True), Region(4096, zeros(4096), "activations")]
    memory = Memory(open_program(SCATTER).target.geometry, 1, regions)
    assert memory.read_bytes(Space.GLOBAL, 4090, 16) == bytes(16)
    with pytest.raises(BadAccess, match="DDR has no bytes 4,090 to 4,105"):
        memory.write_bytes(Space.GLOBAL, 4090, bytes(16))
