"""A hostile client: requests with wrong, missing and absurd arguments in any order, half frames, broken bytes.

Whatever comes, the adapter lives, every request is answered once, and nothing is an internal error. The short run is
part of every test run; `pytest -m fuzz` takes a minute, and another seed each time (printed where it fails).
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tdb_dap.adapter.areas import load
from tdb_dap.adapter.protocol.client import ADAPTER, Client
from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.session.handlers import HANDLERS
from tests.clients.validate import Protocol, check
from tests.conftest import Toy
from tests.samples import DATA

SCHEMA = json.loads((Path(__file__).parents[2] / "tdb_dap" / "adapter" / "protocol" / "dap-1.71.json").read_text())
DEFINITIONS: dict[str, Any] = SCHEMA["definitions"]
# What ends the session, and what waits for a program that another client would have brought.
LEFT_OUT = {"disconnect", "launch", "attach", "terminate", "initialize"}
COMMANDS = sorted(
    {
        name
        for definition in DEFINITIONS.values()
        for part in definition.get("allOf", ())
        for name in part.get("properties", {}).get("command", {}).get("enum", ())
    }
    - LEFT_OUT
)


def own_requests() -> Iterator[str]:
    """Requests beyond the protocol; the schemas of their arguments are added to the protocol's."""
    load()
    for command, handler in HANDLERS.items():
        if "/" not in command:
            continue
        model = vars(sys.modules[handler.answer.__module__]).get(handler._parameter or "")
        if isinstance(model, type) and issubclass(model, ProtocolModel):
            schema = msgspec.json.schema(model)
            DEFINITIONS.update(schema["$defs"])
            DEFINITIONS[arguments_of(command)] = {"$ref": schema["$ref"]}
        yield command


def arguments_of(command: str) -> str:
    name = command.replace("/", "_")
    return name[0].upper() + name[1:] + "Arguments"


COMMANDS += sorted(own_requests())
NASTY: list[Any] = [None, True, "", "x" * 5000, "\ud800", "%16", -1, 0, 1, 2**31, 2**63, -(2**70), 1.5, 1e308, [], {}]
NASTY += [[[[]]], {"a": {"b": []}}, "R0:f32[1,64]", "in[0]", "final.mlir", "before", "instruction", "0x100", "../../x"]
EXPRESSIONS = ["in[0]", "max(in[0", "p %16", "b tpu.*", "b R0 if", "x R0 9", "who in[0]", "().__class__", "9**9**9**9"]
EXPRESSIONS += [
    "delete 1",
    "info mem",
    "set in[0]=",
    "goto 3",
    "rc",
    "help",
    "R0:f32[99999999,9999]",
    "sum(" * 200,
    "[[[",
]


class Fuzzer:
    """Requests from the schema, with some of their fields replaced."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def request(self) -> dict[str, Any]:
        command = self.random.choice(COMMANDS)
        name = arguments_of(command)
        arguments = self._value({"$ref": f"#/definitions/{name}"}, 0) if name in DEFINITIONS else {}
        if self.random.random() < 0.05:
            command = self.random.choice(["", "makeCoffee", "_answer", "évaluer", command.upper()])
        if self.random.random() < 0.05:
            arguments = self.random.choice(NASTY)
        return {"type": "request", "command": command, "arguments": arguments}

    def broken(self) -> bytes:
        """Bytes that are no message."""
        body = json.dumps({"seq": 1, "type": "request", "command": "threads"}).encode()
        cut = self.random.randrange(len(body))
        return self.random.choice(
            [
                b"Content-Length: %d\r\n\r\n%s" % (cut, body[:cut]),
                b"Content-Length: 104857600\r\n\r\n" + body,
                b"Content-Length: -3\r\n\r\n",
                b"Content-Length: 4\r\n\r\nnull",
                b"Content-Length: 2\r\n\r\n\xff\xfe",
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                bytes(self.random.randrange(256) for _ in range(cut)) + b"\r\n\r\n",
            ]
        )

    def _value(self, schema: dict[str, Any], depth: int) -> Any:
        if self.random.random() < 0.08:
            return self.random.choice(NASTY)
        if "$ref" in schema:
            return self._value(DEFINITIONS[schema["$ref"].rsplit("/", 1)[-1]], depth)
        if "anyOf" in schema:
            return self._value(self.random.choice(schema["anyOf"]), depth)
        kind = schema.get("type", "string")
        kind = self.random.choice(kind) if isinstance(kind, list) else kind
        if "enum" in schema or "_enum" in schema:
            return self.random.choice(schema.get("enum") or schema["_enum"])
        if kind == "object":
            required = schema.get("required", [])
            return {
                name: self._value(field, depth + 1)
                for name, field in schema.get("properties", {}).items()
                if self.random.random() < (0.9 if name in required else 0.4)
            }
        if "prefixItems" in schema:
            return [self._value(each, depth + 1) for each in schema["prefixItems"]]
        if kind == "array":
            return [self._value(schema.get("items", {}), depth + 1) for _ in range(self.random.randrange(3))]
        if kind in ("integer", "number"):
            return self.random.choice([0, 1, 2, 3, 5, 10, 23, 57, 100, 1000, -1])
        if kind == "boolean":
            return self.random.random() < 0.5
        return self.random.choice(EXPRESSIONS)


def batches(seconds: float, fewest: int) -> Iterator[int]:
    """Numbers until the time is over, at least ``fewest``."""
    end, number = time.monotonic() + seconds, 0
    while number < fewest or time.monotonic() < end:
        yield number
        number += 1


def hunt(model: Path, inputs: Path, seed: int, folder: Path, seconds: float, fewest: int) -> None:
    """Sessions of 60 requests, some sent while the answers to others are under way; then the books are checked."""
    for number in batches(seconds, fewest):
        fuzzer = Fuzzer(seed + number)
        where = f"seed {seed + number}"
        log = folder / f"{number}.jsonl"
        client = Client.spawn((*ADAPTER, "--log", str(log)), timeout=30)
        try:
            client.initialize(clientID="fuzzer", supportsVariableType=True, supportsMemoryReferences=True)
            launch = client.send("launch", program=str(model), inputs=str(inputs), stopOnExit=True)
            client.event("initialized")
            client.request("configurationDone")
            client.answer(launch)
            client.event("stopped")
            asked: list[tuple[int, dict[str, Any]]] = []
            for _ in range(60):
                if fuzzer.random.random() < 0.05:
                    client._connection._stream.write(fuzzer.broken())  # below the protocol
                message = fuzzer.request()
                asked.append((client.send_message(message), message))
                if fuzzer.random.random() < 0.3:
                    client.request("threads")
            for seq, message in asked:
                answer = client.response(seq)
                said = json.dumps(answer)
                assert "internal error" not in said, f"{where}: {json.dumps(message)[:500]}: {said[:500]}"
                assert len(said) < 4 << 20, f"{where}: {len(said):,} bytes for {json.dumps(message)[:300]}"
            client.request("disconnect")
            assert client.exit_code() == 0, where
        finally:
            client.close()
        complaints, _ = check(log.read_text(encoding="utf-8").splitlines(), Protocol())
        assert complaints == [], where


def test_a_hostile_client_gets_an_answer_to_everything(toy: Toy, tmp_path: Path) -> None:
    hunt(toy.directory, toy.inputs, 1, tmp_path, 0, 2)


def test_a_hostile_client_of_a_network_without_commands(tmp_path: Path) -> None:
    joined = DATA / "contexts" / "joined_bm1684_f32"
    hunt(joined, joined / "input.npz", 1, tmp_path, 0, 2)


@pytest.mark.fuzz
def test_hostile_clients_for_a_minute(toy: Toy, tmp_path: Path) -> None:
    hunt(toy.directory, toy.inputs, time.time_ns() % 1_000_000_000, tmp_path, 60, 1)
