"""Recordings whose container is in order and whose events are not: one clear error, or a difference that is named."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import tdb_dap
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.payloads import Block, Region
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.recording.writer import Writer
from tdb_dap.errors import BadInput, TdbError
from tests.limits import address_space
from tests.samples import DATA

SOUND = [DATA / "recordings" / name for name in ("mixed_bm1684.tdbrec", "pipeline_bm1684x.tdbrec")]

Row = tuple[int, int, int, bytes]
"""Type, flags, core, payload."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))


def rows_of(recording: Recording) -> list[Row]:
    return [
        (kind, flags, core, recording.payload(index))
        for index, (kind, flags, core, _, _) in enumerate(recording.events.tolist())
    ]


def written(rows: list[Row], recording: Recording, file: Path) -> Path:
    with Writer(file, recording.head) as writer:
        for kind, flags, core, payload in rows:
            writer.events(form.event(kind, payload, flags=flags, core=core))
        for name, content in recording.files.items():
            writer.attach(name, content)
        writer.done({})
    return file


def test_events_are_bounded_by_the_size_of_the_file(tmp_path: Path) -> None:
    """Four million empty events pack to a few kilobytes, and took 100 bytes of memory each."""
    recording = Recording.read(SOUND[0])
    path = tmp_path / "many.tdbrec"
    with Writer(path, recording.head) as writer:
        lot = form.event(form.Event.COMMAND) * (1 << 18)
        for _ in range(16):
            writer.events(lot)
        writer.done({})
    assert path.stat().st_size < 1 << 20
    with address_space(), pytest.raises(BadInput, match="has more than 1,048,576 events, too many for its size"):
        Recording.read(path)


def spoiled(row: Row, rng: Random) -> list[Row]:
    """What somebody careless or unfriendly makes of an event."""
    kind, flags, core, payload = row
    data = bytearray(payload)
    at = rng.randrange(min(len(data), 40)) if data else 0
    if data:
        data[at] = rng.choice([0, 1, 128, 255, data[at] ^ 1 << rng.randrange(8)])
    large = bytes(payload[:at]) + rng.choice([b"\xff" * 8, (1 << 40).to_bytes(8, "little")]) + bytes(payload[at + 8 :])
    return rng.choice(
        [
            [(kind, flags, core, bytes(data))],
            [(kind, flags, core, large)],
            [(kind, flags, core, payload[: rng.randrange(len(payload) + 1)])],
            [(kind, flags, rng.choice([1, 63, 255, 65535]), payload)],
            [(kind, rng.randrange(256), core, payload)],
            [(rng.randrange(20), flags, core, payload)],
            [],
            [row, row],
        ]
    )


@pytest.mark.parametrize("seed", range(24))
def test_a_spoiled_event_is_an_error_or_a_difference_and_never_a_crash(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    recording = Recording.read(SOUND[seed % len(SOUND)])
    rows = rows_of(recording)
    chosen = set(rng.sample(range(len(rows)), rng.choice([1, 1, 2, 5])))
    changed = [new for index, row in enumerate(rows) for new in (spoiled(row, rng) if index in chosen else [row])]
    file = written(changed, recording, tmp_path / "spoiled.tdbrec")
    try:
        debugger = tdb_dap.open(file)
    except TdbError as error:
        said = str(error)
    else:
        said = debugger.run().text
        debugger.travel(len(debugger.program.commands) // 2)
        assert all(command.asm for command in debugger.program.commands)
    assert len(said) < 600


def refused(rows: list[Row], recording: Recording, file: Path) -> str:
    with pytest.raises(BadInput) as caught:
        tdb_dap.open(written(rows, recording, file))
    return str(caught.value)


def test_what_cannot_be_is_named(tmp_path: Path) -> None:
    recording = Recording.read(SOUND[0])
    rows = rows_of(recording)
    first = next(index for index, row in enumerate(rows) if row[0] == form.Event.COMMAND)
    kind, flags, _, payload = rows[first]

    many = [*rows[:first], (kind, flags, 4000, payload), *rows[first + 1 :]]
    assert "is of core 4000; no chip has that many cores" in refused(many, recording, tmp_path / "a.tdbrec")

    engine = [*rows[:first], (kind, flags, 0, b"\x63" + payload[1:]), *rows[first + 1 :]]
    assert "is of engine 99, which is not known; record again" in refused(engine, recording, tmp_path / "b.tdbrec")

    outside = [*rows, (int(form.Event.BLOCK), 0, 0, Block("G", form.NO_COMMAND, 1 << 50, b"x" * 64).pack())]
    assert "of DDR, which has" in refused(outside, recording, tmp_path / "d.tdbrec")


def test_a_command_that_the_chip_does_not_have_is_named(tmp_path: Path) -> None:
    recording = Recording.read(SOUND[1])
    rows = rows_of(recording)
    first = next(index for index, row in enumerate(rows) if row[0] == form.Event.COMMAND)
    kind, flags, core, payload = rows[first]
    rows[first] = (kind, flags, core, payload[:8] + b"\xff" * 128)
    assert "has a descriptor that BM1684X does not know" in refused(rows, recording, tmp_path / "a.tdbrec")


def test_what_the_recorder_could_not_see_is_told(tmp_path: Path) -> None:
    recording = Recording.read(SOUND[0])
    rows = [*rows_of(recording), (int(form.Event.REMARK), 0, 0, b"too many pieces\x1b[31m")]
    program = tdb_dap.open(written(rows, recording, tmp_path / "a.tdbrec")).program
    assert isinstance(program, RecordedProgram)
    assert program.notices == ("too many pieces\\x1b[31m",)


def test_without_a_model_the_emulator_says_which_chip_it_is(tmp_path: Path) -> None:
    recording = Recording.read(SOUND[0])
    rows = rows_of(recording)
    for library, chip in (("libcmodel_bm1684.so", "BM1684"), ("libsomething.so", None)):
        renamed: list[Row] = []
        for kind, flags, core, payload in rows:
            if kind == form.Event.REGION:
                region = Region.parse(payload)
                payload = Region(region.space, region.size, region.start, library).pack()
            renamed.append((kind, flags, core, payload))
        file = tmp_path / f"{library}.tdbrec"
        with Writer(file, recording.head) as writer:
            for kind, flags, core, payload in renamed:
                writer.events(form.event(kind, payload, flags=flags, core=core))
            writer.done({})
        if chip:
            assert tdb_dap.open(file).program.chip == chip
        else:
            with pytest.raises(BadInput, match="neither a model nor an emulator of a known chip is named in it"):
                tdb_dap.open(file)
