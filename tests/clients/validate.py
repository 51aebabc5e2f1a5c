#!/usr/bin/env python3
"""Check transcripts of debugging sessions against the Debug Adapter Protocol.

    validate.py TRANSCRIPT...

A transcript is what `tdb-dap adapter --log FILE` writes: JSON lines {"dir": "in"|"out", "time": ..., "message": {...}}
of one session. Checked is that

* everything the adapter sends has the fields, types and values that the protocol gives it, and no others,
* every request is answered exactly once, with its own command, and nothing else is answered,
* the adapter's sequence numbers count up from 1,
* an event, a reverse request or a field that a client must announce is sent only to one that has,
* the answer to "initialize" comes first of all, and "initialized" once.

Prints one line for each complaint; exit 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tdb_dap

SCHEMA = Path(tdb_dap.__file__).parent / "adapter" / "protocol" / "dap-1.71.json"

Message = dict[str, Any]
Schema = dict[str, Any]

# What a client has to announce in `initialize` before it may be sent: "event NAME", "request NAME", or a field
# anywhere in the body of a response or event.
ANNOUNCED = {
    "event memory": "supportsMemoryEvent",
    "event invalidated": "supportsInvalidatedEvent",
    "event progressStart": "supportsProgressReporting",
    "event progressUpdate": "supportsProgressReporting",
    "event progressEnd": "supportsProgressReporting",
    "request runInTerminal": "supportsRunInTerminalRequest",
    "request startDebugging": "supportsStartDebuggingRequest",
    "field memoryReference": "supportsMemoryReferences",
    "field type of a variable": "supportsVariableType",
}

# A debugger defines these itself, so the protocol leaves them open.
# A module has attributes of its own, for which the capabilities name the columns.
OPEN = {"LaunchRequestArguments", "AttachRequestArguments", "Module"}

# Start of the names of our own requests (docs/requests.md).
OURS = "tdb/"

# The last thing a client says; some of them do not wait for the answer and end the adapter.
FAREWELL = {"disconnect", "terminate"}


class Protocol:
    """The definitions of the protocol, with inheritance resolved, so that unknown fields can be told."""

    def __init__(self, path: Path = SCHEMA) -> None:
        self._definitions: dict[str, Schema] = json.loads(path.read_text(encoding="utf-8"))["definitions"]

    def name_of(self, message: Message) -> str | None:
        """The definition that a message must fit; None if the protocol has none."""
        kind = message.get("type")
        if kind == "response" and not message.get("success", False):
            return "ErrorResponse"
        what = message.get("event") if kind == "event" else message.get("command")
        name = f"{str(what)[:1].upper()}{str(what)[1:]}{str(kind).capitalize()}"
        return name if name in self._definitions else None

    def complaints(self, message: Message, closed: bool) -> Iterator[str]:
        """What is wrong with the message itself; `closed` forbids unknown fields too."""
        name = self.name_of(message)
        if str(message.get("command")).startswith(OURS):
            return
        if name is None:
            yield "the protocol has no such message"
        else:
            yield from self._check(message, {"$ref": f"#/definitions/{name}"}, "", closed)

    def _merged(self, schema: Schema) -> tuple[Schema, bool]:
        """The schema with `$ref` and `allOf` resolved, and whether it may have fields of its own."""
        is_open = False
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            is_open = name in OPEN
            schema = self._definitions[name]
        if "allOf" not in schema:
            return schema, is_open
        merged: Schema = {"type": "object", "properties": {}, "required": []}
        for part in schema["allOf"]:
            inner, inner_open = self._merged(part)
            is_open = is_open or inner_open
            # A derived definition refines the property of its base: what comes later is narrower.
            merged["properties"] |= inner.get("properties", {})
            merged["required"] += inner.get("required", [])
        return merged, is_open

    def _check(self, value: Any, schema: Schema, path: str, closed: bool) -> Iterator[str]:
        schema, is_open = self._merged(schema)
        if "oneOf" in schema or "anyOf" in schema:
            choices = schema.get("oneOf") or schema["anyOf"]
            if not any(not list(self._check(value, choice, path, closed)) for choice in choices):
                yield f"{path}: fits none of the alternatives: {json.dumps(value)[:80]}"
            return
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(_is(value, type_) for type_ in types):
            yield f"{path}: {json.dumps(value)[:80]} is not {' or '.join(types)}"
            return
        if "enum" in schema and value not in schema["enum"]:
            yield f"{path}: {json.dumps(value)} is not one of {', '.join(map(str, schema['enum']))}"
        if "minimum" in schema and value < schema["minimum"]:
            yield f"{path}: {value} is less than {schema['minimum']}"
        if schema.get("format") == "int32" and not -(2**31) <= value < 2**31:
            yield f"{path}: {value} does not fit into 32 bits"
        if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
            yield from self._check_object(value, schema, path, closed, is_open)
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                yield from self._check(item, schema["items"], f"{path}[{i}]", closed)

    def _check_object(self, value: Message, schema: Schema, path: str, closed: bool, is_open: bool) -> Iterator[str]:
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{path}: {name} is missing"
        extra = schema.get("additionalProperties", is_open)
        for name, item in value.items():
            where = f"{path}.{name}" if path else name
            if name in properties:
                yield from self._check(item, properties[name], where, closed)
            elif isinstance(extra, dict):
                yield from self._check(item, extra, where, closed)
            elif closed and not extra:
                yield f"{where}: the protocol has no such field"


def _is(value: Any, type_: str) -> bool:
    match type_:
        case "boolean" | "null":
            return isinstance(value, bool) if type_ == "boolean" else value is None
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            return isinstance(value, {"string": str, "array": list, "object": dict}[type_])


class Conversation:
    """What only shows when the messages of a session are read in order."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], str] = {}
        self._disconnected: float = math.inf
        self._last_seq = 0
        self._client: Message = {}
        self._initialized = 0
        self._introduced = False

    def complaints(self, direction: str, message: Message) -> Iterator[str]:
        """What is wrong with this message here."""
        kind = message["type"]
        if direction == "out":
            if message["seq"] != self._last_seq + 1:
                yield f"sequence number {message['seq']} follows {self._last_seq}"
            self._last_seq = message["seq"]
            yield from self._unannounced(message)
            if not self._introduced and message.get("command") != "initialize":
                yield "sent before the answer to initialize"
        if kind == "request":
            self._asked[direction, message["seq"]] = message["command"]
            if message["command"] == "disconnect":
                self._disconnected = min(self._disconnected, message["seq"])
            if message["command"] == "initialize":
                self._client = message.get("arguments", {})
        elif kind == "response":
            asked = self._asked.pop(("in" if direction == "out" else "out", message["request_seq"]), None)
            if asked is None:
                yield f"answers request {message['request_seq']}, which is not open"
            elif asked != message["command"]:
                yield f"answers {asked} as {message['command']}"
            self._introduced = self._introduced or message["command"] == "initialize"
        elif message.get("event") == "initialized":
            self._initialized += 1
            if self._initialized > 1:
                yield "initialized a second time"
        elif message.get("event") == "terminated":
            self._initialized = 0  # a client may launch again

    def end(self) -> Iterator[str]:
        """What is missing when the session is over; what is asked after the disconnect request needs no answer."""
        for (direction, seq), command in self._asked.items():
            if not (direction == "in" and (command in FAREWELL or seq > self._disconnected)):
                yield f"request {seq} ({command}) was never answered"

    def _unannounced(self, message: Message) -> Iterator[str]:
        what = {f"{message['type']} {message.get('event') or message.get('command')}"}
        for item in _objects(message.get("body")):
            if "memoryReference" in item:
                what.add("field memoryReference")
            if "type" in item and "variablesReference" in item:
                what.add("field type of a variable")
        for thing in sorted(what & ANNOUNCED.keys()):
            if not self._client.get(ANNOUNCED[thing], False):
                yield f"{thing}: the client has not announced {ANNOUNCED[thing]}"


def _objects(value: Any) -> Iterator[Message]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)


def check(lines: list[str], protocol: Protocol) -> tuple[list[str], Counter[str]]:
    """All complaints about a transcript, and how often it has each kind of message."""
    complaints: list[str] = []
    kinds: Counter[str] = Counter()
    conversation = Conversation()
    counts_from_0 = False
    for number, line in enumerate(lines, 1):
        entry = json.loads(line)
        direction, message = entry["dir"], entry["message"]
        kinds[protocol.name_of(message) or "?"] += 1
        name = message.get("event") or message.get("command")
        # The client's messages are its own affair: it may know a newer protocol, or send an unknown request on purpose.
        found = list(protocol.complaints(message, closed=True)) if direction == "out" else []
        if direction == "in" and message.get("seq") == 0:
            counts_from_0 = True  # Kate does; the answer has to name the request as it came
        if counts_from_0 and message.get("request_seq") == 0:
            found = [text for text in found if not text.startswith("request_seq: ")]
        found += conversation.complaints(direction, message)
        complaints += [f"{number}: {direction} {message['type']} {name}: {text}" for text in found]
    complaints += [f"end: {text}" for text in conversation.end()]
    if not lines:
        complaints.append("empty")
    return complaints, kinds


def main() -> int:
    """Check every transcript that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcript", nargs="+", type=Path)
    protocol = Protocol()
    bad = 0
    for path in parser.parse_args().transcript:
        complaints, kinds = check(path.read_text(encoding="utf-8").splitlines(), protocol)
        for complaint in complaints:
            print(f"{path.name}:{complaint}")
        print(f"{path.name}: {kinds.total()} messages of {len(kinds)} kinds, {len(complaints)} complaints")
        bad += len(complaints)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
