"""An adapter that listens on a port."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdb_dap.adapter.protocol.client import Client, RequestFailed
from tests.conftest import Toy
from tests.ports import Listening


@pytest.fixture
def adapter() -> Iterator[Listening]:
    running = Listening()
    yield running
    running.close()


def test_several_sessions_at_once_and_one_after_another(adapter: Listening, toy: Toy) -> None:
    for client in [adapter.attached(toy) for _ in range(2)]:
        client.request("disconnect")
        client.close()
    adapter.attached(toy).close()


def test_a_connection_that_is_dropped_is_no_error(adapter: Listening, toy: Toy) -> None:
    for _ in range(3):
        adapter.connect().close()
        adapter.attached(toy).close()
    adapter.attached(toy).request("disconnect")
    assert adapter.close() == ""


def threads_of(adapter: Listening) -> int:
    return len(list(Path(f"/proc/{adapter.process.pid}/task").iterdir()))


def run_slowly(client: Client) -> None:
    slow = "sum(exp(sin(exp(sin(exp(sin(R0:f32[1,64,256,128]))))))) < 0"
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "tpu.*", "condition": slow}])
    client.request("continue", threadId=1)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks into /proc")
def test_a_client_that_dies_in_the_middle_of_a_run_leaves_nothing_behind(adapter: Listening, toy: Toy) -> None:
    first = adapter.attached(toy)
    run_slowly(first)
    first.event("stopped")
    first.request("disconnect")
    first.close()
    time.sleep(0.5)
    alone = threads_of(adapter)  # with those that libraries keep
    dying = adapter.attached(toy)
    run_slowly(dying)
    assert threads_of(adapter) > alone
    dying.close()
    for _ in range(100):
        if threads_of(adapter) <= alone:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the session of a dead client goes on")
    adapter.attached(toy).close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "0.0.0.0:0"], "give a --token"),
        (["--listen", "0.0.0.0:0", "--token", ""], "--token: the token is empty"),
        (["--listen", "127.0.0.1:0", "--token", " "], "--token: the token is empty"),
        (["--listen", "127.0.0.1:0", "--token-file", "/dev/null"], "/dev/null: holds no token"),
        (["--listen", "127.0.0.1:0", "--token", "a", "--token-file", "b"], "give one of them"),
        (["--listen", "nowhere"], "write HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "write HOST:PORT"),
        (["--log", "/nonexistent/log"], "/nonexistent/log"),
    ],
)
def test_wrong_options_are_one_line(options: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tdb_dap.adapter", *options], capture_output=True, text=True, timeout=30, input=""
    )
    assert done.returncode == 2
    assert done.stderr.startswith("tdb-dap: error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_adapter_on_a_port_makes_a_token_and_asks_for_it(adapter: Listening, toy: Toy) -> None:
    assert len(adapter.token) >= 32
    for command in ("attach", "launch"):
        stranger = adapter.client()
        stranger.initialize()
        with pytest.raises(RequestFailed, match="the token is missing or wrong"):
            stranger.request(command, program=str(toy.directory), allowPython=True, commands=["py 1"])
        stranger.close()
        client = adapter.client()
        adapter.begin(client, toy, command, allowPython=True, commands=["py 40 + 2"])
        client.event("stopped")
        assert any("42" in body["output"] for body in client.events("output"))
        client.close()
    other = Listening()
    assert other.token != adapter.token
    other.close()
