"""A language model in an editor: stops at tokens and nets, the call stack, the way to a token and back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop
from tests.llm.models import PROMPT, QWEN, copied
from tests.llm_case import spoil


def names(stop: Stop) -> list[str]:
    return [frame.name for frame in stop.frames]


def start(client: DapClient) -> Stop:
    client.launch(QWEN, prompt=list(PROMPT), tokens=5)
    return client.expect_stopped("entry")


def test_from_token_to_token(client: DapClient) -> None:
    first = names(start(client))
    assert first[0] == "tpu.Gather embedding", "the host's copies are behind it"
    assert first[2:5] == ["embedding.subfunc_0", "embedding", "token 0"]
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
        ({"prompt": [5], "chat": True}, "a chat begins with a text"),
        ({"prompt": [5], "reference": ["a", "b"]}, "reference: with prompt it is one folder"),
        ({"prompt": [5], "reference": "/nowhere"}, "config.json: cannot be read"),
        ({"prompt": [5], "inputs": "x.npz", "net": "lm_head"}, "inputs, net: not with prompt; leave them out"),
        ({"prompt": [5], "backend": "cmodel"}, "backend: not with prompt; leave it out"),
    ],
)
def test_settings_that_do_not_go_together(client: DapClient, settings: dict[str, object], says: str) -> None:
    assert says in client.failed_launch(program=str(QWEN), **settings)


def test_each_net_has_its_own_file(client: DapClient, tmp_path: Path) -> None:
    """A breakpoint in the gutter of one net's final.mlir stops there at every token, and in no other file."""
    folder = copied(QWEN, tmp_path)
    files = {name: folder / "nets" / name / "final.mlir" for name in ("block_cache_0", "block_cache_1")}
    line = 1 + next(
        n for n, text in enumerate(files["block_cache_1"].read_text().splitlines()) if '"tpu.MatMul"' in text
    )
    client.launch(folder, prompt=list(PROMPT), tokens=4)
    client.expect_stopped("entry")
    for name, lines in (("block_cache_1", [line]), ("block_cache_0", [])):
        answer = client.request(
            "setBreakpoints", source={"path": str(files[name])}, breakpoints=[{"line": asked} for asked in lines]
        )
        assert [(one["verified"], one["line"]) for one in answer["breakpoints"]] == [(True, asked) for asked in lines]
        assert all(one["source"]["path"] == str(files[name]) for one in answer["breakpoints"])
    for token in (1, 2, 3):
        client.resume()
        stop = client.expect_stopped("breakpoint")
        assert (stop.top.raw["source"]["path"], stop.top.line) == (str(files["block_cache_1"]), line)
        assert f"token {token}" in names(stop)
        now = client.request("tdb/time")
        assert now["place"] == f"block_cache_1/final.mlir:{line}"
        assert f"token {token}, launch" in now["launch"]
    block = next(one for one in client.request("tdb/answer")["launches"] if one["net"] == "block_cache_1")
    assert block["look"] == block["first"] + 3, "past what the host copies"
    (part,) = (one for one in client.request("tdb/moment")["files"] if one["name"] == "block_cache_1/final.mlir")
    assert part["before"] + line == now["line"]
    assert [launch["token"] for launch in client.request("tdb/model")["launches"]] == [0] * 4 + [1] * 4 + [2] * 4 + [
        3
    ] * 4
    sources = [one.get("path") for one in client.request("loadedSources")["sources"]]
    assert len(set(sources)) == 8
    assert sources.count(None) == 1
    client.disconnect()


def test_it_stops_at_the_op_that_is_wrong(client: DapClient, tmp_path: Path) -> None:
    """With the float model as reference a run stops after the first wrong op, and goes on to the next."""
    spoil(QWEN, tmp_path / "spoiled")
    client.launch(
        tmp_path / "spoiled",
        stop_on_entry=False,
        filters=["mismatch"],
        prompt=list(PROMPT),
        tokens=3,
        reference=str(QWEN / "float"),
        stopOnExit=True,
    )
    stop = client.expect_stopped("exception")
    assert stop.text.startswith("model.layers.1.mlp.up_proj (tpu.MatMul at block_1/final.mlir:81): cosine -1.0000")
    assert "token 0" in names(stop)
    client.request("setExceptionBreakpoints", filters=[])
    client.resume()
    client.expect_stopped("step")
    body = client.request("tdb/answer")
    assert body["isCompared"]
    wrong = [(one["token"], one["net"]) for one in body["launches"] if one["verdict"] == "wrong"]
    assert wrong == [(0, "block_1"), (1, "block_cache_1"), (2, "block_cache_1")]
    assert {one["verdict"] for one in body["launches"]} == {"right", "wrong"}
    assert client.console("answer").splitlines()[1].startswith("token 0: 42, in float 81; block_1: model.layers.1.mlp")
    client.disconnect()


def test_what_a_changed_logit_does_to_the_answer(client: DapClient) -> None:
    """The table of logits, an edit of the largest, the other token, and everything as it was."""
    client.launch(QWEN, prompt=list(PROMPT), tokens=3, stop_on_entry=False, stopOnExit=True)
    client.expect_stopped("step")
    before = answered(client)
    client.console("goto token 1")
    client.expect_stopped("goto")
    table = client.request("tdb/logits", most=3)
    first, second = (one["id"] for one in table["candidates"][:2])
    assert (table["token"], first) == (0, before[0])
    token = client.request("tdb/answer")["tokens"][0]
    assert (token["id"], token["state"]) == (first, "done")
    token_1 = client.request("tdb/answer")["tokens"][1]["first"]
    client.console("goto token 0")
    client.expect_stopped("goto")
    assert answered(client) == before  # going back forgets nothing
    assert client.refusal("tdb/logits") == "no logits are computed yet; run to the end of the first lm_head"
    client.console(f"goto {token_1 - 1}")  # before the head's last command, which takes the largest
    client.expect_stopped("goto")
    client.console(f"set {table['expression']}[0, {second}] = 1000")
    assert answered(client) == [None] * 3
    client.resume()
    client.expect_stopped("step")
    assert (answered(client)[0], before[0]) == (second, first)
    client.console("undo")
    client.expect_stopped("goto")
    client.resume()
    client.expect_stopped("step")
    assert answered(client) == before
    client.disconnect()


def test_tokens_that_time_travel_has_passed_are_known(client: DapClient) -> None:
    start(client)
    client.console("goto token 4")
    client.expect_stopped("goto")
    known = answered(client)
    client.resume()
    client.expect_end()
    assert len(known) == 5
    assert None not in known[:4]
    assert known[4] is None


def test_conditions_on_token_and_layer(client: DapClient) -> None:
    start(client)
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "net:*", "condition": "token >= 2 and layer == 1"}])
    for token in (2, 3):
        client.resume()
        stop = client.expect_stopped("function breakpoint")
        assert names(stop)[-3:] == ["block_cache_1", f"token {token}", "main"]
        assert [stop.evaluate(name, level="command") for name in ("token", "layer")] == [str(token), "1"]
    client.disconnect()


def test_there_is_no_answer_without_a_prompt(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    assert client.refusal("tdb/answer").startswith("no answer is being computed; set `prompt`")
    assert client.refusal("evaluate", expression="logits", context="repl").startswith("no answer is being computed")
    client.disconnect()


def answered(client: DapClient) -> list[int | None]:
    return [token["id"] for token in client.request("tdb/answer")["tokens"]]


def test_the_positions_that_a_head_looks_at(client: DapClient) -> None:
    """The weights of a fused attention, from what is in memory: they make its result."""
    start(client)
    assert client.refusal("evaluate", expression="attention", context="repl").startswith("this is no tpu.FAttention")
    client.request(
        "setFunctionBreakpoints", breakpoints=[{"name": "tpu.FAttention", "condition": "token == 2 and layer == 1"}]
    )
    client.resume()
    stop = client.expect_stopped("function breakpoint")
    told = client.console("attention").splitlines()
    assert told[0] == "attention(in[0], in[1], in[3], 0.1767766952966369): heads, queries, keys; the last query"
    shares = [float(share) for share in re.findall(r"\(([\d.]+) %\)", told[1])]
    assert len(told) == 3
    assert 99 < sum(shares) < 100.1
    client.next()
    after = client.expect_stopped("step")
    pinned = f"@op{stop.ordinal}"
    q, k, v, mask = (f"in[{number}]{pinned}" for number in range(4))
    made = f"reshape(attention({q}, {k}, {mask})[:, 0, :] @ reshape({v}, 17, 32), 64)"
    assert float(after.evaluate(f"cosine({made}, out[0]{pinned})", level="command")) > 0.999
    client.disconnect()


def test_one_net_alone_has_its_own_source(client: DapClient) -> None:
    """A combined file has no final.mlir; each net's own folder has, found by the net's name."""
    client.launch(QWEN, net="block_cache_1")
    stop = client.expect_stopped("entry")
    assert "final.mlir" in [frame.source for frame in stop.frames]
    assert "language model" not in client.printed()
    client.disconnect()


def test_a_session_of_the_first_net_says_how_to_run_all(client: DapClient) -> None:
    client.launch(QWEN)
    client.expect_stopped("entry")
    assert "This is net embedding of a language model: set `prompt` (--prompt, --ids) to run all" in client.printed()
    client.disconnect()


def test_steps_by_launch_and_token(client: DapClient) -> None:
    start(client)
    for verb, wanted in (
        ("n launch", ["block_0", "token 0"]),
        ("n token", ["embedding_cache", "token 1"]),
        ("n launch", ["block_cache_0", "token 1"]),
        ("rn token", ["embedding_cache", "token 1"]),
        ("rn token", ["embedding", "token 0"]),
    ):
        client.console(verb)
        assert names(client.expect_stopped("step"))[-3:-1] == wanted
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "net:block_1"}])
    client.console("n token")
    assert "block_1" in names(client.expect_stopped("function breakpoint"))
    client.disconnect()


def test_a_single_net_has_no_tokens(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    for unit, what in (("token", "tokens"), ("launch", "launches")):
        said = client.refusal("evaluate", expression=f"n {unit}", context="repl")
        assert said == f"this program has no {what}"
    client.disconnect()
