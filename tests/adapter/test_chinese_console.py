"""Every verb of the console in Chinese: what it prints has no sentence in English left."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tdb_dap.adapter.console.verbs import verbs
from tests.conftest import Toy
from tests.dap_client import EVERYTHING, DapClient

_SENTENCE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b(?![.(])")
_NAMES = re.compile(
    r"\b(local|static|global) memory\b|tdb-dap [a-z]+|\bzero point\b|left x right|\b[0-9a-f]{8} [0-9a-f]{8}\b"
    r"|reload (input|reference)|info (asm|reg)|core:N|check (summary|failed|table|data)"
)
"""What Chinese engineers write in English: memories, verbs, formulas; and hexadecimal numbers."""

_MOVES = frozenset(
    ("s", "c", "n", "rn", "si", "sb", "rc", "until", "finish", "reverse-finish", "goto", "skip", "r", "undo", "reload")
)
"""Verbs after which the session stops anew."""

LINES = {
    "breakpoints": (
        "help",
        "help who",
        "b tpu.Conv2D if 1 > 0",
        "b",
        "b mlir:1",
        "b tpu.Nothing",
        "b %999",
        "b B23",
        "b R0r",
        "b subnet:7",
        "disable 1",
        "enable 1",
        "tb tpu.Pool2D",
        "c",
        "info b",
        "info watch",
        "watch in[0]",
        "delete 1",
    ),
    "looks": (
        "n",
        "bt",
        "frame",
        "up",
        "down",
        "info",
        "info mlir",
        "info loc",
        "info reg",
        "info buf",
        "info mem",
        "info edits",
        "info progress",
        "info version",
        "info locals",
        "info threads",
        "info launches",
        "p in",
        "p out",
        "p next",
        "p pre",
        "p in[0]",
        "x R0 32",
        "display in[0]",
        "display status",
        "undisplay 1",
        "undisplay",
        "status",
        "explain",
        "explain {pool}",
        "explain B1",
        "explain D1",
        "py 1",
        "plugin",
        "invite",
        "answer",
        "logits",
        "attention",
    ),
    "finds": (
        "goto 57",
        "check",
        "check failed",
        "check table",
        "check data {pool}",
        "check data 1",
    ),
    "costs": (
        "profile",
        "sanitize",
    ),
    "asks": (
        "trace max(out[0]) at tpu.Conv2D",
        "when max(abs(out[0])) > 1",
        "when max(abs(out[0])) > 1e30",
        "where max(abs(x)) > 1",
        "history in[0]",
    ),
    "edits": (
        "goto 30",
        "who in[0] : 2",
        "who out[0]",
        "set in[0] = 7",
        "info edits",
        "history in[0]",
        "who in[0]",
        "undo",
        "whatif no = 0",
        "whatif res0_n = 2",
        "whatif 40",
        "dump {file}",
    ),
    "moves": (
        "s",
        "n",
        "rn",
        "si",
        "sb",
        "rc",
        "until tpu.Pool2D",
        "finish",
        "reverse-finish",
        "goto 12",
        "skip 13",
        "r",
        "reload",
        "q",
    ),
}
"""Sessions that together have every verb."""


def in_english(text: str) -> list[str]:
    """The lines that hold a sentence in English."""
    return [line for line in text.split("\n") if _SENTENCE.search(_NAMES.sub("", line))]


@pytest.fixture
def client(new_client: Callable[..., DapClient]) -> DapClient:
    return new_client({**EVERYTHING, "locale": "zh-cn"})


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_what_verbs_print_is_in_chinese(client: DapClient, toy: Toy, tmp_path: Path, lines: Sequence[str]) -> None:
    client.launch(toy.directory, reference=str(toy.reference), allowPython=True, stopOnExit=True)
    client.expect_stopped("entry")
    texts = {"launch": client.printed()}
    for line in lines:
        text = line.format(pool=toy.line_of("tpu.Pool2D"), file=f"{tmp_path}/t.npz")
        response = client.raw.response(client.raw.send("evaluate", expression=text, context="repl"))
        texts[text] = str(response.get("message") or response["body"]["result"])
        if response["success"] and line.split()[0] in _MOVES:
            texts[text] += str(client.raw.event("stopped")["body"].get("description", "")) + client.printed()
    left_over = {line: left for line, text in texts.items() if (left := in_english(text))}
    assert left_over == {}, "\n".join(f"{line}: {left}" for line, left in left_over.items())


def test_no_verb_is_left_out() -> None:
    spoken = {line.split()[0] for lines in LINES.values() for line in lines}
    assert [verb.names[0] for verb in verbs() if not spoken & set(verb.names)] == []


def test_values_and_their_details_are_in_chinese(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, reference=str(toy.reference), stopOnExit=True)
    client.expect_stopped("entry")
    assert client.console("until tpu.Pool2D") == ""
    stop = client.expect_stopped("breakpoint")
    frame = client.request("stackTrace", threadId=stop.thread)["stackFrames"][0]
    scopes = client.request("scopes", frameId=frame["id"])["scopes"]
    texts: list[str] = []
    for scope in scopes:
        for variable in client.variables(scope["variablesReference"], count=4):
            texts += [variable.name, variable.value]
            children = variable.children(filter="named") if variable.raw["variablesReference"] else []
            texts += [text for child in children for text in (child.name, child.value)]
    assert "（尚未计算）" in "".join(texts)
    assert len(texts) > 50
    assert [text for text in texts if in_english(text)] == []
