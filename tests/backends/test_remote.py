"""A backend in another process, over TCP: the same bits, little traffic, and no harm whatever happens to it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import tdb_dap
from tdb_dap.backends.remote.client import RemoteDevice
from tdb_dap.backends.remote.handshake import TOKEN_VARIABLE
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.device.device import Attached
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.tools.opening import open_debugger
from tests.backends.far_side import Server, token_file
from tests.command_line import new_process
from tests.command_line import tdb_dap as command
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import SAMPLE, Case, case

MODELS = ["toy_bm1684_int8", "lstm_bm1684x_f32", "toy_bm1684x_int8", "softmax_bm1688_f16c2", "toy_bm1690_f16c8"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The built-in simulator, offered by another process."""
    running = Server()
    yield running
    running.close()


def opened(server: Server, path: Path = SAMPLE, **options: object) -> Debugger:
    return open_debugger(path, path / "input.npz", backend=server.name, **options)  # type: ignore[arg-type]


def device_of(debugger: Debugger) -> RemoteDevice:
    backend = debugger.machine.backend
    assert isinstance(backend, Attached)
    assert isinstance(backend._device, RemoteDevice)
    return backend._device


def all_memories(debugger: Debugger) -> list[bytes]:
    memory = debugger.machine.memory
    spaces = [(Space.GLOBAL, 0), (Space.L2, 0)]
    spaces += [(space, core) for space in (Space.LOCAL, Space.STATIC) for core in range(memory.cores)]
    return [region.data.tobytes() for space, core in spaces for region in memory.regions(space, core)]


@pytest.fixture(scope="module")
def expected() -> list[bytes]:
    debugger = tdb_dap.open(SAMPLE, SAMPLE / "input.npz")
    debugger.run()
    return all_memories(debugger)


@pytest.mark.parametrize("model", [case(name) for name in MODELS], ids=MODELS)
def test_every_byte_of_every_memory_is_what_it_would_be_here(server: Server, model: Case) -> None:
    here = tdb_dap.open(model.path, model.inputs)
    there = opened(server, model.path)
    assert (here.run().reason, there.run().reason) == ("end", "end")
    assert all_memories(there) == all_memories(here)
    assert there.machine.backend.name == server.name
    there.close()


def test_time_goes_back_byte_by_byte_and_forward_again(server: Server, expected: list[bytes]) -> None:
    debugger = opened(server)
    start = all_memories(debugger)
    debugger.travel(30)
    middle = all_memories(debugger)
    debugger.run()
    debugger.travel(30)
    assert all_memories(debugger) == middle
    debugger.travel(0)
    assert all_memories(debugger) == start
    debugger.run()
    assert all_memories(debugger) == expected
    debugger.close()


@pytest.mark.parametrize("limit", [0, 400 << 20])
def test_ways_back_that_nothing_was_kept_for_run_again_from_the_start(
    server: Server, limit: int, expected: list[bytes]
) -> None:
    debugger = opened(server, history_limit=limit)
    debugger.travel(20)
    middle = all_memories(debugger)
    debugger.run()
    debugger.travel(20)
    assert all_memories(debugger) == middle
    debugger.restart()
    debugger.run()
    assert all_memories(debugger) == expected
    debugger.close()


def test_edits_reach_the_other_side_and_can_be_undone(server: Server, expected: list[bytes]) -> None:
    def with_edit(debugger: Debugger) -> list[bytes]:
        debugger.travel(20)
        view = next(o for o in debugger.program.commands[20].operands if isinstance(o, View))
        debugger.write(view, 3)
        debugger.run()
        return all_memories(debugger)

    there = opened(server)
    edited = with_edit(there)
    assert edited == with_edit(tdb_dap.open(SAMPLE, SAMPLE / "input.npz"))
    assert edited != expected
    there.undo_edit()
    there.run()
    assert all_memories(there) == expected
    there.close()


def test_a_step_costs_kilobytes_and_what_nobody_needs_is_not_sent(server: Server) -> None:
    debugger = opened(server)
    device = device_of(debugger)
    assert device.sent < 1000  # neither weights nor tables: no command has needed them
    debugger.travel(20)
    before = device.sent
    debugger.step(-1)
    debugger.step(1)
    assert 0 < device.sent - before < 300_000
    debugger.run()
    sent = device.sent
    assert sent < sum(region.data.size for region in debugger.machine.memory.regions(Space.GLOBAL)) * 2
    debugger.travel(0)
    assert device.sent - sent < 200  # going back is done here; of the other side it takes a word
    debugger.close()


def test_several_clients_have_memories_of_their_own(server: Server, expected: list[bytes]) -> None:
    one, other = opened(server), opened(server)
    one.travel(30)
    other.run()
    one.run()
    assert all_memories(one) == all_memories(other) == expected
    one.close()
    other.close()


def test_a_server_that_dies_stops_the_run_and_the_session_goes_on(expected: list[bytes]) -> None:
    mortal = Server()
    debugger = opened(mortal)
    debugger.step(10)
    mortal.kill()
    stop = debugger.run()
    assert stop.finding is not None
    assert stop.finding.filter == "backend"
    assert stop.ordinal == 10
    assert "command 10 (" in stop.text
    assert f"the backend {mortal.name} is lost: the connection was closed" in stop.text
    assert "from here on the built-in simulator executes" in stop.text
    assert debugger.run().reason == "end"
    assert all_memories(debugger) == expected
    debugger.travel(5)
    debugger.run()
    assert all_memories(debugger) == expected


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_a_server_that_dies_does_not_keep_anybody_from_the_start(limit: int, expected: list[bytes]) -> None:
    mortal = Server()
    debugger = opened(mortal, history_limit=limit)
    start = all_memories(debugger)
    debugger.step(10)
    debugger.machine.write(debugger.program.inputs[0].view, debugger.read(debugger.program.inputs[0].view) * 0)
    mortal.kill()
    stop = debugger.restart()
    assert "is lost" in stop.text
    assert (stop.ordinal, debugger.machine.edits) == (0, ())
    assert all_memories(debugger) == start
    assert debugger.run().reason == "end"
    assert all_memories(debugger) == expected


def test_a_session_in_an_editor_survives_the_other_side(client: DapClient, toy: Toy) -> None:
    mortal = Server(token="s3cret")
    client.launch(toy.directory, backend=mortal.name, backendToken="s3cret", **toy.data)
    client.expect_stopped("entry")
    client.next()
    client.expect_stopped("step")
    client.step_back()
    client.expect_stopped("step")
    assert client.raw.capabilities["supportsStepBack"]
    mortal.kill()
    client.resume()
    stop = client.expect_stopped("exception")
    assert f"the backend {mortal.name} is lost" in stop.text
    client.resume()
    client.expect_end(0)
    client.disconnect()


def test_reload_connects_again(client: DapClient, toy: Toy) -> None:
    first = Server()
    client.launch(toy.directory, backend=first.name, **toy.data)
    client.expect_stopped("entry")
    first.kill()
    client.next()
    client.expect_stopped("exception")
    second = Server("--listen", first.address)  # the last of two options counts
    client.console("reload")
    client.expect_stopped("entry")
    client.resume()
    client.expect_end(0)
    client.disconnect()
    said = second.until_it_says("the connection was closed")
    assert (said + second.close()).count("the connection was closed") == 1


def test_the_log_of_a_session_holds_no_token(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    message = client.failed_launch(program=str(toy.directory), backend="remote:127.0.0.1:1", backendToken="s3cret")
    assert message.startswith("remote:127.0.0.1:1: no backend can be reached there: ")
    logs = [path.read_text() for path in tmp_path.glob("*.jsonl")]
    assert any('"backendToken": "***"' in log for log in logs)
    assert all("s3cret" not in log for log in logs)


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = Server("--token-file", str(token_file(tmp_path, "s3cret")))
    run = ("run", SAMPLE, "--inputs", SAMPLE / "input.npz", "--quiet", "--backend", guarded.name)
    refused = command(*run)
    assert refused.returncode == 2
    assert refused.stderr == (
        f"tdb-dap: error: {guarded.name} cannot be used: the token is missing or wrong; "
        "give the one that it was started with: TDB_DAP_BACKEND_TOKEN, or `backendToken`\n"
    )
    by_file = command(*run, "--backend-token-file", tmp_path / "token")
    assert by_file.returncode == 0, by_file.stderr
    monkeypatch.setenv(TOKEN_VARIABLE, "s3cret")
    assert command(*run).stdout == by_file.stdout
    monkeypatch.setenv(TOKEN_VARIABLE, "guess")
    assert command(*run).returncode == 2
    said = guarded.until_it_says("not admitted: the token is missing or wrong") + guarded.close()
    assert "not admitted: the token is missing or wrong" in said
    assert "s3cret" not in said


def test_a_token_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for name, complaint in (("empty", "holds no token"), ("missing", "the token cannot be read: No such file")):
        done = command("run", SAMPLE, "--backend", "remote:127.0.0.1:1", "--backend-token-file", tmp_path / name)
        assert done.returncode == 2
        assert f"{tmp_path / name}: {complaint}" in done.stderr
        assert done.stderr.count("\n") == 1


def test_nobody_listens_beyond_this_machine_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor with an empty one, which is what a variable that is not set leaves."""
    serve = ("backends", "serve", "--listen", "0.0.0.0:0")
    monkeypatch.delenv(TOKEN_VARIABLE)
    refused = new_process(*serve)
    assert refused.returncode == 2
    assert refused.stderr.startswith("tdb-dap: error: --listen 0.0.0.0:0: others could connect; give a --token")
    empty = new_process(*serve, "--token", "")
    monkeypatch.setenv(TOKEN_VARIABLE, "")
    for done, origin in ((empty, "--token"), (new_process(*serve), TOKEN_VARIABLE)):
        assert done.returncode == 2
        assert done.stderr == f"tdb-dap: error: {origin}: the token is empty; is a variable not set?\n"


@pytest.mark.parametrize("name", ["remote:", "remote:somewhere", "remote:host:http", "remote:host:70000"])
def test_an_address_that_is_none_says_how_to_write_one(name: str) -> None:
    done = command("run", SAMPLE, "--backend", name)
    assert done.returncode == 2
    assert f"backend {name}: write HOST:PORT" in done.stderr


def test_a_check_with_several_processes_connects_from_each(server: Server) -> None:
    arguments = ("check", SAMPLE, "--inputs", SAMPLE / "input.npz", "--reference", SAMPLE / "ref.npz", "--quiet")
    done = new_process(*arguments, "--backend", server.name, "--mode", "standalone", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout == command(*arguments, "--mode", "standalone").stdout


def test_a_pause_does_not_wait_for_a_long_command_elsewhere(expected: list[bytes]) -> None:
    """The other side is stopped in the middle of a command; when it wakes, its answer is not taken for another's."""
    patient = Server()
    debugger = opened(patient)
    debugger.step(20)
    patient.process.send_signal(signal.SIGSTOP)
    os.waitpid(patient.process.pid, os.WUNTRACED)  # until it has stopped
    threading.Timer(0.3, debugger.pause).start()
    stop = debugger.run()
    assert (stop.reason, stop.ordinal) == ("pause", 20)
    assert " T " in Path(f"/proc/{patient.process.pid}/stat").read_text(), "it still has not answered"
    patient.process.send_signal(signal.SIGCONT)
    assert debugger.run().reason == "end"
    assert all_memories(debugger) == expected
    assert debugger.machine.backend.name == patient.name
    debugger.close()
    patient.close()


def test_without_a_token_one_is_made_and_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE)
    running = Server()
    try:
        assert running.process.stdout is not None
        word, made = running.process.stdout.readline().split()
        assert (word, len(made) > 20) == ("token", True)
        with pytest.raises(TdbError, match="the token is missing or wrong"):
            tdb_dap.open(SAMPLE, backend=running.name)
        debugger = tdb_dap.open(SAMPLE, backend=running.name, backend_token=made)
        assert debugger.step().reason == "step"
        debugger.close()
    finally:
        running.kill()
