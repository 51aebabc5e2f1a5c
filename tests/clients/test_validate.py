"""The checker of transcripts finds what it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from validate import Protocol, check

Message = dict[str, Any]


class Transcript:
    """Writes a session, numbering the messages as the two sides do."""

    def __init__(self, **client: bool) -> None:
        self.lines: list[str] = []
        self._seq = {"in": 0, "out": 0}
        self.answer(self.ask("initialize", adapterID="tdb", **client), {})

    def note(self, direction: str, **message: Any) -> int:
        self._seq[direction] += 1
        message = {"seq": self._seq[direction], **message}
        self.lines.append(json.dumps({"dir": direction, "time": 0.0, "message": message}))
        return self._seq[direction]

    def ask(self, command: str, **arguments: Any) -> tuple[int, str]:
        return self.note("in", type="request", command=command, arguments=arguments), command

    def answer(self, request: tuple[int, str], body: Message, **more: Any) -> None:
        seq, command = request
        self.note(
            "out", **{"type": "response", "request_seq": seq, "command": command, "success": True, "body": body, **more}
        )

    def event(self, name: str, **body: Any) -> None:
        self.note("out", type="event", event=name, body=body)

    def complaints(self) -> list[str]:
        return check(self.lines, PROTOCOL)[0]


PROTOCOL = Protocol()


@pytest.fixture
def session() -> Transcript:
    return Transcript()


def complains(session: Transcript, text: str) -> bool:
    """Is there exactly one complaint, and does it say this?"""
    complaints = session.complaints()
    return len(complaints) == 1 and text in complaints[0]


def test_a_faultless_session_has_no_complaints(session: Transcript) -> None:
    session.event("initialized")
    session.answer(session.ask("threads"), {"threads": [{"id": 1, "name": "core 0"}]})
    session.event("stopped", reason="a reason of our own", threadId=1)
    session.answer(session.ask("nonsense"), {"error": {"id": 1, "format": "no"}}, success=False, message="no")
    session.ask("disconnect")
    assert session.complaints() == []


def test_an_unknown_field_is_found_however_deep(session: Transcript) -> None:
    session.answer(session.ask("threads"), {"threads": [{"id": 1, "name": "core 0", "colour": "red"}]})
    assert complains(session, "body.threads[0].colour: the protocol has no such field")


def test_a_missing_field_and_a_wrong_type_are_found(session: Transcript) -> None:
    session.answer(session.ask("threads"), {"threads": [{"id": "1"}]})
    assert len(session.complaints()) == 2


def test_a_value_that_the_protocol_does_not_list_is_found(session: Transcript) -> None:
    session.answer(
        session.ask("scopes", frameId=1), {"scopes": [{"name": "x", "variablesReference": -1, "expensive": 0}]}
    )
    assert [c.split(": ", 2)[2] for c in session.complaints()] == [
        "body.scopes[0].variablesReference: -1 is less than 0",
        "body.scopes[0].expensive: 0 is not boolean",
    ]


def test_an_unknown_message_is_found(session: Transcript) -> None:
    session.event("tensorChanged")
    assert complains(session, "no such message")


def test_a_request_without_an_answer_is_found(session: Transcript) -> None:
    session.ask("threads")
    assert complains(session, "request 2 (threads) was never answered")


def test_what_is_asked_after_the_disconnect_needs_no_answer(session: Transcript) -> None:
    session.ask("disconnect")
    session.ask("threads")
    assert session.complaints() == []


def test_a_second_answer_is_found(session: Transcript) -> None:
    request = session.ask("threads")
    session.answer(request, {"threads": []})
    session.answer(request, {"threads": []})
    assert complains(session, "answers request 2, which is not open")


def test_an_event_that_was_not_announced_is_found(session: Transcript) -> None:
    session.event("invalidated")
    assert complains(session, "supportsInvalidatedEvent")
    announced = Transcript(supportsInvalidatedEvent=True)
    announced.event("invalidated")
    assert announced.complaints() == []


def test_a_field_that_was_not_announced_is_found(session: Transcript) -> None:
    variable = {"name": "x", "value": "1", "type": "f32", "variablesReference": 0, "memoryReference": "R0"}
    session.answer(session.ask("variables", variablesReference=1), {"variables": [variable]})
    assert len(session.complaints()) == 2


def test_gaps_in_the_numbers_and_a_second_initialized_are_found(session: Transcript) -> None:
    session.event("initialized")
    session._seq["out"] += 1
    session.event("initialized")
    assert len(session.complaints()) == 2


def test_nothing_may_come_before_the_first_answer() -> None:
    session = Transcript.__new__(Transcript)
    session.lines, session._seq = [], {"in": 0, "out": 0}
    request = session.ask("initialize", adapterID="tdb")
    session.event("initialized")
    session.answer(request, {})
    assert complains(session, "before the answer to initialize")
