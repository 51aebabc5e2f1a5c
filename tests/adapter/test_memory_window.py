"""Memory by address: bytes, the numbers that they are, and edits of single numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling, whose operand is at R1."""
    lines = {toy.mlir: [toy.line_of('"tpu.Pool2D"')]}
    client.launch(toy.directory, stop_on_entry=False, breakpoints=lines, **toy.data)
    return client.expect_stopped("breakpoint")


def window(stop: Stop, address: str, **arguments: Any) -> dict[str, Any]:
    return stop.client.request("tdb/memory", address=address, **{"count": 32, **arguments})


def test_bytes_and_what_they_are_as_numbers(pooling: Stop, toy: Toy) -> None:
    with np.load(toy.reference) as reference:
        relu = np.asarray(reference["relu4_Relu"]).reshape(-1)
    found = window(pooling, "R1", dtype="f32")
    assert np.allclose([float(text) for text in found["numbers"]], relu[:8], atol=1e-5)
    assert base64.b64decode(found["data"]) == np.array([float(text) for text in found["numbers"]], np.float32).tobytes()
    assert (found["space"], found["core"], found["start"]) == ("R", 0, 16384)
    assert found["rows"] == ["R1", "R1.16"]
    halves = window(pooling, found["reference"], offset=-2, dtype="f16", count=6, rowBytes=2)
    assert (len(halves["numbers"]), halves["rows"]) == (3, ["R0.16382", "R1", "R1.2"])
    assert window(pooling, "R1", dtype="ui8", count=1)["numbers"] == [str(base64.b64decode(found["data"])[0])]


def test_every_memory_that_exists_can_be_looked_at(pooling: Stop) -> None:
    regions = pooling.client.request("tdb/memoryMap")["regions"]
    assert {region["space"] for region in regions} == {"G", "L", "R", "S"}
    for region in regions:
        found = window(pooling, region["reference"], dtype="si8")
        assert (found["start"], found["region"]["stop"]) == (region["start"], region["stop"])
        end = window(pooling, region["reference"], offset=region["stop"] - region["start"] - 3, dtype="f32")
        assert (len(base64.b64decode(end["data"])), end["numbers"]) == (3, [])


@pytest.mark.parametrize(
    ("dtype", "value", "number", "stored"),
    [
        ("f32", "-1.5", "-1.5", "0000c0bf"),
        ("f32", "nan", "nan", None),
        ("f16", "65504", str(np.float16(65504)), "ff7b"),
        ("bf16", "1 / 3", "0.33398438", "ab3e"),
        ("si16", "-2", "-2", "feff"),
        ("ui32", "0xdeadbeef", "3735928559", "efbeadde"),
        ("f8e4m3", "-inf", None, None),
    ],
)
@pytest.mark.parametrize("address", ["R1.4", "L64", "G0", "S128"])
def test_a_number_is_written_listed_and_undone(
    pooling: Stop, address: str, dtype: str, value: str, number: str | None, stored: str | None
) -> None:
    client = pooling.client
    before = window(pooling, address)["data"]
    answer = client.request("tdb/setMemory", address=address, dtype=dtype, value=value)
    shown = window(pooling, address, dtype=dtype)
    assert answer["number"] == shown["numbers"][0]
    assert number in (None, answer["number"])
    data = base64.b64decode(shown["data"])
    assert stored is None or data.startswith(bytes.fromhex(stored))
    assert client.raw.events("memory")
    assert "overwritten" in client.console("info edits")
    client.console("undo")
    assert window(pooling, address)["data"] == before
    assert client.console("info edits") == "no edits"


def test_what_cannot_be_read_or_written_is_said(pooling: Stop) -> None:
    refusal = pooling.client.refusal
    wrong: list[tuple[dict[str, str], str]] = [
        ({"dtype": "si8", "value": "128"}, "si8 holds whole numbers from -128 to 127, not 128"),
        ({"dtype": "ui16", "value": "0.5"}, "ui16 holds whole numbers from 0 to 65,535, not 0.5"),
        ({"dtype": "si32", "value": "nan"}, "not nan"),
        ({"dtype": "f16", "value": "1e6"}, "f16 reaches as far as 65504, not 1e+06; write inf for infinity"),
        ({"dtype": "f32", "value": "in[0]"}, "in[0] is 16,384 numbers; one is written at a time"),
        ({"dtype": "f32", "value": "one"}, "one"),
        ({"dtype": "f32", "value": "3f800000"}, "cannot understand '3f800000'; write one number, such as -1.5, 0x1f"),
        ({"dtype": "si4", "value": "1"}, "si4 is not a type of numbers of whole bytes; there are f32"),
        (
            {"dtype": "f32", "value": "1", "address": "L99999999"},
            "L2 has no bytes 99,999,999 to 100,000,002; it holds 0 to",
        ),
        ({"dtype": "f32", "value": "1", "address": "R99.0.1"}, "is not an address; write R<bank>.<byte>"),
    ]
    for change, complaint in wrong:
        assert complaint in refusal("tdb/setMemory", **{"address": "R1", **change})
    assert "has no bytes" in refusal("tdb/memory", address="R0", offset=-1, count=8)
    assert "count must be from 1 to 65,536" in refusal("tdb/memory", address="R0", count=0)
    assert pooling.client.console("info edits") == "no edits"
