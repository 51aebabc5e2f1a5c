"""Forwards, backwards and to any moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import used_pages
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.orders import other_orders
from tdb_dap.errors import EndOfProgram
from tdb_dap.tools.programs import open_program
from tests.checksums import crc32
from tests.known import view_of
from tests.samples import SAMPLE, case

PROGRAM = open_program(SAMPLE)
INPUTS = load_inputs(SAMPLE / "input.npz", PROGRAM.inputs)


def machine(**options: Any) -> Machine:
    made = Machine(PROGRAM, **options)
    made.load_inputs(INPUTS)
    return made


def checksum(of: Machine) -> tuple[int, int]:
    return crc32(of.memory.local()), crc32(of.memory.neuron())


@pytest.fixture(scope="module")
def straight() -> list[tuple[int, int]]:
    """Checksums of the memories at every moment of a straight run."""
    run = machine()
    sums = [checksum(run)]
    for _ in range(len(PROGRAM.commands)):
        run.step()
        sums.append(checksum(run))
    return sums


@given(st.integers(0, 40), st.sets(st.integers(0, 39)), st.integers(1, 9))
def test_pages_that_hold_anything_are_found(size: int, used: set[int], page: int) -> None:
    data = np.zeros(size, np.uint8)
    data[[at for at in used if at < size]] = 255
    assert used_pages(data, page) == [start for start in range(0, size, page) if data[start : start + page].any()]


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, len(PROGRAM.commands)), min_size=1, max_size=6), st.sampled_from([1 << 30, 20_000, 0]))
def test_any_walk_through_time_ends_as_a_straight_run(
    straight: list[tuple[int, int]], moments: list[int], limit: int
) -> None:
    walk = machine(history_limit=limit)
    for moment in moments:
        walk.travel(moment)
        assert walk.ordinal == moment
        assert checksum(walk) == straight[moment]


def test_an_edit_is_undone_when_time_goes_back_before_it(straight: list[tuple[int, int]]) -> None:
    walk = machine()
    walk.travel(10)
    view = view_of(PROGRAM.commands[9].results[0])
    walk.write(view, np.zeros(view.shape))
    assert not walk.read(view).any()
    walk.step()
    walk.travel(9)
    assert checksum(walk) == straight[9]


def test_another_order_leaves_nothing_to_go_back_to(straight: list[tuple[int, int]]) -> None:
    one = machine()
    one.checkpoints.every, one.checkpoints.share = 0, 1e9
    [(_, ordinals), *_] = other_orders(one.program)
    one.run_in_order(ordinals)
    assert one.checkpoints.ordinals == ()
    for moment in (len(straight) - 2, 10):
        one.travel(moment)
        assert checksum(one) == straight[moment]


def test_the_end_is_the_end() -> None:
    run = machine()
    run.travel(len(PROGRAM.commands))
    with pytest.raises(EndOfProgram):
        run.step()


def test_a_journey_can_be_interrupted() -> None:
    run = machine()
    run.travel(len(PROGRAM.commands), interrupt=lambda: run.ordinal >= 5)
    assert run.ordinal == 5


def test_the_last_writer_of_a_tensor_is_found() -> None:
    run = machine()
    run.travel(5)
    relu = PROGRAM.commands[4]
    assert relu.name == "arith.max"
    assert run.accesses.last_writer(ByteRanges.of(view_of(relu.results[0])), run.ordinal) == 4
    assert run.accesses.last_writer(ByteRanges.of(PROGRAM.inputs[0].view), run.ordinal) is None


def test_each_machine_writes_its_own_weights(tmp_path: Path) -> None:
    """An edit is seen nowhere else, and a reset takes it back."""
    PROGRAM.bmodel.copy_to(tmp_path / "sample.bmodel")
    program = open_program(tmp_path / "sample.bmodel")
    run, other = Machine(program), Machine(program)
    (weights,) = [r for r in run.memory.regions(Space.GLOBAL) if r.title == "weights"]
    before = weights.data[:16].tobytes()
    run.write_bytes(Space.GLOBAL, 0, weights.start, bytes(16))
    assert other.memory.read_bytes(Space.GLOBAL, weights.start, 16) == before
    run.reset()
    assert run.memory.read_bytes(Space.GLOBAL, weights.start, 16) == before


def test_the_firmware_packs_16_bit_tables_and_the_vendors_debugger_does_not() -> None:
    half = open_program(case("toy_bm1684x_f16").path)
    packed, loose = Machine(half, "firmware"), Machine(half, "tdb")
    assert packed.memory.static()[2368:2372].view(np.uint16).tolist() == [0x3C00, 0x3C00]
    assert loose.memory.static()[2368:2372].view(np.uint16).tolist() == [0x3C00, 0]
