"""Any walk through time ends where a straight run would: with little room for history, with edits, on every chip."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import BY_NAME
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.machine.checkpoints import Snapshot, Snapshots
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.provenance import provenance_of
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT, Outcome, OverwrittenView, UndoLog
from tdb_dap.tools.programs import open_program
from tests.checksums import crc32
from tests.samples import Case, case

ONE_OF_EACH_CHIP = ["toy_bm1684_int8", "toy_bm1684x_f16", "attention_bm1684x_int8", "toy_bm1688_int8c2"]
ONE_OF_EACH_CHIP += ["conv3x3_bm1688_int4", "toy_bm1690_int8"]
LIMITS = {"all": DEFAULT_LIMIT, "little": 6 << 20, "a few commands": 30_000, "none": 0}


def machine(of: Case, limit: int = DEFAULT_LIMIT) -> Machine:
    program = open_program(of.path)
    made = Machine(program, history_limit=limit)
    made.load_inputs(load_inputs(of.inputs, program.inputs))
    made.checkpoints.every, made.checkpoints.share = 0, 1e9  # whenever there is room
    return made


def checksum(of: Machine) -> int:
    """Of every byte of every memory."""
    total = 0
    for space in (Space.GLOBAL, Space.L2, Space.LOCAL, Space.STATIC):
        for core in range(of.memory.cores if space in (Space.LOCAL, Space.STATIC) else 1):
            for region in of.memory.regions(space, core):
                total = crc32(region.data, total)
    return total


@dataclass
class Model:
    """What the memories have to be: worked out by running straight on, edits made at their moments."""

    of: Case
    edits: list[tuple[int, int]] = field(default_factory=list)
    """Moment, and the seed of the edit."""

    def checksum(self, moment: int) -> int:
        return straight(self.of.name, tuple(self.edits), moment)


@cache
def straight(name: str, edits: tuple[tuple[int, int], ...], moment: int) -> int:
    run = machine(case(name), 0)
    pending = list(edits)
    while True:
        while pending and pending[0][0] == run.ordinal:
            edit(run, pending.pop(0)[1])
        if run.ordinal == moment:
            return checksum(run)
        run.step()


def edit(run: Machine, seed: int) -> None:
    """Overwrite some result of the program with random words, or some bytes of DDR: weights, too."""
    choose = random.Random(seed)
    if choose.random() < 0.3:
        region = choose.choice(run.memory.regions(Space.GLOBAL))
        start = region.start + choose.randrange(max(1, region.data.size - 32))
        size = min(32, region.stop - start)
        run.write_bytes(Space.GLOBAL, 0, start, choose.randbytes(size))
        return
    commands = run.program.commands
    views: list[View] = []
    while not views:
        command = commands[choose.randrange(len(commands))]
        views = [v for v in ([] if command.is_system else command.results) if isinstance(v, View)]
    words = np.random.default_rng(seed).integers(0, 16, views[0].shape).astype(views[0].dtype.bits_dtype)
    run.write_words(views[0], words, "random")


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", ONE_OF_EACH_CHIP)
def test_any_walk_ends_as_a_straight_run(name: str, limit: str) -> None:
    of = case(name)
    walk, expected = machine(of, LIMITS[limit]), Model(of)
    choose = random.Random(f"{name} {limit}")
    count = len(walk.program.commands)
    end = min(count, 60)  # what is special about time is not in the length
    for _ in range(9):
        act = choose.choice(["step", "step back", "travel", "travel", "edit"])
        if act == "step" and walk.ordinal < end:
            walk.step()
        elif act == "step back":
            walk.travel(max(0, walk.ordinal - 1))
        elif act == "travel":
            walk.travel(choose.randrange(end + 1))
        elif act == "edit":
            seed = choose.randrange(1 << 30)
            edit(walk, seed)
            expected.edits.append((walk.ordinal, seed))
        expected.edits = [(moment, seed) for moment, seed in expected.edits if moment <= walk.ordinal]
        assert len(walk.edits) == len(expected.edits)
    assert checksum(walk) == expected.checksum(walk.ordinal)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", ONE_OF_EACH_CHIP)
def test_all_the_way_there_and_back_again(name: str, limit: str) -> None:
    run = machine(case(name), LIMITS[limit])
    start = checksum(run)
    run.travel(min(60, len(run.program.commands)))
    run.travel(0)
    assert checksum(run) == start


@pytest.mark.parametrize("limit", [1 << 20, 6 << 20, 60 << 20, 240 << 20])
@pytest.mark.parametrize("name", ["attention_bm1684x_int8", "toy_bm1690_int8"])
def test_at_no_moment_more_is_held_than_the_limit(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = machine(case(name), limit)
    keep, kept = Snapshots.keep, []

    def counted(snapshots: Snapshots, begun: Snapshot) -> None:
        kept.append(run.checkpoints.nbytes)
        keep(snapshots, begun)

    monkeypatch.setattr(Snapshots, "keep", counted)
    undone = 0
    while run.ordinal < len(run.program.commands):
        run.step()
        old = sum(change.nbytes for outcome in run._history._entries for change in outcome.changes)
        undone = max(undone, old)
        assert old + max([run.checkpoints.nbytes, *kept]) <= limit
    assert undone > 0
    assert all(page.flags.owndata for taken in run.checkpoints._taken for page in taken.pages.values())


def test_a_limit_holds_for_tensors_as_those_of_an_image_of_640_pixels() -> None:
    geometry = open_program(case("toy_bm1684x_f16").path).target.geometry
    shape, steps = (1, 32, 320, 320), (32 * 320 * 320, 320 * 320, 320, 1)
    view = View(Space.GLOBAL, 0, shape, BY_NAME["f16"], Layout.CONTIGUOUS, steps, geometry)
    log = UndoLog(32 << 20)
    for number in range(40):
        log.record(Outcome((OverwrittenView(view, np.zeros(shape, np.uint16)),)))
        held = sum(change.nbytes for outcome in log._entries for change in outcome.changes)
        assert held == min(number + 1, 5) * view.nbytes <= log.limit
        assert log.first == max(0, number - 4)


def test_checkpoints_keep_to_their_room_and_lie_all_along_the_run() -> None:
    run = machine(case("attention_bm1684x_int8"), 240 << 20)
    run.travel(len(run.program.commands))
    taken = run.checkpoints.ordinals
    assert 0 < run.checkpoints.nbytes <= 60 << 20
    assert len(taken) > 3
    gaps = np.diff([0, *taken, run.ordinal])
    assert gaps.max() < run.ordinal / 2


def test_far_back_is_reached_from_the_nearest_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    run = machine(case("attention_bm1684x_int8"), 240 << 20)
    run.travel(len(run.program.commands))
    run._history.begin(run.ordinal)  # as if the undo log had been too small for anything
    executed: list[int] = []
    step = run.step

    def noted() -> None:
        executed.append(run.ordinal)
        step()

    monkeypatch.setattr(run, "step", noted)
    nearest, following = run.checkpoints.ordinals[1:3]
    wanted = min(nearest + 2, following - 1)
    assert nearest < wanted
    run.travel(wanted)
    assert run.ordinal == wanted
    assert executed == list(range(nearest, wanted))


def test_the_future_is_reached_from_a_checkpoint_until_an_edit_changes_it() -> None:
    run = machine(case("toy_bm1684x_f16"), 512 << 20)
    end = len(run.program.commands)
    run.travel(end)
    right = checksum(run)
    run.travel(3)
    run.travel(end)
    assert checksum(run) == right
    run.travel(3)
    view = next(v for v in run.program.commands[2].results if isinstance(v, View))
    run.write(view, np.full(view.shape, 0.5))
    assert all(ordinal <= 3 for ordinal in run.checkpoints.ordinals)
    run.travel(end)
    wrong = checksum(run)
    assert wrong != right
    run.travel(4)
    run.travel(end)
    assert checksum(run) == wrong  # time went back, but not before the edit
    run.travel(2)
    run.travel(end)
    assert checksum(run) == right


def test_skipped_commands_leave_the_memories_alone_and_going_back_brings_them_back() -> None:
    run = machine(case("toy_bm1684x_f16"))
    run.travel(5)
    before = checksum(run)
    run.skip_to(9)
    assert (run.ordinal, checksum(run)) == (9, before)
    assert [edit.text for edit in run.edits] == ["commands 5 to 8 skipped"]
    run.step()
    run.travel(5)
    assert checksum(run) == before
    assert run.edits == ()
    run.step()
    assert checksum(run) != before


def test_skipping_backwards_keeps_the_memories_and_can_be_taken_back() -> None:
    run = machine(case("toy_bm1684x_f16"))
    run.travel(3)
    at_3 = checksum(run)
    run.travel(9)
    at_9 = checksum(run)
    run.skip_to(3)
    assert (run.ordinal, checksum(run)) == (3, at_9)
    run.step()
    assert run.take_back() is not None
    assert (run.ordinal, checksum(run)) == (9, at_9), "where the skip was made"
    assert run.take_back() is None
    run.travel(3)
    assert checksum(run) == at_3


def test_a_skip_back_has_written_the_bytes_that_differ_and_none_beside_them() -> None:
    run = machine(case("toy_bm1684x_f16"))
    run.travel(3)
    before = run.memory.local().reshape(-1).copy()
    run.travel(9)
    run.skip_to(3)
    [edit] = run.edits
    differs = before != run.memory.local().reshape(-1)
    page = 4096 * next(i for i, some in enumerate(differs.reshape(-1, 4096)) if some.any() and not some.all())
    for byte in range(page, page + 4096):
        found = provenance_of(run, ByteRanges.range(Space.LOCAL, 0, byte, 1))
        assert (found is not None and found.edit is edit) == differs[byte], byte


@pytest.mark.parametrize("limit", LIMITS)
def test_an_excursion_changes_nothing(limit: str) -> None:
    run = machine(case("toy_bm1684x_f16"), LIMITS[limit])
    run.travel(4)
    run.write(run.program.outputs[0].view, np.ones(run.program.outputs[0].shape))
    run.travel(10)
    run.skip_to(12)
    here = checksum(run)
    with run.excursion():
        run.travel(2)
        run.travel(11)
        run.travel(0)
    assert (run.ordinal, checksum(run), len(run.edits)) == (12, here, 2)


def test_the_latest_changes_are_known_wherever_one_comes_from() -> None:
    run = machine(case("toy_bm1684x_f16"), 0)
    run.travel(6)
    changes = run.latest_changes()
    run.travel(7)
    run.travel(6)
    again = run.latest_changes()
    assert len(changes) == len(again) > 0
    for one, other in zip(changes, again, strict=True):
        assert isinstance(one, OverwrittenView)
        assert isinstance(other, OverwrittenView)
        assert np.array_equal(one.old, other.old)
    run.travel(0)
    assert run.latest_changes() == ()
