"""Subnets that are not made of the chip's commands: operations on the host, and dynamic ones."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.host import execute
from tdb_dap.errors import NotSimulated
from tests.dap_client import DapClient
from tests.samples import DATA

MIXED = DATA / "contexts" / "dynamic_subnet"
"""A CPU subnet (gather along an axis), then a dynamic one; with the vendor runtime's outputs."""

RECORDED = dict(np.load(DATA / "host_operations.npz"))
"""Parameters, inputs and outputs of the vendor runtime's own library, on random numbers."""


@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in RECORDED}))
def test_host_operations_equal_the_runtimes_library(name: str) -> None:
    def numbered(kind: str) -> list[np.ndarray]:
        found = [key for key in RECORDED if key.startswith(f"{name}/{kind}")]
        return [RECORDED[key] for key in sorted(found)]

    made = execute(name.split()[1], numbered("input"), RECORDED[f"{name}/parameters"].tobytes())
    for expected, numbers in zip(numbered("output"), made, strict=True):
        # Selecting boxes fills the front of a tensor that has room for all.
        front = expected.reshape(-1)[: numbers.size]
        assert np.array_equal(numbers.reshape(-1).view(np.int32), front.view(np.int32))
        assert not expected.reshape(-1)[numbers.size :].any()


def test_what_the_runtime_would_read_outside_of_a_tensor_is_refused() -> None:
    data, index = np.zeros((2, 3), np.float32), np.full((2, 1), 3, np.int32)
    with pytest.raises(NotSimulated, match="CPU_GATHER_PT: an index lies outside of 0 to 2"):
        execute("GATHER_PT", [data, index], struct.pack("<i", 1))
    with pytest.raises(NotSimulated, match="CPU_YOLO is not simulated yet; simulated are DEFORM_GATHER, GATHERND_TF"):
        execute("YOLO", [], b"")


def test_a_cpu_subnet_runs_and_is_undone() -> None:
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz")
    command = next(c for c in debugger.program.commands if c.engine == "cpu")
    assert command.operand_roles == ("x", "gatherelements2_GatherElements_indices_int32")
    debugger.travel(command.ordinal)
    before = debugger.read("out[0]")
    debugger.step()
    result = debugger.machine.read(command.results[0])
    with np.load(MIXED / "runtime.npz") as truth:
        assert np.array_equal(result, truth["gatherelements2_GatherElements"])
    assert debugger.who_wrote(f"%{command.results[0].name}:f32[4,5]") == command.ordinal
    debugger.step(-1)
    assert np.array_equal(debugger.machine.read(command.results[0]), before)


def test_a_dynamic_subnet_takes_its_outputs_from_the_reference_and_says_so() -> None:
    said: list[str] = []
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz", reference=MIXED / "ref.npz")
    debugger.say = said.append
    assert debugger.run().reason == "end"
    assert said == ["subnet 1 (DYN1_FULLNET) is dynamic: its output gather4_Gather taken from the reference"]
    with np.load(MIXED / "ref.npz") as reference:
        assert np.array_equal(debugger.outputs()["gather4_Gather"], reference["gather4_Gather"])


def test_without_a_reference_the_run_stops_at_a_dynamic_subnet_and_says_what_would_help() -> None:
    stop = tdb_dap.open(MIXED, inputs=MIXED / "input.npz").run()
    assert stop.reason == "exception"
    assert "subnet 1 (DYN1_FULLNET) is dynamic" in stop.text
    assert "with reference data for gather4_Gather the run goes on from there" in stop.text


def test_the_frame_of_a_replaced_subnet_tells_where_its_numbers_are_from(client: DapClient) -> None:
    client.launch(MIXED, inputs=str(MIXED / "input.npz"), reference=str(MIXED / "ref.npz"))
    client.expect_stopped("entry")
    client.next()
    stop = client.expect_stopped("step")
    assert "outputs from the reference" in stop.frame("subnet").name
