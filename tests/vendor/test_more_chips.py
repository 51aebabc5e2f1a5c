"""Chips whose emulators were driven later: they load, and what the project says of them is what they do."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.mutation import mutate
from scripts.robustness.fuzz_simulator.seeds import seeds_of
from tdb_dap.backends.choice import vendor_backend
from tdb_dap.backends.discovery import library_of
from tdb_dap.backends.messages import Execute
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Region
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.chips.static_tables import fill
from tests.samples import DATA, Case, of_more_chips

pytestmark = pytest.mark.vendor

CASES = of_more_chips()
NAMES = ("BM1684X2", "CV184X", "SG2380", "SGTPUV8")


@pytest.mark.parametrize("name", NAMES)
def test_the_emulator_loads_although_functions_are_missing_and_keeps_what_it_is_given(name: str) -> None:
    """SG2380's lacks two that no command calls; BM1684X2 has DDR at an address that no memory could hold."""
    chip = chips()[name]
    assert chip.vendor_library is not None
    backend = vendor_backend(chip)
    window = next(window for window in chip.geometry.windows if window.space is Space.GLOBAL)
    first = window.start - window.base | 1 << chip.geometry.tag_shift | 1 << 39
    memory = backend.open_memories(chip.vendor_library.cores, [Region(first, np.arange(4096, dtype=np.uint8), "data")])
    try:
        for core in range(memory.cores):
            memory.local(core)[:] = core + 1
            memory.static(core)[:] = core + 101
        backend.edited()
        backend.refresh()
        assert backend._process.execute(Execute(0, ())) == ()
    finally:
        backend.close()


FIRMWARE = """
import ctypes, os, pathlib, sys, time
from tdb_dap.backends.child import _load
library = _load(sys.argv[1])
library.cmodel_init.argtypes = [ctypes.c_int32, ctypes.c_int64]
library.cmodel_init(0, 1 << 24)
find = library.get_static_memaddr_by_node
find.argtypes, find.restype = [ctypes.c_int32], ctypes.c_void_p
place, size = find(0), int(sys.argv[3])
ctypes.memset(place, 0, size)
library.cmodel_nodechip_runtime_init(0)
before, now = b"", bytes(size)
while now != before or not any(now):  # a thread of the library does it
    time.sleep(0.5)
    before, now = now, ctypes.string_at(place, size)
pathlib.Path(sys.argv[2]).write_bytes(now)
os._exit(0)
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_static_memory_holds_what_the_firmware_writes(name: str, tmp_path: Path) -> None:
    chip = chips()[name]
    file, size = tmp_path / "static", chip.geometry.static_bytes
    arguments = [str(library_of(chip)), str(file), str(size)]
    subprocess.run([sys.executable, "-c", FIRMWARE, *arguments], check=True, capture_output=True, timeout=60)
    ours = np.zeros(size, np.uint8)
    fill(ours, chip.static_tables, "firmware")
    assert np.array_equal(ours, np.frombuffer(file.read_bytes(), np.uint8))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_emulator_alone_computes_the_outputs_of_the_runtime(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, backend="cmodel")
    assert debugger.run().reason == "end"
    outputs = debugger.outputs()
    debugger.close()
    assert outputs.keys() == case.truth.keys()
    for name, expected in case.truth.items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_command_diverges(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, backend="lockstep")
    debugger.set_checks(filters_named({"divergence": None}))
    stop = debugger.run()
    debugger.close()
    assert stop.reason == "end", stop.text


@pytest.mark.parametrize("name", NAMES)
def test_random_variants_of_compiled_commands_are_exact_or_refused(name: str) -> None:
    chip, random = chips()[name], np.random.default_rng(3)
    found = seeds_of(chip, [DATA / "chips"])
    bench = Bench(chip, library_of(chip))
    verdicts: Counter[str] = Counter()
    try:
        for operation in ("arith.cast", "arith.mul", "conv.normal", "dma.tensor", "pord.maxpooling", "sfu.taylor_4x"):
            for seed in found.get(operation, [])[:6]:
                case = mutate(seed, random, "finite", bench.ddr_start, stay=True)
                outcome = bench.run(case, random, "finite")
                verdicts[outcome.verdict] += 1
                assert outcome.verdict not in ("inexact", "failed"), (case.name, outcome.text)
    finally:
        bench.close()
    assert verdicts["exact"] > 8
