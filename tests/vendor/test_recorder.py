"""A run of the vendor's runtime, recorded and executed again by the built-in simulator from the recording alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.backends.discovery import library_of
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.memory import Region as DdrRegion
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.format import Event
from tdb_dap.engine.recording.payloads import Block, CommandStart, CopyIn, Hash, LaunchBegin, LaunchEnd, Mark
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.targets.chips.registry import chips
from tests.samples import DATA

pytestmark = pytest.mark.vendor

START = 0x100000000
CASE = next(DATA.rglob("toy_bm1684x_f32dyn"))
LAUNCHES = 3


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the vendor's libraries that nobody links anew."""
    chip = chips()["BM1684X"]
    assert chip.vendor_library is not None
    emulator = library_of(chip)
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "libcmodel.so").symlink_to(emulator)
    for name in (*chip.vendor_library.runtime, *chip.vendor_library.runtime_needs):
        (folder / name).symlink_to(emulator.parent / name)
    return folder


def test_a_dynamic_model_is_recorded_and_replayed_bit_for_bit(libraries: Path, tmp_path: Path) -> None:
    bmodel, file = tmp_path / "compilation.bmodel", tmp_path / "run.tdbrec"
    bmodel.write_bytes(read_file(CASE / "compilation.bmodel.xz"))
    program = [sys.executable, str(Path(__file__).with_name("runtime.py")), str(libraries), str(bmodel)]
    program += [str(CASE / "input.npz"), str(LAUNCHES), str(tmp_path / "out.json")]
    subprocess.run(program, capture_output=True, check=True)
    plain = json.loads((tmp_path / "out.json").read_text())
    recorded = subprocess.run(
        [sys.executable, "-m", "tdb_dap", "record", "-o", str(file), "--", *program], capture_output=True, text=True
    )
    assert recorded.returncode == 0, recorded.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert results == plain

    recording = Recording.read(file)
    begins = [recording.parsed(i, LaunchBegin.parse) for i in recording.of(Event.LAUNCH_BEGIN).tolist()]
    ends = [recording.parsed(i, LaunchEnd.parse) for i in recording.of(Event.LAUNCH_END).tolist()]
    assert [(begin.net, begin.stage) for begin in begins] == [("toy", 0)] * LAUNCHES
    assert [list(end.outputs[0].shape) for end in ends] == [result["shape"] for result in results]
    marks = [recording.parsed(i, Mark.parse) for i in recording.of(Event.MARK).tolist()]
    assert (1, 16, 32, 32) in [mark.shape for mark in marks]
    assert {"models/0/info.json", "models/0/description"} <= set(recording.files)

    hashes, memory = _replayed(recording)
    assert hashes >= 3 * LAUNCHES
    last = np.array(results[-1]["values"], np.float32).tobytes()
    assert last in memory.tobytes()


def _replayed(recording: Recording) -> tuple[int, np.ndarray]:
    """How many hashes of DDR the built-in simulator reproduces (all, or it asserts), and DDR at the end."""
    chip = chips()["BM1684X"]
    ddr = np.zeros(128 << 20, np.uint8)
    memory = Memory(chip.geometry, 1, [DdrRegion(0, ddr, "DDR")])
    equal = 0
    period: list[int] = []
    for index, row in enumerate(recording.events):
        payload, flags = recording.payload(index), int(row["flags"]) & 15
        if row["type"] == Event.COPY_IN and flags & form.CopyFlag.DATA:
            copy = CopyIn.parse(payload, flags)
            ddr[copy.address - START :][: copy.size] = np.frombuffer(copy.data or b"", np.uint8)
        if row["type"] != Event.QUIET:
            period.append(index)
            continue
        events = [(recording.events[i], recording.payload(i)) for i in period]
        for found, content in events:
            if found["type"] == Event.BLOCK:
                block = Block.parse(content, int(found["flags"]) & 15)
                space = {"L": Space.LOCAL, "S": Space.STATIC, "R": Space.L2}.get(block.space)
                target = ddr if space is None else memory.regions(space)[0].data.reshape(-1)
                part = np.frombuffer(block.content, np.uint8)[: max(0, target.size - block.offset)]
                target[block.offset : block.offset + part.size] = part
        for found, content in events:
            if found["type"] == Event.COMMAND:
                command = CommandStart.parse(content)
                kind = chip.kind_of({0: "tiu", 1: "dma"}[command.engine], command.descriptor)
                assert kind is not None
                assert len(command.descriptor) == chip.kind_size(kind)
                chip.execute(chip.describe(kind, command.descriptor, 0, {}), memory)
        for found, content in events:
            if found["type"] == Event.HASH and (written := Hash.parse(content)).space == "G":
                assert form.hash_of(ddr[written.offset : written.offset + written.size]) == written.value
                equal += 1
        period = []
    return equal, ddr
