"""Whoever knows gdb gets along: each common command does what it does there, or names the word for it in one line."""

from __future__ import annotations

import pytest

from tdb_dap.adapter.console.gdb_words import INSTEAD, WORDS, translated
from tests.adapter.test_console import pooling, refused
from tests.conftest import Toy
from tests.dap_client import DapClient, Stop

__all__ = ["pooling"]

LOOKS = (
    "bt|where|backtrace|bt full|frame|frame 1|f 2|up|up 2|down|info frame|info stack|info s|info locals|info args|"
    "info registers|info all-registers|info r|i r|info breakpoints|info b|info watchpoints|info display|info threads|"
    "info line|info source|info symbol|list|l|list 3|disassemble|x R0|x/16xb R0|x/4xw R0|x/2g R0|x/5i|print in[0]|"
    "p in[0]|inspect in[0]|output in[0]|call in[0]|display in[0]|undisplay 1|help|help bt|h|apropos bt|pwd|status"
)
"""Commands that show something and leave the program where it is."""

SETS = "break tpu.Conv2D|b B5|tbreak tpu.Softmax|hbreak B6|watch in[0]|rwatch in[0]|awatch in[0]|disable 1|enable 1|d 1"
MOVES = (
    "step|step 2|stepi|si|s|nexti|ni|next|n|n 2|finish|fin|until|u|until tpu.Softmax|advance tpu.Softmax|continue|c|"
    "reverse-step|rs|reverse-stepi|rsi|reverse-next|rn|reverse-nexti|rni|reverse-continue|rc|reverse-finish|start|run|r|"
    "jump 3|set var in[0] = in[0] * 2"
)
NAMES = (
    "file a|load|symbol-file a|core-file|attach 1|return|signal 0|handle SIGINT|catch throw|thread 1|"
    "thread apply all bt|inferior 1|commands 1|condition 1 x|ignore 1 2|clear|rbreak x|ptype in[0]|"
    "whatis in[0]|printf x|echo x|record|"
    "checkpoint|define x|document x|source x|shell ls|cd x|search x|forward-search x|edit|show version|directory|"
    "layout asm|tui enable|generate-core-file|restore x|find x|compare-sections|target remote|monitor x|unset x|tty x|"
    "p/x in[0]|display/i in[0]|info files|info sharedlibrary|info signals"
)
"""Commands that have no counterpart."""


def test_commands_that_look_answer(pooling: Stop) -> None:
    client = pooling.client
    for line in LOOKS.split("|"):
        assert client.console(line) or line == "undisplay 1", line
    assert Stop(client, {"reason": "step", "threadId": 1}).ordinal == pooling.ordinal


def test_commands_that_set_answer(pooling: Stop) -> None:
    for line in SETS.split("|"):
        answer = pooling.client.console(line)
        assert answer or "able" in line or line.startswith("d"), line


@pytest.mark.parametrize("line", MOVES.split("|"))
def test_commands_that_move_stop_somewhere(pooling: Stop, line: str) -> None:
    client = pooling.client
    before = pooling.ordinal
    client.console(line)
    if line.startswith("set"):
        return
    body = client.raw.event("stopped", "terminated")
    if body["event"] == "terminated":
        return
    now = client.raw.request("tdb/moment")["ordinal"]
    back = line.startswith("r") or line in ("s", "start")
    if line in ("run", "r"):
        assert now == before, "the breakpoint that the session has stopped at"
    else:
        assert now < before if back else now != before, line


@pytest.mark.parametrize("line", NAMES.split("|"))
def test_other_commands_name_our_word_in_one_line(pooling: Stop, line: str) -> None:
    said = refused(pooling.client, line)
    assert "\n" not in said
    assert len(said) < 300
    assert "here" in said or "info knows" in said


def test_quit_ends_the_session(pooling: Stop) -> None:
    for word in ("exit", "kill", "k", "detach"):
        assert translated(word) == "q"
    pooling.client.console("exit")
    assert pooling.client.raw.event("terminated")


def test_frames_are_those_of_the_call_stack(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    lines = client.console("bt").split("\n")
    assert lines[0] == f"=> #0  tpu.Pool2D maxpool5_MaxPool at final.mlir:{toy.line_of('tpu.Pool2D')}"
    assert [line.split()[0] for line in lines[1:]] == [f"#{n}" for n in range(1, len(lines))]
    assert client.console("up") == lines[1].strip()
    assert client.console("frame") == lines[1].strip()
    assert client.console("bt").split("\n")[1].startswith("=> #1")
    assert client.console("down") == client.console("frame 0")
    assert "there is no frame 99; bt lists 0 to" in refused(client, "frame 99")


def test_a_chosen_frame_is_left_at_the_next_stop(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.console("up 2")
    assert client.console("frame").startswith("#2")
    client.console("si")
    client.expect_stopped("step")
    assert client.console("frame").startswith("#0")


def test_no_word_of_ours_is_translated_away(pooling: Stop) -> None:
    listed = pooling.client.console("help")
    assert "bt/backtrace" in listed
    ours = {name for line in listed.splitlines() if line[2:3].strip() for name in line.split()[0].split("/")}
    assert ours.isdisjoint({*WORDS, *INSTEAD})
    assert {word.split()[0] for word in WORDS.values()} <= ours
