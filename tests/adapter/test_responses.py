"""The bodies of our own requests are what their declared types say, which the extension's types are generated from."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from scripts.generate_extension_types import requests
from tests.adapter.test_sanitizers import RACE
from tests.conftest import Toy
from tests.dap_client import DapClient, Stop
from tests.llm.models import QWEN

TENSOR = {"expression": "%16"}
ARGUMENTS: dict[str, tuple[dict[str, Any], ...]] = {
    "tdb/profile": ({}, {"trace": True}, {"estimate": True, "trace": True}),
    "tdb/times": ({}, {"milliseconds": 60_000}),
    "tdb/graph": ({"color": "time"}, {"color": "dtype", "weights": True}),
    "tdb/op": ({"line": 17}, {"line": 16}),
    "tdb/memoryMap": ({}, {"ordinal": 0}),
    "tdb/inlineValues": ({"frameId": 0, "source": {"path": "final.mlir"}, "line": 1, "endLine": 99},),
    "tdb/explain": ({}, {"ordinal": 0}),
    "tdb/memory": ({"address": "R1", "count": 32, "dtype": "f32"},),
    "tdb/setMemory": ({"address": "R1", "value": "nan", "dtype": "f32"},),
    "tdb/tensor": (TENSOR, {"expression": "in[0]"}, {"expression": "in[0] * 2"}),
    "tdb/tensorTile": ({**TENSOR, "rowAxis": 2, "columnAxis": 3, "index": [0] * 4, "rows": [0, 8], "columns": [0, 8]},),
    "tdb/tensorData": ({**TENSOR, "start": 0, "count": 8},),
    "tdb/tensorStatistics": (TENSOR, {**TENSOR, "of": "error"}),
    "tdb/tensorWriters": (TENSOR, {**TENSOR, "index": [0, 0, 0, 0]}, {"expression": "R0:ui8[64]", "most": 1}),
    "tdb/tensorHistory": ({"expression": "in[0]"}, {"expression": "R0:f32[64]", "most": 1}),
    "tdb/trace": ({"expressions": ["max(out[0])"]}, {"message": "{max(in[0]):.2f} and {out[0]}", "place": "tpu.*"}),
    "tdb/tensorElement": ({**TENSOR, "index": [0, 0, 0, 0]},),
    "tdb/time": ({}, {"at": 0}, {"at": 58}),
    "tdb/marks": ({}, {"compare": True}),
    "tdb/travel": ({"ordinal": 0},),
}
"""What each request is sent with; a request without a row is sent without arguments."""

LANGUAGE_MODELS = {"tdb/answer", "tdb/logits", "tdb/tokenTimes"}
"""Answered only for a language model, by a test of their own."""


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling, whose operand is at R1."""
    lines = {toy.mlir: [toy.line_of('"tpu.Pool2D"')]}
    client.launch(toy.directory, stop_on_entry=False, breakpoints=lines, **toy.data)
    return client.expect_stopped("breakpoint")


def is_declared(request: str, body: Any) -> None:
    """Raises if a body is not of its type, or has a field that the type does not know."""
    declared = requests()[request][1]
    if declared is None:
        assert not body
    else:
        TypeAdapter(declared).validate_python(body)


@pytest.mark.parametrize("request_", sorted(requests().keys() - LANGUAGE_MODELS))
def test_a_body_is_of_its_declared_type(pooling: Stop, request_: str) -> None:
    for arguments in ARGUMENTS.get(request_, ({},)):
        if "frameId" in arguments:
            arguments = {**arguments, "frameId": pooling.top.id}
        is_declared(request_, pooling.client.request(request_, **arguments))


def test_a_result_with_nan_is_of_its_declared_type(pooling: Stop) -> None:
    client = pooling.client
    client.request("tdb/setMemory", address="R1", value="nan", dtype="f32")
    client.next()
    client.expect_stopped("step")
    body = client.request("tdb/results")
    is_declared("tdb/results", body)
    worst = next(row for row in body["rows"] if row["verdict"] == "fail")["numbers"]
    assert worst["nan_count"] > 0
    assert "NaN" in worst.values() or "Infinity" in worst.values(), "numbers that are not finite are texts"


def test_findings_are_of_their_declared_type(client: DapClient) -> None:
    client.launch(RACE, sanitizers=["hazard"])
    client.expect_stopped("entry")
    body = client.request("tdb/findings")
    assert body["findings"]
    is_declared("tdb/findings", body)
    client.disconnect()


def test_an_answer_is_of_its_declared_type(client: DapClient) -> None:
    client.launch(QWEN, prompt=[5, 17, 30], tokens=2, reference=str(QWEN / "float"))
    client.expect_stopped("entry")
    is_declared("tdb/answer", client.request("tdb/answer"))
    client.console("goto token 1")
    client.expect_stopped("goto")
    is_declared("tdb/answer", client.request("tdb/answer"))
    is_declared("tdb/logits", client.request("tdb/logits"))
    is_declared("tdb/tokenTimes", client.request("tdb/tokenTimes"))
    client.disconnect()
