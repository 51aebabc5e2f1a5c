"""What is imported when: an editor shows that a session begins as soon as `initialize` is answered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdb_dap.adapter.areas import load
from tdb_dap.adapter.protocol.model import BadArguments, ProtocolModel, _converted, validated
from tdb_dap.adapter.protocol.types import InitializeRequestArguments, SetBreakpointsArguments
from tdb_dap.adapter.session.handlers import capabilities
from tests.dap_client import DapClient
from tests.loops import each

WITHOUT = """
import sys
for name in {missing}:
    sys.modules[name] = None  # importing it fails
from tdb_dap.cli.main import main
sys.exit(main(["adapter"]))
"""


def answers(requests: list[dict[str, Any]], missing: tuple[str, ...]) -> list[dict[str, Any]]:
    """The responses of an adapter in whose Python some packages are missing."""
    sent = b""
    for seq, request in enumerate(requests, 1):
        body = json.dumps({"seq": seq, "type": "request", **request}).encode()
        sent += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    command = [sys.executable, "-c", WITHOUT.format(missing=missing)]
    ended = subprocess.run(command, input=sent, capture_output=True, check=True)
    assert b"Traceback" not in ended.stderr
    messages = [json.loads(part[part.index(b"\r\n\r\n") :]) for part in ended.stdout.split(b"Content-Length: ")[1:]]
    return [message for message in messages if message["type"] == "response"]


def test_initialize_needs_neither_numpy_nor_pydantic(tmp_path: Path) -> None:
    """Nor anything of the engine, the chips and the tools: they are imported while the client reads the answer."""
    large = ("numpy", "pydantic", "tdb_dap.engine.control", "tdb_dap.targets", "tdb_dap.tools")
    hello = {"command": "initialize", "arguments": {"adapterID": "tdb", "linesStartAt1": True}}
    launch = {"command": "launch", "arguments": {"program": str(tmp_path)}}
    first, second, third = answers([hello, launch, {"command": "disconnect"}], large)
    assert first["body"]["supportsStepBack"]
    assert not second["success"]
    assert second["message"].endswith("run `tdb-dap doctor` for the fix")
    assert third["success"]


def test_the_answer_to_initialize_is_what_the_handlers_declare(client: DapClient) -> None:
    load()
    assert client.raw.initialize(**client.traits) == capabilities()
    client.disconnect()


def test_a_request_before_initialize_finds_its_handler() -> None:
    # Without a disconnect, which is answered after two seconds, however long the machine takes to load the handlers.
    moment, unknown = answers([{"command": "tdb/moment"}, {"command": "nothing"}], ())
    assert moment["message"] == "no program is loaded"
    assert unknown["message"] == "the request 'nothing' is not supported"


def models(base: type[ProtocolModel] = ProtocolModel) -> list[type[ProtocolModel]]:
    """Every type of the wire."""
    load()
    return [model for child in base.__subclasses__() for model in (child, *models(child))]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(
        [0, 1, 1.0, -0.0, "", "1", "1.5", "true", "off", "on", "yes", "path", "mlir:3", "\ud800", "x" * 5000]
    ),
    st.text(max_size=4),
)


def json_for(model: type[ProtocolModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the fields of a model, in which some values are wrong and some missing."""
    names = [*model.__struct_fields__, "unknown"]
    objects = st.dictionaries(st.sampled_from(["path", "name", "line", "filterId", "id", "mode"]), SCALARS, max_size=4)
    values = st.one_of(SCALARS, objects, st.lists(st.one_of(SCALARS, objects), max_size=3))
    words = [word for name in model.__struct_fields__ for word in literals(model, name)]
    some = st.one_of(values, st.sampled_from(words)) if words else values
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, some))


def literals(model: type[ProtocolModel], name: str) -> list[str]:
    """The texts that the type of a field allows by name."""
    return [part.strip(" \"'") for part in str(model.__annotations__.get(name, "")).split('"')[1::2]]


def outcome(take: Any, model: type[ProtocolModel], sent: dict[str, Any]) -> str:
    """What becomes of arguments, or why they are refused."""
    try:
        return repr(take(model, sent))
    except BadArguments as error:
        return f"refused: {error}"


@each("model", models())
def test_what_is_taken_and_what_is_refused_is_the_same_on_both_ways(model: type[ProtocolModel]) -> None:
    """The quick way of msgspec takes nothing that pydantic refuses, and nothing differently."""

    @settings(max_examples=30)
    @given(sent=json_for(model))
    def is_the_same(sent: dict[str, Any]) -> None:
        assert outcome(validated, model, sent) == outcome(_converted, model, sent)

    is_the_same()


def test_wrong_arguments_are_named_field_by_field() -> None:
    with pytest.raises(BadArguments, match=r"^adapterID: Field required; linesStartAt1: Input should be a valid bool"):
        validated(InitializeRequestArguments, {"linesStartAt1": [3]})
    with pytest.raises(BadArguments, match=r"^source: Input should be a valid dictionary or instance of Source; br"):
        validated(SetBreakpointsArguments, {"source": 3, "breakpoints": [{"line": "x"}]})


def test_numbers_and_switches_may_be_texts() -> None:
    taken = validated(SetBreakpointsArguments, {"source": {}, "lines": ["3", 4.0], "sourceModified": "off"})
    assert (taken.lines, taken.sourceModified) == ([3, 4], False)
