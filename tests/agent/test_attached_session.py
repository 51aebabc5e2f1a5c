"""One session, two clients: an editor, and an agent that the user has invited."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tdb_dap.adapter.protocol.client import Client as Joining
from tdb_dap.adapter.protocol.client import RequestFailed
from tdb_dap.system.ports import AGENT_TOKEN
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.ports import Listening

mcp = pytest.importorskip("mcp")

from tdb_dap.agent.attached_session import AttachedSession  # noqa: E402
from tdb_dap.agent.server import make_server  # noqa: E402
from tdb_dap.errors import TdbError  # noqa: E402


@pytest.fixture
def invitation(client: DapClient, toy: Toy) -> dict[str, str]:
    """What an editor gets that has stopped on entry and asks for a guest."""
    client.launch(toy.directory)
    client.expect_stopped("entry")
    return client.request("tdb/inviteAgent")


@pytest.fixture
def guest(invitation: dict[str, str]) -> Iterator[AttachedSession]:
    session = AttachedSession(invitation["address"], invitation["token"])
    yield session
    session.close()


def heard(client: DapClient) -> str:
    """The next line that the agent has made the user see."""
    while not (text := str(client.raw.event("output")["body"]["output"])).startswith("agent "):
        pass
    return text.rstrip()


def test_an_agent_looks_elsewhere_and_the_user_stays(client: DapClient, guest: AttachedSession) -> None:
    before = client.request("tdb/time")
    frames = client.request("stackTrace", threadId=1)
    reference = client.request("scopes", frameId=frames["stackFrames"][0]["id"])["scopes"][0]["variablesReference"]
    variables = [(one.name, one.value) for one in client.variables(reference)]

    async def story() -> None:
        async with mcp.Client(make_server(guest)) as agent:

            async def ask(tool: str, **arguments: object) -> str:
                return str((await agent.call_tool(tool, arguments)).content[0].text)

            assert "command 9 of 58 (B5 tsbc.s_bc, line 25: tpu.Active)" in await ask("stop_when", place="line 25")
            assert "conv.normal" in await ask("who_wrote", expression="in[0]")
            assert "f32[" in await ask("read_tensor", expression="in[0]")
            assert "here: command 9" in await ask("bookmark", name="here")

    anyio.run(story)
    assert heard(client).startswith("agent goes to command 9 of 58")
    assert heard(client).endswith("who in[0] : 2")
    assert heard(client).endswith("p in[0]")
    assert heard(client).startswith("agent sets the bookmark here at command 9 of 58")
    assert client.request("tdb/time") == before
    again = [(one.name, one.value) for one in client.variables(reference)]
    assert again == variables, "the numbers of frames and variables are the user's own"
    now = client.request("stackTrace", threadId=1)["stackFrames"]
    assert [frame["name"] for frame in now] == [frame["name"] for frame in frames["stackFrames"]]
    marks = client.request("tdb/marks")["marks"]
    assert {"ordinal": 9, "kind": "agent", "text": "here"} in marks


def test_the_user_moves_only_when_the_agent_is_asked_to_show(client: DapClient, guest: AttachedSession) -> None:
    guest.travel("to", 20, show=False)
    assert client.request("tdb/time")["ordinal"] == 0
    guest.travel("to", 20, show=True)
    client.expect_stopped("goto")
    assert client.request("tdb/time")["ordinal"] == 20
    client.step_in()
    client.expect_stopped("step")
    assert "command 20 of 58" in guest.open(str(guest.context), "", ""), "the agent's present is its own"


def test_each_has_a_present_and_edits_of_the_user_are_seen(client: DapClient, guest: AttachedSession) -> None:
    client.request("evaluate", expression="goto 4", context="repl")
    client.expect_stopped("goto")
    client.request("evaluate", expression="set in[0] = 7", context="repl")
    guest.travel("to", 4, show=False)
    assert "min 7" in guest.look("p in[0]")
    guest.travel("start", 1, show=False)
    assert "min 7" not in guest.look("p in[0]")
    assert "min 7" in client.console("p in[0]"), "an excursion leaves the edit where it is"


def test_forward_and_back_by_ops_and_to_a_condition(guest: AttachedSession) -> None:
    first = guest.travel("to", 0, show=False)
    there = guest.travel("forward", 3, show=False)
    assert there != first
    assert guest.travel("back", 3, show=False) == first
    assert "tpu.Softmax" in guest.stop_at("tpu.Softmax", "max(in[0]) > -100", show=False)
    with pytest.raises(TdbError, match="is not reached from here"):
        guest.stop_at("tpu.*", "max(in[0]) > 1e30", show=False)
    guest.travel("to", 0, show=False)
    with pytest.raises(TdbError, match="is not yet computed"):
        guest.stop_at("tpu.*", "max(out[0]) > 1e30", show=False)


@pytest.mark.parametrize("line", ["set in[0] = 1", "c", "py 1", "goto 3", "display in[0]", "p 1\nc", "whatif x = 1"])
def test_a_guest_only_looks(client: DapClient, guest: AttachedSession, line: str) -> None:
    with pytest.raises(TdbError):
        guest.look(line)
    assert client.request("tdb/time")["ordinal"] == 0


def test_a_guest_may_ask_nothing_of_the_editors(invitation: dict[str, str]) -> None:
    host, _, port = invitation["address"].rpartition(":")
    joined = Joining.connect(host, int(port))
    joined.request("attach", token=invitation["token"])
    for command in ("evaluate", "disconnect", "setVariable", "tdb/inviteAgent", "launch"):
        with pytest.raises(RequestFailed, match="a guest may look, go and set bookmarks"):
            joined.request(command, expression="py 1")
    joined.close()


@pytest.mark.parametrize("token", ["", "guess", None])
def test_without_the_token_nobody_joins(client: DapClient, invitation: dict[str, str], token: str | None) -> None:
    host, _, port = invitation["address"].rpartition(":")
    stranger = Joining.connect(host, int(port))
    with pytest.raises(RequestFailed, match="the token is missing or wrong"):
        stranger.request("attach", token=token)
    stranger.close()
    assert client.request("tdb/inviteAgent") == invitation, "asked again, it is the same door"


@pytest.mark.parametrize("arguments", [["token"], "token", 5, [[]], True])
def test_arguments_that_are_no_object_are_refused_alike(
    client: DapClient, invitation: dict[str, str], arguments: object, capfd: pytest.CaptureFixture[str]
) -> None:
    host, _, port = invitation["address"].rpartition(":")
    stranger, joined = (Joining.connect(host, int(port)) for _ in range(2))
    seq = stranger.send_message({"seq": 1, "type": "request", "command": "attach", "arguments": arguments})
    assert (
        stranger.response(seq)["message"] == "the token is missing or wrong; give the one that the invitation has named"
    )
    joined.request("attach", token=invitation["token"])
    for command in ("tdb/look", "tdb/go", "tdb/bookmark", "tdb/files"):
        answer = joined.response(joined.send_message({"type": "request", "command": command, "arguments": arguments}))
        assert "internal" not in str(answer.get("message"))
    for one in (stranger, joined):
        one.close()
    assert "Traceback" not in capfd.readouterr().err


def test_a_guest_waits_outside_during_a_run_and_leaves_at_the_end(client: DapClient, guest: AttachedSession) -> None:
    slow = "sum(exp(sin(exp(sin(exp(sin(R0:f32[1,64,256,128]))))))) < 0"
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "tpu.*", "condition": slow}])
    client.request("continue", threadId=1)
    with pytest.raises(TdbError, match="the program runs; ask again when it has stopped"):
        guest.look("p in[0]")
    client.request("pause", threadId=1)
    client.expect_stopped("pause")
    client.request("disconnect")
    with pytest.raises(TdbError):
        guest.look("p in[0]")


def test_a_terminal_invites_too(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    words = client.console("invite").split()
    token, where = words[-5].removeprefix(f"{AGENT_TOKEN}="), words[-1]

    async def story() -> None:
        server = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "tdb_dap", "mcp", "--join", where],
            env={**os.environ, AGENT_TOKEN: token},
        )
        async with mcp.Client(mcp.stdio_client(server)) as agent:
            result = await agent.call_tool("explain", {"place": "B1"})
            assert "belongs to tpu.Conv2D relu4_Relu" in result.content[0].text

    anyio.run(story)


def test_the_token_of_an_invitation_is_never_logged(toy: Toy, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    adapter = Listening("--log", str(log))
    client = adapter.attached(toy)
    token = client.request("tdb/inviteAgent")["token"]
    assert token in client.request("evaluate", expression="invite", context="repl")["result"]
    client.close()
    adapter.close()
    assert "tdb/inviteAgent" in log.read_text()
    assert token not in log.read_text()


def test_who_joins_without_a_token_or_a_session_is_told_why(invitation: dict[str, str]) -> None:
    for words, said in ((["--join", invitation["address"]], "give the token"), (["--join", "x"], "write HOST:PORT")):
        env = {**os.environ, **({AGENT_TOKEN: "x"} if words[1] == "x" else {})}
        done = subprocess.run(
            [sys.executable, "-m", "tdb_dap", "mcp", *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=env,
            check=False,
        )
        assert done.returncode == 2
        assert said in done.stderr
