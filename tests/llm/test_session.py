"""A language model in an editor: stops at tokens and nets, the call stack, the way to a token and back."""

from __future__ import annotations

import pytest

from tests.dap_client import DapClient, Stop
from tests.llm.models import PROMPT, QWEN


def names(stop: Stop) -> list[str]:
    return [frame.name for frame in stop.frames]


def start(client: DapClient) -> Stop:
    client.launch(QWEN, prompt=list(PROMPT), tokens=5)
    return client.expect_stopped("entry")


def test_from_token_to_token(client: DapClient) -> None:
    assert names(start(client)) == ["host.fill H1", "embedding.subfunc_0", "embedding", "token 0", "main"]
    placed = client.request(
        "setFunctionBreakpoints",
        breakpoints=[{"name": "token:3 block_cache_*"}, {"name": "token:2"}, {"name": "token:9"}],
    )["breakpoints"]
    assert [one["verified"] for one in placed] == [True, True, False]
    assert "token:9" in placed[2]["message"]
    client.resume()
    assert names(client.expect_stopped("function breakpoint"))[-3:] == ["embedding_cache", "token 2", "main"]
    for layer in (0, 1):
        client.resume()
        stop = client.expect_stopped("function breakpoint")
        net = f"block_cache_{layer}"
        assert names(stop)[-4:] == [f"{net}.subfunc_0", net, "token 3", "main"]
    assert "is dynamic" not in client.printed()  # the head's subnet is computed
    frame = next(frame for frame in stop.frames if frame.name == "token 3")
    client.request("restartFrame", frameId=frame.id)
    assert names(client.expect_stopped("goto"))[-3:] == ["embedding_cache", "token 3", "main"]
    client.disconnect()


def test_to_a_token_by_its_number(client: DapClient) -> None:
    start(client)
    for token in (4, 1, 3):
        client.console(f"goto token {token}")
        assert names(client.expect_stopped("goto"))[-2] == f"token {token}"
    assert client.refusal("evaluate", expression="goto token 5", context="repl") == (
        "there is no token 5; there are 0 to 4"
    )
    client.disconnect()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"prompt": "hello"}, "no tokenizer.json is in it or in config"),
        ({"prompt": [5], "tokens": 40}, "give --tokens 16 or less"),
        ({"prompt": [5], "inputs": "x.npz", "net": "lm_head"}, "inputs, net: not with prompt; leave them out"),
        ({"prompt": [5], "backend": "cmodel"}, "backend: not with prompt; leave it out"),
    ],
)
def test_settings_that_do_not_go_together(client: DapClient, settings: dict[str, object], says: str) -> None:
    assert says in client.failed_launch(program=str(QWEN), **settings)
