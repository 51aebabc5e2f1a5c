"""Memory that a program owns and never touches costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tdb_dap.engine.bmodel.writing import Model, Stream

# In a process of its own: other tests make the resident size of this one grow and shrink.
SESSION = """
import mmap, sys
import tdb_dap

def megabytes():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * mmap.PAGESIZE / (1 << 20)

small = tdb_dap.open(sys.argv[1])
before = megabytes()
large = tdb_dap.open(sys.argv[2])
assert large.memory.neuron().size == 4 << 30
opened = megabytes() - before
large.machine.reset()
restarted = megabytes() - before
large.memory.neuron()[1 << 30 : (1 << 30) + (200 << 20)] = 1
touched = megabytes() - before
print(opened, restarted, touched)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not tell the resident size here")
def test_four_gib_of_ddr_cost_no_memory_until_they_are_touched(tmp_path: Path) -> None:
    nothing = Stream(b"", 0)
    files = [
        Model("BM1684X", nothing, nothing, activations=(0x100000000, size)).write(tmp_path / f"{size}.bmodel")
        for size in (4096, 4 << 30)
    ]
    done = subprocess.run(
        [sys.executable, "-c", SESSION, *map(str, files)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    opened, restarted, touched = map(float, done.stdout.split())
    # A second program has local memory of its own; its pages are not touched either.
    assert opened < 30
    assert restarted < 60
    assert touched > 190
