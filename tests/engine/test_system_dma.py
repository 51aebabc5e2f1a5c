"""A fused MLP on eight cores: the system DMA clears a sum in L2, every core adds its part, the system DMA moves it on.

The weights are powers of two and small integers. With ``exact`` inputs no addition rounds, so that the order in which
the cores come does not show; with ``rounded`` ones it does, in the vendor's runtime as well: two runs differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import tdb_dap
from scripts.robustness.mutate_models.judging import outcomes
from tdb_dap.cli.main import main
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.sanitizers import made
from tdb_dap.engine.sanitizers.survey import survey
from tests.samples import DATA

MODEL = DATA / "contexts" / "fused_mlp"
CORES = range(8)
OUTPUT = "mlp_f32"


def opened(inputs: str, model: Path = MODEL) -> Debugger:
    return tdb_dap.open(model, inputs=MODEL / f"input_{inputs}.npz")


def patched(tmp_path: Path, *changes: str) -> Path:
    output = tmp_path / "patched.bmodel"
    options = [word for change in changes for word in ("--set", change)]
    assert main(["patch", str(MODEL), "-o", str(output), *options]) == 0
    return output


def computed(debugger: Debugger) -> NDArray[np.float32]:
    assert debugger.run().reason == "end"
    return debugger.outputs()[OUTPUT].ravel()


def truth(inputs: str) -> NDArray[np.float32]:
    with np.load(MODEL / f"runtime_{inputs}.npz") as file:
        return file[OUTPUT].ravel()


def bf16(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """To the nearest, ties to even."""
    bits = numbers.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def test_outputs_are_those_of_the_vendors_runtime() -> None:
    np.testing.assert_array_equal(computed(opened("exact")), truth("exact"))


def test_without_the_sum_in_l2_they_are_others(tmp_path: Path) -> None:
    plain = patched(tmp_path, *(f"D15@core{core}.all_reduce_code=0" for core in CORES))
    assert np.mean(computed(opened("exact", plain)) != truth("exact")) > 0.5


def test_the_system_dma_clears_what_is_added_to(tmp_path: Path) -> None:
    one = 0x3F80
    raised = patched(tmp_path, *(f"M7@core{core}.constant_value={one:#x}" for core in CORES))
    np.testing.assert_array_equal(computed(opened("exact", raised)), truth("exact") + 1)


def test_no_allowed_order_changes_exact_sums_and_some_change_rounded_ones() -> None:
    exact, rounded = opened("exact"), opened("rounded")
    assert outcomes(exact.program, exact.machine.inputs) == {truth("exact").tobytes()}
    assert len(outcomes(rounded.program, rounded.machine.inputs)) > 1


def test_the_runtimes_numbers_are_sums_of_our_parts_in_some_order() -> None:
    """Every tenth output; each may have had an order of its own."""
    debugger = opened("rounded")
    parts: list[NDArray[np.float32]] = []
    for command in debugger.program.commands:
        if "all_reduce" in command.attributes:
            debugger.travel(command.ordinal)
            parts.append(np.asarray(debugger.read(command.operands[0]), np.float32).ravel()[::10])
    assert len(parts) == len(CORES)
    expected = truth("rounded")[::10]
    found = np.zeros(expected.size, np.bool_)
    for total in sums(np.zeros(expected.size, np.float32), parts):
        found |= total == expected
        if found.all():
            return
    assert not np.flatnonzero(~found).tolist()


def sums(total: NDArray[np.float32], parts: Sequence[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
    """Of all parts in every order; orders with the same beginning share it."""
    if not parts:
        yield total
    for number, part in enumerate(parts):
        yield from sums(bf16(total + part), [*parts[:number], *parts[number + 1 :]])


def test_the_engine_has_a_name_of_its_own_and_can_be_stopped_at() -> None:
    debugger = opened("exact")
    assert debugger.program.commands.count_engines(0, len(debugger.program.commands)) == {
        "tiu": 384,
        "dma": 216,
        "sdma": 160,
    }
    debugger.breakpoints.add("M7@core3")
    stop = debugger.run()
    assert stop.reason == "breakpoint"
    command = debugger.program.commands[debugger.ordinal]
    assert (command.engine, command.core, command.token) == ("sdma", 3, "c3.M7")
    assert command.asm == "c3.M7: %L30.0x6980000000 bf16[2048] = dma.general(source = 0.0 bf16)"


def test_its_commands_are_explained_by_their_token(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(MODEL), "M12@core3"]) == 0
    text = capsys.readouterr().out
    assert "c3.M12, command 554 of 760, SDMA, core 3" in text
    assert "D15 dma.tensor" in text
    assert "read by c3.D24 dma.matrix" in text


def test_parts_and_equal_constants_need_no_order(tmp_path: Path) -> None:
    def hazards(debugger: Debugger) -> list[str]:
        return [f.text for f in survey(debugger, made({"hazard": None}), lambda done: None).findings]

    assert hazards(opened("exact")) == []
    other = hazards(opened("exact", patched(tmp_path, "M7@core3.constant_value=1")))
    assert len(other) == len(CORES) - 1
    assert all("M7" in text and "nothing orders them" in text for text in other)
    (tmp_path / "patched.bmodel").unlink()
    mixed = hazards(opened("exact", patched(tmp_path, "D15@core3.all_reduce_code=0")))
    assert len(mixed) == len(CORES) - 1


@pytest.mark.parametrize("core", [0, 7])
def test_what_the_system_dma_moves_waits_for_all_parts(tmp_path: Path, core: int) -> None:
    """A message with another number, and the model cannot run to its end."""
    stuck = tmp_path / "stuck.bmodel"
    assert main(["patch", str(MODEL), "-o", str(stuck), "--set", f"M8@core{core}.constant_value=0x3002"]) == 0
    assert main(["info", str(stuck)]) == 2
