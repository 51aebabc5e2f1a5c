"""Subnets that are not made of the chip's commands: operations on the host, and dynamic ones."""

from __future__ import annotations

import os
import shutil
import struct
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.backends import runtime
from tdb_dap.backends.launch.recorded_net import last_line
from tdb_dap.engine.compare.recording import record
from tdb_dap.engine.host import execute
from tdb_dap.errors import NotFinished, NotSimulated
from tests.command_line import tdb_dap as command
from tests.dap_client import DapClient
from tests.heard import Heard
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
    with pytest.raises(NotSimulated, match="CPU_GATHER_PT: an index is outside of 0 to 2"):
        execute("GATHER_PT", [data, index], struct.pack("<i", 1))
    with pytest.raises(NotSimulated, match="CPU_YOLO is not simulated yet; simulated are DEFORM_GATHER, GATHERND_TF"):
        execute("YOLO", [], b"")


def test_a_cpu_subnet_runs_and_is_undone() -> None:
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz")
    command = next(c for c in debugger.program.commands if c.engine == "cpu")
    assert command.operand_roles == ("x", "gatherelements2_GatherElements_indices_int32")
    debugger.travel(command.ordinal)
    before = debugger.machine.read(command.results[0])
    debugger.step()
    result = debugger.machine.read(command.results[0])
    with np.load(MIXED / "runtime.npz") as truth:
        assert np.array_equal(result, truth["gatherelements2_GatherElements"])
    assert debugger.inspector.who_wrote(f"%{command.results[0].name}:f32[4,5]") == command.ordinal
    debugger.step(-1)
    assert np.array_equal(debugger.machine.read(command.results[0]), before)


def test_a_dynamic_subnet_takes_its_outputs_from_the_reference_and_says_so() -> None:
    said: list[str] = []
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz", reference=MIXED / "ref.npz")
    debugger.listener = Heard(notes=said)
    assert debugger.run().reason == "end"
    assert said == ["subnet 1 (DYN1_FULLNET) is dynamic: its output gather4_Gather from the reference"]
    with np.load(MIXED / "ref.npz") as reference:
        assert np.array_equal(debugger.outputs()["gather4_Gather"], reference["gather4_Gather"])


def test_what_is_taken_from_the_reference_is_not_compared_with_it(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    files = ("--inputs", MIXED / "input.npz", "--reference", MIXED / "ref.npz", "--report", page)
    done = command("check", MIXED, *files)
    assert '"outcome":"drift"' in page.read_text().replace(" ", "")
    assert (done.returncode, "2 taken from the reference" in done.stdout) == (2, True), done.stdout
    assert done.stdout.startswith("incomplete: 3 tensors compared, 0 differ")
    assert "gather4_Gather: not computed" in done.stderr
    assert "gather4_Gather: not computed: its dynamic subnet was not run" in done.stdout
    recorded = record(tdb_dap.open(MIXED, inputs=MIXED / "input.npz", reference=MIXED / "ref.npz"))
    assert "gather4_Gather" not in recorded
    assert recorded
    run = command("run", MIXED, "--inputs", MIXED / "input.npz", "--outputs", tmp_path / "out.npz")
    assert run.stdout.rstrip().endswith("not computed: taken from the reference")
    with np.load(tmp_path / "out.npz") as archive:
        assert str(archive["__note__"]) == "gather4_Gather not computed: taken from the reference"
    with np.load(MIXED / "ref.npz") as reference:
        np.savez(tmp_path / "output.npz", gather4_Gather=reference["gather4_Gather"])
    done = command("check", MIXED, "--inputs", MIXED / "input.npz", "--reference", tmp_path / "output.npz")
    assert done.returncode == 2
    assert "not one result could be compared; gather4_Gather: not computed" in done.stderr


@pytest.fixture
def lone(tmp_path: Path) -> Path:
    """A model with a dynamic subnet that has no reference next to it."""
    return Path(shutil.copytree(MIXED, tmp_path / "lone", ignore=shutil.ignore_patterns("ref.npz")))


def test_without_a_reference_the_run_stops_at_a_dynamic_subnet_and_says_what_would_help(lone: Path) -> None:
    stop = tdb_dap.open(lone, inputs=MIXED / "input.npz").run()
    assert stop.reason == "exception"
    assert "subnet 1 (DYN1_FULLNET) is dynamic" in stop.text
    assert "with reference data for gather4_Gather the run continues from there" in stop.text


def test_the_frame_of_a_replaced_subnet_tells_where_its_numbers_are_from(client: DapClient) -> None:
    client.launch(MIXED, inputs=str(MIXED / "input.npz"), reference=str(MIXED / "ref.npz"))
    client.expect_stopped("entry")
    client.next()
    stop = client.expect_stopped("step")
    assert "outputs from the reference" in stop.frame("subnet").name


def test_the_vendors_runtime_is_asked_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the vendor's program: it answers with fewer rows than the output has room for."""
    program = tmp_path / "model_runner"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, numpy as np\n"
        "given = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
        "assert set(np.load(given['--input']).files) == {'x'}, 'inputs'\n"
        "assert open(given['--model'], 'rb').read(4) == bytes([0xEE, 0xAA, 0x55, 0xFF]), 'model'\n"
        "np.savez(given['--output'], gather4_Gather=np.full((2, 3), 7, np.float32))\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    said: list[str] = []
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz", reference=MIXED / "ref.npz")
    debugger.listener = Heard(notes=said)
    assert debugger.run().reason == "end"
    assert "gather4_Gather from the vendor's runtime" in said[0]
    assert debugger.outputs()["gather4_Gather"].tolist() == [[7, 7, 7], [7, 7, 7]]


def test_where_the_vendors_runtime_fails_the_reference_decides_or_the_error_tells(
    tmp_path: Path, lone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "model_runner"
    program.write_text(f"#!{sys.executable}\nraise SystemExit('no such chip')\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert tdb_dap.open(MIXED, inputs=MIXED / "input.npz", reference=MIXED / "ref.npz").run().reason == "end"
    stop = tdb_dap.open(lone, inputs=MIXED / "input.npz").run()
    assert "model_runner: ended with code 1: no such chip" in stop.text


RUNNER = """#!{python}
import sys, numpy as np
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert open(given['--model'], 'rb').read() == b'net 1 alone' or '{alone}' == 'no'
np.savez(given['--output'], gather4_Gather=np.full((4, 3), 7, np.float32))
"""
TOOL = """#!{python}
import sys, pathlib
assert sys.argv[1] == '--extract'
for name in ('bm_net0_stage0', 'bm_net1_stage0'):
    text = f'net {{name[6]}} alone'
    (pathlib.Path(sys.argv[2]).parent / f'{{name}}.bmodel').write_bytes(text.encode())
"""


def program(path: Path, text: str, **more: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.format(python=sys.executable, **more))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("how", ["library directory", "library", "package", "TPUC_ROOT", "tools of TPUC_ROOT"])
def test_the_vendors_runtime_is_found_with_the_vendors_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    environment = tmp_path / "venv"
    package = environment / "lib" / "python3.10" / "site-packages" / "tpu_mlir"
    (package / "lib").mkdir(parents=True)
    library = package / "lib" / "libcmodel_bm1684x.so"
    library.touch()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("TPUC_ROOT", raising=False)
    given = {"library directory": library.parent, "library": library, "package": package}.get(how)
    if how == "tools of TPUC_ROOT":
        program(package / "python" / "tools" / "model_runner.py", RUNNER, alone="no")
    else:
        program(environment / "bin" / "model_runner", RUNNER, alone="no")
    if given is None:
        monkeypatch.setenv("TPUC_ROOT", str(package))
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz", cmodel_path=given)
    assert debugger.run().reason == "end"
    assert debugger.outputs()["gather4_Gather"].tolist() == [[7, 7, 7]] * 4


def test_of_several_nets_the_runtime_gets_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = MIXED.parent / "nets_one_dynamic"
    runner = program(tmp_path / "model_runner", RUNNER, alone="yes")
    monkeypatch.setenv("PATH", str(runner.parent), prepend=os.pathsep)
    stop = tdb_dap.open(several, inputs=MIXED / "input.npz", net="gather_elem").run()
    assert "model_tool: [Errno 2] No such file" in stop.text
    program(tmp_path / "model_tool", TOOL)
    debugger = tdb_dap.open(several, inputs=MIXED / "input.npz", net="gather_elem")
    assert debugger.run().reason == "end"
    assert debugger.outputs()["gather4_Gather"].tolist() == [[7, 7, 7]] * 4


def test_outputs_that_are_not_computed_are_never_given_as_if_they_were(
    lone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    debugger = tdb_dap.open(lone, inputs=MIXED / "input.npz")
    if any(source.title.startswith("the vendor") for source in debugger.machine.sources):
        pytest.skip("the vendor's runtime is installed here and gives them")
    with pytest.raises(NotFinished, match=r"gather4_Gather is not computed: 0 of 2 commands are executed; outputs"):
        debugger.outputs()["gather4_Gather"].argmax()
    assert debugger.run().reason == "exception"
    outputs = debugger.outputs()
    assert np.isfinite(outputs["gatherelements2_GatherElements"]).all(), "the subnet before has computed it"
    missing = outputs["gather4_Gather"]
    assert "is dynamic: its commands are made" in repr(missing)
    assert (missing.shape, missing.dtype) == ((4, 3), np.dtype(np.float32))
    uses: list[Callable[[], object]] = [
        lambda: missing[0],
        lambda: missing + 1,
        lambda: 1 - missing,
        lambda: missing == 0,
        lambda: np.argmax(missing),
        lambda: np.array_equal(missing, missing),
        lambda: missing.max(),
        lambda: missing.argmax(),
        lambda: missing.tolist(),
        lambda: missing.astype(np.float64),
        lambda: missing.ravel(),
        lambda: missing.tobytes(),
        lambda: list(missing),
        lambda: float(missing),
        lambda: np.concatenate([missing, missing]),
        lambda: np.save(os.devnull, missing),
    ]
    for use in uses:
        with pytest.raises(NotFinished, match=r"gather4_Gather is not computed"):
            use()
    assert all(type(numbers) is np.ndarray for numbers in debugger.outputs(partial=True).values())


@pytest.mark.vendor
def test_the_vendors_runtime_gives_what_it_gave_when_it_was_recorded() -> None:
    if shutil.which("model_runner") is None:
        pytest.skip("the vendor's model_runner is not on the search path")
    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz")
    assert debugger.run().reason == "end"
    with np.load(MIXED / "runtime.npz") as truth:
        assert all(np.array_equal(numbers, truth[name]) for name, numbers in debugger.outputs().items())


def test_a_runtime_that_does_not_end_is_given_up_with_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child of it that holds its output open does not keep us waiting."""
    monkeypatch.setattr(runtime, "TIMEOUT", 1)
    runner = tmp_path / "bin" / "model_runner"
    runner.parent.mkdir()
    runner.write_text("#!/bin/sh\necho loading\nsleep 600 &\nwait\n")
    runner.chmod(0o755)
    reason = runtime._execute([str(runner)], tmp_path, runner)
    assert reason == f"{runner}: given up after 1 seconds: loading"


def test_what_a_runtime_said_last_is_no_stack_frame() -> None:
    said = b"""[0] [DBG] ---> update node
[0]/workspace/nodechip_batch_matmul.c:982: general_matmul: Assertion "param->R_shape[2] == hdim_batch" failed.
Obtained 2 stack frames.
/lib/libcmodel.so(__print_trace+0x2c) [0x7fa1935aae8c]
/lib/libbmrt.so.1.0(_ZN9bmruntime16Launcher_BM1684X14dynamic_subnetEP10bm_context+0xbad) [0x7fa1a087e4db]

"""
    assert last_line(BytesIO(said)).endswith('Assertion "param->R_shape[2] == hdim_batch" failed.')
    assert last_line(BytesIO(b"\n")) == ""


def test_an_output_may_come_from_a_file_that_nobody_writes_to() -> None:
    """Large arrays of a reference stay in their file."""

    class Mapped:
        title, reason, is_expected = "a file", "", False

        def whole(self, name: str) -> np.ndarray | None:
            with np.load(MIXED / "runtime.npz") as archive:
                numbers = archive[name]
            numbers.flags.writeable = False
            return numbers

    debugger = tdb_dap.open(MIXED, inputs=MIXED / "input.npz", reference=MIXED / "ref.npz")
    assert debugger.run().reason == "end"
    assert debugger.machine.expected["gather4_Gather"]
    debugger.machine.sources = [Mapped()]
    debugger.restart()
    assert debugger.run().reason == "end"
    assert not debugger.machine.expected["gather4_Gather"], "it is known from somebody who has computed it"
    (output,) = (tensor for tensor in debugger.program.outputs if tensor.name == "gather4_Gather")
    with np.load(MIXED / "runtime.npz") as truth:
        assert np.array_equal(output.dtype.decode(debugger.machine.read(output.view)), truth[output.name])
