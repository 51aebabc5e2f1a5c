"""Every recorded model, run command by command: text, results, memories and outputs are what the vendor recorded."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import F8E4M3, F8E5M2
from tdb_dap.engine.hardware.geometry import Space
from tests.checksums import crc32
from tests.samples import Case, cases

STATIC = [case for case in cases() if not case.is_dynamic]
# The vendor debugger runs the first of two register writes at the very start; its order and what follows are wrong.
RECORDED = [case for case in STATIC if case.name != "toy_bm1690_int8"]
# The vendor debugger's views of these results are wrong (it prints stride fields that the command does not use), so
# the numbers it recorded are not those of the result; the memories agree.
WRONG_VIEWS = {"gdma.gather", "dma.tensor.broadcast"}


def test_our_checksums_are_those_of_zlib() -> None:
    random = np.random.default_rng(0)
    for size in (0, 1, 4095, 1 << 15, (1 << 15) + 1, (1 << 18) + 5):
        for used in range(5):
            data = np.zeros(size, np.uint8)
            for start in random.integers(0, size, used if size else 0):
                data[start : start + random.integers(1, 40_000)] = random.integers(1, 256)
            for before in (0, 0x80000000, 0xFFFFFFFF, int(random.integers(1 << 32))):
                assert crc32(data, before) == zlib.crc32(data.data, before)


def names(chosen: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


@names([case for case in cases() if case in RECORDED or case.is_dynamic])
def test_listing_is_the_vendors_line_by_line(case: Case) -> None:
    program = tdb_dap.open(case.path).program
    assert [command.tdb_asm for command in program.commands] == [entry["asm"] for entry in case.trace]


@names(RECORDED)
def test_every_result_and_memory_equals_the_recorded_one(case: Case, sums: str) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, static_tables="tdb")
    for command, entry in zip(debugger.program.commands, case.trace, strict=True):
        debugger.step()
        assert debugger.ordinal == command.ordinal + 1, debugger.last_stop.text
        # The vendor shows no operands of BM1684 and of decompression: there the memories decide.
        is_shown = case.meta["chip"] != "BM1684" and not command.name.startswith("dma.decompress")
        shown = command.results if is_shown else ()
        for result, recorded in zip(shown, entry["out"], strict=True):
            # The recorder took 8-bit floats for float16 in a way of its own: there, too, the memories decide.
            is_float8 = result.dtype in (F8E4M3, F8E5M2)
            if "h" in recorded and not entry["sys"] and command.name not in WRONG_VIEWS and not is_float8:
                numbers = np.ascontiguousarray(debugger.read(result))
                assert hashlib.sha1(numbers.tobytes()).hexdigest() == recorded["h"], command.asm
        assert_memories(debugger, case, entry)


def assert_memories(debugger: Debugger, case: Case, entry: dict[str, Any]) -> None:
    """Checksums of the local memory and the activation region, where they were recorded."""
    local = entry.get("lmem", {}).get("crc")
    if local is not None:
        wanted = int(local, 16) if isinstance(local, str) else local
        assert crc32(debugger.machine.memory.local(entry["core"])) == wanted, entry["asm"]
    size = case.meta["neuron_region"][1]
    if entry.get("ddr") and size:
        assert f"{crc32(debugger.machine.memory.neuron()[:size]):08x}" == entry["ddr"], entry["asm"]


@names(STATIC)
def test_outputs_are_those_of_the_vendors_runtime(case: Case, sums: str) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    stop = debugger.run()
    assert stop.reason == "end", stop.text
    outputs = debugger.outputs()
    for name, expected in case.truth.items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)


@names(STATIC)
def test_all_the_way_back_restores_every_byte(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    before = snapshot(debugger)
    debugger.run()
    debugger.travel(0)
    assert snapshot(debugger) == before


def snapshot(debugger: Debugger) -> list[int]:
    """Checksums of all memories."""
    memory = debugger.machine.memory
    cores = range(debugger.program.core_count)
    ddr = memory.regions(Space.GLOBAL)
    return [crc32(part) for part in (*(memory.local(core) for core in cores), *(region.data for region in ddr))]


@names([case for case in cases() if case.is_dynamic])
def test_a_dynamic_subnet_is_named_and_nothing_is_guessed(case: Case) -> None:
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    stop = debugger.run()
    assert stop.ordinal == next(entry for entry, line in enumerate(case.trace) if line["e"] not in ("tiu", "dma"))
    assert "dynamic" in stop.text
    assert "which is not simulated" in stop.text
