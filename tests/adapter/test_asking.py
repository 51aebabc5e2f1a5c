"""Questions about the whole run in a session: it stays where it stands, and nothing of it is lost."""

from __future__ import annotations

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling, with an edit of its operand."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


@pytest.mark.parametrize(
    "question",
    [
        "trace max(out[0]) at tpu.*",
        "when max(out[0]) > 3",
        "where max(x) > 3",
        "history in[0]",
    ],
)
def test_a_question_moves_nothing(pooling: Stop, question: str) -> None:
    client = pooling.client
    before = client.console("p in[0]"), client.console("info progress"), client.console("info edits")
    assert len(client.console(question).splitlines()) > 1
    assert (client.console("p in[0]"), client.console("info progress"), client.console("info edits")) == before
    client.next()
    assert client.expect_stopped("step").ordinal == pooling.ordinal + 1


def test_where_alone_is_the_call_stack(pooling: Stop) -> None:
    client = pooling.client
    assert client.console("where") == client.console("bt")


def test_a_trace_has_the_present_edit_in_its_future_and_not_in_its_past(pooling: Stop) -> None:
    client = pooling.client
    client.console("set in[0] = 7")
    rows = client.request("tdb/trace", expressions=["max(out[0])"], place="tpu.*")["rows"]
    past = [row for row in rows if row["moment"] <= pooling.ordinal]
    pooled = next(row for row in rows if row["op"] == "tpu.Pool2D")
    assert past
    assert all(row["values"] != [7.0] for row in past)
    assert pooled["values"] == [7.0]


def test_the_expressions_of_a_log_point_are_traced(pooling: Stop, toy: Toy) -> None:
    body = pooling.client.request(
        "tdb/trace", message="max is {max(in[0]):.3f}, {nonsense", place=f":{toy.line_of('tpu.Pool2D')}"
    )
    assert body["expressions"] == ["max(in[0])"]
    assert (body["hits"], body["places"]) == (1, 1)
    assert body["rows"][0]["values"] == [pytest.approx(3.9, abs=0.1)]
    assert not body["rows"][0]["isAfter"]


def test_a_line_of_the_console_is_traced_as_it_is_there(pooling: Stop) -> None:
    request = pooling.client.request
    line = "max(out[0]), min(out[0]) at tpu.Pool2D if max(out[0]) > 1"
    body = request("tdb/trace", text=line)
    assert (body["text"], body["place"], body["condition"]) == (line, "tpu.Pool2D", "max(out[0]) > 1")
    parts = {"expressions": body["expressions"], "place": "tpu.Pool2D", "condition": "max(out[0]) > 1"}
    assert body["expressions"] == ["max(out[0])", "min(out[0])"]
    assert request("tdb/trace", **parts) == body


def test_a_question_that_cannot_be_answered_says_why(pooling: Stop) -> None:
    client = pooling.client

    def refusal(command: str, **arguments: object) -> str:
        return client.refusal(command, **arguments)

    assert "no tensor named 'nonsense'" in refusal("tdb/trace", expressions=["max(nonsense)"])
    assert "no such op" in refusal("tdb/trace", expressions=["1"], place="tpu.Nothing")
    assert "is computed, not in memory" in refusal("tdb/tensorHistory", expression="in[0] * 2")
    for line in ("when", "history", "trace", "where max(out[0]) > 1", "trace 1 at", "history in[0] * 2"):
        assert refusal("evaluate", expression=line, context="repl")


def test_the_versions_of_a_tensor(pooling: Stop) -> None:
    body = pooling.client.request("tdb/tensorHistory", expression="in[0]", frameId=pooling.frame("op").id)
    versions = body["versions"]
    assert versions[0]["first"] is None
    assert [v["moment"] for v in versions] == sorted(v["moment"] for v in versions)
    mine = next(v for v in versions if v["tensor"] == "relu4_Relu")
    assert mine["covers"]
    assert mine["readers"] >= 1
    assert (mine["readBy"][0]["opcode"], mine["readBy"][0]["name"]) == ("tpu.Pool2D", "maxpool5_MaxPool")
    assert 0 < len(mine["thumbnail"]) <= 32


def test_an_edit_is_a_version_after_what_the_command_left(pooling: Stop) -> None:
    client = pooling.client
    client.console("set in[0] = 7")
    body = client.request("tdb/tensorHistory", expression="in[0]", frameId=pooling.frame("op").id)
    mine, edit = [v for v in body["versions"] if v["moment"] == pooling.ordinal]
    assert (mine["tensor"], mine["edit"]) == ("relu4_Relu", "")
    assert edit["edit"] == "in[0] = 7"
    assert edit["numbers"] == "min 7 max 7 mean 7"
    assert mine["readers"] == 0
    assert edit["readers"] >= 1
