"""The vendor's simulator on the far side of a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tests.backends.far_side import Server
from tests.command_line import tdb_dap as tdb_dap_here
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import DATA, Case
from tests.vendor.test_lockstep import ONE_OF_EACH_CHIP, all_memories, illegal_model

pytestmark = pytest.mark.vendor

__all__ = ["illegal_model"]

MIXED = DATA / "contexts" / "dynamic_subnet"

Serve = Callable[[str], Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Offers a backend to other processes."""
    running: list[Server] = []

    def start(backend: str) -> Server:
        running.append(Server("--backend", backend, token="s3cret"))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.mark.parametrize("backend", ["cmodel", "lockstep"])
@pytest.mark.parametrize("case", ONE_OF_EACH_CHIP, ids=lambda case: case.name)
def test_the_recorded_outputs_and_every_moment_on_the_way(serve: Serve, case: Case, backend: str) -> None:
    server = serve(backend)
    debugger = tdb_dap.open(case.path, inputs=case.inputs, backend=server.name, backend_token="s3cret")
    assert debugger.machine.backend.compares == (backend == "lockstep")
    if backend == "lockstep":
        debugger.set_checks(filters_named({"divergence": None}))
    middle = len(debugger.program.commands) // 2
    debugger.travel(middle)
    at_middle = all_memories(debugger)
    assert debugger.run().reason == "end"
    outputs = debugger.outputs()
    debugger.travel(middle)
    assert all_memories(debugger) == at_middle
    debugger.close()
    for name, expected in case.truth.items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)


def test_a_session_survives_what_the_library_elsewhere_does_not(
    client: DapClient, toy: Toy, serve: Serve, illegal_model: tuple[Path, int]
) -> None:
    directory, ordinal = illegal_model
    server = serve("cmodel")
    client.launch(
        directory,
        stop_on_entry=False,
        inputs=str(toy.inputs),
        backend=server.name,
        backendToken="s3cret",
        stopOnExit=True,
    )
    stop = client.expect_stopped("exception")
    assert stop.ordinal == ordinal
    assert f"the backend {server.name} is lost: the vendor's simulator has died (exit code 255)" in stop.text
    assert "p_param->A_prec == p_param->R_prec" in stop.text
    assert "the built-in simulator executes" in stop.text
    client.step_back()
    assert client.expect_stopped("step").ordinal < ordinal
    client.disconnect()


def test_an_edit_reaches_the_library_elsewhere(toy: Toy, serve: Serve) -> None:
    outputs = []
    for backend in ("numpy", serve("cmodel").name):
        debugger = tdb_dap.open(toy.directory, inputs=toy.inputs, backend=backend, backend_token="s3cret")
        debugger.step(20)
        view = next(o for o in debugger.program.commands[20].operands if isinstance(o, View))
        debugger.write(view, 3.25 if view.dtype.is_float else 3)
        debugger.run()
        outputs.append({name: array.tobytes() for name, array in debugger.outputs().items()})
        debugger.close()
    assert outputs[0] == outputs[1]


def test_a_machine_with_the_runtime_records_for_one_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("--record", token="s3cret")
    try:
        monkeypatch.setattr("tdb_dap.backends.launch.recorded_net.library_paths", lambda given=None: [])  # none here
        debugger = tdb_dap.open(MIXED, MIXED / "input.npz", recording=server.name, backend_token="s3cret")
        assert isinstance(debugger.program, RecordedProgram)
        assert debugger.run().reason == "end"
        with np.load(MIXED / "runtime.npz") as truth:
            outputs = debugger.outputs()
            assert all(np.array_equal(outputs[name].ravel(), truth[name].ravel()) for name in truth.files)
        path = tmp_path / "it.tdbrec"
        monkeypatch.setenv("TDB_DAP_BACKEND_TOKEN", "s3cret")
        inputs = ("--inputs", MIXED / "input.npz")
        said = tdb_dap_here("record", "--at", server.address, *inputs, "-o", path, "--", MIXED)
        assert (said.returncode, said.stderr) == (0, f"tdb-dap: {path}: {path.stat().st_size:,} bytes\n")
    finally:
        server.close()
    alone = tdb_dap.open(path)
    assert alone.run().reason == "end"
    named = [{op.name.split(".")[-1] for op in one.program.ops} for one in (alone, debugger)]
    assert named[0] >= named[1]
