"""Programs that load and free models and memory, from several threads: every byte that the host got is replayed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path

import pytest

import tdb_dap
from tdb_dap.backends.discovery import library_of
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tdb_dap.engine.recording.format import hash_of
from tdb_dap.targets.chips.registry import chips
from tests.samples import DATA
from tests.vendor.programs import PROGRAMS

pytestmark = pytest.mark.vendor

MODELS = {
    "BM1684": ("toy_bm1684_f32dyn", "toy_bm1684_f32"),
    "BM1684X": ("toy_bm1684x_f32dyn", "toy_bm1684x_f32"),
    "BM1688": ("toy_bm1688_f16dyn", "toy_bm1688_f16"),
}
"""A dynamic model and a static one, of one input and one output."""
SEGMENTATION_FAULT = 128 + 11
ATTEMPTS = 3
"""How often a program with threads may be started: on a busy machine about one of 300 ends by SIGSEGV, and no cause is
known yet. What it printed becomes a warning, and what was recorded until then must open."""


@pytest.fixture(scope="module", params=list(MODELS))
def chip(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def here(chip: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the chip's libraries and models."""
    vendor = chips()[chip].vendor_library
    assert vendor is not None
    emulator = library_of(chips()[chip])
    folder = tmp_path_factory.mktemp(chip)
    (folder / "libcmodel.so").symlink_to(emulator)
    for name in (*vendor.runtime, *vendor.runtime_needs):
        (folder / name).symlink_to(emulator.parent / name)
    for name in MODELS[chip]:
        (folder / f"{name}.bmodel").write_bytes(read_file(DATA / chip.lower() / name / "compilation.bmodel.xz"))
    return folder


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_every_byte_that_a_program_gets_is_in_the_replay(chip: str, here: Path, name: str, tmp_path: Path) -> None:
    models = [str(here / f"{model}.bmodel") for model in MODELS[chip]]
    folder = library_of(chips()[chip]).parent
    search = [str(here), str(folder), str(folder / "third_party"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, search))}
    file, results = tmp_path / "run.tdbrec", tmp_path / "out.json"
    program = [sys.executable, str(Path(__file__).with_name("programs.py")), name, str(here), str(results), *models]
    for attempt in range(ATTEMPTS if "threads" in name else 1):
        done = subprocess.run(
            [sys.executable, "-m", "tdb_dap", "record", "-o", str(file), "--", *program],
            capture_output=True,
            text=True,
            env=environment,
        )
        if done.returncode != SEGMENTATION_FAULT:
            break
        warnings.warn(f"attempt {attempt + 1} ended by SIGSEGV: {done.stderr[-2000:]}", stacklevel=1)
        with closing(tdb_dap.open(file)) as cut_off:
            assert isinstance(cut_off.program, RecordedProgram)
        file.unlink()
    assert done.returncode == 0, done.stderr[-2000:]

    debugger = tdb_dap.open(file)
    assert isinstance(debugger.program, RecordedProgram)
    debugger.set_checks(filters_named({"divergence": None}))
    stop = debugger.run()
    assert stop.reason == "end", stop.text
    read = [action for action in debugger.program.events.actions.values() if action.name == "host.copy_out"]
    replayed = {action.digest for action in read}
    own = {action.place.size for action in read if action.place is not None and action.digest is None}
    got = [bytes.fromhex(text) for text in json.loads(results.read_text())]
    assert got
    assert [len(data) for data in got if hash_of(data) not in replayed and len(data) not in own] == []
