"""Inputs and outputs with addresses of their own: memory to the end of the page, as on a board."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tdb_dap.engine.program.compiled_program import places_of
from tdb_dap.tools.opening import open_program
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
